/* pending_table.h: the waiting entries of a listener by key: a hash table with eight bytes for each entry, since there
 * can be one for each object. Under the listener's lock. The key's text belongs to the entry's object, which can
 * change.
 *
 * A table with many keys is divided into parts. Each part grows alone, so that no single call moves more than a few
 * thousand entries. */
#ifndef KI_CACHE_PENDING_TABLE_H
#define KI_CACHE_PENDING_TABLE_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct ki_pending_entry ki_pending_entry;

/* The waiting notification of one key. */
struct ki_pending_entry {
    ki_pending_entry *before, *after;
    ki_object *known; /* the state of the listener's last notification; NULL: none yet */
    ki_object *obj;   /* the newest state, or the last one if it is deleted */
    uint32_t hash;    /* of the key; set by the table */
    bool is_deleted : 1;
    bool is_in_initial_list : 1, is_resync : 1, final_state_unknown : 1;
};

typedef struct ki_pending_part {
    ki_pending_entry **slots; /* NULL: empty */
    size_t count;
    size_t capacity; /* a power of two, or 0 */
} ki_pending_part;

typedef struct ki_pending_table {
    const ki_allocator *allocator;
    ki_pending_part whole;  /* used while there are few keys */
    ki_pending_part *parts; /* NULL: not in parts */
    size_t count;
    uint64_t seed;
} ki_pending_table;

void ki_pending_table_init(ki_pending_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not its entries. */
void ki_pending_table_free(ki_pending_table *table);
/* Reserves room for `more` entries. Errors: KI_ERR_NO_MEMORY; the entries stay. */
ki_status ki_pending_table_reserve(ki_pending_table *table, size_t more);
ki_pending_entry *ki_pending_table_get(const ki_pending_table *table, const char *key); /* NULL if the key is missing */
/* Adds an entry. Its key must be missing, and its room reserved. */
void ki_pending_table_put(ki_pending_table *table, ki_pending_entry *entry);
/* Removes an entry, which must be in the table. */
void ki_pending_table_remove(ki_pending_table *table, const ki_pending_entry *entry);

#endif
