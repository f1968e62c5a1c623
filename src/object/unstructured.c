/* unstructured.c: makes a ki_unstructured, changes it by paths, writes it. One thread at a time. */
#include "src/object/unstructured.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/json.h"
#include "src/object/path.h"

#include <math.h>

enum {
    HELD_MIN = 1024 * 1024, /* bytes of a document that is not copied */
    HELD_FACTOR = 4         /* times the bytes of the last copy */
};

/* --- failures ----------------------------------------------------------------------------------------------------- */

bool ki_unstructured_fail(ki_unstructured *object, ki_status code, const char *what, const char *why) {
    if (object && !object->failure.code)
        ki_error_set(&object->failure, code, "%.300s: %s", what ? what : "(null)", why);
    return false;
}

bool ki_unstructured_fail_no_memory(ki_unstructured *object, const char *what) {
    return ki_unstructured_fail(object, KI_ERR_NO_MEMORY, what, "out of memory");
}

static void free_text(ki_unstructured *object) {
    ki_free(&object->allocator, object->json);
    object->json = NULL;
}

/* --- memory of the document --------------------------------------------------------------------------------------- */

static void *counted_malloc(void *ctx, size_t size) {
    ki_unstructured *object = ctx;
    object->held += size;
    return ki_alloc(&object->allocator, size);
}

static void *counted_realloc(void *ctx, void *memory, size_t old_size, size_t size) {
    ki_unstructured *object = ctx;
    object->held += size - old_size;
    return ki_realloc_array(&object->allocator, memory, size, 1);
}

static void counted_free(void *ctx, void *memory) {
    ki_unstructured *object = ctx;
    ki_free(&object->allocator, memory);
}

static yyjson_alc counting_allocator(ki_unstructured *object) {
    return (yyjson_alc){ counted_malloc, counted_realloc, counted_free, object };
}

/* Copies a document whose memory is mostly that of replaced values. Without memory the document stays. */
static void drop_replaced_values(ki_unstructured *object) {
    if (object->held < HELD_MIN || object->held < HELD_FACTOR * object->held_by_copy)
        return;
    size_t before = object->held;
    yyjson_alc alc = counting_allocator(object);
    object->held = 0;
    yyjson_mut_doc *copy = yyjson_mut_doc_mut_copy(object->doc, &alc);
    if (!copy) {
        object->held = before;
        return;
    }
    yyjson_mut_doc_free(object->doc);
    ki_members_forget(object);
    object->doc = copy;
    object->held_by_copy = object->held;
}

/* Returns the document for changes of members; NULL after a failure. */
static yyjson_mut_doc *change_members(ki_unstructured *object) {
    if (!object || object->failure.code)
        return NULL;
    free_text(object);
    drop_replaced_values(object);
    return object->doc;
}

yyjson_mut_doc *ki_unstructured_change(ki_unstructured *object) {
    yyjson_mut_doc *doc = change_members(object);
    if (doc)
        ki_members_forget(object);
    return doc;
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

/* Returns true if arrays and maps are nested at most KI_UNSTRUCTURED_DEPTH_MAX deep. Counts brackets: the text need not
 * be valid JSON. */
static bool is_shallow(ki_str json) {
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.size; i++) {
        char c = json.data[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\')
            i++;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']') && depth > 0)
            depth--;
        if (depth > KI_UNSTRUCTURED_DEPTH_MAX)
            return false;
    }
    return true;
}

static ki_status check_limits(ki_str json, const char *what, ki_error *err) {
    if (json.size > KI_UNSTRUCTURED_SIZE_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "%s is longer than %d bytes", what, KI_UNSTRUCTURED_SIZE_MAX);
    if (!is_shallow(json))
        return ki_error_set(err, KI_ERR_LIMIT, "%s nests deeper than %d", what, KI_UNSTRUCTURED_DEPTH_MAX);
    return KI_OK;
}

