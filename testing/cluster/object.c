/* object.c: see object.h. An object is one block of memory. */
#include "testing/cluster/object.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MAX_FIELDS = 11
};

static const struct {
    const char *group;
    const char *plural;
    const char *paths[MAX_FIELDS + 1];
} selectable[] = {
    { "",
      "pods",
      { "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName" } },
    { "", "nodes", { "spec.unschedulable" } },
    { "", "namespaces", { "status.phase" } },
    { "", "secrets", { "type" } },
    { "", "services", { "spec.clusterIP", "spec.type" } },
    { "", "replicationcontrollers", { "status.replicas" } },
    { "resource.k8s.io", "resourceslices", { "spec.nodeName", "spec.driver", "spec.pool.name" } },
    { "batch", "jobs", { "status.successful" } },
    { "certificates.k8s.io", "certificatesigningrequests", { "spec.signerName" } },
    { "events.k8s.io",
      "events",
      { "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
        "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type" } },
    { "",
      "events",
      { "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
        "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
        "reportingComponent", "source", "type" } },
};

/* Fields of built-in types whose unset value is not empty, and those that have another name in the object. */
static const struct {
    const char *path;
    const char *from; /* NULL: `path` */
    ki_str unset;
} unlike[] = {
    { "spec.hostNetwork", NULL, { "false", 5 } },  { "spec.unschedulable", NULL, { "false", 5 } },
    { "status.replicas", NULL, { "0", 1 } },       { "status.successful", "status.succeeded", { "0", 1 } },
    { "source", "source.component", { NULL, 0 } },
};

const char *const *kt_object_field_paths(const ki_resource *resource) {
    static const char *const none[] = { NULL };
    for (size_t i = 0; i < sizeof selectable / sizeof selectable[0]; i++) {
        if (strcmp(selectable[i].plural, resource->plural) == 0 && strcmp(selectable[i].group, resource->group) == 0)
            return selectable[i].paths;
    }
    return none;
}

/* Appends `"NAME":"TEXT",` unless the text is empty. */
static void append_text(ki_buffer *out, const char *name, ki_str text) {
    if (!text.size)
        return;
    ki_buffer_printf(out, "\"%s\":", name);
    ki_buffer_append_json_string(out, text);
    ki_buffer_append_char(out, ',');
}

static void append_value(ki_buffer *out, const char *name, yyjson_val *val) {
    if (!val || yyjson_is_null(val) || (yyjson_is_ctn(val) && yyjson_get_len(val) == 0))
        return;
    ki_buffer_printf(out, "\"%s\":", name);
    kt_json_append(out, val);
    ki_buffer_append_char(out, ',');
}

static void append_meta(ki_buffer *out, const kt_meta *meta, uint64_t revision, size_t *ret_revision_offset) {
    ki_buffer_append_string(out, "\"metadata\":{");
    append_text(out, "name", meta->name);
    append_text(out, "generateName", meta->generate_name);
    append_text(out, "namespace", meta->ns);
    append_text(out, "uid", meta->uid);
    ki_buffer_append_string(out, "\"resourceVersion\":\"");
    *ret_revision_offset = out->size;
    ki_buffer_printf(out, "%" PRIu64 "\",", revision);
    if (meta->generation)
        ki_buffer_printf(out, "\"generation\":%" PRIu64 ",", meta->generation);
    append_text(out, "creationTimestamp", meta->created);
    append_text(out, "deletionTimestamp", meta->deleted);
    if (meta->grace >= 0)
        ki_buffer_printf(out, "\"deletionGracePeriodSeconds\":%" PRId64 ",", meta->grace);
    append_value(out, "labels", meta->labels);
    append_value(out, "annotations", meta->annotations);
    append_value(out, "ownerReferences", meta->owner_references);
    append_value(out, "finalizers", meta->finalizers);
    if (meta->managed_fields.size) {
        ki_buffer_append_string(out, "\"managedFields\":");
        ki_buffer_append_view(out, meta->managed_fields);
        ki_buffer_append_char(out, ',');
    }
    if (out->size)
        out->size--; /* remove the last comma; resourceVersion is always there */
    ki_buffer_append_char(out, '}');
}

