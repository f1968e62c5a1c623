/* test_metrics.c: what informers count and how old they say they are; the text of a factory, read by a strict little
 * parser; a program's own metrics library. Informers have a source played by hand (fake_list_watch.h), factories a
 * server within the process. */

#include <kinformer/kinformer.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/factory/factory.h"
#include "src/object/format.h"
#include "testing/memory/transport.h"
#include "tests/support/informer_stage.h"
#include "tests/support/metrics_library.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };

/* The factory that is called from inside, or NULL, and what it returned. */
typedef struct inside {
    ki_factory *factory;
    ki_status status;
} inside;

static void check_labels(const ki_sample *sample, void *user) {
    inside *self = user;
    assert_string_equal(sample->labels[0].name, "name");
    if (strncmp(sample->metric->name, "rest_client_", strlen("rest_client_")) == 0)
        return;
    assert_true(sample->label_count == KI_INFORMER_LABELS || sample->label_count == KI_INFORMER_LABELS + 1);
    assert_string_equal(sample->labels[3].name, "resource");
    assert_non_null(sample->informer);
    assert_null(sample->elector);
    if (self->factory)
        self->status = ki_factory_wait_for_sync(self->factory, 0, NULL, NULL);
}

/* --- an informer -------------------------------------------------------------------------------------------------- */

static inside no_factory;
static metrics_library library;

static void open_measured(stage *s, const ki_resource *resource, const char *namespace_name, bool streams) {
    library = (metrics_library){ .common_labels = KI_INFORMER_LABELS, .on_sample = check_labels, .user = &no_factory };
    const ki_shared_informer_options options = { .factory = streaming_if(streams),
                                                 .given.namespace_name = namespace_name };
    assert_int_equal(open_stage_of(s, resource, options, NULL), KI_OK);
    start_stage(s);
}

static ki_sample processing; /* informer_processing_latency_seconds, as last seen */

static void visit(const ki_sample *sample, void *user) {
    if (strcmp(sample->metric->name, "informer_processing_latency_seconds") == 0) {
        processing = *sample;
        processing.buckets = NULL;
    } else {
        metrics_library_visit(sample, user);
    }
}

/* Collects the samples and asserts the notes of all but the processing latency, which each change observes. */
static void expect_samples(const stage *s, const char *notes) {
    assert_int_equal(ki_metrics_visit_informer(s->informer, &(ki_metrics_visit){ visit, &library }), KI_OK);
    metrics_library_expect(&library, notes);
}

TEST(a_list_and_a_watch_are_counted_as_client_go_does) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    expect_samples(&s, "reflector_lists+1");
    play_each(&s, "a=5; wait 1500; {10 t:}; {10: b=6}");
    expect_samples(&s, "reflector_list_duration_seconds~1.5 reflector_items_per_list~2");
    play_each(&s, "open");
    expect_samples(&s, "reflector_watches+1");
    play_each(&s, "+c=11; bookmark 12; wait 2000; close");
    expect_samples(&s, "informer_events+1 reflector_watch_duration_seconds~2 reflector_items_per_watch~2");
    play_each(&s, "open; close");
    expect_samples(
        &s, "reflector_watches+1 reflector_short_watches+1 informer_failures+1 "
            "informer_relists/protocol violation+1 reflector_watch_duration_seconds~0 reflector_items_per_watch~0");
    close_stage(&s);
}

TEST(a_streaming_list_is_a_list_and_then_a_watch) {
    stage s;
    open_measured(&s, &configmaps, NULL, true);
    expect_samples(&s, "reflector_lists+1");
    play_each(&s, "open; +a=5; +b=6; wait 3000; initial-end 10");
    expect_samples(&s, "reflector_watches+1 reflector_list_duration_seconds~3 reflector_items_per_list~2");
    play_each(&s, "~a=11; wait 1000; error 410");
    expect_samples(&s, "informer_events+1 informer_failures+1 informer_relists/expired+1 "
                       "reflector_watch_duration_seconds~1 reflector_items_per_watch~1");
    close_stage(&s);
}

