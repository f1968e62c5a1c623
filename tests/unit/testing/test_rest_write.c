/* create, update, patch, apply, delete: what the server adds, and what it refuses. */
#include "src/base/memory.h"
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"
#define JSON_PATCH "application/json-patch+json"
#define APPLY "application/apply-patch+yaml"

/* What the server adds to a container. */
#define FILLED \
    "\"resources\":{},\"terminationMessagePath\":\"/dev/termination-log\",\"terminationMessagePolicy\":\"File\""
#define PULLED FILLED ",\"imagePullPolicy\":\"Always\""

static int start(void **state) {
    rest_set_up(state);
    assert_int_equal(rest_post(&server, MAPS, "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"}}"), 201);
    assert_int_equal(
        rest_post(&server, DEPLOYMENTS,
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"d\":\"e\"}}"
                  ",\"template\":{\"metadata\":{\"labels\":{\"d\":\"e\"}},\"spec\":{\"containers\":"
                  "[{\"name\":\"c\",\"image\":\"i\"},{\"name\":\"s\",\"image\":\"j\"}]}}}}"),
        201);
    return 0;
}

#define REST_WRITE_TEST(name) REST_TEST_WITH(start, name)

REST_WRITE_TEST(bad_requests_get_the_words_of_a_real_server) {
    static const rest_row cases[] = {
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"m\"}}", 409, "configmaps \\\"m\\\" already exists" },
        { "POST", MAPS, JSON, "{\"metadata\":{}}", 422,
          "ConfigMap \\\"\\\" is invalid: metadata.name: Required value: name or generateName is required" },
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"A_b\"}}", 422,
          "a lowercase RFC 1123 subdomain must consist of" },
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"A_b\"}}", 422, "\"reason\":\"FieldValueInvalid\"" },
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":\"b c\"}}}", 422,
          "metadata.labels: Invalid value" },
        { "POST", "/api/v1/namespaces", JSON, "{\"metadata\":{\"name\":\"a.b\"}}", 422, "must not contain dots" },
        { "POST", "/api/v1/namespaces/default/services", JSON, "{\"metadata\":{\"name\":\"a.b\"}}", 422,
          "must not contain dots" },
        { "POST", "/api/v1/namespaces/no/configmaps", JSON, "{\"metadata\":{\"name\":\"x\"}}", 404,
          "namespaces \\\"no\\\" not found" },
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"x\",\"namespace\":\"other\"}}", 400,
          "the namespace of the provided object does not match the namespace sent on the request" },
        { "POST", MAPS, JSON, "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}", 400,
          "Secret in version \\\"v1\\\" cannot be handled as a ConfigMap" },
        { "POST", MAPS, JSON, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"x\"}}", 400,
          "the API version in the data (v2) does not match the expected API version (v1)" },
        { "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\"}}", 500,
          "resourceVersion should not be set on objects to be created" },
        { "POST", MAPS, JSON, "{\"metadata\":", 400,
          "the object provided is unrecognized (must be of type ConfigMap)" },
        { "POST", MAPS, JSON, "", 400, "unexpected end of JSON input" },
        { "POST", MAPS, JSON, "[]", 400, "the object provided is unrecognized" },
        { "POST", MAPS, "text/html", "{}", 415, "the body of the request was in an unknown format" },
        { "POST", MAPS "?dryRun=Some", JSON, "{\"metadata\":{\"name\":\"x\"}}", 422,
          "Unsupported value: [\\\"Some\\\"]" },
        { "POST", "/api/v1/pods", JSON, "{}", 405, "the server does not allow this method on the requested resource" },
        { "PUT", MAPS, JSON, "{}", 405, "\"reason\":\"MethodNotAllowed\"" },
        { "PUT", MAPS "/m", JSON, "{\"metadata\":{\"name\":\"m\",\"resourceVersion\":\"1\"}}", 409,
          "Operation cannot be fulfilled on configmaps \\\"m\\\": the object has been modified; please apply your "
          "changes to "
          "the latest version and try again" },
        { "PUT", MAPS "/m", JSON, "{\"metadata\":{\"name\":\"m\",\"uid\":\"u\"}}", 409,
          "Precondition failed: UID in precondition: u" },
        { "PUT", MAPS "/m", JSON, "{\"metadata\":{\"name\":\"n\"}}", 400,
          "the name of the object (n) does not match the name on the URL (m)" },
        { "PUT", MAPS "/m", JSON, "{}", 400,
          "the name of the object (m based on URL) was undeterminable: name must be provided" },
        { "PUT", "/api/v1/namespaces/default", JSON, "{}", 400,
          "the name of the object (default based on URL) was undeterminable: name must be provided" },
        { "PUT", MAPS "/x", JSON, "{\"metadata\":{\"name\":\"x\"}}", 404, "configmaps \\\"x\\\" not found" },
        { "PUT", MAPS "/x", JSON, "{\"metadata\":{\"name\":\"y\"}}", 400,
          "the name of the object (y) does not match the name on the URL (x)" },
        { "PUT", MAPS "/x?fieldValidation=Strict", JSON, "{\"metadata\":{\"name\":\"x\"},\"dta\":{}}", 400,
          "strict decoding error: unknown field \\\"dta\\\"" },
        { "PUT", MAPS "/m?fieldValidation=Strict", JSON,
          "{\"metadata\":{\"name\":\"n\",\"namespace\":\"o\"},\"dta\":{}}", 400,
          "strict decoding error: unknown field \\\"dta\\\"" },
        { "PUT", MAPS "/m", JSON, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"default\",\"namespace\":\"other\"}}",
          400, "the namespace of the provided object does not match the namespace sent on the request" },
        { "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"name\":\"n\",\"namespace\":\"other\"}}", 400,
          "the namespace of the provided object does not match the namespace sent on the request" },
        { "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"name\":\"n\"}}", 400,
          "the name of the object (n) does not match the name on the URL (m)" },
        { "PATCH", MAPS "/x", MERGE, "{}", 404, "configmaps \\\"x\\\" not found" },
        { "PATCH", MAPS "/m", JSON, "{}", 415, "application/merge-patch+json" },
        { "PATCH", MAPS "/m", MERGE, "[]", 400, "error decoding patch" },
        { "PATCH", MAPS "/m", MERGE, "{", 400, "\"message\":\"invalid JSON patch\"" },
        { "PATCH", MAPS "/m", JSON_PATCH, "[", 400, "\"message\":\"invalid JSON patch\"" },
        { "PATCH", MAPS "/m?fieldManager=m", APPLY, "a: [", 400, "\"message\":\"error encoding patch: " },
        { "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"resourceVersion\":\"1\"}}", 409,
          "the object has been modified" },
        { "PATCH", MAPS "/m", JSON_PATCH, "[{\"op\":\"test\",\"path\":\"/data/a\",\"value\":\"2\"}]", 422,
          "the server rejected our request due to an error in our request" },
        { "PATCH", MAPS "/m", APPLY, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}", 422,
          "PatchOptions.meta.k8s.io \\\"\\\" is invalid: fieldManager: Required value: is required for apply patch" },
        { "DELETE", MAPS "/x", NULL, NULL, 404, "configmaps \\\"x\\\" not found" },
        { "DELETE", MAPS "/m", JSON, "{\"preconditions\":{\"uid\":\"u\"}}", 409,
          "the UID in the precondition (u) does not match the UID in record" },
        { "DELETE", MAPS "/m", JSON, "{\"preconditions\":{\"resourceVersion\":\"1\"}}", 409,
          "the ResourceVersion in the precondition (1) does not match" },
    };
    uint64_t before = kt_cluster_revision(server.cluster);
    rest_check(cases, sizeof cases / sizeof *cases, NULL);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
}

