/* test_controller_watch.c: which events queue which keys, also where memory lacks, and while another process leads; on
 * one thread in virtual time. */
#include "controllers/controller/controller.h"
#include "src/base/error.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 100000
};

static void control(ki_informer *informer, const ki_controller_watch_options *watch) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, informer, watch, NULL), KI_OK);
    stage_start(&stage);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

#define OWNER(version, kind, name, controller) \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"name\":\"" name "\",\"uid\":\"u-" name \
    "\",\"controller\":" controller "}"
#define OWNERS(list) "\"ownerReferences\":[" list "]"

static const ki_resource foos = { "example.com", "v1", "foos", "Foo", true };
static const ki_resource zones = { "example.com", "v1", "zones", "Zone", false };

/* The keys of labels a and b: several for one object, and none. */
static void map_labels(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    (void)user;
    const char *a = ki_object_label(obj, "a"), *b = ki_object_label(obj, "b");
    if (a)
        assert_int_equal(ki_reconcile_keys_add(keys, a), KI_OK);
    if (b)
        assert_int_equal(ki_reconcile_keys_add(keys, b), KI_OK);
}

static bool is_in_namespace(const ki_event *event, void *user) {
    return strcmp(ki_object_namespace(event->obj), user) == 0;
}

/* A secret team/s is there, changes, and goes. */
CONTROLLER_TEST(an_event_queues_the_keys_that_its_watch_names) {
    static char team[] = "team", other[] = "other";
    const struct {
        ki_controller_watch_options watch;
        const char *before, *after;      /* its metadata */
        const char *add, *update, *gone; /* what is reconciled */
    } cases[] = {
        { KI_CONTROLLER_WATCH(.owner = NULL), "", "\"labels\":{\"x\":\"y\"}", "team/s", "team/s", "team/s" },
        /* the controller alone, of the right group and kind, whatever the version */
        { KI_CONTROLLER_WATCH(.owner = &foos), OWNERS(OWNER("example.com/v1", "Foo", "f", "true")),
          OWNERS(OWNER("example.com/v2", "Foo", "g", "true")), "team/f", "team/f team/g", "team/g" },
        { KI_CONTROLLER_WATCH(.owner = &foos), OWNERS(OWNER("example.com/v1", "Foo", "f", "true")),
          OWNERS(OWNER("example.com/v1", "Foo", "f", "true")) ",\"labels\":{\"x\":\"y\"}", "team/f", "team/f",
          "team/f" },
        { KI_CONTROLLER_WATCH(.owner = &foos), OWNERS(OWNER("example.com/v1", "Foo", "f", "false")), "", "", "", "" },
        { KI_CONTROLLER_WATCH(.owner = &foos), "", OWNERS(OWNER("other.com/v1", "Foo", "f", "true")), "", "", "" },
        { KI_CONTROLLER_WATCH(.owner = &foos), OWNERS(OWNER("v1", "Foo", "f", "true")),
          OWNERS(OWNER("example.com/v1", "Bar", "f", "true")), "", "", "" },
        { KI_CONTROLLER_WATCH(.owner = &foos), OWNERS(OWNER("example.com/v1/x", "Foo", "f", "true")),
          OWNERS(OWNER("example.com.org/v1", "Foo", "f", "true")), "", "", "" },
        { KI_CONTROLLER_WATCH(.owner = &foos),
          OWNERS(OWNER("example.com/v1", "Foo", "f", "false") "," OWNER("example.com/v1", "Foo", "g", "true")), "",
          "team/g", "team/g", "" },
        { KI_CONTROLLER_WATCH(.owner = &foos), /* the first of two controllers: the server allows one */
          OWNERS(OWNER("example.com/v1", "Foo", "f", "false") "," OWNER("example.com/v1", "Foo", "g", "true") "," OWNER(
              "example.com/v1", "Foo", "h", "true")),
          "", "team/g", "team/g", "" },
        /* any owner */
        { KI_CONTROLLER_WATCH(.owner = &foos, .any_owner = true),
          OWNERS(OWNER("example.com/v1", "Foo", "f", "false") "," OWNER(
              "example.com/v1", "Bar", "h", "false") "," OWNER("example.com/v1", "Foo", "g", "true")),
          OWNERS(OWNER("example.com/v1", "Foo", "f", "false")), "team/f team/g", "team/f team/g", "team/f" },
        /* a cluster-scoped owner, and one of the core group */
        { KI_CONTROLLER_WATCH(.owner = &zones), OWNERS(OWNER("example.com/v1", "Zone", "z", "true")), "", "z", "z",
          "" },
        { KI_CONTROLLER_WATCH(.owner = KI_CONFIGMAPS), OWNERS(OWNER("v1", "ConfigMap", "m", "true")), "", "team/m",
          "team/m", "" },
        /* a map function */
        { KI_CONTROLLER_WATCH(.map = map_labels), "\"labels\":{\"a\":\"one\",\"b\":\"two\"}",
          "\"labels\":{\"a\":\"one\",\"b\":\"three\"}", "one two", "one two three", "one three" },
        { KI_CONTROLLER_WATCH(.map = map_labels), "", "\"labels\":{\"a\":\"one\"}", "", "one", "one" },
        /* predicates */
        { KI_CONTROLLER_WATCH(.predicate = ki_predicate_generation_changed), "\"generation\":1",
          "\"generation\":1,\"labels\":{\"x\":\"y\"}", "team/s", "", "team/s" },
        { KI_CONTROLLER_WATCH(.predicate = ki_predicate_labels_changed), "\"labels\":{\"x\":\"y\"}",
          "\"labels\":{\"x\":\"z\"}", "team/s", "team/s", "team/s" },
        { KI_CONTROLLER_WATCH(.predicate = is_in_namespace, .user = team), "", "\"labels\":{\"x\":\"y\"}", "team/s",
          "team/s", "team/s" },
        { KI_CONTROLLER_WATCH(.predicate = is_in_namespace, .user = other), "", "\"labels\":{\"x\":\"y\"}", "", "",
          "" },
    };
    stage_tear_down(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(stage_open(&stage, NULL));
        control(stage.secrets, &cases[i].watch);
        stage_put(&stage, KI_SECRETS, "team/s", cases[i].before);
        stage_settle(&stage);
        stage_expect_any_order(&stage, cases[i].add);
        stage_put(&stage, KI_SECRETS, "team/s", cases[i].after);
        stage_settle(&stage);
        stage_expect_any_order(&stage, cases[i].update);
        stage_delete(&stage, KI_SECRETS, "team/s");
        stage_settle(&stage);
        stage_expect_any_order(&stage, cases[i].gone);
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

static void map_to_odd_keys(const ki_object *obj, ki_reconcile_keys *keys, void *user) {
    static char long_key[KI_WORKQUEUE_KEY_MAX + 2];
    (void)obj, (void)user;
    memset(long_key, 'x', sizeof long_key - 1);
    assert_int_equal(ki_reconcile_keys_add(keys, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_reconcile_keys_add(keys, ""), KI_ERR_INVALID);
    assert_int_equal(ki_reconcile_keys_add(keys, long_key), KI_ERR_LIMIT);
    assert_int_equal(ki_reconcile_keys_add(keys, "good"), KI_OK);
}

CONTROLLER_TEST(a_map_function_is_notified_of_keys_that_cannot_be) {
    stage_put(&stage, KI_SECRETS, "team/s", "");
    control(stage.secrets, &KI_CONTROLLER_WATCH(.map = map_to_odd_keys));
    stage_expect(&stage, "good");
}

static bool note_event(const ki_event *event, void *user) {
    (void)user;
    char word[64];
    snprintf(word, sizeof word, "%s%d%s%s", event->old ? "old" : "new", (int)event->type,
             event->is_in_initial_list ? "i" : "", event->is_resync ? "r" : "");
    stage_note(&stage, word);
    return event->type != KI_EVENT_ADD;
}

CONTROLLER_TEST(a_predicate_sees_each_event_and_decides) {
    stage_put(&stage, KI_SECRETS, "team/s", "");
    control(stage.secrets, &KI_CONTROLLER_WATCH(.predicate = note_event));
    stage_expect(&stage, "new1i");
    stage_put(&stage, KI_SECRETS, "team/s", "\"labels\":{\"x\":\"y\"}");
    stage_settle(&stage);
    stage_expect(&stage, "old2 team/s");
    stage_delete(&stage, KI_SECRETS, "team/s");
    stage_settle(&stage);
    stage_expect(&stage, "new3 team/s");
}

/* Two informers of one controller: the parent's own key, and the child's owner. */
CONTROLLER_TEST(a_child_s_event_reconciles_its_owner) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    assert_int_equal(
        ki_controller_watch(stage.controller, stage.secrets, &KI_CONTROLLER_WATCH(.owner = KI_CONFIGMAPS), NULL),
        KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_put(&stage, KI_SECRETS, "team/s", OWNERS(OWNER("v1", "ConfigMap", "m", "true")));
    stage_start(&stage);
    stage_expect(&stage, "team/m"); /* both events, one reconcile */
    stage_delete(&stage, KI_SECRETS, "team/s");
    stage_settle(&stage);
    stage_expect(&stage, "team/m");
}

CONTROLLER_TEST(a_resync_comes_after_changes) {
    stage_tear_down(NULL);
    for (int no_priority = 0; no_priority < 2; no_priority++) {
        ki_informer *nodes = NULL;
        assert_true(stage_open(&stage, NULL));
        assert_int_equal(
            ki_factory_informer(stage.factory, KI_NODES, &KI_INFORMER_OPTIONS(.resync_ms = 10000), &nodes, NULL),
            KI_OK);
        stage_put(&stage, KI_NODES, "n", "");
        assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .no_priority = no_priority != 0)),
                         KI_OK);
        assert_int_equal(ki_controller_watch(stage.controller, nodes, NULL, NULL), KI_OK);
        stage_start(&stage);
        stage_expect(&stage, "n");
        stage.script = "d";
        assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), "busy"), KI_OK);
        stage_advance(&stage, 10000);
        assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), "changed"), KI_OK);
        ki_reconcile_finish(stage.deferred[0], NULL);
        stage_settle(&stage);
        stage_expect(&stage, no_priority ? "busy n changed" : "busy changed n");
        stage_close(&stage);
    }
    assert_true(stage_open(&stage, NULL));
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static size_t events, reconciles, events_at_first_reconcile;

