/* load_file.c: see load_file.h. */
#include "load_file.h"

#include "yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    LOAD_FILE_LIMIT = 256 * 1024 * 1024, /* bytes */
    LISTS_DEEP = 16                      /* nested Lists */
};

static ki_status fail_load(ki_error *err, ki_status code, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

static ki_status fail_load(ki_error *err, ki_status code, const char *format, ...) {
    va_list args;
    *err = (ki_error)KI_ERROR_INIT;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

static const ki_resource *find_resource(const char *api_version, const char *kind) {
    const char *slash = strchr(api_version, '/');
    const ki_resource *resource;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++) {
        size_t group_size = slash ? (size_t)(slash - api_version) : 0;
        if (strcmp(resource->kind, kind) == 0 && strlen(resource->group) == group_size &&
            strncmp(resource->group, api_version, group_size) == 0) {
            return resource;
        }
    }
    return NULL;
}

/* A custom resource, found by apiVersion and kind in the server's definitions. */
typedef struct wanted {
    const char *api_version;
    const char *kind;
    yyjson_doc *found; /* the definition; owns the strings of `resource` */
    ki_resource resource;
} wanted;

static bool match_definition(const char *key, size_t key_size, const char *json, size_t size, void *user) {
    wanted *w = user;
    const char *slash = strchr(w->api_version, '/');
    (void)key;
    (void)key_size;
    yyjson_doc *doc = slash ? yyjson_read(json, size, 0) : NULL;
    yyjson_val *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec"), *version;
    const char *group = yyjson_get_str(yyjson_obj_get(spec, "group"));
    const char *kind = yyjson_get_str(yyjson_ptr_get(spec, "/names/kind"));
    const char *plural = yyjson_get_str(yyjson_ptr_get(spec, "/names/plural"));
    const char *scope = yyjson_get_str(yyjson_obj_get(spec, "scope"));
    size_t index, count;
    if (group && kind && plural && scope && strlen(group) == (size_t)(slash - w->api_version) &&
        strncmp(group, w->api_version, strlen(group)) == 0 && strcmp(kind, w->kind) == 0) {
        yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, version) {
            const char *name = yyjson_get_str(yyjson_obj_get(version, "name"));
            if (!name || strcmp(name, slash + 1) != 0)
                continue;
            w->resource = (ki_resource){ group, name, plural, kind, strcmp(scope, "Namespaced") == 0 };
            w->found = doc;
            return false;
        }
    }
    yyjson_doc_free(doc);
    return true;
}

/* Returns the object as JSON. A namespaced object without a namespace gets "default", as in kubectl. */
static char *write_with_namespace(yyjson_val *object, const ki_resource *resource, size_t *ret_size) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, object);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(root, "metadata");
    char *text = NULL;
    yyjson_mut_doc_set_root(doc, root);
    if (resource->namespaced && metadata && !yyjson_mut_obj_get(metadata, "namespace")) {
        yyjson_mut_obj_add_str(doc, metadata, "namespace", "default");
    }
    text = yyjson_mut_write(doc, 0, ret_size);
    yyjson_mut_doc_free(doc);
    return text;
}

static ki_status put_object(ki_testing_server *server, const char *path, yyjson_val *object, int depth, size_t *count,
                            ki_error *err) {
    const char *kind = yyjson_get_str(yyjson_obj_get(object, "kind"));
    const char *api_version = yyjson_get_str(yyjson_obj_get(object, "apiVersion"));
    const char *name = yyjson_get_str(yyjson_ptr_get(object, "/metadata/name"));
    yyjson_val *items = yyjson_obj_get(object, "items");

    if (kind && yyjson_is_arr(items) && strlen(kind) >= 4 && strcmp(kind + strlen(kind) - 4, "List") == 0) {
        size_t index;
        size_t size;
        yyjson_val *item;
        if (depth == LISTS_DEEP)
            return fail_load(err, KI_ERR_LIMIT, "%s: more than %d nested lists", path, LISTS_DEEP);
        yyjson_arr_foreach(items, index, size, item) {
            ki_status status = put_object(server, path, item, depth + 1, count, err);
            if (status)
                return status;
        }
        return KI_OK;
    }
    if (!kind || !api_version || !name) {
        return fail_load(err, KI_ERR_INVALID, "%s: object %zu has no %s", path, *count + 1,
                         !kind          ? "kind"
                         : !api_version ? "apiVersion"
                                        : "metadata.name");
    }
    wanted custom = { .api_version = api_version, .kind = kind };
    const ki_resource *resource = find_resource(api_version, kind);
    if (!resource) {
        ki_testing_server_each(server, KI_CUSTOMRESOURCEDEFINITIONS, match_definition, &custom);
        resource = custom.found ? &custom.resource : NULL;
    }
    if (!resource) {
        return fail_load(
            err, KI_ERR_INVALID,
            "%s: object %zu: %s %s is not a built-in resource; put the CustomResourceDefinition of a custom "
            "resource before it",
            path, *count + 1, api_version, kind);
    }
    size_t size = 0;
    char *text = write_with_namespace(object, resource, &size);
    ki_status status = text ? ki_testing_server_put(server, resource, text, size, err)
                            : fail_load(err, KI_ERR_NO_MEMORY, "%s: out of memory", path);
    free(text);
    yyjson_doc_free(custom.found);
    if (!status)
        ++*count;
    return status;
}

ki_status load_file(ki_testing_server *server, const char *path, size_t *ret_objects, ki_error *err) {
    size_t size = 0;
    size_t at = 0;
    ki_status status = KI_OK;
    char *text = yaml_read_file(path, LOAD_FILE_LIMIT, &size, err);
    if (!text)
        return err->code;

    *ret_objects = 0;
    while (!status) {
        while (at < size && strchr(" \t\r\n", text[at]))
            at++;
        if (at == size)
            break;
        yyjson_read_err cause;
        yyjson_doc *doc = yyjson_read_opts(text + at, size - at, YYJSON_READ_STOP_WHEN_DONE, NULL, &cause);
        if (!doc) {
            status = fail_load(err, KI_ERR_PARSE, "%s: invalid JSON at byte %zu: %s", path, at + cause.pos, cause.msg);
            break;
        }
        status = put_object(server, path, yyjson_doc_get_root(doc), 0, ret_objects, err);
        at += yyjson_doc_get_read_size(doc);
        yyjson_doc_free(doc);
    }
    free(text);
    return status;
}
