/* json.c: connects yyjson to ki_allocator and ki_error. */
#include "src/object/json.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdatomic.h>

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

enum {
    NOT_ASKED = 0, /* a version of yyjson is never 0 */
    PATCH_BITS = 8 /* 0x000A00 is 0.10.0 */
};

ki_status ki_json_check_library(ki_error *err) {
    static _Atomic uint32_t loaded = NOT_ASKED;
    uint32_t version = atomic_load_explicit(&loaded, memory_order_relaxed);
    if (version == NOT_ASKED) {
        version = yyjson_version();
        atomic_store_explicit(&loaded, version, memory_order_relaxed);
    }
    if (version >> PATCH_BITS == YYJSON_VERSION_HEX >> PATCH_BITS)
        return KI_OK;
    return ki_error_set(err, KI_ERR_UNSUPPORTED,
                        "the process has yyjson %u.%u.%u, and kinformer was built for %s: their structs may differ; "
                        "build kinformer with KI_YYJSON_SOURCE, which gives it a yyjson of its own",
                        version >> 16, version >> 8 & 0xff, version & 0xff, YYJSON_VERSION_STRING);
}

static ki_status parse_with(const yyjson_alc *alc, char *text, size_t size, yyjson_read_flag flags,
                            yyjson_doc **ret_doc, ki_error *err) {
    if (ki_json_check_library(err))
        return KI_ERR_UNSUPPORTED;
    yyjson_read_err failure;
    yyjson_doc *doc = yyjson_read_opts(text, size, flags, alc, &failure);
    if (doc) {
        *ret_doc = doc;
        return KI_OK;
    }
    if (failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
        return ki_error_no_memory(err, "parsing JSON");
    return ki_error_set(err, KI_ERR_PARSE, "not valid JSON: %s at byte %zu of %zu", failure.msg, failure.pos, size);
}

static ki_status parse(const ki_allocator *allocator, char *text, size_t size, yyjson_read_flag flags,
                       yyjson_doc **ret_doc, ki_error *err) {
    yyjson_alc alc = ki_json_allocator(allocator);
    return parse_with(&alc, text, size, flags, ret_doc, err);
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

/* --- memory for one text ------------------------------------------------------------------------------------------ */

enum {
    TREE_HEAD = 256,   /* bytes of a tree besides its values */
    TREE_PER_BYTE = 4, /* yyjson begins with a value (16 bytes) for 6 bytes of text, and continues with half as many */
    ROOM_ALIGNMENT = 16
};

size_t ki_json_room_size(size_t size) {
    return size + YYJSON_PADDING_SIZE + ROOM_ALIGNMENT + TREE_HEAD + TREE_PER_BYTE * size;
}

/* The first block is the room's; further ones, and one that is too large, are the allocator's. */
static void *room_alloc(void *context, size_t size) {
    ki_json_room *room = context;
    if (room->is_taken || size > room->tree_size)
        return ki_alloc(room->allocator, size);
    room->is_taken = true;
    return room->tree;
}

static void *room_realloc(void *context, void *memory, size_t old_size, size_t size) {
    ki_json_room *room = context;
    if (memory != room->tree)
        return ki_realloc_array(room->allocator, memory, size, 1);
    if (size <= room->tree_size)
        return memory;
    void *moved = ki_alloc(room->allocator, size);
    if (moved)
        memcpy(moved, memory, old_size < size ? old_size : size);
    return moved;
}

static void room_free(void *context, void *memory) {
    ki_json_room *room = context;
    if (memory != room->tree)
        ki_free(room->allocator, memory);
}

ki_status ki_json_room_parse(ki_json_room *room, const ki_allocator *allocator, char *memory, size_t size,
                             yyjson_doc **ret_doc, ki_error *err) {
    if (size == 0)
        return ki_error_set(err, KI_ERR_PARSE, "not valid JSON: empty");
    memset(memory + size, 0, YYJSON_PADDING_SIZE);
    size_t tree_at = (size + YYJSON_PADDING_SIZE + ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT * ROOM_ALIGNMENT;
    *room = (ki_json_room){ .allocator = allocator,
                            .tree = memory + tree_at,
                            .tree_size = TREE_HEAD + TREE_PER_BYTE * size };
    const yyjson_alc alc = { room_alloc, room_realloc, room_free, room };
    return parse_with(&alc, memory, size, YYJSON_READ_INSITU, ret_doc, err);
}

bool ki_json_is_deep(yyjson_doc *doc, size_t limit) {
    size_t count = yyjson_doc_get_val_count(doc), depth = 0;
    if (count <= limit)
        return false;
    /* A document's values stand one behind the other in the order of the text. */
    yyjson_val *ends[KI_JSON_DEPTH_MAX], *value = yyjson_doc_get_root(doc), *end = value + count;
    for (; value < end; value++) {
        while (depth && value >= ends[depth - 1])
            depth--;
        if (!unsafe_yyjson_is_ctn(value))
            continue;
        if (depth == limit)
            return true;
        ends[depth++] = unsafe_yyjson_get_next(value);
    }
    return false;
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
