/* test_grant.c: what RBAC lets a client list by one name, and which permissions it lets a client grant. The responses
 * are the real server's. */
#include "tests/support/rest_stage.h"
#include "tests/support/test.h"

#include "src/base/memory.h"
#include "testing/access/rbac.h"

#include <string.h>

#define RBAC "/apis/rbac.authorization.k8s.io/v1"
#define ROLES RBAC "/namespaces/a/roles"
#define CLUSTER_ROLES RBAC "/clusterroles"
#define BINDINGS RBAC "/namespaces/a/rolebindings"
#define MAPS "/api/v1/namespaces/a/configmaps"
#define MERGE "application/merge-patch+json"
#define JSON "application/json"

#define RULE(group, resource, names, verbs) \
    "{\"apiGroups\":[" group "],\"resources\":[" resource "]" names ",\"verbs\":[" verbs "]}"
#define ROLE(name, rules) "{\"metadata\":{\"name\":\"" name "\"},\"rules\":[" rules "]}"
#define BINDING(name, kind, role, user) \
    "{\"metadata\":{\"name\":\"" name "\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"" kind \
    "\",\"name\":\"" role \
    "\"},\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"" user "\"}]}"

static void put(const char *target, const char *body) {
    assert_int_equal(rest_post(&server, target, body), 201);
}

/* jane may read one config map of namespace a; bob writes roles, and may read config maps, one deployment, and some
 * paths. */
static int set_up(void **state) {
    rest_set_up(state);
    kt_auth *auth = kt_cluster_auth(server.cluster);
    assert_int_equal(kt_auth_add_token(auth, "token=x,user=x", NULL), KI_OK);
    auth->rbac = true;
    assert_int_equal(kt_rbac_add_defaults(server.cluster, server.now_ms, NULL), KI_OK);
    put("/api/v1/namespaces", "{\"metadata\":{\"name\":\"a\"}}");
    put(ROLES, ROLE("one", RULE("\"\"", "\"configmaps\"", ",\"resourceNames\":[\"app\"]",
                                "\"get\",\"list\",\"watch\",\"deletecollection\"")));
    put(BINDINGS, BINDING("one", "Role", "one", "jane"));
    put(CLUSTER_ROLES,
        ROLE(
            "roler",
            RULE(
                "\"rbac.authorization.k8s.io\"", "\"roles\",\"rolebindings\",\"clusterroles\",\"clusterrolebindings\"",
                "",
                "\"get\",\"create\",\"update\",\"patch\"") "," RULE("\"\"", "\"configmaps\",\"*/scale\"", "",
                                                                    "\"get\",\"list\"") "," RULE("\"apps\"",
                                                                                                 "\"deployments\"",
                                                                                                 ",\"resourceNames\":["
                                                                                                 "\"web\"]",
                                                                                                 "\"get\"") ",{"
                                                                                                            "\"nonResou"
                                                                                                            "rceURLs\":"
                                                                                                            "[\"/"
                                                                                                            "metrics\","
                                                                                                            "\"/x/"
                                                                                                            "*\"],"
                                                                                                            "\"verbs\":"
                                                                                                            "[\"get\"]"
                                                                                                            "}"));
    put(RBAC "/clusterrolebindings", BINDING("roler", "ClusterRole", "roler", "bob"));
    return 0;
}

#define GRANT_TEST(name) REST_TEST_WITH(set_up, name)

