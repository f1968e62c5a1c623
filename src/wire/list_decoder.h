/* list_decoder.h: a list's body, item by item, as the bytes arrive; never the whole of it. One thread.
 * `items` may come before or after `metadata`, `kind` and `apiVersion`. */
#ifndef KI_WIRE_LIST_DECODER_H
#define KI_WIRE_LIST_DECODER_H

#include "src/wire/framer.h"

typedef struct ki_list_sink {
    /* One item's JSON text, valid during the call. A failure stops the decoder, which gives it back. */
    ki_status (*on_item)(ki_str item, void *user);
    /* One item over the limit of size or depth; the rest goes on. */
    ki_status (*on_bad)(const ki_error *why, ki_str sample, void *user);
    /* Is the next item wanted now? NULL: always. */
    bool (*may_go_on)(void *user);
    void *user;
} ki_list_sink;

/* What else the list says; complete after finish. Item kind: "PodList" gives item_kind "Pod". Strings are
 * "" where absent. Where kind and apiVersion come after the items, an item was handed over before they
 * were known: the reader who needs them has them from the resource anyway. */
typedef struct ki_list_meta {
    char api_version[128];
    char kind[128];
    char resource_version[64];
    char *continue_token;         /* owned by the decoder; "" where none */
    int64_t remaining_item_count; /* -1 where absent */
} ki_list_meta;

typedef struct ki_list_decoder ki_list_decoder;

ki_status ki_list_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_list_sink *sink,
                              ki_list_decoder **ret_decoder, ki_error *err);
void ki_list_decoder_free(ki_list_decoder *decoder);
/* Takes bytes off the front of `chunk`: all of it, unless the sink wants nothing more now; the rest is to be fed later, before anything else.
 * Errors: KI_ERR_PROTOCOL (not a JSON object, items no array, malformed), KI_ERR_NO_MEMORY, KI_ERR_LIMIT,
 * or what the sink returned. */
ki_status ki_list_decoder_feed(ki_list_decoder *decoder, ki_str *chunk, ki_error *err);
/* At the body's end. KI_ERR_UNEXPECTED_EOF where the list is not whole; KI_ERR_PROTOCOL where it has no
 * metadata.resourceVersion or its kind does not end in List (a Table, a Status: the message says what
 * came). */
ki_status ki_list_decoder_finish(ki_list_decoder *decoder, ki_error *err);
const ki_list_meta *ki_list_decoder_meta(const ki_list_decoder *decoder);

#endif
