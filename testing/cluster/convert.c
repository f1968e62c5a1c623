/* convert.c: see convert.h. Converts events between core and events.k8s.io, and autoscalers between v1 and v2.
 * Fields that v1 lacks are stored in the annotations that the real server uses, in v2's form. */
#include "testing/cluster/convert.h"

#include "testing/values/json.h"

#define AUTOSCALING_PREFIX "autoscaling.alpha.kubernetes.io/"

const ki_resource *kt_convert_store_of(const ki_resource *resource) {
    static const struct {
        const char *group, *version, *plural;
        const ki_resource *store;
    } others[] = {
        { "events.k8s.io", "v1", "events", &ki_resource_events },
        { "autoscaling", "v1", "horizontalpodautoscalers", &ki_resource_horizontalpodautoscalers },
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(resource->group, others[i].group) == 0 && strcmp(resource->version, others[i].version) == 0 &&
            strcmp(resource->plural, others[i].plural) == 0)
            return others[i].store;
    }
    return NULL;
}

/* ---- events ---- */

/* A member in both versions. */
typedef struct event_member {
    const char *name;
    const char *other;
    const char *missing; /* JSON that stands for an absent value; NULL: an absent value and "" are omitted */
} event_member;

static const event_member core_members[] = {
    { "metadata", "metadata", "{}" },
    { "involvedObject", "regarding", "{}" },
    { "reason", "reason", NULL },
    { "message", "note", NULL },
    { "source", "deprecatedSource", "{}" },
    { "firstTimestamp", "deprecatedFirstTimestamp", "null" },
    { "lastTimestamp", "deprecatedLastTimestamp", "null" },
    { "count", "deprecatedCount", NULL },
    { "type", "type", NULL },
    { "eventTime", "eventTime", "null" },
    { "series", "series", NULL },
    { "action", "action", NULL },
    { "related", "related", NULL },
    { "reportingComponent", "reportingController", "\"\"" },
    { "reportingInstance", "reportingInstance", "\"\"" },
    { NULL, NULL, NULL },
};

static const event_member group_members[] = {
    { "metadata", "metadata", "{}" },
    { "eventTime", "eventTime", "null" },
    { "series", "series", NULL },
    { "reportingController", "reportingComponent", NULL },
    { "reportingInstance", "reportingInstance", NULL },
    { "action", "action", NULL },
    { "reason", "reason", NULL },
    { "regarding", "involvedObject", NULL },
    { "related", "related", NULL },
    { "note", "message", NULL },
    { "type", "type", NULL },
    { "deprecatedSource", "source", "{}" },
    { "deprecatedFirstTimestamp", "firstTimestamp", "null" },
    { "deprecatedLastTimestamp", "lastTimestamp", "null" },
    { "deprecatedCount", "count", NULL },
    { NULL, NULL, NULL },
};

static ki_status convert_event(const event_member *members, yyjson_val *root, ki_buffer *out) {
    const char *before = "{";
    for (const event_member *member = members; member->name; member++) {
        yyjson_val *val = yyjson_obj_get(root, member->other);
        if (!member->missing && (!val || yyjson_is_null(val) || (yyjson_is_str(val) && yyjson_get_len(val) == 0)))
            continue;
        ki_buffer_printf(out, "%s\"%s\":", before, member->name);
        if (val)
            kt_json_append(out, val);
        else
            ki_buffer_append_string(out, member->missing);
        before = ",";
    }
    return ki_buffer_append_char(out, '}');
}

/* ---- autoscalers ---- */

/* The v2 fields that v1 has as annotations. */
static const struct {
    const char *annotation;
    const char *parent;
    const char *name;
} annotated[] = {
    { AUTOSCALING_PREFIX "metrics", "spec", "metrics" },
    { AUTOSCALING_PREFIX "behavior", "spec", "behavior" },
    { AUTOSCALING_PREFIX "current-metrics", "status", "currentMetrics" },
    { AUTOSCALING_PREFIX "conditions", "status", "conditions" },
};

enum {
    ANNOTATED_COUNT = sizeof annotated / sizeof annotated[0]
};

static bool is_cpu(yyjson_mut_val *metric, const char *where) {
    yyjson_mut_val *resource = yyjson_mut_obj_get(metric, "resource");
    return yyjson_mut_equals_str(yyjson_mut_obj_get(metric, "type"), "Resource") &&
           yyjson_mut_equals_str(yyjson_mut_obj_get(resource, "name"), "cpu") &&
           yyjson_mut_is_int(yyjson_mut_obj_get(yyjson_mut_obj_get(resource, where), "averageUtilization"));
}

/* Returns the first CPU utilization in `metrics`; -1 if there is none. Removes its metric unless `keeps`. */
static int64_t take_cpu(yyjson_mut_val *metrics, const char *where, bool keeps) {
    size_t index, count;
    yyjson_mut_val *metric;
    yyjson_mut_arr_foreach(metrics, index, count, metric) {
        if (!is_cpu(metric, where))
            continue;
        yyjson_mut_val *resource = yyjson_mut_obj_get(metric, "resource");
        int64_t value =
            yyjson_mut_get_sint(yyjson_mut_obj_get(yyjson_mut_obj_get(resource, where), "averageUtilization"));
        if (!keeps)
            yyjson_mut_arr_remove(metrics, index);
        return value;
    }
    return -1;
}

