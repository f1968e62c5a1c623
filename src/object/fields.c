/* fields.c: reads an object's fields: those of the header directly, any other by parsing the body; compares resource
 * versions. Any thread. */
#include <kinformer/unstructured.h>

#include "src/base/base64.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/json.h"
#include "src/object/json_text.h"
#include "src/object/path.h"
#include "src/object/value.h"

const char *ki_object_key(const ki_object *obj) {
    return (const char *)obj + obj->key_at;
}

const char *ki_object_namespace(const ki_object *obj) {
    return ki_object_group_text(obj->group, obj->group->namespace_at);
}

const char *ki_object_name(const ki_object *obj) {
    uint32_t size = obj->group->namespace_size;
    return ki_object_key(obj) + (size ? size + 1 : 0);
}

const char *ki_object_uid(const ki_object *obj) {
    const char *key = (const char *)obj + obj->key_at;
    return key + strlen(key) + 1; /* one string is behind the other */
}

const char *ki_object_resource_version(const ki_object *obj) {
    const char *key = (const char *)obj + obj->key_at, *uid = key + strlen(key) + 1;
    return uid + strlen(uid) + 1;
}

const char *ki_object_api_version(const ki_object *obj) {
    return ki_object_group_api_version(obj->group);
}

const char *ki_object_kind(const ki_object *obj) {
    return ki_object_group_text(obj->group, obj->group->kind_at);
}

const char *ki_object_label(const ki_object *obj, const char *name) {
    const ki_object_group *group = obj->group;
    for (size_t i = 0; name && i < group->label_count; i++) {
        if (strcmp(group->labels[i].name, name) == 0)
            return ki_object_group_value(group, ki_object_own_labels(obj), i);
    }
    return NULL;
}

bool ki_object_label_at(const ki_object *obj, size_t index, const char **ret_name, const char **ret_value) {
    const ki_object_group *group = obj->group;
    if (index >= group->label_count)
        return false;
    if (ret_name)
        *ret_name = group->labels[index].name;
    if (ret_value)
        *ret_value = ki_object_group_value(group, ki_object_own_labels(obj), index);
    return true;
}

size_t ki_object_label_count(const ki_object *obj) {
    return obj->group->label_count;
}

const void *ki_object_view(const ki_object *obj) {
    return ki_format_of(obj)->view ? (const char *)obj + KI_OBJECT_VIEW_AT : NULL;
}

#define ONLY_METADATA "the cache keeps only the metadata" /* of a message */

/* --- fields by path ----------------------------------------------------------------------------------------------- */

/* Opens the body of an object that has its content. */
static ki_status open_content(const ki_object *obj, ki_body *ret_body, ki_error *err) {
    ki_status status = ki_object_check_content(obj, err);
    return status ? status : ki_body_open(obj, ret_body, err);
}

/* Returns the error of a path that cannot be parsed, and else that the object has no content. */
static ki_status check_path_first(const ki_object *obj, const char *path, ki_error *err) {
    const ki_allocator *allocator = &ki_format_of(obj)->allocator;
    ki_path *parsed = NULL;
    ki_status status = ki_path_parse(allocator, path, &parsed, err);
    ki_path_free(allocator, parsed);
    return status ? status : ki_object_check_content(obj, err);
}

/* Returns the error of a field that may be on the server, of an object with metadata alone. A transform can have added
 * fields. */
static ki_status check_kept(const ki_object *obj, ki_str body, const char *path, ki_error *err) {
    const ki_allocator *allocator = &ki_format_of(obj)->allocator;
    ki_path *parsed = NULL;
    ki_status status = ki_path_parse(allocator, path, &parsed, err);
    if (status)
        return status;
    const ki_path_step *first = ki_path_step_at(parsed, 0);
    bool is_kept = ki_path_is_of_metadata(parsed) || !first->name ||
                   ki_json_text_find(body, (ki_str){ first->name, first->name_size }).size;
    ki_path_free(allocator, parsed);
    return is_kept ? KI_OK : ki_error_set(err, KI_ERR_STATE, "%s has no %s: " ONLY_METADATA, ki_object_key(obj), path);
}

