/* validate_pod.c: see validate_pod.h. Has the real server's order and messages. */
#include "testing/pods/validate_pod.h"

#include "testing/pods/validate_container.h"
#include "testing/pods/validate_pod_volume.h"
#include "testing/pods/validate_scheduling.h"
#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <stdio.h>

#define UPDATES_FORBIDDEN \
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," \
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," \
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

enum {
    FIELD_SIZE = 512,
    COMPARED_MAX = 1000000, /* pairs of elements */
    NAME_MAX_SIZE = 253,
    NAMESERVERS_MAX = 3,
    SEARCHES_MAX = 32,
    SEARCHES_SIZE_MAX = 2048 /* characters of all search paths */
};

static bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Checks a search path: a subdomain whose labels may have underscores, but not at the end. A dot may follow it. */
static void check_search(kt_causes *causes, const char *field, ki_str text) {
    if (ki_str_equals(text, "."))
        return;
    if (text.size && text.data[text.size - 1] == '.')
        text.size--;
    bool is_valid = text.size > 0 && text.data[text.size - 1] != '.';
    for (ki_str rest = text; rest.size && is_valid;) {
        ki_str label = ki_str_split(rest, '.', &rest);
        size_t first = label.size && label.data[0] == '_';
        is_valid =
            label.size > first && is_lower_or_digit(label.data[first]) && is_lower_or_digit(label.data[label.size - 1]);
        for (size_t i = first; i < label.size && is_valid; i++)
            is_valid = is_lower_or_digit(label.data[i]) || label.data[i] == '-' || label.data[i] == '_';
    }
    if (text.size > NAME_MAX_SIZE)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text, "must be no more than 253 characters");
    if (!is_valid)
        kt_causes_add(causes, KT_CAUSE_INVALID, field, text.size ? text : KI_STR(""),
                      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or "
                      "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                      "validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
}

/* Checks the lengths of the lists of DNS. */
static void check_dns_lists(kt_causes *causes, const char *path, yyjson_val *config) {
    kt_checked c = { .causes = causes };
    yyjson_val *servers = yyjson_obj_get(config, "nameservers"), *searches = yyjson_obj_get(config, "searches"), *one;
    size_t index, count, size = 0;
    kt_place place = kt_place_of("%s.dnsConfig.searches", path);
    yyjson_arr_foreach(searches, index, count, one) size += yyjson_get_len(one) + (index > 0);
    if (yyjson_arr_size(servers) > NAMESERVERS_MAX)
        kt_add_json(&c, kt_place_of("%s.dnsConfig.nameservers", path).text, servers,
                    "must not have more than 3 nameservers");
    if (yyjson_arr_size(searches) > SEARCHES_MAX)
        kt_add_json(&c, place.text, searches, "must not have more than 32 search paths");
    if (size > SEARCHES_SIZE_MAX)
        kt_add_json(&c, place.text, searches,
                    "must not have more than 2048 characters (including spaces) in the search list");
}

/* Checks the settings of DNS: without a policy of the cluster, a pod names its servers. */
static void check_dns(kt_causes *causes, const char *path, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_TEXT("dnsConfig.nameservers[]", KT_ALWAYS, kt_check_address),
        KT_TEXT("dnsConfig.searches[]", KT_ALWAYS, check_search),
    };
    yyjson_val *config = yyjson_obj_get(spec, "dnsConfig"), *option;
    size_t index, count;
    if (ki_str_equals(kt_json_get_str(spec, "dnsPolicy"), "None")) {
        if (kt_is_absent(config))
            kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "must provide `dnsConfig` when `dnsPolicy` is None", "%s.dnsConfig", path);
        else if (yyjson_arr_size(yyjson_obj_get(config, "nameservers")) == 0)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                            "must provide at least one DNS nameserver when `dnsPolicy` is None",
                            "%s.dnsConfig.nameservers", path);
    }
    if (!config)
        return;
    check_dns_lists(causes, path, config);
    KT_CHECK_RULES(causes, path, spec, rules);
    yyjson_arr_foreach(yyjson_obj_get(config, "options"), index, count, option) {
        if (!kt_json_get_str(option, "name").size)
            kt_validate_add(causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "must not be empty",
                            "%s.dnsConfig.options[%zu]", path, index);
    }
}

