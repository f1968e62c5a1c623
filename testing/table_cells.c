/* table_cells.c: one cell of a table from an object's JSON. */
#include "testing/table_cells.h"

#include "testing/json.h"
#include "testing/schema/index.h"
#include "testing/selector_text.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    ROLES_MAX = 256
};

static yyjson_val *at_path(yyjson_val *root, const char *path) {
    ki_str rest = ki_str_of(path);
    while (root && rest.size) {
        ki_str step = ki_str_split(rest, '.', &rest);
        root = yyjson_obj_getn(root, step.data, step.size);
    }
    return root;
}

static int64_t integer_at(yyjson_val *root, const char *path) {
    return yyjson_get_sint(at_path(root, path));
}

/* Seconds since 1970 of an RFC 3339 time; false where it is none. */
static bool parse_time(ki_str text, int64_t *ret_seconds) {
    int year, month, day, hour, minute, second;
    char space[32];
    if (text.size < 20 || text.size >= sizeof space)
        return false;
    memcpy(space, text.data, text.size);
    space[text.size] = '\0';
    if (sscanf(space, "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6)
        return false;
    int64_t shifted_year = month <= 2 ? year - 1 : year;
    int64_t era = shifted_year / 400, of_era = shifted_year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
    *ret_seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    return true;
}

/* As kubectl prints ages: 45s, 3m20s, 170m, 5h2m, 30h, 3d4h, 200d, 2y3d. */
static void append_age(ki_buffer *out, int64_t seconds) {
    int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24, years = days / 365;
    int64_t whole, part = 0;
    char unit, part_unit = 's';
    if (seconds < 120) {
        whole = seconds < 0 ? 0 : seconds, unit = 's';
    } else if (minutes < 180) {
        whole = minutes, unit = 'm';
        part = minutes < 10 ? seconds % 60 : 0;
    } else if (hours < 48) {
        whole = hours, unit = 'h', part_unit = 'm';
        part = hours < 8 ? minutes % 60 : 0;
    } else if (days < 730) {
        whole = days, unit = 'd', part_unit = 'h';
        part = hours < 192 ? hours % 24 : 0;
    } else {
        whole = years, unit = 'y', part_unit = 'd';
        part = years < 8 ? days % 365 : 0;
    }
    ki_buffer_printf(out, "\"%" PRId64 "%c", whole, unit);
    if (part)
        ki_buffer_printf(out, "%" PRId64 "%c", part, part_unit);
    ki_buffer_append_char(out, '"');
}

void kt_cell_append_age(yyjson_val *val, int64_t now_ms, ki_buffer *out) {
    int64_t then;
    if (parse_time(kt_json_str(val), &then))
        append_age(out, now_ms / 1000 - then);
    else
        ki_buffer_append_string(out, "\"<unknown>\"");
}

static void append_pod_ready(ki_buffer *out, yyjson_val *root) {
    yyjson_val *status;
    size_t index, count, ready = 0;
    yyjson_arr_foreach(at_path(root, "status.containerStatuses"), index, count, status) {
        ready += yyjson_get_bool(yyjson_obj_get(status, "ready"));
    }
    ki_buffer_printf(out, "\"%zu/%zu\"", ready, yyjson_arr_size(at_path(root, "spec.containers")));
}

/* The reason that a container waits or ended for says more than the phase. */
static void append_pod_status(ki_buffer *out, yyjson_val *root) {
    ki_str text = kt_json_str(at_path(root, "status.phase")), reason = kt_json_str(at_path(root, "status.reason"));
    yyjson_val *status;
    size_t index, count;
    if (reason.size)
        text = reason;
    yyjson_arr_foreach(at_path(root, "status.containerStatuses"), index, count, status) {
        reason = kt_json_str(at_path(status, "state.waiting.reason"));
        if (!reason.size)
            reason = kt_json_str(at_path(status, "state.terminated.reason"));
        if (reason.size)
            text = reason;
    }
    if (at_path(root, "metadata.deletionTimestamp"))
        text = KI_STR("Terminating");
    ki_buffer_append_json_string(out, text.size ? text : KI_STR("Unknown"));
}

static void append_pod_restarts(ki_buffer *out, yyjson_val *root) {
    yyjson_val *status;
    size_t index, count;
    int64_t restarts = 0;
    yyjson_arr_foreach(at_path(root, "status.containerStatuses"), index, count, status) {
        restarts += integer_at(status, "restartCount");
    }
    ki_buffer_printf(out, "\"%" PRId64 "\"", restarts);
}

static void append_node_status(ki_buffer *out, yyjson_val *root) {
    const char *text = "Unknown";
    yyjson_val *condition;
    size_t index, count;
    yyjson_arr_foreach(at_path(root, "status.conditions"), index, count, condition) {
        if (ki_str_equals(kt_json_get_str(condition, "type"), "Ready"))
            text = ki_str_equals(kt_json_get_str(condition, "status"), "True") ? "Ready" : "NotReady";
    }
    bool cordoned = yyjson_get_bool(at_path(root, "spec.unschedulable"));
    ki_buffer_printf(out, "\"%s%s\"", text, cordoned ? ",SchedulingDisabled" : "");
}

static void append_node_roles(ki_buffer *out, yyjson_val *root) {
    static const char prefix[] = "node-role.kubernetes.io/";
    char roles[ROLES_MAX];
    size_t used = 0, index, count;
    yyjson_val *key, *val;
    yyjson_obj_foreach(at_path(root, "metadata.labels"), index, count, key, val) {
        ki_str text = kt_json_str(key);
        if (!ki_str_starts_with(text, KI_STR(prefix)) || text.size + used + 1 > sizeof roles)
            continue;
        if (used)
            roles[used++] = ',';
        memcpy(roles + used, text.data + sizeof prefix - 1, text.size - (sizeof prefix - 1));
        used += text.size - (sizeof prefix - 1);
    }
    ki_buffer_append_json_string(out, used ? (ki_str){ roles, used } : KI_STR("<none>"));
}

static void append_ports(ki_buffer *out, yyjson_val *root) {
    yyjson_val *port, *ports = at_path(root, "spec.ports");
    size_t index, count;
    if (yyjson_arr_size(ports) == 0) {
        ki_buffer_append_string(out, "\"<none>\"");
        return;
    }
    ki_buffer_append_char(out, '"');
    yyjson_arr_foreach(ports, index, count, port) {
        const char *protocol = yyjson_get_str(yyjson_obj_get(port, "protocol"));
        bool plain = protocol && (strcmp(protocol, "UDP") == 0 || strcmp(protocol, "SCTP") == 0);
        ki_buffer_printf(out, "%s%" PRId64, index ? "," : "", integer_at(port, "port"));
        if (integer_at(port, "nodePort"))
            ki_buffer_printf(out, ":%" PRId64, integer_at(port, "nodePort"));
        ki_buffer_printf(out, "/%s", plain ? protocol : "TCP");
    }
    ki_buffer_append_char(out, '"');
}

static void append_event_object(ki_buffer *out, yyjson_val *root) {
    ki_str kind = kt_json_str(at_path(root, "involvedObject.kind"));
    char text[ROLES_MAX];
    size_t used = 0;
    for (size_t i = 0; i < kind.size && used < sizeof text / 2; i++)
        text[used++] = kind.data[i] >= 'A' && kind.data[i] <= 'Z' ? (char)(kind.data[i] - 'A' + 'a') : kind.data[i];
    int rest = snprintf(text + used, sizeof text - used, "/%s",
                        yyjson_get_str(at_path(root, "involvedObject.name"))
                            ? yyjson_get_str(at_path(root, "involvedObject.name"))
                            : "");
    used += (size_t)rest < sizeof text - used ? (size_t)rest : sizeof text - used - 1;
    ki_buffer_append_json_string(out, (ki_str){ text, used });
}

/* c,d: one member of each element; `path` is LIST:member. */
static void append_join(ki_buffer *out, yyjson_val *root, const char *path) {
    ki_str member, list = ki_str_split(ki_str_of(path), ':', &member);
    ki_buffer text;
    yyjson_val *element, *at = root;
    size_t index, count;
    ki_buffer_init(&text, out->allocator, 0);
    while (at && list.size) {
        ki_str step = ki_str_split(list, '.', &list);
        at = yyjson_obj_getn(at, step.data, step.size);
    }
    yyjson_arr_foreach(at, index, count, element) {
        ki_buffer_append_string(&text, index ? "," : "");
        ki_buffer_append_view(&text, kt_json_str(yyjson_obj_getn(element, member.data, member.size)));
    }
    if (text.failed)
        out->failed = text.failed;
    ki_buffer_append_json_string(out, (ki_str){ text.data, text.size });
    ki_buffer_free(&text);
}

static void append_selector(ki_buffer *out, yyjson_val *selector) {
    ki_buffer text;
    kt_arena arena;
    ki_buffer_init(&text, out->allocator, 0);
    kt_arena_init(&arena, out->allocator);
    kt_selector_append_text(&arena, selector, &text);
    if (text.failed || arena.failed)
        out->failed = KI_ERR_NO_MEMORY;
    ki_buffer_append_json_string(out, text.size ? (ki_str){ text.data, text.size } : KI_STR("<none>"));
    kt_arena_free(&arena);
    ki_buffer_free(&text);
}

static void append_job_status(ki_buffer *out, yyjson_val *root) {
    const char *text = "Running";
    yyjson_val *condition;
    size_t index, count;
    if (yyjson_get_bool(at_path(root, "spec.suspend")))
        text = "Suspended";
    if (at_path(root, "metadata.deletionTimestamp"))
        text = "Terminating";
    yyjson_arr_foreach(at_path(root, "status.conditions"), index, count, condition) {
        ki_str type = kt_json_get_str(condition, "type");
        if (!ki_str_equals(kt_json_get_str(condition, "status"), "True"))
            continue;
        if (ki_str_equals(type, "Complete"))
            text = "Complete";
        else if (ki_str_equals(type, "Failed"))
            text = "Failed";
    }
    ki_buffer_printf(out, "\"%s\"", text);
}

static void append_job_completions(ki_buffer *out, yyjson_val *root) {
    int64_t succeeded = integer_at(root, "status.succeeded"), parallelism = integer_at(root, "spec.parallelism");
    if (at_path(root, "spec.completions"))
        ki_buffer_printf(out, "\"%" PRId64 "/%" PRId64 "\"", succeeded, integer_at(root, "spec.completions"));
    else if (parallelism > 1)
        ki_buffer_printf(out, "\"%" PRId64 "/1 of %" PRId64 "\"", succeeded, parallelism);
    else
        ki_buffer_printf(out, "\"%" PRId64 "/1\"", succeeded);
}

static void append_job_duration(ki_buffer *out, yyjson_val *root, int64_t now_ms) {
    int64_t start, end;
    if (!parse_time(kt_json_str(at_path(root, "status.startTime")), &start))
        ki_buffer_append_string(out, "\"\"");
    else if (parse_time(kt_json_str(at_path(root, "status.completionTime")), &end))
        append_age(out, end - start);
    else
        append_age(out, now_ms / 1000 - start);
}

void kt_cell_append(const kt_column *column, yyjson_val *root, int64_t now_ms, ki_buffer *out) {
    yyjson_val *val = column->path && column->cell != KT_CELL_JOIN ? at_path(root, column->path) : NULL;
    switch (column->cell) {
    case KT_CELL_NAME:
        ki_buffer_append_json_string(out, kt_json_str(at_path(root, "metadata.name")));
        break;
    case KT_CELL_TEXT:
        ki_buffer_append_json_string(out,
                                     yyjson_get_len(val) && yyjson_is_str(val) ? kt_json_str(val) : KI_STR("<none>"));
        break;
    case KT_CELL_INTEGER:
        ki_buffer_printf(out, "%" PRId64, yyjson_get_sint(val));
        break;
    case KT_CELL_COUNT: {
        size_t count = yyjson_is_obj(val) ? yyjson_obj_size(val) : yyjson_arr_size(val);
        const char *quote = strcmp(column->type, "string") == 0 ? "\"" : "";
        ki_buffer_printf(out, "%s%zu%s", quote, count, quote);
        break;
    }
    case KT_CELL_AGE:
        kt_cell_append_age(val, now_ms, out);
        break;
    case KT_CELL_POD_READY:
        append_pod_ready(out, root);
        break;
    case KT_CELL_POD_STATUS:
        append_pod_status(out, root);
        break;
    case KT_CELL_POD_RESTARTS:
        append_pod_restarts(out, root);
        break;
    case KT_CELL_NODE_STATUS:
        append_node_status(out, root);
        break;
    case KT_CELL_NODE_ROLES:
        append_node_roles(out, root);
        break;
    case KT_CELL_REPLICAS_READY:
        ki_buffer_printf(out, "\"%" PRId64 "/%" PRId64 "\"", integer_at(root, "status.readyReplicas"),
                         integer_at(root, "spec.replicas"));
        break;
    case KT_CELL_PORTS:
        append_ports(out, root);
        break;
    case KT_CELL_JOIN:
        append_join(out, root, column->path);
        break;
    case KT_CELL_SELECTOR:
        append_selector(out, val);
        break;
    case KT_CELL_BOOL:
        ki_buffer_append_string(out, yyjson_get_bool(val) ? "\"True\"" : "\"False\"");
        break;
    case KT_CELL_SINCE:
        if (val)
            kt_cell_append_age(val, now_ms, out);
        else
            ki_buffer_append_string(out, "\"<none>\"");
        break;
    case KT_CELL_JOB_STATUS:
        append_job_status(out, root);
        break;
    case KT_CELL_JOB_COMPLETIONS:
        append_job_completions(out, root);
        break;
    case KT_CELL_JOB_DURATION:
        append_job_duration(out, root, now_ms);
        break;
    case KT_CELL_EVENT_OBJECT:
        append_event_object(out, root);
        break;
    }
}
