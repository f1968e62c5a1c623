/* framer.c: the hot loop for all received bytes. json_scan.h finds the ends of arrays and objects. */
#include "src/wire/framer.h"

#include "src/base/assert.h"

#include <stdio.h>

void ki_framer_init(ki_framer *framer, const ki_allocator *allocator, size_t limit) {
    *framer = (ki_framer){ .limit = limit, .depth_max = KI_JSON_DEPTH_MAX };
    ki_buffer_init(&framer->partial, allocator, 0);
}

void ki_framer_free(ki_framer *framer) {
    ki_buffer_free(&framer->partial);
}

void ki_framer_reset(ki_framer *framer) {
    ki_buffer_reset(&framer->partial, KI_WIRE_BUFFER_KEEP);
    ki_buffer partial = framer->partial;
    *framer = (ki_framer){ .partial = partial, .limit = framer->limit, .depth_max = framer->depth_max };
}

static bool is_literal_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
           c == '.';
}

/* Scans a string, which ends with its quote, or a number or literal, which ends before the first byte that cannot
 * belong to it. Returns true at the end; `*ret_used` is the number of bytes that belong to it. */
static bool scan_scalar(ki_framer *framer, const char *data, size_t size, size_t *ret_used) {
    size_t i = 0;
    bool is_complete = false;
    if (!framer->walk.in_string) {
        while (i < size && is_literal_char(data[i]))
            i++;
        *ret_used = i;
        return i < size;
    }
    for (; i < size && !is_complete; i++) {
        is_complete = data[i] == '"' && !framer->walk.escaped;
        framer->walk.escaped = data[i] == '\\' && !framer->walk.escaped;
    }
    *ret_used = i;
    return is_complete;
}

/* The same for an array or object. */
static bool scan_container(ki_framer *framer, const char *data, size_t size, size_t *ret_used) {
    size_t end = ki_json_find_end(&framer->walk, (ki_str){ data, size });
    *ret_used = end ? end : size;
    return end > 0;
}

static size_t sample_max(const ki_framer *framer) {
    return framer->limit < KI_WIRE_SAMPLE_MAX ? framer->limit : KI_WIRE_SAMPLE_MAX;
}

/* Appends the value's next bytes to the buffer. For a value over a limit, keeps a sample and counts the rest. */
static ki_status gather(ki_framer *framer, const char *data, size_t size) {
    KI_ASSERT(framer->partial.size <= framer->limit);
    if (!framer->skipped && !framer->walk.too_deep && size <= framer->limit - framer->partial.size)
        return ki_buffer_append(&framer->partial, data, size);
    size_t sample = sample_max(framer);
    if (!framer->skipped) {
        framer->skipped = framer->partial.size;
        if (framer->partial.size > sample)
            framer->partial.size = sample;
    }
    framer->skipped += size;
    size_t more = sample - framer->partial.size;
    return more ? ki_buffer_append(&framer->partial, data, size < more ? size : more) : KI_OK;
}

static void advance(ki_str *chunk, size_t size) {
    KI_ASSERT(size <= chunk->size);
    chunk->data += size;
    chunk->size -= size;
}

static ki_frame end_value(ki_framer *framer, ki_str *chunk, size_t used, ki_str *ret_value) {
    KI_ASSERT(framer->in_value && !framer->handed_out && used <= chunk->size);
    bool whole = framer->partial.size == 0 && framer->skipped == 0;
    bool too_deep = framer->walk.too_deep;
    bool fits = used <= framer->limit && !too_deep;
    if (whole) {
        size_t sample = sample_max(framer);
        *ret_value = (ki_str){ chunk->data, fits || used < sample ? used : sample };
    } else {
        if (gather(framer, chunk->data, used))
            return KI_FRAME_NO_MEMORY;
        fits = !framer->skipped;
        *ret_value = (ki_str){ framer->partial.data, framer->partial.size };
        framer->handed_out = true;
    }
    advance(chunk, used);
    framer->skipped = 0;
    framer->in_value = false;
    if (too_deep)
        return KI_FRAME_TOO_DEEP;
    return fits ? KI_FRAME_VALUE : KI_FRAME_TOO_LARGE;
}

static ki_frame continue_value(ki_framer *framer, ki_str *chunk, size_t already, ki_str *ret_value) {
    KI_ASSERT(framer->in_value && already <= chunk->size);
    size_t used;
    const char *data = chunk->data + already;
    size_t size = chunk->size - already;
    bool is_complete =
        framer->in_scalar ? scan_scalar(framer, data, size, &used) : scan_container(framer, data, size, &used);
    used += already;
    if (is_complete)
        return end_value(framer, chunk, used, ret_value);
    if (gather(framer, chunk->data, used))
        return KI_FRAME_NO_MEMORY;
    advance(chunk, used);
    return KI_FRAME_NEED_MORE;
}

ki_frame ki_framer_next(ki_framer *framer, ki_str *chunk, ki_str *ret_value) {
    KI_ASSERT(!framer->handed_out || !framer->in_value);
    if (framer->handed_out) {
        ki_buffer_reset(&framer->partial, KI_WIRE_BUFFER_KEEP);
        framer->handed_out = false;
    }
    if (framer->in_value)
        return chunk->size ? continue_value(framer, chunk, 0, ret_value) : KI_FRAME_NEED_MORE;

    ki_wire_skip_space(chunk);
    if (chunk->size == 0)
        return KI_FRAME_NEED_MORE;
    char first = *chunk->data;
    if (first == ',' || first == ':' || first == ']' || first == '}') {
        advance(chunk, 1);
        return first == ',' ? KI_FRAME_SEPARATOR : first == ':' ? KI_FRAME_COLON : KI_FRAME_CLOSE;
    }
    bool is_container = first == '{' || first == '[';
    if (!is_container && first != '"' && !is_literal_char(first))
        return KI_FRAME_INVALID;
    framer->in_value = true;
    framer->in_scalar = !is_container;
    framer->walk = (ki_json_walk){ .depth_max = framer->depth_max, .in_string = first == '"' };
    return continue_value(framer, chunk, first == '"' ? 1 : 0, ret_value);
}

const char *ki_wire_show(ki_str text, char out[KI_WIRE_SHOW_MAX]) {
    size_t used = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (used + sizeof "\\x00" + sizeof "…" > KI_WIRE_SHOW_MAX) {
            memcpy(out + used, "…", sizeof "…" - 1);
            used += sizeof "…" - 1;
            break;
        }
        if (c >= 0x20 && c < 0x7f)
            out[used++] = (char)c;
        else
            used += (size_t)snprintf(out + used, KI_WIRE_SHOW_MAX - used, "\\x%02X", c);
    }
    out[used] = '\0';
    return out;
}
