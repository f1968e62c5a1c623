/* test_crd.c: custom resources of the test server: they come and go with their definitions, and have a schema. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "testing/crd/custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "application/json"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define FOOS "/apis/example.com/v1/namespaces/default/foos"
#define CRD_HEAD \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"foos." \
    "example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"foos\"," \
    "\"singular\":\"foo\",\"kind\":\"Foo\",\"shortNames\":[\"f\",\"fo\",\"fooo\"],\"categories\":[\"all\",\"mine\"]}," \
    "\"versions\":["
#define VERSION(name, storage, more) \
    "{\"name\":\"" name "\",\"served\":true,\"storage\":" storage \
    ",\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":" \
    "{" \
    "\"type\":\"object\",\"required\":[\"size\"],\"properties\":{\"size\":{\"type\":\"integer\",\"minimum\":1," \
    "\"maximum\":9},\"colour\":{\"type\":\"string\",\"enum\":[\"red\",\"blue\"],\"default\":\"red\"},\"host\":{" \
    "\"type\":\"string\",\"pattern\":\"^[a-z]\\\\d+$\",\"maxLength\":5},\"port\":{\"x-kubernetes-int-or-string\":" \
    "true},\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},\"map\":{\"type\":\"object\"," \
    "\"additionalProperties\":{\"type\":\"string\"}},\"list\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":" \
    "\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"}}}},\"none\":{\"type\":\"string\",\"nullable\":true}}}," \
    "\"status\":{\"type\":\"object\",\"properties\":{\"phase\":{\"type\":\"string\"}}}}}}" more "}"
#define CRD \
    CRD_HEAD VERSION( \
        "v1", "true", \
        ",\"selectableFields\":[{\"jsonPath\":\".spec.colour\"}],\"additionalPrinterColumns\":[{\"name\":" \
        "\"Size\",\"type\":\"integer\",\"jsonPath\":\".spec.size\"},{\"name\":\"Age\",\"type\":\"date\"," \
        "\"jsonPath\":\".metadata.creationTimestamp\"}]") "]}}"

static void define(void) {
    assert_int_equal(rest_post(&server, CRDS, CRD), 201);
}

/* Go reads a number with a fraction or an exponent as a float64, and writes 1000. */
REST_TEST(a_whole_number_is_stored_without_a_fraction) {
    define();
    assert_int_equal(rest_post(&server, FOOS,
                               "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3.0,\"any\":{\"a\":1E3,"
                               "\"b\":[-0.5e1,-0.0],\"c\":1.5,\"d\":\"1E3\"}}}"),
                     201);
    assert_true(rest_has(&server, "\"size\":3,"));
    assert_true(rest_has(&server, "\"any\":{\"a\":1000,\"b\":[-5,0],\"c\":1.5,\"d\":\"1E3\"}"));
}

REST_TEST(a_definition_is_established_and_serves_its_resource) {
    assert_int_equal(rest_get(&server, FOOS), 404);
    define();
    assert_int_equal(rest_get(&server, CRDS "/foos.example.com"), 200);
    assert_true(rest_has(&server, "{\"type\":\"NamesAccepted\",\"status\":\"True\""));
    assert_true(rest_has(&server, "{\"type\":\"Established\",\"status\":\"True\""));
    assert_true(rest_has(&server, "\"storedVersions\":[\"v1\"]"));
    assert_int_equal(rest_get(&server, FOOS), 200);
    assert_true(rest_has(&server, "{\"kind\":\"FooList\",\"apiVersion\":\"example.com/v1\""));
    assert_int_equal(rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}"), 201);
    assert_true(rest_has(&server, "{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v1\""));
    assert_true(rest_has(&server, "\"generation\":1"));
    assert_true(rest_has(&server, "\"colour\":\"red\""));
}