static ki_status parse(const ki_allocator *allocator, ki_str json, yyjson_doc **ret_doc, ki_error *err) {
    if (!json.data)
        return ki_error_set(err, KI_ERR_PARSE, "the JSON is NULL");
    ki_status status = check_limits(json, "the JSON", err);
    return status ? status : ki_json_parse_exact(allocator, json, ret_doc, err);
}

static ki_status read_document(ki_unstructured *object, ki_str json, ki_error *err) {
    yyjson_doc *doc = NULL;
    ki_status status = parse(&object->allocator, json, &doc, err);
    if (status)
        return status;
    yyjson_alc alc = counting_allocator(object);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc)))
        status = ki_error_set(err, KI_ERR_PARSE, "the text is not a map");
    else if (!(object->doc = yyjson_doc_mut_copy(doc, &alc)))
        status = ki_error_no_memory(err, "copying an object");
    yyjson_doc_free(doc);
    object->held_by_copy = object->held;
    return status;
}

/* Returns an object without a document; NULL if out of memory. */
static ki_unstructured *new_empty(const ki_allocator *allocator) {
    ki_unstructured *object = ki_alloc_zero(allocator, sizeof *object);
    if (!object)
        return NULL;
    object->allocator = *allocator;
    ki_map_init(&object->indexes, &object->allocator, 0);
    return object;
}

ki_unstructured *ki_unstructured_new_of(const ki_allocator *allocator, ki_str json) {
    ki_unstructured *object = new_empty(allocator);
    ki_error err = KI_ERROR_INIT;
    if (object && read_document(object, json, &err))
        object->failure = err;
    return object;
}

ki_unstructured *ki_unstructured_new_failed(const ki_allocator *allocator, const ki_error *failure) {
    ki_unstructured *object = new_empty(allocator);
    if (object)
        object->failure = *failure;
    return object;
}

ki_unstructured *ki_unstructured_from_object(const ki_object *obj) {
    if (!obj)
        return ki_unstructured_new(NULL);
    ki_error err = KI_ERROR_INIT;
    ki_body body;
    ki_unstructured *object;
    if (ki_object_check_content(obj, &err) || ki_body_open(obj, &body, &err)) {
        object = ki_unstructured_new_failed(&ki_format_of(obj)->allocator, &err);
    } else {
        object = ki_unstructured_new_of(&ki_format_of(obj)->allocator, body.text);
        ki_body_close(obj, &body);
    }
    if (object) {
        object->is_read = true;
        object->is_partial = obj->is_partial;
    }
    return object;
}

ki_unstructured *ki_unstructured_copy(const ki_unstructured *object) {
    if (!object)
        return NULL;
    if (object->failure.code)
        return ki_unstructured_new_failed(&object->allocator, &object->failure);
    ki_unstructured *copy = new_empty(&object->allocator);
    if (!copy)
        return NULL;
    yyjson_alc alc = counting_allocator(copy);
    copy->doc = yyjson_mut_doc_mut_copy(object->doc, &alc);
    copy->held_by_copy = copy->held;
    copy->is_read = object->is_read;
    copy->is_fenced = object->is_fenced;
    copy->is_partial = object->is_partial;
    if (!copy->doc)
        ki_unstructured_fail_no_memory(copy, "a copy");
    return copy;
}

static yyjson_mut_val *known_field(const ki_unstructured *object, const char *name) {
    return object ? yyjson_mut_obj_get(yyjson_mut_obj_get(yyjson_mut_doc_get_root(object->doc), "metadata"), name)
                  : NULL;
}

static yyjson_mut_val *metadata_field(const ki_unstructured *object, const char *name) {
    return object && !object->failure.code ? known_field(object, name) : NULL;
}

const char *ki_unstructured_known_metadata(const ki_unstructured *object, const char *name) {
    return yyjson_mut_get_str(known_field(object, name));
}

const char *ki_unstructured_metadata(const ki_unstructured *object, const char *name) {
    return yyjson_mut_get_str(metadata_field(object, name));
}

