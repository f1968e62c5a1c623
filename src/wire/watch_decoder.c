/* watch_decoder.c: frames events, and finds type and object of each; the receiver parses the object.
 *
 * Servers send an event as one line {"type":"…","object":{…}}. Such a line is not scanned: its object is taken to end
 * one byte before the line. If that is wrong, the object is not valid JSON, the receiver's parser says so, and the line
 * is read again by its brackets. All else is read by its brackets at once.
 *
 * A line that comes in several chunks is gathered, if the event before was a line, too. A chunk without a newline that
 * ends like an event can end one: then all is read by its brackets.
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
    bool is_cut; /* the event before has no end: `head` is the beginning of the next one */
    /* A line from its beginning, of which only the last byte of each chunk was looked at. */
    ki_buffer line;
    bool in_line;      /* the line continues in the next chunk */
    ki_str unread;     /* what of `line` is read by its brackets before the rest of the chunk */
    bool has_own_line; /* the last event was all of a line */
    /* The last event, if its object's end is assumed: a line with its end in the caller's chunk, or a frame. */
    ki_str assumed;
    bool is_line;
    size_t begun;     /* bytes of a line in `line` that came in earlier chunks */
    bool may_assume;  /* no object of this stream has ended elsewhere */
    ki_error why;     /* of the last bad event */
    ki_status failed; /* set: the stream cannot be read further */
};

ki_status ki_watch_decoder_new(const ki_allocator *allocator, size_t object_limit, ki_watch_decoder **ret_decoder,
                               ki_error *err) {
    ki_watch_decoder *decoder = ki_alloc_zero(allocator, sizeof *decoder);
    if (!decoder)
        return ki_error_no_memory(err, "making a watch decoder");
    decoder->allocator = allocator;
    decoder->may_assume = true;
    ki_framer_init(&decoder->framer, allocator, object_limit);
    ki_buffer_init(&decoder->line, allocator, 0);
    decoder->framer.depth_max = KI_JSON_DEPTH_MAX + 1; /* the event is around the object */
    *ret_decoder = decoder;
    return KI_OK;
}

void ki_watch_decoder_free(ki_watch_decoder *decoder) {
    if (!decoder)
        return;
    ki_framer_free(&decoder->framer);
    ki_buffer_free(&decoder->line);
    ki_free(decoder->allocator, decoder);
}

/* --- one event ---------------------------------------------------------------------------------------------------- */

static ki_str take_front(ki_str *text, size_t size) {
    ki_str taken = { text->data, size };
    text->data += size;
    text->size -= size;
    return taken;
}

/* Consumes `c`, after white space, if it is next. */
static bool take_char(ki_str *text, char c) {
    ki_wire_skip_space(text);
    if (!text->size || *text->data != c)
        return false;
    take_front(text, 1);
    return true;
}

