/* validate_workload.c: see validate_workload.h. One function for each kind. */
#include "testing/kinds/validate_workload.h"

#include "testing/kinds/kinds.h"
#include "testing/pods/validate_pod.h"
#include "testing/validation/field_rules.h"
#include "testing/values/cron.h"
#include "testing/values/json.h"
#include "testing/values/zones.h"

#include <limits.h>
#include <stdio.h>

#define MISMATCH "`selector` does not match template `labels`"

enum {
    CRON_JOB_NAME_MAX = 52, /* the names of its jobs have 11 characters more */
    DEADLINE_SECONDS = 600  /* the default of progressDeadlineSeconds */
};

/* ---- selectors ---- */

static bool satisfies(yyjson_val *expression, yyjson_val *labels) {
    ki_str key = kt_json_get_str(expression, "key"), op = kt_json_get_str(expression, "operator");
    yyjson_val *label = key.size ? yyjson_obj_getn(labels, key.data, key.size) : NULL;
    if (ki_str_equals(op, "Exists"))
        return label != NULL;
    if (ki_str_equals(op, "DoesNotExist"))
        return label == NULL;
    bool among = label && kt_json_list_has(yyjson_obj_get(expression, "values"), SIZE_MAX, NULL, kt_json_str(label));
    return ki_str_equals(op, "NotIn") ? !among : among;
}

static bool selects(yyjson_val *selector, yyjson_val *labels) {
    yyjson_val *match = yyjson_obj_get(selector, "matchLabels"), *key, *val;
    yyjson_val *expressions = yyjson_obj_get(selector, "matchExpressions"), *expression;
    size_t index, count;
    if (kt_json_is_nothing(match) && kt_json_is_nothing(expressions))
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

/* ---- templates ---- */

/* Checks the template of a pod at `path`, such as "spec.template". `stateful_set`: see kt_validate_pod_spec. */
static void check_template(kt_checked *c, const char *path, yyjson_val *template, yyjson_val *stateful_set) {
    kt_place field;
    yyjson_val *pod = yyjson_obj_get(template, "spec");
    field = kt_place_of("%s.labels", path);
    kt_check_labels(c->causes, field.text, yyjson_obj_get(yyjson_obj_get(template, "metadata"), "labels"));
    field = kt_place_of("%s.spec", path);
    kt_validate_pod_spec(c->causes, field.text, pod, stateful_set);
    if (yyjson_arr_size(yyjson_obj_get(pod, "ephemeralContainers")))
        kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true,
                        "ephemeral containers not allowed in pod template", "%s.ephemeralContainers", field.text);
}

