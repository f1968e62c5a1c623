/* schema.c: `kinformer gen`. The first line of the input is what --fields names, empty for all fields; the rest is a
 * document with the schema of "things". */
#include "fuzz/fuzz.h"

#include "cli/gen/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 120
};

/* A header is whole lines of at most 120 bytes. */
static void check_lines(const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        fuzz_check(end != NULL && (size_t)(end - text) - at <= COLUMNS_MAX);
        at = (size_t)(end - text) + 1;
    }
}

static void write_header(const gen_schema *schema, const char *fields, bool is_for_ffi) {
    const gen_request request = { .resource = "things",
                                  .fields = &fields,
                                  .field_count = fields[0] ? 1 : 0,
                                  .command = fields,
                                  .is_for_ffi = is_for_ffi };
    ki_error err = KI_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fuzz_check(out != NULL);
    ki_status status = gen_header_write(schema, &request, out, &err);
    fuzz_check(fclose(out) == 0);
    fuzz_check(status ? size == 0 && err.message[0] : size > 0);
    if (!is_for_ffi)
        check_lines(text, size);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    gen_schema schema;
    ki_error err = KI_ERROR_INIT;
    if (!end)
        return 0;
    char *fields = strndup((const char *)data, (size_t)(end - data));
    const char *document = (const char *)end + 1;
    fuzz_check(fields != NULL);
    if (gen_schema_find(document, size - (size_t)(end - data) - 1, "the input", "things", NULL, &schema, &err)) {
        fuzz_check(err.message[0] != '\0');
    } else {
        write_header(&schema, fields, false);
        write_header(&schema, fields, true);
        gen_schema_free(&schema);
    }
    free(fields);
    return 0;
}
