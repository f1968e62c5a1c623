/* validate_status.c: checks the status of pods and of the kinds that have a template of a pod. As the functions for
 * updates of a status in pkg/apis/core, apps and batch. */
#include "testing/kinds/kinds.h"

#include "testing/validation/address.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

enum {
    NAMES_MAX = 10
};

/* ---- numbers of workloads ---- */

/* The numbers of a status. `counts`: none is below 0. `parts`: none is more than status.replicas. */
static const struct {
    const char *kind;
    const char *counts[NAMES_MAX];
    const char *parts[NAMES_MAX];
    const char *ready; /* what availableReplicas must not exceed, as the message says; NULL: no check */
} numbers[] = {
    { "replication controller",
      { "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration" },
      { "fullyLabeledReplicas", "readyReplicas", "availableReplicas" },
      "cannot be greater than readyReplicas" },
    { "deployment",
      { "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount" },
      { "updatedReplicas", "readyReplicas", "availableReplicas" },
      "cannot be greater than readyReplicas" },
    { "replica set",
      { "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        "terminatingReplicas" },
      { "fullyLabeledReplicas", "readyReplicas", "availableReplicas" },
      "cannot be greater than readyReplicas" },
    { "statefulset",
      { "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
        "collisionCount" },
      { "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas" },
      "cannot be greater than status.readyReplicas" },
    { "daemonset",
      { "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
        "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount" },
      { NULL },
      NULL },
    { "job", { "active", "succeeded", "failed", "ready", "terminating" }, { NULL }, NULL },
};

static int64_t number_of(yyjson_val *status, const char *name) {
    return yyjson_get_sint(yyjson_obj_get(status, name));
}

static void add(kt_causes *causes, const char *name, int64_t number, const char *detail) {
    kt_place field = kt_place_of("status.%s", name);
    kt_add_number(causes, field.text, number, detail);
}

static void check_numbers(kt_causes *causes, size_t kind, yyjson_val *old, yyjson_val *status) {
    int64_t replicas = number_of(status, "replicas"), available = number_of(status, "availableReplicas");
    yyjson_val *collisions = yyjson_obj_get(status, "collisionCount"), *before = yyjson_obj_get(old, "collisionCount");
    bool has_fewer = yyjson_get_sint(collisions) < yyjson_get_sint(before) || kt_is_absent(collisions);
    for (const char *const *name = numbers[kind].counts; *name; name++) {
        if (number_of(status, *name) < 0)
            add(causes, *name, number_of(status, *name), KT_NOT_NEGATIVE);
    }
    for (const char *const *name = numbers[kind].parts; *name; name++) {
        if (number_of(status, *name) > replicas)
            add(causes, *name, number_of(status, *name), "cannot be greater than status.replicas");
    }
    if (numbers[kind].ready && available > number_of(status, "readyReplicas"))
        add(causes, "availableReplicas", available, numbers[kind].ready);
    if (!kt_is_absent(before) && has_fewer)
        add(causes, "collisionCount", yyjson_get_sint(collisions), "cannot be decremented");
}

/* Checks that a job's counters grow. Those of an indexed job can get smaller together with the job. */
static void check_counters(kt_causes *causes, yyjson_val *old_root, yyjson_val *root) {
    yyjson_val *old = yyjson_obj_get(old_root, "status"), *status = yyjson_obj_get(root, "status");
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    bool is_elastic = yyjson_equals_str(yyjson_obj_get(spec, "completionMode"), "Indexed") &&
                      number_of(spec, "completions") == number_of(spec, "parallelism");
    if (number_of(status, "failed") < number_of(old, "failed"))
        add(causes, "failed", number_of(status, "failed"), "cannot decrease the failed counter");
    if (!is_elastic && number_of(status, "succeeded") < number_of(old, "succeeded"))
        add(causes, "succeeded", number_of(status, "succeeded"), "cannot decrease the succeeded counter");
    if (!kt_is_absent(yyjson_obj_get(status, "ready")) && number_of(status, "ready") > number_of(status, "active"))
        add(causes, "ready", number_of(status, "ready"), "cannot set more ready pods than active");
}

/* ---- conditions and times of jobs ---- */

static bool is_true(yyjson_val *status, const char *type) {
    yyjson_val *one;
    size_t index, count;
    bool is_set = false;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), index, count, one) {
        is_set = is_set || (yyjson_equals_str(yyjson_obj_get(one, "type"), type) &&
                            yyjson_equals_str(yyjson_obj_get(one, "status"), "True"));
    }
    return is_set;
}

