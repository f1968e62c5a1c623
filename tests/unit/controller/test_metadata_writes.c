/* test_metadata_writes.c: what is made from an object of a cache of metadata is only sent by requests that leave other
 * fields alone. The server is the embedded one, in the same process. */
#include "tests/support/controller_stage.h"
#include "tests/support/test.h"

#include <string.h>

static ki_client *client;
static ki_informer *maps, *deployments;

#define WITHOUT \
    ": the object was made from metadata alone (KI_KEEP_METADATA), and a write of all fields would remove the others;" \
    " use ki_client_patch, or an object from ki_client_get"

#define WEB "apiVersion: apps/v1, kind: Deployment, metadata: {namespace: default, name: web}"
static const char deployment_text[] = "{" WEB ", spec: {replicas: 3, selector: {matchLabels: {a: b}}, template:"
                                      " {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
static const char status_text[] = "{" WEB ", status: {replicas: 3, conditions: [{type: Available, status: 'True',"
                                  " lastTransitionTime: '2020-01-01T00:00:00Z'}]}}";

static ki_informer *informer_of_metadata(const ki_resource *resource) {
    ki_informer *informer = NULL;
    assert_int_equal(
        ki_factory_informer(stage.factory, resource, &KI_INFORMER_OPTIONS(.keep = KI_KEEP_METADATA), &informer, NULL),
        KI_OK);
    return informer;
}

static int open_stage(void **state) {
    (void)state;
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    maps = informer_of_metadata(KI_CONFIGMAPS);
    deployments = informer_of_metadata(KI_DEPLOYMENTS);
    stage_start(&stage);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, 60000, NULL, NULL), KI_OK);
    return 0;
}

#define METADATA_TEST(name) TEST_WITH(open_stage, stage_tear_down, name)

static ki_object *must(ki_status status, ki_object **obj, const ki_error *err) {
    if (status)
        fail_msg("%s", ki_error_message(err));
    return *obj;
}

/* Waits until the cache has a state; returns the cache's object. */
static ki_object *await(ki_informer *informer, ki_object *written) {
    assert_int_equal(ki_informer_wait_for_version(informer, ki_object_key(written), ki_object_resource_version(written),
                                                  60000, NULL),
                     KI_OK);
    ki_object *cached = ki_informer_get(informer, ki_object_key(written));
    ki_object_unref(written);
    return cached;
}

static ki_object *cached_map(void) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *map = ki_unstructured_for(KI_CONFIGMAPS, "default", "a");
    ki_unstructured_set_string(map, "data.text", "kept");
    return await(maps, must(ki_client_create(client, KI_CONFIGMAPS, map, NULL, &obj, &err), &obj, &err));
}

static ki_object *cached_deployment(void) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *object = ki_unstructured_new(deployment_text);
    ki_object_unref(must(ki_client_create(client, KI_DEPLOYMENTS, object, NULL, &obj, &err), &obj, &err));
    object = ki_unstructured_new(status_text);
    return await(deployments,
                 must(ki_client_update_status(client, KI_DEPLOYMENTS, object, NULL, &obj, &err), &obj, &err));
}

/* Asserts what the server has under a path. */
static void expect_on_server(const ki_resource *resource, const char *name, const char *path, const char *expected) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    char text[64];
    must(ki_client_get(client, resource, "default", name, NULL, &obj, &err), &obj, &err);
    assert_string_equal(ki_object_string(obj, path, "none", text, sizeof text), expected);
    ki_object_unref(obj);
}

static ki_unstructured *annotated(const ki_object *obj) {
    ki_unstructured *next = ki_unstructured_from_object(obj);
    ki_unstructured_set_string(next, "metadata.annotations.note", "new");
    return next;
}

static ki_status update(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    (void)obj;
    return ki_client_update(client, KI_CONFIGMAPS, object, NULL, NULL, err);
}

static ki_status update_over_cache(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    (void)obj;
    return ki_client_update(client, KI_CONFIGMAPS, object, &KI_REQUEST_OPTIONS(.informer = maps), NULL, err);
}

static ki_status update_status(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    (void)obj;
    ki_unstructured_set_int(object, "status.replicas", 7);
    return ki_client_update_status(client, KI_CONFIGMAPS, object, NULL, NULL, err);
}

static ki_status create(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    (void)obj;
    ki_unstructured_set_string(object, "metadata.name", "b");
    ki_unstructured_remove(object, "metadata.resourceVersion");
    return ki_client_create(client, KI_CONFIGMAPS, object, NULL, NULL, err);
}

static ki_status apply(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    (void)obj;
    return ki_client_apply(client, KI_CONFIGMAPS, object, &KI_REQUEST_OPTIONS(.field_manager = "m"), NULL, err);
}