REST_TEST(discovery_has_it_in_both_forms) {
    static const char aggregated[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    define();
    assert_int_equal(rest_get(&server, "/apis/example.com/v1"), 200);
    assert_true(rest_has(&server, "{\"name\":\"foos\",\"singularName\":\"foo\",\"namespaced\":true,\"kind\":\"Foo\""));
    assert_true(rest_has(&server, "\"shortNames\":[\"f\",\"fo\",\"fooo\"],\"categories\":[\"all\",\"mine\"]"));
    assert_true(rest_has(&server, "\"foos/status\""));
    assert_int_equal(rest_get(&server, "/apis"), 200);
    assert_true(rest_has(&server, "\"name\":\"example.com\""));
    assert_int_equal(rest_get_as(&server, "/apis", aggregated), 200);
    assert_true(rest_has(&server, "{\"metadata\":{\"name\":\"example.com\",\"creationTimestamp\":null},\"versions\":[{"
                                  "\"version\":\"v1\",\"resources\":[{\"resource\":\"foos\""));
    assert_int_equal(rest_send(&server, "DELETE", CRDS "/foos.example.com", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, "/apis/example.com/v1"), 404);
}

REST_TEST(its_objects_go_with_it_and_watchers_see_that) {
    kt_response watching;
    define();
    assert_int_equal(rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}"), 201);
    kt_watch *watch = rest_watch_open(&server, FOOS "?watch=1", &watching);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_WAITS);
    assert_true(rest_has(&server, "{\"type\":\"ADDED\""));
    assert_int_equal(rest_send(&server, "DELETE", CRDS "/foos.example.com", NULL, NULL), 200);
    assert_int_equal(rest_watch_read(&server, watch), KT_WATCH_ENDED);
    assert_true(rest_has(&server, "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Foo\""));
    kt_response_free(&watching);
    assert_int_equal(rest_get(&server, FOOS), 404);
    define();
    assert_int_equal(rest_get(&server, FOOS), 200);
    assert_true(rest_has(&server, "\"items\":[]"));
    assert_int_equal(rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}"), 201);
}

REST_TEST(a_new_version_comes_and_an_old_one_goes) {
    define();
    assert_int_equal(rest_send(&server, "PATCH", CRDS "/foos.example.com", "application/merge-patch+json",
                               "{\"spec\":{\"versions\":[" VERSION("v2", "true", "") "]}}"),
                     200);
    assert_int_equal(rest_get(&server, "/apis/example.com/v2/foos"), 200);
    assert_int_equal(rest_get(&server, "/apis/example.com/v1/foos"), 404);
}

REST_TEST(the_schema_decides_what_is_kept_and_what_is_wrong) {
    static const struct {
        const char *spec;
        int status;
        const char *has;
    } rows[] = {
        { "{\"size\":3,\"unknown\":1}", 201, "\"spec\":{\"size\":3,\"colour\":\"red\"}" },
        { "{\"size\":3,\"any\":{\"x\":{\"y\":1}}}", 201, "\"any\":{\"x\":{\"y\":1}}" },
        { "{\"size\":3,\"map\":{\"k\":\"v\"}}", 201, "\"map\":{\"k\":\"v\"}" },
        { "{\"size\":3,\"list\":[{\"a\":true,\"b\":1}]}", 201, "\"list\":[{\"a\":true}]" },
        { "{\"size\":3,\"port\":\"http\"}", 201, "\"port\":\"http\"" },
        { "{\"size\":3.0,\"port\":80,\"none\":null}", 201, "\"port\":80" },
        { "{\"size\":3,\"host\":\"a12\"}", 201, "\"host\":\"a12\"" },
        { "{}", 422, "spec.size: Required value" },
        { "{\"size\":\"x\"}", 422,
          "spec.size: Invalid value: \\\"string\\\": spec.size in body must be of type integer: \\\"string\\\"" },
        { "{\"size\":0}", 422, "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1" },
        { "{\"size\":10}", 422, "should be less than or equal to 9" },
        { "{\"size\":3,\"colour\":\"pink\"}", 422,
          "spec.colour: Unsupported value: \\\"pink\\\": supported values: \\\"red\\\", \\\"blue\\\"" },
        { "{\"size\":3,\"host\":\"12\"}", 422, "spec.host in body should match '^[a-z]\\\\d+$'" },
        { "{\"size\":3,\"host\":\"a12345\"}", 422, "spec.host" },
        { "{\"size\":3,\"port\":true}", 422, "spec.port" },
        { "{\"size\":3,\"map\":{\"k\":1}}", 422, "spec.map.k" },
        { "{\"size\":3,\"list\":[]}", 422, "should have at least 1 items" },
        { "{\"size\":3,\"list\":[{\"a\":1}]}", 422, "spec.list[0].a" },
        { "7", 422, "spec in body must be of type object" },
    };
    define();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"metadata\":{\"generateName\":\"x-\"},\"spec\":%s}", rows[i].spec);
        int status = rest_post(&server, FOOS, body);
        if (status != rows[i].status)
            fail_msg("%s: %d, not %d: %s", rows[i].spec, status, rows[i].status, server.text.data);
        assert_true(rest_has(&server, rows[i].has));
    }
}

