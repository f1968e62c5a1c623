/* fifo_stage.h: one of the cache's two queues, with changes as scripts and what the queue hands out as text. An
 * unexpected failure fails the test.
 *
 * A script (notation.h) has changes, "+a=1; ~a=2; -a=3; ?a=3", lists, "{9: a=1 b=! ?=!}", and `resync`. A list of the
 * namespace n is "{n/9: n/a=1}", and "{n/9 i: n/a=1}" if it is initial. */
#ifndef TESTS_SUPPORT_FIFO_STAGE_H
#define TESTS_SUPPORT_FIFO_STAGE_H

#include "src/cache/queue/fifo.h"
#include "tests/support/notation.h"

enum {
    FIFO_OBJECTS = 16
};

typedef struct fifo_objects {
    ki_object *items[FIFO_OBJECTS];
    size_t count;
} fifo_objects;

typedef struct fifo_stage {
    ki_queue *queue;
    const ki_allocator *allocator;
    bool is_in_part;            /* fifo_note got a part of a list or resync of an in-order queue */
    fifo_objects known;         /* what the store has */
    int ready;                  /* calls of the queue's `ready` */
    char popped[NOTATION_TEXT]; /* what fifo_note got */
} fifo_stage;

/* Opens a queue over a store with `known` ("a=1 b=2"; NULL: the DeltaFIFO has no store). */
void fifo_open(fifo_stage *f, ki_queue_kind kind, const char *known, const ki_allocator *allocator);
/* Opens an in-order queue over an empty store; batches are at most so large. */
void fifo_open_in_order(fifo_stage *f, size_t batch_size);
/* Sets what the store has. */
void fifo_know(fifo_stage *f, const char *known);
void fifo_close(fifo_stage *f);
/* Returns the stage's known object with this key, or NULL. Ownership: a reference. */
ki_object *fifo_known(const char *key, void *stage);

ki_status fifo_step(fifo_stage *f, const char *step, ki_error *err);
void fifo_play(fifo_stage *f, const char *script);
/* Plays a script; a step that fails for lack of memory leaves the queue's length and succeeds the second time. */
void fifo_play_scarce(fifo_stage *f, const char *script);

/* Queues a list of the objects "k0=1", "k1=1" and so on, in an array of the queue's allocator. */
void fifo_list_numbered(ki_queue *queue, const ki_allocator *allocator, int count);

/* Adds one item to f->popped: the list "{9: ?c=3i a=1i}", or the batch "[+a=1 ~b=2]", which is one key's changes from a
 * DeltaFIFO. The parts of a list or resync become one. `user` is the stage. */
ki_status fifo_note(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);
/* Pops until the queue has handed out a whole item. */
ki_status fifo_pop(fifo_stage *f, ki_process process, void *user, ki_error *err);
const char *fifo_pop_one(fifo_stage *f); /* returns the text */
/* Pops all items and returns their text. Pops again after the queue lacked memory. */
const char *fifo_pop_all(fifo_stage *f);

#endif
