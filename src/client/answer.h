/* answer.h: what a request brought, while it is being made (loop only) and afterwards (immutable, shared, any thread). */
#ifndef KI_CLIENT_ANSWER_H
#define KI_CLIENT_ANSWER_H

#include <kinformer/client.h>

#include "src/base/buffer.h"
#include "src/base/refcount.h"
#include "src/object/format.h"
#include "src/wire/list_decoder.h"

struct ki_answer {
    ki_refcount refs;
    ki_allocator allocator;   /* its own: an answer may outlive the client's engine */
    ki_object_format *format; /* of its objects and fields; owned reference */
    int http_status;
    ki_buffer body;
    ki_object *object; /* NULL: none */
    ki_object **items;
    size_t item_count, item_capacity;
    size_t item_bytes;                       /* of all items' texts */
    char *resource_version, *continue_token; /* NULL: "" */
    int64_t remaining;
    ki_refusal *refusal; /* NULL: none */
};

ki_answer *ki_answer_new(ki_object_format *format, size_t body_limit);
ki_status ki_answer_add_item(ki_answer *answer, ki_object *obj);
ki_status ki_answer_take_meta(ki_answer *answer, const ki_list_meta *meta);
/* Makes the object where the body is one: JSON with kind and a name, and no Status. Errors: KI_ERR_NO_MEMORY only. */
ki_status ki_answer_make_object(ki_answer *answer);
/* The body as a refusal; never fails for what the body holds. */
ki_status ki_answer_make_refusal(ki_answer *answer, int64_t retry_after_ms);

/* `body` as a refusal: a Status, or any other text, which is then the message. One block. NULL on lack of memory. */
ki_refusal *ki_refusal_new(const ki_allocator *allocator, int http_status, ki_str body, int64_t retry_after_ms);
/* A copy for the caller of a waiting call, with malloc's allocator; NULL on lack of memory. */
ki_refusal *ki_refusal_copy(const ki_allocator *allocator, const ki_refusal *from);

#endif
