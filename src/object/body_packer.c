/* body_packer.c: see body_packer.h. */
#include "src/object/body_packer.h"

enum {
    GROWTH = 4,        /* the factor of growth after which a cache has a new codec */
    WINDOW_BODIES = 8, /* bodies of a window at least */
    WINDOWS_APART = 8  /* windows of a codec at least before drift makes a new one */
};

#define DRIFT 1.25 /* times as many bytes as in the second window */

void ki_body_packer_init(ki_body_packer *packer, const ki_allocator *allocator, ki_body_contexts *contexts,
                         size_t pack_from) {
    *packer = (ki_body_packer){ .pack_from = pack_from, .next_from = pack_from };
    atomic_init(&packer->codec_bytes, 0);
    atomic_init(&packer->codec_number, 0);
    packer->contexts = contexts ? ki_body_contexts_ref(contexts) : NULL;
    ki_buffer_init(&packer->packed, allocator, 0);
}

void ki_body_packer_free(ki_body_packer *packer) {
    ki_body_codec_unref(packer->codec);
    ki_body_contexts_unref(packer->contexts);
    ki_buffer_free(&packer->packed);
}

bool ki_body_packer_is_due(const ki_body_packer *packer, size_t cache_bytes) {
    return packer->contexts && (cache_bytes >= packer->next_from || packer->has_drifted);
}

void ki_body_packer_train(ki_body_packer *packer, const ki_str *samples, size_t count, size_t cache_bytes) {
    ki_body_codec *codec = NULL;
    size_t later = cache_bytes + cache_bytes / 4 + 1;
    packer->has_drifted = false;
    packer->window_plain = packer->window_packed = packer->window_count = packer->windows = 0;
    if (!count || ki_body_codec_new(packer->contexts, samples, count, &codec)) {
        packer->next_from = packer->next_from > later ? packer->next_from : later;
        return;
    }
    ki_body_codec_unref(packer->codec);
    packer->codec = codec;
    atomic_store(&packer->codec_bytes, ki_body_codec_memory(codec));
    atomic_store(&packer->codec_number, ki_body_codec_number(codec));
    packer->next_from = cache_bytes < SIZE_MAX / GROWTH ? cache_bytes * GROWTH : SIZE_MAX;
    if (packer->next_from < later)
        packer->next_from = later;
}

/* Compares the window with the second one of the codec. The first may have the samples, which pack far better. */
static void end_window(ki_body_packer *packer) {
    double ratio = (double)packer->window_packed / (double)packer->window_plain;
    if (packer->windows++ < 2)
        packer->usual_ratio = ratio;
    else if (packer->windows >= WINDOWS_APART && ratio > packer->usual_ratio * DRIFT)
        packer->has_drifted = true;
    packer->window_plain = packer->window_packed = packer->window_count = 0;
}

static void count_body(ki_body_packer *packer, size_t plain, size_t packed) {
    packer->window_plain += plain;
    packer->window_packed += packed;
    packer->window_count++;
    size_t least = ki_body_codec_memory(packer->codec) / WINDOWS_APART;
    size_t window = packer->pack_from > least ? packer->pack_from : least;
    if (packer->window_plain >= window && packer->window_count >= WINDOW_BODIES)
        end_window(packer);
}

ki_status ki_body_packer_pack(ki_body_packer *packer, ki_str body) {
    size_t size;
    if (!packer->codec || !body.size || body.size > KI_BODY_PACKED_MAX)
        return KI_ERR_NOT_FOUND;
    ki_buffer_reset(&packer->packed, KI_BODY_PACKED_MAX / 16);
    if (ki_buffer_reserve(&packer->packed, body.size))
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_body_codec_pack(packer->codec, body, packer->packed.data, &size);
    packer->packed.size = status ? 0 : size;
    if (status != KI_ERR_NO_MEMORY)
        count_body(packer, body.size, status ? body.size : size);
    return status && status != KI_ERR_NO_MEMORY ? KI_ERR_NOT_FOUND : status;
}
