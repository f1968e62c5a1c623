/* body_codec.h: packs bodies of objects with zstd and a dictionary made of some of them, and unpacks them. A codec is
 * immutable and shared by all objects that it has packed. Its contexts, which zstd works in, are shared by the codecs
 * of one factory.
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

enum {
    KI_BODY_PACKED_MAX = 1024 * 1024, /* bytes; larger bodies stay plain */
    KI_BODY_SAMPLES_MAX = 64          /* bodies that a dictionary is made of */
};

/* Makes contexts; zstd's memory follows with their first use. Returns NULL without memory. */
ki_body_contexts *ki_body_contexts_new(const ki_allocator *allocator);
ki_body_contexts *ki_body_contexts_ref(ki_body_contexts *contexts);
/* NULL is accepted. */
void ki_body_contexts_unref(ki_body_contexts *contexts);

/* Makes a codec from some bodies, 1 to KI_BODY_SAMPLES_MAX. Takes about 0.6 ms for 256 KiB of them. Errors:
 * KI_ERR_NO_MEMORY, KI_ERR_INVALID (all are empty). */
ki_status ki_body_codec_new(ki_body_contexts *contexts, const ki_str *bodies, size_t count, ki_body_codec **ret_codec);
ki_body_codec *ki_body_codec_ref(ki_body_codec *codec);
/* NULL is accepted. */
void ki_body_codec_unref(ki_body_codec *codec);

/* Returns the bytes of the codec with its dictionary: at most some 125 KB. */
uint32_t ki_body_codec_memory(const ki_body_codec *codec);
/* Returns the codec's number, which no other codec of these contexts has, also after it was freed; never 0. */
uint64_t ki_body_codec_number(const ki_body_codec *codec);

/* Packs `body` into `out`, of `body.size` bytes. Errors, after which the body stays plain: KI_ERR_LIMIT (too large, or
 * not smaller when packed), KI_ERR_NO_MEMORY. */
ki_status ki_body_codec_pack(const ki_body_codec *codec, ki_str body, char *out, size_t *ret_size);
/* Unpacks to exactly `size` bytes at `out`. Errors: KI_ERR_NO_MEMORY; KI_ERR_INVALID (the packed bytes have been
 * overwritten; noticed always in debug builds, where they have a checksum). */
ki_status ki_body_codec_unpack(const ki_body_codec *codec, ki_str packed, char *out, size_t size);

/* An unpacked body, of one reader at a time. */
typedef struct ki_unpacked {
    uint64_t codec;     /* its number */
    size_t packed_size; /* of the packed bytes, which follow the text */
    size_t size;        /* of the text, without its closing zero */
    char text[];
} ki_unpacked;

/* Unpacks to a text of `size` bytes with a closing zero. A reader often opens a body again to read the next field: the
 * last ones that were closed are kept. The caller closes it. Errors: as ki_body_codec_unpack. */
ki_status ki_body_codec_open(const ki_body_codec *codec, ki_str packed, size_t size, ki_unpacked **ret_unpacked);
void ki_body_codec_close(const ki_body_codec *codec, ki_unpacked *unpacked);

/* Unpacks without allocating, for readers that cannot fail: into the reserve, which no other thread gets until
 * ki_body_codec_unpack_end. Other threads spin meanwhile, so the caller must not call the program. Returns NULL as
 * KI_ERR_INVALID above; nothing is to be ended then. */
const char *ki_body_codec_unpack_reserve(const ki_body_codec *codec, ki_str packed, size_t size);
void ki_body_codec_unpack_end(const ki_body_codec *codec);

#endif
