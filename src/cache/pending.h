/* pending.h: the notifications that wait for one listener: all of them in order, or the latest for each key. Under the
 * listener's lock.
 *
 * Room is reserved before a change is stored, so that a push cannot fail afterwards. Popping never reduces reserved
 * room. */
#ifndef KI_CACHE_PENDING_H
#define KI_CACHE_PENDING_H

#include <kinformer/informer.h>

#include "src/cache/pending_table.h"
#include "src/cache/processor.h"

typedef struct ki_pending_chunk ki_pending_chunk;

typedef struct ki_pending {
    const ki_allocator *allocator;
    ki_delivery delivery;
    size_t count; /* waiting notifications */
    /* KI_DELIVER_ALL: a chain of blocks */
    uint64_t pushed, popped; /* since the beginning */
    uint64_t mark;           /* `pushed` at ki_pending_set_mark */
    ki_pending_chunk *head, *tail, *spare;
    size_t head_at, tail_at;
    /* KI_DELIVER_LATEST: entries by key, in order of their first change */
    ki_pending_table by_key;
    ki_pending_entry *marked; /* the last entry from before ki_pending_set_mark that still waits; NULL: none */
    ki_pending_entry *first, *last, *spare_entry; /* spare ones are a chain by `after` */
    size_t spare_count;
} ki_pending;

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator, ki_delivery delivery, uint64_t seed);
/* Drops everything. */
void ki_pending_clear(ki_pending *pending);

/* Reserves room for `changes` pushes of at most `keys` keys. */
ki_status ki_pending_reserve(ki_pending *pending, size_t changes, size_t keys);
/* Releases unused reserved room, except one block or entry. */
void ki_pending_trim(ki_pending *pending);
/* Adds a notification and references to its objects. Its room must be reserved. */
void ki_pending_push(ki_pending *pending, const ki_change *change);
/* Pops the next notification. The caller owns its references. Returns false if none waits. */
bool ki_pending_pop(ki_pending *pending, ki_change *ret_change);

/* Sets the mark, which is reached once everything pushed before has been popped. */
void ki_pending_set_mark(ki_pending *pending);
bool ki_pending_mark_is_reached(const ki_pending *pending);

#endif
