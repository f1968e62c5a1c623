/* test_bad_input.c: what a server may send that nobody should: as bytes into a watch, all the way to handlers, reports
 * and health. Each is counted and reported, with the key where there is one; what is well formed before and after it
 * arrives. */

#include <kinformer/kinformer.h>

#include "tests/support/byte_stage.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 4096,
    OBJECT_LIMIT = 2000
};

#define OBJECT(name, version) BYTE_OBJECT(name, version)
#define LIST_OF(version, items) \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
    "\"},\"items\":[" items "]}"
static const char good_list[] = LIST_OF("10", OBJECT("a", "5"));

static void open_stage_as(byte_stage *s, const char *list, int kind) {
    byte_stage_open(s, list, KI_FACTORY_OPTIONS(.no_streaming_list = true, .object_limit = OBJECT_LIMIT),
                    &KI_INFORMER_OPTIONS(.queue = (ki_queue_kind)kind));
}

static void open_stage(byte_stage *s, const char *list) {
    open_stage_as(s, list, KI_QUEUE_IN_ORDER);
}

static void expect_version(const byte_stage *s, const char *key, const char *version) {
    ki_object *obj = ki_informer_get(s->informer, key);
    if (!obj)
        fail_msg("there is no %s", key);
    assert_string_equal(ki_object_resource_version(obj), version);
    ki_object_unref(obj);
}

static uint64_t skipped(const byte_stage *s) {
    ki_health health;
    ki_informer_health(s->informer, &health);
    return health.skipped;
}

#define ADDED(object) "{\"type\":\"ADDED\",\"object\":" object "}\n"
#define BEFORE ADDED(OBJECT("before", "20"))
#define AFTER ADDED(OBJECT("after", "30"))
#define META(more) "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{" more "}}"

