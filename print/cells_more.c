/* cells_more.c: cells of volumes, quotas, events, roles and certificates. */
#include "print/cells.h"

#include "src/base/memory.h"

#include <inttypes.h>

/* ---- volumes ---- */

void ki_cell_phase(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    bool goes = ki_cell_at(root, "metadata.deletionTimestamp") != NULL;
    (void)path, (void)now_ms;
    ki_buffer_append_view(out, goes ? KI_STR("Terminating") : ki_cell_str_at(root, "status.phase"));
}

void ki_cell_claim(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *claim = ki_cell_at(root, "spec.claimRef");
    (void)path, (void)now_ms;
    if (!claim)
        return;
    ki_buffer_append_view(out, ki_cell_str_at(claim, "namespace"));
    ki_buffer_append_char(out, '/');
    ki_buffer_append_view(out, ki_cell_str_at(claim, "name"));
}

void ki_cell_access_modes(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    static const char *const modes[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    yyjson_val *given = ki_cell_at(root, path), *one;
    size_t index, count, shown = 0;
    (void)now_ms;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        bool is_given = false;
        yyjson_arr_foreach(given, index, count, one) {
            is_given = is_given || ki_str_equals(ki_cell_str(one), modes[i][0]);
        }
        if (is_given)
            ki_buffer_printf(out, "%s%s", shown++ ? "," : "", modes[i][1]);
    }
}

/* Returns true if the claim is bound: before that it has no capacity and access modes. */
static bool is_bound(yyjson_val *root) {
    return ki_cell_str_at(root, "spec.volumeName").size > 0;
}

void ki_cell_claim_capacity(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    if (is_bound(root))
        ki_cell_text(out, root, path, now_ms);
}

void ki_cell_claim_modes(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    if (is_bound(root))
        ki_cell_access_modes(out, root, path, now_ms);
}

void ki_cell_storage_class(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *old =
        yyjson_obj_get(ki_cell_at(root, "metadata.annotations"), "volume.beta.kubernetes.io/storage-class");
    (void)now_ms;
    ki_buffer_append_view(out, old ? ki_cell_str(old) : ki_cell_str_at(root, path));
}

/* `path` has the annotations that mark a default. */
void ki_cell_default_name(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *annotations = ki_cell_at(root, "metadata.annotations");
    ki_str rest = ki_str_of(path);
    bool is_default = false;
    (void)now_ms;
    while (rest.size) {
        ki_str name = ki_str_split(rest, ' ', &rest);
        is_default =
            is_default || ki_str_equals(ki_cell_str(yyjson_obj_getn(annotations, name.data, name.size)), "true");
    }
    ki_buffer_append_view(out, ki_cell_str_at(root, "metadata.name"));
    ki_buffer_append_string(out, is_default ? " (default)" : "");
}

/* Appends "cpu: 1/2, memory: 0/1Gi". */
void ki_cell_quota(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    bool wants_limits = strcmp(path, "limits") == 0;
    size_t count, used_count, shown = 0;
    ki_cell_member *hard = ki_cell_sorted(out, ki_cell_at(root, "status.hard"), &count);
    ki_cell_member *used = ki_cell_sorted(out, ki_cell_at(root, "status.used"), &used_count);
    (void)now_ms;
    for (size_t i = 0, at = 0; i < count; i++) {
        while (at < used_count && ki_str_order(used[at].name, hard[i].name) < 0)
            at++;
        bool is_used = at < used_count && ki_str_equal(used[at].name, hard[i].name);
        if (ki_str_starts_with(hard[i].name, KI_STR("limits.")) != wants_limits)
            continue;
        ki_buffer_append_string(out, shown++ ? ", " : "");
        ki_buffer_append_view(out, hard[i].name);
        ki_buffer_append_string(out, ": ");
        ki_cell_append_or(out, ki_cell_str(is_used ? used[at].value : NULL), "0");
        ki_buffer_append_char(out, '/');
        ki_buffer_append_view(out, ki_cell_str(hard[i].value));
    }
    ki_free(out->allocator, hard);
    ki_free(out->allocator, used);
}

/* ---- events, of the core group and of events.k8s.io ---- */

