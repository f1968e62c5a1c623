/* validate_policy.c: checks the bindings of admission policies, and API services. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

#define MATCHED "spec.matchResources"

enum {
    PATH_SIZE = 96,
    NAME_SIZE = 600,
    GROUP_PRIORITY_MAX = 20000,
    VERSION_PRIORITY_MAX = 1000
};

/* ---- bindings ---- */

static void check_param(kt_checked *c) {
    yyjson_val *param = yyjson_obj_get(c->spec, "paramRef"), *action = yyjson_obj_get(param, "parameterNotFoundAction");
    ki_str name = kt_json_get_str(param, "name");
    const char *why = name.size ? kt_validate_segment(name) : NULL;
    bool has_selector = kt_json_has(param, "selector");
    if (!kt_json_has(c->spec, "paramRef"))
        return;
    if (why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.paramRef.name", name, why);
    if (name.size && has_selector) {
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.paramRef.name", KI_STR(""),
                      "name and selector are mutually exclusive");
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.paramRef.selector", KI_STR(""),
                      "name and selector are mutually exclusive");
    }
    kt_check_selector(c->causes, "spec.paramRef.selector", yyjson_obj_get(param, "selector"));
    if (!name.size && !has_selector)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.paramRef", KI_STR(""),
                      "one of name or selector must be specified");
    if (!kt_json_str(action).size)
        kt_add_required(c, "spec.paramRef.parameterNotFoundAction");
    else
        kt_check_one_of(c->causes, "spec.paramRef.parameterNotFoundAction", action, "Deny,Allow");
}

static void check_rules(kt_checked *c, const char *member) {
    size_t index, count, at, name_count;
    yyjson_val *rule, *name;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_obj_get(c->spec, "matchResources"), member), index, count, rule) {
        yyjson_val *names = yyjson_obj_get(rule, "resourceNames");
        char path[PATH_SIZE];
        snprintf(path, sizeof path, MATCHED ".%s[%zu]", member, index);
        yyjson_arr_foreach(names, at, name_count, name) {
            ki_str text = kt_json_str(name);
            const char *why = text.size ? kt_validate_segment(text) : NULL;
            if (why)
                kt_validate_add(c->causes, KT_CAUSE_INVALID, text, true, why, "%s.resourceNames[%zu]", path, at);
            if (kt_is_earlier(names, at, NULL, text))
                kt_validate_add(c->causes, KT_CAUSE_DUPLICATE, text, true, "", "%s.resourceNames[%zu]", path, at);
        }
        kt_check_webhook_rule(c, path, rule);
    }
}

static void check_matched(kt_checked *c) {
    yyjson_val *matched = yyjson_obj_get(c->spec, "matchResources");
    kt_check_choice(c->causes, MATCHED, "matchPolicy", yyjson_obj_get(matched, "matchPolicy"), "Equivalent,Exact");
    kt_check_selector(c->causes, MATCHED ".namespaceSelector", yyjson_obj_get(matched, "namespaceSelector"));
    kt_check_selector(c->causes, MATCHED ".objectSelector", yyjson_obj_get(matched, "objectSelector"));
    check_rules(c, "resourceRules");
    check_rules(c, "excludeResourceRules");
}

static void check_actions(kt_checked *c) {
    yyjson_val *actions = yyjson_obj_get(c->spec, "validationActions"), *one;
    bool denies = false, warns = false;
    size_t index, count;
    yyjson_arr_foreach(actions, index, count, one) {
        char field[PATH_SIZE];
        snprintf(field, sizeof field, "spec.validationActions[%zu]", index);
        kt_check_one_of(c->causes, field, one, "Audit,Deny,Warn");
        if (kt_is_earlier(actions, index, NULL, kt_json_str(one)))
            kt_causes_add(c->causes, KT_CAUSE_DUPLICATE, field, kt_json_str(one), "");
        denies = denies || yyjson_equals_str(one, "Deny");
        warns = warns || yyjson_equals_str(one, "Warn");
    }
    if (denies && warns)
        kt_add_json(c, "spec.validationActions", actions,
                    "must not contain both Deny and Warn (repeating the same validation failure information in the "
                    "API response and headers serves no purpose)");
    if (!yyjson_arr_size(actions))
        kt_add_required(c, "spec.validationActions");
}

