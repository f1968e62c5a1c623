/* sort.c: see sort.h. */
#include "sort.h"

#include <kinformer-print/jsonpath.h>

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

typedef enum rank {
    RANK_MISSING,
    RANK_NULL,
    RANK_BOOL,
    RANK_NUMBER,
    RANK_TEXT,
    RANK_NONE /* arrays and objects */
} rank;

typedef struct sorted {
    const ki_object *object;
    size_t place; /* index before the sort */
    rank rank;
    double number;
    char *text; /* the value of a text or a quantity */
} sorted;

/* Converts a quantity ("1500m", "2Gi", "1e3", "-0.5") to a number. Returns false for anything else. */
static bool read_quantity(const char *text, double *ret_value) {
    static const struct {
        const char *suffix;
        double factor;
    } units[] = { { "", 1 },
                  { "n", 1e-9 },
                  { "u", 1e-6 },
                  { "m", 1e-3 },
                  { "k", 1e3 },
                  { "M", 1e6 },
                  { "G", 1e9 },
                  { "T", 1e12 },
                  { "P", 1e15 },
                  { "E", 1e18 },
                  { "Ki", 1024.0 },
                  { "Mi", 1048576.0 },
                  { "Gi", 1073741824.0 },
                  { "Ti", 1099511627776.0 },
                  { "Pi", 1125899906842624.0 },
                  { "Ei", 1152921504606846976.0 } };
    char json[80];
    const char *digits = text + (*text == '-' || *text == '+');
    size_t size = strspn(digits, "0123456789.");
    const char *suffix = digits + size;
    double factor = 0;
    if (size == 0 || size > 40 || strspn(digits, ".") == size)
        return false;
    if ((*suffix == 'e' || *suffix == 'E') && suffix[1]) { /* an exponent; "E" alone means exa */
        const char *exponent = suffix + 1 + (suffix[1] == '-' || suffix[1] == '+');
        size_t exponent_size = strspn(exponent, "0123456789");
        if (exponent_size == 0 || exponent_size > 3 || exponent[exponent_size])
            return false;
        factor = 1;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0] && factor == 0; i++) {
        if (strcmp(units[i].suffix, suffix) == 0)
            factor = units[i].factor;
    }
    if (factor == 0)
        return false;
    size_t zeros = strspn(digits, "0");
    if (zeros && (zeros == size || digits[zeros] == '.'))
        zeros--;
    snprintf(json, sizeof json, "%s%s%.*s%s%s", *text == '-' ? "-" : "", *digits == '.' ? "0" : "", (int)(size - zeros),
             digits + zeros, digits[size - 1] == '.' ? "0" : "", factor == 1 ? suffix : "");
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0); /* strtod would depend on the locale */
    bool is_number = yyjson_is_num(yyjson_doc_get_root(doc));
    if (is_number)
        *ret_value = yyjson_get_num(yyjson_doc_get_root(doc)) * factor;
    yyjson_doc_free(doc);
    return is_number;
}

/* Takes the first value and ends the search. */
static bool keep_first_value(const ki_value *value, void *user) {
    sorted *s = user;
    switch (value->type) {
    case KI_VALUE_NULL:
        s->rank = RANK_NULL;
        break;
    case KI_VALUE_BOOL:
        s->rank = RANK_BOOL;
        s->number = value->boolean;
        break;
    case KI_VALUE_INT:
    case KI_VALUE_DOUBLE:
        s->rank = RANK_NUMBER;
        s->number = value->number;
        break;
    case KI_VALUE_STRING:
        s->text = strdup(value->text);
        s->rank = read_quantity(value->text, &s->number) ? RANK_NUMBER : RANK_TEXT;
        break;
    default:
        s->rank = RANK_NONE;
    }
    return false;
}

static int compare(const void *a, const void *b) {
    const sorted *left = a;
    const sorted *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    int order = left->text && right->text ? strcmp(left->text, right->text) : 0;
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static ki_status fail_sort(ki_error *err, ki_status code, const char *path, const char *why) {
    err->code = code;
    snprintf(err->message, sizeof err->message, "--sort-by %.200s: %s", path, why);
    return code;
}

static ki_status take_all(sorted *all, const ki_object **objects, size_t count, const ki_jsonpath *path,
                          ki_error *err) {
    for (size_t i = 0; i < count; i++) {
        ki_value json = KI_VALUE_INIT;
        all[i] = (sorted){ .object = objects[i], .place = i };
        ki_status status = ki_object_json(objects[i], &json, err);
        if (!status)
            status = ki_jsonpath_each(path, json.text, json.text_size, keep_first_value, &all[i], err);
        ki_value_clear(&json);
        if (status)
            return status;
        if (all[i].rank == RANK_TEXT && !all[i].text)
            return fail_sort(err, KI_ERR_NO_MEMORY, "", "out of memory");
    }
    return KI_OK;
}

ki_status sort_objects(const ki_object **objects, size_t count, const char *path, ki_error *err) {
    ki_jsonpath *parsed = NULL;
    const ki_jsonpath_options options = { .size = sizeof options, .allow_missing_keys = true };
    ki_status status = ki_jsonpath_new_relaxed(path, &options, &parsed, err);
    sorted *all = status || !count ? NULL : calloc(count, sizeof *all);
    bool is_found = false;
    if (!status && count && !all)
        status = fail_sort(err, KI_ERR_NO_MEMORY, "", "out of memory");
    if (all)
        status = take_all(all, objects, count, parsed, err);
    for (size_t i = 0; all && i < count && !status; i++) {
        is_found = is_found || all[i].rank != RANK_MISSING;
        if (all[i].rank == RANK_NONE)
            status = fail_sort(err, KI_ERR_INVALID, path, "the values are arrays or objects, which have no order");
    }
    if (all && !status && !is_found)
        status =
            fail_sort(err, KI_ERR_NOT_FOUND, path, "couldn't find any field with this path in the list of objects");
    if (all && !status) {
        qsort(all, count, sizeof *all, compare);
        for (size_t i = 0; i < count; i++)
            objects[i] = all[i].object;
    }
    for (size_t i = 0; all && i < count; i++)
        free(all[i].text);
    free(all);
    ki_jsonpath_free(parsed);
    return status;
}
