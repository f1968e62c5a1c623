/* rbac.c: see rbac.h. */
#include "testing/access/rbac.h"

#include "testing/cluster/cluster_state.h"
#include "testing/values/json.h"

#include <stdio.h>

#define RBAC "rbac.authorization.k8s.io"

enum {
    WHY_SIZE = 512
};

static const kt_storage *storage_of(const kt_cluster *cluster, const char *plural) {
    return kt_storage_find(cluster, KI_STR(RBAC), KI_STR("v1"), ki_str_of(plural));
}

static bool is_subject(yyjson_val *subject, const kt_user *user, ki_str binding_ns, char *who, size_t size) {
    ki_str kind = kt_json_get_str(subject, "kind"), name = kt_json_get_str(subject, "name");
    if (ki_str_equals(kind, "User")) {
        snprintf(who, size, "User \"%.*s\"", (int)name.size, name.data);
        return ki_str_equal(name, user->name);
    }
    if (ki_str_equals(kind, "Group")) {
        snprintf(who, size, "Group \"%.*s\"", (int)name.size, name.data);
        for (size_t i = 0; i < user->group_count; i++) {
            if (ki_str_equal(user->groups[i], name))
                return true;
        }
        return false;
    }
    ki_str ns = kt_json_get_str(subject, "namespace");
    if (!ns.size)
        ns = binding_ns;
    char full[512];
    int length = snprintf(full, sizeof full, "system:serviceaccount:%.*s:%.*s", (int)ns.size, ns.data ? ns.data : "",
                          (int)name.size, name.data ? name.data : "");
    snprintf(who, size, "ServiceAccount \"%.*s/%.*s\"", (int)name.size, name.data ? name.data : "", (int)ns.size,
             ns.data ? ns.data : "");
    return ki_str_equals(kind, "ServiceAccount") && ns.size && length > 0 && (size_t)length < sizeof full &&
           ki_str_equals(user->name, full);
}

static bool is_bound(yyjson_val *binding, const kt_user *user, ki_str ns, char *who, size_t size) {
    size_t index, count;
    yyjson_val *subject;
    yyjson_arr_foreach(yyjson_obj_get(binding, "subjects"), index, count, subject) {
        if (is_subject(subject, user, ns, who, size))
            return true;
    }
    return false;
}

typedef struct walk {
    const kt_cluster *cluster;
    const kt_user *user;
    bool (*visit)(yyjson_val *rule, const char *why, void *context);
    void *context;
} walk;

static bool visit_role(const walk *w, const kt_object *binding, yyjson_val *root, const char *who) {
    yyjson_val *ref = yyjson_obj_get(root, "roleRef");
    ki_str kind = kt_json_get_str(ref, "kind"), name = kt_json_get_str(ref, "name");
    bool everywhere = ki_str_equals(kind, "ClusterRole");
    const kt_object *role = kt_storage_get(storage_of(w->cluster, everywhere ? "clusterroles" : "roles"),
                                           everywhere ? (ki_str){ NULL, 0 } : binding->ns, name);
    yyjson_doc *doc = NULL;
    bool done = false;
    if (!role || kt_json_read_trusted(&w->cluster->allocator, role->json, &doc, NULL))
        return false;
    char why[WHY_SIZE];
    const char *slash = binding->ns.size ? "/" : "";
    snprintf(why, sizeof why, "RBAC: allowed by %s \"%.*s%s%.*s\" of %.*s \"%.*s\" to %s",
             binding->ns.size ? "RoleBinding" : "ClusterRoleBinding", (int)binding->name.size, binding->name.data,
             slash, (int)binding->ns.size, binding->ns.data ? binding->ns.data : "", (int)kind.size, kind.data,
             (int)name.size, name.data, who);
    size_t index, count;
    yyjson_val *rule;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "rules"), index, count, rule) {
        done = w->visit(rule, why, w->context);
        if (done)
            break;
    }
    yyjson_doc_free(doc);
    return done;
}

static bool visit_bindings(const walk *w, const kt_storage *bindings, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i++) {
        const kt_object *binding = bindings->objects[i];
        yyjson_doc *doc = NULL;
        char who[WHY_SIZE / 2];
        if (kt_json_read_trusted(&w->cluster->allocator, binding->json, &doc, NULL))
            continue;
        yyjson_val *root = yyjson_doc_get_root(doc);
        bool done = is_bound(root, w->user, binding->ns, who, sizeof who) && visit_role(w, binding, root, who);
        yyjson_doc_free(doc);
        if (done)
            return true;
    }
    return false;
}

