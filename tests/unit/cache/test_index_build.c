/* test_index_build.c: an index that is added to a full store, while that goes on changing. */

#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/cache/store/index_build.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"
#include <kinformer/parts/store.h>

#include <pthread.h>
#include <stdio.h>

enum {
    MANY = 500,
    FEW = 20,
    AT_ONCE = 10
};

/* --- help --------------------------------------------------------------------------------------------------------- */

/* By the last digit of the version; `user` counts the calls. */
static ki_status index_digit(const ki_object *obj, ki_index_values *values, void *user) {
    const char *version = ki_object_resource_version(obj);
    ++*(size_t *)user;
    return ki_index_values_add(values, version + strlen(version) - 1);
}

static ki_store *new_store(const ki_allocator *allocator) {
    const ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = allocator, .seed = 5, .namespaced = true
    };
    ki_store *store = NULL;
    return ki_store_new(&options, &store, NULL) ? NULL : store;
}

static ki_status put(ki_store *store, unsigned number, unsigned version) {
    char key[32], text[16];
    snprintf(key, sizeof key, "ns/k%u", number);
    snprintf(text, sizeof text, "%u", version);
    ki_object *obj = make_object(key, text, NULL);
    ki_status status = ki_store_put(store, obj, text, NULL);
    ki_object_unref(obj);
    return status;
}

static void fill(ki_store *store, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(put(store, i, i + 1), KI_OK);
}

/* Changes, adds and deletes objects; not the same ones for another `round`. */
static void change(ki_store *store, unsigned count, unsigned round) {
    char key[32];
    for (unsigned i = 0; i < count; i++) {
        unsigned number = (i * 7 + round * 13) % (2 * MANY);
        snprintf(key, sizeof key, "ns/k%u", number);
        if ((i + round) % 4 == 0)
            assert_int_equal(ki_store_delete(store, key, NULL, NULL), KI_OK);
        else
            assert_int_equal(put(store, number, 10000 + round * 100 + i), KI_OK);
    }
}

