/* test_missing_type.c: resources that come and go, and permissions: an informer waits, says why in words, and goes on
 * by itself; the objects of a custom resource go with its type. On a stepped engine. */

#include "src/object/resource_table.h"
#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 1100 /* objects: more than the queue keeps room for */
};

static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
static int requests; /* that were refused */

static void open_without_type(stage *s, observer *h, const ki_resource *resource, ki_shared_informer_options options,
                              const ki_allocator *allocator) {
    requests = 0;
    assert_int_equal(open_stage_of(s, resource, options, allocator), KI_OK);
    s->source.type = KI_TYPE_MISSING;
    add_observer(h, s, NULL);
    start_stage(s);
}

static void open_of(stage *s, observer *h, const ki_resource *resource) {
    open_without_type(s, h, resource, (ki_shared_informer_options){ .factory = streaming_if(false) }, NULL);
}

/* Whatever is asked for so long is refused in this way. */
static void refuse(stage *s, const char *how, int seconds) {
    char line[32];
    snprintf(line, sizeof line, "fail %s", how);
    for (int i = 0; i <= seconds * 10; i++) {
        for (; s->source.lists || s->source.watches; requests++)
            play_each(s, line);
        if (s->source.on_found)
            play_each(s, "type");
        if (i < seconds * 10)
            play(s, "wait 100");
    }
}

/* Up to the next list. */
static void await_list(stage *s) {
    for (int i = 0; !s->source.lists && i < 301; i++)
        play(s, "wait 100");
    assert_true(s->source.lists); /* within 30 s */
}

/* --- before the first list ---------------------------------------------------------------------------------------- */

