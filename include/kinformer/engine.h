/* engine.h: the loop that everything runs on. A host program with a loop of its own drives it; one without calls run or start.
 *
 * Three ways to drive an engine; the first call of one of them decides, the others then fail with KI_ERR_STATE:
 *   - step: the host's own loop. Wait until ki_engine_fd is readable or ki_engine_timeout has passed, then call
 *     ki_engine_step. Nothing ever runs on another thread: handlers run inside step.
 *   - run: the calling thread becomes the loop until ki_engine_stop or, where asked for, a signal.
 *   - start: a thread of the engine's own is the loop until ki_engine_stop.
 * With run and start each handler registration has a thread of its own, unless it asks for the loop's.
 *
 * libcurl's name lookups use a thread of libcurl's own where libcurl was built without c-ares. */
#ifndef KINFORMER_ENGINE_H
#define KINFORMER_ENGINE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/log.h>

KI_BEGIN_DECLS

typedef struct ki_engine ki_engine;

/* Time from anywhere; for programs that simulate. `now` returns monotonic nanoseconds, which never go back: all timers go by them.
 * `wall_now` returns nanoseconds since 1970, for the timestamps that a program writes into objects; NULL: CLOCK_REALTIME. */
typedef struct ki_clock {
    int64_t (*now)(void *user) KI_NOEXCEPT;
    void *user;
    int64_t (*wall_now)(void *user) KI_NOEXCEPT;
} ki_clock;

typedef struct ki_engine_options {
    size_t size;                   /* sizeof(ki_engine_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    const ki_log *log;             /* copied; NULL: silent */
    const ki_clock *clock;         /* copied; NULL: CLOCK_MONOTONIC */
    uint64_t seed;                 /* of backoff jitter; 0: from the system */
} ki_engine_options;

#define KI_ENGINE_OPTIONS(...) ((ki_engine_options){ .size = sizeof(ki_engine_options), __VA_ARGS__ })

/* Ownership: the caller's, freed with ki_engine_free. `options` may be NULL. Blocks: no.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_SYSTEM (no descriptors), KI_ERR_INVALID. */
KI_API KI_MUST_CHECK ki_status ki_engine_new(const ki_engine_options *options, ki_engine **ret_engine, ki_error *err);

/* Frees it. Everything that was made with it (factories, informers) must have been freed before. NULL is accepted.
 * Threads: not from a handler, not while another thread uses it. Blocks: until a started loop's thread has ended. */
KI_API void ki_engine_free(ki_engine *engine);

/* A descriptor that becomes readable when a step has something to do; for poll, select, epoll, libuv, …
 * Ownership: the engine's; do not read or close it. Threads: any. Blocks: no. */
KI_API int ki_engine_fd(const ki_engine *engine);

/* Milliseconds until a step is due even if the descriptor stays silent: 0 now, -1 never. To be asked again after each step.
 * Threads: the one that steps. Blocks: no. */
KI_API int ki_engine_timeout(ki_engine *engine);

enum {
    KI_ENGINE_DEFAULT_WORK = 200
}; /* what a max_work of 0 means: about a millisecond, handlers aside */

/* Does what is due: reads what has arrived, fires timers, applies changes, calls handlers; at most about `max_work` units (an
 * event applied, a handler called, a buffer read), then returns; ki_engine_timeout is 0 where something is left.
 * Threads: one at a time, always the same. Blocks: no, apart from the handlers' own time. Must not be called from a handler.
 * Errors: KI_ERR_STATE, KI_ERR_DEADLOCK (from a handler), KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_engine_step(ki_engine *engine, int max_work, ki_error *err);

typedef enum ki_run_flags {
    KI_RUN_DEFAULT = 0,
    /* SIGINT and SIGTERM end the run as ki_engine_stop does; they are blocked in this thread and in those it starts meanwhile, and restored
     * afterwards. Threads that the program started earlier do not block them: see ki_block_signals. */
    KI_RUN_UNTIL_SIGNAL = 1
} ki_run_flags;

/* Blocks SIGINT and SIGTERM in the calling thread, and so in all threads that it starts later. A program that starts threads of its own before
 * ki_factory_run, or before ki_engine_run with KI_RUN_UNTIL_SIGNAL, calls this first in main. Otherwise the kernel may give the signal to such a
 * thread, and its default action ends the process without an orderly stop. A program that the calling thread executes later inherits the block.
 * Threads: any. Blocks: no. Errors: KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_block_signals(ki_error *err);

/* The calling thread is the loop until ki_engine_stop. Blocks: yes. Errors: KI_ERR_STATE, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_engine_run(ki_engine *engine, unsigned flags, ki_error *err);

/* A thread of the engine's own is the loop from now on. Errors: KI_ERR_STATE, KI_ERR_SYSTEM. Blocks: no. */
KI_API KI_MUST_CHECK ki_status ki_engine_start(ki_engine *engine, ki_error *err);

/* Ends run, or the started thread, and makes every later step do nothing. Repeatable.
 * Threads: any, handlers and signal handlers too (it is async-signal-safe). Blocks: no. */
KI_API void ki_engine_stop(ki_engine *engine);

/* Waits until the started thread has ended; at once where there is none. Blocks: yes.
 * Errors: KI_ERR_DEADLOCK on a thread of the engine's own. */
KI_API KI_MUST_CHECK ki_status ki_engine_join(ki_engine *engine, ki_error *err);

KI_END_DECLS

#endif