/* Set aside; the watch goes on. */
TEST(a_bad_event_is_counted_and_the_others_arrive) {
    static const struct {
        const char *bytes, *errors;
    } rows[] = {
        { ADDED("{\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"ns\"}}"), "malformed:" },
        { ADDED("{\"kind\":\"ConfigMap\",\"metadata\":null}"), "malformed:" },
        { ADDED("{\"kind\":\"ConfigMap\"}"), "malformed:" },
        { ADDED("[]"), "malformed:" },
        { ADDED("7"), "malformed:" },
        { "{\"type\":\"ERROR\",\"object\":[1]}\n", "malformed:" },
        { ADDED("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\",\"resourceVersion\":\"21\"}}"),
          "protocol violation:ns/b" },
        { ADDED("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"rows\":[]}"), "malformed:" },
        { ADDED(META("\"name\":\"b\",\"namespace\":\"ns\",\"resourceVersion\":21")), "malformed:ns/b" },
        { ADDED(META("\"name\":\"b\\u0000c\",\"namespace\":\"ns\",\"resourceVersion\":\"21\"")), "malformed:" },
        { "{\"type\":\"PATCHED\",\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":7,\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"object\":" OBJECT("b", "21") "}\n", "malformed:ns/b" },
        { "{\"type\":\"ADDED\"}\n", "malformed:" },
        { "{\"type\":\"BOOKMARK\",\"object\":" META("\"name\":\"x\"") "}\n", "protocol violation:x" },
        { "{\"type\":\"BOOKMARK\",\"object\":" META("\"resourceVersion\":25") "}\n", "protocol violation:" },
        { "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Secret\",\"metadata\":{\"resourceVersion\":\"25\"}}}\n",
          "protocol violation:" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        open_stage(&s, good_list);
        byte_stage_send(&s, BEFORE, sizeof BEFORE - 1);
        byte_stage_send(&s, rows[i].bytes, strlen(rows[i].bytes));
        if (strcmp(s.errors, rows[i].errors) != 0)
            fail_msg("%s gives \"%s\", not \"%s\"", rows[i].bytes, s.errors, rows[i].errors);
        assert_int_equal(skipped(&s), 1);
        byte_stage_send(&s, AFTER, sizeof AFTER - 1);
        expect_version(&s, "ns/before", "20");
        expect_version(&s, "ns/after", "30");
        assert_int_equal(s.watches, 1 + s.resumes);
        byte_stage_close(&s);
    }
}

TEST(an_event_over_the_limit_is_counted_with_its_key) {
    byte_stage s;
    char bytes[3 * OBJECT_LIMIT];
    open_stage(&s, good_list);
    int size = snprintf(bytes, sizeof bytes,
                        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\","
                        "\"namespace\":\"ns\",\"resourceVersion\":\"21\"},\"data\":\"%0*d\"}}\n",
                        2 * OBJECT_LIMIT, 0);
    byte_stage_send(&s, bytes, (size_t)size);
    assert_string_equal(s.errors, "limit reached:ns/b");
    assert_int_equal(skipped(&s), 1);
    byte_stage_send(&s, AFTER, sizeof AFTER - 1);
    expect_version(&s, "ns/after", "30");
    byte_stage_close(&s);
}

/* No stream of events any more, or the server says so: what came before holds, and it is watched or listed again. */
TEST(what_ends_a_watch_is_reported_and_recovered_from) {
    static const char *const rows[] = {
        "<html>no</html>\n",
        "\x00\x01\x02\n",
        "}\n",
        ",\n",
        "]" AFTER,
        "7\n" AFTER,
        "\"text\"\n",
        "{\"type\":\"ERROR\",\"object\":{}}\n",
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":\"many\",\"message\":7,\"details\":\"x\"}}\n",
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":-99999999999999999999999}}\n",
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        open_stage(&s, good_list);
        byte_stage_send(&s, BEFORE, sizeof BEFORE - 1);
        byte_stage_send(&s, rows[i], strlen(rows[i]) ? strlen(rows[i]) : 4);
        if (s.errors[0] == '\0')
            fail_msg("nobody is told of %s", rows[i]);
        expect_version(&s, "ns/before", "20");
        s.list = LIST_OF("40", OBJECT("a", "5") "," OBJECT("c", "35"));
        assert_true(test_engine_advance(&s.engine, 2000));
        assert_int_equal(s.lists, 2);
        expect_version(&s, "ns/c", "35");
        assert_null(ki_informer_get(s.informer, "ns/before"));
        byte_stage_close(&s);
    }
}

/* Objects of a list, and what is beside them. */
TEST(a_bad_item_of_a_list_is_counted_and_the_others_arrive) {
    static const struct {
        const char *list, *errors;
        uint64_t aside;
    } rows[] = {
        { LIST_OF("10", "{\"metadata\":{\"namespace\":\"ns\"}}," OBJECT("a", "5")), "malformed:", 1 },
        { LIST_OF("10", "7," OBJECT("a", "5") ",[]"), "malformed: malformed:", 2 },
        { LIST_OF("10", OBJECT("a", "5") ",{\"kind\":\"Secret\",\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"}}"),
          "protocol violation:ns/b", 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        byte_stage s;
        open_stage(&s, rows[i].list);
        assert_string_equal(s.errors, rows[i].errors);
        assert_int_equal(skipped(&s), rows[i].aside);
        expect_version(&s, "ns/a", "5");
        assert_true(ki_informer_has_synced(s.informer));
        byte_stage_close(&s);
    }
}

TEST(what_is_no_list_is_reported_and_asked_for_again) {
    static const char *const lists[] = {
        "",
        "{",
        "[]",
        "null",
        "{\"kind\":\"Status\",\"status\":\"Success\"}",
        "{\"kind\":\"ConfigMapList\",\"items\":7}",
        "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":7},\"items\":[]}",
        "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"10\""
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        byte_stage s;
        open_stage(&s, lists[i]);
        if (s.errors[0] == '\0')
            fail_msg("nobody is told of %s", lists[i]);
        assert_false(ki_informer_has_synced(s.informer));
        s.list = good_list;
        assert_true(test_engine_advance(&s.engine, 1600));
        expect_version(&s, "ns/a", "5");
        byte_stage_close(&s);
    }
}

