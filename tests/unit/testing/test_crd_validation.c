/* test_crd_validation.c: which schemas a definition may have, and what formats, sets and maps refuse. The words are the
 * real server's. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"
#include "testing/crd/string_format.h"

#include <stdio.h>

#define JSON "application/json"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define FOOS "/apis/example.com/v1/namespaces/default/foos"
#define CRD_START \
    "{\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\"," \
    "\"names\":{" \
    "\"plural\":\"foos\",\"kind\":\"Foo\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true," \
    "\"schema\":{" \
    "\"openAPIV3Schema\":"
#define CRD_END "}}]}}"
#define CRD(schema) CRD_START schema CRD_END
#define SPEC(schema) "{\"type\":\"object\",\"properties\":{\"spec\":" schema "}}"
#define AT "spec.validation.openAPIV3Schema.properties[spec]"
#define FOO(spec) \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"},\"spec\":{" spec "}}"

REST_TEST(schemas_must_be_structural) {
    static const char *const cases[][2] = {
        { CRD("{\"properties\":{\"spec\":{\"properties\":{\"a\":{\"type\":\"string\"}}}}}"),
          "[" AT ".type: Required value: must not be empty for specified object fields, "
          "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root]" },
        { CRD(SPEC("{\"type\":\"array\"}")), AT ".items: Required value: must be specified" },
        { CRD("{\"type\":\"string\"}"),
          "spec.validation.openAPIV3Schema.type: Invalid value: \\\"string\\\": must be object at the root" },
        { CRD(SPEC("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}},\"additionalProperties\":{"
                   "\"type\":\"object\"}}")),
          AT ".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive" },
        { CRD(SPEC("{\"type\":\"foo\"}")),
          AT ".type: Unsupported value: \\\"foo\\\": supported values: \\\"array\\\", \\\"boolean\\\"" },
        { CRD(SPEC("{\"type\":\"object\",\"patternProperties\":{\"a\":{\"type\":\"object\"}}}")),
          AT ".patternProperties: Forbidden: patternProperties is not supported" },
        { CRD(SPEC("{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"items\":{\"type\":\"object\"}}")),
          AT ".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map" },
        { CRD(SPEC("{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"a\"],"
                   "\"items\":{\"type\":"
                   "\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}")),
          AT ".items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys" },
        { CRD(SPEC("{\"type\":\"string\",\"pattern\":\"(?=a)\"}")),
          AT ".pattern: Invalid value: \\\"(?=a)\\\": must be a valid regular expression, but isn't: error parsing "
             "regexp: invalid or unsupported Perl syntax: `(?=`" },
        { CRD(SPEC("{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"a{2000}\"}}")),
          AT ".items.pattern: Invalid value: \\\"a{2000}\\\": must be a valid regular expression, but isn't: error "
             "parsing regexp: invalid repeat count: `{2000}`" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rest_post(&server, CRDS, cases[i][0]), 422);
        assert_true(rest_has(&server, cases[i][1]));
    }
    assert_int_equal(
        rest_post(&server, CRDS,
                  CRD(SPEC("{\"type\":\"object\",\"properties\":{\"a\":{\"x-kubernetes-int-or-string\":true},\"b\":{"
                           "\"x-kubernetes-preserve-unknown-fields\":true}}}"))),
        201);
}

#define LISTS \
    "\"at\":{\"type\":\"string\",\"format\":\"date-time\"},\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":" \
    "\"map\"," \
    "\"x-kubernetes-list-map-keys\":[\"k\"],\"items\":{\"type\":\"object\",\"required\":[\"k\"],\"properties\":{" \
    "\"k\":{\"type\":" \
    "\"string\"},\"v\":{\"type\":\"string\"}}}},\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\"," \
    "\"items\":{\"type\":" \
    "\"string\"}}"

static const char *const wrong[][2] = {
    { FOO("\"at\":\"bad!\""), "Foo.example.com \\\"f\\\" is invalid: spec.at: Invalid value: \\\"bad!\\\": spec.at in "
                              "body must be of type date-time: "
                              "\\\"bad!\\\"" },
    { FOO("\"at\":\"bad!\""), "\"reason\":\"FieldValueTypeInvalid\"" },
    { FOO("\"map\":[{\"k\":\"a\",\"v\":\"1\"},{\"k\":\"a\"}]"),
      "spec.map[1]: Duplicate value: {\\\"k\\\":\\\"a\\\"}\"" },
    { FOO("\"map\":[{\"v\":\"1\"}]"), "spec.map[0].k: Required value" },
    { FOO("\"set\":[\"a\",\"b\",\"a\"]"), "spec.set[2]: Duplicate value: \\\"a\\\"\"" },
};

REST_TEST(formats_sets_and_maps_are_checked) {
    assert_int_equal(rest_post(&server, CRDS, CRD(SPEC("{\"type\":\"object\",\"properties\":{" LISTS "}}"))), 201);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(rest_post(&server, FOOS, wrong[i][0]), 422);
        assert_true(rest_has(&server, wrong[i][1]));
    }
    assert_int_equal(
        rest_post(&server, FOOS,
                  FOO("\"at\":\"2026-01-01T00:00:00Z\",\"map\":[{\"k\":\"a\"},{\"k\":\"b\"}],\"set\":[\"a\",\"b\"]")),
        201);
}

TEST(formats_take_what_the_real_server_takes) {
    static const struct {
        const char *format, *text;
        bool is;
    } cases[] = {
        { "date", "2020-02-29", true },
        { "date", "2021-02-29", false },
        { "date", "bad!", false },
        { "date-time", "2020-01-01T00:00:00Z", true },
        { "date-time", "2020-01-01T00:00:00.123+02:00", true },
        { "date-time", "2020-01-01", false },
        { "date-time", "2020-01-01 00:00:00", false },
        { "date-time", "2020-01-01T25:00:00Z", false },
        { "date-time", "2020-01-01T00:00:00.Z", false },
        { "email", "a@b.c", true },
        { "email", "bad!", false },
        { "hostname", "web", true },
        { "hostname", "a.example", true },
        { "hostname", "a.b", false },
        { "hostname", "bad!", false },
        { "ipv4", "1.2.3.4", true },
        { "ipv4", "::1", false },
        { "ipv6", "::1", true },
        { "ipv6", "1.2.3.4", false },
        { "cidr", "1.2.3.4/8", true },
        { "cidr", "1.2.3.4/33", false },
        { "cidr", "fe80::/64", true },
        { "cidr", "1.2.3.4", false },
        { "mac", "01:02:03:04:05:06", true },
        { "mac", "01:02", false },
        { "uri", "http://a/b", true },
        { "uri", "a", false },
        { "uri", "bad!", false },
        { "uuid", "01234567-89ab-cdef-0123-456789abcdef", true },
        { "uuid", "01234567", false },
        { "byte", "YQ==", true },
        { "byte", "a", false },
        { "byte", "bad!", false },
        { "duration", "1h30m", true },
        { "duration", "3 days", true },
        { "duration", "bad!", false },
        { "duration", "5", false },
        { "k8s-short-name", "a-b", true },
        { "k8s-short-name", "bad!", false },
        { "k8s-long-name", "a.b", true },
        { "k8s-long-name", "A.b", false },
        { "password", "bad!", true },
        { "nobody-knows", "bad!", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (kt_string_has_format(cases[i].format, ki_str_of(cases[i].text)) != cases[i].is)
            fail_msg("%s: %s", cases[i].format, cases[i].text);
    }
}

/* 1,000 wrong elements, and each cause names 10,000 supported values. */
REST_TEST(causes_end_at_a_size) {
    ki_buffer crd, foo;
    ki_buffer_init(&crd, &ki_allocator_default, 0);
    ki_buffer_init(&foo, &ki_allocator_default, 0);
    ki_buffer_append_string(&crd, CRD_START "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"array\","
                                            "\"items\":{\"type\":\"string\",\"enum\":[\"x\"");
    for (int i = 0; i < 10000; i++)
        ki_buffer_printf(&crd, ",\"value-%d\"", i);
    ki_buffer_append_string(&crd, "]}}}}" CRD_END);
    assert_int_equal(rest_post(&server, CRDS, crd.data), 201);
    ki_buffer_append_string(
        &foo, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"f\"},\"spec\":[\"x\"");
    for (int i = 0; i < 1000; i++)
        ki_buffer_append_string(&foo, ",\"y\"");
    ki_buffer_append_string(&foo, "]}");
    assert_int_equal(rest_post(&server, FOOS, foo.data), 422);
    assert_true(rest_has(&server, "spec[1]: Unsupported value: \\\"y\\\": supported values: \\\"x\\\", "));
    assert_in_range(server.text.size, 0, 2 * 1024 * 1024);
    ki_buffer_free(&crd);
    ki_buffer_free(&foo);
}