static yyjson_mut_val *need_object(yyjson_mut_doc *doc, yyjson_mut_val *parent, const char *name) {
    yyjson_mut_val *val = yyjson_mut_obj_get(parent, name);
    if (yyjson_mut_is_obj(val))
        return val;
    yyjson_mut_obj_remove_key(parent, name);
    return yyjson_mut_obj_add_obj(doc, parent, name);
}

static bool to_v1(const ki_allocator *allocator, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *spec = need_object(doc, root, "spec"), *status = need_object(doc, root, "status");
    int64_t target = take_cpu(yyjson_mut_obj_get(spec, "metrics"), "target", false);
    int64_t current = take_cpu(yyjson_mut_obj_get(status, "currentMetrics"), "current", true);
    for (size_t i = 0; i < ANNOTATED_COUNT; i++) {
        yyjson_mut_val *val =
            yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, annotated[i].parent), annotated[i].name);
        ki_buffer text;
        if (!val || yyjson_mut_is_null(val) || (yyjson_mut_is_arr(val) && yyjson_mut_arr_size(val) == 0))
            continue;
        yyjson_mut_val *annotations = need_object(doc, need_object(doc, root, "metadata"), "annotations");
        ki_buffer_init(&text, allocator, 0);
        bool added = !kt_json_append_mut(&text, val) &&
                     yyjson_mut_obj_add_strncpy(doc, annotations, annotated[i].annotation, text.data, text.size);
        ki_buffer_free(&text);
        if (!added)
            return false;
    }
    return (target < 0 || yyjson_mut_obj_add_int(doc, spec, "targetCPUUtilizationPercentage", target)) &&
           (current < 0 || yyjson_mut_obj_add_int(doc, status, "currentCPUUtilizationPercentage", current));
}

static bool add_cpu(const ki_allocator *allocator, yyjson_mut_doc *doc, yyjson_mut_val *spec, int64_t target) {
    yyjson_mut_val *metrics = yyjson_mut_obj_get(spec, "metrics");
    yyjson_doc *made = NULL;
    ki_buffer text;
    if (!yyjson_mut_is_arr(metrics))
        metrics = yyjson_mut_obj_add_arr(doc, spec, "metrics");
    ki_buffer_init(&text, allocator, 0);
    ki_buffer_printf(&text,
                     "{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\","
                     "\"averageUtilization\":%lld}}}",
                     (long long)target);
    bool added = !text.failed && !kt_json_read_trusted(allocator, (ki_str){ text.data, text.size }, &made, NULL) &&
                 yyjson_mut_arr_append(metrics, yyjson_val_mut_copy(doc, yyjson_doc_get_root(made)));
    yyjson_doc_free(made);
    ki_buffer_free(&text);
    return added;
}

static bool to_v2(const ki_allocator *allocator, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *spec = need_object(doc, root, "spec"), *status = need_object(doc, root, "status");
    yyjson_mut_val *meta = need_object(doc, root, "metadata");
    yyjson_mut_val *annotations = yyjson_mut_obj_get(meta, "annotations");
    for (size_t i = 0; i < ANNOTATED_COUNT; i++) {
        yyjson_mut_val *annotation = yyjson_mut_obj_remove_key(annotations, annotated[i].annotation);
        const ki_str text = { yyjson_mut_get_str(annotation), yyjson_mut_get_len(annotation) };
        yyjson_doc *made = NULL;
        ki_status read = text.size ? kt_json_read(allocator, text, &made, NULL) : KI_ERR_PARSE;
        bool added =
            read == KI_ERR_PARSE || /* absent, or a client's own text */
            (!read && yyjson_mut_obj_add_val(doc, yyjson_mut_obj_get(root, annotated[i].parent), annotated[i].name,
                                             yyjson_val_mut_copy(doc, yyjson_doc_get_root(made))));
        yyjson_doc_free(made);
        if (!added)
            return false;
    }
    if (yyjson_mut_is_obj(annotations) && yyjson_mut_obj_size(annotations) == 0)
        yyjson_mut_obj_remove_key(meta, "annotations");
    yyjson_mut_val *target = yyjson_mut_obj_remove_key(spec, "targetCPUUtilizationPercentage");
    yyjson_mut_obj_remove_key(status, "currentCPUUtilizationPercentage");
    return !yyjson_mut_is_int(target) || add_cpu(allocator, doc, spec, yyjson_mut_get_sint(target));
}

static ki_status convert_autoscaler(const ki_allocator *allocator, const ki_resource *resource, yyjson_val *root,
                                    ki_buffer *out) {
    yyjson_alc alc = kt_json_alc(allocator);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *copy = doc ? yyjson_val_mut_copy(doc, root) : NULL;
    bool fine =
        copy && (strcmp(resource->version, "v1") == 0 ? to_v1(allocator, doc, copy) : to_v2(allocator, doc, copy));
    ki_status status = fine ? kt_json_append_mut(out, copy) : KI_ERR_NO_MEMORY;
    yyjson_mut_doc_free(doc);
    return status;
}

ki_status kt_convert(const ki_allocator *allocator, const ki_resource *resource, yyjson_val *root, ki_buffer *out) {
    if (strcmp(resource->plural, "events") != 0)
        return convert_autoscaler(allocator, resource, root, out);
    return convert_event(resource->group[0] ? group_members : core_members, root, out);
}
