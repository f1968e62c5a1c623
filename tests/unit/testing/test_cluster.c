/* The cluster without HTTP: its revision, what it keeps, what it forgets, and that lack of memory breaks nothing. */
#include "src/base/memory.h"
#include "tests/support/rest_server.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include "testing/control/condition.h"
#include "testing/control/documents.h"

#include <stdio.h>

#define NOW 1780000000000

static void put(kt_cluster *cluster, const char *json, uint64_t expected) {
    uint64_t revision = 0;
    assert_int_equal(kt_cluster_put_json(cluster, KI_PODS, ki_str_of(json), NOW, &revision, NULL), KI_OK);
    assert_int_equal(revision, expected);
}

TEST(every_change_has_the_next_revision) {
    kt_cluster *cluster;
    ki_error err = KI_ERROR_INIT;
    kt_cluster_options options = { .first_revision = 100 };
    assert_int_equal(kt_cluster_new(NULL, &options, &cluster, &err), KI_OK);
    assert_int_equal(kt_cluster_revision(cluster), 104); /* the first namespaces */
    put(cluster, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\"},\"status\":{\"phase\":\"Running\"}}", 105);
    put(cluster, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\"},\"status\":{\"phase\":\"Failed\"}}", 106);
    put(cluster, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\"},\"status\":{\"phase\":\"Failed\"}}", 106);
    put(cluster, "{\"metadata\":{\"namespace\":\"new\",\"name\":\"a\"}}", 108); /* and its namespace before it */
    assert_int_equal(kt_cluster_delete(cluster, KI_PODS, "default", "a", NOW, &err), KI_OK);
    assert_int_equal(kt_cluster_revision(cluster), 109);
    assert_int_equal(kt_cluster_delete(cluster, KI_PODS, "default", "a", NOW, &err), KI_ERR_NOT_FOUND);
    assert_int_equal(kt_cluster_count(cluster, KI_PODS), 1);
    kt_cluster_free(cluster);
}

TEST(what_is_put_is_kept_with_what_the_server_adds) {
    kt_cluster *cluster;
    ki_str json;
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    put(cluster,
        "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\",\"managedFields\":[{\"manager\":\"x\"}]},"
        "\"status\":{\"phase\":\"Running\"}}",
        6);
    assert_int_equal(kt_cluster_get(cluster, KI_PODS, "default", "a", &json), KI_OK);
    const char *start =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"";
    const char *end = "\",\"resourceVersion\":\"6\",\"generation\":1,\"creationTimestamp\":\"2026-05-28T20:26:40Z\","
                      "\"managedFields\":[{\"manager\":\"x\"}]},\"status\":{\"phase\":\"Running\"}}";
    assert_memory_equal(json.data, start, strlen(start));
    assert_string_equal(json.data + json.size - strlen(end), end);
    assert_int_equal(kt_cluster_get(cluster, KI_PODS, "default", "b", &json), KI_ERR_NOT_FOUND);
    kt_cluster_free(cluster);
}

TEST(bad_objects_are_rejected_with_a_reason) {
    kt_cluster *cluster;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    static const struct {
        const char *json;
        ki_status status;
    } cases[] = {
        { "", KI_ERR_PARSE },
        { "{", KI_ERR_PARSE },
        { "[]", KI_ERR_INVALID },
        { "{\"metadata\":{\"name\":\"a\"}}", KI_ERR_INVALID },
        { "{\"metadata\":{\"namespace\":\"default\"}}", KI_ERR_INVALID },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(kt_cluster_put_json(cluster, KI_PODS, ki_str_of(cases[i].json), NOW, NULL, &err),
                         cases[i].status);
        assert_string_not_equal(err.message, "");
    }
    assert_int_equal(kt_cluster_revision(cluster), 5);
    kt_cluster_free(cluster);
}

TEST(objects_are_walked_in_the_order_of_their_keys) {
    static const char *const names[] = { "b/b", "a-b/x", "a/c", "a/a", "c/a", "a.b/q" };
    static const char expected[] = "a-b/x a.b/q a/a a/c b/b c/a ";
    kt_cluster *cluster;
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char json[128];
        int ns = (int)strcspn(names[i], "/");
        snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"%.*s\",\"name\":\"%s\"}}", ns, names[i],
                 names[i] + ns + 1);
        assert_int_equal(kt_cluster_put_json(cluster, KI_PODS, ki_str_of(json), NOW, NULL, NULL), KI_OK);
    }
    char walked[128] = "";
    size_t cursor = 0, used = 0;
    ki_str key, json;
    while (kt_cluster_next(cluster, KI_PODS, &cursor, &key, &json))
        used += (size_t)snprintf(walked + used, sizeof walked - used, "%.*s ", (int)key.size, key.data);
    assert_string_equal(walked, expected);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char ns[8];
        size_t size = strcspn(names[i], "/");
        memcpy(ns, names[i], size);
        ns[size] = '\0';
        assert_int_equal(kt_cluster_get(cluster, KI_PODS, ns, names[i] + size + 1, &json), KI_OK);
    }
    kt_cluster_free(cluster);
}

