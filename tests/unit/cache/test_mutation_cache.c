/* test_mutation_cache.c: an own write is shown until the informer's copy has caught up with it, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kinformer/mutation_cache.h>

#include "tests/support/informer_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_mutation_cache *cache;

/* a at 5 and b at 6 in an informer's cache at 10. */
static void open_cached(stage *s, const ki_mutation_cache_options *options) {
    open_stage(s, 0);
    start_stage(s);
    play_each(s, LISTED);
    assert_int_equal(ki_mutation_cache_new(s->informer, options, &cache, NULL), KI_OK);
}

static void close_cached(stage *s) {
    ki_mutation_cache_free(cache);
    close_stage(s);
}

static void put(const char *key, const char *version) {
    ki_object *obj = fake_object(key, version, NULL);
    assert_int_equal(ki_mutation_cache_put(cache, obj, NULL), KI_OK);
    ki_object_unref(obj);
}

/* Its version, or "". */
static const char *get(const char *key) {
    static char seen[TEXT];
    ki_object *obj = ki_mutation_cache_get(cache, key);
    snprintf(seen, sizeof seen, "%s", obj ? ki_object_resource_version(obj) : "");
    ki_object_unref(obj);
    return seen;
}

static void the_newer_of_write_and_cached_object_is_shown(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    assert_string_equal(get("default/a"), "5");
    assert_string_equal(get("default/x"), "");
    put("default/a", "12");
    assert_string_equal(get("default/a"), "12");
    play_each(&s, "mod default/a 11"); /* somebody else's, before */
    assert_string_equal(get("default/a"), "12");
    play_each(&s, "mod default/a 12");
    assert_string_equal(get("default/a"), "12");
    play_each(&s, "mod default/a 13");
    assert_string_equal(get("default/a"), "13");
    put("default/b", "4"); /* the copy is ahead already */
    assert_string_equal(get("default/b"), "6");
    close_cached(&s);
}

static void a_write_that_the_cache_lacks_is_shown_until_the_cache_has_it(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    put("default/x", "12");
    put("default/a", "13");
    assert_string_equal(get("default/x"), "12");
    play_each(&s, "bookmark 12"); /* so x was made and deleted again, or is in no selection of the informer's */
    assert_string_equal(get("default/x"), "");
    assert_string_equal(get("default/a"), "13");
    play_each(&s, "del default/a 14");
    assert_string_equal(get("default/a"), "");
    close_cached(&s);
}

static void of_two_writes_the_newer_stays(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    put("default/a", "20");
    put("default/a", "19");
    assert_string_equal(get("default/a"), "20");
    put("default/a", "21");
    assert_string_equal(get("default/a"), "21");
    close_cached(&s);
}

static void versions_that_cannot_be_compared_show_the_cached_object(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    put("default/a", "abc");
    assert_string_equal(get("default/a"), "5");
    put("default/x", "abc"); /* nothing to show in its place */
    assert_string_equal(get("default/x"), "abc");
    close_cached(&s);
}

static void a_write_is_shown_no_longer_than_its_time(void **state) {
    (void)state;
    static const struct {
        int64_t ttl_ms, shown_ms, gone_ms;
    } cases[] = { { 0, 300000, 1 }, { 1000, 1000, 1 }, { -1, 1000000000, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        open_cached(&s, &KI_MUTATION_CACHE_OPTIONS(.ttl_ms = cases[i].ttl_ms));
        put("default/a", "1000");
        s.engine.now += KI_MILLISECONDS(cases[i].shown_ms);
        s.source.watches = false; /* what the informer does meanwhile is of no matter */
        ki_informer_stop(s.informer);
        settle(&s);
        assert_string_equal(get("default/a"), "1000");
        s.engine.now += KI_MILLISECONDS(cases[i].gone_ms);
        settle(&s);
        assert_string_equal(get("default/a"), cases[i].gone_ms ? "5" : "1000");
        close_cached(&s);
    }
}

static void the_least_recently_used_goes_first(void **state) {
    (void)state;
    stage s;
    open_cached(&s, &KI_MUTATION_CACHE_OPTIONS(.capacity = 2));
    put("default/x", "21");
    put("default/y", "22");
    assert_string_equal(get("default/x"), "21");
    put("default/z", "23");
    assert_string_equal(get("default/y"), "");
    assert_string_equal(get("default/x"), "21");
    assert_string_equal(get("default/z"), "23");
    close_cached(&s);
    open_cached(&s, NULL);
    for (int i = 0; i <= 100; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        put(key, "50");
    }
    assert_string_equal(get("default/k0"), "");
    assert_string_equal(get("default/k1"), "50");
    assert_string_equal(get("default/k100"), "50");
    close_cached(&s);
}

static void nothing_is_put_without_a_cache_or_an_object(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    ki_object *obj = fake_object("default/x", "1", NULL);
    assert_int_equal(ki_mutation_cache_put(NULL, obj, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_mutation_cache_put(cache, NULL, NULL), KI_ERR_INVALID);
    ki_object_unref(obj);
    close_cached(&s);
}

static void options_without_a_size_are_rejected(void **state) {
    (void)state;
    stage s;
    open_cached(&s, NULL);
    ki_mutation_cache *none = NULL;
    const ki_mutation_cache_options unset = { .capacity = 1 };
    assert_int_equal(ki_mutation_cache_new(s.informer, &unset, &none, NULL), KI_ERR_INVALID);
    assert_null(none);
    ki_mutation_cache_free(NULL);
    close_cached(&s);
}

static void lack_of_memory_leaves_the_cache_as_it_was(void **state) {
    (void)state;
    ki_object *older = fake_object("default/x", "1", NULL), *newer = fake_object("default/x", "2", NULL);
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        stage s;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(open_stage_with(&s, (ki_shared_informer_options){ .resync_ns = 0 }, &memory.allocator), KI_OK);
        scarce_memory_begin(&memory);
        if (ki_mutation_cache_new(s.informer, NULL, &cache, &err) == KI_OK) {
            if (ki_mutation_cache_put(cache, older, &err))
                assert_string_equal(get("default/x"), "");
            else if (ki_mutation_cache_put(cache, newer, &err))
                assert_string_equal(get("default/x"), "1");
            else
                assert_string_equal(get("default/x"), "2");
            ki_mutation_cache_free(cache);
        }
        assert_int_equal(err.code, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        close_stage(&s);
    }
    ki_object_unref(older);
    ki_object_unref(newer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newer_of_write_and_cached_object_is_shown),
        cmocka_unit_test(a_write_that_the_cache_lacks_is_shown_until_the_cache_has_it),
        cmocka_unit_test(of_two_writes_the_newer_stays),
        cmocka_unit_test(versions_that_cannot_be_compared_show_the_cached_object),
        cmocka_unit_test(a_write_is_shown_no_longer_than_its_time),
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(nothing_is_put_without_a_cache_or_an_object),
        cmocka_unit_test(options_without_a_size_are_rejected),
        cmocka_unit_test(lack_of_memory_leaves_the_cache_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
