/* strict.c: see strict.h. Walks an object once, along its type or its structural schema. Recursive: json.h limits the
 * depth of bodies. */
#include "testing/schema/strict.h"

#include "src/base/quantity.h"
#include "testing/values/base64.h"
#include "testing/values/go_time.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_WHOLE 9007199254740992.0 /* 2^53: all whole numbers up to it are doubles */

enum {
    PATH_MAX_SIZE = 1024 /* of a field's path in a message */
};

/* The place of a value in the object. */
typedef struct place {
    const struct place *above; /* NULL: the root */
    ki_str name;               /* of a member, or a key of a map; data NULL: an element of a list */
    size_t index;              /* of the element */
    bool is_key;
} place;

typedef struct walk {
    kt_strict *out;
    const kt_schema *schema;
    const place *at; /* of the value that is read; NULL: the root */
    ki_str *unknown; /* unknown fields of a custom resource; noted at the end, sorted. NULL: noted at once */
    size_t unknown_count;
} walk;

/* Writes the path of a place, as much as fits: spec.containers[0].name. `is_plain`: without elements and keys, as in
 * spec.containers.name. */
static ki_str path_of(const place *at, bool is_plain, char text[PATH_MAX_SIZE]) {
    ki_str path = { text, 0 };
    text[0] = '\0';
    if (!at)
        return path;
    path = path_of(at->above, is_plain, text);
    size_t room = PATH_MAX_SIZE - path.size;
    if (at->name.data && !(is_plain && at->is_key))
        snprintf(text + path.size, room, "%s%.*s", path.size ? "." : "", (int)at->name.size, at->name.data);
    else if (!at->name.data && !is_plain)
        snprintf(text + path.size, room, "[%zu]", at->index);
    path.size += strlen(text + path.size);
    return path;
}

static void note_at(walk *in, const char *what, ki_str path) {
    if (in->out->note_count++ >= KT_STRICT_NOTES_MAX)
        return;
    ki_buffer *notes = &in->out->notes;
    ki_buffer_printf(notes, "%s%s ", notes->size ? "\n" : "", what);
    ki_buffer_append_json_string(notes, path);
    if (notes->failed)
        in->out->arena->failed = true;
}

static void note_unknown(walk *in) {
    char path[PATH_MAX_SIZE];
    if (!in->unknown)
        note_at(in, "unknown field", path_of(in->at, false, path));
    else if (in->unknown_count < KT_STRICT_NOTES_MAX)
        in->unknown[in->unknown_count++] = kt_arena_copy(in->out->arena, path_of(in->at, false, path));
}

/* Notes a duplicate. Returns true for the last member of its name, which is the one that is taken. */
static bool take_last(walk *in, const kt_entry *one) {
    char path[PATH_MAX_SIZE];
    if (!one->is_first)
        note_at(in, "duplicate field", path_of(in->at, false, path));
    return one->is_last;
}

static bool has_failed(const walk *in) {
    return in->out->arena->failed || in->out->error.size > 0;
}

static yyjson_mut_val *fail_object(walk *in, const char *why) {
    if (!has_failed(in) && ki_buffer_append_string(&in->out->error, why))
        in->out->arena->failed = true;
    return NULL;
}

static const char *kind_of(yyjson_val *val) {
    return yyjson_is_str(val)    ? "string"
           : yyjson_is_bool(val) ? "bool"
           : yyjson_is_obj(val)  ? "object"
           : yyjson_is_arr(val)  ? "array"
                                 : "number";
}

static const char *go_type(const walk *in, const kt_field *field) {
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_BOOL:
        return "bool";
    case KT_VALUE_INT32:
        return "int32";
    case KT_VALUE_INT64:
        return "int64";
    case KT_VALUE_DOUBLE:
        return "float64";
    case KT_VALUE_BYTES:
        return "[]uint8";
    case KT_VALUE_OBJECT:
        return in->schema->types[field->type].name;
    default:
        return "string";
    }
}

/* Fails with: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32.
 * `whole`: the value is not the list or map that the field needs. */
static yyjson_mut_val *fail_type(walk *in, const kt_type *owner, const kt_field *field, yyjson_val *val, bool whole) {
    if (has_failed(in))
        return NULL;
    char path[PATH_MAX_SIZE];
    ki_buffer *out = &in->out->error;
    ki_buffer_printf(out, "json: cannot unmarshal %s", kind_of(val));
    if (yyjson_is_num(val) && (field->kind == KT_VALUE_INT32 || field->kind == KT_VALUE_INT64)) {
        ki_buffer_append_char(out, ' ');
        kt_json_append(out, val);
    }
    bool is_object = field->kind == KT_VALUE_OBJECT;
    const char *wrap = !whole || field->wrap == KT_WRAP_ONE ? "" : field->wrap == KT_WRAP_LIST ? "[]" : "map[string]";
    ki_buffer_printf(out, " into Go struct field %s.%s of type %s%s%s", owner->name, path_of(in->at, true, path).data,
                     wrap, is_object ? "v1." : "", go_type(in, field));
    if (out->failed)
        in->out->arena->failed = true;
    return NULL;
}

