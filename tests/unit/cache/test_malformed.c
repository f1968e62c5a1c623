/* test_malformed.c: everything malformed that a server may send, by kind, in every place where it may stand: an item of
 * a list, an event of a watch (added, modified, deleted), an event of a streaming list; a bookmark in both; an error
 * event in both; what a list says of itself. Of each: it is counted, it is reported with the key where there is one,
 * what is well formed on both sides of it arrives, and the version to go on from is the last good one. */

#include <kinformer/kinformer.h>

#include "tests/support/byte_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 2048,
    RESPONSE = 1 << 16,
    OBJECT_LIMIT = 8000,
    LARGE = 9000, /* bytes */
    DEEP = 600,   /* levels */
    NO_END_MS = 31000
};

#define OBJECT(name, version) BYTE_OBJECT(name, version)
#define LIST_HEAD(metadata) "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{" metadata "},\"items\":["
#define LIST_TAIL "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(metadata) \
    EVENT("BOOKMARK", "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{" metadata "}}")
#define END_AT(version) \
    BOOKMARK("\"resourceVersion\":\"" version "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}")

static const char good_list[] = LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("first", "5") LIST_TAIL;

static void open_stage(byte_stage *s, const char *list, bool streams) {
    byte_stage_open(s, list, KI_FACTORY_OPTIONS(.no_streaming_list = !streams, .object_limit = OBJECT_LIMIT), NULL);
}

static void send_text(byte_stage *s, const char *text) {
    byte_stage_send(s, text, strlen(text));
}

static bool has(const byte_stage *s, const char *key) {
    ki_object *obj = ki_informer_get(s->informer, key);
    ki_object_unref(obj);
    return obj != NULL;
}

static uint64_t counter(const byte_stage *s, const char *name) {
    char *text;
    char wanted[64];
    assert_int_equal(ki_factory_metrics_text(s->factory, &text, NULL), KI_OK);
    snprintf(wanted, sizeof wanted, "\n%s_total{", name);
    const char *at = strstr(text, wanted);
    assert_non_null(at);
    at = strstr(at, "} ");
    assert_non_null(at);
    uint64_t value = strtoull(at + 2, NULL, 10);
    ki_metrics_text_free(text);
    return value;
}

static uint64_t skipped(const byte_stage *s) {
    ki_health health;
    ki_informer_health(s->informer, &health);
    assert_int_equal(health.skipped, counter(s, "informer_skipped_objects"));
    return health.skipped;
}

static size_t unreadable(const byte_stage *s) {
    ki_health health;
    ki_informer_health(s->informer, &health);
    return health.unreadable;
}

/* The server ends the watch in good order; the informer goes on from here. */
static void expect_to_go_on_from(byte_stage *s, const char *version) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "watch=true&resourceVersion=%s&", version);
    if (!strstr(byte_stage_end_watch(s), wanted))
        fail_msg("it goes on with %s, not from %s", s->target, version);
}

static void expect_errors(const byte_stage *s, const char *what, const char *errors) {
    if (strcmp(s->errors, errors) != 0)
        fail_msg("%.200s gives \"%s\", not \"%s\"", what, s->errors, errors);
}

/* ---- objects ---- */

typedef struct bad_object {
    const char *text;
    const char *error;
} bad_object;

#define META(more) "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{" more "}}"
#define NAMED "\"name\":\"b\",\"namespace\":\"ns\""
#define IN_B(more) META(NAMED ",\"uid\":\"u\",\"resourceVersion\":\"21\"" more)

#define LONG_VERSION \
    "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890" \
    "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"

static char large[LARGE + 256], deep[2 * DEEP + 256];

static int make_large_and_deep(void **state) {
    (void)state;
    size_t used = (size_t)snprintf(large, sizeof large,
                                   "{\"kind\":\"ConfigMap\",\"metadata\":{" NAMED ",\"resourceVersion\":\"21\"},"
                                   "\"data\":{\"d\":\"%0*d\"}}",
                                   LARGE, 0);
    assert_true(used < sizeof large);
    used = (size_t)snprintf(deep, sizeof deep,
                            "{\"kind\":\"ConfigMap\",\"metadata\":{" NAMED ",\"resourceVersion\":\"21\"},\"data\":");
    memset(deep + used, '[', DEEP);
    memset(deep + used + DEEP, ']', DEEP);
    snprintf(deep + used + 2 * DEEP, sizeof deep - used - 2 * DEEP, "}");
    return 0;
}