/* Returns a field in the form that field selectors compare. `space` holds numbers. */
static ki_str field_value(yyjson_val *root, yyjson_val *status_root, const char *path, bool is_built_in,
                          char space[24]) {
    ki_str unset = { NULL, 0 };
    for (size_t i = 0; is_built_in && i < sizeof unlike / sizeof unlike[0]; i++) {
        if (strcmp(unlike[i].path, path) != 0)
            continue;
        unset = unlike[i].unset;
        path = unlike[i].from ? unlike[i].from : path;
        break;
    }
    yyjson_val *val = strncmp(path, "status.", sizeof "status." - 1) == 0 ? status_root : root;
    for (size_t size; val && *path; path += size + (path[size] == '.')) {
        size = strcspn(path, ".");
        val = yyjson_obj_getn(val, path, size);
    }
    if (yyjson_is_str(val))
        return kt_json_str(val);
    if (yyjson_is_bool(val))
        return yyjson_get_bool(val) ? KI_STR("true") : KI_STR("false");
    if (!yyjson_is_int(val))
        return unset;
    int size = snprintf(space, 24, "%" PRId64, yyjson_get_sint(val));
    return (ki_str){ space, (size_t)size };
}

static ki_str copy_text(char **at, ki_str text) {
    ki_str copy = { *at, text.size };
    if (text.size)
        memcpy(*at, text.data, text.size);
    (*at)[text.size] = '\0';
    *at += text.size + 1;
    return copy;
}

/* Copies everything that `draft` borrows into one block. The fields of a draft stand behind its labels. */
static ki_status pack(const kt_object *draft, kt_object **ret_obj) {
    size_t count = draft->label_count + draft->field_count;
    size_t size = sizeof *draft + count * sizeof(kt_pair) + draft->key.size + 1 + draft->uid.size + 1 +
                  draft->created.size + 1 + draft->json.size + 1;
    for (size_t i = 0; i < count; i++)
        size += draft->labels[i].name.size + draft->labels[i].value.size + 2;
    kt_object *obj = ki_alloc(draft->allocator, size);
    if (!obj)
        return KI_ERR_NO_MEMORY;
    *obj = *draft;
    obj->refs = 1;
    obj->owners = NULL;
    obj->labels = (kt_pair *)(void *)(obj + 1);
    obj->fields = obj->labels + obj->label_count;
    char *at = (char *)(obj->fields + obj->field_count);
    obj->key = copy_text(&at, draft->key);
    obj->ns = (ki_str){ obj->key.data, draft->ns.size };
    obj->name = (ki_str){ obj->key.data + obj->key.size - draft->name.size, draft->name.size };
    obj->uid = copy_text(&at, draft->uid);
    obj->created = copy_text(&at, draft->created);
    obj->json = copy_text(&at, draft->json);
    for (size_t i = 0; i < count; i++) {
        obj->labels[i].name = copy_text(&at, draft->labels[i].name);
        obj->labels[i].value = copy_text(&at, draft->labels[i].value);
    }
    KI_ASSERT(at == (char *)obj + size);
    *ret_obj = obj;
    return KI_OK;
}

