/* test_namespace_set.c: an informer of a set of namespaces that changes while it runs: what its cache and its handlers
 * see, when it has synced, and its versions, age and health. On the embedded API server, in the engine's time. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    TEXT = 4096
};

static char events[TEXT]; /* "+a/x i" for an add of the initial list, "-a/x u" for a delete, last state unknown */

static void note(const ki_event *event, void *user) {
    (void)user;
    size_t used = strlen(events);
    snprintf(events + used, sizeof events - used, "%s%c%s%s%s", used ? " " : "",
             event->type == KI_EVENT_ADD      ? '+'
             : event->type == KI_EVENT_DELETE ? '-'
                                              : '~',
             ki_object_key(event->obj), event->is_in_initial_list ? "i" : "", event->final_state_unknown ? "u" : "");
}

static const ki_handler noting = { .on_add = note, .on_update = note, .on_delete = note };

static void expect_events(const char *expected) {
    if (strcmp(events, expected) != 0)
        fail_msg("events: %s\nnot:    %s", events, expected);
    events[0] = '\0';
}

static ki_informer *request(controller_stage *s, const char *name, ki_queue_kind kind) {
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_factory_informer(s->factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.namespace_set = name, .queue = kind),
                            &informer, &err))
        fail_msg("%s", ki_error_message(&err));
    events[0] = '\0';
    assert_int_equal(
        ki_informer_add_handler(informer, &noting, NULL, &KI_REGISTRATION_OPTIONS(.on_loop = true), NULL, NULL), KI_OK);
    return informer;
}

/* Sets the namespaces of a text: "a b". */
static ki_status set(ki_informer *informer, const char *text) {
    char copy[256];
    const char *names[16];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *name = strtok(copy, " "); name; name = strtok(NULL, " "))
        names[count++] = name;
    return ki_informer_set_namespaces(informer, names, count, NULL);
}

static void set_and_settle(ki_informer *informer, const char *text) {
    assert_int_equal(set(informer, text), KI_OK);
    assert_false(ki_informer_namespaces_have_synced(informer));
    stage_settle(&stage);
}

static void put(const char *key) {
    stage_put(&stage, KI_CONFIGMAPS, key, "");
    stage_settle(&stage);
}

static ki_health health_of(const ki_informer *informer) {
    ki_health health;
    ki_informer_health(informer, &health);
    return health;
}

static bool has(const ki_informer *informer, const char *key) {
    ki_object *obj = ki_informer_get(informer, key);
    ki_object_unref(obj);
    return obj != NULL;
}

/* --- what it sees ------------------------------------------------------------------------------------------------- */

static void follow_set(ki_queue_kind kind) {
    ki_informer *informer = request(&stage, "tenants", kind);
    put("a/x");
    put("b/x");
    put("c/x");
    assert_int_equal(set(informer, "a b"), KI_OK);
    stage_start(&stage);
    expect_events("+a/xi +b/xi");
    assert_true(ki_informer_has_synced(informer));
    set_and_settle(informer, "b c");
    expect_events("-a/xu +c/x");
    assert_false(has(informer, "a/x"));
    put("a/y");
    put("b/y");
    expect_events("+b/y");
    set_and_settle(informer, "c b a a");
    expect_events("+a/x +a/y");
    stage_delete(&stage, KI_CONFIGMAPS, "a/y");
    stage_settle(&stage);
    expect_events("-a/y");
    set_and_settle(informer, "");
    assert_int_equal(health_of(informer).objects, 0);
    assert_int_equal(health_of(informer).state, KI_STATE_WATCHING);
    assert_int_equal(health_of(informer).staleness_ms, -1);
    assert_string_equal(health_of(informer).message, "no namespaces are set");
    events[0] = '\0';
    set_and_settle(informer, "c");
    expect_events("+c/x");
    assert_true(ki_informer_has_synced(informer));
}

CONTROLLER_TEST(a_namespace_added_is_listed_and_one_removed_delivers_its_deletes) {
    follow_set(KI_QUEUE_IN_ORDER);
}

CONTROLLER_TEST(also_with_the_delta_fifo) {
    follow_set(KI_QUEUE_DELTA_FIFO);
}

CONTROLLER_TEST(the_last_of_several_sets_counts) {
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    put("a/x");
    put("b/x");
    assert_int_equal(set(informer, "a"), KI_OK);
    assert_int_equal(set(informer, "b"), KI_OK);
    stage_start(&stage);
    expect_events("+b/xi");
    assert_int_equal(set(informer, ""), KI_OK);
    assert_int_equal(set(informer, "a b"), KI_OK);
    stage_settle(&stage);
    expect_events("+a/x");
}

