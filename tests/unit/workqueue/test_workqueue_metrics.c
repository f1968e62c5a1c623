/* test_workqueue_metrics.c: what a work queue counts and measures, as text and as samples. Time is the test's own. */

#include "controllers/workqueue/workqueue.h"
#include "src/base/openmetrics.h"
#include "tests/support/metrics_library.h"
#include "tests/support/queue_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 2048
};

/* --- text --------------------------------------------------------------------------------------------------------- */

/* The samples of a text, without heads, labels and buckets: "depth 1 adds 2 …". */
static void read_samples(const ki_workqueue *queue, char *ret_samples) {
    char *text = NULL;
    assert_int_equal(ki_workqueue_metrics_text(queue, &text, NULL), KI_OK);
    size_t used = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        if (line[0] == '#' || strstr(line, "_bucket{"))
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

TEST(the_text_is_complete_and_names_the_queue) {
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
        "# TYPE workqueue_queue_duration_seconds histogram\n"
        "# UNIT workqueue_queue_duration_seconds seconds\n"
        "# HELP workqueue_queue_duration_seconds How long a key is queued before a worker takes it.\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-08\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-07\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-06\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"9.999999999999999e-06\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"9.999999999999999e-05\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.001\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.01\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.1\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1.0\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"10.0\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"100.0\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1000.0\"} 0\n"
        "workqueue_queue_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"+Inf\"} 0\n"
        "workqueue_queue_duration_seconds_count{name=\"a \\\"name\\\"\"} 0\n"
        "workqueue_queue_duration_seconds_sum{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_work_duration_seconds histogram\n"
        "# UNIT workqueue_work_duration_seconds seconds\n"
        "# HELP workqueue_work_duration_seconds How long processing a key takes.\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-08\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-07\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1e-06\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"9.999999999999999e-06\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"9.999999999999999e-05\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.001\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.01\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"0.1\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1.0\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"10.0\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"100.0\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"1000.0\"} 0\n"
        "workqueue_work_duration_seconds_bucket{name=\"a \\\"name\\\"\",le=\"+Inf\"} 0\n"
        "workqueue_work_duration_seconds_count{name=\"a \\\"name\\\"\"} 0\n"
        "workqueue_work_duration_seconds_sum{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_unfinished_work_seconds gauge\n"
        "# UNIT workqueue_unfinished_work_seconds seconds\n"
        "# HELP workqueue_unfinished_work_seconds Age of all keys that are being processed, added up: grows if "
        "workers "
        "are stuck.\n"
        "workqueue_unfinished_work_seconds{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_longest_running_processor_seconds gauge\n"
        "# UNIT workqueue_longest_running_processor_seconds seconds\n"
        "# HELP workqueue_longest_running_processor_seconds Age of the key that has been processed for the longest "
        "time.\n"
        "workqueue_longest_running_processor_seconds{name=\"a \\\"name\\\"\"} 0\n"
        "# TYPE workqueue_retries counter\n"
        "# HELP workqueue_retries Keys added with a delay.\n"
        "workqueue_retries_total{name=\"a \\\"name\\\"\"} 1\n"
        "# TYPE workqueue_failing_keys gauge\n"
        "# HELP workqueue_failing_keys Keys that were added with the delay of the rate limits and not forgotten.\n"
        "workqueue_failing_keys{name=\"a \\\"name\\\"\"} 0\n"
        "# EOF\n");
    ki_metrics_text_free(text);
    ki_metrics_text_free(NULL);
    queue_stage_close(&stage);
}

TEST(times_are_those_of_the_key_s_way_through_the_queue) {
    for (int by_priority = 0; by_priority < 2; by_priority++) {
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .by_priority = by_priority));
        queue_play(&stage, "+a");
        assert_samples(&stage, "depth 1 adds_total 1 queue_duration_seconds_count 0 queue_duration_seconds_sum 0 "
                               "work_duration_seconds_count 0 work_duration_seconds_sum 0 unfinished_work_seconds 0 "
                               "longest_running_processor_seconds 0 retries_total 0 failing_keys 0");
        stage.engine.now += 500000;
        queue_play(&stage, "=a +a +a +a");
        assert_samples(&stage,
                       "depth 1 adds_total 2 queue_duration_seconds_count 1 queue_duration_seconds_sum 0.000500000 "
                       "work_duration_seconds_count 0 work_duration_seconds_sum 0 unfinished_work_seconds 0 "
                       "longest_running_processor_seconds 0 retries_total 0 failing_keys 0");
        stage.engine.now += 250000;
        queue_play(&stage, "-a =a");
        stage.engine.now += 1000000;
        assert_samples(&stage,
                       "depth 0 adds_total 2 queue_duration_seconds_count 2 queue_duration_seconds_sum 0.000750000 "
                       "work_duration_seconds_count 1 work_duration_seconds_sum 0.000250000 "
                       "unfinished_work_seconds 0.001000000 longest_running_processor_seconds 0.001000000 "
                       "retries_total 0 failing_keys 0");
        queue_play(&stage, "-a");
        assert_samples(&stage,
                       "depth 0 adds_total 2 queue_duration_seconds_count 2 queue_duration_seconds_sum 0.000750000 "
                       "work_duration_seconds_count 2 work_duration_seconds_sum 0.001250000 "
                       "unfinished_work_seconds 0 longest_running_processor_seconds 0 retries_total 0 failing_keys 0");
        queue_stage_close(&stage);
    }
}

