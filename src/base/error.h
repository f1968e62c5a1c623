/* error.h: sets a ki_error. Every function allows err == NULL and returns the status, for `return ki_error_set(err,
 * KI_ERR_INVALID, "no such index: %s", name);`. */
#ifndef KI_BASE_ERROR_H
#define KI_BASE_ERROR_H

#include "src/base/internal_api.h"

#include <kinformer/error.h>

enum {
    KI_RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1000
};

/* Sets an error with the text of errno appended: ": No such file or directory". */
KI_INTERNAL_API ki_status ki_error_set_errno(ki_error *err, ki_status code, int number, const char *format, ...)
    KI_PRINTF(4, 5);
/* Sets the error of a public function that was called with NULL for a required argument. */
static inline ki_status ki_error_missing(ki_error *err, const char *function) {
    (void)ki_error_set(err, KI_ERR_INVALID, "%s: an argument that it needs is NULL", function);
    return KI_ERR_INVALID;
}

/* Sets "out of memory while WHAT". Inline, so that an analyzer sees that it never returns KI_OK. */
static inline ki_status ki_error_no_memory(ki_error *err, const char *what) {
    ki_error_set(err, KI_ERR_NO_MEMORY, "out of memory while %s", what);
    return KI_ERR_NO_MEMORY;
}
/* For a function of the program that failed with `status` and did not set `err` (not NULL): sets "WHAT returned
 * "closed"". Returns `status`. */
static inline ki_status ki_error_fill(ki_error *err, ki_status status, const char *what) {
    if (status && !err->code)
        ki_error_set(err, status, "%s returned \"%s\"", what, ki_status_name(status));
    return status;
}
/* Returns how long to wait for a Retry-After: 0 to KI_RETRY_AFTER_MAX_MS. `given_ms`: the server's; below 0: none. */
static inline int64_t ki_retry_after_ms(int64_t given_ms) {
    int64_t ms = given_ms > 0 ? given_ms : 0;
    return ms < KI_RETRY_AFTER_MAX_MS ? ms : KI_RETRY_AFTER_MAX_MS;
}
/* Puts "PREFIX: " before the message of an error. */
KI_INTERNAL_API void ki_error_prefix(ki_error *err, const char *format, ...) KI_PRINTF(2, 3);
void ki_error_clear(ki_error *err);
/* Returns the default category of a status. */
ki_category ki_category_of(ki_status code);

#endif