ki_status ki_object_field(const ki_object *obj, const char *path, ki_value *ret_value, ki_error *err) {
    if (!obj || !path || !ret_value)
        return ki_error_missing(err, "ki_object_field");
    if (!obj->body_size)
        return check_path_first(obj, path, err);
    ki_body body;
    ki_status status = ki_body_open(obj, &body, err);
    if (status)
        return status;
    if (obj->is_partial)
        status = check_kept(obj, body.text, path, err);
    if (!status)
        status = ki_json_field(ki_format_of(obj), body.text, ki_object_key(obj), path, ret_value, err);
    ki_body_close(obj, &body);
    return status;
}

/* Gets the field of an object if it is of this type. */
static bool find_typed(const ki_object *obj, const char *path, ki_value_type type, ki_value *ret_value) {
    *ret_value = (ki_value)KI_VALUE_INIT;
    if (ki_object_field(obj, path, ret_value, NULL))
        return false;
    if (ret_value->type != type)
        ki_value_clear(ret_value);
    return ret_value->type == type;
}

const char *ki_object_string(const ki_object *obj, const char *path, const char *default_value, char *ret_text,
                             size_t size) {
    ki_value value;
    if (!ret_text || !find_typed(obj, path, KI_VALUE_STRING, &value))
        return default_value;
    size_t needed = strlen(value.text) + 1;
    if (needed <= size)
        memcpy(ret_text, value.text, needed);
    ki_value_clear(&value);
    return needed <= size ? ret_text : default_value;
}

int64_t ki_object_int(const ki_object *obj, const char *path, int64_t default_value) {
    ki_value value;
    return find_typed(obj, path, KI_VALUE_INT, &value) ? value.integer : default_value;
}

bool ki_object_bool(const ki_object *obj, const char *path, bool default_value) {
    ki_value value;
    return find_typed(obj, path, KI_VALUE_BOOL, &value) ? value.boolean : default_value;
}

static ki_status decode_base64(ki_object_format *format, ki_str text, ki_value *ret_value) {
    char *bytes = ki_alloc(&format->allocator, KI_BASE64_DECODED_MAX(text.size) + 1);
    size_t size;
    if (!bytes)
        return KI_ERR_NO_MEMORY;
    if (!ki_base64_decode(text, bytes, &size)) {
        ki_free(&format->allocator, bytes);
        return KI_ERR_PARSE;
    }
    bytes[size] = '\0';
    *ret_value = (ki_value)KI_VALUE_INIT;
    ret_value->type = KI_VALUE_STRING;
    ki_value_own(format, ret_value, bytes, size);
    return KI_OK;
}

/* Finds the text of an entry. */
static ki_str find_data(const ki_object *obj, ki_str body, ki_str name, bool *ret_is_base64) {
    ki_str text = ki_json_text_member(ki_json_text_find(body, KI_STR("data")), name);
    *ret_is_base64 = strcmp(ki_object_kind(obj), "Secret") == 0;
    if (text.size)
        return text;
    *ret_is_base64 = true;
    return ki_json_text_member(ki_json_text_find(body, KI_STR("binaryData")), name);
}

static ki_status copy_data(const ki_object *obj, ki_str text, bool is_base64, const char *name, ki_value *ret_value,
                           ki_error *err) {
    char *copy = ki_strndup(&ki_format_of(obj)->allocator, text.data, text.size);
    if (!copy)
        return ki_error_no_memory(err, "reading an entry");
    size_t size = ki_json_text_decode(copy, text.size);
    if (!is_base64) {
        *ret_value = (ki_value)KI_VALUE_INIT;
        ret_value->type = KI_VALUE_STRING;
        ki_value_own(ki_format_of(obj), ret_value, copy, size);
        return KI_OK;
    }
    ki_status status = decode_base64(ki_format_of(obj), (ki_str){ copy, size }, ret_value);
    ki_free(&ki_format_of(obj)->allocator, copy);
    if (status == KI_ERR_PARSE)
        return ki_error_set(err, status, "%s: data[%s] is not base64", ki_object_key(obj), name);
    return status ? ki_error_no_memory(err, "reading an entry") : KI_OK;
}

