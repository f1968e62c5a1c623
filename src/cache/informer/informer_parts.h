/* informer_parts.h: the struct of an informer and its parts, for the files that implement it: shared_informer.c
 * (creation, start, stop), feed.c (its sources), process_item.c (processes one item), registration.c (handlers),
 * settings.c, informer_health.c, informer_memory.c, namespace_check.c, namespace_set.c, informer_read.c,
 * informer_deleted.c, removal.c, wait_for_sync.c and wait_for.c. */
#ifndef KI_CACHE_INFORMER_PARTS_H
#define KI_CACHE_INFORMER_PARTS_H

#include "src/base/kept_error.h"
#include "src/base/refcount.h"
#include "src/cache/informer/feed.h"
#include "src/cache/informer/health.h"
#include "src/cache/informer/shared_informer.h"
#include "src/cache/informer/wait_table.h"
#include "src/cache/listener/processor.h"
#include "src/cache/queue/process_loop.h"
#include "src/cache/reflector/consistency_check.h"
#include "src/cache/reflector/metrics.h"
#include "src/cache/reflector/report_limit.h"
#include "src/cache/store/deferred_free.h"
#include "src/cache/store/deleted_objects.h"
#include "src/cache/store/mutation_detector.h"

enum {
    KI_INFORMER_SLICE = 64 /* maximum units of work (about an object each) while the change lock is held */
};

/* One block of memory, with the names. */
struct ki_namespaces {
    const ki_allocator *allocator;
    ki_refcount refs;
    size_t count;
    const char *names[];
};

/* Each part below belongs to the file that it names: the others read it through that file's functions, or under the
 * part's lock. */

/* settings.c. Constant after freeze. */
typedef struct ki_informer_settings {
    ki_transform_step transform; /* without a function: none */
    ki_watch_error_handler on_error;
    void *error_user;
    ki_state_handler on_state;
    void *state_user;
} ki_informer_settings;

/* shared_informer.c: who wants the deltas beside the handlers (ki_informer_observe). Constant after the start. */
typedef struct ki_delta_observer {
    void (*on_deltas)(const ki_deltas *deltas, void *user); /* NULL: nobody */
    void *user;
} ki_delta_observer;

/* informer_deleted.c. Under `change_lock`; any thread reads the store of the objects. */
typedef struct ki_informer_deleted {
    ki_deleted_objects objects;
    ki_timer timer; /* drops them after their time; loop */
} ki_informer_deleted;

/* removal.c */
typedef struct ki_informer_removal {
    _Atomic bool is_begun; /* removed from the factory; set under `change_lock` and the lock of `waits` */
    ki_snapshot *cleared;  /* what the store had; the loop releases it. Under `change_lock` */
    ki_task task;          /* stops the informer */
} ki_informer_removal;

/* shared_informer.c: errors of the program's index functions, reported together. */
typedef struct ki_index_errors {
    ki_mutex lock; /* no other lock is taken inside */
    /* Under `lock`, since the last report. */
    ki_kept_error first;
    char *key; /* of the first; NULL: none */
    size_t count;
    ki_task task; /* reports them; posted by any thread */
} ki_index_errors;

/* registration.c: the handlers by their registrations. */
typedef struct ki_registry {
    ki_mutex lock; /* held to find a registration's listener, and while the metrics go through all of them */
    /* Under `lock`. */
    ki_listener *first; /* linked by `next_registered` */
    uint64_t last_id;
} ki_registry;

/* feed.c: the sources. */
typedef struct ki_feeds {
    ki_mutex lock; /* only the locks of unreadable objects and of a feed's health are taken inside */
    /* Under `lock`; written on the loop, or before the start. */
    ki_feed **list; /* one; of a set, sorted by namespace */
    size_t count, capacity;
    size_t missing; /* feeds whose namespace is missing; loop */
} ki_feeds;

/* namespace_set.c: how a set of namespaces changes. */
typedef struct ki_namespace_set {
    /* Under the lock of `feeds`. */
    ki_namespaces *wanted; /* the set that was given last, not begun yet; NULL: none */
    ki_namespaces *begun;  /* the set whose feeds are being added and removed; NULL: none; written on the loop */
    /* Loop. */
    ki_task task;
    ki_timer timer;       /* tries again for lack of memory */
    bool has_first;       /* the first set has all its feeds */
    _Atomic bool has_new; /* a set was given whose namespaces are not all in the cache yet; any thread reads it */
} ki_namespace_set;

/* shared_informer.c: looks for objects that were changed in place; only with `detect_mutations`. Loop. */
typedef struct ki_informer_detector {
    ki_mutation_detector detector;
    ki_timer timer;
} ki_informer_detector;

