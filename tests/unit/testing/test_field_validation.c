/* What a built-in type does not have is told, dropped or refused as the request wants it; what it cannot hold is
 * refused. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>

#include <yyjson.h>

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define APPLY "application/apply-patch+yaml"
#define NOTED \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nope\":1,\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"image\":" \
    "\"j\",\"no\":{}}]}}"
#define NOTES \
    "unknown field \"spec.nope\"\nduplicate field \"spec.containers[0].image\"\nunknown field " \
    "\"spec.containers[0].no\""

REST_TEST(unknown_fields_are_dropped_and_reported) {
    assert_int_equal(rest_post(&server, PODS, NOTED), 201);
    assert_string_equal(server.response.warnings.data, NOTES);
    assert_null(strstr(server.text.data, "nope"));
    assert_true(rest_has(&server, "\"image\":\"j\""));
    assert_int_equal(
        rest_post(
            &server, PODS "?fieldValidation=Ignore&dryRun=All",
            "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"nope\":1,\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    assert_int_equal(server.response.warnings.size, 0);
    assert_null(strstr(server.text.data, "nope"));
}

REST_TEST(strict_requests_are_rejected_with_all_unknown_fields) {
    assert_int_equal(rest_post(&server, PODS "?fieldValidation=Strict", NOTED), 400);
    assert_true(rest_has(
        &server,
        "Pod in version \\\"v1\\\" cannot be handled as a Pod: strict decoding error: unknown field \\\"spec.nope\\\", "
        "duplicate field \\\"spec.containers[0].image\\\", unknown field \\\"spec.containers[0].no\\\""));
    assert_int_equal(
        rest_post(
            &server, DEPLOYMENTS,
            "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
            "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}"),
        201);
    assert_int_equal(rest_send(&server, "POST", CONFIGMAPS "?fieldValidation=Strict", "application/yaml",
                               "{metadata: {name: a}, data: {a: b}, data: {c: d}}"),
                     400);
    assert_true(rest_has(&server, "strict decoding error: duplicate field \\\"data\\\""));
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENTS "/d?fieldValidation=Strict",
                               "application/strategic-merge-patch+json", "{\"spec\":{\"nope\":1,\"a\":[true,null]}}"),
                     422);
    assert_true(rest_has(&server, "\" \\\"\\\" is invalid: patch: Invalid value: \\\"map[spec:map[a:[true <nil>] "
                                  "nope:1]]\\\": strict decoding error: unknown field"));
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENTS "/d", "application/strategic-merge-patch+json",
                               "{\"spec\":{\"replicas\":\"x\"}}"),
                     422);
    assert_true(rest_has(&server, "unrecognized type: int32"));
    assert_int_equal(rest_send(&server, "PATCH", DEPLOYMENTS "/d", "application/merge-patch+json",
                               "{\"spec\":{\"replicas\":\"x\"}}"),
                     422);
    assert_true(rest_has(
        &server, "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"));
    assert_int_equal(rest_post(&server, PODS "?fieldValidation=Maybe", "{\"metadata\":{\"name\":\"x\"}}"), 422);
    assert_true(rest_has(
        &server,
        "Unsupported value: \\\"Maybe\\\": supported values: \\\"\\\", \\\"Ignore\\\", \\\"Strict\\\", \\\"Warn\\\""));
}

/* The texts are those of sigs.k8s.io/yaml 1.6, with which a kube-apiserver 1.37 reads the body once more. */
REST_TEST(equal_keys_of_an_apply_are_reported_with_their_lines) {
    static const struct {
        const char *body, *notes, *strict;
    } rows[] = {
        { "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  labels: &l\n    a: b\n    a: c\n  annotations: "
          "*l\ndata: {x: w,\n  x:\n  z}\nkind: ConfigMap\n",
          "line 7: key \"a\" already set in map\nline 7: key \"a\" already set in map\n"
          "line 11: key \"x\" already set in map\nline 12: key \"kind\" already set in map\n",
          "\"message\":\"error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\\n  line "
          "7: "
          "key \\\"a\\\" already set in map\\n  line 7: key \\\"a\\\" already set in map\\n  line 11: key "
          "\\\"x\\\" already set in map\\n  line 12: key \\\"kind\\\" already set in map\",\"reason\":\"BadRequest\"" },
        { "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"ownerReferences\":[{"
          "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"a\",\"name\":\"b\",\"uid\":\"1\"}]},\n"
          "\"data\":{\"d\":\"0\"},\n\"data\":{\"e\":\"1\",\"e\":\"2\"}}",
          "line 1: key \"name\" already set in map\nline 3: key \"e\" already set in map\nline 3: key \"data\" already "
          "set in map\n",
          "errors:\\n  line 1: key \\\"name\\\" already set in map\\n  line 3: key \\\"e\\\" already" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            rest_send(&server, "PATCH", MAPS "/m?fieldManager=me&fieldValidation=Strict", APPLY, rows[i].body), 400);
        assert_true(rest_has(&server, rows[i].strict));
        assert_int_equal(rest_send(&server, "PATCH", MAPS "/m?fieldManager=me", APPLY, rows[i].body), 201);
        assert_string_equal(server.response.warnings.data, rows[i].notes);
        assert_int_equal(rest_send(&server, "PATCH", MAPS "/m?fieldManager=me", APPLY, rows[i].body), 200);
        assert_string_equal(server.response.warnings.data, rows[i].notes);
        assert_int_equal(
            rest_send(&server, "PATCH", MAPS "/m?fieldManager=me&fieldValidation=Ignore", APPLY, rows[i].body), 200);
        assert_int_equal(server.response.warnings.size, 0);
        assert_int_equal(rest_send(&server, "DELETE", MAPS "/m", "", ""), 200);
    }
}

