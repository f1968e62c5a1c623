/* jsonpath_find.c: evaluates a JSONPath template. Each step converts a list of values into another. After a failed step
 * the list has the values that kubectl has then, because kubectl's existence filters use them. */
#include "print/jsonpath.h"
#include "src/base/array.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

enum {
    DEFAULT_MAX_OUTPUT = 256 * 1024 * 1024,
    MAX_VALUES = 16 * 1024 * 1024 /* that one evaluation visits */
};

typedef enum found_type {
    FOUND_JSON,
    FOUND_STEP,   /* a text or number of the template */
    FOUND_BYTE,   /* a byte of a text, found by a wildcard */
    FOUND_NOTHING /* the value of a range over null */
} found_type;

typedef struct found {
    found_type type;
    unsigned char byte;
    union {
        yyjson_val *json;
        const ki_step *step;
    };
} found;

typedef struct found_list {
    found *items;
    size_t count;
    size_t capacity;
} found_list;

/* One evaluation. */
typedef struct search {
    const ki_jsonpath *path;
    ki_buffer *out; /* NULL: values go to `visit` */
    bool (*visit)(const ki_value *value, void *user);
    void *user;
    bool is_over; /* `visit` has ended the search */
    size_t visited;
    ki_error *err;
} search;

static ki_status eval_steps(search *s, const ki_steps *steps, found_list *values);

static ki_status add_found(search *s, found_list *list, found value) {
    if (++s->visited > MAX_VALUES)
        return ki_error_set(s->err, KI_ERR_LIMIT, "JSONPath: more than %d values visited", (int)MAX_VALUES);
    if (KI_ARRAY_RESERVE(&s->path->allocator, list->items, list->count, list->capacity))
        return ki_error_no_memory(s->err, "evaluating JSONPath");
    list->items[list->count++] = value;
    return KI_OK;
}

static ki_status add_json(search *s, found_list *list, yyjson_val *json) {
    return add_found(s, list, (found){ .type = FOUND_JSON, .json = json });
}

static void clear(const search *s, found_list *list) {
    ki_free(&s->path->allocator, list->items);
    *list = (found_list){ NULL, 0, 0 };
}

/* Returns true, and the text, if the value is a text. */
static bool get_text(const found *value, ki_str *ret_text) {
    if (value->type == FOUND_JSON && yyjson_is_str(value->json))
        *ret_text = (ki_str){ yyjson_get_str(value->json), yyjson_get_len(value->json) };
    else if (value->type == FOUND_STEP && value->step->type == KI_STEP_TEXT)
        *ret_text = value->step->text;
    else
        return false;
    return true;
}

static bool is_null(const found *value) {
    return value->type == FOUND_JSON && yyjson_is_null(value->json);
}

static yyjson_val *array_of(const found *value) {
    return value->type == FOUND_JSON && yyjson_is_arr(value->json) ? value->json : NULL;
}

static const char *type_name(const found *value) {
    if (value->type == FOUND_JSON)
        return yyjson_is_null(value->json) ? "null" : yyjson_get_type_desc(value->json);
    return value->type == FOUND_NOTHING ? "nothing" : value->type == FOUND_BYTE ? "a byte" : "a literal";
}

/* ---- steps ---- */

static ki_status eval_field(search *s, const ki_step *step, const found_list *in, found_list *out) {
    for (size_t i = 0; i < in->count; i++) {
        yyjson_val *json = in->items[i].type == FOUND_JSON ? in->items[i].json : NULL;
        yyjson_val *member = yyjson_obj_getn(json, step->text.data, step->text.size);
        ki_status status = member ? add_json(s, out, member) : KI_OK;
        if (status)
            return status;
    }
    if (out->count || !in->count || s->path->allows_missing)
        return KI_OK;
    return ki_error_set(s->err, KI_ERR_NOT_FOUND, "JSONPath: %.*s is not found",
                        step->text.size > 200 ? 200 : (int)step->text.size, step->text.data);
}

