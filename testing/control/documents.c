/* documents.c: see documents.h. */
#include "testing/control/documents.h"

#include "src/base/error.h"
#include "src/base/json_scan.h"
#include "src/base/memory.h"
#include "src/base/yaml_tree.h"
#include "src/object/unstructured.h"
#include "testing/cluster/cluster_state.h"
#include "testing/values/json.h"

enum {
    VALUES_MAX = 5 * 1000 * 1000,  /* of one document */
    JSON_MAX = 256 * 1024 * 1024,  /* bytes of one document */
    JSON_PER_BYTE = 8,             /* of a document without aliases; an escaped byte has 6 */
    ALIASED_MAX = 3 * 1024 * 1024, /* bytes of JSON that the aliases of a document may add: an object has no more */
    LISTS_DEEP = 16                /* nested Lists */
};

typedef struct reading {
    kt_cluster *cluster;
    int64_t now_ms;
    size_t count;
    ki_error *err;
} reading;

/* Returns true if the resource has the kind, and the group of "GROUP/VERSION" or "VERSION". */
static bool is_of(const ki_resource *resource, ki_str api_version, ki_str kind, bool any_version) {
    ki_str version, group = ki_str_split(api_version, '/', &version);
    if (!version.data) {
        version = group;
        group = (ki_str){ "", 0 };
    }
    return ki_str_equals(kind, resource->kind) && ki_str_equals(group, resource->group) &&
           (any_version || ki_str_equals(version, resource->version));
}

static const ki_resource *find_resource(const kt_cluster *cluster, ki_str api_version, ki_str kind) {
    const kt_storage *storage;
    for (int any_version = 0; any_version < 2; any_version++) {
        for (size_t i = 0; (storage = kt_storage_at(cluster, i)); i++) {
            if (is_of(storage->info->resource, api_version, kind, any_version) && !(any_version && storage->custom))
                return storage->info->resource;
        }
    }
    return NULL;
}

/* Stores one object, in the namespace default if it has none, as kubectl does. */
static ki_status put(reading *r, const ki_resource *resource, yyjson_val *object) {
    const ki_allocator *allocator = kt_cluster_allocator(r->cluster);
    yyjson_alc memory = kt_json_alc(allocator);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&memory);
    yyjson_mut_val *root = doc ? yyjson_val_mut_copy(doc, object) : NULL;
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    size_t size = 0;
    if (resource->namespaced && metadata && !yyjson_mut_obj_get(metadata, "namespace"))
        yyjson_mut_obj_add_str(doc, metadata, "namespace", "default");
    char *text = root ? yyjson_mut_val_write_opts(root, 0, &memory, &size, NULL) : NULL;
    ki_status status = text ? kt_cluster_put_json(r->cluster, resource, (ki_str){ text, size }, r->now_ms, NULL, r->err)
                            : ki_error_no_memory(r->err, "loading an object");
    ki_free(allocator, text);
    yyjson_mut_doc_free(doc);
    return status;
}

static ki_status put_any(reading *r, yyjson_val *object, int depth) {
    yyjson_val *items = yyjson_obj_get(object, "items");
    ki_str kind = kt_json_get_str(object, "kind"), api_version = kt_json_get_str(object, "apiVersion");
    ki_str name = kt_json_get_str(yyjson_obj_get(object, "metadata"), "name");
    size_t number = r->count + 1;
    if (yyjson_is_arr(items) && kind.size >= 4 && memcmp(kind.data + kind.size - 4, "List", 4) == 0) {
        size_t index, size;
        yyjson_val *item;
        if (depth == LISTS_DEEP)
            return ki_error_set(r->err, KI_ERR_LIMIT, "object %zu: more than %d nested lists", number, LISTS_DEEP);
        yyjson_arr_foreach(items, index, size, item) {
            ki_status status = put_any(r, item, depth + 1);
            if (status)
                return status;
        }
        return KI_OK;
    }
    if (!kind.size || !api_version.size || !name.size)
        return ki_error_set(r->err, KI_ERR_INVALID, "object %zu has no %s", number,
                            !kind.size          ? "kind"
                            : !api_version.size ? "apiVersion"
                                                : "metadata.name");
    const ki_resource *resource = find_resource(r->cluster, api_version, kind);
    if (!resource)
        return ki_error_set(r->err, KI_ERR_INVALID,
                            "object %zu: %.*s %.*s is not a built-in resource; put the CustomResourceDefinition of a "
                            "custom resource before it",
                            number, (int)(api_version.size < 128 ? api_version.size : 128), api_version.data,
                            (int)(kind.size < 64 ? kind.size : 64), kind.data);
    ki_status status = put(r, resource, object);
    if (status == KI_ERR_INVALID || status == KI_ERR_PARSE)
        ki_error_prefix(r->err, "object %zu", number);
    r->count += !status;
    return status;
}

