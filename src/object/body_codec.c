/* body_codec.c: see body_codec.h.
 *
 * A frame has no magic number, no size, no dictionary's number and, except in debug builds, no checksum: each would
 * cost 4 bytes or more of some 300. */
#define ZSTD_STATIC_LINKING_ONLY
#include "src/object/body_codec.h"

#include "src/base/memory.h"
#include "src/base/refcount.h"
#include "src/object/body_contexts.h"

#include <string.h>
#include <zdict.h>
#include <zstd_errors.h>

enum {
    LEVEL = 1,                 /* of zstd: higher ones take longer for little, lower ones pack worse
    (docs/performance.md) */
    CONTENT_MAX = 32 * 1024,   /* bytes of a dictionary's content */
    SAMPLE_MAX = 16 * 1024,    /* bytes of a sample; the rest of a longer text is not looked at */
    SAMPLES_SIZE = 256 * 1024, /* bytes of all samples */
    ENTROPY_MAX = 1024         /* bytes of a dictionary beside its content */
};

static bool is_bad(size_t result) {
    return ZSTD_isError(result) != 0;
}

static ki_status status_of(size_t result) {
    if (!is_bad(result))
        return KI_OK;
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return KI_ERR_NO_MEMORY;
    case ZSTD_error_dstSize_tooSmall:
        return KI_ERR_LIMIT;
    default:
        return KI_ERR_INVALID;
    }
}

/* Constant once made. One block: this struct, the dictionary, and what zstd makes of it for either direction. */
struct ki_body_codec {
    ki_body_contexts *contexts; /* owned reference */
    ki_refcount refs;
    uint64_t number;
    uint32_t size; /* of the block */
    const ZSTD_CDict *packing;
    const ZSTD_DDict *unpacking;
};

/* --- making a codec ----------------------------------------------------------------------------------------------- */

typedef struct samples {
    char *text; /* one behind the other; the last ones are the dictionary's content */
    size_t size;
    size_t sizes[KI_BODY_SAMPLES_MAX];
    size_t count;
} samples;

static void add_sample(samples *all, ki_str text) {
    size_t size = text.size < SAMPLE_MAX ? text.size : SAMPLE_MAX;
    if (!size || all->count == KI_BODY_SAMPLES_MAX || all->size + size > SAMPLES_SIZE)
        return;
    memcpy(all->text + all->size, text.data, size);
    all->size += size;
    all->sizes[all->count++] = size;
}

/* Orders the texts so that those at the end are spread over all of them: neighbours are alike. */
static void add_samples(samples *all, const ki_str *texts, size_t count) {
    enum {
        APART = 8
    };
    for (size_t first = 0; first < APART; first++)
        for (size_t i = first; i < count; i += APART)
            add_sample(all, texts[i]);
}

/* Makes the dictionary: content, and before it the statistics with which zstd saves the tables of each frame. Without
 * statistics, of few or odd samples, it is the content alone. Returns its size. */
static size_t make_dictionary(const samples *all, char *to) {
    size_t content_size = all->size < CONTENT_MAX ? all->size : CONTENT_MAX;
    const char *content = all->text + all->size - content_size;
    ZDICT_params_t params = { .compressionLevel = LEVEL };
    size_t size = ZDICT_finalizeDictionary(to, content_size + ENTROPY_MAX, content, content_size, all->text, all->sizes,
                                           (unsigned)all->count, params);
    if (!ZDICT_isError(size))
        return size;
    memcpy(to, content, content_size);
    return content_size;
}

static size_t round_up(size_t size) {
    return (size + 15) / 16 * 16;
}

/* Makes the codec of a dictionary, which is copied. zstd cannot fail in memory that is large enough. */
static ki_status make_codec(ki_body_contexts *contexts, ki_str dictionary, size_t typical, ki_body_codec **ret_codec) {
    ZSTD_compressionParameters params = ZSTD_getCParams(LEVEL, typical, dictionary.size);
    size_t packing_size = round_up(ZSTD_estimateCDictSize_advanced(dictionary.size, params, ZSTD_dlm_byRef));
    size_t unpacking_size = round_up(ZSTD_estimateDDictSize(dictionary.size, ZSTD_dlm_byRef));
    size_t packing_at = round_up(sizeof(ki_body_codec)), unpacking_at = packing_at + packing_size;
    size_t dictionary_at = unpacking_at + unpacking_size;
    ki_body_codec *codec = ki_alloc(ki_body_contexts_allocator(contexts), dictionary_at + dictionary.size);
    if (!codec)
        return KI_ERR_NO_MEMORY;
    char *block = (char *)codec, *copy = block + dictionary_at;
    memcpy(copy, dictionary.data, dictionary.size);
    memset(block + packing_at, 0, packing_size); /* zstd 1.5 reads a level from it that it does not write */
    *codec = (ki_body_codec){ .contexts = ki_body_contexts_ref(contexts),
                              .number = ki_body_contexts_number(contexts),
                              .size = (uint32_t)(dictionary_at + dictionary.size) };
    ki_refcount_init(&codec->refs);
    codec->packing = ZSTD_initStaticCDict(block + packing_at, packing_size, copy, dictionary.size, ZSTD_dlm_byRef,
                                          ZSTD_dct_auto, params);
    codec->unpacking = ZSTD_initStaticDDict(block + unpacking_at, unpacking_size, copy, dictionary.size, ZSTD_dlm_byRef,
                                            ZSTD_dct_auto);
    if (codec->packing && codec->unpacking) {
        *ret_codec = codec;
        return KI_OK;
    }
    ki_body_codec_unref(codec);
    return KI_ERR_INVALID;
}