ki_status ki_object_data(const ki_object *obj, const char *name, ki_value *ret_value, ki_error *err) {
    if (!obj || !name || !ret_value)
        return ki_error_missing(err, "ki_object_data");
    ki_body body;
    bool is_base64;
    ki_status status = open_content(obj, &body, err);
    if (status)
        return status;
    ki_str text = find_data(obj, body.text, ki_str_of(name), &is_base64);
    if (text.size >= 2 && *text.data == '"')
        status = copy_data(obj, text, is_base64, name, ret_value, err);
    else if (obj->is_partial)
        status = ki_error_set(err, KI_ERR_STATE, "%s has no data[%s]: " ONLY_METADATA, ki_object_key(obj), name);
    else
        status = ki_error_set(err, KI_ERR_NOT_FOUND, "%s has no data[%s]", ki_object_key(obj), name);
    ki_body_close(obj, &body);
    return status;
}

ki_status ki_object_json(const ki_object *obj, ki_value *ret_value, ki_error *err) {
    if (!obj || !ret_value)
        return ki_error_missing(err, "ki_object_json");
    if (ki_object_check_content(obj, err))
        return KI_ERR_STATE;
    char *text;
    ki_status status = ki_body_copy(obj, &text, err);
    if (status)
        return status;
    ki_value value = KI_VALUE_INIT;
    value.type = KI_VALUE_OBJECT;
    ki_value_own(ki_format_of(obj), &value, text, obj->body_size);
    *ret_value = value;
    return KI_OK;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

bool ki_key_join(const char *namespace_name, const char *name, char *ret_key, size_t size) {
    if (!name || !ret_key)
        return false;
    bool has_namespace = namespace_name && *namespace_name;
    int length = snprintf(ret_key, size, "%s%s%s", has_namespace ? namespace_name : "", has_namespace ? "/" : "", name);
    return length >= 0 && (size_t)length < size;
}

const char *ki_key_split(const char *key, char *ret_namespace, size_t size) {
    const char *slash = key ? strchr(key, '/') : NULL;
    const char *name = slash ? slash + 1 : key;
    size_t length = slash ? (size_t)(slash - key) : 0;
    if (!name || !*name || strchr(name, '/') || slash == key || (ret_namespace && length >= size))
        return NULL;
    if (ret_namespace) {
        memcpy(ret_namespace, key, length);
        ret_namespace[length] = '\0';
    }
    return name;
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
    references_block *block = ki_alloc_zero(&ki_format_of(obj)->allocator, size);
    if (!block)
        return ki_error_no_memory(err, "reading owner references");
    block->format = ki_object_format_ref(ki_format_of(obj));
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
    ki_body body;
    ki_status status = open_content(obj, &body, err);
    if (status)
        return status;
    ki_str text = ki_body_metadata(&body, KI_STR("ownerReferences"));
    yyjson_doc *doc = NULL;
    if (text.size)
        status = ki_json_parse(&ki_format_of(obj)->allocator, text, &doc, err);
    ki_body_close(obj, &body);
    yyjson_val *array = yyjson_doc_get_root(doc);
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
        is_found = ki_key_join(namespace_name, references[i].name, ret_key, size);
    }
    ki_owner_references_free(references);
    return is_found;
}

/* --- resource versions -------------------------------------------------------------------------------------------- */

/* The only form whose order Kubernetes defines is a decimal integer without sign and leading zeros (KEP-5504). */
ki_order ki_resource_version_compare(const char *a, const char *b) {
    if (!a || !b)
        return KI_ORDER_UNKNOWN;
    int order = strcmp(a, b);
    if (order == 0)
        return KI_ORDER_SAME;
    const char *texts[] = { a, b };
    size_t sizes[] = { 0, 0 };
    for (size_t i = 0; i < 2; i++) {
        while (texts[i][sizes[i]] >= '0' && texts[i][sizes[i]] <= '9')
            sizes[i]++;
        if (texts[i][sizes[i]] || sizes[i] == 0 || (texts[i][0] == '0' && sizes[i] > 1))
            return KI_ORDER_UNKNOWN;
    }
    if (sizes[0] != sizes[1])
        return sizes[0] < sizes[1] ? KI_ORDER_OLDER : KI_ORDER_NEWER;
    return order < 0 ? KI_ORDER_OLDER : KI_ORDER_NEWER;
}