static ki_status put_json_documents(reading *r, ki_str text) {
    const yyjson_alc memory = kt_json_alc(kt_cluster_allocator(r->cluster));
    ki_status status = KI_OK;
    if (kt_json_is_too_deep(text))
        return ki_error_set(r->err, KI_ERR_LIMIT, "more than %d objects and lists inside each other",
                            (int)KT_JSON_MAX_DEPTH);
    for (size_t at = 0; !status;) {
        while (at < text.size && memchr(" \t\r\n", text.data[at], 4))
            at++;
        if (at == text.size)
            break;
        /* yyjson copies all of the text that it is given: it gets one document, not all that follow. */
        ki_str document = { text.data + at, text.size - at };
        if (document.data[0] == '{' || document.data[0] == '[')
            document.size = ki_json_container_size(document);
        yyjson_read_err cause;
        /* Without YYJSON_READ_INSITU the text is not written to. */
        yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)document.data, document.size, YYJSON_READ_STOP_WHEN_DONE,
                                           &memory, &cause);
        if (!doc)
            return cause.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? ki_error_no_memory(r->err, "loading objects")
                       : ki_error_set(r->err, KI_ERR_PARSE, "invalid JSON at byte %zu: %s", at + cause.pos, cause.msg);
        status = put_any(r, yyjson_doc_get_root(doc), 0);
        at += yyjson_doc_get_read_size(doc);
        yyjson_doc_free(doc);
    }
    return status;
}

static ki_status put_yaml_document(reading *r, ki_str document, size_t number) {
    const ki_yaml_options options = { .node_limit = VALUES_MAX };
    bool is_large = document.size > (JSON_MAX - ALIASED_MAX) / JSON_PER_BYTE;
    ki_buffer json;
    ki_buffer_init(&json, kt_cluster_allocator(r->cluster),
                   is_large ? JSON_MAX : JSON_PER_BYTE * document.size + ALIASED_MAX);
    ki_status status = ki_yaml_to_json(document, &options, &json, r->err);
    if (status)
        ki_error_prefix(r->err, "document %zu", number);
    else if (!ki_str_equals((ki_str){ json.data, json.size }, "null"))
        status = put_json_documents(r, (ki_str){ json.data, json.size });
    ki_buffer_free(&json);
    return status;
}

static ki_status put_yaml_documents(reading *r, ki_str text) {
    ki_str document;
    ki_status status = KI_OK;
    for (size_t number = 1; !status && ki_yaml_next_document(&text, &document); number++)
        status = put_yaml_document(r, document, number);
    return status;
}

ki_status kt_load_documents(kt_cluster *cluster, ki_str text, int64_t now_ms, size_t *ret_count, ki_error *err) {
    KT_HOLDS(cluster);
    reading r = { .cluster = cluster, .now_ms = now_ms, .err = err };
    ki_status status = ki_unstructured_is_json(text) ? put_json_documents(&r, text) : put_yaml_documents(&r, text);
    *ret_count = r.count;
    return status;
}