void kt_validate_pod_spec(kt_causes *causes, const char *path, yyjson_val *spec, yyjson_val *stateful_set) {
    static const kt_rule rules[] = {
        KT_CHOICE("restartPolicy", KT_IF_FILLED, "Always,OnFailure,Never"),
        KT_CHOICE("dnsPolicy", KT_IF_FILLED, "ClusterFirstWithHostNet,ClusterFirst,Default,None"),
        KT_NUMBER("securityContext.fsGroup", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_NUMBER("securityContext.runAsUser", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_NUMBER("securityContext.runAsGroup", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_NUMBER("securityContext.supplementalGroups[]", KT_IF_GIVEN, 0, INT32_MAX, KT_ID_RANGE),
        KT_REQUIRED("securityContext.sysctls[].name", ""),
        KT_CHOICE("securityContext.fsGroupChangePolicy", KT_IF_GIVEN, "Always,OnRootMismatch"),
        KT_CHOICE("securityContext.supplementalGroupsPolicy", KT_IF_GIVEN, "Merge,Strict"),
        KT_CHOICE("securityContext.seLinuxChangePolicy", KT_IF_GIVEN, "MountOption,Recursive"),
        KT_REQUIRED("securityContext.seccompProfile.type", "type is required when seccompProfile is set"),
        KT_CHOICE("securityContext.seccompProfile.type", KT_IF_FILLED, "Localhost,RuntimeDefault,Unconfined"),
        KT_TEXT("readinessGates[].conditionType", KT_ALWAYS, kt_check_key),
        KT_TEXT("serviceAccountName", KT_IF_FILLED, kt_check_subdomain),
        KT_TEXT("nodeName", KT_IF_FILLED, kt_check_subdomain),
        KT_NUMBER("activeDeadlineSeconds", KT_IF_GIVEN, 1, INT32_MAX, "must be between 1 and 2147483647, inclusive"),
        KT_TEXT("hostAliases[].ip", KT_ALWAYS, kt_check_address),
        KT_TEXT("hostAliases[].hostnames[]", KT_ALWAYS, kt_check_subdomain),
        KT_TEXT("priorityClassName", KT_IF_FILLED, kt_check_subdomain),
        KT_TEXT("runtimeClassName", KT_IF_GIVEN, kt_check_subdomain),
        KT_CHOICE("preemptionPolicy", KT_IF_FILLED, "PreemptLowerPriority,Never"),
        KT_REQUIRED("os.name", ""),
    };
    static const kt_rule names[] = {
        /* the controller sets them in the pods of a StatefulSet */
        KT_TEXT("hostname", KT_IF_FILLED, kt_check_dns_label),
        KT_TEXT("subdomain", KT_IF_FILLED, kt_check_dns_label),
    };
    ki_str os = kt_json_get_str(yyjson_obj_get(spec, "os"), "name");
    kt_volumes volumes = { .list = yyjson_obj_get(spec, "volumes"),
                           .claims = yyjson_obj_get(stateful_set, "volumeClaimTemplates") };
    if (volumes.list || volumes.claims)
        kt_check_volumes(causes, path, &volumes);
    kt_check_containers(causes, path, spec, &volumes);
    KT_CHECK_RULES(causes, path, spec, rules);
    if (!stateful_set)
        KT_CHECK_RULES(causes, path, spec, names);
    if (os.size && !ki_str_equals(os, "linux") && !ki_str_equals(os, "windows"))
        kt_validate_add(causes, KT_CAUSE_NOT_SUPPORTED, os, true, "supported values: \"linux\", \"windows\"", "%s.os",
                        path);
    if (yyjson_is_true(yyjson_obj_get(spec, "shareProcessNamespace")) &&
        yyjson_is_true(yyjson_obj_get(spec, "hostPID")))
        kt_validate_add(causes, KT_CAUSE_INVALID, KI_STR("true"), false,
                        "ShareProcessNamespace and HostPID cannot both be enabled", "%s.shareProcessNamespace", path);
    if (yyjson_obj_get(spec, "dnsPolicy") || yyjson_obj_get(spec, "dnsConfig"))
        check_dns(causes, path, spec);
    kt_check_scheduling(causes, path, spec);
}

/* ---- updates ---- */

/* Returns true if an update changes only what it can change. `is_gated`: the pod waits at a gate. */
static bool is_spec_kept(kt_checked *c, bool is_gated) {
    static const char *const changeable[] = { "nodeSelector", "affinity", /* of a pod that waits */
                                              "containers",   "initContainers",  "activeDeadlineSeconds",
                                              "tolerations",  "schedulingGates", NULL };
    static const char *const image[] = { "image", NULL };
    bool is_kept = kt_is_same_but(c, c->old_spec, c->spec, is_gated ? changeable : changeable + 2);
    for (size_t i = 2; i < 4; i++)
        is_kept = is_kept && kt_is_list_same_but(c, yyjson_obj_get(c->old_spec, changeable[i]),
                                                 yyjson_obj_get(c->spec, changeable[i]), image);
    return is_kept;
}

/* Checks that a deadline is not extended. */
static void check_deadline(kt_causes *causes, yyjson_val *old, yyjson_val *now) {
    static const char field[] = "spec.activeDeadlineSeconds";
    int64_t seconds = yyjson_get_sint(now);
    if (kt_is_absent(old))
        return;
    if (kt_is_absent(now))
        kt_causes_add_value(causes, KT_CAUSE_INVALID, field, KI_STR("null"), false,
                            "must not update from a positive integer to nil value");
    else if (seconds > yyjson_get_sint(old))
        kt_add_number(causes, field, seconds, "must be less than or equal to previous value");
}

/* Checks that no toleration is removed. */
static void check_tolerations(kt_checked *c) {
    static const char *const seconds[] = { "tolerationSeconds", NULL };
    yyjson_val *old_list = yyjson_obj_get(c->old_spec, "tolerations"), *list = yyjson_obj_get(c->spec, "tolerations");
    size_t index, count, k, new_count, compared = 0;
    yyjson_val *old, *one;
    yyjson_arr_foreach(old_list, index, count, old) {
        bool is_kept = false;
        yyjson_arr_foreach(list, k, new_count, one) {
            is_kept = is_kept || compared++ > COMPARED_MAX || kt_is_same_but(c, old, one, seconds);
        }
        if (is_kept)
            continue;
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.tolerations", KI_STR(""),
                      "existing toleration can not be modified except its tolerationSeconds");
        return;
    }
}

/* Checks that no gate is added. */
static void check_gates(kt_causes *causes, yyjson_val *old_list, yyjson_val *list) {
    size_t index, count, k, old_count, compared = 0;
    yyjson_val *gate, *old;
    yyjson_arr_foreach(list, index, count, gate) {
        ki_str name = kt_json_get_str(gate, "name");
        char why[FIELD_SIZE];
        bool is_old = false;
        yyjson_arr_foreach(old_list, k, old_count, old) {
            is_old = is_old || compared++ > COMPARED_MAX || ki_str_equal(kt_json_get_str(old, "name"), name);
        }
        snprintf(why, sizeof why, "only deletion is allowed, but found new scheduling gate '%.*s'", (int)name.size,
                 name.size ? name.data : "");
        if (!is_old)
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, why, "spec.schedulingGates[%zu].name", index);
    }
}

/* Returns true if `now` begins with the elements of `old`. */
static bool begins_with(kt_checked *c, yyjson_val *now, yyjson_val *old) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_iter others = yyjson_arr_iter_with(now);
    yyjson_arr_foreach(old, index, count, one) {
        yyjson_val *other = yyjson_arr_iter_next(&others);
        if (!other || !kt_is_same(c, one, other))
            return false;
    }
    return true;
}

