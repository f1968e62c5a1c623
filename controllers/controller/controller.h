/* controller.h: a controller's members, for controller.c (new, start, stop, free), source.c (watched informers),
 * workers.c (threads, turns on the loop), reconcile.c (one reconcile), own_writes.c and controller_metrics.c. */
#ifndef KI_CONTROLLER_CONTROLLER_H
#define KI_CONTROLLER_CONTROLLER_H

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer/lister.h>

#include "controllers/controller/failures.h"
#include "controllers/controller/own_writes.h"
#include "controllers/election/elector_hook.h"
#include "src/engine/engine.h"
#include "src/factory/component.h"

#include <stdatomic.h>

enum {
    KI_CONTROLLER_WORKERS_MAX = 1024,
    KI_SOURCE_MISSED_MIN = 256, /* missed objects that a source can keep without allocating */
    /* missed objects that the informer's cache still has; above, the source walks the cache */
    KI_SOURCE_MISSED_MAX = 4096
};

#define KI_CONTROLLER_STOP_TIMEOUT_MS INT64_C(30000)
#define KI_CONTROLLER_RETRY KI_SECONDS(1)             /* retry delay after lack of memory or threads */
#define KI_CONTROLLER_LEASE_LOOK KI_MILLISECONDS(100) /* interval of looks whether an expired lease was renewed */

/* ---- one reconcile ---- */

/* The result that the reconcile function requested; an error overrides it. */
typedef enum ki_reconcile_result {
    KI_RECONCILE_DONE,
    KI_RECONCILE_REQUEUE,
    KI_RECONCILE_REQUEUE_AFTER
} ki_reconcile_result;

struct ki_reconcile {
    ki_controller *controller;
    /* Written by the reconciling thread; after ki_reconcile_defer, by the thread that finishes. */
    const char *key; /* borrowed from the queue until the key is done */
    int64_t started_at;
    ki_term term;          /* in which it began, and to which its requests belong */
    ki_own_writes *writes; /* of its requests; NULL: not waited for, or not made yet */
    ki_reconcile_result result;
    int64_t delay_ms;
    bool is_terminal;
    bool is_logged; /* the program has logged the error */
    ki_status status;
    ki_error err;
    /* Under the controller's mutex. */
    ki_reconcile *next; /* in `unused` */
    bool is_deferred;
    bool has_returned;
    bool is_finished;
};

/* ---- a watched informer ---- */

/* One informer and what its events queue. Loop only, except the constant members. */
typedef struct ki_source {
    struct ki_source *next;
    const ki_allocator *allocator; /* constant */
    ki_controller *controller;     /* NULL: the source is freed when its handler is removed; else constant */
    /* Constant. */
    ki_informer *informer;
    ki_registration registration;
    bool by_owner, any_owner;
    char *owner_group, *owner_kind;
    bool is_owner_namespaced;
    void (*map)(const ki_object *obj, ki_reconcile_keys *keys, void *user);
    ki_predicate predicate;
    void *user;
    bool has_selector;
    ki_selector *selector; /* the informer's; NULL: none, or one that only the server understands */
    /* Loop. */
    bool has_handler;         /* on_removed was not called */
    bool is_synced;           /* or its informer was removed */
    const ki_object **missed; /* references to objects whose keys could not be queued for lack of memory */
    size_t missed_count, missed_room;
    bool must_walk;        /* all objects of the informer must be queued */
    ki_snapshot *snapshot; /* of the current walk; NULL: none */
    ki_cursor cursor;
} ki_source;

/* ---- counts ---- */

typedef enum ki_controller_count {
    KI_COUNT_SUCCESS, /* the results of reconcile_total come first */
    KI_COUNT_REQUEUE,
    KI_COUNT_REQUEUE_AFTER,
    KI_COUNT_ERROR,
    KI_COUNT_RESULTS,
    KI_COUNT_TERMINAL = KI_COUNT_RESULTS,
    KI_COUNT_UNSEEN, /* waits for own writes that ended without them */
    KI_COUNTS
} ki_controller_count;

/* ---- the controller ---- */

/* What the program gave; constant. */
typedef struct ki_controller_given {
    ki_reconcile_function reconcile;
    void *user;
    size_t workers;
    bool waits_for_writes;
} ki_controller_given;

/* Under `mutex`. */
typedef struct ki_controller_state {
    bool is_started; /* the component has started */
    bool has_synced; /* the sources of the start have synced; the workers do not wait for later ones */
    bool may_work;   /* `has_synced`, leads and is not stopping, as of the last ki_controller_try_to_begin */
    bool is_left;    /* ki_controller_free was called; the loop destroys the controller */
    size_t unsynced; /* sources of the start that have not synced */
} ki_controller_state;

