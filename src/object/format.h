/* format.h: how one informer's objects are made from JSON and kept: the allocator, the view, what is left
 * out. Immutable after it was made, shared by the informer and by every object made with it (objects may
 * outlive the informer). Any thread. */
#ifndef KI_OBJECT_FORMAT_H
#define KI_OBJECT_FORMAT_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/object.h>
#include <kinformer/view.h>

#include "src/base/string_view.h"

typedef struct ki_object_format ki_object_format;

typedef struct ki_object_format_options {
    const ki_field *view; /* NULL: none; ended by KI_FIELD_END */
    bool keep_managed_fields;
    bool namespaced; /* the resource's scope; only for messages, keys follow metadata.namespace */
} ki_object_format_options;

/* Errors: KI_ERR_PARSE for a view's path, KI_ERR_LIMIT for too many fields, KI_ERR_INVALID,
 * KI_ERR_NO_MEMORY. */
ki_status ki_object_format_new(const ki_allocator *allocator, const ki_object_format_options *options,
                               ki_object_format **ret_format, ki_error *err);
ki_object_format *ki_object_format_ref(ki_object_format *format);
void ki_object_format_unref(ki_object_format *format);
/* Do objects of both have the same view: a struct of one size, with the same members from the same paths in the same order? */
bool ki_object_format_same_view(const ki_object_format *a, const ki_object_format *b);
bool ki_object_format_has_view(const ki_object_format *format);
const ki_allocator *ki_object_format_allocator(const ki_object_format *format);

/* One object from its JSON text. `api_version` and `kind` are filled in where the JSON has none (items of
 * a built-in type's list); NULL: nothing to fill in. The text is not kept. Errors: KI_ERR_PARSE (not JSON,
 * not an object, no metadata, no name: the message says which and, where it can be told, for which
 * namespace/name; a zero character in one of the header's fields), KI_ERR_LIMIT (over 1 GiB),
 * KI_ERR_NO_MEMORY. */
ki_status ki_object_from_json(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                              ki_object **ret_obj, ki_error *err);

/* ki_object_field for any JSON text; `whose` names it in the message where the field is missing. */
ki_status ki_json_field(ki_object_format *format, ki_str json, const char *whose, const char *path, ki_value *ret_value,
                        ki_error *err);

/* Bytes of memory that the object takes, itself and its body. */
size_t ki_object_memory(const ki_object *obj);
/* A hash of those `size` bytes, but for the count of its owners: the same for as long as nobody writes to the object. */
uint64_t ki_object_fingerprint(const ki_object *obj, size_t size);

#endif
