/* test_history.c: the samples of the last 15 minutes. */
#include "src/base/memory.h"
#include "src/engine/engine.h"
#include "status/history.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

static ki_history history;
static ki_informer_row informers[KI_HISTORY_LINES_MAX + 10];
static ki_queue_row queues[2];
static ki_elector_row electors[1];
static int64_t now;

static int set_up(void **state) {
    (void)state;
    now = KI_SECONDS(1000);
    for (size_t i = 0; i < sizeof informers / sizeof *informers; i++)
        informers[i] = (ki_informer_row){ .identity = 100 + i };
    queues[0] = (ki_queue_row){ .identity = 100 };
    queues[1] = (ki_queue_row){ .identity = 101 };
    electors[0] = (ki_elector_row){ .identity = 100 };
    return (int)ki_history_init(&history, &ki_allocator_default, NULL);
}

static int tear_down(void **state) {
    (void)state;
    ki_history_free(&history);
    return 0;
}

#define HISTORY_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Adds a sample of so many rows, 10 s after the last one. */
static void add(size_t informer_count, size_t queue_count, size_t elector_count) {
    const ki_picture picture = { .informers = informers,
                                 .informer_count = informer_count,
                                 .queues = queues,
                                 .queue_count = queue_count,
                                 .electors = electors,
                                 .elector_count = elector_count };
    now += KI_MILLISECONDS(KI_HISTORY_INTERVAL_MS);
    ki_history_add(&history, &picture, now);
}

static float last(ki_history_kind kind, uint64_t identity) {
    ki_history_values values;
    ki_history_read(&history, kind, identity, &values);
    return ki_history_last(&values);
}

static float last_total(ki_history_total total) {
    ki_history_values values;
    ki_history_read_total(&history, total, &values);
    return ki_history_last(&values);
}

#define assert_value(value, wanted) assert_float_equal(value, wanted, 0.001)

HISTORY_TEST(events_become_a_rate_from_the_second_sample_on) {
    informers[0].events = 1000;
    add(1, 0, 0);
    assert_value(last(KI_HISTORY_INFORMER, 100), -1);
    assert_value(last_total(KI_HISTORY_EVENTS), -1);
    informers[0].events = 1025;
    add(1, 0, 0);
    assert_value(last(KI_HISTORY_INFORMER, 100), 2.5);
    assert_value(last_total(KI_HISTORY_EVENTS), 2.5);
    now += KI_SECONDS(10); /* the loop was late */
    informers[0].events = 1065;
    add(1, 0, 0);
    assert_value(last(KI_HISTORY_INFORMER, 100), 2);
}

HISTORY_TEST(a_new_informer_has_gaps_before_it) {
    add(1, 0, 0);
    informers[1].events = 500; /* of the time before it was seen */
    add(2, 0, 0);
    assert_value(last(KI_HISTORY_INFORMER, 101), -1);
    assert_value(last_total(KI_HISTORY_EVENTS), 0);
    informers[1].events = 510;
    add(2, 0, 0);
    ki_history_values values;
    ki_history_read(&history, KI_HISTORY_INFORMER, 101, &values);
    assert_value(values.at[KI_HISTORY_SAMPLES - 1], 1);
    assert_value(values.at[KI_HISTORY_SAMPLES - 2], -1);
    assert_value(values.at[0], -1);
}

HISTORY_TEST(totals_are_sums) {
    informers[0].objects = 10, informers[1].objects = 5;
    informers[0].bytes = 1000, informers[1].bytes = 500;
    queues[0].depth = 3, queues[1].depth = 4;
    add(2, 2, 0);
    assert_value(last_total(KI_HISTORY_OBJECTS), 15);
    assert_value(last_total(KI_HISTORY_BYTES), 1500);
    assert_value(last_total(KI_HISTORY_DEPTH), 7);
    assert_value(last(KI_HISTORY_QUEUE, 101), 4);
}

HISTORY_TEST(only_the_last_ninety_samples_are_kept_oldest_first) {
    ki_history_values values;
    for (size_t i = 0; i < KI_HISTORY_SAMPLES + 20; i++) {
        queues[0].depth = (double)i;
        add(0, 1, 0);
    }
    ki_history_read(&history, KI_HISTORY_QUEUE, 100, &values);
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++)
        assert_value(values.at[i], 20 + (float)i);
}

HISTORY_TEST(kinds_with_one_identity_are_apart) {
    electors[0].leads = true;
    queues[0].depth = 8;
    add(1, 1, 1);
    assert_value(last(KI_HISTORY_ELECTOR, 100), 1);
    assert_value(last(KI_HISTORY_QUEUE, 100), 8);
    electors[0].leads = false;
    add(1, 1, 1);
    assert_value(last(KI_HISTORY_ELECTOR, 100), 0);
}

HISTORY_TEST(what_is_gone_is_forgotten) {
    queues[0].depth = 8;
    add(1, 2, 1);
    assert_int_equal(history.count, 4);
    add(0, 1, 0);
    assert_int_equal(history.count, 1);
    assert_value(last(KI_HISTORY_QUEUE, 100), 8);
    assert_value(last(KI_HISTORY_INFORMER, 100), -1);
}

HISTORY_TEST(the_number_of_lines_is_limited) {
    add(sizeof informers / sizeof *informers, 2, 1);
    assert_int_equal(history.count, KI_HISTORY_LINES_MAX);
    assert_value(last(KI_HISTORY_QUEUE, 100), -1);
}

TEST(without_memory_a_line_is_missing_until_a_later_sample) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        set_up(NULL);
        history.allocator = &memory.allocator;
        for (int i = 0; i < 3; i++)
            add(40, 2, 1);
        assert_int_equal(history.count, 43);
        tear_down(NULL);
    }
}
