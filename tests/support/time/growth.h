/* growth.h: how the processor time of an operation grows with the number of its objects. */
#ifndef TESTS_SUPPORT_TIME_GROWTH_H
#define TESTS_SUPPORT_TIME_GROWTH_H

#include <stddef.h>
#include <time.h>

enum {
    GROWTH_ATTEMPTS = 3,
    GROWTH_FACTOR = 16,
    GROWTH_LINEAR_MAX = 5 /* above n log n, and far below n * n */
};

/* Returns the processor time of all threads of this process, in seconds. */
static inline double growth_time_of(void (*run)(size_t count, void *user), size_t count, void *user) {
    struct timespec began, ended;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    run(count, user);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
}

static inline double growth_time_after(void (*prepare)(size_t count, void *user), void (*run)(size_t count, void *user),
                                       size_t count, void *user) {
    if (prepare)
        prepare(count, user);
    return growth_time_of(run, count, user);
}

/* Runs `run` with `count` objects, and with GROWTH_FACTOR times as many. Returns the ratio of the processor times for
 * one object: about 1 for linear growth, GROWTH_FACTOR for quadratic. A ratio above the linear one is measured again,
 * twice at most: other programs can disturb it. `prepare` runs before each, and its time does not count; NULL: none. */
static inline double growth_after(void (*prepare)(size_t count, void *user), void (*run)(size_t count, void *user),
                                  size_t count, void *user) {
    double least = GROWTH_FACTOR * GROWTH_FACTOR;
    (void)growth_time_after(prepare, run, count, user); /* fills caches and allocates */
    for (int i = 0; i < GROWTH_ATTEMPTS && least > GROWTH_LINEAR_MAX; i++) {
        double few = growth_time_after(prepare, run, count, user);
        double many = growth_time_after(prepare, run, count * GROWTH_FACTOR, user);
        double ratio = many / (few * GROWTH_FACTOR);
        least = ratio < least ? ratio : least;
    }
    return least;
}

static inline double growth_of(void (*run)(size_t count, void *user), size_t count, void *user) {
    return growth_after(NULL, run, count, user);
}

#endif
