/* kept_error.h: an error that a struct keeps. Most structs have none, and it takes less than a ki_error.
 *
 *     ki_kept_error cause; // zeroed: none
 *     ki_error_keep(allocator, &cause, err);
 *     ki_error_keep(allocator, &cause, NULL); // frees it */
#ifndef KI_BASE_KEPT_ERROR_H
#define KI_BASE_KEPT_ERROR_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

/* What a program decides by is in place: it is kept without memory, too. */
typedef struct ki_kept_error {
    ki_status code; /* KI_OK: none */
    ki_category category;
    int http_status;
    int64_t retry_after_ms;
    ki_error *whole; /* NULL: none, or its texts were lost for lack of memory */
} ki_kept_error;

/* Replaces the kept error by a copy of `err`. NULL or code KI_OK: by none. Without memory the reason is lost, and the
 * message is "out of memory for the message". */
void ki_error_keep(const ki_allocator *allocator, ki_kept_error *kept, const ki_error *err);
/* Returns the kept error; KI_ERROR_INIT if there is none. */
ki_error ki_error_kept(const ki_kept_error *kept);

#endif
