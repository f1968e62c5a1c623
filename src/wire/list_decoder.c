/* list_decoder.c: reads a list's outer object byte by byte; a framer reads the values in it. */
#include "src/wire/list_decoder.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

#include <stdio.h>

#define MEMBER_LIMIT ((size_t)1024 * 1024) /* bytes of each of metadata, kind and apiVersion */
enum {
    NAME_LIMIT = 64 /* bytes of a member's name; no member that matters has a longer one */
};

/* What is expected next in the list's object. */
typedef enum place {
    AT_OBJECT,       /* its '{' */
    AT_FIRST_MEMBER, /* a name, or '}' */
    AT_MEMBER,       /* a name */
    IN_NAME,
    AT_COLON,
    AT_VALUE,
    IN_VALUE,
    IN_ITEMS,
    AFTER_VALUE, /* ',' or '}' */
    AT_END
} place;

typedef enum member {
    OTHER,
    ITEMS,
    METADATA,
    KIND,
    API_VERSION
} member;

/* What may follow among the items; a bit set. */
enum {
    MAY_VALUE = 1,
    MAY_SEPARATOR = 2,
    MAY_CLOSE = 4
};

struct ki_list_decoder {
    const ki_allocator *allocator;
    ki_framer framer; /* reads the items, and the values of the other members */
    ki_list_sink sink;
    size_t object_limit;
    place at;
    member member;
    unsigned seen;         /* a bit for each member that has occurred */
    char name[NAME_LIMIT]; /* as written, without quotes */
    size_t name_size;      /* NAME_LIMIT + 1: too long */
    bool name_escaped;
    unsigned items_may;
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
    if (decoder->member == OTHER)
        return KI_OK;
    yyjson_doc *doc;
    ki_status status = ki_json_parse(decoder->allocator, text, &doc, err);
    if (status == KI_ERR_PARSE)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %.*s is malformed", (int)decoder->name_size,
                            decoder->name);
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

static member member_of(const ki_list_decoder *decoder) {
    static const struct {
        const char *name;
        member member;
    } members[] = { { "items", ITEMS }, { "metadata", METADATA }, { "kind", KIND }, { "apiVersion", API_VERSION } };
    if (decoder->name_size > NAME_LIMIT)
        return OTHER;
    ki_str name = { decoder->name, decoder->name_size };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (ki_str_equals(name, members[i].name))
            return members[i].member;
    }
    return OTHER;
}

static ki_status unexpected(ki_str chunk, const char *expected, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX];
    return ki_error_set(err, KI_ERR_PROTOCOL, "expected %s, got \"%s\"", expected, ki_wire_show(chunk, shown));
}

/* Reads more of one member's value; stores the members that matter. */
static ki_status take_value(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    ki_str text;
    switch (ki_framer_next(&decoder->framer, chunk, &text)) {
    case KI_FRAME_NEED_MORE:
        return KI_OK;
    case KI_FRAME_VALUE:
        decoder->at = AFTER_VALUE;
        if (decoder->member == ITEMS && !ki_str_equals(text, "null"))
            return unexpected(text, "an array of items", err);
        return decoder->member == ITEMS ? KI_OK : read_member(decoder, text, err);
    case KI_FRAME_TOO_LARGE:
        decoder->at = AFTER_VALUE;
        if (decoder->member == OTHER)
            return KI_OK;
        return ki_error_set(err, KI_ERR_LIMIT, "the list's %.*s is larger than %zu bytes", (int)decoder->name_size,
                            decoder->name, decoder->framer.limit);
    case KI_FRAME_TOO_DEEP:
        decoder->at = AFTER_VALUE;
        if (decoder->member == OTHER)
            return KI_OK;
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list's %.*s is nested deeper than %d", (int)decoder->name_size,
                            decoder->name, KI_JSON_DEPTH_MAX);
    case KI_FRAME_NO_MEMORY:
        return ki_error_no_memory(err, "reading a list");
    case KI_FRAME_INVALID:
    case KI_FRAME_SEPARATOR:
    case KI_FRAME_CLOSE:
        break;
    }
    return unexpected(*chunk, "a value in the list", err);
}

/* --- items -------------------------------------------------------------------------------------------------------- */

static ki_status bad_item(ki_list_decoder *decoder, ki_status code, const char *why, ki_str sample) {
    ki_error error = KI_ERROR_INIT;
    ki_error_set(&error, code, "%s", why);
    if (sample.size > KI_WIRE_SAMPLE_MAX)
        sample.size = KI_WIRE_SAMPLE_MAX;
    return decoder->sink.on_bad(&error, sample, decoder->sink.user);
}