static bool count_event(const ki_event *event, void *user) {
    (void)event, (void)user;
    events++;
    return true;
}

static ki_status count_reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)key, (void)user, (void)err;
    if (reconciles++ == 0)
        events_at_first_reconcile = events;
    return KI_OK;
}

CONTROLLER_TEST(no_step_does_more_than_its_work_units) {
    enum {
        WORK = 50
    };
    char key[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "default/m%d", i);
        stage_put(&stage, KI_CONFIGMAPS, key, "");
    }
    events = reconciles = 0;
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = count_reconcile)), KI_OK);
    assert_int_equal(
        ki_controller_watch(stage.controller, stage.configmaps, &KI_CONTROLLER_WATCH(.predicate = count_event), NULL),
        KI_OK);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    while (reconciles < MANY) {
        size_t before = events + reconciles;
        assert_int_equal(ki_engine_step(stage.engine.engine, WORK, NULL), KI_OK);
        assert_true(events + reconciles - before <= WORK);
    }
    assert_int_equal(events, MANY);
    assert_int_equal(events_at_first_reconcile, MANY);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* What a controller goes through; every object is reconciled by its end. */
static bool play_all(const ki_allocator *allocator) {
    bool has_begun = false;
    if (!stage_open(&stage, allocator))
        goto out;
    if (stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .workers = 2)))
        goto out;
    const ki_controller_watch_options by_owner = KI_CONTROLLER_WATCH(.owner = &foos);
    const ki_controller_watch_options by_map = KI_CONTROLLER_WATCH(.map = map_labels);
    if (ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL) ||
        ki_controller_watch(stage.controller, stage.secrets, &by_owner, NULL) ||
        ki_controller_watch(stage.controller, stage.configmaps, &by_map, NULL))
        goto out;
    has_begun = true;
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_put(&stage, KI_SECRETS, "default/s", OWNERS(OWNER("example.com/v1", "Foo", "f", "true")));
    stage.script = "fra"; /* each kind of another try */
    stage.requeue_after = 3;
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    stage_advance(&stage, 120000);
    assert_non_null(strstr(stage.notes, "default/a "));
    assert_non_null(strstr(stage.notes, "default/f "));
    stage.notes[0] = '\0';
    stage_put(&stage, KI_SECRETS, "default/s", OWNERS(OWNER("example.com/v1", "Foo", "g", "true")));
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    stage_advance(&stage, 120000);
    stage_delete(&stage, KI_CONFIGMAPS, "default/a");
    stage_advance(&stage, 120000);
    static const char *const expected[] = { "default/f ", "default/g ", "default/a ", "default/b " };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_non_null(strstr(stage.notes, expected[i]));
