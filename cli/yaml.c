/* yaml.c: see yaml.h. */
#include "yaml.h"

#include "src/base/memory.h"
#include "src/base/yaml_tree.h"

#include <stdio.h>

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
            json.size = start;
        else
            status = ki_buffer_append_char(&json, '\n');
    }
    char *lines = status ? NULL : ki_buffer_take(&json, ret_size);
    ki_buffer_free(&json);
    if (!lines && !status)
        snprintf(why, 256, "out of memory");
    return lines;
}