TEST(what_is_rejected_is_waited_for_and_said_in_words) {
    static const ki_resource nodes = { "", "v1", "nodes", "Node", false };
    static const ki_resource classes = { "storage.k8s.io", "v1", "storageclasses", "StorageClass", false };
    static const struct {
        const ki_resource *resource;
        const char *namespace_name, *how, *words;
    } cases[] = {
        { &classes, NULL, "404", "the server has no storageclasses in version storage.k8s.io/v1" },
        { &nodes, NULL, "403", "forbidden: list nodes" },
        { &foos, NULL, "404", "the CRD foos.example.com is not installed, or not in version v1" },
        { &configmaps, NULL, "404", "the server has no configmaps in version v1" },
        { &configmaps, NULL, "403", "forbidden: list configmaps in all namespaces" },
        { &foos, "shop", "403", "forbidden: list foos.example.com in namespace shop" },
        { &foos, NULL, "401", "unauthorized: the server does not accept the credentials" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_without_type(&s, &h, cases[i].resource,
                          (ki_shared_informer_options){ .given.namespace_name = cases[i].namespace_name,
                                                        .factory = streaming_if(false) },
                          NULL);
        refuse(&s, cases[i].how, 600);
        ki_health health = health_of(&s);
        assert_int_equal(health.state, KI_STATE_BLOCKED);
        assert_string_equal(health.message, cases[i].words);
        char why[KI_INFORMER_WHY_MAX], expected[KI_INFORMER_WHY_MAX];
        snprintf(expected, sizeof expected, "blocked: %s", cases[i].words);
        assert_string_equal(ki_informer_why(s.informer, why), expected);
        assert_in_range(health.retry_in_ms, 0, 30000);
        assert_int_equal(health.next, KI_ATTEMPT_LIST);
        assert_in_range(requests, 600 / 30, 6 + 600 / 15 + 1); /* neither rarely nor all the time */
        assert_false(ki_informer_has_synced(s.informer));
        await_list(&s);
        play_each(&s, LISTED);
        assert_true(ki_informer_has_synced(s.informer));
        assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
        assert_string_equal(health_of(&s).message, "");
        expect(&h, "+a=5i +b=6i synced");
        close_stage(&s);
    }
}

TEST(what_is_no_api_server_is_called_that) {
    static const char *const rows[][2] = {
        { "418", "not a Kubernetes API server: HTTP 418" },
        { "protocol", "not a Kubernetes API server: protocol" },
        { "404", "the CRD foos.example.com is not installed, or not in version v1" },
        { "503", "HTTP 503" }, /* can be a proxy's */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        observer h;
        open_of(&s, &h, &foos);
        refuse(&s, rows[i][0], 10);
        assert_string_equal(health_of(&s).message, rows[i][1]);
        await_list(&s);
        play_each(&s, LISTED "; wait 2000; fail protocol"); /* a fault of a server that it has listed from */
        assert_string_equal(health_of(&s).message, "protocol");
        close_stage(&s);
    }
}

TEST(a_request_that_waits_for_credentials_is_not_the_server_s) {
    for (int streams = 0; streams < 2; streams++) {
        stage s;
        observer h;
        open_without_type(&s, &h, &foos, (ki_shared_informer_options){ .factory = streaming_if(streams) }, NULL);
        s.source.waits_for = "the plugin has not ended yet";
        play(&s, "wait 5000");
        assert_int_equal(health_of(&s).state, KI_STATE_CONNECTING);
        assert_string_equal(health_of(&s).message, "no request sent for 5 s: the plugin has not ended yet");
        assert_int_equal(health_of(&s).cause.category, KI_CATEGORY_CREDENTIALS);
        s.source.waits_for = NULL;
        play(&s, "wait 5000");
        assert_string_equal(health_of(&s).message, "no response for 10 s");
        close_stage(&s);
    }
}

TEST(a_server_that_accepts_and_is_silent_is_reported_within_five_seconds) {
    for (int streams = 0; streams < 2; streams++) {
        stage s;
        observer h;
        open_without_type(&s, &h, &foos, (ki_shared_informer_options){ .factory = streaming_if(streams) }, NULL);
        play(&s, "wait 4999");
        assert_string_equal(health_of(&s).message, "");
        play(&s, "wait 1");
        assert_int_equal(health_of(&s).state, KI_STATE_CONNECTING);
        assert_string_equal(health_of(&s).message, "no response for 5 s");
        play(&s, "wait 5000");
        assert_string_equal(health_of(&s).message, "no response for 10 s");
        play_each(&s, streams ? "open; initial-end 10" : LISTED);
        assert_string_equal(health_of(&s).message, "");
        assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
        play(&s, "wait 60000"); /* a quiet watch is none */
        assert_string_equal(health_of(&s).message, "");
        close_stage(&s);
    }
}

TEST(the_last_failure_is_reported_while_it_is_tried_again) {
    stage s;
    observer h;
    open_of(&s, &h, &foos);
    play_each(&s, "fail 403");
    await_list(&s);
    assert_int_equal(health_of(&s).state, KI_STATE_CONNECTING);
    assert_string_equal(health_of(&s).message, "forbidden: list foos.example.com in all namespaces");
    play_each(&s, LISTED);
    assert_string_equal(health_of(&s).message, "");
    close_stage(&s);
}

TEST(a_list_that_the_server_rejects_as_wrong_blocks) {
    stage s;
    observer h;
    open_of(&s, &h, &foos);
    play_each(&s, "fail 400");
    assert_int_equal(health_of(&s).state, KI_STATE_BLOCKED);
    close_stage(&s);
}

/* --- after it ----------------------------------------------------------------------------------------------------- */

TEST(the_objects_of_a_custom_resource_go_with_its_type_and_come_back) {
    for (int streams = 0; streams < 2; streams++) {
        stage s;
        observer h;
        open_without_type(&s, &h, &foos, (ki_shared_informer_options){ .factory = streaming_if(streams) }, NULL);
        play_each(&s, streams ? "open; +a=5; +b=6; initial-end 10" : LISTED);
        expect(&h, "+a=5i +b=6i synced");
        play_each(&s, "error 404");
        refuse(&s, "404", 59);
        expect(&h, "");
        assert_int_equal(health_of(&s).state, KI_STATE_BLOCKED);
        assert_int_equal(health_of(&s).objects, 2);
        refuse(&s, "404", 31);
        expect(&h, "?a=5 ?b=6");
        assert_int_equal(health_of(&s).state, KI_STATE_BLOCKED);
        assert_int_equal(health_of(&s).objects, 0);
        refuse(&s, "404", 300);
        expect(&h, ""); /* once */
        s.source.trace[0] = '\0';
        for (int i = 0; !(s.source.lists || s.source.watches) && i < 301; i++)
            play(&s, "wait 100");
        assert_string_equal(s.source.trace, streams ? "stream" : "list limit=500"); /* not from a cache that lags */
        play_each(&s, streams ? "open; +a=20; initial-end 21; ~a=22" : "{21: a=20}; open; ~a=22");
        expect(&h, "+a=20 ~a=20>22");
        assert_int_equal(health_of(&s).state, KI_STATE_WATCHING);
        /* And goes again. */
        play_each(&s, "error 404");
        refuse(&s, "404", 151);
        expect(&h, "?a=22");
        close_stage(&s);
    }
}

TEST(nothing_else_takes_objects_for_gone) {
    static const ki_resource crds = { "apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                      "CustomResourceDefinition", false };
    static const ki_resource news = { "new.k8s.io", "v1", "news", "News", true };
    static const struct {
        const ki_resource *resource;
        const char *how;
    } cases[] = { { &configmaps, "404" }, { &crds, "404" }, { &news, "404" }, { &foos, "403" },
                  { &foos, "401" },       { &foos, "500" }, { &foos, "410" }, { &foos, "connect" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        observer h;
        open_of(&s, &h, cases[i].resource);
        play_each(&s, LISTED);
        expect(&h, "+a=5i +b=6i synced");
        play_each(&s, "error 500");
        refuse(&s, cases[i].how, 600);
        expect(&h, "");
        assert_int_equal(health_of(&s).objects, 2);
        close_stage(&s);
    }
}

TEST(another_response_in_between_begins_the_count_anew) {
    stage s;
    observer h;
    open_of(&s, &h, &foos);
    play_each(&s, LISTED);
    expect(&h, "+a=5i +b=6i synced");
    play_each(&s, "error 404");
    for (int i = 0; i < 10; i++) {
        refuse(&s, "404", 45);
        for (int wait = 0; !s.source.lists && wait < 301; wait++)
            play(&s, "wait 100");
        play_each(&s, "fail 500");
    }
    expect(&h, "");
    refuse(&s, "404", 150);
    expect(&h, "?a=5 ?b=6");
    close_stage(&s);
}

TEST(two_responses_far_apart_are_not_enough) {
    stage s;
    observer h;
    open_of(&s, &h, &foos);
    play_each(&s, LISTED "; error 404");
    play(&s, "wait 120000"); /* the next response takes so long */
    play_each(&s, "fail 404");
    expect(&h, "+a=5i +b=6i synced");
    await_list(&s);
    refuse(&s, "404", 31);
    expect(&h, "?a=5 ?b=6");
    close_stage(&s);
}

/* A proxy's "not found" is no word of the API server. */
TEST(a_bare_404_empties_nothing_unless_discovery_says_so) {
    static const struct {
        const char *how;
        ki_type_found found;
        bool is_gone, asks;
    } rows[] = {
        { "404", KI_TYPE_UNCERTAIN, false, true },
        { "404", KI_TYPE_THERE, false, true },
        { "404", KI_TYPE_MISSING, true, true },
        { "404NotFound", KI_TYPE_UNCERTAIN, true, false }, /* a Status */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s;
        observer h;
        open_of(&s, &h, &foos);
        s.source.type = rows[i].found;
        play_each(&s, LISTED);
        h.notes[0] = '\0';
        play_each(&s, "error 404");
        refuse(&s, rows[i].how, 200);
        expect(&h, rows[i].is_gone ? "?a=5 ?b=6" : "");
        assert_int_equal(strstr(s.source.trace, "find type") != NULL, rows[i].asks);
        close_stage(&s);
    }
}

TEST(without_memory_for_it_they_go_a_little_later) {
    stage s;
    observer h;
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    open_without_type(&s, &h, &foos, (ki_shared_informer_options){ .factory = streaming_if(false) }, &memory.allocator);
    for (int i = 0; i < MANY; i++) {
        char line[64];
        snprintf(line, sizeof line, "a%d=5", i);
        play_each(&s, line);
    }
    play_each(&s, "{10:}; open");
    assert_int_equal(health_of(&s).objects, MANY);
    play_each(&s, "error 404");
    refuse(&s, "404", 59);
    memory.fail_at = atomic_load(&memory.calls);
    memory.forever = true;
    refuse(&s, "404", 60);
    assert_true(scarce_memory_failed(&memory));
    assert_int_equal(health_of(&s).objects, MANY);
    memory.forever = false;
    refuse(&s, "404", 31);
    assert_int_equal(health_of(&s).objects, 0);
    close_stage(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(only_what_can_be_nothing_else_is_custom) {
    static const struct {
        const char *group;
        bool is_custom;
    } cases[] = {
        { "", false },
        { "apps", false },
        { "networking.k8s.io", false },
        { "some-new.k8s.io", false },
        { "example.com", true },
        { "gateway.networking.k8s.io", true },
        { "cluster.x-k8s.io", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_resource resource = { cases[i].group, "v1", "foos", "Foo", true };
        assert_int_equal(ki_resource_is_custom(&resource), cases[i].is_custom);
    }
}

WITH_BOTH_QUEUES;
