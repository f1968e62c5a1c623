/* gzip.h: gzip compression of large responses. */
#ifndef KT_HTTP_GZIP_H
#define KT_HTTP_GZIP_H

#include "src/base/buffer.h"

enum {
    KT_GZIP_MIN = 128 * 1024 /* bytes; smaller bodies are not compressed, as in the real server */
};

/* Returns true if an Accept-Encoding header (may be NULL) accepts gzip. */
bool kt_gzip_is_accepted(const char *accept_encoding);
/* Compresses `size` bytes to `ret_packed`, which it initializes. Ownership: the caller frees `ret_packed` on
 * success. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_gzip(const ki_allocator *allocator, const char *data, size_t size, ki_buffer *ret_packed);

#endif