GRANT_TEST(a_rule_with_names_allows_a_list_and_a_watch_of_one_of_them) {
    static const rest_row rows[] = {
        { "GET", MAPS "?fieldSelector=metadata.name%3Dapp", NULL, NULL, 200, NULL },
        { "GET", MAPS "?fieldSelector=metadata.name%3D%3Dapp", NULL, NULL, 200, NULL },
        { "GET", MAPS "?fieldSelector=metadata.name%3Dapp&watch=1&timeoutSeconds=1", NULL, NULL, 200, NULL },
        { "GET", MAPS "?fieldSelector=metadata.namespace%3Da,metadata.name%3Dapp", NULL, NULL, 200, NULL },
        { "GET", MAPS, NULL, NULL, 403, "configmaps is forbidden: User \\\"jane\\\" cannot list" },
        { "GET", MAPS "?fieldSelector=metadata.name%3Dother", NULL, NULL, 403,
          "configmaps \\\"other\\\" is forbidden: User \\\"jane\\\" cannot list resource \\\"configmaps\\\"" },
        { "GET", MAPS "?fieldSelector=metadata.name!%3Dapp", NULL, NULL, 403, "configmaps is forbidden" },
        { "GET", MAPS "?fieldSelector=metadata.name%3D..", NULL, NULL, 403, "configmaps is forbidden" },
        { "GET", MAPS "?fieldSelector=metadata.name%3Dapp/x", NULL, NULL, 403, "configmaps is forbidden" },
        { "GET", MAPS "?fieldSelector=metadata.name%3Dapp,bad", NULL, NULL, 403, "configmaps is forbidden" },
        { "DELETE", MAPS "?fieldSelector=metadata.name%3Dapp", NULL, NULL, 403, "configmaps is forbidden" },
        { "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dapp", NULL, NULL, 403, "at the cluster scope" },
    };
    rest_check(rows, sizeof rows / sizeof *rows, "jane");
}

#define MISSING \
    "user \\\"bob\\\" (groups=[\\\"system:authenticated\\\"]) is attempting to grant RBAC permissions not currently " \
    "held:\\n"

GRANT_TEST(nobody_grants_by_a_role_what_they_do_not_hold) {
    static const rest_row rows[] = {
        { "POST", ROLES, JSON, ROLE("r1", RULE("\"\"", "\"configmaps\"", "", "\"get\",\"list\"")), 201, NULL },
        { "POST", ROLES, JSON, ROLE("r2", RULE("\"\"", "\"configmaps\",\"secrets\"", "", "\"get\",\"delete\"")), 403,
          "roles.rbac.authorization.k8s.io \\\"r2\\\" is forbidden: " MISSING
          "{APIGroups:[\\\"\\\"], Resources:[\\\"configmaps\\\"], Verbs:[\\\"delete\\\"]}\\n"
          "{APIGroups:[\\\"\\\"], Resources:[\\\"secrets\\\"], Verbs:[\\\"get\\\" \\\"delete\\\"]}\"" },
        { "POST", ROLES, JSON, ROLE("r2", RULE("\"*\"", "\"*\"", "", "\"*\"")), 403,
          "{APIGroups:[\\\"*\\\"], Resources:[\\\"*\\\"], Verbs:[\\\"*\\\"]}\"" },
        { "POST", ROLES, JSON,
          ROLE("r3", RULE("\"apps\"", "\"deployments\"", ",\"resourceNames\":[\"web\"]", "\"get\"")), 201, NULL },
        { "POST", ROLES, JSON,
          ROLE("r4", RULE("\"apps\"", "\"deployments\"", ",\"resourceNames\":[\"web\",\"x\"]", "\"get\"")), 403,
          "{APIGroups:[\\\"apps\\\"], Resources:[\\\"deployments\\\"], ResourceNames:[\\\"x\\\"], Verbs:[\\\"get\\\"]}"
          "\"" },
        { "POST", CLUSTER_ROLES, JSON, ROLE("r5", "{\"nonResourceURLs\":[\"/metrics\",\"/x/y\"],\"verbs\":[\"get\"]}"),
          201, NULL },
        { "POST", CLUSTER_ROLES, JSON,
          ROLE("r6", "{\"nonResourceURLs\":[\"/metrics\",\"/other\"],\"verbs\":[\"get\",\"post\"]}"), 403,
          "{NonResourceURLs:[\\\"/metrics\\\"], Verbs:[\\\"post\\\"]}\\n{NonResourceURLs:[\\\"/other\\\"], Verbs:["
          "\\\"get\\\"]}\\n{NonResourceURLs:[\\\"/other\\\"], Verbs:[\\\"post\\\"]}\"" },
        { "POST", ROLES, JSON, ROLE("r7", RULE("\"\"", "\"configmaps/status\"", "", "\"get\"")), 403, NULL },
        { "POST", ROLES, JSON, ROLE("r8", RULE("\"\"", "\"pods/scale\"", "", "\"get\"")), 201, NULL },
        { "PUT", ROLES "/r1", JSON, ROLE("r1", RULE("\"\"", "\"configmaps\"", "", "\"get\",\"watch\"")), 403,
          "Verbs:[\\\"watch\\\"]" },
        { "PUT", ROLES "/r1", JSON, ROLE("r1", RULE("\"\"", "\"configmaps\"", "", "\"get\"")), 200, NULL },
        { "PATCH", CLUSTER_ROLES "/cluster-admin", MERGE, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 403,
          "{NonResourceURLs:[\\\"*\\\"], Verbs:[\\\"*\\\"]}" },
        { "POST", CLUSTER_ROLES, JSON, "{\"metadata\":{\"name\":\"ag\"},\"aggregationRule\":{}}", 403,
          "clusterroles.rbac.authorization.k8s.io \\\"ag\\\" is forbidden: must have cluster-admin privileges to use "
          "the aggregationRule" },
    };
    rest_check(rows, sizeof rows / sizeof *rows, "bob");
}

