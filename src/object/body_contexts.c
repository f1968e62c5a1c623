/* body_contexts.c: see body_contexts.h. The functions of zstd that take an allocator are in the part of its interface
 * that is not frozen; every release since 1.4 has them. */
#define ZSTD_STATIC_LINKING_ONLY
#include "src/object/body_contexts.h"

#include "src/base/memory.h"
#include "src/base/refcount.h"

#ifdef KI_BODY_CHECKSUM
#define HAS_CHECKSUM 1
#else
#define HAS_CHECKSUM 0
#endif

enum {
    IDLE_CONTEXTS = 4,        /* for unpacking, kept for the next reader */
    KEPT = 8,                 /* unpacked texts */
    KEPT_OF_THREAD = 2,       /* those of them that one thread uses: an object's and its base's */
    KEPT_SIZE_MAX = 16 * 1024 /* bytes of one of them */
};

struct ki_body_contexts {
    ki_allocator allocator; /* constant */
    ki_refcount refs;
    ZSTD_CCtx *packing; /* the loop's; NULL: none yet */
    /* Any thread takes one out and puts it back. */
    _Atomic(ZSTD_DCtx *) idle[IDLE_CONTEXTS];
    _Atomic(ki_unpacked *) kept[KEPT];
    atomic_uint_fast64_t last_number; /* of a codec or a base */
    /* The reserve, of the thread that has set the flag: a context, and room for the largest packed body. */
    atomic_flag is_reserve_taken;
    ZSTD_DCtx *reserve_context;
    char *reserve;
    size_t reserve_size;
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

/* --- contexts of zstd --------------------------------------------------------------------------------------------- */

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

const ki_allocator *ki_body_contexts_allocator(const ki_body_contexts *contexts) {
    return &contexts->allocator;
}

uint64_t ki_body_contexts_number(ki_body_contexts *contexts) {
    return atomic_fetch_add(&contexts->last_number, 2) + 2;
}

static ZSTD_CCtx *new_packing_context(ki_body_contexts *contexts) {
    ZSTD_CCtx *made = ZSTD_createCCtx_advanced(memory_of(contexts));
    if (made && (ZSTD_isError(ZSTD_CCtx_setParameter(made, ZSTD_c_format, ZSTD_f_zstd1_magicless)) ||
                 ZSTD_isError(ZSTD_CCtx_setParameter(made, ZSTD_c_contentSizeFlag, 0)) ||
                 ZSTD_isError(ZSTD_CCtx_setParameter(made, ZSTD_c_dictIDFlag, 0)) ||
                 ZSTD_isError(ZSTD_CCtx_setParameter(made, ZSTD_c_checksumFlag, HAS_CHECKSUM)))) {
        ZSTD_freeCCtx(made);
        return NULL;
    }
    return made;
}

ZSTD_CCtx *ki_packing_context(ki_body_contexts *contexts) {
    if (!contexts->packing)
        contexts->packing = new_packing_context(contexts);
    return contexts->packing;
}

/* Returns a new context for unpacking; NULL without memory. */
static ZSTD_DCtx *new_unpacking_context(ki_body_contexts *contexts) {
    ZSTD_DCtx *made = ZSTD_createDCtx_advanced(memory_of(contexts));
    if (made && ZSTD_isError(ZSTD_DCtx_setParameter(made, ZSTD_d_format, ZSTD_f_zstd1_magicless))) {
        ZSTD_freeDCtx(made);
        return NULL;
    }
    return made;
}

ZSTD_DCtx *ki_unpacking_context_take(ki_body_contexts *contexts) {
    ZSTD_DCtx *taken = NULL;
    for (size_t i = 0; !taken && i < IDLE_CONTEXTS; i++)
        taken = atomic_exchange_explicit(&contexts->idle[i], NULL, memory_order_acquire);
    return taken ? taken : new_unpacking_context(contexts);
}

void ki_unpacking_context_put(ki_body_contexts *contexts, ZSTD_DCtx *context) {
    for (size_t i = 0; i < IDLE_CONTEXTS; i++) {
        ZSTD_DCtx *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&contexts->idle[i], &none, context, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    ZSTD_freeDCtx(context);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Threads begin at different places, so that they seldom meet. */
static size_t first_place(void) {
    static _Thread_local char of_thread;
    return (size_t)((uint64_t)(uintptr_t)&of_thread * UINT64_C(0x9e3779b97f4a7c15) >> 32) % KEPT;
}

static bool is_text_of(const ki_unpacked *unpacked, uint64_t origin, ki_str packed, size_t size) {
    return unpacked->origin == origin && unpacked->size == size && unpacked->packed_size == packed.size &&
           memcmp(unpacked->text + size + 1, packed.data, packed.size) == 0;
}

/* Puts it into its place, if that is still empty, or frees it. */
static void put_back(ki_body_contexts *contexts, size_t place, ki_unpacked *unpacked) {
    ki_unpacked *none = NULL;
    if (!atomic_compare_exchange_strong_explicit(&contexts->kept[place], &none, unpacked, memory_order_release,
                                                 memory_order_relaxed))
        ki_free(&contexts->allocator, unpacked);
}

ki_unpacked *ki_unpacked_take(ki_body_contexts *contexts, uint64_t origin, ki_str packed, size_t size) {
    size_t first = first_place();
    for (size_t i = 0; i < KEPT_OF_THREAD; i++) {
        size_t place = (first + i) % KEPT;
        if (!atomic_load_explicit(&contexts->kept[place], memory_order_relaxed))
            continue;
        ki_unpacked *taken = atomic_exchange_explicit(&contexts->kept[place], NULL, memory_order_acquire);
        if (taken && is_text_of(taken, origin, packed, size))
            return taken;
        put_back(contexts, place, taken);
    }
    return NULL;
}

ki_unpacked *ki_unpacked_new(ki_body_contexts *contexts, size_t size, size_t behind) {
    ki_unpacked *unpacked = ki_alloc(&contexts->allocator, sizeof *unpacked + size + 1 + behind);
    if (!unpacked)
        return NULL;
    *unpacked = (ki_unpacked){ .size = size };
    unpacked->text[size] = '\0';
    return unpacked;
}

void ki_unpacked_name(ki_unpacked *unpacked, uint64_t origin, ki_str packed) {
    unpacked->origin = origin;
    unpacked->packed_size = packed.size;
    memcpy(unpacked->text + unpacked->size + 1, packed.data, packed.size);
}

void ki_unpacked_close(ki_body_contexts *contexts, ki_unpacked *unpacked) {
    size_t first = first_place();
    bool is_kept = unpacked && unpacked->origin && unpacked->size <= KEPT_SIZE_MAX;
    for (size_t i = 0; is_kept && unpacked && i < KEPT_OF_THREAD; i++)
        unpacked = atomic_exchange_explicit(&contexts->kept[(first + i) % KEPT], unpacked, memory_order_acq_rel);
    ki_free(&contexts->allocator, unpacked);
}

/* --- the reserve -------------------------------------------------------------------------------------------------- */

static void take_reserve(ki_body_contexts *contexts) {
    while (atomic_flag_test_and_set_explicit(&contexts->is_reserve_taken, memory_order_acquire)) {}
}

ki_status ki_body_reserve_grow(ki_body_contexts *contexts, size_t size) {
    if (size <= contexts->reserve_size) /* only the loop changes it */
        return KI_OK;
    size_t room = size < 32768 ? 32768 : size + size / 4;
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
    ki_body_reserve_put(contexts);
    ki_free(&contexts->allocator, before);
    return KI_OK;
}

char *ki_body_reserve_take(ki_body_contexts *contexts, size_t size, ZSTD_DCtx **ret_context) {
    take_reserve(contexts);
    *ret_context = contexts->reserve_context;
    if (contexts->reserve_context && size <= contexts->reserve_size)
        return contexts->reserve;
    ki_body_reserve_put(contexts);
    return NULL;
}

void ki_body_reserve_put(ki_body_contexts *contexts) {
    atomic_flag_clear_explicit(&contexts->is_reserve_taken, memory_order_release);
}
