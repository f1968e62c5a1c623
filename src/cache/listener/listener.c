/* listener.c: delivers one notification at a time: first the objects of the replay, then the changes of the log, with
 * on_synced at its place. */
#include "src/cache/listener/listener.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/engine/callback.h"
#include "src/object/object.h"
#include "src/object/selector.h"

enum {
    CHANGES_OF_REPORT = 100 /* changes after which on_changed is called although more are queued */
};

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static void run_turn(ki_task *task, void *user);

static ki_status make_locks(ki_listener *listener, ki_error *err) {
    ki_status status = ki_mutex_init(&listener->mutex, err);
    if (status)
        return status;
    status = ki_semaphore_init(&listener->wake_up, err);
    if (status)
        ki_mutex_destroy(&listener->mutex);
    return status;
}

/* Parses the registration's selectors; NULL if it has none. */
static ki_status make_selector(const ki_listener_options *options, ki_selector **ret_selector, ki_error *err) {
    const char *labels = options->registration->label_selector, *fields = options->registration->field_selector;
    if ((!labels || !*labels) && (!fields || !*fields))
        return KI_OK;
    ki_status status = ki_selector_new_of(ki_engine_allocator(options->engine), labels, fields, ret_selector, err);
    return status ? status : ki_selector_check_keep(*ret_selector, options->keep, err);
}

ki_status ki_listener_new(const ki_listener_options *options, ki_listener **ret_listener, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(options->engine);
    const char *name = options->registration->name;
    ki_listener *listener = ki_alloc_zero(allocator, sizeof *listener);
    if (!listener)
        return ki_error_no_memory(err, "adding a handler");
    listener->given.name = ki_strdup(allocator, name ? name : "handler");
    ki_status status = listener->given.name ? KI_OK : ki_error_no_memory(err, "adding a handler");
    if (!status)
        status = make_selector(options, &listener->given.selector, err);
    if (!status)
        status = make_locks(listener, err);
    if (status) {
        ki_selector_free(listener->given.selector);
        ki_free(allocator, listener->given.name);
        ki_free(allocator, listener);
        return status;
    }
    listener->engine = options->engine;
    listener->informer = options->informer;
    listener->deferred = options->deferred;
    listener->given.owner = options->owner;
    listener->given.handler = *options->handler;
    listener->given.user = options->user;
    listener->given.on_loop = options->registration->on_loop;
    listener->hooks = options->hooks;
    ki_task_init(&listener->task, options->engine, run_turn, listener);
    *ret_listener = listener;
    return KI_OK;
}

/* Ends the replay. Returns its snapshot, with the reference, or NULL. */
static ki_snapshot *end_replay(ki_listener *listener) {
    ki_snapshot *replay = listener->replay.snapshot;
    listener->replay.snapshot = NULL;
    atomic_store(&listener->replay.left, 0);
    return replay;
}

/* On the loop the snapshot is released in slices: it may be large. */
static void drop_replay(ki_listener *listener, bool on_loop) {
    if (on_loop)
        ki_deferred_add_snapshot(listener->deferred, end_replay(listener));
    else
        ki_snapshot_unref(end_replay(listener));
}

/* What waits is not kept for the listener any more. */
static void leave_log(ki_listener *listener) {
    if (listener->processor)
        ki_change_log_detach(&listener->processor->log, &listener->reader);
}

static void call_on_removed(ki_listener *listener) {
    KI_ASSERT(!listener->is_closed);
    listener->is_closed = true;
    if (!listener->given.handler.on_removed)
        return;
    ki_callback callback;
    ki_callback_enter(&callback, listener->given.owner);
    listener->given.handler.on_removed(listener->given.user);
    ki_callback_leave(&callback);
}

void ki_listener_discard(ki_listener *listener) {
    drop_replay(listener, false);
    listener->is_closed = true;
    ki_listener_free(listener);
}

void ki_listener_free(ki_listener *listener) {
    KI_ASSERT(!listener->thread.thread.started);
    drop_replay(listener, false);
    if (!listener->is_closed)
        call_on_removed(listener);
    const ki_allocator *allocator = ki_engine_allocator(listener->engine);
    leave_log(listener);
    ki_semaphore_destroy(&listener->wake_up);
    ki_mutex_destroy(&listener->mutex);
    ki_selector_free(listener->given.selector);
    ki_free(allocator, listener->given.name);
    ki_free(allocator, listener);
}

