/* loop.h: the engine's inside, shared by the files of this folder only. */
#ifndef KI_ENGINE_LOOP_H
#define KI_ENGINE_LOOP_H

#include "src/engine/engine.h"
#include "src/engine/thread.h"

#include <signal.h>
#include <sys/epoll.h>

/* Descriptors that one epoll_wait reports at most. */
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
    ki_clock clock;
    int epoll_fd;
    int wake_fd; /* eventfd: makes epoll_fd readable from any thread */

    /* atomic: any thread, signal handlers too; all but `stopping`, `woken` and `loop` are written under `mutex` */
    _Atomic bool stopping;
    _Atomic bool woken; /* wake_fd was written and not yet read */
    _Atomic int drive;  /* ki_drive */
    _Atomic bool ended; /* the loop will do nothing more */
    _Atomic bool in_step;
    _Atomic(uintptr_t) loop;          /* ki_thread_self of the loop or of an inline caller, 0: none */
    _Atomic(uintptr_t) inline_caller; /* of the thread that does loop work while the engine is idle, 0: none */

    _Atomic bool waiter_drives; /* the inline caller is one of ki_engine_await */

    /* under `mutex` */
    ki_mutex mutex;
    ki_cond changed;  /* of all that this mutex guards, and of calls that are done */
    int others;       /* those who wait for an inline caller to end */
    ki_thread thread; /* of ki_engine_start */

    /* under `task_mutex` */
    ki_mutex task_mutex;
    ki_task *first_task;
    ki_task *last_task;

    /* loop only */
    bool dispatching; /* a callback may be running: `now` holds, wake-ups are not needed */
    int64_t now;
    int work_left;
    unsigned next_kind; /* of work: whose turn it is */
    ki_end_hook *end_hooks;
    void (*on_signal)(void *user); /* NULL: ki_engine_stop */
    void *signal_user;
    ki_heap timers;
    size_t timer_count; /* initialised ones, each with its place in the heap */
    uint64_t timer_sequence;
    /* Reported and not yet dispatched: from ready_next on. data.ptr NULL: removed meanwhile. */
    struct epoll_event ready[KI_ENGINE_BATCH];
    int ready_next;
    int ready_count;
    uint64_t random[4];
};

/* A number that no other living thread has. */
uintptr_t ki_thread_self(void);

/* Makes the loop look again, unless the caller is in one of its callbacks. Any thread, signal handlers too. */
void ki_engine_wake(ki_engine *engine);

/* Each does one thing that is due, and tells whether there was one. Loop only. */
bool ki_engine_run_task(ki_engine *engine);
bool ki_engine_fire_timer(ki_engine *engine);
bool ki_engine_dispatch_io(ki_engine *engine);
bool ki_engine_has_tasks(ki_engine *engine);
/* Asks epoll, waiting up to `timeout_ms`, where nothing of the last batch is left. */
ki_status ki_engine_poll(ki_engine *engine, int timeout_ms, ki_error *err);

bool ki_timer_less(const ki_heap_node *a, const ki_heap_node *b);
void ki_engine_seed(ki_engine *engine, uint64_t seed);

/* SIGINT and SIGTERM stop the engine from begin to end, both on the thread that becomes the loop. */
typedef struct ki_signals {
    sigset_t before;
    ki_io io;
} ki_signals;
ki_status ki_signals_begin(ki_signals *signals, ki_engine *engine, ki_error *err);
void ki_signals_end(ki_signals *signals);

#endif