/* Adds the direct children of a value. */
static ki_status add_children(search *s, const found *value, found_list *out) {
    ki_status status = KI_OK;
    ki_str text;
    if (get_text(value, &text)) {
        for (size_t i = 0; i < text.size && !status; i++)
            status = add_found(s, out, (found){ .type = FOUND_BYTE, .byte = (unsigned char)text.data[i] });
    } else if (array_of(value)) {
        yyjson_arr_iter elements;
        yyjson_val *element;
        yyjson_arr_iter_init(value->json, &elements);
        while (!status && (element = yyjson_arr_iter_next(&elements)))
            status = add_json(s, out, element);
    } else if (value->type == FOUND_JSON) {
        yyjson_obj_iter names;
        yyjson_val *name;
        yyjson_obj_iter_init(value->json, &names); /* iterates over nothing if it is not an object */
        while (!status && (name = yyjson_obj_iter_next(&names)))
            status = add_json(s, out, yyjson_obj_iter_get_val(name));
    }
    return status;
}

static ki_status eval_wildcard(search *s, const found_list *in, found_list *out) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < in->count && !status; i++)
        status = add_children(s, &in->items[i], out);
    return status;
}

/* Adds the value and all its descendants; skips empty values. */
static ki_status descend(search *s, const found *value, found_list *out, int depth) {
    found_list children = { NULL, 0, 0 };
    if (depth > KI_JSONPATH_MAX_NESTING)
        return ki_error_set(s->err, KI_ERR_LIMIT, "JSONPath: values nested more than %d deep", KI_JSONPATH_MAX_NESTING);
    ki_str text;
    if (get_text(value, &text))
        return text.size ? add_found(s, out, *value) : KI_OK;
    ki_status status = add_children(s, value, &children);
    if (!status && children.count)
        status = add_found(s, out, *value);
    for (size_t i = 0; i < children.count && !status; i++)
        status = descend(s, &children.items[i], out, depth + 1);
    clear(s, &children);
    return status;
}

static ki_status eval_recursive(search *s, const found_list *in, found_list *out) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < in->count && !status; i++)
        status = descend(s, &in->items[i], out, 1);
    return status;
}

/* Adds the elements of a slice. Returns KI_ERR_NOT_FOUND, without a message, for an empty slice; kubectl then skips the
 * later arrays too. */
static ki_status slice(search *s, const ki_step *step, yyjson_val *array, found_list *out) {
    int64_t size = (int64_t)yyjson_arr_size(array);
    int64_t from = step->bounds[0].is_known ? step->bounds[0].value : 0;
    int64_t to = step->bounds[1].is_known ? step->bounds[1].value : size;
    int64_t stride = step->bounds[2].is_known ? step->bounds[2].value : 1;
    if (from < 0)
        from += size;
    if (to < 0 || (to == 0 && step->bounds[1].is_derived))
        to += size;
    if (from == to)
        return KI_ERR_NOT_FOUND;
    if (from < 0 || from >= size || to < 0 || to > size)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: array index out of bounds: index %lld, length %lld",
                            (long long)(from < 0 || from >= size ? from : to - 1), (long long)size);
    if (from > to)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: starting index %lld is greater than ending index %lld",
                            (long long)from, (long long)to);
    if (stride <= 0)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: step must be > 0");
    yyjson_arr_iter elements;
    yyjson_val *element;
    ki_status status = KI_OK;
    yyjson_arr_iter_init(array, &elements);
    for (int64_t i = 0; i < to && !status && (element = yyjson_arr_iter_next(&elements)); i++) {
        if (i >= from && (i - from) % stride == 0)
            status = add_json(s, out, element);
    }
    return status;
}

static ki_status eval_array(search *s, const ki_step *step, const found_list *in, found_list *out) {
    for (size_t i = 0; i < in->count; i++) {
        const found *value = &in->items[i];
        if (is_null(value))
            continue;
        if (!array_of(value))
            return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: %s is not array or slice", type_name(value));
        ki_status status = slice(s, step, value->json, out);
        if (status == KI_ERR_NOT_FOUND)
            return KI_OK;
        if (status)
            return status;
    }
    return KI_OK;
}

static ki_status copy_list(search *s, const found_list *from, found_list *to) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < from->count && !status; i++)
        status = add_found(s, to, from->items[i]);
    return status;
}

static ki_status eval_union(search *s, const ki_step *step, const found_list *in, found_list *out) {
    ki_status status = KI_OK;
    for (const ki_steps *member = step->lists; member && !status; member = member->next) {
        found_list values = { NULL, 0, 0 };
        status = copy_list(s, in, &values);
        if (!status)
            status = eval_steps(s, member, &values);
        if (!status)
            status = copy_list(s, &values, out);
        clear(s, &values);
    }
    return status;
}

