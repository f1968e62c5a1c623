/* listener.h: one registration: its place in the log of changes, and the thread or the loop task that delivers from
 * there. Any thread removes it. Handlers are called under no lock. */
#ifndef KI_CACHE_LISTENER_H
#define KI_CACHE_LISTENER_H

#include "src/cache/listener/processor.h"
#include "src/cache/store/deferred_free.h"
#include "src/engine/thread.h"

/* What a listener calls its informer for. */
typedef struct ki_listener_hooks {
    /* A removed listener may be freed: on_removed was called and the thread is joined. Not called after stop. Loop. */
    void (*on_end)(ki_listener *listener, ki_informer *informer);
    /* A handler was called on the loop. */
    void (*on_delivered)(ki_informer *informer);
    /* on_synced was called. Any thread, under no lock. */
    void (*on_synced)(ki_informer *informer);
} ki_listener_hooks;

typedef struct ki_listener_options {
    ki_engine *engine;
    ki_informer *informer;
    ki_deferred *deferred; /* the informer's; borrowed */
    const void *owner;     /* the callbacks' owner: callback.h */
    const ki_handler *handler;
    void *user;
    const ki_registration_options *registration;
    ki_keep keep;                   /* what the informer keeps */
    const ki_listener_hooks *hooks; /* of `informer`; constant */
} ki_listener_options;

/* What the program gave; constant. */
typedef struct ki_listener_given {
    const void *owner; /* of the callbacks (callback.h) */
    ki_handler handler;
    void *user;
    ki_selector *selector; /* owned; NULL: none */
    bool on_loop;
    char *name;
} ki_listener_given;

/* Written under the change lock. */
typedef struct ki_listener_thread {
    ki_thread thread;
    bool is_started; /* the thread or the task delivers */
    bool is_own;     /* else the listener's task delivers on the loop */
    bool is_joined;
} ki_listener_thread;

/* Written under the change lock. */
typedef struct ki_listener_resync {
    int64_t desired_ns;
    int64_t period_ns; /* 0: none */
    int64_t next;
    bool is_due; /* chosen for the last resync */
} ki_listener_resync;

/* Of the delivering thread or task; set before it starts. */
typedef struct ki_replay {
    ki_snapshot *snapshot; /* the cache at the registration; NULL: delivered */
    ki_cursor cursor;
    _Atomic size_t left; /* objects of it that are not delivered; any thread reads it */
} ki_replay;

struct ki_listener {
    /* Under the informer's registry lock. */
    ki_listener *next_registered;
    /* Constant. */
    uint64_t id; /* the registration's */
    ki_engine *engine;
    ki_informer *informer;
    ki_deferred *deferred;
    ki_listener_given given;
    const ki_listener_hooks *hooks;
    /* Written under the change lock. */
    ki_listener *next, *previous; /* in a list of the processor */
    ki_processor *processor;      /* that it was added to; NULL: none */
    ki_listener_thread thread;
    ki_listener_resync resync;
    /* Under `mutex`. */
    ki_mutex mutex;
    bool is_stopped;
    /* Of the delivering thread or task; set before it starts. */
    ki_change_reader reader;
    ki_replay replay;
    bool is_closed;               /* on_removed has been called, or must not be */
    unsigned unreported;          /* changes since the last on_changed */
    unsigned namespaces_reported; /* `namespaces_count` of the processor at the last on_namespaces_synced */
    ki_task task;                 /* delivers on the loop, or ends the listener */
    /* Any thread. */
    ki_semaphore wake_up;
    _Atomic bool has_ended; /* removed or stopped */
    _Atomic bool sleeps;    /* the thread waits for `wake_up`, or is about to; a waker sets this to false and posts */
    _Atomic bool synced;
};

/* Returns the number of undelivered notifications. Any thread. */
size_t ki_listener_pending(const ki_listener *listener);
/* Makes a listener that is not started and in no list. Errors: KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
ki_status ki_listener_new(const ki_listener_options *options, ki_listener **ret_listener, ki_error *err);
/* Frees a listener that has ended or never started. Calls on_removed if that was not done. */
void ki_listener_free(ki_listener *listener);

/* Frees a listener whose registration failed, without on_removed. */
void ki_listener_discard(ki_listener *listener);

/* Sets the objects that are delivered first. Called before start. Takes the reference over. */
void ki_listener_set_replay(ki_listener *listener, ki_snapshot *replay);
/* Starts delivering. `threaded`: on a thread of its own unless the registration chose the loop. */
ki_status ki_listener_start(ki_listener *listener, bool threaded, ki_error *err);

/* Wakes the thread, or posts the task. Caller holds the change lock, and the listener is in the processor's list. */
void ki_listener_wake(ki_listener *listener);

/* After remove and stop, no new callback starts except on_removed. What waits is dropped.
 * Remove: any thread, after the listener has left the processor's list. Stop: loop; ends the thread, and
 * ki_listener_free calls on_removed. */
void ki_listener_remove(ki_listener *listener);
void ki_listener_stop(ki_listener *listener);
/* Waits until the thread of a stopped listener has ended. Any thread but that one. */
void ki_listener_join(ki_listener *listener);

#endif
