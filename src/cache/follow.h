/* follow.h: what becomes of an object by one delta, and what the listeners are told of it. For the process step. The change lock is held. */
#ifndef KI_CACHE_FOLLOW_H
#define KI_CACHE_FOLLOW_H

#include "src/cache/processor.h"
#include "src/cache/queue.h"
#include "src/cache/unreadable.h"

/* Tells the listeners, or only counts. */
typedef struct ki_teller {
    ki_processor *processor;   /* NULL: only counts */
    ki_unreadable *unreadable; /* the informer's */
    size_t count;
    size_t changes; /* of the store */
} ki_teller;

/* Returns what becomes of `known` (NULL: nothing is there), borrowed from one of both; NULL: nothing is left. Tells of it. */
ki_object *ki_follow(const ki_delta *delta, ki_object *known, ki_teller *to);
void ki_tell_deleted(ki_teller *to, ki_object *obj, ki_object *known, bool final_state_unknown);
void ki_tell_updated(ki_teller *to, const ki_delta *delta, ki_object *known);

#endif
