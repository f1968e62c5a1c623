/* list_decoder.c: reads a list's outer object and its items; a framer finds the names, values and items. */
#include "src/wire/list_decoder.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

#define MEMBER_LIMIT ((size_t)1024 * 1024) /* bytes of each of metadata, kind and apiVersion */
enum {
    NAME_LIMIT = 64 /* bytes of a member's name; no member that matters has a longer one */
};

/* What comes next in the list's object. */
typedef enum place {
    AT_OBJECT,       /* its '{' */
    AT_FIRST_MEMBER, /* a name, or '}' */
    AT_MEMBER,
    AT_COLON,
    AT_VALUE,
    AFTER_VALUE, /* ',' or '}' */
    AT_END,
    AT_FIRST_ITEM, /* an item, or ']' */
    AT_ITEM,
    AFTER_ITEM /* ',' or ']' */
} place;

static const char *const expected[] = {
    [AT_OBJECT] = "a JSON object",
    [AT_FIRST_MEMBER] = "a member's name in the list",
    [AT_MEMBER] = "a member's name in the list",
    [AT_COLON] = "':' in the list",
    [AT_VALUE] = "a value in the list",
    [AFTER_VALUE] = "',' or '}' in the list",
    [AT_END] = "nothing after the list",
    [AT_FIRST_ITEM] = "an item or ']'",
    [AT_ITEM] = "an item",
    [AFTER_ITEM] = "',' or ']' after an item",
};

typedef enum member {
    ITEMS,
    METADATA,
    KIND,
    API_VERSION,
    OTHER
} member;

static const char *const names[OTHER] = { "items", "metadata", "kind", "apiVersion" };

struct ki_list_decoder {
    const ki_allocator *allocator;
    ki_framer framer; /* reads names, values and items */
    ki_list_sink sink;
    size_t object_limit;
    place at;
    member member;
    unsigned seen; /* a bit for each member that has occurred */
    ki_status failed;
    ki_list_meta meta;
};

ki_status ki_list_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_list_sink *sink,
                              ki_list_decoder **ret_decoder, ki_error *err) {
    ki_list_decoder *decoder = ki_alloc_zero(allocator, sizeof *decoder);
    char *no_token = ki_strdup(allocator, "");
    if (!decoder || !no_token) {
        ki_free(allocator, decoder);
        ki_free(allocator, no_token);
        return ki_error_no_memory(err, "making a list decoder");
    }
    decoder->allocator = allocator;
    decoder->sink = *sink;
    decoder->object_limit = object_limit;
    decoder->at = AT_OBJECT;
    decoder->meta.continue_token = no_token;
    decoder->meta.remaining_item_count = -1;
    ki_framer_init(&decoder->framer, allocator, object_limit);
    *ret_decoder = decoder;
    return KI_OK;
}

void ki_list_decoder_free(ki_list_decoder *decoder) {
    if (!decoder)
        return;
    ki_framer_free(&decoder->framer);
    ki_free(decoder->allocator, decoder->meta.continue_token);
    ki_free(decoder->allocator, decoder);
}

const ki_list_meta *ki_list_decoder_meta(const ki_list_decoder *decoder) {
    return &decoder->meta;
}

/* --- members other than items ------------------------------------------------------------------------------------- */

static void copy_cut(char *to, size_t size, ki_str from) {
    size_t used = from.size < size ? from.size : size - 1;
    if (used)
        memcpy(to, from.data, used);
    to[used] = '\0';
}

/* Reads a string of the metadata. An unreadable continue token must not end the list, and an unreadable version must
 * not equal another one. */
static ki_status read_string(yyjson_val *metadata, const char *name, ki_str *ret_string, ki_error *err) {
    *ret_string = ki_json_string(metadata, name);
    if (!ki_json_is_string_or_none(metadata, name))
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %s is not a string", name);
    if (ret_string->size && memchr(ret_string->data, '\0', ret_string->size))
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %s has a zero byte", name);
    return KI_OK;
}

