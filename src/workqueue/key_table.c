/* key_table.c: linear hashing over segments of fixed size. A bucket b ≥ level holds items that bucket b - level held
 * before its split. */
#include "src/workqueue/key_table.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <string.h>

enum {
    CACHE_LINE = 64,
    SEGMENT = 64,   /* buckets per segment; a power of two */
    FIRST_ROOM = 8, /* segments */
    LAST_SLOT = KI_KEY_BUCKET_SLOTS - 1,
    FULL = 3,  /* items per bucket; above this average a bucket is split */
    SPLITS = 2 /* at most, for each added item: one keeps up, the other makes up for failed splits */
};

static ki_status add_segment(ki_key_table *table) {
    if (table->segment_count == table->segment_room) {
        size_t room = table->segment_room ? table->segment_room * 2 : FIRST_ROOM;
        char **segments = ki_realloc_array(table->allocator, table->segments, room, sizeof(char *));
        if (!segments)
            return KI_ERR_NO_MEMORY;
        table->segments = segments;
        table->segment_room = room;
    }
    char *segment = ki_alloc_zero(table->allocator, SEGMENT * sizeof(ki_key_bucket) + CACHE_LINE - 1);
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

/* --- one bucket --------------------------------------------------------------------------------------------------- */

static bool is_item(const ki_work_item *item, const void *key, size_t size) {
    return item->key_size == size && memcmp(item->key, key, size) == 0;
}

static size_t used_slots(const ki_key_bucket *bucket) {
    return bucket->count < KI_KEY_BUCKET_SLOTS ? bucket->count : KI_KEY_BUCKET_SLOTS;
}

static void set_slot(ki_key_bucket *bucket, size_t slot, uint32_t hash, ki_work_item *item) {
    bucket->hashes[slot] = hash;
    bucket->items[slot] = item;
}

static void put(ki_key_bucket *bucket, uint32_t hash, ki_work_item *item) {
    if (bucket->count > LAST_SLOT) {
        item->chain = bucket->items[LAST_SLOT]->chain;
        bucket->items[LAST_SLOT]->chain = item;
    } else {
        if (bucket->count == LAST_SLOT)
            item->chain = NULL;
        set_slot(bucket, bucket->count, hash, item);
    }
    bucket->count++;
}

/* Removes the chain's first item and returns it. */
static ki_work_item *unchain(ki_key_bucket *bucket) {
    ki_work_item *item = bucket->items[LAST_SLOT]->chain;
    bucket->items[LAST_SLOT]->chain = item->chain;
    return item;
}

static void take_out(ki_key_bucket *bucket, const ki_work_item *item) {
    size_t slot = 0, used = used_slots(bucket);
    while (slot < used && bucket->items[slot] != item)
        slot++;
    if (slot == used) {
        ki_work_item *before = bucket->items[LAST_SLOT];
        while (before->chain != item)
            before = before->chain;
        before->chain = item->chain;
    } else if (bucket->count > KI_KEY_BUCKET_SLOTS) {
        ki_work_item *moved = unchain(bucket);
        if (slot == LAST_SLOT)
            moved->chain = item->chain;
        set_slot(bucket, slot, moved->hash, moved);
    } else {
        set_slot(bucket, slot, bucket->hashes[used - 1], bucket->items[used - 1]);
    }
    bucket->count--;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static ki_key_bucket *bucket_at(const ki_key_table *table, size_t index) {
    char *segment = table->segments[index / SEGMENT];
    segment += -(uintptr_t)segment % CACHE_LINE;
    return (ki_key_bucket *)(void *)segment + index % SEGMENT;
}

static ki_key_bucket *bucket_of(const ki_key_table *table, uint32_t hash) {
    size_t index = hash & (table->level * 2 - 1);
    if (index >= table->buckets)
        index -= table->level;
    return bucket_at(table, index);
}

void ki_key_table_prefetch(const ki_key_table *table, uint32_t hash) {
    __builtin_prefetch(bucket_of(table, hash));
}

ki_work_item *ki_key_table_find(const ki_key_table *table, const void *key, size_t size, uint32_t hash) {
    const ki_key_bucket *bucket = bucket_of(table, hash);
    for (size_t i = 0; i < used_slots(bucket); i++)
        if (bucket->hashes[i] == hash && is_item(bucket->items[i], key, size))
            return bucket->items[i];
    if (bucket->count <= KI_KEY_BUCKET_SLOTS)
        return NULL;
    ki_work_item *item = bucket->items[LAST_SLOT]->chain;
    while (item && (item->hash != hash || !is_item(item, key, size)))
        item = item->chain;
    return item;
}

/* Moves a bucket's items to their buckets after the number of buckets changed. */
static void distribute(ki_key_table *table, ki_key_bucket *bucket) {
    const ki_key_bucket before = *bucket;
    ki_work_item *chain = before.count > KI_KEY_BUCKET_SLOTS ? before.items[LAST_SLOT]->chain : NULL;
    bucket->count = 0;
    for (size_t i = 0; i < used_slots(&before); i++)
        put(bucket_of(table, before.hashes[i]), before.hashes[i], before.items[i]);
    while (chain) {
        ki_work_item *item = chain;
        chain = item->chain;
        put(bucket_of(table, item->hash), item->hash, item);
    }
}

/* Adds a bucket and moves its items there from bucket `buckets - level`. */
static ki_status split(ki_key_table *table) {
    if (table->buckets == table->segment_count * SEGMENT && add_segment(table))
        return KI_ERR_NO_MEMORY;
    ki_key_bucket *old = bucket_at(table, table->buckets - table->level);
    if (++table->buckets == table->level * 2)
        table->level *= 2;
    distribute(table, old);
    return KI_OK;
}

/* Removes the last bucket and moves its items back. */
static void merge(ki_key_table *table) {
    if (table->buckets == table->level)
        table->level /= 2;
    size_t last = --table->buckets;
    distribute(table, bucket_at(table, last));
    if (last % SEGMENT == 0)
        ki_free(table->allocator, table->segments[--table->segment_count]);
}

void ki_key_table_add(ki_key_table *table, ki_work_item *item) {
    put(bucket_of(table, item->hash), item->hash, item);
    table->count++;
    for (int i = 0; i < SPLITS && table->count > table->buckets * FULL && table->buckets < UINT32_MAX; i++)
        if (split(table))
            break;
}

void ki_key_table_remove(ki_key_table *table, ki_work_item *item) {
    take_out(bucket_of(table, item->hash), item);
    table->count--;
    if (table->buckets > SEGMENT && table->count < table->buckets)
        merge(table);
}

ki_work_item *ki_key_table_take_any(ki_key_table *table) {
    for (; table->buckets > 0; table->buckets--) {
        ki_key_bucket *bucket = bucket_at(table, table->buckets - 1);
        if (bucket->count == 0)
            continue;
        ki_work_item *item = bucket->count > KI_KEY_BUCKET_SLOTS ? unchain(bucket) : bucket->items[bucket->count - 1];
        bucket->count--;
        table->count--;
        return item;
    }
    return NULL;
}
