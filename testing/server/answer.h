/* answer.h: requests and answers of the server's own functions: paths of resources, a Status as an error, texts to give away. */
#ifndef KT_SERVER_ANSWER_H
#define KT_SERVER_ANSWER_H

#include <kinformer-testing/server.h>

#include "testing/rest/rest.h"

/* Appends the path of a resource's collection, or of one object. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_answer_target(ki_buffer *target, const ki_resource *resource, const char *ns, const char *name);
/* KI_OK for a success, else `err` says what the answer's Status says. */
ki_status kt_answer_status(const kt_response *response, ki_error *err);
/* Both replace `*ret_text`. `allocator` outlives it. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_answer_take(const ki_allocator *allocator, kt_response *response, ki_testing_text *ret_text);
ki_status kt_answer_copy(const ki_allocator *allocator, ki_str text, ki_testing_text *ret_text);

#endif