TEST(lists_after_the_first_are_counted_by_cause) {
    static const struct {
        const char *script;
        int cause;
    } rows[] = {
        { "error 410", KI_ERR_EXPIRED },
        { "error 500", KI_ERR_HTTP },
        { "fail protocol", KI_ERR_PROTOCOL },
        { "~a=12; error 500; wait 1600; fail toolarge", KI_ERR_TOO_LARGE_RV },
        { "+b=3; wait 5000; close", KI_RELIST_OLDER_CHANGE },
        { "~a=12; -a=12; wait 5000; close", KI_RELIST_OLDER_CHANGE },
        { "error 410; wait 1600; {-:}; open; +b=3; wait 5000; close", KI_RELIST_NO_VERSION },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        open_measured(&s, &configmaps, NULL, false);
        play_each(&s, "{10: a=5}; open");
        play_each(&s, rows[i].script);
        assert_int_equal(s.informer->metrics.relists[rows[i].cause], 1);
        close_stage(&s);
    }
}

TEST(a_plain_list_in_place_of_a_streaming_list_is_the_same_relist) {
    static const char *const scripts[] = {
        "fail 400; {12: a=5}",                 /* a server without streaming lists */
        "fail 422; {12: a=5}",                 /* the same */
        "fail 422+5000; wait 5000; {12: a=5}", /* the same, which asks for a pause */
        "open; +a=5; wait 30000; {12: a=5}",   /* the stream is silent */
        "open; close; {12: a=5}",              /* it is closed before its first event */
    };
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        stage s;
        uint64_t relists = 0;
        open_measured(&s, &configmaps, NULL, true);
        play_each(&s, "open; +a=5; initial-end 10; error 410; wait 1600");
        play_each(&s, scripts[i]);
        for (int cause = 0; cause < KI_RELIST_CAUSES; cause++)
            relists += s.informer->metrics.relists[cause];
        assert_int_equal(relists, 1);
        assert_int_equal(s.informer->metrics.relists[KI_ERR_EXPIRED], 1);
        close_stage(&s);
    }
}

TEST(a_first_list_that_fails_is_no_relist) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "fail 500; wait 1600; fail 500");
    for (int cause = 0; cause < KI_RELIST_CAUSES; cause++)
        assert_int_equal(s.informer->metrics.relists[cause], 0);
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_FAILURES], 2);
    close_stage(&s);
}

TEST(objects_skipped_and_index_errors_are_counted) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: b=! a=5}; open; b=!");
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_SKIPPED], 2);
    assert_int_equal(health_of(&s).skipped, 2);
    close_stage(&s);
}

TEST(fields_that_do_not_fit_their_view_are_counted) {
    static const ki_field fields[] = { { "metadata.name", 0, sizeof(int64_t), KI_FIELD_TYPE_INT64, NULL },
                                       KI_FIELD_END };
    const ki_object_format_options with_view = KI_OBJECT_FORMAT_OPTIONS(.view = fields);
    ki_shared_informer_options options = { .factory = streaming_if(false) };
    assert_int_equal(ki_object_format_new(&ki_allocator_default, &with_view, &options.format, NULL), KI_OK);
    stage s;
    library = (metrics_library){ .common_labels = KI_INFORMER_LABELS, .on_sample = check_labels, .user = &no_factory };
    assert_int_equal(open_stage_of(&s, &configmaps, options, NULL), KI_OK);
    start_stage(&s);
    static const char json[] = "{\"metadata\":{\"name\":\"a\"}}";
    ki_object *obj = NULL;
    assert_int_equal(ki_informer_object_from_json(s.informer, json, sizeof json - 1, &obj, NULL), KI_OK);
    assert_int_equal(*(const int64_t *)ki_object_view(obj), 0);
    ki_object_unref(obj);
    expect_samples(&s, "reflector_lists+1 informer_view_mismatches+1");
    close_stage(&s);
    ki_object_format_unref(options.format);
}

static ki_sample last_version;

static void take_version(const ki_sample *sample, void *user) {
    (void)user;
    if (strcmp(sample->metric->name, "informer_store_resource_version") == 0)
        last_version = *sample;
}