/* What a list at revision 10 says, after 20 changes from revision 6 on. */
static int list_after_changes(kt_cluster_options options, int64_t later_ms) {
    rest_server server;
    rest_server_start(&server, &options);
    for (int i = 0; i < 20; i++) {
        char json[128];
        snprintf(json, sizeof json, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\"},\"spec\":{\"i\":%d}}", i);
        assert_int_equal(kt_cluster_put_json(server.cluster, KI_PODS, ki_str_of(json), server.now_ms, NULL, NULL),
                         KI_OK);
    }
    server.now_ms += later_ms;
    int status = rest_get(&server, "/api/v1/pods?resourceVersion=10&resourceVersionMatch=Exact");
    rest_server_stop(&server);
    return status;
}

TEST(history_ends_by_count_bytes_and_age) {
    assert_int_equal(list_after_changes((kt_cluster_options){ 0 }, 0), 200);
    assert_int_equal(list_after_changes((kt_cluster_options){ .compact_after = 16 }, 0), 200);
    assert_int_equal(list_after_changes((kt_cluster_options){ .compact_after = 14 }, 0), 410);
    assert_int_equal(list_after_changes((kt_cluster_options){ .compact_bytes = 1000 }, 0), 410);
    assert_int_equal(list_after_changes((kt_cluster_options){ .compact_age_ms = 1000 }, 1000), 200);
    assert_int_equal(list_after_changes((kt_cluster_options){ .compact_age_ms = 1000 }, 1001), 410);
}

TEST(the_same_seed_gives_the_same_cluster) {
    ki_str first, second;
    kt_cluster *a, *b;
    kt_cluster_options options = { .seed = 7 };
    assert_int_equal(kt_cluster_new(NULL, &options, &a, NULL), KI_OK);
    assert_int_equal(kt_cluster_new(NULL, &options, &b, NULL), KI_OK);
    assert_int_equal(kt_cluster_get(a, KI_NAMESPACES, NULL, "default", &first), KI_OK);
    assert_int_equal(kt_cluster_get(b, KI_NAMESPACES, NULL, "default", &second), KI_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    kt_cluster_free(a);
    kt_cluster_free(b);
}

/* A little of everything; each step may fail for lack of memory, and then only that. */
static void use_everything(const ki_allocator *allocator) {
    static const struct {
        const char *method;
        const char *target;
        const char *accept;
        const char *type;
        const char *body;
    } steps[] = {
        { "POST", "/api/v1/namespaces/default/pods", NULL, NULL,
          "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}}}" },
        { "POST", "/api/v1/namespaces/default/pods", NULL, NULL,
          "{\"metadata\":{\"generateName\":\"b-\",\"finalizers\":[\"a/b\"]}}" },
        { "POST", "/api/v1/namespaces", NULL, NULL, "{\"metadata\":{\"name\":\"n\"}}" },
        { "POST", "/api/v1/namespaces/n/pods", NULL, NULL, "{\"metadata\":{\"name\":\"a\"}}" },
        { "PUT", "/api/v1/namespaces/default/pods/a", NULL, NULL,
          "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"x\":1}}" },
        { "PATCH", "/api/v1/namespaces/default/pods/a", NULL, "application/strategic-merge-patch+json",
          "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}" },
        { "PATCH", "/api/v1/namespaces/default/pods/a?fieldManager=m", NULL, "application/apply-patch+yaml",
          "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"y\":1}}" },
        { "GET", "/api/v1/pods?limit=1&labelSelector=!x", "application/json;as=Table;v=v1;g=meta.k8s.io", NULL, NULL },
        { "GET", "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact", NULL, NULL, NULL },
        { "GET", "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", NULL, NULL },
        { "POST", "/api/v1/namespaces/default/pods", NULL, NULL, "{\"metadata\":{\"name\":\"A\"}}" },
        { "DELETE", "/api/v1/namespaces/n", NULL, NULL, NULL },
        { "DELETE", "/api/v1/namespaces/default/pods", NULL, NULL, NULL },
    };
    kt_cluster *cluster;
    if (kt_cluster_new(allocator, NULL, &cluster, NULL))
        return;
    const kt_request watch = { .method = "GET", .target = "/api/v1/pods?watch=1&labelSelector=x" };
    kt_response watching, response;
    bool watches = kt_rest_handle(cluster, &watch, NOW, &watching) == KI_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const kt_request request = { .method = steps[i].method,
                                     .target = steps[i].target,
                                     .accept = steps[i].accept,
                                     .content_type = steps[i].type,
                                     .user_agent = "t",
                                     .body = ki_str_of(steps[i].body) };
        ki_status status = kt_rest_handle(cluster, &request, NOW, &response);
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        if (!status)
            kt_response_free(&response);
    }
    if (watches) {
        ki_buffer out;
        ki_buffer_init(&out, allocator, 0);
        kt_watch_state state;
        ki_status status = watching.watch ? kt_watch_read(watching.watch, NOW, &out, 1 << 20, NULL, &state) : KI_OK;
        assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
        ki_buffer_free(&out);
        kt_response_free(&watching);
    }
    kt_cluster_free(cluster);
}

