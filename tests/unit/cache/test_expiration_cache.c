/* test_expiration_cache.c: what has expired is not seen and is dropped by whoever looks; the clock is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kinformer/expiration_cache.h>

#include "src/engine/thread.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 256
};

typedef struct fixture {
    test_engine engine;
    ki_expiration_cache *cache;
    char seen[TEXT];
} fixture;

static void set_up(fixture *f, const ki_expiration_cache_options *options) {
    memset(f, 0, sizeof *f);
    assert_true(test_engine_open(&f->engine, NULL, 1));
    assert_int_equal(ki_expiration_cache_new(f->engine.engine, options, &f->cache, NULL), KI_OK);
}

static void tear_down(fixture *f) {
    ki_expiration_cache_free(f->cache);
    test_engine_close(&f->engine);
}

/* Moves the clock by nanoseconds; the engine's own time is that of its last step. */
static void pass(fixture *f, int64_t ns) {
    f->engine.now += ns;
    assert_true(test_engine_settle(&f->engine));
}

static void put(fixture *f, const char *key, const char *version) {
    ki_object *obj = make_object(key, version, NULL);
    assert_int_equal(ki_expiration_cache_put(f->cache, obj, NULL), KI_OK);
    ki_object_unref(obj);
}

/* Its version, or "". */
static const char *get(fixture *f, const char *key) {
    ki_object *obj = ki_expiration_cache_get(f->cache, key);
    snprintf(f->seen, sizeof f->seen, "%s", obj ? ki_object_resource_version(obj) : "");
    ki_object_unref(obj);
    return f->seen;
}

static void visit(const ki_object *obj, void *user) {
    fixture *f = user;
    snprintf(f->seen + strlen(f->seen), sizeof f->seen - strlen(f->seen), "%s;", ki_object_key(obj));
    ki_expiration_cache_remove(f->cache, "a visitor may call the cache");
}

static void an_expired_entry_is_dropped_when_it_is_read(void **state) {
    (void)state;
    fixture f;
    set_up(&f, &KI_EXPIRATION_CACHE_OPTIONS(.ttl_ms = 30000));
    put(&f, "foo", "1");
    assert_string_equal(get(&f, "foo"), "1");
    pass(&f, KI_SECONDS(30)); /* exactly as old as it may be */
    assert_string_equal(get(&f, "foo"), "1");
    pass(&f, 1);
    assert_int_equal(ki_expiration_cache_count(f.cache), 1);
    assert_string_equal(get(&f, "foo"), "");
    assert_int_equal(ki_expiration_cache_count(f.cache), 0);
    assert_string_equal(get(&f, "foo"), "");
    tear_down(&f);
}

static void one_that_is_put_again_begins_anew(void **state) {
    (void)state;
    fixture f;
    set_up(&f, &KI_EXPIRATION_CACHE_OPTIONS(.ttl_ms = 1000));
    put(&f, "foo", "1");
    pass(&f, KI_SECONDS(2));
    assert_string_equal(get(&f, "foo"), "");
    put(&f, "foo", "2");
    pass(&f, KI_MILLISECONDS(900));
    assert_string_equal(get(&f, "foo"), "2");
    put(&f, "foo", "3"); /* before it has expired, too */
    pass(&f, KI_MILLISECONDS(900));
    assert_string_equal(get(&f, "foo"), "3");
    assert_int_equal(ki_expiration_cache_count(f.cache), 1);
    tear_down(&f);
}

static bool all_but_foo1(const ki_object *obj, int64_t age_ms, void *user) {
    (void)user;
    return age_ms >= 5 && strcmp(ki_object_name(obj), "foo1") != 0;
}

static void a_walk_sees_what_is_valid_and_drops_the_rest(void **state) {
    (void)state;
    fixture f;
    set_up(&f, &KI_EXPIRATION_CACHE_OPTIONS(.is_expired = all_but_foo1));
    assert_int_equal(ki_expiration_cache_each(f.cache, visit, &f, NULL), KI_OK);
    assert_string_equal(f.seen, "");
    put(&f, "foo", "1");
    put(&f, "foo1", "1");
    put(&f, "foo2", "1");
    pass(&f, KI_MILLISECONDS(5));
    assert_int_equal(ki_expiration_cache_each(f.cache, visit, &f, NULL), KI_OK);
    assert_string_equal(f.seen, "foo1;");
    assert_int_equal(ki_expiration_cache_count(f.cache), 1);
    tear_down(&f);
}

static void count_visit(const ki_object *obj, void *user) {
    (void)obj;
    ++*(size_t *)user;
}

static void a_walk_sees_every_entry(void **state) {
    (void)state;
    fixture f;
    set_up(&f, NULL);
    for (size_t count = 1; count <= 200; count++) {
        char key[32];
        size_t visits = 0;
        snprintf(key, sizeof key, "default/k%zu", count);
        put(&f, key, "1");
        assert_int_equal(ki_expiration_cache_each(f.cache, count_visit, &visits, NULL), KI_OK);
        assert_int_equal(visits, count);
    }
    tear_down(&f);
}