static ki_status apply_status(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    return ki_client_apply_status(client, KI_CONFIGMAPS, obj, object, &KI_REQUEST_OPTIONS(.field_manager = "m"), NULL,
                                  err);
}

static ki_status apply_child(ki_unstructured *object, const ki_object *obj, ki_error *err) {
    return ki_client_apply_child(client, KI_CONFIGMAPS, obj, object, &KI_REQUEST_OPTIONS(.field_manager = "m"), NULL,
                                 err);
}

METADATA_TEST(a_write_of_all_fields_is_an_error_and_not_sent) {
    static const struct {
        ki_status (*write)(ki_unstructured *object, const ki_object *obj, ki_error *err);
        const char *message;
    } cases[] = {
        { update, "update configmaps default/a" WITHOUT },
        { update_over_cache, "update configmaps default/a" WITHOUT },
        { update_status, "update configmaps/status default/a" WITHOUT },
        { create, "create configmaps default/b" WITHOUT },
        { apply, "apply configmaps default/a" WITHOUT },
        { apply_status, "apply configmaps/status default/a" WITHOUT },
        { apply_child, "apply configmaps default/a" WITHOUT },
    };
    ki_object *obj = cached_map();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(cases[i].write(annotated(obj), obj, &err), KI_ERR_STATE);
        assert_string_equal(ki_error_message(&err), cases[i].message);
    }
    ki_unstructured *original = annotated(obj), *copy = ki_unstructured_copy(original);
    ki_unstructured_free(original);
    assert_int_equal(update(copy, obj, NULL), KI_ERR_STATE);
    expect_on_server(KI_CONFIGMAPS, "a", "data.text", "kept");
    expect_on_server(KI_CONFIGMAPS, "a", "metadata.resourceVersion", ki_object_resource_version(obj));
    ki_object_unref(obj);
}

METADATA_TEST(a_status_keeps_its_other_fields) {
    ki_object *obj = cached_deployment();
    ki_error err = KI_ERROR_INIT;
    ki_unstructured *next = ki_unstructured_from_object(obj);
    ki_unstructured_set_int(next, "status.replicas", 7);
    assert_int_equal(ki_client_update_status(client, KI_DEPLOYMENTS, next, NULL, NULL, &err), KI_ERR_STATE);
    assert_string_equal(ki_error_message(&err), "update deployments.apps/status default/web" WITHOUT);
    next = ki_unstructured_from_object(obj);
    ki_unstructured_set_int(next, "status.replicas", 7);
    assert_int_equal(ki_client_patch(client, KI_DEPLOYMENTS, KI_PATCH_MERGE, next,
                                     &KI_REQUEST_OPTIONS(.subresource = "status"), NULL, &err),
                     KI_OK);
    expect_on_server(KI_DEPLOYMENTS, "web", "status.conditions[0].lastTransitionTime", "2020-01-01T00:00:00Z");
    expect_on_server(KI_DEPLOYMENTS, "web", "spec.template.spec.containers[0].image", "i");
    ki_object_unref(obj);
}

/* A patch would replace the whole array, with a condition whose transition time is new. */
METADATA_TEST(a_condition_is_not_set_without_those_so_far) {
    ki_object *obj = cached_deployment();
    const char *message = "patch deployments.apps/status default/web: status.conditions: the object was made from "
                          "metadata alone, without its conditions";
    for (int i = 0; i < 2; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_unstructured *next = ki_unstructured_from_object(obj);
        if (i == 0)
            assert_false(ki_unstructured_set_condition(next, "Available", "True", "Up", "", 1));
        else
            assert_false(ki_unstructured_remove_condition(next, "Available"));
        assert_int_equal(ki_client_patch(client, KI_DEPLOYMENTS, KI_PATCH_MERGE, next,
                                         &KI_REQUEST_OPTIONS(.subresource = "status"), NULL, &err),
                         KI_ERR_STATE);
        assert_string_equal(ki_error_message(&err), message);
    }
    expect_on_server(KI_DEPLOYMENTS, "web", "status.conditions[0].lastTransitionTime", "2020-01-01T00:00:00Z");
    ki_object_unref(obj);
}

METADATA_TEST(an_object_that_names_what_is_written_can_have_metadata_alone) {
    ki_object *obj = cached_deployment(), *written = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_request_options options = KI_REQUEST_OPTIONS(.field_manager = "m");
    ki_unstructured *status = ki_unstructured_new("{status: {readyReplicas: 2}}");
    must(ki_client_apply_status(client, KI_DEPLOYMENTS, obj, status, &options, &written, &err), &written, &err);
    assert_int_equal(ki_object_int(written, "status.readyReplicas", 0), 2);
    assert_int_equal(ki_object_int(written, "status.replicas", 0), 3);
    ki_object_unref(written);
    ki_unstructured *child = ki_unstructured_for(KI_CONFIGMAPS, "", "child");
    must(ki_client_apply_child(client, KI_CONFIGMAPS, obj, child, &options, &written, &err), &written, &err);
    assert_true(ki_object_is_controlled_by(written, obj));
    ki_object_unref(written);
    ki_object_unref(obj);
}

