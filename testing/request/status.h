/* status.h: error responses: Status objects with the real server's messages. Each function fills the response and
 * returns KT_RESPONDED or KI_ERR_NO_MEMORY. */
#ifndef KT_REQUEST_STATUS_H
#define KT_REQUEST_STATUS_H

#include "testing/request/call.h"
#include "testing/values/causes.h"

typedef struct kt_details {
    ki_str name;
    const char *group; /* NULL or "": none */
    const char *kind;  /* mostly the plural */
    ki_str uid;
    ki_str causes; /* the elements of a JSON array; empty: none */
    int retry_after_s;
    ki_str continue_token; /* goes to the Status' metadata */
} kt_details;

/* Appends a Status as JSON, for a response or a watch's ERROR event. `details` NULL: none. */
ki_status kt_status_append(ki_buffer *out, int code, const char *reason, const kt_details *details, ki_str message);

ki_status kt_fail(kt_call *call, int code, const char *reason, const kt_details *details, const char *format, ...)
    KI_PRINTF(5, 6);
ki_status kt_fail_bad_request(kt_call *call, const char *format, ...) KI_PRINTF(2, 3);
/* Responds with an error about the request as a whole, such as 404 "the server could not find the requested
 * resource", 405 or 413. */
ki_status kt_fail_generic(kt_call *call, int code);
/* Responds 500 `Internal error occurred: …` with the message as cause. */
ki_status kt_fail_internal(kt_call *call, const char *format, ...) KI_PRINTF(2, 3);
/* Respond `pods "x" not found` and `pods "x" already exists`. `is_deleting`: the existing object is. */
ki_status kt_fail_not_found(kt_call *call, const ki_resource *resource, ki_str name);
ki_status kt_fail_exists(kt_call *call, const ki_resource *resource, ki_str name, bool is_deleting);
/* Responds `Operation cannot be fulfilled on pods "x": …` */
ki_status kt_fail_conflict(kt_call *call, const char *what, ki_str name, const char *format, ...) KI_PRINTF(4, 5);

/* Responds 422 if there are causes. Frees them in any case. `kind`, `group` and `name` name the invalid object. */
ki_status kt_fail_causes(kt_call *call, kt_causes *causes, const char *group, const char *kind, ki_str name);

#endif