/* ---- filters ---- */

typedef enum basic_type {
    BASIC_NONE,
    BASIC_BOOL,
    BASIC_INT,
    BASIC_FLOAT,
    BASIC_TEXT
} basic_type;

/* A value that can be compared. */
typedef struct basic {
    basic_type type;
    bool boolean;
    int64_t integer;
    double number;
    ki_str text;
} basic;

static basic to_basic(const found *value) {
    basic b = { .type = BASIC_NONE };
    if (get_text(value, &b.text)) {
        b.type = BASIC_TEXT;
    } else if (value->type == FOUND_BYTE) {
        b.type = BASIC_INT;
        b.integer = value->byte;
    } else if (value->type == FOUND_STEP) {
        const ki_step *step = value->step;
        b.type = step->type == KI_STEP_BOOL ? BASIC_BOOL : step->type == KI_STEP_INT ? BASIC_INT : BASIC_FLOAT;
        b.boolean = step->boolean;
        b.integer = step->integer;
        b.number = step->number;
    } else if (value->type == FOUND_JSON && yyjson_is_bool(value->json)) {
        b.type = BASIC_BOOL;
        b.boolean = yyjson_get_bool(value->json);
    } else if (value->type == FOUND_JSON && yyjson_is_num(value->json)) {
        bool is_integer =
            yyjson_is_sint(value->json) || (yyjson_is_uint(value->json) && yyjson_get_uint(value->json) <= INT64_MAX);
        b.type = is_integer ? BASIC_INT : BASIC_FLOAT;
        b.integer = is_integer ? yyjson_get_sint(value->json) : 0;
        b.number = yyjson_get_num(value->json);
    }
    return b;
}

static ki_status compare(search *s, ki_comparison comparison, const found *left, const found *right, bool *ret_passes) {
    basic a = to_basic(left);
    basic b = to_basic(right);
    bool needs_order = comparison > KI_COMPARE_NOT_EQUAL;
    int order = 0;
    if (a.type == BASIC_NONE || b.type == BASIC_NONE)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: invalid type for comparison");
    if (a.type != b.type)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: incompatible types for comparison");
    if (a.type == BASIC_BOOL && needs_order)
        return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: invalid type for comparison");
    if (a.type == BASIC_BOOL)
        order = a.boolean - b.boolean;
    else if (a.type == BASIC_INT)
        order = (a.integer > b.integer) - (a.integer < b.integer);
    else if (a.type == BASIC_FLOAT)
        order = (a.number > b.number) - (a.number < b.number);
    else
        order = ki_str_order(a.text, b.text);
    switch (comparison) {
    case KI_COMPARE_NOT_EQUAL:
        *ret_passes = order != 0;
        break;
    case KI_COMPARE_LESS:
        *ret_passes = order < 0;
        break;
    case KI_COMPARE_LESS_EQUAL:
        *ret_passes = order <= 0;
        break;
    case KI_COMPARE_GREATER:
        *ret_passes = order > 0;
        break;
    case KI_COMPARE_GREATER_EQUAL:
        *ret_passes = order >= 0;
        break;
    default:
        *ret_passes = order == 0;
    }
    return KI_OK;
}

static bool is_of_the_data(ki_status status) {
    return status == KI_ERR_NOT_FOUND || status == KI_ERR_INVALID;
}

/* Evaluates a filter for one element. `*ret_passes` is false initially. */
static ki_status filter_one(search *s, const ki_step *step, yyjson_val *element, bool *ret_passes) {
    found_list left = { NULL, 0, 0 };
    found_list right = { NULL, 0, 0 };
    bool is_exists = step->comparison == KI_COMPARE_EXISTS;
    ki_error *err = s->err;
    ki_status status = add_json(s, &left, element);
    if (is_exists)
        s->err = NULL; /* a missing field is not an error */
    if (!status)
        status = eval_steps(s, &step->lists[0], &left);
    s->err = err;
    if (is_exists && (!status || is_of_the_data(status))) {
        *ret_passes = left.count > 0;
        status = KI_OK;
    } else if (!status && left.count > 0) {
        if (left.count == 1)
            status = add_json(s, &right, element);
        if (!status && left.count == 1)
            status = eval_steps(s, &step->lists[1], &right);
        if (!status && (left.count > 1 || right.count > 1))
            status = ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: can only compare one element at a time");
        if (!status && right.count == 1)
            status = compare(s, step->comparison, &left.items[0], &right.items[0], ret_passes);
    } else if (status == KI_ERR_NO_MEMORY || status == KI_ERR_LIMIT) {
        (void)ki_error_set(s->err, status, "JSONPath: %s in a filter", ki_status_name(status));
    }
    clear(s, &left);
    clear(s, &right);
    return status;
}

