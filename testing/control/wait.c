/* wait.c: /_requests: what clients have requested; /_wait: waits for what they do. Both respond at once if what they
 * wait for is so already, otherwise when it is so, or with 408 and what there is instead. */
#include "testing/control/condition.h"
#include "testing/control/control.h"

#include <kinformer-testing/requests.h>

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/call.h"
#include "testing/request/status.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    WAIT_MS = 10000, /* without `timeout` */
    WAIT_MAX_MS = 10 * 60 * 1000
};

/* ---- parameters ---- */

static ki_status read_duration(kt_call *call, const char *name, int64_t *ms) {
    ki_str text = kt_call_param(call, name);
    if (text.data && (!kt_duration_ms(text, ms) || *ms > WAIT_MAX_MS))
        return kt_fail_bad_request(call, "%s=%.*s is no time up to 10m, such as 250ms or 2s", name,
                                   (int)(text.size < 64 ? text.size : 64), text.data);
    return KI_OK;
}

/* Responds with what is wrong about a parameter. */
static ki_status fail(kt_call *call, ki_status status, const ki_error *err) {
    return status == KI_ERR_NO_MEMORY ? status : kt_fail_bad_request(call, "%s", ki_error_message(err));
}

/* Returns the resource that is called "pods" or "deployments.apps", or NULL. */
static const ki_resource *find_resource(const kt_cluster *cluster, ki_str text) {
    const kt_storage *storage;
    ki_str group, plural = ki_str_split(text, '.', &group);
    for (size_t i = 0; (storage = kt_storage_at(cluster, i)); i++) {
        const ki_resource *resource = storage->info->resource;
        if (ki_str_equals(plural, resource->plural) && ki_str_equals(group, resource->group))
            return resource;
    }
    return NULL;
}

/* ---- waiting ---- */

/* Looks at `condition`, and frees or takes it. Ends the call if it waits. Otherwise sets what there is: KI_OK. */
static ki_status begin_wait(kt_call *call, kt_condition *condition, int64_t timeout_ms, kt_waited *ret_waited) {
    *ret_waited = (kt_waited){ .why = KI_ERROR_INIT };
    bool is_over = kt_condition_is_over(condition, &ret_waited->count, &ret_waited->status, &ret_waited->why);
    if (is_over || !call->request->from_network || timeout_ms == 0) {
        kt_condition_free(condition);
        return KI_OK;
    }
    call->response->until = kt_condition_move(condition);
    call->response->wait_ms = timeout_ms;
    return call->response->until ? KT_RESPONDED : KI_ERR_NO_MEMORY;
}

/* Responds with why what the call waited for is not so. KI_OK if it is so. */
static ki_status end_wait(kt_call *call, const kt_waited *waited) {
    if (!waited->status || waited->status == KI_ERR_NO_MEMORY)
        return waited->status;
    const bool is_late = waited->status == KI_ERR_TIMEOUT;
    return kt_fail(call, is_late ? 408 : 404, is_late ? "Timeout" : "NotFound", NULL, "%s",
                   ki_error_message(&waited->why));
}

/* ---- /_requests ---- */

/* Appends a field's values. In a query '+' is a space, so that "verb=get+list" has one. */
static void append_values(ki_buffer *line, ki_str name, ki_str values) {
    const bool has_spaces = ki_str_equals(name, "user-agent");
    ki_buffer_printf(line, "%s%.*s", line->size ? "," : "", (int)name.size, name.data);
    if (!values.data)
        return;
    ki_buffer_append_char(line, '=');
    for (size_t at = 0; at < values.size; at++)
        ki_buffer_append_char(line, values.data[at] == ' ' && !has_spaces ? '+' : values.data[at]);
}

/* Writes a line that a query has as a whole. */
static ki_status copy_line(ki_str given, ki_buffer *line) {
    while (given.size) {
        ki_str values, name = ki_str_split(ki_str_split(given, ',', &given), '=', &values);
        append_values(line, name, values);
    }
    ki_buffer_append_string(line, "");
    return line->failed;
}

/* Writes the line that selects requests. */
static ki_status write_line(kt_call *call, ki_buffer *line) {
    static const char *const fields[] = { KT_MATCH_FIELDS, NULL };
    for (size_t i = 0; fields[i]; i++) {
        ki_str value = kt_call_param(call, fields[i]);
        if (!value.data)
            continue;
        if (memchr(value.data, ',', value.size) || memchr(value.data, '\0', value.size))
            return kt_fail_bad_request(call, "%s has a comma or a zero byte; values are separated by +", fields[i]);
        append_values(line, ki_str_of(fields[i]), value);
    }
    ki_buffer_append_string(line, "");
    return line->failed;
}