REST_TEST(status_is_a_subresource_where_the_definition_says_so) {
    define();
    assert_int_equal(
        rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3},\"status\":{\"phase\":\"x\"}}"),
        201);
    assert_null(strstr(server.text.data, "\"phase\""));
    assert_int_equal(rest_send(&server, "PATCH", FOOS "/a/status", "application/merge-patch+json",
                               "{\"spec\":{\"size\":4},\"status\":{\"phase\":\"y\"}}"),
                     200);
    assert_true(rest_has(&server, "\"phase\":\"y\""));
    assert_true(rest_has(&server, "\"size\":3"));
    assert_true(rest_has(&server, "\"generation\":1"));
}

REST_TEST(tables_and_field_selectors_follow_the_definition) {
    define();
    assert_int_equal(rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}"), 201);
    assert_int_equal(
        rest_post(&server, FOOS, "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"size\":4,\"colour\":\"blue\"}}"), 201);
    assert_int_equal(rest_get_as(&server, FOOS, "application/json;as=Table;v=v1;g=meta.k8s.io"), 200);
    assert_true(rest_has(&server, "{\"name\":\"Size\",\"type\":\"integer\""));
    assert_true(rest_has(&server, "{\"cells\":[\"a\",3,\"0s\"]"));
    assert_int_equal(rest_get(&server, FOOS "?fieldSelector=spec.colour=blue"), 200);
    assert_true(rest_has(&server, "\"name\":\"b\""));
    assert_null(strstr(server.text.data, "\"name\":\"a\""));
    assert_int_equal(rest_get(&server, FOOS "?fieldSelector=spec.size=3"), 400);
}

REST_TEST(bad_definitions_are_rejected_with_each_fault) {
    assert_int_equal(rest_post(&server, CRDS,
                               "{\"metadata\":{\"name\":\"x.example.com\"},\"spec\":{\"group\":\"example.com\","
                               "\"scope\":\"Nowhere\",\"names\":{\"plural\":\"foos\"},\"versions\":[{\"name\":\"V1\"}]}"
                               "}"),
                     422);
    assert_true(rest_has(&server, "spec.names.kind: Required value"));
    assert_true(rest_has(&server, "spec.scope: Unsupported value: \\\"Nowhere\\\""));
    assert_true(rest_has(&server, "must be spec.names.plural+\\\".\\\"+spec.group"));
    assert_true(rest_has(&server, "spec.versions[0].schema.openAPIV3Schema: Required value"));
    assert_true(rest_has(&server, "must have exactly one version marked as storage version"));
    assert_int_equal(rest_post(&server, CRDS, "{\"metadata\":{\"name\":\"y\"}}"), 422);
    assert_int_equal(rest_post(&server, CRDS, "{\"metadata\":{\"name\":\"y\"},\"spec\":[1]}"), 400);
    assert_true(rest_has(&server, "cannot be handled as a CustomResourceDefinition: json: cannot unmarshal array"));
}

