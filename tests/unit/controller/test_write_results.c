/* test_write_results.c: a write says what it did, returns the object with an informer's view, and an update without a
 * difference to the informer's cache is not sent. The server is the embedded one, in the same process. */
#include "tests/support/controller_stage.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <string.h>

struct map {
    const char *text;
};
static const ki_field map_fields[] = { KI_FIELD(struct map, text, "data.text"), KI_FIELD_END };

static ki_client *client;
static ki_informer *maps; /* with the view */

static int open_stage(void **state) {
    (void)state;
    ki_error err = KI_ERROR_INIT;
    stage_open_threaded(&stage, NULL);
    client = ki_factory_client(stage.factory);
    assert_int_equal(ki_factory_remove_informer(stage.factory, stage.configmaps, &err), KI_OK); /* without a view */
    if (ki_factory_informer(stage.factory, KI_CONFIGMAPS, &KI_INFORMER_OPTIONS(.view = map_fields), &maps, &err))
        fail_msg("%s", ki_error_message(&err));
    stage_start(&stage);
    assert_int_equal(ki_factory_wait_for_sync(stage.factory, 60000, NULL, NULL), KI_OK);
    return 0;
}

#define WRITE_RESULTS_TEST(name) TEST_WITH(open_stage, stage_tear_down, name)

static ki_unstructured *map_with(const char *text) {
    ki_unstructured *object = ki_unstructured_for(KI_CONFIGMAPS, "default", "a");
    ki_unstructured_set_string(object, "data.text", text);
    return object;
}

static void assert_view(const ki_object *obj, const char *text) {
    const struct map *view = ki_object_view(obj);
    assert_non_null(view);
    assert_string_equal(view->text, text);
}

static void await_cached(const ki_object *obj) {
    assert_int_equal(
        ki_informer_wait_for_version(maps, ki_object_key(obj), ki_object_resource_version(obj), 60000, NULL), KI_OK);
}

static void check(ki_status status, const ki_error *err) {
    if (status)
        fail_msg("%s", ki_error_message(err));
}

/* Creates the ConfigMap default/a, and waits until the informer has it. */
static ki_object *put_map(const char *text) {
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    check(ki_client_create(client, KI_CONFIGMAPS, map_with(text), &KI_REQUEST_OPTIONS(.informer = maps), &obj, &err),
          &err);
    await_cached(obj);
    return obj;
}

/* Parameters that no request can be sent with. */
#define UNSENT .parameters = " "

WRITE_RESULTS_TEST(a_write_says_what_it_did_and_returns_the_view) {
    ki_write_result result = 0;
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    const ki_request_options options =
        KI_REQUEST_OPTIONS(.field_manager = "me", .informer = maps, .ret_result = &result);
    const struct {
        const char *text;
        ki_write_result result;
    } applied[] = {
        { "x", KI_WRITE_CREATED },
        { "x", KI_WRITE_UNCHANGED },
        { "y", KI_WRITE_UPDATED },
    };
    for (size_t i = 0; i < sizeof applied / sizeof *applied; i++) {
        check(ki_client_apply(client, KI_CONFIGMAPS, map_with(applied[i].text), &options, &obj, &err), &err);
        assert_int_equal(result, applied[i].result);
        assert_view(obj, applied[i].text);
        await_cached(obj);
        ki_object_unref(obj);
    }
    check(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, map_with("y"), &options, NULL, &err), &err);
    assert_int_equal(result, KI_WRITE_UNCHANGED);
    check(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_STRATEGIC, map_with("z"), &options, &obj, &err), &err);
    assert_int_equal(result, KI_WRITE_UPDATED);
    assert_view(obj, "z");
    ki_unstructured *same = ki_unstructured_from_object(obj); /* its version alone suffices */
    check(ki_client_update(client, KI_CONFIGMAPS, same, &KI_REQUEST_OPTIONS(.ret_result = &result), NULL, &err), &err);
    assert_int_equal(result, KI_WRITE_UNCHANGED);
    ki_object_unref(obj);
    check(ki_client_get(client, KI_CONFIGMAPS, "default", "a", &options, &obj, &err), &err);
    assert_view(obj, "z");
    ki_object_unref(obj);
}