out:
    stage_close(&stage);
    return has_begun;
}

TEST(no_key_is_lost_whatever_allocation_fails) {
    size_t n = 0;
    bool failed = true;
    for (; failed; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        bool has_begun = play_all(&memory.allocator);
        failed = scarce_memory_failed(&memory);
        assert_true(has_begun || failed);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
    assert_true(n > 100);
}

/* An allocator that gives nothing while `is_empty`, but to objects' own code. */
typedef struct tap {
    ki_allocator allocator;
    bool is_empty;
} tap;

static void *tap_alloc(size_t size, void *user) {
    const tap *self = user;
    return self->is_empty ? NULL : malloc(size);
}

static void *tap_realloc(void *memory, size_t size, void *user) {
    const tap *self = user;
    return self->is_empty ? NULL : realloc(memory, size);
}

static void tap_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

static tap memory_tap;

/* Memory runs out right when the controller looks at an event, for all of it. */
static bool run_dry(const ki_event *event, void *user) {
    (void)event, (void)user;
    memory_tap.is_empty = true;
    return true;
}

static void open_with_tap(void) {
    memory_tap = (tap){ .allocator = { tap_alloc, tap_realloc, tap_free, &memory_tap } };
    stage_tear_down(NULL);
    assert_true(stage_open(&stage, &memory_tap.allocator));
}

/* Returns with memory again; while there is none nothing is reconciled. */
static void be_dry_for(int64_t ms) {
    stage_advance(&stage, ms);
    stage_expect(&stage, "");
    memory_tap.is_empty = false;
}

CONTROLLER_TEST(a_key_that_could_not_be_queued_is_queued_later) {
    open_with_tap();
    control(stage.secrets, &KI_CONTROLLER_WATCH(.owner = &foos, .predicate = run_dry));
    stage_put(&stage, KI_SECRETS, "default/s", OWNERS(OWNER("example.com/v1", "Foo", "f", "true")));
    be_dry_for(5000);
    stage_advance(&stage, 1000);
    stage_expect(&stage, "default/f");

    stage_put(&stage, KI_SECRETS, "default/s", OWNERS(OWNER("example.com/v1", "Foo", "g", "true")));
    be_dry_for(5000);
    stage_advance(&stage, 1000);
    stage_expect_any_order(&stage, "default/f default/g");

    stage_delete(&stage, KI_SECRETS, "default/s");
    be_dry_for(5000);
    stage_advance(&stage, 1000);
    stage_expect(&stage, "default/g");
}

CONTROLLER_TEST(what_is_too_much_to_remember_is_found_in_the_informer) {
    enum {
        OBJECTS = 600
    };
    char key[32];
    open_with_tap();
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(key, sizeof key, "default/m%d", i);
        stage_put(&stage, KI_CONFIGMAPS, key, "");
    }
    stage_start(&stage);
    reconciles = 0;
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = count_reconcile)), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
    memory_tap.is_empty = true;
    stage_advance(&stage, 5000);
    assert_int_equal(reconciles, 0);
    memory_tap.is_empty = false;
    stage_advance(&stage, 2000);
    assert_in_range(reconciles, OBJECTS, OBJECTS + OBJECTS / 10); /* what was queued in between may come twice */
}

