/* columns.c: ki_columns: a resource's columns, and an object's row. */
#include "print/columns.h"

#include "print/jsonpath.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"
#include "src/object/resource_table.h"

#include <inttypes.h>

/* A built-in resource uses `cells`, another one `columns` and `paths`. */
struct ki_columns {
    ki_allocator allocator;
    size_t count;
    const ki_cell *cells;
    yyjson_doc *doc; /* owns the columns' strings; NULL: the caller owns them */
    ki_column columns[KI_COLUMNS_MAX + 1];
    ki_jsonpath *paths[KI_COLUMNS_MAX + 1]; /* NULL: metadata.name */
};

/* ---- columns ---- */

static const char *text_of(yyjson_val *given, const char *name) {
    const char *text = yyjson_get_str(yyjson_obj_get(given, name));
    return text ? text : "";
}

/* Adds a column. Returns KI_ERR_PARSE for an invalid path. */
static ki_status add_column(ki_columns *columns, const ki_column *column, const char *path, ki_error *err) {
    const ki_jsonpath_options options = { .size = sizeof options,
                                          .allocator = &columns->allocator,
                                          .allow_missing_keys = true };
    ki_buffer template;
    ki_buffer_init(&template, &columns->allocator, 0);
    ki_buffer_printf(&template, "{%s}", path);
    ki_status status = template.failed ? ki_error_no_memory(err, "reading columns")
                                       : ki_jsonpath_new(template.data, &options, &columns->paths[columns->count], err);
    ki_buffer_free(&template);
    if (!status)
        columns->columns[columns->count++] = *column;
    return status;
}

static ki_columns *new_columns(const ki_allocator *allocator, ki_error *err) {
    ki_columns *columns = ki_alloc_zero(allocator, sizeof *columns);
    if (columns)
        columns->allocator = *allocator;
    else
        (void)ki_error_no_memory(err, "reading columns");
    return columns;
}

/* Fills the columns from additionalPrinterColumns. */
static ki_status fill(ki_columns *columns, yyjson_val *given, ki_error *err) {
    static const ki_column name = { "Name", "string", "name", "", 0 }, age = { "Age", "date", "", "", 0 };
    ki_status status = KI_OK;
    ki_error failure = KI_ERROR_INIT;
    yyjson_val *one;
    size_t index, count;
    columns->columns[columns->count++] = name;
    if (!yyjson_arr_size(given))
        status = add_column(columns, &age, ".metadata.creationTimestamp", &failure);
    yyjson_arr_foreach(given, index, count, one) {
        const ki_column column = { text_of(one, "name"), text_of(one, "type"), text_of(one, "format"),
                                   text_of(one, "description"), (int)yyjson_get_sint(yyjson_obj_get(one, "priority")) };
        if (status || index == KI_COLUMNS_MAX)
            break;
        status = add_column(columns, &column, text_of(one, "jsonPath"), &failure);
    }
    /* As on a server, an invalid path only ends the columns. */
    return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, "reading columns") : KI_OK;
}

ki_status ki_columns_of_definition(yyjson_val *given, const ki_allocator *allocator, ki_columns **ret_columns,
                                   ki_error *err) {
    ki_columns *columns = new_columns(allocator, err);
    ki_status status = columns ? fill(columns, given, err) : KI_ERR_NO_MEMORY;
    if (status)
        ki_columns_free(columns);
    else
        *ret_columns = columns;
    return status;
}

/* Returns a definition's columns of a version; NULL if there are none. */
static yyjson_val *columns_of(yyjson_doc *doc, const char *version) {
    yyjson_val *one, *spec = yyjson_obj_get(yyjson_doc_get_root(doc), "spec");
    size_t index, count;
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, one) {
        if (strcmp(text_of(one, "name"), version) == 0)
            return yyjson_obj_get(one, "additionalPrinterColumns");
    }
    return NULL;
}