WRITE_RESULTS_TEST(an_update_without_a_difference_is_not_sent) {
    ki_write_result result = 0;
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = put_map("x"), *same = NULL, *next = NULL;
    ki_object *cached = ki_informer_get(maps, "default/a");
    const ki_request_options options = KI_REQUEST_OPTIONS(.informer = maps, .ret_result = &result);
    const ki_request_options unsent = KI_REQUEST_OPTIONS(.informer = maps, .ret_result = &result, UNSENT);
    ki_unstructured *wanted = ki_unstructured_from_object(cached);
    ki_unstructured_set_string(wanted, "data.text", "x");
    check(ki_client_update(client, KI_CONFIGMAPS, wanted, &unsent, &same, &err), &err);
    assert_int_equal(result, KI_WRITE_UNCHANGED);
    assert_ptr_equal(same, cached);
    check(ki_client_update_status(client, KI_CONFIGMAPS, ki_unstructured_from_object(cached), &unsent, NULL, &err),
          &err);

    wanted = ki_unstructured_from_object(cached);
    ki_unstructured_set_string(wanted, "data.text", "y");
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, ki_unstructured_copy(wanted), &unsent, NULL, NULL),
                     KI_ERR_INVALID);
    check(ki_client_update(client, KI_CONFIGMAPS, wanted, &options, &next, &err), &err);
    assert_int_equal(result, KI_WRITE_UPDATED);
    assert_view(next, "y");
    await_cached(next);

    result = 0; /* an old version is sent, and the server rejects it */
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, ki_unstructured_from_object(cached), &options, NULL, &err),
                     KI_ERR_HTTP);
    assert_true(ki_error_is_conflict(&err));
    assert_int_equal(result, 0);
    ki_object *const all[] = { obj, same, cached, next };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ki_object_unref(all[i]);
}

WRITE_RESULTS_TEST(an_earlier_leader_does_not_replace_what_a_later_one_wrote) {
    static const char token[] = "example.com/token";
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = NULL, *next = NULL;
    ki_unstructured *object = map_with("x");
    ki_unstructured_set_fencing_token(object, token, 3);
    check(ki_client_create(client, KI_CONFIGMAPS, object, NULL, &obj, &err), &err);
    object = ki_unstructured_from_object(obj); /* the earlier leader has read this, and is slow */
    ki_unstructured *slow = ki_unstructured_copy(object);
    ki_unstructured_set_fencing_token(slow, token, 3);
    ki_unstructured_set_fencing_token(object, token, 4);
    check(ki_client_update(client, KI_CONFIGMAPS, object, NULL, &next, &err), &err);
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, slow, NULL, NULL, &err), KI_ERR_HTTP);
    assert_true(ki_error_is_conflict(&err));
    object = ki_unstructured_from_object(next); /* it reads again */
    ki_unstructured_set_fencing_token(object, token, 3);
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, object, NULL, NULL, &err), KI_ERR_CANCELLED);

    for (int i = 0; i < 3; i++) { /* writes with which nothing checks the token that the server has */
        object = i == 0 ? map_with("y") : ki_unstructured_from_object(next);
        if (i == 1)
            ki_unstructured_remove(object, "metadata.resourceVersion");
        ki_unstructured_set_fencing_token(object, token, 5);
        assert_int_equal(i < 2 ? ki_client_update(client, KI_CONFIGMAPS, object, NULL, NULL, &err)
                               : ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, object, NULL, NULL, &err),
                         KI_ERR_INVALID);
        assert_non_null(strstr(err.message, "a fencing token is for a create, or for an update"));
    }
    ki_object_unref(obj);
    ki_object_unref(next);
}

struct service {
    const char *type;
};

static const ki_field service_fields[] = {
    KI_FIELD(struct service, type, "spec.type"),
    KI_FIELD_END,
};

static ki_object *put_service(ki_informer *services) {
    static const char yaml[] =
        "metadata: { name: web, namespace: default }\nspec: { type: LoadBalancer, ports: [{ port: 80 }] }\n";
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    check(ki_client_create(client, KI_SERVICES, ki_unstructured_new(yaml), &KI_REQUEST_OPTIONS(.informer = services),
                           &obj, &err),
          &err);
    return obj;
}

