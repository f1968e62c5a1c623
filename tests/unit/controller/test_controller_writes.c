/* test_controller_writes.c: finalizers, status and children, written to the embedded API server from a thread that
 * waits. */
#include "src/base/error.h"
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static ki_client *client;

static int open_stage(void **state) {
    (void)state;
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    stage_start(&stage);
    return 0;
}

#define CONTROLLER_WRITES_TEST(name) TEST_WITH(open_stage, stage_tear_down, name)

static ki_object *read(const ki_resource *resource, const char *namespace_name, const char *name) {
    ki_object *obj = NULL;
    assert_int_equal(ki_client_get(client, resource, namespace_name, name, NULL, &obj, NULL), KI_OK);
    return obj;
}

static void expect_field(const ki_object *obj, const char *path, const char *expected) {
    ki_value value = KI_VALUE_INIT;
    ki_status status = ki_object_field(obj, path, &value, NULL);
    assert_string_equal(status ? "" : value.text, expected);
    ki_value_clear(&value);
}

/* --- finalizers --------------------------------------------------------------------------------------------------- */

CONTROLLER_WRITES_TEST(a_finalizer_is_added_and_removed) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "");
    ki_object *bare = read(KI_CONFIGMAPS, "default", "a"), *with = NULL, *same = NULL, *two = NULL, *one = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, bare, "example.com/x", &with, &err), KI_OK);
    assert_int_equal(err.code, KI_OK);
    expect_field(with, "metadata.finalizers", "[\"example.com/x\"]");

    assert_int_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, with, "example.com/x", &same, NULL), KI_OK);
    assert_ptr_equal(same, with); /* nothing is written */
    assert_int_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, with, "example.com/y", &two, NULL), KI_OK);
    expect_field(two, "metadata.finalizers", "[\"example.com/x\",\"example.com/y\"]");

    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, two, "example.com/x", &one, NULL), KI_OK);
    expect_field(one, "metadata.finalizers", "[\"example.com/y\"]");
    ki_object_unref(same);
    same = NULL;
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, one, "example.com/x", &same, NULL), KI_OK);
    assert_ptr_equal(same, one);
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, one, "example.com/y", NULL, NULL), KI_OK);
    ki_object *last = read(KI_CONFIGMAPS, "default", "a");
    assert_false(ki_object_has_finalizer(last, "example.com/y"));
    ki_object *const all[] = { bare, with, same, two, one, last };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ki_object_unref(all[i]);
}

CONTROLLER_WRITES_TEST(finalizers_of_an_object_that_has_changed_are_rejected) {
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"finalizers\":[\"example.com/x\"]");
    ki_object *old = read(KI_CONFIGMAPS, "default", "a");
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"finalizers\":[\"example.com/x\",\"example.com/z\"]");
    ki_error err = KI_ERROR_INIT;
    ki_object *untouched = NULL;
    assert_int_not_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, old, "example.com/y", &untouched, &err), KI_OK);
    assert_true(ki_error_is_conflict(&err));
    assert_null(untouched);
    err = (ki_error)KI_ERROR_INIT;
    assert_int_not_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, old, "example.com/x", NULL, &err), KI_OK);
    assert_true(ki_error_is_conflict(&err));
    ki_object *now = read(KI_CONFIGMAPS, "default", "a");
    expect_field(now, "metadata.finalizers", "[\"example.com/x\",\"example.com/z\"]");
    ki_object_unref(now);
    ki_object_unref(old);
}

CONTROLLER_WRITES_TEST(the_last_finalizer_lets_the_object_go) {
    ki_error err = KI_ERROR_INIT;
    ki_object *gone = NULL;
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"finalizers\":[\"example.com/x\"]");
    assert_int_equal(ki_client_delete(client, KI_CONFIGMAPS, "default", "a", NULL, NULL, NULL), KI_OK);
    ki_object *obj = read(KI_CONFIGMAPS, "default", "a");
    assert_true(ki_object_is_being_deleted(obj));
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, obj, "example.com/x", NULL, NULL), KI_OK);
    assert_int_not_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "a", NULL, &gone, &err), KI_OK);
    assert_true(ki_error_is_not_found(&err));
    ki_object_unref(obj);
}

