/* test_client.c: a client against the embedded server, over real sockets: every verb, waiting on any thread, with an
 * engine that nobody drives, one that is started meanwhile, and a factory's. */
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include "tests/support/raw_server.h"
#include "tests/support/test.h"
#include <pthread.h>
#include <stdatomic.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ki_testing_server *server;
static ki_config *config;

static int start_server(void **state) {
    (void)state;
    ki_error failure = KI_ERROR_INIT;
    if (ki_testing_server_new(&(ki_testing_server_options){ .size = sizeof(ki_testing_server_options) }, &server,
                              &failure) ||
        ki_config_new(&KI_CONFIG_OPTIONS(.server = ki_testing_server_url(server)), &config, &failure)) {
        fprintf(stderr, "%s\n", ki_error_message(&failure));
        return 1;
    }
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    ki_config_free(config);
    ki_testing_server_free(server);
    return 0;
}

#define CHECK(call) \
    do { \
        ki_error err_ = KI_ERROR_INIT; \
        ki_error *err = &err_; \
        if (call) \
            fail_msg("%s", ki_error_message(err)); \
    } while (0)

static ki_client *new_client(void) {
    ki_client *client = NULL;
    CHECK(ki_client_new(config, &KI_CLIENT_OPTIONS(.requests_per_second = -1), &client, err));
    return client;
}

static void make_json(char *json, size_t size, const char *name, const char *value) {
    snprintf(json, size,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
             "\"labels\":{\"set\":\"%s\"}},\"data\":{\"k\":\"%s\"}}",
             name, name, value);
}

static void assert_field(const ki_object *obj, const char *path, const char *wanted) {
    char text[64];
    assert_string_equal(ki_object_string(obj, path, "", text, sizeof text), wanted);
}

TEST(an_object_lives_through_all_verbs) {
    ki_client *client = new_client();
    ki_object *obj = NULL, *next = NULL;
    char json[512];
    ki_error failure = KI_ERROR_INIT;
    make_json(json, sizeof json, "verbs", "1");
    CHECK(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, &obj, err));
    assert_string_equal(ki_object_key(obj), "default/verbs");

    ki_error_response *error_response = NULL;
    assert_int_equal(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new(json),
                                      &KI_REQUEST_OPTIONS(.ret_error_response = &error_response), NULL, &failure),
                     KI_ERR_HTTP);
    assert_true(ki_error_is_already_exists(&failure));
    assert_string_equal(error_response->name, "verbs");
    assert_string_equal(error_response->kind, "configmaps");
    ki_error_response_free(error_response);

    CHECK(ki_client_get(client, KI_CONFIGMAPS, "default", "verbs", NULL, &next, err));
    assert_string_equal(ki_object_uid(next), ki_object_uid(obj));
    ki_object_unref(next);

    make_json(json, sizeof json, "verbs", "2");
    CHECK(ki_client_update(client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, &next, err));
    assert_field(next, "data.k", "2");
    ki_object_unref(next);

    ki_unstructured *old = ki_unstructured_from_object(obj); /* what was first read is out of date by now */
    assert_int_equal(ki_client_update(client, KI_CONFIGMAPS, old, NULL, NULL, &failure), KI_ERR_HTTP);
    assert_true(ki_error_is_conflict(&failure));

    ki_unstructured *patch = ki_unstructured_for(KI_CONFIGMAPS, "default", "verbs");
    ki_unstructured_set_string(patch, "data.m", "3");
    CHECK(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, patch, NULL, &next, err));
    assert_field(next, "data.m", "3");
    ki_object_unref(next);
    static const char changes[] = "[{\"op\":\"replace\",\"path\":\"/data/m\",\"value\":\"4\"}]";
    ki_response *response = NULL;
    CHECK(ki_client_do(client,
                       &KI_CLIENT_REQUEST(.verb = KI_CLIENT_PATCH, .resource = KI_CONFIGMAPS,
                                          .namespace_name = "default", .name = "verbs", .patch = KI_PATCH_JSON,
                                          .body = changes, .body_size = strlen(changes)),
                       &response, err));
    assert_field(ki_response_object(response), "data.m", "4");
    ki_response_unref(response);

    assert_int_equal(ki_client_delete(client, KI_CONFIGMAPS, "default", "verbs",
                                      &KI_REQUEST_OPTIONS(.precondition_uid = "another"), NULL, &failure),
                     KI_ERR_HTTP);
    assert_true(ki_error_is_conflict(&failure));
    CHECK(ki_client_delete(client, KI_CONFIGMAPS, "default", "verbs",
                           &KI_REQUEST_OPTIONS(.precondition_uid = ki_object_uid(obj)), NULL, err));
    assert_int_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "verbs", NULL, &next, &failure), KI_ERR_HTTP);
    assert_true(ki_error_is_not_found(&failure));
    ki_object_unref(obj);
    ki_client_free(client);
}

