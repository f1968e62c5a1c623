/* engine.h: the engine for other modules: time, timers, tasks, descriptors, threads. "Loop" is the thread that runs,
 * was started or steps. */
#ifndef KI_ENGINE_ENGINE_H
#define KI_ENGINE_ENGINE_H

#include <kinformer/engine.h>

#include "src/base/buffer.h"
#include "src/base/heap.h"
#include "src/base/internal_api.h"
#include "src/engine/thread.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Borrowed from the engine. Any thread. */
KI_INTERNAL_API const ki_allocator *ki_engine_allocator(const ki_engine *engine);
KI_INTERNAL_API const ki_log *ki_engine_log(const ki_engine *engine);

/* Reads the clock of ki_engine_now also on the loop, where ki_engine_now costs nothing: for code that must not use a
 * time from before a pause. Any thread. */
KI_INTERNAL_API int64_t ki_engine_clock(const ki_engine *engine);
#define KI_MILLISECONDS(n) ((int64_t)(n)*1000000)

/* Returns the time `delay` nanoseconds (0 or more) after `now`, which may be negative; INT64_MAX if that is too
 * late. */
static inline int64_t ki_time_after(int64_t now, int64_t delay) {
    return now > 0 && delay > INT64_MAX - now ? INT64_MAX : now + delay;
}
/* The same with a timeout in milliseconds; below 0: INT64_MAX, no timeout. */
static inline int64_t ki_time_after_ms(int64_t now, int64_t timeout_ms) {
    if (timeout_ms < 0 || timeout_ms > INT64_MAX / KI_MILLISECONDS(1))
        return INT64_MAX;
    return ki_time_after(now, KI_MILLISECONDS(timeout_ms));
}
#define KI_SECONDS(n) ((int64_t)(n)*1000000000)

/* Returns a random number in [0, 1) from the engine's seed. */
KI_INTERNAL_API double ki_engine_random(ki_engine *engine);

/* Returns an empty buffer for what a function on the loop needs until it returns: memory that need not be allocated
 * each time. The function calls nothing that uses the buffer too, and empties it. */
ki_buffer *ki_engine_scratch(ki_engine *engine);

/* Timers: embedded, one-shot. Loop only. They need no memory and cannot fail.
 * Timers fire in order of deadline, equal ones in order of setting. */
typedef struct ki_timer {
    ki_heap_node node; /* private, as all below; its rank is the deadline */
    ki_engine *engine;
    void (*fire)(struct ki_timer *timer, void *user);
    void *user;
} ki_timer;
KI_INTERNAL_API void ki_timer_init(ki_timer *timer, ki_engine *engine, void (*fire)(ki_timer *timer, void *user),
                                   void *user);
KI_INTERNAL_API void ki_timer_set(ki_timer *timer, int64_t deadline_ns); /* absolute; setting again moves it */
KI_INTERNAL_API void ki_timer_cancel(ki_timer *timer);
KI_INTERNAL_API bool ki_timer_is_set(const ki_timer *timer);
KI_INTERNAL_API void ki_timer_close(ki_timer *timer); /* cancels; allowed on a zeroed or closed timer */

/* Tasks: embedded; each posting runs the task once on the loop. Those that the loop posts run in order of posting, and
 * so do those of other threads; the loop takes turns between the two. Posting a queued task does nothing. Any thread
 * may post; posting does not allocate and wakes the loop. A task counts as one unit of work unless it reports more. */
typedef struct ki_task {
    struct ki_task *next, *previous; /* private, as all below */
    ki_engine *engine;
    _Atomic bool queued;
    bool is_own; /* posted in a callback of the loop */
    void (*run)(struct ki_task *task, void *user);
    void *user;
} ki_task;
KI_INTERNAL_API void ki_task_init(ki_task *task, ki_engine *engine, void (*run)(ki_task *task, void *user), void *user);
KI_INTERNAL_API void ki_task_post(ki_task *task);
/* Removes the task from the queue, if queued. Loop only. */
KI_INTERNAL_API void ki_task_cancel(ki_task *task);

/* Counts `units` of work against the step's bound. Returns true if the step has units left. A long callback calls it
 * between units, and posts its task again when it must stop. Loop only, inside a callback. */
KI_INTERNAL_API bool ki_engine_work(ki_engine *engine, int units);
/* Returns the units left in the step; less than 1: none. Loop only, inside a callback. */
int ki_engine_work_left(const ki_engine *engine);

/* Descriptors. Loop only. `ready` gets EPOLLIN, EPOLLOUT, … The struct is embedded and must be removed before it is
 * freed; the descriptor may be closed before. A callback may remove any descriptor, also its own. */
typedef struct ki_io {
    ki_engine *engine; /* private, as all below */
    int fd;
    int watched; /* the copy of `fd` that is in epoll */
    uint32_t events;
    bool added;
    void (*ready)(struct ki_io *io, uint32_t events, void *user);
    void *user;
} ki_io;
ki_status ki_io_add(ki_io *io, ki_engine *engine, int fd, uint32_t events,
                    void (*ready)(ki_io *io, uint32_t events, void *user), void *user, ki_error *err);