/* --- delivering --------------------------------------------------------------------------------------------------- */

static bool matches(const ki_listener *listener, const ki_object *obj) {
    bool (*accepts)(const ki_object *obj, void *user) = listener->given.handler.filter;
    return ki_object_matches(obj, listener->given.selector) && (!accepts || accepts(obj, listener->given.user));
}

/* Applies selectors and filter to an event: for the handler, an object that does not match does not exist. Returns
 * false if the handler is not called. A deletion is delivered if the previous state matched, whether or not the last
 * state does. */
static bool filter(const ki_listener *listener, ki_event *event) {
    if (!listener->given.selector && !listener->given.handler.filter)
        return true;
    bool was = event->type != KI_EVENT_ADD && matches(listener, event->old);
    bool is = matches(listener, event->obj);
    if (was && !is) {
        event->type = KI_EVENT_DELETE;
        event->obj = event->old; /* the last state that the handler received */
    } else if (is && event->type == KI_EVENT_UPDATE && !was) {
        event->type = KI_EVENT_ADD;
    }
    return event->type == KI_EVENT_DELETE ? was : is;
}

/* Calls the handler for one change, which is borrowed. No lock is held. */
static void call_handler(ki_listener *listener, const ki_change *change) {
    KI_ASSERT(change->obj && !listener->is_closed);
    const ki_handler *handler = &listener->given.handler;
    ki_event event = { .obj = change->obj, .old = change->old, .informer = listener->informer, .type = change->type };
    ki_callback callback;
    ki_callback_enter(&callback, listener->given.owner);
    /* A filter can remove its own handler: no callback may start. */
    if (filter(listener, &event) && !atomic_load(&listener->has_ended)) {
        const bool is_add = event.type == KI_EVENT_ADD, is_update = event.type == KI_EVENT_UPDATE;
        event.old = is_update ? event.old : NULL;
        event.is_in_initial_list = is_add && change->is_in_initial_list;
        event.is_resync = is_update && change->is_resync;
        event.final_state_unknown = !is_add && !is_update && change->final_state_unknown;
        listener->unreported += !event.is_resync;
        void (*call)(const ki_event *, void *) = is_add      ? handler->on_add
                                                 : is_update ? handler->on_update
                                                             : handler->on_delete;
        if (call)
            call(&event, listener->given.user);
    }
    ki_callback_leave(&callback);
}

/* Delivers one object of the replay, or ends the replay. */
static void replay_one(ki_listener *listener, bool on_loop) {
    KI_ASSERT(listener->replay.snapshot);
    const ki_object *obj = ki_snapshot_next(listener->replay.snapshot, &listener->replay.cursor);
    if (!obj) {
        drop_replay(listener, on_loop);
        return;
    }
    ki_object *held = ki_object_ref(obj);
    call_handler(listener, &(ki_change){ .type = KI_EVENT_ADD, .obj = held, .is_in_initial_list = true });
    ki_object_unref(held);
    atomic_fetch_sub(&listener->replay.left, 1);
}

static void call_on_synced(ki_listener *listener) {
    KI_ASSERT(!atomic_load(&listener->synced) && !listener->replay.snapshot);
    if (listener->given.handler.on_synced) {
        ki_callback callback;
        ki_callback_enter(&callback, listener->given.owner);
        listener->given.handler.on_synced(listener->informer, listener->given.user);
        ki_callback_leave(&callback);
    }
    listener->unreported++;
    atomic_store(&listener->synced, true);
    listener->hooks->on_synced(listener->informer);
}

static void call_on_changed(ki_listener *listener) {
    KI_ASSERT(listener->given.handler.on_changed && atomic_load(&listener->synced));
    ki_callback callback;
    listener->unreported = 0;
    ki_callback_enter(&callback, listener->given.owner);
    listener->given.handler.on_changed(listener->informer, listener->given.user);
    ki_callback_leave(&callback);
}

