/* get and list: states, pages, selectors, forms, and what is refused. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include <stdio.h>

#define PODS "/api/v1/namespaces/default/pods"

/* Five pods; their revisions are 6 to 10. */
static int start_with_pods(void **state) {
    rest_set_up(state);
    for (int i = 1; i <= 5; i++) {
        char body[300];
        snprintf(body, sizeof body,
                 "{\"metadata\":{\"name\":\"p%d\",\"labels\":{\"n\":\"%d\",\"odd\":\"%s\"%s}},\"spec\":{\"nodeName\":"
                 "\"node-%d\","
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
                 i, i, i % 2 ? "yes" : "no", i == 5 ? ",\"last\":\"\"" : "", i % 2);
        assert_int_equal(rest_post(&server, PODS, body), 201);
    }
    return 0;
}

#define REST_READ_TEST(name) REST_TEST_WITH(start_with_pods, name)

static int count_of(const char *part) {
    int count = 0;
    for (const char *at = server.text.data; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

REST_READ_TEST(requests_get_the_status_and_words_of_a_real_server) {
    static const struct {
        const char *target;
        int status;
        const char *part;
    } cases[] = {
        { "/version", 200, "\"major\":\"1\"" },
        { "/healthz", 200, "ok" },
        { "/livez", 200, "ok" },
        { "/readyz?verbose", 200, "ok" },
        { "/nope", 404, "404 page not found" },
        { "/apis/nope/v1/foos", 404, "404 page not found" },
        { "/api/v1/foos", 404, "the server could not find the requested resource" },
        { "/apis/apps/v1/foos", 404, "\"details\":{},\"code\":404" },
        { "/api/v1/pods/x", 404, "the server could not find the requested resource" },
        { PODS "/x", 404, "pods \\\"x\\\" not found" },
        { PODS "/x%5C%0A", 404, "pods \\\"x\\\\\\\\\\\\n\\\" not found" },
        { PODS "/x/log", 404, "the server could not find" },
        { "/apis/apps/v1/namespaces/default/deployments/d", 404, "deployments.apps \\\"d\\\" not found" },
        { "/api/v1/namespaces/nope/pods", 200, "\"items\":[]" },
        { PODS "?limit=x", 400, "strconv.ParseInt: parsing \\\"x\\\": invalid syntax" },
        { PODS "?resourceVersion=x", 400, "invalid resource version: resourceVersion: Invalid value: \\\"x\\\"" },
        { PODS "?resourceVersion=99", 504, "Timeout: Too large resource version: 99, current: 10" },
        { PODS "?resourceVersion=99", 504, "\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"" },
        { PODS "?resourceVersion=99", 504, "\"retryAfterSeconds\":1" },
        { PODS "?resourceVersion=99&resourceVersionMatch=Exact", 504, "Too large resource version" },
        { PODS "/p1?resourceVersion=99", 504, "Too large resource version" },
        { PODS "?resourceVersion=1&resourceVersionMatch=Exact", 200, "\"items\":[]" },
        { PODS "?resourceVersion=7&resourceVersionMatch=Exact", 200, "\"resourceVersion\":\"7\"},\"items\"" },
        { PODS "?resourceVersion=7&resourceVersionMatch=NotOlderThan", 200, "\"resourceVersion\":\"10\"},\"items\"" },
        { PODS "?resourceVersion=7", 200, "\"resourceVersion\":\"10\"},\"items\"" },
        { PODS "?resourceVersion=0", 200, "\"resourceVersion\":\"10\"},\"items\"" },
        { PODS "?resourceVersionMatch=Exact", 422,
          "resourceVersionMatch is forbidden unless resourceVersion is provided" },
        { PODS "?resourceVersion=0&resourceVersionMatch=Exact", 422,
          "resourceVersionMatch \\\"exact\\\" is forbidden for resourceVersion \\\"0\\\"" },
        { PODS "?resourceVersion=1&resourceVersionMatch=Some", 422, "Unsupported value: \\\"Some\\\"" },
        { PODS "?continue=abc&resourceVersion=1&resourceVersionMatch=Exact", 422,
          "forbidden when continue is provided" },
        { PODS "?sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list" },
        { PODS "?continue=%21%21", 400, "continue key is not valid: illegal base64 data at input byte 0" },
        { PODS "?continue=e30", 400, "does not recognize this encoded version" },
        { PODS "?watch=true&resourceVersionMatch=NotOlderThan", 422,
          "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided" },
        { PODS "?watch=true&sendInitialEvents=true", 422,
          "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan" },
        { PODS "?watch=true&resourceVersion=x", 500, "Invalid value: \\\"x\\\"" },
        { PODS "?labelSelector=a%20in%20b", 400, "unable to parse requirement: found 'b' expected: '('" },
        { PODS "?labelSelector=a%3D%3D%3D", 400, "unable to parse requirement" },
        { PODS "?labelSelector=-a", 400, "name part must consist of alphanumeric characters" },
        { PODS "?fieldSelector=spec.foo%3Dx", 400, "field label not supported: spec.foo" },
        { "/api/v1/configmaps?fieldSelector=foo%3Dx", 400,
          "\\\"foo\\\" is not a known field selector: only \\\"metadata.name\\\", \\\"metadata.namespace\\\"" },
        { PODS "?fieldSelector=metadata.name%3Da%3Db", 400, "invalid field selector: unescaped character in value: =" },
        { PODS "?fieldSelector=metadata.name%3Da%5Cb", 400, "invalid field selector: invalid escape sequence: " },
        { PODS "?fieldSelector=spec.nodeName", 400, "invalid selector: 'spec.nodeName'; can't understand" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = rest_get(&server, cases[i].target);
        if (status != cases[i].status)
            print_error("%s: %d\n%s\n", cases[i].target, status, server.text.data);
        assert_int_equal(status, cases[i].status);
        assert_true(rest_has(&server, cases[i].part));
    }
}

REST_READ_TEST(selectors_pick_what_they_say) {
    static const struct {
        const char *query;
        int found;
    } cases[] = {
        { "labelSelector=odd%3Dyes", 3 },
        { "labelSelector=odd%3D%3Dyes", 3 },
        { "labelSelector=odd!%3Dyes", 2 },
        { "labelSelector=odd%20in%20(yes,no)", 5 },
        { "labelSelector=n+in+(1,%202)", 2 },
        { "labelSelector=n+notin+(1,2)", 3 },
        { "labelSelector=none+notin+(1,2)", 5 },
        { "labelSelector=last", 1 },
        { "labelSelector=!last", 4 },
        { "labelSelector=last%3D", 1 },
        { "labelSelector=n%3E3", 2 },
        { "labelSelector=n%3C3", 2 },
        { "labelSelector=odd%3Dyes,last", 1 },
        { "labelSelector=none%3Dx", 0 },
        { "labelSelector=none!%3Dx", 5 },
        { "fieldSelector=metadata.name%3Dp2", 1 },
        { "fieldSelector=metadata.name!%3Dp2", 4 },
        { "fieldSelector=metadata.name%3Dp2%5C,metadata.name!%5C%3Dp1", 0 }, /* one value */
        { "fieldSelector=metadata.name!%3Dp2%5C%5C", 5 },
        { "fieldSelector=metadata.namespace%3Ddefault", 5 },
        { "fieldSelector=spec.nodeName%3Dnode-1", 3 },
        { "fieldSelector=spec.nodeName%3D%3Dnode-1,metadata.name%3Dp1", 1 },
        { "fieldSelector=status.phase%3DPending", 5 },
        { "fieldSelector=status.phase%3DRunning", 0 },
        { "fieldSelector=status.podIP%3D", 5 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char target[256];
        snprintf(target, sizeof target, "/api/v1/pods?%s", cases[i].query);
        assert_int_equal(rest_get(&server, target), 200);
        if (count_of("\"uid\"") != cases[i].found)
            print_error("%s finds %d\n", cases[i].query, count_of("\"uid\""));
        assert_int_equal(count_of("\"uid\""), cases[i].found);
    }
}

/* The text between `"continue":"` and its closing quote, as a query. */
static void next_page(char *target, size_t size) {
    const char *token = strstr(server.text.data, "\"continue\":\"");
    assert_non_null(token);
    token += strlen("\"continue\":\"");
    snprintf(target, size, PODS "?limit=2&continue=%.*s", (int)strcspn(token, "\""), token);
}

REST_READ_TEST(pages_show_the_state_of_the_first_one) {
    char target[512];
    assert_int_equal(rest_get(&server, PODS "?limit=2"), 200);
    assert_int_equal(count_of("\"uid\""), 2);
    assert_true(rest_has(&server, "\"remainingItemCount\":3"));
    next_page(target, sizeof target);
    assert_int_equal(rest_send(&server, "DELETE", PODS "/p3", NULL, NULL), 200);
    assert_int_equal(rest_send(&server, "PATCH", PODS "/p4", "application/merge-patch+json",
                               "{\"metadata\":{\"labels\":{\"new\":\"x\"}}}"),
                     200);
    assert_int_equal(
        rest_post(&server, PODS,
                  "{\"metadata\":{\"name\":\"p31\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"),
        201);
    assert_int_equal(rest_get(&server, target), 200);
    assert_true(rest_has(&server, "\"resourceVersion\":\"10\",\"continue\""));
    assert_true(rest_has(&server, "{\"metadata\":{\"name\":\"p3\""));
    assert_true(rest_has(&server, "{\"metadata\":{\"name\":\"p4\""));
    assert_int_equal(count_of("\"new\""), 0);
    assert_true(rest_has(&server, "\"remainingItemCount\":1"));
    next_page(target, sizeof target);
    assert_int_equal(rest_get(&server, target), 200);
    assert_int_equal(count_of("\"uid\""), 1);
    assert_int_equal(count_of("\"continue\""), 0);
    assert_int_equal(rest_get(&server, PODS), 200);
    assert_int_equal(count_of("\"uid\""), 5);
}

REST_READ_TEST(a_compacted_page_is_reported_with_a_token_to_continue) {
    char target[512];
    rest_get(&server, PODS "?limit=2");
    next_page(target, sizeof target);
    rest_send(&server, "DELETE", PODS "/p3", NULL, NULL);
    kt_cluster_compact(server.cluster, 0);
    assert_int_equal(rest_get(&server, target), 410);
    assert_true(rest_has(&server, "\"reason\":\"Expired\""));
    assert_true(rest_has(&server, "The provided continue parameter is too old"));
    next_page(target, sizeof target);
    assert_int_equal(rest_get(&server, target), 200);
    assert_int_equal(count_of("\"uid\""), 2);
    assert_int_equal(rest_get(&server, PODS "?resourceVersion=7&resourceVersionMatch=Exact"), 410);
    assert_true(rest_has(&server, "The resourceVersion for the provided list is too old."));
}

REST_READ_TEST(a_list_from_the_cache_has_no_pages) {
    assert_int_equal(rest_get(&server, PODS "?limit=2&resourceVersion=0"), 200);
    assert_int_equal(count_of("\"uid\""), 5);
}

REST_READ_TEST(a_selected_list_does_not_say_how_much_remains) {
    assert_int_equal(rest_get(&server, PODS "?limit=1&labelSelector=odd"), 200);
    assert_true(rest_has(&server, "\"continue\""));
    assert_int_equal(count_of("remainingItemCount"), 0);
}

REST_READ_TEST(a_list_of_one_name_has_no_second_page) {
    static const struct {
        const char *target;
        bool has_more; /* the real server reads one key where it knows the whole key */
    } cases[] = {
        { PODS "?limit=1&fieldSelector=metadata.name%3DNAME", false },
        { "/api/v1/pods?limit=1&fieldSelector=metadata.name%3DNAME", true },
    };
    assert_int_equal(rest_get(&server, PODS "?limit=1"), 200); /* the first one: others follow it */
    char name[64] = "", target[256];
    const char *at = strstr(server.text.data, "\"name\":\"") + strlen("\"name\":\"");
    memcpy(name, at, strcspn(at, "\""));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *end = strstr(cases[i].target, "NAME");
        snprintf(target, sizeof target, "%.*s%s", (int)(end - cases[i].target), cases[i].target, name);
        assert_int_equal(rest_get(&server, target), 200);
        assert_int_equal(count_of("\"uid\""), 1);
        assert_int_equal(count_of("\"continue\""), cases[i].has_more ? 1 : 0);
    }
}

REST_READ_TEST(forms_follow_the_accept_header) {
    static const struct {
        const char *accept;
        int status;
        const char *part;
    } cases[] = {
        { "application/json", 200, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\"" },
        { "*/*", 200, "PodList" },
        { "application/vnd.kubernetes.protobuf,application/json", 200, "PodList" },
        { "application/vnd.kubernetes.protobuf", 406, "only the following media types are accepted" },
        { "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 200, "\"kind\":\"Table\"" },
        { "application/json;as=Table;g=meta.k8s.io;v=v1beta1", 200, "\"apiVersion\":\"meta.k8s.io/v1beta1\"" },
        { "application/json;as=Table;v=v1;g=meta.k8s.io", 200, "\"cells\":[\"p1\",\"0/1\",\"Pending\",\"0\",\"0s\"," },
        { "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", 200, "PartialObjectMetadataList" },
        { "application/json;as=Odd;v=v1;g=meta.k8s.io, application/json", 200, "PodList" },
        { "text/plain", 406, "\"reason\":\"NotAcceptable\"" },
        { "application/yaml", 200, "apiVersion: v1\nitems:\n- metadata:\n    creationTimestamp: \"" },
        { "application/vnd.kubernetes.protobuf, application/yaml;q=0.9, application/json", 200, "kind: PodList\n" },
        { "application/yaml;as=Table;v=v1;g=meta.k8s.io", 200, "\n  - p1\n  - 0/1\n  - Pending\n" },
        { "application/json,application/yaml", 200, "{\"kind\":\"PodList\"" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rest_get_as(&server, PODS, cases[i].accept), cases[i].status);
        assert_true(rest_has(&server, cases[i].part));
    }
    assert_int_equal(rest_get_as(&server, PODS "/none", "application/yaml"), 404);
    assert_true(rest_has(&server, "apiVersion: v1\ncode: 404\ndetails:\n  kind: pods\n  name: none\nkind: Status\n"));
    assert_string_equal(server.response.content_type, "application/yaml");
    assert_int_equal(rest_get_as(&server, PODS "?watch=1&timeoutSeconds=1", "application/yaml"), 406);
    rest_get_as(&server, PODS, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
    assert_int_equal(count_of("\"spec\":"), 0);
    assert_int_equal(count_of("\"kind\":\"PartialObjectMetadata\""), 5);
    rest_get(&server, PODS);
    assert_int_equal(count_of("\"kind\""), 1);
}

REST_TEST(discovery_has_both_forms) {
    static const char aggregated[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                                     "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
                                     "application/json";
    assert_int_equal(rest_get_as(&server, "/api", aggregated), 200);
    assert_string_equal(server.response.content_type,
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    assert_true(rest_has(&server, "{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":"
                                  "\"Pod\"},\"scope\":\"Namespaced\",\"singularResource\":\"pod\""));
    assert_int_equal(rest_get_as(&server, "/apis", aggregated), 200);
    assert_true(rest_has(&server, "\"name\":\"apps\""));
    assert_int_equal(rest_get(&server, "/api"), 200);
    assert_true(rest_has(&server, "\"kind\":\"APIVersions\""));
    assert_int_equal(rest_get(&server, "/apis"), 200);
    assert_true(rest_has(&server, "\"kind\":\"APIGroupList\""));
    assert_int_equal(rest_get(&server, "/apis/apps"), 200);
    assert_true(rest_has(&server, "\"preferredVersion\":{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}"));
    assert_int_equal(rest_get(&server, "/apis/apps/v1"), 200);
    assert_true(rest_has(&server, "\"name\":\"deployments\",\"singularName\":\"deployment\""));
    assert_int_equal(rest_get(&server, "/apis/apps/v7"), 404);
    assert_int_equal(rest_get(&server, "/"), 200);
    assert_true(rest_has(&server, "\"/apis/apps/v1\""));
}
