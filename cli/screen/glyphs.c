/* glyphs.c: see glyphs.h. */
#include "glyphs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Returns a similar character of ASCII. */
static wchar_t similar(wchar_t character) {
    static const struct {
        wchar_t character, similar;
    } all[] = { { 0x2026, L'.' }, { 0x2190, L'<' }, { 0x2191, L'^' }, { 0x2192, L'>' }, { 0x2193, L'v' },
                { 0xb7, L'.' },   { 0x2022, L'*' }, { 0x25cf, L'*' }, { 0x25b2, L'^' }, { 0x25b4, L'^' },
                { 0x25bc, L'v' }, { 0x25be, L'v' }, { 0x25b6, L'>' }, { 0x25b8, L'>' }, { 0x2013, L'-' },
                { 0x2014, L'-' }, { 0x2500, L'-' }, { 0x2501, L'-' }, { 0x2502, L'|' }, { 0x2503, L'|' } };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].character == character)
            return all[i].similar;
    }
    return character >= 0x2500 && character < 0x2580 ? L'+' : L'?'; /* corners of lines */
}

/* Returns the columns of a character; -1 if the locale, or the C library, does not have it. */
static int columns_of(wchar_t character) {
    char bytes[MB_LEN_MAX];
    mbstate_t state;
    memset(&state, 0, sizeof state);
    return wcrtomb(bytes, character, &state) == (size_t)-1 ? -1 : wcwidth(character);
}

/* Reads a character of UTF-8, which the canvas has checked. */
static wchar_t next_character(const char **text) {
    const unsigned char *c = (const unsigned char *)*text;
    unsigned character = *c < 0x80 ? *c : *c < 0xe0 ? *c & 0x1fU : *c < 0xf0 ? *c & 0x0fU : *c & 0x07U;
    for (c++; (*c & 0xc0) == 0x80; c++)
        character = character << 6 | (*c & 0x3fU);
    *text = (const char *)c;
    return (wchar_t)character;
}

size_t glyphs_fill(wchar_t *to, size_t max, const char *text, size_t width) {
    size_t count = 0, used = 0;
    for (; *text && count < max;) {
        wchar_t character = next_character(&text);
        int columns = columns_of(character);
        if (columns < 0 || (columns == 0 && count == 0)) {
            character = similar(character);
            columns = 1;
        }
        if (used + (size_t)columns > width)
            break;
        to[count++] = character;
        used += (size_t)columns;
    }
    for (; used < width && count < max; used++)
        to[count++] = L' ';
    return count;
}
