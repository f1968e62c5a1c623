/* response.h: a response to a request. Loop only while it is filled; then immutable, shared, any thread. */
#ifndef KI_CLIENT_RESPONSE_H
#define KI_CLIENT_RESPONSE_H

#include <kinformer/client.h>

#include "src/base/buffer.h"
#include "src/base/refcount.h"
#include "src/object/format.h"
#include "src/wire/list_decoder.h"

struct ki_response {
    ki_refcount refs;
    ki_allocator allocator;   /* a copy: a response may outlive the client's engine */
    ki_object_format *format; /* format of its objects and fields; owned reference */
    int http_status;
    ki_buffer body;
    ki_object *object; /* NULL: none */
    ki_object **items;
    size_t item_count, item_capacity;
    size_t item_bytes;                       /* bytes of all items' texts */
    char *resource_version, *continue_token; /* of a list; NULL: "" */
    char *deleted_uid;                       /* of a Status: details.uid; NULL: "" */
    int64_t remaining;
    ki_error_response *error_response; /* NULL: none */
};

/* Returns an empty response with one reference; NULL on lack of memory. `body_limit`: bytes; 0: no limit. */
ki_response *ki_response_new(ki_object_format *format, size_t body_limit);
/* Adds an item of a list; takes a reference. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_response_add_item(ki_response *response, ki_object *obj);
/* Copies a list's metadata. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_response_take_meta(ki_response *response, const ki_list_meta *meta);
/* Sets `object` if the body is JSON with a name, `deleted_uid` if the body is a Status.
 * Errors: KI_ERR_NO_MEMORY only. */
ki_status ki_response_make_object(ki_response *response);
/* Reads the body as an error response. Errors: KI_ERR_NO_MEMORY only. */
ki_status ki_response_make_error(ki_response *response, int64_t retry_after_ms);

/* Returns `body` as an error response: a Status, or any other text, which becomes the message. One block of memory.
 * NULL on lack of memory. */
ki_error_response *ki_error_response_new(const ki_allocator *allocator, int http_status, ki_str body,
                                         int64_t retry_after_ms);
/* Adds an owner, which calls ki_error_response_free too. */
ki_error_response *ki_error_response_ref(ki_error_response *error_response);

#endif
