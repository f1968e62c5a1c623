/* fork.c: the engine after fork(2). A child has none of the engine's threads, and shares its descriptors with the
 * parent: a call could hang, or speak on the parent's connections. An engine that was used before the fork therefore
 * stays the parent's, and every public function of the child checks that first, before it takes a lock or reads what a
 * thread may have left half written. An engine that was not used yet gets descriptors of its own. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Number of forks from the first process to this one: cheaper to read than getpid, which is a system call. */
static _Atomic unsigned forks;
static int counting_failed;

static void count_fork(void) {
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void begin_counting(void) {
    counting_failed = pthread_atfork(NULL, NULL, count_fork);
}

ki_status ki_engine_note_process(ki_engine *engine, ki_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_counting);
    if (counting_failed)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, counting_failed, "cannot observe forks");
    engine->forks = atomic_load_explicit(&forks, memory_order_relaxed);
    return KI_OK;
}

bool ki_engine_is_forked(const ki_engine *engine) {
    return atomic_load_explicit(&engine->is_used, memory_order_acquire) &&
           engine->forks != atomic_load_explicit(&forks, memory_order_relaxed);
}

ki_status ki_engine_check_process(const ki_engine *engine, ki_error *err) {
    if (!ki_engine_is_forked(engine))
        return KI_OK;
    return ki_error_set(err, KI_ERR_STATE, "%s", KI_FORKED);
}

static void close_if_open(int fd) {
    if (fd >= 0)
        close(fd);
}

/* Puts descriptors of this process's own in the place of the inherited ones, under the same numbers: the host may have
 * them. */
static ki_status replace_descriptors(ki_engine *engine, ki_error *err) {
    KI_ASSERT(!atomic_load(&engine->is_used));
    /* 1: wakes the loop at once, because a wakeup of before the fork (`woken`) is in the parent's eventfd */
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC), wake_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    ki_status status = KI_OK;
    if (epoll_fd < 0 || wake_fd < 0 || timer_fd < 0 || dup3(epoll_fd, engine->epoll_fd, O_CLOEXEC) < 0 ||
        dup3(wake_fd, engine->wake_fd, O_CLOEXEC) < 0 || dup3(timer_fd, engine->timer_fd, O_CLOEXEC) < 0)
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot make descriptors after a fork");
    else
        status = ki_engine_watch_own(engine, EPOLL_CTL_ADD, err);
    close_if_open(epoll_fd);
    close_if_open(wake_fd);
    close_if_open(timer_fd);
    engine->armed = INT64_MAX;
    return status;
}

/* Fails if the program has closed the descriptors, as closefrom(3) and close_range(2) do. */
static ki_status check_descriptors(ki_engine *engine, ki_error *err) {
    if (ki_engine_watch_own(engine, EPOLL_CTL_MOD, NULL) == KI_OK)
        return KI_OK;
    return ki_error_set_errno(err, KI_ERR_SYSTEM, errno,
                              "the program has closed descriptor %d, %d or %d of the engine, perhaps with closefrom",
                              engine->epoll_fd, engine->wake_fd, engine->timer_fd);
}

ki_status ki_engine_use(ki_engine *engine, ki_error *err) {
    KI_ASSERT(ki_mutex_is_held(&engine->mutex) || ki_engine_is_callers(engine));
    unsigned now = atomic_load_explicit(&forks, memory_order_relaxed);
    ki_status status = ki_engine_check_process(engine, err);
    if (!status)
        status = check_descriptors(engine, err);
    if (!status && engine->forks != now)
        status = replace_descriptors(engine, err);
    if (!status && !atomic_load_explicit(&engine->is_used, memory_order_relaxed)) {
        engine->forks = now; /* the last write: other threads read it from now on */
        atomic_store_explicit(&engine->is_used, true, memory_order_release);
    }
    return status;
}
