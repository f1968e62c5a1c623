/* growth.c: see growth.h. The time is that of all threads of this process. */
#include "tests/support/growth.h"

#include <time.h>

enum {
    ATTEMPTS = 3
};

static double time_of(void (*run)(size_t count, void *user), size_t count, void *user) {
    struct timespec began, ended;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    run(count, user);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
}

double growth_of(void (*run)(size_t count, void *user), size_t count, void *user) {
    double least = GROWTH_FACTOR * GROWTH_FACTOR;
    run(count, user); /* fills caches and allocates */
    for (int i = 0; i < ATTEMPTS && least > GROWTH_LINEAR_MAX; i++) {
        double few = time_of(run, count, user), many = time_of(run, count * GROWTH_FACTOR, user);
        double ratio = many / (few * GROWTH_FACTOR);
        least = ratio < least ? ratio : least;
    }
    return least;
}
