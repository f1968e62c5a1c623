/* process_list.h: how far a list or resync of the in-order queue is, which goes to store and listeners in slices. On the loop, under the change
 * lock. */
#ifndef KI_CACHE_PROCESS_LIST_H
#define KI_CACHE_PROCESS_LIST_H

#include "src/base/wide_map.h"
#include "src/cache/snapshot.h"

typedef enum ki_list_phase {
    KI_LIST_BEGINS,
    KI_LIST_NOTES,      /* the keys that are listed */
    KI_LIST_DELETES,    /* stages the end of what is not listed */
    KI_LIST_PUTS,       /* stages what differs */
    KI_LIST_PUBLISHES,  /* all of it at once */
    KI_LIST_TELLS_GONE, /* the listeners of what is not listed */
    KI_LIST_TELLS,      /* the listeners of what is listed */
    KI_LIST_REMINDS,    /* a resync: the listeners of everything */
    KI_LIST_ENDS
} ki_list_phase;

typedef struct ki_list_work {
    ki_list_phase phase;
    ki_snapshot *before;     /* reference; NULL: nothing is under way */
    ki_wide_map listed;      /* each listed key, with the place from 1 of its last object; 0 for a key that is kept */
    size_t at;               /* the next object */
    ki_cursor cursor;        /* in `before` */
    ki_snapshot_drain waste; /* what is to be released first */
} ki_list_work;

/* Releases everything. Also on one that is zeroed. */
void ki_list_work_end(ki_list_work *work);

#endif