/* A double holds no more digits. client-go cuts them as well (parseRVForMetricsWithTruncation). */
TEST(the_store_s_version_has_its_last_15_digits) {
    static const struct {
        const char *line;
        double value; /* -1: no sample */
    } cases[] = {
        { "bookmark 11", 11 },
        { "bookmark 999999999999999", 999999999999999 },
        { "bookmark 1234567890123456789", 567890123456789 },
        { "bookmark 20000000000000000007", 7 },
        { "bookmark v30000000000000000007", -1 },
    };
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: a=5}; open");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        play_each(&s, cases[i].line);
        last_version.value = -1;
        assert_int_equal(ki_metrics_visit_informer(s.informer, &(ki_metrics_visit){ take_version, NULL }), KI_OK);
        assert_true(last_version.value == cases[i].value);
    }
    close_stage(&s);
}

static void take_time(const ki_event *event, void *user) {
    stage *s = user;
    (void)event;
    s->engine.now += KI_MILLISECONDS(30);
}

/* What a handler on the loop does is not part of it: as in client-go, handlers have a queue of their own. */
TEST(processing_is_observed_once_for_each_pop) {
    stage s;
    const ki_handler slow = { .on_add = take_time, .on_update = take_time };
    open_measured(&s, &configmaps, NULL, false);
    assert_int_equal(
        ki_informer_add_handler(s.informer, &slow, &s, &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, NULL), KI_OK);
    play_each(&s, "{10: a=5}; open");
    expect_samples(
        &s, "reflector_lists+1 reflector_watches+1 reflector_list_duration_seconds~0 reflector_items_per_list~1");
    uint64_t before = processing.count;
    play_each(&s, "~a=11; ~a=12");
    expect_samples(&s, "informer_events+2");
    assert_int_equal(processing.count - before, 2);
    assert_true(processing.value == 0);
    assert_int_equal(processing.metric->bound_count, 12);
    close_stage(&s);
}

TEST(bytes_held_are_those_of_the_objects_in_the_store) {
    stage s;
    char notes[512];
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: a=5 b=6}; open; ~a=1100; -b=1101");
    ki_object *a = ki_informer_get(s.informer, "default/a");
    size_t memory = ki_object_memory(a);
    ki_object_unref(a);
    library.has_gauges = true;
    snprintf(
        notes, sizeof notes,
        "reflector_lists+1 reflector_watches+1 informer_events+2 reflector_list_duration_seconds~0 "
        "reflector_items_per_list~2 informer_store_resource_version=1101 informer_objects=1 informer_object_bytes=%zu "
        "informer_queued_items=0 informer_synced=1 informer_staleness_seconds=0",
        memory);
    expect_samples(&s, notes);
    play_each(&s, "-a=1102");
    expect_samples(&s,
                   "informer_events+1 informer_store_resource_version=1102 informer_objects=0 "
                   "informer_object_bytes=0 informer_queued_items=0 informer_synced=1 informer_staleness_seconds=0");
    close_stage(&s);
}

/* --- health ------------------------------------------------------------------------------------------------------- */

TEST(the_age_is_counted_from_the_last_word_of_the_server) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    assert_int_equal(health_of(&s).staleness_ms, -1);
    play_each(&s, "a=5; wait 3000");
    assert_int_equal(health_of(&s).staleness_ms, -1);
    play_each(&s, "{10:}");
    assert_int_equal(health_of(&s).staleness_ms, 3000); /* since the list was asked for */
    play_each(&s, "open; wait 1000");
    assert_int_equal(health_of(&s).staleness_ms, 4000);
    play_each(&s, "+b=11");
    assert_int_equal(health_of(&s).staleness_ms, 0);
    play_each(&s, "wait 10000; byte; wait 500");
    assert_int_equal(health_of(&s).staleness_ms, 10500); /* what it is saying is not in the store */
    play_each(&s, "~b=12; wait 500");
    assert_int_equal(health_of(&s).staleness_ms, 500);
    play_each(&s, "bookmark 20; wait 700; error 500; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 800); /* and nothing that is not a watch makes it younger */
    play_each(&s, "wait 1600; a=5; wait 1000");
    assert_true(health_of(&s).staleness_ms >= 3400);
    play_each(&s, "{30:}");
    assert_true(health_of(&s).staleness_ms >= 1000);
    assert_true(health_of(&s).staleness_ms < 3400);
    close_stage(&s);
}

