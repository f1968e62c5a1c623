/* paths.c: a field path, a line feed, and a document. The values that the path leads to are the same in the parsed
 * document and in its text. */
#include "fuzz/fuzz.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/path.h"

/* Writes a path that is parsed to the same steps. Paths with other steps have other texts. */
static void write_path(const ki_path *path, ki_buffer *out) {
    for (size_t i = 0; i < ki_path_step_count(path); i++) {
        const ki_path_step *step = ki_path_step_at(path, i);
        if (!step->name) {
            if (step->index == KI_PATH_ALL)
                ki_buffer_append_string(out, "[*]");
            else
                ki_buffer_printf(out, "[%lld]", (long long)step->index);
            continue;
        }
        ki_buffer_append_string(out, "['");
        for (size_t c = 0; c < step->name_size; c++) {
            if (step->name[c] == '\'' || step->name[c] == '\\')
                ki_buffer_append_char(out, '\\');
            ki_buffer_append_char(out, step->name[c]);
        }
        ki_buffer_append_string(out, "']");
    }
    fuzz_check(!out->failed);
}

static void check_written(const ki_path *path) {
    ki_path *again = NULL;
    ki_buffer text, text_again;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_buffer_init(&text_again, &ki_allocator_default, 0);
    write_path(path, &text);
    if (text.size <= KI_PATH_MAX_LENGTH) {
        fuzz_check(!ki_path_parse(&ki_allocator_default, text.data, &again, NULL));
        write_path(again, &text_again);
        fuzz_check(text_again.size == text.size && memcmp(text_again.data, text.data, text.size) == 0);
        ki_path_free(&ki_allocator_default, again);
    }
    ki_buffer_free(&text);
    ki_buffer_free(&text_again);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Appends a value as yyjson writes it, numbers as they were read. */
static bool add_parsed(yyjson_val *value, void *user) {
    size_t size;
    char *text = yyjson_val_write(value, 0, &size);
    fuzz_check(text && !ki_buffer_append(user, text, size) && !ki_buffer_append_char(user, '\n'));
    free(text);
    return true;
}

static bool add_text(ki_str value, void *user) {
    yyjson_doc *doc = yyjson_read(value.data, value.size, YYJSON_READ_NUMBER_AS_RAW);
    fuzz_check(doc != NULL);
    add_parsed(yyjson_doc_get_root(doc), user);
    yyjson_doc_free(doc);
    return true;
}

static bool note_first(ki_str value, void *user) {
    *(ki_str *)user = value;
    return false;
}

/* Returns true if an index is past the end of its array, and so no value is at the path. */
static bool is_past_end(const ki_path *path, yyjson_val *root) {
    yyjson_val *at = root, *parent = NULL;
    const ki_path_step *step = NULL;
    for (size_t i = 0; i < ki_path_step_count(path) && at; i++) {
        step = ki_path_step_at(path, i);
        parent = at;
        int64_t count = (int64_t)yyjson_arr_size(at), index = step->index < 0 ? step->index + count : step->index;
        at = step->name                    ? yyjson_obj_getn(at, step->name, step->name_size)
             : index < 0 || index >= count ? NULL
                                           : yyjson_arr_get(at, (size_t)index);
    }
    return !at && !step->name && yyjson_is_arr(parent);
}

static void check_field(const ki_path *path, const char *text, const ki_object *obj, yyjson_val *root) {
    ki_value value = KI_VALUE_INIT;
    ki_status status = ki_object_field(obj, text, &value, NULL);
    yyjson_val *found = ki_path_find(path, root);
    if (ki_path_has_all(path))
        fuzz_check(!status && value.type == KI_VALUE_ARRAY);
    else if (found)
        fuzz_check(!status);
    else
        fuzz_check(status == (is_past_end(path, root) ? KI_ERR_END : KI_ERR_NOT_FOUND));
    ki_value_clear(&value);
}

static void check_document(const ki_path *path, const char *text, ki_str json) {
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    fuzz_check(!ki_object_format_new(NULL, &KI_OBJECT_FORMAT_OPTIONS(.keep_managed_fields = true), &format, NULL));
    if (!ki_object_from_json(format, json, NULL, NULL, &obj, NULL)) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, YYJSON_READ_NUMBER_AS_RAW);
        ki_buffer parsed, scanned;
        ki_str first = { NULL, 0 };
        fuzz_check(doc != NULL);
        ki_buffer_init(&parsed, &ki_allocator_default, 0);
        ki_buffer_init(&scanned, &ki_allocator_default, 0);
        ki_path_walk(path, yyjson_doc_get_root(doc), add_parsed, &parsed);
        ki_path_walk_object(path, obj, add_text, &scanned);
        fuzz_check(ki_str_equal((ki_str){ parsed.data, parsed.size }, (ki_str){ scanned.data, scanned.size }));
        ki_path_walk_object(path, obj, note_first, &first);
        fuzz_check((first.data != NULL) == (ki_path_find(path, yyjson_doc_get_root(doc)) != NULL));
        check_field(path, text, obj, yyjson_doc_get_root(doc));
        ki_buffer_free(&parsed);
        ki_buffer_free(&scanned);
        yyjson_doc_free(doc);
        ki_object_unref(obj);
    }
    ki_object_format_unref(format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str json, line = ki_str_split((ki_str){ (const char *)data, size }, '\n', &json);
    char *text = ki_strndup(&ki_allocator_default, line.data ? line.data : "", line.size);
    ki_error err = KI_ERROR_INIT;
    ki_path *path = NULL;
    fuzz_check(text != NULL);
    if (ki_path_parse(&ki_allocator_default, text, &path, &err)) {
        fuzz_check(err.code == KI_ERR_PARSE && err.message[0]);
    } else {
        fuzz_check(ki_path_step_count(path) > 0 && ki_path_step_count(path) <= KI_PATH_MAX_STEPS);
        check_written(path);
        if (json.size)
            check_document(path, text, json);
        ki_path_free(&ki_allocator_default, path);
    }
    free(text);
    return 0;
}
