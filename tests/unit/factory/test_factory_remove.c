/* test_factory_remove.c: informers that are removed while their factory continues, and made again; on the embedded API
 * server, in the engine's time or with threads. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    OBJECTS = 300 /* several slices of the queue */
};

/* A handler's calls. */
typedef struct call_counts {
    int adds, updates, deletes, removed;
    ki_factory *remover; /* removes the event's informer from this factory in the next call; NULL: does not */
    ki_status removal;
} call_counts;

static void count(const ki_event *event, void *user) {
    call_counts *self = user;
    assert_int_equal(self->removed, 0);
    self->adds += event->type == KI_EVENT_ADD;
    self->updates += event->type == KI_EVENT_UPDATE;
    self->deletes += event->type == KI_EVENT_DELETE;
    if (self->remover)
        self->removal = ki_factory_remove_informer(self->remover, event->informer, NULL);
    self->remover = NULL;
}

static void count_removed(void *user) {
    call_counts *self = user;
    self->removed++;
}

static const ki_handler handler = {
    .on_add = count, .on_update = count, .on_delete = count, .on_removed = count_removed
};

static void add_handler(ki_informer *informer, call_counts *calls, bool on_loop) {
    assert_int_equal(
        ki_informer_add_handler(informer, &handler, calls, &KI_REGISTRATION_OPTIONS(.on_loop = on_loop), NULL, NULL),
        KI_OK);
}

/* Puts an object, and lets the loop do what follows. */
static void put(const ki_resource *resource, const char *key) {
    stage_put(&stage, resource, key, "");
    stage_settle(&stage);
}

static void put_many(controller_stage *s, int objects) {
    for (int i = 0; i < objects; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/a%d", i);
        stage_put(s, KI_CONFIGMAPS, key, "");
    }
}

static void note_wait(ki_informer *informer, ki_status status, void *user) {
    (void)informer;
    *(ki_status *)user = status;
}

static ki_informer *ask_for_configmaps(controller_stage *s) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(s->factory, KI_CONFIGMAPS, NULL, &informer, NULL), KI_OK);
    return informer;
}

/* --- what it leaves ----------------------------------------------------------------------------------------------- */

CONTROLLER_TEST(a_removed_informer_ends_and_the_others_continue) {
    static call_counts removed = { 0 }, other = { 0 };
    add_handler(stage.configmaps, &removed, false);
    add_handler(stage.secrets, &other, false);
    stage_start(&stage);
    put(KI_CONFIGMAPS, "default/a");
    put(KI_SECRETS, "default/a");
    assert_int_equal(removed.adds, 1);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    stage_settle(&stage);
    assert_int_equal(removed.removed, 1);
    put(KI_CONFIGMAPS, "default/b");
    put(KI_SECRETS, "default/b");
    assert_int_equal(removed.adds, 1);
    assert_int_equal(removed.deletes, 0);
    assert_int_equal(other.adds, 2);
    assert_true(ki_factory_has_synced(stage.factory));
    assert_true(stage_metric(&stage, "informer_objects{name=\"\",group=\"\",version=\"v1\",resource=\"configmaps\"") <
                0);
    assert_true(stage_metric(&stage, "informer_objects{name=\"\",group=\"\",version=\"v1\",resource=\"secrets\"") == 2);
}

CONTROLLER_TEST(the_same_resource_can_be_asked_for_again) {
    static call_counts first = { 0 }, later[3] = { { 0 } };
    add_handler(stage.configmaps, &first, false);
    stage_start(&stage);
    put(KI_CONFIGMAPS, "default/a");
    for (int round = 0; round < 3; round++) {
        ki_informer *before = ask_for_configmaps(&stage);
        assert_int_equal(ki_factory_remove_informer(stage.factory, before, NULL), KI_OK);
        ki_informer *again = ask_for_configmaps(&stage);
        assert_ptr_not_equal(again, before);
        add_handler(again, &later[round], false);
        assert_false(ki_informer_has_synced(again));
        assert_int_equal(ki_factory_start(stage.factory, NULL), KI_OK);
        stage_settle(&stage);
        assert_int_equal(later[round].adds, 1 + round);
        char key[32];
        snprintf(key, sizeof key, "default/b%d", round);
        put(KI_CONFIGMAPS, key);
        assert_int_equal(later[round].adds, 2 + round);
        ki_object *obj = ki_informer_get(again, key);
        assert_non_null(obj);
        ki_object_unref(obj);
    }
    assert_int_equal(first.adds, 1);
    assert_int_equal(first.removed + later[0].removed + later[1].removed, 3);
}