/* `count`: of the processor, as next_step_of read it. */
static void call_on_namespaces_synced(ki_listener *listener, unsigned count) {
    KI_ASSERT(atomic_load(&listener->synced));
    listener->namespaces_reported = count;
    if (listener->given.handler.on_namespaces_synced) {
        ki_callback callback;
        ki_callback_enter(&callback, listener->given.owner);
        listener->given.handler.on_namespaces_synced(listener->informer, listener->given.user);
        ki_callback_leave(&callback);
    }
    listener->unreported++;
}

typedef enum next_step {
    STEP_NOTHING,
    STEP_SYNCED,
    STEP_NAMESPACES,
    STEP_CHANGE,
    STEP_CHANGED,
    STEP_END
} next_step;

/* A mark is set at the end of the log: what is published is read before the marks, so that no change behind a mark is
 * seen without it. `*ret_namespaces`: the `namespaces_count` that STEP_NAMESPACES reports. */
static next_step next_step_of(const ki_listener *listener, unsigned *ret_namespaces) {
    const ki_processor *processor = listener->processor;
    if (atomic_load(&listener->has_ended))
        return STEP_END;
    if (listener->replay.snapshot)
        return STEP_CHANGE;
    bool has_change = ki_change_log_has_next(&processor->log, &listener->reader);
    uint64_t position = atomic_load(&listener->reader.position);
    *ret_namespaces = atomic_load(&processor->namespaces_count); /* before `namespaces_at`, which is set first */
    if (!atomic_load(&listener->synced)) {
        if (position >= atomic_load(&processor->synced_at))
            return STEP_SYNCED;
    } else if (*ret_namespaces != listener->namespaces_reported && position >= atomic_load(&processor->namespaces_at)) {
        return STEP_NAMESPACES;
    } else if (listener->given.handler.on_changed && listener->unreported &&
               (!has_change || listener->unreported >= CHANGES_OF_REPORT)) {
        return STEP_CHANGED;
    }
    return has_change ? STEP_CHANGE : STEP_NOTHING;
}

/* Delivers the next change of the log, or passes over changes that are not for this listener. */
static void deliver_change(ki_listener *listener, bool on_loop) {
    ki_change change;
    size_t skipped;
    if (ki_change_log_take(&listener->processor->log, &listener->reader, &change, &skipped)) {
        call_handler(listener, &change);
        ki_change_release(&change);
    } else if (on_loop) {
        (void)ki_engine_work(listener->engine, (int)skipped);
    }
}

/* Takes the next step. Returns STEP_NOTHING if there is none. */
static next_step deliver(ki_listener *listener, bool on_loop) {
    unsigned namespaces_count = 0;
    next_step step = next_step_of(listener, &namespaces_count);
    if (step == STEP_SYNCED)
        call_on_synced(listener);
    else if (step == STEP_NAMESPACES)
        call_on_namespaces_synced(listener, namespaces_count);
    else if (step == STEP_CHANGED)
        call_on_changed(listener);
    else if (step == STEP_CHANGE && listener->replay.snapshot)
        replay_one(listener, on_loop);
    else if (step == STEP_CHANGE)
        deliver_change(listener, on_loop);
    return step;
}

static bool has_step(const ki_listener *listener) {
    unsigned unused;
    return next_step_of(listener, &unused) != STEP_NOTHING;
}

/* Waits until there is a step. The thread that makes a step possible publishes that before it reads `sleeps`. */
static void wait_for_step(ki_listener *listener) {
    KI_ASSERT(!ki_engine_on_loop(listener->engine));
    atomic_store(&listener->sleeps, true);
    if (!has_step(listener) || !atomic_exchange(&listener->sleeps, false))
        ki_semaphore_wait(&listener->wake_up);
}

/* Calls on_removed for a removed listener. For a stopped one ki_listener_free does. */
static void close_listener(ki_listener *listener, bool on_loop) {
    drop_replay(listener, on_loop);
    ki_mutex_lock(&listener->mutex);
    bool stopped = listener->is_stopped;
    ki_mutex_unlock(&listener->mutex);
    if (!stopped && !listener->is_closed)
        call_on_removed(listener);
}