/* Checks that the pods run until they are deleted. `kind`: the controller in the message. */
static void check_always_runs(kt_checked *c, const char *kind) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(c->spec, "template"), "spec");
    ki_str policy = kt_json_get_str(pod, "restartPolicy");
    char why[96];
    snprintf(why, sizeof why, "activeDeadlineSeconds in %s is not Supported", kind);
    if (policy.size && !ki_str_equals(policy, "Always"))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.template.spec.restartPolicy", policy,
                      "supported values: \"Always\"");
    if (!kt_is_absent(yyjson_obj_get(pod, "activeDeadlineSeconds")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.template.spec.activeDeadlineSeconds", KI_STR(""), why);
}

static yyjson_val *template_labels(const kt_checked *c) {
    yyjson_val *template = yyjson_obj_get(c->spec, "template");
    return yyjson_obj_get(yyjson_obj_get(template, "metadata"), "labels");
}

/* Checks that the selector exists, is not empty, and selects the template's labels. Returns false if it has no meaning;
 * then the server does not check the template. `kind`: what an empty selector is invalid for. */
static bool check_selector(kt_checked *c, const char *kind, bool is_required) {
    yyjson_val *selector = yyjson_obj_get(c->spec, "selector");
    yyjson_val *labels = template_labels(c);
    bool is_empty = yyjson_is_obj(selector) && kt_json_is_nothing(yyjson_obj_get(selector, "matchLabels")) &&
                    kt_json_is_nothing(yyjson_obj_get(selector, "matchExpressions"));
    size_t before = c->causes->count;
    bool is_stateful = strcmp(kind, "statefulset") == 0;
    char detail[96];
    snprintf(detail, sizeof detail, "empty selector is invalid for %s", kind);
    if (kt_is_absent(selector) && is_required)
        kt_add_required(c, "spec.selector");
    kt_check_selector(c->causes, "spec.selector", selector);
    if (!kt_is_absent(selector) && c->causes->count > before) {
        kt_add_json(c, "spec.selector", selector, is_stateful ? "" : "invalid label selector");
        return false;
    }
    if (is_empty && strcmp(kind, "job") == 0) /* selects all pods */
        return true;
    if (is_empty)
        kt_add_json(c, "spec.selector", selector, detail);
    else if (!selects(selector, labels))
        kt_add_json(c, "spec.template.metadata.labels", labels, MISMATCH);
    return true;
}

/* ---- updates of the pods ---- */

/* Returns the number of an integer or percentage. Sets `*ret_is_percent`. */
static int64_t number_of(yyjson_val *val, bool *ret_is_percent) {
    ki_str text = kt_json_str(val);
    uint64_t number = 0;
    *ret_is_percent = text.size > 1 && text.data[text.size - 1] == '%';
    for (size_t i = 0; *ret_is_percent && i < text.size - 1; i++)
        *ret_is_percent = text.data[i] >= '0' && text.data[i] <= '9';
    if (!yyjson_is_str(val))
        return yyjson_get_sint(val);
    if (*ret_is_percent)
        text.size--;
    return ki_str_to_uint64(text, INT32_MAX, &number) ? (int64_t)number : *ret_is_percent ? INT32_MAX : 0;
}

/* Adds a problem of the type of a strategy, which the message shows with its Go fields. */
static void add_strategy(kt_checked *c, kt_cause_type type, const char *field, ki_str name, const char *detail) {
    ki_buffer shown;
    ki_buffer_init(&shown, c->causes->text.allocator, 0);
    ki_buffer_append_string(&shown, "{\"Type\":");
    ki_buffer_append_json_string(&shown, name);
    if (ki_buffer_append_string(&shown, ",\"RollingUpdate\":null}"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, type, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

static bool is_zero(yyjson_val *val) {
    bool is_percent;
    return !kt_is_absent(val) && number_of(val, &is_percent) == 0;
}

static void check_deployment_strategy(kt_checked *c) {
    static const char path[] = "spec.strategy.rollingUpdate";
    yyjson_val *strategy = yyjson_obj_get(c->spec, "strategy"), *rolling = yyjson_obj_get(strategy, "rollingUpdate");
    yyjson_val *unavailable = yyjson_obj_get(rolling, "maxUnavailable"), *surge = yyjson_obj_get(rolling, "maxSurge");
    ki_str type = kt_json_get_str(strategy, "type");
    if (ki_str_equals(type, "Recreate")) {
        if (yyjson_is_obj(rolling))
            kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, path, KI_STR(""),
                          "may not be specified when strategy `type` is 'Recreate'");
    } else if (type.size && !ki_str_equals(type, "RollingUpdate")) {
        add_strategy(c, KT_CAUSE_NOT_SUPPORTED, "spec.strategy", type,
                     "supported values: \"Recreate\", \"RollingUpdate\"");
    } else {
        kt_check_number_or_percent(c, "spec.strategy.rollingUpdate.maxUnavailable", unavailable, 100);
        kt_check_number_or_percent(c, "spec.strategy.rollingUpdate.maxSurge", surge, UINT_MAX);
        if (is_zero(unavailable) && is_zero(surge))
            kt_add_json(c, "spec.strategy.rollingUpdate.maxUnavailable", unavailable,
                        "may not be 0 when `maxSurge` is 0");
    }
}

static void check_stateful_strategy(kt_checked *c) {
    static const kt_rule rules[] = { KT_NOT_BELOW_0("updateStrategy.rollingUpdate.partition") };
    static const char path[] = "spec.updateStrategy.rollingUpdate";
    yyjson_val *strategy = yyjson_obj_get(c->spec, "updateStrategy");
    yyjson_val *rolling = yyjson_obj_get(strategy, "rollingUpdate"), *most = yyjson_obj_get(rolling, "maxUnavailable");
    ki_str type = kt_json_get_str(strategy, "type");
    if (ki_str_equals(type, "OnDelete")) {
        if (yyjson_is_obj(rolling))
            kt_add_json(c, path, rolling, "only allowed for updateStrategy 'RollingUpdate'");
    } else if (type.size && !ki_str_equals(type, "RollingUpdate")) {
        add_strategy(c, KT_CAUSE_INVALID, "spec.updateStrategy", type, "must be 'RollingUpdate' or 'OnDelete'");
    } else {
        KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
        kt_check_number_or_percent(c, "spec.updateStrategy.rollingUpdate.maxUnavailable", most, 100);
        if (is_zero(most))
            kt_add_json(c, "spec.updateStrategy.rollingUpdate.maxUnavailable", most, "cannot be 0");
    }
}

static void check_daemon_strategy(kt_checked *c) {
    yyjson_val *strategy = yyjson_obj_get(c->spec, "updateStrategy");
    yyjson_val *rolling = yyjson_obj_get(strategy, "rollingUpdate"), *surge = yyjson_obj_get(rolling, "maxSurge");
    yyjson_val *unavailable = yyjson_obj_get(rolling, "maxUnavailable");
    ki_str type = kt_json_get_str(strategy, "type");
    bool has_surge = !kt_is_absent(surge) && !is_zero(surge), has_unavailable = !is_zero(unavailable);
    if (ki_str_equals(type, "OnDelete"))
        return;
    if (type.size && !ki_str_equals(type, "RollingUpdate")) {
        add_strategy(c, KT_CAUSE_NOT_SUPPORTED, "spec.updateStrategy", type,
                     "supported values: \"RollingUpdate\", \"OnDelete\"");
        return;
    }
    kt_check_number_or_percent(c, "spec.updateStrategy.rollingUpdate.maxUnavailable", unavailable, 100);
    kt_check_number_or_percent(c, "spec.updateStrategy.rollingUpdate.maxSurge", surge, 100);
    if (has_surge && has_unavailable)
        kt_add_json(c, "spec.updateStrategy.rollingUpdate.maxSurge", surge,
                    "may not be set when maxUnavailable is non-zero");
    else if (!has_surge && !has_unavailable)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.updateStrategy.rollingUpdate.maxUnavailable", KI_STR(""),
                      "cannot be 0 when maxSurge is 0");
}

/* ---- kinds whose pods run until they are deleted ---- */

void kt_check_deployment(kt_checked *c) {
    static const kt_rule rules[] = {
        KT_NOT_BELOW_0("replicas"),
        KT_NOT_BELOW_0("minReadySeconds"),
        KT_NOT_BELOW_0("revisionHistoryLimit"),
        KT_NOT_BELOW_0("progressDeadlineSeconds"),
    };
    yyjson_val *deadline = yyjson_obj_get(c->spec, "progressDeadlineSeconds");
    int64_t ready = yyjson_get_sint(yyjson_obj_get(c->spec, "minReadySeconds"));
    int64_t seconds = kt_is_absent(deadline) ? DEADLINE_SECONDS : yyjson_get_sint(deadline);
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    if (check_selector(c, "deployment", true)) {
        check_template(c, "spec.template", yyjson_obj_get(c->spec, "template"), NULL);
        check_always_runs(c, "ReplicaSet");
    }
    check_deployment_strategy(c);
    if (seconds <= ready)
        kt_add_number(c->causes, "spec.progressDeadlineSeconds", seconds, "must be greater than minReadySeconds");
    kt_check_stays(c, "spec.selector");
}

void kt_check_replica_set(kt_checked *c) {
    static const kt_rule rules[] = { KT_NOT_BELOW_0("replicas"), KT_NOT_BELOW_0("minReadySeconds") };
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    if (check_selector(c, "deployment", true)) { /* so says the server */
        check_template(c, "spec.template", yyjson_obj_get(c->spec, "template"), NULL);
        check_always_runs(c, "ReplicaSet");
    }
    kt_check_stays(c, "spec.selector");
}

void kt_check_daemon_set(kt_checked *c) {
    static const kt_rule rules[] = { KT_NOT_BELOW_0("minReadySeconds"), KT_NOT_BELOW_0("revisionHistoryLimit") };
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    check_selector(c, "daemonset", false);
    check_template(c, "spec.template", yyjson_obj_get(c->spec, "template"), NULL);
    check_always_runs(c, "DaemonSet");
    check_daemon_strategy(c);
    kt_check_stays(c, "spec.selector");
}

void kt_check_stateful_set(kt_checked *c) {
    static const kt_rule rules[] = {
        KT_NOT_BELOW_0("replicas"),
        KT_NOT_BELOW_0("minReadySeconds"),
        KT_NOT_BELOW_0("ordinals.start"),
        KT_TEXT("serviceName", KT_IF_FILLED, kt_check_dns_label),
        KT_CHOICE("persistentVolumeClaimRetentionPolicy.whenDeleted", KT_IF_FILLED, "Retain,Delete"),
        KT_CHOICE("persistentVolumeClaimRetentionPolicy.whenScaled", KT_IF_FILLED, "Retain,Delete"),
    };
    ki_str policy = kt_json_get_str(c->spec, "podManagementPolicy");
    size_t index, count;
    yyjson_val *claim;
    kt_place place;
    if (policy.size && !ki_str_equals(policy, "OrderedReady") && !ki_str_equals(policy, "Parallel"))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.podManagementPolicy", policy,
                      "must be 'OrderedReady' or 'Parallel'");
    check_stateful_strategy(c);
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    yyjson_arr_foreach(yyjson_obj_get(c->spec, "volumeClaimTemplates"), index, count, claim) {
        place = kt_place_of("spec.volumeClaimTemplates[%zu].spec", index);
        kt_check_claim_spec(c->causes, place.text, yyjson_obj_get(claim, "spec"));
    }
    if (check_selector(c, "statefulset", true))
        check_template(c, "spec.template", yyjson_obj_get(c->spec, "template"), c->spec);
    check_always_runs(c, "StatefulSet");
    kt_check_stays(c, "spec.selector");
    kt_check_stays(c, "spec.volumeClaimTemplates");
    kt_check_stays(c, "spec.serviceName");
    kt_check_stays(c, "spec.podManagementPolicy");
}

/* The selector of a ReplicationController is an object of labels, by default those of its template. */
void kt_check_replication(kt_checked *c) {
    static const kt_rule rules[] = { KT_NOT_BELOW_0("replicas"), KT_NOT_BELOW_0("minReadySeconds") };
    yyjson_val *selector = yyjson_obj_get(c->spec, "selector"), *labels = template_labels(c), *key, *val;
    yyjson_val *template = yyjson_obj_get(c->spec, "template");
    size_t index, count;
    bool matches = true;
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    yyjson_obj_foreach(selector, index, count, key, val) {
        ki_str name = kt_json_str(key);
        matches = matches && ki_str_equal(kt_json_str(val), kt_json_str(yyjson_obj_getn(labels, name.data, name.size)));
    }
    if (kt_json_is_nothing(selector) && kt_json_is_nothing(labels))
        kt_add_required(c, "spec.selector");
    if (kt_is_absent(template)) {
        kt_add_required(c, "spec.template");
        return;
    }
    if (!matches)
        kt_add_json(c, "spec.template.metadata.labels", labels, MISMATCH);
    check_template(c, "spec.template", template, NULL);
    check_always_runs(c, "ReplicationController");
}

void kt_check_pod_template(kt_checked *c) {
    check_template(c, "template", yyjson_obj_get(c->root, "template"), NULL);
}

/* ---- jobs ---- */

/* Checks the spec of a job at `path`, without its selector. */
static void check_job_spec(kt_checked *c, const char *path, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_NOT_BELOW_0("parallelism"),
        KT_NOT_BELOW_0("completions"),
        KT_NOT_BELOW_0("activeDeadlineSeconds"),
        KT_NOT_BELOW_0("backoffLimit"),
        KT_NOT_BELOW_0("ttlSecondsAfterFinished"),
        KT_NOT_BELOW_0("backoffLimitPerIndex"),
        KT_NOT_BELOW_0("maxFailedIndexes"),
        KT_CHOICE("completionMode", KT_IF_GIVEN, "NonIndexed,Indexed"),
        KT_CHOICE("podFailurePolicy.rules[].action", KT_IF_FILLED, "Count,FailIndex,FailJob,Ignore"),
        KT_CHOICE("podFailurePolicy.rules[].onExitCodes.operator", KT_IF_FILLED, "In,NotIn"),
    };
    static const kt_rule of_indexed[] = {
        KT_NUMBER("parallelism", KT_IF_GIVEN, INT64_MIN, 100000,
                  "must be less than or equal to 100000 when completion mode is Indexed"),
    };
    static const kt_rule replacement[] = { KT_CHOICE("podReplacementPolicy", KT_IF_GIVEN,
                                                     "Failed,TerminatingOrFailed") };
    static const kt_rule only_failed[] = { KT_CHOICE("podReplacementPolicy", KT_IF_GIVEN, "Failed") };
    static const char *const indexed[] = { "backoffLimitPerIndex", "maxFailedIndexes" };
    ki_str mode = kt_json_get_str(spec, "completionMode");
    yyjson_val *template = yyjson_obj_get(spec, "template");
    ki_str policy = kt_json_get_str(yyjson_obj_get(template, "spec"), "restartPolicy");
    bool is_indexed = ki_str_equals(mode, "Indexed"), is_plain = !mode.size || ki_str_equals(mode, "NonIndexed");
    bool has_failure_policy = !kt_is_absent(yyjson_obj_get(spec, "podFailurePolicy"));
    kt_place field;
    KT_CHECK_RULES(c->causes, path, spec, rules);
    if (is_indexed)
        KT_CHECK_RULES(c->causes, path, spec, of_indexed);
    if (has_failure_policy)
        KT_CHECK_RULES(c->causes, path, spec, only_failed);
    else
        KT_CHECK_RULES(c->causes, path, spec, replacement);
    for (size_t i = 0; i < sizeof indexed / sizeof indexed[0]; i++) {
        yyjson_val *val = yyjson_obj_get(spec, indexed[i]);
        field = kt_place_of("%s.%s", path, indexed[i]);
        if (is_plain && !kt_is_absent(val))
            kt_add_number(c->causes, field.text, yyjson_get_sint(val), "requires indexed completion mode");
    }
    if (is_indexed && kt_is_absent(yyjson_obj_get(spec, "completions")) &&
        !kt_is_absent(yyjson_obj_get(spec, "parallelism"))) /* without both, the default is one completion */
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "when completion mode is Indexed",
                        "%s.completions", path);
    field = kt_place_of("%s.template", path);
    check_template(c, field.text, template, NULL);
    if (!policy.size || ki_str_equals(policy, "Always"))
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "valid values: \"OnFailure\", \"Never\"",
                        "%s.template.spec.restartPolicy", path);
    else if (!ki_str_equals(policy, "OnFailure") && !ki_str_equals(policy, "Never"))
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, policy, true, "supported values: \"OnFailure\", \"Never\"",
                        "%s.template.spec.restartPolicy", path);
    else if (has_failure_policy && !ki_str_equals(policy, "Never"))
        kt_validate_add(c->causes, KT_CAUSE_INVALID, policy, true,
                        "only \"Never\" is supported when podFailurePolicy is specified",
                        "%s.template.spec.restartPolicy", path);
}

