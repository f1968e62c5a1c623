/* unstructured_text.c: makes a ki_unstructured from YAML, JSON, or the identity of an object. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/yaml_tree.h"
#include "src/object/unstructured.h"

/* --- text --------------------------------------------------------------------------------------------------------- */

bool ki_unstructured_is_json(ki_str text) {
    size_t at = 0;
    while (at < text.size && strchr(" \t\r\n", text.data[at]))
        at++;
    return at < text.size && text.data[at] == '{';
}

/* Rejects a text after the first document, unless it is empty. */
static ki_status check_rest(const ki_allocator *allocator, ki_str text, ki_str rest, ki_error *err) {
    size_t line = 1;
    for (const char *at = text.data; at < rest.data; at++)
        line += *at == '\n';
    ki_yaml_document document = { 0 };
    ki_str next;
    while (ki_yaml_next_document(&rest, &next)) {
        ki_error ignored = KI_ERROR_INIT;
        ki_status status = ki_yaml_load(allocator, next, NULL, &document, &ignored);
        if (status == KI_ERR_NO_MEMORY)
            return ki_error_no_memory(err, "reading YAML");
        bool is_empty = !status && document.root->kind == KI_YAML_NULL;
        if (!status)
            ki_yaml_free(&document);
        if (!is_empty)
            return ki_error_set(err, KI_ERR_PARSE, "line %zu, column 1: a second document; an object is one document",
                                line);
    }
    return KI_OK;
}

ki_status ki_unstructured_yaml_to_json(ki_str text, ki_buffer *json, ki_error *err) {
    ki_str rest = text, first;
    if (!ki_yaml_next_document(&rest, &first))
        return ki_error_set(err, KI_ERR_PARSE, "the text is empty");
    ki_yaml_document document = { 0 };
    ki_status status = ki_yaml_load(json->allocator, first, NULL, &document, err);
    if (status)
        return status;
    if (document.root->kind == KI_YAML_MAP)
        status = ki_yaml_append_json(json, document.root, err);
    else
        status = ki_error_set(err, KI_ERR_PARSE, "line %zu, column %zu: %s, not a map", document.root->line,
                              document.root->column, ki_yaml_kind_name(document.root->kind));
    ki_yaml_free(&document);
    return status ? status : check_rest(json->allocator, text, rest, err);
}

static ki_unstructured *from_yaml(const ki_allocator *allocator, ki_str text) {
    ki_error err = KI_ERROR_INIT;
    ki_buffer json;
    ki_buffer_init(&json, allocator, KI_UNSTRUCTURED_SIZE_MAX);
    ki_status status = ki_unstructured_yaml_to_json(text, &json, &err);
    if (status == KI_ERR_PARSE)
        ki_error_prefix(&err, "YAML");
    ki_unstructured *object = status ? ki_unstructured_new_failed(allocator, &err)
                                     : ki_unstructured_new_of(allocator, (ki_str){ json.data, json.size });
    ki_buffer_free(&json);
    return object;
}

ki_unstructured *ki_unstructured_read(const ki_allocator *allocator, const char *text) {
    const ki_str given = ki_str_of(text);
    ki_error err = KI_ERROR_INIT;
    if (!text || given.size > KI_UNSTRUCTURED_SIZE_MAX) {
        if (!text)
            ki_error_set(&err, KI_ERR_PARSE, "the text is NULL");
        else
            ki_error_set(&err, KI_ERR_LIMIT, "the text is longer than %d bytes", KI_UNSTRUCTURED_SIZE_MAX);
        return ki_unstructured_new_failed(allocator, &err);
    }
    if (!ki_unstructured_is_json(given))
        return from_yaml(allocator, given);
    ki_unstructured *object = ki_unstructured_new_of(allocator, given);
    if (!object || object->failure.code != KI_ERR_PARSE)
        return object;
    ki_unstructured *read =
        from_yaml(allocator, given); /* {a: b} is YAML; if it is neither, YAML's error has line and column */
    if (!read || (read->failure.code && read->failure.code != KI_ERR_PARSE)) {
        ki_unstructured_free(read);
        return object;
    }
    ki_unstructured_free(object);
    return read;
}

ki_unstructured *ki_unstructured_new(const char *text) {
    return ki_unstructured_read(&ki_allocator_default, text);
}

/* --- identity ----------------------------------------------------------------------------------------------------- */

ki_unstructured *ki_unstructured_for(const ki_resource *resource, const char *namespace_name, const char *name) {
    if (!resource || !resource->version || !resource->version[0] || !resource->kind || !resource->kind[0]) {
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, KI_ERR_INVALID, "an object for a resource without a version or a kind");
        return ki_unstructured_new_failed(&ki_allocator_default, &err);
    }
    ki_buffer api_version;
    ki_buffer_init(&api_version, &ki_allocator_default, KI_UNSTRUCTURED_SIZE_MAX);
    bool has_group = resource->group && resource->group[0];
    ki_buffer_printf(&api_version, "%s%s%s", has_group ? resource->group : "", has_group ? "/" : "", resource->version);
    ki_unstructured *object =
        api_version.failed ? NULL : ki_unstructured_new_of(&ki_allocator_default, ki_str_of("{}"));
    ki_unstructured_set_string(object, "apiVersion", api_version.data);
    ki_buffer_free(&api_version);
    ki_unstructured_set_string(object, "kind", resource->kind);
    ki_unstructured_set_json(object, "metadata", "{}");
    if (namespace_name && namespace_name[0])
        ki_unstructured_set_string(object, "metadata.namespace", namespace_name);
    if (name && name[0])
        ki_unstructured_set_string(object, "metadata.name", name);
    return object;
}
