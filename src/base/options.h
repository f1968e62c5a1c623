/* options.h: reads a program's struct of options, whose first member is its size: the program may be built with an
 * older or a newer library. */
#ifndef KI_BASE_OPTIONS_H
#define KI_BASE_OPTIONS_H

#include <kinformer/error.h>

#include "src/base/internal_api.h"

#include <stddef.h>

/* Copies the members that both sides know. The others are zero, as all are for NULL; the copy's size is this library's.
 * `maker`: the name of the macro that makes such a struct. Errors: KI_ERR_INVALID (a struct without a size). */
#define KI_OPTIONS_TAKE(options, ret_given, maker, err) \
    ki_options_take((options), (ret_given), sizeof *(1 ? (options) : (ret_given)), (maker), (err))

KI_INTERNAL_API ki_status ki_options_take(const void *options, void *ret_given, size_t size, const char *maker,
                                          ki_error *err);

#endif