/* More than one run of the loop's task, and more than the list of feeds holds at first. */
CONTROLLER_TEST(a_thousand_namespaces_come_and_go) {
    enum {
        MANY = KI_NAMESPACES_MAX
    };
    static char texts[MANY][16];
    static const char *names[MANY];
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    for (int i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "n%d", (i * 7) % MANY);
        names[i] = texts[i];
    }
    put("n3/x");
    put("n999/x");
    assert_int_equal(ki_informer_set_namespaces(informer, names, MANY, NULL), KI_OK);
    stage_start(&stage);
    assert_int_equal(health_of(informer).objects, 2);
    assert_true(ki_informer_has_synced(informer));
    put("n500/x");
    assert_true(has(informer, "n500/x"));
    assert_int_equal(ki_informer_set_namespaces(informer, names, MANY / 2, NULL), KI_OK);
    assert_int_equal(ki_informer_set_namespaces(informer, names + MANY - 1, 1, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(health_of(informer).objects, 0);
}

CONTROLLER_TEST(handlers_resyncs_and_indexes_see_one_informer) {
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    put("a/x");
    put("b/y");
    assert_int_equal(set(informer, "a b"), KI_OK);
    assert_int_equal(
        ki_informer_add_indexers(informer, &(ki_indexer){ .name = "name", .path = "metadata.name" }, 1, NULL), KI_OK);
    stage_start(&stage);
    events[0] = '\0';
    assert_int_equal(ki_informer_add_handler(informer, &noting, NULL, NULL, NULL, NULL), KI_OK);
    stage_settle(&stage);
    expect_events(events[1] == 'a' ? "+a/xi +b/yi" : "+b/yi +a/xi"); /* in no particular order */
    ki_snapshot *snapshot = ki_informer_snapshot(informer);
    assert_int_equal(ki_snapshot_count_by_index(snapshot, "name", "y"), 1);
    ki_snapshot_free(snapshot);
}

static void count_adds(const ki_event *event, void *user) {
    size_t *counts = user; /* of whole objects, and of others */
    counts[!ki_object_label(event->obj, "v")]++;
}

static void step_by_one(unsigned steps) {
    for (unsigned i = 0; i < steps; i++)
        assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
}

CONTROLLER_TEST(of_keys_the_objects_of_a_namespace_that_comes_back_at_once_are_whole) {
    enum {
        OBJECTS = 40,
        TIMES = 10
    };
    static const ki_handler counting = { .on_add = count_adds };
    size_t counts[2] = { 0 };
    ki_informer *informer = NULL;
    for (unsigned i = 0; i < OBJECTS; i++) {
        char key[16];
        snprintf(key, sizeof key, "a/x%u", i);
        stage_put(&stage, KI_CONFIGMAPS, key, "\"labels\":{\"v\":\"1\"}");
    }
    const ki_informer_options options = KI_INFORMER_OPTIONS(.namespace_set = "some", .keep = KI_KEEP_KEYS);
    assert_int_equal(ki_factory_informer(stage.factory, KI_CONFIGMAPS, &options, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(informer, &counting, counts, NULL, NULL, NULL), KI_OK);
    assert_int_equal(set(informer, "a"), KI_OK);
    stage_start(&stage);
    for (unsigned steps = 1; steps <= TIMES; steps++) { /* the list comes while the deletes are under way */
        assert_int_equal(set(informer, ""), KI_OK);
        step_by_one(steps);
        assert_int_equal(set(informer, "a"), KI_OK);
        step_by_one(20 * OBJECTS);
        stage_settle(&stage);
    }
    assert_true(counts[0] > OBJECTS);
    assert_int_equal(counts[1], 0);
}

/* --- synced, versions, age, health -------------------------------------------------------------------------------- */

CONTROLLER_TEST(it_has_synced_when_the_first_set_is_listed) {
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    stage_start(&stage);
    assert_false(ki_informer_has_synced(informer));
    assert_int_equal(health_of(informer).state, KI_STATE_CONNECTING);
    assert_string_equal(health_of(informer).message, "no namespaces are set");
    set_and_settle(informer, "a b");
    assert_true(ki_informer_has_synced(informer));
    assert_string_not_equal(ki_informer_synced_version(informer), "");
    ki_informer *other = request(&stage, "none", KI_QUEUE_IN_ORDER);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    set_and_settle(other, "");
    assert_true(ki_informer_has_synced(other));
    assert_int_equal(health_of(other).state, KI_STATE_WATCHING);
}

static void note_wait(ki_informer *informer, ki_status status, void *user) {
    (void)informer;
    *(ki_status *)user = status;
}

/* Returns the version of the object under a key. */
static const char *version_of(const ki_informer *informer, const char *key) {
    static char version[64];
    ki_object *obj = ki_informer_get(informer, key);
    assert_non_null(obj);
    snprintf(version, sizeof version, "%s", ki_object_resource_version(obj));
    ki_object_unref(obj);
    return version;
}

/* Writes to one namespace, and waits for that version of its keys, the other namespace's keys and the whole cache. */
static void wait_for_write(ki_informer *informer, const char *own, const char *other) {
    ki_status waits[] = { KI_ERR_CLOSED, KI_ERR_CLOSED, KI_ERR_CLOSED };
    char texts[3][32];
    snprintf(texts[0], sizeof texts[0], "%s/x", own);
    put(texts[0]);
    const char *version = version_of(informer, texts[0]);
    snprintf(texts[0], sizeof texts[0], "%s/none", own);
    snprintf(texts[1], sizeof texts[1], "%s/none", other);
    snprintf(texts[2], sizeof texts[2], "%s/y", other);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ki_informer_wait_for_version_async(informer, i < 2 ? texts[i] : NULL, version, -1, note_wait,
                                                            &waits[i], NULL),
                         KI_OK);
    stage_settle(&stage);
    assert_int_equal(waits[0], KI_OK);
    assert_int_equal(waits[1], KI_ERR_CLOSED); /* nothing came from the other */
    assert_int_equal(waits[2], KI_ERR_CLOSED);
    put(texts[2]);
    assert_int_equal(waits[1], KI_OK);
    assert_int_equal(waits[2], KI_OK);
}

CONTROLLER_TEST(a_wait_with_a_key_is_for_the_keys_namespace) {
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    assert_int_equal(set(informer, "a b"), KI_OK);
    stage_start(&stage);
    wait_for_write(informer, "a", "b");
    wait_for_write(informer, "b", "a");
}

TEST(it_has_not_synced_before_all_first_namespaces_are_in_the_cache) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        controller_stage s;
        int steps = 0;
        assert_true(stage_open(&s, NULL));
        stage_put(&s, KI_CONFIGMAPS, "a/x", "");
        stage_put(&s, KI_CONFIGMAPS, "b/x", "");
        ki_informer *informer = request(&s, "tenants", kind);
        assert_int_equal(set(informer, "a b"), KI_OK);
        assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
        for (; !ki_informer_has_synced(informer); steps++) {
            assert_true(steps < 1000);
            assert_int_equal(ki_engine_step(s.engine.engine, 1, NULL), KI_OK);
        }
        assert_true(steps > 2);
        assert_int_equal(health_of(informer).objects, 2);
        stage_close(&s);
    }
}