/* Each object is under the value that is its own, and under no other. */
static void check_index(ki_store *store, const char *name) {
    ki_snapshot *now = ki_store_snapshot(store);
    size_t found = 0;
    for (char digit[2] = "0"; digit[0] <= '9'; digit[0]++) {
        ki_cursor cursor = KI_CURSOR_INIT;
        for (const ki_object *obj; (obj = ki_snapshot_next_by_index(now, name, digit, &cursor)); found++) {
            const char *version = ki_object_resource_version(obj);
            assert_ptr_equal(ki_snapshot_get(now, ki_object_key(obj)), obj);
            assert_int_equal(version[strlen(version) - 1], digit[0]);
        }
    }
    assert_int_equal(found, ki_snapshot_count(now));
    assert_true(ki_snapshot_has_index(now, name));
    ki_snapshot_free(now);
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

TEST(an_index_follows_what_changes_while_it_is_built) {
    for (unsigned rounds = 0; rounds < 6; rounds++) {
        size_t calls = 0;
        const ki_indexer indexer = { .name = "digit", .index = index_digit, .user = &calls };
        ki_store *store = new_store(&ki_allocator_default);
        ki_index_build build;
        bool is_done = false;
        fill(store, MANY);
        assert_int_equal(ki_index_build_begin(&build, store, &indexer, 1, NULL), KI_OK);
        for (unsigned round = 0; !is_done; round++) {
            if (round < rounds)
                change(store, 50 / (round + 1), round); /* since the moment at which it began, or followed last */
            assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
            if (round < rounds)
                change(store, 100 / (round + 1), round);
            size_t before = calls;
            assert_int_equal(ki_index_build_publish(&build, AT_ONCE, &is_done, NULL), KI_OK);
            assert_true(calls - before <= 2 * AT_ONCE); /* of the old and of the new state of an object */
            assert_true(round <= rounds);
        }
        ki_index_build_end(&build);
        check_index(store, "digit");
        change(store, 100, 77);
        check_index(store, "digit");
        ki_store_free(store);
    }
}

TEST(an_index_that_comes_meanwhile_stays_and_no_object_is_indexed_again) {
    size_t calls = 0, other_calls = 0;
    const ki_indexer first = { .name = "first", .index = index_digit, .user = &calls },
                     second = { .name = "second", .index = index_digit, .user = &other_calls };
    ki_store *store = new_store(&ki_allocator_default);
    ki_index_build build;
    bool is_done = true;
    fill(store, FEW);
    assert_int_equal(ki_index_build_begin(&build, store, &first, 1, NULL), KI_OK);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
    assert_int_equal(ki_store_add_indexers(store, &second, 1, NULL), KI_OK);
    assert_int_equal(ki_index_build_publish(&build, AT_ONCE, &is_done, NULL), KI_OK);
    assert_false(is_done);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
    assert_int_equal(ki_index_build_publish(&build, AT_ONCE, &is_done, NULL), KI_OK);
    assert_true(is_done);
    assert_int_equal(calls, FEW);
    ki_index_build_end(&build);
    check_index(store, "first");
    check_index(store, "second");
    change(store, FEW, 3);
    check_index(store, "first");
    check_index(store, "second");
    ki_store_free(store);
}

TEST(a_name_that_is_taken_meanwhile_is_an_error) {
    size_t calls = 0;
    const ki_indexer indexer = { .name = "digit", .index = index_digit, .user = &calls };
    ki_store *store = new_store(&ki_allocator_default);
    ki_index_build build;
    bool is_done = true;
    fill(store, FEW);
    assert_int_equal(ki_index_build_begin(&build, store, &indexer, 1, NULL), KI_OK);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
    assert_int_equal(ki_store_add_indexers(store, &indexer, 1, NULL), KI_OK);
    assert_int_equal(ki_index_build_publish(&build, AT_ONCE, &is_done, NULL), KI_OK);
    assert_false(is_done);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_ERR_EXISTS);
    ki_index_build_end(&build);
    check_index(store, "digit");
    ki_store_free(store);
}

TEST(what_was_prepared_and_not_published_is_dropped) {
    size_t calls = 0;
    const ki_indexer indexer = { .name = "digit", .index = index_digit, .user = &calls };
    ki_store *store = new_store(&ki_allocator_default);
    ki_index_build build;
    bool is_ready = false;
    fill(store, FEW);
    assert_int_equal(ki_index_build_begin(&build, store, &indexer, 1, NULL), KI_OK);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
    assert_int_equal(ki_index_build_prepare(&build, AT_ONCE, &is_ready, NULL), KI_OK);
    assert_true(is_ready);
    change(store, FEW, 0);
    assert_int_equal(ki_index_build_catch_up(&build, NULL), KI_OK);
    assert_int_equal(ki_index_build_publish(&build, AT_ONCE, &is_ready, NULL), KI_OK);
    assert_true(is_ready);
    ki_index_build_end(&build);
    check_index(store, "digit");
    ki_store_free(store);
}

static ki_status build_while_it_changes(ki_store *store, const ki_indexer *indexer) {
    ki_index_build build;
    bool is_done = false;
    ki_status status = ki_index_build_begin(&build, store, indexer, 1, NULL);
    if (status)
        return status;
    status = put(store, 0, 50);
    if (!status)
        status = ki_index_build_catch_up(&build, NULL);
    if (!status)
        status = put(store, 1, 51);
    if (!status)
        status = ki_index_build_publish(&build, MANY, &is_done, NULL);
    assert_true(status || is_done);
    ki_index_build_end(&build);
    return status;
}

