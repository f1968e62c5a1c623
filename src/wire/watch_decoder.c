/* watch_decoder.c: frames events, and finds type and object of each with a shallow scan; the receiver parses the
 * object.
 *
 * Servers send each event on its own line. An event without its end must not swallow the next ones: if a line inside an
 * event begins like an event, the incomplete event is dropped. */
#include "src/wire/watch_decoder.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/json.h"

enum {
    HEAD_MAX = 40,     /* bytes of an event before its object's content */
    HEAD_TYPE_MAX = 16 /* bytes of the type in it */
};

struct ki_watch_decoder {
    const ki_allocator *allocator;
    ki_framer framer;
    /* Inside an event, at the beginning of a line: `head` has the line's bytes while they can still be the beginning of
     * an event. */
    bool on_new_line;
    char head[HEAD_MAX];
    size_t head_size;
    ki_watch_sink sink;
    ki_status failed; /* set: the stream cannot be read further */
};

ki_status ki_watch_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_watch_sink *sink,
                               ki_watch_decoder **ret_decoder, ki_error *err) {
    ki_watch_decoder *decoder = ki_alloc_zero(allocator, sizeof *decoder);
    if (!decoder)
        return ki_error_no_memory(err, "making a watch decoder");
    decoder->allocator = allocator;
    decoder->sink = *sink;
    ki_framer_init(&decoder->framer, allocator, object_limit);
    *ret_decoder = decoder;
    return KI_OK;
}

void ki_watch_decoder_free(ki_watch_decoder *decoder) {
    if (!decoder)
        return;
    ki_framer_free(&decoder->framer);
    ki_free(decoder->allocator, decoder);
}

/* --- one event ---------------------------------------------------------------------------------------------------- */

static void skip_space(ki_str *text) {
    while (text->size && (*text->data == ' ' || *text->data == '\n' || *text->data == '\r' || *text->data == '\t')) {
        text->data++;
        text->size--;
    }
}

static ki_str take_front(ki_str *text, size_t size) {
    ki_str taken = { text->data, size };
    text->data += size;
    text->size -= size;
    return taken;
}

/* Consumes `c`, after white space, if it is next. */
static bool take_char(ki_str *text, char c) {
    skip_space(text);
    if (!text->size || *text->data != c)
        return false;
    take_front(text, 1);
    return true;
}

/* Consumes a string with its quotes; returns an empty view if there is none. */
static ki_str take_string(ki_str *text) {
    skip_space(text);
    if (!text->size || *text->data != '"')
        return (ki_str){ NULL, 0 };
    for (size_t i = 1; i < text->size; i++) {
        if (text->data[i] == '\\')
            i++;
        else if (text->data[i] == '"')
            return take_front(text, i + 1);
    }
    return (ki_str){ NULL, 0 };
}

/* Consumes a value of any type; returns an empty view if there is none. */
static ki_str take_value(ki_str *text) {
    skip_space(text);
    if (!text->size)
        return (ki_str){ NULL, 0 };
    if (*text->data == '"')
        return take_string(text);
    if (*text->data == '{' || *text->data == '[')
        return take_front(text, ki_json_container_size(*text));
    size_t size = 0;
    while (size < text->size && !strchr(",}] \t\r\n", text->data[size]))
        size++;
    return take_front(text, size);
}

/* Finds type and object. `frame` begins with '{' and ends with its '}'. Returns false if it is malformed at this
 * level. */
static bool split_event(ki_str frame, ki_str *ret_type, ki_str *ret_object) {
    *ret_type = *ret_object = (ki_str){ NULL, 0 };
    take_front(&frame, 1);
    if (take_char(&frame, '}'))
        return true;
    do {
        ki_str name = take_string(&frame);
        if (!name.size || !take_char(&frame, ':'))
            return false;
        ki_str value = take_value(&frame);
        if (!value.size)
            return false;
        if (ki_str_equal(name, KI_STR("\"type\"")))
            *ret_type = value;
        else if (ki_str_equal(name, KI_STR("\"object\"")))
            *ret_object = value;
    } while (take_char(&frame, ','));
    return take_char(&frame, '}') && frame.size == 0;
}

static bool find_type(ki_str quoted, ki_event_type *ret_type) {
    static const char *const names[] = {
        [KI_EVENT_ADD] = "\"ADDED\"", [KI_EVENT_UPDATE] = "\"MODIFIED\"", [KI_EVENT_DELETE] = "\"DELETED\""
    };
    for (int i = KI_EVENT_ADD; i <= KI_EVENT_DELETE; i++) {
        if (ki_str_equals(quoted, names[i])) {
            *ret_type = (ki_event_type)i;
            return true;
        }
    }
    return false;
}

