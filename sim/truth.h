/* truth.h: what really happened: every write to the cluster, in order, and what is there now. The judge of what the client shows.
 *
 * An object carries the number of the write that made its state (data.n), so that every state is told from every other. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "sim/plan.h"

#include <kinformer/object.h>

typedef struct sim_world sim_world;

enum {
    SIM_UID_SIZE = 37,
    SIM_NAME_MAX = 12, /* names of one namespace */
    SIM_KEYS = SIM_NAMESPACES * SIM_NAME_MAX
};

typedef struct sim_write {
    uint32_t key;
    uint32_t label; /* an index; of the state that it makes */
    bool is_delete;
    bool is_lost; /* the cluster was restored to a time before it */
    uint64_t revision;
    uint64_t restores; /* how often the cluster had been restored */
    int64_t at_ms;
    int64_t wall_ms; /* the same by the servers' wall clock */
    char uid[SIM_UID_SIZE];
    uint64_t creation; /* the write that made the object */
    /* of that one: the life of the client whose informer saw, or inferred, that the object ended */
    uint64_t deletion_seen_in[SIM_MAX_INFORMERS], deletion_inferred_in[SIM_MAX_INFORMERS];
} sim_write;

typedef struct sim_key {
    uint64_t n;       /* the write of its state now; 0: it is not there */
    bool is_poisoned; /* one of its states was made unusable on its way: its place in the cache is no longer foreseen */
    bool has_undetectable_loss; /* an event of it was lost, and no client can know */
    uint64_t last_write;        /* the last write of any kind */
} sim_key;

typedef struct sim_truth {
    sim_write *writes; /* by number; 0 is none */
    size_t write_count, write_capacity;
    uint64_t *log; /* numbers of the writes that the cluster has: shorter after a restore */
    size_t log_count;
    sim_key keys[SIM_KEYS];
    uint64_t restores; /* how often */
} sim_truth;

static inline unsigned sim_key_ns(uint32_t key) {
    return key / SIM_NAME_MAX;
}

void sim_truth_free(sim_truth *truth);
/* Writes to the first server at once; the others follow with their lag. */
void sim_truth_put(sim_world *world, uint32_t key, unsigned label);
void sim_truth_delete(sim_world *world, uint32_t key);
/* Forgets all but the first `kept` writes of the log. */
void sim_truth_restore(sim_world *world, size_t kept);

/* The number of an object's state; 0 where it is no object of the cluster's (an objection then). */
uint64_t sim_truth_read(sim_world *world, const ki_object *obj, uint32_t *ret_key);
/* Is `n` part of the selection? */
bool sim_truth_is_selected(const sim_truth *truth, const sim_selection *selection, uint64_t n);
/* Has the object been there, and of the selection, ever since write `n` made its state? */
bool sim_truth_exists_since(const sim_truth *truth, const sim_selection *selection, uint64_t n);
/* May a reader who has seen `before` (0: nothing) see `after` now? */
bool sim_truth_may_follow(const sim_truth *truth, uint64_t before, uint64_t after);

#endif
