/* body_codec.c: see body_codec.h.
 *
 * A frame has no magic number, no size, no dictionary's number and, except in debug builds, no checksum: each would
 * cost 4 bytes or more of some 300. The functions of zstd that take an allocator are in the part of its interface that
 * is not frozen; every release since 1.4 has them. */
#include "src/object/body_codec.h"

#include "src/base/memory.h"
#include "src/base/refcount.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <string.h>
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#ifdef KI_BODY_CHECKSUM
#define HAS_CHECKSUM 1
#else
#define HAS_CHECKSUM 0
#endif

enum {
    LEVEL = 1,                 /* of zstd: higher ones take longer for little, lower ones pack worse
    (docs/performance.md) */
    CONTENT_MAX = 32 * 1024,   /* bytes of a dictionary's content */
    SAMPLE_MAX = 16 * 1024,    /* bytes of a sample; the rest of a longer body is not looked at */
    SAMPLES_SIZE = 256 * 1024, /* bytes of all samples */
    ENTROPY_MAX = 1024,        /* bytes of a dictionary beside its content */
    IDLE_CONTEXTS = 4,         /* for unpacking, kept for the next reader */
    KEPT = 8,                  /* unpacked bodies */
    KEPT_OF_THREAD = 2,        /* those of them that one thread uses */
    KEPT_SIZE_MAX = 16 * 1024  /* bytes of one of them */
};

struct ki_body_contexts {
    ki_allocator allocator; /* constant */
    ki_refcount refs;
    ZSTD_CCtx *packing; /* the loop's; NULL: none yet */
    /* Any thread takes one out and puts it back. */
    _Atomic(ZSTD_DCtx *) idle[IDLE_CONTEXTS];
    _Atomic(ki_unpacked *) kept[KEPT];
    atomic_uint_fast64_t last_number; /* of a codec */
    /* The reserve, of the thread that has set the flag: a context, and room for the largest packed body. */
    atomic_flag is_reserve_taken;
    ZSTD_DCtx *reserve_context;
    char *reserve;
    size_t reserve_size;
};

/* Constant once made. One block: this struct, the dictionary, and what zstd makes of it for either direction. */
struct ki_body_codec {
    ki_body_contexts *contexts; /* owned reference */
    ki_refcount refs;
    uint64_t number;
    uint32_t size; /* of the block */
    const ZSTD_CDict *packing;
    const ZSTD_DDict *unpacking;
};

static void *allocate(void *user, size_t size) {
    return ki_alloc(user, size);
}

static void release(void *user, void *memory) {
    ki_free(user, memory);
}

static ZSTD_customMem memory_of(ki_body_contexts *contexts) {
    return (ZSTD_customMem){ allocate, release, &contexts->allocator };
}

/* --- contexts ----------------------------------------------------------------------------------------------------- */

ki_body_contexts *ki_body_contexts_new(const ki_allocator *allocator) {
    ki_body_contexts *contexts = ki_alloc_zero(allocator, sizeof *contexts);
    if (!contexts)
        return NULL;
    contexts->allocator = *allocator;
    ki_refcount_init(&contexts->refs);
    for (size_t i = 0; i < IDLE_CONTEXTS; i++)
        atomic_init(&contexts->idle[i], NULL);
    for (size_t i = 0; i < KEPT; i++)
        atomic_init(&contexts->kept[i], NULL);
    atomic_init(&contexts->last_number, 0);
    atomic_flag_clear(&contexts->is_reserve_taken);
    return contexts;
}

ki_body_contexts *ki_body_contexts_ref(ki_body_contexts *contexts) {
    ki_refcount_inc(&contexts->refs);
    return contexts;
}