bool ki_unstructured_has_metadata(const ki_unstructured *object, const char *name) {
    return metadata_field(object, name) != NULL;
}

void ki_unstructured_free(ki_unstructured *object) {
    if (!object)
        return;
    ki_allocator allocator = object->allocator;
    ki_members_forget(object);
    ki_map_free(&object->indexes);
    yyjson_mut_doc_free(object->doc);
    ki_free(&allocator, object->json);
    ki_free(&allocator, object);
}

/* --- walking a path ----------------------------------------------------------------------------------------------- */

static size_t index_of(const ki_path_step *step, yyjson_mut_val *array) {
    int64_t count = (int64_t)yyjson_mut_arr_size(array); /* 0 if it is not an array */
    int64_t index = step->index < 0 ? step->index + count : step->index;
    return index < 0 || index >= count ? SIZE_MAX : (size_t)index;
}

/* Returns the value at the step, or NULL. */
static yyjson_mut_val *child(ki_unstructured *object, yyjson_mut_val *parent, const ki_path_step *step,
                             const char *path) {
    if (step->name)
        return ki_members_get(object, parent, (ki_str){ step->name, step->name_size }, path);
    return yyjson_mut_arr_get(parent, index_of(step, parent));
}

/* Replaces the value at the step, or adds a member. */
static bool put_child(ki_unstructured *object, yyjson_mut_val *parent, const ki_path_step *step, const char *path,
                      yyjson_mut_val *value) {
    if (!value)
        return ki_unstructured_fail_no_memory(object, path);
    if (!step->name) {
        size_t index = index_of(step, parent);
        return yyjson_mut_arr_replace(parent, index, value) ||
               ki_unstructured_fail(object, KI_ERR_INVALID, path, "the array has no such element");
    }
    if (yyjson_mut_is_null(parent))
        yyjson_mut_set_obj(parent);
    if (!yyjson_mut_is_obj(parent))
        return ki_unstructured_fail(object, KI_ERR_INVALID, path, "the path goes through a value that is not a map");
    return ki_members_put(object, parent, (ki_str){ step->name, step->name_size }, value, path);
}

/* Creates the missing maps along the path, then puts `value` there. */
static void put(ki_unstructured *object, const ki_path *steps, const char *path, yyjson_mut_val *value) {
    size_t last = ki_path_step_count(steps) - 1;
    yyjson_mut_val *parent = yyjson_mut_doc_get_root(object->doc);
    for (size_t i = 0; i < last; i++) {
        const ki_path_step *step = ki_path_step_at(steps, i);
        yyjson_mut_val *next = child(object, parent, step, path);
        if (!next) {
            next = yyjson_mut_obj(object->doc);
            if (!put_child(object, parent, step, path, next))
                return;
        }
        parent = next;
    }
    (void)put_child(object, parent, ki_path_step_at(steps, last), path, value);
}

static bool parse_path(ki_unstructured *object, const char *path, ki_path **ret_steps) {
    if (path && !ki_str_is_utf8(ki_str_of(path)))
        return ki_unstructured_fail(object, KI_ERR_PARSE, "a path", "not UTF-8");
    if (ki_path_parse(&object->allocator, path, ret_steps, &object->failure))
        return false;
    if (!ki_path_has_all(*ret_steps))
        return true;
    ki_path_free(&object->allocator, *ret_steps);
    return ki_unstructured_fail(object, KI_ERR_INVALID, path, "a change is of one field, not of [*]");
}

/* Sets the value at the path. `value` belongs to the object's document; NULL: out of memory. */
static void set(ki_unstructured *object, const char *path, yyjson_mut_val *value) {
    ki_path *steps;
    if (!parse_path(object, path, &steps))
        return;
    put(object, steps, path, value);
    ki_path_free(&object->allocator, steps);
}

/* --- setting ------------------------------------------------------------------------------------------------------ */

