/* yaml.c: see yaml.h. */
#include "yaml.h"

#include "src/base/memory.h"
#include "src/base/yaml_tree.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_MAX = 5 * 1000 * 1000, /* of one document */
    JSON_MAX = 256 * 1024 * 1024  /* bytes of all documents; aliases are written out */
};

char *yaml_to_json(const char *text, size_t size, size_t *ret_size, char why[256]) {
    const ki_yaml_options options = { .node_limit = VALUES_MAX };
    ki_error err = KI_ERROR_INIT;
    ki_buffer json;
    ki_str rest = { text, size }, document;
    ki_status status = KI_OK;
    ki_buffer_init(&json, &ki_allocator_default, JSON_MAX);
    for (size_t number = 1; !status && ki_yaml_next_document(&rest, &document); number++) {
        size_t start = json.size;
        status = ki_yaml_to_json(document, &options, &json, &err);
        if (status)
            snprintf(why, 256, "document %zu: %s", number, ki_error_message(&err));
        else if (ki_str_equals((ki_str){ json.data + start, json.size - start }, "null"))
            ki_buffer_truncate(&json, start);
        else
            status = ki_buffer_append_char(&json, '\n');
    }
    char *lines = status ? NULL : ki_buffer_take(&json, ret_size);
    ki_buffer_free(&json);
    if (!lines && !status)
        snprintf(why, 256, "out of memory");
    return lines;
}

static char *fail_read(ki_error *err, ki_status code, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

static char *fail_read(ki_error *err, ki_status code, const char *format, ...) {
    va_list args;
    *err = (ki_error)KI_ERROR_INIT;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return NULL;
}

/* Reads up to `max` bytes. Returns NULL on failure. */
static char *read_all(FILE *file, const char *path, size_t max, size_t *ret_size, ki_error *err) {
    char *text = NULL;
    size_t capacity = 0, size = 0, got;
    do {
        if (capacity - size < 65536) {
            capacity = capacity ? capacity * 2 : 262144;
            char *more = realloc(text, capacity);
            if (!more) {
                free(text);
                return fail_read(err, KI_ERR_NO_MEMORY, "cannot read %s: out of memory", path);
            }
            text = more;
        }
        errno = 0;
        got = fread(text + size, 1, capacity - size - 1, file);
        size += got;
    } while (got && size <= max);
    if (size <= max && !ferror(file)) {
        text[size] = '\0';
        *ret_size = size;
        return text;
    }
    free(text);
    return size > max ? fail_read(err, KI_ERR_LIMIT, "%s is larger than %zu bytes", path, max)
                      : fail_read(err, KI_ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
}

char *yaml_read_file(const char *path, size_t max, size_t *ret_size, ki_error *err) {
    char why[256];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file)
        return fail_read(err, KI_ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    char *text = read_all(file, path, max, ret_size, err);
    if (file != stdin)
        fclose(file);
    size_t start = text ? strspn(text, " \t\r\n") : 0;
    if (!text || start == *ret_size || text[start] == '{')
        return text;
    char *json = yaml_to_json(text, *ret_size, ret_size, why);
    free(text);
    return json ? json : fail_read(err, KI_ERR_PARSE, "%s: %s", path, why);
}
