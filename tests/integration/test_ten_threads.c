/* test_ten_threads.c: ten threads call every function of an informer that any thread may call, while its objects
 * change, its connection is cut and, in the other tests, its factory stops or it is removed. TSan and ASan judge
 * memory; the threads check what each call returns. Last, threads that add and remove handlers all the time. */
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/world.h"

enum {
    THREADS = 10,
    ROUNDS = 2000,  /* of each thread */
    MAX_INDEXES = 4 /* of each thread */
};

typedef struct caller {
    pthread_t thread;
    world *world;
    unsigned number;
    uint32_t random;
    unsigned indexes;
    unsigned whens; /* waits with a handler that were begun */
    atomic_uint whens_ended;
    atomic_uint removals, removed; /* registrations */
    char wrong[256];               /* the first call that returned what it must not */
} caller;

static caller callers[THREADS];
static atomic_uint running, rounds_done;
static atomic_bool has_stopped; /* the factory was asked to stop, or to remove the informer */

static void expect(caller *self, bool holds, const char *what, ki_status status) {
    if (!holds && !self->wrong[0])
        snprintf(self->wrong, sizeof self->wrong, "%s: %s", what, ki_status_name(status));
}

/* A call may be too late once the factory stops or removes the informer. */
static void expect_ok(caller *self, ki_status status, const char *what) {
    bool is_late =
        atomic_load(&has_stopped) && (status == KI_ERR_STATE || status == KI_ERR_CANCELLED || status == KI_ERR_CLOSED);
    expect(self, status == KI_OK || is_late, what, status);
}

static uint32_t pick(caller *self, uint32_t count) {
    self->random = self->random * 1664525u + 1013904223u;
    return (self->random >> 8) % count;
}

/* ---- calls ---- */

static void look_up(caller *self) {
    ki_object *obj = ki_informer_get(self->world->informer, "default/zz-marker");
    if (obj)
        expect(self, strcmp(ki_object_key(obj), "default/zz-marker") == 0, "get", KI_OK);
    ki_object_unref(obj);
}

static void walk(caller *self) {
    ki_snapshot *snapshot = ki_informer_snapshot(self->world->informer);
    if (!snapshot)
        return;
    ki_cursor cursor = KI_CURSOR_INIT;
    size_t count = 0;
    for (const ki_object *obj; (obj = ki_snapshot_next(snapshot, &cursor));) {
        expect(self, ki_snapshot_get(snapshot, ki_object_key(obj)) == obj, "an object of a snapshot", KI_OK);
        count++;
    }
    expect(self, count == ki_snapshot_count(snapshot), "a snapshot's count", KI_OK);
    ki_snapshot_free(snapshot);
}

static void list(caller *self) {
    ki_object_list listed;
    ki_status status = ki_lister_list(self->world->informer, NULL, NULL, NULL, &listed, NULL);
    expect_ok(self, status, "list");
    if (status)
        return;
    expect(self, listed.count > 0, "a list of a cache that is never empty", status);
    ki_object_list_free(&listed);
}

static void on_change(const ki_event *event, void *user) {
    (void)event;
    (void)user;
}

static void on_removed(void *user) {
    caller *self = user;
    atomic_fetch_add(&self->removed, 1);
}

static void handle(caller *self) {
    static const ki_handler handler = {
        .on_add = on_change, .on_update = on_change, .on_delete = on_change, .on_removed = on_removed
    };
    ki_registration_options options = KI_REGISTRATION_OPTIONS(.on_loop = pick(self, 2) == 0);
    ki_registration registration;
    ki_status status = ki_informer_add_handler(self->world->informer, &handler, self, &options, &registration, NULL);
    expect_ok(self, status, "register");
    if (status)
        return;
    expect_ok(self, ki_registration_wait_for_sync(registration, WORLD_PATIENCE_MS, NULL), "wait_for_sync");
    (void)ki_registration_has_synced(registration);
    (void)ki_registration_pending(registration);
    atomic_fetch_add(&self->removals, 1);
    status = ki_informer_remove_handler(self->world->informer, registration, NULL);
    if (status != KI_ERR_NOT_FOUND || !atomic_load(&has_stopped)) /* a removed informer has no handlers */
        expect_ok(self, status, "remove_handler");
}