REST_TEST(a_large_default_of_many_elements_is_rejected_in_time) {
    static char crd[300 * 1024], foo[64 * 1024];
    static const char head[] = CRD_HEAD
        "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"properties\":{\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
        "\"string\",\"default\":\"";
    static const char one[] = "{\"metadata\":{\"name\":\"one\"},\"list\":[{}]}";
    size_t size = sizeof head - 1;
    memcpy(crd, head, size);
    memset(crd + size, 'x', 256 * 1024);
    snprintf(crd + size + 256 * 1024, 1024, "\"}}}}}}}}]}}");
    assert_int_equal(rest_post(&server, CRDS, crd), 201);
    assert_int_equal(rest_post(&server, FOOS, one), 201);
    size = (size_t)snprintf(foo, sizeof foo, "{\"metadata\":{\"name\":\"many\"},\"list\":[{}");
    while (size < sizeof foo - 8)
        size += (size_t)snprintf(foo + size, sizeof foo - size, ",{}");
    snprintf(foo + size, sizeof foo - size, "]}");
    assert_int_equal(rest_post(&server, FOOS, foo), 413);
    assert_int_equal(rest_get(&server, FOOS "/many"), 404);
}

/* Creates a definition with so many versions. Returns the response's status. */
static int define_many(int number, int versions) {
    static char crd[16 * 1024];
    int size =
        snprintf(crd, sizeof crd,
                 "{\"metadata\":{\"name\":\"r%d.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":\"Cluster\",\"names\":{"
                 "\"plural\":\"r%d\",\"kind\":\"R%d\"},\"versions\":[",
                 number, number, number);
    for (int i = 0; i < versions; i++)
        size += snprintf(crd + size, sizeof crd - (size_t)size,
                         "%s{\"name\":\"v%d\",\"served\":true,\"storage\":%s,\"schema\":{\"openAPIV3Schema\":{\"type\":"
                         "\"object\"}}}",
                         i ? "," : "", i + 1, i ? "false" : "true");
    snprintf(crd + size, sizeof crd - (size_t)size, "]}}");
    return rest_post(&server, CRDS, crd);
}

REST_TEST(as_many_as_there_is_room_for_are_served_and_come_again) {
    const int full = KT_CRD_MAX / KT_CRD_VERSIONS_MAX, rest = KT_CRD_MAX % KT_CRD_VERSIONS_MAX;
    for (int i = 0; i < full; i++)
        assert_int_equal(define_many(i, KT_CRD_VERSIONS_MAX), 201);
    assert_int_equal(define_many(full, rest), 201);
    assert_int_equal(rest_get(&server, CRDS "/r31.x.io"), 200);
    assert_true(
        rest_has(&server, "\"type\":\"Established\",\"status\":\"True\"")); /* the last one for which there is room */
    assert_int_equal(rest_get(&server, "/apis/x.io/v1/r31"), 200);
    assert_int_equal(define_many(full + 1, 1), 201);
    assert_int_equal(rest_get(&server, CRDS "/r32.x.io"), 200);
    assert_null(strstr(server.text.data, "Established"));
    assert_int_equal(rest_get(&server, "/apis/x.io/v1/r32"), 404);
    assert_int_equal(rest_send(&server, "DELETE", CRDS "/r31.x.io", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, "/apis/x.io/v1/r31"), 404);
    assert_int_equal(define_many(full, rest), 201);
    assert_int_equal(rest_get(&server, "/apis/x.io/v1/r31"), 200);
    assert_int_equal(rest_get(&server, CRDS "/r31.x.io"), 200);
    assert_true(rest_has(&server, "\"type\":\"Established\",\"status\":\"True\""));
}

