/* validate_scheduling.c: see validate_scheduling.h. As pkg/apis/core/validation. */
#include "testing/pods/validate_scheduling.h"

#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <stdio.h>
#include <string.h>

#define NO_KEY "operator must be Exists when `key` is empty, which means \"match all values and all keys\""

static ki_str text_of(yyjson_val *obj, const char *name) {
    ki_str text = kt_json_get_str(obj, name);
    return text.size ? text : KI_STR("");
}

/* ---- tolerations ---- */

static void check_toleration(kt_causes *causes, const char *path, yyjson_val *one) {
    static const kt_rule rules[] = {
        KT_TEXT("key", KT_IF_FILLED, kt_check_key),
        KT_CHOICE("effect", KT_IF_FILLED, "NoSchedule,PreferNoSchedule,NoExecute"),
    };
    ki_str op = text_of(one, "operator"), value = text_of(one, "value"), effect = text_of(one, "effect");
    bool is_exists = ki_str_equals(op, "Exists"), compares = ki_str_equals(op, "Lt") || ki_str_equals(op, "Gt");
    kt_place field = kt_place_of("%s.operator", path);
    KT_CHECK_RULES(causes, path, one, rules);
    if (!text_of(one, "key").size && !is_exists)
        kt_causes_add(causes, KT_CAUSE_INVALID, field.text, op, NO_KEY);
    if (!kt_is_absent(yyjson_obj_get(one, "tolerationSeconds")) && !ki_str_equals(effect, "NoExecute"))
        kt_validate_add(causes, KT_CAUSE_INVALID, effect, true,
                        "effect must be 'NoExecute' when `tolerationSeconds` is set", "%s.effect", path);
    if (!op.size || ki_str_equals(op, "Equal"))
        kt_check_value(causes, field.text, value);
    else if (!is_exists)
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, field.text, op,
                      compares ? "supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\""
                               : "supported values: \"Equal\", \"Exists\"");
    else if (value.size)
        kt_causes_add(causes, KT_CAUSE_INVALID, field.text, value, "value must be empty when `operator` is 'Exists'");
}

/* ---- affinity ---- */

static void check_node_requirement(kt_causes *causes, const char *path, yyjson_val *one, bool checks_values) {
    static const kt_rule rules[] = {
        KT_TEXT("key", KT_ALWAYS, kt_check_key),
        KT_TEXT("values[]", KT_IF_GIVEN, kt_check_value),
    };
    ki_str op = text_of(one, "operator");
    size_t values = yyjson_arr_size(yyjson_obj_get(one, "values"));
    bool lists = ki_str_equals(op, "In") || ki_str_equals(op, "NotIn");
    bool exists = ki_str_equals(op, "Exists") || ki_str_equals(op, "DoesNotExist");
    bool compares = ki_str_equals(op, "Gt") || ki_str_equals(op, "Lt");
    if ((lists && !values) || (compares && values != 1))
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                        lists ? KT_VALUES_NEEDED : "must be specified single value when `operator` is 'Lt' or 'Gt'",
                        "%s.values", path);
    if (exists && values)
        kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, KT_VALUES_FORBIDDEN, "%s.values", path);
    if (!lists && !exists && !compares)
        kt_validate_add(causes, KT_CAUSE_INVALID, op, true, KT_NOT_AN_OPERATOR, "%s.operator", path);
    kt_check_rules(causes, path, one, rules, checks_values ? 2 : 1);
}

/* Checks a requirement of a field, which can only be the node's name. */
static void check_field_requirement(kt_causes *causes, const char *path, yyjson_val *one) {
    static const kt_rule rules[] = { KT_TEXT("values[]", KT_IF_GIVEN, kt_check_subdomain) };
    ki_str op = text_of(one, "operator"), key = text_of(one, "key");
    if (!ki_str_equals(op, "In") && !ki_str_equals(op, "NotIn"))
        kt_validate_add(causes, KT_CAUSE_INVALID, op, true, KT_NOT_AN_OPERATOR, "%s.operator", path);
    else if (yyjson_arr_size(yyjson_obj_get(one, "values")) != 1)
        kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                        "%s.values", path);
    if (ki_str_equals(key, "metadata.name"))
        KT_CHECK_RULES(causes, path, one, rules);
    else
        kt_validate_add(causes, KT_CAUSE_INVALID, key, true, "not a valid field selector key", "%s.key", path);
}