CONTROLLER_WRITES_TEST(a_finalizer_of_an_object_that_is_gone_is_removed) {
    ki_error err = KI_ERROR_INIT;
    ki_object *result = NULL;
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"finalizers\":[\"example.com/x\"]");
    ki_object *cached = read(KI_CONFIGMAPS, "default", "a");
    stage_delete(&stage, KI_CONFIGMAPS, "default/a");
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, cached, "example.com/x", NULL, NULL), KI_OK);
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, cached, "example.com/x", &result, &err), KI_OK);
    assert_ptr_equal(result, cached);
    assert_int_equal(err.code, KI_OK);
    assert_int_not_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, cached, "example.com/y", NULL, &err), KI_OK);
    assert_true(ki_error_is_not_found(&err));
    err = (ki_error)KI_ERROR_INIT;
    stage_put(&stage, KI_CONFIGMAPS, "default/a", "\"finalizers\":[\"example.com/x\"]"); /* another one of that name */
    assert_int_equal(ki_client_remove_finalizer(client, KI_CONFIGMAPS, cached, "example.com/x", NULL, &err), KI_OK);
    ki_object *another = read(KI_CONFIGMAPS, "default", "a");
    assert_true(ki_object_has_finalizer(another, "example.com/x"));
    ki_object_unref(another);
    const ki_resource unknown = { "example.com", "v1", "nothings", "Nothing",
                                  true }; /* 404 without a Status of an object */
    assert_int_not_equal(ki_client_remove_finalizer(client, &unknown, cached, "example.com/x", NULL, &err), KI_OK);
    assert_int_equal(err.http_status, 404);
    ki_object_unref(result);
    ki_object_unref(cached);
}

/* --- apply -------------------------------------------------------------------------------------------------------- */

#define BY_ME &KI_REQUEST_OPTIONS(.field_manager = "me")

static ki_unstructured *ready(void) {
    return ki_unstructured_new("status:\n"
                               "  conditions:\n"
                               "  - { type: Ready, status: 'True', reason: Ok, message: '',"
                               " lastTransitionTime: '2025-06-15T00:00:00Z' }\n");
}

CONTROLLER_WRITES_TEST(a_status_is_applied_to_the_very_object) {
    stage_put(&stage, KI_SERVICES, "default/a", "\"labels\":{\"x\":\"y\"}");
    ki_object *obj = read(KI_SERVICES, "default", "a"), *written = NULL, *again = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_client_apply_status(client, KI_SERVICES, obj, ready(), BY_ME, &written, &err);
    if (status)
        fail_msg("%s", ki_error_message(&err));
    expect_field(written, "status.conditions[0].type", "Ready");
    assert_string_equal(ki_object_label(written, "x"), "y");
    assert_int_equal(ki_client_apply_status(client, KI_SERVICES, obj, ready(), BY_ME, &again, NULL), KI_OK);
    assert_string_equal(ki_object_resource_version(again), ki_object_resource_version(written)); /* nothing changed */

    stage_delete(&stage, KI_SERVICES, "default/a");
    assert_int_not_equal(ki_client_apply_status(client, KI_SERVICES, obj, ready(), BY_ME, NULL, &err), KI_OK);
    assert_true(ki_error_is_not_found(&err) || ki_error_is_conflict(&err));
    stage_put(&stage, KI_SERVICES, "default/a", ""); /* another one of that name */
    err = (ki_error)KI_ERROR_INIT;
    assert_int_not_equal(ki_client_apply_status(client, KI_SERVICES, obj, ready(), BY_ME, NULL, &err), KI_OK);
    assert_int_equal(err.http_status, 422); /* metadata.uid: field is immutable */
    ki_object_unref(obj);
    ki_object_unref(written);
    ki_object_unref(again);
}

#define CHILD_WITH(x) \
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"child\",\"labels\":{\"x\":\"" x \
    "\"}},\"stringData\":{\"k\":\"v\"}}"
#define CHILD CHILD_WITH("y")

CONTROLLER_WRITES_TEST(a_child_belongs_to_its_owner) {
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    ki_object *owner = read(KI_CONFIGMAPS, "team", "m"), *first = NULL, *second = NULL, *changed = NULL;
    ki_object **const results[] = { &first, &second, &changed };
    for (int i = 0; i < 3; i++) {
        ki_unstructured *child = ki_unstructured_new(i < 2 ? CHILD : CHILD_WITH("z"));
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, results[i], &err);
        if (status)
            fail_msg("%s", ki_error_message(&err));
    }
    assert_string_equal(ki_object_key(first), "team/child");
    assert_true(ki_object_is_controlled_by(first, owner));
    assert_string_equal(ki_object_uid(first), ki_object_uid(second));
    assert_string_equal(ki_object_resource_version(first), ki_object_resource_version(second)); /* nothing changed */
    assert_string_equal(ki_object_uid(first), ki_object_uid(changed));
    assert_string_not_equal(ki_object_resource_version(first), ki_object_resource_version(changed));
    assert_string_equal(ki_object_label(changed, "x"), "z");
    assert_true(ki_object_is_controlled_by(changed, owner));
    ki_object_unref(first);
    ki_object_unref(second);
    ki_object_unref(changed);
    ki_object_unref(owner);
}

