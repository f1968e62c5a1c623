/* objects.c: one object's JSON. What comes out of ki_object_json is what went in, without white space, with the
 * resource's apiVersion and kind where the text has none. */
#include "fuzz/fuzz.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/object.h"
#include "src/object/pack.h"

#include <math.h>

#define API_VERSION "v1"
#define KIND "Thing"

enum {
    WALK_DEPTH_MAX = 64 /* nested values that are walked: the check calls itself */
};

static ki_object_format *new_format(bool keep_managed_fields, ki_keep keep) {
    ki_object_format *format = NULL;
    const ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.keep_managed_fields = keep_managed_fields);
    fuzz_check(!ki_object_format_new(NULL, &options, &format, NULL));
    ki_object_format_set_keep(format, keep);
    return format;
}

/* --- whether the text is an object -------------------------------------------------------------------------------- */

/* Returns true if the member is missing, null or a string that the header can have. */
static bool is_header_text(yyjson_val *object, const char *name, size_t max) {
    yyjson_val *value = yyjson_obj_get(object, name);
    if (!value || yyjson_is_null(value))
        return true;
    return yyjson_is_str(value) && yyjson_get_len(value) <= max &&
           strlen(yyjson_get_str(value)) == yyjson_get_len(value);
}

static bool is_object(yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    return yyjson_is_obj(metadata) && yyjson_get_len(yyjson_obj_get(metadata, "name")) > 0 &&
           is_header_text(metadata, "name", SIZE_MAX) && is_header_text(metadata, "namespace", SIZE_MAX) &&
           is_header_text(metadata, "uid", SIZE_MAX) &&
           is_header_text(metadata, "resourceVersion", KI_OBJECT_RESOURCE_VERSION_MAX) &&
           is_header_text(root, "apiVersion", SIZE_MAX) && is_header_text(root, "kind", SIZE_MAX);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* Writes the text byte by byte: without white space, with apiVersion and kind at the beginning if they are missing. */
static void write_expected(ki_str text, yyjson_val *root, ki_buffer *out) {
    bool in_string = false, is_first = true;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!in_string && strchr(" \t\r\n", c))
            continue;
        ki_buffer_append_char(out, c);
        if (is_first && !yyjson_obj_get(root, "apiVersion"))
            ki_buffer_append_string(out, "\"apiVersion\":\"" API_VERSION "\",");
        if (is_first && !yyjson_obj_get(root, "kind"))
            ki_buffer_append_string(out, "\"kind\":\"" KIND "\",");
        is_first = false;
        if (in_string && c == '\\')
            ki_buffer_append_char(out, text.data[++i]);
        else if (c == '"')
            in_string = !in_string;
    }
    fuzz_check(!out->failed);
}

static bool is_body(const ki_object *obj, const char *text, size_t size) {
    ki_value json = KI_VALUE_INIT;
    fuzz_check(!ki_object_json(obj, &json, NULL) && json.type == KI_VALUE_OBJECT);
    bool is_equal = json.text_size == size && memcmp(json.text, text, size) == 0;
    ki_value_clear(&json);
    return is_equal;
}

static bool is_text(const char *text, yyjson_val *value) {
    return strcmp(text, yyjson_is_null(value) || !value ? "" : yyjson_get_str(value)) == 0;
}

