/* test_engine.c: see test_engine.h. */
#include "tests/support/test_engine.h"

enum {
    TURNS_MAX = 100000
};

static int64_t now(void *user) {
    const test_engine *self = user;
    return self->now;
}

bool test_engine_open(test_engine *self, const ki_allocator *allocator, uint64_t seed) {
    return test_engine_open_logged(self, allocator, seed, NULL);
}

bool test_engine_open_logged(test_engine *self, const ki_allocator *allocator, uint64_t seed, const ki_log *log) {
    self->engine = NULL;
    self->now = KI_SECONDS(1000);
    const ki_clock clock = { .now = now, .user = self };
    return ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator, .clock = &clock, .seed = seed, .log = log),
                         &self->engine, NULL) == KI_OK;
}

void test_engine_close(test_engine *self) {
    ki_engine_free(self->engine);
}

bool test_engine_settle(test_engine *self) {
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        if (ki_engine_step(self->engine, 0, NULL))
            return false;
        if (ki_engine_timeout(self->engine) != 0)
            return true;
    }
    return false;
}

bool test_engine_advance(test_engine *self, int64_t ms) {
    int64_t end = self->now + KI_MILLISECONDS(ms);
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        if (!test_engine_settle(self))
            return false;
        int64_t timeout = ki_engine_timeout(self->engine);
        if (timeout < 0 || KI_MILLISECONDS(timeout) > end - self->now)
            break;
        self->now += KI_MILLISECONDS(timeout);
    }
    self->now = end;
    return test_engine_settle(self);
}