/* A change arrives before the first list is processed: the queue is not empty at the sync. */
TEST(a_synced_informer_has_an_age) {
    for (int steps = 0; steps < 10; steps++) {
        stage s;
        open_measured(&s, &configmaps, NULL, false);
        play(&s, "a=5; b=6; wait 1000; {10:}");
        for (int i = 0; i < 30; i++) {
            if (i == steps && s.source.watches)
                play(&s, "open; +c=11; +d=12");
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
            if (ki_informer_has_synced(s.informer))
                assert_in_range(health_of(&s).staleness_ms, 0, 1000);
        }
        assert_true(ki_informer_has_synced(s.informer));
        close_stage(&s);
    }
}

/* An event that the watch repeats changes nothing: the queue stays empty. What arrived behind it is not in the store
 * all the same. */
TEST(events_that_wait_to_be_decoded_make_the_cache_no_younger) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: a=5}; open; bookmark 10; wait 5000");
    play_each(&s, "part +a=5; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 5100);
    play_each(&s, "part +b=11; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 5200);
    play_each(&s, "+b=12; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 100);
    play_each(&s, "part bookmark 13; wait 100; error 500; wait 100"); /* when the ERROR arrived is not known */
    assert_int_equal(health_of(&s).staleness_ms, 300);
    close_stage(&s);
}

/* A server that repeats or sends old states may lack what the cache has. */
TEST(events_that_are_dropped_make_the_cache_no_younger_and_are_counted) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{1000: a=5 b=7}; open; bookmark 1000; wait 5000; ~a=5; ~a=4; -b=6; -z=3; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 5100);
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_REPEATED], 3);
    play_each(&s, "~a=6; wait 100"); /* older than the list, and newer than the known state */
    assert_int_equal(health_of(&s).staleness_ms, 100);
    play_each(&s, "+c=1; wait 200");
    assert_int_equal(health_of(&s).staleness_ms, 200);
    assert_int_equal(s.informer->metrics.counters[KI_METRIC_REPEATED], 3);
    close_stage(&s);
}

/* The transfer was paused, or the host did not run the engine: what is read has waited in the socket. */
TEST(what_is_read_late_counts_from_its_arrival) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: a=5}; open; bookmark 10; wait 5000; late 3000; +b=11; ");
    assert_int_equal(health_of(&s).staleness_ms, 3000);
    play_each(&s, "late 8000; ~b=12; wait 100"); /* something later was read already */
    assert_int_equal(health_of(&s).staleness_ms, 3100);
    play_each(&s, "late 0; bookmark 13; wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 100);
    close_stage(&s);
}

/* An event of a version that the watch holds already moves nothing on: it is queued all the same. */
TEST(a_queued_event_makes_the_cache_no_younger) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{10: a=5}; open; bookmark 10; wait 5000");
    assert_int_equal(health_of(&s).staleness_ms, 5000);
    play(&s, "+b=10");
    assert_int_equal(health_of(&s).staleness_ms, 5000);
    play_each(&s, "wait 100");
    assert_int_equal(health_of(&s).staleness_ms, 100);
    close_stage(&s);
}

TEST(a_repeated_event_after_a_list_without_a_version_makes_the_cache_no_younger) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{-: a=100}; open; ~b=20; wait 5000; ~a=50");
    assert_int_equal(health_of(&s).staleness_ms, 5000);
    play_each(&s, "-c=60");
    assert_int_equal(health_of(&s).staleness_ms, 0);
    close_stage(&s);
}

/* Of a key that is unknown, or whose object is still queued: before the first version no event is a repeated one. */
TEST(a_deletion_before_the_first_version_makes_the_cache_younger) {
    stage s;
    open_measured(&s, &configmaps, NULL, false);
    play_each(&s, "{-: a=100}; open; wait 5000");
    assert_int_equal(health_of(&s).staleness_ms, 5000);
    play_each(&s, "-c=60");
    assert_int_equal(health_of(&s).staleness_ms, 0);
    close_stage(&s);
}

