/* test_mutation_detector.c: an object of the cache that somebody writes to is found and named; others are not. */

#include "src/base/memory.h"
#include "src/cache/store/mutation_detector.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/make_object.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/selected.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT = 1024
};

static void note(const ki_error *err, const char *key, void *user) {
    char *text = user;
    assert_int_equal(err->code, KI_ERR_INVALID);
    assert_non_null(strstr(ki_error_message(err), key));
    snprintf(text + strlen(text), TEXT - strlen(text), "%s;", key);
}

/* What a program must not do: writes to a string that a getter gave. */
static void scribble(const char *text) {
    char *written;
    memcpy(&written, &text, sizeof written);
    written[0] = '#';
}

TEST(an_object_that_was_written_to_is_named_once) {
    char found[TEXT] = "";
    ki_mutation_detector detector;
    ki_mutation_detector_init(&detector, &ki_allocator_default, note, found);
    ki_object *a = make_object("default/a", "1", "app=web");
    ki_object *b = make_object("default/b", "2", "app=db");
    ki_mutation_detector_add(&detector, a);
    ki_mutation_detector_add(&detector, b);
    ki_mutation_detector_check(&detector, 1);
    assert_string_equal(found, "");
    ki_object_unref(ki_object_ref(a)); /* having owners is no change */
    ki_mutation_detector_check(&detector, 2);
    assert_string_equal(found, "");
    scribble(ki_object_label(a, "app"));
    ki_mutation_detector_check(&detector, 3);
    assert_string_equal(found, "default/a;");
    ki_mutation_detector_check(&detector, 4);
    assert_string_equal(found, "default/a;");
    scribble(ki_object_key(b)); /* named by the key that it had */
    ki_mutation_detector_check(&detector, 5);
    assert_string_equal(found, "default/a;default/b;");
    ki_object_unref(a);
    ki_object_unref(b);
    ki_mutation_detector_close(&detector);
}

TEST(an_object_is_looked_after_for_a_while_and_then_let_go) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    char found[TEXT] = "";
    ki_mutation_detector detector;
    ki_mutation_detector_init(&detector, &memory.allocator, note, found);
    ki_object *a = make_object("default/a", "1", NULL);
    ki_mutation_detector_check(&detector, 1); /* the time begins */
    ki_mutation_detector_add(&detector, a);
    ki_mutation_detector_check(&detector, 1 + KI_MUTATION_RETAIN);
    assert_int_equal(scarce_memory_in_use(&memory), 1);
    scribble(ki_object_name(a));
    ki_mutation_detector_check(&detector, 2 + KI_MUTATION_RETAIN);
    assert_string_equal(found, "default/a;");
    ki_mutation_detector_add(&detector, a);
    ki_mutation_detector_check(&detector, 1 + 2 * KI_MUTATION_RETAIN);
    assert_int_equal(scarce_memory_in_use(&memory), 1);
    ki_mutation_detector_check(&detector, 1 + 3 * KI_MUTATION_RETAIN);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    ki_object_unref(a);
    ki_mutation_detector_close(&detector);
    ki_mutation_detector_close(&detector);
}

TEST(without_memory_an_object_is_not_looked_after) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    char found[TEXT] = "";
    ki_mutation_detector detector;
    ki_mutation_detector_init(&detector, &memory.allocator, note, found);
    ki_object *a = make_object("default/a", "1", NULL);
    ki_mutation_detector_add(&detector, a);
    scribble(ki_object_name(a));
    ki_mutation_detector_check(&detector, 1);
    assert_string_equal(found, "");
    ki_object_unref(a);
    ki_mutation_detector_close(&detector);
}

/* --- in an informer ----------------------------------------------------------------------------------------------- */

static void on_error(ki_informer *informer, const ki_error *cause, const char *key, void *user) {
    (void)informer;
    note(cause, key, user);
}

TEST(an_informer_calls_its_error_handler_while_it_runs_and_at_its_end) {
    static const ki_resource configmaps = { "", "v1", "configmaps", "ConfigMap", true };
    for (int variant = 0; variant < 4; variant++) {
        bool detects = variant & 1;
        char found[TEXT] = "";
        test_engine engine;
        fake_list_watch source;
        ki_informer *informer = NULL;
        assert_true(test_engine_open(&engine, NULL, 1));
        fake_init(&source);
        const ki_factory_options factory = KI_FACTORY_OPTIONS(.no_streaming_list = true, .detect_mutations = detects);
        ki_shared_informer_options options = { .engine = engine.engine,
                                               .list_watch = &source.base,
                                               .factory = &factory,
                                               .given.queue = variant & 2 ? KI_QUEUE_DELTA_FIFO : KI_QUEUE_IN_ORDER };
        assert_int_equal(informer_of(&configmaps, options, &informer), KI_OK);
        assert_int_equal(ki_informer_set_watch_error_handler(informer, on_error, found, NULL), KI_OK);
        assert_true(test_engine_settle(&engine));
        assert_int_equal(ki_informer_start(informer, NULL), KI_OK);
        assert_true(test_engine_settle(&engine));
        assert_true(fake_play(&source, "a=5") && fake_play(&source, "b=6") && fake_play(&source, "{10:}"));
        assert_true(test_engine_settle(&engine));
        assert_true(fake_play(&source, "open") && fake_play(&source, "+c=11"));
        assert_true(test_engine_advance(&engine, 1500));
        assert_string_equal(found, "");
        ki_object *a = ki_informer_get(informer, "default/a"), *c = ki_informer_get(informer, "default/c");
        scribble(ki_object_uid(c));
        assert_true(test_engine_advance(&engine, 1000));
        assert_string_equal(found, detects ? "default/c;" : "");
        scribble(ki_object_uid(a));
        ki_informer_stop(informer);
        assert_string_equal(found, detects ? "default/c;default/a;" : "");
        ki_object_unref(a);
        ki_object_unref(c);
        ki_informer_join(informer);
        ki_informer_free(informer);
        test_engine_close(&engine);
    }
}
