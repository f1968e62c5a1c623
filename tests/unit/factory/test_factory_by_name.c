/* test_factory_by_name.c: informers of resources that are asked for by name, on the embedded API server: the definition
 * comes late, goes, and changes its version. In the engine's time. */
#include "src/object/resource_table.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    RETRY_MS = 31000, /* the longest wait of an informer that is blocked */
    GONE_MS = 300000  /* until the objects of a removed type are deleted */
};

static const ki_resource foos_v1 = { "example.com", "v1", "foos", "Foo", true };
static const ki_resource foos_v2 = { "example.com", "v2", "foos", "Foo", true };
static const ki_resource cells_v1 = { "example.com", "v1", "cells", "Cell", false };

typedef struct seen {
    int adds, deletes, synced;
    char last[64];
} seen;

static void on_event(const ki_event *event, void *user) {
    seen *self = user;
    self->adds += event->type == KI_EVENT_ADD;
    self->deletes += event->type == KI_EVENT_DELETE;
    snprintf(self->last, sizeof self->last, "%s %s", ki_object_api_version(event->obj), ki_object_key(event->obj));
}

static void on_synced(ki_informer *informer, void *user) {
    (void)informer;
    seen *self = user;
    self->synced++;
}

static const ki_handler handler = {
    .on_add = on_event, .on_update = on_event, .on_delete = on_event, .on_synced = on_synced
};

static void define(controller_stage *s, const ki_resource *resource) {
    char name[64], json[1024];
    snprintf(name, sizeof name, "%s.%s", resource->plural, resource->group);
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"group\":\"%s\",\"scope\":\"%s\",\"names\":{\"plural\":\"%s\","
             "\"singular\":\"one\",\"kind\":\"%s\",\"listKind\":\"%sList\"},\"versions\":[{\"name\":\"%s\",\"served\":"
             "true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
             name, resource->group, resource->namespaced ? "Namespaced" : "Cluster", resource->plural, resource->kind,
             resource->kind, resource->version);
    assert_int_equal(kt_cluster_put_json(s->cluster, KI_CUSTOMRESOURCEDEFINITIONS, (ki_str){ json, strlen(json) },
                                         kt_memory_adapter_now_ms(s->adapter), NULL, NULL),
                     KI_OK);
}

static ki_informer *ask(const char *name, const ki_informer_options *options, seen *what) {
    ki_informer *informer = NULL;
    assert_int_equal(ki_factory_informer_by_name(stage.factory, name, options, &informer, NULL), KI_OK);
    assert_int_equal(ki_informer_add_handler(informer, &handler, what, NULL, NULL, NULL), KI_OK);
    return informer;
}

static void expect_health(const ki_informer *informer, ki_state state, const char *message) {
    ki_health health;
    ki_informer_health(informer, &health);
    assert_int_equal(health.state, state);
    assert_string_equal(health.message, message);
}

CONTROLLER_TEST(it_waits_for_its_definition_and_says_so) {
    seen what = { 0 };
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    static const char json[] = "{\"metadata\":{\"name\":\"b\",\"namespace\":\"default\",\"resourceVersion\":\"1\"}}";
    ki_informer *informer = ask("foos.example.com", NULL, &what);
    stage_start(&stage);
    stage_advance(&stage, 100000);
    expect_health(informer, KI_STATE_BLOCKED, "the server has no resource foos.example.com: the CRD is not installed");
    assert_string_equal(ki_informer_resource(informer)->plural, "foos");
    assert_string_equal(ki_informer_resource(informer)->group, "example.com");
    assert_string_equal(ki_informer_resource(informer)->kind, "");
    assert_int_equal(ki_informer_object_from_json(informer, json, sizeof json - 1, &obj, &err), KI_ERR_STATE);
    define(&stage, &foos_v1);
    stage_put(&stage, &foos_v1, "default/a", "");
    stage_advance(&stage, RETRY_MS);
    expect_health(informer, KI_STATE_WATCHING, "");
    assert_int_equal(what.synced, 1);
    assert_string_equal(what.last, "example.com/v1 default/a");
    stage_put(&stage, &foos_v1, "default/b", "");
    stage_settle(&stage);
    assert_int_equal(what.adds, 2);
    assert_string_equal(ki_informer_resource(informer)->kind, "Foo");
    assert_string_equal(ki_informer_resource(informer)->version, "v1");
    assert_int_equal(ki_informer_object_from_json(informer, json, sizeof json - 1, &obj, &err), KI_OK);
    assert_string_equal(ki_object_kind(obj), "Foo");
    ki_object_unref(obj);
}