static ki_status eval_filter(search *s, const ki_step *step, const found_list *in, found_list *out) {
    for (size_t i = 0; i < in->count; i++) {
        yyjson_val *array = array_of(&in->items[i]);
        yyjson_arr_iter elements;
        yyjson_val *element;
        if (!array)
            return ki_error_set(s->err, KI_ERR_INVALID, "JSONPath: %s is not array or slice and cannot be filtered",
                                type_name(&in->items[i]));
        yyjson_arr_iter_init(array, &elements);
        while ((element = yyjson_arr_iter_next(&elements))) {
            bool passes = false;
            ki_status status = filter_one(s, step, element, &passes);
            if (!status && passes)
                status = add_json(s, out, element);
            if (status)
                return status;
        }
    }
    return KI_OK;
}

/* ---- lists of steps ---- */

static ki_status eval_literal(search *s, const ki_step *step, const found_list *in, found_list *out) {
    size_t count = step->type == KI_STEP_TEXT ? 1 : in->count;
    ki_status status = KI_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = add_found(s, out, (found){ .type = FOUND_STEP, .step = step });
    return status;
}

static ki_status eval_step(search *s, const ki_step *step, const found_list *in, found_list *out) {
    switch (step->type) {
    case KI_STEP_FIELD:
        return eval_field(s, step, in, out);
    case KI_STEP_WILDCARD:
        return eval_wildcard(s, in, out);
    case KI_STEP_RECURSIVE:
        return eval_recursive(s, in, out);
    case KI_STEP_ARRAY:
        return eval_array(s, step, in, out);
    case KI_STEP_UNION:
        return eval_union(s, step, in, out);
    case KI_STEP_FILTER:
        return eval_filter(s, step, in, out);
    default:
        return eval_literal(s, step, in, out);
    }
}

/* Applies all steps to `values`. On failure `values` are the input of the failed step, or empty if a field is
 * missing. */
static ki_status eval_steps(search *s, const ki_steps *steps, found_list *values) {
    for (const ki_step *step = steps->first; step; step = step->next) {
        found_list next = { NULL, 0, 0 };
        ki_status status = eval_step(s, step, values, &next);
        if (status && step->type != KI_STEP_FIELD) {
            clear(s, &next);
            return status;
        }
        clear(s, values);
        *values = next;
        if (status)
            return status;
    }
    return KI_OK;
}

/* ---- output ---- */

static ki_status append_text(search *s, const found *value) {
    ki_buffer *out = s->out;
    basic b = to_basic(value);
    if (b.type == BASIC_TEXT)
        return ki_buffer_append_view(out, b.text);
    if (b.type == BASIC_BOOL)
        return ki_buffer_append_string(out, b.boolean ? "true" : "false");
    if (b.type == BASIC_INT)
        return ki_buffer_printf(out, "%lld", (long long)b.integer);
    if (b.type == BASIC_FLOAT) {
        ki_append_go_double(out, b.number);
        return out->failed;
    }
    if (value->type == FOUND_NOTHING)
        return ki_buffer_append_string(out, "<no value>");
    return ki_append_go_json(out, value->json);
}

static ki_status append_all(search *s, const found_list *values) {
    ki_status status = KI_OK;
    for (size_t i = 0; i < values->count && !status; i++) {
        if (i)
            status = ki_buffer_append_char(s->out, ' ');
        if (!status)
            status = append_text(s, &values->items[i]);
    }
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(s->err, "printing JSONPath");
    if (status)
        return ki_error_set(s->err, status,
                            "JSONPath: the text is longer than %zu bytes, or values are nested more "
                            "than %d deep",
                            s->path->max_output, KI_JSONPATH_MAX_NESTING);
    return KI_OK;
}

