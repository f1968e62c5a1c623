/* growth.h: how the processor time of an operation grows with the number of its objects. */
#ifndef TESTS_SUPPORT_GROWTH_H
#define TESTS_SUPPORT_GROWTH_H

#include <stddef.h>

enum {
    GROWTH_FACTOR = 16,
    GROWTH_LINEAR_MAX = 5 /* above n log n, and far below n * n */
};

/* Runs `run` with `count` objects, and with GROWTH_FACTOR times as many. Returns the ratio of the processor times for
 * one object: about 1 for linear growth, GROWTH_FACTOR for quadratic. A ratio above the linear one is measured again,
 * twice at most: other programs can disturb it. */
double growth_of(void (*run)(size_t count, void *user), size_t count, void *user);

#endif
