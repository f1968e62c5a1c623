/* handler.h: one registered handler and its oracle. It keeps a replica of the cache from its notifications, and fails
 * the run for a wrong one. */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include "sim/truth.h"

#include <kinformer/informer.h>

typedef struct sim_handler {
    sim_world *world;
    unsigned number;
    unsigned informer;    /* index in the client */
    uint64_t incarnation; /* the client's, when the handler was added */
    ki_registration registration;
    sim_selection filter; /* only with has_filter */
    bool has_filter;
    unsigned slow_percent;    /* calls that take time */
    unsigned reentry_percent; /* calls that call the library */
    int64_t resync_ms;        /* 0: none */
    /* states, as numbers of writes; 0: none */
    uint64_t present[SIM_KEYS]; /* the replica of the cache */
    uint64_t newest[SIM_KEYS];  /* the last state of each key that the handler was notified of */
    uint64_t replay[SIM_KEYS];  /* the store when the handler was added */
    bool was_notified[SIM_KEYS];
    int64_t notified_at[SIM_KEYS]; /* ns: the last notification of each key */
    bool is_late;                  /* the informer was synced when the handler was added */
    uint64_t restores;             /* restores of the cluster before the handler was added */
    bool is_synced, is_removed;    /* on_synced, on_removed was called */
    uint64_t complete_set;         /* the number of the set that was complete at the last such call, or at on_synced */
    uint64_t reported_set;         /* the same at the last such call alone, or when the handler was added */
    bool is_removal_requested;
    unsigned unreported; /* changes since the last on_changed */
} sim_handler;

extern const ki_handler sim_handler_functions;
extern const ki_handler sim_handler_functions_filtered;

/* Fails the run if a resync is overdue. To be called between two steps. */
void sim_handler_check(sim_handler *handler);
/* Fails the run if the replica differs from the store, whose states are `present`, or if on_changed is missing. No
 * notification may be pending. */
void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]);

#endif