static ki_status visit_one(search *s, const found *from) {
    static const ki_value_type types[] = { [BASIC_NONE] = KI_VALUE_NULL,
                                           [BASIC_BOOL] = KI_VALUE_BOOL,
                                           [BASIC_INT] = KI_VALUE_INT,
                                           [BASIC_FLOAT] = KI_VALUE_DOUBLE,
                                           [BASIC_TEXT] = KI_VALUE_STRING };
    ki_buffer text;
    ki_value value = KI_VALUE_INIT;
    basic b = to_basic(from);
    ki_status status = KI_OK;
    ki_buffer_init(&text, &s->path->allocator, s->path->max_output);
    value.type = types[b.type];
    value.boolean = b.boolean;
    value.integer = b.integer;
    value.number = b.type == BASIC_INT ? (double)b.integer : b.number;
    if (b.type == BASIC_TEXT) {
        status = ki_buffer_reserve(&text, b.text.size);
        if (!status)
            status = ki_buffer_append_view(&text, b.text);
    } else if (from->type == FOUND_JSON && yyjson_is_ctn(from->json)) {
        value.type = yyjson_is_arr(from->json) ? KI_VALUE_ARRAY : KI_VALUE_OBJECT;
        status = ki_append_go_json(&text, from->json);
    }
    value.text = text.data;
    value.text_size = text.size;
    if (!status)
        s->is_over = !s->visit(&value, s->user);
    else
        (void)ki_error_set(s->err, status, "JSONPath: %s while a value is written", ki_status_name(status));
    ki_buffer_free(&text);
    return status;
}

static ki_status give(search *s, const found_list *values) {
    ki_status status = KI_OK;
    if (s->out)
        return append_all(s, values);
    for (size_t i = 0; i < values->count && !status && !s->is_over; i++)
        status = visit_one(s, &values->items[i]);
    return status;
}

/* Evaluates the parts from `part` up to `end` for one value. Recursion is limited by the nesting of ranges in the
 * template. */
static ki_status run_parts(search *s, const ki_part *part, const ki_part *end,
                           found value) { /* NOLINT(misc-no-recursion) */
    ki_status status = KI_OK;
    for (; part && part != end && !status && !s->is_over; part = part->next) {
        found_list values = { NULL, 0, 0 };
        status = add_found(s, &values, value);
        if (!status)
            status = eval_steps(s, &part->steps, &values);
        if (!status && part->is_range) {
            for (size_t i = 0; i < values.count && !status && !s->is_over; i++) {
                found each = values.items[i];
                if (is_null(&each))
                    each.type = FOUND_NOTHING;
                status = run_parts(s, part->next, part->end, each);
            }
            if (part->end) /* as in kubectl, an unclosed block is printed once more outside the range */
                part = part->end;
        } else if (!status) {
            status = give(s, &values);
        }
        clear(s, &values);
    }
    return status;
}

static ki_status evaluate_value(search *s, yyjson_val *json) {
    found root = { .type = FOUND_JSON, .json = json };
    if (is_null(&root))
        root.type = FOUND_NOTHING;
    return run_parts(s, s->path->first, NULL, root);
}

