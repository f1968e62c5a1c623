/* process_list.h: the progress of a list or resync of the in-order queue. It goes to store and listeners in slices.
 * Loop; caller holds change_lock. */
#ifndef KI_CACHE_PROCESS_LIST_H
#define KI_CACHE_PROCESS_LIST_H

#include "src/base/wide_map.h"
#include "src/cache/snapshot.h"

typedef enum ki_list_phase {
    KI_LIST_BEGINS,
    KI_LIST_COLLECTS,         /* collects the listed keys */
    KI_LIST_DELETES,          /* stages the deletion of objects that are not listed */
    KI_LIST_PUTS,             /* stages new and changed objects */
    KI_LIST_PUBLISHES,        /* publishes the staged snapshot */
    KI_LIST_NOTIFIES_DELETED, /* notifies of deleted objects */
    KI_LIST_NOTIFIES,         /* notifies of listed objects */
    KI_LIST_RESYNCS,          /* a resync: notifies of all objects */
    KI_LIST_ENDS
} ki_list_phase;

typedef struct ki_list_work {
    ki_list_phase phase;
    ki_snapshot *before;     /* reference; NULL: no list or resync in progress */
    ki_wide_map listed;      /* listed keys, each with 1 + the index of its last object; 0 for a kept key */
    size_t at;               /* index of the next object */
    ki_cursor cursor;        /* in `before` */
    ki_snapshot_drain waste; /* released before the next unit of work */
} ki_list_work;

/* Releases everything. Accepts a zeroed struct. */
void ki_list_work_end(ki_list_work *work);

#endif