/* A term that selects nodes. `checks_values`: the values must be those of labels. */
static void check_node_term(kt_causes *causes, const char *path, yyjson_val *term, bool checks_values) {
    size_t index, count;
    yyjson_val *one;
    kt_place place;
    yyjson_arr_foreach(yyjson_obj_get(term, "matchExpressions"), index, count, one) {
        place = kt_place_of("%s.matchExpressions[%zu]", path, index);
        check_node_requirement(causes, place.text, one, checks_values);
    }
    yyjson_arr_foreach(yyjson_obj_get(term, "matchFields"), index, count, one) {
        place = kt_place_of("%s.matchFields[%zu]", path, index);
        check_field_requirement(causes, place.text, one);
    }
}

/* Checks that the keys of labels come with a selector. */
static void check_label_keys(kt_causes *causes, const char *path, const char *name, yyjson_val *term) {
    yyjson_val *keys = yyjson_obj_get(term, name);
    char rule_path[64];
    const kt_rule rule = KT_TEXT(rule_path, KT_ALWAYS, kt_check_key);
    snprintf(rule_path, sizeof rule_path, "%s[]", name);
    if (yyjson_arr_size(keys) && kt_is_absent(yyjson_obj_get(term, "labelSelector")))
        kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true,
                        "must not be specified when labelSelector is not set", "%s.%s", path, name);
    else
        kt_check_rules(causes, path, term, &rule, 1);
}

static void check_pod_term(kt_causes *causes, const char *path, yyjson_val *term) {
    static const kt_rule rules[] = {
        KT_REQUIRED("topologyKey", "can not be empty"),
        KT_TEXT("topologyKey", KT_ALWAYS, kt_check_key),
    };
    static const char *const selectors[] = { "labelSelector", "namespaceSelector" };
    size_t index, count;
    yyjson_val *one;
    kt_place place;
    for (size_t i = 0; i < sizeof selectors / sizeof selectors[0]; i++) {
        place = kt_place_of("%s.%s", path, selectors[i]);
        kt_check_selector(causes, place.text, yyjson_obj_get(term, selectors[i]));
    }
    place = kt_place_of("%s.namespace", path);
    yyjson_arr_foreach(yyjson_obj_get(term, "namespaces"), index, count, one) {
        kt_check_dns_label(causes, place.text, kt_json_str(one));
    }
    check_label_keys(causes, path, "matchLabelKeys", term);
    check_label_keys(causes, path, "mismatchLabelKeys", term);
    KT_CHECK_RULES(causes, path, term, rules);
}

static void check_pod_affinity(kt_causes *causes, const char *path, yyjson_val *affinity) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
    static const char preferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
    static const kt_rule weight[] = { KT_NUMBER("weight", KT_ALWAYS, 1, 100, "must be in the range 1-100") };
    size_t index, count;
    yyjson_val *one;
    kt_place place, term;
    yyjson_arr_foreach(yyjson_obj_get(affinity, required), index, count, one) {
        place = kt_place_of("%s.%s[%zu]", path, required, index);
        check_pod_term(causes, place.text, one);
    }
    yyjson_arr_foreach(yyjson_obj_get(affinity, preferred), index, count, one) {
        place = kt_place_of("%s.%s[%zu]", path, preferred, index);
        term = kt_place_of("%s.podAffinityTerm", place.text);
        KT_CHECK_RULES(causes, place.text, one, weight);
        check_pod_term(causes, term.text, yyjson_obj_get(one, "podAffinityTerm"));
    }
}

static void check_node_affinity(kt_causes *causes, const char *path, yyjson_val *affinity) {
    static const kt_rule rules[] = {
        KT_REQUIRED("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
                    "must have at least one node selector term"),
        KT_NUMBER("preferredDuringSchedulingIgnoredDuringExecution[].weight", KT_ALWAYS, 1, 100,
                  "must be in the range 1-100"),
    };
    yyjson_val *required = yyjson_obj_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), *one;
    size_t index, count;
    kt_place place;
    KT_CHECK_RULES(causes, path, affinity, rules);
    yyjson_arr_foreach(yyjson_obj_get(required, "nodeSelectorTerms"), index, count, one) {
        place = kt_place_of("%s.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%zu]", path, index);
        check_node_term(causes, place.text, one, true);
    }
    yyjson_arr_foreach(yyjson_obj_get(affinity, "preferredDuringSchedulingIgnoredDuringExecution"), index, count, one) {
        place = kt_place_of("%s.preferredDuringSchedulingIgnoredDuringExecution[%zu].preference", path, index);
        check_node_term(causes, place.text, yyjson_obj_get(one, "preference"), false);
    }
}

/* ---- spread ---- */