REST_TEST(a_namespace_takes_its_custom_objects_along) {
    define();
    assert_int_equal(rest_post(&server, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(rest_post(&server, "/apis/example.com/v1/namespaces/n/foos",
                               "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3}}"),
                     201);
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/n", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, "/apis/example.com/v1/foos"), 200);
    assert_true(rest_has(&server, "\"items\":[]"));
}

REST_TEST(a_version_is_there_once_and_there_are_not_too_many) {
    ki_buffer text;
    assert_int_equal(rest_post(&server, CRDS, CRD_HEAD VERSION("v1", "true", "") "," VERSION("v1", "false", "") "]}}"),
                     422);
    assert_true(rest_has(&server, "must contain unique version names"));
    for (int count = KT_CRD_VERSIONS_MAX + 1; count >= KT_CRD_VERSIONS_MAX; count--) {
        ki_buffer_init(&text, &ki_allocator_default, 0);
        ki_buffer_append_string(&text, CRD_HEAD);
        for (int i = 0; i < count; i++)
            ki_buffer_printf(&text,
                             "%s{\"name\":\"v%d\",\"served\":true,\"storage\":%s,\"schema\":{\"openAPIV3Schema\":{"
                             "\"type\":\"object\"}}}",
                             i ? "," : "", i + 1, i ? "false" : "true");
        ki_buffer_append_string(&text, "]}}");
        assert_int_equal(text.failed, KI_OK);
        assert_int_equal(rest_post(&server, CRDS, text.data), count > KT_CRD_VERSIONS_MAX ? 422 : 201);
        ki_buffer_free(&text);
    }
}

/* A schema of many properties against an object of as many fields: the square of that would stop the server for
 * minutes. */
REST_TEST(a_wide_object_with_a_wide_schema_does_not_stop_the_server) {
    enum {
        MANY = 60000
    };
    ki_buffer definition, object;
    ki_buffer_init(&definition, &ki_allocator_default, 0);
    ki_buffer_init(&object, &ki_allocator_default, 0);
    ki_buffer_append_string(&definition, CRD_HEAD "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
                                                  "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{");
    ki_buffer_append_string(&object, "{\"metadata\":{\"name\":\"a\"}");
    for (int i = 0; i < MANY; i++) {
        ki_buffer_printf(&definition, "%s\"p%d\":{\"type\":\"integer\"}", i ? "," : "", i);
        ki_buffer_printf(&object, ",\"p%d\":1", MANY - 1 - i);
    }
    ki_buffer_append_string(&definition, "}}}}]}}");
    ki_buffer_append_string(&object, "}");
    assert_int_equal(definition.failed, KI_OK);
    assert_int_equal(object.failed, KI_OK);
    assert_int_equal(rest_post(&server, CRDS, definition.data), 201);
    assert_int_equal(rest_post(&server, FOOS, object.data), 201);
    assert_true(rest_has(&server, "\"p59999\":1"));
    ki_buffer_free(&definition);
    ki_buffer_free(&object);
}

/* Sends a request as it comes through the network; `server.text` has the response, `warnings` the warnings. Returns the
 * status. */
static int send(const char *method, const char *target, const char *type, const char *body, char warnings[256]) {
    kt_request request = { .method = method,
                           .target = target,
                           .content_type = type,
                           .body = ki_str_of(body ? body : ""),
                           .from_network = true };
    kt_response response;
    assert_int_equal(kt_rest_handle(server.cluster, &request, server.now_ms, &response), KI_OK);
    snprintf(warnings, 256, "%.*s", (int)response.warnings.size, response.warnings.data ? response.warnings.data : "");
    ki_buffer_reset(&server.text, SIZE_MAX);
    assert_int_equal(ki_buffer_append(&server.text, response.body.data, response.body.size), KI_OK);
    int status = response.status;
    kt_response_free(&response);
    return status;
}

#define FOO "\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\","

REST_TEST(an_object_says_what_it_is_and_what_is_unknown_is_reported) {
    static const struct {
        const char *query, *body;
        int status;
        const char *has, *warnings;
    } rows[] = {
        { "", "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":1}}", 400, "Object 'Kind' is missing in", "" },
        { "", "{\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"}}", 400, "the API version in the data () does not match",
          "" },
        { "", "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Bar\",\"metadata\":{\"name\":\"a\"}}", 422,
          "Bar.example.com \\\"a\\\" is invalid: kind: Invalid value: \\\"Bar\\\": must be Foo", "" },
        { "?fieldValidation=Strict",
          "{" FOO "\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":1,\"odd\":1},\"more\":{}}", 400,
          "strict decoding error: unknown field \\\"more\\\", unknown field \\\"spec.odd\\\"", "" },
        { "?fieldValidation=Strict",
          "{" FOO "\"metadata\":{\"name\":\"a\",\"odd\":1},\"spec\":{\"size\":1,\"size\":2}}", 400,
          "duplicate field \\\"spec.size\\\", unknown field \\\"metadata.odd\\\"", "" },
        { "?fieldValidation=Strict", "{" FOO "\"metadata\":{\"name\":\"s\"},\"spec\":{\"size\":1,\"any\":{\"x\":1}}}",
          201, "", "" },
        { "?fieldValidation=Ignore", "{" FOO "\"metadata\":{\"name\":\"i\"},\"spec\":{\"size\":1,\"odd\":1}}", 201, "",
          "" },
        { "", "{" FOO "\"metadata\":{\"name\":\"w\"},\"spec\":{\"size\":1,\"size\":2,\"list\":[{\"b\":1}]}}", 201,
          "\"size\":2,", "duplicate field \"spec.size\"\nunknown field \"spec.list[0].b\"" },
    };
    char warnings[256];
    define();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[128];
        snprintf(target, sizeof target, FOOS "%s", rows[i].query);
        assert_int_equal(send("POST", target, "application/json", rows[i].body, warnings), rows[i].status);
        assert_true(rest_has(&server, rows[i].has));
        assert_string_equal(warnings, rows[i].warnings);
    }
    assert_int_equal(send("PUT", FOOS "/w", "application/json",
                          "{" FOO "\"metadata\":{\"name\":\"w\"},\"spec\":{\"size\":1}}", warnings),
                     422);
    assert_true(rest_has(&server, "metadata.resourceVersion: Invalid value: 0: must be specified for an update"));
    assert_int_equal(send("PATCH", FOOS "/w", "application/merge-patch+json", "{\"kind\":null}", warnings), 422);
    assert_int_equal(rest_get(&server, FOOS "?fieldSelector=metadata.name%3Dw"), 200);
    assert_true(rest_has(&server, "\"continue\":\"\"},\"items\":[{\"kind\":\"Foo\",\"apiVersion\":\"example.com/v1\""));
}