static void without_a_time_to_live_nothing_expires(void **state) {
    (void)state;
    const ki_expiration_cache_options options[] = { KI_EXPIRATION_CACHE_OPTIONS(.ttl_ms = 0),
                                                    KI_EXPIRATION_CACHE_OPTIONS(.ttl_ms = -1),
                                                    KI_EXPIRATION_CACHE_OPTIONS(.ttl_ms = INT64_MAX) };
    for (size_t i = 0; i <= sizeof options / sizeof *options; i++) {
        fixture f;
        set_up(&f, i < sizeof options / sizeof *options ? &options[i] : NULL);
        put(&f, "foo", "1");
        pass(&f, KI_SECONDS(1000000));
        assert_string_equal(get(&f, "foo"), "1");
        tear_down(&f);
    }
}

static void entries_are_removed_and_replaced(void **state) {
    (void)state;
    fixture f;
    set_up(&f, NULL);
    put(&f, "a", "1");
    put(&f, "b", "1");
    assert_true(ki_expiration_cache_remove(f.cache, "a"));
    assert_false(ki_expiration_cache_remove(f.cache, "a"));
    ki_object *objects[] = { make_object("c", "1", NULL), make_object("d", "1", NULL), make_object("c", "2", NULL) };
    assert_int_equal(ki_expiration_cache_replace(f.cache, (const ki_object *const *)objects, 3, NULL), KI_OK);
    assert_string_equal(get(&f, "b"), "");
    assert_string_equal(get(&f, "c"), "2");
    assert_string_equal(get(&f, "d"), "1");
    assert_int_equal(ki_expiration_cache_count(f.cache), 2);
    for (size_t i = 0; i < 3; i++)
        ki_object_unref(objects[i]);
    tear_down(&f);
}

enum {
    ROUNDS = 500
};

static void replace_often(void *user) {
    ki_expiration_cache *cache = user;
    ki_object *objects[] = { make_object("a", "1", NULL), make_object("b", "1", NULL) };
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(ki_expiration_cache_replace(cache, (const ki_object *const *)objects, 2, NULL), KI_OK);
    ki_object_unref(objects[0]);
    ki_object_unref(objects[1]);
}

/* The thread sanitizer sees a function without its lock. */
static void a_reader_sees_all_of_a_replace_or_nothing(void **state) {
    (void)state;
    fixture f;
    set_up(&f, NULL);
    put(&f, "a", "1");
    ki_thread thread;
    assert_int_equal(ki_thread_start(&thread, "replacer", replace_often, f.cache, NULL), KI_OK);
    for (int i = 0; i < ROUNDS; i++) {
        assert_string_equal(get(&f, "a"), "1");
        assert_in_range(ki_expiration_cache_count(f.cache), 1, 2);
    }
    ki_thread_join(&thread);
    assert_int_equal(ki_expiration_cache_count(f.cache), 2);
    tear_down(&f);
}

static void options_without_a_size_are_rejected(void **state) {
    (void)state;
    fixture f;
    set_up(&f, NULL);
    ki_expiration_cache *cache = NULL;
    const ki_expiration_cache_options unset = { .ttl_ms = 1 };
    assert_int_equal(ki_expiration_cache_new(f.engine.engine, &unset, &cache, NULL), KI_ERR_INVALID);
    assert_null(cache);
    ki_expiration_cache_free(NULL);
    tear_down(&f);
}

static void lack_of_memory_leaves_the_cache_as_it_was(void **state) {
    (void)state;
    ki_object *a1 = make_object("a", "1", NULL), *a2 = make_object("a", "2", NULL), *b = make_object("b", "1", NULL);
    const ki_object *const others[] = { a2, b };
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        fixture f = { .cache = NULL };
        ki_error err = KI_ERROR_INIT;
        if (!test_engine_open(&f.engine, &memory.allocator, 1))
            continue;
        if (ki_expiration_cache_new(f.engine.engine, NULL, &f.cache, &err) == KI_OK) {
            if (ki_expiration_cache_put(f.cache, a1, &err))
                assert_int_equal(ki_expiration_cache_count(f.cache), 0);
            else if (ki_expiration_cache_replace(f.cache, others, 2, &err))
                assert_string_equal(get(&f, "a"), "1");
            else if (ki_expiration_cache_each(f.cache, visit, &f, &err))
                assert_string_equal(f.seen, "");
            ki_expiration_cache_free(f.cache);
        }
        test_engine_close(&f.engine);
        assert_int_equal(err.code == KI_ERR_NO_MEMORY, scarce_memory_failed(&memory));
    }
    ki_object_unref(a1);
    ki_object_unref(a2);
    ki_object_unref(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_expired_entry_is_dropped_when_it_is_read),
        cmocka_unit_test(one_that_is_put_again_begins_anew),
        cmocka_unit_test(a_walk_sees_what_is_valid_and_drops_the_rest),
        cmocka_unit_test(a_walk_sees_every_entry),
        cmocka_unit_test(without_a_time_to_live_nothing_expires),
        cmocka_unit_test(entries_are_removed_and_replaced),
        cmocka_unit_test(a_reader_sees_all_of_a_replace_or_nothing),
        cmocka_unit_test(options_without_a_size_are_rejected),
        cmocka_unit_test(lack_of_memory_leaves_the_cache_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
