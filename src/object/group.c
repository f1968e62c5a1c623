/* group.c: see group.h. */
#include "src/object/group.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/object/object.h"

#include <stddef.h>
#include <string.h>

static ki_group_table *lock_table(ki_object_format *format) {
    ki_group_table *table = &format->groups;
    while (atomic_flag_test_and_set_explicit(&table->lock, memory_order_acquire)) {}
    return table;
}

static void unlock_table(ki_group_table *table) {
    atomic_flag_clear_explicit(&table->lock, memory_order_release);
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* A content, added up. A label counts if its value is a string. Of its strings, what precedes the first zero character
 * counts: they are handed out as C strings. */
typedef struct sums {
    uint64_t hash, names_hash; /* the second: of the labels' names */
    size_t count;              /* labels */
    size_t names, values;      /* bytes of these strings, with their zeros */
    size_t texts;              /* bytes of the other ones */
} sums;

static sums add_up(const ki_group_content *content, uint64_t seed) {
    const ki_str *texts[] = { &content->api_version, &content->kind, &content->namespace };
    sums all = { .hash = seed, .names_hash = seed };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        all.hash = ki_hash(texts[i]->data, texts[i]->size, all.hash);
        all.texts += texts[i]->size + 1;
    }
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        const char *name = yyjson_get_str(key), *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        if (!value)
            continue;
        size_t name_size = strlen(name), value_size = strlen(value);
        all.names_hash = ki_hash(name, name_size, all.names_hash);
        all.hash = ki_hash(value, value_size, all.hash);
        all.names += name_size + 1;
        all.values += value_size + 1;
        all.count++;
    }
    all.hash ^= all.names_hash;
    return all;
}

/* Returns true if the group has the names of the labels, of which both have as many. `*ret_same`: bytes of the values
 * that are equal. */
static bool has_names(const ki_object_group *group, const ki_group_content *content, size_t *ret_same) {
    const ki_string_pair *label = group->labels;
    *ret_same = 0;
    if (!content->labels)
        return true;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        if (!value)
            continue;
        if (strcmp(label->name, yyjson_get_str(key)) != 0)
            return false;
        *ret_same += strcmp(label->value, value) == 0 ? strlen(value) + 1 : 0;
        label++;
    }
    return true;
}

static bool has_content(const ki_object_group *group, const ki_group_content *content, const sums *all) {
    size_t same;
    return group->hash == all->hash && group->label_count == all->count && has_names(group, content, &same) &&
           same == all->values && strcmp(ki_object_group_api_version(group), content->api_version.data) == 0 &&
           strcmp(ki_object_group_text(group, group->kind_at), content->kind.data) == 0 &&
           strcmp(ki_object_group_text(group, group->namespace_at), content->namespace.data) == 0;
}

static void fill(ki_object_group *group, const ki_group_content *content) {
    char *to = (char *)(group->labels + group->label_count);
    ki_string_pair *label = group->labels;
    const ki_string_pair *known = group->base ? group->base->labels : NULL;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    to = stpcpy(to, content->api_version.data) + 1;
    group->kind_at = (uint32_t)(to - (char *)group);
    to = stpcpy(to, content->kind.data) + 1;
    group->namespace_at = (uint32_t)(to - (char *)group);
    group->namespace_size = (uint32_t)content->namespace.size;
    to = stpcpy(to, content->namespace.data) + 1;
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        if (!value)
            continue;
        label->name = known ? known->name : to;
        if (!known)
            to = stpcpy(to, yyjson_get_str(key)) + 1;
        bool is_known = known && strcmp(known->value, value) == 0;
        label->value = is_known ? known->value : to;
        if (!is_known)
            to = stpcpy(to, value) + 1;
        known += known != NULL;
        label++;
    }
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

enum {
    BUCKETS_GROW = 32, /* times, twice at most */
    BUCKETS_MAX = KI_GROUP_BUCKETS * BUCKETS_GROW * BUCKETS_GROW
};

static size_t size_of_buckets(size_t count) {
    return count * sizeof(ki_object_group *);
}

void ki_group_table_init(ki_group_table *table) {
    table->buckets = table->first;
    table->bucket_count = KI_GROUP_BUCKETS;
}

/* Moves all groups to an array of more buckets. Returns the array before, which may be `first`. Caller holds the
 * lock. */
