/* gzip.h: gzip compression of responses. Any thread. */
#ifndef KI_HTTP_GZIP_H
#define KI_HTTP_GZIP_H

#include "src/base/buffer.h"

/* Compresses `size` bytes to `ret_packed`, which it initializes. Ownership: the caller frees `ret_packed` on
 * success. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status ki_http_gzip(const ki_allocator *allocator, const char *data, size_t size, ki_buffer *ret_packed);

#endif