static void ask_health(caller *self) {
    ki_health health;
    ki_informer_health(self->world->informer, &health);
    expect(self, ki_state_name(health.state)[0] != '\0', "health", KI_OK);
    (void)ki_informer_has_synced(self->world->informer);
    (void)ki_factory_has_synced(self->world->factory);
}

static void wait_for_what_is_there(caller *self) {
    ki_snapshot *snapshot = ki_informer_snapshot(self->world->informer);
    if (!snapshot)
        return;
    ki_status status = ki_informer_wait_for_version(self->world->informer, NULL, ki_snapshot_resource_version(snapshot),
                                                    WORLD_PATIENCE_MS, NULL);
    expect_ok(self, status, "wait_for_version");
    ki_snapshot_free(snapshot);
}

static void on_version(ki_informer *informer, ki_status status, void *user) {
    caller *self = user;
    (void)informer;
    (void)status;
    atomic_fetch_add(&self->whens_ended, 1);
}

static void wait_by_handler(caller *self) {
    ki_informer *informer = self->world->informer;
    ki_status status = ki_informer_wait_for_version_async(informer, NULL, "999999999", -1, on_version, self, NULL);
    expect_ok(self, status, "when_version");
    if (status)
        return;
    self->whens++;
    status = ki_informer_cancel_version_waits(informer, on_version, self, NULL);
    expect(self, status == KI_OK || (atomic_load(&has_stopped) && status == KI_ERR_NOT_FOUND), "cancel_when_version",
           status);
}

static bool is_first_call(ki_informer *informer, const ki_event *event, void *user) {
    (void)informer;
    (void)event;
    (void)user;
    return true;
}

static void wait_until_something(caller *self) {
    expect_ok(self, ki_informer_wait_until(self->world->informer, is_first_call, NULL, WORLD_PATIENCE_MS, NULL),
              "wait_until");
}

static void read_metrics(caller *self) {
    char *text;
    ki_status status = ki_factory_metrics_text(self->world->factory, &text, NULL);
    expect_ok(self, status, "metrics_text");
    if (!status)
        ki_metrics_text_free(text);
}

static ki_status by_name(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_name(obj));
}

static void add_index(caller *self) {
    if (self->indexes == MAX_INDEXES)
        return;
    char name[32];
    snprintf(name, sizeof name, "index-%u-%u", self->number, self->indexes++);
    ki_indexer indexer = { .name = name, .index = by_name };
    ki_status status = ki_informer_add_indexers(self->world->informer, &indexer, 1, NULL);
    expect_ok(self, status, "add_indexers");
    ki_snapshot *snapshot = ki_informer_snapshot(self->world->informer);
    if (snapshot && !status)
        expect(self, ki_snapshot_has_index(snapshot, name), "an index that was added", KI_OK);
    ki_snapshot_free(snapshot);
}

static void make_object(caller *self) {
    static const char json[] = "{\"metadata\":{\"name\":\"made\",\"namespace\":\"default\",\"resourceVersion\":\"1\"}}";
    ki_object *obj = NULL;
    expect_ok(self, ki_informer_object_from_json(self->world->informer, json, sizeof json - 1, &obj, NULL),
              "object_from_json");
    ki_object_unref(obj);
}

static void *call(void *user) {
    static void (*const calls[])(caller *) = { look_up,
                                               walk,
                                               list,
                                               handle,
                                               ask_health,
                                               wait_for_what_is_there,
                                               wait_by_handler,
                                               wait_until_something,
                                               read_metrics,
                                               make_object };
    caller *self = user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        calls[pick(self, sizeof calls / sizeof *calls)](self);
        if (i % 100 == 0)
            add_index(self);
        atomic_fetch_add(&rounds_done, 1);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* ---- tests ---- */

static void start_callers(world *of) {
    memset(callers, 0, sizeof callers);
    atomic_store(&has_stopped, false);
    atomic_store(&rounds_done, 0);
    atomic_store(&running, THREADS);
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i].world = of;
        callers[i].number = i;
        callers[i].random = i * 7919 + 1;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
}