WRITE_RESULTS_TEST(a_write_for_an_object_returns_the_views_of_that_object) {
    ki_error err = KI_ERROR_INIT;
    ki_informer *services = NULL;
    ki_object *bare = put_map("x"), *with = NULL, *without = NULL, *plain = NULL, *applied = NULL;
    check(ki_client_add_finalizer(client, KI_CONFIGMAPS, bare, "example.com/x", &with, &err), &err);
    assert_view(with, "x");
    assert_string_not_equal(ki_object_resource_version(with), ki_object_resource_version(bare));
    check(ki_client_remove_finalizer(client, KI_CONFIGMAPS, with, "example.com/x", &without, &err), &err);
    assert_view(without, "x");
    assert_false(ki_object_has_finalizer(without, "example.com/x"));

    check(ki_client_get(client, KI_CONFIGMAPS, "default", "a", NULL, &plain, &err),
          &err); /* an object without a view */
    ki_object_unref(with);
    check(ki_client_add_finalizer(client, KI_CONFIGMAPS, plain, "example.com/y", &with, &err), &err);
    assert_null(ki_object_view(with));

    check(
        ki_factory_informer(stage.factory, KI_SERVICES, &KI_INFORMER_OPTIONS(.view = service_fields), &services, &err),
        &err);
    ki_object *service = put_service(services);
    ki_unstructured *status = ki_unstructured_new("status: { loadBalancer: { ingress: [{ ip: 192.0.2.1 }] } }");
    check(ki_client_apply_status(client, KI_SERVICES, service, status, &KI_REQUEST_OPTIONS(.field_manager = "me"),
                                 &applied, &err),
          &err);
    const struct service *view = ki_object_view(applied);
    assert_non_null(view);
    assert_string_equal(view->type, "LoadBalancer");
    ki_object *const all[] = { bare, with, without, plain, service, applied };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ki_object_unref(all[i]);
}

WRITE_RESULTS_TEST(an_object_that_has_failed_is_not_sent) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new("a: ["), NULL, NULL, &err),
                     KI_ERR_PARSE);
    assert_non_null(strstr(err.message, "create configmaps: YAML: line 2, column 1: "));
    ki_unstructured *failed = map_with("x");
    ki_unstructured_set_int(failed, "data[", 1);
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, failed, NULL, NULL, &err), KI_ERR_PARSE);
    assert_ptr_equal(strstr(err.message, "update configmaps default/a: "), err.message);
    assert_int_equal(ki_client_apply(client, KI_CONFIGMAPS, NULL, NULL, NULL, &err), KI_ERR_NO_MEMORY);
    assert_int_equal(err.code, KI_ERR_NO_MEMORY);
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, ki_unstructured_new("[]"), NULL, NULL, NULL),
                     KI_ERR_PARSE);
    assert_int_equal(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_JSON, map_with("x"), NULL, NULL, &err),
                     KI_ERR_INVALID);
    assert_int_equal(ki_client_update(NULL, KI_CONFIGMAPS, map_with("x"), NULL, NULL, &err), KI_ERR_INVALID);
    assert_int_equal(ki_client_update(client, NULL, map_with("x"), NULL, NULL, &err), KI_ERR_INVALID);
    ki_unstructured *nowhere = ki_unstructured_for(KI_CONFIGMAPS, NULL, "a");
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, nowhere, NULL, NULL, &err), KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "the namespace is missing"));
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, map_with("x"),
                                      &KI_REQUEST_OPTIONS(.informer = stage.secrets), NULL, &err),
                     KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "a request for configmaps with an informer of secrets"));
    assert_int_equal(
        ki_client_update(client, KI_CONFIGMAPS, map_with("x"), &(ki_request_options){ .size = 0 }, NULL, &err),
        KI_ERR_INVALID);
}

WRITE_RESULTS_TEST(a_subresource_is_created_for_the_object_that_is_named) {
    ki_error err = KI_ERROR_INIT;
    static const char yaml[] = "apiVersion: policy/v1\nkind: Eviction\nmetadata: { name: none, namespace: default }\n";
    assert_int_equal(ki_client_create(client, KI_PODS, ki_unstructured_new(yaml),
                                      &KI_REQUEST_OPTIONS(.subresource = "eviction"), NULL, &err),
                     KI_ERR_HTTP);
    assert_non_null(strstr(err.message, "create pods/eviction default/none"));
}
