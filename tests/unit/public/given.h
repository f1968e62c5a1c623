/* given.h: a valid argument for each pointer parameter of the public functions, by the parameter's type and name. For
 * test_null_arguments.c only. */
#ifndef KI_TESTS_GIVEN_H
#define KI_TESTS_GIVEN_H

#include "src/base/memory.h"
#include "tests/support/patience.h"

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/events.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer-print/columns.h>
#include <kinformer-print/jsonpath.h>
#include <kinformer-status/server.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>
#include <kinformer/parts/list_watch.h>
#include <kinformer/parts/object_format.h>
#include <kinformer/parts/process_loop.h>
#include <kinformer/parts/queue.h>
#include <kinformer/parts/reflector.h>
#include <kinformer/parts/store.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The JSON of each text parameter that is followed by a size. */
#define GIVEN_JSON \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"u\"}}"

/* --- objects ------------------------------------------------------------------------------------------------------ */

static ki_error problem = KI_ERROR_INIT;

/* Makes an object of a type once; `made` is where it is kept. */
#define MAKE(type, made, call) \
    static void *type##_given(void) { \
        static made; \
        if (!value && (call)) \
            fprintf(stderr, "given: no " #type ": %s\n", ki_error_message(&problem)); \
        return value; \
    }

MAKE(ki_testing_server, ki_testing_server *value, ki_testing_server_new(NULL, &value, &problem))
MAKE(ki_config, ki_config *value,
     ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(ki_testing_server_given())), &value, &problem))
MAKE(ki_engine, ki_engine *value, ki_engine_new(NULL, &value, &problem))
MAKE(ki_client, ki_client *value, ki_client_new(ki_config_given(), NULL, &value, &problem))
MAKE(ki_factory, ki_factory *value, ki_factory_new(ki_config_given(), NULL, &value, &problem))
MAKE(ki_informer, ki_informer *value, ki_factory_informer(ki_factory_given(), KI_PODS, NULL, &value, &problem))
MAKE(ki_object, ki_object *value,
     ki_informer_object_from_json(ki_informer_given(), GIVEN_JSON, strlen(GIVEN_JSON), &value, &problem))
MAKE(ki_store, ki_store *value, ki_store_new(NULL, &value, &problem))
MAKE(ki_queue, ki_queue *value, ki_queue_new(NULL, &value, &problem))
MAKE(ki_object_format, ki_object_format *value, ki_object_format_new(NULL, NULL, &value, &problem))
MAKE(ki_list_watch, ki_list_watch *value, ki_list_watch_new(ki_client_given(), KI_PODS, NULL, &value, &problem))
MAKE(ki_workqueue, ki_workqueue *value, ki_workqueue_new(ki_engine_given(), NULL, &value, &problem))
MAKE(ki_discovery, ki_discovery *value, ki_discovery_new(ki_client_given(), NULL, &value, &problem))
MAKE(ki_columns, ki_columns *value, ki_columns_new(KI_PODS, NULL, 0, NULL, &value, &problem))
MAKE(ki_jsonpath, ki_jsonpath *value, ki_jsonpath_new("{.metadata.name}", NULL, &value, &problem))
MAKE(ki_response, ki_response *value, ki_client_list(ki_client_given(), KI_PODS, NULL, NULL, &value, &problem))
MAKE(ki_unstructured, ki_unstructured *value, !(value = ki_unstructured_new(GIVEN_JSON)))

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    (void)call;
    (void)key;
    (void)user;
    (void)err;
    return KI_OK;
}

static ki_controller_options controller_options = { .size = sizeof controller_options,
                                                    .name = "a",
                                                    .reconcile = reconcile };
MAKE(ki_controller, ki_controller *value, ki_controller_new(ki_factory_given(), &controller_options, &value, &problem))

static ki_elector_options elector_options = { .size = sizeof elector_options,
                                              .namespace_name = "default",
                                              .name = "a" };
MAKE(ki_elector, ki_elector *value, ki_elector_new(ki_factory_given(), &elector_options, &value, &problem))

static ki_event_recorder_options recorder_options = { .size = sizeof recorder_options, .component = "a" };
MAKE(ki_event_recorder, ki_event_recorder *value,
     ki_event_recorder_new(ki_factory_given(), &recorder_options, &value, &problem))

static ki_status_server_options status_server_options = { .size = sizeof status_server_options,
                                                          .address = "127.0.0.1:0" };
MAKE(ki_status_server, ki_status_server *value,
     ki_status_server_new(ki_factory_given(), &status_server_options, &value, &problem))

static void ignore_response(const ki_response *response, const ki_error *err, void *user) {
    (void)response;
    (void)err;
    (void)user;
}