void ki_body_contexts_unref(ki_body_contexts *contexts) {
    if (!contexts || !ki_refcount_dec(&contexts->refs))
        return;
    ki_allocator allocator = contexts->allocator;
    ZSTD_freeCCtx(contexts->packing);
    for (size_t i = 0; i < IDLE_CONTEXTS; i++)
        ZSTD_freeDCtx(atomic_load(&contexts->idle[i]));
    for (size_t i = 0; i < KEPT; i++)
        ki_free(&allocator, atomic_load(&contexts->kept[i]));
    ZSTD_freeDCtx(contexts->reserve_context);
    ki_free(&allocator, contexts->reserve);
    ki_free(&allocator, contexts);
}

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

static ZSTD_CCtx *new_packing_context(ki_body_contexts *contexts) {
    ZSTD_CCtx *made = ZSTD_createCCtx_advanced(memory_of(contexts));
    if (made && (is_bad(ZSTD_CCtx_setParameter(made, ZSTD_c_format, ZSTD_f_zstd1_magicless)) ||
                 is_bad(ZSTD_CCtx_setParameter(made, ZSTD_c_contentSizeFlag, 0)) ||
                 is_bad(ZSTD_CCtx_setParameter(made, ZSTD_c_dictIDFlag, 0)) ||
                 is_bad(ZSTD_CCtx_setParameter(made, ZSTD_c_checksumFlag, HAS_CHECKSUM)))) {
        ZSTD_freeCCtx(made);
        return NULL;
    }
    return made;
}

/* Returns the loop's context for packing; NULL without memory. */
static ZSTD_CCtx *packing_context(ki_body_contexts *contexts) {
    if (!contexts->packing)
        contexts->packing = new_packing_context(contexts);
    return contexts->packing;
}

/* Returns a new context for unpacking; NULL without memory. */
static ZSTD_DCtx *new_unpacking_context(ki_body_contexts *contexts) {
    ZSTD_DCtx *made = ZSTD_createDCtx_advanced(memory_of(contexts));
    if (made && is_bad(ZSTD_DCtx_setParameter(made, ZSTD_d_format, ZSTD_f_zstd1_magicless))) {
        ZSTD_freeDCtx(made);
        return NULL;
    }
    return made;
}

static ZSTD_DCtx *take_context(ki_body_contexts *contexts) {
    ZSTD_DCtx *taken = NULL;
    for (size_t i = 0; !taken && i < IDLE_CONTEXTS; i++)
        taken = atomic_exchange_explicit(&contexts->idle[i], NULL, memory_order_acquire);
    return taken ? taken : new_unpacking_context(contexts);
}

