/* zeros.c: see zeros.h. Recursive: json.h limits the depth of bodies, and types are finite where objects are absent. */
#include "testing/schema/zeros.h"

#include "testing/schema/schema.h"

#include <string.h>

typedef struct filler {
    const kt_schema *schema;
    yyjson_mut_doc *doc;
    size_t *left; /* members that may still be added */
    ki_status failed;
} filler;

static void fill(filler *f, const kt_type *type, yyjson_mut_val *obj);

static yyjson_mut_val *zero_of(filler *f, const kt_field *field) {
    if (field->wrap != KT_WRAP_ONE || (field->flags & KT_FIELD_POINTER))
        return yyjson_mut_null(f->doc);
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_STRING:
        return yyjson_mut_str(f->doc, "");
    case KT_VALUE_BOOL:
        return yyjson_mut_bool(f->doc, false);
    case KT_VALUE_INT32:
    case KT_VALUE_INT64:
    case KT_VALUE_INT_OR_STRING:
        return yyjson_mut_uint(f->doc, 0);
    case KT_VALUE_DOUBLE:
        return yyjson_mut_real(f->doc, 0);
    case KT_VALUE_QUANTITY:
        return yyjson_mut_str(f->doc, "0");
    case KT_VALUE_OBJECT:
        return yyjson_mut_obj(f->doc);
    default:
        return yyjson_mut_null(f->doc);
    }
}

static void fill_member(filler *f, const kt_field *field, yyjson_mut_val *val) {
    const kt_type *type = kt_field_type(f->schema, field);
    size_t index, count;
    yyjson_mut_val *key, *element;
    if (!type || f->failed)
        return;
    if (field->wrap == KT_WRAP_ONE)
        fill(f, type, val);
    yyjson_mut_arr_foreach(val, index, count, element) {
        fill(f, type, element);
    }
    if (field->wrap == KT_WRAP_MAP) {
        yyjson_mut_obj_foreach(val, index, count, key, element) {
            fill(f, type, element);
        }
    }
}

static bool is_empty(const kt_field *field, yyjson_mut_val *val) {
    return field->wrap != KT_WRAP_ONE && yyjson_mut_is_ctn(val) && yyjson_mut_get_len(val) == 0;
}

/* Fills the members, and removes empty lists and maps that Go does not write. */
static void fill_members(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; !f->failed && (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        yyjson_mut_val *val = yyjson_mut_obj_iter_get_val(key);
        const kt_field *field = NULL;
        if (yyjson_mut_is_ctn(val))
            field = kt_type_field(f->schema, type, (ki_str){ yyjson_mut_get_str(key), yyjson_mut_get_len(key) });
        if (!field)
            continue;
        if (!(field->flags & KT_FIELD_WRITTEN) && is_empty(field, val))
            yyjson_mut_obj_iter_remove(&iter);
        else
            fill_member(f, field, val);
    }
}

static void put(filler *f, yyjson_mut_val *obj, const char *name, yyjson_mut_val *val) {
    if (*f->left == 0) {
        f->failed = KI_ERR_LIMIT;
        return;
    }
    --*f->left;
    if (!val || !yyjson_mut_obj_put(obj, yyjson_mut_str(f->doc, name), val))
        f->failed = KI_ERR_NO_MEMORY;
}

/* Adds the zeros of the fields that Go writes. */
static void add_zeros(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    const kt_field *field = f->schema->fields + type->first, *end = field + type->count;
    for (; field < end && !f->failed; field++) {
        if (field->flags & KT_FIELD_INLINE)
            add_zeros(f, f->schema->types + field->type, obj);
        if (!(field->flags & KT_FIELD_WRITTEN))
            continue;
        yyjson_mut_val *val = yyjson_mut_obj_get(obj, field->name);
        if (val && !yyjson_mut_is_null(val) && !is_empty(field, val))
            continue;
        yyjson_mut_val *zero = zero_of(f, field);
        put(f, obj, field->name, zero);
        fill_member(f, field, zero);
    }
}

static void fill(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    if (!yyjson_mut_is_obj(obj) || strcmp(type->name, "ObjectMeta") == 0)
        return;
    fill_members(f, type, obj);
    add_zeros(f, type, obj);
}

ki_status kt_zeros_fill(const ki_resource *resource, yyjson_mut_doc *doc, yyjson_mut_val *root, size_t *left) {
    filler f = { .schema = kt_schema_builtin(), .doc = doc, .left = left };
    const kt_type *type = kt_schema_kind_of(resource);
    if (type && strcmp(resource->group, "apiextensions.k8s.io") != 0)
        fill(&f, type, root);
    return f.failed;
}