/* --- bad input ---------------------------------------------------------------------------------------------------- */

static void expect_error(ki_informer *informer, const char *const *names, size_t count, ki_status status,
                         const char *part) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_informer_set_namespaces(informer, names, count, &err), status);
    if (!strstr(ki_error_message(&err), part))
        fail_msg("%s\nlacks: %s", ki_error_message(&err), part);
}

CONTROLLER_TEST(a_bad_set_is_an_error_with_the_reason) {
    static const char *many[KI_NAMESPACES_MAX + 1];
    static const char *const bad[] = {
        "", "A", "a/b", "-a", "a-", "a.b", "a b", "a234567890123456789012345678901234567890123456789012345678901234"
    };
    ki_informer *informer = request(&stage, "tenants", KI_QUEUE_IN_ORDER);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_error(informer, &bad[i], 1, KI_ERR_INVALID, "is no name of a namespace");
    for (size_t i = 0; i <= KI_NAMESPACES_MAX; i++)
        many[i] = "a";
    expect_error(informer, many, KI_NAMESPACES_MAX + 1, KI_ERR_LIMIT, "1001 namespaces; a set has at most 1000");
    many[1] = NULL;
    expect_error(informer, many, 2, KI_ERR_INVALID, "namespace 2 of 2 is NULL");
    expect_error(informer, NULL, 1, KI_ERR_INVALID, "1 namespaces without their names");
    expect_error(NULL, many, 1, KI_ERR_INVALID, "ki_informer_set_namespaces");
    expect_error(stage.configmaps, many, 1, KI_ERR_INVALID, "has no set of namespaces");
    assert_int_equal(ki_factory_remove_informer(stage.factory, informer, NULL), KI_OK);
    expect_error(informer, many, 1, KI_ERR_STATE, "was removed");
}

