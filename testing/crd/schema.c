/* schema.c: prunes, defaults and validates custom resources by their structural schema. */
#include "src/base/memory.h"
#include "testing/crd/custom.h"
#include "testing/crd/string_format.h"
#include "testing/values/causes.h"
#include "testing/values/equal.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

static bool flag(yyjson_val *schema, const char *name) {
    return yyjson_get_bool(yyjson_obj_get(schema, name));
}

static bool keeps_unknown(yyjson_val *schema) {
    return flag(schema, "x-kubernetes-preserve-unknown-fields");
}

/* Counts a search for `count` items among `size`, one by one. Returns false once KT_SCHEMA_STEPS_MAX is reached. */
static bool spend_steps(uint64_t *steps, size_t count, size_t size) {
    if (size && count > (KT_SCHEMA_STEPS_MAX - *steps) / size)
        *steps = KT_SCHEMA_STEPS_MAX;
    else
        *steps += (uint64_t)count * size;
    return *steps < KT_SCHEMA_STEPS_MAX;
}

/* ---- pruning and defaulting ---- */

typedef struct maker {
    yyjson_mut_doc *doc;
    uint64_t steps;
    bool only_prunes;
    bool keeps_null;
    bool failed; /* out of memory */
} maker;

static yyjson_mut_val *copy(maker *m, yyjson_val *val) {
    yyjson_mut_val *made = yyjson_val_mut_copy(m->doc, val);
    if (!made)
        m->failed = true;
    return made;
}

static yyjson_mut_val *conform_value(maker *m, yyjson_val *schema, yyjson_val *val, bool root, int depth);

static void put(maker *m, yyjson_mut_val *obj, yyjson_val *key, yyjson_mut_val *val) {
    yyjson_mut_val *name = yyjson_mut_strncpy(m->doc, yyjson_get_str(key), yyjson_get_len(key));
    if (!name || !val || !yyjson_mut_obj_add(obj, name, val))
        m->failed = true;
}

static bool is_type_meta(const char *name) {
    return strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 || strcmp(name, "metadata") == 0;
}

static yyjson_mut_val *conform_object(maker *m, yyjson_val *schema, yyjson_val *val, bool root, int depth) {
    yyjson_val *properties = yyjson_obj_get(schema, "properties"),
               *more = yyjson_obj_get(schema, "additionalProperties");
    if (!spend_steps(&m->steps, 2 * yyjson_obj_size(val) + 1, yyjson_obj_size(properties) + 1))
        return copy(m, val);
    yyjson_mut_val *made = yyjson_mut_obj(m->doc);
    size_t index, count;
    yyjson_val *key, *field;
    if (!made) {
        m->failed = true;
        return NULL;
    }
    bool embedded = root || flag(schema, "x-kubernetes-embedded-resource");
    yyjson_obj_foreach(val, index, count, key, field) {
        const char *name = yyjson_get_str(key);
        yyjson_val *below = yyjson_obj_getn(properties, name, yyjson_get_len(key));
        if (!below && yyjson_is_obj(more))
            below = more;
        bool is_null = yyjson_is_null(field), has_default = yyjson_obj_get(below, "default") != NULL;
        if (embedded && is_type_meta(name))
            put(m, made, key, is_null && !root ? yyjson_mut_obj(m->doc) : copy(m, field));
        else if (below && is_null && !m->only_prunes && !flag(below, "nullable") && (has_default || !m->keeps_null))
            continue;
        else if (below)
            put(m, made, key, conform_value(m, below, field, false, depth + 1));
        else if (yyjson_get_bool(more) || keeps_unknown(schema))
            put(m, made, key, copy(m, field));
    }
    if (m->only_prunes)
        return made;
    yyjson_obj_foreach(properties, index, count, key, field) {
        yyjson_val *value = yyjson_obj_get(field, "default"),
                   *given = yyjson_obj_getn(val, yyjson_get_str(key), yyjson_get_len(key));
        bool missing = !given || (yyjson_is_null(given) && !flag(field, "nullable"));
        if (value && missing)
            put(m, made, key, conform_value(m, field, value, false, depth + 1));
    }
    return made;
}

