/* patience.h: waits of tests with threads. A hang is a failure. */
#ifndef TESTS_SUPPORT_PATIENCE_H
#define TESTS_SUPPORT_PATIENCE_H

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

enum {
    PATIENCE_S = 60
};

/* Waits for the semaphore. Ends the program after PATIENCE_S. Any thread. */
static inline void await_semaphore(sem_t *semaphore) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (sem_timedwait(semaphore, &until))
        if (errno != EINTR)
            abort();
}

#endif
