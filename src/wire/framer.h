/* framer.h: finds the ends of JSON values in a stream, scanning each byte once. A value can span chunks. It understands
 * strings, escapes and nesting only; the parser decides whether a value is valid JSON. One thread.
 *
 * A framer reads a sequence of values at one level: watch events one after the other, or the elements of an array. A
 * value inside one chunk is returned in place, without a copy; a value that spans chunks is gathered in a buffer. A
 * value above the limit, or nested too deeply, is counted and skipped without being stored. */
#ifndef KI_WIRE_FRAMER_H
#define KI_WIRE_FRAMER_H

#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/json_scan.h"

enum {
    KI_WIRE_SAMPLE_MAX = 64 * 1024,  /* bytes kept of a value over the limit, as a sample */
    KI_WIRE_BUFFER_KEEP = 32 * 1024, /* bytes; a larger buffer is freed after its value */
    KI_WIRE_SHOW_MAX = 96            /* bytes of unexpected input in a message, with the closing zero */
};
#define KI_WIRE_OBJECT_LIMIT ((size_t)32 * 1024 * 1024) /* default limit of one object, in bytes */

typedef struct ki_framer {
    ki_buffer partial; /* the beginning of a value from earlier chunks; a sample if the value is over the limit */
    size_t limit;      /* bytes of one value; can change between two values; 0: nothing is stored */
    size_t depth_max;  /* nesting of one value */
    size_t skipped;    /* bytes of the current value if it is over the limit; else 0 */
    ki_json_walk walk; /* through the current value; too_deep: it is skipped */
    bool in_value;
    bool in_scalar;  /* the value is a string, number or literal */
    bool handed_out; /* `partial` was the last result */
} ki_framer;

typedef enum ki_frame {
    KI_FRAME_NEED_MORE, /* the chunk is consumed */
    KI_FRAME_VALUE,     /* *ret_value is one complete value, valid until the next call */
    KI_FRAME_TOO_LARGE, /* a value over the limit was skipped; *ret_value is its beginning */
    KI_FRAME_TOO_DEEP,  /* the same for a value nested deeper than `depth_max` */
    KI_FRAME_SEPARATOR, /* a ',' at the outer level (arrays, objects) */
    KI_FRAME_COLON,     /* a ':' at the outer level (objects) */
    KI_FRAME_CLOSE,     /* a ']' or '}' at the outer level (the end of an array or object) */
    KI_FRAME_INVALID,   /* *chunk begins with a byte that cannot begin a value: the stream cannot be read further */
    KI_FRAME_NO_MEMORY
} ki_frame;

/* Consumes white space from the front. */
static inline void ki_wire_skip_space(ki_str *text) {
    while (text->size && (*text->data == ' ' || *text->data == '\n' || *text->data == '\r' || *text->data == '\t')) {
        text->data++;
        text->size--;
    }
}

/* Sets depth_max to KI_JSON_DEPTH_MAX. */
void ki_framer_init(ki_framer *framer, const ki_allocator *allocator, size_t limit);
void ki_framer_free(ki_framer *framer);
void ki_framer_reset(ki_framer *framer);
/* Consumes bytes from the front of *chunk up to the next result. */
ki_frame ki_framer_next(ki_framer *framer, ki_str *chunk, ki_str *ret_value);
/* Writes the beginning of unexpected input for a message, on one line, with \xNN for bytes that are not printable
 * ASCII. Returns `out`. */
const char *ki_wire_show(ki_str text, char out[KI_WIRE_SHOW_MAX]);

#endif