static const bad_object bad_objects[] = {
    /* no object */
    { "[]", "malformed:" },
    { "7", "malformed:" },
    { "-1e400", "malformed:" },
    { "true", "malformed:" },
    { "\"text\"", "malformed:" },
    { "{}", "malformed:" },
    /* no metadata */
    { "{\"kind\":\"ConfigMap\"}", "malformed:" },
    { "{\"kind\":\"ConfigMap\",\"metadata\":null}", "malformed:" },
    { "{\"kind\":\"ConfigMap\",\"metadata\":[]}", "malformed:" },
    { "{\"kind\":\"ConfigMap\",\"metadata\":\"b\"}", "malformed:" },
    { META(""), "malformed:" },
    /* no name, or one that is none */
    { META("\"namespace\":\"ns\""), "malformed:" },
    { META("\"name\":\"\",\"namespace\":\"ns\""), "malformed:" },
    { META("\"name\":7,\"namespace\":\"ns\""), "malformed:" },
    { META("\"name\":null,\"namespace\":\"ns\""), "malformed:" },
    { META("\"name\":[\"b\"],\"namespace\":\"ns\""), "malformed:" },
    { META("\"name\":\"b\\u0000c\",\"namespace\":\"ns\",\"resourceVersion\":\"21\""), "malformed:" },
    { META("\"name\":\"b\",\"namespace\":7,\"resourceVersion\":\"21\""), "malformed:" },
    /* versions and other identities */
    { META(NAMED ",\"resourceVersion\":21"), "malformed:ns/b" },
    { META(NAMED ",\"resourceVersion\":{}"), "malformed:ns/b" },
    { META(NAMED ",\"resourceVersion\":\"" LONG_VERSION "\""), "malformed:ns/b" },
    { META(NAMED ",\"resourceVersion\":\"2\\u00001\""), "malformed:ns/b" },
    { META(NAMED ",\"uid\":7,\"resourceVersion\":\"21\""), "malformed:ns/b" },
    /* another kind */
    { "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{" NAMED ",\"resourceVersion\":\"21\"}}",
      "protocol violation:ns/b" },
    { "{\"kind\":7,\"apiVersion\":\"v1\",\"metadata\":{" NAMED ",\"resourceVersion\":\"21\"}}", "malformed:ns/b" },
    { "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{},\"rows\":[]}", "malformed:" },
    { "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"code\":410}", "malformed:" },
    /* JSON that is none */
    { "{\"kind\":\"ConfigMap\",\"metadata\":{" NAMED ",}}", "malformed:ns/b" },
    { "{\"kind\":\"ConfigMap\",\"metadata\":{" NAMED "},,\"data\":{}}", "malformed:ns/b" },
    { "{\"kind\":\"ConfigMap\" \"metadata\":{" NAMED "}}", "malformed:" },
    { "{kind:\"ConfigMap\",\"metadata\":{" NAMED "}}", "malformed:ns/b" },
    { IN_B(",\"generation\":01"), "malformed:ns/b" },
    { IN_B(",\"generation\":+1"), "malformed:ns/b" },
    { IN_B(",\"generation\":NaN"), "malformed:ns/b" },
    { IN_B(",\"generation\":1e"), "malformed:ns/b" },
    { IN_B(",\"generation\":0x10"), "malformed:ns/b" },
    { IN_B(",\"generation\":1e400"), "malformed:ns/b" },
    { IN_B(",\"generation\":tru"), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\\x41\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\\u12\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\\ud800\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\xff\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\xc3\x28\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"\xed\xa0\x80\""), "malformed:ns/b" },
    { IN_B(",\"generateName\":\"a\tb\""), "malformed:ns/b" },
    /* limits */
    { large, "limit reached:ns/b" },
    { deep, "limit reached:ns/b" },
};

enum {
    BAD_OBJECTS = sizeof bad_objects / sizeof *bad_objects
};