CONTROLLER_TEST(a_definition_may_go_and_come_back_in_another_version) {
    seen what = { 0 };
    define(&stage, &foos_v1);
    stage_put(&stage, &foos_v1, "default/a", "");
    ki_informer *informer = ask("foos.example.com", NULL, &what);
    stage_start(&stage);
    const ki_resource *before = ki_informer_resource(informer);
    assert_string_equal(before->version, "v1");
    stage_delete(&stage, KI_CUSTOMRESOURCEDEFINITIONS, "foos.example.com");
    stage_advance(&stage, GONE_MS);
    assert_int_equal(what.deletes, 1);
    assert_null(ki_informer_get(informer, "default/a"));
    define(&stage, &foos_v2);
    stage_put(&stage, &foos_v2, "default/b", "");
    stage_advance(&stage, RETRY_MS);
    expect_health(informer, KI_STATE_WATCHING, "");
    assert_string_equal(what.last, "example.com/v2 default/b");
    assert_string_equal(ki_informer_resource(informer)->version, "v2");
    assert_string_equal(before->version, "v1"); /* another thread may still read it */
}

CONTROLLER_TEST(a_cluster_scoped_resource_has_no_namespace) {
    seen what = { 0 };
    ki_object *obj = NULL;
    define(&stage, &cells_v1);
    stage_put(&stage, &cells_v1, "a", "");
    ki_informer *informer =
        ask("cells.example.com", &KI_INFORMER_OPTIONS(.namespace_name = "shop", .consistency_check_ms = 1000), &what);
    stage_start(&stage);
    stage_advance(&stage, 5000);
    assert_int_equal(what.adds, 1);
    assert_int_equal(ki_lister_get(informer, NULL, "a", &obj, NULL), KI_OK);
    ki_object_unref(obj);
    expect_health(informer, KI_STATE_WATCHING, "");
    assert_false(ki_informer_resource(informer)->namespaced);
    stage_delete(&stage, &cells_v1, "a");
    stage_advance(&stage, 5000);
    assert_int_equal(what.deletes, 1);
}

static void on_waited(ki_informer *informer, ki_status status, void *user) {
    (void)informer, (void)status, (void)user;
}

static void expect_no_key(ki_informer *informer, const char *key, const char *message) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_informer_wait_for_version_async(informer, key, "1", -1, on_waited, NULL, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), message);
    assert_int_equal(ki_informer_wait_for_deletion_async(informer, key, NULL, -1, on_waited, NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_informer_wait_for_deletion(informer, key, NULL, 0, NULL), KI_ERR_INVALID);
}

/* A wait for it would never end. The scope is unknown until the resource is found. */
CONTROLLER_TEST(a_wait_for_a_key_that_no_object_can_have_is_an_error) {
    seen what = { 0 };
    define(&stage, &cells_v1);
    ki_informer *cells = ask("cells.example.com", &KI_INFORMER_OPTIONS(.namespace_name = "shop"), &what);
    ki_informer *pods = ask("pods", &KI_INFORMER_OPTIONS(.namespace_name = "shop"), &what);
    assert_int_equal(ki_informer_wait_for_deletion_async(cells, "shop/a", NULL, -1, on_waited, NULL, NULL), KI_OK);
    stage_start(&stage);
    expect_no_key(cells, "shop/a", "\"shop/a\" is not a key of cells, which is \"name\"");
    expect_no_key(pods, "a", "\"a\" is not a key of pods, which is \"namespace/name\"");
    expect_no_key(pods, "other/a", "\"other/a\" is not in namespace shop");
    assert_int_equal(ki_informer_wait_for_deletion_async(cells, "a", NULL, -1, on_waited, NULL, NULL), KI_OK);
    assert_int_equal(ki_informer_wait_for_deletion_async(pods, "shop/a", NULL, -1, on_waited, NULL, NULL), KI_OK);
}

