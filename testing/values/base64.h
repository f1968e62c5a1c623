/* base64.h: standard base64 with padding, as JSON has bytes. */
#ifndef KT_VALUES_BASE64_H
#define KT_VALUES_BASE64_H

#include "src/base/buffer.h"

/* Appends a JSON string with its quotes. */
ki_status kt_base64_append(ki_buffer *out, ki_str bytes);

/* Appends the bytes of a valid text. */
ki_status kt_base64_decode(ki_buffer *out, ki_str text);
/* Returns the index of the first wrong byte; SIZE_MAX if `text` is valid. */
size_t kt_base64_check(ki_str text);

#endif
