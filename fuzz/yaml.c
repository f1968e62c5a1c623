/* yaml.c: the YAML reader. The documents of a file are read one by one, as `serve --load` does. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "src/base/yaml_tree.h"

#include <yyjson.h>

enum {
    JSON_MAX = 1024 * 1024
};

static void read_document(ki_str document) {
    const ki_yaml_options options = { .keeps_equal_keys = document.size % 2 };
    ki_error err = KI_ERROR_INIT;
    ki_buffer json;
    ki_buffer_init(&json, &ki_allocator_default, JSON_MAX);
    ki_status status = ki_yaml_to_json(document, &options, &json, &err);
    fuzz_check((status == KI_OK) != (err.message[0] != '\0'));
    if (!status) {
        yyjson_doc *doc = yyjson_read(json.data, json.size, 0);
        fuzz_check(doc != NULL);
        yyjson_doc_free(doc);
    }
    ki_buffer_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str rest = { (const char *)data, size }, document;
    size_t sum = 0;
    read_document(rest);
    while (ki_yaml_next_document(&rest, &document)) {
        sum += document.size;
        read_document(document);
    }
    fuzz_check(sum == size);
    return 0;
}