TEST(a_bad_item_of_a_list) {
    char *list = malloc(RESPONSE);
    assert_non_null(list);
    for (size_t i = 0; i < BAD_OBJECTS; i++) {
        byte_stage s;
        snprintf(list, RESPONSE, "%s%s,%s,%s%s", LIST_HEAD("\"resourceVersion\":\"10\""), OBJECT("before", "5"),
                 bad_objects[i].text, OBJECT("after", "6"), LIST_TAIL);
        open_stage(&s, list, false);
        expect_errors(&s, bad_objects[i].text, bad_objects[i].error);
        assert_int_equal(skipped(&s), 1);
        assert_true(ki_informer_has_synced(s.informer));
        assert_true(has(&s, "ns/before") && has(&s, "ns/after"));
        assert_int_equal(s.adds, 2);
        assert_int_equal(s.lists, 1);
        assert_non_null(strstr(s.target, "watch=true&resourceVersion=10&"));
        byte_stage_close(&s);
    }
    free(list);
}

TEST(a_bad_event_of_a_watch) {
    static const char *const types[] = { "ADDED", "MODIFIED" };
    char *event = malloc(RESPONSE);
    assert_non_null(event);
    for (size_t i = 0; i < 2 * BAD_OBJECTS; i++) {
        byte_stage s;
        const bad_object *bad = &bad_objects[i / 2];
        open_stage(&s, good_list, false);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        snprintf(event, RESPONSE, "{\"type\":\"%s\",\"object\":%s}\n", types[i % 2], bad->text);
        send_text(&s, event);
        expect_errors(&s, bad->text, bad->error);
        assert_int_equal(skipped(&s), 1);
        assert_int_equal(unreadable(&s), 1);
        expect_to_go_on_from(&s, "20");
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        assert_true(has(&s, "ns/first") && has(&s, "ns/before") && has(&s, "ns/after"));
        assert_int_equal(s.adds, 3);
        assert_int_equal(s.deletes, 0);
        assert_int_equal(s.lists, 1);
        byte_stage_close(&s);
    }
    free(event);
}

static void count_success(ki_informer *informer, ki_status status, void *user) {
    int *successes = user;
    (void)informer;
    *successes += status == KI_OK;
}

TEST(a_wait_that_a_bad_event_may_answer_is_held) {
    char *event = malloc(RESPONSE);
    assert_non_null(event);
    for (size_t i = 0; i < BAD_OBJECTS; i++) {
        byte_stage s;
        int successes = 0;
        open_stage(&s, good_list, false);
        snprintf(event, RESPONSE, "{\"type\":\"MODIFIED\",\"object\":%s}\n", bad_objects[i].text);
        send_text(&s, event);
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        for (int keyed = 0; keyed < 2; keyed++)
            assert_int_equal(ki_informer_wait_for_version_async(s.informer, keyed ? "ns/b" : NULL, "21", -1,
                                                                count_success, &successes, NULL),
                             KI_OK);
        test_engine_settle(&s.engine);
        if (successes)
            fail_msg("%.200s: %d waits were answered", bad_objects[i].text, successes);
        byte_stage_close(&s);
    }
    free(event);
}

/* Whose end it is, is not known, or that object is not: a list tells. */
TEST(a_deletion_that_cannot_be_read_is_followed_by_a_list) {
    char *event = malloc(RESPONSE);
    assert_non_null(event);
    for (size_t i = 0; i < BAD_OBJECTS; i++) {
        byte_stage s;
        const bad_object *bad = &bad_objects[i];
        open_stage(&s, good_list, false);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        snprintf(event, RESPONSE, "{\"type\":\"DELETED\",\"object\":%s}\n", bad->text);
        send_text(&s, event);
        expect_errors(&s, bad->text, bad->error);
        assert_int_equal(skipped(&s), 1);
        assert_true(has(&s, "ns/first") && has(&s, "ns/before"));
        assert_null(s.watch);
        assert_true(test_engine_advance(&s.engine, 2000));
        assert_int_equal(s.lists, 2);
        assert_false(has(&s, "ns/before"));
        assert_int_equal(s.resumes, 0);
        byte_stage_close(&s);
    }
    free(event);
}