ki_status ki_columns_new(const ki_resource *resource, const char *definition, size_t size,
                         const ki_allocator *allocator, ki_columns **ret_columns, ki_error *err) {
    if (!resource || !ret_columns)
        return ki_error_missing(err, "ki_columns_new");
    if (!ki_resource_is_complete(resource))
        return ki_error_set(err, KI_ERR_INVALID, "columns need a resource with group, version, plural and kind");
    ki_columns *columns = new_columns(allocator ? allocator : &ki_allocator_default, err);
    ki_status status = columns ? KI_OK : KI_ERR_NO_MEMORY;
    if (columns && !definition && ki_resource_info_find(resource->group, resource->version, resource->plural)) {
        columns->cells = ki_columns_find(resource);
        while (columns->cells[columns->count].column.name)
            columns->count++;
    } else if (columns) {
        if (definition)
            status = ki_json_parse(&columns->allocator, (ki_str){ definition, size }, &columns->doc, err);
        if (!status)
            status = fill(columns, columns_of(columns->doc, resource->version), err);
    }
    if (status)
        ki_columns_free(columns);
    else
        *ret_columns = columns;
    return status;
}

void ki_columns_free(ki_columns *columns) {
    if (!columns)
        return;
    const ki_allocator allocator = columns->allocator;
    for (size_t i = 0; i < columns->count; i++)
        ki_jsonpath_free(columns->paths[i]);
    yyjson_doc_free(columns->doc);
    ki_free(&allocator, columns);
}

size_t ki_columns_count(const ki_columns *columns) {
    return columns->count;
}

const ki_column *ki_columns_at(const ki_columns *columns, size_t index) {
    if (index >= columns->count)
        return NULL;
    return columns->cells ? &columns->cells[index].column : &columns->columns[index];
}

/* ---- cells ---- */

/* A cell of a custom resource while it is written. */
typedef struct custom_cell {
    const char *type;
    int64_t now_ms;
    ki_buffer *out;
    bool is_plain;
    bool is_null;
} custom_cell;

/* Writes a value as the server does: nothing for a value of another type. */
static bool take_value(const ki_value *value, void *user) {
    custom_cell *c = user;
    ki_str type = ki_str_of(c->type), text = { value->text, value->text_size };
    bool is_number = value->type == KI_VALUE_INT || value->type == KI_VALUE_DOUBLE;
    int64_t then;
    c->is_null = false;
    c->is_plain = true;
    if (ki_str_equals(type, "string") && !value->text) {
        c->is_plain = false;
        if (value->type == KI_VALUE_BOOL)
            ki_buffer_append_string(c->out, value->boolean ? "true" : "false");
        else if (value->type == KI_VALUE_INT)
            ki_buffer_printf(c->out, "%" PRId64, value->integer);
        else if (value->type == KI_VALUE_DOUBLE)
            ki_append_go_double(c->out, value->number);
        else
            ki_buffer_append_string(c->out, "<no value>");
    } else if (ki_str_equals(type, "string")) {
        c->is_plain = false;
        ki_buffer_append_view(c->out, text);
    } else if (ki_str_equals(type, "date") && value->type == KI_VALUE_STRING) {
        c->is_plain = false;
        if (ki_cell_time(text, &then))
            ki_cell_append_duration(c->out, c->now_ms - then);
        else
            ki_buffer_append_string(c->out, text.size ? "<invalid>" : "<unknown>");
    } else if (ki_str_equals(type, "boolean") && value->type == KI_VALUE_BOOL) {
        ki_buffer_append_string(c->out, value->boolean ? "true" : "false");
    } else if (is_number && (value->type == KI_VALUE_INT || ki_str_equals(type, "integer")) &&
               (ki_str_equals(type, "integer") || ki_str_equals(type, "number")) && value->number > -9e18 &&
               value->number < 9e18) {
        ki_buffer_printf(c->out, "%" PRId64, value->type == KI_VALUE_INT ? value->integer : (int64_t)value->number);
    } else if (is_number && ki_str_equals(type, "number")) {
        ki_append_go_double(c->out, value->number);
    } else {
        c->is_null = true;
    }
    return false;
}

/* Writes one cell as text. A path without a result gives an empty cell; only a lack of memory is an error. */
static ki_status make_custom(const ki_columns *columns, size_t index, yyjson_val *root, custom_cell *c, ki_error *err) {
    ki_error ignored = KI_ERROR_INIT;
    if (!columns->paths[index]) {
        c->is_plain = false;
        c->is_null = false;
        ki_cell_text(c->out, root, "metadata.name", c->now_ms);
    } else if (ki_jsonpath_each_of(columns->paths[index], root, take_value, c, &ignored) == KI_ERR_NO_MEMORY) {
        return ki_error_no_memory(err, "making a row");
    }
    return c->out->failed ? ki_error_no_memory(err, "making a row") : KI_OK;
}

