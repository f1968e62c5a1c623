/* informer_parts.h: the struct of an informer, for the files that implement it: shared_informer.c (creation, start,
 * stop), process_item.c (processes one item), registration.c (handlers), settings.c, informer_health.c,
 * namespace_check.c, informer_read.c, informer_deleted.c, removal.c, wait_for_sync.c and wait_for.c. */
#ifndef KI_CACHE_INFORMER_PARTS_H
#define KI_CACHE_INFORMER_PARTS_H

#include "src/cache/informer/health.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/informer/step_loop.h"
#include "src/cache/informer/wait_table.h"
#include "src/cache/listener/processor.h"
#include "src/cache/reflector/consistency_check.h"
#include "src/cache/reflector/metrics.h"
#include "src/cache/reflector/reflector.h"
#include "src/cache/reflector/report_limit.h"
#include "src/cache/reflector/unreadable.h"
#include "src/cache/store/deferred_free.h"
#include "src/cache/store/deleted_objects.h"
#include "src/cache/store/mutation_detector.h"

enum {
    KI_INFORMER_KEY_MAX = 320, /* bytes of a key in an error report: a namespace and a name */
    KI_INFORMER_SLICE = 64     /* maximum units of work (about an object each) while the change lock is held */
};

struct ki_informer {
    /* Constant. */
    ki_shared_informer_options options;
    ki_engine *engine;
    const void *owner;
    ki_selection *selection;
    bool is_custom;  /* a custom resource: the server may stop serving it */
    ki_store *store; /* written under `change_lock` */

    /* Constant after freeze. */
    ki_transform transform;
    void *transform_user;
    ki_watch_error_handler error_handler;
    void *error_user;
    ki_state_handler state_handler;
    void *state_user;

    /* Under `change_lock`. Held while one change passes through store and processor, and while a handler is added or
     * removed. */
    ki_fair_mutex change_lock;
    ki_processor processor;
    ki_deleted_objects deleted;
    bool is_frozen, is_started, is_stopped;
    ki_snapshot *cleared; /* of a removed informer: what the store had; the loop releases it */

    /* Under `index_error_lock`. No other lock is taken inside. */
    ki_mutex index_error_lock;
    ki_error index_error; /* the first error since the last report */
    char index_error_key[KI_INFORMER_KEY_MAX + 1];
    size_t index_errors; /* errors since the last report */

    /* Under `registry_lock`. Held only to find a registration's listener. */
    ki_mutex registry_lock;
    ki_listener *registered; /* the first; linked by `next_registered` */
    uint64_t last_id;

    /* Loop. */
    ki_queue *queue; /* NULL once a removed informer has ended, as are its sources */
    ki_step_loop step_loop;
    ki_reflector reflector;
    ki_consistency_check consistency_check;
    ki_timer resync_timer;
    size_t waiting;         /* notifications that waited for handlers on the loop at the last ki_informer_regulate */
    bool is_held;           /* the watch is paused until handlers on the loop catch up */
    bool is_resync_waiting; /* a resync is due, and the previous one is not finished */
    ki_deferred deferred;
    ki_report_limit report_limit;
    ki_timer detector_timer;
    ki_timer deleted_timer;                          /* drops deleted objects after their time */
    bool asks_for_namespace;                         /* the next watch asks whether the namespace exists */
    ki_mutation_detector detector;                   /* used only with `detect_mutations` */
    ki_task report_task;                             /* reports index errors; posted by any thread */
    char store_version[KI_RESOURCE_VERSION_MAX + 1]; /* the store's resource version */
    ki_state logged_state;                           /* the last state that was logged, with its message */
    char logged_message[KI_HEALTH_MESSAGE_MAX];

    /* Any thread. */
    _Atomic(ki_object_format *) format; /* as options.format; a wider one before the start */
    ki_metrics_record metrics;
    _Atomic bool is_removed; /* removed from the factory; set under `change_lock` and `wait_lock` */
    ki_task remove_task;     /* stops a removed informer */
    _Atomic bool synced;     /* set under `wait_lock` and `change_lock`; a removed informer is not */
    char synced_version[KI_RESOURCE_VERSION_MAX + 1]; /* constant once `synced` */
    ki_health_record health;
    _Atomic bool is_namespace_missing; /* the server said that there is no such namespace */
    ki_unreadable unreadable;
    ki_mutex wait_lock;        /* for all waits */
    ki_cond changed;           /* signalled when the informer is synced or stopped */
    bool has_ended;            /* under `wait_lock`: stopped */
    ki_wait_table waits;       /* under `wait_lock` */
    _Atomic size_t wait_count; /* undecided waits; set under `wait_lock` */
    ki_task wait_task;         /* calls the callbacks of decided waits */
    ki_timer wait_timer;       /* deadlines of callbacks; loop; initialized at its first use */
};

