/* test_deletion.c: deletions with finalizers, propagation policies and namespaces. The responses are the real server's,
 * which runs no controllers; a namespace is emptied as its controller would. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"

#include <stdio.h>
#include <string.h>

#define SPACES "/api/v1/namespaces"
#define MAPS SPACES "/a/configmaps"
#define MERGE "application/merge-patch+json"
#define JSON "application/json"

static int set_up(void **state) {
    rest_set_up(state);
    assert_int_equal(rest_post(&server, SPACES, "{\"metadata\":{\"name\":\"a\"}}"), 201);
    return 0;
}

#define DELETION_TEST(name) REST_TEST_WITH(set_up, name)

typedef struct row {
    const char *method;
    const char *target;
    const char *body;
    int status;
    const char *part; /* of the response, or NULL */
} row;

static void check(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        const char *type = strcmp(r->method, "PATCH") == 0 ? MERGE : JSON;
        rest_check(&(rest_row){ r->method, r->target, type, r->body, r->status, r->part }, 1, NULL);
    }
}

DELETION_TEST(a_policy_says_which_finalizers_keep_an_object) {
    static const struct {
        const char *finalizers; /* that it has */
        const char *query;
        const char *options;
        const char *kept; /* the finalizers that it has then; NULL: it is gone */
    } cases[] = {
        { "", "", NULL, NULL },
        { "", "", "{\"propagationPolicy\":\"Background\"}", NULL },
        { "", "", "{\"propagationPolicy\":\"Foreground\"}", "[\"foregroundDeletion\"]" },
        { "", "", "{\"propagationPolicy\":\"Orphan\"}", "[\"orphan\"]" },
        { "", "", "{\"orphanDependents\":true}", "[\"orphan\"]" },
        { "", "", "{\"orphanDependents\":false}", NULL },
        { "", "?propagationPolicy=Foreground", NULL, "[\"foregroundDeletion\"]" },
        { "", "?propagationPolicy=Foreground", "{}", NULL },
        { "", "?orphanDependents=true", NULL, "[\"orphan\"]" },
        { "\"orphan\"", "", NULL, "[\"orphan\"]" },
        { "\"orphan\"", "?propagationPolicy=Background", NULL, NULL },
        { "\"foregroundDeletion\"", "", NULL, "[\"foregroundDeletion\"]" },
        { "\"foregroundDeletion\"", "?propagationPolicy=Orphan", NULL, "[\"orphan\"]" },
        { "\"example.com/z\"", "?propagationPolicy=Foreground", NULL, "[\"example.com/z\",\"foregroundDeletion\"]" },
        { "\"example.com/z\"", "", NULL, "[\"example.com/z\"]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256], target[128];
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m%zu\",\"finalizers\":[%s]}}", i, cases[i].finalizers);
        snprintf(target, sizeof target, MAPS "/m%zu%s", i, cases[i].query);
        assert_int_equal(rest_post(&server, MAPS, body), 201);
        assert_int_equal(rest_send(&server, "DELETE", target, JSON, cases[i].options), 200);
        snprintf(target, sizeof target, MAPS "/m%zu", i);
        assert_int_equal(rest_get(&server, target), cases[i].kept ? 200 : 404);
        if (!cases[i].kept)
            continue;
        assert_true(rest_has(&server, "\"deletionGracePeriodSeconds\":0"));
        snprintf(body, sizeof body, "\"finalizers\":%s", cases[i].kept);
        assert_true(rest_has(&server, body));
    }
}

DELETION_TEST(a_later_policy_replaces_an_earlier_one) {
    static const row rows[] = {
        { "POST", MAPS, "{\"metadata\":{\"name\":\"m\"}}", 201, NULL },
        { "DELETE", MAPS "/m?propagationPolicy=Foreground&dryRun=All", NULL, 200, "foregroundDeletion" },
        { "DELETE", MAPS "/m?propagationPolicy=Foreground", NULL, 200, "[\"foregroundDeletion\"]" },
        { "DELETE", MAPS "/m?propagationPolicy=Orphan", NULL, 200, "[\"orphan\"]" },
        { "DELETE", MAPS "/m", NULL, 200, "[\"orphan\"]" },
        { "DELETE", MAPS "/m?propagationPolicy=Background", NULL, 200, "\"status\":\"Success\"" },
        { "GET", MAPS "/m", NULL, 404, NULL },
    };
    check(rows, sizeof rows / sizeof rows[0]);
}

