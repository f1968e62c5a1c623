/* cells_workload.c: cells of deployments, jobs, controllers, autoscalers and nodes. */
#include "print/cells.h"

#include "src/base/memory.h"

#include <inttypes.h>

enum {
    TARGETS_SHOWN = 2
};

void ki_cell_replicas_ready(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    (void)path, (void)now_ms;
    ki_buffer_printf(out, "%" PRId64 "/%" PRId64, ki_cell_int_at(root, "status.readyReplicas"),
                     ki_cell_int_at(root, "spec.replicas"));
}

void ki_cell_job_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    static const char *const conditions[][2] = { { "Complete", "Complete" },
                                                 { "Failed", "Failed" },
                                                 { NULL, "Terminating" },
                                                 { "Suspended", "Suspended" },
                                                 { "FailureTarget", "FailureTarget" },
                                                 { "SuccessCriteriaMet", "SuccessCriteriaMet" } };
    (void)path, (void)now_ms;
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        const char *type = conditions[i][0];
        if (type ? ki_cell_is_true(ki_cell_condition(root, type))
                 : ki_cell_at(root, "metadata.deletionTimestamp") != NULL) {
            ki_buffer_append_string(out, conditions[i][1]);
            return;
        }
    }
    ki_buffer_append_string(out, "Running");
}

void ki_cell_job_completions(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    int64_t succeeded = ki_cell_int_at(root, "status.succeeded"),
            parallelism = ki_cell_int_at(root, "spec.parallelism");
    (void)path, (void)now_ms;
    if (ki_cell_at(root, "spec.completions"))
        ki_buffer_printf(out, "%" PRId64 "/%" PRId64, succeeded, ki_cell_int_at(root, "spec.completions"));
    else if (parallelism > 1)
        ki_buffer_printf(out, "%" PRId64 "/1 of %" PRId64, succeeded, parallelism);
    else
        ki_buffer_printf(out, "%" PRId64 "/1", succeeded);
}

void ki_cell_job_duration(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    int64_t start, end;
    (void)path;
    if (!ki_cell_time(ki_cell_str_at(root, "status.startTime"), &start))
        return;
    if (!ki_cell_time(ki_cell_str_at(root, "status.completionTime"), &end))
        end = now_ms;
    ki_cell_append_duration(out, end - start);
}

static void append_lower(ki_buffer *out, ki_str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        ki_buffer_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}

/* Appends the controller: statefulset.apps/db. */
void ki_cell_controller(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *owner;
    size_t index, count;
    (void)path, (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "metadata.ownerReferences"), index, count, owner) {
        if (!yyjson_get_bool(yyjson_obj_get(owner, "controller")))
            continue;
        ki_str version, group = ki_str_split(ki_cell_str_at(owner, "apiVersion"), '/', &version);
        append_lower(out, ki_cell_str_at(owner, "kind"));
        if (version.size) {
            ki_buffer_append_char(out, '.');
            append_lower(out, group);
        }
        ki_buffer_append_char(out, '/');
        ki_buffer_append_view(out, ki_cell_str_at(owner, "name"));
        return;
    }
    ki_buffer_append_string(out, "<none>");
}

/* ---- autoscalers ---- */

/* Appends a quantity, or `other` if it is missing. */
static void append_quantity(ki_buffer *out, yyjson_val *val, const char *other) {
    if (yyjson_is_int(val))
        ki_buffer_printf(out, "%" PRId64, yyjson_get_sint(val));
    else
        ki_cell_append_or(out, ki_cell_str(val), other);
}

static void append_percent(ki_buffer *out, yyjson_val *val, const char *other) {
    if (val)
        ki_buffer_printf(out, "%" PRId64 "%%", yyjson_get_sint(val));
    else
        ki_buffer_append_string(out, other);
}

/* Appends a metric's current and target value. */
static void append_target(ki_buffer *out, yyjson_val *metric, yyjson_val *current_metric) {
    static const struct {
        const char *type;
        const char *member;
        bool is_resource;
        bool says_average;
    } types[] = { { "External", "external", false, true },
                  { "Pods", "pods", false, false },
                  { "Object", "object", false, true },
                  { "Resource", "resource", true, false },
                  { "ContainerResource", "containerResource", true, false } };
    ki_str type = ki_cell_str_at(metric, "type");
    size_t i = 0, count = sizeof types / sizeof types[0];
    while (i < count && !ki_str_equals(type, types[i].type))
        i++;
    if (i == count) {
        ki_buffer_append_string(out, "<unknown type>");
        return;
    }
    yyjson_val *wanted = yyjson_obj_get(metric, types[i].member), *target = yyjson_obj_get(wanted, "target");
    yyjson_val *current = yyjson_obj_get(yyjson_obj_get(current_metric, types[i].member), "current");
    yyjson_val *average = ki_cell_at(target, "averageValue");
    if (types[i].is_resource) {
        ki_buffer_append_view(out, ki_cell_str_at(wanted, "name"));
        ki_buffer_append_string(out, ": ");
    }
    if (average || ki_str_equals(type, "Pods")) {
        append_quantity(out, ki_cell_at(current, "averageValue"), "<unknown>");
        ki_buffer_append_char(out, '/');
        append_quantity(out, average, "0");
        ki_buffer_append_string(out, types[i].says_average ? " (avg)" : "");
    } else if (types[i].is_resource) {
        append_percent(out, ki_cell_at(current, "averageUtilization"), "<unknown>");
        ki_buffer_append_char(out, '/');
        append_percent(out, ki_cell_at(target, "averageUtilization"), "<auto>");
    } else {
        append_quantity(out, ki_cell_at(current, "value"), "<unknown>");
        ki_buffer_append_char(out, '/');
        append_quantity(out, ki_cell_at(target, "value"), "0");
    }
}

