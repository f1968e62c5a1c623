/* buffer.h: bytes that grow, up to a limit. Always zero-terminated past `size` once anything was reserved.
 * One thread. A failed append leaves the buffer as it was; the first failure is also remembered in `failed`, so that a
 * sequence of appends may be checked once at its end. */
#ifndef KI_BASE_BUFFER_H
#define KI_BASE_BUFFER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

#include <stdarg.h>

typedef struct ki_buffer {
    const ki_allocator *allocator;
    char *data; /* NULL until something was reserved */
    size_t size;
    size_t capacity;  /* without the closing zero */
    size_t limit;     /* 0: none */
    ki_status failed; /* KI_OK, KI_ERR_NO_MEMORY or KI_ERR_LIMIT */
    bool is_secret;   /* set after init: what it held is wiped before memory is given back */
} ki_buffer;

void ki_buffer_init(ki_buffer *buffer, const ki_allocator *allocator, size_t limit);
void ki_buffer_free(ki_buffer *buffer);
/* Empties it and forgets the failure; the memory stays unless it is larger than `keep` bytes. */
void ki_buffer_reset(ki_buffer *buffer, size_t keep);
/* Room for `more` bytes past `size`. */
ki_status ki_buffer_reserve(ki_buffer *buffer, size_t more);
ki_status ki_buffer_append(ki_buffer *buffer, const void *data, size_t size);
ki_status ki_buffer_append_view(ki_buffer *buffer, ki_str text);
ki_status ki_buffer_append_string(ki_buffer *buffer, const char *text);
ki_status ki_buffer_append_char(ki_buffer *buffer, char c);
ki_status ki_buffer_printf(ki_buffer *buffer, const char *format, ...) KI_PRINTF(2, 3);
ki_status ki_buffer_vprintf(ki_buffer *buffer, const char *format, va_list args) KI_PRINTF(2, 0);
/* `text` as a JSON string with its quotes, escaped; what is no UTF-8 becomes U+FFFD. */
ki_status ki_buffer_append_json_string(ki_buffer *buffer, ki_str text);
/* `text` percent-encoded for a URL's query or path segment (RFC 3986 unreserved characters stay). */
ki_status ki_buffer_append_url(ki_buffer *buffer, ki_str text);
/* The bytes, zero-terminated, now the caller's (freed with ki_free); NULL on an earlier failure or lack of memory.
 * The buffer is empty afterwards. */
char *ki_buffer_take(ki_buffer *buffer, size_t *ret_size);

#endif
