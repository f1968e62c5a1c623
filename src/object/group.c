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

/* Returns the text up to the first zero character: labels are handed out as C strings. */
static ki_str cut(yyjson_val *text) {
    return ki_str_of(yyjson_get_str(text));
}

static uint64_t hash_text(ki_str text, uint64_t seed) {
    return ki_hash(text.data, text.size, seed);
}

/* Returns the next label whose value is a string; NULL: none is left. */
static yyjson_val *next_label(yyjson_obj_iter *labels) {
    yyjson_val *name;
    while ((name = yyjson_obj_iter_next(labels)) != NULL && !yyjson_is_str(yyjson_obj_iter_get_val(name)))
        continue;
    return name;
}

/* Adds up the content. `*ret_size`: bytes of the strings with their zeros. */
static uint64_t measure(const ki_group_content *content, uint64_t seed, size_t *ret_count, size_t *ret_size) {
    uint64_t hash = hash_text(content->namespace, hash_text(content->kind, hash_text(content->api_version, seed)));
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    *ret_count = 0;
    *ret_size = content->namespace.size + content->kind.size + content->api_version.size + 3;
    for (yyjson_val *name; (name = next_label(&labels)) != NULL;) {
        ki_str label = cut(name), text = cut(yyjson_obj_iter_get_val(name));
        ++*ret_count;
        *ret_size += label.size + text.size + 2;
        hash = hash_text(text, hash_text(label, hash));
    }
    return hash;
}

static bool is_text(const char *known, ki_str text) {
    return strcmp(known, text.data ? text.data : "") == 0;
}

/* Compares a text of the group with `text`, and moves past it. */
static bool takes(const char **at, ki_str text) {
    bool is_it = is_text(*at, text);
    *at += text.size + 1;
    return is_it;
}

/* `group` has as many labels. */
static bool has_content(const ki_object_group *group, const ki_group_content *content) {
    const char *at = ki_object_group_api_version(group);
    const ki_string_pair *label = group->labels;
    bool is_it = takes(&at, content->api_version) && takes(&at, content->kind) && takes(&at, content->namespace);
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *name; is_it && (name = next_label(&labels)) != NULL; label++)
        is_it = is_text(label->name, cut(name)) && is_text(label->value, cut(yyjson_obj_iter_get_val(name)));
    return is_it;
}

static const char *put(char **to, ki_str text) {
    char *place = *to;
    if (text.size)
        memcpy(place, text.data, text.size);
    place[text.size] = '\0';
    *to += text.size + 1;
    return place;
}

