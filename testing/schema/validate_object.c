/* validate_object.c: see validate_object.h. One function for each kind; the table at the end lists them. */
#include "testing/schema/validate_object.h"

#include "src/base/quantity.h"
#include "testing/schema/validate_ingress.h"
#include "testing/schema/validate_pod.h"
#include "testing/schema/validate_service.h"
#include "testing/values/arena.h"
#include "testing/values/base64.h"
#include "testing/values/cron.h"
#include "testing/values/equal.h"
#include "testing/values/go_json.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define IMMUTABLE "field is immutable"
#define MARKED_IMMUTABLE "field is immutable when `immutable` is set"
#define MISMATCH "`selector` does not match template `labels`"

enum {
    PORT_MAX = 65535
};

static const ki_str nothing = { NULL, 0 };

typedef struct checked {
    kt_causes *causes;
    kt_arena arena;
    yyjson_val *old; /* NULL: a new object */
    yyjson_val *root;
    yyjson_val *old_spec;
    yyjson_val *spec;
    const char *what; /* the kind in messages, such as "deployment" */
} checked;

static bool is_nothing(yyjson_val *val) {
    return !val || yyjson_is_null(val) || (yyjson_is_ctn(val) && yyjson_get_len(val) == 0);
}

static bool is_same(checked *c, yyjson_val *a, yyjson_val *b) {
    return is_nothing(a) || is_nothing(b) ? is_nothing(a) == is_nothing(b) : kt_equal(&c->arena, a, b);
}

static void add_required(checked *c, const char *field) {
    kt_causes_add(c->causes, KT_CAUSE_REQUIRED, field, nothing, "");
}

/* Adds an "Invalid value" that shows `val` as JSON. */
static void add_json(checked *c, const char *field, yyjson_val *val, const char *detail) {
    ki_buffer shown;
    ki_buffer_init(&shown, c->causes->text.allocator, 0);
    if (val ? kt_json_append(&shown, val) : ki_buffer_append_string(&shown, "null"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_INVALID, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

static void check_least(checked *c, const char *field, yyjson_val *val, int64_t least, const char *detail) {
    if (yyjson_is_int(val) && yyjson_get_sint(val) < least)
        add_json(c, field, val, detail);
}

static void check_replicas(checked *c) {
    check_least(c, "spec.replicas", yyjson_obj_get(c->spec, "replicas"), 0, "must be greater than or equal to 0");
}

/* ---- selectors ---- */

static bool has_value(yyjson_val *expression, ki_str value) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(yyjson_obj_get(expression, "values"), index, count, one) {
        if (ki_str_equal(kt_json_str(one), value))
            return true;
    }
    return false;
}

static bool satisfies(yyjson_val *expression, yyjson_val *labels) {
    ki_str key = kt_json_get_str(expression, "key"), op = kt_json_get_str(expression, "operator");
    yyjson_val *label = key.size ? yyjson_obj_getn(labels, key.data, key.size) : NULL;
    if (ki_str_equals(op, "Exists"))
        return label != NULL;
    if (ki_str_equals(op, "DoesNotExist"))
        return label == NULL;
    bool among = label && has_value(expression, kt_json_str(label));
    return ki_str_equals(op, "NotIn") ? !among : among;
}

static bool selects(yyjson_val *selector, yyjson_val *labels) {
    yyjson_val *match = yyjson_obj_get(selector, "matchLabels"), *key, *val;
    yyjson_val *expressions = yyjson_obj_get(selector, "matchExpressions"), *expression;
    size_t index, count;
    if (is_nothing(match) && is_nothing(expressions))
        return false;
    yyjson_obj_foreach(match, index, count, key, val) {
        ki_str name = kt_json_str(key);
        if (!ki_str_equal(kt_json_str(val), kt_json_str(yyjson_obj_getn(labels, name.data, name.size))))
            return false;
    }
    yyjson_arr_foreach(expressions, index, count, expression) {
        if (!satisfies(expression, labels))
            return false;
    }
    return true;
}

/* ---- workloads ---- */

static void check_template(checked *c, bool checks_mounts) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(c->spec, "template"), "spec");
    kt_validate_pod_spec(c->causes, "spec.template.spec", pod, checks_mounts);
}