/* Returns a new value. NULL: there was no memory for it. */
static yyjson_mut_val *checked(walk *in, yyjson_mut_val *made) {
    if (!made)
        in->out->arena->failed = true;
    return made;
}

/* Returns true for ([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*) with at most one point. */
static bool is_quantity(ki_str text) {
    size_t i = 0, digits, points = 0;
    if (i < text.size && (text.data[i] == '+' || text.data[i] == '-'))
        i++;
    for (digits = i; i < text.size && ((text.data[i] >= '0' && text.data[i] <= '9') || text.data[i] == '.'); i++)
        points += text.data[i] == '.';
    if (i == digits || points > 1)
        return false;
    while (i < text.size && strchr("eEinumkKMGTP", text.data[i]))
        i++;
    if (i < text.size && (text.data[i] == '+' || text.data[i] == '-'))
        i++;
    while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9')
        i++;
    return i == text.size;
}

/* Reads a quantity as the real server does, which stores its canonical form. The defaults of lists of resources, such
 * as "limits", round up to thousandths. */
static yyjson_mut_val *read_quantity(walk *in, const kt_type *owner, const kt_field *field, yyjson_val *val) {
    enum {
        NANO_OF_MILLI = 1000000
    };
    ki_quantity quantity;
    char shown[KI_QUANTITY_SIZE];
    ki_buffer number;
    ki_buffer_init(&number, in->out->arena->allocator, 0);
    if (yyjson_is_num(val))
        kt_json_append(&number, val);
    ki_str text = yyjson_is_num(val) ? (ki_str){ number.data, number.size } : kt_json_str(val);
    bool has_form = is_quantity(text), is_parsed = has_form && ki_quantity_parse(text, &quantity);
    if (number.failed)
        in->out->arena->failed = true;
    ki_buffer_free(&number);
    if (!is_parsed)
        return fail_object(in, has_form ? "unable to parse quantity's suffix"
                                        : "quantities must match the regular expression "
                                          "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    uint32_t finer = quantity.nano % NANO_OF_MILLI;
    if (finer && field->wrap == KT_WRAP_MAP && strcmp(owner->package, "io.k8s.api.core.v1") == 0) {
        bool is_one = quantity.nano / NANO_OF_MILLI == 999;
        quantity.nano = is_one ? 0 : quantity.nano + NANO_OF_MILLI - finer;
        quantity.whole += is_one;
    }
    ki_quantity_write(&quantity, shown);
    return checked(in, yyjson_mut_strcpy(in->out->doc, shown));
}

static yyjson_mut_val *read_bytes(walk *in, yyjson_val *val) {
    size_t bad = kt_base64_check(kt_json_str(val));
    if (bad == SIZE_MAX)
        return checked(in, yyjson_val_mut_copy(in->out->doc, val));
    ki_buffer_printf(&in->out->error, "illegal base64 data at input byte %zu", bad);
    if (in->out->error.failed)
        in->out->arena->failed = true;
    return NULL;
}

static yyjson_mut_val *read_time(walk *in, yyjson_val *val, bool is_micro) {
    char text[KI_RFC3339_SIZE];
    yyjson_mut_val *made = NULL;
    if (kt_go_time_read(kt_json_str(val), is_micro, text, &in->out->error))
        made = yyjson_mut_strcpy(in->out->doc, text);
    if (in->out->error.failed || (!made && !in->out->error.size))
        in->out->arena->failed = true;
    return made;
}

static bool is_int(yyjson_val *val, bool is_32) {
    if (!yyjson_is_int(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) > INT64_MAX))
        return false;
    int64_t number = yyjson_get_sint(val);
    return !is_32 || (number >= INT32_MIN && number <= INT32_MAX);
}

static yyjson_mut_val *read_object(walk *in, const kt_type *type, yyjson_val *obj, bool is_root);
static yyjson_mut_val *read_custom(walk *in, const kt_spot *spot, yyjson_val *val);