static void append_text(ki_buffer *out, const char *name, ki_str text) {
    ki_buffer_printf(out, ",\"%s\":", name);
    ki_buffer_append_json_string(out, text);
}

static void append_request(ki_buffer *out, const ki_testing_request *request, bool with_body) {
    char time[KI_RFC3339_SIZE];
    ki_rfc3339_micros(request->time_ms * 1000000, time);
    ki_buffer_printf(out, "{\"number\":%" PRIu64 ",\"time\":\"%s\",\"status\":%d", request->number, time,
                     request->status);
    append_text(out, "verb", ki_str_of(request->verb));
    append_text(out, "resource", ki_str_of(request->resource));
    append_text(out, "namespace", ki_str_of(request->namespace_name));
    append_text(out, "name", ki_str_of(request->name));
    append_text(out, "target", ki_str_of(request->target));
    append_text(out, "userAgent", ki_str_of(request->user_agent));
    append_text(out, "user", ki_str_of(request->user));
    if (with_body)
        append_text(out, "body", (ki_str){ request->body, request->body_size });
    ki_buffer_append_char(out, '}');
}

static ki_status list_requests(kt_call *call, const char *line, uint64_t since) {
    const kt_request_log *log = &call->cluster->requests;
    ki_buffer *out = &call->response->body;
    const bool with_body = kt_call_param_bool(call, "body");
    kt_spec match;
    ki_error err = KI_ERROR_INIT;
    ki_status status = kt_match_parse(call->allocator, line, &match, &err);
    if (status)
        return fail(call, status, &err);
    ki_buffer_append_string(out, "{\"requests\":[");
    size_t at = 0, count = 0;
    for (const ki_testing_request *request; (request = kt_request_log_next(log, &match, since, &at));) {
        ki_buffer_append_string(out, count++ ? ",\n" : "\n");
        append_request(out, request, with_body);
    }
    ki_buffer_printf(out, "],\"last\":%" PRIu64 ",\"dropped\":%" PRIu64 "}", log->last, log->dropped);
    kt_spec_free(&match);
    return log->is_short ? KI_ERR_NO_MEMORY : kt_call_done(call, 200);
}

/* Makes the condition of `wait`, and looks at it. */
static ki_status wait_for_requests(kt_call *call, const char *line, uint64_t since, int64_t wait_ms,
                                   kt_waited *ret_waited) {
    uint64_t count = 1;
    kt_condition condition;
    ki_error err = KI_ERROR_INIT;
    ki_status status = kt_control_number(call, "count", &count);
    if (status || !wait_ms)
        return status;
    status = kt_condition_requests(call->cluster, line, since, count, &condition, &err);
    return status ? fail(call, status, &err) : begin_wait(call, &condition, wait_ms, ret_waited);
}

static ki_status get_requests(kt_call *call, const char *line) {
    uint64_t since = 0;
    int64_t wait_ms = 0;
    kt_waited found = { .status = KI_OK };
    const kt_waited *waited = call->request->waited;
    ki_status status = kt_control_number(call, "since", &since);
    if (!status && !waited)
        status = read_duration(call, "wait", &wait_ms);
    if (!status && !waited)
        status = wait_for_requests(call, line, since, wait_ms, &found);
    if (!status)
        status = end_wait(call, waited ? waited : &found);
    return status ? status : list_requests(call, line, since);
}

ki_status kt_control_requests(kt_call *call) {
    static const char *const known[] = { KT_MATCH_FIELDS, "since", "count", "wait", "body", NULL };
    const char *method = call->request->method;
    if (strcmp(method, "DELETE") == 0) {
        ki_status rejected = kt_control_no_params(call);
        if (rejected)
            return rejected;
        kt_request_log_clear(&call->cluster->requests);
        return kt_control_done(call);
    }
    if (strcmp(method, "GET") != 0) {
        snprintf(call->response->allow, sizeof call->response->allow, "GET, DELETE");
        return kt_fail_generic(call, 405);
    }
    ki_buffer line;
    ki_buffer_init(&line, call->allocator, 0);
    ki_status status = kt_control_check_params(call, known);
    if (!status)
        status = write_line(call, &line);
    if (!status)
        status = get_requests(call, line.data);
    ki_buffer_free(&line);
    return status;
}

/* ---- /_wait ---- */

/* The parameter of each kind of condition. */
static const char *const kind_params[] = { [KT_UNTIL_REQUESTS] = "requests",
                                           [KT_UNTIL_WATCHES] = "watches",
                                           [KT_UNTIL_INJECTED] = "fault",
                                           [KT_UNTIL_OBJECTS] = "objects" };