static void thread_main(void *user) {
    ki_listener *listener = user;
    ki_engine_adopt_thread(listener->engine);
    for (next_step step; (step = deliver(listener, false)) != STEP_END;)
        if (step == STEP_NOTHING)
            wait_for_step(listener);
    close_listener(listener, false);
    ki_mutex_lock(&listener->mutex);
    if (!listener->is_stopped)
        ki_task_post(&listener->task); /* the loop joins the thread */
    ki_mutex_unlock(&listener->mutex);
}

/* Ends a removed listener on the loop. Cancels the task, which another thread may have posted, since on_end frees the
 * listener. */
static void end_on_loop(ki_listener *listener) {
    KI_ON_LOOP(listener->engine);
    KI_ASSERT(atomic_load(&listener->has_ended));
    close_listener(listener, true);
    ki_task_cancel(&listener->task);
    ki_thread_join(&listener->thread.thread);
    listener->hooks->on_end(listener, listener->informer);
}

/* The task on the loop: delivers for a listener without a thread; ends any removed listener. */
static void run_turn(ki_task *task, void *user) {
    ki_listener *listener = user;
    KI_ON_LOOP(listener->engine);
    KI_ASSERT(task == &listener->task);
    if (listener->thread.is_own) {
        end_on_loop(listener);
        return;
    }
    next_step step = deliver(listener, true);
    if (step == STEP_END)
        end_on_loop(listener);
    if (step == STEP_END || step == STEP_NOTHING)
        return;
    /* One callback in each run: timers and other tasks run in between, however slow the handler is. */
    if (has_step(listener))
        ki_task_post(task);
    listener->hooks->on_delivered(listener->informer);
}

/* Any thread; the listener must not be freed meanwhile. */
static void wake_thread(ki_listener *listener) {
    if (atomic_load(&listener->sleeps) && atomic_exchange(&listener->sleeps, false))
        ki_semaphore_post(&listener->wake_up);
}

/* --- starting and pushing ----------------------------------------------------------------------------------------- */

size_t ki_listener_pending(const ki_listener *listener) {
    if (!listener->processor || atomic_load(&listener->has_ended))
        return 0;
    return ki_change_log_pending(&listener->processor->log, &listener->reader) + atomic_load(&listener->replay.left);
}

void ki_listener_set_replay(ki_listener *listener, ki_snapshot *replay) {
    KI_ASSERT(!listener->replay.snapshot && !listener->thread.is_started);
    listener->replay.snapshot = replay;
    listener->replay.cursor = (ki_cursor)KI_CURSOR_INIT;
    atomic_store(&listener->replay.left, ki_snapshot_count(replay));
}

ki_status ki_listener_start(ki_listener *listener, bool threaded, ki_error *err) {
    if (listener->thread.is_started)
        return KI_OK;
    ki_status status = KI_OK;
    if (threaded && !listener->given.on_loop)
        status = ki_thread_start(&listener->thread.thread, listener->given.name, thread_main, listener, err);
    if (status)
        return status;
    listener->thread.is_own = threaded && !listener->given.on_loop;
    listener->thread.is_started = true;
    if (!listener->thread.is_own)
        ki_task_post(&listener->task);
    return KI_OK;
}

void ki_listener_wake(ki_listener *listener) {
    if (listener->thread.is_own)
        wake_thread(listener);
    else if (listener->thread.is_started)
        ki_task_post(&listener->task);
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

/* Under the mutex: the thread may end, and the listener be freed, once it is not held. */
static void end(ki_listener *listener) {
    KI_HELD(&listener->mutex);
    leave_log(listener);
    atomic_store(&listener->has_ended, true);
    wake_thread(listener);
}

void ki_listener_remove(ki_listener *listener) {
    ki_mutex_lock(&listener->mutex);
    end(listener);
    if (!listener->thread.is_own && !listener->is_stopped)
        ki_task_post(&listener->task); /* also for a listener that never started */
    ki_mutex_unlock(&listener->mutex);
}

void ki_listener_stop(ki_listener *listener) {
    ki_mutex_lock(&listener->mutex);
    listener->is_stopped = true;
    end(listener);
    ki_mutex_unlock(&listener->mutex);
    ki_task_cancel(&listener->task); /* a stopped listener's task is not posted again */
}

void ki_listener_join(ki_listener *listener) {
    ki_thread_join(&listener->thread.thread);
}
