/* test_auth.c: who is let in to the test server, what they may do there, and what they are told. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "testing/access/rbac.h"
#include "testing/values/spec.h"

#include <stdio.h>
#include <string.h>

static kt_user as; /* in whose name `ask` asks */

static int set_up(void **state) {
    as = (kt_user){ 0 };
    return rest_set_up(state);
}

#define AUTH_TEST(name) REST_TEST_WITH(set_up, name)

static void give_token(const char *line) {
    assert_int_equal(kt_auth_add_token(kt_cluster_auth(server.cluster), line, NULL), KI_OK);
}

static void add_rule(const char *line) {
    assert_int_equal(kt_auth_add_rule(kt_cluster_auth(server.cluster), line, NULL), KI_OK);
}

/* A request through the network, with this header and type of its body. */
static int ask_with(const char *authorization, const char *method, const char *target, const char *type,
                    const char *body) {
    const kt_request request = { .method = method,
                                 .target = target,
                                 .content_type = type,
                                 .user_agent = "tests/1.0",
                                 .body = ki_str_of(body),
                                 .authorization = authorization,
                                 .as = as,
                                 .from_network = true };
    return rest_request(&server, &request);
}

static int ask(const char *authorization, const char *method, const char *target, const char *body) {
    return ask_with(authorization, method, target, body ? "application/json" : NULL, body);
}

AUTH_TEST(authorization_reads_a_request_as_it_is_carried_out) {
    static const struct {
        const char *query;
        int watcher, lister; /* what each of them gets */
    } rows[] = {
        { "", 403, 200 },
        { "?watch=true", 200, 403 },
        { "?watch=1", 200, 403 },
        { "?watch", 200, 403 },
        { "?watch=no", 200, 403 },
        { "?watch=false", 403, 200 },
        { "?watch=False", 403, 200 },
        { "?watch=fALSE", 403, 200 },
        { "?watch=0", 403, 200 },
        { "?watch=true&watch=false", 200, 403 },
        { "?watch=false&watch=true", 403, 200 },
        { "?w%61tch=true", 200, 403 },
    };
    give_token("token=w,user=watcher");
    give_token("token=l,user=lister");
    add_rule("user=watcher,verb=watch,resource=pods");
    add_rule("user=lister,verb=list,resource=pods");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[64];
        snprintf(target, sizeof target, "/api/v1/pods%s", rows[i].query);
        assert_int_equal(ask("Bearer w", "GET", target, NULL), rows[i].watcher);
        assert_true(rows[i].watcher == 403 || server.response.watch);
        assert_int_equal(ask("Bearer l", "GET", target, NULL), rows[i].lister);
        assert_true(!server.response.watch);
    }
}

AUTH_TEST(who_may_only_patch_does_not_create) {
    static const char map[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}";
    static const char target[] = "/api/v1/namespaces/default/configmaps/a?fieldManager=m";
    give_token("token=p,user=patcher");
    give_token("token=c,user=creator");
    add_rule("user=patcher,verb=patch,resource=configmaps");
    add_rule("user=creator,verb=patch+create,resource=configmaps");
    assert_int_equal(ask_with("Bearer p", "PATCH", target, "application/apply-patch+yaml", map), 403);
    assert_true(rest_has(&server, "configmaps \\\"a\\\" is forbidden: User \\\"patcher\\\" cannot create resource "
                                  "\\\"configmaps\\\" in API group \\\"\\\" in the namespace \\\"default\\\""));
    assert_int_equal(ask_with("Bearer c", "PATCH", target, "application/apply-patch+yaml", map), 201);
    assert_int_equal(ask_with("Bearer p", "PATCH", target, "application/apply-patch+yaml", map), 200);
}

AUTH_TEST(a_user_in_many_groups_can_be_impersonated) {
    static char names[60][16];
    give_token("token=a,user=admin,groups=system:masters");
    give_token("token=b,user=other");
    add_rule("user=other,verb=get,resource=pods");
    as.name = KI_STR("jane");
    for (size_t i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "group-%zu", i);
        kt_user_join(&as, ki_str_of(names[i]));
    }
    kt_user_join(&as, KI_STR("system:masters"));
    assert_int_equal(ask("Bearer a", "GET", "/api/v1/pods", NULL), 200);
    for (size_t i = 0; i < KT_GROUPS_MAX; i++)
        kt_user_join(&as, KI_STR("more"));
    assert_int_equal(ask("Bearer a", "GET", "/api/v1/pods", NULL), 400);
}