/* Reads one value, or one element of a list or map. */
static yyjson_mut_val *read_value(walk *in, const kt_type *owner, const kt_field *field, yyjson_val *val) {
    bool fits = true;
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_STRING:
        fits = yyjson_is_str(val);
        break;
    case KT_VALUE_TIME:
    case KT_VALUE_MICRO_TIME:
        if (yyjson_is_str(val))
            return read_time(in, val, field->kind == KT_VALUE_MICRO_TIME);
        fits = false;
        break;
    case KT_VALUE_BYTES:
        if (yyjson_is_str(val))
            return read_bytes(in, val);
        fits = false;
        break;
    case KT_VALUE_BOOL:
        fits = yyjson_is_bool(val);
        break;
    case KT_VALUE_INT32:
    case KT_VALUE_INT64:
        fits = is_int(val, field->kind == KT_VALUE_INT32);
        break;
    case KT_VALUE_DOUBLE:
        fits = yyjson_is_num(val);
        break;
    case KT_VALUE_QUANTITY:
        return read_quantity(in, owner, field, val);
    case KT_VALUE_INT_OR_STRING:
        fits = yyjson_is_str(val) || is_int(val, true);
        break;
    case KT_VALUE_STRINGS:
        fits = yyjson_is_arr(val);
        break;
    case KT_VALUE_OBJECT:
        if (yyjson_is_obj(val))
            return read_object(in, in->schema->types + field->type, val, false);
        fits = false;
        break;
    case KT_VALUE_SCHEMA_OR_ARRAY:
    case KT_VALUE_SCHEMA_OR_BOOL:
    case KT_VALUE_SCHEMA_OR_STRINGS:
        if (yyjson_is_obj(val))
            return read_object(in, in->schema->types + field->type, val, false);
        break;
    case KT_VALUE_RAW:
    case KT_VALUE_JSON:
    case KT_VALUE_FIELDS_V1:
        break;
    }
    return fits ? checked(in, yyjson_val_mut_copy(in->out->doc, val)) : fail_type(in, owner, field, val, false);
}

static void add_member(walk *in, yyjson_mut_val *obj, ki_str name, yyjson_mut_val *val) {
    yyjson_mut_val *key = val ? yyjson_mut_strncpy(in->out->doc, name.data, name.size) : NULL;
    if (val && (!key || !yyjson_mut_obj_add(obj, key, val)))
        in->out->arena->failed = true;
}

/* Reads a list by a field, or by the spot of a custom resource's elements (`field` is NULL). */
static yyjson_mut_val *read_list(walk *in, const kt_type *owner, const kt_field *field, const kt_spot *spot,
                                 yyjson_val *list) {
    yyjson_mut_val *made = checked(in, yyjson_mut_arr(in->out->doc));
    size_t index, count;
    yyjson_val *element;
    yyjson_arr_foreach(list, index, count, element) {
        if (has_failed(in))
            return NULL;
        const place here = { .above = in->at, .index = index };
        in->at = &here;
        yyjson_mut_val *val = yyjson_is_null(element) ? checked(in, yyjson_val_mut_copy(in->out->doc, element))
                              : field                 ? read_value(in, owner, field, element)
                                                      : read_custom(in, spot, element);
        if (val && !yyjson_mut_arr_append(made, val))
            in->out->arena->failed = true;
        in->at = here.above;
    }
    return made;
}

static yyjson_mut_val *read_map(walk *in, const kt_type *owner, const kt_field *field, yyjson_val *map) {
    yyjson_mut_val *made = checked(in, yyjson_mut_obj(in->out->doc));
    kt_index index;
    kt_index_members(in->out->arena, map, &index);
    for (size_t i = 0; i < index.count && !has_failed(in); i++) {
        const kt_entry *one = &index.entries[i];
        const place here = { .above = in->at, .name = one->name, .is_key = true };
        in->at = &here;
        if (take_last(in, one)) {
            yyjson_mut_val *val =
                yyjson_is_null(one->val) && (field->kind == KT_VALUE_STRING || field->kind == KT_VALUE_BYTES)
                    ? yyjson_mut_str(in->out->doc, "")
                    : read_value(in, owner, field, one->val);
            add_member(in, made, one->name, val);
        }
        in->at = here.above;
    }
    return made;
}

static yyjson_mut_val *read_field(walk *in, const kt_type *owner, const kt_field *field, yyjson_val *val) {
    if (field->wrap == KT_WRAP_LIST)
        return yyjson_is_arr(val) ? read_list(in, owner, field, NULL, val) : fail_type(in, owner, field, val, true);
    if (field->wrap == KT_WRAP_MAP)
        return yyjson_is_obj(val) ? read_map(in, owner, field, val) : fail_type(in, owner, field, val, true);
    return read_value(in, owner, field, val);
}

/* Returns true for values that Go does not write. */
static bool is_dropped(const kt_field *field, yyjson_val *val) {
    if (!field || (field->flags & KT_FIELD_POINTER) || !(field->flags & KT_FIELD_OMIT_EMPTY))
        return false;
    if (field->wrap != KT_WRAP_ONE)
        return false; /* an update is validated with its empty lists; defaults.c removes them */
    return field->kind == KT_VALUE_BOOL     ? yyjson_is_false(val)
           : field->kind == KT_VALUE_STRING ? yyjson_is_str(val) && yyjson_get_len(val) == 0
                                            : (field->kind == KT_VALUE_INT32 || field->kind == KT_VALUE_INT64) &&
                                                  yyjson_is_int(val) && yyjson_get_sint(val) == 0;
}