TEST(a_server_without_streaming_lists_is_no_failure) {
    static const char *const responses[] = { "fail 400", "fail 422" };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++) {
        stage s;
        open_measured(&s, &configmaps, NULL, true);
        play_each(&s, responses[i]);
        play_each(&s, "{10: a=5}; open; error 410; wait 1600");
        play_each(&s, responses[i]);
        play_each(&s, "{20: a=5}; open");
        assert_int_equal(s.informer->metrics.counters[KI_METRIC_FAILURES], 1);
        close_stage(&s);
    }
}

TEST(health_has_the_next_attempt_and_the_number_of_failures) {
    stage s;
    open_measured(&s, &configmaps, NULL, true);
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_NONE);
    play_each(&s, "fail connect");
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_STREAMING_LIST);
    assert_int_equal(health_of(&s).failures, 1);
    play_each(&s, "wait 1600; fail 400");
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_NONE); /* it is listing */
    play_each(&s, "fail 503");
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_STREAMING_LIST);
    assert_int_equal(health_of(&s).failures, 2);
    assert_true(health_of(&s).retry_in_ms > 0);
    play_each(&s, "wait 3200; fail 400; {10:}; fail 429");
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_WATCH);
    assert_int_equal(health_of(&s).failures, 1); /* the list has come */
    play_each(&s, "wait 12800; open; bookmark 11");
    assert_int_equal(health_of(&s).next, KI_ATTEMPT_NONE);
    assert_int_equal(health_of(&s).failures, 0);
    assert_string_equal(ki_attempt_name(KI_ATTEMPT_STREAMING_LIST), "streaming list");
    assert_string_equal(ki_attempt_name((ki_attempt)99), "unknown attempt");
    close_stage(&s);
}

TEST(it_says_why_in_a_person_s_words) {
    static const struct {
        const ki_resource *resource;
        const char *namespace_name, *fails;
        ki_state state;
        const char *words;
    } rows[] = {
        { &configmaps, NULL, "fail 403", KI_STATE_BLOCKED, "forbidden: list configmaps in all namespaces" },
        { &configmaps, NULL, "fail 403 configmaps is forbidden: User \"jane\" cannot list configmaps", KI_STATE_BLOCKED,
          "forbidden: list configmaps in all namespaces (user \"jane\")" },
        { &configmaps, NULL, "fail 403 User \"a\\\"b\" cannot", KI_STATE_BLOCKED,
          "forbidden: list configmaps in all namespaces (user \"a\\\"b\")" },
        { &configmaps, NULL, "fail 403 User \"cut", KI_STATE_BLOCKED, "forbidden: list configmaps in all namespaces" },
        { &configmaps, NULL, "fail 403 User \"cut\\", KI_STATE_BLOCKED,
          "forbidden: list configmaps in all namespaces" },
        { &configmaps, "team", "fail 403", KI_STATE_BLOCKED, "forbidden: list configmaps in namespace team" },
        { &foos, NULL, "{10:}; fail 403", KI_STATE_BLOCKED, "forbidden: watch foos.example.com in all namespaces" },
        { &foos, NULL, "fail 404", KI_STATE_BLOCKED,
          "the CRD foos.example.com is not installed, or not in version v1" },
        { &configmaps, NULL, "fail 404", KI_STATE_BLOCKED, "the server has no configmaps in version v1" },
        { &configmaps, NULL, "fail 401", KI_STATE_BLOCKED, "unauthorized: the server does not accept the credentials" },
        { &foos, NULL, "{-:}; fail 404", KI_STATE_BACKING_OFF,
          "cannot be watched (HTTP 404): foos.example.com in all namespaces is listed again and again" },
        { &configmaps, NULL, "{10:}; fail 405", KI_STATE_BACKING_OFF,
          "cannot be watched (HTTP 405): configmaps in all namespaces is listed again and again" },
        { &configmaps, NULL, "fail 429", KI_STATE_BACKING_OFF, "the server is too busy" },
        { &configmaps, NULL, "fail nomemory", KI_STATE_BACKING_OFF, "out of memory" },
        { &configmaps, NULL, "fail connect", KI_STATE_BACKING_OFF, "connect" },
        { &configmaps, NULL, "fail untrusted", KI_STATE_BLOCKED, "untrusted" },
        { &configmaps, NULL, "fail outdated", KI_STATE_BLOCKED, "outdated" },
        { &foos, NULL, "fail unsupported", KI_STATE_BLOCKED,
          "unsupported" }, /* such as a resource without the verb list */
        { &configmaps, NULL, "fail handshake", KI_STATE_BACKING_OFF, "handshake" },
        { &configmaps, NULL, "{10:}; open", KI_STATE_WATCHING, "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        open_measured(&s, rows[i].resource, rows[i].namespace_name, false);
        play_each(&s, rows[i].fails);
        ki_health health = health_of(&s);
        assert_int_equal(health.state, rows[i].state);
        assert_string_equal(health.message, rows[i].words);
        close_stage(&s);
    }
}

TEST(a_smaller_health_of_an_older_program_is_filled_so_far) {
    stage s;
    ki_health health;
    open_measured(&s, &configmaps, NULL, false);
    memset(&health, 0x55, sizeof health);
    ki_informer_health_sized(s.informer, &health, offsetof(ki_health, staleness_ms));
    assert_int_equal(health.state, KI_STATE_CONNECTING);
    assert_int_equal(health.staleness_ms, 0x5555555555555555);
    close_stage(&s);
}

/* --- a factory ---------------------------------------------------------------------------------------------------- */

static const ki_response_head ok = { 200, -1, "application/json" };
static const char list_text[] =
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":["
    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"team\",\"uid\":\"u1\",\"resourceVersion\":\"5\"}}]}";

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    int *exact = user;
    *exact += strstr(request->target, "resourceVersionMatch=Exact") != NULL;
    if (!kt_memory_call_head(call, &ok) || strstr(request->target, "watch=true"))
        return;
    if (kt_memory_call_data(call, list_text, sizeof list_text - 1))
        kt_memory_call_end(call, NULL);
}