TEST(a_list_is_read_page_by_page_and_its_collection_deleted) {
    ki_client *client = new_client();
    char json[512], name[32];
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "page-%d", i);
        make_json(json, sizeof json, name, "x");
        CHECK(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, NULL, err));
    }
    char token[4096] = "";
    int pages = 0, objects = 0;
    do {
        ki_response *page = NULL;
        CHECK(ki_client_list(client, KI_CONFIGMAPS, "default", &KI_REQUEST_OPTIONS(.limit = 3, .continue_token = token),
                             &page, err));
        for (size_t i = 0; i < ki_response_item_count(page); i++)
            objects += strncmp(ki_object_name(ki_response_item(page, i)), "page-", 5) == 0;
        snprintf(token, sizeof token, "%s", ki_response_continue(page));
        ki_response_unref(page);
        pages++;
    } while (token[0]);
    assert_int_equal(objects, 7);
    assert_in_range(pages, 3, 4);
    CHECK(ki_client_delete_collection(client, KI_CONFIGMAPS, "default",
                                      &KI_REQUEST_OPTIONS(.label_selector = "set in (page-1,page-2)"), err));
    ki_response *rest = NULL;
    CHECK(ki_client_list(client, KI_CONFIGMAPS, "default", &KI_REQUEST_OPTIONS(.label_selector = "set=page-1"), &rest,
                         err));
    assert_int_equal(ki_response_item_count(rest), 0);
    ki_response_unref(rest);
    CHECK(ki_client_delete_collection(client, KI_CONFIGMAPS, "default", NULL, err));
    ki_client_free(client);
}

TEST(any_path_can_be_asked_for) {
    ki_client *client = new_client();
    ki_response *response = NULL;
    CHECK(ki_client_do(client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version"),
                       &response, err));
    ki_value major = KI_VALUE_INIT;
    CHECK(ki_response_field(response, "major", &major, err));
    assert_string_equal(major.text, "1");
    ki_value_clear(&major);
    ki_response_unref(response);
    ki_client_free(client);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

typedef struct asker {
    ki_client *client;
    int number;
    int good;
    pthread_t thread;
} asker;

static void *ask(void *user) {
    asker *self = user;
    char json[512], name[32];
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "thread-%d-%d", self->number, i);
        make_json(json, sizeof json, name, "x");
        ki_object *obj = NULL;
        if (ki_client_create(self->client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, &obj, NULL) == KI_OK)
            self->good += strcmp(ki_object_name(obj), name) == 0;
        ki_object_unref(obj);
    }
    return NULL;
}

static void many_threads_wait_at_once(int starts_at) {
    ki_client *client = new_client();
    asker askers[6];
    for (int i = 0; i < 6; i++) {
        askers[i] = (asker){ .client = client, .number = i };
        if (i == starts_at)
            CHECK(ki_engine_start(ki_client_engine(client), err));
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].good, 5);
    }
    CHECK(ki_client_delete_collection(client, KI_CONFIGMAPS, "default", NULL, err));
    ki_client_free(client);
}

TEST(threads_that_wait_drive_an_engine_that_nobody_drives) {
    many_threads_wait_at_once(-1);
}

TEST(whoever_starts_the_engine_takes_over_from_those_who_wait) {
    for (int at = 0; at < 6; at++)
        many_threads_wait_at_once(at);
}

static void on_nothing(const ki_response *response, const ki_error *err, void *user) {
    (void)response;
    ki_client *client = user;
    ki_error nested = KI_ERROR_INIT;
    assert_null(err);
    assert_int_equal(ki_client_get(client, KI_NODES, NULL, "x", NULL, NULL, &nested), KI_ERR_DEADLOCK);
}

