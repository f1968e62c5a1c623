/* engine.h: what the other modules need of the engine: time, timers, tasks, descriptors, threads.
 * "Loop" below means the thread that runs, was started or steps. */
#ifndef KI_ENGINE_ENGINE_H
#define KI_ENGINE_ENGINE_H

#include <kinformer/engine.h>

#include "src/base/heap.h"
#include "src/engine/thread.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Borrowed from the engine. Any thread. */
const ki_allocator *ki_engine_allocator(const ki_engine *engine);
const ki_log *ki_engine_log(const ki_engine *engine);

/* Monotonic nanoseconds; on the loop the time at which the step began or the callback at hand was called (cheap). Any thread. */
int64_t ki_engine_now(const ki_engine *engine);
/* Reads the clock: the same nanoseconds, also on the loop as of this moment. For what must not rest on a time from before a pause. Any thread. */
int64_t ki_engine_clock(const ki_engine *engine);
#define KI_MILLISECONDS(n) ((int64_t)(n)*1000000)
#define KI_SECONDS(n) ((int64_t)(n)*1000000000)

/* Returns the wall clock, nanoseconds since 1970, for timestamps in objects. It jumps: nothing is timed by it. Any thread. */
int64_t ki_engine_wall_now(const ki_engine *engine);

/* Uniform in [0, 1). From the engine's seed. Loop only. */
double ki_engine_random(ki_engine *engine);

/* Timers: embedded, one shot, from one heap. Loop only. Setting cannot fail once it was initialised:
 * init reserves its place. Fires in order of deadline, ties in order of setting. */
typedef struct ki_timer {
    ki_heap_node node; /* private, as all below */
    ki_engine *engine;
    int64_t deadline;
    uint64_t sequence;
    void (*fire)(struct ki_timer *timer, void *user);
    void *user;
} ki_timer;
ki_status ki_timer_init(ki_timer *timer, ki_engine *engine, void (*fire)(ki_timer *timer, void *user), void *user);
void ki_timer_set(ki_timer *timer, int64_t deadline_ns); /* absolute; again: moves it */
void ki_timer_cancel(ki_timer *timer);
bool ki_timer_is_set(const ki_timer *timer);
void ki_timer_close(ki_timer *timer); /* cancels and gives the place back; harmless on a zeroed or closed one */

/* Tasks: embedded; run on the loop once per posting, in the order of posting. Posting one that waits already does nothing. Any
 * thread may post, without allocating; it wakes the loop. A task is one unit of a step's work unless it reports more. */
typedef struct ki_task {
    struct ki_task *next; /* private, as all below */
    ki_engine *engine;
    _Atomic bool queued;
    void (*run)(struct ki_task *task, void *user);
    void *user;
} ki_task;
void ki_task_init(ki_task *task, ki_engine *engine, void (*run)(ki_task *task, void *user), void *user);
void ki_task_post(ki_task *task);
/* Loop only: takes it out of the queue where it waits. */
void ki_task_cancel(ki_task *task);

/* Loop only, inside a callback: counts `units` of work against the step's bound, and tells whether the step has some left. A
 * callback that does much asks between two units, and posts its task again where it must stop. */
bool ki_engine_work(ki_engine *engine, int units);
/* Loop only, inside a callback: the units that the step has left; less than 1: none. */
int ki_engine_work_left(const ki_engine *engine);

/* Descriptors. Loop only. `ready` gets EPOLLIN, EPOLLOUT, … The struct is embedded and must be removed before it goes; removing
 * within a callback is allowed, its own too. */
typedef struct ki_io {
    ki_engine *engine; /* private, as all below */
    int fd;
    uint32_t events;
    bool added;
    void (*ready)(struct ki_io *io, uint32_t events, void *user);
    void *user;
} ki_io;
ki_status ki_io_add(ki_io *io, ki_engine *engine, int fd, uint32_t events,
                    void (*ready)(ki_io *io, uint32_t events, void *user), void *user, ki_error *err);
ki_status ki_io_modify(ki_io *io, uint32_t events, ki_error *err);
void ki_io_remove(ki_io *io);

/* Is the calling thread the loop? False before the engine is driven. Any thread. */
bool ki_engine_on_loop(const ki_engine *engine);
/* May listeners have threads of their own (run, start), or must all happen in step? Known from the first moment on the loop. */
bool ki_engine_is_threaded(const ki_engine *engine);
/* Was it asked to stop? Then nothing can begin on it any more. Any thread. */
bool ki_engine_is_stopping(const ki_engine *engine);
/* Can the loop serve nobody any more? Waiting for it would be in vain. Any thread. */
bool ki_engine_is_over(const ki_engine *engine);
/* As ki_cond_wait_until, for what the loop is to signal; but it also returns true now and then where ki_engine_stop may be the last that is
 * heard of the engine, as with a host that steps it and then does not any more. To be asked again: ki_engine_is_over. */
bool ki_engine_wait(const ki_engine *engine, ki_cond *cond, ki_mutex *mutex, int64_t deadline_ns);
/* While ki_engine_run waits for signals, the first one calls `stop` on the loop in place of ki_engine_stop; a second one ends the run at once.
 * `stop` NULL: every signal ends it. Set before the run, by the one that runs. */
void ki_engine_on_signal(ki_engine *engine, void (*stop)(void *user), void *user);
/* Embedded. `ended` is called once, on the loop, when that has done its last work. Set and removed on the loop; removing one that is
 * zeroed, removed or was called does nothing. */
typedef struct ki_end_hook {
    struct ki_end_hook *next; /* private, as all below */
    ki_engine *engine;
    void (*ended)(void *user);
    void *user;
} ki_end_hook;
void ki_end_hook_set(ki_end_hook *hook, ki_engine *engine, void (*ended)(void *user), void *user);
void ki_end_hook_remove(ki_end_hook *hook);
/* Has nobody driven the engine yet, or has its loop ended? Then any one thread may do what is "loop only" (to tear down). */
bool ki_engine_is_idle(const ki_engine *engine);

/* Runs `call` on the loop and waits until it has returned: at once on the loop itself, or where the engine is idle (start and stop are held off meanwhile).
 * For a stepped engine from another thread it waits until the next step. Errors: none of its own. */
void ki_engine_call(ki_engine *engine, void (*call)(void *user), void *user);

/* The calling thread is one of the engine's own from now on, beside the loop: a handler's. To join the engine on it would wait for itself. */
void ki_engine_adopt_thread(const ki_engine *engine);

/* Waits until `*done`, which something on the loop sets with ki_engine_notify, for at most `timeout_ns` (< 0: no limit). Where nobody drives
 * the engine yet and `may_drive`, the calling thread does so meanwhile, without deciding how it is driven later: whoever decides that
 * takes over at once. Any thread. Errors: KI_ERR_TIMEOUT, KI_ERR_DEADLOCK on the loop, KI_ERR_STATE where nobody drives it and
 * this call may not, KI_ERR_CANCELLED where the engine has ended, KI_ERR_SYSTEM. */
ki_status ki_engine_await(ki_engine *engine, const bool *done, int64_t timeout_ns, bool may_drive, ki_error *err);
void ki_engine_notify(ki_engine *engine, bool *done);

#endif