TEST(a_deletion_of_a_known_object_that_cannot_be_read_deletes_it) {
    byte_stage s;
    open_stage(&s, good_list, false);
    send_text(&s, "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"first\",\"namespace\":\"ns\"},,}}\n");
    assert_false(has(&s, "ns/first"));
    assert_int_equal(s.deletes, 1);
    expect_errors(&s, "it", "malformed:ns/first");
    assert_int_equal(s.lists, 1);
    assert_int_equal(s.watches, 1);
    expect_to_go_on_from(&s, "10");
    byte_stage_close(&s);
}

TEST(a_bad_event_of_a_streaming_list) {
    char *event = malloc(RESPONSE);
    assert_non_null(event);
    for (size_t i = 0; i < BAD_OBJECTS; i++) {
        byte_stage s;
        open_stage(&s, good_list, true);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        snprintf(event, RESPONSE, "{\"type\":\"ADDED\",\"object\":%s}\n", bad_objects[i].text);
        send_text(&s, event);
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        assert_false(ki_informer_has_synced(s.informer));
        send_text(&s, END_AT("40"));
        expect_errors(&s, bad_objects[i].text, bad_objects[i].error);
        assert_int_equal(skipped(&s), 1);
        assert_true(ki_informer_has_synced(s.informer));
        assert_true(has(&s, "ns/before") && has(&s, "ns/after"));
        assert_int_equal(s.adds, 2);
        assert_int_equal(s.lists, 0);
        expect_to_go_on_from(&s, "40");
        byte_stage_close(&s);
    }
    free(event);
}

/* ---- objects that are odd and yet objects ---- */

/* Versions are opaque, and what is not looked at may be anything: these are stored as they are. `version`: to go on
 * from. */
TEST(an_odd_object_is_taken_as_it_is) {
    static const struct {
        const char *text, *key, *version;
    } rows[] = {
        { META(NAMED), "ns/b", "20" }, /* no place to go on from: the last one stays */
        { META(NAMED ",\"resourceVersion\":\"\""), "ns/b", "20" },
        { META(NAMED ",\"resourceVersion\":null"), "ns/b", "20" },
        { META(NAMED ",\"resourceVersion\":\"abc\""), "ns/b", "abc" },
        { META(NAMED ",\"resourceVersion\":\"99999999999999999999999\""), "ns/b", "99999999999999999999999" },
        { "{\"metadata\":{" NAMED ",\"resourceVersion\":\"21\"}}", "ns/b", "21" },
        { META("\"name\":\"b\",\"namespace\":\"\",\"resourceVersion\":\"21\""), "b", "21" },
        { IN_B(",\"labels\":[1]"), "ns/b", "21" },
        { IN_B(",\"labels\":{\"a\":7,\"b\":\"c\"}"), "ns/b", "21" },
        { IN_B(",\"labels\":{\"a\":\"x\\u0000y\"}"), "ns/b", "21" },
        { IN_B(",\"annotations\":7"), "ns/b", "21" },
        { IN_B(",\"managedFields\":7"), "ns/b", "21" },
        { IN_B(",\"deletionTimestamp\":7"), "ns/b", "21" },
        { IN_B(",\"name\":\"c\""), "ns/b", "21" }, /* the first of two */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        char event[TEXT];
        open_stage(&s, good_list, false);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        snprintf(event, sizeof event, "{\"type\":\"ADDED\",\"object\":%s}\n", rows[i].text);
        send_text(&s, event);
        expect_errors(&s, rows[i].text, "");
        assert_int_equal(skipped(&s), 0);
        assert_true(has(&s, "ns/before") && has(&s, rows[i].key));
        expect_to_go_on_from(&s, rows[i].version);
        byte_stage_close(&s);
    }
}

/* ---- events ---- */

