/* validate_status.c: checks the status of pods and of the kinds that have a template of a pod. As the functions for
 * updates of a status in pkg/apis/core, apps and batch. */
#include "testing/validation/kinds.h"

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
    if (strcmp(c->what, "job") == 0)
        check_counters(c->causes, c->old, c->root);
}