void ki_cell_event_seen(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    static const char first[] = "firstTimestamp|deprecatedFirstTimestamp|eventTime";
    static const char last[] =
        "lastTimestamp|deprecatedLastTimestamp|firstTimestamp|deprecatedFirstTimestamp|eventTime";
    bool is_last = strcmp(path, "last") == 0;
    if (is_last && ki_cell_at(root, "series"))
        ki_cell_age(out, root, "series.lastObservedTime", now_ms);
    else
        ki_cell_age(out, root, is_last ? last : first, now_ms);
}

void ki_cell_event_count(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    int64_t count = ki_cell_int_at(root, ki_cell_at(root, "series") ? "series.count" : "count|deprecatedCount");
    (void)path, (void)now_ms;
    ki_buffer_printf(out, "%" PRId64, count || ki_cell_at(root, "series") ? count : 1);
}

void ki_cell_event_object(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *object = ki_cell_at(root, "involvedObject|regarding");
    ki_str kind = ki_cell_str_at(object, "kind"), name = ki_cell_str_at(object, "name");
    (void)path, (void)now_ms;
    for (size_t i = 0; i < kind.size; i++) {
        char c = kind.data[i];
        ki_buffer_append_char(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    if (name.size) {
        ki_buffer_append_char(out, '/');
        ki_buffer_append_view(out, name);
    }
}

void ki_cell_event_source(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str component = ki_cell_str_at(root, "source.component|deprecatedSource.component");
    ki_str host = ki_cell_str_at(root, "source.host|deprecatedSource.host");
    (void)path, (void)now_ms;
    if (!component.size)
        component = ki_cell_str_at(root, "reportingComponent|reportingController");
    if (!host.size)
        host = ki_cell_str_at(root, "reportingInstance");
    ki_buffer_append_view(out, component);
    if (host.size) {
        ki_buffer_append_string(out, ", ");
        ki_buffer_append_view(out, host);
    }
}

void ki_cell_event_message(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str text = ki_cell_str_at(root, "message|note");
    (void)path, (void)now_ms;
    while (text.size && strchr(" \t\n\r\v\f", text.data[0]))
        text = (ki_str){ text.data + 1, text.size - 1 };
    while (text.size && strchr(" \t\n\r\v\f", text.data[text.size - 1]))
        text.size--;
    ki_buffer_append_view(out, text);
}

/* ---- roles ---- */

/* Appends KIND/NAME. */
void ki_cell_reference(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *reference = ki_cell_at(root, path);
    (void)now_ms;
    ki_buffer_append_view(out, ki_cell_str_at(reference, "kind"));
    ki_buffer_append_char(out, '/');
    ki_buffer_append_view(out, ki_cell_str_at(reference, "name"));
}

void ki_cell_subjects(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *subject;
    size_t index, count, shown = 0;
    bool is_account = strcmp(path, "ServiceAccount") == 0;
    (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "subjects"), index, count, subject) {
        if (!ki_str_equals(ki_cell_str_at(subject, "kind"), path))
            continue;
        ki_buffer_append_string(out, shown++ ? ", " : "");
        if (is_account) {
            ki_buffer_append_view(out, ki_cell_str_at(subject, "namespace"));
            ki_buffer_append_char(out, '/');
        }
        ki_buffer_append_view(out, ki_cell_str_at(subject, "name"));
    }
}

/* ---- conditions ---- */

void ki_cell_last_condition(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str names = ki_str_of(path), other, last;
    yyjson_val *one;
    size_t index, count;
    (void)now_ms;
    names = ki_str_split(names, '?', &other);
    last = other;
    yyjson_arr_foreach(ki_cell_at(root, "status.conditions"), index, count, one) {
        for (ki_str rest = names, name; rest.size && ki_cell_is_true(one);) {
            name = ki_str_split(rest, ' ', &rest);
            last = ki_str_equal(name, ki_cell_str_at(one, "type")) ? name : last;
        }
    }
    ki_buffer_append_view(out, last);
}

void ki_cell_established(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    (void)path, (void)now_ms;
    ki_buffer_append_string(out, ki_cell_is_true(ki_cell_condition(root, "Established")) ? "true" : "false");
}

/* ---- certificates, claims and references ---- */

void ki_cell_signing_state(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    bool is_issued = ki_cell_str_at(root, "status.certificate").size > 0;
    (void)path, (void)now_ms;
    ki_buffer_append_string(out, ki_cell_condition(root, "Denied")     ? "Denied"
                                 : ki_cell_condition(root, "Approved") ? "Approved"
                                                                       : "Pending");
    ki_buffer_append_string(out, ki_cell_condition(root, "Failed") ? ",Failed" : "");
    ki_buffer_append_string(out, is_issued ? ",Issued" : "");
}

void ki_cell_requested_duration(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    int64_t seconds = ki_cell_int_at(root, path);
    (void)now_ms;
    if (ki_cell_at(root, path) && (seconds > INT64_MAX / 1000 || seconds < INT64_MIN / 1000))
        ki_cell_append_duration(out, seconds < 0 ? INT64_MIN : INT64_MAX);
    else if (ki_cell_at(root, path))
        ki_cell_append_duration(out, seconds * 1000);
    else
        ki_buffer_append_string(out, "<none>");
}

void ki_cell_claim_state(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    bool goes = ki_cell_at(root, "metadata.deletionTimestamp") != NULL;
    (void)path, (void)now_ms;
    ki_buffer_append_string(out, goes ? "deleted" : "");
    if (!ki_cell_at(root, "status.allocation")) {
        ki_buffer_append_string(out, goes ? "" : "pending");
        return;
    }
    ki_buffer_append_string(out, goes ? ",allocated" : "allocated");
    ki_buffer_append_string(out, yyjson_arr_size(ki_cell_at(root, "status.reservedFor")) ? ",reserved" : "");
}

/* Appends a member of a component's condition; `path`: "status", "message" or "error". */
void ki_cell_health(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *one;
    size_t index, count;
    bool wants_status = strcmp(path, "status") == 0;
    (void)now_ms;
    yyjson_arr_foreach(ki_cell_at(root, "conditions"), index, count, one) {
        if (!ki_str_equals(ki_cell_str_at(one, "type"), "Healthy"))
            continue;
        if (wants_status)
            ki_buffer_append_string(out, ki_cell_is_true(one) ? "Healthy" : "Unhealthy");
        else
            ki_buffer_append_view(out, ki_cell_str_at(one, path));
        return;
    }
    ki_buffer_append_string(out, wants_status ? "Unknown" : "");
}

void ki_cell_dangling(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *condition = ki_cell_condition(root, "Dangling");
    (void)path, (void)now_ms;
    ki_buffer_append_view(out, condition ? ki_cell_str_at(condition, "status") : KI_STR("?"));
}

/* Appends RESOURCE.GROUP/NAMESPACE/NAME. */
void ki_cell_parent(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    static const char *const parts[] = { "group", "namespace", "name" };
    yyjson_val *parent = ki_cell_at(root, "spec.parentRef");
    (void)path, (void)now_ms;
    ki_cell_append_or(out, ki_cell_str_at(parent, "resource"), parent ? "" : "<none>");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && parent; i++) {
        ki_str part = ki_cell_str_at(parent, parts[i]);
        if (part.size || i == 2)
            ki_buffer_append_char(out, i ? '/' : '.');
        ki_buffer_append_view(out, part);
    }
}

/* Appends a group, version and kind: apps/v1/Deployment. */
void ki_cell_param_kind(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    yyjson_val *kind = ki_cell_at(root, path);
    (void)now_ms;
    if (!kind) {
        ki_buffer_append_string(out, "<unset>");
        return;
    }
    ki_buffer_append_view(out, ki_cell_str_at(kind, "apiVersion"));
    ki_buffer_append_char(out, '/');
    ki_buffer_append_view(out, ki_cell_str_at(kind, "kind"));
}

/* Appends RESOURCE or RESOURCE.GROUP. */
void ki_cell_group_resource(ki_buffer *out, yyjson_val *root, const char *path, int64_t now_ms) {
    ki_str group = ki_cell_str_at(root, "spec.resource.group");
    (void)path, (void)now_ms;
    ki_buffer_append_view(out, ki_cell_str_at(root, "spec.resource.resource"));
    ki_buffer_append_string(out, group.size ? "." : "");
    ki_buffer_append_view(out, group);
}
