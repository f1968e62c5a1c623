/* retry_after.h: until when the server wants no request: the Retry-After of its last error response (RFC 9110 §10.2.3).
 * Known from the head on, so that it counts also if the response is cancelled before its end. Loop only. */
#ifndef KI_CLIENT_RETRY_AFTER_H
#define KI_CLIENT_RETRY_AFTER_H

#include "src/engine/engine.h"
#include <kinformer/error.h>

typedef struct ki_retry_after {
    ki_engine *engine; /* constant */
    int64_t until;     /* a time of ki_engine_now */
} ki_retry_after;

void ki_retry_after_init(ki_retry_after *retry_after, ki_engine *engine);
/* Notes a Retry-After. `given_ms`: below 0: none. Never shortens the time. */
void ki_retry_after_note(ki_retry_after *retry_after, int64_t given_ms);
/* Returns KI_ERR_STATE, with the rest of the time in `err->retry_after_ms`, before the end. `what` begins the message.
 */
ki_status ki_retry_after_check(const ki_retry_after *retry_after, const char *what, ki_error *err);

#endif
