/* engine.c: creates, drives and ends an engine; calls from other threads. The three kinds of work are in task.c,
 * timer.c and io.c. They run in turn, one unit each, so that none starves another. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/options.h"

#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define LOOK_FOR_DESCRIPTORS \
    KI_SECONDS(5) /* how often a loop that waits checks whether its descriptors are still open */
#define LOOK_FOR_STOP KI_MILLISECONDS(100) /* how often a waiting thread checks whether a stepped engine was stopped */

static _Thread_local const ki_engine *adopted_by;

void ki_engine_adopt_thread(const ki_engine *engine) {
    adopted_by = engine;
}

static int64_t realtime(void *user) {
    (void)user;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return KI_SECONDS(now.tv_sec) + now.tv_nsec;
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static ki_status check_options(const ki_engine_options *options, ki_error *err) {
    if (options->allocator && (!options->allocator->alloc || !options->allocator->realloc || !options->allocator->free))
        return ki_error_set(err, KI_ERR_INVALID, "the allocator lacks a function");
    if (options->clock && !options->clock->now)
        return ki_error_set(err, KI_ERR_INVALID, "the clock has no function");
    return KI_OK;
}

static ki_status open_descriptors(ki_engine *engine, ki_error *err) {
    engine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (engine->epoll_fd < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot create an epoll descriptor");
    engine->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (engine->wake_fd < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot create an event descriptor");
    engine->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (engine->timer_fd < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot create a timer descriptor");
    return ki_engine_watch_own(engine, EPOLL_CTL_ADD, err);
}

static ki_status open_mutexes(ki_engine *engine, ki_error *err) {
    ki_mutex *const mutexes[] = { &engine->mutex, &engine->task_mutex, &engine->post_mutex };
    size_t count = 0;
    ki_status status = KI_OK;
    while (!status && count < sizeof mutexes / sizeof *mutexes) {
        status = ki_mutex_init(mutexes[count], err);
        count += status == KI_OK;
    }
    if (!status)
        status = ki_cond_init(&engine->changed, err);
    while (status && count > 0)
        ki_mutex_destroy(mutexes[--count]);
    return status;
}

static void close_descriptors(ki_engine *engine) {
    if (engine->timer_fd >= 0)
        close(engine->timer_fd);
    if (engine->wake_fd >= 0)
        close(engine->wake_fd);
    if (engine->epoll_fd >= 0)
        close(engine->epoll_fd);
}

ki_status ki_engine_new(const ki_engine_options *options, ki_engine **ret_engine, ki_error *err) {
    ki_engine_options given;
    if (!ret_engine)
        return ki_error_set(err, KI_ERR_INVALID, "ki_engine_new: ret_engine is NULL");
    if (KI_OPTIONS_TAKE(options, &given, "KI_ENGINE_OPTIONS", err))
        return KI_ERR_INVALID;
    ki_status status = check_options(&given, err);
    if (status)
        return status;

    ki_allocator allocator = given.allocator ? *given.allocator : ki_allocator_default;
    ki_engine *engine = ki_alloc_zero(&allocator, sizeof *engine);
    if (!engine)
        return ki_error_no_memory(err, "making an engine");
    engine->allocator = allocator;
    ki_buffer_init(&engine->scratch, &engine->allocator, 0);
    if (given.log)
        engine->log = *given.log;
    if (given.clock)
        engine->clock = *given.clock;
    if (!engine->clock.wall_now)
        engine->clock.wall_now = realtime;
    engine->armed = INT64_MAX;
    engine->epoll_fd = engine->wake_fd = engine->timer_fd = -1;
    engine->failure = (ki_error)KI_ERROR_INIT;
    status = ki_engine_note_process(engine, err);
    if (!status)
        status = open_descriptors(engine, err);
    if (!status)
        status = open_mutexes(engine, err);
    if (status) {
        close_descriptors(engine);
        ki_free(&allocator, engine);
        return status;
    }
    ki_engine_seed(engine, given.seed);
    ki_map_init(&engine->posts, &engine->allocator, engine->random[0]);
    *ret_engine = engine;
    return KI_OK;
}

void ki_engine_free(ki_engine *engine) {
    if (!engine || ki_engine_is_forked(engine))
        return;
    ki_engine_stop(engine);
    if (ki_engine_join(engine, NULL))
        return; /* called on its own thread, which still uses the engine */
    ki_engine_free_posts(engine);
    ki_cond_destroy(&engine->changed);
    ki_mutex_destroy(&engine->post_mutex);
    ki_mutex_destroy(&engine->task_mutex);
    ki_mutex_destroy(&engine->mutex);
    close_descriptors(engine);
    ki_buffer_free(&engine->scratch);
    ki_allocator allocator = engine->allocator;
    ki_free(&allocator, engine);
}

/* --- state -------------------------------------------------------------------------------------------------------- */

const ki_allocator *ki_engine_allocator(const ki_engine *engine) {
    return &engine->allocator;
}

ki_buffer *ki_engine_scratch(ki_engine *engine) {
    KI_ON_LOOP(engine);
    return &engine->scratch;
}

const ki_log *ki_engine_log(const ki_engine *engine) {
    return &engine->log;
}

int64_t ki_engine_clock(const ki_engine *engine) {
    return engine->clock.now ? engine->clock.now(engine->clock.user) : ki_monotonic_now();
}

int64_t ki_engine_wall_now(const ki_engine *engine) {
    return engine->clock.wall_now(engine->clock.user);
}

bool ki_engine_on_loop(const ki_engine *engine) {
    return atomic_load(&engine->loop) == pthread_self();
}

#ifdef KI_ASSERTIONS
bool ki_engine_is_callers(const ki_engine *engine) {
    return ki_engine_on_loop(engine) || (ki_engine_is_idle(engine) && atomic_load(&engine->inline_caller) == 0);
}
#endif

bool ki_engine_in_callback(const ki_engine *engine) {
    return atomic_load(&engine->dispatcher) == pthread_self() || atomic_load(&engine->inline_caller) == pthread_self();
}

bool ki_engine_is_threaded(const ki_engine *engine) {
    int drive = atomic_load(&engine->drive);
    if (drive == KI_DRIVE_NONE)
        return atomic_load(&engine->waiter_drives); /* ki_engine_await drives the engine only before run or start */
    return drive == KI_DRIVE_RUN || drive == KI_DRIVE_START;
}

bool ki_engine_is_idle(const ki_engine *engine) {
    int drive = atomic_load(&engine->drive);
    if (drive == KI_DRIVE_NONE || atomic_load(&engine->ended))
        return true;
    return drive == KI_DRIVE_STEP && atomic_load(&engine->stopping) && !atomic_load(&engine->in_step);
}

bool ki_engine_is_stopping(const ki_engine *engine) {
    return atomic_load(&engine->stopping);
}

bool ki_engine_has_ended(const ki_engine *engine) {
    return ki_engine_is_stopping(engine) && ki_engine_is_idle(engine);
}

ki_status ki_engine_failure(ki_engine *engine, ki_error *err) {
    ki_mutex_lock(&engine->mutex);
    ki_status status = engine->failure.code;
    if (status)
        *err = engine->failure;
    ki_mutex_unlock(&engine->mutex);
    return status;
}

/* ki_engine_stop may run in a signal handler, which cannot signal a condition. Nobody else signals it if the host no
 * longer steps. So this wait ends at intervals. */
bool ki_engine_wait(const ki_engine *engine, ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns) {
    if (ki_engine_is_threaded(engine))
        return ki_cond_wait_until(cond, mutex, deadline_ns);
    int64_t look = ki_monotonic_now() + LOOK_FOR_STOP;
    if (deadline_ns <= look)
        return ki_cond_wait_until(cond, mutex, deadline_ns);
    (void)ki_cond_wait_until(cond, mutex, look);
    return true;
}

int64_t ki_engine_now(const ki_engine *engine) {
    return atomic_load(&engine->dispatcher) == pthread_self() ? engine->now : ki_engine_clock(engine);
}

bool ki_engine_work(ki_engine *engine, int units) {
    KI_ON_LOOP(engine);
    KI_ASSERT(units >= 0);
    engine->work_left -= units;
    return engine->work_left > 0;
}

int ki_engine_work_left(const ki_engine *engine) {
    KI_ON_LOOP(engine);
    return engine->work_left;
}

int ki_engine_fd(const ki_engine *engine) {
    return engine->epoll_fd;
}

static void write_wake(ki_engine *engine) {
    uint64_t one = 1;
    int saved = errno; /* signal handlers call this */
    ssize_t size;
    while ((size = write(engine->wake_fd, &one, sizeof one)) < 0 && errno == EINTR) {}
    if (size < 0 && errno != EAGAIN) /* EAGAIN: the loop is woken already */
        atomic_store(&engine->wake_errno, errno);
    errno = saved;
}

void ki_engine_wake(ki_engine *engine) {
    if (atomic_load(&engine->dispatcher) == pthread_self())
        return;
    if (!atomic_exchange(&engine->woken, true))
        write_wake(engine);
}

void ki_engine_stop(ki_engine *engine) {
    if (!engine || ki_engine_is_forked(engine))
        return;
    atomic_store(&engine->stopping, true);
    write_wake(engine);
}

int ki_engine_timeout(ki_engine *engine) {
    if (ki_engine_is_forked(engine))
        return -1;
    if (atomic_load(&engine->stopping))
        return atomic_load(&engine->ended) ? -1 : 0;
    if (engine->ready_next < engine->ready_count || engine->own_tasks || atomic_load(&engine->posted_count) > 0)
        return 0;
    const ki_heap_node *first = engine->timers.first;
    if (!first)
        return -1;
    int64_t now = ki_engine_clock(engine);
    if (first->rank <= now)
        return 0;
    int64_t left = first->rank - now;
    int64_t milliseconds = left / KI_MILLISECONDS(1) + (left % KI_MILLISECONDS(1) != 0);
    return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

static const char *const drive_names[] = { "", "ki_engine_step", "ki_engine_run", "ki_engine_start" };

/* Waits until the inline caller has ended; one that only drives the engine for itself ends at once. */
static void wait_for_inline_caller(ki_engine *engine) {
    KI_HELD(&engine->mutex);
    KI_ASSERT(engine->others >= 0);
    engine->others++;
    if (atomic_load(&engine->waiter_drives))
        write_wake(engine);
    ki_cond_wait(&engine->changed, &engine->mutex);
    if (--engine->others == 0)
        ki_cond_broadcast(&engine->changed);
}

/* Sets how the engine is driven. */
static ki_status claim(ki_engine *engine, ki_drive drive, ki_error *err) {
    KI_HELD(&engine->mutex);
    KI_ASSERT(drive != KI_DRIVE_NONE);
    while (atomic_load(&engine->inline_caller))
        wait_for_inline_caller(engine);
    ki_drive before = (ki_drive)atomic_load(&engine->drive);
    if (before != KI_DRIVE_NONE && (before != drive || drive != KI_DRIVE_STEP))
        return ki_error_set(err, KI_ERR_STATE, "%s: the engine is driven by %s already", drive_names[drive],
                            drive_names[before]);
    ki_status status = before == KI_DRIVE_NONE ? ki_engine_use(engine, err) : KI_OK;
    if (!status)
        atomic_store(&engine->drive, (int)drive);
    return status;
}

void ki_end_hook_set(ki_end_hook *hook, ki_engine *engine, void (*ended)(void *user), void *user) {
    KI_ON_LOOP(engine);
    *hook = (ki_end_hook){ .next = engine->end_hooks, .engine = engine, .ended = ended, .user = user };
    engine->end_hooks = hook;
}

void ki_end_hook_remove(ki_end_hook *hook) {
    if (!hook->engine)
        return;
    KI_ON_LOOP(hook->engine);
    ki_end_hook **place = &hook->engine->end_hooks;
    while (*place && *place != hook)
        place = &(*place)->next;
    if (*place)
        *place = hook->next;
    hook->engine = NULL;
}

static void call_end_hooks(ki_engine *engine) {
    KI_ON_LOOP(engine);
    engine->now = ki_engine_clock(engine);
    atomic_store(&engine->dispatcher, pthread_self());
    while (engine->end_hooks) {
        ki_end_hook *hook = engine->end_hooks;
        ki_end_hook_remove(hook);
        hook->ended(hook->user);
    }
    atomic_store(&engine->dispatcher, 0);
}

/* Marks the loop as ended and wakes all waiting threads. */
static void finish(ki_engine *engine) {
    KI_ASSERT(!atomic_load(&engine->ended));
    atomic_store(&engine->stopping, true); /* also after a failure */
    call_end_hooks(engine);
    ki_mutex_lock(&engine->mutex);
    atomic_store(&engine->ended, true);
    atomic_store(&engine->in_step, false);
    atomic_store(&engine->loop, 0);
    ki_cond_broadcast(&engine->changed);
    ki_mutex_unlock(&engine->mutex);
}

static bool (*const kinds[])(ki_engine *engine) = { ki_engine_run_task, ki_engine_fire_timer, ki_engine_dispatch_io };
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

/* glibc's malloc keeps freed blocks aside, and one later call merges and sorts all of them: milliseconds after a large
 * list was released. A block that is too large for its caches makes it do so now, for the blocks of the last units of
 * work. The sizes differ, because an exact fit would end the sorting. */
static void settle_memory(ki_engine *engine, int units) {
    KI_ASSERT(units >= 0 && engine->unsettled >= 0);
    enum {
        UNITS = 256,
        SIZE_MIN = 2048,
        SIZE_STEP = 16,
        SIZES = 128
    };
    engine->unsettled += units;
    if (engine->unsettled < UNITS)
        return;
    engine->unsettled = 0;
    engine->settled = (engine->settled + 1) % SIZES;
    ki_free(&engine->allocator, ki_alloc(&engine->allocator, SIZE_MIN + SIZE_STEP * (size_t)engine->settled));
}

/* Polls once, then runs work until nothing is due or the bound is reached. The next kind of work is kept between steps:
 * otherwise the first kind would fill every step of one unit. A child that was forked in a callback does none of the
 * parent's work. */
static ki_status run_once(ki_engine *engine, int max_work, int timeout_ms, ki_error *err) {
    ki_status status = ki_engine_poll(engine, timeout_ms, err);
    if (status)
        return status;
    KI_ASSERT(ki_engine_on_loop(engine) && !atomic_load(&engine->dispatcher) && max_work > 0);
    engine->work_left = max_work;
    atomic_store(&engine->dispatcher, pthread_self());
    unsigned idle = 0;
    bool is_forked = false;
    while (idle < KINDS && engine->work_left > 0 && !atomic_load(&engine->stopping) && !is_forked) {
        bool (*run_unit)(ki_engine * engine) = kinds[engine->next_kind];
        engine->next_kind = (engine->next_kind + 1) % KINDS;
        if (idle == 0) /* else nothing has run since */
            engine->now = ki_engine_clock(engine);
        bool has_run = run_unit(engine);
        engine->work_left -= has_run;
        idle = has_run ? 0 : idle + 1;
        is_forked = has_run && ki_engine_is_forked(engine);
    }
    settle_memory(engine, max_work - engine->work_left);
    atomic_store(&engine->dispatcher, 0);
    return KI_OK;
}

ki_status ki_engine_step(ki_engine *engine, int max_work, ki_error *err) {
    if (!engine)
        return ki_error_missing(err, "ki_engine_step");
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (ki_engine_in_callback(engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "ki_engine_step from inside a callback of the engine");
    ki_mutex_lock(&engine->mutex);
    ki_status status = claim(engine, KI_DRIVE_STEP, err);
    if (!status && atomic_load(&engine->in_step))
        status = ki_error_set(err, KI_ERR_STATE, "ki_engine_step on two threads at once");
    if (status || atomic_load(&engine->ended)) {
        ki_mutex_unlock(&engine->mutex);
        return status;
    }
    atomic_store(&engine->in_step, true);
    atomic_store(&engine->loop, pthread_self());
    ki_mutex_unlock(&engine->mutex);

    status = run_once(engine, max_work > 0 ? max_work : KI_ENGINE_DEFAULT_WORK, 0, err);
    if (ki_engine_is_forked(engine)) /* in a callback */
        return ki_engine_check_process(engine, err);
    if (!atomic_load(&engine->stopping)) {
        if (!status)
            status = ki_engine_arm(engine, err);
        atomic_store(&engine->in_step, false);
        return status;
    }
    if (!status)
        status = ki_engine_poll(engine, 0, err); /* consumes the wake-up, which would stay readable */
    ki_engine_disarm(engine);
    finish(engine);
    return status;
}

/* Returns how long the loop may wait: it looks from time to time whether its descriptors are still open, since nothing
 * wakes it if they are not. */
static int bounded_timeout(ki_engine *engine) {
    int until_due = ki_engine_timeout(engine), most = (int)(LOOK_FOR_DESCRIPTORS / KI_MILLISECONDS(1));
    return until_due < 0 || until_due > most ? most : until_due;
}

static ki_status loop(ki_engine *engine, ki_error *err) {
    ki_error failure = KI_ERROR_INIT;
    ki_status status = KI_OK;
    atomic_store(&engine->loop, pthread_self());
    while (!status && !atomic_load(&engine->stopping) && !ki_engine_is_forked(engine))
        status = run_once(engine, KI_ENGINE_DEFAULT_WORK, bounded_timeout(engine), &failure);
    if (ki_engine_is_forked(engine))
        return ki_engine_check_process(engine, err);
    if (status) {
        ki_mutex_lock(&engine->mutex);
        engine->failure = failure;
        ki_mutex_unlock(&engine->mutex);
        if (err)
            *err = failure;
    }
    finish(engine);
    return status;
}

static ki_status claim_run(ki_engine *engine, ki_error *err) {
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (ki_engine_in_callback(engine))
        return ki_error_set(err, KI_ERR_STATE, "ki_engine_run from inside a callback of the engine");
    ki_mutex_lock(&engine->mutex);
    ki_status status = claim(engine, KI_DRIVE_RUN, err);
    ki_mutex_unlock(&engine->mutex);
    return status;
}

ki_status ki_engine_run_until_signal(ki_engine *engine, void (*stop)(void *user), void *user, ki_error *err) {
    ki_signals signals = { .stop = stop, .user = user };
    ki_status status = claim_run(engine, err);
    if (status)
        return status;
    atomic_store(&engine->loop, pthread_self());
    status = ki_signals_begin(&signals, engine, err);
    if (status) {
        finish(engine);
        return status;
    }
    status = loop(engine, err);
    ki_signals_end(&signals);
    return status;
}

ki_status ki_engine_run(ki_engine *engine, unsigned flags, ki_error *err) {
    if (!engine)
        return ki_error_missing(err, "ki_engine_run");
    if (flags & ~(unsigned)KI_RUN_UNTIL_SIGNAL)
        return ki_error_set(err, KI_ERR_INVALID, "ki_engine_run: unknown flags 0x%x", flags);
    if (flags & KI_RUN_UNTIL_SIGNAL)
        return ki_engine_run_until_signal(engine, NULL, NULL, err);
    ki_status status = claim_run(engine, err);
    return status ? status : loop(engine, err);
}

static void thread_main(void *user) {
    ki_engine *engine = user;
    ki_error err = KI_ERROR_INIT;
    if (loop(engine, &err) && !ki_engine_is_forked(engine))
        ki_log_write(&engine->log, KI_LOG_ERROR, "engine", "the loop ended: %s", ki_error_message(&err));
}

ki_status ki_engine_start(ki_engine *engine, ki_error *err) {
    if (!engine)
        return ki_error_missing(err, "ki_engine_start");
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (ki_engine_in_callback(engine))
        return ki_error_set(err, KI_ERR_STATE, "ki_engine_start from inside a callback of the engine");
    ki_mutex_lock(&engine->mutex);
    ki_status status = claim(engine, KI_DRIVE_START, err);
    if (!status) {
        status = ki_thread_start(&engine->thread, "kinformer", thread_main, engine, err);
        if (status)
            atomic_store(&engine->drive, KI_DRIVE_NONE);
    }
    ki_mutex_unlock(&engine->mutex);
    return status;
}

ki_status ki_engine_join(ki_engine *engine, ki_error *err) {
    if (!engine)
        return ki_error_missing(err, "ki_engine_join");
    if (ki_engine_check_process(engine, err))
        return KI_ERR_STATE;
    if (atomic_load(&engine->drive) != KI_DRIVE_START)
        return KI_OK;
    if (ki_engine_on_loop(engine) || adopted_by == engine)
        return ki_error_set(err, KI_ERR_DEADLOCK, "ki_engine_join on the thread that it would wait for");
    ki_mutex_lock(&engine->mutex);
    while (!atomic_load(&engine->ended))
        ki_cond_wait(&engine->changed, &engine->mutex);
    ki_thread_join(&engine->thread); /* the thread no longer uses the mutex */
    ki_mutex_unlock(&engine->mutex);
    return KI_OK;
}

/* --- calls from other threads ------------------------------------------------------------------------------------- */

/* A call from another thread; on its caller's stack until it is done. */
typedef struct waiting_call {
    ki_task task;
    ki_engine *engine;
    void (*call)(void *user);
    void *user;
    bool done; /* guarded by the engine's mutex */
} waiting_call;

static void run_waiting_call(ki_task *task, void *user) {
    (void)task;
    waiting_call *waiting = user;
    ki_engine *engine = waiting->engine;
    KI_ON_LOOP(engine);
    KI_ASSERT(!waiting->done);
    waiting->call(waiting->user);
    ki_mutex_lock(&engine->mutex);
    waiting->done = true;
    ki_cond_broadcast(&engine->changed);
    ki_mutex_unlock(&engine->mutex);
}

/* Runs `call` on this thread while the engine is idle. Caller holds the mutex, which is released during the call. */
static void call_inline(ki_engine *engine, void (*call)(void *user), void *user) {
    KI_HELD(&engine->mutex);
    KI_ASSERT(ki_engine_is_idle(engine) && !atomic_load(&engine->inline_caller));
    atomic_store(&engine->inline_caller, pthread_self());
    atomic_store(&engine->loop, pthread_self());
    ki_mutex_unlock(&engine->mutex);
    engine->work_left = KI_ENGINE_DEFAULT_WORK;
    call(user);
    ki_mutex_lock(&engine->mutex);
    atomic_store(&engine->loop, 0);
    atomic_store(&engine->inline_caller, 0);
    ki_cond_broadcast(&engine->changed);
}

void ki_engine_call(ki_engine *engine, void (*call)(void *user), void *user) {
    if (ki_engine_on_loop(engine)) {
        call(user);
        return;
    }
    waiting_call waiting = { .engine = engine, .call = call, .user = user };
    ki_task_init(&waiting.task, engine, run_waiting_call, &waiting);
    bool posted = false;
    ki_mutex_lock(&engine->mutex);
    while (!waiting.done) {
        if (ki_engine_is_idle(engine) && !atomic_load(&engine->inline_caller)) {
            ki_task_cancel(&waiting.task);
            call_inline(engine, call, user);
            break;
        }
        if (!ki_engine_is_idle(engine) && !posted) {
            ki_task_post(&waiting.task);
            posted = true;
        }
        if (atomic_load(&engine->inline_caller))
            wait_for_inline_caller(engine);
        else
            (void)ki_engine_wait(engine, &engine->changed, &engine->mutex, INT64_MAX);
    }
    ki_mutex_unlock(&engine->mutex);
}

/* --- waiting for something on the loop ---------------------------------------------------------------------------- */

void ki_engine_notify(ki_engine *engine, bool *done) {
    ki_mutex_lock(&engine->mutex);
    *done = true;
    ki_cond_broadcast(&engine->changed);
    ki_mutex_unlock(&engine->mutex);
}

/* Returns the milliseconds until `deadline`, rounded up; -1: no deadline. */
static int milliseconds_left(int64_t deadline) {
    if (deadline == INT64_MAX)
        return -1;
    int64_t left = deadline - ki_monotonic_now();
    if (left <= 0)
        return 0;
    left = left / KI_MILLISECONDS(1) + 1;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* Drives the loop on this thread until `*done`, the deadline, or another thread's call. */
static ki_status drive_for(ki_engine *engine, const bool *done, int64_t deadline, ki_error *err) {
    KI_HELD(&engine->mutex);
    KI_ASSERT(atomic_load(&engine->drive) == KI_DRIVE_NONE && !atomic_load(&engine->inline_caller));
    ki_status status = ki_engine_use(engine, err);
    atomic_store(&engine->inline_caller, pthread_self());
    atomic_store(&engine->loop, pthread_self());
    atomic_store(&engine->waiter_drives, true);
    while (!status && !*done && !engine->others && !atomic_load(&engine->stopping)) {
        ki_mutex_unlock(&engine->mutex);
        int until_due = bounded_timeout(engine), left = milliseconds_left(deadline);
        int timeout = left >= 0 && left < until_due ? left : until_due;
        status = run_once(engine, KI_ENGINE_DEFAULT_WORK, timeout, err);
        if (!status) /* a callback may have forked */
            status = ki_engine_check_process(engine, err);
        ki_mutex_lock(&engine->mutex);
        if (left == 0)
            break;
    }
    if (!status)
        write_wake(engine); /* a host's first step: its descriptor is not set to the timers yet */
    atomic_store(&engine->waiter_drives, false);
    atomic_store(&engine->loop, 0);
    atomic_store(&engine->inline_caller, 0);
    ki_cond_broadcast(&engine->changed);
    return status;
}

ki_status ki_engine_await(ki_engine *engine, const bool *done, int64_t timeout_ns, bool may_drive, ki_error *err) {
    int64_t deadline = timeout_ns < 0 ? INT64_MAX : ki_time_after(ki_monotonic_now(), timeout_ns);
    ki_status status = ki_engine_check_process(engine, err);
    if (status)
        return status;
    if (ki_engine_on_loop(engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting on the loop's own thread");
    ki_mutex_lock(&engine->mutex);
    while (!status && !*done) {
        bool undriven = atomic_load(&engine->drive) == KI_DRIVE_NONE;
        if (ki_engine_has_ended(engine))
            status = ki_error_set(err, KI_ERR_CANCELLED, "the engine has ended");
        else if (undriven && !may_drive && !atomic_load(&engine->inline_caller))
            status = ki_error_set(err, KI_ERR_STATE, "the engine is not driven yet: step, run or start it first");
        else if (milliseconds_left(deadline) == 0)
            status = ki_error_set(err, KI_ERR_TIMEOUT, "timed out");
        else if (undriven && may_drive && !engine->others && !atomic_load(&engine->inline_caller))
            status = drive_for(engine, done, deadline, err);
        else
            (void)ki_engine_wait(engine, &engine->changed, &engine->mutex, deadline);
    }
    ki_mutex_unlock(&engine->mutex);
    return status;
}