TEST(a_bad_event_around_a_good_object) {
    static const bad_object rows[] = {
        { "{\"type\":\"PATCHED\",\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"added\",\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"\",\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":7,\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":null,\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":[\"ADDED\"],\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"ADDED\"}\n", "malformed:" },
        { "{\"type\":\"ADDED\",\"object\":null}\n", "malformed:" },
        { "{}\n", "malformed:" },
        { "{\"type\" \"ADDED\",\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"ADDED\",,\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"ADDED\",\"object\":" OBJECT("b", "21") ",}\n", "malformed:ns/b" },
        { "{\"type\":\"ADDED\",\"object\":" OBJECT("b", "21") " 7}\n", "malformed:ns/b" },
        { "{\"type\":,\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        bool streams = i % 2;
        open_stage(&s, good_list, streams);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        send_text(&s, rows[i / 2].text);
        expect_errors(&s, rows[i / 2].text, rows[i / 2].error);
        assert_int_equal(skipped(&s), 1);
        if (streams)
            send_text(&s, END_AT("20"));
        expect_to_go_on_from(&s, "20");
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        assert_true(has(&s, "ns/before") && has(&s, "ns/after"));
        assert_false(has(&s, "ns/b"));
        byte_stage_close(&s);
    }
}

/* ---- frames ---- */

#define CUT_B "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{" NAMED ",\"uid\":\"u\""

/* Bytes of the same stream: all at once, or in pieces of each size. */
static void send_in_pieces(byte_stage *s, const char *text, size_t piece) {
    byte_stage_send_in_pieces(s, text, strlen(text), piece < strlen(text) ? piece : strlen(text));
}

/* The next event begins on a line of its own, and is found. */
TEST(an_event_that_does_not_end_takes_no_other_along) {
    static const bad_object rows[] = {
        { CUT_B "}}\n", "malformed:ns/b" },
        { CUT_B "}\n", "malformed:ns/b" },
        { CUT_B "\n", "malformed:ns/b" },
        { CUT_B ",\"data\":{\"a\":[\n", "malformed:ns/b" },
        { CUT_B ",\"generateName\":\"text\n", "malformed:ns/b" }, /* within a string */
        { CUT_B ",\"generateName\":\"text\\\n", "malformed:ns/b" },
        { CUT_B ",\n\n\"labels\":{\n{\"type\":\"A\n{\"type\":\"ADDED\",\"obj\n", "malformed:ns/b" },
        { "{\"type\":\n", "malformed:" },
        { "{\n", "malformed:" },
        { CUT_B "}}\n" CUT_B "}}\n", "malformed:ns/b malformed:ns/b" },
    };
    static const size_t pieces[] = { SIZE_MAX, 1, 2, 3, 5, 7, 11, 13, 64, 100 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++) {
            byte_stage s;
            char text[TEXT];
            snprintf(text, sizeof text, "%s%s%s%s", EVENT("ADDED", OBJECT("before", "20")), rows[i].text,
                     EVENT("ADDED", OBJECT("after", "30")), EVENT("DELETED", OBJECT("first", "31")));
            open_stage(&s, good_list, false);
            send_in_pieces(&s, text, pieces[j]);
            expect_errors(&s, rows[i].text, rows[i].error);
            assert_int_equal(skipped(&s), strchr(rows[i].error, ' ') ? 2 : 1);
            assert_true(has(&s, "ns/before") && has(&s, "ns/after"));
            assert_false(has(&s, "ns/b") || has(&s, "ns/first"));
            assert_int_equal(s.watches, 1 + s.resumes);
            expect_to_go_on_from(&s, "31");
            byte_stage_close(&s);
        }
    }
}

/* White space is JSON's own: lines within an event mean nothing, whatever they begin with. */
TEST(an_event_may_come_in_lines) {
    static const char text[] =
        "{\n\"type\":\n\"ADDED\",\n\"object\":\n{\"kind\":\"ConfigMap\",\n\"metadata\":\n{" NAMED
        ",\n\"resourceVersion\":\"21\"},\n\"data\":[\n{\"type\":\"Ready\"},\n{\"type\":\n7},\n"
        "{\"type\":\"READY\",\"object\":7},\n{\n}\n]\n}\n}\n" EVENT("ADDED", OBJECT("after", "30"));
    for (size_t piece = 1; piece < sizeof text; piece++) {
        byte_stage s;
        open_stage(&s, good_list, false);
        send_in_pieces(&s, text, piece);
        expect_errors(&s, text, "");
        assert_true(has(&s, "ns/b") && has(&s, "ns/after"));
        expect_to_go_on_from(&s, "30");
        byte_stage_close(&s);
    }
}

/* ---- bookmarks ---- */

static const bad_object bad_bookmarks[] = {
    { BOOKMARK(""), "protocol violation:" },
    { BOOKMARK("\"name\":\"x\""), "protocol violation:x" },
    { BOOKMARK("\"resourceVersion\":25"), "protocol violation:" },
    { BOOKMARK("\"resourceVersion\":\"\""), "protocol violation:" },
    { BOOKMARK("\"resourceVersion\":null"), "protocol violation:" },
    { BOOKMARK("\"resourceVersion\":\"2\\u00005\""), "malformed:" },
    { BOOKMARK("\"resourceVersion\":\"" LONG_VERSION "\""), "malformed:" },
    { BOOKMARK("\"resourceVersion\":\"25\","), "malformed:" },
    { EVENT("BOOKMARK", "{\"kind\":\"ConfigMap\"}"), "protocol violation:" },
    { EVENT("BOOKMARK", "{\"kind\":\"ConfigMap\",\"metadata\":null}"), "protocol violation:" },
    { EVENT("BOOKMARK", "{\"kind\":\"ConfigMap\",\"metadata\":[\"25\"]}"), "protocol violation:" },
    { EVENT("BOOKMARK", "{\"kind\":\"Secret\",\"metadata\":{\"resourceVersion\":\"25\"}}"), "protocol violation:" },
    { EVENT("BOOKMARK", "{\"kind\":7,\"metadata\":{\"resourceVersion\":\"25\"}}"), "malformed:" },
    { EVENT("BOOKMARK", "7"), "malformed:" },
    { EVENT("BOOKMARK", "null"), "malformed:" },
    { "{\"type\":\"BOOKMARK\"}\n", "malformed:" },
};

TEST(a_bad_bookmark) {
    for (size_t i = 0; i < 2 * sizeof bad_bookmarks / sizeof *bad_bookmarks; i++) {
        byte_stage s;
        const bad_object *bad = &bad_bookmarks[i / 2];
        bool streams = i % 2;
        open_stage(&s, good_list, streams);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        send_text(&s, bad->text);
        expect_errors(&s, bad->text, bad->error);
        assert_int_equal(skipped(&s), 1);
        assert_int_equal(ki_informer_has_synced(s.informer), !streams);
        if (streams)
            send_text(&s, END_AT("20"));
        assert_true(ki_informer_has_synced(s.informer));
        expect_to_go_on_from(&s, "20");
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        assert_true(has(&s, "ns/before") && has(&s, "ns/after"));
        byte_stage_close(&s);
    }
}

/* Only the annotation's one value ends the initial events; another one is a bookmark as any other. */
TEST(an_end_that_is_none) {
    static const char *const annotations[] = {
        "{}",
        "null",
        "[]",
        "\"true\"",
        "{\"k8s.io/initial-events-end\":true}",
        "{\"k8s.io/initial-events-end\":\"True\"}",
        "{\"k8s.io/initial-events-end\":\"\"}",
        "{\"k8s.io/initial-events-end\":\"true \"}",
        "{\"k8s.io/initial-events-end\":\"tru\\u0065\\u0000\"}",
    };
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
        byte_stage s;
        char bookmark[TEXT];
        open_stage(&s, good_list, true);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        snprintf(bookmark, sizeof bookmark,
                 "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"25\","
                 "\"annotations\":%s}}}\n",
                 annotations[i]);
        send_text(&s, bookmark);
        if (ki_informer_has_synced(s.informer))
            fail_msg("%s ends the initial events", annotations[i]);
        assert_true(test_engine_advance(&s.engine, NO_END_MS)); /* it never comes: the list */
        expect_errors(&s, annotations[i], "timeout:");
        assert_int_equal(s.lists, 1);
        assert_true(has(&s, "ns/first"));
        assert_false(has(&s, "ns/before"));
        expect_to_go_on_from(&s, "10");
        byte_stage_close(&s);
    }
}