static void check_always_restarts(checked *c) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(c->spec, "template"), "spec");
    ki_str policy = kt_json_get_str(pod, "restartPolicy");
    if (ki_str_equals(policy, "Never") || ki_str_equals(policy, "OnFailure"))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.template.spec.restartPolicy", policy,
                      "supported values: \"Always\"");
}

static yyjson_val *template_labels(const checked *c) {
    yyjson_val *template = yyjson_obj_get(c->spec, "template");
    return yyjson_obj_get(yyjson_obj_get(template, "metadata"), "labels");
}

/* Checks that the selector exists, is not empty, and selects the template's labels. */
static void check_selector(checked *c, bool is_required) {
    yyjson_val *selector = yyjson_obj_get(c->spec, "selector");
    yyjson_val *labels = template_labels(c);
    bool is_empty = yyjson_is_obj(selector) && is_nothing(yyjson_obj_get(selector, "matchLabels")) &&
                    is_nothing(yyjson_obj_get(selector, "matchExpressions"));
    char detail[96];
    snprintf(detail, sizeof detail, "empty selector is invalid for %s", c->what);
    if (!selector && is_required)
        add_required(c, "spec.selector");
    if (is_empty)
        add_json(c, "spec.selector", selector, detail);
    else if (!selects(selector, labels))
        add_json(c, "spec.template.metadata.labels", labels, MISMATCH);
}

/* Checks that a member of the spec stays as it was; `field` is "spec.NAME". */
static void check_stays(checked *c, const char *field) {
    const char *name = field + sizeof "spec." - 1;
    yyjson_val *val = yyjson_obj_get(c->spec, name);
    if (c->old && !is_same(c, yyjson_obj_get(c->old_spec, name), val))
        add_json(c, field, val, IMMUTABLE);
}

static void deployment(checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, true);
    check_always_restarts(c);
    yyjson_val *strategy = yyjson_obj_get(c->spec, "strategy");
    if (ki_str_equals(kt_json_get_str(strategy, "type"), "Recreate") &&
        yyjson_is_obj(yyjson_obj_get(strategy, "rollingUpdate")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.strategy.rollingUpdate", nothing,
                      "may not be specified when strategy `type` is 'Recreate'");
    check_stays(c, "spec.selector");
}

static void replica_set(checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, true);
    check_always_restarts(c);
    check_stays(c, "spec.selector");
}

static void daemon_set(checked *c) {
    check_selector(c, false);
    check_template(c, true);
    check_always_restarts(c);
    check_stays(c, "spec.selector");
}

static void stateful_set(checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, false);
    check_always_restarts(c);
    check_stays(c, "spec.selector");
    check_stays(c, "spec.volumeClaimTemplates");
    check_stays(c, "spec.serviceName");
    check_stays(c, "spec.podManagementPolicy");
}

/* Checks the pods of a job. `path` is the place of the pod's spec. */
static void check_job_pod(checked *c, const char *path, yyjson_val *spec) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(spec, "template"), "spec");
    ki_str policy = kt_json_get_str(pod, "restartPolicy");
    kt_validate_pod_spec(c->causes, path, pod, true);
    if (!policy.size || ki_str_equals(policy, "Always"))
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, nothing, true, "valid values: \"OnFailure\", \"Never\"",
                        "%s.restartPolicy", path);
}

