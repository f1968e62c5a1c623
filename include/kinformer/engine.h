/* engine.h: the event loop that the library runs on.
 *
 * A program drives an engine in one of three ways. The first call decides; calls of the other ways then return
 * KI_ERR_STATE.
 *   - step: the program has a loop of its own. It waits until ki_engine_fd is readable, then calls ki_engine_step. The
 *     library starts no threads: handlers run inside ki_engine_step.
 *   - run: ki_engine_run makes the calling thread the loop until ki_engine_stop or, on request, a signal.
 *   - start: ki_engine_start makes a new thread the loop until ki_engine_stop.
 *
 * With run and start each handler registration has a thread of its own, unless it asks for the loop's
 * (ki_registration_options.on_loop).
 *
 * Fork: an engine belongs to the process that first drives it. An engine that was made and not yet driven works in a
 * process that is forked then, with descriptors of its own. After that, a forked process has neither the engine's
 * threads nor a right to its connections. There, all functions of the engine and of what was made with it (factories,
 * informers, clients, queues, controllers, electors, …) return KI_ERR_STATE, NULL, false or 0; ki_informer_health says
 * KI_STATE_STOPPED with the reason; functions that free return and release nothing. Such a process makes a new factory,
 * or executes a program: all descriptors are closed on exec. A handler that forks must not return in the child.
 *
 * Descriptors that the program closes behind the engine's back (closefrom) are an error of the start (KI_ERR_SYSTEM).
 * If they are closed later, the loop ends within seconds: ki_informer_health says KI_STATE_STOPPED with the reason.
 *
 * A libcurl that was built without c-ares starts a thread for each lookup of a host name, whichever way drives the
 * engine. */
#ifndef KINFORMER_ENGINE_H
#define KINFORMER_ENGINE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/log.h>

KI_BEGIN_DECLS

typedef struct ki_engine ki_engine;

/* The time, for programs that simulate. `now` returns monotonic nanoseconds, by which all timers work. `wall_now`
 * returns nanoseconds since 1970 for the timestamps that a program writes into objects; NULL: CLOCK_REALTIME. */
typedef struct ki_clock {
    int64_t (*now)(void *user) KI_NOEXCEPT;
    void *user;
    int64_t (*wall_now)(void *user) KI_NOEXCEPT;
} ki_clock;

typedef struct ki_engine_options {
    size_t size;                   /* sizeof(ki_engine_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    const ki_log *log;             /* copied; NULL: no log */
    const ki_clock *clock;         /* copied; NULL: CLOCK_MONOTONIC. See ki_engine_fd */
    uint64_t seed;                 /* of random numbers, such as backoff jitter; 0: a random seed from the system */
} ki_engine_options;

#define KI_ENGINE_OPTIONS(...) KI_SIZED_(ki_engine_options, __VA_ARGS__)

/* Makes an engine. `options` may be NULL.
 * Ownership: the caller frees the engine with ki_engine_free. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_SYSTEM (no descriptors), KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_engine_new(const ki_engine_options *options, ki_engine **ret_engine, ki_error *err);

/* Stops an engine and frees it. Everything that was made with the engine must be freed before: factories, clients,
 * queues. NULL is accepted.
 * Threads: not in a handler, and not while another thread uses the engine. Blocks: until the thread of ki_engine_start
 * has ended. */
KI_API void ki_engine_free(ki_engine *engine);

/* ---- step ---- */

/* Returns a descriptor that is readable when a step has work to do: input, a timer that is due, or work that the step
 * before has left. For poll, select, epoll, libuv, …, level-triggered; a host needs nothing else. It can be readable
 * although nothing is due, after a timer that was moved or cancelled: the step then does nothing. With a clock of the
 * program's own (ki_engine_options.clock) timers do not make the descriptor readable: ask for ki_engine_timeout too.
 * Ownership: the engine's; do not read from it or close it. Threads: any. Blocks: no. */
KI_API int ki_engine_fd(const ki_engine *engine);

/* Returns the milliseconds until the next step is due: 0 now, -1 never. Valid until the next step. For a program with a
 * clock of its own, and for one that plans its sleep; others wait for ki_engine_fd alone.
 * Threads: the thread that steps. Blocks: no. */
KI_API int ki_engine_timeout(ki_engine *engine);

