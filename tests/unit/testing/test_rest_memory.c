/* test_rest_memory.c: requests that delete, grant and validate, with memory that ends at each point in turn: nothing
 * leaks, and nothing is half done in a way that stops later requests. */
#include "testing/rest/rest.h"

#include "src/base/memory.h"
#include "testing/access/rbac.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#define JSON "application/json"
#define MERGE "application/merge-patch+json"
#define SPACES "/api/v1/namespaces"
#define MAPS SPACES "/a/configmaps"
#define ROLES "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles"
#define BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings"

typedef struct row {
    const char *user; /* NULL: not through the network */
    const char *method;
    const char *target;
    const char *type;
    const char *body;
} row;

#define OWNED(name) \
    "{\"metadata\":{\"name\":\"" name \
    "\",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"none\",\"uid\":\"u\"}]}}"

static const row rows[] = {
    { NULL, "POST", SPACES, JSON, "{\"metadata\":{\"name\":\"a\"}}" },
    { NULL, "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"m\",\"finalizers\":[\"example.com/a\"]}}" },
    { NULL, "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"n\"}}" },
    { NULL, "POST", MAPS, JSON, OWNED("o") },
    { NULL, "DELETE", MAPS "/n", JSON, "{\"propagationPolicy\":\"Orphan\"}" },
    { NULL, "DELETE", MAPS "/m?propagationPolicy=Foreground", NULL, NULL },
    { NULL, "DELETE", MAPS "/m", JSON, "{\"dryRun\":[\"x\"],\"propagationPolicy\":\"x\"}" },
    { NULL, "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"finalizers\":[\"bad\",\"orphan\",\"foregroundDeletion\"]}}" },
    { NULL, "POST", ROLES, JSON,
      "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"*\"]}]}" },
    { "jane", "POST", ROLES, JSON,
      "{\"metadata\":{\"name\":\"q\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"x\"],\"verbs\":["
      "\"get\"]}]}" },
    { "jane", "POST", BINDINGS, JSON,
      "{\"metadata\":{\"name\":\"q\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
      "\"name\":\"r\"}}" },
    { NULL, "DELETE", SPACES "/a", NULL, NULL },
    { NULL, "POST", MAPS, JSON, "{\"metadata\":{\"name\":\"late\"}}" },
    { NULL, "PATCH", MAPS "/m", MERGE, "{\"metadata\":{\"finalizers\":null}}" },
};

static void send(kt_cluster *cluster, const row *r) {
    const kt_user user = { .name = ki_str_of(r->user) };
    const kt_request request = { .method = r->method,
                                 .target = r->target,
                                 .content_type = r->type,
                                 .user_agent = "tests/1.0",
                                 .body = ki_str_of(r->body),
                                 .user = r->user ? &user : NULL,
                                 .from_network = r->user != NULL };
    kt_response response;
    ki_status status = kt_rest_handle(cluster, &request, 1000, &response);
    if (!status)
        kt_response_free(&response);
    else
        assert_int_equal(status, KI_ERR_NO_MEMORY);
}

static bool run(const ki_allocator *allocator) {
    const kt_cluster_options options = { .collects_garbage = true };
    kt_cluster *cluster = NULL;
    if (kt_cluster_new(allocator, &options, &cluster, NULL))
        return false;
    kt_auth *auth = kt_cluster_auth(cluster);
    auth->rbac = true;
    if (!kt_auth_add_token(auth, "token=x,user=x", NULL) &&
        !kt_auth_add_rule(auth,
                          "user=jane,verb=create,resource=roles.rbac.authorization.k8s.io+rolebindings.rbac."
                          "authorization.k8s.io",
                          NULL)) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            send(cluster, &rows[i]);
    }
    bool is_gone = kt_cluster_count(cluster, KI_NAMESPACES) == 4;
    kt_cluster_free(cluster);
    return is_gone;
}

TEST(lack_of_memory_at_any_point_leaks_nothing) {
    assert_true(run(&ki_allocator_default));
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        (void)run(&memory.allocator);
    }
}