static void put_context(ki_body_contexts *contexts, ZSTD_DCtx *context) {
    for (size_t i = 0; i < IDLE_CONTEXTS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&contexts->idle[i], &none, context, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    ZSTD_freeDCtx(context);
}

/* --- the reserve -------------------------------------------------------------------------------------------------- */

static void take_reserve(ki_body_contexts *contexts) {
    while (atomic_flag_test_and_set_explicit(&contexts->is_reserve_taken, memory_order_acquire)) {}
}

static void put_reserve(ki_body_contexts *contexts) {
    atomic_flag_clear_explicit(&contexts->is_reserve_taken, memory_order_release);
}

/* Has the reserve fit a body of `size` bytes before such a body is packed. */
static ki_status grow_reserve(ki_body_contexts *contexts, size_t size) {
    if (size <= contexts->reserve_size) /* only the loop changes it */
        return KI_OK;
    size_t room = size < 8192 ? 8192 : size + size / 4;
    char *grown = ki_alloc(&contexts->allocator, room);
    ZSTD_DCtx *context = contexts->reserve_context ? contexts->reserve_context : new_unpacking_context(contexts);
    if (!grown || !context) {
        ki_free(&contexts->allocator, grown);
        if (context != contexts->reserve_context)
            ZSTD_freeDCtx(context);
        return KI_ERR_NO_MEMORY;
    }
    take_reserve(contexts);
    char *before = contexts->reserve;
    contexts->reserve = grown;
    contexts->reserve_size = room;
    contexts->reserve_context = context;
    put_reserve(contexts);
    ki_free(&contexts->allocator, before);
    return KI_OK;
}

/* --- making a codec ----------------------------------------------------------------------------------------------- */

typedef struct samples {
    char *text; /* one behind the other; the last ones are the dictionary's content */
    size_t size;
    size_t sizes[KI_BODY_SAMPLES_MAX];
    size_t count;
} samples;

static void add_sample(samples *all, ki_str body) {
    size_t size = body.size < SAMPLE_MAX ? body.size : SAMPLE_MAX;
    if (!size || all->count == KI_BODY_SAMPLES_MAX || all->size + size > SAMPLES_SIZE)
        return;
    memcpy(all->text + all->size, body.data, size);
    all->size += size;
    all->sizes[all->count++] = size;
}

/* Orders the bodies so that those at the end are spread over all of them: neighbours are alike. */
static void add_samples(samples *all, const ki_str *bodies, size_t count) {
    enum {
        APART = 8
    };
    for (size_t first = 0; first < APART; first++)
        for (size_t i = first; i < count; i += APART)
            add_sample(all, bodies[i]);
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
    ki_body_codec *codec = ki_alloc(&contexts->allocator, dictionary_at + dictionary.size);
    if (!codec)
        return KI_ERR_NO_MEMORY;
    char *block = (char *)codec, *copy = block + dictionary_at;
    memcpy(copy, dictionary.data, dictionary.size);
    memset(block + packing_at, 0, packing_size); /* zstd 1.5 reads a level from it that it does not write */
    *codec = (ki_body_codec){ .contexts = ki_body_contexts_ref(contexts),
                              .number = atomic_fetch_add(&contexts->last_number, 1) + 1,
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

ki_status ki_body_codec_new(ki_body_contexts *contexts, const ki_str *bodies, size_t count, ki_body_codec **ret_codec) {
    const ki_allocator *allocator = &contexts->allocator;
    char *dictionary = ki_alloc(allocator, CONTENT_MAX + ENTROPY_MAX);
    samples all = { .text = ki_alloc(allocator, SAMPLES_SIZE) };
    ki_status status = dictionary && all.text ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status)
        add_samples(&all, bodies, count);
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
    ki_free(&contexts->allocator, codec);
    ki_body_contexts_unref(contexts);
}

uint32_t ki_body_codec_memory(const ki_body_codec *codec) {
    return codec->size;
}

uint64_t ki_body_codec_number(const ki_body_codec *codec) {
    return codec->number;
}

/* --- packing and unpacking ---------------------------------------------------------------------------------------- */

ki_status ki_body_codec_pack(const ki_body_codec *codec, ki_str body, char *out, size_t *ret_size) {
    ki_body_contexts *contexts = codec->contexts;
    if (body.size > KI_BODY_PACKED_MAX)
        return KI_ERR_LIMIT;
    ZSTD_CCtx *context = packing_context(contexts);
    if (!context || grow_reserve(contexts, body.size))
        return KI_ERR_NO_MEMORY;
    size_t size = ZSTD_CCtx_refCDict(context, codec->packing);
    if (!is_bad(size))
        size = ZSTD_compress2(context, out, body.size, body.data, body.size);
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

static ki_status unpack(const ki_body_codec *codec, ZSTD_DCtx *context, ki_str packed, char *out, size_t size) {
    size_t result = ZSTD_decompressBegin_usingDDict(context, codec->unpacking);
    if (!is_bad(result))
        result = unpack_frame(context, packed, out, size);
    /* The codec can be freed before the context, which reads nothing of it until it begins again. */
    return result == size ? KI_OK : status_of(result) == KI_ERR_NO_MEMORY ? KI_ERR_NO_MEMORY : KI_ERR_INVALID;
}

ki_status ki_body_codec_unpack(const ki_body_codec *codec, ki_str packed, char *out, size_t size) {
    ZSTD_DCtx *context = take_context(codec->contexts);
    if (!context)
        return KI_ERR_NO_MEMORY;
    ki_status status = unpack(codec, context, packed, out, size);
    put_context(codec->contexts, context);
    return status;
}

/* --- bodies that are kept ----------------------------------------------------------------------------------------- */

/* Threads begin at different places, so that they seldom meet. */
static size_t first_place(void) {
    static _Thread_local char of_thread;
    return (size_t)((uint64_t)(uintptr_t)&of_thread * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEPT;
}

static bool is_text_of(const ki_unpacked *unpacked, const ki_body_codec *codec, ki_str packed, size_t size) {
    return unpacked->codec == codec->number && unpacked->size == size && unpacked->packed_size == packed.size &&
           memcmp(unpacked->text + size + 1, packed.data, packed.size) == 0;
}

/* Puts it into its place, if that is still empty, or frees it. */
static void put_back(ki_body_contexts *contexts, size_t place, ki_unpacked *unpacked) {
    ki_unpacked *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&contexts->kept[place], &none, unpacked, memory_order_release,
                                                 memory_order_relaxed))
        ki_free(&contexts->allocator, unpacked);
}

/* Takes the body out, if it is kept. */
static ki_unpacked *take_kept(const ki_body_codec *codec, ki_str packed, size_t size) {
    ki_body_contexts *contexts = codec->contexts;
    size_t first = first_place();
    for (size_t i = 0; i < KEPT_OF_THREAD; i++) {
        size_t place = (first + i) % KEPT;
        if (!atomic_load_explicit(&contexts->kept[place], memory_order_relaxed))
            continue;
        ki_unpacked *taken = atomic_exchange_explicit(&contexts->kept[place], NULL, memory_order_acquire);
        if (taken && is_text_of(taken, codec, packed, size))
            return taken;
        put_back(contexts, place, taken);
    }
    return NULL;
}

ki_status ki_body_codec_open(const ki_body_codec *codec, ki_str packed, size_t size, ki_unpacked **ret_unpacked) {
    const ki_allocator *allocator = &codec->contexts->allocator;
    ki_unpacked *unpacked = take_kept(codec, packed, size);
    if (unpacked) {
        *ret_unpacked = unpacked;
        return KI_OK;
    }
    unpacked = ki_alloc(allocator, sizeof *unpacked + size + 1 + packed.size);
    if (!unpacked)
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_body_codec_unpack(codec, packed, unpacked->text, size);
    if (status) {
        ki_free(allocator, unpacked);
        return status;
    }
    *unpacked = (ki_unpacked){ .codec = codec->number, .packed_size = packed.size, .size = size };
    unpacked->text[size] = '\0';
    memcpy(unpacked->text + size + 1, packed.data, packed.size);
    *ret_unpacked = unpacked;
    return KI_OK;
}

void ki_body_codec_close(const ki_body_codec *codec, ki_unpacked *unpacked) {
    ki_body_contexts *contexts = codec->contexts;
    size_t first = first_place();
    bool is_kept = unpacked && unpacked->size <= KEPT_SIZE_MAX;
    for (size_t i = 0; is_kept && unpacked && i < KEPT_OF_THREAD; i++)
        unpacked = atomic_exchange_explicit(&contexts->kept[(first + i) % KEPT], unpacked, memory_order_acq_rel);
    ki_free(&contexts->allocator, unpacked);
}

/* --- the reserve's reader ----------------------------------------------------------------------------------------- */

const char *ki_body_codec_unpack_reserve(const ki_body_codec *codec, ki_str packed, size_t size) {
    ki_body_contexts *contexts = codec->contexts;
    take_reserve(contexts);
    if (size <= contexts->reserve_size && contexts->reserve_context &&
        !unpack(codec, contexts->reserve_context, packed, contexts->reserve, size))
        return contexts->reserve;
    put_reserve(contexts);
    return NULL;
}

void ki_body_codec_unpack_end(const ki_body_codec *codec) {
    put_reserve(codec->contexts);
}