static void fill(ki_object_group *group, const ki_group_content *content) {
    char *to = (char *)(group->labels + group->label_count);
    ki_string_pair *label = group->labels;
    const ki_string_pair *known = group->base ? group->base->labels : NULL;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    (void)put(&to, content->api_version);
    group->kind_at = (uint32_t)(put(&to, content->kind) - (const char *)group);
    group->namespace_at = (uint32_t)(put(&to, content->namespace) - (const char *)group);
    group->namespace_size = (uint32_t)content->namespace.size;
    for (yyjson_val *name; (name = next_label(&labels)) != NULL; label++) {
        ki_str value = cut(yyjson_obj_iter_get_val(name));
        label->name = known ? known->name : put(&to, cut(name));
        label->value = known && is_text(known->value, value) ? known->value : put(&to, value);
        known += known != NULL;
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

static ki_object_group **bucket_of(const ki_group_table *table, const ki_object_group *group) {
    KI_ASSERT(table->bucket_count > 0);
    return &table->buckets[group->hash % table->bucket_count];
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
            ki_object_group *group = before[i], **bucket = bucket_of(table, group);
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

/* `wanted` has hash and number of labels. */
static ki_object_group *find(ki_object_format *format, const ki_group_content *content, const ki_object_group *wanted) {
    ki_group_table *table = lock_table(format);
    ki_object_group *group = *bucket_of(table, wanted);
    while (group && !(group->hash == wanted->hash && group->label_count == wanted->label_count &&
                      has_content(group, content) && revive(group)))
        group = group->next;
    unlock_table(table);
    return group;
}

/* Returns the hash of the names of the labels; `*ret_size`: bytes of the names with their zeros. */
static uint64_t hash_names(const ki_group_content *content, uint64_t seed, size_t *ret_size) {
    uint64_t hash = seed;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    *ret_size = 0;
    for (yyjson_val *name; (name = next_label(&labels)) != NULL;) {
        ki_str label = cut(name);
        hash = hash_text(label, hash);
        *ret_size += label.size + 1;
    }
    return hash;
}

/* Returns true if the group has the same names of labels, of which both have as many. `*ret_size`: bytes of the values
 * that are equal. */
static bool has_names(const ki_object_group *group, const ki_group_content *content, size_t *ret_size) {
    const ki_string_pair *label = group->labels;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    *ret_size = 0;
    for (yyjson_val *name; (name = next_label(&labels)) != NULL; label++) {
        ki_str value = cut(yyjson_obj_iter_get_val(name));
        if (!is_text(label->name, cut(name)))
            return false;
        *ret_size += is_text(label->value, value) ? value.size + 1 : 0;
    }
    return true;
}

/* Returns a reference to the group whose strings a new one can have; NULL: none. `*ret_size`: bytes of these
 * strings. */
static ki_object_group *find_base(ki_object_format *format, const ki_group_content *content, size_t count,
                                  uint64_t names, size_t *ret_size) {
    ki_group_table *table = lock_table(format);
    ki_object_group *base = table->bases[names % KI_GROUP_BASES];
    if (base && !(base->label_count == count && has_names(base, content, ret_size) && revive(base)))
        base = NULL;
    unlock_table(table);
    return base;
}

/* Two threads can add equal groups at once; that costs some bytes. */
static void add(ki_object_format *format, ki_object_group *group, uint64_t names) {
    ki_group_table *table = lock_table(format);
    bool is_full = table->count >= 2 * table->bucket_count && table->bucket_count < BUCKETS_MAX;
    size_t buckets = is_full ? table->bucket_count : 0;
    unlock_table(table);
    if (buckets)
        grow(format, buckets);
    (void)lock_table(format);
    ki_object_group **bucket = bucket_of(table, group);
    KI_ASSERT(!group->is_listed && table->count <= KI_GROUPS_MAX);
    group->is_listed = table->count < KI_GROUPS_MAX;
    if (group->is_listed) {
        group->next = *bucket;
        *bucket = group;
        table->count++;
        group->base_at = (uint8_t)(names % KI_GROUP_BASES);
        if (group->label_count && !group->base)
            table->bases[group->base_at] = group;
    }
    unlock_table(table);
}

/* Also frees an array of a table that is empty. */
static void take_out(ki_object_format *format, const ki_object_group *group) {
    if (!group->is_listed)
        return;
    ki_group_table *table = lock_table(format);
    ki_object_group **at = bucket_of(table, group), **unused = table->first;
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

/* `wanted` has hash and number of labels; `strings`: bytes of all strings. */
static ki_object_group *make(ki_object_format *format, const ki_group_content *content, const ki_object_group *wanted,
                             size_t strings) {
    size_t names_size = 0, values_size = 0;
    uint64_t names = wanted->label_count ? hash_names(content, format->groups.seed, &names_size) : 0;
    ki_object_group *base = NULL;
    if (wanted->label_count)
        base = find_base(format, content, wanted->label_count, names, &values_size);
    size_t size = offsetof(ki_object_group, labels) + wanted->label_count * sizeof(ki_string_pair) +
                  (base ? strings - names_size - values_size : strings);
    if (size < sizeof *base)
        size = sizeof *base; /* which has padding at its end */
    ki_object_group *group = size <= UINT32_MAX ? ki_alloc_zero(&format->allocator, size) : NULL;
    if (!group) {
        if (base)
            ki_object_group_unref(base);
        return NULL;
    }
    *group = *wanted;
    group->size = (uint32_t)size;
    group->format = ki_object_format_ref(format);
    group->base = base;
    ki_refcount_init(&group->refs);
    fill(group, content);
    KI_ASSERT(group->namespace_at < size && group->kind_at < group->namespace_at);
    atomic_fetch_add_explicit(&format->groups.bytes, size, memory_order_relaxed);
    add(format, group, names);
    return group;
}

ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content) {
    size_t count, strings;
    uint64_t hash = measure(content, format->groups.seed, &count, &strings);
    const ki_object_group wanted = { .hash = hash, .label_count = (uint32_t)count };
    ki_object_group *group = find(format, content, &wanted);
    return group ? group : make(format, content, &wanted, strings);
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
    const ki_group_content content = { .api_version = text };
    const uint64_t seed = format->groups.seed;
    const ki_object_group wanted = { .hash = hash_text(text, seed) };
    ki_object_group *group = find(format, &content, &wanted);
    if (!group && is_seen(&format->groups, wanted.hash, hash_text(name, seed)) && has_room(format))
        group = make(format, &content, &wanted, text.size + 3);
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
