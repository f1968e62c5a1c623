/* cells_pod.c: cells of pods. Status follows kubectl's rules, which combine phase and container statuses. */
#include "print/cells.h"

#include <inttypes.h>

enum {
    STATUSES_MAX =
        512 /* statuses, init containers and gates: for each all others are looked through, which is a square */
};

typedef struct pod_summary {
    int64_t ready, containers, restarts;
    int64_t restarted_ms; /* 0: never or unknown */
    char number[32];      /* memory of a generated reason */
    const char *prefix;
    ki_str reason;
} pod_summary;

static void take_restarts(pod_summary *p, yyjson_val *status) {
    int64_t ended, more = ki_cell_int_at(status, "restartCount");
    if (more > 0)
        p->restarts = more > INT64_MAX - p->restarts ? INT64_MAX : p->restarts + more;
    if (ki_cell_time(ki_cell_str_at(status, "lastState.terminated.finishedAt"), &ended) && ended > p->restarted_ms)
        p->restarted_ms = ended;
}

static void set_reason(pod_summary *p, const char *prefix, ki_str reason) {
    p->prefix = prefix;
    p->reason = reason;
}

/* Sets the reason of a terminated container: its reason, its signal, or its exit code. */
static void set_ended(pod_summary *p, const char *prefix, yyjson_val *terminated) {
    ki_str reason = ki_cell_str_at(terminated, "reason");
    int64_t signal = ki_cell_int_at(terminated, "signal");
    if (!reason.size) {
        int size = snprintf(p->number, sizeof p->number, "%s:%" PRId64, signal ? "Signal" : "ExitCode",
                            signal ? signal : ki_cell_int_at(terminated, "exitCode"));
        reason = (ki_str){ p->number, (size_t)size };
    }
    set_reason(p, prefix, reason);
}

/* Returns true if this init container is a sidecar. */
static bool is_sidecar(yyjson_val *root, ki_str name) {
    yyjson_val *container;
    size_t index, count;
    yyjson_arr_foreach(ki_cell_at(root, "spec.initContainers"), index, count, container) {
        if (index == STATUSES_MAX)
            break;
        if (ki_str_equal(ki_cell_str_at(container, "name"), name))
            return ki_str_equals(ki_cell_str_at(container, "restartPolicy"), "Always");
    }
    return false;
}

/* Adds one init container to the summary. Returns true if it does not block the next one. */
static bool take_init(pod_summary *p, yyjson_val *root, yyjson_val *status, size_t index) {
    yyjson_val *terminated = ki_cell_at(status, "state.terminated");
    ki_str waits = ki_cell_str_at(status, "state.waiting.reason");
    take_restarts(p, status);
    if (terminated && ki_cell_int_at(terminated, "exitCode") == 0)
        return true;
    if (is_sidecar(root, ki_cell_str_at(status, "name")) && yyjson_get_bool(ki_cell_at(status, "started"))) {
        p->ready += yyjson_get_bool(ki_cell_at(status, "ready"));
        return true;
    }
    if (terminated) {
        set_ended(p, "Init:", terminated);
    } else if (waits.size && !ki_str_equals(waits, "PodInitializing")) {
        set_reason(p, "Init:", waits);
    } else {
        int size = snprintf(p->number, sizeof p->number, "%zu/%zu", index,
                            yyjson_arr_size(ki_cell_at(root, "spec.initContainers")));
        set_reason(p, "Init:", (ki_str){ p->number, (size_t)size });
    }
    return false;
}

/* Drops the restarts of init containers except sidecars: they do not count once the others run. */
static void forget_init_restarts(pod_summary *p, yyjson_val *root) {
    yyjson_val *status;
    size_t index, count;
    p->restarts = 0;
    p->restarted_ms = 0;
    yyjson_arr_foreach(ki_cell_at(root, "status.initContainerStatuses"), index, count, status) {
        if (index == STATUSES_MAX)
            break;
        if (is_sidecar(root, ki_cell_str_at(status, "name")))
            take_restarts(p, status);
    }
}

