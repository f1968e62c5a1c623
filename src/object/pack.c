/* pack.c: see pack.h. */
#include "src/object/pack.h"

#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/object.h"

#include <stddef.h>
#include <string.h>

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

/* --- objects ------------------------------------------------------------------------------------------------------ */

void ki_object_format_set_pack(ki_object_format *format, ki_body_contexts *contexts, size_t pack_from) {
    ki_body_packer_free(&format->packer);
    ki_body_packer_init(&format->packer, &format->allocator, contexts, pack_from);
}

ki_object_format *ki_object_format_of(const ki_object *obj) {
    return ki_format_of(obj);
}

bool ki_object_format_is_due(const ki_object_format *format, size_t cache_bytes) {
    return ki_body_packer_is_due(&format->packer, cache_bytes);
}

bool ki_object_format_packs(const ki_object_format *format) {
    return format->packer.codec != NULL;
}

enum {
    TRAINED_MAX = 1024 * 1024 /* bytes of bodies that are open at once, without the last one */
};

void ki_object_format_train(ki_object_format *format, ki_object *const *objects, size_t count, size_t cache_bytes) {
    ki_body bodies[KI_BODY_SAMPLES_MAX];
    ki_str samples[KI_BODY_SAMPLES_MAX] = { { NULL, 0 } };
    ki_object *sampled[KI_BODY_SAMPLES_MAX];
    size_t used = 0, opened = 0;
    for (size_t i = 0; i < count && i < KI_BODY_SAMPLES_MAX && opened < TRAINED_MAX; i++) {
        if (!objects[i]->body_size || ki_body_open(objects[i], &bodies[used], NULL))
            continue;
        sampled[used] = objects[i];
        samples[used] = bodies[used].text;
        opened += samples[used].size;
        used++;
    }
    ki_body_packer_train(&format->packer, samples, used, cache_bytes);
    for (size_t i = 0; i < used; i++)
        ki_body_close(sampled[i], &bodies[i]);
}

static void keep_text(const char *text, void *user) {
    (void)user;
    ki_text_ref(text);
}

/* Copies everything before the body. */
static void copy_head(const ki_object *obj, ki_object *to) {
    memcpy((char *)to + sizeof to->refs, (const char *)obj + sizeof obj->refs, obj->body_at - sizeof obj->refs);
    ki_refcount_init(&to->refs);
    (void)ki_object_group_ref(to->group);
    const ki_view *view = ki_format_of(to)->view;
    if (view)
        ki_view_move(view, (char *)to + KI_OBJECT_VIEW_AT, (const char *)obj, (const char *)to, obj->body_at);
    ki_object_each_text(to, keep_text, NULL);
}

/* Returns NULL if the packed object would not be smaller, or without memory. */
static ki_object *make_packed(const ki_object *obj) {
    ki_object_format *format = ki_format_of(obj);
    ki_body_packer *packer = &format->packer;
    if (ki_body_packer_pack(packer, ki_object_plain_body(obj)))
        return NULL;
    size_t body_at = (obj->body_at + 7) / 8 * 8;
    ki_object *made = ki_alloc(&format->allocator, body_at + offsetof(ki_packed_body, bytes) + packer->packed.size);
    if (!made)
        return NULL;
    copy_head(obj, made);
    memset((char *)made + obj->body_at, 0, body_at - obj->body_at); /* a part of the fingerprint */
    made->body_at = (uint32_t)body_at;
    made->is_packed = true;
    ki_packed_body *body = (ki_packed_body *)(void *)((char *)made + body_at);
    *body = (ki_packed_body){ ki_body_codec_ref(packer->codec), ki_object_digest(obj), (uint32_t)packer->packed.size };
    memcpy(body->bytes, packer->packed.data, packer->packed.size);
    return made;
}

ki_object *ki_object_pack(ki_object *obj) {
    bool packs = !obj->is_packed && ki_format_of(obj)->packer.codec;
    ki_object *packed = packs ? make_packed(obj) : NULL;
    if (!packed)
        return obj;
    ki_object_unref(obj);
    return packed;
}

bool ki_object_is_packed(const ki_object *obj) {
    return obj->is_packed;
}
