/* gzip.h: bodies packed as an API server packs its large answers. */
#ifndef KT_HTTP_GZIP_H
#define KT_HTTP_GZIP_H

#include "src/base/buffer.h"

enum {
    KT_GZIP_MIN = 128 * 1024
}; /* smaller bodies are sent as they are, as the real server does */

/* Does an Accept-Encoding header (or NULL) ask for gzip? */
bool kt_gzip_is_accepted(const char *accept_encoding);
/* Packs `size` bytes into `ret_packed`, which it initialises; the caller's on success. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status kt_gzip(const ki_allocator *allocator, const char *data, size_t size, ki_buffer *ret_packed);

#endif