/* Checks that the nodes a gated pod requires become fewer. */
static void check_required_nodes(kt_checked *c, yyjson_val *old_affinity, yyjson_val *affinity) {
    static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution", terms[] = "nodeSelectorTerms";
    static const char field[] = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                                "nodeSelectorTerms";
    yyjson_val *old = yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(old_affinity, "nodeAffinity"), required), terms);
    yyjson_val *now = yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(affinity, "nodeAffinity"), required), terms);
    yyjson_val *one;
    yyjson_arr_iter terms_now = yyjson_arr_iter_with(now);
    size_t index, count;
    if (yyjson_arr_size(old) && yyjson_arr_size(old) != yyjson_arr_size(now)) {
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, KI_STR(""),
                      "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    yyjson_arr_foreach(old, index, count, one) {
        yyjson_val *other = yyjson_arr_iter_next(&terms_now);
        yyjson_val *expressions = yyjson_obj_get(one, "matchExpressions"), *fields = yyjson_obj_get(one, "matchFields");
        yyjson_val *new_expressions = yyjson_obj_get(other, "matchExpressions");
        yyjson_val *new_fields = yyjson_obj_get(other, "matchFields");
        bool was_empty = !yyjson_arr_size(expressions) && !yyjson_arr_size(fields);
        if ((was_empty && (yyjson_arr_size(new_expressions) || yyjson_arr_size(new_fields))) ||
            !begins_with(c, new_expressions, expressions) || !begins_with(c, new_fields, fields))
            kt_validate_add(c->causes, KT_CAUSE_INVALID, KI_STR(""), true,
                            "only additions are allowed (no mutations or deletions)", "%s[%zu]", field, index);
    }
}