static ki_status read_metadata(ki_list_decoder *decoder, yyjson_val *metadata, ki_error *err) {
    ki_list_meta *meta = &decoder->meta;
    ki_str version, token;
    if (!yyjson_is_obj(metadata) && !yyjson_is_null(metadata))
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's metadata is no JSON object");
    if (read_string(metadata, "resourceVersion", &version, err) || read_string(metadata, "continue", &token, err))
        return KI_ERR_PROTOCOL;
    if (version.size >= sizeof meta->resource_version)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's resourceVersion is longer than %zu bytes",
                            sizeof meta->resource_version - 1);
    copy_cut(meta->resource_version, sizeof meta->resource_version, version);
    if (token.size) {
        char *copy = ki_strndup(decoder->allocator, token.data, token.size);
        if (!copy)
            return ki_error_no_memory(err, "reading a list's metadata");
        ki_free(decoder->allocator, meta->continue_token);
        meta->continue_token = copy;
    }
    yyjson_val *remaining = yyjson_obj_get(metadata, "remainingItemCount");
    if (yyjson_is_uint(remaining) && yyjson_get_uint(remaining) <= INT64_MAX / 2) /* callers add to it */
        meta->remaining_item_count = (int64_t)yyjson_get_uint(remaining);
    return KI_OK;
}

static ki_status read_member(ki_list_decoder *decoder, ki_str text, ki_error *err) {
    yyjson_doc *doc;
    ki_status status = ki_json_parse(decoder->allocator, text, &doc, err);
    if (status == KI_ERR_PARSE)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %s is malformed", names[decoder->member]);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    ki_str string = { yyjson_get_str(root), yyjson_get_len(root) };
    if (!string.data)
        string.size = 0;
    if (decoder->member == METADATA)
        status = read_metadata(decoder, root, err);
    else if (decoder->member == KIND)
        copy_cut(decoder->meta.kind, sizeof decoder->meta.kind, string);
    else
        copy_cut(decoder->meta.api_version, sizeof decoder->meta.api_version, string);
    yyjson_doc_free(doc);
    return status;
}

static ki_status unexpected(ki_str text, const char *wanted, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX];
    return ki_error_set(err, KI_ERR_PROTOCOL, "expected %s, got \"%s\"", wanted, ki_wire_show(text, shown));
}

/* Takes a name with its quotes, as written. Rejects a second member of the same name: it would be another list or
 * another version. */
static ki_status take_name(ki_list_decoder *decoder, ki_str quoted, ki_error *err) {
    ki_str name = { quoted.data + 1, quoted.size < 2 ? 0 : quoted.size - 2 };
    decoder->at = AT_COLON;
    decoder->member = ITEMS;
    while (decoder->member < OTHER && !ki_str_equals(name, names[decoder->member]))
        decoder->member++;
    decoder->framer.limit = decoder->member == OTHER ? 0 : MEMBER_LIMIT;
    unsigned bit = decoder->member == OTHER ? 0 : 1U << decoder->member;
    if (decoder->seen & bit)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list has two members of the name %s", names[decoder->member]);
    decoder->seen |= bit;
    return KI_OK;
}

static ki_status take_value(ki_list_decoder *decoder, ki_frame frame, ki_str text, ki_error *err) {
    decoder->at = AFTER_VALUE;
    if (decoder->member == OTHER)
        return KI_OK;
    if (frame == KI_FRAME_TOO_LARGE)
        return ki_error_set(err, KI_ERR_LIMIT, "the list's %s is larger than %zu bytes", names[decoder->member],
                            decoder->framer.limit);
    if (frame == KI_FRAME_TOO_DEEP)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %s is nested deeper than %d", names[decoder->member],
                            KI_JSON_DEPTH_MAX);
    if (decoder->member == ITEMS)
        return ki_str_equals(text, "null") ? KI_OK : unexpected(text, "an array of items", err);
    return read_member(decoder, text, err);
}

static ki_status take_item(ki_list_decoder *decoder, ki_frame frame, ki_str text) {
    ki_error why = KI_ERROR_INIT;
    decoder->at = AFTER_ITEM;
    if (frame == KI_FRAME_TOO_DEEP)
        ki_error_set(&why, KI_ERR_LIMIT, "an item is nested deeper than %d", KI_JSON_DEPTH_MAX);
    else if (frame == KI_FRAME_TOO_LARGE)
        ki_error_set(&why, KI_ERR_LIMIT, "an item is larger than %zu bytes", decoder->framer.limit);
    else if (*text.data != '{')
        ki_error_set(&why, KI_ERR_PARSE, "an item is not a JSON object");
    else
        return decoder->sink.on_item(text, decoder->sink.user);
    if (text.size > KI_WIRE_SAMPLE_MAX)
        text.size = KI_WIRE_SAMPLE_MAX;
    return decoder->sink.on_bad(&why, text, decoder->sink.user);
}