/* Policies that change objects match no deletion. */
static void check_operations(kt_checked *c) {
    yyjson_val *rules = yyjson_obj_get(yyjson_obj_get(c->spec, "matchResources"), "resourceRules"), *rule, *one;
    size_t index, count, at, operation_count;
    yyjson_arr_foreach(rules, index, count, rule) {
        yyjson_arr_foreach(yyjson_obj_get(rule, "operations"), at, operation_count, one) {
            kt_check_one_of(c->causes, MATCHED ".resourceRules.operations", one, "*,CONNECT,CREATE,UPDATE");
        }
    }
}

void kt_check_policy_binding(kt_checked *c) {
    check_param(c);
    check_matched(c);
    if (strcmp(c->what, "validating") == 0)
        check_actions(c);
    else
        check_operations(c);
}

/* ---- API services ---- */

static void check_priority(kt_checked *c, const char *field, const char *name, int64_t most, const char *why) {
    int64_t number = yyjson_get_sint(yyjson_obj_get(c->spec, name));
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, number);
    if (number <= 0 || number > most)
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, field, ki_str_of(shown), false, why);
}

/* Checks how the server reaches an API, or that it serves a local one. */
static void check_reach(kt_checked *c) {
    yyjson_val *service = yyjson_obj_get(c->spec, "service"), *port = yyjson_obj_get(service, "port");
    yyjson_val *insecure = yyjson_obj_get(c->spec, "insecureSkipTLSVerify");
    ki_str bundle = kt_json_get_str(c->spec, "caBundle");
    bool is_local = !kt_json_has(c->spec, "service"), is_insecure = yyjson_is_true(insecure);
    size_t padding = 0;
    char shown[32];
    while (padding < bundle.size && bundle.data[bundle.size - 1 - padding] == '=')
        padding++;
    snprintf(shown, sizeof shown, "%zu bytes", bundle.size / 4 * 3 - (padding < 3 ? padding : 0));
    if (is_local && bundle.size)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.caBundle", ki_str_of(shown),
                      "local APIServices may not have a caBundle");
    if (is_insecure && (is_local || bundle.size))
        kt_add_json(c, "spec.insecureSkipTLSVerify", insecure,
                    is_local ? "local APIServices may not have insecureSkipTLSVerify"
                             : "may not be true if caBundle is present");
    if (is_local)
        return;
    if (!kt_json_get_str(service, "namespace").size)
        kt_add_required(c, "spec.service.namespace");
    if (!kt_json_get_str(service, "name").size)
        kt_add_required(c, "spec.service.name");
    if (yyjson_is_int(port) && (yyjson_get_sint(port) < 1 || yyjson_get_sint(port) > UINT16_MAX))
        kt_add_json(c, "spec.service.port", port, "port is not valid: " KT_PORT_RANGE);
}

void kt_check_api_service(kt_checked *c) {
    ki_str group = kt_json_get_str(c->spec, "group"), version = kt_json_get_str(c->spec, "version");
    ki_str name = kt_json_get_str(yyjson_obj_get(c->root, "metadata"), "name");
    const char *why = group.size ? ki_label_check_subdomain(group) : NULL;
    char wanted[NAME_SIZE], detail[NAME_SIZE + 64];
    snprintf(wanted, sizeof wanted, "%.*s.%.*s", (int)version.size, version.size ? version.data : "", (int)group.size,
             group.size ? group.data : "");
    snprintf(detail, sizeof detail, "must be `spec.version+\".\"+spec.group`: \"%s\"", wanted);
    if (!ki_str_equals(name, wanted))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "metadata.name", name, detail);
    if (!group.size && !ki_str_equals(version, "v1"))
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.group", KI_STR(""),
                      "only v1 may have an empty group and it better be legacy kube");
    if (why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.group", group, why);
    if ((why = kt_validate_rfc1035_label(version)) != NULL)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.version", version.size ? version : KI_STR(""), why);
    check_priority(c, "spec.groupPriorityMinimum", "groupPriorityMinimum", GROUP_PRIORITY_MAX,
                   "must be positive and less than 20000");
    check_priority(c, "spec.versionPriority", "versionPriority", VERSION_PRIORITY_MAX,
                   "must be positive and less than 1000");
    check_reach(c);
}