TEST(a_bookmark_from_before_takes_nothing_back) {
    byte_stage s;
    open_stage(&s, good_list, false);
    send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
    send_text(&s, BOOKMARK("\"resourceVersion\":\"15\""));
    assert_string_equal(s.errors, "");
    expect_to_go_on_from(&s, "20");
    byte_stage_close(&s);
}

/* ---- error events ---- */

static const bad_object bad_statuses[] = {
    { "{}", "http error:" },
    { "{\"kind\":\"Status\"}", "http error:" },
    { "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":\"410\"}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":-1}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":1e300}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":99999999999999999999}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":0,\"reason\":7,\"message\":[]}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":503,\"details\":\"x\"}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":503,\"details\":{\"retryAfterSeconds\":\"x\",\"causes\":7}}", "http error:" },
    { "{\"kind\":\"Status\",\"code\":503,\"details\":{\"retryAfterSeconds\":-5,\"causes\":[7,null]}}", "http error:" },
    { "{\"kind\":\"Status\",\"reason\":\"Expired\"}", "expired:" },
    { "{\"kind\":\"Status\",\"reason\":\"Gone\",\"code\":\"x\"}", "expired:" },
    { "{\"kind\":\"Status\",\"code\":410,\"message\":\"\\u0000\\u001b[31m\"}", "expired:" },
    { "{\"kind\":\"Status\",\"code\":503,}", "http error:" },
    { "{\"kind\":\"Status\",\"message\":\"\xff\"}", "http error:" },
};

