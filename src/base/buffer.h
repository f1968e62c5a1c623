/* buffer.h: bytes that grow, up to a limit. Zero-terminated after `size` once memory was reserved. One thread. A failed
 * append leaves the buffer unchanged. `failed` keeps the first failure, so that a sequence of appends needs one check
 * at its end. */
#ifndef KI_BASE_BUFFER_H
#define KI_BASE_BUFFER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/internal_api.h"
#include "src/base/string_view.h"

#include <stdarg.h>

typedef struct ki_buffer {
    const ki_allocator *allocator;
    char *data; /* NULL until memory was reserved */
    size_t size;
    size_t capacity;  /* without the closing zero */
    size_t limit;     /* 0: none */
    ki_status failed; /* KI_OK, KI_ERR_NO_MEMORY or KI_ERR_LIMIT */
    bool is_secret;   /* set it after init: memory is wiped before it is freed */
} ki_buffer;

KI_INTERNAL_API void ki_buffer_init(ki_buffer *buffer, const ki_allocator *allocator, size_t limit);
KI_INTERNAL_API void ki_buffer_free(ki_buffer *buffer);
/* Empties the buffer and clears the failure. Frees the memory if it is larger than `keep` bytes. */
KI_INTERNAL_API void ki_buffer_reset(ki_buffer *buffer, size_t keep);
/* Cuts the buffer to its first `size` bytes. */
void ki_buffer_truncate(ki_buffer *buffer, size_t size);
/* Makes room for `more` bytes after `size`. */
KI_INTERNAL_API ki_status ki_buffer_reserve(ki_buffer *buffer, size_t more);
KI_INTERNAL_API ki_status ki_buffer_append(ki_buffer *buffer, const void *data, size_t size);
KI_INTERNAL_API ki_status ki_buffer_append_view(ki_buffer *buffer, ki_str text);
KI_INTERNAL_API ki_status ki_buffer_append_string(ki_buffer *buffer, const char *text);
KI_INTERNAL_API ki_status ki_buffer_append_char(ki_buffer *buffer, char c);
KI_INTERNAL_API ki_status ki_buffer_printf(ki_buffer *buffer, const char *format, ...) KI_PRINTF(2, 3);
ki_status ki_buffer_vprintf(ki_buffer *buffer, const char *format, va_list args) KI_PRINTF(2, 0);
/* Returns the bytes of `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD. */
size_t ki_json_string_size(ki_str text);
/* Writes that string without a closing zero. Returns its end. */
char *ki_json_string_write(char *out, ki_str text);
/* Appends that string. */
KI_INTERNAL_API ki_status ki_buffer_append_json_string(ki_buffer *buffer, ki_str text);
/* Appends `text` percent-encoded for a URL's query or path segment (RFC 3986 §2.3: unreserved characters stay). */
ki_status ki_buffer_append_url(ki_buffer *buffer, ki_str text);
/* Returns the bytes, zero-terminated, and empties the buffer. The caller frees them with ki_free. Returns NULL after a
 * failure or if out of memory. */
KI_INTERNAL_API char *ki_buffer_take(ki_buffer *buffer, size_t *ret_size);

#endif
