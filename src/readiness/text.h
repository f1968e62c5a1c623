/* text.h: names and numbers as people read them, appended to a text. Any thread. */
#ifndef KI_READINESS_TEXT_H
#define KI_READINESS_TEXT_H

#include "src/base/buffer.h"
#include "src/base/internal_api.h"

#include <stdint.h>

/* Appends text for HTML, between tags and in quoted attributes. Bytes that are not UTF-8, control characters, and those
 * that change the direction of the text become "?". */
KI_INTERNAL_API void ki_text_html(ki_buffer *out, const char *text);
/* Appends the same for a line of plain text. */
void ki_text_line(ki_buffer *out, const char *text);
KI_INTERNAL_API void ki_text_count(ki_buffer *out, double count); /* "6,017" */
KI_INTERNAL_API void ki_text_bytes(ki_buffer *out, double bytes); /* "512 B", "1.4 KiB", "96 MiB" */
KI_INTERNAL_API void ki_text_rate(ki_buffer *out, double rate);   /* "0.3", "12.5", "1,204" */
/* Appends "0.4 s", "12 s", "5 min", "3.2 h" or "4 d". */
KI_INTERNAL_API void ki_text_duration(ki_buffer *out, double seconds);

#endif