static void job(checked *c) {
    yyjson_val *selector = yyjson_obj_get(c->spec, "selector");
    yyjson_val *meta = yyjson_obj_get(c->root, "metadata");
    bool is_manual = yyjson_get_bool(yyjson_obj_get(c->spec, "manualSelector"));
    bool is_generated = !is_manual && !c->old && !yyjson_obj_get(meta, "uid"); /* the server is about to set it */
    ki_str job_name = kt_json_get_str(template_labels(c), "job-name"), name = kt_json_get_str(meta, "name");
    char wanted[300];
    if (is_generated && job_name.size && !ki_str_equal(job_name, name)) {
        snprintf(wanted, sizeof wanted, "must be '%.*s'", (int)name.size, name.size ? name.data : "");
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.template.metadata.labels[job-name]", job_name, wanted);
    }
    if (is_generated && selector)
        add_json(c, "spec.selector", selector, "`selector` not auto-generated");
    else if (!selector && !is_generated) {
        add_required(c, "spec.selector");
        add_json(c, "spec.template.metadata.labels", template_labels(c), MISMATCH);
    } else if (selector) {
        check_selector(c, true);
    }
    check_job_pod(c, "spec.template.spec", c->spec);
    check_stays(c, "spec.completions");
    check_stays(c, "spec.selector");
    check_stays(c, "spec.template");
    check_stays(c, "spec.completionMode");
}

static void check_schedule(checked *c) {
    static const char no_zone[] = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    static const char both_zones[] = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    ki_str schedule = kt_json_get_str(c->spec, "schedule"), old = kt_json_get_str(c->old_spec, "schedule");
    bool has_zone = schedule.size && memmem(schedule.data, schedule.size, "TZ", 2);
    bool had_zone = old.size && memmem(old.data, old.size, "TZ", 2);
    ki_buffer problem;
    if (!schedule.size) {
        add_required(c, "spec.schedule");
        return;
    }
    ki_buffer_init(&problem, c->causes->text.allocator, 0);
    if (kt_cron_check(schedule, &problem))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else if (problem.size)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.schedule", schedule, problem.data);
    ki_buffer_free(&problem);
    if (has_zone && !had_zone)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.schedule", schedule, no_zone);
    else if (has_zone && yyjson_is_str(yyjson_obj_get(c->spec, "timeZone")))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.schedule", schedule, both_zones);
}

static void cron_job(checked *c) {
    static const char *const counts[] = { "successfulJobsHistoryLimit", "failedJobsHistoryLimit" };
    static const char least[] = "must be greater than or equal to 0";
    ki_str policy = kt_json_get_str(c->spec, "concurrencyPolicy");
    check_schedule(c);
    check_least(c, "spec.startingDeadlineSeconds", yyjson_obj_get(c->spec, "startingDeadlineSeconds"), 0, least);
    if (policy.size && !ki_str_equals(policy, "Allow") && !ki_str_equals(policy, "Forbid") &&
        !ki_str_equals(policy, "Replace"))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.concurrencyPolicy", policy,
                      "supported values: \"Allow\", \"Forbid\", \"Replace\"");
    check_job_pod(c, "spec.jobTemplate.spec.template.spec",
                  yyjson_obj_get(yyjson_obj_get(c->spec, "jobTemplate"), "spec"));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char field[64];
        snprintf(field, sizeof field, "spec.%s", counts[i]);
        check_least(c, field, yyjson_obj_get(c->spec, counts[i]), 0, least);
    }
}

static void ingress(checked *c) {
    kt_validate_ingress_spec(c->causes, c->spec);
}

/* Rejects a change of a claim's spec. A claim can get its volume and its class later; a bound one can ask for more. */
static void check_claim_change(checked *c) {
    static const char *const fixed[] = { "accessModes", "selector", "volumeMode", "dataSource", "dataSourceRef" };
    static const char *const set_once[] = { "volumeName", "storageClassName" };
    yyjson_val *resources = yyjson_obj_get(c->spec, "resources"), *before = yyjson_obj_get(c->old_spec, "resources");
    bool is_bound = ki_str_equals(kt_json_get_str(yyjson_obj_get(c->old, "status"), "phase"), "Bound");
    bool is_changed = !is_same(c, yyjson_obj_get(before, "limits"), yyjson_obj_get(resources, "limits"));
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        is_changed |= !is_same(c, yyjson_obj_get(c->old_spec, fixed[i]), yyjson_obj_get(c->spec, fixed[i]));
    for (size_t i = 0; i < sizeof set_once / sizeof set_once[0]; i++) {
        yyjson_val *was = yyjson_obj_get(c->old_spec, set_once[i]);
        is_changed |= !is_nothing(was) && !is_same(c, was, yyjson_obj_get(c->spec, set_once[i]));
    }
    if (!is_bound)
        is_changed |= !is_same(c, yyjson_obj_get(before, "requests"), yyjson_obj_get(resources, "requests")) ||
                      !is_same(c, yyjson_obj_get(c->old_spec, "volumeAttributesClassName"),
                               yyjson_obj_get(c->spec, "volumeAttributesClassName"));
    if (is_changed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec", nothing,
                      "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                      "bound claims");
}

static void volume_claim(checked *c) {
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
        add_required(c, "spec.resources[storage]");
    } else if (ki_quantity_parse(kt_json_str(storage), &wanted) && ki_quantity_compare(&wanted, &zero) <= 0) {
        char shown[KI_QUANTITY_SIZE];
        ki_quantity_write(&wanted, shown);
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.resources[storage]", ki_str_of(shown),
                      "must be greater than zero");
    }
    if (c->old)
        check_claim_change(c);
}

