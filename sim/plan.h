/* plan.h: what a seed determines: the servers, the client, the workload and the faults. Removing faults (--shrink)
 * changes nothing else. */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "sim/fault.h"

#include <kinformer/informer.h>

#include <stddef.h>

#define SIM_MILLISECOND INT64_C(1000000)
#define SIM_SECOND INT64_C(1000000000)

enum {
    SIM_FAULTS_MAX = 24,
    SIM_PAUSES_MAX = 8,
    SIM_SERVERS_MAX = 3,
    SIM_INFORMERS_MAX = 3,
    SIM_SLOTS_MAX = 12, /* informers of one incarnation of the client, with removed ones */
    SIM_NAMESPACES = 3,
    SIM_LABELS = 4, /* values of the label "app": a to d */
    SIM_SELECTORS = 4
};

/* The objects that an informer or a handler selects. */
typedef struct sim_selection {
    int ns;            /* index of the namespace; -1: all */
    unsigned selector; /* index for sim_selector_text; 0: none */
} sim_selection;

/* Returns the label selector; NULL for 0. */
const char *sim_selector_text(unsigned selector);
bool sim_selection_matches(const sim_selection *selection, unsigned ns, unsigned label);

typedef struct sim_informer_plan {
    sim_selection selection;
    int64_t page_size;
    int64_t resync_ms;
    ki_keep keep;
    int64_t pack_from;
    size_t memory_limit;
    ki_queue_kind queue;
    bool has_transform; /* it removes name, version and uid from the content */
    int64_t keep_deleted_ms;
    bool is_set;       /* of a set of namespaces, which changes (namespaces.h) */
    unsigned handlers; /* added before the start */
} sim_informer_plan;

/* The response to a watch from a version that the server has not reached, as after a restore. */
typedef enum sim_future_watch {
    SIM_FUTURE_SILENT,    /* 200 and no events until the server reaches the version, like a real server */
    SIM_FUTURE_TOO_LARGE, /* an error response or ERROR event "too large resource version" */
    SIM_FUTURE_BOOKMARK   /* 200 and a bookmark with the server's own version */
} sim_future_watch;

/* A time in which the host does not run the client's engine. */
typedef struct sim_pause {
    int64_t at, duration; /* ns */
} sim_pause;

typedef struct sim_plan {
    uint64_t seed;
    /* the cluster */
    unsigned servers;
    int64_t lag[SIM_SERVERS_MAX]; /* ns; 0 for the first server */
    uint64_t first_revision;
    size_t compact_after; /* events in the history; 0: no limit */
    int64_t bookmark_every_ms;
    bool no_streaming_list;
    bool no_list_versions; /* as of an aggregated API server */
    sim_future_watch future_watch;
    unsigned name_count; /* objects in a namespace at most */
    /* the client */
    unsigned informer_count;
    sim_informer_plan informers[SIM_INFORMERS_MAX];
    bool client_no_streaming_list;
    int64_t keep_fetched_ms;      /* 0: the default */
    int64_t consistency_check_ms; /* of all informers; 0: none */
    int max_work;                 /* of one step of the engine; 0: the default */
    unsigned reentry_percent;     /* notifications in which a handler calls the library */
    unsigned reconfigurations;    /* handlers and indexes that are added or removed during the run */
    unsigned removals;            /* informers that are removed during the run, and asked for again */
    unsigned set_changes;         /* of the set of namespaces of an informer; 0: there is no set */
    sim_pause pauses[SIM_PAUSES_MAX];
    size_t pause_count;
    /* the workload */
    int64_t duration;       /* ns: the time with faults */
    int64_t write_every;    /* ns: mean */
    int64_t fetch_every;    /* ns: mean, between questions for single objects; 0: none */
    int requests_in_flight; /* of the client; 0: the default */
    unsigned burst_percent; /* writes that start a burst */
    /* the faults, by time */
    sim_fault faults[SIM_FAULTS_MAX];
    size_t fault_count;
} sim_plan;

void sim_plan_make(sim_plan *plan, uint64_t seed);
void sim_plan_print(const sim_plan *plan);
/* Returns true if the plan has a fault of this kind. */
bool sim_plan_has(const sim_plan *plan, sim_fault_kind kind);
/* Removes the faults whose bit is set. */
void sim_plan_remove_faults(sim_plan *plan, uint32_t without);

#endif