DELETION_TEST(jobs_orphan_their_pods_and_say_so) {
    static const char job[] =
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":"
        "[{\"name\":\"c\",\"image\":\"i\"}]}}}}";
#define JOBS "/apis/batch/v1/namespaces/a/jobs"
    assert_int_equal(rest_post(&server, JOBS, job), 201);
    assert_int_equal(rest_send(&server, "DELETE", JOBS "/j", NULL, NULL), 200);
    assert_true(rest_has(&server, "\"finalizers\":[\"orphan\"]"));
    assert_non_null(strstr(server.response.warnings.data, "child pods are preserved by default when jobs are deleted"));
    assert_int_equal(rest_send(&server, "DELETE", JOBS "/j?propagationPolicy=Background", NULL, NULL), 200);
    assert_int_equal(server.response.warnings.size, 0);
    assert_int_equal(rest_get(&server, JOBS "/j"), 404);
}

DELETION_TEST(wrong_options_are_rejected) {
    static const row rows[] = {
        { "POST", MAPS, "{\"metadata\":{\"name\":\"m\"}}", 201, NULL },
        { "DELETE", MAPS "/m", "{\"propagationPolicy\":\"Bad\"}", 422,
          "DeleteOptions.meta.k8s.io \\\"\\\" is invalid: propagationPolicy: Unsupported value: \\\"Bad\\\": supported "
          "values: \\\"Foreground\\\", \\\"Background\\\", \\\"Orphan\\\", \\\"nil\\\"" },
        { "DELETE", MAPS "/m", "{\"propagationPolicy\":\"\"}", 422, "Unsupported value: \\\"\\\"" },
        { "DELETE", MAPS "/m", "{\"propagationPolicy\":\"Orphan\",\"orphanDependents\":true}", 422,
          "propagationPolicy: Invalid value: \\\"Orphan\\\": orphanDependents and deletionPropagation cannot be both "
          "set" },
        { "DELETE", MAPS "/m", "{\"dryRun\":[\"No\"]}", 422,
          "dryRun: Unsupported value: [\\\"No\\\"]: supported values: \\\"All\\\"" },
        { "GET", MAPS "/m", NULL, 200, NULL },
    };
    check(rows, sizeof rows / sizeof rows[0]);
}

DELETION_TEST(a_deleted_object_gets_no_further_finalizers) {
    static const row rows[] = {
        { "POST", MAPS, "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"example.com/a\",\"example.com/b\"]}}", 201,
          NULL },
        { "DELETE", MAPS "/m", NULL, 200, NULL },
        { "PATCH", MAPS "/m", "{\"metadata\":{\"finalizers\":[\"example.com/a\",\"example.com/d\",\"example.com/c\"]}}",
          422,
          "ConfigMap \\\"m\\\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the "
          "object is being deleted, found new finalizers []string{\\\"example.com/c\\\", \\\"example.com/d\\\"}" },
        { "PATCH", MAPS "/m", "{\"metadata\":{\"finalizers\":[\"example.com/b\",\"example.com/a\"]}}", 200, NULL },
        { "PATCH", MAPS "/m", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 200, NULL },
        { "PATCH", MAPS "/m", "{\"metadata\":{\"finalizers\":[\"example.com/b\"]}}", 200, NULL },
        { "PATCH", MAPS "/m", "{\"metadata\":{\"finalizers\":null}}", 200, NULL },
        { "GET", MAPS "/m", NULL, 404, NULL },
    };
    check(rows, sizeof rows / sizeof rows[0]);
}

enum {
    FINALIZERS = 150000
};

