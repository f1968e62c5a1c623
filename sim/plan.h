/* plan.h: what a seed means: the servers, the client, the workload and the list of faults. A plan with some of its faults left out
 * (--shrink) is the same in all else. */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "sim/fault.h"

#include <kinformer/informer.h>

#include <stddef.h>

#define SIM_MILLISECOND INT64_C(1000000)
#define SIM_SECOND INT64_C(1000000000)

enum {
    SIM_MAX_FAULTS = 24,
    SIM_MAX_SERVERS = 3,
    SIM_MAX_INFORMERS = 3,
    SIM_NAMESPACES = 3,
    SIM_LABELS = 4, /* values of the label "app": a to d */
    SIM_SELECTORS = 4
};

/* Which objects an informer or a handler is about. */
typedef struct sim_selection {
    int ns;            /* -1: all */
    unsigned selector; /* an index of sim_selector_text; 0: none */
} sim_selection;

const char *sim_selector_text(unsigned selector); /* NULL for 0 */
bool sim_selection_matches(const sim_selection *selection, unsigned ns, unsigned label);

typedef struct sim_informer_plan {
    sim_selection selection;
    bool no_streaming_list;
    int64_t page_size;
    int64_t resync_ms;
    bool in_order;             /* the queue of events as they come, in place of the DeltaFIFO */
    bool has_transform;        /* to what is needed here: no name, no version */
    bool check_streaming_list; /* lists again after a streaming list, and compares */
    int64_t internal_error_retry_ms;
    unsigned handlers;
} sim_informer_plan;

/* What a watch gets that was asked for from a version that is still to come, as after a restore. */
typedef enum sim_future_watch {
    SIM_FUTURE_SILENT,    /* 200 and nothing, until its time has come: a real server */
    SIM_FUTURE_TOO_LARGE, /* an error, in all its shapes */
    SIM_FUTURE_BOOKMARK   /* a bookmark of the server's own version, and then nothing */
} sim_future_watch;

typedef struct sim_plan {
    uint64_t seed;
    /* the cluster */
    unsigned servers;
    int64_t lag[SIM_MAX_SERVERS]; /* ns; that of the first is 0 */
    uint64_t first_revision;
    size_t compact_after; /* events; 0: never */
    int64_t bookmark_every_ms;
    bool no_watch_list;
    sim_future_watch future_watch;
    unsigned name_count; /* objects in a namespace, at most */
    /* the client */
    unsigned informer_count;
    sim_informer_plan informers[SIM_MAX_INFORMERS];
    int64_t consistency_check_ms; /* of all informers; 0: none */
    int max_work;                 /* of one step */
    unsigned reentry_percent;     /* percent of the events in which a handler calls back */
    unsigned reconfigurations;    /* late handlers, removals, late indexes */
    /* the workload */
    int64_t duration;       /* of the faults, ns */
    int64_t write_every;    /* mean, ns */
    unsigned burst_percent; /* percent of the writes that begin a burst */
    /* the faults, by time */
    sim_fault faults[SIM_MAX_FAULTS];
    size_t fault_count;
} sim_plan;

void sim_plan_make(sim_plan *plan, uint64_t seed);
void sim_plan_print(const sim_plan *plan);
bool sim_plan_has(const sim_plan *plan, sim_fault_kind kind);
/* Its faults without those whose bit is set. */
void sim_plan_remove_faults(sim_plan *plan, uint32_t without);

#endif