/* Checks that the completions of an indexed job change with its parallelism only, and those of others never. */
static void check_completions(kt_checked *c) {
    yyjson_val *now = yyjson_obj_get(c->spec, "completions"), *before = yyjson_obj_get(c->old_spec, "completions");
    bool is_indexed = ki_str_equals(kt_json_get_str(c->spec, "completionMode"), "Indexed");
    if (!is_indexed)
        kt_check_stays(c, "spec.completions");
    else if (c->old && now && !kt_is_same(c, now, before) &&
             !kt_is_same(c, now, yyjson_obj_get(c->spec, "parallelism")))
        kt_add_json(c, "spec.completions", now, "can only be modified in tandem with spec.parallelism");
}

/* Returns true if a job is suspended and runs no pods. */
static bool is_waiting(const kt_checked *c) {
    yyjson_val *status = yyjson_obj_get(c->old, "status"), *one;
    bool is_idle = kt_is_absent(yyjson_obj_get(status, "startTime"));
    size_t index, count;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), index, count, one) {
        is_idle = is_idle || (yyjson_equals_str(yyjson_obj_get(one, "type"), "Suspended") &&
                              yyjson_equals_str(yyjson_obj_get(one, "status"), "True"));
    }
    return is_idle && yyjson_is_true(yyjson_obj_get(c->old_spec, "suspend")) &&
           yyjson_get_sint(yyjson_obj_get(status, "active")) == 0;
}