REST_TEST(a_new_finalizer_without_a_domain_is_warned_of) {
    static const char *const has = "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid ";
    char warnings[256];
    assert_int_equal(rest_post(&server, CRDS, CRD), 201);
    assert_int_equal(send("POST", FOOS, JSON,
                          "{" FOO
                          "\"metadata\":{\"name\":\"a\",\"finalizers\":[\"plain\",\"x.y/z\"]},\"spec\":{\"size\":3}}",
                          warnings),
                     201);
    assert_non_null(strstr(warnings, has));
    assert_null(strstr(warnings, "x.y/z"));
    assert_int_equal(send("PATCH", FOOS "/a", "application/merge-patch+json",
                          "{\"metadata\":{\"finalizers\":[\"plain\",\"with.dot\"]}}", warnings),
                     200);
    assert_non_null(
        strstr(warnings, "\"with.dot\": prefer a domain-qualified finalizer name including a path (/) to "));
    assert_null(strstr(warnings, "plain")); /* it was there */
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps",
                               "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"plain\"]}}"),
                     422);
}

REST_TEST(lists_and_maps_merge_as_the_schema_says) {
    static const char definition[] = CRD_HEAD
        "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"ports\":{\"type\":\"array\","
        "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"port\",\"name\"],\"items\":{\"type\":"
        "\"object\",\"required\":[\"port\",\"name\"],\"properties\":{\"name\":{\"type\":\"string\"},\"port\":{\"type\":"
        "\"integer\"},\"tier\":{"
        "\"type\":\"string\"}}}},\"tags\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{"
        "\"type\":\"string\"}},\"whole\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\","
        "\"additionalProperties\":{\"type\":\"string\"}},\"map\":{\"type\":\"object\",\"additionalProperties\":{"
        "\"type\":\"string\"}}}}}}}}]}}";
    static const struct {
        const char *manager, *spec;
        int status;
        const char *has;
    } rows[] = {
        { "one",
          "{\"ports\":[{\"name\":\"a\",\"port\":1}],\"tags\":[\"x\"],\"whole\":{\"k\":\"v\"},\"map\":{\"k\":\"v\"}}",
          201, "k:{\\\"name\\\":\\\"a\\\",\\\"port\\\":1}" },
        { "two",
          "{\"ports\":[{\"name\":\"a\",\"port\":2},{\"name\":\"a\",\"port\":1,\"tier\":\"t\"}],\"tags\":[\"y\"]}", 200,
          "\"tags\":[\"x\",\"y\"]" },
        { "two", "{\"whole\":{\"l\":\"w\"}}", 409, ".spec.whole" },
        { "two", "{\"map\":{\"l\":\"w\"}}", 200, "\"map\":{\"k\":\"v\",\"l\":\"w\"}" },
        { "one", "{\"tags\":[\"x\"]}", 200, "\"tags\":[\"x\"]" },
        { "two", "{\"ports\":[{\"name\":\"a\"}]}", 500,
          ".spec.ports: element 0: associative list with keys has an element that omits all key fields [\\\"name\\\" "
          "\\\"port\\\"]" },
        { "two", "{\"odd\":1}", 500, "(/a; example.com/v1, Kind=Foo): .spec.odd: field not declared in schema" },
        { "two", "{\"tags\":1}", 500, ".spec.tags: expected list" },
        { "two", "{\"map\":{\"k\":1}}", 500, ".spec.map.k: expected string" },
    };
    char warnings[256];
    assert_int_equal(rest_post(&server, CRDS, definition), 201);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[128], body[512];
        snprintf(target, sizeof target, FOOS "/a?fieldManager=%s", rows[i].manager);
        snprintf(body, sizeof body, "{" FOO "\"metadata\":{\"name\":\"a\"},\"spec\":%s}", rows[i].spec);
        assert_int_equal(send("PATCH", target, "application/apply-patch+yaml", body, warnings), rows[i].status);
        assert_true(rest_has(&server, rows[i].has));
    }
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const rest_call calls[] = {
        { "POST", CRDS, JSON, CRD },
        { "POST", FOOS, JSON, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"size\":3,\"list\":[{\"a\":true}]}}" },
        { "POST", FOOS, JSON, "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"size\":0,\"host\":\"9\",\"colour\":\"x\"}}" },
        { "POST", FOOS, JSON,
          "{\"metadata\":{\"name\":\"c\",\"odd\":1},\"spec\":{\"size\":1,\"size\":2,\"more\":[1]}}" },
        { "GET", "/apis/example.com/v1", NULL, NULL },
        { "DELETE", CRDS "/foos.example.com", NULL, NULL },
        { "POST", CRDS, JSON, CRD },
    };
    rest_run_short_of_memory(calls, sizeof calls / sizeof *calls);
}