/* informer_health.c: the health of the informer, beside that of each feed. */
typedef struct ki_own_health {
    ki_health_record record;
    ki_health_stuck stuck; /* of `record` */
    /* The last state that was logged, and the hash of its message. Loop. */
    ki_state logged_state;
    uint64_t logged_message;
} ki_own_health;

/* wait_for.c, wait_for_sync.c: threads and callbacks that wait. */
typedef struct ki_waits {
    ki_mutex lock;
    /* Under `lock`. */
    ki_cond changed;            /* signalled when the informer is synced or stopped */
    bool has_ended;             /* the informer is stopped */
    bool has_checked_deletions; /* all waits for deletions, since the first list */
    ki_wait_table table;
    _Atomic size_t count;    /* undecided waits; any thread reads it */
    _Atomic bool is_blocked; /* what is not listed is blocked; any thread reads it */
    /* Loop. */
    ki_task task;   /* calls the callbacks of decided waits */
    ki_timer timer; /* deadlines of callbacks; initialized at its first use */
} ki_waits;

/* shared_informer.c. Under `change_lock`. */
typedef struct ki_informer_life {
    bool is_frozen, is_started, is_stopped;
} ki_informer_life;

/* wait_for_sync.c */
typedef struct ki_informer_sync {
    _Atomic bool is_done; /* set under the lock of `waits` and `change_lock`; a removed informer is not. Any thread */
    char version[KI_RESOURCE_VERSION_MAX + 1]; /* constant once `is_done` */
} ki_informer_sync;

/* shared_informer.c, process_item.c: what waits in the queue, and what processes it. Loop. */
typedef struct ki_informer_work {
    ki_queue *queue; /* NULL once a removed informer has ended, as are its sources */
    ki_process_loop loop;
    size_t listed;   /* objects of the current lists */
    size_t load;     /* as given to the last ki_informer_note_queue */
    size_t repeated; /* events of the item in process that are dropped: they repeat known states */
    bool is_due;     /* the cache is to have a new dictionary */
    bool is_held;    /* a watch is paused: many changes are queued, or wait for a handler */
} ki_informer_work;

struct ki_informer {
    ki_shared_informer_options options; /* constant */
    bool is_custom;                     /* constant: a custom resource: the server may stop serving it */
    ki_informer_settings settings;
    ki_delta_observer observer;

    /* Held while one change passes through store and processor, and while a handler is added or removed. */
    ki_fair_mutex change_lock;
    ki_store *store; /* written under `change_lock` */
    ki_processor processor;
    ki_informer_life life;

    ki_feeds feeds;
    ki_namespace_set namespaces;
    ki_registry registry;
    ki_waits waits;
    ki_own_health health;
    ki_informer_deleted deleted;
    ki_index_errors index_errors;
    ki_informer_detector detector;
    ki_informer_removal removal;

    /* Loop. */
    ki_informer_work work;
    ki_consistency_check *consistency_check;         /* NULL: none */
    char store_version[KI_RESOURCE_VERSION_MAX + 1]; /* the store's resource version */
    ki_deferred deferred;
    ki_report_limit report_limit;
    ki_informer *next_running; /* of `options.running` */

    /* Any thread. */
    ki_metrics_record metrics;
    _Atomic bool is_over_limit; /* above memory_limit, and until a tenth is free; the loop sets it */
    ki_informer_sync sync;
};

/* registration.c: returns true if the handler was added and not removed. */
bool ki_registration_exists(ki_registration registration);
/* settings.c: returns KI_ERR_STATE if the informer is stopped. */
ki_status ki_informer_check_runs(const ki_informer *informer, ki_error *err);
/* wait_for_sync.c: a listener is synced, or was removed. Any thread, under no lock. */
void ki_informer_wake_waits(ki_informer *informer);
/* Ends reflector, timers and waits, and reports the state. `stops_handlers`: the processor's listeners, too. Loop. */
void ki_informer_end_work(ki_informer *informer, bool stops_handlers);
/* Frees queue and sources. Loop. No effect if they are freed already. */
void ki_informer_free_sources(ki_informer *informer);
/* wait_for.c: cancels all waits from any thread; the loop calls their handlers. */
void ki_informer_cancel_waits(ki_informer *informer);
/* removal.c */
void ki_informer_init_removal(ki_informer *informer);
/* Frees the queue and the sources of a removed informer whose queue is closed and empty: `user`. Loop. */
void ki_informer_end_removed(void *user);
/* wait_for.c: returns true if the informer is stopped or its engine has ended. */
bool ki_informer_has_ended(const ki_informer *informer);
void ki_informer_init_waits(ki_informer *informer);
/* Decides waits after a change of the store. `deltas`: the objects that changed, or the end of a list; NULL: objects
 * may be gone. */
