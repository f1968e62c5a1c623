/* key_table.h: a queue's items by key: a hash table that grows and shrinks by one bucket at a time (linear hashing), so that no
 * operation takes longer in a large table. Does not own the items. The queue's lock. */
#ifndef KI_WORKQUEUE_KEY_TABLE_H
#define KI_WORKQUEUE_KEY_TABLE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/workqueue/item.h"

enum {
    KI_KEY_BUCKET_SLOTS = 5 /* as many as a cache line holds */
};

/* Items beyond the slots are a chain that begins at the item of the last slot. */
typedef struct ki_key_bucket {
    uint32_t hashes[KI_KEY_BUCKET_SLOTS]; /* compared before an item is touched */
    uint32_t count;
    ki_work_item *items[KI_KEY_BUCKET_SLOTS];
} ki_key_bucket;

typedef struct ki_key_table {
    const ki_allocator *allocator;
    char **segments; /* each has an array of buckets in it, which begins at a cache line */
    size_t segment_count;
    size_t segment_room; /* of the array of segments */
    size_t buckets;      /* in use */
    size_t level;        /* a power of two: level ≤ buckets < 2 · level */
    size_t count;        /* items */
    uint64_t seed;
} ki_key_table;

ki_status ki_key_table_init(ki_key_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not its items. */
void ki_key_table_free(ki_key_table *table);
uint32_t ki_key_table_hash(const ki_key_table *table, const void *key, size_t size);
/* Makes a later find, add or remove of the hash faster, without waiting for memory now. */
void ki_key_table_prefetch(const ki_key_table *table, uint32_t hash);
/* Returns NULL where there is none. */
ki_work_item *ki_key_table_find(const ki_key_table *table, const void *key, size_t size, uint32_t hash);
/* Adds an item whose key is not in the table. Cannot fail: without memory the chains get longer. */
void ki_key_table_add(ki_key_table *table, ki_work_item *item);
/* Removes an item that is in the table. */
void ki_key_table_remove(ki_key_table *table, ki_work_item *item);
/* Removes any item and returns it; NULL once the table is empty. Only to empty the table: nothing may be added afterwards. */
ki_work_item *ki_key_table_take_any(ki_key_table *table);

#endif
