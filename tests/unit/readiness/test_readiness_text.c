/* test_readiness_text.c: whether a program is ready, asked without a status server: on the embedded API server in the
 * same process, in the engine's time. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <string.h>

static bool is_ready(void) {
    bool ready = false;
    assert_int_equal(ki_factory_readiness_text(stage.factory, &ready, NULL, NULL), KI_OK);
    return ready;
}

static void expect(bool ready, const char *part) {
    char *text = NULL;
    bool found = !ready;
    assert_int_equal(ki_factory_readiness_text(stage.factory, &found, &text, NULL), KI_OK);
    if (found != ready || !strstr(text, part))
        fail_msg("%s:\n%s\nlacks: %s", found ? "ready" : "not ready", text, part);
    ki_metrics_text_free(text);
    assert_int_equal(is_ready(), ready);
}

CONTROLLER_TEST(a_program_is_ready_once_all_informers_have_synced) {
    expect(false, "[-]informer configmaps: not started, not synced, 0 objects\n");
    expect(false, "readyz check failed\n");
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    stage_advance(&stage, 2000);
    expect(true, "[+]informer configmaps: watching, synced, 2.0 s old, 1 object\n");
    expect(true, "readyz check passed\n");
    ki_factory_stop(stage.factory);
    stage_settle(&stage);
    expect(false, "[-]informer configmaps: stopped, synced");
}

CONTROLLER_TEST(it_has_queues_and_electors) {
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(stage.factory,
                                    &KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock", .identity = "me"),
                                    &elector, NULL),
                     KI_OK);
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c")), KI_OK);
    stage_start(&stage);
    expect(true, "[+]lease lock: this process leads, as me\n");
    expect(true, "[+]queue c: 0 queued, longest running 0.0 s, 0 retries\n");
    ki_elector_free(elector);
}

static char *text_in_handler;

static void on_add(const ki_event *event, void *user) {
    bool ready;
    (void)event;
    (void)user;
    ki_metrics_text_free(text_in_handler);
    assert_int_equal(ki_factory_readiness_text(stage.factory, &ready, &text_in_handler, NULL), KI_OK);
}

CONTROLLER_TEST(a_handler_may_ask) {
    static const ki_handler handler = { .on_add = on_add };
    assert_int_equal(ki_informer_add_handler(stage.configmaps, &handler, NULL, NULL, NULL, NULL), KI_OK);
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    stage_start(&stage);
    assert_non_null(strstr(text_in_handler, "informer configmaps: "));
    ki_metrics_text_free(text_in_handler);
    text_in_handler = NULL;
}

CONTROLLER_TEST(names_from_outside_drive_no_terminal) {
    ki_controller *controller = NULL;
    ki_controller_options options =
        KI_CONTROLLER_OPTIONS(.name = "\x1b[31m\xe2\x80\xae\xc2\x9b", .reconcile = stage_reconcile, .user = &stage);
    assert_int_equal(ki_controller_new(stage.factory, &options, &controller, NULL), KI_OK);
    stage_start(&stage);
    expect(true, "[+]queue ?[31m??: 0 queued");
    ki_controller_free(controller);
}

TEST(without_memory_nothing_is_said) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        controller_stage s;
        char *text = NULL;
        bool ready = false;
        assert_true(stage_open(&s, &memory.allocator));
        stage_start(&s);
        scarce_memory_begin(&memory);
        ki_status status = ki_factory_readiness_text(s.factory, &ready, &text, NULL);
        bool failed = scarce_memory_failed(&memory);
        assert_int_equal(status, failed ? KI_ERR_NO_MEMORY : KI_OK);
        assert_int_equal(ready, !failed);
        assert_int_equal(text != NULL, !failed);
        ki_metrics_text_free(text);
        stage_close(&s);
    }
}
