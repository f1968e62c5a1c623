/* item.h: one key of a work queue and its state. The queue's lock guards every member except `key`.
 *
 * An item exists while at least one of these is true: it is dirty, it waits, it is being processed, it has failures. */
#ifndef KI_WORKQUEUE_ITEM_H
#define KI_WORKQUEUE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ki_work_item ki_work_item;

struct ki_work_item {
    ki_work_item *chain; /* next item of the same bucket in the key table */
    /* Links of the list of ready keys, or of the list of keys being processed. */
    ki_work_item *next, *previous;
    uint64_t sequence;  /* order among items of one priority */
    int64_t added_at;   /* while dirty: engine time of the first add */
    int64_t started_at; /* while being processed: engine time of ki_workqueue_get */
    uint32_t hash;
    uint32_t place; /* slot in its heap; KI_WORK_ITEM_OUT: in no heap */
    int failures;
    int priority;       /* while dirty or waiting */
    int taken_priority; /* while being processed */
    uint16_t key_size;
    bool is_dirty : 1;                /* must be processed; also ready, unless is_processing */
    bool is_waiting : 1;              /* in the heap `waiting` */
    bool is_processing : 1;           /* a worker processes the key */
    _Alignas(max_align_t) char key[]; /* with a closing zero */
};

#define KI_WORK_ITEM_OUT UINT32_MAX

#endif
