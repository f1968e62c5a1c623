/* sort.c: see sort.h. */
#include "sort.h"

#include "cli/lines/cell_value.h"

#include <kinformer-print/jsonpath.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        s->rank = value_read_quantity(value->text, &s->number) ? RANK_NUMBER : RANK_TEXT;
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
