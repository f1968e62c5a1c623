/* base64.h: bytes as JSON writes them: standard base64 with padding. */
#ifndef KT_VALUES_BASE64_H
#define KT_VALUES_BASE64_H

#include "src/base/buffer.h"

/* Appends a JSON string, with its quotes. */
ki_status kt_base64_append(ki_buffer *out, ki_str bytes);

/* SIZE_MAX where it is base64, else the place that is not. */
size_t kt_base64_check(ki_str text);

#endif
