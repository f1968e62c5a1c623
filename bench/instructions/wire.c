/* wire.c: from bytes to objects: the frames of a watch, its events, and one object. */
#include "bench/instructions/paths.h"

#include "src/object/format.h"
#include "src/wire/framer.h"
#include "src/wire/watch_decoder.h"

static const pod_events *events;
static ki_framer framer;
static ki_watch_decoder *decoder;
static ki_object_format *format;
static ki_buffer scratch;

static ki_str chunk_at(size_t at) {
    size_t left = events->size - at;
    return (ki_str){ events->text + at, left < CHUNK ? left : CHUNK };
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void begin_framing(void) {
    events = load_pods();
    ki_framer_init(&framer, &fixed_memory, KI_WIRE_OBJECT_LIMIT);
}

static void frame_all(void) {
    unsigned frames = 0;
    for (size_t at = 0; at < events->size; at += CHUNK) {
        ki_str chunk = chunk_at(at), value;
        while (ki_framer_next(&framer, &chunk, &value) == KI_FRAME_VALUE)
            frames++;
    }
    need(frames == PODS, "a frame is missing");
}

static void end_framing(void) {
    ki_framer_free(&framer);
}

const path path_framing = { "framing", PODS, 20, begin_framing, NULL, frame_all, end_framing };

/* --- events ------------------------------------------------------------------------------------------------------- */

static void begin_watch(void) {
    events = load_pods();
    need(!ki_watch_decoder_new(&fixed_memory, KI_WIRE_OBJECT_LIMIT, &decoder, NULL), "decoder");
}

static void read_watch(void) {
    unsigned changes = 0;
    for (size_t at = 0; at < events->size; at += CHUNK) {
        ki_str chunk = chunk_at(at);
        ki_watch_event event = { .part = KI_WATCH_CHANGE };
        while (event.part == KI_WATCH_CHANGE) {
            need(!ki_watch_decoder_next(decoder, &chunk, &event, NULL), "watch");
            changes += event.part == KI_WATCH_CHANGE;
        }
    }
    need(changes == PODS, "an event is missing");
}

static void end_watch(void) {
    ki_watch_decoder_free(decoder);
}

const path path_watch_events = { "watch-events", PODS, 20, begin_watch, NULL, read_watch, end_watch };

/* --- objects ------------------------------------------------------------------------------------------------------ */

static void begin_decode_of(const ki_field *view) {
    const ki_object_format_options options = KI_OBJECT_FORMAT_OPTIONS(.view = view);
    events = load_pods();
    need(!ki_object_format_new(&fixed_memory, &options, &format, NULL), "format");
    ki_buffer_init(&scratch, &fixed_memory, 0);
}

static void begin_decode(void) {
    begin_decode_of(NULL);
}

static void begin_decode_view(void) {
    begin_decode_of(pod_fields);
}

static void decode_all(void) {
    for (unsigned i = 0; i < PODS; i++) {
        ki_object *obj = NULL;
        need(!ki_object_from_server(format, events->objects[i], "v1", "Pod", &scratch, &obj, NULL), "object");
        ki_object_unref(obj);
    }
}

static void end_decode(void) {
    ki_buffer_free(&scratch);
    ki_object_format_unref(format);
}

const path path_decode = { "decode", PODS, 10, begin_decode, NULL, decode_all, end_decode };
const path path_decode_view = { "decode-view", PODS, 10, begin_decode_view, NULL, decode_all, end_decode };
