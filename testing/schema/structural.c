/* structural.c: the spots of custom resources. Reads the layout of one place directly from the structural schema
 * (openAPIV3Schema), as the real server does for server-side apply. A spot points to its node of the schema. */
#include "testing/schema/structural.h"

#include "testing/schema/schema.h"
#include "testing/values/json.h"

static bool flag(yyjson_val *node, const char *name) {
    return yyjson_get_bool(yyjson_obj_get(node, name));
}

static bool equals(yyjson_val *node, const char *name, const char *value) {
    return ki_str_equals(kt_json_get_str(node, name), value);
}

static kt_layout layout_of_list(yyjson_val *node) {
    if (equals(node, "x-kubernetes-list-type", "set"))
        return KT_LAYOUT_SET;
    return equals(node, "x-kubernetes-list-type", "map") ? KT_LAYOUT_KEYED : KT_LAYOUT_ATOMIC;
}

static kt_layout layout_of(yyjson_val *node) {
    if (flag(node, "x-kubernetes-int-or-string"))
        return KT_LAYOUT_SCALAR;
    if (equals(node, "type", "array"))
        return layout_of_list(node);
    if (!equals(node, "type", "object"))
        return kt_json_get_str(node, "type").size ? KT_LAYOUT_SCALAR : KT_LAYOUT_ANY;
    if (equals(node, "x-kubernetes-map-type", "atomic"))
        return KT_LAYOUT_ATOMIC;
    if (yyjson_obj_get(node, "properties") || flag(node, "x-kubernetes-embedded-resource"))
        return KT_LAYOUT_STRUCT;
    if (flag(node, "x-kubernetes-preserve-unknown-fields"))
        return KT_LAYOUT_ANY;
    return yyjson_is_obj(yyjson_obj_get(node, "additionalProperties")) ? KT_LAYOUT_MAP : KT_LAYOUT_STRUCT;
}

static kt_value_kind kind_of(yyjson_val *node) {
    if (equals(node, "type", "string"))
        return KT_VALUE_STRING;
    if (equals(node, "type", "boolean"))
        return KT_VALUE_BOOL;
    return equals(node, "type", "integer") || equals(node, "type", "number") ? KT_VALUE_DOUBLE : KT_VALUE_JSON;
}

static kt_spot spot_of(yyjson_val *node, const kt_structural *structural) {
    return (
        kt_spot){ .schema = kt_schema_builtin(), .layout = layout_of(node), .node = node, .structural = structural };
}

kt_spot kt_spot_structural(yyjson_val *root, const kt_structural *structural) {
    kt_spot spot = spot_of(root, structural);
    spot.layout = KT_LAYOUT_STRUCT;
    spot.is_root = true;
    return spot;
}

kt_value_kind kt_spot_kind(const kt_spot *spot) {
    return spot->node ? kind_of(spot->node) : spot->field ? (kt_value_kind)spot->field->kind : KT_VALUE_JSON;
}

kt_spot kt_spot_structural_member(const kt_spot *spot, ki_str name, bool *ret_known) {
    yyjson_val *node = spot->node, *more = yyjson_obj_get(node, "additionalProperties");
    yyjson_val *known = kt_structural_property(spot->structural, node, name);
    bool is_whole = spot->is_root || flag(node, "x-kubernetes-embedded-resource");
    kt_spot inner = { .schema = spot->schema, .layout = KT_LAYOUT_ANY };
    *ret_known = true;
    if (is_whole && (ki_str_equals(name, "kind") || ki_str_equals(name, "apiVersion")))
        inner.layout = KT_LAYOUT_SCALAR;
    else if (is_whole && ki_str_equals(name, "metadata"))
        inner = kt_spot_metadata();
    else if (known || yyjson_is_obj(more))
        inner = spot_of(known ? known : more, spot->structural);
    else
        *ret_known = yyjson_get_bool(more) || flag(node, "x-kubernetes-preserve-unknown-fields");
    return inner;
}

kt_spot kt_spot_structural_element(const kt_spot *spot) {
    yyjson_val *items = yyjson_obj_get(spot->node, "items");
    return items ? spot_of(items, spot->structural) : (kt_spot){ .schema = spot->schema, .layout = KT_LAYOUT_ANY };
}