/* Returns true if an update changes the pods of a job only in what a job that waits can change. */
static bool has_same_pods(kt_checked *c) {
    static const char *const parts[] = { "metadata", "spec", NULL }, *const labels[] = { "labels", "annotations",
                                                                                         NULL };
    static const char *const places[] = { "nodeSelector", "tolerations",    "affinity", "schedulingGates",
                                          "containers",   "initContainers", NULL };
    static const char *const resources[] = { "resources", NULL };
    yyjson_val *old = yyjson_obj_get(c->old_spec, "template"), *now = yyjson_obj_get(c->spec, "template");
    yyjson_val *old_pod = yyjson_obj_get(old, "spec"), *pod = yyjson_obj_get(now, "spec");
    bool is_same = kt_is_same_but(c, old, now, parts) && kt_is_same_but(c, old_pod, pod, places) &&
                   kt_is_same_but(c, yyjson_obj_get(old, "metadata"), yyjson_obj_get(now, "metadata"), labels);
    for (size_t i = 4; places[i]; i++)
        is_same = is_same &&
                  kt_is_list_same_but(c, yyjson_obj_get(old_pod, places[i]), yyjson_obj_get(pod, places[i]), resources);
    return is_same;
}

void kt_check_job(kt_checked *c) {
    static const char *const fixed[] = { "spec.selector",         "spec.completionMode", "spec.managedBy",
                                         "spec.podFailurePolicy", "spec.successPolicy",  "spec.backoffLimitPerIndex" };
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
        kt_add_json(c, "spec.selector", selector, "`selector` not auto-generated");
    else if (!selector && !is_generated) {
        kt_add_required(c, "spec.selector");
        kt_add_json(c, "spec.template.metadata.labels", template_labels(c), MISMATCH);
    } else if (selector) {
        check_selector(c, "job", true);
    }
    check_job_spec(c, "spec", c->spec);
    check_completions(c);
    if (!is_waiting(c) || !has_same_pods(c))
        kt_check_stays(c, "spec.template");
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        kt_check_stays(c, fixed[i]);
}

