/* validate_workload.c: see validate_workload.h. One function for each kind. */
#include "testing/validation/validate_workload.h"

#include "testing/validation/validate_pod.h"
#include "testing/values/cron.h"
#include "testing/values/json.h"

#include <stdio.h>

#define MISMATCH "`selector` does not match template `labels`"

static const ki_str nothing = { NULL, 0 };

static void check_replicas(kt_checked *c) {
    kt_check_least(c, "spec.replicas", yyjson_obj_get(c->spec, "replicas"), 0, "must be greater than or equal to 0");
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
    if (kt_is_nothing(match) && kt_is_nothing(expressions))
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

static void check_template(kt_checked *c, bool checks_mounts) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(c->spec, "template"), "spec");
    kt_validate_pod_spec(c->causes, "spec.template.spec", pod, checks_mounts);
}

static void check_always_restarts(kt_checked *c) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(c->spec, "template"), "spec");
    ki_str policy = kt_json_get_str(pod, "restartPolicy");
    if (ki_str_equals(policy, "Never") || ki_str_equals(policy, "OnFailure"))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.template.spec.restartPolicy", policy,
                      "supported values: \"Always\"");
}

static yyjson_val *template_labels(const kt_checked *c) {
    yyjson_val *template = yyjson_obj_get(c->spec, "template");
    return yyjson_obj_get(yyjson_obj_get(template, "metadata"), "labels");
}

/* Checks that the selector exists, is not empty, and selects the template's labels. */
static void check_selector(kt_checked *c, bool is_required) {
    yyjson_val *selector = yyjson_obj_get(c->spec, "selector");
    yyjson_val *labels = template_labels(c);
    bool is_empty = yyjson_is_obj(selector) && kt_is_nothing(yyjson_obj_get(selector, "matchLabels")) &&
                    kt_is_nothing(yyjson_obj_get(selector, "matchExpressions"));
    char detail[96];
    snprintf(detail, sizeof detail, "empty selector is invalid for %s", c->what);
    if (!selector && is_required)
        kt_add_required(c, "spec.selector");
    if (is_empty)
        kt_add_json(c, "spec.selector", selector, detail);
    else if (!selects(selector, labels))
        kt_add_json(c, "spec.template.metadata.labels", labels, MISMATCH);
}

void kt_check_deployment(kt_checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, true);
    check_always_restarts(c);
    yyjson_val *strategy = yyjson_obj_get(c->spec, "strategy");
    if (ki_str_equals(kt_json_get_str(strategy, "type"), "Recreate") &&
        yyjson_is_obj(yyjson_obj_get(strategy, "rollingUpdate")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.strategy.rollingUpdate", nothing,
                      "may not be specified when strategy `type` is 'Recreate'");
    kt_check_stays(c, "spec.selector");
}

void kt_check_replica_set(kt_checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, true);
    check_always_restarts(c);
    kt_check_stays(c, "spec.selector");
}

void kt_check_daemon_set(kt_checked *c) {
    check_selector(c, false);
    check_template(c, true);
    check_always_restarts(c);
    kt_check_stays(c, "spec.selector");
}

void kt_check_stateful_set(kt_checked *c) {
    check_replicas(c);
    check_selector(c, true);
    check_template(c, false);
    check_always_restarts(c);
    kt_check_stays(c, "spec.selector");
    kt_check_stays(c, "spec.volumeClaimTemplates");
    kt_check_stays(c, "spec.serviceName");
    kt_check_stays(c, "spec.podManagementPolicy");
}

/* Checks the pods of a job. `path` is the place of the pod's spec. */
static void check_job_pod(kt_checked *c, const char *path, yyjson_val *spec) {
    yyjson_val *pod = yyjson_obj_get(yyjson_obj_get(spec, "template"), "spec");
    ki_str policy = kt_json_get_str(pod, "restartPolicy");
    kt_validate_pod_spec(c->causes, path, pod, true);
    if (!policy.size || ki_str_equals(policy, "Always"))
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, nothing, true, "valid values: \"OnFailure\", \"Never\"",
                        "%s.restartPolicy", path);
}

void kt_check_job(kt_checked *c) {
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
        check_selector(c, true);
    }
    check_job_pod(c, "spec.template.spec", c->spec);
    kt_check_stays(c, "spec.completions");
    kt_check_stays(c, "spec.selector");
    kt_check_stays(c, "spec.template");
    kt_check_stays(c, "spec.completionMode");
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

void kt_check_cron_job(kt_checked *c) {
    static const char *const counts[] = { "successfulJobsHistoryLimit", "failedJobsHistoryLimit" };
    static const char least[] = "must be greater than or equal to 0";
    ki_str policy = kt_json_get_str(c->spec, "concurrencyPolicy");
    check_schedule(c);
    kt_check_least(c, "spec.startingDeadlineSeconds", yyjson_obj_get(c->spec, "startingDeadlineSeconds"), 0, least);
    if (policy.size && !ki_str_equals(policy, "Allow") && !ki_str_equals(policy, "Forbid") &&
        !ki_str_equals(policy, "Replace"))
        kt_causes_add(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.concurrencyPolicy", policy,
                      "supported values: \"Allow\", \"Forbid\", \"Replace\"");
    check_job_pod(c, "spec.jobTemplate.spec.template.spec",
                  yyjson_obj_get(yyjson_obj_get(c->spec, "jobTemplate"), "spec"));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char field[64];
        snprintf(field, sizeof field, "spec.%s", counts[i]);
        kt_check_least(c, field, yyjson_obj_get(c->spec, counts[i]), 0, least);
    }
}
