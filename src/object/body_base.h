/* body_base.h: packed bodies. A body is packed as its delta (body_delta.h) against a base, the body of an object with a
 * like name, and the delta by the base's codec. Each object has a reference to its base.
 *
 * Guards: one thread at a time makes bases and packs, the engine's loop. Any thread reads, and releases. */
#ifndef KI_OBJECT_BODY_BASE_H
#define KI_OBJECT_BODY_BASE_H

#include "src/base/refcount.h"
#include "src/object/body_contexts.h"

#include <stdatomic.h>

/* A text that deltas are made against, packed. Constant once made. */
typedef struct ki_body_base {
    ki_refcount refs;
    uint32_t size;          /* of the text */
    uint32_t packed_size;   /* of `packed` */
    ki_body_codec *codec;   /* owned reference */
    uint64_t number;        /* that of nothing else */
    _Atomic(size_t) *bytes; /* of the bases of one format, which outlives them */
    char packed[];
} ki_body_base;

/* Makes a base of a text. `scratch` is memory to pack in, as large as the text. Errors: KI_ERR_LIMIT (it would take no
 * less than the text), KI_ERR_NO_MEMORY. */
ki_status ki_body_base_new(ki_body_codec *codec, ki_str text, _Atomic(size_t) *bytes, char *scratch,
                           ki_body_base **ret_base);
ki_body_base *ki_body_base_ref(ki_body_base *base);
void ki_body_base_unref(ki_body_base *base);
/* Writes the text to `out`. Errors: KI_ERR_NO_MEMORY; KI_ERR_INVALID (it was overwritten). */
ki_status ki_body_base_read(const ki_body_base *base, char *out);

/* What a packed object has at its `body_at`. */
typedef struct ki_packed_body {
    ki_body_base *base;  /* owned reference */
    uint64_t digest;     /* of the content */
    uint32_t size;       /* of `bytes` */
    uint32_t delta_size; /* the same: `bytes` are the delta itself, else packed */
    char bytes[];
} ki_packed_body;

/* Writes the delta, of `delta_size` bytes, to `out`. Errors: as ki_packed_body_read. */
ki_status ki_packed_body_delta(const ki_packed_body *body, char *out);
/* Writes the body, of exactly `size` bytes, to `out`. Errors: KI_ERR_NO_MEMORY; KI_ERR_INVALID (the object was
 * overwritten; noticed always in debug builds, where what zstd has packed has a checksum). */
ki_status ki_packed_body_read(const ki_packed_body *body, char *out, size_t size);
/* Unpacks to a text of `size` bytes with a closing zero. A reader often opens a body again to read the next field: the
 * last ones that were closed are kept. The caller closes it. Errors: as ki_packed_body_read. */
ki_status ki_packed_body_open(const ki_packed_body *body, size_t size, ki_unpacked **ret_unpacked);
void ki_packed_body_close(const ki_packed_body *body, ki_unpacked *unpacked);

/* Returns the bytes of the reserve that a body with this delta needs. */
size_t ki_packed_body_reserve(const ki_body_base *base, size_t delta_size, size_t size);
/* Unpacks without allocating, for readers that cannot fail: into the reserve, until ki_packed_body_end. The caller must
 * not call the program meanwhile. Returns NULL as KI_ERR_INVALID above; nothing is to be ended then. */
const char *ki_packed_body_open_reserve(const ki_packed_body *body, size_t size);
void ki_packed_body_end(const ki_packed_body *body);

#endif
