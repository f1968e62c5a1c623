/* validate_scaling.c: checks disruption budgets and autoscalers of pods. */
#include "testing/kinds/kinds.h"

#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 160,
    WINDOW_MAX = 3600, /* seconds */
    PERIOD_MAX = 1800  /* seconds */
};

static void add_forbidden(kt_checked *c, const char *path, const char *name, const char *why) {
    kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, why, "%s.%s", path, name);
}

static void add_required(kt_checked *c, const char *path, const char *name, const char *why) {
    kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, why, "%s.%s", path, name);
}

/* ---- disruption budgets ---- */

/* Adds the spec as Go writes it. */
static void add_both(kt_checked *c) {
    static const char *const members[] = { "minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy" };
    static const char *const shown[] = { "MinAvailable", "Selector", "MaxUnavailable", "UnhealthyPodEvictionPolicy" };
    ki_buffer text;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_val *val = yyjson_obj_get(c->spec, members[i]);
        ki_buffer_printf(&text, "%s\"%s\":", i ? "," : "{", shown[i]);
        if (val)
            kt_json_append(&text, val);
        else
            ki_buffer_append_string(&text, "null");
    }
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "spec", (ki_str){ text.data, text.size }, false,
                        "minAvailable and maxUnavailable cannot be both set");
    ki_buffer_free(&text);
}

void kt_check_disruption_budget(kt_checked *c) {
    static const char *const members[] = { "spec.minAvailable", "spec.maxUnavailable" };
    if (kt_json_has(c->spec, "minAvailable") && kt_json_has(c->spec, "maxUnavailable"))
        add_both(c);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        kt_check_number_or_percent(c, members[i], yyjson_obj_get(c->spec, members[i] + sizeof "spec." - 1), 100);
}

/* ---- autoscalers ---- */

static void check_policy(kt_checked *c, const char *path, yyjson_val *policy) {
    yyjson_val *type = yyjson_obj_get(policy, "type"), *period = yyjson_obj_get(policy, "periodSeconds");
    char field[FIELD_SIZE + 16];
    if (!yyjson_equals_str(type, "Pods") && !yyjson_equals_str(type, "Percent"))
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, kt_json_str(type), true,
                        "supported values: \"Percent\", \"Pods\"", "%s.type", path);
    snprintf(field, sizeof field, "%s.value", path);
    kt_check_least(c, field, yyjson_obj_get(policy, "value"), 1, "must be greater than zero");
    snprintf(field, sizeof field, "%s.periodSeconds", path);
    kt_check_least(c, field, period, 1, "must be greater than zero");
    if (yyjson_get_sint(period) > PERIOD_MAX)
        kt_add_json(c, field, period, "must be less than or equal to 1800");
}

static void check_scaling(kt_checked *c, const char *path, yyjson_val *rules) {
    yyjson_val *window = yyjson_obj_get(rules, "stabilizationWindowSeconds"), *policy;
    yyjson_val *policies = yyjson_obj_get(rules, "policies");
    char field[FIELD_SIZE];
    size_t index, count;
    snprintf(field, sizeof field, "%s.stabilizationWindowSeconds", path);
    kt_check_least(c, field, window, 0, "must be greater than or equal to zero");
    if (yyjson_get_sint(window) > WINDOW_MAX)
        kt_add_json(c, field, window, "must be less than or equal to 3600");
    kt_check_choice(c->causes, path, "selectPolicy", yyjson_obj_get(rules, "selectPolicy"), "Disabled,Max,Min");
    if (yyjson_is_arr(policies) && !yyjson_arr_size(policies)) /* the defaults fill in an absent one */
        add_required(c, path, "policies", "must specify at least one Policy");
    yyjson_arr_foreach(policies, index, count, policy) {
        snprintf(field, sizeof field, "%s.policies[%zu]", path, index);
        check_policy(c, field, policy);
    }
}

static void check_target(kt_checked *c, const char *path, yyjson_val *target) {
    static const char *const amounts[] = { "value", "averageValue" };
    ki_str type = kt_json_get_str(target, "type");
    char field[FIELD_SIZE + 48];
    if (!type.size)
        add_required(c, path, "target.type", "must specify a metric target type");
    if (!ki_str_equals(type, "Utilization") && !ki_str_equals(type, "Value") && !ki_str_equals(type, "AverageValue"))
        kt_validate_add(c->causes, KT_CAUSE_INVALID, type, true, "must be either Utilization, Value, or AverageValue",
                        "%s.target.type", path);
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        snprintf(field, sizeof field, "%s.target.%s", path, amounts[i]);
        kt_check_positive(c, field, yyjson_obj_get(target, amounts[i]), "must be positive");
    }
    snprintf(field, sizeof field, "%s.target.averageUtilization", path);
    kt_check_least(c, field, yyjson_obj_get(target, "averageUtilization"), 1, "must be greater than 0");
}

static void check_metric_name(kt_checked *c, const char *path, yyjson_val *source) {
    ki_str name = kt_json_get_str(yyjson_obj_get(source, "metric"), "name");
    const char *why = name.size ? kt_validate_segment(name) : NULL;
    if (!name.size)
        add_required(c, path, "metric.name", "must specify a metric name");
    else if (why)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, name, true, why, "%s.metric.name", path);
}

