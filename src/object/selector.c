/* selector.c: see kinformer/selector.h. Fields are compared in the text of the body, so that nothing can fail. */
#include <kinformer/selector.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/json_text.h"
#include "src/object/keep.h"
#include "src/object/path.h"
#include "src/object/requirements.h"
#include "src/object/selector.h"

struct ki_selector {
    ki_allocator allocator;
    ki_requirements *labels, *fields;
    size_t path_count;
    ki_path *paths[]; /* of the fields */
};

static ki_status parse_path(ki_selector *selector, ki_str key, ki_error *err) {
    char text[KI_PATH_MAX_LENGTH + 2];
    size_t size = key.size < sizeof text ? key.size : sizeof text - 1;
    memcpy(text, key.data, size);
    text[size] = '\0';
    ki_status status = ki_path_parse(&selector->allocator, text, &selector->paths[selector->path_count], err);
    selector->path_count += status == KI_OK;
    return status;
}

/* The identity is in the header: a transform cannot change it. */
static bool is_in_header(ki_str key) {
    return ki_str_equals(key, "metadata.name") || ki_str_equals(key, "metadata.namespace");
}

ki_status ki_selector_new_of(const ki_allocator *allocator, const char *label_selector, const char *field_selector,
                             ki_selector **ret_selector, ki_error *err) {
    ki_requirements *fields = NULL;
    ki_status status = ki_requirements_parse_fields(allocator, ki_str_of(field_selector), &fields, err);
    if (status) {
        ki_error_prefix(err, "field selector");
        return status;
    }
    size_t count = 0;
    while (ki_requirements_key(fields, count).data)
        count++;
    ki_selector *selector = ki_alloc_zero(allocator, sizeof *selector + count * sizeof *selector->paths);
    if (!selector) {
        ki_requirements_free(allocator, fields);
        return ki_error_no_memory(err, "parsing a selector");
    }
    selector->allocator = *allocator;
    selector->fields = fields;
    for (size_t i = 0; i < count && !status; i++)
        status = parse_path(selector, ki_requirements_key(fields, i), err);
    if (status) {
        ki_error_prefix(err, "field selector");
    } else {
        status = ki_requirements_parse_labels(allocator, ki_str_of(label_selector), &selector->labels, err);
        if (status)
            ki_error_prefix(err, "label selector");
    }
    if (status)
        ki_selector_free(selector);
    else
        *ret_selector = selector;
    return status;
}

ki_status ki_selector_new(const char *label_selector, const char *field_selector, ki_selector **ret_selector,
                          ki_error *err) {
    if (!ret_selector)
        return ki_error_missing(err, "ki_selector_new");
    return ki_selector_new_of(&ki_allocator_default, label_selector, field_selector, ret_selector, err);
}

void ki_selector_free(ki_selector *selector) {
    if (!selector)
        return;
    ki_allocator allocator = selector->allocator;
    for (size_t i = 0; i < selector->path_count; i++)
        ki_path_free(&allocator, selector->paths[i]);
    ki_requirements_free(&allocator, selector->labels);
    ki_requirements_free(&allocator, selector->fields);
    ki_free(&allocator, selector);
}

ki_status ki_selector_check_keep(const ki_selector *selector, ki_keep keep, ki_error *err) {
    if (!selector)
        return KI_OK;
    ki_str key = ki_requirements_key(selector->labels, 0);
    if (key.data && !ki_keep_has_labels(keep))
        return ki_error_set(err, KI_ERR_INVALID, "a selector of labels, but the cache keeps only the %s",
                            ki_keep_name(keep));
    for (size_t i = 0; (key = ki_requirements_key(selector->fields, i)).data; i++) {
        if (!is_in_header(key) && !ki_keep_has_field(keep, selector->paths[i]))
            return ki_error_set(err, KI_ERR_INVALID, "a selector of %.*s, but the cache keeps only the %s",
                                (int)(key.size < 100 ? key.size : 100), key.data, ki_keep_name(keep));
    }
    return KI_OK;
}

/* --- matching ----------------------------------------------------------------------------------------------------- */

typedef struct search {
    ki_str wanted;
    bool is_found;
} search;

static bool compare(ki_str value, void *user) {
    search *s = user;
    if (*value.data == '"')
        s->is_found = ki_json_text_is(value, s->wanted);
    else if (ki_str_equals(value, "null"))
        s->is_found = s->wanted.size == 0;
    else
        s->is_found = ki_str_equal(value, s->wanted);
    return !s->is_found;
}

/* Counts values: the walk of a field that is missing visits none. */
static bool note_value(ki_str value, void *user) {
    (void)value;
    *(bool *)user = true;
    return false;
}

static bool has_value(const ki_object *obj, ki_str key, const ki_path *path, ki_str wanted) {
    if (is_in_header(key))
        return ki_str_equals(wanted,
                             ki_str_equals(key, "metadata.name") ? ki_object_name(obj) : ki_object_namespace(obj));
    search s = { wanted, false };
    ki_path_walk_object(path, obj, compare, &s);
    if (s.is_found || wanted.size)
        return s.is_found;
    bool has_any = false;
    ki_path_walk_object(path, obj, note_value, &has_any);
    return !has_any;
}

/* Returns the index of the first field that does not match, with its key; data of the key is NULL if all match. */
static size_t find_difference(const ki_selector *selector, const ki_object *obj, ki_str *ret_key) {
    ki_str value;
    bool is_negated;
    size_t i = 0;
    for (; ki_requirements_field(selector->fields, i, ret_key, &value, &is_negated); i++) {
        if (has_value(obj, *ret_key, selector->paths[i], value) == is_negated)
            return i;
    }
    *ret_key = (ki_str){ NULL, 0 };
    return i;
}

/* Returns true if the object has all that the selector reads. What is not there is unknown, and not empty. */
static bool can_read(const ki_selector *selector, const ki_object *obj) {
    if (ki_requirements_key(selector->labels, 0).data && !ki_object_has_labels(obj))
        return false;
    ki_keep keep = ki_object_keep(obj);
    ki_str key;
    for (size_t i = 0; (key = ki_requirements_key(selector->fields, i)).data; i++) {
        if (!is_in_header(key) && !ki_keep_has_field(keep, selector->paths[i]))
            return false;
    }
    return true;
}

bool ki_selector_matches_whole(const ki_selector *selector, const ki_object *obj) {
    ki_str key;
    if (!ki_requirements_match(selector->labels, obj))
        return false;
    (void)find_difference(selector, obj, &key);
    return !key.data;
}

bool ki_object_matches(const ki_object *obj, const ki_selector *selector) {
    if (!obj || !selector)
        return obj != NULL;
    return can_read(selector, obj) && ki_selector_matches_whole(selector, obj);
}

static bool take_value(ki_str value, void *user) {
    *(ki_str *)user = value;
    return false;
}

ki_str ki_selector_difference(const ki_selector *selector, const ki_object *obj, ki_str *ret_value) {
    ki_str key;
    size_t index = find_difference(selector, obj, &key);
    *ret_value = (ki_str){ NULL, 0 };
    if (key.data)
        ki_path_walk_object(selector->paths[index], obj, take_value, ret_value);
    return key;
}