REST_TEST(the_schema_of_a_definition_is_in_openapi) {
    assert_int_equal(rest_get(&server, "/openapi/v3/apis/example.com/v1"), 404);
    assert_int_equal(rest_post(&server, CRDS, CRD), 201);
    assert_int_equal(rest_get(&server, "/openapi/v3"), 200);
    assert_true(
        rest_has(&server, "\"apis/example.com/v1\":{\"serverRelativeURL\":\"/openapi/v3/apis/example.com/v1\"}"));
    assert_int_equal(rest_get(&server, "/openapi/v3/apis/example.com/v1"), 200);
    yyjson_doc *doc = yyjson_read(server.text.data, server.text.size, 0);
    yyjson_val *schemas = yyjson_ptr_get(yyjson_doc_get_root(doc), "/components/schemas");
    yyjson_val *foo = yyjson_obj_get(schemas, "com.example.v1.Foo");
    assert_non_null(yyjson_ptr_get(foo, "/properties/spec/properties/size"));
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(foo, "/properties/metadata/allOf/0/$ref")),
                        "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    assert_non_null(yyjson_obj_get(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(foo, "/x-kubernetes-group-version-kind/0/kind")), "Foo");
    yyjson_doc_free(doc);
    assert_int_equal(rest_send(&server, "DELETE", CRDS "/foos.example.com", NULL, NULL), 200);
    assert_int_equal(rest_get(&server, "/openapi/v3/apis/example.com/v1"), 404);
}
