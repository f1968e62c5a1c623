/* yaml_write.c: see yaml_write.h. Uses libyaml's emitter with kubectl's settings; kubectl's emitter is a port of it. */
#include "yaml_write.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include <yyjson.h>

typedef struct writer {
    yaml_emitter_t emitter;
    const ki_jsonpath *number;
    ki_status status;
} writer;

typedef struct member {
    yyjson_val *name;
    yyjson_val *value;
} member;

static void fail(writer *w, ki_status status) {
    if (!w->status)
        w->status = status;
}

/* Emits an event; libyaml frees it in every case. */
static void emit(writer *w, int is_made, yaml_event_t *event) {
    if (!is_made || !yaml_emitter_emit(&w->emitter, event))
        fail(w, is_made && w->emitter.error == YAML_WRITER_ERROR ? KI_ERR_CLOSED : KI_ERR_NO_MEMORY);
}

static void write_scalar(writer *w, const char *text, size_t size, yaml_scalar_style_t style) {
    yaml_event_t event;
    int is_made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)size, 1, 1, style);
    emit(w, is_made, &event);
}

static void write_text(writer *w, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t size = yyjson_get_len(value);
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;
    if (size > INT32_MAX) {
        fail(w, KI_ERR_LIMIT);
        return;
    }
    if (memchr(text, '\n', size))
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (yaml_is_ambiguous(text, size))
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    write_scalar(w, text, size, style);
}

/* Writes a name. Quotes "<<", which YAML would read as a merge. kubectl does not, and cannot read its own output
 * back. */
static void write_name(writer *w, yyjson_val *name) {
    if (yyjson_equals_str(name, "<<"))
        write_scalar(w, "<<", 2, YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    else
        write_text(w, name);
}

static void write_number(writer *w, yyjson_val *value) {
    char text[64] = "";
    if (yyjson_is_sint(value)) {
        snprintf(text, sizeof text, "%lld", (long long)yyjson_get_sint(value));
    } else if (yyjson_is_uint(value)) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)yyjson_get_uint(value));
    } else {
        double number = yyjson_get_num(value);
        char *json = yyjson_val_write(value, 0, NULL);
        ki_jsonpath_text printed = KI_JSONPATH_TEXT_INIT;
        if (number > -1e15 && number < 1e15 && number == (double)(long long)number)
            snprintf(text, sizeof text, "%lld", (long long)number);
        else if (json && ki_jsonpath_print(w->number, json, strlen(json), &printed, NULL) == KI_OK)
            snprintf(text, sizeof text, "%s", printed.data);
        else
            fail(w, KI_ERR_NO_MEMORY);
        ki_jsonpath_text_clear(&printed);
        free(json);
    }
    write_scalar(w, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static void write_value(writer *w, yyjson_val *value, int depth);

static int by_name(const void *a, const void *b) {
    const member *left = a;
    const member *right = b;
    int order = yaml_compare_names(yyjson_get_str(left->name), yyjson_get_len(left->name), yyjson_get_str(right->name),
                                   yyjson_get_len(right->name));
    return order ? order : (left->name > right->name) - (left->name < right->name);
}

/* Returns true for the last of the members with one name: as in kubectl the last one counts, and YAML allows one. */
static bool is_last_of_name(const member *members, size_t count, size_t index) {
    return index + 1 == count || !yyjson_equals(members[index].name, members[index + 1].name);
}

static void write_object(writer *w, yyjson_val *object, int depth) {
    yaml_event_t event;
    size_t count = yyjson_obj_size(object);
    size_t used = 0;
    yyjson_obj_iter names;
    yyjson_val *name;
    member *members = calloc(count + 1, sizeof *members);
    if (!members) {
        fail(w, KI_ERR_NO_MEMORY);
        return;
    }
    yyjson_obj_iter_init(object, &names);
    while (used < count && (name = yyjson_obj_iter_next(&names)))
        members[used++] = (member){ name, yyjson_obj_iter_get_val(name) };
    qsort(members, used, sizeof *members, by_name);
    emit(w, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE), &event);
    for (size_t i = 0; i < used && !w->status; i++) {
        if (!is_last_of_name(members, used, i))
            continue;
        write_name(w, members[i].name);
        write_value(w, members[i].value, depth + 1);
    }
    free(members);
    if (!w->status)
        emit(w, yaml_mapping_end_event_initialize(&event), &event);
}

static void write_array(writer *w, yyjson_val *array, int depth) {
    yaml_event_t event;
    yyjson_arr_iter elements;
    yyjson_val *element;
    yyjson_arr_iter_init(array, &elements);
    emit(w, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE), &event);
    while (!w->status && (element = yyjson_arr_iter_next(&elements)))
        write_value(w, element, depth + 1);
    if (!w->status)
        emit(w, yaml_sequence_end_event_initialize(&event), &event);
}

static void write_value(writer *w, yyjson_val *value, int depth) {
    if (w->status)
        return;
    if (depth > KI_JSONPATH_MAX_NESTING) {
        fail(w, KI_ERR_LIMIT);
        return;
    }
    if (yyjson_is_obj(value))
        write_object(w, value, depth);
    else if (yyjson_is_arr(value))
        write_array(w, value, depth);
    else if (yyjson_is_str(value))
        write_text(w, value);
    else if (yyjson_is_num(value))
        write_number(w, value);
    else if (yyjson_is_bool(value))
        write_scalar(w, yyjson_get_bool(value) ? "true" : "false", yyjson_get_bool(value) ? 4 : 5,
                     YAML_PLAIN_SCALAR_STYLE);
    else
        write_scalar(w, "null", 4, YAML_PLAIN_SCALAR_STYLE);
}

static int write_bytes(void *user, unsigned char *bytes, size_t size) {
    return fwrite(bytes, 1, size, user) == size;
}

static ki_status set_error(ki_status status, ki_error *err) {
    if (err) {
        err->code = status;
        snprintf(err->message, sizeof err->message, "cannot write YAML: %s", ki_status_name(status));
    }
    return status;
}

ki_status yaml_write(FILE *out, const char *json, size_t size, const ki_jsonpath *number, ki_error *err) {
    writer w = { .number = number };
    yaml_event_t event;
    yyjson_read_err why;
    /* yyjson does not change the text without YYJSON_READ_INSITU */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, size, 0, NULL, &why);
    if (!doc)
        return set_error(why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? KI_ERR_NO_MEMORY : KI_ERR_PARSE, err);
    if (!yaml_emitter_initialize(&w.emitter)) {
        yyjson_doc_free(doc);
        return set_error(KI_ERR_NO_MEMORY, err);
    }
    yaml_emitter_set_output(&w.emitter, write_bytes, out);
    yaml_emitter_set_unicode(&w.emitter, 1);
    emit(&w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
    if (!w.status)
        emit(&w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
    write_value(&w, yyjson_doc_get_root(doc), 1);
    if (!w.status)
        emit(&w, yaml_document_end_event_initialize(&event, 1), &event);
    if (!w.status && !yaml_emitter_flush(&w.emitter))
        fail(&w, KI_ERR_CLOSED);
    yaml_emitter_delete(&w.emitter);
    yyjson_doc_free(doc);
    if (w.status == KI_ERR_CLOSED) /* the stream keeps the error; output_flush reports it */
        return KI_OK;
    return w.status ? set_error(w.status, err) : KI_OK;
}
