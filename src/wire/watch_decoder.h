/* watch_decoder.h: a watch's body, a sequence of {"type":…,"object":…}, as events, as the bytes arrive. One that does not end
 * before the next one begins on a line of its own is bad, and takes no other along. One thread. */
#ifndef KI_WIRE_WATCH_DECODER_H
#define KI_WIRE_WATCH_DECODER_H

#include "src/wire/framer.h"

typedef enum ki_watch_type {
    KI_WATCH_ADDED,
    KI_WATCH_MODIFIED,
    KI_WATCH_DELETED,
    KI_WATCH_BOOKMARK,
    KI_WATCH_ERROR
} ki_watch_type;

/* What the decoder hands over. Both may end the decoder's owner's interest by returning a failure, which
 * feed gives back at once. `object` is the JSON text of the event's object, valid during the call. */
typedef struct ki_watch_sink {
    ki_status (*on_event)(ki_watch_type type, ki_str object, void *user);
    /* One event that could not be used: malformed, of unknown type, over the limit. The rest goes on.
     * `sample` is its beginning, at most KI_WIRE_SAMPLE_MAX bytes, to find out whose it was. */
    ki_status (*on_bad)(const ki_error *why, ki_str sample, void *user);
    /* Is the next event wanted now? NULL: always. */
    bool (*may_go_on)(void *user);
    void *user;
} ki_watch_sink;

typedef struct ki_watch_decoder ki_watch_decoder;

ki_status ki_watch_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_watch_sink *sink,
                               ki_watch_decoder **ret_decoder, ki_error *err);
void ki_watch_decoder_free(ki_watch_decoder *decoder);
/* Takes bytes off the front of `chunk`: all of it, unless the sink wants nothing more now; the rest is to be fed later, before anything else.
 * Errors: KI_ERR_PROTOCOL where the stream is no sequence of JSON values (nothing more can be read from
 * it), KI_ERR_NO_MEMORY, or what a sink returned. */
ki_status ki_watch_decoder_feed(ki_watch_decoder *decoder, ki_str *chunk, ki_error *err);
/* Did the stream end between two events? A partial one is discarded. */
bool ki_watch_decoder_is_clean(const ki_watch_decoder *decoder);

/* A bookmark's or any object's metadata that matters on a watch, read without making an object. */
typedef struct ki_watch_meta {
    char resource_version[64]; /* "" where there is none */
    bool initial_events_end;   /* annotation k8s.io/initial-events-end is exactly "true" */
    char kind[64];             /* "" or cut */
} ki_watch_meta;
ki_status ki_watch_meta_parse(const ki_allocator *allocator, ki_str object, ki_watch_meta *ret_meta, ki_error *err);

#endif