void ki_cell_targets(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *metrics = ki_cell_at(root, "spec.metrics"), *now = ki_cell_at(root, "status.currentMetrics"), *metric;
    yyjson_val *percent = ki_cell_at(root, "spec.targetCPUUtilizationPercentage"); /* autoscaling/v1 */
    size_t index, count;
    (void)path, (void)now_ms;
    if (percent) {
        ki_buffer_append_string(out, "cpu: ");
        append_percent(out, ki_cell_at(root, "status.currentCPUUtilizationPercentage"), "<unknown>");
        ki_buffer_append_char(out, '/');
        append_percent(out, percent, "");
        return;
    }
    if (!yyjson_arr_size(metrics))
        ki_buffer_append_string(out, "<none>");
    yyjson_arr_foreach(metrics, index, count, metric) {
        if (index == TARGETS_SHOWN) {
            ki_buffer_printf(out, " + %zu more...", count - TARGETS_SHOWN);
            break;
        }
        ki_buffer_append_string(out, index ? ", " : "");
        append_target(out, metric, yyjson_arr_get(now, index));
    }
}

/* ---- nodes ---- */

void ki_cell_node_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *ready = ki_cell_condition(root, "Ready");
    (void)path, (void)now_ms;
    ki_buffer_append_string(out, !ready ? "Unknown" : ki_cell_is_true(ready) ? "Ready" : "NotReady");
    if (yyjson_get_bool(ki_cell_at(root, "spec.unschedulable")))
        ki_buffer_append_string(out, ",SchedulingDisabled");
}

/* Returns the ROLE of a label node-role.kubernetes.io/ROLE. */
static bool is_role(ki_str label, ki_str *ret_role) {
    static const ki_str prefix = { "node-role.kubernetes.io/", sizeof "node-role.kubernetes.io/" - 1 };
    if (!ki_str_starts_with(label, prefix))
        return false;
    *ret_role = (ki_str){ label.data + prefix.size, label.size - prefix.size };
    return ret_role->size > 0;
}

/* Appends the roles sorted and without duplicates. The labels are sorted by name; the role of the label
 * kubernetes.io/role is inserted between them. */
void ki_cell_node_roles(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *object = ki_cell_at(root, "metadata.labels");
    size_t count, shown = 0;
    ki_cell_member *labels = ki_cell_sorted(out, object, &count);
    ki_str named = ki_cell_str(yyjson_obj_get(object, "kubernetes.io/role")), role = { NULL, 0 };
    (void)path, (void)now_ms;
    for (size_t i = 0; i <= count; i++) {
        bool is_last = i == count;
        if (!is_last && !is_role(labels[i].name, &role))
            continue;
        if (named.size && (is_last || ki_str_order(role, named) >= 0)) {
            ki_buffer_append_string(out, shown++ ? "," : "");
            ki_buffer_append_view(out, named);
            is_last = is_last || ki_str_equal(role, named);
            named.size = 0;
        }
        if (!is_last) {
            ki_buffer_append_string(out, shown++ ? "," : "");
            ki_buffer_append_view(out, role);
        }
    }
    if (!shown)
        ki_buffer_append_string(out, "<none>");
    ki_free(out->allocator, labels);
}

void ki_cell_node_address(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *address;
    size_t index, count;
    (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "status.addresses"), index, count, address) {
        if (ki_str_equals(ki_cell_str_at(address, "type"), path)) {
            ki_buffer_append_view(out, ki_cell_str_at(address, "address"));
            return;
        }
    }
    ki_buffer_append_string(out, "<none>");
}

void ki_cell_node_kernel(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str machine = ki_cell_str_at(root, "status.nodeInfo.architecture");
    (void)path, (void)now_ms;
    ki_cell_append_or(out, ki_cell_str_at(root, "status.nodeInfo.kernelVersion"), "<unknown>");
    if (machine.size) {
        ki_buffer_append_string(out, " (");
        ki_buffer_append_view(out, machine);
        ki_buffer_append_char(out, ')');
    }
}