REST_WRITE_TEST(a_namespace_in_an_object_of_the_cluster_is_ignored) {
    assert_int_equal(rest_post(&server, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\",\"namespace\":\"other\"}}"),
                     201);
    assert_false(rest_has(&server, "\"namespace\""));
    assert_int_equal(rest_send(&server, "PUT", "/api/v1/nodes/n", JSON,
                               "{\"metadata\":{\"name\":\"n\",\"namespace\":\"other\",\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_false(rest_has(&server, "\"namespace\""));
}

REST_WRITE_TEST(an_unknown_method_gets_the_list_of_methods) {
    assert_int_equal(rest_send(&server, "PUT", MAPS, JSON, "{}"), 405);
    assert_string_equal(server.response.allow, "DELETE, GET, POST");
    assert_int_equal(rest_send(&server, "POST", "/api/v1/pods", JSON, "{}"), 405);
    assert_string_equal(server.response.allow, "GET");
}

REST_WRITE_TEST(deep_json_is_rejected_before_it_is_walked) {
    static char body[100000];
    memset(body, '[', sizeof body - 1);
    assert_int_equal(rest_post(&server, MAPS, body), 400);
    assert_true(rest_has(&server, "exceeded max depth"));
}

REST_WRITE_TEST(a_manager_that_is_no_text_spoils_no_object) {
    assert_int_equal(
        rest_post(&server, PODS "?fieldManager=m%D2%99%90",
                  "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    assert_true(rest_has(&server, "\"manager\":\"m\xD2\x99\xEF\xBF\xBD\""));
    assert_int_equal(rest_send(&server, "PATCH", PODS "/p", "application/merge-patch+json",
                               "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
                     200);
    assert_int_equal(rest_send(&server, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL, NULL), 200);
}

REST_WRITE_TEST(a_new_object_gets_what_the_server_adds) {
    assert_int_equal(rest_post(&server, PODS,
                               "{\"metadata\":{\"generateName\":\"web-\",\"uid\":\"mine\"},\"spec\":{\"containers\":[{"
                               "\"name\":\"c\",\"image\":\"i\"}]},"
                               "\"status\":{\"phase\":\"Running\"}}"),
                     201);
    assert_true(rest_has(&server, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-"));
    assert_true(rest_has(&server, "\"generateName\":\"web-\",\"namespace\":\"default\",\"uid\":\""));
    assert_null(strstr(server.text.data, "mine"));
    assert_true(
        rest_has(&server, "\"resourceVersion\":\"8\",\"generation\":1,\"creationTimestamp\":\"2026-05-28T20:26:40Z\""));
    assert_true(
        rest_has(&server, "\"managedFields\":[{\"manager\":\"tests\",\"operation\":\"Update\",\"apiVersion\":\"v1\""));
    assert_true(rest_has(&server, "\"phase\":\"Pending\""));
}

REST_WRITE_TEST(a_dry_run_changes_nothing) {
    uint64_t before = kt_cluster_revision(server.cluster);
    assert_int_equal(rest_post(&server, MAPS "?dryRun=All", "{\"metadata\":{\"name\":\"x\"}}"), 201);
    assert_int_equal(rest_send(&server, "PATCH", MAPS "/m?dryRun=All", MERGE, "{\"data\":{\"a\":\"2\"}}"), 200);
    assert_true(rest_has(&server, "\"a\":\"2\""));
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/m?dryRun=All", NULL, NULL), 200);
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/kube-node-lease?dryRun=All", NULL, NULL), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
    assert_int_equal(rest_get(&server, MAPS "/x"), 404);
    assert_int_equal(rest_get(&server, MAPS "/m"), 200);
    assert_true(rest_has(&server, "\"a\":\"1\""));
}

REST_WRITE_TEST(an_update_that_changes_nothing_makes_no_revision) {
    uint64_t before = kt_cluster_revision(server.cluster);
    assert_int_equal(
        rest_send(&server, "PUT", MAPS "/m", JSON, "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"1\"}}"), 200);
    assert_int_equal(rest_send(&server, "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"labels\":{}}}"), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
}

/* A ConfigMap with many members, the last first where `reversed`. The caller frees it. */
static void make_wide(ki_buffer *out, bool reversed) {
    const size_t count = 60 * 1000;
    ki_buffer_init(out, &ki_allocator_default, 0);
    ki_buffer_append_string(out, "{\"metadata\":{\"name\":\"wide\"},\"data\":{");
    for (size_t i = 0; i < count; i++)
        ki_buffer_printf(out, "%s\"k%06zu\":\"1\"", i ? "," : "", reversed ? count - 1 - i : i);
    ki_buffer_append_string(out, "}}");
    assert_int_equal(out->failed, KI_OK);
}

REST_WRITE_TEST(members_in_another_order_are_no_change_however_many) {
    ki_buffer wide, reversed;
    make_wide(&wide, false);
    make_wide(&reversed, true);
    assert_int_equal(rest_post(&server, MAPS, wide.data), 201);
    uint64_t revision = kt_cluster_revision(server.cluster);
    assert_int_equal(rest_send(&server, "PUT", MAPS "/wide", JSON, reversed.data), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), revision);
    ki_buffer_free(&wide);
    ki_buffer_free(&reversed);
}

REST_WRITE_TEST(only_the_spec_moves_the_generation_and_only_its_subresource_the_status) {
    rest_send(&server, "PATCH", DEPLOYMENTS "/d", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    assert_true(rest_has(&server, "\"generation\":1"));
    rest_send(&server, "PATCH", DEPLOYMENTS "/d", MERGE, "{\"spec\":{\"replicas\":3},\"status\":{\"replicas\":9}}");
    assert_true(rest_has(&server, "\"generation\":2"));
    assert_null(strstr(server.text.data, "\"replicas\":9"));
    rest_send(&server, "PATCH", DEPLOYMENTS "/d/status", MERGE,
              "{\"spec\":{\"replicas\":4},\"status\":{\"replicas\":3}}");
    assert_true(rest_has(&server, "\"generation\":2"));
    assert_true(rest_has(&server, "\"status\":{\"replicas\":3}"));
    assert_null(strstr(server.text.data, "\"replicas\":4"));
    assert_true(rest_has(&server, "\"subresource\":\"status\""));
    assert_int_equal(rest_get(&server, DEPLOYMENTS "/d/status"), 200);
    assert_int_equal(rest_get(&server, MAPS "/m/status"), 404);
}

REST_WRITE_TEST(patches_of_each_kind_lead_where_they_say) {
    static const struct {
        const char *target;
        const char *type;
        const char *patch;
        const char *part;
    } cases[] = {
        { MAPS "/m", MERGE, "{\"data\":{\"a\":null,\"b\":\"2\"}}", "\"data\":{\"b\":\"2\"}" },
        { MAPS "/m", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/data/b\",\"value\":\"3\"}]",
          "\"data\":{\"b\":\"3\"}" },
        { MAPS "/m", STRATEGIC, "{\"metadata\":{\"finalizers\":[\"x/y\"],\"labels\":{\"l\":\"v\"}}}",
          "\"finalizers\":[\"x/y\"]" },
        { MAPS "/m", STRATEGIC, "{\"metadata\":{\"finalizers\":[\"x/z\"]}}", "\"finalizers\":[\"x/z\",\"x/y\"]" },
        { MAPS "/m", STRATEGIC, "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"x/y\"]}}",
          "\"finalizers\":[\"x/z\"]" },
        { DEPLOYMENTS "/d", STRATEGIC,
          "{\"spec\":{\"template\":{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"c\"},{\"name\":\"s\"}],"
          "\"containers\":[{\"name\":\"s\",\"image\":\"k\"},{\"name\":\"t\",\"image\":\"l\"}]}}}}",
          "\"containers\":[{\"name\":\"c\",\"image\":\"i\"," PULLED "},{\"name\":\"s\",\"image\":\"k\"," PULLED
          "},{\"name\":\"t\",\"image\":\"l\"," PULLED "}]" },
        { DEPLOYMENTS "/d", STRATEGIC,
          "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"$patch\":\"delete\"}]}}}}",
          "\"containers\":[{\"name\":\"s\",\"image\":\"k\"," PULLED "},{\"name\":\"t\",\"image\":\"l\"," PULLED "}]" },
        { DEPLOYMENTS "/d", STRATEGIC,
          "{\"spec\":{\"template\":{\"$patch\":\"replace\",\"metadata\":{\"labels\":{\"d\":\"e\",\"x\":\"1\"}},"
          "\"spec\":{\"containers\":[{\"name\":\"z\",\"image\":\"i\"}]}}}}",
          "\"template\":{\"metadata\":{\"labels\":{\"d\":\"e\",\"x\":\"1\"}},\"spec\":{\"containers\":[{\"name\":"
          "\"z\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rest_send(&server, "PATCH", cases[i].target, cases[i].type, cases[i].patch), 200);
        assert_true(rest_has(&server, cases[i].part));
    }
}

REST_WRITE_TEST(an_apply_creates_merges_and_takes_back_what_it_no_longer_says) {
    const char *target = MAPS "/s?fieldManager=me";
    assert_int_equal(
        rest_send(&server, "PATCH", target, APPLY,
                  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"1\","
                  "\"b\":\"2\"}}"),
        201);
    assert_true(rest_has(&server, "\"operation\":\"Apply\""));
    rest_send(&server, "PATCH", MAPS "/s", MERGE, "{\"data\":{\"other\":\"9\"}}");
    assert_int_equal(
        rest_send(
            &server, "PATCH", target, APPLY,
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"3\"}}"),
        200);
    assert_true(rest_has(&server, "\"data\":{\"a\":\"3\",\"other\":\"9\"}"));
    uint64_t before = kt_cluster_revision(server.cluster);
    assert_int_equal(
        rest_send(
            &server, "PATCH", target, APPLY,
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"s\"},\"data\":{\"a\":\"3\"}}"),
        200);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
}

REST_WRITE_TEST(finalizers_keep_a_deleted_object_until_they_are_gone) {
    rest_send(&server, "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"finalizers\":[\"a/b\"]}}");
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/m", NULL, NULL), 200);
    assert_true(rest_has(&server, "\"deletionTimestamp\":\"2026-05-28T20:26:40Z\",\"deletionGracePeriodSeconds\":0"));
    uint64_t before = kt_cluster_revision(server.cluster);
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/m", NULL, NULL), 200);
    assert_int_equal(kt_cluster_revision(server.cluster), before);
    assert_int_equal(rest_get(&server, MAPS "/m"), 200);
    assert_int_equal(rest_send(&server, "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(rest_get(&server, MAPS "/m"), 404);
}

REST_WRITE_TEST(what_is_gone_at_once_is_reported_with_a_status) {
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/m", JSON, "{\"propagationPolicy\":\"Background\"}"), 200);
    assert_true(
        rest_has(&server, "\"status\":\"Success\",\"details\":{\"name\":\"m\",\"kind\":\"configmaps\",\"uid\":\""));
    rest_post(&server, PODS,
              "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    assert_int_equal(rest_send(&server, "DELETE", PODS "/p", NULL, NULL), 200);
    assert_true(rest_has(&server, "\"kind\":\"Pod\""));
}

REST_WRITE_TEST(a_namespace_takes_all_that_is_in_it_along) {
    assert_int_equal(rest_post(&server, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_true(rest_has(&server, "\"labels\":{\"kubernetes.io/metadata.name\":\"n\"}"));
    assert_true(rest_has(&server, "\"phase\":\"Active\""));
    rest_post(&server, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"a\"}}");
    rest_post(&server, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"b\",\"finalizers\":[\"x/y\"]}}");
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/n", NULL, NULL), 200);
    assert_true(rest_has(&server, "\"phase\":\"Terminating\""));
    assert_int_equal(rest_get(&server, "/api/v1/namespaces/n/configmaps/a"), 404);
    assert_int_equal(rest_get(&server, "/api/v1/namespaces/n"), 200);
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/n/configmaps", "{\"metadata\":{\"name\":\"c\"}}"), 403);
    assert_true(rest_has(&server, "unable to create new content in namespace n because it is being terminated"));
    rest_send(&server, "PATCH", "/api/v1/namespaces/n/configmaps/b", MERGE, "{\"metadata\":{\"finalizers\":null}}");
    assert_int_equal(rest_get(&server, "/api/v1/namespaces/n"), 404);
    assert_int_equal(rest_get(&server, MAPS "/m"), 200);
}

REST_WRITE_TEST(a_collection_is_deleted_by_its_selector) {
    rest_post(&server, MAPS, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"k\":\"v\"}}}");
    assert_int_equal(rest_send(&server, "DELETE", MAPS "?labelSelector=k%3Dv", NULL, NULL), 200);
    assert_true(rest_has(&server, "\"kind\":\"ConfigMapList\""));
    assert_int_equal(kt_cluster_count(server.cluster, KI_CONFIGMAPS), 1);
    assert_int_equal(rest_send(&server, "DELETE", MAPS, NULL, NULL), 200);
    assert_int_equal(kt_cluster_count(server.cluster, KI_CONFIGMAPS), 0);
}

/* Each copy of a whole into itself doubles it: 60 operations would ask for more than there is in the world. */
REST_WRITE_TEST(copies_of_copies_in_a_patch_are_rejected) {
    char patch[8192] = "[";
    size_t size = 1;
    for (int i = 0; i < 60; i++)
        size +=
            (size_t)snprintf(patch + size, sizeof patch - size,
                             "%s{\"op\":\"copy\",\"from\":\"/metadata\",\"path\":\"/metadata/x%d\"}", i ? "," : "", i);
    patch[size++] = ']';
    patch[size] = '\0';
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps",
                               "{\"metadata\":{\"name\":\"copied\"},\"data\":{\"a\":\"b\"}}"),
                     201);
    assert_int_equal(rest_send(&server, "PATCH", "/api/v1/namespaces/default/configmaps/copied", JSON_PATCH, patch),
                     413);
}

REST_WRITE_TEST(a_patch_that_retains_more_names_than_an_object_has_is_rejected) {
    static char patch[64 * 1024];
    size_t size = (size_t)snprintf(patch, sizeof patch, "{\"data\":{\"$retainKeys\":[\"a\"");
    for (int i = 0; i < 2000; i++)
        size += (size_t)snprintf(patch + size, sizeof patch - size, ",\"name-%d\"", i);
    snprintf(patch + size, sizeof patch - size, "]}}");
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps",
                               "{\"metadata\":{\"name\":\"retained\"},\"data\":{\"a\":\"b\"}}"),
                     201);
    assert_int_equal(rest_send(&server, "PATCH", "/api/v1/namespaces/default/configmaps/retained",
                               "application/strategic-merge-patch+json", patch),
                     400);
}