/* Returns a copy of `val`, pruned and with defaults. */
static yyjson_mut_val *conform_value(maker *m, yyjson_val *schema, yyjson_val *val, bool root, int depth) {
    if (depth > KT_SCHEMA_DEPTH_MAX)
        return copy(m, val);
    if (yyjson_is_obj(val))
        return conform_object(m, schema, val, root, depth);
    yyjson_val *items = yyjson_obj_get(schema, "items");
    if (!yyjson_is_arr(val) || !yyjson_is_obj(items))
        return copy(m, val);
    yyjson_mut_val *made = yyjson_mut_arr(m->doc);
    size_t index, count;
    yyjson_val *item;
    yyjson_arr_foreach(val, index, count, item) {
        yyjson_mut_val *one = conform_value(m, items, item, false, depth + 1);
        if (!one || !yyjson_mut_arr_append(made, one))
            m->failed = true;
    }
    return made;
}

static ki_status conform(const kt_custom *custom, yyjson_val *root, bool only_prunes, bool keeps_null,
                         yyjson_doc **ret_doc) {
    kt_json_allowance allowed = { .allocator = custom->allocator, .left = KT_CUSTOM_MEMORY_MAX };
    yyjson_alc alc = kt_json_limited_alc(&allowed); /* a large default can apply to every element of a list */
    maker m = { .doc = yyjson_mut_doc_new(&alc), .only_prunes = only_prunes, .keeps_null = keeps_null };
    ki_buffer text;
    if (!m.doc)
        return KI_ERR_NO_MEMORY;
    yyjson_mut_val *made =
        custom->schema && !custom->preserves ? conform_value(&m, custom->schema, root, true, 0) : copy(&m, root);
    ki_buffer_init(&text, custom->allocator, 0);
    ki_status status = made && !m.failed ? kt_json_append_mut(&text, made) : KI_ERR_NO_MEMORY;
    bool large = text.size > KT_CUSTOM_SIZE_MAX;
    if (!status && !large)
        status = kt_json_read_trusted(custom->allocator, (ki_str){ text.data, text.size }, ret_doc, NULL);
    ki_buffer_free(&text);
    yyjson_mut_doc_free(m.doc);
    if (allowed.exceeded || large)
        return KI_ERR_LIMIT;
    return status ? KI_ERR_NO_MEMORY : KI_OK;
}

ki_status kt_custom_prepare(const kt_custom *custom, yyjson_val *root, bool keeps_null, yyjson_doc **ret_doc) {
    return conform(custom, root, false, keeps_null, ret_doc);
}

ki_status kt_custom_prune(const kt_custom *custom, yyjson_val *root, yyjson_doc **ret_doc) {
    return conform(custom, root, true, true, ret_doc);
}

/* ---- validation ---- */

typedef struct checker {
    const kt_custom *custom;
    kt_causes *causes;
    kt_arena arena;
    ki_buffer path;
    size_t base; /* size of the part of `path` above the validated value */
    ki_buffer text;
    uint64_t steps;
    kt_pattern_room room; /* without memory until the first pattern */
} checker;

