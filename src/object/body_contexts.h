/* body_contexts.h: what bodies of one factory are packed and unpacked in: zstd's contexts, the texts that were unpacked
 * last, and a reserve for readers that cannot fail. body_codec.c and body_base.c alone read it.
 *
 * Guards: one thread at a time packs and grows the reserve, the engine's loop. Any thread unpacks, and releases. */
#ifndef KI_OBJECT_BODY_CONTEXTS_H
#define KI_OBJECT_BODY_CONTEXTS_H

#include <kinformer/error.h>

#include "src/object/body_codec.h"

#include <zstd.h>

/* --- contexts of zstd --------------------------------------------------------------------------------------------- */

const ki_allocator *ki_body_contexts_allocator(const ki_body_contexts *contexts);
/* Returns a number that no codec and no base of these contexts has or had, nor the one after it; never 0. */
uint64_t ki_body_contexts_number(ki_body_contexts *contexts);
/* Returns the loop's context for packing; NULL without memory. */
ZSTD_CCtx *ki_packing_context(ki_body_contexts *contexts);
/* Returns a context for unpacking, which the caller puts back; NULL without memory. */
ZSTD_DCtx *ki_unpacking_context_take(ki_body_contexts *contexts);
void ki_unpacking_context_put(ki_body_contexts *contexts, ZSTD_DCtx *context);

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* An unpacked text, of one reader at a time. */
typedef struct ki_unpacked {
    uint64_t origin;    /* the number of the codec or base that it was unpacked with */
    size_t packed_size; /* of the packed bytes, which follow the text */
    size_t size;        /* of the text, without its closing zero */
    char text[];
} ki_unpacked;

/* Takes the text out, if it is kept; else NULL. */
ki_unpacked *ki_unpacked_take(ki_body_contexts *contexts, uint64_t origin, ki_str packed, size_t size);
/* Makes room for a text of `size` bytes, which the caller fills, with its closing zero; and for `behind` bytes after
 * that. NULL without memory. */
ki_unpacked *ki_unpacked_new(ki_body_contexts *contexts, size_t size, size_t behind);
/* Says what the text was unpacked from. The packed bytes, at most as many as there is room behind the text, are
 * copied. */
void ki_unpacked_name(ki_unpacked *unpacked, uint64_t origin, ki_str packed);
/* Keeps it for the next reader if it has a name and is not large, else frees it. NULL is accepted. */
void ki_unpacked_close(ki_body_contexts *contexts, ki_unpacked *unpacked);

/* --- the reserve -------------------------------------------------------------------------------------------------- */

/* Has the reserve fit `size` bytes. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_body_reserve_grow(ki_body_contexts *contexts, size_t size);
/* Returns the reserve, which no other thread gets until ki_body_reserve_put, with its context: other threads spin
 * meanwhile, so the caller must not call the program. NULL: it has fewer bytes; nothing is to be put. */
char *ki_body_reserve_take(ki_body_contexts *contexts, size_t size, ZSTD_DCtx **ret_context);
void ki_body_reserve_put(ki_body_contexts *contexts);

#endif
