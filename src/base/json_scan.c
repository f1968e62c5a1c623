/* json_scan.c: the scanner for any processor, which reads byte by byte, the choice of a scanner, and compact JSON. */
#include "src/base/json_scan.h"

#include "src/base/assert.h"
#include "src/base/json_scan_blocks.h"

#include <stdatomic.h>

/* --- byte by byte ------------------------------------------------------------------------------------------------- */

/* Passes one byte. Returns true for a byte outside strings that is no quote. */
static bool pass(ki_json_walk *walk, char c) {
    bool is_quote = c == '"' && !walk->escaped;
    walk->escaped = c == '\\' && !walk->escaped;
    walk->in_string ^= is_quote;
    return !is_quote && !walk->in_string;
}

static size_t find_end(ki_json_walk *walk, ki_str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!pass(walk, c))
            continue;
        if (c == '{' || c == '[') {
            walk->depth++;
            walk->too_deep |= walk->depth > walk->depth_max;
        } else if ((c == '}' || c == ']') && --walk->depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

static bool is_compact(ki_str text, size_t *opened) {
    ki_json_walk walk = KI_JSON_WALK_INIT;
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!pass(&walk, c))
            continue;
        if ((unsigned char)c <= ' ')
            return false;
        count += c == '{' || c == '[';
    }
    *opened += count;
    return true;
}

/* Byte by byte the parser is as fast. */
static bool leave_to_parser(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline) {
    (void)text, (void)gap_at, (void)gap_size;
    outline->count = 0;
    return false;
}

static bool always(void) {
    return true;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

static const ki_json_scanner by_bytes = { "bytes", always, find_end, is_compact, leave_to_parser };

const ki_json_scanner *ki_json_scanner_at(size_t number) {
    if (number < ki_json_block_scanner_count)
        return &ki_json_block_scanners[number];
    return number == ki_json_block_scanner_count ? &by_bytes : NULL;
}

/* Returns the first scanner that the processor supports. */
static const ki_json_scanner *chosen(void) {
    static const ki_json_scanner *_Atomic known;
    const ki_json_scanner *scanner = atomic_load_explicit(&known, memory_order_relaxed);
    for (size_t i = 0; !scanner; i++) {
        scanner = ki_json_scanner_at(i);
        if (!scanner->is_supported())
            scanner = NULL;
        else
            atomic_store_explicit(&known, scanner, memory_order_relaxed);
    }
    return scanner;
}

size_t ki_json_find_end(ki_json_walk *walk, ki_str text) {
    return chosen()->find_end(walk, text);
}

size_t ki_json_container_size(ki_str text) {
    ki_json_walk walk = KI_JSON_WALK_INIT;
    size_t size = ki_json_find_end(&walk, text);
    KI_ASSERT(size <= text.size);
    return size ? size : text.size;
}

bool ki_json_is_compact(ki_str text, size_t *opened) {
    return chosen()->is_compact(text, opened);
}

bool ki_json_is_valid(ki_str text, size_t gap_at, size_t gap_size, ki_json_outline *outline) {
    /* Each piece ends with a bracket, before which the scan of a token stops. */
    if (text.size < 2 || text.size > UINT32_MAX || text.data[0] != '{' || text.data[text.size - 1] != '}' ||
        (gap_size && text.data[gap_at - 1] != '[' && text.data[gap_at - 1] != '{'))
        return false;
    return chosen()->is_valid(text, gap_at, gap_size, outline);
}

/* --- compact JSON ------------------------------------------------------------------------------------------------- */

size_t ki_json_compact(char *out, ki_str text) {
    size_t size = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        out[size++] = c;
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\' && i + 1 < text.size)
            out[size++] = text.data[++i];
    }
    KI_ASSERT(size <= text.size);
    return size;
}