GRANT_TEST(nobody_binds_a_role_with_more_than_they_hold) {
    put(ROLES, ROLE("mine", RULE("\"\"", "\"configmaps\"", "", "\"list\"")));
    static const rest_row rows[] = {
        { "POST", BINDINGS, JSON, BINDING("b1", "Role", "mine", "joe"), 201, NULL },
        { "POST", BINDINGS, JSON, BINDING("b2", "ClusterRole", "cluster-admin", "joe"), 403,
          "rolebindings.rbac.authorization.k8s.io \\\"b2\\\" is forbidden: " MISSING },
        { "POST", BINDINGS, JSON, BINDING("b3", "Role", "missing", "joe"), 404,
          "rolebindings.rbac.authorization.k8s.io \\\"missing\\\" not found" },
        { "POST", RBAC "/clusterrolebindings", JSON, BINDING("b4", "ClusterRole", "cluster-admin", "joe"), 403,
          "clusterrolebindings.rbac.authorization.k8s.io \\\"b4\\\" is forbidden: " MISSING },
    };
    rest_check(rows, sizeof rows / sizeof *rows, "bob");
}

GRANT_TEST(who_may_escalate_or_bind_grants_anything) {
    put(CLUSTER_ROLES,
        ROLE("free", RULE("\"rbac.authorization.k8s.io\"", "\"roles\",\"clusterroles\"", "", "\"escalate\",\"bind\"")));
    put(RBAC "/clusterrolebindings", BINDING("free", "ClusterRole", "free", "bob"));
    static const rest_row rows[] = {
        { "POST", ROLES, JSON, ROLE("r1", RULE("\"*\"", "\"*\"", "", "\"*\"")), 201, NULL },
        { "POST", BINDINGS, JSON, BINDING("b1", "ClusterRole", "cluster-admin", "joe"), 201, NULL },
        { "POST", BINDINGS, JSON, BINDING("b2", "Role", "missing", "joe"), 201, NULL },
    };
    rest_check(rows, sizeof rows / sizeof *rows, "bob");
}

GRANT_TEST(a_role_of_endless_permissions_is_rejected) {
    ki_buffer body;
    ki_buffer_init(&body, &ki_allocator_default, 0);
    ki_buffer_append_string(&body, "{\"metadata\":{\"name\":\"x\"},\"rules\":[{\"apiGroups\":[\"\"]");
    for (int part = 0; part < 2; part++) {
        ki_buffer_append_string(&body, part ? "],\"verbs\":[\"get\"" : ",\"resources\":[\"pods\"");
        for (int i = 0; i < 400; i++)
            ki_buffer_printf(&body, ",\"v%d\"", i);
    }
    ki_buffer_append_string(&body, "]}]}");
    rest_check(&(rest_row){ "POST", ROLES, JSON, body.data, 400, NULL }, 1, "bob");
    ki_buffer_free(&body);
}

GRANT_TEST(the_first_namespaces_stay) {
    static const char *const immortal[] = { "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system",
                                            "/api/v1/namespaces/kube-public", "/api/v1/namespaces/default?dryRun=All" };
    for (size_t i = 0; i < sizeof immortal / sizeof immortal[0]; i++) {
        assert_int_equal(rest_send(&server, "DELETE", immortal[i], NULL, NULL), 403);
        assert_true(rest_has(&server, "is forbidden: this namespace may not be deleted"));
    }
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/kube-node-lease", NULL, NULL), 200);
    assert_int_equal(rest_send(&server, "DELETE", "/api/v1/namespaces/a", NULL, NULL), 200);
}
