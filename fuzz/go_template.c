/* go_template.c: a Go template, a zero byte, and a document. */
#include "fuzz/fuzz.h"

#include "print/go_template.h"
#include "src/base/memory.h"

#include <string.h>

enum {
    OUTPUT_MAX = 64 * 1024
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const ki_jsonpath_options options = { .size = sizeof options,
                                          .allow_missing_keys = true,
                                          .max_output = OUTPUT_MAX };
    ki_str json, text = ki_str_split((ki_str){ (const char *)data, size }, '\0', &json);
    ki_go_template *template = NULL;
    ki_jsonpath_text printed = KI_JSONPATH_TEXT_INIT;
    ki_error err = KI_ERROR_INIT;
    char *copy = ki_strndup(&ki_allocator_default, text.data ? text.data : "", text.size);
    ki_status status = ki_go_template_new(copy, &options, &template, &err);
    if (!status)
        status = ki_go_template_print(template, json.data ? json.data : "", json.size, &printed, &err);
    fuzz_check(!status || *ki_error_message(&err));
    fuzz_check(printed.size <= OUTPUT_MAX);
    ki_jsonpath_text_clear(&printed);
    ki_go_template_free(template);
    ki_free(&ki_allocator_default, copy);
    return 0;
}