ki_status ki_io_modify(ki_io *io, uint32_t events, ki_error *err);
void ki_io_remove(ki_io *io);

/* Returns true in a process that was forked after the engine was first used: the engine is the parent's, and nothing of
 * it may be touched here. Every public function checks this first. Costs no system call. Any thread, also signal
 * handlers. */
KI_INTERNAL_API bool ki_engine_is_forked(const ki_engine *engine);
#define KI_FORKED \
    "this process was forked after the engine was started, which remains the parent's: make a new factory or client"
/* Returns KI_ERR_STATE there, else KI_OK. Any thread. */
KI_INTERNAL_API ki_status ki_engine_check_process(const ki_engine *engine, ki_error *err);
/* Sets `err` to the reason for which the loop has ended by itself, and returns its code; KI_OK: it has not. Any
 * thread. */
ki_status ki_engine_failure(ki_engine *engine, ki_error *err);

/* The caller is on the loop, or the engine is idle and no other thread works on it. */
#define KI_ON_LOOP(engine) KI_ASSERT_AS(ki_engine_is_callers(engine), "the caller is on the loop of " #engine)
KI_INTERNAL_API bool ki_engine_is_callers(const ki_engine *engine); /* in builds with assertions only */

/* Returns true on the loop's thread. False before the engine is driven. Any thread. */
KI_INTERNAL_API bool ki_engine_on_loop(const ki_engine *engine);
/* Returns true on the loop's thread inside a callback: what waits for the loop, or frees it, must not begin there. Any
 * thread. */
bool ki_engine_in_callback(const ki_engine *engine);
/* Returns true if listeners may have threads (run, start), false if all work must happen in step. Known once the loop
 * runs. */
KI_INTERNAL_API bool ki_engine_is_threaded(const ki_engine *engine);
/* Returns true after ki_engine_stop: nothing may begin any more. Any thread. */
bool ki_engine_is_stopping(const ki_engine *engine);
/* Returns true once the loop does no more work: waiting for it is useless. Any thread. */
bool ki_engine_has_ended(const ki_engine *engine);
/* Waits as ki_cond_wait_until for a condition that the loop signals. Also returns true at intervals if a host steps the
 * engine, because the host may stop it and not step again. The caller then checks ki_engine_has_ended. */
bool ki_engine_wait(const ki_engine *engine, ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns);
/* As ki_engine_run with KI_RUN_UNTIL_SIGNAL. The first signal calls `stop` on the loop, in place of ki_engine_stop; a
 * second signal ends the run at once. `stop` NULL: every signal ends the run. */
ki_status ki_engine_run_until_signal(ki_engine *engine, void (*stop)(void *user), void *user, ki_error *err);
/* A hook that is called once, on the loop, after its last work. Embedded. Set and removed on the loop; removing a
 * zeroed, removed or called hook does nothing. */
typedef struct ki_end_hook {
    struct ki_end_hook *next; /* private, as all below */
    ki_engine *engine;
    void (*ended)(void *user);
    void *user;
} ki_end_hook;
void ki_end_hook_set(ki_end_hook *hook, ki_engine *engine, void (*ended)(void *user), void *user);
void ki_end_hook_remove(ki_end_hook *hook);
/* Returns true before the engine is driven and after its loop has ended. Then any one thread may do "loop only" work
 * (to tear down). */
bool ki_engine_is_idle(const ki_engine *engine);

/* Runs `call` on the loop and waits until it returns: at once on the loop itself or if the engine is idle (start and
 * stop wait meanwhile). From another thread it waits for the next step of a stepped engine. Errors: none of its own. */
KI_INTERNAL_API void ki_engine_call(ki_engine *engine, void (*call)(void *user), void *user);

/* Marks the calling thread, a handler's, as one of the engine's: ki_engine_join on it fails, as it would wait for
 * itself. */
KI_INTERNAL_API void ki_engine_adopt_thread(const ki_engine *engine);

/* Waits until `*done`, which code on the loop sets with ki_engine_notify, for at most `timeout_ns` (< 0: no limit). If
 * the engine is not driven yet and `may_drive` is set, this thread drives it meanwhile; step, run or start on another
 * thread takes over at once. Any thread. Errors: KI_ERR_TIMEOUT; KI_ERR_DEADLOCK on the loop; KI_ERR_STATE if the
 * engine is not driven and `may_drive` is not set; KI_ERR_CANCELLED if the engine has ended; KI_ERR_SYSTEM. */
ki_status ki_engine_await(ki_engine *engine, const bool *done, int64_t timeout_ns, bool may_drive, ki_error *err);
void ki_engine_notify(ki_engine *engine, bool *done);

#endif
