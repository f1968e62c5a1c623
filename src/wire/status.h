/* status.h: converts a Kubernetes Status body, or any HTTP error, to a ki_error. */
#ifndef KI_WIRE_STATUS_H
#define KI_WIRE_STATUS_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"
#include "src/object/json.h"

enum {
    KI_STATUS_BODY_MAX = 64 * 1024 /* bytes of an error's body that are read */
};

/* Fills `err` from the HTTP status and the body, which can be a Status, other text, incomplete or empty. With
 * http_status 0 (an ERROR event of a watch) the Status's code counts. Returns err->code.
 *
 * Codes: 410 or reason Expired or Gone is KI_ERR_EXPIRED; reason Timeout with cause ResourceVersionTooLarge, or the
 * text "Too large resource version" in a cause or in the message, is KI_ERR_TOO_LARGE_RV; all else is KI_ERR_HTTP.
 * Categories: 401 and 403 credentials; 408, 409, 429, 503, 504 and reason Timeout retry; other 4xx request; 5xx server.
 * details.retryAfterSeconds sets retry_after_ms if the header (header_retry_after_ms, or -1) did not. Control
 * characters in the server's message become spaces. */
ki_status ki_status_to_error(const ki_allocator *allocator, int http_status, ki_str body, int64_t header_retry_after_ms,
                             ki_error *err);

/* Returns details.retryAfterSeconds of a Status in milliseconds; `header_ms`, a Retry-After header's, if that is not -1
 * or the Status has none. */
int64_t ki_status_retry_after_ms(yyjson_val *root, int64_t header_ms);

#endif
