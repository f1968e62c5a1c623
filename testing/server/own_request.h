/* own_request.h: the requests that the server's C functions make: paths of resources, errors from responses, and
 * texts for callers. */
#ifndef KT_SERVER_OWN_REQUEST_H
#define KT_SERVER_OWN_REQUEST_H

#include <kinformer-testing/server.h>

#include "testing/rest/rest.h"

/* Errors: KI_ERR_INVALID (no resource, or one without version, plural, kind or group). */
ki_status kt_check_resource(const ki_resource *resource, ki_error *err);
/* Appends the path of a resource's collection, or of one object. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_request_target(ki_buffer *target, const ki_resource *resource, const char *ns, const char *name);
/* Returns KI_OK for a successful response; otherwise KI_ERR_HTTP, and fills `err` from the response's Status. */
ki_status kt_response_error(const kt_response *response, ki_error *err);
/* Set `*ret_text` to the response's body, or to a copy of `text`. `allocator` must outlive it. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status kt_text_take(const ki_allocator *allocator, kt_response *response, ki_testing_text *ret_text);
ki_status kt_text_copy(const ki_allocator *allocator, ki_str text, ki_testing_text *ret_text);

#endif
