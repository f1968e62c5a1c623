/* group.c: see group.h. */
#include "src/object/group.h"

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
static uint64_t measure(const ki_group_content *content, size_t *ret_count, size_t *ret_size) {
    uint64_t hash = hash_text(content->namespace, hash_text(content->kind, hash_text(content->api_version, 0)));
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

/* Compares a text of the group with `text`, and moves past it. */
static bool takes(const char **at, ki_str text) {
    bool is_it = memcmp(*at, text.data ? text.data : "", text.size) == 0 && (*at)[text.size] == '\0';
    *at += text.size + 1;
    return is_it;
}

/* The strings have as many bytes together and as many labels, so no comparison reads past the group's. */
static bool has_content(const ki_object_group *group, const ki_group_content *content) {
    const char *at = ki_object_group_api_version(group);
    bool is_it = takes(&at, content->api_version) && takes(&at, content->kind) && takes(&at, content->namespace);
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    for (yyjson_val *name; is_it && (name = next_label(&labels)) != NULL;)
        is_it = takes(&at, cut(name)) && takes(&at, cut(yyjson_obj_iter_get_val(name)));
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

static uint32_t place_of(const ki_object_group *group, const char *text) {
    return (uint32_t)(text - (const char *)group);
}

static void fill(ki_object_group *group, const ki_group_content *content) {
    char *to = (char *)(group->labels + group->label_count);
    ki_string_pair *pair = group->labels;
    yyjson_obj_iter labels = yyjson_obj_iter_with(content->labels);
    (void)put(&to, content->api_version);
    group->kind_at = place_of(group, put(&to, content->kind));
    group->namespace_at = place_of(group, put(&to, content->namespace));
    group->namespace_size = (uint32_t)content->namespace.size;
    for (yyjson_val *name; (name = next_label(&labels)) != NULL; pair++) {
        pair->name = put(&to, cut(name));
        pair->value = put(&to, cut(yyjson_obj_iter_get_val(name)));
    }
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

enum {
    BUCKETS_GROWN = 512,
    GROWN_SIZE = BUCKETS_GROWN * sizeof(ki_object_group *)
};

void ki_group_table_init(ki_group_table *table) {
    table->buckets = table->first;
    table->bucket_count = KI_GROUP_BUCKETS;
}

static ki_object_group **bucket_of(const ki_group_table *table, const ki_object_group *group) {
    return &table->buckets[group->hash % table->bucket_count];
}

/* Moves all groups to an array of more buckets. Caller holds the lock. */
static void move_groups(ki_group_table *table, ki_object_group **buckets) {
    table->buckets = buckets;
    table->bucket_count = BUCKETS_GROWN;
    for (size_t i = 0; i < KI_GROUP_BUCKETS; i++) {
        while (table->first[i]) {
            ki_object_group *group = table->first[i], **bucket = bucket_of(table, group);
            table->first[i] = group->next;
            group->next = *bucket;
            *bucket = group;
        }
    }
}

/* Without memory the buckets stay as they are. */
static void grow(ki_object_format *format) {
    ki_object_group **buckets = ki_alloc_zero(&format->allocator, GROWN_SIZE);
    if (!buckets)
        return;
    ki_group_table *table = lock_table(format);
    if (table->bucket_count == KI_GROUP_BUCKETS) { /* no other thread was faster */
        move_groups(table, buckets);
        buckets = NULL;
        atomic_fetch_add_explicit(&table->bytes, GROWN_SIZE, memory_order_relaxed);
    }
    unlock_table(table);
    ki_free(&format->allocator, buckets);
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

/* `wanted` has hash, size and number of labels. */
static ki_object_group *find(ki_object_format *format, const ki_group_content *content, const ki_object_group *wanted) {
    ki_group_table *table = lock_table(format);
    ki_object_group *group = *bucket_of(table, wanted);
    while (group && !(group->hash == wanted->hash && group->size == wanted->size &&
                      group->label_count == wanted->label_count && has_content(group, content) && revive(group)))
        group = group->next;
    unlock_table(table);
    return group;
}

/* Two threads can add equal groups at once; that costs some bytes. */
static void add(ki_object_format *format, ki_object_group *group) {
    ki_group_table *table = lock_table(format);
    bool is_full = table->bucket_count == KI_GROUP_BUCKETS && table->count >= 2 * KI_GROUP_BUCKETS;
    unlock_table(table);
    if (is_full)
        grow(format);
    (void)lock_table(format);
    ki_object_group **bucket = bucket_of(table, group);
    group->is_listed = table->count < KI_GROUPS_MAX;
    if (group->is_listed) {
        group->next = *bucket;
        *bucket = group;
        table->count++;
    }
    unlock_table(table);
}

/* Also frees an array of a table that is empty. */
static void take_out(ki_object_format *format, const ki_object_group *group) {
    if (!group->is_listed)
        return;
    ki_group_table *table = lock_table(format);
    ki_object_group **at = bucket_of(table, group), **unused = NULL;
    while (*at != group)
        at = &(*at)->next;
    *at = group->next;
    if (--table->count == 0 && table->buckets != table->first) {
        unused = table->buckets; /* without a group, as is `first` */
        ki_group_table_init(table);
        atomic_fetch_sub_explicit(&table->bytes, GROWN_SIZE, memory_order_relaxed);
    }
    unlock_table(table);
    ki_free(&format->allocator, unused);
}

ki_object_group *ki_object_group_get(ki_object_format *format, const ki_group_content *content) {
    size_t count, strings;
    uint64_t hash = measure(content, &count, &strings);
    size_t size = offsetof(ki_object_group, labels) + count * sizeof(ki_string_pair) + strings;
    if (size < sizeof(ki_object_group))
        size = sizeof(ki_object_group); /* which has padding at its end */
    if (size > UINT32_MAX)
        return NULL;
    const ki_object_group wanted = {
        .size = (uint32_t)size, .format = format, .hash = hash, .label_count = (uint32_t)count
    };
    ki_object_group *group = find(format, content, &wanted);
    if (group)
        return group;
    group = ki_alloc_zero(&format->allocator, size);
    if (!group)
        return NULL;
    *group = wanted;
    ki_refcount_init(&group->refs);
    (void)ki_object_format_ref(format);
    fill(group, content);
    atomic_fetch_add_explicit(&format->groups.bytes, size, memory_order_relaxed);
    add(format, group);
    return group;
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
    ki_free(&format->allocator, group);
    ki_object_format_unref(format);
}
