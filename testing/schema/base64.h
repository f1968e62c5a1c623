/* base64.h: bytes as JSON writes them: standard base64 with padding. */
#ifndef KT_SCHEMA_BASE64_H
#define KT_SCHEMA_BASE64_H

#include "src/base/buffer.h"

/* Appends a JSON string, with its quotes. */
ki_status kt_base64_append(ki_buffer *out, ki_str bytes);

#endif