AUTH_TEST(a_server_without_tokens_lets_everybody_in) {
    assert_int_equal(ask(NULL, "GET", "/api/v1/pods", NULL), 200);
    assert_int_equal(ask("Bearer whatever", "GET", "/api/v1/pods", NULL), 200);
}

/* A page of another site in a browser on the same machine sends its own name as Host (DNS rebinding), or as Origin. */
AUTH_TEST(a_server_without_tokens_rejects_foreign_web_pages) {
    static const struct {
        const char *host, *origin;
        int status;
    } rows[] = {
        { NULL, NULL, 200 },
        { "localhost:8080", NULL, 200 },
        { "LOCALHOST", NULL, 200 },
        { "127.0.0.1:8080", NULL, 200 },
        { "127.1.2.3", NULL, 200 },
        { "[::1]:8080", NULL, 200 },
        { "[::1]", NULL, 200 },
        { "192.168.1.2:8080", NULL, 200 },
        { "[fd00::1]:8080", NULL, 200 },
        { "evil.example", NULL, 403 },
        { "evil.example:8080", NULL, 403 },
        { "localhost.evil.example", NULL, 403 },
        { "127.0.0.1.evil.example:8080", NULL, 403 },
        { "[::1].evil.example", NULL, 403 },
        { "[::1", NULL, 403 },
        { "", NULL, 403 },
        { "localhost:8080", "http://localhost:8080", 200 },
        { "localhost:8080", "http://localhost:3000", 200 },
        { "localhost:8080", "https://127.0.0.1", 200 },
        { "127.0.0.1:8080", "http://[::1]:3000", 200 },
        { "192.168.1.2:8080", "http://192.168.1.2:8080", 200 },
        { "192.168.1.2:8080", "http://192.168.1.2:3000", 403 },
        { "192.168.1.2:8080", "http://192.168.1.3:8080", 403 },
        { "localhost:8080", "http://evil.example", 403 },
        { "localhost:8080", "http://evil.example:8080", 403 },
        { "localhost:8080", "http://6.6.6.6", 403 },
        { "localhost:8080", "null", 403 },
        { "localhost:8080", "", 403 },
        { NULL, "http://evil.example", 403 },
    };
    static const char *const targets[] = { "/api/v1/pods", "/version", "/_faults" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
            const kt_request request = { .method = "GET",
                                         .target = targets[k],
                                         .host = rows[i].host,
                                         .origin = rows[i].origin,
                                         .is_local = true,
                                         .from_network = true };
            int status = rest_request(&server, &request);
            if (status != rows[i].status)
                fail_msg("%s from Host %s, Origin %s: %d", targets[k], rows[i].host, rows[i].origin, status);
        }
    }
}

AUTH_TEST(a_token_lets_in_from_any_page) {
    give_token("token=abc,user=jane");
    const kt_request request = { .method = "GET",
                                 .target = "/api/v1/pods",
                                 .authorization = "Bearer abc",
                                 .host = "kinformer.example",
                                 .origin = "https://dashboard.example",
                                 .from_network = true };
    assert_int_equal(rest_request(&server, &request), 200);
}

