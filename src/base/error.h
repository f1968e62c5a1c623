/* error.h: filling in a ki_error. Every function accepts err == NULL and returns the status, so that
 * `return ki_error_set(err, KI_ERR_INVALID, "no such index: %s", name);` reads as one step. */
#ifndef KI_BASE_ERROR_H
#define KI_BASE_ERROR_H

#include <kinformer/error.h>

/* The same with the text of errno appended: ": No such file or directory". */
ki_status ki_error_set_errno(ki_error *err, ki_status code, int number, const char *format, ...) KI_PRINTF(4, 5);
/* A public function was called with NULL where it needs something. */
static inline ki_status ki_error_missing(ki_error *err, const char *function) {
    (void)ki_error_set(err, KI_ERR_INVALID, "%s: an argument that it needs is NULL", function);
    return KI_ERR_INVALID;
}

/* "out of memory while WHAT". Whole in here, so that an analyzer sees in every caller that it never is KI_OK. */
static inline ki_status ki_error_no_memory(ki_error *err, const char *what) {
    ki_error_set(err, KI_ERR_NO_MEMORY, "out of memory while %s", what);
    return KI_ERR_NO_MEMORY;
}
/* Puts "PREFIX: " in front of the message of an error that is set already. */
ki_status ki_error_prefix(ki_error *err, const char *format, ...) KI_PRINTF(2, 3);
void ki_error_clear(ki_error *err);
/* The category that a status has where nothing more is known. */
ki_category ki_category_of(ki_status code);

#endif
