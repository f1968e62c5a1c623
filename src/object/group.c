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

/* A content, added up, but for the values of labels. A label counts if its value is a string. Of its strings, what
 * precedes the first zero character counts: they are handed out as C strings. */
typedef struct shape {
    uint64_t hash;
    size_t count; /* labels */
    size_t texts; /* bytes of all other strings, with their zeros */
    size_t names; /* bytes */
} shape;

static shape shape_of(const ki_group_content *content, uint64_t seed) {
    const ki_str *texts[] = { &content->api_version, &content->kind, &content->namespace };
    shape sum = { .hash = seed };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sum.hash = ki_hash(texts[i]->data, texts[i]->size, sum.hash);
        sum.texts += texts[i]->size + 1;
    }
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        if (!yyjson_is_str(yyjson_obj_iter_get_val(key)))
            continue;
        size_t size = strlen(yyjson_get_str(key));
        sum.hash = ki_hash(yyjson_get_str(key), size, sum.hash);
        sum.names += size + 1;
        sum.count++;
    }
    return sum;
}

static bool has_shape(const ki_object_group *group, const ki_group_content *content, const shape *wanted) {
    if (group->base || group->hash != wanted->hash || group->label_count != wanted->count ||
        strcmp(ki_object_group_api_version(group), content->api_version.data) != 0 ||
        strcmp(ki_object_group_text(group, group->kind_at), content->kind.data) != 0 ||
        strcmp(ki_object_group_text(group, group->namespace_at), content->namespace.data) != 0)
        return false;
    const ki_string_pair *label = group->labels;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;)
        if (yyjson_is_str(yyjson_obj_iter_get_val(key)) && strcmp((label++)->name, yyjson_get_str(key)) != 0)
            return false;
    return true;
}

/* The labels whose values a content does not have in common with a group of its shape. */
typedef struct difference {
    size_t count, values; /* labels; bytes of the values, with their zeros */
    uint64_t hash;        /* of the group, and the first of these labels */
} difference;

/* `group`: NULL: none, from which all labels differ. */
static difference compare(const ki_object_group *group, const ki_group_content *content) {
    difference sum = { 0 };
    const ki_string_pair *label = group ? group->labels : NULL;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        if (!value || (label && strcmp((label++)->value, value) == 0))
            continue;
        size_t size = strlen(value);
        if (label && !sum.count)
            sum.hash = ki_hash(value, size, group->hash + (uint64_t)(label - group->labels));
        sum.values += size + 1;
        sum.count++;
    }
    return sum;
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

/* Returns a reference to the group that the values which differ lead to; NULL: none has the content's shape. */
static ki_object_group *find(ki_object_format *format, const ki_group_content *content, const shape *wanted,
                             difference *ret_differs) {
    ki_group_table *table = lock_table(format);
    ki_object_group *group = table->buckets[wanted->hash % table->bucket_count];
    while (group && !(has_shape(group, content, wanted) && revive(group)))
        group = group->next;
    *ret_differs = compare(group, content);
    while (group && ret_differs->count) {
        ki_object_group *closer = table->buckets[ret_differs->hash % table->bucket_count];
        while (closer && !(closer->hash == ret_differs->hash && closer->base == group && revive(closer)))
            closer = closer->next;
        if (!closer)
            break;
        (void)ki_refcount_dec(&group->refs); /* not the last one: `closer` has one */
        group = closer;
        *ret_differs = compare(group, content);
    }
    unlock_table(table);
    return group;
}