/* The reconcile function itself leaves no memory for the queue. */
static ki_status use_all_memory(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    memory_tap.is_empty = stage.script && *stage.script;
    return stage_reconcile(call, key, user, err);
}

/* Queues a key whose reconcile will fail and leave no memory. */
static void fail_without_memory(void) {
    open_with_tap();
    assert_int_equal(
        stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = use_all_memory, .user = &stage)), KI_OK);
    stage_start(&stage);
    stage.script = "f";
    stage_add("k");
}

/* The queue has all memory for a key that is being processed. */
CONTROLLER_TEST(a_key_is_processed_again_without_memory) {
    fail_without_memory();
    stage_advance(&stage, 5000);
    stage_expect(&stage, "k k");
    memory_tap.is_empty = false;
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_reconcile_total{controller=\"c\",result=\"error\"}"),
                     1);
}

CONTROLLER_TEST(a_stop_does_not_wait_for_memory) {
    fail_without_memory();
    stage_settle(&stage);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers"),
                     -1); /* no memory for a text either */
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    memory_tap.is_empty = false;
}

/* --- leading ------------------------------------------------------------------------------------------------------ */

#define LEASE(holder, transitions) \
    "{\"metadata\":{\"name\":\"lock\",\"namespace\":\"default\"},\"spec\":{\"holderIdentity\":\"" holder \
    "\",\"leaseDurationSeconds\":15,\"leaseTransitions\":" transitions \
    ",\"acquireTime\":\"2025-06-15T00:00:00.000000Z\",\"renewTime\":\"2025-06-15T00:00:00.000000Z\"}}"

