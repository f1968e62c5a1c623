/* elector_parts.h: an elector's members, for its own files: elector_options.c (checks the options), elector.c (new,
 * free, functions for any thread), election.c (work on the loop), elector_metrics.c. */
#ifndef KI_ELECTION_ELECTOR_PARTS_H
#define KI_ELECTION_ELECTOR_PARTS_H

#include "controllers/election/elector_hook.h"
#include "controllers/election/lease.h"
#include "src/client/client.h"
#include "src/client/term.h"
#include "src/factory/component.h"

#include <stdatomic.h>

typedef enum ki_elector_phase {
    KI_ELECTOR_NEW,
    KI_ELECTOR_COMPETES,
    KI_ELECTOR_LEADS,
    KI_ELECTOR_RELEASES, /* stopped; releases the Lease */
    KI_ELECTOR_STOPPED
} ki_elector_phase;

/* The request in progress. */
typedef enum ki_elector_step {
    KI_ELECTOR_IDLE, /* none */
    KI_ELECTOR_RENEWS,
    KI_ELECTOR_READS,
    KI_ELECTOR_CREATES,
    KI_ELECTOR_UPDATES,
    KI_ELECTOR_READS_TO_RELEASE,
    KI_ELECTOR_WRITES_TO_RELEASE
} ki_elector_step;

/* Why the last attempt failed; zero: it did not. */
typedef struct ki_elector_failure {
    const char *what; /* static */
    ki_status code;
    int http_status;
} ki_elector_failure;

/* From the program's options; constant after new. */
typedef struct ki_elector_given {
    char *namespace_name, *name, *identity;
    int64_t lease_ns, renew_ns, retry_ns;
    bool is_releasing_on_stop;
} ki_elector_given;

/* Written on the loop under `mutex`; the loop reads it without the mutex. */
typedef struct ki_seen_lease {
    ki_lease lease;           /* as last seen */
    int64_t at;               /* when this content was first seen; read after the response had arrived. Loop */
    int64_t most_transitions; /* highest leaseTransitions of all Leases seen; -1: none seen. Loop */
} ki_seen_lease;

typedef struct ki_elector_request {
    ki_elector_step step;
    ki_pending_request *pending; /* of `step` */
    int64_t sent_at;
} ki_elector_request;

/* In phase RELEASES. */
typedef struct ki_lease_release {
    int64_t until; /* its deadline */
    int64_t delay; /* before the next try */
} ki_lease_release;

struct ki_elector {
    ki_component component; /* must be first: election.c casts it to the elector */
    /* constant after new */
    ki_factory *factory;
    ki_engine *engine;
    ki_client *client;
    const ki_allocator *allocator;
    ki_elector_given given;
    ki_elector_callbacks callbacks;
    void *user;
    ki_terms *terms; /* lasting: this process leads; until `renew_ns` after the last successful renewal was sent */
    /* atomic: written on the loop, read by any thread */
    _Atomic int64_t token; /* of the last term */
    _Atomic uint64_t slow_paths;
    ki_mutex mutex;
    ki_seen_lease seen;
    /* loop only */
    ki_elector_phase phase;
    ki_elector_request request;
    int64_t wall_us; /* the last time written */
    ki_lease_release release;
    ki_elector_failure failure;
    bool has_led;
    bool is_freed; /* ki_elector_free was called; removing the last hook frees the memory */
    ki_timer retry_timer, lead_timer;
    ki_task stop_task;
    ki_elector_hook *hooks, *next_hook; /* next_hook: the next one to call while hooks are being called */
};

/* Copies the options, fills in defaults and checks them. Errors: KI_ERR_INVALID, KI_ERR_LIMIT. */
ki_status ki_elector_take_options(const ki_elector_options *options, ki_elector_options *ret_given, ki_error *err);
/* Sets the names and the identity. On failure the caller frees what was set. Errors: KI_ERR_INVALID,
 * KI_ERR_NO_MEMORY. */
ki_status ki_elector_set_names(ki_elector *elector, const ki_elector_options *given, ki_error *err);

/* The component's functions. Loop only. */
void ki_election_start(ki_component *component);
void ki_election_stop(ki_component *component);
void ki_election_cut_off(ki_component *component);
/* Frees the memory of a freed elector that has no hooks left. */
void ki_elector_release(ki_elector *elector);
/* Timer callbacks: the next attempt, or the next try to release; the end of the renew deadline. */
void ki_election_try(ki_timer *timer, void *user);
void ki_election_expire(ki_timer *timer, void *user);

/* elector_metrics.c */
void ki_elector_visit_metrics(const ki_component *component, const ki_metrics_visit *to);

#endif
