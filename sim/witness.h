/* witness.h: stands between a reflector and its queue, and knows by itself what must come of what is queued: which adds are of the initial list,
 * which deletions were seen and which only inferred, how old the cache is. */
#ifndef SIM_WITNESS_H
#define SIM_WITNESS_H

#include "sim/truth.h"

#include "src/cache/queue.h"

enum {
    SIM_NEVER = -1
};

typedef struct sim_witness {
    ki_queue queue; /* first */
    ki_queue *inner;
    sim_world *world;
    unsigned informer;
    bool has_queued;               /* something was queued */
    bool has_list;                 /* a list was */
    uint64_t first_list[SIM_KEYS]; /* the states of the first list, where that came first */
    uint64_t expected[SIM_KEYS];   /* what will be there once all is processed; 0: nothing */
    uint64_t version[SIM_KEYS];    /* of that */
    uint64_t lists, items;         /* what was queued */
    uint64_t streams;              /* of the lists */
    uint64_t refused;              /* changes that the queue did not take */
    /* how old the cache is */
    int64_t fresh_at; /* arrival of the last complete and queued event, or the request of the list; SIM_NEVER */
    bool is_pending[SIM_KEYS];      /* the store may lack a change of the key, */
    int64_t fresh_before[SIM_KEYS]; /* which arrived after this time */
    bool is_uncertain;              /* something was lost on its way to the queue: not known until the next list */
} sim_witness;

/* In place of `inner`, which it frees. */
void sim_witness_init(sim_witness *witness, sim_world *world, unsigned informer, ki_queue *inner);
/* A complete event or bookmark has arrived. */
void sim_witness_note_event(sim_witness *witness);
/* Returns the latest time at which an informer with this store may claim to be current; SIM_NEVER: it is not synced. */
int64_t sim_witness_fresh_at(sim_witness *witness, const uint64_t present[SIM_KEYS]);

/* Was the end of the object whose state write `n` made seen, or inferred, by this informer? */
bool sim_witness_saw_deletion(const sim_witness *witness, uint64_t n);
bool sim_witness_inferred_deletion(const sim_witness *witness, uint64_t n);

#endif