AUTH_TEST(a_token_says_who_it_is) {
    give_token("token=abc,user=jane,groups=dev+ops,uid=7");
    assert_int_equal(ask("Bearer abc", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}"), 201);
    assert_true(rest_has(&server, "\"userInfo\":{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[\"dev\",\"ops\","
                                  "\"system:authenticated\"]}"));
    assert_int_equal(ask("bearer  abc", "GET", "/api/v1/pods", NULL), 200);
}

AUTH_TEST(a_wrong_or_revoked_token_is_401) {
    give_token("token=abc,user=jane");
    assert_int_equal(ask("Bearer abd", "GET", "/api/v1/pods", NULL), 401);
    assert_true(rest_has(&server, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                                  "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}"));
    assert_int_equal(kt_auth_remove_token(kt_cluster_auth(server.cluster), "abc", NULL), KI_OK);
    assert_int_equal(ask("Bearer abc", "GET", "/api/v1/pods", NULL), 401);
    assert_int_equal(kt_auth_remove_token(kt_cluster_auth(server.cluster), "abc", NULL), KI_ERR_NOT_FOUND);
}

static void be_as(const char *name, const char *group, const char *uid) {
    as = (kt_user){ .name = ki_str_of(name), .uid = ki_str_of(uid) };
    kt_user_join(&as, ki_str_of(group));
}

static const char who[] = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
static const char accounts[] = "/api/v1/namespaces/default/serviceaccounts";

static void make_robot(void) {
    assert_int_equal(ask("Bearer m", "POST", accounts, "{\"metadata\":{\"name\":\"robot\"}}"), 201);
}

static void token_of_robot(char header[2048]) {
    assert_int_equal(ask("Bearer m", "POST", "/api/v1/namespaces/default/serviceaccounts/robot/token",
                         "{\"spec\":{\"expirationSeconds\":600}}"),
                     201);
    const char *token = strstr(server.text.data, "\"token\":\"") + strlen("\"token\":\"");
    snprintf(header, 2048, "Bearer %.*s", (int)strcspn(token, "\""), token);
}

AUTH_TEST(a_service_account_s_token_lets_it_in) {
    char first[2048], header[2048];
    give_token("token=m,user=root,groups=system:masters");
    make_robot();
    token_of_robot(first);
    token_of_robot(header);
    assert_string_not_equal(first, header); /* at one time, too */
    assert_int_equal(ask(first, "POST", who, "{}"), 201);
    assert_int_equal(ask(header, "POST", who, "{}"), 201);
    assert_true(rest_has(&server, "\"username\":\"system:serviceaccount:default:robot\""));
    assert_true(rest_has(&server, "\"groups\":[\"system:serviceaccounts\",\"system:serviceaccounts:default\","
                                  "\"system:authenticated\"]"));
}

AUTH_TEST(a_service_account_s_token_ends_when_it_says) {
    char header[2048], review[4096];
    give_token("token=m,user=root,groups=system:masters");
    make_robot();
    token_of_robot(header);
    snprintf(review, sizeof review, "{\"spec\":{\"token\":\"%s\"}}", header + 7);
    server.now_ms += 599 * 1000;
    assert_int_equal(ask(header, "POST", who, "{}"), 201);
    assert_int_equal(ask("Bearer m", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review), 201);
    assert_true(rest_has(&server, "\"authenticated\":true"));
    server.now_ms += 1000;
    assert_int_equal(ask(header, "POST", who, "{}"), 401);
    assert_int_equal(ask("Bearer m", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review), 201);
    assert_true(rest_has(&server, "\"error\":"));
    size_t count = kt_cluster_auth(server.cluster)->token_count;
    token_of_robot(header);
    assert_int_equal(kt_cluster_auth(server.cluster)->token_count, count); /* the one that ended is forgotten */
}

AUTH_TEST(a_service_account_s_token_goes_with_it) {
    char header[2048], other[2048];
    give_token("token=m,user=root,groups=system:masters");
    make_robot();
    token_of_robot(header);
    assert_int_equal(ask(header, "POST", who, "{}"), 201);
    assert_int_equal(ask("Bearer m", "DELETE", "/api/v1/namespaces/default/serviceaccounts/robot", NULL), 200);
    assert_int_equal(ask(header, "POST", who, "{}"), 401);
    make_robot();
    assert_int_equal(ask(header, "POST", who, "{}"), 401); /* another one of the same name */
    token_of_robot(other);
    assert_int_equal(ask(other, "POST", who, "{}"), 201);
}

AUTH_TEST(who_may_impersonate_is_whom_it_says) {
    give_token("token=m,user=root,groups=system:masters");
    add_rule("user=jane,verb=get,resource=pods");
    be_as("jane", "dev", "7");
    assert_int_equal(ask("Bearer m", "POST", who, "{}"), 201);
    assert_true(rest_has(&server, "\"userInfo\":{\"username\":\"jane\",\"uid\":\"7\",\"groups\":[\"dev\","
                                  "\"system:authenticated\"]}"));
    assert_int_equal(ask("Bearer m", "GET", "/api/v1/namespaces/default/pods/x", NULL), 404);
    assert_int_equal(ask("Bearer m", "GET", "/api/v1/pods", NULL), 403);
    assert_true(rest_has(&server, "User \\\"jane\\\" cannot list"));
    be_as("system:anonymous", "", "");
    assert_int_equal(ask("Bearer m", "GET", "/api", NULL), 403);
    be_as("system:serviceaccount:web:robot", "", "");
    assert_int_equal(ask("Bearer m", "POST", who, "{}"), 201);
    assert_true(rest_has(&server, "\"groups\":[\"system:serviceaccounts\",\"system:serviceaccounts:web\","
                                  "\"system:authenticated\"]}"));
    be_as("", "dev", "");
    assert_int_equal(ask("Bearer m", "GET", "/api/v1/pods", NULL), 500);
}

AUTH_TEST(a_user_that_may_not_impersonate_is_rejected) {
    give_token("token=j,user=jane");
    add_rule("user=jane,verb=impersonate,resource=users,name=joe");
    add_rule("user=joe,verb=list,resource=pods");
    be_as("joe", "", "");
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 200);
    be_as("root", "", "");
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
    assert_true(rest_has(&server, "users \\\"root\\\" is forbidden: User \\\"jane\\\" cannot impersonate resource "
                                  "\\\"users\\\" in API group \\\"\\\" at the cluster scope"));
    be_as("joe", "system:masters", "");
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
    assert_true(rest_has(&server, "groups \\\"system:masters\\\" is forbidden"));
    be_as("joe", "", "7");
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
    assert_true(rest_has(&server, "uids.authentication.k8s.io \\\"7\\\" is forbidden"));
    be_as("system:serviceaccount:web:robot", "", "");
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
    assert_true(rest_has(&server, "serviceaccounts \\\"robot\\\" is forbidden"));
    assert_true(rest_has(&server, "in the namespace \\\"web\\\""));
}

