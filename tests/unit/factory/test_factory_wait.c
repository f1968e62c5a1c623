/* test_factory_wait.c: what a wait for all informers of a factory says of each. */
#include "src/base/memory.h"
#include "src/factory/factory.h"
#include "testing/faults/fault.h"
#include "tests/support/controller_stage.h"
#include "tests/support/patience.h"

#include <semaphore.h>
#include <string.h>

static const ki_resource widgets = { "example.com", "v1", "widgets", "Widget", true };

static void on_state(ki_informer *informer, const ki_health *health, void *user) {
    (void)informer;
    if (health->state == KI_STATE_BLOCKED)
        sem_post(user);
}

/* Starts informers of ConfigMaps, Secrets and a resource that the server does not have. Returns the last. */
static ki_informer *start_with_unknown(controller_stage *s, sem_t *blocked) {
    ki_informer *unknown = NULL, *later = NULL;
    stage_open_threaded(s, NULL);
    sem_init(blocked, 0, 0);
    assert_int_equal(
        ki_factory_informer(s->factory, &widgets, &KI_INFORMER_OPTIONS(.namespace_name = "shop"), &unknown, NULL),
        KI_OK);
    assert_int_equal(ki_informer_set_state_handler(unknown, on_state, blocked, NULL), KI_OK);
    stage_start(s);
    await_semaphore(blocked);
    assert_int_equal(ki_informer_wait_for_sync(s->configmaps, -1, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_sync(s->secrets, -1, NULL), KI_OK);
    assert_int_equal(ki_factory_informer(s->factory, KI_NODES, NULL, &later, NULL), KI_OK); /* is not started */
    return unknown;
}

TEST(a_wait_gives_the_result_of_each_informer) {
    static const char why[] = "blocked: the CRD widgets.example.com is not installed, or not in version v1";
    sem_t blocked;
    ki_sync_results all;
    ki_error err = KI_ERROR_INIT;
    ki_informer *unknown = start_with_unknown(&stage, &blocked);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, 0, &all, &err), KI_ERR_TIMEOUT);
    assert_int_equal(err.category, KI_CATEGORY_REQUEST); /* that of the cause: a retry alone does not help */
    assert_int_equal(all.count, 3);
    for (size_t i = 0; i < all.count; i++) {
        const ki_sync_result *result = &all.results[i];
        assert_int_equal(result->synced, result->informer != unknown);
        if (result->informer != unknown) {
            assert_int_equal(result->cause.code, KI_OK);
            assert_string_equal(result->cause.message, "");
            continue;
        }
        assert_string_equal(result->name, "widgets in shop");
        assert_true(ki_error_is_not_found(&result->cause));
        assert_string_equal(result->cause.message, why);
    }
    ki_sync_results_free(&all);
    assert_int_equal(all.count, 0);
    assert_int_equal(ki_factory_remove_informer(stage.factory, unknown, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, &all, &err), KI_OK);
    assert_int_equal(all.count, 2);
    assert_true(all.results[0].synced && all.results[1].synced);
    ki_sync_results_free(&all);
    stage_close(&stage);
    sem_destroy(&blocked);
}

/* Makes a factory on the stage's engine, beside the stage's, whose waits end when an informer is blocked. */
static ki_factory *new_impatient(void) {
    ki_factory *factory = NULL;
    assert_int_equal(
        ki_factory_new_on(NULL, stage.transport,
                          &KI_FACTORY_OPTIONS(.engine = stage.engine.engine, .waits_end_when_blocked = true), &factory,
                          NULL),
        KI_OK);
    return factory;
}

static ki_informer *configmaps_of(ki_factory *factory, ki_informer_options options) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer(factory, KI_CONFIGMAPS, &options, &informer, NULL), KI_OK);
    return informer;
}

