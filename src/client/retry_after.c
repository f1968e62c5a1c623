/* retry_after.c: see retry_after.h. */
#include "src/client/retry_after.h"

#include "src/base/error.h"

void ki_retry_after_init(ki_retry_after *retry_after, ki_engine *engine) {
    *retry_after = (ki_retry_after){ .engine = engine, .until = INT64_MIN };
}

void ki_retry_after_note(ki_retry_after *retry_after, int64_t given_ms) {
    int64_t end = ki_engine_now(retry_after->engine) + KI_MILLISECONDS(ki_retry_after_ms(given_ms));
    if (given_ms > 0 && end > retry_after->until)
        retry_after->until = end;
}

ki_status ki_retry_after_check(const ki_retry_after *retry_after, const char *what, ki_error *err) {
    int64_t now = ki_engine_now(retry_after->engine);
    if (now >= retry_after->until)
        return KI_OK;
    int64_t left_ms = (retry_after->until - now + KI_MILLISECONDS(1) - 1) / KI_MILLISECONDS(1);
    ki_error_set(err, KI_ERR_STATE, "%.250s: the server wants no request for %.1f s (Retry-After)", what,
                 (double)left_ms / 1000);
    if (err) {
        err->category = KI_CATEGORY_RETRY;
        err->retry_after_ms = left_ms;
    }
    return KI_ERR_STATE;
}
