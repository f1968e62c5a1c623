/* test_workqueue_model.c: random calls from many seeds, compared step by step with a model of a work queue that is too
 * simple to be wrong: arrays that are searched from end to end. Both kinds of queue; time is the test's own. */

#include "controllers/workqueue/parts.h"
#include "tests/support/queue_stage.h"
#include "tests/support/test.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    KEYS = 9, /* so few that they meet in all states */
    STEPS = 400,
    SEEDS = 300,
    DELAYS = 12, /* milliseconds */
    BASE_MS = 1,
    MAX_MS = 20
};

/* --- the model ---------------------------------------------------------------------------------------------------- */

typedef struct model_key {
    bool is_dirty, is_processing, is_waiting;
    int64_t ready_at;     /* milliseconds; while it waits */
    uint64_t waits_since; /* a number that grows, for ties */
    uint64_t order;       /* among ready keys */
    int priority, taken_priority;
    int failures;
} model_key;

typedef struct model {
    bool by_priority;
    bool is_shut_down;
    int64_t now;
    uint64_t counter;
    uint64_t adds, retries;
    model_key keys[KEYS];
} model;

static void model_mark(model *self, model_key *key) {
    if (key->is_dirty)
        return;
    key->is_dirty = true;
    self->adds++;
    if (!self->by_priority)
        key->order = self->counter++;
}

static void model_add_plain(model *self, model_key *key, int64_t delay, bool is_retry) {
    self->retries += is_retry;
    if (delay <= 0) {
        model_mark(self, key);
        return;
    }
    int64_t at = self->now + delay;
    if (key->is_waiting && key->ready_at < at)
        at = key->ready_at;
    key->is_waiting = true;
    key->ready_at = at;
    key->waits_since = self->counter++;
}

static void model_add_by_priority(model *self, model_key *key, int64_t delay, int priority) {
    bool is_known = key->is_dirty || key->is_waiting;
    self->retries += delay > 0;
    if (!is_known || priority > key->priority) {
        key->priority = priority;
        key->order = self->counter++;
    }
    if (key->is_dirty)
        return;
    if (delay <= 0) {
        key->is_waiting = false;
        model_mark(self, key);
        return;
    }
    int64_t at = self->now + delay;
    key->ready_at = key->is_waiting && key->ready_at < at ? key->ready_at : at;
    key->is_waiting = true;
    key->waits_since = key->order;
}

static void model_add(model *self, int number, const ki_add_options *options, bool has_options, bool is_delayed) {
    model_key *key = &self->keys[number];
    int64_t delay = options->after_ms;
    if (self->is_shut_down)
        return;
    if (options->rate_limited) {
        int64_t limit = key->failures < 10 ? (int64_t)BASE_MS << key->failures : MAX_MS;
        limit = limit < MAX_MS ? limit : MAX_MS;
        key->failures++;
        delay = !is_delayed || limit < delay ? limit : delay;
    }
    if (self->by_priority)
        model_add_by_priority(self, key, delay, has_options ? options->priority : 0);
    else
        model_add_plain(self, key, delay, is_delayed || options->rate_limited);
}

static bool comes_before(const model *self, const model_key *a, const model_key *b) {
    if (self->by_priority && a->priority != b->priority)
        return a->priority > b->priority;
    return a->order < b->order;
}

/* The number of the key that has to be handed out; -1: none. */
static int model_next(const model *self) {
    int next = -1;
    for (int i = 0; i < KEYS; i++) {
        const model_key *key = &self->keys[i];
        if (key->is_dirty && !key->is_processing && (next < 0 || comes_before(self, key, &self->keys[next])))
            next = i;
    }
    return next;
}

static size_t model_length(const model *self) {
    size_t length = 0;
    for (int i = 0; i < KEYS; i++)
        length += self->keys[i].is_dirty && !self->keys[i].is_processing;
    return length;
}

