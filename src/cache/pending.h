/* pending.h: the notifications that wait for one listener: all of them in order, or the latest for each key. The listener's lock.
 *
 * Room is reserved before a change is stored, so that a push cannot fail afterwards. Taking out never makes reserved room smaller. */
#ifndef KI_CACHE_PENDING_H
#define KI_CACHE_PENDING_H

#include <kinformer/informer.h>

#include "src/cache/pending_table.h"
#include "src/cache/processor.h"

typedef struct ki_pending_chunk ki_pending_chunk;

typedef struct ki_pending {
    const ki_allocator *allocator;
    ki_delivery delivery;
    size_t count; /* that wait */
    /* KI_DELIVER_ALL: a chain of blocks */
    uint64_t pushed, popped; /* since the beginning */
    uint64_t mark;           /* what was pushed at ki_pending_set_mark */
    ki_pending_chunk *head, *tail, *spare;
    size_t head_at, tail_at;
    /* KI_DELIVER_LATEST: entries by key, in order of their first change */
    ki_pending_table by_key;
    ki_pending_entry *marked; /* the last one that was there at ki_pending_set_mark and still is; NULL: none */
    ki_pending_entry *first, *last, *spare_entry; /* spare ones are a chain by `after` */
    size_t spare_count;
} ki_pending;

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator, ki_delivery delivery, uint64_t seed);
/* Drops everything. */
void ki_pending_clear(ki_pending *pending);

/* Room for `changes` pushes of `keys` keys at most. */
ki_status ki_pending_reserve(ki_pending *pending, size_t changes, size_t keys);
/* Gives back what was reserved and not used, but for a little. */
void ki_pending_trim(ki_pending *pending);
void ki_pending_push(ki_pending *pending, const ki_notification *notification);
/* The next one; its objects are references, the caller's. False where nothing waits. */
bool ki_pending_pop(ki_pending *pending, ki_notification *ret_notification);

/* Remembers this moment; reached once all that was pushed before it has been taken out. */
void ki_pending_set_mark(ki_pending *pending);
bool ki_pending_mark_is_reached(const ki_pending *pending);

#endif
