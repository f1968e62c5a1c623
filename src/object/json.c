/* json.c: connects yyjson to ki_allocator and ki_error. */
#include "src/object/json.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json_library.h"

static const ki_allocator *of(void *context) {
    return context;
}

static void *json_alloc(void *context, size_t size) {
    return ki_alloc(of(context), size);
}

static void *json_realloc(void *context, void *memory, size_t old_size, size_t size) {
    (void)old_size;
    return ki_realloc_array(of(context), memory, size, 1);
}

static void json_free(void *context, void *memory) {
    ki_free(of(context), memory);
}

yyjson_alc ki_json_allocator(const ki_allocator *allocator) {
    /* yyjson passes the context back and never writes through it. */
    return (yyjson_alc){ json_alloc, json_realloc, json_free, (void *)(uintptr_t)allocator };
}

static ki_status parse(const ki_allocator *allocator, char *text, size_t size, yyjson_read_flag flags,
                       yyjson_doc **ret_doc, ki_error *err) {
    if (ki_json_check_library(err))
        return KI_ERR_UNSUPPORTED;
    yyjson_alc alc = ki_json_allocator(allocator);
    yyjson_read_err failure;
    yyjson_doc *doc = yyjson_read_opts(text, size, flags, &alc, &failure);
    if (doc) {
        *ret_doc = doc;
        return KI_OK;
    }
    if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return ki_error_no_memory(err, "parsing JSON");
    return ki_error_set(err, KI_ERR_PARSE, "not valid JSON: %s at byte %zu of %zu", failure.msg, failure.pos, size);
}

static ki_status parse_borrowed(const ki_allocator *allocator, ki_str text, yyjson_read_flag flags,
                                yyjson_doc **ret_doc, ki_error *err) {
    if (text.size == 0)
        return ki_error_set(err, KI_ERR_PARSE, "not valid JSON: empty");
    /* Without YYJSON_READ_INSITU yyjson does not write into the text. */
    return parse(allocator, (char *)(uintptr_t)text.data, text.size, flags, ret_doc, err);
}

ki_status ki_json_parse(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, ki_error *err) {
    return parse_borrowed(allocator, text, YYJSON_READ_NOFLAG, ret_doc, err);
}

ki_status ki_json_parse_exact(const ki_allocator *allocator, ki_str text, yyjson_doc **ret_doc, ki_error *err) {
    return parse_borrowed(allocator, text, YYJSON_READ_NUMBER_AS_RAW, ret_doc, err);
}

ki_status ki_json_parse_in_place(const ki_allocator *allocator, char *text, size_t size, yyjson_doc **ret_doc,
                                 ki_error *err) {
    if (size == 0)
        return ki_error_set(err, KI_ERR_PARSE, "not valid JSON: empty");
    return parse(allocator, text, size, YYJSON_READ_INSITU, ret_doc, err);
}

ki_str ki_json_string(yyjson_val *object, const char *name) {
    yyjson_val *value = yyjson_obj_get(object, name);
    if (!yyjson_is_str(value))
        return (ki_str){ NULL, 0 };
    return (ki_str){ yyjson_get_str(value), yyjson_get_len(value) };
}

bool ki_json_is_string_or_none(yyjson_val *object, const char *name) {
    yyjson_val *value = yyjson_obj_get(object, name);
    return !value || yyjson_is_null(value) || yyjson_is_str(value);
}
