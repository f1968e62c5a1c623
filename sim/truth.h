/* truth.h: every write to the cluster, in order, and the resulting objects. The oracles compare the client with them.
 *
 * Each object has the number of the write that made its state (the annotation n): all states differ. */
#ifndef SIM_TRUTH_H
#define SIM_TRUTH_H

#include "sim/plan.h"

#include <kinformer/object.h>

typedef struct sim_world sim_world;

enum {
    SIM_UID_SIZE = 37,
    SIM_NAME_MAX = 12, /* names in a namespace */
    SIM_KEYS = SIM_NAMESPACES * SIM_NAME_MAX
};

typedef struct sim_write {
    uint32_t key;
    uint32_t label; /* of the new state; an index */
    bool is_delete;
    bool is_lost; /* the cluster was restored to a time before the write */
    uint64_t revision;
    uint64_t restores; /* restores of the cluster before the write */
    int64_t at_ms;     /* Unix time */
    int64_t wall_ms;   /* Unix time by the servers' wall clock, which jumps */
    char uid[SIM_UID_SIZE];
    uint64_t creation; /* the write that created the object */
    /* only in that write: the incarnation of the client whose informer queued the deletion, with or without the final
     * state (witness.h) */
    uint64_t deletion_seen_in[SIM_SLOTS_MAX], deletion_inferred_in[SIM_SLOTS_MAX];
} sim_write;

typedef struct sim_key {
    uint64_t n;       /* the write of the present state; 0: no object */
    bool is_poisoned; /* a fault made a state of the object unusable: the order of its states is not checked any more */
    bool has_undetectable_loss; /* a change was lost, and no client can detect the loss */
    bool may_reappear;          /* a server sent the object's state once more after a deletion */
    uint64_t last_write;        /* the number of the last write of the key, deletes too */
} sim_key;

typedef struct sim_truth {
    sim_write *writes; /* by number; number 0 is unused */
    size_t write_count, write_capacity;
    uint64_t *log; /* the numbers of the writes that the cluster has; a restore removes the last ones */
    size_t log_count;
    sim_key keys[SIM_KEYS];
    uint64_t restores; /* count */
} sim_truth;

static inline unsigned sim_key_ns(uint32_t key) {
    return key / SIM_NAME_MAX;
}

/* Returns true if the order of the key's states cannot be checked. */
static inline bool sim_truth_is_unordered(const sim_truth *truth, uint32_t key) {
    return truth->keys[key].is_poisoned || truth->keys[key].may_reappear;
}

void sim_truth_free(sim_truth *truth);
/* Write to the cluster. The first server applies the write at once, the others after their lag. */
void sim_truth_put(sim_world *world, uint32_t key, unsigned label);
void sim_truth_delete(sim_world *world, uint32_t key);
/* Removes all but the first `kept` writes from the log. */
void sim_truth_restore(sim_world *world, size_t kept);

/* Returns the number of an object's state. Fails the run and returns 0 if the object never had this state. */
uint64_t sim_truth_read(sim_world *world, const ki_object *obj, uint32_t *ret_key);
/* Returns true if `n` is a state that the selection matches. */
bool sim_truth_is_selected(const sim_truth *truth, const sim_selection *selection, uint64_t n);
/* Returns true if the key had the state `n` (0: none that the selection matches) at some time from `from` to `to`, in
 * ns of virtual time. Ignores lost writes. */
bool sim_truth_had(const sim_truth *truth, const sim_selection *selection, uint32_t key, uint64_t n, int64_t from,
                   int64_t to);
/* Returns true if the object has existed and matched the selection at all times since write `n`. */
bool sim_truth_exists_since(const sim_truth *truth, const sim_selection *selection, uint64_t n);
/* Returns true if the state `after` can follow the state `before` (0: none): it is newer, or the cluster was
 * restored. */
bool sim_truth_may_follow(const sim_truth *truth, uint64_t before, uint64_t after);

#endif