static void check_schedule(kt_checked *c) {
    static const char no_zone[] = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    static const char both_zones[] = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    ki_str schedule = kt_json_get_str(c->spec, "schedule"), old = kt_json_get_str(c->old_spec, "schedule");
    bool has_zone = schedule.size && memmem(schedule.data, schedule.size, "TZ", 2);
    bool had_zone = old.size && memmem(old.data, old.size, "TZ", 2);
    ki_buffer problem;
    if (!schedule.size) {
        kt_add_required(c, "spec.schedule");
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

/* Checks the name of a time zone. */
static void check_zone(kt_checked *c) {
    yyjson_val *val = yyjson_obj_get(c->spec, "timeZone");
    ki_str zone = kt_json_str(val);
    ki_buffer why;
    if (kt_is_absent(val) || (c->old && kt_is_same(c, val, yyjson_obj_get(c->old_spec, "timeZone"))) ||
        kt_zone_is_known(zone))
        return;
    ki_buffer_init(&why, c->causes->text.allocator, 0);
    if (!zone.size)
        ki_buffer_append_string(&why, "timeZone must be nil or non-empty string");
    else if (ki_str_equals(zone, "Local"))
        ki_buffer_append_string(&why, "timeZone must be an explicit time zone as defined in "
                                      "https://www.iana.org/time-zones");
    else
        ki_buffer_printf(&why, "unknown time zone %.*s", (int)zone.size, zone.data);
    if (why.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.timeZone", zone, why.data);
    ki_buffer_free(&why);
}

void kt_check_cron_job(kt_checked *c) {
    static const kt_rule rules[] = {
        KT_NOT_BELOW_0("startingDeadlineSeconds"),
        KT_CHOICE("concurrencyPolicy", KT_IF_FILLED, "Allow,Forbid,Replace"),
        KT_NOT_BELOW_0("successfulJobsHistoryLimit"),
        KT_NOT_BELOW_0("failedJobsHistoryLimit"),
    };
    yyjson_val *job = yyjson_obj_get(yyjson_obj_get(c->spec, "jobTemplate"), "spec");
    yyjson_val *selector = yyjson_obj_get(job, "selector");
    ki_str name = kt_json_get_str(yyjson_obj_get(c->root, "metadata"), "name");
    check_schedule(c);
    check_zone(c);
    KT_CHECK_RULES(c->causes, "spec", c->spec, rules);
    check_job_spec(c, "spec.jobTemplate.spec", job);
    if (!kt_is_absent(selector))
        kt_add_json(c, "spec.jobTemplate.spec.selector", selector, "`selector` will be auto-generated");
    if (yyjson_is_true(yyjson_obj_get(job, "manualSelector")))
        kt_causes_add_value(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.jobTemplate.spec.manualSelector", KI_STR("true"),
                            false, "supported values: \"nil\", \"false\"");
    if (!c->old && name.size > CRON_JOB_NAME_MAX)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "metadata.name", name, "must be no more than 52 characters");
}