CONTROLLER_TEST(every_use_of_a_removed_informer_is_an_error) {
    ki_informer *gone = stage.configmaps;
    static call_counts calls = { 0 };
    ki_registration registration;
    ki_status waited = KI_OK;
    ki_error err = KI_ERROR_INIT;
    ki_health health;
    ki_object_list list;
    ki_object *obj = NULL;
    const ki_indexer by_name = { .name = "name", .path = "metadata.name" };
    assert_int_equal(ki_informer_add_handler(gone, &handler, &calls, NULL, &registration, NULL), KI_OK);
    stage_start(&stage);
    put(KI_CONFIGMAPS, "default/a");
    assert_int_equal(ki_informer_wait_for_version_async(gone, "default/none", NULL, -1, note_wait, &waited, NULL),
                     KI_OK);
    assert_int_equal(ki_factory_remove_informer(stage.factory, gone, NULL), KI_OK);
    /* At once, and also when the loop has ended it. */
    for (int settled = 0; settled < 2; settled++) {
        assert_int_equal(ki_factory_remove_informer(stage.factory, gone, &err), KI_ERR_NOT_FOUND);
        assert_int_equal(ki_informer_add_handler(gone, &handler, &calls, NULL, NULL, &err), KI_ERR_STATE);
        assert_string_equal(err.message, "the informer of configmaps was removed");
        assert_int_equal(ki_informer_remove_handler(gone, registration, NULL), KI_ERR_NOT_FOUND);
        assert_int_equal(ki_informer_add_indexers(gone, &by_name, 1, NULL), KI_ERR_STATE);
        assert_int_equal(ki_informer_set_transform(gone, NULL, NULL, &err), KI_ERR_STATE);
        assert_string_equal(err.message, "the informer of configmaps was removed");
        assert_int_equal(ki_lister_list(gone, NULL, NULL, NULL, &list, NULL), KI_ERR_STATE);
        assert_int_equal(ki_lister_get(gone, "default", "a", &obj, NULL), KI_ERR_STATE);
        assert_null(ki_informer_get(gone, "default/a"));
        ki_snapshot *snapshot = ki_informer_snapshot(gone);
        assert_int_equal(ki_snapshot_count(snapshot), 0);
        assert_string_equal(ki_snapshot_resource_version(snapshot), "");
        ki_snapshot_free(snapshot);
        assert_false(ki_informer_has_synced(gone));
        assert_string_equal(ki_informer_synced_version(gone), "");
        assert_false(ki_registration_has_synced(registration));
        assert_int_equal(ki_registration_pending(registration), 0);
        assert_int_equal(ki_informer_wait_for_version_async(gone, "default/a", NULL, -1, note_wait, &waited, &err),
                         KI_ERR_CANCELLED);
        assert_string_equal(ki_informer_resource(gone)->plural, "configmaps");
        ki_informer_health(gone, &health);
        assert_string_equal(health.message, "the informer was removed");
        stage_settle(&stage);
    }
    assert_int_equal(health.state, KI_STATE_STOPPED);
    assert_int_equal(waited, KI_ERR_CANCELLED);
    assert_int_equal(calls.removed, 1);
    assert_int_equal(ki_factory_remove_informer(stage.factory, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_remove_informer(NULL, gone, NULL), KI_ERR_INVALID);
    ki_factory_stop(stage.factory);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.secrets, NULL), KI_ERR_STATE);
}

