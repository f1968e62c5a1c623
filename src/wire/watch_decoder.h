/* watch_decoder.h: decodes a watch's body, a sequence of {"type":…,"object":…}, into events as the bytes arrive. If an
 * event has no end before the next one begins on its own line, only that event is lost. One thread. */
#ifndef KI_WIRE_WATCH_DECODER_H
#define KI_WIRE_WATCH_DECODER_H

#include <kinformer/informer.h>

#include "src/wire/framer.h"

/* Receives events. A failure that a callback returns ends the decoder, and feed returns it. `object` is the JSON text
 * of the event's object, valid during the call. */
typedef struct ki_watch_sink {
    ki_status (*on_event)(ki_event_type type, ki_str object, void *user); /* ADDED, MODIFIED or DELETED */
    ki_status (*on_bookmark)(ki_str object, void *user);
    ki_status (*on_error)(ki_str status, void *user);
    /* Called for an event that is malformed, of unknown type or over the limit; the decoder continues. `sample` is its
     * beginning, at most KI_WIRE_SAMPLE_MAX bytes, from which the object's name can often be read. */
    ki_status (*on_bad)(const ki_error *why, ki_str sample, void *user);
    /* Returns true if the decoder may read the next event. NULL: always. */
    bool (*may_continue)(void *user);
    void *user;
} ki_watch_sink;

typedef struct ki_watch_decoder ki_watch_decoder;

ki_status ki_watch_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_watch_sink *sink,
                               ki_watch_decoder **ret_decoder, ki_error *err);
void ki_watch_decoder_free(ki_watch_decoder *decoder);
/* Consumes bytes from the front of `chunk`: all, unless the sink's may_continue returns false; the caller feeds the
 * rest later. Errors: KI_ERR_PROTOCOL (not a sequence of JSON values: the stream cannot be read further),
 * KI_ERR_NO_MEMORY, or what a sink returned. */
ki_status ki_watch_decoder_feed(ki_watch_decoder *decoder, ki_str *chunk, ki_error *err);
/* Returns true between two events. The caller discards an incomplete event. */
bool ki_watch_decoder_is_clean(const ki_watch_decoder *decoder);

/* The metadata of a bookmark or another object that a watch needs, read without making an object. */
typedef struct ki_watch_meta {
    char resource_version[64]; /* "" if absent */
    bool initial_events_end;   /* annotation k8s.io/initial-events-end is exactly "true" */
    char kind[64];             /* "" if absent; cut if too long */
} ki_watch_meta;
ki_status ki_watch_meta_parse(const ki_allocator *allocator, ki_str object, ki_watch_meta *ret_meta, ki_error *err);

#endif
