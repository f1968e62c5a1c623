/* test_signals.c: signals that cannot become readable bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/error.h"
#include "src/engine/loop.h"
#include "tests/support/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/epoll.h>

static bool epoll_is_full;

/* In place of libc's function. */
int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event) {
    int (*function)(int, int, int, struct epoll_event *);
    *(void **)&function = dlsym(RTLD_NEXT, "epoll_ctl");
    assert_non_null(function);
    if (!epoll_is_full || operation != EPOLL_CTL_ADD)
        return function(epoll_fd, operation, fd, event);
    errno = ENOSPC;
    return -1;
}

static void signals_that_cannot_be_watched_stay_as_they_were(void **state) {
    (void)state;
    ki_engine *engine = NULL;
    ki_signals signals = { 0 };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    int before = ki_process_descriptors();
    epoll_is_full = true;

    assert_int_equal(ki_signals_begin(&signals, engine, &err), KI_ERR_SYSTEM);

    epoll_is_full = false;
    assert_int_equal(ki_process_descriptors(), before);
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGINT) || sigismember(&now, SIGTERM));
    ki_engine_free(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_that_cannot_be_watched_stay_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