/* Checks that an update of a gated pod adds to what its node must be. Returns false if it changes another affinity. */
static bool check_gated(kt_checked *c) {
    static const char *const of_node[] = { "nodeAffinity", NULL };
    yyjson_val *old_affinity = yyjson_obj_get(c->old_spec, "affinity"), *affinity = yyjson_obj_get(c->spec, "affinity");
    yyjson_val *labels = yyjson_obj_get(c->spec, "nodeSelector"), *key, *val;
    size_t index, count;
    bool is_kept = true;
    yyjson_obj_foreach(yyjson_obj_get(c->old_spec, "nodeSelector"), index, count, key, val) {
        ki_str name = kt_json_str(key);
        is_kept = is_kept && kt_is_same(c, val, yyjson_obj_getn(labels, name.data, name.size));
    }
    if (!is_kept)
        kt_add_json(c, "spec.nodeSelector", labels,
                    "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    check_required_nodes(c, old_affinity, affinity);
    bool is_dropped = kt_is_absent(affinity) && !kt_is_absent(old_affinity) && !kt_json_has(old_affinity, of_node[0]);
    return !is_dropped && kt_is_same_but(c, old_affinity, affinity, of_node);
}

void kt_validate_pod_update(kt_checked *c) {
    static const char deadline[] = "activeDeadlineSeconds", gates[] = "schedulingGates";
    static const char *const lists[] = { "containers", "initContainers" };
    yyjson_val *old_gates = yyjson_obj_get(c->old_spec, gates);
    bool is_gated = yyjson_arr_size(old_gates) > 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (yyjson_arr_size(yyjson_obj_get(c->old_spec, lists[i])) ==
            yyjson_arr_size(yyjson_obj_get(c->spec, lists[i])))
            continue;
        kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "pod updates may not add or remove containers",
                        "spec.%s", lists[i]);
        return;
    }
    check_deadline(c->causes, yyjson_obj_get(c->old_spec, deadline), yyjson_obj_get(c->spec, deadline));
    check_tolerations(c);
    check_gates(c->causes, old_gates, yyjson_obj_get(c->spec, gates));
    bool is_kept = is_spec_kept(c, is_gated);
    if (is_gated)
        is_kept = check_gated(c) && is_kept;
    if (!is_kept && !c->arena.failed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec", KI_STR(""), UPDATES_FORBIDDEN);
}
