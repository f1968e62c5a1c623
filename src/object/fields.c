/* fields.c: reads an object's fields: those of the header directly, any other by parsing the body. Any thread. */
#include <kinformer/unstructured.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/object/object.h"

static const char *at(const ki_object *obj, uint32_t place) {
    return (const char *)obj + place;
}

const char *ki_object_key(const ki_object *obj) {
    return at(obj, obj->key_at);
}

const char *ki_object_namespace(const ki_object *obj) {
    return at(obj, obj->namespace_at);
}

const char *ki_object_name(const ki_object *obj) {
    return at(obj, obj->name_at);
}

const char *ki_object_uid(const ki_object *obj) {
    return at(obj, obj->uid_at);
}

const char *ki_object_resource_version(const ki_object *obj) {
    return at(obj, obj->resource_version_at);
}

const char *ki_object_api_version(const ki_object *obj) {
    return obj->api_version;
}

const char *ki_object_kind(const ki_object *obj) {
    return obj->kind;
}

static const ki_object_label_places *labels(const ki_object *obj) {
    return (const ki_object_label_places *)(const void *)at(obj, obj->labels_at);
}

const char *ki_object_label(const ki_object *obj, const char *name) {
    for (size_t i = 0; name && i < obj->label_count; i++) {
        if (strcmp(at(obj, labels(obj)[i].name_at), name) == 0)
            return at(obj, labels(obj)[i].value_at);
    }
    return NULL;
}

bool ki_object_label_at(const ki_object *obj, size_t index, const char **ret_name, const char **ret_value) {
    if (index >= obj->label_count)
        return false;
    if (ret_name)
        *ret_name = at(obj, labels(obj)[index].name_at);
    if (ret_value)
        *ret_value = at(obj, labels(obj)[index].value_at);
    return true;
}

size_t ki_object_label_count(const ki_object *obj) {
    return obj->label_count;
}

const void *ki_object_view(const ki_object *obj) {
    return obj->format->view_size ? at(obj, KI_OBJECT_VIEW_AT) : NULL;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Sets all members but the text of strings, arrays and objects. */
static void set_scalar(yyjson_val *from, ki_value *value) {
    switch (yyjson_get_type(from)) {
    case YYJSON_TYPE_BOOL:
        value->type = KI_VALUE_BOOL;
        value->boolean = yyjson_get_bool(from);
        break;
    case YYJSON_TYPE_NUM:
        value->number = yyjson_get_num(from);
        if (yyjson_is_sint(from) || (yyjson_is_uint(from) && yyjson_get_uint(from) <= INT64_MAX)) {
            value->type = KI_VALUE_INT;
            value->integer = yyjson_get_sint(from);
        } else {
            value->type = KI_VALUE_DOUBLE;
        }
        break;
    case YYJSON_TYPE_STR:
        value->type = KI_VALUE_STRING;
        break;
    case YYJSON_TYPE_ARR:
        value->type = KI_VALUE_ARRAY;
        break;
    case YYJSON_TYPE_OBJ:
        value->type = KI_VALUE_OBJECT;
        break;
    default:
        value->type = KI_VALUE_NULL;
        break;
    }
}

/* Gives the value its text. The text belongs to the format's allocator; the value holds a reference to the format. */
static void own(ki_object_format *format, ki_value *value, char *text, size_t size) {
    value->text = text;
    value->text_size = size;
    value->owner = ki_object_format_ref(format);
}

static ki_status make_value(ki_object_format *format, yyjson_val *from, ki_value *ret_value, ki_error *err) {
    const ki_allocator *allocator = &format->allocator;
    ki_value value = KI_VALUE_INIT;
    set_scalar(from, &value);
    char *text = NULL;
    size_t size = 0;
    if (yyjson_is_str(from)) {
        size = yyjson_get_len(from);
        text = ki_strndup(allocator, yyjson_get_str(from), size);
    } else if (yyjson_is_ctn(from)) {
        yyjson_alc alc = ki_json_allocator(allocator);
        text = yyjson_val_write_opts(from, YYJSON_WRITE_NOFLAG, &alc, &size, NULL);
    } else {
        *ret_value = value;
        return KI_OK;
    }
    if (!text)
        return ki_error_no_memory(err, "reading a field");
    own(format, &value, text, size);
    *ret_value = value;
    return KI_OK;
}

static ki_status parse_body(const ki_object *obj, yyjson_doc **ret_doc, ki_error *err) {
    return ki_json_parse(&obj->format->allocator, ki_object_body(obj), ret_doc, err);
}

ki_status ki_json_field(ki_object_format *format, ki_str json, const char *whose, const char *path, ki_value *ret_value,
                        ki_error *err) {
    const ki_allocator *allocator = &format->allocator;
    ki_path *parsed;
    ki_status status = ki_path_parse(allocator, path, &parsed, err);
    if (status)
        return status;
    yyjson_doc *doc;
    status = ki_json_parse(allocator, json, &doc, err);
    if (!status) {
        yyjson_val *found = ki_path_find(parsed, yyjson_doc_get_root(doc));
        if (found)
            status = make_value(format, found, ret_value, err);
        else
            status = ki_error_set(err, KI_ERR_NOT_FOUND, "%s has no field %s", whose, path);
        yyjson_doc_free(doc);
    }
    ki_path_free(allocator, parsed);
    return status;
}

ki_status ki_object_field(const ki_object *obj, const char *path, ki_value *ret_value, ki_error *err) {
    if (!obj || !path || !ret_value)
        return ki_error_missing(err, "ki_object_field");
    return ki_json_field(obj->format, ki_object_body(obj), ki_object_key(obj), path, ret_value, err);
}

static yyjson_val *metadata_of(yyjson_doc *doc, const char *member) {
    return yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "metadata"), member);
}