static ki_object_group **move_groups(ki_group_table *table, ki_object_group **buckets, size_t bucket_count) {
    KI_ASSERT(bucket_count > table->bucket_count && buckets != table->buckets);
    ki_object_group **before = table->buckets;
    size_t count = table->bucket_count;
    table->buckets = buckets;
    table->bucket_count = (uint32_t)bucket_count;
    for (size_t i = 0; i < count; i++) {
        while (before[i]) {
            ki_object_group *group = before[i], **bucket = &table->buckets[group->hash % table->bucket_count];
            before[i] = group->next;
            group->next = *bucket;
            *bucket = group;
        }
    }
    return before;
}

static void free_buckets(ki_object_format *format, ki_object_group **buckets, size_t count) {
    if (buckets == format->groups.first)
        return;
    atomic_fetch_sub_explicit(&format->groups.bytes, size_of_buckets(count), memory_order_relaxed);
    ki_free(&format->allocator, buckets);
}

/* `count`: of buckets that were too few. Without memory the buckets stay as they are. */
static void grow(ki_object_format *format, size_t count) {
    size_t more = count * BUCKETS_GROW;
    ki_object_group **buckets = ki_alloc_zero(&format->allocator, size_of_buckets(more));
    if (!buckets)
        return;
    atomic_fetch_add_explicit(&format->groups.bytes, size_of_buckets(more), memory_order_relaxed);
    ki_group_table *table = lock_table(format);
    bool is_first = table->bucket_count == count; /* no other thread was faster */
    ki_object_group **unused = is_first ? move_groups(table, buckets, more) : buckets;
    unlock_table(table);
    free_buckets(format, unused, is_first ? count : more);
}