TEST(lack_of_memory_at_any_point_fails_one_call_and_leaks_nothing) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        use_everything(&memory.allocator);
    }
}

/* ---- the start ---- */

static const char definition[] =
    "{\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
    "\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\",\"singular\":\"widget\"},\"versions\":[{\"name\":\"v1\","
    "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}";
static const ki_resource widgets = { "example.com", "v1", "widgets", "Widget", true };

/* Stores objects and keeps them as the start, then changes each in another way. False without memory. */
static bool leave_start(kt_cluster *cluster) {
    const ki_str same = KI_STR("{\"metadata\":{\"namespace\":\"default\",\"name\":\"same\"}}"),
                 changed = KI_STR("{\"metadata\":{\"namespace\":\"default\",\"name\":\"changed\"}}"),
                 changes = KI_STR("{\"metadata\":{\"namespace\":\"default\",\"name\":\"changed\","
                                  "\"labels\":{\"a\":\"b\"}}}"),
                 gone = KI_STR("{\"metadata\":{\"namespace\":\"other\",\"name\":\"gone\"}}"),
                 added = KI_STR("{\"metadata\":{\"namespace\":\"third\",\"name\":\"added\"}}");
    return !kt_cluster_put_json(cluster, KI_CUSTOMRESOURCEDEFINITIONS, ki_str_of(definition), NOW, NULL, NULL) &&
           !kt_cluster_put_json(cluster, &widgets, same, NOW, NULL, NULL) &&
           !kt_cluster_put_json(cluster, KI_PODS, same, NOW, NULL, NULL) &&
           !kt_cluster_put_json(cluster, KI_PODS, changed, NOW, NULL, NULL) &&
           !kt_cluster_put_json(cluster, KI_PODS, gone, NOW, NULL, NULL) && !kt_cluster_keep_start(cluster) &&
           !kt_cluster_put_json(cluster, KI_PODS, changes, NOW, NULL, NULL) &&
           !kt_cluster_put_json(cluster, KI_PODS, added, NOW, NULL, NULL) &&
           !kt_cluster_delete(cluster, KI_PODS, "other", "gone", NOW, NULL) &&
           !kt_cluster_delete(cluster, KI_CUSTOMRESOURCEDEFINITIONS, NULL, "widgets.example.com", NOW, NULL);
}

TEST(a_return_to_the_start_that_lacked_memory_succeeds_the_next_time) {
    scarce_memory memory = SCARCE_MEMORY_LATER;
    while (scarce_memory_next(&memory)) {
        kt_cluster *cluster;
        ki_str json;
        assert_int_equal(kt_cluster_new(&memory.allocator, NULL, &cluster, NULL), KI_OK);
        assert_true(leave_start(cluster));
        assert_int_equal(kt_cluster_count(cluster, &widgets), 0);
        uint64_t before = kt_cluster_revision(cluster);
        scarce_memory_begin(&memory);
        if (kt_cluster_return_to_start(cluster, NOW))
            assert_int_equal(kt_cluster_return_to_start(cluster, NOW), KI_OK);
        assert_true(kt_cluster_revision(cluster) > before);
        assert_int_equal(kt_cluster_count(cluster, &widgets), 1);
        assert_int_equal(kt_cluster_count(cluster, KI_PODS), 3);
        assert_int_equal(kt_cluster_get(cluster, KI_PODS, "default", "changed", &json), KI_OK);
        assert_null(strstr(json.data, "labels"));
        assert_int_equal(kt_cluster_get(cluster, KI_PODS, "other", "gone", &json), KI_OK);
        assert_int_equal(kt_cluster_get(cluster, KI_NAMESPACES, NULL, "third", &json), KI_ERR_NOT_FOUND);
        before = kt_cluster_revision(cluster);
        assert_int_equal(kt_cluster_return_to_start(cluster, NOW), KI_OK);
        assert_int_equal(kt_cluster_revision(cluster), before);
        kt_cluster_free(cluster);
    }
}