static void append_finalizers(ki_buffer *text, int first, int step) {
    ki_buffer_init(text, &ki_allocator_default, 0);
    ki_buffer_append_string(text, "{\"metadata\":{\"name\":\"m\",\"finalizers\":[");
    for (int i = 0; i < FINALIZERS; i++)
        ki_buffer_printf(text, "%s\"a.b/c%d\"", i ? "," : "", first + i * step);
    ki_buffer_append_string(text, "]}}");
}

/* Compared each with each, these take more than a minute. */
DELETION_TEST(a_deleted_object_may_have_many_finalizers) {
    ki_buffer rising, falling;
    append_finalizers(&rising, 0, 1);
    append_finalizers(&falling, FINALIZERS, -1);
    assert_int_equal(rest_send(&server, "POST", MAPS, JSON, rising.data), 201);
    assert_int_equal(rest_send(&server, "DELETE", MAPS "/m", NULL, NULL), 200);
    assert_int_equal(rest_send(&server, "PATCH", MAPS "/m", MERGE, falling.data), 422);
    assert_true(rest_has(&server, "found new finalizers []string{\\\"a.b/c150000\\\"}"));
    ki_buffer_free(&rising);
    ki_buffer_free(&falling);
}

#define OWNER(more) "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"u\"" more "}"

DELETION_TEST(the_removal_of_the_last_finalizer_returns_the_object_without_it) {
    static const char *const queries[] = { "/m?dryRun=All", "/m" };
    static const row rows[] = {
        { "POST", MAPS, "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"example.com/a\"]}}", 201, NULL },
        { "DELETE", MAPS "/m", NULL, 200, "deletionTimestamp" },
    };
    check(rows, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < 2; i++) {
        char target[128];
        snprintf(target, sizeof target, MAPS "%s", queries[i]);
        assert_int_equal(
            rest_send(&server, "PATCH", target, MERGE, "{\"metadata\":{\"finalizers\":null,\"labels\":{\"a\":\"b\"}}}"),
            200);
        assert_true(rest_has(&server, "\"deletionTimestamp\""));
        assert_true(rest_has(&server, "\"labels\":{\"a\":\"b\"}"));
        assert_null(strstr(server.text.data, "\"finalizers\":["));
    }
    assert_int_equal(rest_get(&server, MAPS "/m"), 404);
}

DELETION_TEST(finalizers_and_owner_references_are_checked) {
    static const struct {
        const char *meta;
        const char *part; /* NULL: it is taken */
    } cases[] = {
        { "\"finalizers\":[\"kubernetes\",\"example.com/a\"]", NULL },
        { "\"finalizers\":[\"bad\"]",
          "ConfigMap \\\"m\\\" is invalid: metadata.finalizers[0]: Invalid value: \\\"bad\\\": name is neither a "
          "standard finalizer name nor is it fully qualified" },
        { "\"finalizers\":[\"a b/c\"]", "metadata.finalizers: Invalid value: \\\"a b/c\\\": prefix part a lowercase" },
        { "\"finalizers\":[\"orphan\",\"foregroundDeletion\"]",
          "metadata.finalizers: Invalid value: [\\\"orphan\\\",\\\"foregroundDeletion\\\"]: finalizer orphan and "
          "foregroundDeletion cannot be both set" },
        { "\"ownerReferences\":[" OWNER("") "]", NULL },
        { "\"ownerReferences\":[{\"apiVersion\":\"v1\"}]",
          "[metadata.ownerReferences[0].kind: Required value: must not be empty, metadata.ownerReferences[0].name: "
          "Required value: must not be empty, metadata.ownerReferences[0].uid: Required value: must not be empty]" },
        { "\"ownerReferences\":[{\"apiVersion\":\"a/b/c\",\"kind\":\"K\",\"name\":\"x\",\"uid\":\"u\"}]",
          "metadata.ownerReferences[0].apiVersion: Invalid value: \\\"a/b/c\\\": must be <group>/<version> or "
          "<version>" },
        { "\"ownerReferences\":[" OWNER("") ",{\"apiVersion\":\"a/\",\"kind\":\"K\",\"name\":\"x\",\"uid\":\"u\"}]",
          "metadata.ownerReferences[1].apiVersion: Invalid value: \\\"a/\\\": must be <group>/<version> or <version>" },
        { "\"ownerReferences\":[{\"apiVersion\":\"\",\"kind\":\"K\",\"name\":\"x\",\"uid\":\"u\"}]",
          "metadata.ownerReferences[0].apiVersion: Required value: must not be empty" },
        { "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"x\",\"uid\":\"u\"}]",
          "metadata.ownerReferences[0]: Invalid value: {\\\"apiVersion\\\":\\\"v1\\\",\\\"kind\\\":\\\"Event\\\","
          "\\\"name\\\":\\\"x\\\",\\\"uid\\\":\\\"u\\\"}: /v1, Kind=Event is disallowed from being an owner" },
        { "\"ownerReferences\":[" OWNER(",\"controller\":true") "," OWNER(",\"controller\":true") "]",
          "Only one reference can have Controller set to true. Found \\\"true\\\" in references for Pod/x and Pod/x" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"metadata\":{\"name\":\"m\",%s}}", cases[i].meta);
        assert_int_equal(rest_post(&server, MAPS "?dryRun=All", body), cases[i].part ? 422 : 201);
        if (cases[i].part)
            assert_true(rest_has(&server, cases[i].part));
    }
}