AUTH_TEST(nobody_is_anonymous_and_sees_only_health_and_version) {
    give_token("token=abc,user=jane");
    assert_int_equal(ask(NULL, "GET", "/version", NULL), 200);
    assert_int_equal(ask(NULL, "GET", "/readyz", NULL), 200);
    assert_int_equal(ask(NULL, "GET", "/api", NULL), 403);
    assert_true(rest_has(&server, "forbidden: User \\\"system:anonymous\\\" cannot get path \\\"/api\\\""));
    assert_int_equal(ask("Basic abc", "GET", "/api/v1/pods", NULL), 403);
}

AUTH_TEST(a_certificate_that_nobody_signed_is_401) {
    kt_request request = { .method = "GET", .target = "/version", .from_network = true, .bad_certificate = true };
    give_token("token=abc,user=jane");
    ask(NULL, "GET", "/version", NULL);
    kt_response_free(&server.response);
    assert_int_equal(kt_rest_handle(server.cluster, &request, 0, &server.response), KI_OK);
    assert_int_equal(server.response.status, 401);
}

AUTH_TEST(rules_say_who_may_do_what) {
    static const struct {
        const char *token, *method, *target;
        int status;
        const char *message; /* where it is 403 */
    } rows[] = {
        { "Bearer r", "GET", "/api/v1/namespaces/default/pods", 200, NULL },
        { "Bearer r", "GET", "/api/v1/namespaces/default/pods/x", 404, NULL },
        { "Bearer r", "GET", "/api/v1/pods", 403,
          "pods is forbidden: User \\\"reader\\\" cannot list resource \\\"pods\\\" in API group \\\"\\\" at the "
          "cluster scope" },
        { "Bearer r", "GET", "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=1", 403,
          "cannot watch resource \\\"pods\\\"" },
        { "Bearer r", "DELETE", "/api/v1/namespaces/default/pods/web", 403,
          "pods \\\"web\\\" is forbidden: User \\\"reader\\\" cannot delete resource \\\"pods\\\" in API group "
          "\\\"\\\" in the namespace \\\"default\\\"" },
        { "Bearer r", "PATCH", "/apis/apps/v1/namespaces/a/deployments/web/status", 403,
          "deployments.apps \\\"web\\\" is forbidden: User \\\"reader\\\" cannot patch resource "
          "\\\"deployments/status\\\" in API group \\\"apps\\\" in the namespace \\\"a\\\"" },
        { "Bearer r", "GET", "/api/v1/namespaces/default", 403,
          "cannot get resource \\\"namespaces\\\" in API group \\\"\\\" in the namespace \\\"default\\\"" },
        { "Bearer r", "GET", "/apis", 200, NULL },
        { "Bearer d", "GET", "/apis/apps/v1/deployments", 200, NULL },
        { "Bearer d", "GET", "/apis/apps/v1/replicasets", 403, "cannot list resource \\\"replicasets\\\"" },
        { "Bearer d", "GET", "/api/v1/namespaces/a/configmaps/one", 404, NULL },
        { "Bearer d", "GET", "/api/v1/namespaces/a/configmaps/two", 403, "configmaps \\\"two\\\" is forbidden" },
        { "Bearer d", "GET", "/api/v1/namespaces/a/configmaps", 403, "configmaps is forbidden" },
        { "Bearer m", "GET", "/api/v1/secrets", 200, NULL },
    };
    give_token("token=r,user=reader");
    give_token("token=d,user=dan,groups=dev");
    give_token("token=m,user=root,groups=system:masters");
    add_rule("user=reader,verb=get+list,resource=pods,namespace=default");
    add_rule("group=dev,resource=deployments.*");
    add_rule("group=dev,verb=get,resource=configmaps,namespace=a,name=one");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = ask(rows[i].token, rows[i].method, rows[i].target, NULL);
        if (status != rows[i].status)
            fail_msg("%s %s: %d, not %d", rows[i].method, rows[i].target, status, rows[i].status);
        if (rows[i].message)
            assert_true(rest_has(&server, rows[i].message));
    }
    kt_auth_clear_rules(kt_cluster_auth(server.cluster));
    assert_int_equal(ask("Bearer r", "DELETE", "/api/v1/namespaces/default/pods/web", NULL), 404);
}

