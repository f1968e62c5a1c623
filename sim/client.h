/* client.h: the program under test: a factory on a stepped engine, its informers and handlers, stopped and made again. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/handler.h"
#include "sim/plan.h"
#include "sim/source.h"
#include "sim/witness.h"

#include <kinformer/factory.h>
#include <kinformer/lister.h>

#include "src/transport/transport.h"

enum {
    SIM_MAX_HANDLERS = 64,
    SIM_OBJECT_LIMIT = 2048 /* bytes of an object that an informer takes */
};

/* The program's view of an object. */
typedef struct sim_view {
    const char *n; /* the number of the write that made this state */
} sim_view;

typedef struct sim_informer {
    ki_informer *informer;
    sim_selection selection;
    int64_t resync_ms;
    uint64_t newest_shown[SIM_KEYS]; /* the newest state that the store has shown of each key */
    bool was_synced;
    uint64_t
        version_before_restore; /* its resource version when the cluster was restored to an older one; 0: it knows */
    /* a snapshot that is looked at again later: it must not have changed */
    ki_snapshot *snapshot;
    uint64_t snapshot_digest;
    sim_witness witness;
    sim_source source, check_source;
    /* the wait after a failure that was seen last */
    uint64_t failures;
    int64_t wait_began, wait_min_ms;
    int64_t reported_fresh_at_ms; /* ms: the time that ki_health.staleness_ms named at the last look */
    int64_t handler_time;         /* of the world, at the last look */
    int64_t handler_time_before;  /* of the world, at the last look before current_at changed */
    int64_t resync_timer_ms;      /* its resync period: the shortest that was asked for before the start; 0: none */
} sim_informer;

typedef struct sim_client {
    sim_random random;
    ki_transport *transport;
    ki_factory *factory;  /* NULL: stopped, or there was no memory for it */
    uint64_t incarnation; /* how often it was made */
    sim_informer informers[SIM_MAX_INFORMERS];
    unsigned informer_count;
    sim_handler *handlers[SIM_MAX_HANDLERS];
    size_t handler_count;
    /* When it began: what was there before and is unchanged must be delivered before it says that it is synced. */
    uint64_t last_write_at_start; /* number of the writes that every server had */
    uint64_t restores;
} sim_client;

void sim_client_start(sim_world *world);
/* Stops and frees factory and informers. Not from inside a step. */
void sim_client_stop(sim_world *world);
void sim_client_free(sim_world *world);
/* Adds a handler to an informer, by chance; from a handler too. */
void sim_client_add_handler(sim_world *world, unsigned informer);
/* The cluster was restored. */
void sim_client_note_restore(sim_world *world);
/* After a restore the revisions that were lost are given a second time. A client that has not noticed could not tell them apart:
 * nobody may write as far as this one before it has. UINT64_MAX: all have noticed. */
uint64_t sim_client_version_limit(sim_world *world);
/* Handlers that come late, go early; indexes that come late. */
void sim_client_reconfigure(sim_world *world, uint64_t what);

#endif