static void model_take(model *self, int number) {
    model_key *key = &self->keys[number];
    key->is_dirty = false;
    key->is_processing = true;
    key->taken_priority = self->by_priority ? key->priority : 0;
}

static void model_done(model *self, int number) {
    model_key *key = &self->keys[number];
    key->is_processing = false;
    if (key->is_dirty && !self->by_priority)
        key->order = self->counter++; /* it is queued only now */
}

/* Makes what is due by now ready, in the order of its times. */
static void model_make_ready(model *self) {
    for (;;) {
        model_key *first = NULL;
        for (int i = 0; i < KEYS; i++) {
            model_key *key = &self->keys[i];
            if (key->is_waiting && key->ready_at <= self->now &&
                (!first || key->ready_at < first->ready_at ||
                 (key->ready_at == first->ready_at && key->waits_since < first->waits_since)))
                first = key;
        }
        if (!first || self->is_shut_down)
            return;
        first->is_waiting = false;
        if (self->by_priority)
            first->order = self->counter++;
        model_mark(self, first);
    }
}

/* --- both at once ------------------------------------------------------------------------------------------------- */

typedef struct pair {
    model model;
    queue_stage stage;
    uint64_t random;
    char trace[STEPS * 16]; /* the calls, for the message of a failure */
} pair;

static unsigned draw(pair *self, unsigned below) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (unsigned)(self->random >> 33) % below;
}

static void note(pair *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(pair *self, const char *format, ...) {
    size_t used = strlen(self->trace);
    va_list args;
    va_start(args, format);
    vsnprintf(self->trace + used, sizeof self->trace - used, format, args);
    va_end(args);
}

#define AGREE(self, what, ours, models) \
    do { \
        long long left = (long long)(ours), right = (long long)(models); \
        if (left != right) \
            fail_msg("%s: %lld, not %lld, after %s", what, left, right, (self)->trace); \
    } while (0)

static const char *const names[KEYS] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };

static void try_add(pair *self, int number) {
    ki_workqueue *queue = self->stage.queue;
    const char *key = names[number];
    ki_add_options options = KI_ADD_OPTIONS(.priority = 0);
    bool has_options = draw(self, 2), is_delayed = draw(self, 2);
    options.rate_limited = draw(self, 4) == 0;
    if (is_delayed)
        options.after_ms = (int64_t)draw(self, DELAYS) - 1;
    if (has_options)
        options.priority = (int)draw(self, 4) - 2;
    if (is_delayed && options.rate_limited)
        has_options = true;
    if (has_options && options.after_ms == 0)
        is_delayed = false; /* these options cannot tell a delay of 0 */
    note(self, "+%s^%d@%d%s ", key, options.priority, is_delayed ? (int)options.after_ms : 0,
         options.rate_limited ? "!" : "");
    ki_status status;
    if (has_options)
        status = ki_workqueue_add_with(queue, key, &options);
    else if (is_delayed)
        status = ki_workqueue_add_after(queue, key, options.after_ms);
    else if (options.rate_limited)
        status = ki_workqueue_add_rate_limited(queue, key);
    else
        status = ki_workqueue_add(queue, key);
    AGREE(self, "add", status, self->model.is_shut_down ? KI_ERR_CLOSED : KI_OK);
    model_add(&self->model, number, &options, has_options, is_delayed);
}

static void try_get(pair *self) {
    ki_error err = KI_ERROR_INIT;
    int next = model_next(&self->model);
    const char *key = ki_workqueue_get(self->stage.queue, 0, &err);
    note(self, "=%s ", key ? key : ".");
    AGREE(self, "get", key ? key[0] - 'a' : -1, next);
    AGREE(self, "the error", err.code, next >= 0 ? KI_OK : self->model.is_shut_down ? KI_ERR_CLOSED : KI_ERR_TIMEOUT);
    if (next < 0)
        return;
    AGREE(self, "two workers", self->model.keys[next].is_processing, false);
    model_take(&self->model, next);
    AGREE(self, "priority", ki_workqueue_priority(self->stage.queue, key), self->model.keys[next].taken_priority);
}