REST_TEST(what_is_not_enforced_is_said) {
    static const char *const cases[][3] = {
        { "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", "{\"metadata\":{\"name\":\"w\"}}",
          "kinformer serve: webhooks are stored and never called\n" },
        { "/api/v1/namespaces/default/resourcequotas", "{\"metadata\":{\"name\":\"q\"}}",
          "kinformer serve: resource quotas are stored and not enforced\n" },
        { CRDS,
          CRD(SPEC("{\"type\":\"array\",\"items\":{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":"
                   "\"true\"}]}}")),
          "kinformer serve: x-kubernetes-validations are stored and not enforced\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rest_post(&server, cases[i][0], cases[i][1]), 201);
        assert_string_equal(server.response.warnings.data, cases[i][2]);
    }
    assert_int_equal(rest_post(&server, "/api/v1/namespaces/default/configmaps", "{\"metadata\":{\"name\":\"m\"}}"),
                     201);
    assert_int_equal(server.response.warnings.size, 0);
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    static const rest_call calls[] = {
        { "POST", CRDS, JSON, CRD("{\"properties\":{\"spec\":{\"type\":\"array\",\"items\":{\"id\":\"x\"}}}}") },
        { "POST", CRDS, JSON, CRD(SPEC("{\"type\":\"object\",\"properties\":{" LISTS "}}")) },
        { "POST", FOOS, JSON, FOO("\"at\":\"bad!\",\"map\":[{\"k\":\"a\"},{\"k\":\"a\"}],\"set\":[\"a\",\"a\"]") },
    };
    rest_run_short_of_memory(calls, sizeof calls / sizeof *calls);
}