static void put_lease(const char *json) {
    assert_int_equal(kt_cluster_put_json(stage.cluster, KI_LEASES, (ki_str){ json, strlen(json) },
                                         kt_memory_adapter_now_ms(stage.adapter), NULL, NULL),
                     KI_OK);
}

static ki_elector *elect(const char *identity) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock",
                                                        .identity = identity, .release_on_stop = true),
                                    &elector, NULL),
                     KI_OK);
    return elector;
}

static void control_as_leader(ki_elector *elector, const ki_controller_watch_options *watch) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .elector = elector)), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, watch, NULL), KI_OK);
}

static void close_leader(ki_elector *elector) {
    ki_controller_free(stage.controller);
    stage.controller = NULL;
    ki_elector_free(elector);
}

CONTROLLER_TEST(an_elector_of_another_engine_is_rejected) {
    controller_stage other;
    assert_true(stage_open(&other, NULL));
    ki_elector *elector = elect("me");
    assert_int_equal(stage_control(&other, KI_CONTROLLER_OPTIONS(.name = "c", .elector = elector)), KI_ERR_INVALID);
    assert_null(other.controller);
    stage_close(&other);
    ki_elector_free(elector);
}

/* The program cannot know when a controller goes that it has freed inside a reconcile. */
CONTROLLER_TEST(an_elector_may_be_freed_after_a_controller_that_still_works) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL);
    stage.script = "d";
    stage_start(&stage);
    stage_advance(&stage, 5000);
    stage_expect(&stage, "default/a");
    close_leader(elector);
    assert_true(ki_reconcile_is_cancelled(stage.deferred[0]));
    stage_advance(&stage, 20000);
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    assert_int_equal((int)stage_metric(&stage, "controller_runtime_active_workers{controller=\"c\"}"),
                     -1); /* it is gone */
}

CONTROLLER_TEST(nothing_is_reconciled_while_another_process_leads) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    put_lease(LEASE("other", "3"));
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL);
    stage_start(&stage);
    stage_advance(&stage, 10000);
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    stage_settle(&stage);
    stage_expect(&stage, "");
    assert_int_equal(ki_workqueue_length(ki_controller_queue(stage.controller)), 0); /* nothing piles up */

    stage_advance(&stage, 30000); /* the other one does not renew */
    assert_true(ki_elector_is_leader(elector));
    stage_expect_any_order(&stage, "default/a default/b");
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "\"labels\":{\"x\":\"y\"}");
    stage_settle(&stage);
    stage_expect(&stage, "default/b");
    close_leader(elector);
}

CONTROLLER_TEST(a_controller_without_an_elector_works_while_another_process_leads) {
    ki_controller *always = NULL;
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    put_lease(LEASE("other", "3"));
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL); /* of the same factory, with the elector */
    assert_int_equal(
        ki_controller_new(stage.factory,
                          &KI_CONTROLLER_OPTIONS(.name = "always", .reconcile = stage_reconcile, .user = &stage),
                          &always, NULL),
        KI_OK);
    assert_int_equal(ki_controller_watch(always, stage.configmaps, NULL, NULL), KI_OK);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    assert_false(ki_elector_is_leader(elector));
    stage_expect(&stage, "default/a");
    assert_int_equal(
        (int)stage_metric(&stage, "controller_runtime_reconcile_total{controller=\"always\",result=\"success\"}"), 1);
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    stage_settle(&stage);
    stage_expect(&stage, "default/b");
    ki_controller_free(always);
    close_leader(elector);
}