/* Consumes a string with its quotes; returns an empty view if there is none. */
static ki_str take_string(ki_str *text) {
    ki_wire_skip_space(text);
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
    ki_wire_skip_space(text);
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

/* Reads a type with its quotes. Returns KI_WATCH_BAD for an unknown one. */
static ki_watch_part part_of(ki_str quoted, ki_event_type *ret_type) {
    static const struct {
        const char *name;
        ki_watch_part part;
        ki_event_type type;
    } types[] = {
        { "\"ADDED\"", KI_WATCH_CHANGE, KI_EVENT_ADD },      { "\"MODIFIED\"", KI_WATCH_CHANGE, KI_EVENT_UPDATE },
        { "\"DELETED\"", KI_WATCH_CHANGE, KI_EVENT_DELETE }, { "\"BOOKMARK\"", KI_WATCH_BOOKMARK, KI_EVENT_ADD },
        { "\"ERROR\"", KI_WATCH_ERROR, KI_EVENT_ADD },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (ki_str_equals(quoted, types[i].name)) {
            *ret_type = types[i].type;
            return types[i].part;
        }
    }
    return KI_WATCH_BAD;
}

typedef enum head_match {
    IS_NO_HEAD,
    MAY_BE_HEAD,
    IS_HEAD
} head_match;

/* Compares with {"type":"ADDED","object":{ for any type in capital letters. `*ret_type` is the type with its quotes. */
static head_match compare_head(const char *text, size_t size, ki_str *ret_type) {
    static const char before[] = "{\"type\":\"", after[] = "\",\"object\":{";
    const size_t type = sizeof before - 1, rest = sizeof after - 1;
    size_t end = type;
    if (memcmp(text, before, size < type ? size : type) != 0)
        return IS_NO_HEAD;
    while (end < size && end < type + HEAD_TYPE_MAX && text[end] >= 'A' && text[end] <= 'Z')
        end++;
    if (size <= end)
        return MAY_BE_HEAD;
    if (end == type || memcmp(text + end, after, size - end < rest ? size - end : rest) != 0)
        return IS_NO_HEAD;
    *ret_type = (ki_str){ text + type - 1, end - type + 2 };
    return size - end < rest ? MAY_BE_HEAD : IS_HEAD;
}

/* Reads a change of the form that servers send. The object is taken to be all between the head and the last byte. */
static bool assume_change(ki_watch_decoder *decoder, ki_str text, bool is_line, ki_watch_event *ret_event) {
    ki_str type;
    ki_event_type change;
    if (!decoder->may_assume || text.size < 2 || memcmp(text.data + text.size - 2, "}}", 2) != 0 ||
        compare_head(text.data, text.size, &type) != IS_HEAD || part_of(type, &change) != KI_WATCH_CHANGE)
        return false;
    const char *object = type.data + type.size + strlen(",\"object\":");
    *ret_event = (ki_watch_event){ .part = KI_WATCH_CHANGE,
                                   .type = change,
                                   .object = { object, (size_t)(text.data + text.size - object) - 1 },
                                   .is_assumed = true };
    decoder->assumed = text;
    decoder->is_line = is_line;
    return true;
}

/* Begins the error of a bad event. */
static ki_error *set_bad(ki_watch_decoder *decoder, ki_str sample, ki_watch_event *ret_event) {
    if (sample.size > KI_WIRE_SAMPLE_MAX)
        sample.size = KI_WIRE_SAMPLE_MAX;
    decoder->why = (ki_error)KI_ERROR_INIT;
    *ret_event = (ki_watch_event){ .part = KI_WATCH_BAD, .object = sample, .why = &decoder->why };
    return &decoder->why;
}

static void read_event(ki_watch_decoder *decoder, ki_str frame, ki_watch_event *ret_event) {
    char shown[KI_WIRE_SHOW_MAX];
    ki_str type;
    if (assume_change(decoder, frame, false, ret_event))
        return;
    ki_watch_event event = { .part = KI_WATCH_BAD };
    bool is_whole = split_event(frame, &type, &event.object);
    if (is_whole)
        event.part = part_of(type, &event.type);
    if (!is_whole)
        ki_error_set(set_bad(decoder, frame, ret_event), KI_ERR_PARSE, "malformed watch event: \"%s\"",
                     ki_wire_show(frame, shown));
    else if (event.part == KI_WATCH_BAD)
        ki_error_set(set_bad(decoder, frame, ret_event), KI_ERR_PARSE, "watch event of unknown type: %s",
                     type.size ? ki_wire_show(type, shown) : "none");
    else if (!event.object.size || *event.object.data != '{')
        ki_error_set(set_bad(decoder, frame, ret_event), KI_ERR_PARSE, "watch event without an object: \"%s\"",
                     ki_wire_show(frame, shown));
    else
        *ret_event = event;
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

static ki_status read_frame(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err) {
    char shown[KI_WIRE_SHOW_MAX];
    bool between = !decoder->framer.in_value;
    if (between) {
        ki_wire_skip_space(chunk);
        if (chunk->size && *chunk->data != '{')
            return ki_error_set(err, KI_ERR_PROTOCOL, "expected a JSON object, got \"%s\"",
                                ki_wire_show(*chunk, shown));
    }
    ki_str frame;
    switch (ki_framer_next(&decoder->framer, chunk, &frame)) {
    case KI_FRAME_NEED_MORE:
        return KI_OK;
    case KI_FRAME_VALUE:
        read_event(decoder, frame, ret_event);
        return KI_OK;
    case KI_FRAME_TOO_LARGE:
        ki_error_set(set_bad(decoder, frame, ret_event), KI_ERR_LIMIT, "a watch event is larger than %zu bytes",
                     decoder->framer.limit);
        return KI_OK;
    case KI_FRAME_TOO_DEEP:
        ki_error_set(set_bad(decoder, frame, ret_event), KI_ERR_LIMIT, "a watch event is nested deeper than %zu",
                     decoder->framer.depth_max);
        return KI_OK;
    case KI_FRAME_NO_MEMORY:
        return ki_error_no_memory(err, "gathering a watch event");
    case KI_FRAME_SEPARATOR:
    case KI_FRAME_COLON:
    case KI_FRAME_CLOSE:
    case KI_FRAME_INVALID:
        break;
    }
    return ki_error_set(err, KI_ERR_PROTOCOL, "expected a JSON object"); /* not possible after '{' */
}

/* Reads up to the end of an event or of the line at the front of the chunk. `size`: of the line; `ends`: with its
 * newline. */
static ki_status read_brackets(ki_watch_decoder *decoder, ki_str *chunk, size_t size, bool ends,
                               ki_watch_event *ret_event, ki_error *err) {
    ki_str line = { chunk->data, size };
    ki_status status = read_frame(decoder, &line, ret_event, err);
    take_front(chunk, size - line.size);
    decoder->on_new_line = ends && line.size == 0 && decoder->framer.in_value;
    if (ret_event->part != KI_WATCH_NOTHING)
        decoder->has_own_line = ends && line.size == 1;
    return status;
}

/* Takes a line that is all of an event, of which `begun` bytes came in earlier chunks. */
static bool take_event_line(ki_watch_decoder *decoder, ki_str *chunk, ki_str line, size_t begun,
                            ki_watch_event *ret_event) {
    if (!assume_change(decoder, line, true, ret_event))
        return false;
    decoder->has_own_line = true;
    decoder->begun = begun;
    take_front(chunk, line.size - begun + 1);
    return true;
}

/* Returns true for the beginning of a line that is likely to be an event. */
static bool begins_line(const ki_watch_decoder *decoder, ki_str text) {
    ki_str type;
    return decoder->has_own_line && decoder->may_assume && compare_head(text.data, text.size, &type) == IS_HEAD;
}

/* Has the line use the framer's memory, which is empty between two values: a watch keeps one buffer. */
static void take_memory(ki_watch_decoder *decoder) {
    ki_buffer taken = decoder->framer.partial;
    decoder->framer.partial = decoder->line;
    decoder->line = taken;
    ki_buffer_reset(&decoder->line, KI_WIRE_BUFFER_KEEP);
}

/* Gathers the next `size` bytes of a line. `ends`: a newline follows. */
static ki_status gather_line(ki_watch_decoder *decoder, ki_str *chunk, size_t size, bool ends,
                             ki_watch_event *ret_event, ki_error *err) {
    ki_buffer *line = &decoder->line;
    if (!line->data)
        take_memory(decoder);
    size_t begun = line->size;
    if (size <= decoder->framer.limit - begun && (ends || chunk->data[size - 1] != '}')) {
        if (ki_buffer_append(line, chunk->data, size))
            return ki_error_no_memory(err, "gathering a watch event");
        decoder->in_line = !ends;
        if (!ends) {
            take_front(chunk, size);
            return KI_OK;
        }
        if (take_event_line(decoder, chunk, (ki_str){ line->data, line->size }, begun, ret_event))
            return KI_OK;
    }
    decoder->in_line = decoder->has_own_line = false;
    decoder->unread = (ki_str){ line->data, begun };
    return KI_OK;
}

/* Reads a line, or up to the end of an event. */
static ki_status read_line(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err) {
    const char *newline = memchr(chunk->data, '\n', chunk->size);
    ki_str line = { chunk->data, newline ? (size_t)(newline - chunk->data) : chunk->size };
    bool between = !decoder->framer.in_value;
    if (decoder->in_line || (!newline && between && begins_line(decoder, line)))
        return gather_line(decoder, chunk, line.size, newline != NULL, ret_event, err);
    if (!newline)
        return read_brackets(decoder, chunk, line.size, false, ret_event, err);
    if (between && line.size <= decoder->framer.limit && take_event_line(decoder, chunk, line, 0, ret_event))
        return KI_OK;
    return read_brackets(decoder, chunk, line.size + 1, true, ret_event, err);
}

/* Reads `head`. An event can end only with its last byte, and only if it is no head. */
static ki_status read_head(ki_watch_decoder *decoder, ki_watch_event *ret_event, ki_error *err) {
    ki_str head = { decoder->head, decoder->head_size };
    decoder->head_size = 0;
    return read_line(decoder, &head, ret_event, err);
}

/* Reads the next byte of a line that begins inside an event. */
static ki_status read_head_byte(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err) {
    decoder->head[decoder->head_size++] = *take_front(chunk, 1).data;
    ki_str type;
    head_match found = compare_head(decoder->head, decoder->head_size, &type);
    if (found == MAY_BE_HEAD)
        return KI_OK;
    if (found == IS_NO_HEAD)
        return read_head(decoder, ret_event, err);
    char shown[KI_WIRE_SHOW_MAX];
    ki_str partial = { decoder->framer.partial.data, decoder->framer.partial.size };
    ki_error_set(set_bad(decoder, partial, ret_event), KI_ERR_PARSE,
                 "a watch event does not end before the next one begins: \"%s\"", ki_wire_show(partial, shown));
    decoder->is_cut = true; /* the next call reads the head: until then the partial event is valid */
    decoder->has_own_line = false;
    return KI_OK;
}

/* Reads until an event is complete. */
static ki_status read_next(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err) {
    ki_status status = KI_OK;
    while (!status && chunk->size && ret_event->part == KI_WATCH_NOTHING) {
        if (decoder->unread.size)
            status = read_brackets(decoder, &decoder->unread, decoder->unread.size, false, ret_event, err);
        else if (decoder->on_new_line)
            status = read_head_byte(decoder, chunk, ret_event, err);
        else
            status = read_line(decoder, chunk, ret_event, err);
    }
    return status;
}

ki_status ki_watch_decoder_next(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err) {
    *ret_event = (ki_watch_event){ .part = KI_WATCH_NOTHING };
    if (decoder->failed)
        return ki_error_set(err, decoder->failed, "the watch cannot be read further");
    ki_status status = KI_OK;
    if (decoder->line.size && !decoder->in_line && !decoder->unread.size)
        ki_buffer_reset(&decoder->line, KI_WIRE_BUFFER_KEEP);
    if (decoder->is_cut) {
        decoder->is_cut = false;
        ki_framer_reset(&decoder->framer);
        status = read_head(decoder, ret_event, err);
    }
    if (!status)
        status = read_next(decoder, chunk, ret_event, err);
    decoder->failed = status;
    return status;
}

ki_status ki_watch_decoder_reread(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *event, ki_error *err) {
    ki_str object = event->object;
    ki_status status = KI_OK;
    *event = (ki_watch_event){ .part = KI_WATCH_NOTHING };
    decoder->may_assume = false;
    if (decoder->is_line) {
        size_t size = decoder->assumed.size + 1 - decoder->begun;
        *chunk = (ki_str){ chunk->data - size, chunk->size + size };
        decoder->unread = (ki_str){ decoder->line.data, decoder->begun };
        status = read_next(decoder, chunk, event, err);
    } else {
        read_event(decoder, decoder->assumed, event);
    }
    decoder->may_assume = event->object.size == object.size;
    decoder->failed = status;
    return status;
}

ki_str ki_watch_decoder_give_back(ki_watch_decoder *decoder) {
    ki_str line = { decoder->line.data, decoder->in_line ? decoder->line.size : 0 };
    decoder->in_line = decoder->has_own_line = false;
    return line;
}

bool ki_watch_decoder_is_clean(const ki_watch_decoder *decoder) {
    return !decoder->failed && !decoder->in_line && !decoder->framer.in_value;
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
