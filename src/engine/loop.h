/* loop.h: the engine's members, for the files of this folder only. */
#ifndef KI_ENGINE_LOOP_H
#define KI_ENGINE_LOOP_H

#include "src/base/buffer.h"
#include "src/base/map.h"
#include "src/engine/engine.h"
#include "src/engine/thread.h"

#include <signal.h>
#include <sys/epoll.h>

/* Maximum events of one epoll_wait. */
enum {
    KI_ENGINE_BATCH = 64
};

/* How the engine is driven; set once. */
typedef enum ki_drive {
    KI_DRIVE_NONE,
    KI_DRIVE_STEP,
    KI_DRIVE_RUN,
    KI_DRIVE_START
} ki_drive;

struct ki_engine {
    /* constant after new */
    ki_allocator allocator;
    ki_log log;
    ki_clock clock; /* the program's own: timer_fd does not follow it, and is never set; `now` NULL: CLOCK_MONOTONIC */
    int epoll_fd;
    int wake_fd;    /* eventfd: makes epoll_fd readable from any thread */
    int timer_fd;   /* timerfd: makes epoll_fd readable when the first timer is due, for a host that steps */
    unsigned forks; /* of the process that the engine belongs to (fork.c); constant once the engine is used */

    /* atomic: any thread, also signal handlers. All but `stopping`, `woken` and `loop` are written under `mutex` */
    _Atomic bool stopping;
    _Atomic bool woken; /* wake_fd was written and not yet read */
    _Atomic int drive;  /* ki_drive */
    _Atomic bool ended; /* the loop has ended */
    _Atomic bool in_step;
    _Atomic(pthread_t) loop;          /* the thread of the loop or of an inline caller; 0: none */
    _Atomic(pthread_t) dispatcher;    /* who runs callbacks: for it `now` is valid; 0: none runs */
    _Atomic(pthread_t) inline_caller; /* a caller that works while the engine is idle */

    _Atomic bool waiter_drives; /* the inline caller is ki_engine_await */
    _Atomic bool is_used;       /* was driven, or watches a descriptor: belongs to this process for good */
    _Atomic int wake_errno;     /* why the eventfd could not be written; 0: it could */

    /* under `mutex` */
    ki_mutex mutex;
    ki_cond changed;  /* signalled when a member under this mutex or a waiting call changes */
    int others;       /* threads that wait for an inline caller to end */
    ki_thread thread; /* the thread of ki_engine_start */
    ki_error failure; /* why the loop has ended; code KI_OK: it was stopped */

    /* under `task_mutex` */
    ki_mutex task_mutex;
    ki_task *posted_tasks;       /* posted outside of callbacks, in order of posting */
    _Atomic size_t posted_count; /* in it; written under the mutex, read by the loop without it */

    /* under `post_mutex`, which a thread may hold while it takes `task_mutex` */
    ki_mutex post_mutex;
    ki_map posts;       /* ki_post by id */
    uint64_t last_post; /* the latest id */

    /* loop only */
    int64_t now;
    int work_left;
    ki_buffer scratch;  /* see ki_engine_scratch */
    unsigned next_kind; /* index of the next kind of work */
    ki_task *own_tasks; /* posted in callbacks, in order of posting */
    bool takes_own;     /* the last task was the loop's, if it had one */
    int unsettled;      /* units of work since the last settle_memory, which were less than UNITS */
    unsigned settled;   /* calls of settle_memory that took a block, modulo SIZES */
    ki_end_hook *end_hooks;
    ki_heap timers;
    uint64_t timer_sequence;
    int64_t armed; /* when timer_fd becomes readable, or became so; INT64_MAX: never */
    /* Reported events; those from ready_next on are not dispatched yet. data.ptr NULL: removed meanwhile. */
    struct epoll_event ready[KI_ENGINE_BATCH];
    int ready_next;
    int ready_count;
    uint64_t random[4];
};

/* Wakes the loop, unless the caller runs in one of its callbacks. Any thread, also signal handlers. */
void ki_engine_wake(ki_engine *engine);

/* Each runs one unit of work, and returns false if none is due. */
bool ki_engine_run_task(ki_engine *engine);
bool ki_engine_fire_timer(ki_engine *engine);
bool ki_engine_dispatch_io(ki_engine *engine);
/* Adds wake_fd and timer_fd to epoll_fd, or changes what was added: `operation` is EPOLL_CTL_ADD or EPOLL_CTL_MOD.
 * Errors: KI_ERR_SYSTEM, with the reason in errno. */
ki_status ki_engine_watch_own(ki_engine *engine, int operation, ki_error *err);
/* Calls epoll, waiting up to `timeout_ms`, if the last batch is dispatched. */
ki_status ki_engine_poll(ki_engine *engine, int timeout_ms, ki_error *err);

/* timer.c. Makes epoll_fd readable for the host between two steps: at once if work is left, else when the first timer
 * is due. No system call if timer_fd is set to that time or an earlier one. Errors: KI_ERR_SYSTEM. */
ki_status ki_engine_arm(ki_engine *engine, ki_error *err);
/* Makes timer_fd never readable. */
void ki_engine_disarm(ki_engine *engine);

/* fork.c. Remembers the present process as the engine's. */
ki_status ki_engine_note_process(ki_engine *engine, ki_error *err);
/* Claims the engine for this process, before it is driven and before a descriptor is watched. Caller holds the mutex,
 * or is on the loop.
 * Errors: KI_ERR_STATE (it is another process's), KI_ERR_SYSTEM (the program has closed the engine's descriptors). */
ki_status ki_engine_use(ki_engine *engine, ki_error *err);

/* post.c. Frees calls that were not made. The loop has ended. */
void ki_engine_free_posts(ki_engine *engine);

void ki_engine_seed(ki_engine *engine, uint64_t seed);

/* Reads SIGINT and SIGTERM between begin and end. Both are called on the loop's thread. */
typedef struct ki_signals {
    void (*stop)(void *user); /* the first signal calls it; set by the caller; NULL: each signal stops the engine */
    void *user;
    sigset_t before;
    ki_io io;
} ki_signals;
ki_status ki_signals_begin(ki_signals *signals, ki_engine *engine, ki_error *err);
void ki_signals_end(ki_signals *signals);

#endif