/* A server whose pages overlap, say. The last one counts, as the latest that the server said. */
TEST(an_object_that_a_list_has_twice_is_one) {
    static const struct {
        const char *list, *version;
    } rows[] = {
        { LIST_OF("10", OBJECT("a", "5") "," OBJECT("a", "6")), "6" },
        { LIST_OF("10", OBJECT("a", "6") "," OBJECT("a", "5")), "5" },
        { LIST_OF("10", OBJECT("a", "6") "," OBJECT("a", "6")), "6" },
    };
    for (int i = 0; i < 6; i++) {
        byte_stage s;
        open_stage_as(&s, rows[i / 2].list, i % 2);
        assert_string_equal(s.errors, "");
        assert_true(ki_informer_has_synced(s.informer));
        expect_version(&s, "ns/a", rows[i / 2].version);
        ki_snapshot *snapshot = ki_informer_snapshot(s.informer);
        assert_int_equal(ki_snapshot_count(snapshot), 1);
        ki_snapshot_free(snapshot);
        byte_stage_send(&s, AFTER, sizeof AFTER - 1);
        expect_version(&s, "ns/after", "30");
        byte_stage_close(&s);
    }
}

/* Changes of what is not there, and additions of what is. */
TEST(events_that_do_not_fit_what_is_there_end_with_the_servers_state) {
    static const char events[] = "{\"type\":\"MODIFIED\",\"object\":" OBJECT(
        "new", "21") "}\n"
                     "{\"type\":\"DELETED\",\"object\":" OBJECT(
                         "unknown",
                         "22") "}\n"
                               "{\"type\":\"ADDED\",\"object\":" OBJECT(
                                   "a", "23") "}\n"
                                              "{\"type\":\"DELETED\",\"object\":" OBJECT(
                                                  "new", "24") "}\n"
                                                               "{\"type\":\"DELETED\",\"object\":" OBJECT(
                                                                   "new",
                                                                   "25") "}\n"
                                                                         "{\"type\":\"MODIFIED\",\"object\":" OBJECT(
                                                                             "again", "26") "}\n";
    for (int i = 0; i < 2; i++) {
        byte_stage s;
        open_stage_as(&s, good_list, i);
        byte_stage_send(&s, events, sizeof events - 1);
        assert_string_equal(s.errors, "");
        expect_version(&s, "ns/a", "23");
        expect_version(&s, "ns/again", "26");
        assert_null(ki_informer_get(s.informer, "ns/new"));
        assert_null(ki_informer_get(s.informer, "ns/unknown"));
        assert_int_equal(s.watches, 1);
        byte_stage_close(&s);
    }
}

/* --- misuse ------------------------------------------------------------------------------------------------------- */

static ki_status keep(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    (void)user, (void)err;
    *ret_obj = ki_object_ref(obj);
    return KI_OK;
}

static void stop_and_wait(const ki_event *event, void *user) {
    byte_stage *s = user;
    (void)event;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_factory_shutdown(s->factory, &err), KI_ERR_DEADLOCK);
    assert_true(err.message[0] != '\0');
}

TEST(misuse_is_an_error_value) {
    byte_stage s;
    const ki_handler handler = { .on_add = stop_and_wait };
    const ki_registration_options no_size = { .size = 0 };
    open_stage(&s, good_list);
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK); /* repeatable */
    assert_int_equal(ki_informer_set_transform(s.informer, keep, NULL, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_set_watch_error_handler(s.informer, NULL, NULL, NULL), KI_ERR_STATE);
    assert_int_equal(ki_informer_add_handler(s.informer, NULL, NULL, NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_add_handler(s.informer, &handler, &s, &no_size, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_informer_add_handler(s.informer, &handler, &s, NULL, NULL, NULL), KI_OK);
    assert_true(test_engine_settle(&s.engine));
    ki_factory_stop(s.factory);
    assert_true(test_engine_settle(&s.engine));
    assert_int_equal(ki_informer_add_handler(s.informer, &handler, &s, NULL, NULL, NULL), KI_ERR_STATE);
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_ERR_STATE);
    byte_stage_close(&s);
}

TEST(times_without_measure_are_bounded) {
    byte_stage s;
    ki_informer *informer = NULL;
    static const int64_t times[] = { INT64_MAX, INT64_MIN, -1, 1 };
    open_stage(&s, good_list);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char selector[32];
        snprintf(selector, sizeof selector, "n=%zu", i);
        assert_int_equal(
            ki_factory_informer(s.factory, KI_CONFIGMAPS,
                                &KI_INFORMER_OPTIONS(.label_selector = selector, .consistency_check_ms = times[i],
                                                     .resync_ms = times[i]),
                                &informer, NULL),
            KI_OK);
    }
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
    assert_true(test_engine_advance(&s.engine, 3000));
    byte_stage_close(&s);
}