void ki_unstructured_set_string(ki_unstructured *object, const char *path, const char *value) {
    yyjson_mut_doc *doc = change_members(object);
    if (!doc)
        return;
    size_t size = value ? strlen(value) : 0;
    if (size > KI_UNSTRUCTURED_SIZE_MAX)
        ki_unstructured_fail(object, KI_ERR_LIMIT, path, "the string is too long");
    else if (!ki_str_is_utf8((ki_str){ value, size }))
        ki_unstructured_fail(object, KI_ERR_INVALID, path, "the string is not UTF-8");
    else
        set(object, path, value ? yyjson_mut_strncpy(doc, value, size) : yyjson_mut_null(doc));
}

void ki_unstructured_set_int(ki_unstructured *object, const char *path, int64_t value) {
    yyjson_mut_doc *doc = change_members(object);
    if (doc)
        set(object, path, yyjson_mut_sint(doc, value));
}

void ki_unstructured_set_double(ki_unstructured *object, const char *path, double value) {
    yyjson_mut_doc *doc = change_members(object);
    if (!doc)
        return;
    if (isfinite(value))
        set(object, path, yyjson_mut_real(doc, value));
    else
        ki_unstructured_fail(object, KI_ERR_INVALID, path, "JSON has no such number");
}

void ki_unstructured_set_bool(ki_unstructured *object, const char *path, bool value) {
    yyjson_mut_doc *doc = change_members(object);
    if (doc)
        set(object, path, yyjson_mut_bool(doc, value));
}

void ki_unstructured_set_null(ki_unstructured *object, const char *path) {
    ki_unstructured_set_string(object, path, NULL);
}

void ki_unstructured_set_json(ki_unstructured *object, const char *path, const char *json) {
    if (!change_members(object))
        return;
    yyjson_doc *parsed = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_status status = parse(&object->allocator, ki_str_of(json), &parsed, &err);
    if (status) {
        ki_unstructured_fail(object, status, path, ki_error_message(&err));
        return;
    }
    set(object, path, yyjson_val_mut_copy(object->doc, yyjson_doc_get_root(parsed)));
    yyjson_doc_free(parsed);
}

void ki_unstructured_remove(ki_unstructured *object, const char *path) {
    ki_path *steps;
    if (!change_members(object) || !parse_path(object, path, &steps))
        return;
    size_t last = ki_path_step_count(steps) - 1;
    yyjson_mut_val *parent = yyjson_mut_doc_get_root(object->doc);
    for (size_t i = 0; parent && i < last; i++)
        parent = child(object, parent, ki_path_step_at(steps, i), path);
    const ki_path_step *step = ki_path_step_at(steps, last);
    if (step->name)
        ki_members_remove(object, parent, (ki_str){ step->name, step->name_size }, path);
    else
        yyjson_mut_arr_remove(parent, index_of(step, parent));
    ki_path_free(&object->allocator, steps);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static ki_status write_text(ki_unstructured *object, ki_error *err) {
    yyjson_alc alc = ki_json_allocator(&object->allocator);
    size_t size;
    yyjson_write_err failure = { 0, NULL };
    char *text = yyjson_mut_write_opts(object->doc, YYJSON_WRITE_NOFLAG, &alc, &size, &failure);
    if (!text && failure.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION)
        return ki_error_no_memory(err, "writing an object");
    if (!text)
        return ki_error_set(err, KI_ERR_INVALID, "the object cannot be written: %s", failure.msg);
    ki_status status = check_limits((ki_str){ text, size }, "the object", err);
    if (status)
        ki_free(&object->allocator, text);
    else
        object->json = text;
    return status;
}

const char *ki_unstructured_json(ki_unstructured *object, ki_error *err) {
    if (!object) {
        ki_error_no_memory(err, "making an object");
        return NULL;
    }
    if (object->failure.code) {
        if (err)
            *err = object->failure;
        return NULL;
    }
    if (!object->json && write_text(object, err))
        return NULL;
    return object->json;
}
