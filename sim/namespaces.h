/* namespaces.h: an informer's set of namespaces, which changes while it runs, and what the set allows. */
#ifndef SIM_NAMESPACES_H
#define SIM_NAMESPACES_H

#include "sim/truth.h"

#include "src/cache/informer/shared_informer.h"

typedef struct sim_informer sim_informer;

typedef struct sim_namespaces {
    unsigned first, now;             /* bits of namespaces: the first set, and the last one */
    unsigned left;                   /* bits of those that left the set, once or more */
    int64_t left_at[SIM_NAMESPACES]; /* ns: when they last did */
    unsigned added;                  /* bits of those that were in the set once */
    /* of those: the last write that every server had when they were first added, and the restores before */
    uint64_t write_at_add[SIM_NAMESPACES], restores_at_add[SIM_NAMESPACES];
    unsigned synced;        /* bits of those that the informer said to have in its cache at the last check */
    uint64_t given;         /* count of sets */
    uint64_t last_complete; /* the number of the last set that was complete when the next one was given */
    ki_status (*make_source)(ki_selection *selection, void *user, ki_list_watch **ret_source, ki_error *err);
    void *make_source_user;
} sim_namespaces;

/* Wraps the sources of an informer of a set, and gives it its first set. Returns false without memory. */
bool sim_namespaces_begin(sim_world *world, unsigned informer);
/* Gives an informer of the client another set. `detail` selects it. */
void sim_namespaces_change(sim_world *world, uint64_t detail);
/* The same, at random. For handlers. */
void sim_namespaces_in_handler(sim_world *world);

/* Fails the run for a wrong health of a namespace, or for one that is synced without its objects in the cache. */
void sim_namespaces_check(sim_world *world, unsigned informer);
/* Returns true if the informer has no set, or says that each namespace of the set is in the cache. */
bool sim_namespaces_are_synced(const sim_informer *informer);
/* Returns true if a synced namespace has the state of a key: all servers had it before the namespace was added. */
bool sim_namespaces_must_have(const sim_world *world, const sim_informer *informer, uint32_t key);

/* Returns true if the informer has no set, or has the namespace of the key in it. */
bool sim_namespaces_have(const sim_informer *informer, uint32_t key);
/* Returns true if the cache may still have the key: its namespace is in the set, or has just left it. */
bool sim_namespaces_may_have(const sim_world *world, const sim_informer *informer, uint32_t key);
/* Returns true if the namespace of the key has left the set once. */
bool sim_namespaces_have_lost(const sim_informer *informer, uint32_t key);
/* Returns true if the namespace of the key has left the set, and a handler may not have been notified of that at
 * `time`. */
bool sim_namespaces_lost_since(const sim_informer *informer, uint32_t key, int64_t time);

#endif
