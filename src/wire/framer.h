/* framer.h: finds where JSON values end while their bytes arrive, scanning each byte once, whatever the
 * chunks. It understands strings, escapes and nesting, and no more: whether a value is valid JSON is its
 * parser's to say. One thread.
 *
 * A framer reads a sequence of values at one level: watch events one after the other, or the elements of
 * an array. It is fed with chunks; a value that lies whole in a chunk is handed out in place, without
 * copying; one that spans chunks is gathered in the framer's buffer. A value above the limit, or nested
 * too deep, is counted and skipped without being stored. */
#ifndef KI_WIRE_FRAMER_H
#define KI_WIRE_FRAMER_H

#include <kinformer/error.h>

#include "src/base/buffer.h"
#include "src/base/json_scan.h"

enum {
    KI_WIRE_MAX_DEPTH = 512,          /* nesting of one value */
    KI_WIRE_SAMPLE_MAX = 64 * 1024,   /* bytes that are kept of a value over the limit, or given as a sample */
    KI_WIRE_BUFFER_KEEP = 256 * 1024, /* bytes; a larger gathering buffer is freed after its value */
    KI_WIRE_SHOW_MAX = 96             /* bytes of what a message shows of unexpected input, with the closing zero */
};
#define KI_WIRE_OBJECT_LIMIT ((size_t)32 * 1024 * 1024) /* bytes of one object, by default */

typedef struct ki_framer {
    ki_buffer partial; /* the value that has begun in an earlier chunk; of one over the limit, its beginning */
    size_t limit;      /* bytes of one value; may change between two values; 0: nothing is stored */
    size_t depth;
    size_t skipped; /* bytes of the value at hand so far, where it is over the limit; 0: it is not */
    ki_json_state scan;
    bool in_value;
    bool in_scalar;  /* and the value is a string, number or word */
    bool too_deep;   /* the value at hand is: it is skipped too */
    bool handed_out; /* what `partial` holds was the last result */
} ki_framer;

typedef enum ki_frame {
    KI_FRAME_NEED_MORE, /* the chunk is used up */
    KI_FRAME_VALUE,     /* *ret_value is one whole value, valid until the next call */
    KI_FRAME_TOO_LARGE, /* one value was over the limit and is gone; *ret_value is its beginning */
    KI_FRAME_TOO_DEEP,  /* the same for one that nests deeper than KI_WIRE_MAX_DEPTH */
    KI_FRAME_SEPARATOR, /* a ',' at the outer level (arrays) */
    KI_FRAME_CLOSE,     /* a ']' or '}' at the outer level (the end of an array) */
    KI_FRAME_INVALID,   /* *chunk begins with a byte that cannot begin a value: the stream is lost */
    KI_FRAME_NO_MEMORY
} ki_frame;

void ki_framer_init(ki_framer *framer, const ki_allocator *allocator, size_t limit);
void ki_framer_free(ki_framer *framer);
void ki_framer_reset(ki_framer *framer);
/* Takes bytes off the front of *chunk until there is something to report. */
ki_frame ki_framer_next(ki_framer *framer, ki_str *chunk, ki_str *ret_value);
/* Has a value begun that is not yet whole? */
bool ki_framer_is_partial(const ki_framer *framer);

/* The beginning of unexpected input on one line, for a message: what is not printable ASCII as \xNN.
 * Returns `out`. */
const char *ki_wire_show(ki_str text, char out[KI_WIRE_SHOW_MAX]);

#endif