bool kt_rbac_each_rule(const kt_cluster *cluster, const kt_user *user, ki_str ns,
                       bool (*visit)(yyjson_val *rule, const char *why, void *context), void *context) {
    KT_HOLDS(cluster);
    const walk w = { cluster, user, visit, context };
    const kt_storage *everywhere = storage_of(cluster, "clusterrolebindings"),
                     *local = storage_of(cluster, "rolebindings");
    size_t begin, end;
    if (visit_bindings(&w, everywhere, 0, everywhere->count))
        return true;
    if (!ns.size)
        return false;
    kt_objects_range(local->objects, local->count, ns, &begin, &end);
    return visit_bindings(&w, local, begin, end);
}

/* ---- one request ---- */

static bool has(yyjson_val *list, ki_str value) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(list, index, count, one) {
        ki_str text = kt_json_str(one);
        if (ki_str_equals(text, "*") || ki_str_equal(text, value))
            return true;
    }
    return false;
}

static bool has_path(yyjson_val *list, ki_str path) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(list, index, count, one) {
        ki_str text = kt_json_str(one);
        if (text.size && text.data[text.size - 1] == '*' &&
            ki_str_starts_with(path, (ki_str){ text.data, text.size - 1 }))
            return true;
        if (ki_str_equal(text, path))
            return true;
    }
    return false;
}

static bool has_resource(yyjson_val *list, const kt_attributes *wanted) {
    size_t index, count;
    yyjson_val *one;
    if (!wanted->subresource.size)
        return has(list, wanted->resource);
    yyjson_arr_foreach(list, index, count, one) {
        ki_str sub, text = kt_json_str(one), resource = ki_str_split(text, '/', &sub);
        if (ki_str_equals(text, "*") || (ki_str_equal(sub, wanted->subresource) &&
                                         (ki_str_equals(resource, "*") || ki_str_equal(resource, wanted->resource))))
            return true;
    }
    return false;
}

bool kt_rbac_rule_allows(yyjson_val *rule, const kt_attributes *wanted) {
    yyjson_val *names = yyjson_obj_get(rule, "resourceNames");
    if (!has(yyjson_obj_get(rule, "verbs"), wanted->verb))
        return false;
    if (wanted->of_path)
        return has_path(yyjson_obj_get(rule, "nonResourceURLs"), wanted->path);
    return has(yyjson_obj_get(rule, "apiGroups"), wanted->group) &&
           has_resource(yyjson_obj_get(rule, "resources"), wanted) &&
           (yyjson_arr_size(names) == 0 || (wanted->name.size && has(names, wanted->name)));
}

typedef struct check {
    const kt_attributes *wanted;
    char *why;
    size_t size;
} check;

static bool visit_check(yyjson_val *rule, const char *why, void *context) {
    const check *q = context;
    bool allowed = kt_rbac_rule_allows(rule, q->wanted);
    if (allowed && q->why)
        snprintf(q->why, q->size, "%s", why);
    return allowed;
}

bool kt_rbac_allows(const kt_cluster *cluster, const kt_user *user, const kt_attributes *wanted, char *ret_why,
                    size_t why_size) {
    KT_HOLDS(cluster);
    check q = { wanted, ret_why, why_size };
    return kt_rbac_each_rule(cluster, user, wanted->ns, visit_check, &q);
}

/* ---- default roles ---- */

#define ALL_VERBS "\"create\",\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\",\"update\",\"watch\""
#define READ_VERBS "\"get\",\"list\",\"watch\""
#define COMMON \
    "\"bindings\",\"configmaps\",\"endpoints\",\"events\",\"limitranges\",\"namespaces\",\"namespaces/status\"," \
    "\"persistentvolumeclaims\",\"persistentvolumeclaims/status\",\"pods\",\"pods/log\",\"pods/status\"," \
    "\"replicationcontrollers\",\"replicationcontrollers/scale\",\"replicationcontrollers/status\"," \
    "\"resourcequotas\",\"resourcequotas/status\",\"serviceaccounts\",\"services\",\"services/status\""