ki_status ki_body_codec_new(ki_body_contexts *contexts, const ki_str *texts, size_t count, ki_body_codec **ret_codec) {
    const ki_allocator *allocator = ki_body_contexts_allocator(contexts);
    char *dictionary = ki_alloc(allocator, CONTENT_MAX + ENTROPY_MAX);
    samples all = { .text = ki_alloc(allocator, SAMPLES_SIZE) };
    ki_status status = dictionary && all.text ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status)
        add_samples(&all, texts, count);
    if (!status && !all.count)
        status = KI_ERR_INVALID;
    if (!status) {
        size_t size = make_dictionary(&all, dictionary);
        status = make_codec(contexts, (ki_str){ dictionary, size }, all.size / all.count, ret_codec);
    }
    ki_free(allocator, all.text);
    ki_free(allocator, dictionary);
    return status;
}

ki_body_codec *ki_body_codec_ref(ki_body_codec *codec) {
    ki_refcount_inc(&codec->refs);
    return codec;
}

void ki_body_codec_unref(ki_body_codec *codec) {
    if (!codec || !ki_refcount_dec(&codec->refs))
        return;
    ki_body_contexts *contexts = codec->contexts;
    ki_free(ki_body_contexts_allocator(contexts), codec);
    ki_body_contexts_unref(contexts);
}

ki_body_contexts *ki_body_codec_contexts(const ki_body_codec *codec) {
    return codec->contexts;
}

uint32_t ki_body_codec_memory(const ki_body_codec *codec) {
    return codec->size;
}

uint64_t ki_body_codec_number(const ki_body_codec *codec) {
    return codec->number;
}

/* --- packing and unpacking ---------------------------------------------------------------------------------------- */

ki_status ki_body_codec_pack(const ki_body_codec *codec, ki_str text, char *out, size_t *ret_size) {
    ZSTD_CCtx *context = ki_packing_context(codec->contexts);
    if (!context)
        return KI_ERR_NO_MEMORY;
    size_t size = ZSTD_CCtx_refCDict(context, codec->packing);
    if (!is_bad(size))
        size = ZSTD_compress2(context, out, text.size, text.data, text.size);
    ki_status status = status_of(size);
    /* After a failure, too; and the codec can be freed before the context. */
    (void)ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
    (void)ZSTD_CCtx_refCDict(context, NULL);
    if (!status)
        *ret_size = size;
    return status;
}

/* Decodes one frame in its parts. ZSTD_decompressDCtx looks for a next frame in what follows, which only damaged bytes
 * have, and until zstd 1.5.5 reads up to 3 bytes behind their end. */
static size_t unpack_frame(ZSTD_DCtx *context, ki_str packed, char *out, size_t size) {
    size_t used = 0, part;
    while ((part = ZSTD_nextSrcSizeToDecompress(context)) > 0 && part <= packed.size) {
        size_t made = ZSTD_decompressContinue(context, out + used, size - used, packed.data, part);
        if (is_bad(made))
            return made;
        used += made;
        packed = (ki_str){ packed.data + part, packed.size - part };
    }
    return part || packed.size ? (size_t)-ZSTD_error_corruption_detected : used;
}

ki_status ki_body_codec_unpack(const ki_body_codec *codec, ZSTD_DCtx *context, ki_str packed, char *out, size_t size) {
    size_t result = ZSTD_decompressBegin_usingDDict(context, codec->unpacking);
    if (!is_bad(result))
        result = unpack_frame(context, packed, out, size);
    /* The codec can be freed before the context, which reads nothing of it until it begins again. */
    return result == size ? KI_OK : status_of(result) == KI_ERR_NO_MEMORY ? KI_ERR_NO_MEMORY : KI_ERR_INVALID;
}