static void abandoned(kt_memory_call *call, void *user) {
    (void)call;
    (void)user;
}

typedef struct host {
    test_engine engine;
    ki_transport *transport;
    ki_factory *factory;
    metrics_library library;
    inside inside;
    int exact;
} host;

static ki_status open_named_host(host *h, const ki_allocator *allocator, const char *name) {
    memset(h, 0, sizeof *h);
    if (!test_engine_open(&h->engine, allocator, 1))
        return KI_ERR_NO_MEMORY;
    const kt_memory_server server = { serve, abandoned, &h->exact };
    h->library =
        (metrics_library){ .common_labels = KI_INFORMER_LABELS, .on_sample = check_labels, .user = &h->inside };
    ki_status status = kt_memory_transport_new(h->engine.engine, &server, &h->transport, NULL);
    if (!status)
        status =
            ki_factory_new_on(NULL, h->transport,
                              &KI_FACTORY_OPTIONS(.engine = h->engine.engine, .name = name, .no_streaming_list = true),
                              &h->factory, NULL);
    return status;
}

static ki_status open_host(host *h, const ki_allocator *allocator) {
    return open_named_host(h, allocator, NULL);
}

static void close_host(host *h) {
    ki_factory_free(h->factory);
    ki_transport_free(h->transport);
    test_engine_close(&h->engine);
}

static void nothing(const ki_event *event, void *user) {
    (void)event;
    (void)user;
}

static ki_status add_informers(host *h) {
    const ki_handler handler = { .on_add = nothing };
    static const char *const labels[] = { NULL, "plain" }, *const fields[] = { "a=\"b\\\\c\nd\"", NULL };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < 2; i++) {
        ki_informer *informer = NULL;
        status = ki_factory_informer(h->factory, KI_CONFIGMAPS,
                                     &KI_INFORMER_OPTIONS(.namespace_name = "team", .label_selector = labels[i],
                                                          .field_selector = fields[i], .consistency_check_ms = 1),
                                     &informer, NULL);
        for (int handlers = 0; !status && handlers < 3; handlers++)
            status = ki_informer_add_handler(informer, &handler, NULL,
                                             &KI_REGISTRATION_OPTIONS(.name = handlers ? "same" : NULL), NULL, NULL);
    }
    return status ? status : ki_factory_start(h->factory, NULL);
}