static bool is_not_b(const ki_event *event, void *user) {
    (void)user;
    return strcmp(ki_object_name(event->obj), "b") != 0;
}

CONTROLLER_TEST(a_new_term_begins_with_all_keys_that_matter) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_put(&stage, KI_CONFIGMAPS, "default/b", "");
    ki_elector *elector = elect("me");
    control_as_leader(elector, &KI_CONTROLLER_WATCH(.predicate = is_not_b));
    stage_start(&stage);
    stage_advance(&stage, 5000);
    stage_expect(&stage, "default/a");
    stage.script = "d";
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"labels\":{\"x\":\"y\"}");
    stage_settle(&stage);
    stage_expect(&stage, "default/a");
    ki_reconcile *running = stage.deferred[0];
    assert_false(ki_reconcile_is_cancelled(running));

    put_lease(LEASE("other", "1")); /* taken by hand */
    stage_advance(&stage, 5000);
    assert_false(ki_elector_is_leader(elector));
    assert_true(ki_reconcile_is_cancelled(running));
    stage_put(&stage, KI_CONFIGMAPS, "default/c", "");
    stage_delete(&stage, KI_CONFIGMAPS, "default/a");
    ki_reconcile_finish(running, NULL);
    assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), "mine"), KI_OK);
    stage_advance(&stage, 1000);
    stage_expect(&stage, "");

    stage_advance(&stage, 40000);
    assert_true(ki_elector_is_leader(elector));
    stage_expect_any_order(&stage, "default/c mine");
    close_leader(elector);
}

/* The loop stands still until the lease has expired: by the clock this process leads no more, though nobody has told it
 * yet. */
CONTROLLER_TEST(the_clock_ends_a_term_before_the_loop_does) {
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    stage.engine.now += KI_SECONDS(11);
    assert_int_equal(ki_workqueue_add(ki_controller_queue(stage.controller), "k"), KI_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ki_engine_step(stage.engine.engine, 1, NULL), KI_OK);
        if (!ki_elector_is_leader(elector))
            stage_expect(&stage, "");
    }
    stage_advance(&stage, 60000);
    stage_expect(&stage, "k");
    close_leader(elector);
}

/* As a worker's thread does that waited for a key. */
CONTROLLER_TEST(a_key_is_put_back_if_the_lease_has_expired_since_the_key_was_handed_out) {
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    ki_workqueue *queue = ki_controller_queue(stage.controller);
    assert_int_equal(ki_workqueue_add(queue, "k"), KI_OK);
    ki_mutex_lock(&stage.controller->mutex);
    ki_reconcile *call = ki_reconcile_take(stage.controller);
    ki_mutex_unlock(&stage.controller->mutex);
    const char *key = ki_workqueue_get(queue, 0, NULL);
    stage.engine.now += KI_SECONDS(11);

    assert_true(ki_reconcile_run(call, key));
    ki_mutex_lock(&stage.controller->mutex);
    ki_reconcile_put_ended(call);
    ki_mutex_unlock(&stage.controller->mutex);

    stage_expect(&stage, "");
    assert_int_equal(ki_workqueue_length(queue), 1);
    stage_advance(&stage, 60000);
    stage_expect(&stage, "k");
    close_leader(elector);
}

CONTROLLER_TEST(a_stop_ends_reconciles_before_the_lease_is_given_up) {
    ki_str json;
    ki_elector *elector = elect("me");
    control_as_leader(elector, NULL);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    stage.script = "d";
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_settle(&stage);
    ki_factory_stop(stage.factory);
    stage_advance(&stage, 5000);
    assert_true(ki_elector_is_leader(elector));
    assert_true(ki_reconcile_is_cancelled(stage.deferred[0]));
    ki_reconcile_finish(stage.deferred[0], NULL);
    stage_settle(&stage);
    assert_false(ki_elector_is_leader(elector));
    assert_int_equal(kt_cluster_get(stage.cluster, KI_LEASES, "default", "lock", &json), KI_OK);
    assert_null(strstr(json.data, "\"holderIdentity\":\"me\""));
    close_leader(elector);
}
