/* values.c: see values.h. */
#include "values.h"

#include "print/cells.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    ANNOTATION_MAX = 140 /* bytes of an annotation on one line */
};

yyjson_val *value_at(yyjson_val *root, const char *path) {
    return ki_cell_at(root, path);
}

const char *text_of(yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    return text ? text : "";
}

const char *text_at(yyjson_val *root, const char *path) {
    return text_of(value_at(root, path));
}

int64_t integer_at(yyjson_val *root, const char *path) {
    return yyjson_get_sint(value_at(root, path));
}

bool is_true_at(yyjson_val *root, const char *path) {
    return yyjson_is_true(value_at(root, path));
}

void write_int_or_string(sheet *s, yyjson_val *value) {
    if (yyjson_is_str(value))
        sheet_write(s, 0, "%s", yyjson_get_str(value));
    else
        sheet_write(s, 0, "%" PRId64, yyjson_get_sint(value));
}

/* ---- times ---- */

static bool read_time(yyjson_val *time, int64_t *ret_seconds, int64_t *ret_nanoseconds) {
    ki_str text = { yyjson_get_str(time), yyjson_get_len(time) };
    return text.data && ki_rfc3339_parse(text, ret_seconds, ret_nanoseconds);
}

const char *time_text(yyjson_val *time, char text[TIME_SIZE]) {
    int64_t seconds, nanoseconds;
    struct tm local;
    if (!read_time(time, &seconds, &nanoseconds) || !localtime_r(&(time_t){ seconds }, &local) ||
        !strftime(text, TIME_SIZE, "%a, %d %b %Y %H:%M:%S %z", &local))
        snprintf(text, TIME_SIZE, "Mon, 01 Jan 0001 00:00:00 +0000"); /* Go's time without a value */
    return text;
}

const char *age_text(yyjson_val *time, int64_t now_ms, char text[AGE_SIZE]) {
    int64_t seconds, nanoseconds;
    ki_buffer age;
    ki_buffer_init(&age, &ki_allocator_default, AGE_SIZE);
    if (read_time(time, &seconds, &nanoseconds))
        ki_cell_append_duration(&age, now_ms - seconds * 1000 - nanoseconds / 1000000);
    snprintf(text, AGE_SIZE, "%s", age.size ? age.data : "<unknown>");
    ki_buffer_free(&age);
    return text;
}

/* ---- labels and annotations ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const named_value *)a)->name, ((const named_value *)b)->name);
}

named_value *members_sorted(sheet *s, yyjson_val *object, size_t *ret_count) {
    size_t count = yyjson_obj_size(object), index, max;
    named_value *members = count ? malloc(count * sizeof *members) : NULL;
    yyjson_val *key, *value;
    *ret_count = 0;
    if (!members) {
        s->has_failed |= count != 0;
        return NULL;
    }
    yyjson_obj_foreach(object, index, max, key, value) {
        members[(*ret_count)++] = (named_value){ yyjson_get_str(key), value };
    }
    qsort(members, count, sizeof *members, by_name);
    return members;
}

yyjson_val **elements_sorted(sheet *s, yyjson_val *array, int (*order)(const void *, const void *)) {
    size_t size = yyjson_arr_size(array), index, count;
    yyjson_val **sorted = size ? malloc(size * sizeof(yyjson_val *)) : NULL;
    yyjson_val *element;
    s->has_failed |= size && !sorted;
    if (!sorted)
        return NULL;
    yyjson_arr_foreach(array, index, count, element) {
        sorted[index] = element;
    }
    qsort(sorted, size, sizeof(yyjson_val *), order);
    return sorted;
}

void write_labels(sheet *s, const char *title, yyjson_val *labels) {
    size_t count;
    named_value *members = members_sorted(s, labels, &count);
    sheet_write(s, 0, "%s:\t", title);
    if (!count)
        sheet_write(s, 0, "<none>\n");
    for (size_t i = 0; i < count; i++) {
        if (i) {
            sheet_write(s, 0, "%s", ""); /* kubectl writes its indent twice */
            sheet_write(s, 0, "\t");
        }
        sheet_write(s, 0, "%s=%s\n", members[i].name, text_of(members[i].value));
    }
    free(members);
}

/* Writes an annotation's lines under its name, each cut. */
static void write_lines(sheet *s, const char *value, size_t size) {
    for (const char *line = value, *end = value + size; line <= end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        bool is_long = length > ANNOTATION_MAX - 2;
        sheet_write(s, 0, "\t  %.*s%s\n", is_long ? ANNOTATION_MAX - 2 : (int)length, line, is_long ? "..." : "");
        line += length + 1;
    }
}

static void write_annotation(sheet *s, const char *name, const char *value) {
    size_t size = strlen(value);
    size -= size && value[size - 1] == '\n';
    if (size + strlen(name) + 2 > ANNOTATION_MAX || memchr(value, '\n', size)) {
        sheet_write(s, 0, "%s:\n", name);
        write_lines(s, value, size);
    } else {
        sheet_write(s, 0, "%s: %.*s\n", name, (int)size, value);
    }
}

void write_annotations(sheet *s, const char *title, yyjson_val *annotations) {
    size_t count, written = 0;
    named_value *members = members_sorted(s, annotations, &count);
    sheet_write(s, 0, "%s:\t", title);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(members[i].name, "kubectl.kubernetes.io/last-applied-configuration") == 0)
            continue;
        if (written++)
            sheet_write(s, 0, "\t");
        write_annotation(s, members[i].name, text_of(members[i].value));
    }
    if (!written)
        sheet_write(s, 0, "<none>\n");
    free(members);
}

void write_text(sheet *s, const char *title, yyjson_val *root, const char *path) {
    const char *text = text_at(root, path);
    if (*text)
        sheet_write(s, 0, "%s:\t%s\n", title, text);
}

void write_joined(sheet *s, yyjson_val *texts, const char *between) {
    yyjson_val *text;
    size_t index, count;
    yyjson_arr_foreach(texts, index, count, text) {
        sheet_write(s, 0, "%s%s", index ? between : "", text_of(text));
    }
}

bool write_controller(sheet *s, const char *title, yyjson_val *object) {
    yyjson_val *owner;
    size_t index, count;
    yyjson_arr_foreach(value_at(object, "metadata.ownerReferences"), index, count, owner) {
        if (!is_true_at(owner, "controller"))
            continue;
        sheet_write(s, 0, "%s:\t%s/%s\n", title, text_at(owner, "kind"), text_at(owner, "name"));
        return true;
    }
    return false;
}
