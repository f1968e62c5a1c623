/* key_table.h: a queue's items by key: a hash table that grows and shrinks by one bucket at a time (linear hashing), so
 * that an operation takes no longer in a large table. Does not own the items. Guarded by the queue's lock. */
#ifndef KI_WORKQUEUE_KEY_TABLE_H
#define KI_WORKQUEUE_KEY_TABLE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/workqueue/item.h"

enum {
    KI_KEY_BUCKET_SLOTS = 5 /* fits a cache line */
};

/* Items beyond the slots form a chain that begins at the last slot's item. */
typedef struct ki_key_bucket {
    uint32_t hashes[KI_KEY_BUCKET_SLOTS]; /* compared before the item's memory is read */
    uint32_t count;
    ki_work_item *items[KI_KEY_BUCKET_SLOTS];
} ki_key_bucket;

typedef struct ki_key_table {
    const ki_allocator *allocator;
    char **segments; /* memory of SEGMENT buckets each; the first bucket begins at a cache line inside */
    size_t segment_count;
    size_t segment_room; /* capacity of the array of segments */
    size_t buckets;      /* in use */
    size_t level;        /* a power of two: level ≤ buckets < 2 · level */
    size_t count;        /* items */
    uint64_t seed;
} ki_key_table;

/* Makes an empty table. `seed` keeps others from choosing keys that collide. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_key_table_init(ki_key_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not its items. */
void ki_key_table_free(ki_key_table *table);
uint32_t ki_key_table_hash(const ki_key_table *table, const void *key, size_t size);
/* Prefetches the bucket of a hash for a later find, add or remove. */
void ki_key_table_prefetch(const ki_key_table *table, uint32_t hash);
/* Returns the item of a key; NULL if there is none. */
ki_work_item *ki_key_table_find(const ki_key_table *table, const void *key, size_t size, uint32_t hash);
/* Adds an item whose key is not in the table. Cannot fail: without memory for a split the chains get longer. */
void ki_key_table_add(ki_key_table *table, ki_work_item *item);
/* Removes an item that is in the table. */
void ki_key_table_remove(ki_key_table *table, ki_work_item *item);
/* Removes any item and returns it; NULL once the table is empty. Nothing may be added afterwards. */
ki_work_item *ki_key_table_take_any(ki_key_table *table);

#endif
