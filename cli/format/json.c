/* json.c: see json.h. The template "{@}" of libkinformer-print has kubectl's names, escapes and numbers; this file adds
 * the lines. */
#include "json.h"

#include "cli/output.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <yyjson.h>

static void new_line(int level) {
    printf("\n%*s", level * JSON_INDENT, "");
}

/* Prints a string with its quotes. Returns the number of its bytes. */
static size_t print_string(const char *text) {
    size_t size = 1;
    while (text[size] != '"')
        size += text[size] == '\\' ? 2 : 1;
    print_printable(text, size + 1);
    return size + 1;
}

/* Prints compact JSON with lines. */
static void print_lines(const char *json, size_t size, int level) {
    for (size_t at = 0; at < size;) {
        char c = json[at];
        bool is_empty = at + 1 < size && ((c == '{' && json[at + 1] == '}') || (c == '[' && json[at + 1] == ']'));
        if (c == '"') {
            at += print_string(json + at);
            continue;
        }
        if (is_empty) {
            fwrite(json + at, 1, 2, stdout);
            at += 2;
            continue;
        }
        if (c == '}' || c == ']')
            new_line(--level);
        putchar(c);
        if (c == ':')
            putchar(' ');
        else if (c == ',')
            new_line(level);
        else if (c == '{' || c == '[')
            new_line(++level);
        at++;
    }
}

ki_status json_print(const char *json, size_t size, int level, ki_error *err) {
    const ki_jsonpath_options with = { .size = sizeof with, .max_output = (size_t)1 << 30 };
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    ki_jsonpath *whole = NULL;
    ki_status status = ki_jsonpath_new("{@}", &with, &whole, err);
    if (!status)
        status = ki_jsonpath_print(whole, json, size, &text, err);
    if (!status)
        print_lines(text.data, text.size, level);
    ki_jsonpath_text_clear(&text);
    ki_jsonpath_free(whole);
    return status;
}

/* An array of values while it is filled. */
typedef struct array {
    yyjson_mut_doc *doc;
    yyjson_mut_val *values;
    bool has_no_memory;
} array;

static bool add_value(const ki_value *value, void *user) {
    array *a = user;
    yyjson_mut_val *added;
    switch (value->type) {
    case KI_VALUE_STRING:
        added = yyjson_mut_strncpy(a->doc, value->text, value->text_size);
        break;
    case KI_VALUE_NULL:
        added = yyjson_mut_null(a->doc);
        break;
    case KI_VALUE_BOOL:
        added = yyjson_mut_bool(a->doc, value->boolean);
        break;
    case KI_VALUE_INT:
        added = yyjson_mut_sint(a->doc, value->integer);
        break;
    case KI_VALUE_DOUBLE:
        added = yyjson_mut_real(a->doc, value->number);
        break;
    default: /* an array or object */
        added = yyjson_mut_rawncpy(a->doc, value->text, value->text_size);
        break;
    }
    a->has_no_memory = !yyjson_mut_arr_append(a->values, added);
    return !a->has_no_memory;
}

ki_status json_print_values(const ki_jsonpath *path, const char *json, size_t size, ki_error *err) {
    array a = { .doc = yyjson_mut_doc_new(NULL) };
    size_t text_size = 0;
    a.values = yyjson_mut_arr(a.doc);
    yyjson_mut_doc_set_root(a.doc, a.values);
    ki_status status = a.values ? ki_jsonpath_each(path, json, size, add_value, &a, err) : KI_ERR_NO_MEMORY;
    char *text = status || a.has_no_memory ? NULL : yyjson_mut_write(a.doc, YYJSON_WRITE_NOFLAG, &text_size);
    if (!status)
        status = text ? json_print(text, text_size, 0, err) : KI_ERR_NO_MEMORY;
    if (!status)
        putchar('\n');
    free(text);
    yyjson_mut_doc_free(a.doc);
    return status;
}
