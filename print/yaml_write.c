/* yaml_write.c: writes JSON as YAML; see kinformer-print/yaml.h. Uses libyaml's emitter with kubectl's settings;
 * kubectl's emitter is a port of it. */
#include <kinformer-print/yaml.h>

#include "print/jsonpath.h"
#include "print/yaml_text.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include <yyjson.h>

typedef struct writer {
    const ki_allocator *allocator;
    yaml_emitter_t emitter;
    bool (*write)(const char *text, size_t size, void *user) KI_NOEXCEPT;
    void *user;
    ki_status status;
} writer;

typedef struct member {
    yyjson_val *name;
    yyjson_val *value;
} member;

static void fail_writer(writer *w, ki_status status) {
    if (!w->status)
        w->status = status;
}

/* Emits an event; libyaml frees it in every case. */
static void emit(writer *w, int is_made, yaml_event_t *event) {
    if (!is_made || !yaml_emitter_emit(&w->emitter, event))
        fail_writer(w, is_made && w->emitter.error == YAML_WRITER_ERROR ? KI_ERR_CLOSED : KI_ERR_NO_MEMORY);
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
        fail_writer(w, KI_ERR_LIMIT);
        return;
    }
    if (memchr(text, '\n', size))
        style = YAML_LITERAL_SCALAR_STYLE;
    else if (ki_yaml_is_ambiguous(w->allocator, text, size))
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
        ki_buffer printed;
        ki_buffer_init(&printed, w->allocator, 0);
        if (number > -1e15 && number < 1e15 && number == (double)(long long)number)
            ki_buffer_printf(&printed, "%lld", (long long)number);
        else
            ki_append_go_double(&printed, number);
        if (printed.failed)
            fail_writer(w, KI_ERR_NO_MEMORY);
        else
            snprintf(text, sizeof text, "%.*s", (int)printed.size, printed.data);
        ki_buffer_free(&printed);
    }
    write_scalar(w, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static void write_value(writer *w, yyjson_val *value, int depth);

static int by_name(const void *a, const void *b) {
    const member *left = a;
    const member *right = b;
    int order = ki_yaml_compare_names(yyjson_get_str(left->name), yyjson_get_len(left->name),
                                      yyjson_get_str(right->name), yyjson_get_len(right->name));
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
    member *members = ki_alloc_array(w->allocator, count + 1, sizeof *members);
    if (!members) {
        fail_writer(w, KI_ERR_NO_MEMORY);
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
    ki_free(w->allocator, members);
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
    if (depth > KI_YAML_MAX_NESTING) {
        fail_writer(w, KI_ERR_LIMIT);
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
    writer *w = user;
    return w->write((const char *)bytes, size, w->user);
}

static void write_document(writer *w, yyjson_val *value) {
    yaml_event_t event;
    yaml_emitter_set_output(&w->emitter, write_bytes, w);
    yaml_emitter_set_unicode(&w->emitter, 1);
    emit(w, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
    if (!w->status)
        emit(w, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
    write_value(w, value, 1);
    if (!w->status)
        emit(w, yaml_document_end_event_initialize(&event, 1), &event);
    if (!w->status && !yaml_emitter_flush(&w->emitter))
        fail_writer(w, KI_ERR_CLOSED);
}

ki_status ki_yaml_write(const ki_allocator *allocator, const char *json, size_t size,
                        bool (*write)(const char *text, size_t size, void *user) KI_NOEXCEPT, void *user,
                        ki_error *err) {
    writer w = { .allocator = allocator ? allocator : &ki_allocator_default, .write = write, .user = user };
    yyjson_read_err why;
    if (!json || !write)
        return ki_error_set(err, KI_ERR_INVALID, "YAML needs JSON, and a function that takes the text");
    /* yyjson does not change the text without YYJSON_READ_INSITU */
    const yyjson_alc alc = ki_json_allocator(w.allocator);
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, size, 0, &alc, &why);
    if (!doc)
        w.status = why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? KI_ERR_NO_MEMORY : KI_ERR_PARSE;
    else if (!yaml_emitter_initialize(&w.emitter))
        w.status = KI_ERR_NO_MEMORY;
    if (!w.status) {
        write_document(&w, yyjson_doc_get_root(doc));
        yaml_emitter_delete(&w.emitter);
    }
    yyjson_doc_free(doc);
    return w.status ? ki_error_set(err, w.status, "cannot write YAML: %s", ki_status_name(w.status)) : KI_OK;
}
