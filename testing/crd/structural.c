/* structural.c: checks that a definition's schema is structural: every value has a type, lists declare their items,
 * patterns are regular expressions, and forbidden keywords are absent. */
#include "testing/crd/custom.h"

#include "testing/values/causes.h"
#include "testing/values/json.h"

#include <stdio.h>

typedef struct walk {
    kt_causes *causes;
    ki_buffer path;
    size_t pattern_steps; /* of the patterns so far */
} walk;

static void add_problem(walk *w, kt_cause_type type, const char *member, ki_str value, const char *detail) {
    size_t size = w->path.size;
    if (ki_buffer_append_string(&w->path, member))
        return;
    kt_causes_add(w->causes, type, w->path.data, value, detail);
    w->path.size = size;
    w->path.data[size] = '\0';
}

static bool flag(yyjson_val *schema, const char *name) {
    return yyjson_get_bool(yyjson_obj_get(schema, name));
}

static void check_list(walk *w, yyjson_val *schema) {
    yyjson_val *items = yyjson_obj_get(schema, "items"), *keys = yyjson_obj_get(schema, "x-kubernetes-list-map-keys");
    size_t index, count;
    yyjson_val *key;
    if (!ki_str_equals(kt_json_get_str(schema, "x-kubernetes-list-type"), "map"))
        return;
    if (yyjson_arr_size(keys) == 0)
        add_problem(w, KT_CAUSE_REQUIRED, ".x-kubernetes-list-map-keys", (ki_str){ NULL, 0 },
                    "must not be empty if x-kubernetes-list-type is map");
    yyjson_arr_foreach(keys, index, count, key) {
        ki_str name = kt_json_str(key);
        yyjson_val *property =
            name.size ? yyjson_obj_getn(yyjson_obj_get(items, "properties"), name.data, name.size) : NULL;
        char member[256];
        if (!property || yyjson_obj_get(property, "default") ||
            kt_json_list_has(yyjson_obj_get(items, "required"), SIZE_MAX, NULL, name))
            continue;
        snprintf(member, sizeof member, ".items.properties[%.*s].default", (int)name.size, name.data);
        add_problem(
            w, KT_CAUSE_REQUIRED, member, (ki_str){ NULL, 0 },
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
    }
}

static void check_type(walk *w, yyjson_val *schema, const char *missing) {
    static const char *const types[] = { "array", "boolean", "integer", "number", "object", "string" };
    ki_str type = kt_json_get_str(schema, "type");
    bool is_known = !type.size;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        is_known = is_known || ki_str_equals(type, types[i]);
    if (!is_known)
        add_problem(w, KT_CAUSE_NOT_SUPPORTED, ".type", type,
                    "supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"");
    else if (!type.size && !flag(schema, "x-kubernetes-int-or-string") &&
             !flag(schema, "x-kubernetes-preserve-unknown-fields"))
        add_problem(w, KT_CAUSE_REQUIRED, ".type", type, missing);
}

/* Checks what kt_schema_patterns_init compiles, in the same order. */
static void check_pattern(walk *w, yyjson_val *schema) {
    ki_str source = kt_json_get_str(schema, "pattern");
    kt_pattern_problem problem;
    kt_pattern *pattern = NULL;
    ki_buffer detail;
    if (!source.data || w->pattern_steps > KT_SCHEMA_PATTERN_STEPS_MAX)
        return;
    ki_status status = kt_pattern_compile(w->path.allocator, source, &pattern, &problem);
    w->pattern_steps += pattern ? pattern->count : 0;
    kt_pattern_free(pattern);
    if (w->pattern_steps > KT_SCHEMA_PATTERN_STEPS_MAX)
        add_problem(w, KT_CAUSE_INVALID, ".pattern", source, "the schema's patterns are too large for this server");
    if (!status)
        return;
    ki_buffer_init(&detail, w->path.allocator, 0);
    if (status != KI_ERR_NO_MEMORY)
        ki_buffer_printf(&detail, "must be a valid regular expression, but isn't: error parsing regexp: %s: `%.*s`",
                         problem.reason, (int)problem.part.size, problem.part.data);
    if (!detail.data || detail.failed)
        w->path.failed = KI_ERR_NO_MEMORY;
    else
        add_problem(w, KT_CAUSE_INVALID, ".pattern", source, detail.data);
    ki_buffer_free(&detail);
}

static void check_schema(walk *w, yyjson_val *schema, const char *missing, int depth);

static void check_below(walk *w, yyjson_val *schema, const char *member, ki_str name, const char *missing, int depth) {
    size_t size = w->path.size;
    if (!yyjson_is_obj(schema) || depth > KT_SCHEMA_DEPTH_MAX)
        return;
    ki_buffer_append_string(&w->path, member);
    if (name.data)
        ki_buffer_printf(&w->path, "[%.*s]", (int)name.size, name.data);
    check_schema(w, schema, missing, depth + 1);
    if (!w->path.failed) {
        w->path.size = size;
        w->path.data[size] = '\0';
    }
}

static void check_schema(walk *w, yyjson_val *schema, const char *missing, int depth) {
    static const char *const unsupported[] = { "id", "patternProperties", "definitions", "dependencies", "$ref" };
    yyjson_val *properties = yyjson_obj_get(schema, "properties"),
               *more = yyjson_obj_get(schema, "additionalProperties");
    size_t index, count;
    yyjson_val *key, *property;
    if (kt_causes_is_full(w->causes) || w->path.failed)
        return;
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        char member[32], detail[64];
        snprintf(member, sizeof member, ".%s", unsupported[i]);
        snprintf(detail, sizeof detail, "%s is not supported", unsupported[i]);
        if (yyjson_obj_get(schema, unsupported[i]))
            add_problem(w, KT_CAUSE_FORBIDDEN, member, (ki_str){ NULL, 0 }, detail);
    }
    if (flag(schema, "uniqueItems"))
        add_problem(w, KT_CAUSE_FORBIDDEN, ".uniqueItems", (ki_str){ NULL, 0 },
                    "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (yyjson_obj_size(properties) && more && !yyjson_is_false(more))
        add_problem(w, KT_CAUSE_FORBIDDEN, ".additionalProperties", (ki_str){ NULL, 0 },
                    "additionalProperties and properties are mutual exclusive");
    yyjson_obj_foreach(properties, index, count, key, property) {
        check_below(w, property, ".properties", kt_json_str(key), "must not be empty for specified object fields",
                    depth);
    }
    check_below(w, more, ".additionalProperties", (ki_str){ NULL, 0 }, "must not be empty for specified object fields",
                depth);
    check_below(w, yyjson_obj_get(schema, "items"), ".items", (ki_str){ NULL, 0 },
                "must not be empty for specified array items", depth);
    if (ki_str_equals(kt_json_get_str(schema, "type"), "array") && !yyjson_is_obj(yyjson_obj_get(schema, "items")))
        add_problem(w, KT_CAUSE_REQUIRED, ".items", (ki_str){ NULL, 0 }, "must be specified");
    check_list(w, schema);
    check_pattern(w, schema);
    check_type(w, schema, missing);
}

void kt_crd_validate_schema(kt_causes *causes, const ki_allocator *allocator, const char *path, yyjson_val *schema) {
    walk w = { .causes = causes };
    ki_str type = kt_json_get_str(schema, "type");
    ki_buffer_init(&w.path, allocator, 0);
    ki_buffer_append_string(&w.path, path);
    check_schema(&w, schema, "must not be empty at the root", 0);
    if (type.size && !ki_str_equals(type, "object"))
        add_problem(&w, KT_CAUSE_INVALID, ".type", type, "must be object at the root");
    if (w.path.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    ki_buffer_free(&w.path);
}