/* `error` is of the end; one that is no object at all is counted as an event, and the watch goes on. */
TEST(a_bad_error_event_ends_the_watch_and_is_listed_after) {
    for (size_t i = 0; i < 2 * sizeof bad_statuses / sizeof *bad_statuses; i++) {
        byte_stage s;
        char event[TEXT];
        const bad_object *row = &bad_statuses[i / 2];
        bool streams = i % 2;
        open_stage(&s, good_list, streams);
        if (streams)
            send_text(&s, END_AT("10"));
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        s.list = LIST_HEAD("\"resourceVersion\":\"40\"") OBJECT("before", "20") "," OBJECT("new", "35") LIST_TAIL;
        snprintf(event, sizeof event, "{\"type\":\"ERROR\",\"object\":%s}\n", row->text);
        send_text(&s, event);
        expect_errors(&s, row->text, row->error);
        assert_int_equal(skipped(&s), 0);
        assert_int_equal(counter(&s, "informer_failures"), 1);
        assert_true(has(&s, "ns/before"));
        assert_true(test_engine_advance(&s.engine, 1600));
        if (streams) {
            send_text(&s, EVENT("ADDED", OBJECT("before", "20")) EVENT("ADDED", OBJECT("new", "35")) END_AT("40"));
            assert_int_equal(s.lists, 0);
        }
        assert_true(has(&s, "ns/before") && has(&s, "ns/new"));
        assert_false(has(&s, "ns/first"));
        expect_to_go_on_from(&s, "40");
        byte_stage_close(&s);
    }
}

/* What came of the streaming list is forgotten. Expired, it is begun anew after a wait; else the list follows at
 * once. */
TEST(a_bad_error_event_ends_a_streaming_list_too) {
    for (size_t i = 0; i < sizeof bad_statuses / sizeof *bad_statuses; i++) {
        byte_stage s;
        char event[TEXT];
        bool is_expired = strcmp(bad_statuses[i].error, "expired:") == 0;
        open_stage(&s, good_list, true);
        send_text(&s, EVENT("ADDED", OBJECT("before", "9")));
        snprintf(event, sizeof event, "{\"type\":\"ERROR\",\"object\":%s}\n", bad_statuses[i].text);
        send_text(&s, event);
        expect_errors(&s, bad_statuses[i].text, bad_statuses[i].error);
        assert_int_equal(counter(&s, "informer_failures"), 1);
        assert_int_equal(s.lists, !is_expired);
        if (is_expired) {
            assert_true(test_engine_advance(&s.engine, 1600));
            send_text(&s, EVENT("ADDED", OBJECT("first", "5")) END_AT("10"));
        }
        assert_true(ki_informer_has_synced(s.informer));
        assert_true(has(&s, "ns/first"));
        assert_false(has(&s, "ns/before"));
        assert_int_equal(skipped(&s), 0);
        expect_to_go_on_from(&s, "10");
        byte_stage_close(&s);
    }
}