static ki_status evaluate(search *s, const char *json, size_t size) {
    yyjson_doc *doc;
    ki_status status = ki_json_parse(&s->path->allocator, (ki_str){ json, size }, &doc, s->err);
    if (status)
        return status;
    status = evaluate_value(s, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return status;
}

/* ---- the public functions ---- */

ki_status ki_jsonpath_new(const char *text, const ki_jsonpath_options *options, ki_jsonpath **ret_path, ki_error *err) {
    const ki_allocator *allocator = options && options->allocator ? options->allocator : &ki_allocator_default;
    size_t size = text ? strlen(text) : 0;
    if (!text || !ret_path)
        return ki_error_missing(err, "ki_jsonpath_new");
    if (size > KI_JSONPATH_MAX_LENGTH)
        return ki_error_set(err, KI_ERR_LIMIT, "JSONPath: the template is longer than %d bytes",
                            KI_JSONPATH_MAX_LENGTH);
    ki_jsonpath *path = ki_alloc_zero(allocator, sizeof *path);
    if (!path)
        return ki_error_no_memory(err, "parsing JSONPath");
    path->allocator = *allocator;
    path->allows_missing = options && options->allow_missing_keys;
    path->max_output = options && options->max_output ? options->max_output : DEFAULT_MAX_OUTPUT;
    ki_status status = ki_jsonpath_parse(path, (ki_str){ text, size }, err);
    if (status) {
        ki_jsonpath_free(path);
        return status;
    }
    *ret_path = path;
    return KI_OK;
}

ki_status ki_jsonpath_new_relaxed(const char *text, const ki_jsonpath_options *options, ki_jsonpath **ret_path,
                                  ki_error *err) {
    if (!text || !ret_path)
        return ki_error_missing(err, "ki_jsonpath_new_relaxed");
    const ki_allocator *allocator = options && options->allocator ? options->allocator : &ki_allocator_default;
    ki_str inner = ki_str_of(text);
    ki_buffer template;
    bool is_braced = inner.size >= 2 && inner.data[0] == '{' && inner.data[inner.size - 1] == '}';
    if (is_braced)
        inner = (ki_str){ inner.data + 1, inner.size - 2 };
    if (inner.size && inner.data[0] == '.')
        inner = (ki_str){ inner.data + 1, inner.size - 1 };
    if (inner.size == 0 || memchr(inner.data, '{', inner.size) || memchr(inner.data, '}', inner.size))
        return ki_error_set(err, KI_ERR_PARSE,
                            "JSONPath: unexpected path string, expected a 'name1.name2' or '.name1.name2' or "
                            "'{name1.name2}' or '{.name1.name2}'");
    ki_buffer_init(&template, allocator, 0);
    ki_buffer_append_string(&template, "{.");
    ki_buffer_append_view(&template, inner);
    ki_buffer_append_char(&template, '}');
    ki_status status = template.failed ? ki_error_no_memory(err, "parsing JSONPath")
                                       : ki_jsonpath_new(template.data, options, ret_path, err);
    ki_buffer_free(&template);
    return status;
}

void ki_jsonpath_free(ki_jsonpath *path) {
    if (!path)
        return;
    const ki_allocator allocator = path->allocator;
    while (path->blocks) {
        ki_block *block = path->blocks;
        path->blocks = block->next;
        ki_free(&allocator, block);
    }
    ki_free(&allocator, path);
}

ki_status ki_jsonpath_print(const ki_jsonpath *path, const char *json, size_t size, ki_jsonpath_text *ret_text,
                            ki_error *err) {
    if (!path || !json || !ret_text)
        return ki_error_missing(err, "ki_jsonpath_print");
    ki_buffer out;
    ki_buffer_init(&out, &path->allocator, path->max_output);
    search s = { .path = path, .out = &out, .err = err };
    ki_status status = ki_buffer_reserve(&out, 1) ? ki_error_no_memory(err, "printing JSONPath") : KI_OK;
    if (!status)
        status = evaluate(&s, json, size);
    size_t text_size = 0;
    char *text = status ? NULL : ki_buffer_take(&out, &text_size);
    if (text)
        *ret_text = (ki_jsonpath_text){ text, text_size, &path->allocator };
    else if (!status)
        status = ki_error_no_memory(err, "printing JSONPath");
    ki_buffer_free(&out);
    return status;
}

void ki_jsonpath_text_clear(ki_jsonpath_text *text) {
    if (!text)
        return;
    if (text->owner) {
        const ki_allocator *allocator = text->owner;
        ki_free(allocator, text->data);
    }
    *text = (ki_jsonpath_text)KI_JSONPATH_TEXT_INIT;
}

ki_status ki_jsonpath_each(const ki_jsonpath *path, const char *json, size_t size,
                           bool (*visit)(const ki_value *value, void *user), void *user, ki_error *err) {
    if (!path || !json || !visit)
        return ki_error_missing(err, "ki_jsonpath_each");
    search s = { .path = path, .visit = visit, .user = user, .err = err };
    return evaluate(&s, json, size);
}

ki_status ki_jsonpath_each_of(const ki_jsonpath *path, yyjson_val *json,
                              bool (*visit)(const ki_value *value, void *user), void *user, ki_error *err) {
    search s = { .path = path, .visit = visit, .user = user, .err = err };
    return evaluate_value(&s, json);
}