REST_TEST(what_a_field_cannot_hold_is_rejected) {
    static const struct {
        const char *target;
        const char *body;
        const char *part;
    } cases[] = {
        { DEPLOYMENTS, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":\"x\"}}",
          "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32" },
        { DEPLOYMENTS, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3000000000}}",
          "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32" },
        { DEPLOYMENTS, "{\"metadata\":{\"name\":\"d\"},\"spec\":[]}",
          "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec" },
        { DEPLOYMENTS, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"template\":{\"spec\":{\"containers\":{}}}}}",
          "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type "
          "[]v1.Container" },
        { MAPS, "{\"metadata\":{\"name\":\"m\",\"labels\":{\"a\":1}}}",
          "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string" },
        { MAPS, "{\"metadata\":{\"name\":\"m\"},\"binaryData\":{\"a\":\"$\"}}", "illegal base64 data at input byte 0" },
        { MAPS, "{\"metadata\":{\"name\":\"m\"},\"binaryData\":{\"a\":\"AAA\"}}",
          "illegal base64 data at input byte 3" },
        { MAPS, "{\"metadata\":{\"name\":\"m\"},\"immutable\":\"yes\"}",
          "json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool" },
        { PODS,
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"cpu\":"
          "\"x\"}}}]}}",
          "quantities must match the regular expression" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rest_post(&server, cases[i].target, cases[i].body), 400);
        assert_true(rest_has(&server, cases[i].part));
    }
}

REST_TEST(the_schemas_of_a_group_version_are_complete) {
    static const char *const targets[] = { "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1",
                                           "/openapi/v3/apis/apiextensions.k8s.io/v1" };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_int_equal(rest_get(&server, targets[i]), 200);
        yyjson_doc *doc = yyjson_read(server.text.data, server.text.size, 0);
        assert_non_null(doc);
        yyjson_val *schemas = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "components"), "schemas");
        static const char mark[] = "#/components/schemas/";
        for (const char *at = server.text.data; (at = strstr(at, mark)) != NULL;) {
            at += sizeof mark - 1;
            assert_non_null(yyjson_obj_getn(schemas, at, strcspn(at, "\"")));
        }
        yyjson_doc_free(doc);
    }
}