CONTROLLER_TEST(an_informer_of_another_factory_is_not_found) {
    controller_stage other;
    assert_true(stage_open(&other, NULL));
    assert_int_equal(ki_factory_remove_informer(stage.factory, other.configmaps, NULL), KI_ERR_NOT_FOUND);
    stage_close(&other);
}

/* --- when --------------------------------------------------------------------------------------------------------- */

CONTROLLER_TEST(an_informer_that_never_started_can_be_removed) {
    static call_counts calls = { 0 };
    add_handler(stage.configmaps, &calls, false);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    stage_start(&stage);
    put(KI_CONFIGMAPS, "default/a");
    assert_int_equal(calls.adds, 0);
    assert_int_equal(calls.removed, 1);
    assert_true(ki_factory_has_synced(stage.factory));
}

CONTROLLER_TEST(a_handler_may_remove_its_own_informer) {
    static call_counts calls;
    calls = (call_counts){ .remover = stage.factory, .removal = KI_ERR_LIMIT };
    add_handler(stage.configmaps, &calls, true);
    put(KI_CONFIGMAPS, "default/a");
    put(KI_CONFIGMAPS, "default/b");
    stage_start(&stage);
    assert_int_equal(calls.removal, KI_OK);
    assert_int_equal(calls.adds, 1);
    assert_int_equal(calls.removed, 1);
}

CONTROLLER_TEST(a_controller_does_not_wait_for_a_removed_informer) {
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.secrets, NULL, NULL), KI_OK);
    put(KI_SECRETS, "default/s");
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    stage_start(&stage);
    stage_expect(&stage, "default/s");
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.secrets, NULL), KI_OK);
    ki_controller_free(stage.controller); /* before the loop has removed the handler */
    stage.controller = NULL;
    stage_settle(&stage);
}

/* --- in the middle of its work ------------------------------------------------------------------------------------ */

/* Removes an informer after `steps` steps of a few units each. Returns false once the informer was idle by then. */
static bool remove_after(int steps, ki_queue_kind kind) {
    call_counts calls = { 0 };
    scarce_memory memory;
    ki_informer *informer = NULL;
    controller_stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_true(stage_open(&s, &memory.allocator));
    put_many(&s, OBJECTS);
    size_t before = atomic_load(&memory.bytes);
    assert_int_equal(ki_factory_informer(s.factory, KI_CONFIGMAPS,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "default", .queue = kind), &informer,
                                         NULL),
                     KI_OK);
    add_handler(informer, &calls, false);
    assert_int_equal(ki_factory_start(s.factory, NULL), KI_OK);
    for (int i = 0; i < steps; i++)
        assert_int_equal(ki_engine_step(s.engine.engine, 20, NULL), KI_OK);
    bool was_idle = ki_engine_timeout(s.engine.engine) != 0 && calls.adds == OBJECTS;
    assert_int_equal(ki_factory_remove_informer(s.factory, informer, NULL), KI_OK);
    stage_settle(&s);
    assert_int_equal(calls.removed, 1);
    assert_int_equal(calls.deletes, 0);
    assert_int_equal(ki_factory_remove_informer(s.factory, s.configmaps, NULL), KI_OK);
    assert_int_equal(ki_factory_remove_informer(s.factory, s.secrets, NULL), KI_OK);
    stage_settle(&s);
    /* The objects are released, and what the embedded server keeps for its watches. The header names the rest. */
    assert_true(atomic_load(&memory.bytes) < before + 48 * 1024);
    stage_close(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return !was_idle;
}

TEST(an_informer_can_be_removed_in_the_middle_of_its_list) {
    for (ki_queue_kind kind = KI_QUEUE_IN_ORDER; kind <= KI_QUEUE_DELTA_FIFO; kind++)
        for (int steps = 0; remove_after(steps, kind); steps += 3)
            assert_true(steps < 3000);
}

