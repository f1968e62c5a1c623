/* test_lister.c: lists and lookups in one moment: by namespace, by labels, by name; and of an informer. */

#include "src/base/memory.h"
#include "src/cache/store/snapshot.h"
#include "src/cache/store/store.h"
#include "src/object/selector.h"
#include "tests/support/informer_stage.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include <kinformer/parts/store.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

static ki_store *store_of(const ki_allocator *allocator, bool namespaced, const char *const (*objects)[2]) {
    ki_store_options options = {
        .size = sizeof(ki_store_options), .allocator = allocator, .seed = 1, .namespaced = namespaced
    };
    ki_store *store = NULL;
    assert_int_equal(ki_store_new(&options, &store, NULL), KI_OK);
    for (size_t i = 0; objects[i][0]; i++) {
        ki_object *obj = make_object(objects[i][0], "1", objects[i][1]);
        assert_int_equal(ki_store_put(store, obj, NULL, NULL), KI_OK);
        ki_object_unref(obj);
    }
    return store;
}

static const char *const pods[][2] = {
    { "a/web-1", "app=web,tier=front" }, { "a/web-2", "app=web" }, { "a/db-1", "app=db" }, { "b/web-1", "app=web" },
    { "b/job-1", "canary=yes" },         { NULL, NULL },
};

static const char *const nodes[][2] = { { "n1", "zone=x" }, { "n2", "zone=y" }, { NULL, NULL } };

/* Each key of `expected` ("a b c") is in the list, and nothing else. */
static void assert_listed(const ki_object_list *list, const char *expected) {
    size_t words = *expected != '\0';
    for (const char *c = expected; *c; c++)
        words += *c == ' ';
    assert_int_equal(list->count, words);
    for (size_t i = 0; i < list->count; i++) {
        const char *key = ki_object_key(list->objects[i]);
        const char *found = strstr(expected, key);
        assert_non_null(found);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(ki_object_key(list->objects[j]), key);
    }
}

static ki_status list_of(const ki_allocator *allocator, ki_snapshot *now, const char *namespace_name,
                         const char *labels, const char *fields, ki_object_list *ret_list) {
    ki_selector *selector = NULL;
    ki_status status = ki_selector_new_of(allocator, labels, fields, &selector, NULL);
    if (!status)
        status = ki_snapshot_list(now, namespace_name, selector, ret_list, NULL);
    ki_selector_free(selector);
    return status;
}

TEST(a_list_has_what_matches_namespace_and_labels) {
    static const struct {
        bool namespaced;
        const char *namespace_name;
        const char *selector;
        const char *fields;
        const char *expected;
    } cases[] = {
        { true, NULL, NULL, NULL, "a/web-1 a/web-2 a/db-1 b/web-1 b/job-1" },
        { true, "", "", NULL, "a/web-1 a/web-2 a/db-1 b/web-1 b/job-1" },
        { true, "a", NULL, NULL, "a/web-1 a/web-2 a/db-1" },
        { true, "b", "app=web", NULL, "b/web-1" },
        { true, NULL, "app in (web,db),!tier", NULL, "a/web-2 a/db-1 b/web-1" },
        { true, NULL, "app!=web", NULL, "a/db-1 b/job-1" },
        { true, "c", NULL, NULL, "" },
        { true, "a", "app=none", NULL, "" },
        { true, "a", NULL, "metadata.name=web-1", "a/web-1" },
        { true, NULL, "app=web", "metadata.name!=web-1", "a/web-2" },
        { false, NULL, NULL, NULL, "n1 n2" },
        { false, NULL, "zone=y", NULL, "n2" },
        { false, "a", NULL, NULL, "" }, /* no namespace index: still only that namespace */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_store *store = store_of(&ki_allocator_default, cases[i].namespaced, cases[i].namespaced ? pods : nodes);
        ki_snapshot *now = ki_store_snapshot(store);
        ki_object_list list;
        assert_int_equal(
            list_of(&ki_allocator_default, now, cases[i].namespace_name, cases[i].selector, cases[i].fields, &list),
            KI_OK);
        ki_snapshot_free(now);
        ki_store_free(store); /* the list keeps its objects */
        assert_listed(&list, cases[i].expected);
        ki_object_list_free(&list);
        ki_object_list_free(&list); /* empty by now */
    }
    ki_object_list_free(NULL);
}

