/* deleted_objects.h: the objects that were deleted a short time ago, by key and by index: a store of their own, and a
 * queue in the order of deletion. An object leaves after its time, or earlier above the limits: the oldest first. A
 * second deletion under a key replaces the first. Both can be of one object, if it came back unchanged.
 *
 * Guards: one thread changes, under the informer's change lock. Any thread reads `store`. */
#ifndef KI_CACHE_DELETED_OBJECTS_H
#define KI_CACHE_DELETED_OBJECTS_H

#include "src/base/map.h"
#include "src/base/ring.h"
#include "src/cache/store/store.h"

typedef struct ki_deleted_objects {
    ki_store *store; /* NULL: deleted objects are not kept */
    int64_t keep_ns;
    ki_ring queue; /* with references to the objects; also to replaced ones, until their time */
    ki_map last;   /* by key: the position of its last entry in the queue, counted from 1 and with all that left it */
    size_t popped; /* entries that left the queue */
    size_t bytes;  /* memory of the objects in the queue */
    bool is_ended; /* none is kept any longer */
    size_t staged; /* objects at the queue's end whose time has not begun: their deletion is not published */
} ki_deleted_objects;

/* `keep_ns` 0: none is kept. `options` are those of the informer's store. */
ki_status ki_deleted_objects_init(ki_deleted_objects *deleted, const ki_store_options *options, int64_t keep_ns,
                                  ki_error *err);
/* Also accepts a zeroed struct. */
void ki_deleted_objects_free(ki_deleted_objects *deleted);

/* Keeps an object whose deletion is staged: readers find it, its time begins with the publication. KI_ERR_NO_MEMORY
 * changes nothing. If the staged deletion is dropped, it may be staged again with the same object. */
ki_status ki_deleted_objects_stage(ki_deleted_objects *deleted, ki_object *obj);
/* The time of all staged objects begins now. */
void ki_deleted_objects_publish(ki_deleted_objects *deleted, int64_t now);
/* Drops objects that are past their time or above the limits: at most `*units`, and subtracts their number.
 * KI_ERR_NO_MEMORY: the rest stays. */
ki_status ki_deleted_objects_trim(ki_deleted_objects *deleted, int64_t now, size_t *units);
/* Returns the time for the next trim; INT64_MAX: nothing is kept. `now` if there are objects above the limits, or any
 * after the end. */
int64_t ki_deleted_objects_next_trim(const ki_deleted_objects *deleted, int64_t now);

#endif
