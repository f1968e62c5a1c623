/* failing_libc.h: lets an allocation of libc fail, in programs that are linked for it (cmake/tests.cmake). One
 * thread. */
#ifndef TESTS_SUPPORT_LIBC_FAILING_LIBC_H
#define TESTS_SUPPORT_LIBC_FAILING_LIBC_H

#include <stdbool.h>
#include <stddef.h>

/* Allocations before the one that fails; those after it succeed. SIZE_MAX: none fails. */
extern size_t libc_allocations;
/* An allocation has failed; the caller unsets it. */
extern bool libc_has_failed;

#endif
