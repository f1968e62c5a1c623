/* schema.c: see schema.h. */
#include "testing/schema/schema.h"

#include "testing/schema/builtin.h"

#include <string.h>

const kt_schema *kt_schema_builtin(void) {
    return &kt_builtin_schema;
}

const kt_type *kt_schema_kind(ki_str group, ki_str version, ki_str kind) {
    for (size_t i = 0; i < kt_builtin_kind_count; i++) {
        const kt_kind *entry = &kt_builtin_kinds[i];
        if (ki_str_equals(kind, entry->kind) && ki_str_equals(group, entry->group) &&
            ki_str_equals(version, entry->version))
            return &kt_builtin_schema.types[entry->type];
    }
    return NULL;
}

const kt_type *kt_schema_kind_of(const ki_resource *resource) {
    for (size_t i = 0; i < kt_builtin_kind_count; i++) {
        const kt_kind *entry = &kt_builtin_kinds[i];
        if (strcmp(resource->kind, entry->kind) == 0 && strcmp(resource->group, entry->group) == 0 &&
            strcmp(resource->version, entry->version) == 0)
            return &kt_builtin_schema.types[entry->type];
    }
    return NULL;
}

const kt_type *kt_schema_kind_at(size_t index, const char **ret_group, const char **ret_version) {
    if (index >= kt_builtin_kind_count)
        return NULL;
    *ret_group = kt_builtin_kinds[index].group;
    *ret_version = kt_builtin_kinds[index].version;
    return &kt_builtin_schema.types[kt_builtin_kinds[index].type];
}

const kt_field *kt_type_field(const kt_schema *schema, const kt_type *type, ki_str name) {
    const kt_field *fields = schema->fields + type->first;
    for (size_t i = 0; i < type->count; i++) {
        if (fields[i].flags & KT_FIELD_INLINE) {
            const kt_field *inner = kt_type_field(schema, schema->types + fields[i].type, name);
            if (inner)
                return inner;
        } else if (strlen(fields[i].name) == name.size && memcmp(fields[i].name, name.data, name.size) == 0) {
            return &fields[i]; /* every member of every body comes here: no call for each field */
        }
    }
    return NULL;
}

/* Returns the field at position `*left`, inlined types included. Subtracts the fields that it passes from `*left`. */
static const kt_field *nth_field(const kt_schema *schema, const kt_type *type, size_t *left) {
    const kt_field *fields = schema->fields + type->first;
    for (size_t i = 0; i < type->count; i++) {
        if (fields[i].flags & KT_FIELD_INLINE) {
            const kt_field *inner = nth_field(schema, schema->types + fields[i].type, left);
            if (inner)
                return inner;
        } else if ((*left)-- == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

const kt_field *kt_type_next(const kt_schema *schema, const kt_type *type, size_t *cursor) {
    size_t left = (*cursor)++;
    return nth_field(schema, type, &left);
}

/* The field of a root whose type is unknown. Only its metadata has a schema. */
static const kt_field unknown_root = { .name = "", .kind = KT_VALUE_RAW, .wrap = KT_WRAP_ONE };

kt_spot kt_spot_root(const kt_schema *schema, const kt_type *type) {
    return (kt_spot){ .schema = schema,
                      .field = type ? NULL : &unknown_root,
                      .type = type,
                      .layout = type ? KT_LAYOUT_STRUCT : KT_LAYOUT_ANY };
}

static kt_layout layout_of_one(const kt_schema *schema, const kt_field *field) {
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_OBJECT:
        return (field->flags | schema->types[field->type].flags) & KT_FIELD_ATOMIC ? KT_LAYOUT_ATOMIC
                                                                                   : KT_LAYOUT_STRUCT;
    case KT_VALUE_STRINGS:
    case KT_VALUE_RAW:
    case KT_VALUE_JSON:
    case KT_VALUE_FIELDS_V1:
    case KT_VALUE_SCHEMA_OR_ARRAY:
    case KT_VALUE_SCHEMA_OR_BOOL:
    case KT_VALUE_SCHEMA_OR_STRINGS:
        return KT_LAYOUT_ATOMIC;
    default:
        return KT_LAYOUT_SCALAR;
    }
}

static kt_spot spot_of(const kt_schema *schema, const kt_field *field) {
    const kt_type *type = field->kind == KT_VALUE_OBJECT ? schema->types + field->type : NULL;
    kt_spot spot = { .schema = schema, .field = field, .type = type, .layout = KT_LAYOUT_ATOMIC };
    if (field->wrap == KT_WRAP_ONE)
        spot.layout = layout_of_one(schema, field);
    else if (field->wrap == KT_WRAP_MAP && !(field->flags & KT_FIELD_ATOMIC))
        spot.layout = KT_LAYOUT_MAP;
    else if (field->wrap == KT_WRAP_LIST && field->flags & KT_FIELD_SET)
        spot.layout = KT_LAYOUT_SET;
    else if (field->wrap == KT_WRAP_LIST && field->flags & KT_FIELD_KEYED)
        spot.layout = KT_LAYOUT_KEYED;
    return spot;
}

kt_spot kt_spot_metadata(void) {
    const kt_type *pod =
        kt_schema_kind(KI_STR(""), KI_STR("v1"), KI_STR("Pod")); /* metadata is the same in every kind */
    return spot_of(kt_schema_builtin(), kt_type_field(kt_schema_builtin(), pod, KI_STR("metadata")));
}

kt_spot kt_spot_member(const kt_spot *spot, ki_str name, bool *ret_known) {
    bool is_known;
    if (spot->node)
        return kt_spot_structural_member(spot, name, ret_known ? ret_known : &is_known);
    bool is_map = spot->field && spot->field->wrap == KT_WRAP_MAP;
    const kt_field *field = NULL;
    if (!is_map && spot->type)
        field = kt_type_field(spot->schema, spot->type, name);
    /* kind and apiVersion are not in the table. */
    bool is_type_meta =
        !field && spot->type && !spot->field && (ki_str_equals(name, "kind") || ki_str_equals(name, "apiVersion"));
    if (ret_known)
        *ret_known = is_map || field || is_type_meta || !spot->type;
    if (spot->field == &unknown_root && ki_str_equals(name, "metadata"))
        return kt_spot_metadata();
    if (field)
        return spot_of(spot->schema, field);
    if (is_map)
        return kt_spot_element(spot);
    return (kt_spot){ .schema = spot->schema, .layout = is_type_meta ? KT_LAYOUT_SCALAR : KT_LAYOUT_ANY };
}

/* The spot of an element has `field` NULL. This distinguishes it from the list's spot. */
kt_spot kt_spot_element(const kt_spot *spot) {
    if (spot->node)
        return kt_spot_structural_element(spot);
    kt_spot element = { .schema = spot->schema, .type = spot->type, .layout = KT_LAYOUT_ANY };
    if (!spot->field)
        return element;
    kt_field one = *spot->field;
    one.flags &= (uint16_t)~KT_FIELD_ATOMIC;
    element.layout = layout_of_one(spot->schema, &one);
    return element;
}
