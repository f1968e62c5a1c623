/* fifo_stage.h: one of the cache's two queues, with changes as scripts and what the queue hands out as text. An
 * unexpected failure fails the test.
 *
 * A script has changes, separated by ";": `add KEY=VERSION`, `update`, `delete`, `lose` (a deletion with an unreadable
 * state), `replace KEY=VERSION …` (a list at version 9, or `replace@20` at 20), `resync`. In a list `KEY=!` is an
 * object with an unreadable state, and `?=!` one with an unreadable key too. */
#ifndef TESTS_SUPPORT_FIFO_STAGE_H
#define TESTS_SUPPORT_FIFO_STAGE_H

#include "src/cache/queue/delta_fifo.h"
#include "src/cache/queue/in_order_fifo.h"

enum {
    FIFO_OBJECTS = 16,
    FIFO_TEXT = 2048
};

typedef struct fifo_objects {
    ki_object *items[FIFO_OBJECTS];
    size_t count;
} fifo_objects;

typedef struct fifo_stage {
    ki_queue *queue;
    const ki_allocator *allocator;
    bool is_delta_fifo;
    bool is_in_list;        /* fifo_note got a part of a list or resync of an in-order queue */
    fifo_objects known;     /* what the store has */
    int ready;              /* calls of the queue's `ready` */
    char popped[FIFO_TEXT]; /* what fifo_note got */
} fifo_stage;

/* Opens a DeltaFIFO over a store with `known` ("KEY=VERSION …"; NULL: no store). */
void delta_fifo_open(fifo_stage *f, const char *known, const ki_allocator *allocator);
/* Opens an in-order queue over an empty store. `batch_size` 0: 1000. */
void in_order_fifo_open(fifo_stage *f, size_t batch_size, const ki_allocator *allocator);
/* Sets what the store has. */
void fifo_know(fifo_stage *f, const char *known);
void fifo_close(fifo_stage *f);
/* Returns the stage's known object with this key, or NULL. Ownership: a reference. */
ki_object *fifo_known(const char *key, void *stage);

ki_status fifo_change(fifo_stage *f, const char *change, ki_error *err);
void fifo_play(fifo_stage *f, const char *script);
/* Plays a script; a change that fails for lack of memory leaves the queue's length and succeeds the second time. */
void fifo_play_scarce(fifo_stage *f, const char *script);

/* Adds one item as text to f->popped. `user` is the stage.
 * - an item of a DeltaFIFO: "a: Added 1 Updated 2; ", types are Added, Updated, Deleted, Tombstone, Replaced, Sync;
 * - a batch: "[+a=1 ~b=2 -c=3 ?d=4] " with "?" for a tombstone;
 * - a list: "{9: ?c=3 a=1} ", or a part of it; "*" precedes one of the initial population that is not empty;
 * - a resync: "resync a=1 ", or a part of it. */
ki_status fifo_note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);
/* Pops until the queue has handed out a whole item. */
ki_status fifo_pop(fifo_stage *f, ki_process process, void *user, ki_error *err);
const char *fifo_pop_one(fifo_stage *f); /* returns the text */
/* Pops all items and returns their text. Pops again after the queue lacked memory. */
const char *fifo_pop_all(fifo_stage *f);

#endif