static void pod(checked *c) {
    kt_validate_pod_spec(c->causes, "spec", c->spec, true);
    if (c->old)
        kt_validate_pod_update(c->causes, c->arena.allocator, c->old_spec, c->spec);
}

/* ---- services ---- */

static void service(checked *c) {
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

static void check_keys(checked *c, const char *member) {
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

static void check_marked_immutable(checked *c, const char *const *members) {
    if (!yyjson_get_bool(yyjson_obj_get(c->old, "immutable")))
        return;
    if (!yyjson_get_bool(yyjson_obj_get(c->root, "immutable")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "immutable", nothing, MARKED_IMMUTABLE);
    for (; *members; members++) {
        if (!is_same(c, yyjson_obj_get(c->old, *members), yyjson_obj_get(c->root, *members)))
            kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, *members, nothing, MARKED_IMMUTABLE);
    }
}

static void config_map(checked *c) {
    static const char *const members[] = { "data", "binaryData", NULL };
    check_keys(c, "data");
    check_keys(c, "binaryData");
    check_marked_immutable(c, members);
}

/* Checks that the value of a key is a JSON object. Its text is that of stringData, or decoded from data. */
static void check_json(checked *c, const char *key, yyjson_val *data, yyjson_val *text) {
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

static void secret(checked *c) {
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
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "type", type, IMMUTABLE);
    check_marked_immutable(c, members);
}

/* ---- others ---- */

static void lease(checked *c) {
    check_least(c, "spec.leaseDurationSeconds", yyjson_obj_get(c->spec, "leaseDurationSeconds"), 1,
                "must be greater than 0");
    check_least(c, "spec.leaseTransitions", yyjson_obj_get(c->spec, "leaseTransitions"), 0,
                "must be greater than or equal to 0");
}

static void priority_class(checked *c) {
    if (c->old && !is_same(c, yyjson_obj_get(c->old, "value"), yyjson_obj_get(c->root, "value")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "value", nothing, "may not be changed in an update.");
}

static void role_binding(checked *c) {
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
        add_required(c, "roleRef.name");
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        changed = changed || (old && !ki_str_equal(kt_json_get_str(ref, members[i]), kt_json_get_str(old, members[i])));
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "{", shown[i]);
        ki_buffer_append_json_string(&text, kt_json_get_str(ref, members[i]));
    }
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    if (changed)
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "roleRef", (ki_str){ text.data, text.size }, false, IMMUTABLE);
    ki_buffer_free(&text);
}

static const struct {
    const char *group;
    const char *plural;
    const char *what;
    void (*check)(checked *c);
} kinds[] = {
    { "", "configmaps", "config map", config_map },
    { "", "persistentvolumeclaims", "persistent volume claim", volume_claim },
    { "", "pods", "pod", pod },
    { "", "secrets", "secret", secret },
    { "", "services", "service", service },
    { "apps", "daemonsets", "daemonset", daemon_set },
    { "apps", "deployments", "deployment", deployment },
    { "apps", "replicasets", "replica set", replica_set },
    { "apps", "statefulsets", "statefulset", stateful_set },
    { "batch", "cronjobs", "cron job", cron_job },
    { "batch", "jobs", "job", job },
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
    checked c = { .causes = causes,
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
