/* key_table.c: linear hashing over segments of fixed size. Bucket b of the upper half, level ≤ b, holds what bucket b - level held
 * before it was split. */
#include "src/workqueue/key_table.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <string.h>

enum {
    SEGMENT = 512,    /* buckets of a segment; a power of two */
    FIRST_ROOM = 8,   /* segments */
    SPLITS = 2,       /* at most, for each item added: one keeps up, the other makes up for failed ones */
    MERGES = 4,       /* at most, for each item removed */
    SPARE_BUCKETS = 4 /* for each item, before buckets are merged */
};

static ki_status add_segment(ki_key_table *table) {
    if (table->segment_count == table->segment_room) {
        size_t room = table->segment_room ? table->segment_room * 2 : FIRST_ROOM;
        ki_work_item ***segments = ki_realloc_array(table->allocator, table->segments, room, sizeof(ki_work_item **));
        if (!segments)
            return KI_ERR_NO_MEMORY;
        table->segments = segments;
        table->segment_room = room;
    }
    ki_work_item **segment = ki_alloc_zero(table->allocator, SEGMENT * sizeof(ki_work_item *));
    if (!segment)
        return KI_ERR_NO_MEMORY;
    table->segments[table->segment_count++] = segment;
    return KI_OK;
}

ki_status ki_key_table_init(ki_key_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_key_table){ .allocator = allocator, .buckets = SEGMENT, .level = SEGMENT, .seed = seed };
    ki_status status = add_segment(table);
    if (status)
        ki_key_table_free(table);
    return status;
}

void ki_key_table_free(ki_key_table *table) {
    for (size_t i = 0; i < table->segment_count; i++)
        ki_free(table->allocator, table->segments[i]);
    ki_free(table->allocator, table->segments);
    *table = (ki_key_table){ .allocator = table->allocator };
}

uint32_t ki_key_table_hash(const ki_key_table *table, const void *key, size_t size) {
    return (uint32_t)ki_hash(key, size, table->seed);
}

static ki_work_item **bucket_at(const ki_key_table *table, size_t index) {
    return &table->segments[index / SEGMENT][index % SEGMENT];
}

static ki_work_item **bucket_of(const ki_key_table *table, uint32_t hash) {
    size_t index = hash & (table->level * 2 - 1);
    if (index >= table->buckets)
        index -= table->level;
    return bucket_at(table, index);
}

ki_work_item *ki_key_table_find(const ki_key_table *table, const void *key, size_t size, uint32_t hash) {
    ki_work_item *item = *bucket_of(table, hash);
    while (item && (item->hash != hash || item->key_size != size || memcmp(item->key, key, size) != 0))
        item = item->chain;
    return item;
}

/* Moves the items of the bucket that the next new bucket comes from. */
static ki_status split(ki_key_table *table) {
    if (table->buckets == table->segment_count * SEGMENT && add_segment(table))
        return KI_ERR_NO_MEMORY;
    size_t added = table->buckets;
    ki_work_item **from = bucket_at(table, added - table->level), **to = bucket_at(table, added);
    size_t mask = table->level * 2 - 1;
    while (*from) {
        ki_work_item *item = *from;
        if ((item->hash & mask) != added) {
            from = &item->chain;
            continue;
        }
        *from = item->chain;
        item->chain = NULL;
        *to = item;
        to = &item->chain;
    }
    if (++table->buckets == table->level * 2)
        table->level *= 2;
    return KI_OK;
}

/* Undoes the last split. */
static void merge(ki_key_table *table) {
    if (table->buckets == table->level)
        table->level /= 2;
    size_t last = --table->buckets;
    ki_work_item **from = bucket_at(table, last), **to = bucket_at(table, last - table->level);
    while (*to)
        to = &(*to)->chain;
    *to = *from;
    *from = NULL;
    if (last % SEGMENT == 0)
        ki_free(table->allocator, table->segments[--table->segment_count]);
}

void ki_key_table_add(ki_key_table *table, ki_work_item *item) {
    ki_work_item **bucket = bucket_of(table, item->hash);
    item->chain = *bucket;
    *bucket = item;
    table->count++;
    for (int i = 0; i < SPLITS && table->count > table->buckets && table->buckets < UINT32_MAX; i++)
        if (split(table))
            break;
}

void ki_key_table_remove(ki_key_table *table, ki_work_item *item) {
    ki_work_item **at = bucket_of(table, item->hash);
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    table->count--;
    for (int i = 0; i < MERGES && table->buckets > SEGMENT && table->count < table->buckets / SPARE_BUCKETS; i++)
        merge(table);
}

ki_work_item *ki_key_table_take_any(ki_key_table *table) {
    while (table->buckets > 0) {
        ki_work_item **bucket = bucket_at(table, table->buckets - 1);
        ki_work_item *item = *bucket;
        if (item) {
            *bucket = item->chain;
            table->count--;
            return item;
        }
        table->buckets--;
    }
    return NULL;
}