TEST(lack_of_memory_leaves_a_store_without_the_index) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        size_t calls = 0;
        const ki_indexer indexer = { .name = "digit", .index = index_digit, .user = &calls };
        ki_store *store = new_store(&memory.allocator);
        fill(store, FEW);
        scarce_memory_begin(&memory);
        ki_status status = build_while_it_changes(store, &indexer);
        assert_true(scarce_memory_failed(&memory) || !status);
        if (status) {
            assert_int_equal(status, KI_ERR_NO_MEMORY);
            ki_snapshot *now = ki_store_snapshot(store);
            assert_false(ki_snapshot_has_index(now, "digit"));
            assert_int_equal(ki_snapshot_count(now), FEW);
            ki_snapshot_free(now);
            assert_int_equal(ki_store_add_indexers(store, &indexer, 1, NULL), KI_OK);
        }
        check_index(store, "digit");
        ki_store_free(store);
    }
}

/* --- an informer -------------------------------------------------------------------------------------------------- */

/* Stops in the first call of its index function until it is let go. */
typedef struct adder {
    ki_informer *informer;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_inside, may_go_on;
    ki_status status;
} adder;

static ki_status index_slowly(const ki_object *obj, ki_index_values *values, void *user) {
    adder *self = user;
    pthread_mutex_lock(&self->mutex);
    self->is_inside = true;
    pthread_cond_broadcast(&self->changed);
    while (!self->may_go_on)
        pthread_cond_wait(&self->changed, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    const char *version = ki_object_resource_version(obj);
    return ki_index_values_add(values, version + strlen(version) - 1);
}

static void *add_index(void *user) {
    adder *self = user;
    const ki_indexer indexer = { .name = "digit", .index = index_slowly, .user = self };
    self->status = ki_informer_add_indexers(self->informer, &indexer, 1, NULL);
    return NULL;
}

static void ignore_event(const ki_event *event, void *user) {
    (void)event, (void)user;
}

TEST(nobody_waits_for_an_index_that_is_built_on_another_thread) {
    static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };
    static const ki_handler handler = { .on_add = ignore_event };
    test_engine engine;
    fake_list_watch source;
    adder other = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    pthread_t thread;
    assert_true(test_engine_open(&engine, NULL, 1));
    fake_init(&source);
    const ki_shared_informer_options options = {
        .engine = engine.engine, .list_watch = &source.base, .factory = streaming_if(false), .seed = 5
    };
    assert_int_equal(informer_of(&configmaps, options, &other.informer), KI_OK);
    assert_int_equal(ki_informer_start(other.informer, NULL), KI_OK);
    assert_true(test_engine_settle(&engine));
    assert_true(fake_play(&source, "ns/a=1") && fake_play(&source, "ns/b=2"));
    assert_true(fake_play(&source, "{5:}") && test_engine_settle(&engine) && fake_play(&source, "open"));
    assert_int_equal(pthread_create(&thread, NULL, add_index, &other), 0);
    pthread_mutex_lock(&other.mutex);
    while (!other.is_inside)
        pthread_cond_wait(&other.changed, &other.mutex);
    pthread_mutex_unlock(&other.mutex);

    assert_true(fake_play(&source, "~ns/a=6") && fake_play(&source, "-ns/b=7"));
    assert_true(fake_play(&source, "+ns/c=8") && test_engine_settle(&engine));
    assert_int_equal(ki_store_count(other.informer->store), 2);
    assert_int_equal(ki_informer_add_handler(other.informer, &handler, NULL, NULL, NULL, NULL), KI_OK);

    pthread_mutex_lock(&other.mutex);
    other.may_go_on = true;
    pthread_cond_broadcast(&other.changed);
    pthread_mutex_unlock(&other.mutex);
    pthread_join(thread, NULL);
    assert_int_equal(other.status, KI_OK);
    check_index(other.informer->store, "digit");
    ki_informer_stop(other.informer);
    ki_informer_join(other.informer);
    ki_informer_free(other.informer);
    test_engine_close(&engine);
    pthread_cond_destroy(&other.changed);
    pthread_mutex_destroy(&other.mutex);
}
