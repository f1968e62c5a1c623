/* handler.h: one registration and its oracle: replays its notifications, and objects to those that must not be. */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include "sim/truth.h"

#include <kinformer/informer.h>

typedef struct sim_handler {
    sim_world *world;
    unsigned number;
    unsigned informer;    /* of the client */
    uint64_t incarnation; /* of the client's */
    ki_registration registration;
    ki_delivery delivery;
    sim_selection filter; /* beyond what the informer selects */
    bool has_filter;
    unsigned slow_percent;    /* percent of its calls take a while */
    unsigned reentry_percent; /* percent of its calls call back */
    int64_t resync_ms;
    /* the states that the handler was notified of */
    uint64_t present[SIM_KEYS]; /* the state that it knows; 0: none */
    uint64_t newest[SIM_KEYS];  /* the newest that it ever knew */
    size_t count;               /* of `present` */
    uint64_t calls;
    uint64_t replay[SIM_KEYS];     /* what was there when it came */
    bool was_notified[SIM_KEYS];   /* something of the key */
    int64_t notified_at[SIM_KEYS]; /* the last time */
    bool is_late;                  /* the informer was synced by then */
    uint64_t restores;             /* how often the cluster had been when it came */
    bool is_synced, is_removed;    /* on_synced, on_removed was called */
    bool is_removal_requested;
} sim_handler;

extern const ki_handler sim_handler_functions;
extern const ki_handler sim_handler_functions_filtered;

/* At any time between two steps: did it get each resync in time? */
void sim_handler_check(sim_handler *handler);
/* Once nothing is under way: does it know exactly what the store has? */
void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]);

#endif