AUTH_TEST(roles_and_bindings_decide_with_rbac) {
    give_token("token=j,user=jane");
    give_token("token=s,user=system:serviceaccount:a:bot");
    kt_cluster_auth(server.cluster)->rbac = true;
    assert_int_equal(kt_rbac_add_defaults(server.cluster, server.now_ms, NULL), KI_OK);
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/namespaces/a/pods", NULL), 403);
    assert_int_equal(rest_post(&server, "/api/v1/namespaces", "{\"metadata\":{\"name\":\"a\"}}"), 201);
    assert_int_equal(rest_post(&server, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles",
                               "{\"metadata\":{\"name\":\"pods\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":["
                               "\"pods\"],\"verbs\":[\"list\",\"watch\"]}]}"),
                     201);
    assert_int_equal(rest_post(&server, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings",
                               "{\"metadata\":{\"name\":\"j\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s."
                               "io\",\"kind\":\"Role\",\"name\":\"pods\"},\"subjects\":[{\"kind\":\"User\",\"name\":"
                               "\"jane\"},{\"kind\":\"ServiceAccount\",\"name\":\"bot\",\"namespace\":\"a\"}]}"),
                     201);
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/namespaces/a/pods", NULL), 200);
    assert_int_equal(ask("Bearer s", "GET", "/api/v1/namespaces/a/pods", NULL), 200);
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
    assert_int_equal(ask("Bearer j", "GET", "/apis", NULL), 200);
    assert_int_equal(ask(NULL, "GET", "/apis", NULL), 403);
    assert_int_equal(ask("Bearer j", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                         "{\"spec\":{\"resourceAttributes\":{\"namespace\":\"a\",\"verb\":\"list\",\"resource\":"
                         "\"pods\"}}}"),
                     201);
    assert_true(rest_has(&server, "\"status\":{\"allowed\":true,\"reason\":\"RBAC: allowed by RoleBinding \\\"j/a\\\" "
                                  "of Role \\\"pods\\\" to User \\\"jane\\\"\"}"));
    assert_int_equal(ask("Bearer j", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                         "{\"spec\":{\"namespace\":\"a\"}}"),
                     201);
    assert_true(rest_has(&server, "{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"list\",\"watch\"]}"));
    assert_int_equal(
        rest_send(&server, "DELETE", "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/j", NULL, NULL),
        200);
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/namespaces/a/pods", NULL), 403);
}

#define RBAC_PATH "/apis/rbac.authorization.k8s.io/v1"
#define OF_ALL \
    "\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"}"

/* registry/rbac/validation, appliesToUser */
AUTH_TEST(a_binding_of_the_user_star_is_of_a_user_with_that_name) {
    give_token("token=j,user=jane");
    give_token("token=s,user=*");
    kt_cluster_auth(server.cluster)->rbac = true;
    assert_int_equal(kt_rbac_add_defaults(server.cluster, server.now_ms, NULL), KI_OK);
    assert_int_equal(rest_post(&server, RBAC_PATH "/clusterrolebindings",
                               "{\"metadata\":{\"name\":\"all\"}," OF_ALL
                               ",\"subjects\":[{\"kind\":\"User\",\"name\":\"*\"}]}"),
                     201);
    assert_int_equal(ask("Bearer s", "GET", "/api/v1/pods", NULL), 200);
    assert_int_equal(ask("Bearer j", "GET", "/api/v1/pods", NULL), 403);
}