/* ---- a row as JSON ---- */

static void append_cell(ki_buffer *out, const ki_buffer *text, bool is_plain, size_t index) {
    ki_buffer_append_string(out, index ? "," : "");
    if (is_plain)
        ki_buffer_append_view(out, (ki_str){ text->data, text->size });
    else
        ki_buffer_append_json_string(out, (ki_str){ text->data ? text->data : "", text->size });
}

ki_status ki_cells_append_row(const ki_cell *cells, yyjson_val *root, int64_t now_ms, ki_buffer *out) {
    ki_buffer text;
    ki_buffer_init(&text, out->allocator, 0);
    ki_buffer_append_char(out, '[');
    for (size_t i = 0; cells[i].column.name && !text.failed; i++) {
        ki_buffer_reset(&text, text.capacity);
        cells[i].append(&text, root, cells[i].path, now_ms);
        append_cell(out, &text, cells[i].is_plain, i);
    }
    if (text.failed)
        out->failed = text.failed;
    ki_buffer_free(&text);
    ki_buffer_append_char(out, ']');
    return out->failed;
}

ki_status ki_columns_append_row(const ki_columns *columns, yyjson_val *root, int64_t now_ms, ki_buffer *out,
                                ki_error *err) {
    ki_status status = KI_OK;
    ki_buffer text;
    if (columns->cells)
        return ki_cells_append_row(columns->cells, root, now_ms, out);
    ki_buffer_init(&text, out->allocator, 0);
    ki_buffer_append_char(out, '[');
    for (size_t i = 0; i < columns->count && !status; i++) {
        custom_cell c = { .type = columns->columns[i].type, .now_ms = now_ms, .out = &text, .is_null = true };
        ki_buffer_reset(&text, text.capacity);
        status = make_custom(columns, i, root, &c, err);
        if (!status && c.is_null)
            ki_buffer_append_string(out, i ? ",null" : "null");
        else if (!status)
            append_cell(out, &text, c.is_plain, i);
    }
    ki_buffer_free(&text);
    ki_buffer_append_char(out, ']');
    return status ? status : out->failed;
}

/* ---- a row as texts ---- */

/* Cuts the text after its first line. */
static void cut_to_first_line(ki_buffer *text) {
    size_t size = text->size ? strcspn(text->data, "\n\r\f") : 0;
    if (size == text->size || size == strlen(text->data))
        return;
    text->size = size;
    ki_buffer_append_string(text, "...");
}

/* Limits the time, so that differences to any RFC 3339 time do not overflow. */
static int64_t clamp_time(int64_t now_ms) {
    const int64_t far = INT64_MAX / 2 + 1;
    return now_ms > far ? far : now_ms < -far ? -far : now_ms;
}

ki_status ki_columns_each(const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                          bool (*visit)(size_t index, const char *text, void *user), void *user, ki_error *err) {
    if (!columns || !obj || !visit)
        return ki_error_missing(err, "ki_columns_each");
    ki_value json = KI_VALUE_INIT;
    yyjson_doc *doc = NULL;
    ki_buffer text;
    ki_status status = ki_object_json(obj, &json, err);
    if (!status)
        status = ki_json_parse(&columns->allocator, (ki_str){ json.text, json.text_size }, &doc, err);
    bool wants_more = true;
    now_ms = clamp_time(now_ms);
    ki_buffer_init(&text, &columns->allocator, 0);
    for (size_t i = 0; i < columns->count && !status && wants_more; i++) {
        custom_cell c = { .now_ms = now_ms, .out = &text };
        ki_buffer_reset(&text, text.capacity);
        if (columns->cells) {
            columns->cells[i].append(&text, yyjson_doc_get_root(doc), columns->cells[i].path, now_ms);
        } else {
            c.type = columns->columns[i].type;
            status = make_custom(columns, i, yyjson_doc_get_root(doc), &c, err);
        }
        cut_to_first_line(&text);
        if (text.failed && !status)
            status = ki_error_no_memory(err, "making a row");
        if (!status)
            wants_more = visit(i, text.data ? text.data : "", user);
    }
    ki_buffer_free(&text);
    yyjson_doc_free(doc);
    ki_value_clear(&json);
    return status;
}