TEST(a_walk_has_what_matches_a_parsed_selector) {
    static const struct {
        const char *namespace_name, *labels, *fields;
        size_t count;
    } cases[] = {
        { NULL, NULL, NULL, 5 },     { "a", "", "", 3 },          { NULL, "app=web", NULL, 3 },
        { "b", "app=web", NULL, 1 }, { "c", "app=web", NULL, 0 }, { NULL, "app=web", "metadata.name!=web-1", 1 },
    };
    ki_store *store = store_of(&ki_allocator_default, true, pods);
    ki_snapshot *now = ki_store_snapshot(store);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_selector *selector = NULL;
        assert_int_equal(ki_selector_new(cases[i].labels, cases[i].fields, &selector, NULL), KI_OK);
        ki_cursor cursor = KI_CURSOR_INIT;
        size_t count = 0;
        for (const ki_object *obj;
             (obj = ki_snapshot_next_match(now, cases[i].namespace_name, selector, &cursor)) != NULL; count++)
            assert_true(ki_object_matches(obj, selector));
        assert_int_equal(count, cases[i].count);
        ki_selector_free(selector);
    }
    ki_snapshot_free(now);
    ki_store_free(store);
}

TEST(an_object_is_found_by_namespace_and_name) {
    static const struct {
        const char *const (*objects)[2];
        const char *namespace_name;
        const char *name;
        bool found;
    } cases[] = {
        { pods, "a", "web-1", true }, { pods, "b", "db-1", false }, { pods, NULL, "web-1", false },
        { nodes, NULL, "n1", true },  { nodes, "", "n2", true },    { nodes, "a", "n1", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_store *store = store_of(&ki_allocator_default, cases[i].objects == pods, cases[i].objects);
        ki_snapshot *now = ki_store_snapshot(store);
        ki_object *obj = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_snapshot_lookup(now, cases[i].namespace_name, cases[i].name, &obj, &err);
        assert_int_equal(status, cases[i].found ? KI_OK : KI_ERR_NOT_FOUND);
        ki_snapshot_free(now);
        ki_store_free(store);
        if (obj)
            assert_string_equal(ki_object_name(obj), cases[i].name);
        else
            assert_non_null(strstr(ki_error_message(&err), cases[i].name));
        ki_object_unref(obj);
    }
}

TEST(lack_of_memory_is_reported_and_leaks_nothing) {
    for (size_t more = 0; more < 6; more++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_store *store = store_of(&memory.allocator, true, pods);
        ki_snapshot *now = ki_store_snapshot(store);
        memory.fail_at = memory.calls + more;
        ki_object_list list = { NULL, 0, NULL };
        ki_status status = list_of(&memory.allocator, now, "a", "app=db", NULL, &list);
        assert_int_equal(status, more < 4 ? KI_ERR_NO_MEMORY : KI_OK); /* the fifth only gives memory back */
        assert_int_equal(list.count, status ? 0 : 1);
        memory.fail_at = memory.calls;
        ki_object *obj = NULL;
        assert_int_equal(ki_snapshot_lookup(now, "a", "db-1", &obj, NULL), KI_ERR_NO_MEMORY);
        assert_null(obj);
        ki_object_list_free(&list);
        ki_snapshot_free(now);
        ki_store_free(store);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

TEST(an_index_by_path_has_what_is_there) {
    static const ki_indexer indexers[] = { { .name = "ip", .path = "status.podIPs[*].ip" },
                                           { .name = "node", .path = "spec.nodeName" },
                                           { .name = "priority", .path = "spec.priority" } };
    stage s;
    open_stage(&s, 0);
    assert_int_equal(ki_informer_add_indexers(s.informer, indexers, 3, NULL), KI_OK);
    start_stage(&s);
    play_each(&s, LISTED);
    ki_object *obj = NULL;
    ki_object_list list = { NULL, 0, NULL };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_informer_get_by_index(s.informer, "ip", "10.0.0.1", &obj, &err), KI_ERR_NOT_FOUND);
    assert_string_equal(ki_error_message(&err), "no object has ip=10.0.0.1");
    assert_int_equal(ki_informer_get_by_index(s.informer, "ips", "10.0.0.1", &obj, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "there is no index \"ips\"");
    assert_int_equal(ki_lister_list_by_index(s.informer, "ips", "10.0.0.1", &list, NULL), KI_ERR_INVALID);
    assert_null(obj);
    assert_int_equal(ki_lister_list_by_index(s.informer, KI_NAMESPACE_INDEX, "default", &list, NULL), KI_OK);
    assert_listed(&list, "default/a default/b");
    ki_object_list_free(&list);
    assert_int_equal(ki_informer_get_by_index(s.informer, KI_NAMESPACE_INDEX, "default", &obj, NULL), KI_OK);
    assert_string_equal(ki_object_namespace(obj), "default");
    ki_object_unref(obj);
    close_stage(&s);
}

TEST(a_lister_reads_its_informer_s_cache) {
    stage s;
    ki_object *obj = NULL;
    ki_object_list list = { NULL, 0, NULL };
    open_stage(&s, 0);
    start_stage(&s);
    play_each(&s, LISTED);
    assert_int_equal(ki_lister_list(s.informer, "default", NULL, NULL, &list, NULL), KI_OK);
    assert_listed(&list, "default/a default/b");
    ki_object_list_free(&list);
    assert_int_equal(ki_lister_get(s.informer, "default", "c", &obj, NULL), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_lister_get(s.informer, "default", "a", &obj, NULL), KI_OK);
    assert_string_equal(ki_object_key(obj), "default/a");
    ki_object_unref(obj);
    assert_int_equal(ki_lister_get(s.informer, "default", NULL, &obj, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_lister_get(NULL, "default", "a", &obj, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_lister_list(NULL, NULL, NULL, NULL, &list, NULL), KI_ERR_INVALID);
    list.count = 7;
    assert_int_equal(ki_lister_list(s.informer, NULL, "a in", NULL, &list, NULL), KI_ERR_PARSE);
    assert_int_equal(list.count, 7); /* untouched */
    close_stage(&s);
}

/* ---- a removed informer ---- */

enum {
    READERS = 2
};

typedef struct reader {
    pthread_t thread;
    ki_informer *informer;
    atomic_uint lists; /* whole ones */
    ki_status ended_with;
    bool found_nothing; /* an empty list, or an object that is not there, without an error */
} reader;

static void *read_until_error(void *user) {
    reader *self = user;
    while (!self->ended_with && !self->found_nothing) {
        ki_object_list list;
        ki_object *obj = NULL;
        self->ended_with = ki_lister_list(self->informer, NULL, NULL, NULL, &list, NULL);
        if (!self->ended_with) {
            self->found_nothing = list.count == 0;
            ki_object_list_free(&list);
            atomic_fetch_add(&self->lists, 1);
            self->ended_with = ki_lister_get(self->informer, "default", "a", &obj, NULL);
            self->found_nothing |= self->ended_with == KI_ERR_NOT_FOUND;
            ki_object_unref(obj);
        }
    }
    return NULL;
}

TEST(the_cache_of_a_removed_informer_is_not_read_as_an_empty_one) {
    for (int round = 0; round < 100; round++) {
        stage s;
        reader readers[READERS];
        open_stage(&s, 0);
        start_stage(&s);
        play_each(&s, LISTED);
        for (size_t i = 0; i < READERS; i++) {
            readers[i] = (reader){ .informer = s.informer };
            assert_int_equal(pthread_create(&readers[i].thread, NULL, read_until_error, &readers[i]), 0);
            while (!atomic_load(&readers[i].lists))
                sched_yield();
        }
        assert_int_equal(ki_informer_remove(s.informer, NULL), KI_OK);
        for (size_t i = 0; i < READERS; i++)
            pthread_join(readers[i].thread, NULL);
        close_stage(&s);
        for (size_t i = 0; i < READERS; i++) {
            assert_false(readers[i].found_nothing);
            assert_int_equal(readers[i].ended_with, KI_ERR_STATE);
        }
    }
}
