/* witness.h: a queue around an informer's queue. It records each change that the reflector queues, and from these what
 * the handlers and the store must show: the initial list, deletions with and without a final state, the age of the
 * cache. */
#ifndef SIM_WITNESS_H
#define SIM_WITNESS_H

#include "sim/truth.h"

#include "src/cache/queue/queue.h"

enum {
    SIM_NEVER = -1 /* a time */
};

/* A queued change of one key. */
typedef struct sim_pending {
    uint64_t state;       /* the write that it leads to; 0: no object */
    int64_t fresh_before; /* ns: fresh_at before it */
} sim_pending;

typedef struct sim_witness {
    ki_queue queue; /* must be first */
    ki_queue *inner;
    sim_world *world;
    unsigned informer;
    bool has_queued;               /* a change or list was queued */
    bool has_list;                 /* a list was queued */
    uint64_t first_list[SIM_KEYS]; /* the writes of the first list; all 0 if changes were queued before it */
    uint64_t expected[SIM_KEYS];   /* the write of each object's state once the queue is processed; 0: no object */
    uint64_t version[SIM_KEYS];    /* the resource version of the last queued state */
    uint64_t lists, items;         /* queued lists, and their objects */
    uint64_t streaming_lists;      /* those of `lists` that were streamed */
    /* the age of the cache */
    int64_t fresh_at;   /* ns: arrival of the last complete event, or the start of the last list; SIM_NEVER */
    int64_t current_at; /* ns: the same without dropped events, which repeat known states; SIM_NEVER */
    sim_pending *pending[SIM_KEYS]; /* queued changes that the store may not have yet, the oldest first; owned */
    size_t pending_count[SIM_KEYS];
    bool is_uncertain; /* a change may not have been queued: the age is unknown until the next list */
} sim_witness;

/* Initializes a queue around `inner`, and owns `inner`. */
void sim_witness_init(sim_witness *witness, sim_world *world, unsigned informer, ki_queue *inner);
/* Records that the client has read and decoded everything up to a complete event or bookmark that arrived at this
 * time. */
void sim_witness_note_event(sim_witness *witness, int64_t arrived_at);
/* Records that an event that shows the server's present state, or a list, arrived at this time. */
void sim_witness_note_current(sim_witness *witness, int64_t arrived_at);
/* Returns the latest time at which an informer with this store was current, in ns; SIM_NEVER if it has no list. */
int64_t sim_witness_fresh_at(sim_witness *witness, const uint64_t present[SIM_KEYS]);

/* Return true if the informer queued the deletion of the object with the state `n`, with its final state or without. */
bool sim_witness_saw_deletion(const sim_witness *witness, uint64_t n);
bool sim_witness_inferred_deletion(const sim_witness *witness, uint64_t n);

#endif
