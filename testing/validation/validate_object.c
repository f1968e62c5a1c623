/* validate_object.c: see validate_object.h. One function for each kind; the table at the end lists them. */
#include "testing/validation/validate_object.h"

#include "src/base/quantity.h"
#include "testing/validation/checked.h"
#include "testing/validation/validate_ingress.h"
#include "testing/validation/validate_pod.h"
#include "testing/validation/validate_service.h"
#include "testing/validation/validate_workload.h"
#include "testing/values/base64.h"
#include "testing/values/go_json.h"
#include "testing/values/json.h"

#include <stdio.h>

#define MARKED_IMMUTABLE "field is immutable when `immutable` is set"

static const ki_str nothing = { NULL, 0 };

static void ingress(kt_checked *c) {
    kt_validate_ingress_spec(c->causes, c->spec);
}

/* Rejects a change of a claim's spec. A claim can get its volume and its class later; a bound one can ask for more. */
static void check_claim_change(kt_checked *c) {
    static const char *const fixed[] = { "accessModes", "selector", "volumeMode", "dataSource", "dataSourceRef" };
    static const char *const set_once[] = { "volumeName", "storageClassName" };
    yyjson_val *resources = yyjson_obj_get(c->spec, "resources"), *before = yyjson_obj_get(c->old_spec, "resources");
    bool is_bound = ki_str_equals(kt_json_get_str(yyjson_obj_get(c->old, "status"), "phase"), "Bound");
    bool is_changed = !kt_is_same(c, yyjson_obj_get(before, "limits"), yyjson_obj_get(resources, "limits"));
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        is_changed |= !kt_is_same(c, yyjson_obj_get(c->old_spec, fixed[i]), yyjson_obj_get(c->spec, fixed[i]));
    for (size_t i = 0; i < sizeof set_once / sizeof set_once[0]; i++) {
        yyjson_val *was = yyjson_obj_get(c->old_spec, set_once[i]);
        is_changed |= !kt_is_nothing(was) && !kt_is_same(c, was, yyjson_obj_get(c->spec, set_once[i]));
    }
    if (!is_bound)
        is_changed |= !kt_is_same(c, yyjson_obj_get(before, "requests"), yyjson_obj_get(resources, "requests")) ||
                      !kt_is_same(c, yyjson_obj_get(c->old_spec, "volumeAttributesClassName"),
                                  yyjson_obj_get(c->spec, "volumeAttributesClassName"));
    if (is_changed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec", nothing,
                      "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                      "bound claims");
}

static void volume_claim(kt_checked *c) {
    static const char *const modes[] = { "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod" };
    static const ki_quantity zero = { 0 };
    yyjson_val *given = yyjson_obj_get(c->spec, "accessModes"), *mode;
    yyjson_val *requests = yyjson_obj_get(yyjson_obj_get(c->spec, "resources"), "requests");
    yyjson_val *storage = yyjson_obj_get(requests, "storage");
    ki_quantity wanted;
    bool for_one_pod = false, for_others = false;
    size_t index, count;
    if (yyjson_arr_size(given) == 0)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.accessModes", nothing, "at least 1 access mode is required");
    yyjson_arr_foreach(given, index, count, mode) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            is_known = is_known || yyjson_equals_str(mode, modes[i]);
        if (!is_known)
            kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, kt_json_str(mode), true,
                            "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", "
                            "\"ReadWriteOncePod\"",
                            "spec.accessModes");
        else if (yyjson_equals_str(mode, "ReadWriteOncePod"))
            for_one_pod = true;
        else
            for_others = true;
    }
    if (for_one_pod && for_others)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.accessModes", nothing,
                      "may not use ReadWriteOncePod with other access modes");
    if (!storage) {
        kt_add_required(c, "spec.resources[storage]");
    } else if (ki_quantity_parse(kt_json_str(storage), &wanted) && ki_quantity_compare(&wanted, &zero) <= 0) {
        char shown[KI_QUANTITY_SIZE];
        ki_quantity_write(&wanted, shown);
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.resources[storage]", ki_str_of(shown),
                      "must be greater than zero");
    }
    if (c->old)
        check_claim_change(c);
}

static void pod(kt_checked *c) {
    kt_validate_pod_spec(c->causes, "spec", c->spec, true);
    if (c->old)
        kt_validate_pod_update(c->causes, c->arena.allocator, c->old_spec, c->spec);
}

/* ---- services ---- */

static void service(kt_checked *c) {
    kt_validate_service_spec(c->causes, c->old_spec, c->spec);
}

/* ---- config maps and secrets ---- */