#define GROUPS "\"apps\",\"autoscaling\",\"batch\",\"discovery.k8s.io\",\"networking.k8s.io\",\"policy\""
#define VIEW \
    "{\"apiGroups\":[\"\"],\"resources\":[" COMMON "],\"verbs\":[" READ_VERBS "]},{\"apiGroups\":[" GROUPS \
    "],\"resources\":[\"*\"],\"verbs\":[" READ_VERBS "]}"
#define EDIT \
    VIEW ",{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"events\",\"persistentvolumeclaims\",\"pods\"," \
         "\"pods/eviction\",\"replicationcontrollers\",\"replicationcontrollers/scale\",\"secrets\"," \
         "\"serviceaccounts\",\"services\"],\"verbs\":[" ALL_VERBS "]},{\"apiGroups\":[" GROUPS \
         "],\"resources\":[\"*\"],\"verbs\":[" ALL_VERBS "]}"

ki_status kt_rbac_add_defaults(kt_cluster *cluster, int64_t now_ms, ki_error *err) {
    static const struct {
        const char *name;
        const char *rules;
        const char *groups[2]; /* of the binding with the same name */
    } roles[] = {
        { "cluster-admin",
          "{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]},{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*"
          "\"]}",
          { "system:masters", NULL } },
        { "admin",
          EDIT ",{\"apiGroups\":[\"" RBAC "\"],\"resources\":[\"roles\",\"rolebindings\"],\"verbs\":[" ALL_VERBS "]}",
          { NULL, NULL } },
        { "edit", EDIT, { NULL, NULL } },
        { "view", VIEW, { NULL, NULL } },
        { "system:discovery",
          "{\"nonResourceURLs\":[\"/api\",\"/api/*\",\"/apis\",\"/apis/*\",\"/healthz\",\"/livez\",\"/openapi\","
          "\"/openapi/*\",\"/readyz\",\"/version\",\"/version/\"],\"verbs\":[\"get\"]}",
          { "system:authenticated", NULL } },
        { "system:public-info-viewer",
          "{\"nonResourceURLs\":[\"/healthz\",\"/livez\",\"/readyz\",\"/version\",\"/version/\"],\"verbs\":[\"get\"]}",
          { "system:authenticated", "system:unauthenticated" } },
        { "system:basic-user",
          "{\"apiGroups\":[\"authorization.k8s.io\"],\"resources\":[\"selfsubjectaccessreviews\","
          "\"selfsubjectrulesreviews\"],\"verbs\":[\"create\"]},{\"apiGroups\":[\"authentication.k8s.io\"],"
          "\"resources\":[\"selfsubjectreviews\"],\"verbs\":[\"create\"]}",
          { "system:authenticated", NULL } },
    };
    static const char label[] = "\"labels\":{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"}";
    static const ki_resource role_type = { RBAC, "v1", "clusterroles", "ClusterRole", false };
    static const ki_resource binding_type = { RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false };
    ki_buffer json;
    ki_status status = KI_OK;
    ki_buffer_init(&json, &cluster->allocator, 0);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && !status; i++) {
        ki_buffer_reset(&json, SIZE_MAX);
        status = ki_buffer_printf(&json, "{\"metadata\":{\"name\":\"%s\",%s},\"rules\":[%s]}", roles[i].name, label,
                                  roles[i].rules);
        if (!status)
            status = kt_cluster_put_json(cluster, &role_type, (ki_str){ json.data, json.size }, now_ms, NULL, err);
        if (status || !roles[i].groups[0])
            continue;
        ki_buffer_reset(&json, SIZE_MAX);
        ki_buffer_printf(&json,
                         "{\"metadata\":{\"name\":\"%s\",%s},\"roleRef\":{\"apiGroup\":\"" RBAC
                         "\",\"kind\":\"ClusterRole\",\"name\":\"%s\"},\"subjects\":[",
                         roles[i].name, label, roles[i].name);
        for (size_t k = 0; k < 2 && roles[i].groups[k]; k++)
            ki_buffer_printf(&json, "%s{\"apiGroup\":\"" RBAC "\",\"kind\":\"Group\",\"name\":\"%s\"}", k ? "," : "",
                             roles[i].groups[k]);
        status = ki_buffer_append_string(&json, "]}");
        if (!status)
            status = kt_cluster_put_json(cluster, &binding_type, (ki_str){ json.data, json.size }, now_ms, NULL, err);
    }
    ki_buffer_free(&json);
    return status;
}