CONTROLLER_WRITES_TEST(a_child_of_a_cluster_scoped_owner_names_its_namespace) {
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    ki_object *owner = read(KI_NAMESPACES, NULL, "team"), *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *child = ki_unstructured_new(CHILD);
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, NULL, &err), KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "the namespace is missing"));
    child = ki_unstructured_new(CHILD);
    ki_unstructured_set_string(child, "metadata.namespace", "team");
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, &obj, &err), KI_OK);
    assert_string_equal(ki_object_key(obj), "team/child");
    assert_true(ki_object_is_controlled_by(obj, owner));
    ki_object_unref(owner);
    ki_object_unref(obj);
}

CONTROLLER_WRITES_TEST(a_child_that_cannot_be_is_rejected) {
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    stage_put(&stage, KI_CONFIGMAPS, "team/other", "");
    ki_object *owner = read(KI_CONFIGMAPS, "team", "m"), *other = read(KI_CONFIGMAPS, "team", "other");
    const struct {
        const ki_resource *resource;
        const char *json, *manager;
        ki_status status;
    } cases[] = {
        { KI_SECRETS, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{}}", "me", KI_ERR_INVALID },
        { KI_SECRETS, "no json", "me", KI_ERR_PARSE },
        { KI_SECRETS, CHILD, "", KI_ERR_INVALID },
        { KI_SECRETS, CHILD, NULL, KI_ERR_INVALID },
        { KI_NAMESPACES, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}", "me",
          KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_unstructured *child = ki_unstructured_new(cases[i].json);
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_client_apply_child(client, cases[i].resource, owner, child,
                                               &KI_REQUEST_OPTIONS(.field_manager = cases[i].manager), NULL, &err),
                         cases[i].status);
        assert_int_equal(err.code, cases[i].status);
    }
    ki_unstructured *child = ki_unstructured_new(CHILD);
    ki_unstructured_set_controller(child, other);
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, NULL, NULL), KI_ERR_INVALID);
    child = ki_unstructured_new(CHILD);
    ki_unstructured_set_string(child, "metadata.namespace", "team");
    ki_unstructured_set_controller(child, other);
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, NULL, NULL), KI_ERR_EXISTS);
    child = ki_unstructured_new(CHILD);
    ki_unstructured_set_string(child, "metadata.namespace", "elsewhere");
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, NULL, &err), KI_ERR_INVALID);
    assert_string_equal(err.message, "apply secrets elsewhere/child: the owner team/m is in another namespace");
    child = ki_unstructured_new("a: [");
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, child, BY_ME, NULL, &err), KI_ERR_PARSE);
    assert_non_null(strstr(err.message, "child of ConfigMap team/m: apply secrets: YAML: line 2, column 1: "));
    child = ki_unstructured_new("a: [");
    assert_int_equal(ki_client_apply_status(client, KI_SERVICES, owner, child, BY_ME, NULL, &err), KI_ERR_PARSE);
    assert_non_null(strstr(err.message, "apply services/status team/m: YAML: line 2, column 1: "));
    assert_int_equal(ki_client_apply_child(NULL, KI_SECRETS, owner, ki_unstructured_new(CHILD), BY_ME, NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, NULL, ki_unstructured_new(CHILD), BY_ME, NULL, NULL),
                     KI_ERR_INVALID);
    assert_int_equal(ki_client_apply_child(client, KI_SECRETS, owner, NULL, BY_ME, NULL, NULL), KI_ERR_NO_MEMORY);
    assert_int_equal(ki_client_add_finalizer(client, KI_CONFIGMAPS, owner, "", NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_client_remove_finalizer(client, NULL, owner, "x", NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_client_apply_status(client, KI_SERVICES, owner, ready(), NULL, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_client_apply_status(client, KI_SERVICES, NULL, ready(), BY_ME, NULL, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_client_apply_status(client, KI_SERVICES, owner, NULL, BY_ME, NULL, NULL), KI_ERR_NO_MEMORY);
    ki_object_unref(owner);
    ki_object_unref(other);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static ki_status set_data(ki_unstructured *object, const ki_object *current, void *user, ki_error *err) {
    (void)current, (void)user, (void)err;
    ki_unstructured_set_string(object, "data.x", "y");
    return KI_OK;
}

static ki_status write_once(int which, const ki_object *obj, size_t n, ki_error *err) {
    char name[64];
    snprintf(name, sizeof name, "example.com/x%zu", n);
    if (which == 0)
        return ki_client_add_finalizer(client, KI_SERVICES, obj, name, NULL, err);
    if (which == 1)
        return ki_client_remove_finalizer(client, KI_SERVICES, obj, "example.com/f", NULL, err);
    if (which == 2)
        return ki_client_apply_status(client, KI_SERVICES, obj, ready(), BY_ME, NULL, err);
    if (which == 3)
        return ki_client_apply_child(client, KI_SECRETS, obj, ki_unstructured_new(CHILD), BY_ME, NULL, err);
    if (which == 4)
        return ki_client_create_or_update(client, stage.configmaps, ki_unstructured_for(KI_CONFIGMAPS, "team", "m"),
                                          set_data, NULL, NULL, NULL, err);
    ki_object_list list = { NULL, 0, NULL };
    ki_status status = ki_client_claim(client, KI_SERVICES, obj, stage.configmaps, "app=web", NULL, &list, err);
    ki_object_list_free(&list);
    return status;
}

typedef struct plan {
    scarce_memory *memory;
    size_t after;
} plan;

static void fail_later(void *user) {
    const plan *self = user;
    self->memory->fail_at = atomic_load(&self->memory->calls) + self->after;
}

CONTROLLER_WRITES_TEST(lack_of_memory_is_an_error) {
    scarce_memory memory;
    stage_tear_down(NULL);
    for (int which = 0; which < 6; which++) {
        bool failed = true;
        for (size_t n = 0; failed; n++) {
            ki_error err = KI_ERROR_INIT;
            scarce_memory_init(&memory, SIZE_MAX);
            stage_open_threaded(&stage, &memory.allocator);
            client = ki_factory_client(stage.factory);
            stage_start(&stage);
            stage_put(&stage, KI_SERVICES, "team/m", "\"finalizers\":[\"example.com/f\"]");
            stage_put(&stage, KI_CONFIGMAPS, "team/m", "\"labels\":{\"app\":\"web\"}");
            ki_object *obj = read(KI_SERVICES, "team", "m");
            ki_engine_call(stage.engine.engine, fail_later, &(plan){ &memory, n });
            ki_status status = write_once(which, obj, n, &err);
            failed = scarce_memory_failed(&memory);
            assert_int_equal(status, err.code);
            assert_true(status == KI_OK || (failed && status == KI_ERR_NO_MEMORY));
            ki_object_unref(obj);
            stage_tear_down(NULL);
            assert_int_equal(scarce_memory_in_use(&memory), 0);
        }
    }
    stage_open_threaded(&stage, NULL);
}

/* --- on a thread of its own, as a reconciler does ----------------------------------------------------------------- */

static ki_status make_child(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call, (void)user;
    ki_object *owner = ki_informer_get(stage.configmaps, key);
    if (!owner)
        return KI_OK;
    ki_status status = ki_client_apply_child(client, KI_SECRETS, owner, ki_unstructured_new(CHILD), BY_ME, NULL, err);
    ki_object_unref(owner);
    return status;
}

CONTROLLER_WRITES_TEST(a_reconcile_may_wait_for_its_requests) {
    stage_tear_down(NULL);
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    stage_put(&stage, KI_CONFIGMAPS, "team/m", "");
    assert_int_equal(stage_control(&stage, KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = make_child)), KI_OK);
    assert_int_equal(ki_controller_watch(stage.controller, stage.configmaps, NULL, NULL), KI_OK);
    assert_int_equal(
        ki_controller_watch(stage.controller, stage.secrets, &KI_CONTROLLER_WATCH(.owner = KI_CONFIGMAPS), NULL),
        KI_OK);
    stage_start(&stage);
    assert_int_equal(ki_informer_wait_for_version(stage.secrets, "team/child", NULL, 60000, NULL), KI_OK);
}