static void join_callers(void) {
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_string_equal(callers[i].wrong, "");
}

/* After the factory has gone: whoever was promised a last call has had it. */
static void assert_all_was_ended(void) {
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(atomic_load(&callers[i].whens_ended), callers[i].whens);
        assert_int_equal(atomic_load(&callers[i].removed), atomic_load(&callers[i].removals));
    }
}

WORLD_TEST(ten_threads_read_register_and_wait_while_objects_change_and_connections_break) {
    worlds_start(1, NULL);
    start_callers(&worlds[0]);
    for (unsigned round = 0; atomic_load(&running); round++) {
        world_churn();
        if (round % 3 == 2)
            proxy_cut_all(worlds[0].proxy, round % 2 ? PROXY_RESET : PROXY_CLOSE);
    }
    join_callers();
    worlds_assert_all_recover(SIZE_MAX);
    worlds_close(state);
    assert_all_was_ended();
}

WORLD_TEST(ten_threads_call_while_the_factory_stops) {
    worlds_start(1, NULL);
    start_callers(&worlds[0]);
    while (atomic_load(&rounds_done) < THREADS * ROUNDS / 4)
        world_churn();
    atomic_store(&has_stopped, true);
    assert_int_equal(ki_factory_shutdown(worlds[0].factory, NULL), KI_OK);
    join_callers();
    worlds_close(state);
    assert_all_was_ended();
}

WORLD_TEST(ten_threads_call_while_the_informer_is_removed) {
    worlds_start(1, NULL);
    start_callers(&worlds[0]);
    while (atomic_load(&rounds_done) < THREADS * ROUNDS / 4)
        world_churn();
    atomic_store(&has_stopped, true);
    ki_informer *again = NULL;
    for (int i = 0; i < 3; i++) {
        ki_informer *removed = i ? again : worlds[0].informer;
        assert_int_equal(ki_factory_remove_informer(worlds[0].factory, removed, NULL), KI_OK);
        assert_int_equal(ki_factory_informer(worlds[0].factory, KI_CONFIGMAPS, NULL, &again, NULL), KI_OK);
        assert_int_equal(ki_factory_start(worlds[0].factory, NULL), KI_OK);
        assert_int_equal(ki_informer_wait_for_sync(again, WORLD_PATIENCE_MS, NULL), KI_OK);
    }
    join_callers();
    worlds_close(state);
    assert_all_was_ended();
}

/* ---- handlers without a pause ---- */

static atomic_bool is_enough;

static void *add_and_remove(void *user) {
    static const ki_handler handler = { .on_update = on_change };
    caller *self = user;
    const ki_registration_options options = KI_REGISTRATION_OPTIONS(.on_loop = self->number % 2);
    while (!atomic_load(&is_enough)) {
        ki_registration registration;
        ki_status status =
            ki_informer_add_handler(self->world->informer, &handler, self, &options, &registration, NULL);
        expect(self, status == KI_OK, "register", status);
        if (!status)
            expect_ok(self, ki_informer_remove_handler(self->world->informer, registration, NULL), "remove_handler");
    }
    return NULL;
}

/* The threads end only after all changes have arrived. */
WORLD_TEST(threads_that_add_and_remove_handlers_without_a_pause_keep_no_change_from_the_others) {
    enum {
        CHURNS = 100
    };
    worlds_start(1, NULL);
    memset(callers, 0, sizeof callers);
    atomic_store(&is_enough, false);
    for (unsigned i = 0; i < THREADS; i++) {
        callers[i].world = &worlds[0];
        callers[i].number = i;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, add_and_remove, &callers[i]), 0);
    }
    for (unsigned i = 0; i < CHURNS; i++)
        world_churn();
    world_read_expected();
    world_wait_for_replay(&worlds[0]);
    atomic_store(&is_enough, true);
    join_callers();
    worlds_assert_all_recover(SIZE_MAX);
    worlds_close(state);
}
