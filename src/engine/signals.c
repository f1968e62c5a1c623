/* signals.c: reads SIGINT and SIGTERM from a signalfd during ki_engine_run. Loop only. */
#include "src/engine/loop.h"

#include "src/base/error.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void arrived(ki_io *io, uint32_t events, void *user) {
    KI_ON_LOOP(io->engine);
    (void)events;
    ki_signals *signals = user;
    struct signalfd_siginfo info;
    if (read(io->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    void (*stop)(void *) = signals->stop;
    signals->stop = NULL;
    if (stop)
        stop(signals->user);
    else
        ki_engine_stop(io->engine);
}

static ki_status block(sigset_t *ret_wanted, sigset_t *ret_before, ki_error *err) {
    sigemptyset(ret_wanted);
    sigaddset(ret_wanted, SIGINT);
    sigaddset(ret_wanted, SIGTERM);
    int failed = pthread_sigmask(SIG_BLOCK, ret_wanted, ret_before);
    return failed ? ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot block signals") : KI_OK;
}

ki_status ki_block_signals(ki_error *err) {
    sigset_t wanted, before;
    return block(&wanted, &before, err);
}

ki_status ki_signals_begin(ki_signals *signals, ki_engine *engine, ki_error *err) {
    sigset_t wanted;
    ki_status status = block(&wanted, &signals->before, err);
    if (status)
        return status;
    int fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot make a signal descriptor");
    } else {
        status = ki_io_add(&signals->io, engine, fd, EPOLLIN, arrived, signals, err);
        if (!status)
            return KI_OK;
        close(fd);
    }
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
    return status;
}

/* Takes the signals that have arrived and that only the run has blocked: a second SIGTERM right after the first. With
 * the mask restored, they would end the program by default, after the loop has ended in order. */
static void consume_pending(const ki_signals *signals) {
    sigset_t own;
    sigemptyset(&own);
    const int numbers[] = { SIGINT, SIGTERM };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!sigismember(&signals->before, numbers[i]))
            sigaddset(&own, numbers[i]);
    }
    const struct timespec no_wait = { 0, 0 };
    while (sigtimedwait(&own, NULL, &no_wait) > 0 || errno == EINTR) {}
}

void ki_signals_end(ki_signals *signals) {
    if (!ki_engine_is_forked(signals->io.engine)) {
        ki_io_remove(&signals->io);
        close(signals->io.fd);
        consume_pending(signals);
    }
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