static void take_containers(pod_summary *p, yyjson_val *root) {
    yyjson_val *statuses = ki_cell_at(root, "status.containerStatuses"), *failed = NULL;
    size_t count = yyjson_arr_size(statuses);
    bool is_running = false;
    for (size_t i = count < STATUSES_MAX ? count : STATUSES_MAX; i-- > 0;) { /* the first container's reason wins */
        yyjson_val *status = yyjson_arr_get(statuses, i), *terminated = ki_cell_at(status, "state.terminated");
        ki_str waits = ki_cell_str_at(status, "state.waiting.reason");
        take_restarts(p, status);
        if (waits.size) {
            set_reason(p, "", waits);
        } else if (terminated) {
            set_ended(p, "", terminated);
            if (ki_cell_int_at(terminated, "exitCode"))
                failed = terminated;
        } else if (yyjson_get_bool(ki_cell_at(status, "ready")) && ki_cell_at(status, "state.running")) {
            is_running = true;
            p->ready++;
        }
    }
    if (!ki_str_equals(p->reason, "Completed") || *p->prefix)
        return;
    if (is_running && ki_cell_is_true(ki_cell_condition(root, "Ready")))
        set_reason(p, "", KI_STR("Running"));
    else if (failed)
        set_ended(p, "", failed);
    else if (is_running)
        set_reason(p, "", KI_STR("NotReady"));
}

static void summarize(pod_summary *p, yyjson_val *root) {
    yyjson_val *one, *scheduled = ki_cell_condition(root, "PodScheduled");
    ki_str phase = ki_cell_str_at(root, "status.phase"), given = ki_cell_str_at(root, "status.reason");
    size_t index, count;
    bool is_initialized = true;
    *p = (pod_summary){ .prefix = "", .reason = given.size ? given : phase };
    p->containers = (int64_t)yyjson_arr_size(ki_cell_at(root, "spec.containers"));
    yyjson_arr_foreach(ki_cell_at(root, "spec.initContainers"), index, count, one) {
        p->containers += ki_str_equals(ki_cell_str_at(one, "restartPolicy"), "Always");
    }
    if (ki_str_equals(ki_cell_str_at(scheduled, "reason"), "SchedulingGated"))
        p->reason = KI_STR("SchedulingGated");
    yyjson_arr_foreach(ki_cell_at(root, "status.initContainerStatuses"), index, count, one) {
        is_initialized = take_init(p, root, one, index);
        if (!is_initialized || index == STATUSES_MAX)
            break;
    }
    if (is_initialized || ki_cell_is_true(ki_cell_condition(root, "Initialized"))) {
        forget_init_restarts(p, root);
        take_containers(p, root);
    }
    if (!ki_cell_at(root, "metadata.deletionTimestamp"))
        return;
    if (ki_str_equals(given, "NodeLost"))
        set_reason(p, "", KI_STR("Unknown"));
    else if (!ki_str_equals(phase, "Succeeded") && !ki_str_equals(phase, "Failed"))
        set_reason(p, "", KI_STR("Terminating"));
}

void ki_cell_pod_ready(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    pod_summary p;
    (void)path, (void)now_ms;
    summarize(&p, root);
    ki_buffer_printf(out, "%" PRId64 "/%" PRId64, p.ready, p.containers);
}

void ki_cell_pod_status(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    pod_summary p;
    (void)path, (void)now_ms;
    summarize(&p, root);
    ki_buffer_append_string(out, p.prefix);
    ki_buffer_append_view(out, p.reason);
}

void ki_cell_pod_restarts(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    pod_summary p;
    (void)path;
    summarize(&p, root);
    ki_buffer_printf(out, "%" PRId64, p.restarts);
    if (!p.restarts || !p.restarted_ms)
        return;
    ki_buffer_append_string(out, " (");
    ki_cell_append_duration(out, now_ms - p.restarted_ms);
    ki_buffer_append_string(out, " ago)");
}

void ki_cell_pod_ip(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str first = ki_cell_str_at(yyjson_arr_get_first(ki_cell_at(root, "status.podIPs")), "ip");
    (void)path, (void)now_ms;
    ki_cell_append_or(out, first.size ? first : ki_cell_str_at(root, "status.podIP"), "<none>");
}

void ki_cell_readiness_gates(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *gates = ki_cell_at(root, "spec.readinessGates"), *gate;
    size_t index, count, open = 0;
    (void)path, (void)now_ms;
    yyjson_arr_foreach(gates, index, count, gate) {
        const char *type = yyjson_get_str(yyjson_obj_get(gate, "conditionType"));
        if (index == STATUSES_MAX)
            break;
        open += type && ki_cell_is_true(ki_cell_condition(root, type));
    }
    if (yyjson_arr_size(gates))
        ki_buffer_printf(out, "%zu/%zu", open, yyjson_arr_size(gates));
    else
        ki_buffer_append_string(out, "<none>");
}