static ki_status take_item(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    ki_str text;
    ki_str before = *chunk;
    ki_frame frame = ki_framer_next(&decoder->framer, chunk, &text);
    switch (frame) {
    case KI_FRAME_NEED_MORE:
        return KI_OK;
    case KI_FRAME_NO_MEMORY:
        return ki_error_no_memory(err, "gathering a list's item");
    case KI_FRAME_INVALID:
        return unexpected(*chunk, "an item", err);
    case KI_FRAME_SEPARATOR:
        if (!(decoder->items_may & MAY_SEPARATOR))
            return unexpected(before, "an item", err);
        decoder->items_may = MAY_VALUE;
        return KI_OK;
    case KI_FRAME_CLOSE:
        if (!(decoder->items_may & MAY_CLOSE) || chunk->data[-1] != ']')
            return unexpected(before, "the end of the items", err);
        decoder->at = AFTER_VALUE;
        return KI_OK;
    case KI_FRAME_VALUE:
    case KI_FRAME_TOO_LARGE:
    case KI_FRAME_TOO_DEEP:
        break;
    }
    if (!(decoder->items_may & MAY_VALUE))
        return unexpected(text, "',' or ']' after an item", err);
    decoder->items_may = MAY_SEPARATOR | MAY_CLOSE;
    if (frame != KI_FRAME_VALUE) {
        char why[64];
        if (frame == KI_FRAME_TOO_DEEP)
            snprintf(why, sizeof why, "an item is nested deeper than %d", KI_JSON_DEPTH_MAX);
        else
            snprintf(why, sizeof why, "an item is larger than %zu bytes", decoder->framer.limit);
        return bad_item(decoder, KI_ERR_LIMIT, why, text);
    }
    if (*text.data != '{')
        return bad_item(decoder, KI_ERR_PARSE, "an item is not a JSON object", text);
    return decoder->sink.on_item(text, decoder->sink.user);
}

/* --- the list's own object ---------------------------------------------------------------------------------------- */

static void take_name_char(ki_list_decoder *decoder, char c) {
    if (c == '"' && !decoder->name_escaped) {
        decoder->member = member_of(decoder);
        decoder->at = AT_COLON;
        return;
    }
    decoder->name_escaped = c == '\\' && !decoder->name_escaped;
    if (decoder->name_size < NAME_LIMIT)
        decoder->name[decoder->name_size++] = c;
    else
        decoder->name_size = NAME_LIMIT + 1;
}

/* Begins a member's value. Rejects a second member of the same name: it would be another list or another version. */
static ki_status begin_value(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    if (decoder->member != OTHER && decoder->seen & 1U << decoder->member)
        return ki_error_set(err, KI_ERR_PROTOCOL, "the list has two members of the name %.*s", (int)decoder->name_size,
                            decoder->name);
    decoder->seen |= 1U << decoder->member;
    ki_framer_reset(&decoder->framer);
    if (decoder->member == ITEMS && *chunk->data == '[') {
        chunk->data++;
        chunk->size--;
        decoder->framer.limit = decoder->object_limit;
        decoder->items_may = MAY_VALUE | MAY_CLOSE;
        decoder->at = IN_ITEMS;
        return KI_OK;
    }
    decoder->framer.limit = decoder->member == OTHER ? 0 : MEMBER_LIMIT;
    decoder->at = IN_VALUE;
    return KI_OK;
}

/* Consumes one character between names and values, if it is the expected one. */
static ki_status take_char(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    char c = *chunk->data;
    const char *expected;
    place next = decoder->at;
    switch (decoder->at) {
    case AT_OBJECT:
        expected = "a JSON object";
        if (c == '{')
            next = AT_FIRST_MEMBER;
        break;
    case AT_FIRST_MEMBER:
    case AT_MEMBER:
        expected = "a member's name in the list";
        if (c == '"')
            next = IN_NAME;
        else if (c == '}' && decoder->at == AT_FIRST_MEMBER)
            next = AT_END;
        break;
    case AT_COLON:
        expected = "':' in the list";
        if (c == ':')
            next = AT_VALUE;
        break;
    case AFTER_VALUE:
        expected = "',' or '}' in the list";
        if (c == ',' || c == '}')
            next = c == ',' ? AT_MEMBER : AT_END;
        break;
    default:
        expected = "nothing after the list";
        break;
    }
    if (next == decoder->at)
        return unexpected(*chunk, expected, err);
    decoder->at = next;
    decoder->name_size = next == IN_NAME ? 0 : decoder->name_size;
    decoder->name_escaped = false;
    chunk->data++;
    chunk->size--;
    return KI_OK;
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static ki_status take_next(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    switch (decoder->at) {
    case IN_ITEMS:
        return take_item(decoder, chunk, err);
    case IN_VALUE:
        return take_value(decoder, chunk, err);
    case IN_NAME:
        take_name_char(decoder, *chunk->data);
        break;
    default:
        if (is_space(*chunk->data))
            break;
        if (decoder->at == AT_VALUE)
            return begin_value(decoder, chunk, err);
        return take_char(decoder, chunk, err);
    }
    chunk->data++;
    chunk->size--;
    return KI_OK;
}

static bool may_continue(const ki_list_decoder *decoder) {
    return !decoder->sink.may_continue || decoder->sink.may_continue(decoder->sink.user);
}

ki_status ki_list_decoder_feed(ki_list_decoder *decoder, ki_str *chunk, ki_error *err) {
    if (decoder->failed)
        return ki_error_set(err, decoder->failed, "the list cannot be read further");
    while (chunk->size && (decoder->at != IN_ITEMS || may_continue(decoder))) {
        ki_status status = take_next(decoder, chunk, err);
        if (status) {
            decoder->failed = status;
            return status;
        }
    }
    return KI_OK;
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