/* Finds which kind of condition the parameters describe. Responds 400 unless there is one. */
static ki_status find_kind(kt_call *call, kt_condition_kind *ret_kind) {
    size_t kinds = 0;
    for (size_t i = 0; i < sizeof kind_params / sizeof kind_params[0]; i++) {
        if (kt_call_param(call, kind_params[i]).data) {
            *ret_kind = (kt_condition_kind)i;
            kinds++;
        }
    }
    if (kinds == 1)
        return KI_OK;
    return kt_fail_bad_request(call,
                               "a wait has one of requests=LINE, watches=RESOURCE, fault=NUMBER and objects=RESOURCE");
}

static ki_status read_requests(kt_call *call, ki_str given, uint64_t count, kt_condition *ret_condition) {
    ki_error err = KI_ERROR_INIT;
    ki_buffer line;
    ki_buffer_init(&line, call->allocator, 0);
    ki_status status = copy_line(given, &line);
    if (!status)
        status = kt_condition_requests(call->cluster, line.data, 0, count, ret_condition, &err);
    ki_buffer_free(&line);
    return status ? fail(call, status, &err) : KI_OK;
}

static ki_status read_objects(kt_call *call, const ki_resource *resource, uint64_t count, kt_condition *ret_condition) {
    /* Values end with a zero (kt_call_parse). */
    const kt_wanted_objects wanted = { .resource = resource,
                                       .ns = kt_call_param(call, "namespace").data,
                                       .name = kt_call_param(call, "name").data,
                                       .labels = kt_call_param(call, "labels").data,
                                       .fields = kt_call_param(call, "fields").data,
                                       .count = count,
                                       .at_least = !kt_call_param(call, "count").data };
    const bool has_ns = wanted.ns && wanted.ns[0], has_name = wanted.name && wanted.name[0];
    ki_error err = KI_ERROR_INIT;
    if (!resource->namespaced && has_ns)
        return kt_fail_bad_request(call, "%s are not in a namespace", resource->plural);
    if (resource->namespaced && has_name && !has_ns)
        return kt_fail_bad_request(call, "a wait for a name of %s needs its namespace", resource->plural);
    ki_status status = kt_condition_objects(call->cluster, &wanted, ret_condition, &err);
    return status ? fail(call, status, &err) : KI_OK;
}

/* Makes the condition that the parameters describe. */
static ki_status read_condition(kt_call *call, kt_condition_kind kind, kt_condition *ret_condition) {
    const ki_str given = kt_call_param(call, kind_params[kind]);
    const ki_resource *resource = NULL; /* of watches: all */
    uint64_t count = 1, fault = 0;
    ki_error err = KI_ERROR_INIT;
    ki_status status = kt_control_number(call, "count", &count);
    if (status)
        return status;
    if (kind == KT_UNTIL_OBJECTS || (kind == KT_UNTIL_WATCHES && given.size)) {
        resource = find_resource(call->cluster, given);
        if (!resource)
            return kt_fail_bad_request(
                call, "the server has no resource \"%.*s\"; a resource is named as in pods or deployments.apps",
                (int)(given.size < 128 ? given.size : 128), given.data);
    }
    switch (kind) {
    case KT_UNTIL_REQUESTS:
        return read_requests(call, given, count, ret_condition);
    case KT_UNTIL_OBJECTS:
        return read_objects(call, resource, count, ret_condition);
    case KT_UNTIL_WATCHES:
        status = kt_condition_watches(call->cluster, resource, count, ret_condition, &err);
        return status ? fail(call, status, &err) : KI_OK;
    case KT_UNTIL_INJECTED:
        status = kt_control_number(call, kind_params[kind], &fault);
        if (!status)
            *ret_condition = kt_condition_fault(call->cluster, fault, count);
        break;
    }
    return status;
}

ki_status kt_control_wait(kt_call *call) {
    static const char *const known[] = { "requests", "watches", "fault", "objects", "namespace", "name",
                                         "labels",   "fields",  "count", "timeout", NULL };
    int64_t timeout_ms = WAIT_MS;
    kt_condition_kind kind = KT_UNTIL_REQUESTS;
    kt_condition condition;
    kt_waited found;
    const kt_waited *waited = call->request->waited;
    ki_status status = kt_control_method(call, "GET");
    if (!status)
        status = kt_control_check_params(call, known);
    if (!status)
        status = find_kind(call, &kind);
    if (!status && !waited) {
        waited = &found;
        status = read_duration(call, "timeout", &timeout_ms);
        if (!status)
            status = read_condition(call, kind, &condition);
        if (!status)
            status = begin_wait(call, &condition, timeout_ms, &found);
    }
    if (!status)
        status = end_wait(call, waited);
    if (status)
        return status;
    ki_buffer_printf(&call->response->body, "{\"%s\":%" PRIu64 "}",
                     kind == KT_UNTIL_INJECTED ? "injected" : kind_params[kind], waited->count);
    return kt_call_done(call, 200);
}