METADATA_TEST(a_patch_of_metadata_is_sent) {
    static const ki_patch_type types[] = { KI_PATCH_MERGE, KI_PATCH_STRATEGIC };
    ki_object *obj = cached_map(), *owner = cached_deployment();
    for (size_t i = 0; i < 2; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_object *written = NULL;
        ki_unstructured *next = annotated(obj);
        ki_unstructured_set_string(next, "metadata.labels.app", i ? "web" : "db");
        ki_unstructured_set_controller(next, owner);
        must(ki_client_patch(client, KI_CONFIGMAPS, types[i], next, NULL, &written, &err), &written, &err);
        ki_object_unref(obj);
        obj = await(maps, written);
        assert_string_equal(ki_object_label(obj, "app"), i ? "web" : "db");
        assert_true(ki_object_is_controlled_by(obj, owner));
    }
    expect_on_server(KI_CONFIGMAPS, "a", "metadata.annotations.note", "new");
    expect_on_server(KI_CONFIGMAPS, "a", "data.text", "kept");
    ki_object_unref(owner);
    ki_object_unref(obj);
}

METADATA_TEST(finalizers_adoption_and_deletion_need_no_more) {
    ki_object *obj = cached_map(), *owner = cached_deployment(), *written = NULL;
    ki_error err = KI_ERROR_INIT;
    must(ki_client_add_finalizer(client, KI_CONFIGMAPS, obj, "example.com/f", &written, &err), &written, &err);
    ki_object_unref(obj);
    obj = await(maps, written);
    ki_unstructured *labelled = ki_unstructured_from_object(obj);
    ki_unstructured_set_string(labelled, "metadata.labels.app", "web");
    must(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, labelled, NULL, &written, &err), &written, &err);
    ki_object_unref(await(maps, written));
    ki_object_list claimed;
    assert_int_equal(ki_client_claim(client, KI_DEPLOYMENTS, owner, maps, "app=web", NULL, &claimed, &err), KI_OK);
    assert_int_equal(claimed.count, 1);
    ki_object_list_free(&claimed);
    expect_on_server(KI_CONFIGMAPS, "a", "metadata.ownerReferences[0].name", "web");
    expect_on_server(KI_CONFIGMAPS, "a", "metadata.finalizers[0]", "example.com/f");
    expect_on_server(KI_CONFIGMAPS, "a", "data.text", "kept");
    const ki_request_options same = KI_REQUEST_OPTIONS(.precondition_uid = ki_object_uid(obj));
    assert_int_equal(ki_client_delete(client, KI_CONFIGMAPS, "default", "a", &same, NULL, &err), KI_OK);
    ki_object_unref(owner);
    ki_object_unref(obj);
}

METADATA_TEST(a_whole_object_is_written_beside_the_cache_of_metadata) {
    ki_object *cached = cached_map(), *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_write_result result = 0;
    const ki_request_options options = KI_REQUEST_OPTIONS(.informer = maps, .ret_result = &result);
    must(ki_client_get(client, KI_CONFIGMAPS, "default", "a", NULL, &obj, &err), &obj, &err);
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, annotated(obj), &options, NULL, &err), KI_OK);
    assert_int_equal(result, KI_WRITE_UPDATED);
    ki_object_unref(obj);
    expect_on_server(KI_CONFIGMAPS, "a", "data.text", "kept");
    must(ki_client_get(client, KI_CONFIGMAPS, "default", "a", &options, &obj, &err), &obj, &err);
    assert_int_equal(update(annotated(obj), obj, NULL), KI_ERR_STATE); /* made as the informer makes its own */
    ki_object_unref(obj);
    ki_object_unref(cached);
}

/* The program's own text has no data: that is a difference, which a cache of metadata does not show. */
METADATA_TEST(an_update_is_not_compared_with_metadata_alone) {
    ki_object *cached = cached_map();
    ki_error err = KI_ERROR_INIT;
    ki_write_result result = 0;
    ki_value json = KI_VALUE_INIT;
    assert_int_equal(ki_object_json(cached, &json, NULL), KI_OK);
    if (ki_client_update(client, KI_CONFIGMAPS, ki_unstructured_new(json.text),
                         &KI_REQUEST_OPTIONS(.informer = maps, .ret_result = &result), NULL, &err))
        fail_msg("%s", ki_error_message(&err));
    assert_int_equal(result, KI_WRITE_UPDATED);
    expect_on_server(KI_CONFIGMAPS, "a", "data.text", "none");
    ki_value_clear(&json);
    ki_object_unref(cached);
}