static const char *key_problem(ki_str key) {
    if (ki_str_equals(key, "."))
        return "must not be '.'";
    if (ki_str_equals(key, ".."))
        return "must not be '..'";
    for (size_t i = 0; i < key.size; i++) {
        char letter = key.data[i];
        if (!(letter >= 'a' && letter <= 'z') && !(letter >= 'A' && letter <= 'Z') &&
            !(letter >= '0' && letter <= '9') && letter != '-' && letter != '_' && letter != '.')
            return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
                   "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    }
    return NULL;
}

static void check_keys(kt_checked *c, const char *member) {
    yyjson_val *key, *val;
    size_t index, count;
    yyjson_obj_foreach(yyjson_obj_get(c->root, member), index, count, key, val) {
        ki_str name = kt_json_str(key);
        const char *why = key_problem(name);
        if (why)
            kt_validate_add(c->causes, KT_CAUSE_INVALID, name, true, why, "%s[%.*s]", member, (int)name.size,
                            name.data);
    }
}

static void check_marked_immutable(kt_checked *c, const char *const *members) {
    if (!yyjson_get_bool(yyjson_obj_get(c->old, "immutable")))
        return;
    if (!yyjson_get_bool(yyjson_obj_get(c->root, "immutable")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "immutable", nothing, MARKED_IMMUTABLE);
    for (; *members; members++) {
        if (!kt_is_same(c, yyjson_obj_get(c->old, *members), yyjson_obj_get(c->root, *members)))
            kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, *members, nothing, MARKED_IMMUTABLE);
    }
}

static void config_map(kt_checked *c) {
    static const char *const members[] = { "data", "binaryData", NULL };
    check_keys(c, "data");
    check_keys(c, "binaryData");
    check_marked_immutable(c, members);
}

/* Checks that the value of a key is a JSON object. Its text is that of stringData, or decoded from data. */
static void check_json(kt_checked *c, const char *key, yyjson_val *data, yyjson_val *text) {
    ki_buffer bytes, problem;
    ki_buffer_init(&bytes, c->causes->text.allocator, 0);
    ki_buffer_init(&problem, c->causes->text.allocator, 0);
    ki_status status =
        text ? ki_buffer_append_view(&bytes, kt_json_str(text)) : kt_base64_decode(&bytes, kt_json_str(data));
    if (!status)
        status = kt_go_json_check_map((ki_str){ bytes.data, bytes.size }, &problem);
    if (status)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else if (problem.size)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, KI_STR("<secret contents redacted>"), true, problem.data,
                        "data[%s]", key);
    ki_buffer_free(&bytes);
    ki_buffer_free(&problem);
}

static void secret(kt_checked *c) {
    static const char *const members[] = { "data", NULL };
    static const struct {
        const char *type;
        bool is_json;
        const char *keys[3];
    } typed[] = { { "kubernetes.io/tls", false, { "tls.crt", "tls.key", NULL } },
                  { "kubernetes.io/dockerconfigjson", true, { ".dockerconfigjson", NULL, NULL } },
                  { "kubernetes.io/dockercfg", true, { ".dockercfg", NULL, NULL } } };
    ki_str type = kt_json_get_str(c->root, "type"), old_type = kt_json_get_str(c->old, "type");
    yyjson_val *data = yyjson_obj_get(c->root, "data"), *text = yyjson_obj_get(c->root, "stringData");
    check_keys(c, "data");
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
        for (const char *const *key = typed[i].keys; ki_str_equals(type, typed[i].type) && *key; key++) {
            yyjson_val *bytes = yyjson_obj_get(data, *key), *given = yyjson_obj_get(text, *key);
            if (!bytes && !given)
                kt_validate_add(c->causes, KT_CAUSE_REQUIRED, nothing, true, "", "data[%s]", *key);
            else if (typed[i].is_json)
                check_json(c, *key, bytes, given);
        }
    }
    if (old_type.size && type.size && !ki_str_equal(type, old_type))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "type", type, KT_IMMUTABLE);
    check_marked_immutable(c, members);
}

/* ---- others ---- */

static void lease(kt_checked *c) {
    kt_check_least(c, "spec.leaseDurationSeconds", yyjson_obj_get(c->spec, "leaseDurationSeconds"), 1,
                   "must be greater than 0");
    kt_check_least(c, "spec.leaseTransitions", yyjson_obj_get(c->spec, "leaseTransitions"), 0,
                   "must be greater than or equal to 0");
}

static void priority_class(kt_checked *c) {
    if (c->old && !kt_is_same(c, yyjson_obj_get(c->old, "value"), yyjson_obj_get(c->root, "value")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "value", nothing, "may not be changed in an update.");
}

static void role_binding(kt_checked *c) {
    yyjson_val *ref = yyjson_obj_get(c->root, "roleRef"), *old = yyjson_obj_get(c->old, "roleRef");
    static const char *const members[] = { "apiGroup", "kind", "name" };
    static const char *const shown[] = { "APIGroup", "Kind", "Name" };
    bool is_local = strcmp(c->what, "RoleBinding") == 0, changed = false;
    ki_str kind = kt_json_get_str(ref, "kind");
    ki_buffer text;
    if (!ki_str_equals(kind, "ClusterRole") && !(is_local && ki_str_equals(kind, "Role")))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "roleRef.kind", kind,
                      is_local ? "supported values: \"Role\", \"ClusterRole\"" : "supported values: \"ClusterRole\"");
    if (!kt_json_get_str(ref, "name").size)
        kt_add_required(c, "roleRef.name");
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        changed = changed || (old && !ki_str_equal(kt_json_get_str(ref, members[i]), kt_json_get_str(old, members[i])));
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "{", shown[i]);
        ki_buffer_append_json_string(&text, kt_json_get_str(ref, members[i]));
    }
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    if (changed)
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "roleRef", (ki_str){ text.data, text.size }, false,
                            KT_IMMUTABLE);
    ki_buffer_free(&text);
}