/* Two threads can add equal groups at once; that costs some bytes. */
static void add(ki_object_format *format, ki_object_group *group) {
    ki_group_table *table = lock_table(format);
    ki_object_group **bucket = &table->buckets[group->hash % table->bucket_count];
    KI_ASSERT(!group->is_listed && table->count <= KI_GROUPS_MAX);
    group->is_listed = table->count < KI_GROUPS_MAX && group->label_count <= KI_OWN_LABELS_MAX;
    if (group->is_listed) {
        group->next = *bucket;
        *bucket = group;
        table->count++;
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
    if (--table->count == 0) {
        KI_ASSERT(!table->buckets[0] && !table->buckets[count - 1]);
        unused = table->buckets; /* without a group, as is `first` */
        ki_group_table_init(table);
    }
    unlock_table(table);
    free_buckets(format, unused, count);
}

/* Makes a group with a part of the strings of `base` (NULL: none), which takes the reference. */
static ki_object_group *make(ki_object_format *format, const ki_group_content *content, const shape *wanted,
                             ki_object_group *base, const difference *differs) {
    size_t size = offsetof(ki_object_group, labels) + wanted->count * sizeof(ki_string_pair) + wanted->texts +
                  (base ? 0 : wanted->names) + differs->values;
    if (size < sizeof *base)
        size = sizeof *base; /* which has padding at its end */
    ki_object_group *group = size <= UINT32_MAX ? ki_alloc_zero(&format->allocator, size) : NULL;
    if (!group) {
        if (base)
            ki_object_group_unref(base);
        return NULL;
    }
    group->hash = base ? differs->hash : wanted->hash;
    group->depth = base ? base->depth + 1 : 0;
    group->label_count = (uint32_t)wanted->count;
    group->size = (uint32_t)size;
    ki_refcount_inc(&format->refs);
    group->format = format;
    group->base = base;
    ki_refcount_init(&group->refs);
    fill(group, content);
    KI_ASSERT(group->namespace_at < size && group->kind_at < group->namespace_at);
    atomic_fetch_add_explicit(&format->groups.bytes, size, memory_order_relaxed);
    add(format, group);
    return group;
}

/* Counts an object that has labels or a text; both are hashes. Returns true if KI_GROUP_OBJECTS objects in a row had
 * them, and the table takes one more group: without it they are not found again. */
static bool is_common(ki_object_format *format, uint64_t content, uint64_t object) {
    if (!ki_seen_count(&format->groups.seen, content, object, KI_GROUP_OBJECTS))
        return false;
    ki_group_table *table = lock_table(format);
    bool has_room = table->count < KI_GROUPS_MAX;
    unlock_table(table);
    return has_room;
}

static uint64_t hash_of_name(const ki_object_format *format, ki_str name) {
    return ki_hash(name.data, name.size, format->groups.seed);
}

ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content, size_t *ret_own) {
    difference differs;
    const shape wanted = shape_of(content, format->groups.seed);
    ki_object_group *group = find(format, content, &wanted, &differs);
    *ret_own = 0;
    if (!group || (differs.count && group->depth < KI_GROUP_DEPTH &&
                   is_common(format, differs.hash, hash_of_name(format, content->name))))
        return make(format, content, &wanted, group, &differs);
    *ret_own = differs.count ? differs.count + differs.values + 1 : 0;
    return group;
}

/* --- own labels --------------------------------------------------------------------------------------------------- */

/* Each is a string: a byte with the number of the label, counted from 1, and the value. An empty string ends them. */

char *ki_object_group_write_own(const ki_object_group *group, const ki_group_content *content, char *to) {
    uint8_t number = 0;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&labels)) != NULL;) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        if (!value || strcmp(group->labels[number++].value, value) == 0)
            continue;
        *to++ = (char)number;
        to = stpcpy(to, value) + 1;
    }
    *to = '\0';
    return to + 1;
}

const char *ki_object_group_value(const ki_object_group *group, const char *own, size_t index) {
    for (; own && *own; own += strlen(own) + 1)
        if ((uint8_t)*own == index + 1)
            return own + 1;
    return group->labels[index].value;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

const char *ki_text_get(ki_object_format *format, ki_str text, ki_str name) {
    if (text.size < KI_TEXT_MIN || text.size > KI_TEXT_MAX)
        return NULL;
    difference differs;
    const ki_group_content content = { .api_version = text, .kind = KI_STR(""), .namespace = KI_STR("") };
    const shape wanted = { .hash = ki_hash(text.data, text.size, format->groups.seed), .texts = text.size + 3 };
    ki_object_group *group = find(format, &content, &wanted, &differs);
    if (!group && is_common(format, wanted.hash, hash_of_name(format, name)))
        group = make(format, &content, &wanted, NULL, &differs);
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