CONTROLLER_TEST(a_built_in_resource_is_found_at_once_and_shared) {
    ki_informer *informer = NULL;
    static const char *const names[] = { "configmaps", "cm", "ConfigMap", "configmap" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(ki_factory_informer_by_name(stage.factory, names[i], NULL, &informer, NULL), KI_OK);
        assert_ptr_equal(informer, stage.configmaps);
    }
    seen what = { 0 };
    ki_informer *foos = ask("foos.example.com", NULL, &what);
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "foos.example.com", NULL, &informer, NULL), KI_OK);
    assert_ptr_equal(informer, foos);
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "foos.example.com",
                                                 &KI_INFORMER_OPTIONS(.label_selector = "app=a"), &informer, NULL),
                     KI_OK);
    assert_ptr_not_equal(informer, foos);
}

CONTROLLER_TEST(a_name_that_cannot_be_found_is_rejected_at_the_call) {
    static const struct {
        const char *name, *selector;
        ki_status status;
    } rows[] = { { "widgets", NULL, KI_ERR_INVALID },          { "", NULL, KI_ERR_INVALID },
                 { ".example.com", NULL, KI_ERR_INVALID },     { "widgets.", NULL, KI_ERR_INVALID },
                 { "widgets.a/b.com", NULL, KI_ERR_INVALID },  { "Widgets.example.com", NULL, KI_ERR_INVALID },
                 { "widgets..com", NULL, KI_ERR_INVALID },     { "../x.example.com", NULL, KI_ERR_INVALID },
                 { "widgets.example.com", "(", KI_ERR_PARSE }, { "tokenreviews", NULL, KI_ERR_UNSUPPORTED } };
    ki_informer *informer = NULL;
    ki_error err = KI_ERROR_INIT;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ki_informer_options options = KI_INFORMER_OPTIONS(.label_selector = rows[i].selector);
        assert_int_equal(ki_factory_informer_by_name(stage.factory, rows[i].name, &options, &informer, &err),
                         rows[i].status);
        assert_true(err.message[0] != '\0');
    }
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "widgets", NULL, &informer, &err), KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "widgets.example.com"));
    assert_int_equal(ki_factory_informer_by_name(NULL, "pods", NULL, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer_by_name(stage.factory, NULL, NULL, &informer, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_factory_informer_by_name(stage.factory, "pods", NULL, NULL, NULL), KI_ERR_INVALID);
    assert_null(informer);
}

CONTROLLER_TEST(one_that_still_waits_can_be_removed) {
    seen what = { 0 };
    ki_informer *informer = ask("foos.example.com", NULL, &what);
    stage_start(&stage);
    assert_int_equal(ki_factory_remove_informer(stage.factory, informer, NULL), KI_OK);
    stage_settle(&stage);
    define(&stage, &foos_v1);
    stage_put(&stage, &foos_v1, "default/a", "");
    ki_informer *again = ask("foos.example.com", NULL, &what);
    assert_ptr_not_equal(again, informer);
    stage_start(&stage);
    assert_int_equal(what.adds, 1);
}

TEST(it_gets_there_whatever_allocation_fails) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        seen what = { 0 };
        ki_informer *informer = NULL;
        assert_true(stage_open(&stage, &memory.allocator));
        scarce_memory_begin(&memory);
        while (ki_factory_informer_by_name(stage.factory, "foos.example.com",
                                           &KI_INFORMER_OPTIONS(.consistency_check_ms = 10000), &informer, NULL))
            assert_true(scarce_memory_failed(&memory));
        while (ki_informer_add_handler(informer, &handler, &what, NULL, NULL, NULL))
            assert_true(scarce_memory_failed(&memory));
        stage_start(&stage);
        stage_advance(&stage, 2000);
        define(&stage, &foos_v1);
        stage_put(&stage, &foos_v1, "default/a", "");
        stage_advance(&stage, 2 * RETRY_MS);
        assert_int_equal(what.adds, 1);
        assert_int_equal(what.synced, 1);
        stage_close(&stage);
    }
}