/* ---- control ---- */

TEST(a_load_of_many_documents_copies_each_once) {
    enum {
        DOCUMENTS = 5000
    };
    static const char document[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}} ";
    static char text[DOCUMENTS * (sizeof document - 1)];
    scarce_memory memory;
    kt_cluster *cluster;
    size_t count = 0;
    ki_error err = KI_ERROR_INIT;
    scarce_memory_init(&memory, SIZE_MAX);
    for (size_t i = 0; i < DOCUMENTS; i++)
        memcpy(text + i * (sizeof document - 1), document, sizeof document - 1);
    assert_int_equal(kt_cluster_new(&memory.allocator, NULL, &cluster, NULL), KI_OK);
    assert_int_equal(kt_load_documents(cluster, ki_str_of(document), NOW, &count, &err), KI_OK);
    scarce_memory_begin_peak(&memory);
    assert_int_equal(kt_load_documents(cluster, (ki_str){ text, sizeof text }, NOW, &count, &err), KI_OK);
    assert_int_equal(count, DOCUMENTS);
    assert_true(scarce_memory_peak(&memory) < sizeof text / 4);
    text[sizeof document - 2] = '\0';
    assert_int_equal(kt_load_documents(cluster, (ki_str){ text, sizeof text }, NOW, &count, &err), KI_ERR_PARSE);
    kt_cluster_free(cluster);
}

/* The object would have 20 MB. */
TEST(what_the_aliases_of_a_document_add_is_limited) {
    enum {
        TEXT = 200 * 1000,
        ALIASES = 100
    };
    static char document[TEXT + 16 * ALIASES + 256];
    kt_cluster *cluster;
    ki_error err = KI_ERROR_INIT;
    size_t count = 1;
    char *at = stpcpy(document, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: &a ");
    memset(at, 'x', TEXT);
    at += TEXT;
    for (int i = 0; i < ALIASES; i++)
        at += sprintf(at, "\n  b%d: *a", i);
    assert_int_equal(kt_cluster_new(&ki_allocator_default, NULL, &cluster, NULL), KI_OK);
    assert_int_equal(kt_load_documents(cluster, ki_str_of(document), NOW, &count, &err), KI_ERR_LIMIT);
    assert_int_equal(count, 0);
    assert_non_null(strstr(ki_error_message(&err), "document 1: line 5: larger than 4"));
    kt_cluster_free(cluster);
}

TEST(a_wait_for_objects_looks_again_only_after_a_change) {
    kt_cluster *cluster;
    kt_condition condition;
    ki_status status;
    uint64_t count;
    const kt_wanted_objects wanted = { .resource = KI_PODS, .labels = "app=a", .count = 1 };
    assert_int_equal(kt_cluster_new(NULL, NULL, &cluster, NULL), KI_OK);
    assert_int_equal(kt_condition_objects(cluster, &wanted, &condition, NULL), KI_OK);
    assert_false(kt_condition_is_as_seen(&condition));
    assert_false(kt_condition_is_over(&condition, &count, &status, NULL));
    assert_true(kt_condition_is_as_seen(&condition));
    put(cluster, "{\"metadata\":{\"namespace\":\"default\",\"name\":\"a\",\"labels\":{\"app\":\"a\"}}}", 6);
    assert_false(kt_condition_is_as_seen(&condition));
    assert_true(kt_condition_is_over(&condition, &count, &status, NULL));
    kt_condition_free(&condition);

    kt_condition watches;
    assert_int_equal(kt_condition_watches(cluster, NULL, 1, &watches, NULL), KI_OK);
    assert_false(kt_condition_is_over(&watches, &count, &status, NULL));
    assert_false(kt_condition_is_as_seen(&watches)); /* no object changes when one begins */
    kt_condition_free(&watches);
    kt_cluster_free(cluster);
}