static bool is_same_spread(yyjson_val *a, yyjson_val *b) {
    return ki_str_equal(text_of(a, "topologyKey"), text_of(b, "topologyKey")) &&
           ki_str_equal(text_of(a, "whenUnsatisfiable"), text_of(b, "whenUnsatisfiable"));
}

/* Checks the constraint at `path`; `rest` are those after it. */
static void check_spread(kt_causes *causes, const char *path, yyjson_val *one, yyjson_arr_iter rest) {
    ki_str key = text_of(one, "topologyKey"), action = text_of(one, "whenUnsatisfiable");
    yyjson_val *domains = yyjson_obj_get(one, "minDomains"), *other;
    kt_place place;
    char shown[256];
    for (size_t i = 0; i < KT_COMPARED_MAX && (other = yyjson_arr_iter_next(&rest)) != NULL; i++) {
        if (!is_same_spread(one, other))
            continue;
        snprintf(shown, sizeof shown, "{%.*s, %.*s}", (int)key.size, key.data, (int)action.size, action.data);
        kt_validate_add(causes, KT_CAUSE_DUPLICATE, ki_str_of(shown), true, "", "%s.{topologyKey, whenUnsatisfiable}",
                        path);
        break;
    }
    if (yyjson_is_int(domains) && !ki_str_equals(action, "DoNotSchedule")) {
        snprintf(shown, sizeof shown, "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s",
                 (int)action.size, action.data);
        place = kt_place_of("%s.minDomains", path);
        kt_add_number(causes, place.text, yyjson_get_sint(domains), shown);
    }
    place = kt_place_of("%s.labelSelector", path);
    kt_check_selector(causes, place.text, yyjson_obj_get(one, "labelSelector"));
    check_label_keys(causes, path, "matchLabelKeys", one);
}

void kt_check_scheduling(kt_causes *causes, const char *path, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_VALUE("nodeSelector", kt_check_labels),
        KT_NUMBER("topologySpreadConstraints[].maxSkew", KT_ALWAYS, 1, INT64_MAX, "must be greater than zero"),
        KT_REQUIRED("topologySpreadConstraints[].topologyKey", "can not be empty"),
        KT_CHOICE("topologySpreadConstraints[].whenUnsatisfiable", KT_ALWAYS, "DoNotSchedule,ScheduleAnyway"),
        KT_NUMBER("topologySpreadConstraints[].minDomains", KT_IF_GIVEN, 1, INT64_MAX, "must be greater than zero"),
        KT_CHOICE("topologySpreadConstraints[].nodeAffinityPolicy", KT_IF_GIVEN, "Honor,Ignore"),
        KT_CHOICE("topologySpreadConstraints[].nodeTaintsPolicy", KT_IF_GIVEN, "Honor,Ignore"),
    };
    yyjson_val *affinity = yyjson_obj_get(spec, "affinity"), *one;
    yyjson_val *spreads = yyjson_obj_get(spec, "topologySpreadConstraints");
    yyjson_val *gates = yyjson_obj_get(spec, "schedulingGates");
    yyjson_arr_iter rest = yyjson_arr_iter_with(spreads);
    size_t index, count;
    kt_place place;
    KT_CHECK_RULES(causes, path, spec, rules);
    yyjson_arr_foreach(yyjson_obj_get(spec, "tolerations"), index, count, one) {
        place = kt_place_of("%s.tolerations[%zu]", path, index);
        check_toleration(causes, place.text, one);
    }
    if (affinity) {
        place = kt_place_of("%s.affinity.nodeAffinity", path);
        check_node_affinity(causes, place.text, yyjson_obj_get(affinity, "nodeAffinity"));
        place = kt_place_of("%s.affinity.podAffinity", path);
        check_pod_affinity(causes, place.text, yyjson_obj_get(affinity, "podAffinity"));
        place = kt_place_of("%s.affinity.podAntiAffinity", path);
        check_pod_affinity(causes, place.text, yyjson_obj_get(affinity, "podAntiAffinity"));
    }
    yyjson_arr_foreach(spreads, index, count, one) {
        (void)yyjson_arr_iter_next(&rest);
        place = kt_place_of("%s.topologySpreadConstraints[%zu]", path, index);
        check_spread(causes, place.text, one, rest);
    }
    yyjson_arr_foreach(gates, index, count, one) {
        ki_str name = text_of(one, "name");
        place = kt_place_of("%s.schedulingGates[%zu]", path, index);
        kt_check_key(causes, place.text, name);
        if (kt_is_earlier(gates, index, "name", name))
            kt_causes_add(causes, KT_CAUSE_DUPLICATE, place.text, name, "");
    }
}