TEST(a_worker_that_never_comes_back_is_seen) {
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

TEST(a_queue_without_a_name_only_counts) {
    queue_stage stage;
    queue_stage_open(&stage, NULL);
    queue_play(&stage, "+a +b +c! =a ~100 -a =b");
    assert_samples(&stage, "depth 1 adds_total 3 retries_total 1 failing_keys 1");
    queue_stage_close(&stage);
}

TEST(retries_are_counted_as_by_the_one_it_is_like) {
    static const struct {
        bool by_priority;
        const char *play, *want;
    } cases[] = {
        { false, "+a@5 +a@0 +b! +c^1@7 +c", "depth 2 adds_total 2 retries_total 4 failing_keys 1" },
        { true, "+a@5 +a@0 +b! +c^1@7 +c", "depth 1 depth 1 adds_total 2 retries_total 3 failing_keys 1" },
        { true, "+a +a@5 =a", "depth 0 adds_total 1 retries_total 1 failing_keys 0" },
        { true, "+a@5 +a +a ~10 =a -a", "depth 0 adds_total 1 retries_total 1 failing_keys 0" },
        { true, "+a =a +a +b =b", "depth 1 adds_total 3 retries_total 0 failing_keys 0" },
        { false, "x +a +b@1 +c!", "depth 0 adds_total 0 retries_total 0 failing_keys 0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.by_priority = cases[i].by_priority));
        queue_play(&stage, cases[i].play);
        assert_samples(&stage, cases[i].want);
        queue_stage_close(&stage);
    }
}

TEST(the_samples_of_several_queues_may_stand_together) {
    queue_stage stage;
    ki_workqueue *other = NULL;
    char *text = NULL;
    ki_openmetrics both;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "one"));
    assert_int_equal(ki_workqueue_new(stage.engine.engine, &KI_WORKQUEUE_OPTIONS(.name = "two"), &other, NULL), KI_OK);
    queue_play(&stage, "+a");
    ki_openmetrics_init(&both, ki_engine_allocator(stage.engine.engine));
    assert_int_equal(ki_workqueue_visit_metrics(stage.queue, ki_openmetrics_add, &both, NULL), KI_OK);
    assert_int_equal(ki_workqueue_visit_metrics(other, ki_openmetrics_add, &both, NULL), KI_OK);
    assert_int_equal(ki_openmetrics_end(&both, &text), KI_OK);
    assert_non_null(strstr(text, "# TYPE workqueue_adds counter\n# HELP workqueue_adds Keys queued.\n"
                                 "workqueue_adds_total{name=\"one\"} 1\nworkqueue_adds_total{name=\"two\"} 0\n"));
    ki_metrics_text_free(text);
    ki_workqueue_free(other);
    queue_stage_close(&stage);
}

/* Returns the first bound that holds the first key's time in the queue; NULL: infinity. */
static void note_bucket(const ki_sample *sample, void *user) {
    const char **ret_bound = user;
    if (strcmp(sample->metric->name, "workqueue_queue_duration_seconds") != 0)
        return;
    assert_int_equal(sample->count, 1);
    size_t at = 0;
    while (at < sample->metric->bound_count && sample->buckets[at] == 0)
        at++;
    *ret_bound = at < sample->metric->bound_count ? sample->metric->bounds[at].text : "+Inf";
    for (; at < sample->metric->bound_count; at++)
        assert_int_equal(sample->buckets[at], 1);
}