static yyjson_mut_val *read_object(walk *in, const kt_type *type, yyjson_val *obj, bool is_root) {
    yyjson_mut_val *made = checked(in, yyjson_mut_obj(in->out->doc));
    kt_index index;
    kt_index_members(in->out->arena, obj, &index);
    for (size_t i = 0; i < index.count && !has_failed(in); i++) {
        const kt_entry *one = &index.entries[i];
        const kt_field *field = kt_type_field(in->schema, type, one->name);
        bool is_type_meta =
            !field && is_root && (ki_str_equals(one->name, "kind") || ki_str_equals(one->name, "apiVersion"));
        const place here = { .above = in->at, .name = one->name };
        in->at = &here;
        if (!field && !is_type_meta)
            note_unknown(in);
        else if (take_last(in, one) && !yyjson_is_null(one->val) && !is_dropped(field, one->val))
            add_member(in, made, one->name,
                       field ? read_field(in, type, field, one->val)
                             : checked(in, yyjson_val_mut_copy(in->out->doc, one->val)));
        in->at = here.above;
    }
    return made;
}

/* ---- custom resources ---- */

static yyjson_mut_val *read_custom_object(walk *in, const kt_spot *spot, yyjson_val *obj) {
    yyjson_mut_val *made = checked(in, yyjson_mut_obj(in->out->doc));
    kt_index index;
    kt_index_members(in->out->arena, obj, &index);
    for (size_t i = 0; i < index.count && !has_failed(in); i++) {
        const kt_entry *one = &index.entries[i];
        bool is_known;
        kt_spot member = kt_spot_member(spot, one->name, &is_known);
        const place here = { .above = in->at, .name = one->name };
        in->at = &here;
        if (!is_known)
            note_unknown(in);
        if (take_last(in, one)) {
            bool is_metadata = member.field && yyjson_is_obj(one->val);
            add_member(in, made, one->name,
                       is_metadata ? read_object(in, member.type, one->val, false)
                                   : read_custom(in, &member, one->val));
        }
        in->at = here.above;
    }
    return made;
}

/* Returns true for 1E3 and 1.0, which Go writes as 1000 and 1. */
static bool is_whole(double number) {
    return number >= -MOST_WHOLE && number <= MOST_WHOLE && (double)(int64_t)number == number;
}

static yyjson_mut_val *copy_scalar(walk *in, yyjson_val *val) {
    if (!yyjson_is_real(val) || !is_whole(yyjson_get_real(val)))
        return checked(in, yyjson_val_mut_copy(in->out->doc, val));
    int64_t whole = (int64_t)yyjson_get_real(val); /* as a reader of the text would take it: unsigned unless negative */
    return checked(in,
                   whole < 0 ? yyjson_mut_sint(in->out->doc, whole) : yyjson_mut_uint(in->out->doc, (uint64_t)whole));
}

/* Reads a value by a structural schema: all members stay. */
static yyjson_mut_val *read_custom(walk *in, const kt_spot *spot, yyjson_val *val) {
    if (yyjson_is_obj(val))
        return read_custom_object(in, spot, val);
    if (!yyjson_is_arr(val))
        return copy_scalar(in, val);
    kt_spot element = kt_spot_element(spot);
    return read_list(in, NULL, NULL, &element, val);
}

/* Orders fields of the object's metadata before all others, as the real server notes them. */
static int compare(const void *a, const void *b) {
    const ki_str *left = a, *right = b;
    bool left_first = ki_str_starts_with(*left, KI_STR("metadata."));
    bool right_first = ki_str_starts_with(*right, KI_STR("metadata."));
    if (left_first != right_first)
        return left_first ? -1 : 1;
    return ki_str_order(*left, *right);
}

yyjson_mut_val *kt_strict_read(kt_strict *strict, const kt_spot *spot, yyjson_val *root) {
    walk in = { .out = strict, .schema = spot->schema };
    if (spot->type) {
        yyjson_mut_val *made = read_object(&in, spot->type, root, true);
        return has_failed(&in) ? NULL : made;
    }
    in.unknown = kt_arena_alloc(strict->arena, KT_STRICT_NOTES_MAX * sizeof *in.unknown);
    if (!in.unknown)
        return NULL;
    yyjson_mut_val *made = read_custom(&in, spot, root);
    if (has_failed(&in))
        return NULL;
    qsort(in.unknown, in.unknown_count, sizeof *in.unknown, compare);
    for (size_t i = 0; i < in.unknown_count; i++)
        note_at(&in, "unknown field", in.unknown[i]);
    return has_failed(&in) ? NULL : made;
}
