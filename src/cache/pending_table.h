/* pending_table.h: what waits for a listener, by key: a hash table of eight bytes an entry, since there may be one for each object.
 * The listener's lock. The key's text is that of the entry's object, whichever that is.
 *
 * With many keys it is in parts, each of which grows by itself, so that no single call moves more than a few thousand entries. */
#ifndef KI_CACHE_PENDING_TABLE_H
#define KI_CACHE_PENDING_TABLE_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct ki_pending_entry ki_pending_entry;

/* What waits of one key. */
struct ki_pending_entry {
    ki_pending_entry *before, *after;
    ki_object *known; /* what the listener saw last; NULL: it does not know the object */
    ki_object *obj;   /* the newest state, or the last one where it is gone */
    uint32_t hash;    /* the table's, of the key */
    bool is_gone : 1;
    bool is_in_initial_list : 1, is_resync : 1, final_state_unknown : 1;
};

typedef struct ki_pending_part {
    ki_pending_entry **slots; /* NULL: empty */
    size_t count;
    size_t capacity; /* a power of two, or 0 */
} ki_pending_part;

typedef struct ki_pending_table {
    const ki_allocator *allocator;
    ki_pending_part whole;  /* while there are few keys */
    ki_pending_part *parts; /* NULL: not in parts */
    size_t count;
    uint64_t seed;
} ki_pending_table;

void ki_pending_table_init(ki_pending_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the table, not what is in it. */
void ki_pending_table_free(ki_pending_table *table);
/* Room for so many more. Errors: KI_ERR_NO_MEMORY; what is in stays. */
ki_status ki_pending_table_reserve(ki_pending_table *table, size_t more);
ki_pending_entry *ki_pending_table_get(const ki_pending_table *table, const char *key); /* NULL where it is not in */
/* One whose key is not in; its place was reserved. */
void ki_pending_table_put(ki_pending_table *table, ki_pending_entry *entry);
/* One that is in. */
void ki_pending_table_remove(ki_pending_table *table, const ki_pending_entry *entry);

#endif
