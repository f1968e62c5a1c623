/* item.h: one key of a work queue and its state. The queue's lock guards all of it but `key`.
 *
 * An item exists while at least one of these holds: it is dirty, it waits, it is being processed, it has failures. */
#ifndef KI_WORKQUEUE_ITEM_H
#define KI_WORKQUEUE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ki_work_item ki_work_item;

struct ki_work_item {
    ki_work_item *chain; /* the next item of its bucket in the key table */
    /* Neighbours in the list of ready keys, or in the list of keys that are being processed. */
    ki_work_item *next, *previous;
    uint64_t sequence;  /* its order among items of one priority */
    int64_t added_at;   /* while dirty: engine time of the first add */
    int64_t started_at; /* while being processed: engine time of the take */
    uint32_t hash;
    uint32_t place; /* in the heap that it is in; KI_WORK_ITEM_OUT: in none */
    int failures;
    int priority;       /* while dirty or waiting */
    int taken_priority; /* while being processed */
    uint16_t key_size;
    bool is_dirty : 1;                /* has to be processed; ready too, unless it is being processed */
    bool is_waiting : 1;              /* in the heap of keys that wait for their time */
    bool is_processing : 1;           /* a worker has it */
    _Alignas(max_align_t) char key[]; /* with a closing zero */
};

#define KI_WORK_ITEM_OUT UINT32_MAX

#endif