static const struct {
    const char *group;
    const char *plural;
    const char *what;
    void (*check)(kt_checked *c);
} kinds[] = {
    { "", "configmaps", "config map", config_map },
    { "", "persistentvolumeclaims", "persistent volume claim", volume_claim },
    { "", "pods", "pod", pod },
    { "", "secrets", "secret", secret },
    { "", "services", "service", service },
    { "apps", "daemonsets", "daemonset", kt_check_daemon_set },
    { "apps", "deployments", "deployment", kt_check_deployment },
    { "apps", "replicasets", "replica set", kt_check_replica_set },
    { "apps", "statefulsets", "statefulset", kt_check_stateful_set },
    { "batch", "cronjobs", "cron job", kt_check_cron_job },
    { "batch", "jobs", "job", kt_check_job },
    { "coordination.k8s.io", "leases", "lease", lease },
    { "networking.k8s.io", "ingresses", "ingress", ingress },
    { "rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", role_binding },
    { "rbac.authorization.k8s.io", "rolebindings", "RoleBinding", role_binding },
    { "scheduling.k8s.io", "priorityclasses", "priority class", priority_class },
};

enum {
    KIND_COUNT = sizeof kinds / sizeof kinds[0]
};

static size_t find(const ki_resource *resource) {
    size_t i = 0;
    while (i < KIND_COUNT &&
           (strcmp(resource->group, kinds[i].group) != 0 || strcmp(resource->plural, kinds[i].plural) != 0))
        i++;
    return i;
}

bool kt_validate_compares(const ki_resource *resource) {
    return find(resource) < KIND_COUNT;
}

static void check(kt_causes *causes, const ki_allocator *allocator, size_t kind, yyjson_val *old_root,
                  yyjson_val *root) {
    kt_checked c = { .causes = causes,
                     .old = old_root,
                     .root = root,
                     .old_spec = yyjson_obj_get(old_root, "spec"),
                     .spec = yyjson_obj_get(root, "spec"),
                     .what = kinds[kind].what };
    kt_arena_init(&c.arena, allocator);
    kinds[kind].check(&c);
    if (c.arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_arena_free(&c.arena);
}

void kt_validate_object(kt_causes *causes, const ki_allocator *allocator, const ki_resource *resource,
                        yyjson_val *old_root, yyjson_val *root) {
    size_t kind = find(resource);
    kt_causes before;
    if (kind == KIND_COUNT)
        return;
    kt_causes_init(&before, allocator);
    if (old_root)
        check(&before, allocator, kind, NULL, old_root);
    if (before.text.failed || before.json.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    else if (!before.count) /* an invalid old object (written by the program itself) can be updated */
        check(causes, allocator, kind, old_root, root);
    kt_causes_free(&before);
}

void kt_validate_namespace_status(kt_causes *causes, yyjson_val *root) {
    bool ends = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "deletionTimestamp") != NULL;
    ki_str phase = kt_json_get_str(yyjson_obj_get(root, "status"), "phase");
    if (!ki_str_equals(phase, ends ? "Terminating" : "Active"))
        kt_causes_add(causes, KT_CAUSE_INVALID, "status.Phase", phase,
                      ends ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                           : "may only be 'Active' if `deletionTimestamp` is empty");
}

static bool has_condition(yyjson_val *status, const char *type) {
    size_t index, count;
    yyjson_val *condition;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), index, count, condition) {
        if (ki_str_equals(kt_json_get_str(condition, "type"), type))
            return true;
    }
    return false;
}

void kt_validate_csr_status(kt_causes *causes, yyjson_val *old_status, yyjson_val *status, bool is_approval) {
    static const char *const types[] = { "Approved", "Denied", "Failed" };
    if (has_condition(status, "Approved") && has_condition(status, "Denied"))
        kt_causes_add(causes, KT_CAUSE_INVALID, "status.conditions",
                      KI_STR("{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}"),
                      "must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, "
                      "`conditions[{\"type\": \"Denied\"}]`");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        bool before = has_condition(old_status, types[i]), now = has_condition(status, types[i]);
        char why[80];
        snprintf(why, sizeof why, "updates may not %s a condition of type \"%s\"", now ? "add" : "remove", types[i]);
        if (before != now && (before || (!is_approval && i < 2)))
            kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.conditions", KI_STR(""), why);
    }
}