int64_t ki_object_int(const ki_object *obj, const char *path, int64_t default_value) {
    ki_value value = KI_VALUE_INIT;
    if (ki_object_field(obj, path, &value, NULL))
        return default_value;
    int64_t number = value.type == KI_VALUE_INT ? value.integer : default_value;
    ki_value_clear(&value);
    return number;
}

ki_status ki_object_annotation(const ki_object *obj, const char *name, ki_value *ret_value, ki_error *err) {
    if (!obj || !name || !ret_value)
        return ki_error_missing(err, "ki_object_annotation");
    yyjson_doc *doc;
    ki_status status = parse_body(obj, &doc, err);
    if (status)
        return status;
    yyjson_val *found = yyjson_obj_get(metadata_of(doc, "annotations"), name);
    if (found)
        status = make_value(obj->format, found, ret_value, err);
    else
        status = ki_error_set(err, KI_ERR_NOT_FOUND, "%s has no annotation %s", ki_object_key(obj), name);
    yyjson_doc_free(doc);
    return status;
}

ki_status ki_object_json(const ki_object *obj, ki_value *ret_value, ki_error *err) {
    if (!obj || !ret_value)
        return ki_error_missing(err, "ki_object_json");
    ki_str body = ki_object_body(obj);
    char *text = ki_strndup(&obj->format->allocator, body.data, body.size);
    if (!text)
        return ki_error_no_memory(err, "copying an object");
    ki_value value = KI_VALUE_INIT;
    value.type = KI_VALUE_OBJECT;
    own(obj->format, &value, text, body.size);
    *ret_value = value;
    return KI_OK;
}

void ki_value_clear(ki_value *value) {
    if (!value)
        return;
    if (value->owner) {
        ki_object_format *format = (ki_object_format *)(uintptr_t)value->owner;
        ki_free(&format->allocator, value->text);
        ki_object_format_unref(format);
    }
    *value = (ki_value)KI_VALUE_INIT;
}

/* --- owner references --------------------------------------------------------------------------------------------- */

/* One block: this header, the array, the strings. */
typedef struct references_block {
    ki_object_format *format; /* owned reference */
    ki_owner_reference references[];
} references_block;

static const char *const reference_members[] = { "apiVersion", "kind", "name", "uid" };