static bool is_bookmark(ki_str quoted) {
    return ki_str_equals(quoted, "\"BOOKMARK\"");
}

static bool is_error(ki_str quoted) {
    return ki_str_equals(quoted, "\"ERROR\"");
}

static ki_status report_bad(ki_watch_decoder *decoder, ki_error *why, ki_str sample) {
    if (sample.size > KI_WIRE_SAMPLE_MAX)
        sample.size = KI_WIRE_SAMPLE_MAX;
    return decoder->sink.on_bad(why, sample, decoder->sink.user);
}

static ki_status take_event(ki_watch_decoder *decoder, ki_str frame) {
    ki_error why = KI_ERROR_INIT;
    char shown[KI_WIRE_SHOW_MAX];
    ki_str type_text, object;
    ki_event_type type = KI_EVENT_ADD;
    if (!split_event(frame, &type_text, &object))
        ki_error_set(&why, KI_ERR_PARSE, "malformed watch event: \"%s\"", ki_wire_show(frame, shown));
    else if (!find_type(type_text, &type) && !is_bookmark(type_text) && !is_error(type_text))
        ki_error_set(&why, KI_ERR_PARSE, "watch event of unknown type: %s",
                     type_text.size ? ki_wire_show(type_text, shown) : "none");
    else if (!object.size || *object.data != '{')
        ki_error_set(&why, KI_ERR_PARSE, "watch event without an object: \"%s\"", ki_wire_show(frame, shown));
    if (why.code)
        return report_bad(decoder, &why, frame);
    const ki_watch_sink *sink = &decoder->sink;
    if (is_bookmark(type_text))
        return sink->on_bookmark(object, sink->user);
    return is_error(type_text) ? sink->on_error(object, sink->user) : sink->on_event(type, object, sink->user);
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

static ki_status next_event(ki_watch_decoder *decoder, ki_str *chunk, bool *ret_more, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX];
    bool between = !ki_framer_is_partial(&decoder->framer);
    if (between) {
        skip_space(chunk);
        if (chunk->size && *chunk->data != '{')
            return ki_error_set(err, KI_ERR_PROTOCOL, "expected a JSON object, got \"%s\"",
                                ki_wire_show(*chunk, shown));
    }
    ki_str frame;
    ki_error why = KI_ERROR_INIT;
    switch (ki_framer_next(&decoder->framer, chunk, &frame)) {
    case KI_FRAME_NEED_MORE:
        *ret_more = false;
        return KI_OK;
    case KI_FRAME_VALUE:
        return take_event(decoder, frame);
    case KI_FRAME_TOO_LARGE:
        ki_error_set(&why, KI_ERR_LIMIT, "a watch event is larger than %zu bytes", decoder->framer.limit);
        return report_bad(decoder, &why, frame);
    case KI_FRAME_TOO_DEEP:
        ki_error_set(&why, KI_ERR_LIMIT, "a watch event is nested deeper than %d", KI_WIRE_MAX_DEPTH);
        return report_bad(decoder, &why, frame);
    case KI_FRAME_NO_MEMORY:
        return ki_error_no_memory(err, "gathering a watch event");
    case KI_FRAME_SEPARATOR:
    case KI_FRAME_CLOSE:
    case KI_FRAME_INVALID:
        break;
    }
    return ki_error_set(err, KI_ERR_PROTOCOL, "expected a JSON object"); /* not possible after '{' */
}

static bool may_continue(const ki_watch_decoder *decoder) {
    return !decoder->sink.may_continue || decoder->sink.may_continue(decoder->sink.user);
}

/* Decodes events up to the end of a line, or as many as the sink accepts now. */
static ki_status take_line(ki_watch_decoder *decoder, ki_str *line, bool all, ki_error *err) {
    for (bool more = true; more && (all || may_continue(decoder));) {
        ki_status status = next_event(decoder, line, &more, err);
        if (status)
            return status;
    }
    return KI_OK;
}

static ki_status take_bytes(ki_watch_decoder *decoder, ki_str *chunk, bool all, ki_error *err) {
    const char *newline = memchr(chunk->data, '\n', chunk->size);
    size_t size = newline ? (size_t)(newline - chunk->data) + 1 : chunk->size;
    ki_str line = { chunk->data, size };
    ki_status status = take_line(decoder, &line, all, err);
    take_front(chunk, size - line.size);
    decoder->on_new_line = newline && line.size == 0 && ki_framer_is_partial(&decoder->framer);
    decoder->head_size = 0;
    return status;
}

