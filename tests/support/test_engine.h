/* test_engine.h: an engine that a test steps, with a clock that only the test advances. One thread. */
#ifndef TESTS_SUPPORT_TEST_ENGINE_H
#define TESTS_SUPPORT_TEST_ENGINE_H

#include "src/engine/engine.h"

typedef struct test_engine {
    ki_engine *engine;
    int64_t now; /* nanoseconds */
} test_engine;

/* Returns false without memory. `allocator` NULL: malloc. */
bool test_engine_open(test_engine *self, const ki_allocator *allocator, uint64_t seed);
/* Does the same with a log; NULL: none. */
bool test_engine_open_logged(test_engine *self, const ki_allocator *allocator, uint64_t seed, const ki_log *log);
void test_engine_close(test_engine *self);
/* Steps until nothing is due. Returns false if that never happens. */
bool test_engine_settle(test_engine *self);
/* Advances the clock, runs each timer at its own time, and settles. */
bool test_engine_advance(test_engine *self, int64_t ms);

#endif