TEST(the_text_is_strict_and_complete) {
    host h;
    char *text = NULL;
    assert_int_equal(open_host(&h, NULL), KI_OK);
    assert_int_equal(ki_factory_metrics_text(h.factory, &text, NULL), KI_OK); /* nothing there yet */
    openmetrics_read_strictly(text);
    ki_metrics_text_free(text);
    assert_int_equal(add_informers(&h), KI_OK);
    assert_true(test_engine_advance(&h.engine, 1234));
    assert_int_equal(ki_factory_metrics_text(h.factory, &text, NULL), KI_OK);
    openmetrics_read_strictly(text);
    static const char *const lines[] = {
        "\nreflector_lists_total{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",namespace=\"team\",label_"
        "selector="
        "\"\",field_selector=\"a=\\\"b\\\\\\\\c\\nd\\\"\",keep=\"object\"} 1\n",
        "label_selector=\"plain\",field_selector=\"\",keep=\"object\",handler=\"same\"} 0\n",
        "label_selector=\"plain\",field_selector=\"\",keep=\"object\",handler=\"handler\"} 0\n",
        "\ninformer_store_resource_version{",
        "\nreflector_items_per_list_count{",
        "\nreflector_items_per_list_sum{",
        "\nrest_client_requests_total{name=\"\",code=\"200\",method=\"GET\",host=\"none\"} ",
        "\nrest_client_request_duration_seconds_bucket{name=\"\",verb=\"GET\",host=\"none\",le=\"0.005\"} ",
        "\ninformer_processing_latency_seconds_count{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",",
        "\ninformer_queued_items{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",",
        ("\ninformer_staleness_seconds{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\",namespace=\"team\","
         "label_selector=\"plain\",field_selector=\"\",keep=\"object\"} 1.234000000\n"),
        "\n# TYPE informer_pending_notifications gauge\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("no %s in\n%s", lines[i], text);
    ki_metrics_text_free(text);
    ki_metrics_text_free(NULL);
    close_host(&h);
}

/* Two factories of one process, whose texts the program puts together: no line is in both. */
TEST(factories_with_names_have_no_series_in_common) {
    host hosts[2];
    char *texts[2];
    static const char *const names[] = { "one", "two" };
    for (int i = 0; i < 2; i++) {
        host *h = &hosts[i];
        assert_int_equal(open_named_host(h, NULL, names[i]), KI_OK);
        assert_int_equal(add_informers(h), KI_OK);
        assert_true(test_engine_advance(&h->engine, 0));
        assert_int_equal(ki_factory_metrics_text(h->factory, &texts[i], NULL), KI_OK);
        openmetrics_read_strictly(texts[i]);
    }
    assert_non_null(
        strstr(texts[0], "\nrest_client_requests_total{name=\"one\",code=\"200\",method=\"GET\",host=\"none\"} "));
    assert_non_null(
        strstr(texts[1], "\ninformer_queued_items{name=\"two\",group=\"\",version=\"v1\",resource=\"configmaps\","));
    for (const char *line = texts[0], *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        const char *value = memchr(line, '}', (size_t)(end - line));
        char series[1024];
        snprintf(series, sizeof series, "\n%.*s", value ? (int)(value - line) : 0, line);
        if (value && strstr(texts[1], series))
            fail_msg("both have %s", series + 1);
    }
    for (int i = 0; i < 2; i++) {
        ki_metrics_text_free(texts[i]);
        close_host(&hosts[i]);
    }
}

TEST(a_factory_s_name_has_a_limit) {
    char name[KI_FACTORY_NAME_MAX + 2];
    host h;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(open_named_host(&h, NULL, name), KI_ERR_LIMIT);
    close_host(&h);
    assert_int_equal(open_named_host(&h, NULL, name + 1), KI_OK);
    close_host(&h);
}

TEST(the_metrics_library_is_called_from_within_a_callback) {
    host h;
    assert_int_equal(open_host(&h, NULL), KI_OK);
    h.inside.factory = h.factory;
    h.library.has_gauges = true;
    assert_int_equal(add_informers(&h), KI_OK);
    assert_true(test_engine_advance(&h.engine, 0));
    assert_int_equal(ki_factory_visit_metrics(h.factory, metrics_library_visit, &h.library, NULL), KI_OK);
    assert_int_equal(h.inside.status, KI_ERR_DEADLOCK);
    assert_non_null(strstr(h.library.notes, "reflector_lists+1"));
    assert_non_null(strstr(h.library.notes, "informer_pending_notifications/same=0"));
    assert_non_null(strstr(h.library.notes, "informer_objects=1"));
    close_host(&h);
}

TEST(a_consistency_check_lists_beside_the_watch) {
    host h;
    ki_informer *informer = NULL;
    char *text = NULL;
    assert_int_equal(open_host(&h, NULL), KI_OK);
    assert_int_equal(add_informers(&h), KI_OK);
    assert_true(test_engine_advance(&h.engine, 10000)); /* less counts as that */
    assert_int_equal(ki_factory_metrics_text(h.factory, &text, NULL), KI_OK);
    assert_non_null(strstr(text, "\ninformer_consistency_checks_total{"));
    assert_non_null(strstr(strstr(text, "\ninformer_consistency_checks_total{"), "} 1\n"));
    ki_metrics_text_free(text);
    assert_int_equal(ki_factory_informer(h.factory, KI_CONFIGMAPS,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "team", .label_selector = "plain"),
                                         &informer, NULL),
                     KI_OK);
    ki_health health;
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    close_host(&h);
}

