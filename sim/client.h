/* client.h: the program under test: a factory on a stepped engine, with informers and handlers. It can be stopped and
 * started again. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/deleted.h"
#include "sim/handler.h"
#include "sim/namespaces.h"
#include "sim/plan.h"
#include "sim/source.h"
#include "sim/witness.h"

#include <kinformer/factory.h>
#include <kinformer/lister.h>

#include "src/transport/transport.h"

enum {
    SIM_HANDLERS_MAX = 64,
    SIM_OBJECT_LIMIT = 2048 /* bytes of an object's JSON; an informer skips larger ones */
};

/* The program's view of an object. */
typedef struct sim_view {
    const char *n; /* the annotation n: the number of the write that made this state */
    const char *label;
} sim_view;

typedef struct sim_informer {
    ki_informer *informer;
    const sim_informer_plan *plan;
    uint64_t last_write_at_start; /* the last write that every server had when the informer was made */
    uint64_t restores;            /* restores of the cluster before that */
    bool is_removed;
    int64_t removed_at;              /* ns */
    int64_t handler_time_at_removal; /* ns: the world's handler_time at removed_at */
    sim_selection selection;
    sim_namespaces namespaces;
    int64_t resync_ms;
    /* the shortest resync period of the informer and the handlers added before its start; 0: none */
    int64_t resync_timer_ms;
    sim_witness witness;
    sim_source source, check_source; /* check_source: of the consistency check */
    uint64_t version_before_restore; /* the resource version at a restore to an older one; 0: none, or it was noticed */
    /* for the next check of the store (oracle.c) */
    uint64_t newest_shown[SIM_KEYS]; /* the last state of each key that the store had at a check */
    bool was_synced;
    sim_deleted deleted;
    ki_snapshot *snapshot;    /* taken at the last check; it must not change */
    uint64_t snapshot_digest; /* of that time */
    /* for the next check of the health (health.c) */
    uint64_t failures;            /* those before the last backoff that was checked */
    uint64_t all_failures;        /* the same, of all times: a success does not reset it */
    int64_t wait_began;           /* ns: the start of that backoff */
    int64_t wait_ends;            /* ns: its end */
    int64_t wait_min_ms;          /* the least length that the last wait must have that was not short */
    unsigned short_waits;         /* after failures to connect, since the last success */
    int64_t reported_fresh_at_ms; /* the time that ki_health.staleness_ms stood for */
    int64_t handler_time;         /* ns: the world's handler_time at the last check */
    int64_t handler_time_before;  /* ns: the same at the last check before reported_fresh_at_ms changed */
} sim_informer;

typedef struct sim_client {
    sim_random random;
    ki_transport *transport;
    ki_factory *factory;                   /* NULL: stopped, or not started for lack of memory */
    uint64_t incarnation;                  /* counts the starts */
    sim_informer informers[SIM_SLOTS_MAX]; /* in order of creation; one that is asked for again has a new place */
    unsigned informer_count;
    unsigned asks; /* removed informers that will be asked for again */
    sim_random removal_random, namespaces_random;
    sim_handler *handlers[SIM_HANDLERS_MAX];
    size_t handler_count;
    uint64_t restores; /* restores of the cluster before the client started */
} sim_client;

/* Starts the client as its plan says; without memory for it, tries again after a second. */
void sim_client_start(sim_world *world);
/* Makes an informer, with its handlers. Returns false without memory: the client must be stopped. */
bool sim_client_make_informer(sim_world *world, const sim_informer_plan *plan);
/* Stops and frees factory and informers. Must not be called inside a step. */
void sim_client_stop(sim_world *world);
/* Frees the handlers. */
void sim_client_free(sim_world *world);
/* Returns the last write that every server has; 0: none. */
uint64_t sim_client_common_write(const sim_world *world);
/* Adds a handler with random options to an informer, unless there are too many. Handlers may call it. */
void sim_client_add_handler(sim_world *world, unsigned informer);
/* Records which informers have a version that the restored cluster does not have. */
void sim_client_note_restore(sim_world *world);
/* Returns the version that no write may reach yet; UINT64_MAX if there is none. After a restore the cluster uses the
 * lost versions again, and a client that has reached one of them cannot distinguish the two. The limit ends when the
 * client has noticed the restore. It is 0 while the client may still read what was sent before the restore. */
uint64_t sim_client_version_limit(sim_world *world);
/* Adds or removes a handler, or adds an index; `detail` selects which. */
void sim_client_reconfigure(sim_world *world, uint64_t detail);

#endif