/* registration.c: returns true if the handler was added and not removed. */
bool ki_registration_exists(ki_registration registration);
/* settings.c: returns KI_ERR_STATE if the informer is stopped. Caller holds change_lock. */
ki_status ki_informer_check_runs(const ki_informer *informer, ki_error *err);
/* wait_for.c: sets "the informer of … is stopped", and why if it was removed or the loop has ended by itself. */
ki_status ki_informer_set_stopped(const ki_informer *informer, ki_status status, ki_error *err);
/* shared_informer.c */
/* Begins the waiting resync if the previous one is finished. */
void ki_informer_continue_resync(ki_informer *informer);
/* Pauses the watch while too many changes are queued or wait for handlers on the loop; resumes it afterwards.
 * `waiting`: notifications for handlers on the loop. Loop; not under change_lock. */
void ki_informer_regulate(ki_informer *informer, size_t waiting);
/* Ends reflector, timers and waits, and reports the state. `stops_handlers`: the processor's listeners, too. Loop. */
void ki_informer_end_work(ki_informer *informer, bool stops_handlers);
/* Frees queue and sources. Loop. No effect if they are freed already. */
void ki_informer_free_sources(ki_informer *informer);
/* wait_for.c: cancels all waits from any thread; the loop calls their handlers. Caller holds wait_lock. */
void ki_informer_cancel_waits(ki_informer *informer);
/* removal.c */
void ki_informer_init_removal(ki_informer *informer);
/* Frees the queue and the sources of a removed informer whose queue is closed and empty. Loop. */
void ki_informer_end_removed(ki_informer *informer);
/* wait_for.c: returns true if the informer is stopped or its engine has ended. Caller holds wait_lock. */
bool ki_informer_has_ended(const ki_informer *informer);
void ki_informer_init_waits(ki_informer *informer);
/* Decides waits after a change of the store. `deltas` NULL: only the store's version changed. Loop. */
void ki_informer_check_waits(ki_informer *informer, const ki_deltas *deltas);
/* Ends all waits of a stopped informer. Loop. */
void ki_informer_end_waits(ki_informer *informer);
/* namespace_check.c */
/* Notes the number of objects of the current list so far. Loop. */
void ki_informer_note_listed(ki_informer *informer, size_t listed);
/* For each opened watch: asks whether the namespace exists, if the last list was empty. Loop. */
void ki_informer_check_namespace(ki_informer *informer);
/* For each change while the namespace is missing: an object shows that it exists. Loop. */
void ki_informer_doubt_missing(ki_informer *informer);
/* informer_deleted.c */
/* Prepares the timer. Loop. */
ki_status ki_informer_open_deleted(ki_informer *informer);
/* Keeps an object whose deletion is staged, if the options say so. KI_ERR_NO_MEMORY: it is not kept. Loop; caller holds
 * change_lock. */
ki_status ki_informer_stage_deleted(ki_informer *informer, ki_object *obj);
/* Before the staged deletions are published: the time of their objects begins. Loop; caller holds change_lock. */
void ki_informer_publish_deleted(ki_informer *informer);
/* Drops the deleted objects of a removed informer, a slice at a time. Loop; caller holds change_lock. */
void ki_informer_end_deleted(ki_informer *informer);
/* shared_informer.c: calls the state handler. Loop. */
void ki_informer_report_state(ki_informer *informer);
/* informer_health.c: logs the state if it differs from the last logged one. `has_cause`: a failure or a missing
 * response set the state. Loop. */
void ki_informer_log_state(ki_informer *informer, bool has_cause);
/* process_item.c: drops the staged changes. Loop; caller holds change_lock. */
void ki_informer_drop_staged(ki_informer *informer);
/* process_item.c: the process loop's step; `user` is the informer. Notifies of what is stored, or pops and
 * processes. */
ki_status ki_informer_step(void *user, ki_error *err);

#endif
