/* watch_decoder.h: decodes a watch's body, a sequence of {"type":…,"object":…}, into events as the bytes arrive. If an
 * event has no end before the next one begins on its own line, only that event is lost. One thread. */
#ifndef KI_WIRE_WATCH_DECODER_H
#define KI_WIRE_WATCH_DECODER_H

#include <kinformer/informer.h>

#include "src/wire/framer.h"

typedef enum ki_watch_part {
    KI_WATCH_NOTHING, /* all bytes are consumed, and no event is complete */
    KI_WATCH_CHANGE,  /* ADDED, MODIFIED or DELETED */
    KI_WATCH_BOOKMARK,
    KI_WATCH_ERROR,
    KI_WATCH_BAD /* malformed, of unknown type or over the limit; the next events can be read */
} ki_watch_part;

/* What the decoder read, valid until its next call. */
typedef struct ki_watch_event {
    ki_watch_part part;
    ki_event_type type;  /* of a change */
    ki_str object;       /* JSON text of the event's object; of a bad event its beginning, at most KI_WIRE_SAMPLE_MAX
                         * bytes, from which the object's name can often be read */
    const ki_error *why; /* of a bad event; else NULL */
    bool is_assumed;     /* of a change: the object ends where the event seems to end, if it is valid JSON */
} ki_watch_event;

typedef struct ki_watch_decoder ki_watch_decoder;

ki_status ki_watch_decoder_new(const ki_allocator *allocator, size_t object_limit, ki_watch_decoder **ret_decoder,
                               ki_error *err);
void ki_watch_decoder_free(ki_watch_decoder *decoder);
/* Reads the next event from the front of `chunk`, and consumes its bytes. Errors: KI_ERR_PROTOCOL (not a sequence of
 * JSON values: the stream cannot be read further), KI_ERR_NO_MEMORY. */
ki_status ki_watch_decoder_next(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *ret_event, ki_error *err);
/* Reads the last event again. For one that is assumed and whose object is not valid JSON: the object ends elsewhere, or
 * is malformed. `chunk` is what the last call left of its chunk, and gets back what does not belong to the event.
 * `*event` becomes the event, not assumed; KI_WATCH_NOTHING: it is not complete. Errors: as ki_watch_decoder_next. */
ki_status ki_watch_decoder_reread(ki_watch_decoder *decoder, ki_str *chunk, ki_watch_event *event, ki_error *err);
/* Returns bytes at the end of a stream that the decoder has kept without a look at them; an empty view if there are
 * none. Events can end in them: the caller passes a copy to the next call. */
ki_str ki_watch_decoder_give_back(ki_watch_decoder *decoder);
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
