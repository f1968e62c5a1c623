/* kept_error.h: an error that a struct keeps. Most structs have none, and a pointer takes less than a ki_error.
 *
 *     ki_error *cause; // kept; NULL: none
 *     ki_error_keep(allocator, &cause, err);
 *     ki_error_keep(allocator, &cause, NULL); // frees it */
#ifndef KI_BASE_KEPT_ERROR_H
#define KI_BASE_KEPT_ERROR_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

/* Replaces the kept error by a copy of `err`. NULL or code KI_OK: by none. Without memory it becomes "out of memory",
 * which nobody writes to. */
void ki_error_keep(const ki_allocator *allocator, ki_error **kept, const ki_error *err);
/* Returns the kept error; KI_ERROR_INIT for NULL. */
ki_error ki_error_kept(const ki_error *kept);

#endif