static void add_cause(checker *c, kt_cause_type type, yyjson_val *val, const char *detail) {
    ki_buffer shown;
    if (kt_causes_is_full(c->causes))
        return;
    ki_buffer_init(&shown, c->path.allocator, 0);
    if (val && !yyjson_is_str(val))
        kt_json_append(&shown, val);
    ki_str value = yyjson_is_str(val) ? kt_json_str(val) : (ki_str){ shown.data, shown.size };
    if (shown.failed || c->path.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(c->causes, type, c->path.size ? c->path.data : "<nil>", value, yyjson_is_str(val), detail);
    ki_buffer_free(&shown);
}

static void add_body_cause_as(checker *c, kt_cause_type type, yyjson_val *val, const char *format, const char *more) {
    ki_buffer_reset(&c->text, SIZE_MAX);
    ki_buffer_append_string(&c->text, c->path.size > c->base ? c->path.data + c->base : "");
    ki_buffer_append_string(&c->text, " in body ");
    ki_buffer_printf(&c->text, "%s%s", format, more);
    if (c->text.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        add_cause(c, type, val, c->text.data);
}

static void add_body_cause(checker *c, yyjson_val *val, const char *format, const char *more) {
    add_body_cause_as(c, KT_CAUSE_INVALID, val, format, more);
}

static const char *type_of(yyjson_val *val) {
    if (yyjson_is_str(val))
        return "string";
    if (yyjson_is_bool(val))
        return "boolean";
    if (yyjson_is_int(val))
        return "integer";
    if (yyjson_is_num(val))
        return "number";
    if (yyjson_is_arr(val))
        return "array";
    return yyjson_is_obj(val) ? "object" : "null";
}

static bool is_whole(yyjson_val *val) {
    double number = yyjson_get_num(val);
    return yyjson_is_int(val) || (number >= -9e15 && number <= 9e15 && (double)(int64_t)number == number);
}

static bool has_type(yyjson_val *schema, yyjson_val *val) {
    ki_str type = kt_json_get_str(schema, "type");
    const char *is = type_of(val);
    if (flag(schema, "x-kubernetes-int-or-string"))
        return yyjson_is_str(val) || (yyjson_is_num(val) && is_whole(val));
    if (!type.size || ki_str_equals(type, is))
        return true;
    if (ki_str_equals(type, "number"))
        return yyjson_is_num(val);
    return ki_str_equals(type, "integer") && yyjson_is_num(val) && is_whole(val);
}

static size_t characters(ki_str text) {
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

/* Returns true if the text matches, or if it cannot be known within the steps of a request. */
static bool matches(checker *c, yyjson_val *source, yyjson_val *val) {
    const kt_pattern *pattern = kt_schema_patterns_find(&c->custom->patterns, source);
    uint64_t left = KT_SCHEMA_STEPS_MAX - c->steps;
    if (!pattern || !left)
        return true;
    if (!c->room.marks && kt_pattern_room_init(&c->room, c->path.allocator, c->custom->patterns.longest)) {
        c->causes->text.failed = KI_ERR_NO_MEMORY;
        return true;
    }
    bool is_match = kt_pattern_matches(pattern, kt_json_str(val), &c->room, &left);
    c->steps = KT_SCHEMA_STEPS_MAX - left;
    return is_match;
}

static void check_pattern(checker *c, yyjson_val *source, yyjson_val *val) {
    ki_buffer text;
    if (matches(c, source, val))
        return;
    ki_buffer_init(&text, c->path.allocator, 0);
    ki_buffer_printf(&text, "'%s'", yyjson_get_str(source));
    if (text.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        add_body_cause(c, val, "should match ", text.data);
    ki_buffer_free(&text);
}

static void check_format(checker *c, const char *format, yyjson_val *val) {
    ki_buffer text;
    if (!format || kt_string_has_format(format, kt_json_str(val)))
        return;
    ki_buffer_init(&text, c->path.allocator, 0);
    ki_buffer_append_string(&text, format);
    ki_buffer_append_string(&text, ": ");
    ki_buffer_append_json_string(&text, kt_json_str(val));
    if (text.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        add_body_cause_as(c, KT_CAUSE_TYPE, val, "must be of type ", text.data);
    ki_buffer_free(&text);
}

static void check_text(checker *c, yyjson_val *schema, yyjson_val *val) {
    yyjson_val *least = yyjson_obj_get(schema, "minLength"), *most = yyjson_obj_get(schema, "maxLength");
    yyjson_val *pattern = yyjson_obj_get(schema, "pattern");
    size_t size = characters(kt_json_str(val));
    char number[96];
    if (least && size < yyjson_get_uint(least)) {
        snprintf(number, sizeof number, "should be at least %" PRIu64 " chars long", yyjson_get_uint(least));
        add_body_cause(c, val, number, "");
    }
    if (most && size > yyjson_get_uint(most)) {
        snprintf(number, sizeof number, "may not be more than %" PRIu64 " bytes", yyjson_get_uint(most));
        add_cause(c, KT_CAUSE_INVALID, val, number);
    }
    if (pattern)
        check_pattern(c, pattern, val);
    check_format(c, yyjson_get_str(yyjson_obj_get(schema, "format")), val);
}

static void check_number(checker *c, yyjson_val *schema, yyjson_val *val) {
    yyjson_val *least = yyjson_obj_get(schema, "minimum"), *most = yyjson_obj_get(schema, "maximum");
    double value = yyjson_get_num(val);
    char text[96];
    bool open = flag(schema, "exclusiveMinimum");
    if (least && (value < yyjson_get_num(least) || (open && value <= yyjson_get_num(least)))) {
        snprintf(text, sizeof text, "should be greater than %s%.15g", open ? "" : "or equal to ",
                 yyjson_get_num(least));
        add_body_cause(c, val, text, "");
    }
    open = flag(schema, "exclusiveMaximum");
    if (most && (value > yyjson_get_num(most) || (open && value >= yyjson_get_num(most)))) {
        snprintf(text, sizeof text, "should be less than %s%.15g", open ? "" : "or equal to ", yyjson_get_num(most));
        add_body_cause(c, val, text, "");
    }
}

static void check_enum(checker *c, yyjson_val *choices, yyjson_val *val) {
    size_t index, count;
    yyjson_val *choice;
    if (!spend_steps(&c->steps, 1, yyjson_arr_size(choices)))
        return;
    yyjson_arr_foreach(choices, index, count, choice) {
        if (kt_equal(&c->arena, choice, val))
            return;
    }
    ki_buffer_reset(&c->text, SIZE_MAX);
    ki_buffer_append_string(&c->text, "supported values: ");
    yyjson_arr_foreach(choices, index, count, choice) {
        ki_buffer_append_string(&c->text, index ? ", " : "");
        kt_json_append(&c->text, choice);
    }
    if (!c->text.failed)
        add_cause(c, KT_CAUSE_NOT_SUPPORTED, val, c->text.data);
}

static void check(checker *c, yyjson_val *schema, yyjson_val *val, bool root, int depth);

static void check_below(checker *c, yyjson_val *schema, yyjson_val *val, ki_str name, size_t number, int depth) {
    size_t size = c->path.size;
    if (name.data) {
        if (size)
            ki_buffer_append_char(&c->path, '.');
        ki_buffer_append_view(&c->path, name);
    } else {
        ki_buffer_printf(&c->path, "[%zu]", number);
    }
    check(c, schema, val, false, depth + 1);
    if (!c->path.failed) {
        c->path.size = size;
        if (c->path.data)
            c->path.data[size] = '\0';
    }
}

static void check_object(checker *c, yyjson_val *schema, yyjson_val *val, bool root, int depth) {
    yyjson_val *properties = yyjson_obj_get(schema, "properties"),
               *more = yyjson_obj_get(schema, "additionalProperties"), *required = yyjson_obj_get(schema, "required");
    size_t index, count;
    yyjson_val *key, *field;
    if (!spend_steps(&c->steps, yyjson_obj_size(val) + 1, yyjson_obj_size(properties) + yyjson_arr_size(required) + 1))
        return;
    yyjson_arr_foreach(required, index, count, field) {
        ki_str name = kt_json_str(field);
        if (!name.data || yyjson_obj_getn(val, name.data, name.size))
            continue;
        size_t size = c->path.size;
        ki_buffer_printf(&c->path, "%s%.*s", size ? "." : "", (int)name.size, name.data);
        add_cause(c, KT_CAUSE_REQUIRED, NULL, "");
        if (!c->path.failed)
            c->path.size = size;
    }
    yyjson_obj_foreach(val, index, count, key, field) {
        ki_str name = kt_json_str(key);
        yyjson_val *known = yyjson_obj_getn(properties, name.data, name.size);
        if (root && ki_str_equals(name, "metadata"))
            continue; /* rest/ validates metadata */
        if (known)
            check_below(c, known, field, name, 0, depth);
        else if (yyjson_is_obj(more))
            check_below(c, more, field, name, 0, depth);
    }
}

/* Returns true if two elements are equal: in these keys, or as a whole if `keys` is NULL. */
static bool is_same_element(checker *c, yyjson_val *keys, yyjson_val *a, yyjson_val *b) {
    size_t index, count;
    yyjson_val *key;
    if (!keys)
        return kt_equal(&c->arena, a, b);
    yyjson_arr_foreach(keys, index, count, key) {
        ki_str name = kt_json_str(key);
        if (name.size &&
            !kt_equal(&c->arena, yyjson_obj_getn(a, name.data, name.size), yyjson_obj_getn(b, name.data, name.size)))
            return false;
    }
    return true;
}

static void add_duplicate(checker *c, yyjson_val *keys, yyjson_val *element, size_t number) {
    size_t size = c->path.size, index, count, shown = 0;
    yyjson_val *key;
    ki_buffer text;
    ki_buffer_init(&text, c->path.allocator, 0);
    if (!keys)
        kt_json_append(&text, element);
    yyjson_arr_foreach(keys, index, count, key) {
        ki_str name = kt_json_str(key);
        yyjson_val *val = name.size ? yyjson_obj_getn(element, name.data, name.size) : NULL;
        if (!val)
            continue;
        ki_buffer_append_char(&text, shown++ ? ',' : '{');
        ki_buffer_append_json_string(&text, name);
        ki_buffer_append_char(&text, ':');
        kt_json_append(&text, val);
    }
    if (keys)
        ki_buffer_append_string(&text, shown ? "}" : "{}");
    ki_buffer_printf(&c->path, "[%zu]", number);
    if (text.failed || c->path.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(c->causes, KT_CAUSE_DUPLICATE, c->path.data, (ki_str){ text.data, text.size }, false, "");
    if (!c->path.failed) {
        c->path.size = size;
        c->path.data[size] = '\0';
    }
    ki_buffer_free(&text);
}

/* Checks that the elements of a set, or the keys of a map, are unique. */
static void check_unique(checker *c, yyjson_val *schema, yyjson_val *val) {
    ki_str type = kt_json_get_str(schema, "x-kubernetes-list-type");
    bool is_map = ki_str_equals(type, "map");
    yyjson_val *keys = is_map ? yyjson_obj_get(schema, "x-kubernetes-list-map-keys") : NULL, *element, *other;
    size_t index, count, k, other_count;
    if ((!is_map && !ki_str_equals(type, "set")) || (is_map && !keys) ||
        !spend_steps(&c->steps, yyjson_arr_size(val), yyjson_arr_size(val)))
        return;
    yyjson_arr_foreach(val, index, count, element) {
        yyjson_arr_foreach(val, k, other_count, other) {
            if (k == index)
                break;
            if (!is_same_element(c, keys, element, other))
                continue;
            add_duplicate(c, keys, element, index);
            break;
        }
    }
}

static void check_array(checker *c, yyjson_val *schema, yyjson_val *val, int depth) {
    yyjson_val *items = yyjson_obj_get(schema, "items"), *item;
    yyjson_val *least = yyjson_obj_get(schema, "minItems"), *most = yyjson_obj_get(schema, "maxItems");
    size_t index, count;
    char text[96];
    if (least && yyjson_arr_size(val) < yyjson_get_uint(least)) {
        snprintf(text, sizeof text, "should have at least %" PRIu64 " items", yyjson_get_uint(least));
        add_body_cause(c, val, text, "");
    }
    if (most && yyjson_arr_size(val) > yyjson_get_uint(most)) {
        snprintf(text, sizeof text, "must have at most %" PRIu64 " items", yyjson_get_uint(most));
        add_cause(c, KT_CAUSE_INVALID, val, text);
    }
    check_unique(c, schema, val);
    yyjson_arr_foreach(val, index, count, item) {
        if (yyjson_is_obj(items))
            check_below(c, items, item, (ki_str){ NULL, 0 }, index, depth);
    }
}

/* The message has the type as the value, as go-openapi's has. */
static void add_type_cause(checker *c, yyjson_val *schema, yyjson_val *val) {
    ki_str type =
        flag(schema, "x-kubernetes-int-or-string") ? KI_STR("integer,string") : kt_json_get_str(schema, "type");
    const char *is = type_of(val);
    ki_buffer_reset(&c->text, SIZE_MAX);
    ki_buffer_printf(&c->text, "%s in body must be of type %.*s: \"%s\"",
                     c->path.size > c->base ? c->path.data + c->base : "", (int)type.size, type.data, is);
    if (c->text.failed || c->path.failed)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else
        kt_causes_add_value(c->causes, KT_CAUSE_TYPE, c->path.size ? c->path.data : "<nil>", ki_str_of(is), true,
                            c->text.data);
}

static void check(checker *c, yyjson_val *schema, yyjson_val *val, bool root, int depth) {
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    if (depth > KT_SCHEMA_DEPTH_MAX || kt_causes_is_full(c->causes))
        return;
    if (yyjson_is_null(val) && flag(schema, "nullable"))
        return;
    if (!has_type(schema, val)) {
        add_type_cause(c, schema, val);
        return;
    }
    if (yyjson_is_arr(choices))
        check_enum(c, choices, val);
    if (yyjson_is_str(val))
        check_text(c, schema, val);
    else if (yyjson_is_num(val))
        check_number(c, schema, val);
    else if (yyjson_is_arr(val))
        check_array(c, schema, val, depth);
    else if (yyjson_is_obj(val))
        check_object(c, schema, val, root, depth);
}

void kt_custom_validate(kt_causes *causes, const kt_custom *custom, yyjson_val *root, bool only_status) {
    checker c = { .custom = custom, .causes = causes };
    if (!custom->schema)
        return;
    ki_buffer_init(&c.path, custom->allocator, 0);
    ki_buffer_init(&c.text, custom->allocator, 0);
    kt_arena_init(&c.arena, custom->allocator);
    yyjson_val *status_schema = yyjson_obj_get(yyjson_obj_get(custom->schema, "properties"), "status"),
               *status = yyjson_obj_get(root, "status");
    if (only_status) {
        ki_buffer_append_string(&c.path, "status");
        c.base = sizeof "status." - 1;
    }
    if (!only_status)
        check(&c, custom->schema, root, true, 0);
    else if (status_schema && status)
        check(&c, status_schema, status, false, 0);
    if (c.path.failed || c.text.failed || c.arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_pattern_room_free(&c.room, custom->allocator);
    kt_arena_free(&c.arena);
    ki_buffer_free(&c.path);
    ki_buffer_free(&c.text);
}