TEST(waiting_inside_a_callback_would_deadlock) {
    ki_client *client = new_client();
    CHECK(ki_client_send(client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version"),
                         on_nothing, client, NULL, err));
    /* Whichever comes first: this one's waiting drives the other one, too. */
    for (int i = 0; i < 3; i++)
        CHECK(ki_client_do(client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = "/version"), NULL,
                           err));
    ki_client_free(client);
}

/* --- a factory's client ------------------------------------------------------------------------------------------- */

static _Atomic int added;

static void on_add(const ki_event *event, void *user) {
    (void)user;
    if (strcmp(ki_object_name(event->obj), "of-factory") == 0)
        atomic_fetch_add(&added, 1);
}

TEST(a_factorys_client_asks_before_and_after_the_start) {
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    const ki_handler handler = { .on_add = on_add };
    CHECK(ki_factory_new(config, NULL, &factory, err));
    ki_client *client = ki_factory_client(factory);
    char json[512];
    make_json(json, sizeof json, "of-factory", "x");
    CHECK(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, NULL, err));
    CHECK(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &informer, err));
    CHECK(ki_informer_add_handler(informer, &handler, NULL, NULL, NULL, err));
    CHECK(ki_factory_start(factory, err));
    CHECK(ki_factory_wait_for_sync(factory, 60000, NULL, err));
    ki_object *obj = NULL;
    CHECK(ki_client_get(client, KI_CONFIGMAPS, "default", "of-factory", NULL, &obj, err));
    ki_object_unref(obj);
    CHECK(ki_client_delete(client, KI_CONFIGMAPS, "default", "of-factory", NULL, NULL, err));
    ki_client_free(client); /* borrowed: nothing happens */
    CHECK(ki_factory_shutdown(factory, err));
    assert_int_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "x", NULL, &obj, NULL), KI_ERR_STATE);
    ki_factory_free(factory);
}

/* Creates a ConfigMap, and waits until the cache has it. */
static void create_and_wait(ki_client *client, ki_informer *informer, const char *json) {
    ki_object *obj = NULL;
    CHECK(ki_client_create(client, KI_CONFIGMAPS, ki_unstructured_new(json), NULL, &obj, err));
    CHECK(ki_informer_wait_for_version(informer, ki_object_key(obj), ki_object_resource_version(obj), 60000, err));
    ki_object_unref(obj);
}

TEST(a_program_waits_until_its_cache_has_seen_its_own_deletion) {
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    CHECK(ki_factory_new(config, NULL, &factory, err));
    CHECK(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &informer, err));
    CHECK(ki_factory_start(factory, err));
    ki_client *client = ki_factory_client(factory);
    for (int i = 0; i < 20; i++) {
        ki_response *response = NULL;
        create_and_wait(client, informer, "{\"metadata\":{\"name\":\"gone\",\"namespace\":\"default\"}}");
        CHECK(ki_client_delete(client, KI_CONFIGMAPS, "default", "gone", NULL, &response, err));
        assert_string_not_equal(ki_response_uid(response), "");
        assert_string_equal(ki_response_resource_version(response), "");
        CHECK(ki_informer_wait_for_deletion(informer, "default/gone", ki_response_uid(response), 60000, err));
        assert_null(ki_informer_get(informer, "default/gone"));
        ki_response_unref(response);
    }
    ki_factory_free(factory);
}

TEST(a_deletion_that_waits_for_finalizers_has_a_version_to_wait_for) {
    ki_factory *factory = NULL;
    ki_informer *informer = NULL;
    ki_response *response = NULL;
    CHECK(ki_factory_new(config, NULL, &factory, err));
    CHECK(ki_factory_informer(factory, KI_CONFIGMAPS, NULL, &informer, err));
    CHECK(ki_factory_start(factory, err));
    ki_client *client = ki_factory_client(factory);
    create_and_wait(client, informer,
                    "{\"metadata\":{\"name\":\"marked\",\"namespace\":\"default\",\"finalizers\":[\"x/y\"]}}");
    CHECK(ki_client_delete(client, KI_CONFIGMAPS, "default", "marked", NULL, &response, err));
    CHECK(ki_informer_wait_for_version(informer, "default/marked", ki_response_resource_version(response), 60000, err));
    ki_object *obj = ki_informer_get(informer, "default/marked");
    assert_string_equal(ki_object_uid(obj), ki_response_uid(response));
    char since[64];
    assert_non_null(ki_object_string(obj, "metadata.deletionTimestamp", NULL, since, sizeof since));
    ki_unstructured *patch = ki_unstructured_for(KI_CONFIGMAPS, "default", "marked");
    ki_unstructured_set_null(patch, "metadata.finalizers");
    CHECK(ki_client_patch(client, KI_CONFIGMAPS, KI_PATCH_MERGE, patch, NULL, NULL, err));
    CHECK(ki_informer_wait_for_deletion(informer, "default/marked", ki_object_uid(obj), 60000, err));
    assert_null(ki_informer_get(informer, "default/marked"));
    ki_object_unref(obj);
    ki_response_unref(response);
    ki_factory_free(factory);
}

