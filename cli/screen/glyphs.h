/* glyphs.h: the characters of a text as the locale's terminal shows them. */
#ifndef CLI_SCREEN_GLYPHS_H
#define CLI_SCREEN_GLYPHS_H

#include <stddef.h>
#include <wchar.h>

/* Converts UTF-8 into at most `max` wide characters that fill `width` columns, by the C library's count of them: with
 * blanks at the end, or cut. A character that the locale lacks is a similar one of ASCII, or '?'. Returns their
 * number. */
size_t glyphs_fill(wchar_t *to, size_t max, const char *text, size_t width);

#endif
