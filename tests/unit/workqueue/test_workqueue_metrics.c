/* test_workqueue_metrics.c: what a work queue counts and measures, as text and as told to a program's metrics library. Time is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/base/openmetrics.h"
#include "src/workqueue/workqueue.h"
#include "tests/support/metrics_library.h"
#include "tests/support/queue_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 2048
};

/* --- text ------------------------------------------------------------------------------------------------------------------------ */

/* The samples of a text, without heads and labels: "depth 1 adds 2 …". */
static void read_samples(const ki_workqueue *queue, char *ret_samples) {
    char *text = NULL;
    assert_int_equal(ki_workqueue_metrics_text(queue, &text, NULL), KI_OK);
    size_t used = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (line[0] == '#')
            continue;
        const char *labels = strchr(line, '{'), *value = strstr(line, "} ");
        assert_true(strncmp(line, "workqueue_", 10) == 0 && labels && value);
        used += (size_t)snprintf(ret_samples + used, TEXT - used, "%s%.*s %s", used ? " " : "",
                                 (int)(labels - line - 10), line + 10, value + 2);
    }
    ki_metrics_text_free(text);
}

static void assert_samples(const queue_stage *stage, const char *want) {
    char samples[TEXT] = "";
    read_samples(stage->queue, samples);
    assert_string_equal(samples, want);
}

static void the_text_is_complete_and_names_the_queue(void **state) {
    (void)state;
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "a \"name\""));
    queue_play(&stage, "+a +b@5");
    char *text = NULL;
    assert_int_equal(ki_workqueue_metrics_text(stage.queue, &text, NULL), KI_OK);
    assert_string_equal(
        text,
        "# TYPE workqueue_depth gauge\n"
        "# HELP workqueue_depth Keys that have to be processed, also those that were added while they are processed.\n"
        "workqueue_depth{name=\"a \\\"name\\\"\"} 1\n"
        "# TYPE workqueue_adds counter\n"
        "# HELP workqueue_adds Keys queued.\n"
        "workqueue_adds_total{name=\"a \\\"name\\\"\"} 1\n"
        "# TYPE workqueue_queue_duration_seconds summary\n"
        "# HELP workqueue_queue_duration_seconds How long a key is queued before a worker takes it.\n"
        "workqueue_queue_duration_seconds_count{name=\"a \\\"name\\\"\"} 0\n"
        "workqueue_queue_duration_seconds_sum{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_work_duration_seconds summary\n"
        "# HELP workqueue_work_duration_seconds How long processing a key takes.\n"
        "workqueue_work_duration_seconds_count{name=\"a \\\"name\\\"\"} 0\n"
        "workqueue_work_duration_seconds_sum{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_unfinished_work_seconds gauge\n"
        "# HELP workqueue_unfinished_work_seconds Age of all keys that are being processed, added up: grows if "
        "workers "
        "are stuck.\n"
        "workqueue_unfinished_work_seconds{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_longest_running_processor_seconds gauge\n"
        "# HELP workqueue_longest_running_processor_seconds Age of the key that has been processed for the longest "
        "time.\n"
        "workqueue_longest_running_processor_seconds{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_retries counter\n"
        "# HELP workqueue_retries Keys added with a delay.\n"
        "workqueue_retries_total{name=\"a \\\"name\\\"\"} 1\n"
        "# EOF\n");
    ki_metrics_text_free(text);
    ki_metrics_text_free(NULL);
    queue_stage_close(&stage);
}

static void times_are_those_of_the_key_s_way_through_the_queue(void **state) {
    (void)state;
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .by_priority = by_priority));
        queue_play(&stage, "+a");
        assert_samples(&stage, "depth 1 adds_total 1 queue_duration_seconds_count 0 queue_duration_seconds_sum 0 "
                               "work_duration_seconds_count 0 work_duration_seconds_sum 0 unfinished_work_seconds 0 "
                               "longest_running_processor_seconds 0 retries_total 0");
        stage.engine.now += 500000;
        queue_play(&stage, "=a +a +a +a");
        assert_samples(&stage,
                       "depth 1 adds_total 2 queue_duration_seconds_count 1 queue_duration_seconds_sum 0.000500000 "
                       "work_duration_seconds_count 0 work_duration_seconds_sum 0 unfinished_work_seconds 0 "
                       "longest_running_processor_seconds 0 retries_total 0");
        stage.engine.now += 250000;
        queue_play(&stage, "-a =a");
        stage.engine.now += 1000000;
        assert_samples(&stage,
                       "depth 0 adds_total 2 queue_duration_seconds_count 2 queue_duration_seconds_sum 0.000750000 "
                       "work_duration_seconds_count 1 work_duration_seconds_sum 0.000250000 "
                       "unfinished_work_seconds 0.001000000 longest_running_processor_seconds 0.001000000 "
                       "retries_total 0");
        queue_play(&stage, "-a");
        assert_samples(&stage,
                       "depth 0 adds_total 2 queue_duration_seconds_count 2 queue_duration_seconds_sum 0.000750000 "
                       "work_duration_seconds_count 2 work_duration_seconds_sum 0.001250000 "
                       "unfinished_work_seconds 0 longest_running_processor_seconds 0 retries_total 0");
        queue_stage_close(&stage);
    }
}

static void a_worker_that_never_comes_back_is_seen(void **state) {
    (void)state;
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test"));
    queue_play(&stage, "+a +b +c =a ~1000 =b ~1000 =c -b ~3000");
    char samples[TEXT] = "";
    read_samples(stage.queue, samples);
    assert_non_null(strstr(samples, " unfinished_work_seconds 8 longest_running_processor_seconds 5 "));
    queue_play(&stage, "x ~1000"); /* also after the shutdown */
    read_samples(stage.queue, samples);
    assert_non_null(strstr(samples, " unfinished_work_seconds 10 longest_running_processor_seconds 6 "));
    queue_stage_close(&stage);
}