TEST(a_response_that_is_no_object_is_shown) {
    ki_client *client = new_client();
    ki_object *obj = NULL;
    ki_error failure = KI_ERROR_INIT;
    CHECK(ki_testing_server_add_fault(server, "garbage,which=0", NULL, err));
    assert_int_equal(ki_client_get(client, KI_CONFIGMAPS, "default", "x", NULL, &obj, &failure), KI_ERR_PROTOCOL);
    assert_string_equal(failure.message,
                        "get configmaps default/x: the server's response is not an object: \"<html>a proxy's "
                        "page</html>\"; ki_client_do accepts any response");
    ki_unstructured *unnamed = ki_unstructured_for(KI_CONFIGMAPS, "default", NULL);
    assert_int_equal(ki_client_create(client, KI_CONFIGMAPS, unnamed, NULL, &obj, &failure), KI_ERR_PROTOCOL);
    assert_non_null(
        strstr(failure.message, "create configmaps in namespace default: the server's response is not an object"));
    ki_testing_server_clear_faults(server);
    ki_client_free(client);
}

TEST(a_response_without_a_body_is_no_object) {
    static const raw_response response = {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n", 0, RAW_KEEP
    };
    raw_server empty;
    ki_config *to = NULL;
    ki_client *client = NULL;
    ki_object *obj = NULL;
    ki_error failure = KI_ERROR_INIT;
    char url[64];
    raw_server_start(&empty, &response, 1);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", empty.port);
    CHECK(ki_config_new(&KI_CONFIG_OPTIONS(.server = url), &to, err));
    CHECK(ki_client_new(to, NULL, &client, err));
    assert_int_equal(ki_client_get(client, KI_PODS, "default", "x", NULL, &obj, &failure), KI_ERR_PROTOCOL);
    assert_string_equal(
        failure.message,
        "get pods default/x: the server's response is not an object: \"\"; ki_client_do accepts any response");
    assert_null(obj);
    ki_client_free(client);
    ki_config_free(to);
    raw_server_stop(&empty);
}

TEST(a_word_is_found_in_what_the_server_has) {
    ki_client *client = new_client();
    ki_discovery *discovery = NULL;
    ki_resource_map *map = NULL;
    const ki_discovered *found = NULL;
    ki_error failure = KI_ERROR_INIT;
    CHECK(ki_discovery_new(client, NULL, &discovery, err));
    CHECK(ki_discovery_find(discovery, "deploy", &map, &found, err));
    assert_string_equal(found->resource.group, "apps");
    ki_resource_map_unref(map);
    assert_int_equal(ki_discovery_find(discovery, "deplyoments", &map, &found, &failure), KI_ERR_NOT_FOUND);
    assert_string_equal(failure.message, "the server has no resource \"deplyoments\"; did you mean deployments?");
    assert_int_equal(ki_discovery_find(discovery, "all", &map, &found, &failure), KI_ERR_NOT_FOUND);
    assert_non_null(strstr(failure.message, "\"all\" is a category"));
    ki_discovery_free(discovery);
    ki_client_free(client);
}

TEST(a_server_that_is_not_there_is_reported_at_once) {
    ki_config *nowhere = NULL;
    ki_client *client = NULL;
    ki_error failure = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"), &nowhere, &failure), KI_OK);
    assert_int_equal(ki_client_new(nowhere, NULL, &client, &failure), KI_OK);
    ki_config_free(nowhere);
    assert_int_equal(ki_client_get(client, KI_NODES, NULL, "x", NULL, NULL, &failure), KI_ERR_CONNECT);
    ki_client_free(client);
}

TEST_GROUP(client, start_server, stop_server);