/* Enters the list's object or the array of items, whose brackets are not part of a value. */
static bool enter(ki_list_decoder *decoder, ki_str *chunk) {
    bool is_object = decoder->at == AT_OBJECT && *chunk->data == '{';
    if (!is_object && !(decoder->at == AT_VALUE && decoder->member == ITEMS && *chunk->data == '['))
        return false;
    decoder->at = is_object ? AT_FIRST_MEMBER : AT_FIRST_ITEM;
    decoder->framer.limit = is_object ? NAME_LIMIT : decoder->object_limit;
    chunk->data++;
    chunk->size--;
    return true;
}

static ki_status take_next(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    ki_str text;
    if (!decoder->framer.in_value) {
        ki_wire_skip_space(chunk);
        if (!chunk->size || enter(decoder, chunk))
            return KI_OK;
        if (decoder->at == AT_OBJECT || decoder->at == AT_END)
            return unexpected(*chunk, expected[decoder->at], err);
    }
    ki_str before = *chunk;
    ki_frame frame = ki_framer_next(&decoder->framer, chunk, &text);
    if (frame == KI_FRAME_NEED_MORE)
        return KI_OK;
    if (frame == KI_FRAME_NO_MEMORY)
        return ki_error_no_memory(err, "reading a list");
    bool is_value = frame == KI_FRAME_VALUE || frame == KI_FRAME_TOO_LARGE || frame == KI_FRAME_TOO_DEEP;
    char close = frame == KI_FRAME_CLOSE ? *before.data : '\0';
    switch (decoder->at) {
    case AT_FIRST_MEMBER:
    case AT_MEMBER:
        if (is_value && *text.data == '"')
            return take_name(decoder, text, err);
        if (close == '}' && decoder->at == AT_FIRST_MEMBER) {
            decoder->at = AT_END;
            return KI_OK;
        }
        break;
    case AT_COLON:
        if (frame == KI_FRAME_COLON) {
            decoder->at = AT_VALUE;
            return KI_OK;
        }
        break;
    case AT_VALUE:
        if (is_value)
            return take_value(decoder, frame, text, err);
        break;
    case AFTER_VALUE:
        if (frame == KI_FRAME_SEPARATOR || close == '}') {
            decoder->at = close ? AT_END : AT_MEMBER;
            decoder->framer.limit = NAME_LIMIT;
            return KI_OK;
        }
        break;
    case AT_FIRST_ITEM:
    case AT_ITEM:
        if (is_value)
            return take_item(decoder, frame, text);
        if (close == ']' && decoder->at == AT_FIRST_ITEM) {
            decoder->at = AFTER_VALUE;
            return KI_OK;
        }
        break;
    case AFTER_ITEM:
        if (frame == KI_FRAME_SEPARATOR || close == ']') {
            decoder->at = close ? AFTER_VALUE : AT_ITEM;
            return KI_OK;
        }
        break;
    case AT_OBJECT:
    case AT_END:
        break;
    }
    return unexpected(is_value ? text : before, expected[decoder->at], err);
}

static bool may_continue(const ki_list_decoder *decoder) {
    return decoder->at < AT_FIRST_ITEM || !decoder->sink.may_continue || decoder->sink.may_continue(decoder->sink.user);
}

ki_status ki_list_decoder_feed(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    if (decoder->failed)
        return ki_error_set(err, decoder->failed, "the list cannot be read further");
    while (!decoder->failed && chunk->size && may_continue(decoder))
        decoder->failed = take_next(decoder, chunk, err);
    return decoder->failed;
}

ki_status ki_list_decoder_finish(ki_list_decoder *decoder, ki_error *err) {
    if (decoder->failed)
        return ki_error_set(err, decoder->failed, "the list cannot be read further");
    if (decoder->at != AT_END)
        return ki_error_set(err, KI_ERR_UNEXPECTED_EOF, "the list is incomplete");
    ki_str kind = ki_str_of(decoder->meta.kind);
    ki_str list = KI_STR("List");
    char shown[KI_WIRE_SHOW_MAX];
    if (kind.size < list.size || !ki_str_equal((ki_str){ kind.data + kind.size - list.size, list.size }, list))
        return ki_error_set(err, KI_ERR_PROTOCOL, "expected a list, got %s%s", kind.size ? "kind " : "no kind",
                            ki_wire_show(kind, shown));
    return KI_OK;
}
