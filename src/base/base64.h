/* base64.h: standard base64 with padding (RFC 4648, section 4). Line ends are skipped. Any thread. */
#ifndef KI_BASE_BASE64_H
#define KI_BASE_BASE64_H

#include "src/base/buffer.h"

#define KI_BASE64_DECODED_MAX(size) ((size) / 4 * 3 + 3) /* bytes that `size` bytes of base64 can have */

/* Decodes into `out`, which has room for KI_BASE64_DECODED_MAX bytes; NULL: only counts. Returns false if the text is
 * not base64, or has bits after its last byte: then it was cut. */
KI_INTERNAL_API bool ki_base64_decode(ki_str text, char *out, size_t *ret_size);
ki_status ki_base64_encode(ki_buffer *out, ki_str data);

#endif