enum {
    REFERENCE_MEMBERS = sizeof reference_members / sizeof *reference_members
};

static const char *member_text(yyjson_val *reference, size_t member) {
    const char *text = ki_json_string(reference, reference_members[member]).data;
    return text ? text : "";
}

static ki_status copy_references(const ki_object *obj, yyjson_val *array, ki_owner_reference **ret_references,
                                 ki_error *err) {
    size_t count = yyjson_arr_size(array);
    size_t size = sizeof(references_block) + count * sizeof(ki_owner_reference);
    size_t index, max;
    yyjson_val *reference;
    yyjson_arr_foreach(array, index, max, reference) {
        for (size_t m = 0; m < REFERENCE_MEMBERS; m++)
            size += strlen(member_text(reference, m)) + 1;
    }
    references_block *block = ki_alloc_zero(&obj->format->allocator, size);
    if (!block)
        return ki_error_no_memory(err, "reading owner references");
    block->format = ki_object_format_ref(obj->format);
    char *out = (char *)(block->references + count);
    yyjson_arr_foreach(array, index, max, reference) {
        ki_owner_reference *to = &block->references[index];
        const char **members[REFERENCE_MEMBERS] = { &to->api_version, &to->kind, &to->name, &to->uid };
        for (size_t m = 0; m < REFERENCE_MEMBERS; m++) {
            const char *text = member_text(reference, m);
            size_t text_size = strlen(text) + 1;
            memcpy(out, text, text_size);
            *members[m] = out;
            out += text_size;
        }
        to->controller = yyjson_get_bool(yyjson_obj_get(reference, "controller"));
        to->block_owner_deletion = yyjson_get_bool(yyjson_obj_get(reference, "blockOwnerDeletion"));
    }
    *ret_references = block->references;
    return KI_OK;
}

ki_status ki_object_owner_references(const ki_object *obj, ki_owner_reference **ret_references, size_t *ret_count,
                                     ki_error *err) {
    if (!obj || !ret_references || !ret_count)
        return ki_error_missing(err, "ki_object_owner_references");
    yyjson_doc *doc;
    ki_status status = parse_body(obj, &doc, err);
    if (status)
        return status;
    yyjson_val *array = metadata_of(doc, "ownerReferences");
    size_t count = yyjson_arr_size(array);
    ki_owner_reference *references = NULL;
    if (count)
        status = copy_references(obj, array, &references, err);
    yyjson_doc_free(doc);
    if (status)
        return status;
    *ret_references = references;
    *ret_count = count;
    return KI_OK;
}

void ki_owner_references_free(ki_owner_reference *references) {
    if (!references)
        return;
    references_block *block = (references_block *)(void *)((char *)references - offsetof(references_block, references));
    ki_object_format *format = block->format;
    ki_free(&format->allocator, block);
    ki_object_format_unref(format);
}

static bool is_of(const ki_owner_reference *reference, const ki_resource *resource) {
    ki_str version, group = ki_str_split(ki_str_of(reference->api_version), '/', &version);
    if (!version.data)
        group = (ki_str){ NULL, 0 }; /* "v1": the core group */
    return ki_str_equals(group, resource->group) && strcmp(reference->kind, resource->kind) == 0;
}

bool ki_object_controller_key(const ki_object *obj, const ki_resource *owner, char *ret_key, size_t size) {
    ki_owner_reference *references = NULL;
    size_t count = 0;
    if (!obj || !owner || ki_object_owner_references(obj, &references, &count, NULL))
        return false;
    size_t i = 0;
    while (i < count && !references[i].controller)
        i++;
    bool is_found = i < count && is_of(&references[i], owner);
    if (is_found) {
        const char *namespace_name = owner->namespaced ? ki_object_namespace(obj) : "";
        int length = snprintf(ret_key, size, "%s%s%s", namespace_name, *namespace_name ? "/" : "", references[i].name);
        is_found = length > 0 && (size_t)length < size;
    }
    ki_owner_references_free(references);
    return is_found;
}
