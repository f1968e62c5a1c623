/* zeros.c: see zeros.h. Recursive: json.h limits the depth of bodies, and types are finite where objects are absent. */
#include "testing/schema/zeros.h"

#include "testing/schema/schema.h"

#include <string.h>

typedef struct filler {
    const kt_schema *schema;
    yyjson_mut_doc *doc;
    bool failed;
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
        return yyjson_mut_int(f->doc, 0);
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

/* Returns true if Go writes the field of an object that does not have it. */
static bool is_written(const kt_field *field) {
    bool is_struct = field->wrap == KT_WRAP_ONE && (field->kind == KT_VALUE_OBJECT || field->kind == KT_VALUE_TIME ||
                                                    field->kind == KT_VALUE_MICRO_TIME);
    return !(field->flags & KT_FIELD_OMIT_EMPTY) || (is_struct && !(field->flags & KT_FIELD_POINTER));
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

static void fill(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    size_t cursor = 0;
    const kt_field *field;
    if (!yyjson_mut_is_obj(obj) || strcmp(type->name, "ObjectMeta") == 0)
        return;
    while (!f->failed && (field = kt_type_next(f->schema, type, &cursor)) != NULL) {
        yyjson_mut_val *val = yyjson_mut_obj_get(obj, field->name);
        bool is_empty = field->wrap != KT_WRAP_ONE && yyjson_mut_is_ctn(val) && yyjson_mut_get_len(val) == 0;
        if (is_empty && !is_written(field)) {
            yyjson_mut_obj_remove_key(obj, field->name);
            continue;
        }
        if (is_empty || ((!val || yyjson_mut_is_null(val)) && is_written(field))) {
            val = zero_of(f, field);
            if (!val || !yyjson_mut_obj_put(obj, yyjson_mut_str(f->doc, field->name), val))
                f->failed = true;
        }
        fill_member(f, field, val);
    }
}

ki_status kt_zeros_fill(const ki_resource *resource, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    filler f = { .schema = kt_schema_builtin(), .doc = doc };
    const kt_type *type = kt_schema_kind_of(resource);
    if (type && strcmp(resource->group, "apiextensions.k8s.io") != 0)
        fill(&f, type, root);
    return f.failed ? KI_ERR_NO_MEMORY : KI_OK;
}
