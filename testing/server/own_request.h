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
/* Sets `*ret_json` to the object that a test gave, `size` bytes (0: to its zero) of JSON or YAML. JSON begins with a
 * brace and stays what it is; YAML is converted into `converted`, which the caller frees.
 * Errors: KI_ERR_INVALID (NULL), KI_ERR_PARSE with line and column, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status kt_own_text(const char *text, size_t size, ki_buffer *converted, ki_str *ret_json, ki_error *err);
/* Makes a request. Sets `*ret_body` to the body of the response, also of an error response; `ret_body` may be NULL.
 * Caller holds the cluster. Errors: KI_ERR_HTTP, KI_ERR_INVALID (a watch), KI_ERR_NO_MEMORY. */
ki_status kt_own_request(kt_cluster *cluster, const kt_request *request, int64_t now_ms, ki_testing_text *ret_body,
                         ki_error *err);

/* A PUT or PATCH of an object. All members are borrowed. */
typedef struct kt_object_change {
    const char *method;
    const ki_resource *resource;
    const char *ns;
    const char *name;
    const char *content_type;
    ki_str json;
} kt_object_change;

/* Makes the request. If the object's status is a subresource and `json` has a status, also makes the request for the
 * status; an error leaves the object unchanged. Caller holds the cluster. Errors: as kt_own_request. */
ki_status kt_own_change(kt_cluster *cluster, const kt_object_change *change, int64_t now_ms, ki_error *err);

/* Sets `*ret_text` to a copy of `text`. `allocator` must outlive it. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_text_copy(const ki_allocator *allocator, ki_str text, ki_testing_text *ret_text);

#endif
