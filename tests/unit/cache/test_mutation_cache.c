/* test_mutation_cache.c: an own write is shown until the informer's copy has caught up with it, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kinformer/mutation_cache.h>

#include "src/cache/shared_informer.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 256
};

typedef struct stage {
    test_engine engine;
    fake_list_watch source;
    ki_informer *informer;
    ki_mutation_cache *cache;
    char seen[TEXT];
} stage;

static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };

/* One of a and b at 5 and 6 in a copy at 10. */
static void open_stage(stage *s, const ki_mutation_cache_options *options) {
    memset(s, 0, sizeof *s);
    assert_true(test_engine_open(&s->engine, NULL, 1));
    fake_init(&s->source);
    ki_shared_informer_options informer_options = {
        .engine = s->engine.engine, .list_watch = &s->source.base, .resource = &configmaps, .no_streaming_list = true
    };
    assert_true(test_engine_settle(&s->engine));
    assert_int_equal(ki_informer_new(&informer_options, &s->informer, NULL), KI_OK);
    assert_int_equal(ki_informer_start(s->informer, NULL), KI_OK);
    assert_true(test_engine_settle(&s->engine));
    assert_true(fake_play(&s->source, "item default/a 5") && fake_play(&s->source, "item default/b 6") &&
                fake_play(&s->source, "page 10 -"));
    assert_true(test_engine_settle(&s->engine));
    assert_true(fake_play(&s->source, "open"));
    assert_int_equal(ki_mutation_cache_new(s->informer, options, &s->cache, NULL), KI_OK);
}

static void close_stage(stage *s) {
    ki_mutation_cache_free(s->cache);
    ki_informer_stop(s->informer);
    ki_informer_join(s->informer);
    ki_informer_free(s->informer);
    test_engine_close(&s->engine);
}

static void play(stage *s, const char *line) {
    assert_true(fake_play(&s->source, line));
    assert_true(test_engine_settle(&s->engine));
}

static void put(stage *s, const char *key, const char *version) {
    ki_object *obj = fake_object(key, version, NULL);
    assert_int_equal(ki_mutation_cache_put(s->cache, obj, NULL), KI_OK);
    ki_object_unref(obj);
}

/* Its version, or "". */
static const char *get(stage *s, const char *key) {
    ki_object *obj = ki_mutation_cache_get(s->cache, key);
    snprintf(s->seen, sizeof s->seen, "%s", obj ? ki_object_resource_version(obj) : "");
    ki_object_unref(obj);
    return s->seen;
}

static void the_newer_of_write_and_copy_is_shown(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    assert_string_equal(get(&s, "default/a"), "5");
    assert_string_equal(get(&s, "default/x"), "");
    put(&s, "default/a", "12");
    assert_string_equal(get(&s, "default/a"), "12");
    play(&s, "mod default/a 11"); /* somebody else's, before */
    assert_string_equal(get(&s, "default/a"), "12");
    play(&s, "mod default/a 12");
    assert_string_equal(get(&s, "default/a"), "12");
    play(&s, "mod default/a 13");
    assert_string_equal(get(&s, "default/a"), "13");
    put(&s, "default/b", "4"); /* the copy is ahead already */
    assert_string_equal(get(&s, "default/b"), "6");
    close_stage(&s);
}

static void a_write_that_the_copy_lacks_is_shown_until_it_has_been_there(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    put(&s, "default/x", "12");
    put(&s, "default/a", "13");
    assert_string_equal(get(&s, "default/x"), "12");
    play(&s, "bookmark 12"); /* so x was made and deleted again, or is in no selection of the informer's */
    assert_string_equal(get(&s, "default/x"), "");
    assert_string_equal(get(&s, "default/a"), "13");
    play(&s, "del default/a 14");
    assert_string_equal(get(&s, "default/a"), "");
    close_stage(&s);
}

static void of_two_writes_the_newer_stays(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    put(&s, "default/a", "20");
    put(&s, "default/a", "19");
    assert_string_equal(get(&s, "default/a"), "20");
    put(&s, "default/a", "21");
    assert_string_equal(get(&s, "default/a"), "21");
    close_stage(&s);
}

static void versions_that_cannot_be_compared_show_the_copy(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    put(&s, "default/a", "abc");
    assert_string_equal(get(&s, "default/a"), "5");
    put(&s, "default/x", "abc"); /* nothing to show in its place */
    assert_string_equal(get(&s, "default/x"), "abc");
    close_stage(&s);
}

