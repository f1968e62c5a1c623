/* health.c: see health.h. */
#include "testing/rest/health.h"

#include "testing/cluster/cluster_state.h"
#include "testing/request/watch.h"

/* The real server's checks that apply here. None of them fails. */
static const char *const checks[] = { "ping", "log", "etcd", "informer-sync", "shutdown" };

ki_status kt_plain_text(kt_call *call, int status, const char *text) {
    ki_buffer_append_string(&call->response->body, text);
    call->response->status = status;
    call->response->content_type = "text/plain; charset=utf-8";
    return call->response->body.failed ? KI_ERR_NO_MEMORY : KT_RESPONDED;
}

/* ---- health ---- */

bool kt_health_is(const kt_call *call) {
    static const char *const paths[] = { "healthz", "livez", "readyz" };
    for (size_t i = 0; call->segment_count && i < sizeof paths / sizeof paths[0]; i++) {
        if (ki_str_equals(call->segments[0], paths[i]))
            return true;
    }
    return false;
}

static bool is_check(ki_str name) {
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (ki_str_equals(name, checks[i]))
            return true;
    }
    return false;
}

/* Returns true if the request has this `exclude` parameter. */
static bool is_excluded(const kt_call *call, const char *check) {
    for (size_t i = 0; i < call->param_count; i++) {
        if (ki_str_equals(call->params[i].name, "exclude") && ki_str_equals(call->params[i].value, check))
            return true;
    }
    return false;
}

static void append_unknown_excludes(const kt_call *call, ki_buffer *out) {
    const char *comma = "warn: some health checks cannot be excluded: no matches for ";
    bool any = false;
    for (size_t i = 0; i < call->param_count; i++) {
        if (!ki_str_equals(call->params[i].name, "exclude") || is_check(call->params[i].value))
            continue;
        ki_buffer_append_string(out, comma);
        ki_buffer_append_json_string(out, call->params[i].value);
        comma = ", ";
        any = true;
    }
    if (any)
        ki_buffer_append_char(out, '\n');
}

ki_status kt_health(kt_call *call) {
    ki_buffer *out = &call->response->body;
    ki_str path = call->segments[0];
    if (call->segment_count > 2 || (call->segment_count == 2 && !is_check(call->segments[1])))
        return kt_plain_text(call, 404, "404 page not found\n");
    if (call->segment_count == 2 || !kt_call_param(call, "verbose").data)
        return kt_plain_text(call, 200, "ok");
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        ki_buffer_printf(out, "[+]%s %s\n", checks[i], is_excluded(call, checks[i]) ? "excluded: ok" : "ok");
    append_unknown_excludes(call, out);
    ki_buffer_append_view(out, path);
    return kt_plain_text(call, 200, " check passed\n");
}

/* ---- metrics ---- */

bool kt_metrics_is(const kt_call *call) {
    return call->segment_count == 1 && ki_str_equals(call->path, "/metrics");
}

/* Returns true if another version of the resource comes earlier. */
static bool is_counted(const kt_cluster *cluster, size_t index) {
    const ki_resource *resource = kt_storage_at(cluster, index)->info->resource;
    for (size_t i = 0; i < index; i++) {
        const ki_resource *other = kt_storage_at(cluster, i)->info->resource;
        if (strcmp(other->plural, resource->plural) == 0 && strcmp(other->group, resource->group) == 0)
            return true;
    }
    return false;
}

static ki_status append_objects(kt_cluster *cluster, ki_buffer *out) {
    kt_storage *storage;
    ki_buffer_append_string(out, "# HELP apiserver_resource_objects Number of stored objects by resource.\n"
                                 "# TYPE apiserver_resource_objects gauge\n");
    for (size_t i = 0; (storage = kt_storage_at(cluster, i)) != NULL; i++) {
        kt_snapshot *now = NULL;
        if (is_counted(cluster, i))
            continue;
        if (kt_storage_present(storage, &now))
            return KI_ERR_NO_MEMORY;
        ki_buffer_printf(out, "apiserver_resource_objects{group=\"%s\",resource=\"%s\"} %zu\n",
                         storage->info->resource->group, storage->info->resource->plural, now->count);
        kt_snapshot_unref(now);
    }
    return KI_OK;
}

static void append_watches(const kt_cluster *cluster, ki_buffer *out) {
    const kt_storage *storage;
    ki_buffer_append_string(out, "# HELP apiserver_longrunning_requests Number of open watches by resource.\n"
                                 "# TYPE apiserver_longrunning_requests gauge\n");
    for (size_t i = 0; (storage = kt_storage_at(cluster, i)) != NULL; i++) {
        const ki_resource *resource = storage->info->resource;
        size_t count = kt_watchers_count(storage);
        if (count)
            ki_buffer_printf(out,
                             "apiserver_longrunning_requests{component=\"apiserver\",group=\"%s\",version=\"%s\","
                             "resource=\"%s\",verb=\"WATCH\"} %zu\n",
                             resource->group, resource->version, resource->plural, count);
    }
}

ki_status kt_metrics(kt_call *call) {
    ki_buffer *out = &call->response->body;
    ki_status status = append_objects(call->cluster, out);
    append_watches(call->cluster, out);
    if (status)
        return status;
    status = kt_plain_text(call, 200, "");
    call->response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    return status;
}