TEST(a_duration_is_in_the_first_bucket_that_holds_it_and_all_above) {
    static const struct {
        int64_t ns;
        const char *bound;
    } cases[] = {
        { 0, "1e-08" },
        { 10, "1e-08" },
        { 11, "1e-07" },
        { 1000, "1e-06" },
        { 1001, "9.999999999999999e-06" }, /* Go's bound is a little less than 10 microseconds */
        { 9999, "9.999999999999999e-06" },
        { 10000, "9.999999999999999e-05" },
        { 1000000, "0.001" },
        { 1000001, "0.01" },
        { 999999999, "1.0" },
        { INT64_C(1000000000000), "1000.0" },
        { INT64_C(1000000000001), "+Inf" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *bound = NULL;
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test"));
        queue_play(&stage, "+a");
        stage.engine.now += cases[i].ns;
        queue_play(&stage, "=a");
        assert_int_equal(ki_workqueue_visit_metrics(stage.queue, note_bucket, &bound, NULL), KI_OK);
        assert_string_equal(bound, cases[i].bound);
        queue_stage_close(&stage);
    }
}

/* The depths of a queue by priority: "3:1 0:2". */
static void note_depth(const ki_sample *sample, void *user) {
    char *depths = user;
    size_t used = strlen(depths);
    if (strcmp(sample->metric->name, "workqueue_depth") != 0)
        return;
    assert_int_equal(sample->label_count, 2);
    assert_string_equal(sample->labels[1].name, "priority");
    snprintf(depths + used, TEXT - used, "%s%s:%g", used ? " " : "", sample->labels[1].value, sample->value);
}

TEST(a_queue_by_priority_has_the_depth_of_each) {
    static const struct {
        const char *play, *want;
    } cases[] = {
        { "", "" },
        { "+a", "0:1" },
        { "+a +b^3 +c", "0:2 3:1" },
        { "+a +b^3 =b", "0:1 3:0" },
        { "+a +b +a^5", "0:1 5:1" },              /* a queued key that is raised */
        { "+a^2 =a +a^-1 +a^4", "2:0 -1:0 4:1" }, /* while it is processed */
        { "+a^2 =a +a^-1 -a =a", "2:0 -1:0" },
        { "+a^7@5", "" }, /* it waits */
        { "+a^7@5 ~10", "7:1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char depths[TEXT] = "";
        queue_stage stage;
        queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .by_priority = true));
        queue_play(&stage, cases[i].play);
        assert_int_equal(ki_workqueue_visit_metrics(stage.queue, note_depth, depths, NULL), KI_OK);
        assert_string_equal(depths, cases[i].want);
        queue_stage_close(&stage);
    }
}

TEST(priorities_beyond_the_25th_share_a_depth) {
    enum {
        PRIORITIES = 30
    };
    char depths[TEXT] = "", play[32];
    queue_stage stage;
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test", .by_priority = true));
    for (int i = 0; i < PRIORITIES; i++) {
        snprintf(play, sizeof play, "+k%02d^%d", i, i);
        queue_play(&stage, play);
    }
    assert_int_equal(ki_workqueue_visit_metrics(stage.queue, note_depth, depths, NULL), KI_OK);
    assert_non_null(strstr(depths, "0:1 1:1 2:1 "));
    assert_non_null(strstr(depths, " 24:1 exceeded_cardinality_limit:5"));
    depths[0] = '\0';
    queue_play(&stage, "=k29 =k28 =k27 =k26 =k25 =k24 =k23");
    assert_int_equal(ki_workqueue_visit_metrics(stage.queue, note_depth, depths, NULL), KI_OK);
    assert_non_null(strstr(depths, " 22:1 23:0 24:0 exceeded_cardinality_limit:0"));
    queue_stage_close(&stage);
}

TEST(a_text_without_memory_fails_and_leaks_nothing) {
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

/* --- a program's library ------------------------------------------------------------------------------------------ */

static void check_labels(const ki_sample *sample, void *user) {
    ki_workqueue *const *queue = user;
    assert_int_equal(sample->label_count, 1);
    assert_string_equal(sample->labels[0].name, "name");
    assert_string_equal(sample->labels[0].value, "test");
    (void)ki_workqueue_length(*queue); /* no lock is held */
}

TEST(a_program_s_library_gets_every_sample) {
    queue_stage stage;
    metrics_library library = { .common_labels = 1, .on_sample = check_labels, .user = &stage.queue };
    queue_stage_open(&stage, &KI_WORKQUEUE_OPTIONS(.name = "test"));
    queue_play(&stage, "+a +a +b@500 ~1000 =a ~2000 -a");
    assert_int_equal(ki_workqueue_visit_metrics(stage.queue, metrics_library_visit, &library, NULL), KI_OK);
    metrics_library_expect(&library, "workqueue_adds+2 workqueue_queue_duration_seconds~1 "
                                     "workqueue_work_duration_seconds~2 workqueue_retries+1");
    queue_play(&stage, "=b ~3000");
    library.has_gauges = true;
    assert_int_equal(ki_workqueue_visit_metrics(stage.queue, metrics_library_visit, &library, NULL), KI_OK);
    metrics_library_expect(&library, "workqueue_depth=0 workqueue_queue_duration_seconds~2.5 "
                                     "workqueue_unfinished_work_seconds=3 "
                                     "workqueue_longest_running_processor_seconds=3 workqueue_failing_keys=0");
    queue_stage_close(&stage);
}
