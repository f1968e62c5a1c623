/* queued_list.h: a list or resync in a queue. The queue works it off in slices, one unit at a time, as the changes that
 * it means: its objects, and the deletion of the known objects that are not in it; or one of each known object in a
 * resync. For both queues. Loop only. */
#ifndef KI_CACHE_QUEUED_LIST_H
#define KI_CACHE_QUEUED_LIST_H

#include "src/base/map.h"
#include "src/cache/queue/queue.h"

typedef enum ki_list_phase {
    KI_LIST_BEGINS,
    KI_LIST_KEYS,    /* collects the listed keys; with `deletes_first`, and of new objects */
    KI_LIST_KNOWN,   /* deletes known objects; in a resync, syncs them */
    KI_LIST_OBJECTS, /* goes through the listed objects */
    KI_LIST_ENDS
} ki_list_phase;

typedef struct ki_queued_list {
    /* Set by the queue before the first unit. */
    bool is_initial;    /* part of the initial population */
    bool deletes_first; /* the deletions come first, and only the last object of a key counts */
    bool is_first;      /* no change of an object is queued before it */
    /* Constant. */
    const ki_allocator *allocator;
    const ki_known_objects *known;
    bool is_resync, keeps_all;
    const char *resource_version; /* NULL: a resync */
    const char *namespace_name;   /* of the list; NULL: all */
    /* The progress. */
    ki_list_phase phase;
    bool is_of_new;      /* nothing was queued or known when the list began, so it deletes nothing */
    bool has_duplicates; /* a key is listed twice */
    ki_object **objects; /* references, from `released` on */
    size_t count, released;
    size_t at; /* index of the phase's next object */
    /* Those to keep; from KI_LIST_KEYS on each listed one, with 1 + the index of its last object. A plain list frees
     * them before its first object. */
    ki_map keys;
    ki_known_walk walk;
} ki_queued_list;

/* Copies the listing (NULL: a resync) and takes its objects over. `known` is borrowed. Returns NULL without memory. */
ki_queued_list *ki_queued_list_new(const ki_allocator *allocator, uint64_t seed, const ki_known_objects *known,
                                   const ki_listing *listing);
void ki_queued_list_free(ki_queued_list *list); /* NULL is accepted */

/* Returns true if the list means its objects, each of another key, and nothing else. Once the keys are collected. */
static inline bool ki_queued_list_is_plain(const ki_queued_list *list) {
    return list->is_of_new && !list->has_duplicates;
}
/* Returns true if a known object is deleted: the list is of its namespace, and neither has nor keeps its key. Once the
 * keys are collected. */
bool ki_queued_list_lacks(const ki_queued_list *list, const char *key);
/* Does one unit. Sets `*ret_change` to the next change; `obj` NULL: this unit has none. The object is borrowed until
 * ki_queued_list_end_walk. Errors: KI_ERR_NOT_FOUND after the last, KI_ERR_NO_MEMORY (KI_LIST_KEYS only): the next call
 * tries again. */
ki_status ki_queued_list_next(ki_queued_list *list, ki_change *ret_change);
/* Ends the walk over the known objects, if it has passed the last one. Call it only when the changes so far are
 * processed: the walk alone may hold the objects of the deletions. */
void ki_queued_list_end_walk(ki_queued_list *list);
/* Gives the caller the reference to the last listed object. For lists whose deletions come last. */
void ki_queued_list_take(ki_queued_list *list);
/* Goes back to the first change. For lists whose deletions come first. */
void ki_queued_list_rewind(ki_queued_list *list);
/* For a list that is done: releases at most `*units` objects or parts of `keys`, and subtracts their number. Returns
 * true once no object is left. */
bool ki_queued_list_release_some(ki_queued_list *list, size_t *units);

#endif
