/* body_codec.h: packs texts with zstd and a dictionary made of some of them, and unpacks them. A codec is immutable and
 * shared by all objects that were packed with it. Its contexts, which zstd works in (body_contexts.h), are shared by
 * the codecs of one factory.
 *
 * zstd gets its memory from the allocator, except while a dictionary is made (ZDICT uses malloc).
 *
 * Guards: one thread at a time packs and makes codecs, the engine's loop. Any thread unpacks, and releases. */
#ifndef KI_OBJECT_BODY_CODEC_H
#define KI_OBJECT_BODY_CODEC_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include "src/base/string_view.h"

typedef struct ki_body_contexts ki_body_contexts;
typedef struct ki_body_codec ki_body_codec;
struct ZSTD_DCtx_s;

enum {
    KI_BODY_SAMPLES_MAX = 64 /* texts that a dictionary is made of */
};

/* Makes contexts; zstd's memory follows with their first use. Returns NULL without memory. */
ki_body_contexts *ki_body_contexts_new(const ki_allocator *allocator);
ki_body_contexts *ki_body_contexts_ref(ki_body_contexts *contexts);
/* NULL is accepted. */
void ki_body_contexts_unref(ki_body_contexts *contexts);

/* Makes a codec from some texts, 1 to KI_BODY_SAMPLES_MAX. Takes about 0.6 ms for 256 KiB of them. Errors:
 * KI_ERR_NO_MEMORY, KI_ERR_INVALID (all are empty). */
ki_status ki_body_codec_new(ki_body_contexts *contexts, const ki_str *texts, size_t count, ki_body_codec **ret_codec);
ki_body_codec *ki_body_codec_ref(ki_body_codec *codec);
/* NULL is accepted. */
void ki_body_codec_unref(ki_body_codec *codec);

ki_body_contexts *ki_body_codec_contexts(const ki_body_codec *codec); /* borrowed */
/* Returns the bytes of the codec with its dictionary: at most some 125 KB. */
uint32_t ki_body_codec_memory(const ki_body_codec *codec);
/* Returns the codec's number, which nothing else of these contexts has, also after it was freed; never 0. */
uint64_t ki_body_codec_number(const ki_body_codec *codec);

/* Packs `text` into `out`, of `text.size` bytes. Errors: KI_ERR_LIMIT (not smaller when packed), KI_ERR_NO_MEMORY. */
ki_status ki_body_codec_pack(const ki_body_codec *codec, ki_str text, char *out, size_t *ret_size);
/* Unpacks in a context of zstd (body_contexts.h) to exactly `size` bytes at `out`. Errors: KI_ERR_NO_MEMORY;
 * KI_ERR_INVALID (the packed bytes have been overwritten; noticed always in debug builds, where they have a
 * checksum). */
ki_status ki_body_codec_unpack(const ki_body_codec *codec, struct ZSTD_DCtx_s *context, ki_str packed, char *out,
                               size_t size);

#endif