CONTROLLER_TEST(options_that_do_not_fit_a_set_are_errors) {
    const struct {
        const ki_resource *resource;
        ki_informer_options options;
        const char *part;
    } cases[] = {
        { KI_PODS, KI_INFORMER_OPTIONS(.namespace_set = "a", .namespace_name = "b"), ".namespace_name beside" },
        { KI_PODS, KI_INFORMER_OPTIONS(.namespace_set = "a", .consistency_check_ms = 10000), ".consistency_check_ms" },
        { KI_PODS, KI_INFORMER_OPTIONS(.namespace_set = ""), "'': 1 to 63 of a-z" },
        { KI_NODES, KI_INFORMER_OPTIONS(.namespace_set = "a"), "nodes, which have no namespace" },
        { KI_PODS, KI_INFORMER_OPTIONS(.namespace_set = "a b"), "'a b': 1 to 63 of a-z" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_informer *informer = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_factory_informer(stage.factory, cases[i].resource, &cases[i].options, &informer, &err),
                         KI_ERR_INVALID);
        if (!strstr(ki_error_message(&err), cases[i].part))
            fail_msg("%s\nlacks: %s", ki_error_message(&err), cases[i].part);
    }
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "widgets.example.com",
                                                 &KI_INFORMER_OPTIONS(.namespace_set = "a"), &informer, NULL),
                     KI_ERR_INVALID);
}

CONTROLLER_TEST(a_set_is_one_informer_by_its_name) {
    ki_informer *first = request(&stage, "tenants", KI_QUEUE_IN_ORDER),
                *other = request(&stage, "others", KI_QUEUE_IN_ORDER);
    assert_ptr_not_equal(first, other);
    assert_ptr_equal(request(&stage, "tenants", KI_QUEUE_IN_ORDER), first);
    stage_start(&stage);
    assert_true(stage_metric(&stage, "informer_synced{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\","
                                     "namespace=\"(tenants)\"") == 0);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void fill(controller_stage *s) {
    for (int i = 0; i < 30; i++) {
        char key[32];
        snprintf(key, sizeof key, "%c/x%d", "abc"[i % 3], i);
        stage_put(s, KI_CONFIGMAPS, key, "");
    }
}

TEST(a_change_without_memory_happens_later) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++) {
        scarce_memory memory = SCARCE_MEMORY_LATER;
        while (scarce_memory_next(&memory)) {
            controller_stage s;
            assert_true(stage_open(&s, &memory.allocator));
            fill(&s);
            ki_informer *informer = request(&s, "tenants", kind);
            assert_int_equal(set(informer, "a b"), KI_OK);
            stage_start(&s);
            assert_int_equal(health_of(informer).objects, 20);
            scarce_memory_begin(&memory);
            ki_status status = set(informer, "b c");
            assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
            stage_settle(&s);
            stage_advance(&s, 60000);
            assert_int_equal(health_of(informer).objects, 20);
            assert_true(has(informer, status ? "a/x0" : "c/x2"));
            assert_false(has(informer, status ? "c/x2" : "a/x0"));
            stage_close(&s);
        }
    }
}

TEST(a_namespace_that_is_removed_gives_its_memory_back) {
    scarce_memory memory;
    controller_stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_true(stage_open(&s, &memory.allocator));
    fill(&s);
    ki_informer *informer = request(&s, "tenants", KI_QUEUE_IN_ORDER);
    assert_int_equal(set(informer, ""), KI_OK);
    stage_start(&s);
    size_t before = 0;
    for (int round = 0; round < 20; round++) {
        assert_int_equal(set(informer, "a b c"), KI_OK);
        stage_settle(&s);
        assert_int_equal(health_of(informer).objects, 30);
        assert_int_equal(set(informer, ""), KI_OK);
        stage_settle(&s);
        stage_advance(&s, 10000);
        assert_int_equal(health_of(informer).objects, 0);
        if (round == 9)
            before = atomic_load(&memory.bytes);
    }
    assert_true(atomic_load(&memory.bytes) <= before + 1024);
    stage_close(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