/* Adds an "Invalid value" that shows no value. */
static void add_condition(kt_causes *causes, const char *detail) {
    kt_causes_add_value(causes, KT_CAUSE_INVALID, "status.conditions", ki_str_of(detail), false, "");
}

/* Checks which conditions are true together, and that those of an end stay. */
static void check_conditions(kt_causes *causes, yyjson_val *old, yyjson_val *status) {
    static const struct {
        const char *type, *other;
        bool is_needed; /* `type` needs `other`; otherwise it excludes it */
    } pairs[] = {
        { "Complete", "Failed", false },           { "Complete", "FailureTarget", false },
        { "Failed", "FailureTarget", true },       { "Complete", "SuccessCriteriaMet", true },
        { "SuccessCriteriaMet", "Failed", false }, { "SuccessCriteriaMet", "FailureTarget", false },
    };
    static const char *const ends[] = { "Failed", "Complete", "FailureTarget", "SuccessCriteriaMet" };
    kt_place why;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const char *type = pairs[i].type, *other = pairs[i].other;
        bool is_needed = pairs[i].is_needed, is_changed = is_true(status, type) != is_true(old, type);
        if (strcmp(type, "Failed") != 0)
            is_changed = is_changed || is_true(status, other) != is_true(old, other);
        why = is_needed ? kt_place_of("cannot set %s=True condition without the %s=true condition", type, other)
                        : kt_place_of("cannot set %s=True and %s=true conditions", type, other);
        if (is_changed && is_true(status, type) && is_true(status, other) != is_needed)
            add_condition(causes, why.text);
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        why = kt_place_of("cannot disable the %s%s=True condition", i < 3 ? "terminal " : "", ends[i]);
        if (is_true(old, ends[i]) && !is_true(status, ends[i]))
            add_condition(causes, why.text);
    }
}

/* Checks what is true of a job at its end. */
static void check_end(kt_checked *c, yyjson_val *old, yyjson_val *status) {
    static const char end[] = "status.completionTime", begin[] = "status.startTime";
    yyjson_val *completed = yyjson_obj_get(status, "completionTime"), *started = yyjson_obj_get(status, "startTime");
    yyjson_val *was_completed = yyjson_obj_get(old, "completionTime"), *was_started = yyjson_obj_get(old, "startTime");
    bool is_complete = is_true(status, "Complete"), is_finished = is_complete || is_true(status, "Failed");
    bool is_suspended = yyjson_is_true(yyjson_obj_get(c->spec, "suspend"));
    bool is_resumed = is_true(old, "Suspended") && !is_true(status, "Suspended");
    if (!kt_is_absent(completed) && !is_complete)
        kt_add_json(c, end, completed, "cannot set completionTime when there is no Complete=True condition");
    if (kt_is_absent(completed) && is_complete)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, end, KI_STR(""), "completionTime is required for Complete jobs");
    if (!kt_is_absent(completed) && !kt_is_absent(started) &&
        ki_str_order(kt_json_str(completed), kt_json_str(started)) < 0)
        kt_add_json(c, end, completed, "must be equal to or after `startTime`");
    if (!kt_is_absent(completed) && !kt_is_absent(was_completed) && !kt_is_same(c, was_completed, completed))
        kt_add_json(c, end, completed, KT_IMMUTABLE);
    if (!kt_is_absent(was_started) && !kt_is_same(c, was_started, started) && !is_suspended && !is_resumed)
        kt_add_json(c, begin, kt_is_absent(started) ? NULL : started,
                    "field is immutable for unsuspended job once set");
    if (!is_finished)
        return;
    if (number_of(status, "active") > 0)
        add(c->causes, "active", number_of(status, "active"), "active>0 is invalid for finished job");
    if (number_of(status, "terminating") > 0)
        add(c->causes, "terminating", number_of(status, "terminating"), "terminating>0 is invalid for finished job");
    if (kt_is_absent(started) && !(is_suspended && number_of(c->spec, "completions") == 0))
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, begin, KI_STR(""), "startTime is required for finished job");
}