/* Takes a reference unless the last one was released: that group is on its way out of the table. */
static bool revive(ki_object_group *group) {
    uint32_t count = atomic_load_explicit(&group->refs.count, memory_order_relaxed);
    while (count > 0)
        if (atomic_compare_exchange_weak_explicit(&group->refs.count, &count, count + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Returns a reference to the group with this content; NULL: none. `*ret_base`: then a reference to the group whose
 * strings a new one can have, and `*ret_same` bytes of values; NULL: none. */
static ki_object_group *find(ki_object_format *format, const ki_group_content *content, const sums *all,
                             ki_object_group **ret_base, size_t *ret_same) {
    ki_group_table *table = lock_table(format);
    ki_object_group *group = table->buckets[all->hash % table->bucket_count];
    while (group && !(has_content(group, content, all) && revive(group)))
        group = group->next;
    ki_object_group *base = group || !all->count ? NULL : table->bases[all->names_hash % KI_GROUP_BASES];
    if (base && !(base->label_count == all->count && has_names(base, content, ret_same) && revive(base)))
        base = NULL;
    unlock_table(table);
    *ret_base = base;
    return group;
}

/* Two threads can add equal groups at once; that costs some bytes. */
static void add(ki_object_format *format, ki_object_group *group, uint64_t names_hash) {
    ki_group_table *table = lock_table(format);
    ki_object_group **bucket = &table->buckets[group->hash % table->bucket_count];
    KI_ASSERT(!group->is_listed && table->count <= KI_GROUPS_MAX);
    group->is_listed = table->count < KI_GROUPS_MAX;
    if (group->is_listed) {
        group->next = *bucket;
        *bucket = group;
        table->count++;
        group->base_at = (uint8_t)(names_hash % KI_GROUP_BASES);
        if (group->label_count && !group->base)
            table->bases[group->base_at] = group;
    }
    size_t buckets = table->bucket_count;
    bool is_full = table->count > 2 * buckets && buckets < BUCKETS_MAX;
    unlock_table(table);
    if (is_full)
        grow(format, buckets);
}

/* Also frees an array of a table that is empty. */
static void take_out(ki_object_format *format, const ki_object_group *group) {
    if (!group->is_listed)
        return;
    ki_group_table *table = lock_table(format);
    ki_object_group **at = &table->buckets[group->hash % table->bucket_count], **unused = table->first;
    size_t count = table->bucket_count;
    KI_ASSERT(table->count > 0);
    while (*at != group) {
        KI_ASSERT(*at);
        at = &(*at)->next;
    }
    *at = group->next;
    if (table->bases[group->base_at] == group)
        table->bases[group->base_at] = NULL;
    if (--table->count == 0) {
        KI_ASSERT(!table->buckets[0] && !table->buckets[count - 1]);
        unused = table->buckets; /* without a group, as is `first` */
        ki_group_table_init(table);
    }
    unlock_table(table);
    free_buckets(format, unused, count);
}

/* Makes a group with a part of the strings of `base` (NULL: none), which takes the reference. */
static ki_object_group *make(ki_object_format *format, const ki_group_content *content, const sums *all,
                             ki_object_group *base, size_t same) {
    size_t size = offsetof(ki_object_group, labels) + all->count * sizeof(ki_string_pair) + all->texts +
                  (base ? all->values - same : all->names + all->values);
    if (size < sizeof *base)
        size = sizeof *base; /* which has padding at its end */
    ki_object_group *group = size <= UINT32_MAX ? ki_alloc_zero(&format->allocator, size) : NULL;
    if (!group) {
        if (base)
            ki_object_group_unref(base);
        return NULL;
    }
    group->hash = all->hash;
    group->label_count = (uint32_t)all->count;
    group->size = (uint32_t)size;
    ki_refcount_inc(&format->refs);
    group->format = format;
    group->base = base;
    ki_refcount_init(&group->refs);
    fill(group, content);
    KI_ASSERT(group->namespace_at < size && group->kind_at < group->namespace_at);
    atomic_fetch_add_explicit(&format->groups.bytes, size, memory_order_relaxed);
    add(format, group, all->names_hash);
    return group;
}

ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content) {
    ki_object_group *base;
    size_t same = 0;
    const sums all = add_up(content, format->groups.seed);
    ki_object_group *group = find(format, content, &all, &base, &same);
    return group ? group : make(format, content, &all, base, same);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Counts an object that has a text; both are hashes. Returns true if KI_TEXT_OBJECTS objects in a row had it. The same
 * object twice in a row counts once. Another text with the same place in the table begins a new count. */
static bool is_seen(ki_group_table *table, uint64_t text, uint64_t object) {
    enum {
        OBJECT_BITS = 12,
        COUNT_BITS = 2
    };
    _Atomic uint32_t *seen = &table->seen[text % KI_TEXT_SEEN];
    uint32_t before = atomic_load_explicit(seen, memory_order_relaxed);
    uint32_t now = (uint32_t)(text >> 32) >> (OBJECT_BITS + COUNT_BITS), count = before & ((1u << COUNT_BITS) - 1);
    now = now << OBJECT_BITS | (uint32_t)(object & ((1u << OBJECT_BITS) - 1));
    if (before >> COUNT_BITS == now)
        return false;
    count = before >> (COUNT_BITS + OBJECT_BITS) == now >> OBJECT_BITS ? count + 1 : 1;
    bool is_it = count >= KI_TEXT_OBJECTS;
    atomic_store_explicit(seen, is_it ? 0 : now << COUNT_BITS | count, memory_order_relaxed);
    return is_it;
}

/* Returns true if the table takes one more group. Without it a text is not found again: a copy takes less. */
static bool has_room(ki_object_format *format) {
    ki_group_table *table = lock_table(format);
    bool is_there = table->count < KI_GROUPS_MAX;
    unlock_table(table);
    return is_there;
}

const char *ki_text_get(ki_object_format *format, ki_str text, ki_str name) {
    if (text.size < KI_TEXT_MIN || text.size > KI_TEXT_MAX)
        return NULL;
    const ki_group_content content = { text, KI_STR(""), KI_STR(""), NULL };
    const uint64_t seed = format->groups.seed;
    const sums all = { .hash = ki_hash(text.data, text.size, seed), .texts = text.size + 3 };
    ki_object_group *base, *group = find(format, &content, &all, &base, NULL);
    if (!group && is_seen(&format->groups, all.hash, ki_hash(name.data, name.size, seed)) && has_room(format))
        group = make(format, &content, &all, NULL, 0);
    return group ? ki_object_group_api_version(group) : NULL;
}

static ki_object_group *group_of_text(const char *text) {
    return (ki_object_group *)(uintptr_t)(text - offsetof(ki_object_group, labels));
}

void ki_text_ref(const char *text) {
    (void)ki_object_group_ref(group_of_text(text));
}

void ki_text_unref(const char *text) {
    ki_object_group_unref(group_of_text(text));
}

ki_object_group *ki_object_group_ref(ki_object_group *group) {
    ki_refcount_inc(&group->refs);
    return group;
}

void ki_object_group_unref(ki_object_group *group) {
    if (!ki_refcount_dec(&group->refs))
        return;
    ki_object_format *format = group->format;
    take_out(format, group);
    atomic_fetch_sub_explicit(&format->groups.bytes, group->size, memory_order_relaxed);
    if (group->base)
        ki_object_group_unref(group->base);
    ki_free(&format->allocator, group);
    ki_object_format_unref(format);
}
