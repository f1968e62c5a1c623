/* listener.h: one registration: what waits for it, and its thread or its turns on the loop. A registration's handle has its id.
 *
 * Three parties: the loop (or whoever holds the change lock) pushes; the listener's thread, or its task on the loop, delivers; any
 * thread removes. Handlers are called under no lock. */
#ifndef KI_CACHE_LISTENER_H
#define KI_CACHE_LISTENER_H

#include "src/cache/pending.h"
#include "src/cache/processor.h"
#include "src/engine/thread.h"

typedef struct ki_listener_options {
    ki_engine *engine;
    ki_informer *informer;
    const void *owner; /* of the callbacks */
    const ki_handler *handler;
    void *user;
    const ki_registration_options *registration;
    uint64_t seed;
    /* It was removed, on_removed has been called, its thread is joined: it may be freed. On the loop. Not after stop. */
    void (*on_end)(ki_listener *listener, void *end_user);
    void *end_user;
} ki_listener_options;

struct ki_listener {
    /* Under the informer's registry lock. */
    ki_listener *next_registered;
    /* Constant. */
    uint64_t id; /* of its registration */
    ki_engine *engine;
    ki_informer *informer;
    const void *owner;
    ki_handler handler;
    void *user;
    bool on_loop;
    char *name;
    void (*on_end)(ki_listener *listener, void *end_user);
    void *end_user;
    /* Under the change lock. */
    ki_listener *next;
    ki_thread thread;
    bool started;
    bool has_thread; /* else turns on the loop */
    bool is_joined;
    int64_t desired_resync_ns;
    int64_t resync_ns; /* 0: none */
    int64_t next_resync;
    bool resync_is_due;
    bool is_told_list; /* it was there when the list that is told now was published */
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_cond changed;
    ki_pending pending;
    bool is_marked; /* the pending notifications hold the place of on_synced */
    bool is_removed;
    bool is_stopped;
    /* Of the thread or task that delivers; set before it starts. */
    ki_snapshot *replay; /* what was there when it was registered; NULL: told already */
    ki_cursor cursor;
    bool is_closed; /* on_removed has been called */
    ki_task task;   /* a turn, or the end */
    /* Any thread. */
    _Atomic bool synced;
    _Atomic size_t waiting; /* in `pending` */
    _Atomic size_t to_replay;
};

/* Changes that wait for it. Any thread. */
static inline size_t ki_listener_pending(const ki_listener *listener) {
    return atomic_load(&listener->waiting) + atomic_load(&listener->to_replay);
}

ki_status ki_listener_new(const ki_listener_options *options, ki_listener **ret_listener, ki_error *err);
/* Once it has ended or never began. Calls on_removed where that is still owed. */
void ki_listener_free(ki_listener *listener);

/* One that was never added, with no last call: its registration has failed. */
void ki_listener_discard(ki_listener *listener);

/* Before it starts: tells it first of all that is in `replay` (taken over). `marked`: the initial population is complete. */
void ki_listener_set_replay(ki_listener *listener, ki_snapshot *replay, bool marked);
/* `threaded`: on a thread of its own unless it asked for the loop. */
ki_status ki_listener_start(ki_listener *listener, bool threaded, ki_error *err);

ki_status ki_listener_reserve(ki_listener *listener, size_t changes, size_t keys);
void ki_listener_trim(ki_listener *listener);
/* shared_informer.c: releases a snapshot a part at a time. On the loop. Takes the reference over; NULL is accepted. */
void ki_informer_waste(ki_informer *informer, ki_snapshot *snapshot);
/* shared_informer.c: a listener has been called on the loop, or has ended there. */
void ki_informer_delivered(ki_informer *informer);
void ki_listener_push(ki_listener *listener, const ki_notification *notification);
void ki_listener_mark_synced(ki_listener *listener);

/* No call begins any more, but for on_removed. What waits is dropped. Remove: any thread, once it is out of the processor's
 * list. Stop: loop; it ends its thread, and on_removed comes with free. */
void ki_listener_remove(ki_listener *listener);
void ki_listener_stop(ki_listener *listener);
/* After stop: waits until its thread has ended. Any thread but that one. */
void ki_listener_join(ki_listener *listener);

#endif