static void check_header(const ki_object *obj, yyjson_val *root) {
    yyjson_val *metadata = yyjson_obj_get(root, "metadata"), *name, *value;
    const char *label, *label_value;
    size_t index, size, labels = 0;
    fuzz_check(is_text(ki_object_name(obj), yyjson_obj_get(metadata, "name")));
    fuzz_check(is_text(ki_object_namespace(obj), yyjson_obj_get(metadata, "namespace")));
    fuzz_check(is_text(ki_object_uid(obj), yyjson_obj_get(metadata, "uid")));
    fuzz_check(is_text(ki_object_resource_version(obj), yyjson_obj_get(metadata, "resourceVersion")));
    yyjson_obj_foreach(yyjson_obj_get(metadata, "labels"), index, size, name, value) {
        if (!yyjson_is_str(value))
            continue;
        fuzz_check(ki_object_label_at(obj, labels++, &label, &label_value));
        fuzz_check(is_text(label, name) && is_text(label_value, value));
    }
    fuzz_check(ki_object_label_count(obj) == labels);
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

static void check_walk(ki_value *value, yyjson_val *expected, int depth);

static void check_member(ki_value *member, yyjson_val *expected, int depth) {
    fuzz_check((member->type == KI_VALUE_BOOL) == yyjson_is_bool(expected));
    fuzz_check((member->type == KI_VALUE_NULL) == yyjson_is_null(expected));
    if (yyjson_is_str(expected))
        fuzz_check(member->type == KI_VALUE_STRING && member->text_size == yyjson_get_len(expected) &&
                   memcmp(member->text, yyjson_get_str(expected), member->text_size) == 0);
    else if (yyjson_is_bool(expected))
        fuzz_check(member->boolean == yyjson_get_bool(expected));
    else if (yyjson_is_num(expected))
        fuzz_check((member->type == KI_VALUE_INT || member->type == KI_VALUE_DOUBLE) &&
                   fabs(member->number - yyjson_get_num(expected)) <= 0);
    else if (yyjson_is_ctn(expected) && depth < WALK_DEPTH_MAX)
        check_walk(member, expected, depth + 1);
}

static void check_walk(ki_value *value, yyjson_val *expected, int depth) {
    ki_value member;
    const char *name;
    size_t index, count;
    yyjson_val *key, *each;
    fuzz_check((value->type == KI_VALUE_OBJECT) == yyjson_is_obj(expected));
    yyjson_obj_foreach(expected, index, count, key, each) {
        fuzz_check(ki_value_next(value, &name, &member));
        fuzz_check(strcmp(name, yyjson_get_str(key)) == 0);
        check_member(&member, each, depth);
    }
    yyjson_arr_foreach(expected, index, count, each) {
        fuzz_check(ki_value_next(value, &name, &member) && !name);
        check_member(&member, each, depth);
    }
    fuzz_check(!ki_value_next(value, &name, &member));
}

/* --- less than all of it ------------------------------------------------------------------------------------------ */

/* Removes metadata.managedFields from the tree, the first of that name that is an array or a map. */
static void remove_managed_fields(yyjson_mut_val *root) {
    size_t index, size;
    yyjson_mut_val *name, *value, *metadata = yyjson_mut_obj_get(root, "metadata");
    yyjson_mut_obj_foreach(metadata, index, size, name, value) {
        if (!yyjson_mut_equals_str(name, "managedFields") || !yyjson_mut_is_ctn(value))
            continue;
        yyjson_mut_obj_iter iter;
        yyjson_mut_obj_iter_init(metadata, &iter);
        while (yyjson_mut_obj_iter_next(&iter) != name) {}
        yyjson_mut_obj_iter_remove(&iter);
        return;
    }
}

/* The object without managedFields is the text without them, member by member, numbers as they were written. */
static void check_without_managed_fields(const ki_object *whole, const ki_object *obj, bool has_escapes) {
    ki_value before = KI_VALUE_INIT, after = KI_VALUE_INIT;
    size_t size;
    fuzz_check(!ki_object_json(whole, &before, NULL) && !ki_object_json(obj, &after, NULL));
    yyjson_doc *doc = yyjson_read(before.text, before.text_size, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_doc *less = yyjson_read(after.text, after.text_size, YYJSON_READ_NUMBER_AS_RAW);
    fuzz_check(doc && less);
    yyjson_mut_doc *expected = yyjson_doc_mut_copy(doc, NULL);
    remove_managed_fields(yyjson_mut_doc_get_root(expected));
    char *wanted = yyjson_mut_write(expected, 0, NULL), *unchanged = yyjson_write(doc, 0, NULL);
    char *found = yyjson_write(less, 0, &size);
    fuzz_check(strcmp(found, wanted) == 0 || (has_escapes && strcmp(found, unchanged) == 0));
    free(wanted);
    free(unchanged);
    free(found);
    yyjson_mut_doc_free(expected);
    yyjson_doc_free(doc);
    yyjson_doc_free(less);
    ki_value_clear(&before);
    ki_value_clear(&after);
}

/* Returns an object that keeps less; NULL if the text is none for this format. */
static ki_object *read_less(ki_str text, bool keep_managed_fields, ki_keep keep) {
    ki_object *obj = NULL, *key_only = NULL;
    ki_object_format *format = new_format(keep_managed_fields, keep);
    ki_error err = KI_ERROR_INIT;
    if (ki_object_from_json(format, text, API_VERSION, KIND, &obj, &err))
        fuzz_check(keep == KI_KEEP_METADATA && err.code == KI_ERR_PARSE);
    if (keep == KI_KEEP_KEYS) {
        fuzz_check(!ki_object_key_only(obj, &key_only, NULL));
        ki_object_unref(obj);
        obj = key_only;
    }
    ki_object_format_unref(format);
    return obj;
}

static size_t count_of(ki_str text, const char *part) {
    size_t count = 0, size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++)
        count += memcmp(text.data + i, part, size) == 0;
    return count;
}

static void check_less(ki_str text, const ki_object *whole) {
    ki_object *plain = read_less(text, false, KI_KEEP_OBJECT);
    check_without_managed_fields(whole, plain, memchr(text.data, '\\', text.size) != NULL);
    static const ki_keep keeps[] = { KI_KEEP_METADATA, KI_KEEP_VIEW, KI_KEEP_KEYS };
    for (size_t i = 0; i < sizeof keeps / sizeof *keeps; i++) {
        ki_object *less = read_less(text, false, keeps[i]), *again = read_less(text, false, keeps[i]);
        fuzz_check(!less == !again);
        if (!less)
            continue;
        fuzz_check(strcmp(ki_object_key(less), ki_object_key(whole)) == 0);
        fuzz_check(ki_object_is_same_state(less, again));
        /* A server writes kind and apiVersion once. What was cut out is in no digest of one piece. */
        if (keeps[i] != KI_KEEP_METADATA && count_of(text, "kind") < 2 && count_of(text, "apiVersion") < 2 &&
            !count_of(text, "managedFields") && !memchr(text.data, '\\', text.size))
            fuzz_check(ki_object_is_same_state(less, plain) && ki_object_is_same_state(plain, less));
        ki_object_unref(less);
        ki_object_unref(again);
    }
    ki_object_unref(plain);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* A packed object, with a codec made of the object alone, is as the plain one. */
static void check_packed(ki_str text, yyjson_val *root) {
    static ki_body_contexts *contexts;
    contexts = contexts ? contexts : ki_body_contexts_new(&ki_allocator_default);
    ki_object_format *format = new_format(true, KI_KEEP_OBJECT);
    ki_object_format_set_pack(format, contexts, 1);
    ki_object *obj = NULL;
    ki_value json = KI_VALUE_INIT, field = KI_VALUE_INIT;
    fuzz_check(!ki_object_from_json(format, text, API_VERSION, KIND, &obj, NULL));
    ki_object_format_train(format, &obj, 1, SIZE_MAX);
    ki_object *packed = ki_object_pack(ki_object_ref(obj));
    fuzz_check(ki_object_is_same_state(obj, packed) && ki_object_is_same_state(packed, obj));
    fuzz_check(!ki_object_json(obj, &json, NULL) && is_body(packed, json.text, json.text_size));
    check_header(packed, root);
    fuzz_check(!ki_object_field(packed, "metadata.name", &field, NULL));
    fuzz_check(strcmp(field.text, ki_object_name(obj)) == 0);
    ki_value_clear(&json);
    ki_value_clear(&field);
    ki_object_unref(packed);
    ki_object_unref(obj);
    ki_object_format_unref(format);
}

static void check_object(ki_object_format *format, ki_str text, const ki_object *obj, yyjson_val *root) {
    ki_object *again = NULL;
    ki_value json = KI_VALUE_INIT;
    ki_buffer expected;
    ki_buffer_init(&expected, &ki_allocator_default, 0);
    write_expected(text, root, &expected);
    fuzz_check(is_body(obj, expected.data, expected.size));
    check_header(obj, root);
    fuzz_check(!ki_object_from_json(format, (ki_str){ expected.data, expected.size }, NULL, NULL, &again, NULL));
    fuzz_check(is_body(again, expected.data, expected.size) && ki_object_is_same_state(obj, again));
    fuzz_check(!ki_object_json(again, &json, NULL));
    yyjson_doc *doc = yyjson_read(expected.data, expected.size, 0);
    check_walk(&json, yyjson_doc_get_root(doc), 0);
    yyjson_doc_free(doc);
    ki_value_clear(&json);
    ki_object_unref(again);
    ki_buffer_free(&expected);
    check_less(text, obj);
    check_packed(text, root);
}

/* A server's text, which is not parsed as a whole, gives the same object. */
static void check_from_server(ki_object_format *format, ki_str text, const ki_object *obj, yyjson_val *root) {
    ki_object *same = NULL;
    ki_value json = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_object_from_server(format, text, API_VERSION, KIND, NULL, &same, &err);
    fuzz_check(!status == (obj != NULL) || status == KI_ERR_LIMIT); /* the limit of nesting */
    if (status)
        return;
    check_header(same, root);
    fuzz_check(ki_object_memory(same) == ki_object_memory(obj) && ki_object_is_same_state(same, obj));
    fuzz_check(!ki_object_json(obj, &json, NULL) && is_body(same, json.text, json.text_size));
    ki_value_clear(&json);
    ki_object_unref(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str text = { (const char *)data, size };
    ki_object_format *format = new_format(true, KI_KEEP_OBJECT);
    ki_object *obj = NULL;
    ki_error err = KI_ERROR_INIT;
    yyjson_doc *doc = size ? yyjson_read(text.data, size, 0) : NULL;
    bool is_valid = doc && is_object(yyjson_doc_get_root(doc));
    fuzz_check(!ki_object_from_json(format, text, API_VERSION, KIND, &obj, &err) == is_valid);
    fuzz_check(is_valid || (err.code == KI_ERR_PARSE && err.message[0]));
    check_from_server(format, text, obj, yyjson_doc_get_root(doc));
    if (is_valid)
        check_object(format, text, obj, yyjson_doc_get_root(doc));
    ki_object_unref(obj);
    yyjson_doc_free(doc);
    ki_object_format_unref(format);
    return 0;
}