ki_status kt_object_new(const kt_storage *storage, const kt_meta *meta, yyjson_val *root, yyjson_val *status_root,
                        uint64_t revision, ki_buffer *scratch, kt_object **ret_obj) {
    kt_object draft = { .allocator = &storage->cluster->allocator,
                        .revision = revision,
                        .generation = meta->generation,
                        .ns = meta->ns,
                        .name = meta->name,
                        .uid = meta->uid,
                        .created = meta->created };
    yyjson_val *key, *val, *status_val = yyjson_obj_get(status_root, "status");
    size_t index, max;
    /* the JSON */
    ki_buffer_reset(scratch, SIZE_MAX);
    ki_buffer_printf(scratch, "{\"kind\":\"%s\",\"apiVersion\":\"%.*s\",", storage->info->resource->kind,
                     (int)storage->api_version.size, storage->api_version.data);
    draft.meta_start = scratch->size;
    append_meta(scratch, meta, revision, &draft.revision_offset);
    draft.meta_end = scratch->size;
    yyjson_obj_foreach(root, index, max, key, val) {
        if (yyjson_equals_str(key, "kind") || yyjson_equals_str(key, "apiVersion") ||
            yyjson_equals_str(key, "metadata") || yyjson_equals_str(key, "status"))
            continue;
        ki_buffer_append_char(scratch, ',');
        ki_buffer_append_json_string(scratch, kt_json_str(key));
        ki_buffer_append_char(scratch, ':');
        kt_json_append(scratch, val);
    }
    draft.status_start = scratch->size;
    if (status_val && !yyjson_is_null(status_val)) {
        ki_buffer_append_string(scratch, ",\"status\":");
        kt_json_append(scratch, status_val);
    }
    KI_ASSERT(scratch->failed || (draft.meta_start < draft.revision_offset && draft.revision_offset < draft.meta_end &&
                                  draft.meta_end <= draft.status_start));
    ki_buffer_append_char(scratch, '}');
    /* behind it the key */
    draft.json.size = scratch->size;
    if (meta->ns.size) {
        ki_buffer_append_view(scratch, meta->ns);
        ki_buffer_append_char(scratch, '/');
    }
    ki_buffer_append_view(scratch, meta->name);
    if (scratch->failed)
        return scratch->failed;
    draft.json.data = scratch->data;
    draft.key = (ki_str){ scratch->data + draft.json.size, scratch->size - draft.json.size };
    /* labels and fields */
    char spaces[MAX_FIELDS][24];
    draft.labels = ki_alloc_array(draft.allocator, yyjson_obj_size(meta->labels) + MAX_FIELDS, sizeof *draft.labels);
    if (!draft.labels)
        return KI_ERR_NO_MEMORY;
    yyjson_obj_foreach(meta->labels, index, max, key, val) {
        draft.labels[draft.label_count++] = (kt_pair){ kt_json_str(key), kt_json_str(val) };
    }
    draft.fields = draft.labels + draft.label_count;
    for (; draft.field_count < MAX_FIELDS && storage->paths[draft.field_count]; draft.field_count++) {
        const char *path = storage->paths[draft.field_count];
        ki_str value = field_value(root, status_root, path, !storage->custom, spaces[draft.field_count]);
        draft.fields[draft.field_count] = (kt_pair){ { path, strlen(path) }, value };
    }
    ki_status status = pack(&draft, ret_obj);
    ki_free(draft.allocator, draft.labels);
    return status;
}

ki_status kt_object_with_revision(const kt_object *obj, uint64_t revision, ki_buffer *scratch, kt_object **ret_obj) {
    const char *digits = obj->json.data + obj->revision_offset;
    const char *end = memchr(digits, '"', obj->json.size - obj->revision_offset);
    size_t tail = (size_t)(end - obj->json.data);
    ki_buffer_reset(scratch, SIZE_MAX);
    ki_buffer_append(scratch, obj->json.data, obj->revision_offset);
    ki_buffer_printf(scratch, "%" PRIu64, revision);
    ki_buffer_append(scratch, end, obj->json.size - tail);
    if (scratch->failed)
        return scratch->failed;
    kt_object draft = *obj;
    draft.revision = revision;
    draft.json = (ki_str){ scratch->data, scratch->size };
    draft.meta_end = obj->meta_end + scratch->size - obj->json.size;
    draft.status_start = obj->status_start + scratch->size - obj->json.size;
    return pack(&draft, ret_obj);
}

kt_object *kt_object_ref(kt_object *obj) {
    KI_ASSERT(obj->refs > 0);
    obj->refs++;
    return obj;
}

void kt_object_unref(kt_object *obj) {
    KI_ASSERT(!obj || obj->refs > 0);
    if (obj && --obj->refs == 0)
        ki_free(obj->allocator, obj);
}

ki_str kt_object_label(const kt_object *obj, ki_str name) {
    for (size_t i = 0; i < obj->label_count; i++) {
        if (ki_str_equal(obj->labels[i].name, name))
            return obj->labels[i].value;
    }
    return (ki_str){ NULL, 0 };
}

ki_str kt_object_field(const kt_object *obj, ki_str name) {
    if (ki_str_equals(name, "metadata.name"))
        return obj->name;
    if (ki_str_equals(name, "metadata.namespace"))
        return obj->ns;
    for (size_t i = 0; i < obj->field_count; i++) {
        if (ki_str_equal(obj->fields[i].name, name))
            return obj->fields[i].value;
    }
    return (ki_str){ NULL, 0 };
}