static void try_done(pair *self, int number) {
    note(self, "-%s ", names[number]);
    bool is_processing = self->model.keys[number].is_processing;
    AGREE(self, "done", ki_workqueue_done(self->stage.queue, names[number]), is_processing ? KI_OK : KI_ERR_NOT_FOUND);
    if (is_processing)
        model_done(&self->model, number);
}

static void pass_time(pair *self, int ms) {
    note(self, "~%d ", ms);
    for (int i = 0; i < ms; i++) {
        assert_true(test_engine_advance(&self->stage.engine, 1));
        self->model.now++;
        model_make_ready(&self->model);
    }
}

static void compare(pair *self, int number) {
    const ki_workqueue *queue = self->stage.queue;
    const model *expected = &self->model;
    size_t dirty = 0, items = 0, processing = 0;
    for (int i = 0; i < KEYS; i++) {
        const model_key *key = &expected->keys[i];
        dirty += key->is_dirty;
        processing += key->is_processing;
        /* What waited when the queue was shut down stays until it is freed. */
        items += key->is_dirty || key->is_processing || key->is_waiting || key->failures > 0;
    }
    AGREE(self, "length", ki_workqueue_length(queue), model_length(expected));
    AGREE(self, "failures", ki_workqueue_num_requeues(queue, names[number]), expected->keys[number].failures);
    AGREE(self, "depth", queue->counts.dirty, dirty);
    AGREE(self, "keys in processing", queue->processing.count, processing);
    AGREE(self, "keys in memory", queue->items.count, items);
    AGREE(self, "adds", queue->counts.adds, expected->adds);
    AGREE(self, "retries", queue->counts.retries, expected->retries);
}

static void try_one(pair *self) {
    int number = (int)draw(self, KEYS);
    switch (draw(self, 10)) {
    case 0:
    case 1:
    case 2:
        try_add(self, number);
        break;
    case 3:
    case 4:
        try_get(self);
        break;
    case 5:
    case 6:
    case 7:
        try_done(self, number);
        break;
    case 8:
        note(self, "*%s ", names[number]);
        ki_workqueue_forget(self->stage.queue, names[number]);
        self->model.keys[number].failures = 0;
        break;
    default:
        pass_time(self, (int)draw(self, 4));
    }
    compare(self, number);
}

/* No key is lost: after the shutdown the rest is handed out, and nothing is left. */
static void finish(pair *self) {
    note(self, "x ");
    ki_workqueue_shut_down(self->stage.queue);
    self->model.is_shut_down = true;
    for (int i = 0; i < KEYS; i++) {
        try_add(self, i);
        try_done(self, i);
    }
    while (model_next(&self->model) >= 0) {
        try_get(self);
        for (int i = 0; i < KEYS; i++)
            try_done(self, i);
    }
    pass_time(self, 2 * MAX_MS);
    try_get(self);
    compare(self, 0);
    AGREE(self, "drained", ki_workqueue_shut_down_with_drain(self->stage.queue, 0, NULL), KI_OK);
}

static void play_seed(bool by_priority, uint64_t seed) {
    static const ki_rate_limit limit = KI_RATE_LIMIT_EXPONENTIAL(BASE_MS, MAX_MS);
    static pair self;
    self = (pair){ .model = { .by_priority = by_priority }, .random = seed * UINT64_C(0x9e3779b97f4a7c15) };
    note(&self, "seed %d: ", (int)seed);
    queue_stage_open(&self.stage,
                     &KI_WORKQUEUE_OPTIONS(.by_priority = by_priority, .rate_limits = &limit, .rate_limit_count = 1));
    for (int step = 0; step < STEPS; step++)
        try_one(&self);
    finish(&self);
    queue_stage_close(&self.stage);
}

TEST(a_plain_queue_does_as_the_model) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play_seed(false, seed);
}

TEST(a_queue_by_priority_does_as_the_model) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        play_seed(true, seed);
}