static void check_source(kt_checked *c, const char *path, const char *kind, yyjson_val *source) {
    yyjson_val *target = yyjson_obj_get(source, "target");
    bool is_object = strcmp(kind, "object") == 0, is_external = strcmp(kind, "external") == 0;
    bool is_container = strcmp(kind, "containerResource") == 0, is_pods = strcmp(kind, "pods") == 0;
    bool has_value = kt_json_has(target, "value"), has_average = kt_json_has(target, "averageValue");
    bool has_share = kt_json_has(target, "averageUtilization"), is_resource = !is_object && !is_external && !is_pods;
    if (!is_resource)
        check_metric_name(c, path, source);
    else if (!kt_json_get_str(source, "name").size)
        add_required(c, path, "name", "must specify a resource name");
    if (is_container && !kt_json_get_str(source, "container").size)
        add_required(c, path, "container", "must specify a container");
    check_target(c, path, target);
    if (is_object && !has_value && !has_average)
        add_required(c, path, "target.averageValue", "must set either a target value or averageValue");
    if (is_external && !has_value && !has_average)
        add_required(c, path, "target.averageValue", "must set either a target value for metric or a per-pod target");
    if (is_external && has_value && has_average)
        add_forbidden(c, path, "target.value", "may not set both a target value for metric and a per-pod target");
    if (is_pods && !has_average)
        add_required(c, path, "target.averageValue", "must specify a positive target averageValue");
    if (is_resource && !has_share && !has_average)
        add_required(c, path, "target.averageUtilization",
                     "must set either a target raw value or a target utilization");
    if (is_resource && has_share && has_average)
        add_forbidden(c, path, "target.averageValue", "may not set both a target raw value and a target utilization");
}

static void check_metric(kt_checked *c, const char *path, yyjson_val *metric) {
    static const struct {
        const char *type;
        const char *member;
    } sources[] = { { "Object", "object" },
                    { "External", "external" },
                    { "Pods", "pods" },
                    { "Resource", "resource" },
                    { "ContainerResource", "containerResource" } };
    ki_str type = kt_json_get_str(metric, "type");
    bool has_source = false, is_known = false;
    char field[FIELD_SIZE];
    if (!type.size)
        add_required(c, path, "type", "must specify a metric source type");
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        bool is_given = kt_json_has(metric, sources[i].member), is_meant = ki_str_equals(type, sources[i].type);
        is_known = is_known || is_meant;
        snprintf(field, sizeof field, "%s.%s", path, sources[i].member);
        if (is_given && !has_source)
            check_source(c, field, sources[i].member, yyjson_obj_get(metric, sources[i].member));
        has_source = has_source || is_given;
        if (is_given && !is_meant)
            add_forbidden(c, path, sources[i].member, "must populate the given metric source only");
        if (!is_given && is_meant)
            add_required(c, path, sources[i].member, "must populate information for the given metric source");
    }
    if (!is_known)
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, type, true,
                        "supported values: \"ContainerResource\", \"External\", \"Object\", \"Pods\", \"Resource\"",
                        "%s.type", path);
}

static bool has_metric_beside_pods(yyjson_val *metrics) {
    size_t index, count;
    yyjson_val *metric;
    yyjson_arr_foreach(metrics, index, count, metric) {
        ki_str type = kt_json_get_str(metric, "type");
        if (ki_str_equals(type, "Object") || ki_str_equals(type, "External"))
            return true;
    }
    return false;
}

/* Checks the version of what is scaled. An update that keeps version and kind keeps a wrong version too. */
static void check_scaled_version(kt_checked *c) {
    yyjson_val *now = yyjson_obj_get(c->spec, "scaleTargetRef"), *old = yyjson_obj_get(c->old_spec, "scaleTargetRef");
    ki_str version = kt_json_get_str(now, "apiVersion"), kind = kt_json_get_str(now, "kind"), rest = { NULL, 0 };
    const char *why = NULL;
    if (c->old && ki_str_equal(version, kt_json_get_str(old, "apiVersion")) &&
        ki_str_equal(kind, kt_json_get_str(old, "kind")))
        return;
    ki_str_split(version, '/', &rest);
    if (rest.size && memchr(rest.data, '/', rest.size))
        why = "unexpected GroupVersion string";
    else if (!rest.data && !ki_str_equals(kind, "ReplicationController"))
        why = "apiVersion must specify API group";
    if (why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.scaleTargetRef.apiVersion",
                      version.size ? version : KI_STR(""), why);
}

void kt_check_pod_autoscaler(kt_checked *c) {
    yyjson_val *least = yyjson_obj_get(c->spec, "minReplicas"), *most = yyjson_obj_get(c->spec, "maxReplicas");
    yyjson_val *behavior = yyjson_obj_get(c->spec, "behavior"), *metrics = yyjson_obj_get(c->spec, "metrics"), *metric;
    size_t index, count;
    char shown[32];
    kt_check_least(c, "spec.minReplicas", least, 0, KT_NOT_NEGATIVE);
    if (yyjson_get_sint(most) < 0)
        kt_add_json(c, "spec.maxReplicas", most, "must be greater than or equal to 1");
    snprintf(shown, sizeof shown, "%" PRId64, yyjson_get_sint(most));
    if (yyjson_get_sint(most) < (yyjson_is_int(least) ? yyjson_get_sint(least) : 1))
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, "spec.maxReplicas", ki_str_of(shown), false,
                            "must be greater than or equal to `minReplicas`");
    check_scaled_version(c);
    yyjson_arr_foreach(metrics, index, count, metric) {
        char path[64];
        snprintf(path, sizeof path, "spec.metrics[%zu]", index);
        check_metric(c, path, metric);
    }
    if (yyjson_is_int(least) && yyjson_get_sint(least) == 0 && !has_metric_beside_pods(metrics))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.metrics", KI_STR(""),
                      "must specify at least one Object or External metric to support scaling to zero replicas");
    if (kt_json_has(behavior, "scaleUp"))
        check_scaling(c, "spec.behavior.scaleUp", yyjson_obj_get(behavior, "scaleUp"));
    if (kt_json_has(behavior, "scaleDown"))
        check_scaling(c, "spec.behavior.scaleDown", yyjson_obj_get(behavior, "scaleDown"));
}