/* ---- pods ---- */

/* Adds a problem if the list has two addresses of one family, or more than two. */
static void check_two_families(kt_causes *causes, const char *many, yyjson_val *list) {
    size_t index, count;
    yyjson_val *one;
    ki_buffer shown;
    if (yyjson_arr_size(list) < 2 ||
        (yyjson_arr_size(list) == 2 && kt_address_family(kt_json_get_str(yyjson_arr_get(list, 0), "ip")) !=
                                           kt_address_family(kt_json_get_str(yyjson_arr_get(list, 1), "ip"))))
        return;
    ki_buffer_init(&shown, causes->text.allocator, 0);
    yyjson_arr_foreach(list, index, count, one) {
        ki_buffer_append_string(&shown, index ? ",{\"IP\":" : "[{\"IP\":");
        ki_buffer_append_json_string(&shown, kt_json_get_str(one, "ip"));
        ki_buffer_append_char(&shown, '}');
    }
    if (ki_buffer_append_char(&shown, ']'))
        causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(causes, KT_CAUSE_INVALID, kt_place_of("status.%s", many).text,
                            (ki_str){ shown.data, shown.size }, false,
                            "may specify no more than one IP for each IP family");
    ki_buffer_free(&shown);
}

/* Checks the list `many` of addresses, of which `one` is the first. Addresses that the old status has can stay. */
static void check_addresses(kt_causes *causes, const char *one, const char *many, yyjson_val *old, yyjson_val *status) {
    yyjson_val *list = yyjson_obj_get(status, many), *element;
    ki_str address = kt_json_get_str(status, one), first = kt_json_get_str(yyjson_arr_get_first(list), "ip");
    size_t index, count;
    kt_place field;
    yyjson_arr_foreach(list, index, count, element) {
        ki_str text = kt_json_get_str(element, "ip");
        field = kt_place_of("status.%s[%zu]", many, index);
        if (!kt_json_list_has(yyjson_obj_get(old, many), SIZE_MAX, "ip", text))
            kt_check_address(causes, field.text, text);
    }
    check_two_families(causes, many, list);
    field = kt_place_of("must be equal to `%s`", one);
    if (yyjson_arr_size(list) && !ki_str_equal(address, first))
        kt_validate_add(causes, KT_CAUSE_INVALID, first, true, field.text, "status.%s[0].ip", many);
}

void kt_check_pod_status(kt_checked *c) {
    static const char node[] = "nominatedNodeName";
    kt_causes *causes = c->causes;
    yyjson_val *status = yyjson_obj_get(c->root, "status"), *old = yyjson_obj_get(c->old, "status"), *one;
    ki_str nominated = kt_json_get_str(status, node), before = kt_json_get_str(old, node);
    bool is_bound = kt_json_get_str(yyjson_obj_get(c->old, "spec"), "nodeName").size > 0;
    size_t index, count;
    yyjson_arr_foreach(yyjson_obj_get(status, "conditions"), index, count, one) {
        kt_place field = kt_place_of("status.conditions[%zu].Type", index);
        kt_check_key(causes, field.text, kt_json_get_str(one, "type"));
    }
    if (nominated.size && !ki_str_equal(nominated, before)) {
        kt_check_subdomain(causes, "status.nominatedNodeName", nominated);
        if (is_bound)
            kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "status.nominatedNodeName", nominated,
                          "may not be set on pods that are already bound to a node");
    }
    check_addresses(causes, "podIP", "podIPs", old, status);
    check_addresses(causes, "hostIP", "hostIPs", old, status);
}

void kt_check_workload_status(kt_checked *c) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(c->what, numbers[i].kind) == 0)
            check_numbers(c->causes, i, yyjson_obj_get(c->old, "status"), yyjson_obj_get(c->root, "status"));
    }
    if (strcmp(c->what, "job") != 0 || !c->old)
        return;
    check_counters(c->causes, c->old, c->root);
    check_conditions(c->causes, yyjson_obj_get(c->old, "status"), yyjson_obj_get(c->root, "status"));
    check_end(c, yyjson_obj_get(c->old, "status"), yyjson_obj_get(c->root, "status"));
}