AUTH_TEST(a_service_account_without_a_namespace_is_of_its_binding_s) {
    give_token("token=a,user=system:serviceaccount:default:bot");
    give_token("token=b,user=system:serviceaccount:kube-system:bot");
    kt_cluster_auth(server.cluster)->rbac = true;
    assert_int_equal(kt_rbac_add_defaults(server.cluster, server.now_ms, NULL), KI_OK);
    assert_int_equal(rest_post(&server, RBAC_PATH "/namespaces/default/rolebindings",
                               "{\"metadata\":{\"name\":\"b\"}," OF_ALL
                               ",\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"bot\"}]}"),
                     201);
    assert_int_equal(ask("Bearer a", "GET", "/api/v1/namespaces/default/pods", NULL), 200);
    assert_int_equal(ask("Bearer b", "GET", "/api/v1/namespaces/default/pods", NULL), 403);
    assert_int_equal(ask("Bearer a", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                         "{\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"list\",\"resource\":"
                         "\"pods\"}}}"),
                     201);
    assert_true(rest_has(&server, "to ServiceAccount \\\"bot/default\\\"\""));
}

AUTH_TEST(reviews_respond_without_storing_anything) {
    static const char access[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    uint64_t before = kt_cluster_revision(server.cluster);
    give_token("token=r,user=reader");
    give_token("token=m,user=root,groups=system:masters");
    add_rule("user=reader,verb=list,resource=pods");
    assert_int_equal(ask("Bearer r", "POST", access,
                         "{\"spec\":{\"resourceAttributes\":{\"verb\":\"list\",\"resource\":\"pods\"}}}"),
                     201);
    assert_true(rest_has(&server, "\"spec\":{\"resourceAttributes\":{\"verb\":\"list\",\"resource\":\"pods\"}},"
                                  "\"status\":{\"allowed\":true}"));
    assert_int_equal(
        ask("Bearer r", "POST", access, "{\"spec\":{\"resourceAttributes\":{\"verb\":\"get\",\"resource\":\"pods\"}}}"),
        201);
    assert_true(rest_has(&server, "\"status\":{\"allowed\":false}"));
    assert_int_equal(ask("Bearer r", "POST", access, "{\"spec\":{}}"), 422);
    assert_int_equal(ask("Bearer r", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                         "{\"spec\":{\"user\":\"x\",\"nonResourceAttributes\":{\"path\":\"/\",\"verb\":\"get\"}}}"),
                     403);
    assert_int_equal(ask("Bearer m", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                         "{\"spec\":{\"user\":\"reader\",\"resourceAttributes\":{\"verb\":\"list\",\"resource\":"
                         "\"pods\"}}}"),
                     201);
    assert_true(rest_has(&server, "\"allowed\":true"));
    assert_int_equal(
        ask("Bearer m", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", "{\"spec\":{\"token\":\"r\"}}"), 201);
    assert_true(rest_has(&server, "\"authenticated\":true,\"user\":{\"username\":\"reader\""));
    assert_int_equal(
        ask("Bearer m", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", "{\"spec\":{\"token\":\"no\"}}"), 201);
    assert_true(rest_has(&server, "\"error\":"));
    assert_int_equal(kt_cluster_revision(server.cluster), before);
}

AUTH_TEST(wrong_tokens_and_rules_are_rejected_with_a_word) {
    kt_auth *auth = kt_cluster_auth(server.cluster);
    static const char *const tokens[] = { "",
                                          "token=a",
                                          "user=b",
                                          "token=a b,user=c",
                                          "token=,user=c",
                                          "x,token=a,user=c",
                                          "token=a,user=c,colour=red",
                                          "token=a,token=b,user=c" };
    static const char *const rules[] = { "", "verb=get", "user=", "user=a,colour=red", "jane", "user=a,verb" };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(kt_auth_add_token(auth, tokens[i], &err), KI_ERR_INVALID);
        assert_true(ki_error_message(&err)[0]);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        assert_int_equal(kt_auth_add_rule(auth, rules[i], NULL), KI_ERR_INVALID);
    give_token("token=a,user=b");
    assert_int_equal(kt_auth_add_token(auth, "token=a,user=c", NULL), KI_ERR_INVALID);
}

AUTH_TEST(a_rule_that_can_match_no_request_is_rejected_with_the_right_word) {
    static const struct {
        const char *line, *part; /* NULL: the rule is added */
    } rows[] = {
        { "user=a,resource=deployments", "did you mean deployments.apps?" },
        { "user=a,resource=podss", "did you mean pods?" },
        { "user=a,verb=get+lst", "there is no verb \"lst\"; did you mean list?" },
        { "user=a,verb=put,resource=pods", "did you mean update?" },
        { "user=a,verb=list,path=/metrics", "the verb of a path is get or post" },
        { "user=a,path=/metrics,resource=pods", "resource= or path=" },
        { "user=a,path=metrics", "a path begins with /" },
        { "user=a,verb=", "verb= has no value" },
        { "user=a,resource=nodes,namespace=default", "nodes are not in a namespace" },
        { "user=a,resource=usres,verb=impersonate", "there is no resource \"usres\"" },
        { "user=a,resource=users+groups+uids.authentication.k8s.io,verb=impersonate", NULL },
        { "user=a,resource=namespaces,namespace=default,verb=get", NULL },
        { "user=a,resource=foos.example.com,verb=list", NULL },
        { "user=a,resource=roles.rbac.authorization.k8s.io,verb=bind+escalate", NULL },
        { "user=a,path=/metrics,verb=get", NULL },
        { "user=a,verb=*,resource=*", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_status status = kt_auth_add_rule(kt_cluster_auth(server.cluster), rows[i].line, &err);
        if (status != (rows[i].part ? KI_ERR_INVALID : KI_OK))
            fail_msg("'%s': %d %s", rows[i].line, status, ki_error_message(&err));
        if (rows[i].part && !strstr(ki_error_message(&err), rows[i].part))
            fail_msg("'%s': %s", rows[i].line, ki_error_message(&err));
    }
}

AUTH_TEST(only_the_administrator_of_a_server_with_tokens_changes_its_faults) {
    static const struct {
        const char *token;
        int status;
        const char *part;
    } rows[] = {
        { NULL, 403, "forbidden: User \\\"system:anonymous\\\" cannot post path \\\"/_faults\\\"" },
        { "Bearer wrong", 401, "Unauthorized" },
        { "Bearer user", 403, "User \\\"jane\\\" cannot post path" },
        { "Bearer admin", 201, "{\"id\":1}" },
    };
    kt_request request = { .method = "POST",
                           .target = "/_faults",
                           .body = KI_STR("close,verb=list"),
                           .from_network = true,
                           .is_local = true };
    give_token("token=user,user=jane");
    give_token("token=admin,user=root,groups=system:masters");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        request.authorization = rows[i].token;
        assert_int_equal(rest_request(&server, &request), rows[i].status);
        assert_true(rest_has(&server, rows[i].part));
    }
}

AUTH_TEST(tokens_and_rules_have_limits) {
    kt_auth *auth = kt_cluster_auth(server.cluster);
    char line[KT_SPEC_MAX + 64];
    for (int i = 0; i < KT_RULES_MAX; i++)
        assert_int_equal(kt_auth_add_rule(auth, "user=a", NULL), KI_OK);
    assert_int_equal(kt_auth_add_rule(auth, "user=a", NULL), KI_ERR_LIMIT);
    for (int i = 0; i < KT_TOKENS_MAX; i++) {
        snprintf(line, sizeof line, "token=%d,user=a", i);
        assert_int_equal(kt_auth_add_token(auth, line, NULL), KI_OK);
    }
    assert_int_equal(kt_auth_add_token(auth, "token=x,user=a", NULL), KI_ERR_LIMIT);
    kt_auth_remove_token(auth, "5", NULL);
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    memcpy(line, "user=a,token=", 13);
    assert_int_equal(kt_auth_add_token(auth, line, NULL), KI_ERR_LIMIT);
    size_t size = (size_t)sprintf(line, "token=y,user=a,groups=g");
    for (int i = 1; i < KT_GROUPS_MAX; i++)
        size += (size_t)sprintf(line + size, "+g");
    assert_int_equal(kt_auth_add_token(auth, line, NULL), KI_ERR_LIMIT);
}