void ki_informer_check_waits(ki_informer *informer, const ki_deltas *deltas);
/* Ends all waits of a stopped informer. */
void ki_informer_end_waits(ki_informer *informer);
/* namespace_check.c */
/* For each opened watch: asks whether the namespace exists, if the last list was empty. Loop. */
void ki_feed_check_namespace(ki_feed *feed);
/* For each change: an object shows that its namespace exists. Loop. */
void ki_informer_doubt_missing(ki_informer *informer, const ki_deltas *deltas);
/* namespace_set.c */
/* Prepares the task. */
void ki_informer_init_namespaces(ki_informer *informer);
/* Prepares the timer. Loop. */
void ki_informer_open_namespaces(ki_informer *informer);
/* Begins with the set that was given last. Loop. */
void ki_informer_take_namespaces(ki_informer *informer);
/* Cancels task and timer. Loop. */
void ki_informer_close_namespaces(ki_informer *informer);
/* Each feed is listed in the store: if no other set is waiting, the cache has the whole set. Returns true if that is
 * new. Loop. */
bool ki_informer_note_set(ki_informer *informer);
/* Returns what a namespace is that has a feed, or none. Caller holds feeds.lock. */
ki_feed_found ki_informer_find_in_set(const ki_informer *informer, const char *namespace_name, bool has_feed);
void ki_informer_free_namespaces(ki_informer *informer);
/* informer_deleted.c */
/* Prepares the timer. Loop. */
void ki_informer_open_deleted(ki_informer *informer);
/* Keeps an object whose deletion is staged, if the options say so. KI_ERR_NO_MEMORY: it is not kept. Loop; caller holds
 * change_lock. */
ki_status ki_informer_stage_deleted(ki_informer *informer, ki_object *obj);
/* Before the staged deletions are published: the time of their objects begins. Loop; caller holds change_lock. */
void ki_informer_publish_deleted(ki_informer *informer);
/* Drops the deleted objects of a removed informer, a slice at a time. Loop; caller holds change_lock. */
void ki_informer_end_deleted(ki_informer *informer);
/* shared_informer.c: for its feeds and other parts. Loop. */
/* Logs a new state, and calls the state handler if it has changed. `has_cause`: as ki_informer_log_state. */
void ki_informer_note_state(ki_informer *informer, bool is_changed, bool has_cause);
/* Calls the watch error handler. */
void ki_informer_report(ki_informer *informer, const ki_error *err, const char *key);
/* Counts and reports an unusable object. */
void ki_informer_count_skipped(ki_informer *informer, const ki_error *err, const char *key);
/* informer_health.c: logs the state if it differs from the last logged one. `has_cause`: a failure or a missing
 * response set the state. Loop. */
void ki_informer_log_state(ki_informer *informer, bool has_cause);
/* process_item.c */
/* The queue has grown, or a step has ended. Pauses the watch while too many changes are queued or wait for a
 * handler; resumes it afterwards. `load`: of ki_processor_load. `is_stored`: the store has all that is not queued; the
 * metrics then take the queue's length. Loop; not under change_lock. */
void ki_informer_note_queue(ki_informer *informer, size_t load, bool is_stored);
/* A handler was called on the loop, or ended there: less waits. Loop. */
void ki_informer_delivered(ki_informer *informer);
/* The queue received something, or a feed's version changed. */
void ki_informer_note_progress(ki_informer *informer);
/* Returns true if no watch is paused, and few changes wait. Loop; not under change_lock. */
bool ki_informer_has_little_work(ki_informer *informer);
/* Gets what the store keeps of an object: its key, the packed object, or `obj` itself, as a reference.
 * Errors: KI_ERR_NO_MEMORY. Loop. */
ki_status ki_informer_kept(ki_object *obj, ki_object **ret_kept);
/* informer_memory.c: reports the objects' memory once above the limit. Loop; not under change_lock. */
void ki_informer_check_memory(ki_informer *informer);
/* informer_memory.c: returns true above the informer's limit, and until a tenth is free. Any thread. */
bool ki_informer_is_over_limit(const ki_informer *informer);
/* informer_memory.c: returns the bytes of the cache's objects, with what they share. Any thread. */
size_t ki_informer_object_bytes(const ki_informer *informer);
/* process_item.c: drops the staged changes. */
void ki_informer_drop_staged(ki_informer *informer);
/* process_item.c: what the process loop calls; `user` is the informer. Processes one item. */
ki_status ki_informer_process(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err);
/* The queue is empty: the store has all that was read. */
ki_status ki_informer_process_drained(void *user, ki_error *err);
/* Wakes the listeners after the last of some steps. */
void ki_informer_pause(void *user);

#endif