static void a_write_is_shown_no_longer_than_its_time(void **state) {
    (void)state;
    static const struct {
        int64_t ttl_ms, shown_ms, gone_ms;
    } cases[] = { { 0, 300000, 1 }, { 1000, 1000, 1 }, { -1, 1000000000, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage s;
        open_stage(&s, &KI_MUTATION_CACHE_OPTIONS(.ttl_ms = cases[i].ttl_ms));
        put(&s, "default/a", "1000");
        s.engine.now += KI_MILLISECONDS(cases[i].shown_ms);
        s.source.watches = false; /* what the informer does meanwhile is of no matter */
        ki_informer_stop(s.informer);
        assert_true(test_engine_settle(&s.engine));
        assert_string_equal(get(&s, "default/a"), "1000");
        s.engine.now += KI_MILLISECONDS(cases[i].gone_ms);
        assert_true(test_engine_settle(&s.engine));
        assert_string_equal(get(&s, "default/a"), cases[i].gone_ms ? "5" : "1000");
        close_stage(&s);
    }
}

static void the_least_recently_used_goes_first(void **state) {
    (void)state;
    stage s;
    open_stage(&s, &KI_MUTATION_CACHE_OPTIONS(.capacity = 2));
    put(&s, "default/x", "21");
    put(&s, "default/y", "22");
    assert_string_equal(get(&s, "default/x"), "21");
    put(&s, "default/z", "23");
    assert_string_equal(get(&s, "default/y"), "");
    assert_string_equal(get(&s, "default/x"), "21");
    assert_string_equal(get(&s, "default/z"), "23");
    close_stage(&s);
    open_stage(&s, NULL);
    for (int i = 0; i <= 100; i++) {
        char key[32];
        snprintf(key, sizeof key, "default/k%d", i);
        put(&s, key, "50");
    }
    assert_string_equal(get(&s, "default/k0"), "");
    assert_string_equal(get(&s, "default/k1"), "50");
    assert_string_equal(get(&s, "default/k100"), "50");
    close_stage(&s);
}

static void nothing_is_put_without_a_cache_or_an_object(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    ki_object *obj = fake_object("default/x", "1", NULL);
    assert_int_equal(ki_mutation_cache_put(NULL, obj, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_mutation_cache_put(s.cache, NULL, NULL), KI_ERR_INVALID);
    ki_object_unref(obj);
    close_stage(&s);
}

static void options_without_a_size_are_refused(void **state) {
    (void)state;
    stage s;
    open_stage(&s, NULL);
    ki_mutation_cache *cache = NULL;
    const ki_mutation_cache_options unset = { .capacity = 1 };
    assert_int_equal(ki_mutation_cache_new(s.informer, &unset, &cache, NULL), KI_ERR_INVALID);
    assert_null(cache);
    ki_mutation_cache_free(NULL);
    close_stage(&s);
}

static void lack_of_memory_leaves_the_cache_as_it_was(void **state) {
    (void)state;
    ki_object *older = fake_object("default/x", "1", NULL), *newer = fake_object("default/x", "2", NULL);
    for (size_t fail_at = 0;; fail_at++) {
        scarce_memory memory;
        stage s = { .cache = NULL };
        ki_error err = KI_ERROR_INIT;
        scarce_memory_init(&memory, SIZE_MAX);
        assert_true(test_engine_open(&s.engine, &memory.allocator, 1));
        fake_init(&s.source);
        ki_shared_informer_options options = { .engine = s.engine.engine,
                                               .list_watch = &s.source.base,
                                               .resource = &configmaps };
        assert_int_equal(ki_informer_new(&options, &s.informer, NULL), KI_OK);
        memory.fail_at = memory.calls + fail_at;
        if (ki_mutation_cache_new(s.informer, NULL, &s.cache, &err) == KI_OK) {
            if (ki_mutation_cache_put(s.cache, older, &err))
                assert_string_equal(get(&s, "default/x"), "");
            else if (ki_mutation_cache_put(s.cache, newer, &err))
                assert_string_equal(get(&s, "default/x"), "1");
            else
                assert_string_equal(get(&s, "default/x"), "2");
            ki_mutation_cache_free(s.cache);
        }
        bool failed = scarce_memory_failed(&memory);
        assert_int_equal(err.code, failed ? KI_ERR_NO_MEMORY : KI_OK);
        ki_informer_stop(s.informer);
        ki_informer_join(s.informer);
        ki_informer_free(s.informer);
        test_engine_close(&s.engine);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!failed)
            break;
    }
    ki_object_unref(older);
    ki_object_unref(newer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newer_of_write_and_copy_is_shown),
        cmocka_unit_test(a_write_that_the_copy_lacks_is_shown_until_it_has_been_there),
        cmocka_unit_test(of_two_writes_the_newer_stays),
        cmocka_unit_test(versions_that_cannot_be_compared_show_the_copy),
        cmocka_unit_test(a_write_is_shown_no_longer_than_its_time),
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(nothing_is_put_without_a_cache_or_an_object),
        cmocka_unit_test(options_without_a_size_are_refused),
        cmocka_unit_test(lack_of_memory_leaves_the_cache_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