typedef struct ki_controller_threads {
    /* Loop. */
    ki_thread *list; /* array of `workers` */
    size_t count;
    /* Under `mutex`. */
    size_t live;
    size_t waiting; /* for `changed` */
} ki_controller_threads;

/* Loop. */
typedef struct ki_controller_tasks {
    ki_task end;      /* reports the end */
    ki_task work;     /* starts one reconcile on a stepped engine */
    ki_task catch_up; /* queues the keys that sources missed */
    ki_timer retry;
} ki_controller_tasks;

/* How reconciles ended. Under `mutex`. */
typedef struct ki_controller_results {
    uint64_t counts[KI_COUNTS];
    ki_histogram times;
    ki_failures failures;
} ki_controller_results;

struct ki_controller {
    /* Constant. */
    ki_factory *factory;
    ki_engine *engine;
    const ki_allocator *allocator;
    char *name;
    ki_controller_given given;
    ki_elector *elector; /* NULL: always leads */
    ki_workqueue *queue;
    ki_component component;
    ki_reconcile *calls; /* array of `workers` */

    /* Any thread. */
    _Atomic bool is_stopping; /* set under `mutex` */
    _Atomic bool leads;       /* set on the loop by the elector's hook; true without an elector */

    /* Under `mutex`. A thread that holds it never calls the queue, nor the program except its clock. */
    ki_mutex mutex;
    ki_cond changed; /* signals changes of the members below and of `is_stopping` */
    ki_controller_state state;
    ki_resource reconciled;        /* of ki_controller_for: group, kind and scope; kind NULL: none */
    ki_reconcile *unused;          /* free reconciles */
    ki_own_writes *waiting_writes; /* list: keys that wait for the writes of their last reconcile */
    size_t running;                /* reconciles that have started and not ended */
    ki_controller_results results;

    /* Any thread adds a source under `mutex`; the loop removes them. */
    _Atomic(ki_source *) sources;

    ki_controller_threads threads;
    /* Loop. */
    ki_elector_hook hook;
    ki_controller_tasks tasks;
};

/* Returns the controller of a component; not const, because reading takes the lock. */
static inline ki_controller *ki_controller_of(const ki_component *component) {
    return (ki_controller *)(uintptr_t)((const char *)component - offsetof(ki_controller, component));
}

/* controller.c. Starts the workers if the component has started, all sources have synced and this process leads. Loop
 * only. */
void ki_controller_try_to_begin(ki_controller *controller);
/* Sets the retry timer to `delay_ns` from now, or keeps an earlier time. */
void ki_controller_retry_in(ki_controller *controller, int64_t delay_ns);
/* Wakes the threads that wait for the end or for a free reconcile, and posts the task once all work has ended. Any
 * thread. After the unlock the controller may be freed. */
void ki_controller_note_change(ki_controller *controller);

/* source.c. Makes a source and registers its handler. Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, those of
 * ki_informer_add_handler. */
ki_status ki_source_new(ki_controller *controller, ki_informer *informer, const ki_controller_watch_options *options,
                        ki_source **ret_source, ki_error *err);
void ki_source_free(ki_source *source); /* loop only */
/* The first marks all objects of the informer to be queued in later steps; the second drops everything still to be
 * queued. Loop only. */
void ki_source_queue_all(ki_source *source);
void ki_source_forget(ki_source *source);
/* Queues missed keys while the step has work left. *ret_more: keys are left. Errors: KI_ERR_NO_MEMORY: retry later. */
ki_status ki_source_catch_up(ki_source *source, bool *ret_more);

/* workers.c */
void ki_controller_start_threads(ki_controller *controller);
void ki_controller_take_turn(ki_task *task, void *user); /* function of `tasks.work` */

/* reconcile.c. Takes a free reconcile; NULL if there is none. */
ki_reconcile *ki_reconcile_take(ki_controller *controller);
/* Returns a reconcile that was not started to `unused`. */
void ki_reconcile_give_back(ki_reconcile *call);
/* Calls the program's function for a key that the queue handed out. Puts the key back instead if the controller stops
 * or this process leads no more. Returns true if the reconcile has ended: the caller puts the struct back. */
bool ki_reconcile_run(ki_reconcile *call, const char *key);
/* Returns a reconcile that has ended to `unused`. The controller may be freed after the unlock. Caller holds the
 * mutex. */
void ki_reconcile_put_ended(ki_reconcile *call);

/* controller_metrics.c */
void ki_controller_visit_metrics(const ki_component *component, const ki_metrics_visit *to);
/* Counts a reconcile that has ended; `result` is one of reconcile_total's. */
void ki_controller_count_end(ki_controller *controller, ki_controller_count result, bool is_terminal,
                             int64_t duration_ns);

#endif