/* As the page of a proxy that wants to be logged into. */
TEST(bytes_that_are_no_events_end_the_stream) {
    static const char *const texts[] = {
        "<html>\n", "}\n", "]", ",", "7\n", "\"text\"\n", "\xff", "HTTP/1.1 200 OK\r\n"
    };
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        byte_stage s;
        bool streams = i % 2;
        open_stage(&s, good_list, streams);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        send_text(&s, texts[i / 2]);
        expect_errors(&s, texts[i / 2], "protocol violation:");
        assert_int_equal(counter(&s, "informer_failures"), 1);
        assert_int_equal(skipped(&s), 0);
        assert_int_equal(has(&s, "ns/before"), !streams); /* stays readable meanwhile */
        assert_true(test_engine_advance(&s.engine, 1600));
        assert_int_equal(s.lists, streams ? 1 : 2);
        assert_true(has(&s, "ns/first"));
        assert_false(has(&s, "ns/before"));
        expect_to_go_on_from(&s, "10");
        byte_stage_close(&s);
    }
}

TEST(an_error_event_without_an_object_is_an_event_that_is_skipped) {
    static const char *const events[] = { EVENT("ERROR", "[1]"), EVENT("ERROR", "null"), EVENT("ERROR", "410"),
                                          "{\"type\":\"ERROR\"}\n" };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        byte_stage s;
        open_stage(&s, good_list, false);
        send_text(&s, EVENT("ADDED", OBJECT("before", "20")));
        send_text(&s, events[i]);
        expect_errors(&s, events[i], "malformed:");
        assert_int_equal(skipped(&s), 1);
        send_text(&s, EVENT("ADDED", OBJECT("after", "30")));
        assert_true(has(&s, "ns/after"));
        expect_to_go_on_from(&s, "30");
        byte_stage_close(&s);
    }
}

/* ---- what a list says of itself ---- */

TEST(a_list_that_is_none_is_reported_and_listed_again) {
    static const bad_object rows[] = {
        { "", "unexpected EOF:" },
        { "{", "unexpected EOF:" },
        { "[]", "protocol violation:" },
        { "null", "protocol violation:" },
        { "7", "protocol violation:" },
        { "{}", "protocol violation:" },
        { "\xff\xfe{}", "protocol violation:" },
        { "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}", "protocol violation:" },
        { "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/"
          "v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"rows\":[]}",
          "protocol violation:" },
        { "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}",
          "protocol violation:" },
        { "{\"kind\":7,\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}", "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":10") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"1\\u00000\"") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"" LONG_VERSION "\"") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\",") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\",\"continue\":7") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\",\"continue\":[\"a\"]") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\",\"continue\":true") LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\",\"continue\":\"a\\u0000b\"") LIST_TAIL, "protocol violation:" },
        { "{\"kind\":\"ConfigMapList\",\"metadata\":[],\"items\":[]}", "protocol violation:" },
        { "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":7}", "protocol violation:" },
        { "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":{}}",
          "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5"), "unexpected EOF:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") " " OBJECT("c", "5") LIST_TAIL,
          "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") ",," OBJECT("c", "5") LIST_TAIL,
          "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") "," LIST_TAIL, "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") "}}", "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") LIST_TAIL "{}", "protocol violation:" },
        { LIST_HEAD("\"resourceVersion\":\"10\"") OBJECT("b", "5") "],}", "protocol violation:" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        open_stage(&s, rows[i].text, false);
        expect_errors(&s, rows[i].text, rows[i].error);
        assert_int_equal(counter(&s, "informer_failures"), 1);
        assert_false(ki_informer_has_synced(s.informer));
        assert_int_equal(s.adds, 0);
        s.list = good_list;
        assert_true(test_engine_advance(&s.engine, 1600));
        assert_true(has(&s, "ns/first"));
        assert_int_equal(s.adds, 1);
        assert_int_equal(s.lists, 2);
        expect_to_go_on_from(&s, "10");
        byte_stage_close(&s);
    }
}

/* A number that only tells how much is left. */
TEST(a_remaining_count_that_is_none_is_no_harm) {
    static const char *const counts[] = {
        "-1", "1e300", "\"many\"", "9223372036854775807", "18446744073709551616", "[]"
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        byte_stage s;
        char list[TEXT];
        snprintf(list, sizeof list,
                 "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"10\",\"remainingItemCount\":%s},"
                 "\"items\":[%s]}",
                 counts[i], OBJECT("first", "5"));
        open_stage(&s, list, false);
        expect_errors(&s, counts[i], "");
        assert_true(has(&s, "ns/first"));
        expect_to_go_on_from(&s, "10");
        byte_stage_close(&s);
    }
}

TEST_GROUP(malformed, make_large_and_deep, NULL);