/* No limit of time: the waits would not end otherwise. */
TEST(a_wait_can_end_when_what_has_not_synced_is_blocked) {
    ki_sync_results all;
    ki_error err = KI_ERROR_INIT;
    ki_informer *unknown = NULL;
    stage_open_threaded(&stage, NULL);
    ki_factory *factory = new_impatient();
    assert_int_equal(ki_factory_informer(factory, &widgets, NULL, &unknown, NULL), KI_OK);
    ki_informer *configmaps = configmaps_of(factory, KI_INFORMER_OPTIONS(.namespace_name = "shop"));
    stage_start(&stage);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(factory, -1, &all, &err), KI_ERR_HTTP);
    assert_string_equal(err.message, "not synced: widgets (blocked: the CRD widgets.example.com is not installed, or "
                                     "not in version v1)");
    assert_true(ki_error_is_not_found(&err));
    assert_int_equal(err.category, KI_CATEGORY_REQUEST);
    assert_true(ki_informer_has_synced(configmaps)); /* that one was waited for */
    assert_int_equal(all.count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(all.results[i].synced, all.results[i].informer == configmaps);
    ki_sync_results_free(&all);
    assert_int_equal(ki_factory_remove_informer(factory, unknown, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(factory, -1, NULL, &err), KI_OK);
    ki_factory_free(factory);
    stage_close(&stage);
}

typedef struct fault_line {
    const char *text;
    ki_status status;
} fault_line;

static void add_fault(void *user) {
    fault_line *line = user;
    line->status = kt_faults_add(kt_cluster_faults(stage.cluster), line->text, kt_memory_adapter_now_ms(stage.adapter),
                                 NULL, NULL);
}

TEST(a_set_is_blocked_once_its_other_namespaces_are_listed) {
    static const char *const names[] = { "a", "b" };
    ki_error err = KI_ERROR_INIT;
    fault_line forbidden = { "status,code=403,namespace=b,resource=configmaps,verb=list+watch", KI_OK };
    stage_open_threaded(&stage, NULL);
    stage_start(&stage);
    ki_engine_call(stage.engine.engine, add_fault, &forbidden);
    assert_int_equal(forbidden.status, KI_OK);
    ki_factory *factory = new_impatient();
    ki_informer *informer = configmaps_of(factory, KI_INFORMER_OPTIONS(.namespace_set = "tenants"));
    assert_int_equal(ki_informer_set_namespaces(informer, names, 2, NULL), KI_OK);
    assert_int_equal(ki_factory_start(factory, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(factory, -1, NULL, &err), KI_ERR_HTTP);
    assert_true(ki_error_is_forbidden(&err));
    assert_true(ki_informer_namespace_health(informer, "a", NULL));
    ki_factory_free(factory);
    stage_close(&stage);
}

TEST(a_wait_for_a_stopped_factory_says_that_it_is_stopped) {
    sem_t blocked;
    ki_sync_results all;
    ki_informer *unknown = start_with_unknown(&stage, &blocked);
    assert_int_equal(ki_factory_shutdown(stage.factory, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, &all, NULL), KI_ERR_CANCELLED);
    assert_int_equal(all.count, 3);
    for (size_t i = 0; i < all.count; i++) {
        assert_int_equal(all.results[i].synced, all.results[i].informer != unknown);
        if (!all.results[i].synced)
            assert_int_equal(all.results[i].cause.code, KI_ERR_CANCELLED);
    }
    ki_sync_results_free(&all);
    stage_close(&stage);
    sem_destroy(&blocked);
}

CONTROLLER_TEST(a_wait_that_cannot_begin_has_no_results) {
    ki_sync_results all = { .count = 7 };
    assert_int_equal(ki_factory_wait_for_sync(NULL, 0, &all, NULL), KI_ERR_INVALID);
    assert_int_equal(all.count, 0);
    ki_sync_results_free(&all);
    ki_sync_results_free(NULL);
}

TEST(a_wait_before_any_informer_is_started_is_an_error) {
    ki_sync_results all = { .count = 7 };
    ki_error err = KI_ERROR_INIT;
    stage_open_threaded(&stage, NULL);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, &all, &err), KI_ERR_STATE);
    assert_string_equal(err.message, "waiting for informers, but none is started: call ki_factory_start");
    assert_int_equal(all.count, 0);
    ki_sync_results_free(&all);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, NULL), KI_OK);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.secrets, NULL), KI_OK);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, NULL, NULL), KI_OK); /* nothing to wait for */
    stage_close(&stage);
}

/* An allocator that has no memory for this thread while `is_scarce`: the loop's thread has its own. */
static _Thread_local bool is_scarce;

static void *alloc_unless_scarce(size_t size, void *user) {
    return is_scarce ? NULL : ki_allocator_default.alloc(size, user);
}

TEST(a_wait_needs_memory_for_its_results_alone) {
    ki_allocator allocator = ki_allocator_default;
    ki_sync_results all;
    allocator.alloc = alloc_unless_scarce;
    stage_open_threaded(&stage, &allocator);
    stage_start(&stage);
    is_scarce = true;
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, &all, NULL), KI_ERR_NO_MEMORY);
    assert_int_equal(all.count, 0);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, -1, NULL, NULL), KI_OK);
    is_scarce = false;
    stage_close(&stage);
}