/* Returns the memory in use after an informer is removed that had kept OBJECTS deleted objects for `keep_ms`. */
static size_t left_by_deleted(int64_t keep_ms) {
    call_counts calls = { 0 };
    scarce_memory memory;
    ki_informer *informer = NULL;
    controller_stage s;
    scarce_memory_init(&memory, SIZE_MAX);
    assert_true(stage_open(&s, &memory.allocator));
    put_many(&s, OBJECTS);
    assert_int_equal(ki_factory_informer(s.factory, KI_CONFIGMAPS,
                                         &KI_INFORMER_OPTIONS(.namespace_name = "default", .keep_deleted_ms = keep_ms),
                                         &informer, NULL),
                     KI_OK);
    add_handler(informer, &calls, true);
    stage_start(&s);
    for (int i = 0; i < OBJECTS; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/a%d", i);
        stage_delete(&s, KI_CONFIGMAPS, key);
    }
    stage_settle(&s);
    assert_int_equal(calls.deletes, OBJECTS);
    ki_object *obj = ki_informer_get_or_deleted(informer, "default/a7", NULL);
    assert_true(!obj == (keep_ms == 0));
    ki_object_unref(obj);
    assert_int_equal(ki_factory_remove_informer(s.factory, informer, NULL), KI_OK);
    assert_null(ki_informer_get_or_deleted(informer, "default/a7", NULL));
    stage_settle(&s);
    size_t bytes = atomic_load(&memory.bytes);
    stage_close(&s);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    return bytes;
}

TEST(deleted_objects_go_with_their_informer) {
    assert_true(left_by_deleted(60000) < left_by_deleted(0) + 100 * OBJECTS);
}

TEST(a_removal_without_memory_changes_nothing) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        call_counts calls = { 0 };
        controller_stage s;
        assert_true(stage_open(&s, &memory.allocator));
        add_handler(s.configmaps, &calls, false);
        put_many(&s, 3);
        stage_start(&s);
        scarce_memory_begin(&memory);
        ki_status status = ki_factory_remove_informer(s.factory, s.configmaps, NULL);
        assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
        stage_settle(&s);
        assert_int_equal(calls.removed, status == KI_OK);
        if (status) {
            ki_object *obj = ki_informer_get(s.configmaps, "default/a1");
            assert_non_null(obj);
            ki_object_unref(obj);
            assert_int_equal(ki_factory_remove_informer(s.factory, s.configmaps, NULL), KI_OK);
            stage_settle(&s);
        }
        assert_int_equal(calls.removed, 1);
        stage_close(&s);
    }
}

/* --- with threads ------------------------------------------------------------------------------------------------- */

typedef struct waiting {
    ki_informer *informer;
    ki_thread thread;
    ki_status status;
} waiting;

static void wait_for_none(void *user) {
    waiting *self = user;
    self->status = ki_informer_wait_for_version(self->informer, "default/none", NULL, -1, NULL);
}

TEST(a_removal_ends_the_waits_of_other_threads) {
    call_counts calls = { 0 };
    waiting waiter = { .status = KI_OK };
    stage_open_threaded(&stage, NULL);
    add_handler(stage.configmaps, &calls, false);
    stage_start(&stage);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, NULL, NULL), KI_OK);
    waiter.informer = stage.configmaps;
    assert_int_equal(ki_thread_start(&waiter.thread, "waiter", wait_for_none, &waiter, NULL), KI_OK);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    ki_thread_join(&waiter.thread);
    assert_int_equal(waiter.status, KI_ERR_CANCELLED);
    assert_int_equal(ki_informer_wait_for_sync(stage.configmaps, -1, NULL), KI_ERR_CANCELLED);
    assert_int_equal(ki_informer_wait_for_version(stage.configmaps, "default/a", NULL, -1, NULL), KI_ERR_CANCELLED);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, NULL, NULL), KI_OK); /* for the others */
    stage_close(&stage);
    assert_int_equal(calls.removed, 1);
}