static ki_client_request request = {
    .size = sizeof request, .verb = KI_CLIENT_RAW, .method = "GET", .path = "/version"
};
MAKE(ki_pending_request, ki_pending_request *value,
     ki_client_send(ki_client_given(), &request, ignore_response, NULL, &value, &problem))

/* --- structs with objects in them --------------------------------------------------------------------------------- */

static void *ki_reflector_options_given(void) {
    static ki_reflector_options value = { .size = sizeof value };
    value.engine = ki_engine_given();
    value.list_watch = ki_list_watch_given();
    value.queue = ki_queue_given();
    return &value;
}

static ki_status process_nothing(const ki_deltas *deltas, void *user, bool *ret_requeue, ki_error *err) {
    (void)deltas;
    (void)user;
    (void)ret_requeue;
    (void)err;
    return KI_OK;
}

static void *ki_process_loop_options_given(void) {
    static ki_process_loop_options value = { .size = sizeof value, .process = process_nothing };
    value.engine = ki_engine_given();
    value.queue = ki_queue_given();
    return &value;
}

static void *ki_change_given(void) {
    static ki_change value = { .type = KI_EVENT_ADD };
    value.obj = ki_object_given();
    return &value;
}

/* --- plain values ------------------------------------------------------------------------------------------------- */

static ki_config_options config_options = { .size = sizeof config_options, .server = "http://127.0.0.1:1" };
static ki_factory_options factory_options = { .size = sizeof factory_options };
static ki_request_options request_options = { .size = sizeof request_options, .field_manager = "a" };
static ki_listing listing = { .resource_version = "1" };
static ki_allocator allocator;

static ki_status index_nothing(const ki_object *obj, ki_index_values *values, void *user) {
    (void)obj;
    (void)values;
    (void)user;
    return KI_OK;
}
static ki_indexer indexer = { .name = "a", .index = index_nothing };

static void ignore_synced(ki_informer *informer, void *user) {
    (void)informer;
    (void)user;
}
static ki_handler handler = { .on_synced = ignore_synced };

/* Of every function parameter. Only calls without a NULL run it, and none of them reads more of its result than a
 * false. */
static long nothing(void) {
    return 0;
}

/* Returns a valid resource without its string number `member`, in the order of the struct; 4 and more: with all of
 * them. */
static const ki_resource *given_resource(int member) {
    static ki_resource resource;
    resource = *KI_PODS;
    const char **members[] = { &resource.group, &resource.version, &resource.plural, &resource.kind };
    if (member >= 0 && (size_t)member < sizeof members / sizeof *members)
        *members[member] = NULL;
    return &resource;
}

static const char *const given_names[] = { "shop" };

/* --- by type and name --------------------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    void *(*make)(void);
} makers[] = {
    { "ki_testing_server *", ki_testing_server_given },
    { "ki_config *", ki_config_given },
    { "ki_engine *", ki_engine_given },
    { "ki_client *", ki_client_given },
    { "ki_factory *", ki_factory_given },
    { "struct ki_factory *", ki_factory_given },
    { "ki_informer *", ki_informer_given },
    { "ki_object *", ki_object_given },
    { "ki_store *", ki_store_given },
    { "ki_queue *", ki_queue_given },
    { "ki_object_format *", ki_object_format_given },
    { "ki_list_watch *", ki_list_watch_given },
    { "ki_reflector_options *", ki_reflector_options_given },
    { "ki_process_loop_options *", ki_process_loop_options_given },
    { "ki_change *", ki_change_given },
    { "ki_workqueue *", ki_workqueue_given },
    { "ki_discovery *", ki_discovery_given },
    { "ki_columns *", ki_columns_given },
    { "ki_jsonpath *", ki_jsonpath_given },
    { "ki_response *", ki_response_given },
    { "ki_unstructured *", ki_unstructured_given },
    { "ki_controller *", ki_controller_given },
    { "ki_elector *", ki_elector_given },
    { "ki_event_recorder *", ki_event_recorder_given },
    { "ki_pending_request *", ki_pending_request_given },
    { "ki_status_server *", ki_status_server_given },
};

static const struct {
    const char *type;
    void *value;
} values[] = {
    { "char **", (void *)(uintptr_t)given_names },
    { "ki_client_request *", &request },
    { "ki_config_options *", &config_options },
    { "ki_factory_options *", &factory_options },
    { "ki_controller_options *", &controller_options },
    { "ki_elector_options *", &elector_options },
    { "ki_event_recorder_options *", &recorder_options },
    { "ki_status_server_options *", &status_server_options },
    { "ki_request_options *", &request_options },
    { "ki_listing *", &listing },
    { "ki_handler *", &handler },
    { "ki_allocator *", &allocator },
    { "ki_indexer *", &indexer },
};

/* With the room of GIVEN_JSON, whose size goes with every text. */
static const char given_text[sizeof GIVEN_JSON] = "{.metadata.name}";

