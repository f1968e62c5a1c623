/* test_store_alone.c: a store without an informer, as a program has it: several threads that change it, bad
 * arguments. */

#include "tests/support/make_object.h"
#include "tests/support/store_changes.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static ki_status index_colour(const ki_object *obj, ki_index_values *values, void *user) {
    (void)user;
    return ki_index_values_add(values, ki_object_label(obj, "colour"));
}

/* Asserts the number of objects with `value` in `index`. */
static void assert_indexed(const ki_store *store, const char *index, const char *value, size_t count) {
    ki_snapshot *now = ki_store_snapshot(store);
    assert_true(ki_snapshot_has_index(now, index));
    assert_int_equal(ki_snapshot_count_by_index(now, index, value), count);
    ki_snapshot_free(now);
}

typedef struct writing {
    ki_store *store;
    unsigned number;
} writing;

enum {
    WRITERS = 3,
    WRITES = 200
};

/* Puts its own keys, deletes each second one, and adds an index of its own. */
static void *write_keys(void *user) {
    const writing *w = user;
    char key[32], name[8];
    snprintf(name, sizeof name, "i%u", w->number);
    for (unsigned i = 0; i < WRITES; i++) {
        snprintf(key, sizeof key, "w%u/%u", w->number, i);
        assert_int_equal(store_take(w->store, make_object(key, "1", "colour=red"), "1"), KI_OK);
        if (i % 2)
            assert_int_equal(ki_store_delete(w->store, key, "2", NULL), KI_OK);
        if (i == WRITES / 2)
            assert_int_equal(
                ki_store_add_indexers(w->store, &(ki_indexer){ .name = name, .index = index_colour }, 1, NULL), KI_OK);
    }
    return NULL;
}

TEST(writers_on_several_threads_lose_nothing) {
    ki_store *store = NULL;
    assert_int_equal(ki_store_new(&KI_STORE_OPTIONS(.namespaced = true), &store, NULL), KI_OK);
    pthread_t threads[WRITERS];
    writing w[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++) {
        w[i] = (writing){ .store = store, .number = i };
        assert_int_equal(pthread_create(&threads[i], NULL, write_keys, &w[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ki_store_count(store), WRITERS * WRITES / 2);
    for (unsigned i = 0; i < WRITERS; i++) {
        assert_indexed(store, KI_NAMESPACE_INDEX, (const char *[]){ "w0", "w1", "w2" }[i], WRITES / 2);
        assert_indexed(store, (const char *[]){ "i0", "i1", "i2" }[i], "red", WRITERS * WRITES / 2);
    }
    ki_store_free(store);
}

TEST(a_store_alone_needs_no_options) {
    ki_store *store = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_store_new(&(ki_store_options){ .namespaced = true }, &store, &err), KI_ERR_INVALID);
    assert_int_equal(ki_store_new(NULL, &store, &err), KI_OK);
    assert_int_equal(store_take(store, make_object("a/x", "1", NULL), "1"), KI_OK);
    ki_object *list[] = { NULL };
    assert_int_equal(ki_store_replace(store, list, 1, "2", &err), KI_ERR_INVALID);
    assert_int_equal(ki_store_count(store), 1);
    assert_int_equal(ki_store_put(NULL, NULL, NULL, NULL), KI_ERR_INVALID);
    assert_null(ki_store_get(NULL, "a/x"));
    assert_null(ki_store_get(store, NULL));
    assert_null(ki_store_snapshot(NULL));
    assert_int_equal(ki_store_count(NULL), 0);
    ki_store_free(store);
}
