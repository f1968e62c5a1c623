/* list_decoder.h: decodes a list's body item by item as the bytes arrive; never stores the whole list. One thread.
 * `items` may come before or after `metadata`, `kind` and `apiVersion`. */
#ifndef KI_WIRE_LIST_DECODER_H
#define KI_WIRE_LIST_DECODER_H

#include "src/wire/framer.h"

typedef struct ki_list_sink {
    /* Called with one item's JSON text, valid during the call. Returning a failure ends the decoder, which returns the
     * same failure. */
    ki_status (*on_item)(ki_str item, void *user);
    /* Called for an item that is too large or too deep; the decoder continues. */
    ki_status (*on_bad)(const ki_error *why, ki_str sample, void *user);
    /* Returns true if the decoder may read the next item. NULL: always. */
    bool (*may_continue)(void *user);
    void *user;
} ki_list_sink;

/* The list's metadata, complete after finish. Strings are "" if absent. If kind and apiVersion follow the items, items
 * are handed over before they are known; a receiver that needs them knows them from the resource. */
typedef struct ki_list_meta {
    char api_version[128];
    char kind[128];
    char resource_version[64];    /* "": the list has none */
    char *continue_token;         /* owned by the decoder; "" if absent */
    int64_t remaining_item_count; /* -1 if absent */
} ki_list_meta;

typedef struct ki_list_decoder ki_list_decoder;

ki_status ki_list_decoder_new(const ki_allocator *allocator, size_t object_limit, const ki_list_sink *sink,
                              ki_list_decoder **ret_decoder, ki_error *err);
void ki_list_decoder_free(ki_list_decoder *decoder);
/* Consumes bytes from the front of `chunk`: all, unless the sink's may_continue returns false; the caller feeds the
 * rest later. Errors: KI_ERR_PROTOCOL (not a JSON object, items not an array, malformed), KI_ERR_NO_MEMORY,
 * KI_ERR_LIMIT, or what the sink returned. */
ki_status ki_list_decoder_feed(ki_list_decoder *decoder, ki_str *chunk, ki_error *err);
/* Ends the list. Errors: KI_ERR_UNEXPECTED_EOF if the list is incomplete; KI_ERR_PROTOCOL if it has no
 * metadata.resourceVersion or if its kind does not end in List (a Table, a Status; the message has the kind). */
ki_status ki_list_decoder_finish(ki_list_decoder *decoder, ki_error *err);
const ki_list_meta *ki_list_decoder_meta(const ki_list_decoder *decoder);

#endif