static const struct {
    const char *name, *text;
} texts[] = {
    { "json", GIVEN_JSON },
    { "definition", GIVEN_JSON },
    { "patch", "{}" },
    { "status_json", "{}" },
    { "text", given_text },
    { "uid", "u" },
    { "path", "/dev/null" },
    { "key", "default/a" },
    { "name", "a" },
    { "type", "Ready" },
    { "resource_name", "foos.example.com" },
    { "namespace_name", "default" },
    { "set_name", "tenants" },
    { "label_selector", "a=b" },
    { "field_selector", "metadata.name=a" },
    { "index", KI_NAMESPACE_INDEX },
    { "resource_version", "1" },
    { "field_manager", "a" },
    { "finalizer", "example.com/a" },
    { "value", "a" },
    { "token", "token=a,user=b" },
    { "secret", "a" },
    { "rule", "user=b,verb=get" },
    { "line", "verb=get" },
    { "fault", "status,code=500" },
    { "user", "b" },
    { "groups", "c" },
    { "method", "GET" },
    { "target", "/version" },
    { "content_type", "application/json" },
};

/* Makes every object, starts all engines, and waits until the informer has synced. Returns false after an error. */
static bool given_start(ki_error *err) {
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (!makers[i].make())
            return ki_error_set(err, KI_ERR_INVALID, "no %s", makers[i].type) == KI_OK;
    return ki_engine_start(ki_engine_given(), err) == KI_OK &&
           ki_engine_start(ki_client_engine(ki_client_given()), err) == KI_OK &&
           ki_factory_start(ki_factory_given(), err) == KI_OK &&
           ki_factory_wait_for_sync(ki_factory_given(), (int64_t)PATIENCE_S * 1000, NULL, err) == KI_OK;
}

/* Frees every object. */
static void given_stop(void) {
    ki_status_server_free(ki_status_server_given());
    ki_pending_request_free(ki_pending_request_given());
    ki_discovery_free(ki_discovery_given());
    ki_controller_free(ki_controller_given());
    ki_elector_free(ki_elector_given());
    ki_event_recorder_free(ki_event_recorder_given());
    ki_store_free(ki_store_given());
    ki_queue_free(ki_queue_given());
    ki_object_format_unref(ki_object_format_given());
    ki_list_watch_free(ki_list_watch_given());
    ki_object_unref(ki_object_given());
    ki_response_unref(ki_response_given());
    ki_unstructured_free(ki_unstructured_given());
    ki_columns_free(ki_columns_given());
    ki_jsonpath_free(ki_jsonpath_given());
    ki_workqueue_free(ki_workqueue_given());
    ki_factory_free(ki_factory_given());
    ki_client_free(ki_client_given());
    ki_engine_free(ki_engine_given());
    ki_config_free(ki_config_given());
    ki_testing_server_free(ki_testing_server_given());
}

/* Parameters that need no value, and those that only a callback gets. */
static const char *const unneeded[] = { "options", "user", "err", "keys", "values", "objects" };

/* Returns a valid argument for a parameter such as "ki_client *", "client" (without const). Makes what the argument
 * needs, once in a process, and never frees it: for processes that make one call and end. NULL, with a line on stderr:
 * there is none. */
static void *given(const char *type, const char *name) {
    static _Alignas(max_align_t) char results[4][4096]; /* a call may have several */
    static size_t used;
    allocator = ki_allocator_default;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strcmp(makers[i].type, type) == 0)
            return makers[i].make();
    bool is_result = strncmp(name, "ret_", 4) == 0;
    for (size_t i = 0; !is_result && i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].type, type) == 0)
            return values[i].value;
    bool is_text = strcmp(type, "char *") == 0 || strcmp(name, "key") == 0;
    for (size_t i = 0; is_text && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].name, name) == 0)
            return (void *)(uintptr_t)texts[i].text;
    if (is_result && used < sizeof results / sizeof *results)
        return results[used++];
    if (type[strlen(type) - 1] != '*') {
        void *function;
        long (*address)(void) = nothing;
        memcpy(&function, &address, sizeof function);
        return function;
    }
    for (size_t i = 0; i < sizeof unneeded / sizeof *unneeded; i++)
        if (strcmp(unneeded[i], name) == 0)
            return NULL;
    fprintf(stderr, "given: no argument for %s%s\n", type, name);
    return NULL;
}

#endif