TEST(any_thread_may_ask_while_the_loop_works) {
    host h;
    memset(&h, 0, sizeof h);
    ki_engine *engine = NULL;
    const kt_memory_server server = { serve, abandoned, &h.exact };
    assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
    assert_int_equal(kt_memory_transport_new(engine, &server, &h.transport, NULL), KI_OK);
    assert_int_equal(ki_factory_new_on(NULL, h.transport,
                                       &KI_FACTORY_OPTIONS(.engine = engine, .no_streaming_list = true), &h.factory,
                                       NULL),
                     KI_OK);
    assert_int_equal(add_informers(&h), KI_OK);
    assert_int_equal(ki_engine_start(engine, NULL), KI_OK);
    bool synced = false;
    while (!synced) {
        char *text = NULL;
        ki_health health;
        ki_informer *informer = NULL;
        synced = ki_factory_has_synced(h.factory);
        assert_int_equal(ki_factory_metrics_text(h.factory, &text, NULL), KI_OK);
        openmetrics_read_strictly(text);
        ki_metrics_text_free(text);
        assert_int_equal(ki_factory_informer(h.factory, KI_CONFIGMAPS,
                                             &KI_INFORMER_OPTIONS(.namespace_name = "team", .label_selector = "plain"),
                                             &informer, NULL),
                         KI_OK);
        bool has_copy = ki_informer_has_synced(informer);
        ki_informer_health(informer, &health);
        assert_true(!has_copy || health.staleness_ms >= 0);
    }
    ki_factory_free(h.factory);
    ki_transport_free(h.transport);
    ki_engine_free(engine);
}

TEST(lack_of_memory_is_an_error) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        host h;
        ki_status status = open_host(&h, &memory.allocator);
        if (!status)
            status = add_informers(&h);
        if (!status) {
            char *text = NULL;
            test_engine_advance(&h.engine, 100);
            status = ki_factory_metrics_text(h.factory, &text, NULL);
            assert_true(status ? text == NULL : text != NULL);
            ki_metrics_text_free(text);
            status = ki_factory_visit_metrics(h.factory, metrics_library_visit, &h.library, NULL);
        }
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        if (h.factory)
            ki_factory_free(h.factory);
        if (h.transport)
            ki_transport_free(h.transport);
        if (h.engine.engine)
            test_engine_close(&h.engine);
    }
}