typedef enum head_match {
    IS_NO_HEAD,
    MAY_BE_HEAD,
    IS_HEAD
} head_match;

/* Compares with {"type":"ADDED","object":{ for any type in capital letters. */
static head_match compare_head(const char *text, size_t size) {
    static const char before[] = "{\"type\":\"", after[] = "\",\"object\":{";
    size_t at = 0, type = 0, rest = 0;
    while (at < size && at < sizeof before - 1 && text[at] == before[at])
        at++;
    if (at < sizeof before - 1)
        return at == size ? MAY_BE_HEAD : IS_NO_HEAD;
    while (at < size && text[at] >= 'A' && text[at] <= 'Z' && type < HEAD_TYPE_MAX) {
        at++;
        type++;
    }
    while (type > 0 && at < size && rest < sizeof after - 1 && text[at] == after[rest]) {
        at++;
        rest++;
    }
    if (rest == sizeof after - 1)
        return IS_HEAD;
    return at == size ? MAY_BE_HEAD : IS_NO_HEAD;
}

/* Handles the next byte of a line that begins inside an event. */
static ki_status take_head_byte(ki_watch_decoder *decoder, ki_str *chunk, ki_error *err) {
    decoder->head[decoder->head_size++] = *take_front(chunk, 1).data;
    head_match found = compare_head(decoder->head, decoder->head_size);
    if (found == MAY_BE_HEAD)
        return KI_OK;
    char head[HEAD_MAX];
    ki_str text = { head, decoder->head_size };
    memcpy(head, decoder->head, decoder->head_size);
    if (found == IS_HEAD) {
        char shown[KI_WIRE_SHOW_MAX];
        ki_error why = KI_ERROR_INIT;
        ki_str partial = { decoder->framer.partial.data, decoder->framer.partial.size };
        ki_error_set(&why, KI_ERR_PARSE, "a watch event does not end before the next one begins: \"%s\"",
                     ki_wire_show(partial, shown));
        ki_status status = report_bad(decoder, &why, partial);
        ki_framer_reset(&decoder->framer);
        if (status)
            return status;
    }
    return take_bytes(decoder, &text, true, err); /* at most HEAD_MAX bytes */
}

ki_status ki_watch_decoder_feed(ki_watch_decoder *decoder, ki_str *chunk, ki_error *err) {
    if (decoder->failed)
        return ki_error_set(err, decoder->failed, "the watch cannot be read further");
    while (chunk->size && may_continue(decoder)) {
        ki_status status =
            decoder->on_new_line ? take_head_byte(decoder, chunk, err) : take_bytes(decoder, chunk, false, err);
        if (status) {
            decoder->failed = status;
            return status;
        }
    }
    return KI_OK;
}

bool ki_watch_decoder_is_clean(const ki_watch_decoder *decoder) {
    return !decoder->failed && !ki_framer_is_partial(&decoder->framer);
}

ki_status ki_watch_meta_parse(const ki_allocator *allocator, ki_str object, ki_watch_meta *ret_meta, ki_error *err) {
    yyjson_doc *doc;
    ki_status status = ki_json_parse(allocator, object, &doc, err);
    if (status)
        return status;
    ki_watch_meta meta = { .resource_version = "" };
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    ki_str version = ki_json_string(metadata, "resourceVersion");
    if (version.size >= sizeof meta.resource_version || (version.size && memchr(version.data, '\0', version.size))) {
        status = ki_error_set(err, KI_ERR_PARSE, "metadata.resourceVersion is not a resource version");
    } else if (!ki_json_is_string_or_none(root, "kind")) {
        status = ki_error_set(err, KI_ERR_PARSE, "kind is not a string");
    } else {
        if (version.size)
            memcpy(meta.resource_version, version.data, version.size);
        ki_str kind = ki_json_string(root, "kind");
        if (kind.size)
            memcpy(meta.kind, kind.data, kind.size < sizeof meta.kind ? kind.size : sizeof meta.kind - 1);
        meta.initial_events_end =
            ki_str_equals(ki_json_string(yyjson_obj_get(metadata, "annotations"), "k8s.io/initial-events-end"), "true");
        *ret_meta = meta;
    }
    yyjson_doc_free(doc);
    return status;
}
