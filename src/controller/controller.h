/* controller.h: the inside of a controller, for controller.c (its life), source.c (what it watches), workers.c (who reconciles),
 * reconcile.c (one call and how it ends) and controller_metrics.c. */
#ifndef KI_CONTROLLER_CONTROLLER_H
#define KI_CONTROLLER_CONTROLLER_H

#include <kinformer/controller.h>
#include <kinformer/lister.h>

#include "src/controller/elector_hook.h"
#include "src/engine/engine.h"
#include "src/factory/component.h"

#include <stdatomic.h>

enum {
    KI_CONTROLLER_WORKERS_MAX = 1024,
    KI_SOURCE_MISSED_MIN = 256, /* objects that a source can remember without memory */
    KI_SOURCE_MISSED_MAX = 4096 /* objects of an informer's cache that it remembers; beyond them it walks the cache */
};

#define KI_CONTROLLER_STOP_TIMEOUT_MS INT64_C(30000)
#define KI_CONTROLLER_RETRY KI_SECONDS(1) /* after lack of memory or threads */
#define KI_CONTROLLER_LEASE_LOOK \
    KI_MILLISECONDS(100) /* while the lease has expired, and the elector does not know yet */

/* ---- one call of the reconcile function ---- */

/* What the program asks for where no error wins over it. */
typedef enum ki_reconcile_result {
    KI_RECONCILE_DONE,
    KI_RECONCILE_REQUEUE,
    KI_RECONCILE_REQUEUE_AFTER,
    KI_RECONCILE_PUT_BACK /* the function was not called: the process does not lead */
} ki_reconcile_result;

struct ki_reconcile {
    ki_controller *controller;
    /* Of the thread that reconciles; after a deferral of those who finish. */
    const char *key; /* the queue's, until ki_workqueue_done */
    int priority;
    int64_t started_at;
    uint64_t term; /* of the elector */
    ki_reconcile_result result;
    int64_t delay_ms;
    bool is_terminal;
    ki_status status;
    ki_error err;
    /* Under the controller's mutex. */
    ki_reconcile *next; /* of the free ones, or of those that wait to be queued */
    bool is_deferred;
    bool has_returned;
    bool is_finished;
};

/* ---- what a controller watches ---- */

/* One informer and what its events queue. The loop's, but for what is constant. */
typedef struct ki_source {
    struct ki_source *next;
    /* Constant. */
    ki_controller *controller;
    ki_informer *informer;
    ki_registration registration;
    bool by_owner, any_owner;
    char *owner_group, *owner_kind;
    bool is_owner_namespaced;
    void (*map)(const ki_object *obj, ki_reconcile_keys *requests, void *user);
    ki_predicate predicate;
    void *user;
    /* Loop. */
    const ki_object **missed; /* references: objects whose keys could not be queued for lack of memory */
    size_t missed_count, missed_room;
    bool must_walk;        /* all objects of the informer are to be queued */
    ki_snapshot *snapshot; /* of the walk under way */
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
    KI_COUNTS
} ki_controller_count;

/* ---- the controller ---- */

struct ki_controller {
    /* Constant. */
    ki_controller *self; /* for functions that only read, and lock */
    ki_engine *engine;
    const ki_allocator *allocator;
    char *name;
    ki_reconcile_function reconcile;
    void *user;
    size_t workers;
    bool by_priority;
    ki_elector *elector; /* NULL: always leads */
    ki_workqueue *queue;
    ki_component component;
    ki_metric_source metrics, queue_metrics;
    ki_metric_table queue_table;
    const ki_metrics *library; /* NULL: none */
    ki_reconcile *calls;       /* `workers` of them */

    /* Any thread. */
    _Atomic bool is_stopping; /* set under `mutex` */
    _Atomic bool leads;       /* as the elector's hook says; written on the loop */
    _Atomic uint64_t term;    /* counts the losses of leadership */

    /* Under `mutex`. With it held nobody calls the program, or the queue. */
    ki_mutex mutex;
    ki_cond changed;        /* of what follows, and `is_stopping` */
    bool is_started;        /* its component is: nothing is watched from now on */
    bool may_work;          /* all sources have synced, and this process leads */
    bool is_left;           /* freed by the program; the loop destroys it */
    size_t unsynced;        /* sources that have not synced */
    ki_reconcile *unused;   /* calls */
    ki_reconcile *unqueued; /* calls that wait until there is memory to queue their key again */
    size_t running;         /* reconciles that have begun and not ended */
    size_t live_threads;
    size_t waiting; /* threads that wait for `changed` */
    uint64_t counts[KI_COUNTS];
    uint64_t time_count;
    double time_sum; /* seconds */

    /* Loop. */
    ki_source *sources;
    ki_elector_hook hook;
    ki_task task;          /* looks what is to be done: the end, calls in `unqueued`, threads */
    ki_task work_task;     /* one reconcile, where the engine is stepped */
    ki_task catch_up_task; /* sources that missed something */
    ki_timer retry_timer;
    ki_thread *threads; /* `workers` of them */
    size_t thread_count;
};

/* controller.c. Loop only: the controller begins to work where nothing is in its way any more. */
void ki_controller_try_to_begin(ki_controller *controller);
/* Loop only: looks again after `delay_ns`, or before. */
void ki_controller_retry_in(ki_controller *controller, int64_t delay_ns);
/* Any thread; the mutex is held: tells those who may wait for the end. After the unlock the controller may be gone. */
void ki_controller_note_change(ki_controller *controller);

/* source.c. Errors of new: KI_ERR_INVALID, KI_ERR_NO_MEMORY, those of ki_informer_register. The mutex is held. */
ki_status ki_source_new(ki_controller *controller, ki_informer *informer, const ki_controller_watch_options *options,
                        ki_source **ret_source, ki_error *err);
void ki_source_free(ki_source *source); /* loop */
/* Loop only: begins to queue all objects, or drops what it has still to queue. */
void ki_source_queue_all(ki_source *source);
void ki_source_forget(ki_source *source);
/* Loop only: goes on queueing, as far as this step allows. Errors: KI_ERR_NO_MEMORY: again later. */
ki_status ki_source_catch_up(ki_source *source, bool *ret_more);

/* workers.c. Loop only. */
void ki_controller_start_threads(ki_controller *controller);
void ki_controller_take_turn(ki_task *task, void *user); /* work_task */

/* reconcile.c: takes a call that nobody uses; NULL where there is none. The mutex is held. */
ki_reconcile *ki_reconcile_take(ki_controller *controller);
/* Gives back a call that was not begun. */
void ki_reconcile_give_back(ki_reconcile *call);
/* Calls the program's function for a key that was taken from the queue. */
void ki_reconcile_run(ki_reconcile *call, const char *key);
/* Puts the key back without a call of the function. */
void ki_reconcile_put_back(ki_reconcile *call, const char *key);
/* Returns true where the key of a call waits to be queued. */
bool ki_reconcile_any_waits(ki_controller *controller);
/* Tries again to queue the keys of calls in `unqueued`; drops them where the controller stops. */
void ki_reconcile_retry(ki_controller *controller);

/* controller_metrics.c */
void ki_controller_init_metrics(ki_controller *controller);
/* Counts a reconcile that has ended; `result` is one of reconcile_total. */
void ki_controller_count_end(ki_controller *controller, ki_controller_count result, bool is_terminal,
                             int64_t duration_ns);

#endif
