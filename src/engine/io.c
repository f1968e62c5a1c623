/* io.c: descriptors in epoll. Loop only. Reported events are kept until they are dispatched, over several steps if
 * necessary, so that no descriptor starves. Removing a descriptor removes its events too.
 *
 * epoll gets a copy of the descriptor, which only this file closes. An entry of epoll belongs to the open file, which
 * lives as long as any descriptor of it, also in a forked child, and can be removed only by a descriptor that is open:
 * one that its owner closed first, as libcurl 7.88 does, would leave an entry for ever. */
#include "src/engine/loop.h"

#include "src/base/assert.h"
#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

ki_status ki_io_add(ki_io *io, ki_engine *engine, int fd, uint32_t events,
                    void (*ready)(ki_io *io, uint32_t events, void *user), void *user, ki_error *err) {
    KI_ON_LOOP(engine);
    KI_ASSERT(ready);
    *io = (ki_io){ .engine = engine, .fd = fd, .watched = -1, .events = events, .ready = ready, .user = user };
    ki_status status = atomic_load(&engine->is_used) ? KI_OK : ki_engine_use(engine, err);
    if (status)
        return status;
    struct epoll_event event = { .events = events, .data.ptr = io };
    int watched = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (watched < 0 || epoll_ctl(engine->epoll_fd, EPOLL_CTL_ADD, watched, &event)) {
        ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot watch descriptor %d", fd);
        if (watched >= 0)
            close(watched);
        return KI_ERR_SYSTEM;
    }
    io->watched = watched;
    io->added = true;
    return KI_OK;
}

ki_status ki_io_modify(ki_io *io, uint32_t events, ki_error *err) {
    KI_ON_LOOP(io->engine);
    KI_ASSERT(io->added && io->watched >= 0);
    struct epoll_event event = { .events = events, .data.ptr = io };
    if (epoll_ctl(io->engine->epoll_fd, EPOLL_CTL_MOD, io->watched, &event))
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot watch descriptor %d", io->fd);
    io->events = events;
    return KI_OK;
}

void ki_io_remove(ki_io *io) {
    if (!io->added)
        return;
    ki_engine *engine = io->engine;
    KI_ON_LOOP(engine);
    epoll_ctl(engine->epoll_fd, EPOLL_CTL_DEL, io->watched, NULL);
    close(io->watched);
    for (int i = engine->ready_next; i < engine->ready_count; i++) {
        if (engine->ready[i].data.ptr == io)
            engine->ready[i].data.ptr = NULL;
    }
    io->added = false;
}

bool ki_engine_dispatch_io(ki_engine *engine) {
    KI_ON_LOOP(engine);
    while (engine->ready_next < engine->ready_count) {
        struct epoll_event event = engine->ready[engine->ready_next++];
        ki_io *io = event.data.ptr;
        if (!io)
            continue;
        uint32_t events = event.events & (io->events | EPOLLERR | EPOLLHUP);
        KI_ASSERT(io->added && io->engine == engine);
        if (!events)
            continue; /* a callback has changed the wanted events */
        io->ready(io, events, io->user);
        return true;
    }
    return false;
}

ki_status ki_engine_watch_own(ki_engine *engine, int operation, ki_error *err) {
    struct epoll_event wake = { .events = EPOLLIN, .data.ptr = engine };
    struct epoll_event timer = { .events = EPOLLIN, .data.ptr = &engine->timer_fd };
    if (epoll_ctl(engine->epoll_fd, operation, engine->wake_fd, &wake) == 0 &&
        epoll_ctl(engine->epoll_fd, operation, engine->timer_fd, &timer) == 0)
        return KI_OK;
    return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot watch the engine's own descriptors");
}

/* Consumes the eventfd, which is not a ki_io. */
static void drain_wake(ki_engine *engine) {
    uint64_t count;
    while (read(engine->wake_fd, &count, sizeof count) < 0 && errno == EINTR) {}
    /* Cleared before the task queue is read: a later posting writes again. */
    atomic_store(&engine->woken, false);
}

ki_status ki_engine_poll(ki_engine *engine, int timeout_ms, ki_error *err) {
    KI_ON_LOOP(engine);
    KI_ASSERT(engine->ready_count <= KI_ENGINE_BATCH && engine->ready_next <= engine->ready_count);
    if (engine->ready_next < engine->ready_count)
        return KI_OK;
    if (atomic_load(&engine->wake_errno))
        return ki_error_set_errno(err, KI_ERR_SYSTEM, atomic_load(&engine->wake_errno),
                                  "cannot write descriptor %d, which wakes the loop", engine->wake_fd);
    engine->ready_next = engine->ready_count = 0;
    int count = epoll_wait(engine->epoll_fd, engine->ready, KI_ENGINE_BATCH, timeout_ms);
    if (count < 0) {
        if (errno == EINTR)
            return KI_OK;
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot wait for events with descriptor %d",
                                  engine->epoll_fd);
    }
    for (int i = 0; i < count; i++) {
        if (engine->ready[i].data.ptr == &engine->timer_fd)
            engine->ready[i].data.ptr = NULL; /* only tells the host to step */
        if (engine->ready[i].data.ptr != engine)
            continue;
        engine->ready[i].data.ptr = NULL;
        drain_wake(engine);
    }
    engine->ready_count = count;
    return KI_OK;
}
