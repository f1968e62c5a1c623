/* body_base.c: see body_base.h. */
#include "src/object/body_base.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/object/body_delta.h"

#include <stddef.h>

/* --- bases -------------------------------------------------------------------------------------------------------- */

static size_t size_of(size_t packed_size) {
    size_t size = offsetof(ki_body_base, packed) + packed_size;
    return size < sizeof(ki_body_base) ? sizeof(ki_body_base) : size; /* which has padding at its end */
}

ki_status ki_body_base_new(ki_body_codec *codec, ki_str text, _Atomic(size_t) *bytes, char *scratch,
                           ki_body_base **ret_base) {
    size_t packed_size = 0;
    ki_status status = ki_body_codec_pack(codec, text, scratch, &packed_size);
    if (!status && size_of(packed_size) >= text.size)
        status = KI_ERR_LIMIT;
    if (status)
        return status;
    ki_body_contexts *contexts = ki_body_codec_contexts(codec);
    ki_body_base *base = ki_alloc(ki_body_contexts_allocator(contexts), size_of(packed_size));
    if (!base)
        return KI_ERR_NO_MEMORY;
    *base = (ki_body_base){ .size = (uint32_t)text.size,
                            .packed_size = (uint32_t)packed_size,
                            .codec = ki_body_codec_ref(codec),
                            .number = ki_body_contexts_number(contexts),
                            .bytes = bytes };
    ki_refcount_init(&base->refs);
    memcpy(base->packed, scratch, packed_size);
    atomic_fetch_add_explicit(bytes, size_of(packed_size), memory_order_relaxed);
    *ret_base = base;
    return KI_OK;
}

ki_body_base *ki_body_base_ref(ki_body_base *base) {
    ki_refcount_inc(&base->refs);
    return base;
}

void ki_body_base_unref(ki_body_base *base) {
    if (!ki_refcount_dec(&base->refs))
        return;
    ki_body_codec *codec = base->codec;
    atomic_fetch_sub_explicit(base->bytes, size_of(base->packed_size), memory_order_relaxed);
    ki_free(ki_body_contexts_allocator(ki_body_codec_contexts(codec)), base);
    ki_body_codec_unref(codec);
}

static ki_body_contexts *contexts_of(const ki_body_base *base) {
    return ki_body_codec_contexts(base->codec);
}

static ki_str packed_text(const ki_body_base *base) {
    return (ki_str){ base->packed, base->packed_size };
}

static ki_status read_base(const ki_body_base *base, ZSTD_DCtx *context, char *out) {
    return ki_body_codec_unpack(base->codec, context, packed_text(base), out, base->size);
}

ki_status ki_body_base_read(const ki_body_base *base, char *out) {
    ZSTD_DCtx *context = ki_unpacking_context_take(contexts_of(base));
    if (!context)
        return KI_ERR_NO_MEMORY;
    ki_status status = read_base(base, context, out);
    ki_unpacking_context_put(contexts_of(base), context);
    return status;
}

/* Opens the text, which the next reader of an object with this base finds kept. */
static ki_status open_base(const ki_body_base *base, ZSTD_DCtx *context, ki_unpacked **ret_text) {
    ki_body_contexts *contexts = contexts_of(base);
    const uint64_t origin = ki_body_codec_number(base->codec);
    ki_unpacked *text = ki_unpacked_take(contexts, origin, packed_text(base), base->size);
    if (text) {
        *ret_text = text;
        return KI_OK;
    }
    text = ki_unpacked_new(contexts, base->size, base->packed_size);
    ki_status status = text ? read_base(base, context, text->text) : KI_ERR_NO_MEMORY;
    if (status) {
        ki_unpacked_close(contexts, text);
        return status;
    }
    ki_unpacked_name(text, origin, packed_text(base));
    *ret_text = text;
    return KI_OK;
}

/* --- packed bodies ------------------------------------------------------------------------------------------------ */

static ki_str bytes_of(const ki_packed_body *body) {
    return (ki_str){ body->bytes, body->size };
}

/* Returns the delta, unpacked to `room` unless the body has it as it is; data NULL after a failure. */
static ki_str read_delta(const ki_packed_body *body, ZSTD_DCtx *context, char *room, ki_status *ret_status) {
    KI_ASSERT(body->size <= body->delta_size);
    *ret_status = KI_OK;
    if (body->size == body->delta_size)
        return bytes_of(body);
    *ret_status = ki_body_codec_unpack(body->base->codec, context, bytes_of(body), room, body->delta_size);
    return (ki_str){ *ret_status ? NULL : room, body->delta_size };
}

