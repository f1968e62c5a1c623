/* test_factory_for.c: an informer of a source of the program's own: it is shared, waited for, removed and freed as any
 * other. */
#include "tests/support/controller_stage.h"
#include "tests/support/fake_list_watch.h"
#include "tests/support/scarce_memory.h"

#include <string.h>

static fake_list_watch source, other; /* the stage frees them after the test */

static int set_up(void **state) {
    return stage_set_up(state) || !stage_make_factory(&stage, KI_FACTORY_OPTIONS(.no_streaming_list = true));
}

#define OWN_SOURCE_TEST(name) TEST_WITH(set_up, stage_tear_down, name)

static void play_step(const char *step, void *user) {
    fake_step(user, &stage.engine, step);
    stage_settle(&stage);
}

static ki_informer *ask_for(fake_list_watch *fake) {
    ki_informer *informer = NULL;
    fake_init(fake);
    assert_int_equal(ki_factory_informer_for(stage.factory, KI_PODS, &fake->base, NULL, &informer, NULL), KI_OK);
    return informer;
}

OWN_SOURCE_TEST(an_informer_of_an_own_source_is_shared_and_freed_with_its_factory) {
    ki_informer *informer = ask_for(&source), *same = NULL;
    assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, NULL, &same, NULL), KI_OK);
    assert_ptr_equal(same, informer);
    stage_start(&stage);
    assert_false(ki_factory_has_synced(stage.factory));
    notation_play("{10: a=5 b=6}; open; +c=11; -a=12", play_step, &source);
    assert_true(ki_factory_has_synced(stage.factory));
    ki_snapshot *now = ki_informer_snapshot(informer);
    assert_int_equal(ki_snapshot_count(now), 2);
    assert_non_null(ki_snapshot_get(now, "default/c"));
    ki_snapshot_free(now);
    assert_false(source.freed);
    ki_factory_free(stage.factory);
    stage.factory = NULL;
    assert_true(source.freed);
}

/* "-" is no version. */
OWN_SOURCE_TEST(an_own_source_needs_no_versions) {
    ki_informer *informer = ask_for(&source);
    stage_start(&stage);
    notation_play("{-: a=- b=-}; open; +c=-; ~b=-; -a=-; ? list rv=0 limit=500, watch", play_step, &source);
    assert_true(ki_factory_has_synced(stage.factory));
    ki_snapshot *now = ki_informer_snapshot(informer);
    assert_string_equal(ki_snapshot_resource_version(now), "");
    assert_int_equal(ki_snapshot_count(now), 2);
    assert_non_null(ki_snapshot_get(now, "default/b"));
    assert_non_null(ki_snapshot_get(now, "default/c"));
    ki_snapshot_free(now);
    ki_health health;
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, KI_STATE_WATCHING);
    assert_true(health.staleness_ms >= 0);
}

OWN_SOURCE_TEST(an_own_source_is_freed_once_its_informer_is_removed) {
    ki_informer *informer = ask_for(&source);
    stage_start(&stage);
    notation_play("{10: a=5}; open", play_step, &source);
    assert_int_equal(ki_factory_remove_informer(stage.factory, informer, NULL), KI_OK);
    stage_settle(&stage);
    assert_true(source.freed);
    assert_ptr_not_equal(ask_for(&other), informer);
}

OWN_SOURCE_TEST(a_second_source_or_a_view_of_the_same_informer_is_an_error) {
    struct pod {
        const char *phase;
    };
    static const ki_field fields[] = { KI_FIELD(struct pod, phase, "status.phase"), KI_FIELD_END };
    ki_informer *informer = ask_for(&source), *same = NULL;
    ki_error err = KI_ERROR_INIT;
    fake_init(&other);
    assert_int_equal(ki_factory_informer_for(stage.factory, KI_PODS, &other.base, NULL, &same, &err), KI_ERR_EXISTS);
    assert_string_equal(ki_error_message(&err), "the informer of pods exists already");
    assert_false(other.freed);
    assert_int_equal(ki_factory_informer(stage.factory, KI_PODS, &KI_INFORMER_OPTIONS(.view = fields), &same, &err),
                     KI_ERR_INVALID);
    assert_non_null(strstr(ki_error_message(&err), "pods has no view, and is requested with a view of status.phase"));
    assert_null(same);
    assert_non_null(informer);
}

OWN_SOURCE_TEST(what_an_own_source_cannot_do_is_an_error_at_the_call) {
    static const ki_informer_options wrong[] = {
        { .size = sizeof(ki_informer_options), .keep_managed_fields = true },
        { .size = sizeof(ki_informer_options), .consistency_check_ms = 10000 },
        { .size = 0 },
    };
    ki_list_watch_ops ops;
    ki_informer *informer = NULL;
    fake_init(&source);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ki_factory_informer_for(stage.factory, KI_PODS, &source.base, &wrong[i], &informer, NULL),
                         KI_ERR_INVALID);
    ops = *source.base.ops;
    ops.cancel = NULL;
    source.base.ops = &ops;
    assert_int_equal(ki_factory_informer_for(stage.factory, KI_PODS, &source.base, NULL, &informer, NULL),
                     KI_ERR_INVALID);
    assert_null(informer);
    assert_false(source.freed);
}

TEST(an_own_source_stays_the_programs_if_memory_runs_out) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        controller_stage s;
        ki_informer *informer = NULL;
        fake_init(&source);
        assert_true(stage_open(&s, &memory.allocator));
        scarce_memory_begin(&memory);
        ki_status status = ki_factory_informer_for(s.factory, KI_PODS, &source.base, NULL, &informer, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        assert_false(source.freed);
        stage_close(&s);
        assert_int_equal(source.freed, status == KI_OK);
    }
}