enum {
    KI_ENGINE_DEFAULT_WORK =
        200 /* units of work of a step with `max_work` 0: about a millisecond without the handlers' time */
};

/* Does the work that is due: reads what has arrived, runs timers, applies changes, calls handlers. Returns after about
 * `max_work` units (a unit is one object decoded, one change applied or one handler called). If work is left,
 * ki_engine_fd is readable and ki_engine_timeout returns 0.
 * Threads: always the same thread, not in a handler. Blocks: no, apart from the handlers' own time.
 * Errors: KI_ERR_STATE (the engine is driven in another way), KI_ERR_DEADLOCK (called in a handler), KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_engine_step(ki_engine *engine, int max_work, ki_error *err);

/* ---- run ---- */

typedef enum ki_run_flags {
    KI_RUN_DEFAULT = 0,
    /* SIGINT and SIGTERM end the run as ki_engine_stop does. Both signals are blocked in the calling thread, and in the
     * threads that it starts, until the run ends. A signal that arrives until then is consumed with it; a later one has
     * the program's own effect. Threads that the program has started before do not block them: see
     * ki_block_signals. */
    KI_RUN_UNTIL_SIGNAL = 1
} ki_run_flags;

/* Blocks SIGINT and SIGTERM in the calling thread, and so in all threads that it starts later. A program that starts
 * threads before ki_factory_run, or before ki_engine_run with KI_RUN_UNTIL_SIGNAL, calls this function first in main.
 * Otherwise the kernel may deliver the signal to such a thread, and the default action ends the process at once.
 * Programs that the thread executes inherit the blocked signals.
 * Threads: any. Blocks: no. Errors: KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_block_signals(ki_error *err);

/* Runs the loop on the calling thread until ki_engine_stop. `flags` is a ki_run_flags.
 * Blocks: yes. Errors: KI_ERR_INVALID (unknown flags), KI_ERR_STATE (the engine is driven already), KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_engine_run(ki_engine *engine, unsigned flags, ki_error *err);

/* ---- start ---- */

/* Runs the loop on a new thread until ki_engine_stop.
 * Threads: any. Blocks: no. Errors: KI_ERR_STATE (the engine is driven already), KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_engine_start(ki_engine *engine, ki_error *err);

/* Ends ki_engine_run or the thread of ki_engine_start. Later steps do nothing. Repeatable.
 * Threads: any, also in a handler or a signal handler (async-signal-safe). Blocks: no. */
KI_API void ki_engine_stop(ki_engine *engine);

/* Waits until the thread of ki_engine_start has ended. Returns at once if there is none.
 * Threads: any thread of the program, outside handlers. Blocks: yes. Errors: KI_ERR_DEADLOCK (called on a thread of the
 * engine). */
KI_API KI_MUST_CHECK ki_status ki_engine_join(ki_engine *engine, ki_error *err);

/* ---- time ---- */

/* Returns the wall clock in nanoseconds since 1970, for times in objects (ki_clock.wall_now). It can jump: not for
 * delays. Threads: any. Blocks: no. */
KI_API int64_t ki_engine_wall_now(const ki_engine *engine);

/* ---- the program's own calls on the loop ---- */

/* Returns the time of the engine's clock in monotonic nanoseconds; on the loop the time at which the current callback
 * was called. Threads: any. Blocks: no. */
KI_API int64_t ki_engine_now(const ki_engine *engine);

/* Calls `call` once on the loop: at the loop's next step, or after `delay_ms` if that is more than 0. A periodic call
 * posts itself again. Calls without a delay are made in the order of their posting. None is made after ki_engine_stop.
 * `ret_id` (may be NULL) receives a number for ki_engine_cancel_post, before the call is made.
 * Ownership: `user` must stay valid until the call, its cancel, or ki_engine_free. Threads: any, also in a handler;
 * `call` must not block. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_STATE (the engine is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_engine_post(ki_engine *engine, int64_t delay_ms, void (*call)(void *user) KI_NOEXCEPT,
                                              void *user, uint64_t *ret_id, ki_error *err);
/* Drops a posted call. It is not made any more.
 * Threads: any. Blocks: no. Errors: KI_ERR_NOT_FOUND (the call was made, is running, or was dropped before). */
KI_API KI_MUST_CHECK ki_status ki_engine_cancel_post(ki_engine *engine, uint64_t id, ki_error *err);

KI_END_DECLS

#endif