/* Unpacks the delta to `room`, of `delta_size` bytes, and with it the body to `out`. */
static ki_status apply(const ki_packed_body *body, ZSTD_DCtx *context, const char *base, char *room, char *out,
                       size_t size) {
    ki_status status;
    ki_str delta = read_delta(body, context, room, &status);
    if (!status && !ki_body_delta_apply((ki_str){ base, body->base->size }, delta, out, size))
        status = KI_ERR_INVALID;
    return status;
}

/* Unpacks to `out`. */
static ki_status read_body(const ki_packed_body *body, char *room, char *out, size_t size) {
    ki_body_contexts *contexts = contexts_of(body->base);
    ki_unpacked *base = NULL;
    ZSTD_DCtx *context = ki_unpacking_context_take(contexts);
    if (!context)
        return KI_ERR_NO_MEMORY;
    ki_status status = open_base(body->base, context, &base);
    if (!status)
        status = apply(body, context, base->text, room, out, size);
    ki_unpacking_context_put(contexts, context);
    ki_unpacked_close(contexts, base);
    return status;
}

ki_status ki_packed_body_delta(const ki_packed_body *body, char *out) {
    ki_body_contexts *contexts = contexts_of(body->base);
    ki_status status;
    ZSTD_DCtx *context = ki_unpacking_context_take(contexts);
    if (!context)
        return KI_ERR_NO_MEMORY;
    ki_str delta = read_delta(body, context, out, &status);
    if (!status && delta.data != out)
        memcpy(out, delta.data, delta.size);
    ki_unpacking_context_put(contexts, context);
    return status;
}

ki_status ki_packed_body_read(const ki_packed_body *body, char *out, size_t size) {
    const ki_allocator *allocator = ki_body_contexts_allocator(contexts_of(body->base));
    char *room = ki_alloc(allocator, body->delta_size);
    ki_status status = room ? read_body(body, room, out, size) : KI_ERR_NO_MEMORY;
    ki_free(allocator, room);
    return status;
}

/* A delta that is kept as it is can have the bytes of a packed one: their texts have different origins. */
static uint64_t origin_of(const ki_packed_body *body) {
    return body->base->number + (body->size == body->delta_size);
}

ki_status ki_packed_body_open(const ki_packed_body *body, size_t size, ki_unpacked **ret_unpacked) {
    ki_body_contexts *contexts = contexts_of(body->base);
    ki_unpacked *unpacked = ki_unpacked_take(contexts, origin_of(body), bytes_of(body), size);
    if (unpacked) {
        *ret_unpacked = unpacked;
        return KI_OK;
    }
    unpacked = ki_unpacked_new(contexts, size, body->delta_size);
    char *room = unpacked ? unpacked->text + size + 1 : NULL;
    ki_status status = unpacked ? read_body(body, room, unpacked->text, size) : KI_ERR_NO_MEMORY;
    if (status) {
        ki_unpacked_close(contexts, unpacked);
        return status;
    }
    ki_unpacked_name(unpacked, origin_of(body), bytes_of(body));
    *ret_unpacked = unpacked;
    return KI_OK;
}

void ki_packed_body_close(const ki_packed_body *body, ki_unpacked *unpacked) {
    ki_unpacked_close(contexts_of(body->base), unpacked);
}

/* --- in the reserve ----------------------------------------------------------------------------------------------- */

size_t ki_packed_body_reserve(const ki_body_base *base, size_t delta_size, size_t size) {
    return base->size + delta_size + size;
}

const char *ki_packed_body_open_reserve(const ki_packed_body *body, size_t size) {
    const ki_body_base *base = body->base;
    ki_body_contexts *contexts = contexts_of(base);
    ZSTD_DCtx *context;
    char *text = ki_body_reserve_take(contexts, ki_packed_body_reserve(base, body->delta_size, size), &context);
    if (!text)
        return NULL;
    char *room = text + base->size, *out = room + body->delta_size;
    if (!read_base(base, context, text) && !apply(body, context, text, room, out, size))
        return out;
    ki_body_reserve_put(contexts);
    return NULL;
}

void ki_packed_body_end(const ki_packed_body *body) {
    ki_body_reserve_put(contexts_of(body->base));
}
