/* informer_parts.h: what an informer consists of, for the files that make it up: shared_informer.c (its life), process.c (one change's
 * way), process_list.c (a list's), registration.c (handlers), settings.c, informer_health.c, informer_read.c, wait_for_sync.c and wait_for.c. */
#ifndef KI_CACHE_INFORMER_PARTS_H
#define KI_CACHE_INFORMER_PARTS_H

#include "src/cache/audit.h"
#include "src/cache/complaints.h"
#include "src/cache/controller.h"
#include "src/cache/health.h"
#include "src/cache/metrics.h"
#include "src/cache/mutation_detector.h"
#include "src/cache/process_list.h"
#include "src/cache/processor.h"
#include "src/cache/reflector.h"
#include "src/cache/shared_informer.h"
#include "src/cache/unreadable.h"
#include "src/cache/wait_table.h"
#include "src/cache/waste.h"

enum {
    KI_INFORMER_KEY_MAX = 320, /* bytes of a key in an error report: a namespace and a name */
    KI_INFORMER_AT_ONCE =
        64 /* units of work, each of about an object, for which the change lock is held without a pause */
};

struct ki_informer {
    /* Constant. */
    ki_shared_informer_options options; /* its texts and resource are the informer's own copies */
    ki_engine *engine;
    const void *owner;
    ki_resource resource;                                   /* its strings are the informer's own */
    const char *name;                                       /* for messages; borrowed */
    bool may_go;                                            /* the resource's type: a custom one */
    char *namespace_name, *label_selector, *field_selector; /* for people: "" where there is none */
    ki_store *store;                                        /* written under `change_lock` */

    /* Constant after freeze. */
    ki_transform transform;
    void *transform_user;
    ki_watch_error_handler error_handler;
    void *error_user;
    ki_state_handler state_handler;
    void *state_user;

    /* Under `change_lock`, which is held for one key's way through store and processor, and while a handler comes or goes. */
    ki_fair_mutex change_lock;
    ki_processor processor;
    bool is_frozen, is_started, is_stopped;

    /* Under `index_error_lock`, with nothing inside. */
    ki_mutex index_error_lock;
    ki_error index_error; /* the first that was not reported yet */
    char index_error_key[KI_INFORMER_KEY_MAX + 1];
    size_t index_errors; /* not reported yet */

    /* Under `registry_lock`, which is held to find a registration's listener, and for nothing else. */
    ki_mutex registry_lock;
    ki_listener *registered; /* by `next_registered` */
    uint64_t last_id;

    /* Loop. */
    ki_queue *queue;
    ki_cache_controller controller;
    ki_reflector reflector;
    ki_audit audit;
    ki_timer resync_timer;
    size_t waiting;    /* for handlers on the loop, when it was looked at last */
    bool is_held;      /* the watch: what was read waits for handlers on the loop */
    bool resync_waits; /* the next is due, and the one before is not through */
    ki_list_work list_work;
    ki_waste waste;
    ki_complaints complaints;
    ki_timer detector_timer;
    ki_mutation_detector detector;                   /* of no use unless `detect_mutations` */
    ki_task report_task;                             /* of index errors; posted by any thread */
    char store_version[KI_RESOURCE_VERSION_MAX + 1]; /* that the store was told last */

    /* Any thread. */
    ki_metrics_record metrics;
    _Atomic bool synced; /* set under `wait_lock` and `change_lock` */
    ki_health_record health;
    ki_unreadable unreadable;
    ki_mutex wait_lock;          /* for all waiting */
    ki_cond changed;             /* `synced`, or stopped */
    bool is_over;                /* under `wait_lock`: stopped */
    ki_wait_table waits;         /* under `wait_lock` */
    _Atomic size_t waits_in_all; /* undecided: set under `wait_lock` */
    ki_task wait_task;           /* calls back */
    ki_timer wait_timer;         /* of the callbacks' deadlines; loop; made where it is first needed */
};

/* settings.c: KI_ERR_STATE where the informer is stopped. Caller holds change_lock. */
ki_status ki_informer_check_runs(const ki_informer *informer, ki_error *err);
/* shared_informer.c */
/* Begins the resync that waits, where the one before is through. */
void ki_informer_go_on_resyncing(ki_informer *informer);
/* Holds the watch while very much waits on the loop, and lets it go on once that is done. Loop; not under the change lock. */
void ki_informer_regulate(ki_informer *informer, size_t waiting);
/* wait_for.c: is it stopped, or can nobody go on with it? Under `wait_lock`. */
bool ki_informer_is_over(const ki_informer *informer);
/* All on the loop but init. After a change of the store; `deltas` NULL where only its version has moved. End: when it is stopped. */
void ki_informer_init_waits(ki_informer *informer);
void ki_informer_check_waits(ki_informer *informer, const ki_deltas *deltas);
void ki_informer_end_waits(ki_informer *informer);
/* process.c: for the controller; `user` is the informer. */
ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);
ki_status ki_informer_drained(void *user, ki_error *err);
/* process_list.c: does a slice of a list or resync. The change lock is held. `*ret_done` false: more is to come. */
ki_status ki_informer_process_list(ki_informer *informer, const ki_deltas *deltas, bool *ret_done, ki_error *err);

#endif