DELETION_TEST(a_deleted_namespace_stays_until_it_is_empty) {
    static const row rows[] = {
        { "POST", MAPS, "{\"metadata\":{\"name\":\"kept\",\"finalizers\":[\"example.com/a\"]}}", 201, NULL },
        { "POST", MAPS, "{\"metadata\":{\"name\":\"other\"}}", 201, NULL },
        { "DELETE", SPACES "/a", NULL, 200, "\"status\":{\"phase\":\"Terminating\"}" },
        { "GET", SPACES "/a", NULL, 200, "\"spec\":{\"finalizers\":[\"kubernetes\"]}" },
        { "GET", MAPS "/other", NULL, 404, NULL },
        { "POST", MAPS, "{\"metadata\":{\"name\":\"late\"}}", 403,
          "configmaps \\\"late\\\" is forbidden: unable to create new content in namespace a because it is being "
          "terminated" },
        { "POST", MAPS, "{\"metadata\":{\"name\":\"LATE\"}}", 403, "\"message\":\"namespace a is being terminated\"" },
        { "PATCH", MAPS "/kept", "{\"data\":{\"a\":\"b\"}}", 200, NULL },
        { "DELETE", SPACES "/a", NULL, 200, "Terminating" },
        { "PATCH", MAPS "/kept", "{\"metadata\":{\"finalizers\":null}}", 200, NULL },
        { "GET", SPACES "/a", NULL, 404, NULL },
    };
    check(rows, sizeof rows / sizeof rows[0]);
}

DELETION_TEST(a_namespace_s_own_finalizers_keep_it) {
    static const row rows[] = {
        { "PATCH", SPACES "/a", "{\"metadata\":{\"finalizers\":[\"example.com/a\"]}}", 200, NULL },
        { "DELETE", SPACES "/a", NULL, 200, "Terminating" },
        { "GET", SPACES "/a", NULL, 200, "\"spec\":{}" },
        { "PUT", SPACES "/a", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"example.com/a\"]}}", 200,
          "\"spec\":{}" },
        { "PATCH", SPACES "/a", "{\"metadata\":{\"finalizers\":null}}", 200, NULL },
        { "GET", SPACES "/a", NULL, 404, NULL },
        { "POST", SPACES,
          "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"finalizers\":[\"example.com/q\",\"kubernetes\"]}}", 201, NULL },
        { "DELETE", SPACES "/b", NULL, 200, "Terminating" },
        { "GET", SPACES "/b", NULL, 200, "\"spec\":{\"finalizers\":[\"example.com/q\"]}" },
        { "PUT", SPACES "/b/finalize", "{\"metadata\":{\"name\":\"b\"},\"spec\":{}}", 200, NULL },
        { "GET", SPACES "/b", NULL, 404, NULL },
    };
    check(rows, sizeof rows / sizeof rows[0]);
}
