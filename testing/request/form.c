/* form.c: see form.h. */
#include "testing/request/form.h"

#include "testing/crd/custom.h"
#include "testing/request/status.h"
#include "testing/request/table.h"

#include <inttypes.h>

ki_status kt_shape_of(kt_call *call, kt_shape *ret_shape) {
    *ret_shape = (kt_shape){ call->form, call->form_version, KT_INCLUDE_METADATA, call->storage->info,
                             call->storage->api_version };
    if (call->form != KT_FORM_TABLE)
        return KI_OK;
    ki_str include = kt_call_param(call, "includeObject");
    if (ki_str_equals(include, "Object"))
        ret_shape->include = KT_INCLUDE_OBJECT;
    else if (ki_str_equals(include, "None"))
        ret_shape->include = KT_INCLUDE_NONE;
    else if (include.size && !ki_str_equals(include, "Metadata"))
        return kt_fail_bad_request(call, "unrecognized includeObject value: \"%.*s\"", (int)include.size, include.data);
    return KI_OK;
}

static ki_status append_partial(const kt_shape *shape, const kt_object *obj, ki_buffer *out) {
    ki_buffer_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",", shape->version);
    ki_buffer_append(out, obj->json.data + obj->meta_start, obj->meta_end - obj->meta_start);
    return ki_buffer_append_char(out, '}');
}

static ki_status append_row(const kt_shape *shape, const kt_object *obj, int64_t now_ms, ki_buffer *out) {
    ki_buffer_append_string(out, "{\"cells\":");
    ki_status status = kt_table_append_cells(shape->info, obj, now_ms, out);
    if (status)
        return status;
    ki_buffer_append_string(out, ",\"object\":");
    if (shape->include == KT_INCLUDE_OBJECT)
        ki_buffer_append_view(out, obj->json);
    else if (shape->include == KT_INCLUDE_METADATA)
        append_partial(shape, obj, out);
    else
        ki_buffer_append_string(out, "null");
    return ki_buffer_append_char(out, '}');
}

/* Returns true for whole objects of a custom resource. Their lists differ from those of built-in types, as in the
 * real server. */
static bool is_custom(const kt_shape *shape) {
    return shape->form == KT_FORM_OBJECT && kt_custom_of(shape->info);
}

static void append_list_meta(uint64_t revision, ki_str continue_token, int64_t remaining, ki_buffer *out) {
    ki_buffer_printf(out, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", revision);
    if (continue_token.size) {
        ki_buffer_append_string(out, ",\"continue\":");
        ki_buffer_append_json_string(out, continue_token);
        if (remaining >= 0)
            ki_buffer_printf(out, ",\"remainingItemCount\":%" PRId64, remaining);
    }
    ki_buffer_append_char(out, '}');
}

/* Appends a Table's members between metadata and the first row. */
static void open_table(const kt_shape *shape, bool columns, ki_buffer *out) {
    ki_buffer_append_string(out, ",\"columnDefinitions\":");
    if (columns)
        kt_table_append_columns(shape->info, out);
    else
        ki_buffer_append_string(out, "null");
    ki_buffer_append_string(out, ",\"rows\":[");
}

ki_status kt_shape_append(const kt_shape *shape, const kt_object *obj, int64_t now_ms, bool columns, ki_buffer *out) {
    switch (shape->form) {
    case KT_FORM_OBJECT:
        return ki_buffer_append_view(out, obj->json);
    case KT_FORM_METADATA:
        return append_partial(shape, obj, out);
    case KT_FORM_TABLE:
        break;
    }
    ki_buffer_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",", shape->version);
    append_list_meta(obj->revision, (ki_str){ NULL, 0 }, -1, out);
    open_table(shape, columns, out);
    append_row(shape, obj, now_ms, out);
    return ki_buffer_append_string(out, "]}");
}

ki_status kt_shape_append_bookmark(const kt_shape *shape, uint64_t revision, bool initial_events_end, ki_buffer *out) {
    if (shape->form == KT_FORM_OBJECT) {
        ki_buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\",", shape->info->resource->kind,
                         (int)shape->api_version.size, shape->api_version.data);
    } else {
        ki_buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"meta.k8s.io/%s\",",
                         shape->form == KT_FORM_TABLE ? "Table" : "PartialObjectMetadata", shape->version);
    }
    ki_buffer_printf(out, "\"metadata\":{\"resourceVersion\":\"%" PRIu64 "\"", revision);
    if (initial_events_end && shape->form != KT_FORM_TABLE)
        ki_buffer_append_string(out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    ki_buffer_append_char(out, '}');
    if (shape->form == KT_FORM_TABLE) {
        open_table(shape, false, out);
        ki_buffer_append_char(out, ']');
    }
    return ki_buffer_append_char(out, '}');
}

ki_status kt_shape_append_list(const kt_shape *shape, kt_object *const *objects, size_t count, uint64_t revision,
                               ki_str continue_token, int64_t remaining, int64_t now_ms, ki_buffer *out) {
    if (shape->form == KT_FORM_OBJECT) {
        size_t size = 256;
        for (size_t i = 0; i < count; i++)
            size += objects[i]->json.size + 2;
        ki_buffer_reserve(out, size);
        ki_buffer_printf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%.*s\",", shape->info->resource->kind,
                         (int)shape->api_version.size, shape->api_version.data);
    } else {
        ki_buffer_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"meta.k8s.io/%s\",",
                         shape->form == KT_FORM_TABLE ? "Table" : "PartialObjectMetadataList", shape->version);
    }
    append_list_meta(revision, continue_token, remaining, out);
    if (is_custom(shape) && !continue_token.size && !out->failed) { /* an empty continue, as the real server sends */
        out->size--;
        ki_buffer_append_string(out, ",\"continue\":\"\"}");
    }
    if (shape->form == KT_FORM_TABLE)
        open_table(shape, true, out);
    else
        ki_buffer_append_string(out, ",\"items\":[");
    for (size_t i = 0; i < count && !out->failed; i++) {
        const kt_object *obj = objects[i];
        if (i)
            ki_buffer_append_char(out, ',');
        if (shape->form == KT_FORM_TABLE) {
            ki_status status = append_row(shape, obj, now_ms, out);
            if (status)
                return status;
        } else if (shape->form == KT_FORM_METADATA) {
            append_partial(shape, obj, out);
        } else if (is_custom(shape)) {
            ki_buffer_append_view(out, obj->json);
        } else { /* items of built-in types have no kind and apiVersion */
            ki_buffer_append_char(out, '{');
            ki_buffer_append(out, obj->json.data + obj->meta_start, obj->json.size - obj->meta_start);
        }
    }
    return ki_buffer_append_string(out, "]}");
}