static void a_queue_without_a_name_only_counts(void **state) {
    (void)state;
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    queue_play(&stage, "+a +b +c! =a ~100 -a =b");
    assert_samples(&stage, "depth 1 adds_total 3 retries_total 1");
    queue_stage_close(&stage);
}

static void retries_are_counted_as_by_the_one_it_is_like(void **state) {
    (void)state;
    static const struct {
        bool by_priority;
        const char *play, *want;
    } cases[] = {
        { false, "+a@5 +a@0 +b! +c^1@7 +c", "depth 2 adds_total 2 retries_total 4" },
        { true, "+a@5 +a@0 +b! +c^1@7 +c", "depth 2 adds_total 2 retries_total 3" },
        { true, "+a +a@5 =a", "depth 0 adds_total 1 retries_total 1" },
        { true, "+a@5 +a +a ~10 =a -a", "depth 0 adds_total 1 retries_total 1" },
        { true, "+a =a +a +b =b", "depth 1 adds_total 3 retries_total 0" },
        { false, "x +a +b@1 +c!", "depth 0 adds_total 0 retries_total 0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.by_priority = cases[i].by_priority));
        queue_play(&stage, cases[i].play);
        assert_samples(&stage, cases[i].want);
        queue_stage_close(&stage);
    }
}

static void the_samples_of_several_queues_may_stand_together(void **state) {
    (void)state;
    queue_stage stage;
    ki_workqueue *other = NULL;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "one"));
    assert_int_equal(ki_workqueue_new(stage.engine.engine, &KI_WORKQUEUE_OPTIONS(.name = "two"), &other, NULL), KI_OK);
    queue_play(&stage, "+a");
    ki_buffer out;
    ki_buffer_init(&out, ki_engine_allocator(stage.engine.engine), 0);
    ki_openmetrics_head(&out, ki_workqueue_metric_at(1));
    assert_int_equal(ki_workqueue_metrics_write(stage.queue, 1, &out), KI_OK);
    assert_int_equal(ki_workqueue_metrics_write(other, 1, &out), KI_OK);
    assert_string_equal(out.data, "# TYPE workqueue_adds counter\n# HELP workqueue_adds Keys queued.\n"
                                  "workqueue_adds_total{name=\"one\"} 1\nworkqueue_adds_total{name=\"two\"} 0\n");
    ki_buffer_free(&out);
    ki_workqueue_free(other);
    assert_null(ki_workqueue_metric_at(7));
    queue_stage_close(&stage);
}

static void a_text_without_memory_fails_and_leaks_nothing(void **state) {
    (void)state;
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        test_engine engine;
        ki_workqueue *queue = NULL;
        char *text = NULL;
        assert_true(test_engine_open(&engine, &memory.allocator, 1));
        assert_int_equal(ki_workqueue_new(engine.engine, &KI_WORKQUEUE_OPTIONS(.name = "x"), &queue, NULL), KI_OK);
        scarce_memory_begin(&memory);
        ki_status status = ki_workqueue_metrics_text(queue, &text, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_metrics_text_free(text);
        ki_workqueue_free(queue);
        test_engine_close(&engine);
    }
}

/* --- a program's library ------------------------------------------------------------------------------------------------------------- */

static void check_labels(const ki_metric *metric, const ki_label *labels, size_t count, void *user) {
    ki_workqueue *const *queue = user;
    (void)metric;
    assert_int_equal(count, 1);
    assert_string_equal(labels[0].name, "name");
    assert_string_equal(labels[0].value, "test");
    (void)ki_workqueue_length(*queue); /* no lock is held */
}

static void a_program_s_library_is_notified_of_everything(void **state) {
    (void)state;
    queue_stage stage;
    metrics_library library = { .on_note = check_labels, .user = &stage.queue };
    const ki_metrics metrics = metrics_library_functions(&library);
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .metrics = &metrics));
    queue_play(&stage, "+a +a +b@500 ~1000 =a ~2000 -a");
    metrics_library_expect(&library,
                           "workqueue_adds+1 workqueue_retries+1 workqueue_adds+1 workqueue_queue_duration_seconds~1 "
                           "workqueue_work_duration_seconds~2");
    queue_play(&stage, "=b ~3000");
    library.notes[0] = '\0';
    ki_workqueue_update_gauges(stage.queue);
    metrics_library_expect(&library, "workqueue_depth=0 workqueue_unfinished_work_seconds=3 "
                                     "workqueue_longest_running_processor_seconds=3");
    queue_stage_close(&stage);
}

static void a_library_may_lack_functions(void **state) {
    (void)state;
    static const ki_metrics metrics;
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .metrics = &metrics));
    queue_play(&stage, "+a +b@5 =a -a ~5 =b");
    ki_workqueue_update_gauges(stage.queue);
    queue_stage_close(&stage);
    queue_stage_open(&stage, NULL);
    ki_workqueue_update_gauges(stage.queue);
    queue_stage_close(&stage);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_complete_and_names_the_queue),
        cmocka_unit_test(times_are_those_of_the_key_s_way_through_the_queue),
        cmocka_unit_test(a_worker_that_never_comes_back_is_seen),
        cmocka_unit_test(a_queue_without_a_name_only_counts),
        cmocka_unit_test(retries_are_counted_as_by_the_one_it_is_like),
        cmocka_unit_test(the_samples_of_several_queues_may_stand_together),
        cmocka_unit_test(a_text_without_memory_fails_and_leaks_nothing),
        cmocka_unit_test(a_program_s_library_is_notified_of_everything),
        cmocka_unit_test(a_library_may_lack_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
