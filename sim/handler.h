/* handler.h: one registration and its oracle: replays what it is told, and objects to what must not be. */
#ifndef SIM_HANDLER_H
#define SIM_HANDLER_H

#include "sim/truth.h"

#include <kinformer/informer.h>

typedef struct sim_handler {
    sim_world *world;
    unsigned number;
    unsigned informer; /* of the client */
    uint64_t life;     /* of the client's */
    ki_registration *registration;
    ki_delivery delivery;
    sim_selection filter; /* beyond what the informer selects */
    bool has_filter;
    unsigned slow;    /* percent of its calls take a while */
    unsigned reentry; /* percent of its calls call back */
    int64_t resync_ms;
    /* what it was told */
    uint64_t present[SIM_KEYS]; /* the state that it knows; 0: none */
    uint64_t newest[SIM_KEYS];  /* the newest that it ever knew */
    size_t count;               /* of `present` */
    uint64_t calls;
    bool is_synced, is_removed; /* on_synced, on_removed was called */
    bool asked_to_go;
} sim_handler;

extern const ki_handler sim_handler_calls;
extern const ki_handler sim_handler_calls_filtered;

/* Once nothing is under way: does it know exactly what the store has? */
void sim_handler_compare(sim_handler *handler, const uint64_t present[SIM_KEYS]);

#endif
