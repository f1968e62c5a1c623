/* pack.c: see pack.h. */
#include "src/object/pack.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/object/body.h"
#include "src/object/object.h"

#include <stddef.h>
#include <string.h>

enum {
    GROWTH = 4,           /* the factor of growth after which a cache has a new codec */
    SCRATCH_KEEP = 65536, /* bytes of a buffer that stay for the next body */
    BODIES_APART = 4,     /* of so many packed samples one is the body, which a new base packs; the others are deltas */
    TRAINED_MAX = 1024 * 1024 /* bytes of samples, without the last one */
};

void ki_body_packer_init(ki_body_packer *packer, const ki_allocator *allocator, ki_body_contexts *contexts,
                         size_t pack_from) {
    *packer = (ki_body_packer){ .pack_from = pack_from, .next_from = pack_from };
    atomic_init(&packer->codec_bytes, 0);
    atomic_init(&packer->codec_number, 0);
    packer->contexts = contexts ? ki_body_contexts_ref(contexts) : NULL;
    ki_body_bases_init(&packer->bases, allocator);
    ki_buffer_init(&packer->delta, allocator, 0);
    ki_buffer_init(&packer->packed, allocator, 0);
}

void ki_body_packer_free(ki_body_packer *packer) {
    ki_body_bases_free(&packer->bases);
    ki_body_codec_unref(packer->codec);
    ki_body_contexts_unref(packer->contexts);
    ki_buffer_free(&packer->delta);
    ki_buffer_free(&packer->packed);
}

bool ki_body_packer_is_due(const ki_body_packer *packer, size_t cache_bytes) {
    return packer->contexts && cache_bytes >= packer->next_from;
}

void ki_body_packer_train(ki_body_packer *packer, const ki_str *samples, size_t count, size_t cache_bytes) {
    ki_body_codec *codec = NULL;
    size_t later = cache_bytes + cache_bytes / 4 + 1;
    if (!count || ki_body_codec_new(packer->contexts, samples, count, &codec)) {
        packer->next_from = packer->next_from > later ? packer->next_from : later;
        return;
    }
    ki_body_bases_clear(&packer->bases, cache_bytes);
    ki_body_codec_unref(packer->codec);
    packer->codec = codec;
    atomic_store(&packer->codec_bytes, ki_body_codec_memory(codec));
    atomic_store(&packer->codec_number, ki_body_codec_number(codec));
    packer->next_from = cache_bytes < SIZE_MAX / GROWTH ? cache_bytes * GROWTH : SIZE_MAX;
    if (packer->next_from < later)
        packer->next_from = later;
}

/* Packs the delta to `packer->packed`, or copies it if that saves nothing. */
static ki_status pack_delta(ki_body_packer *packer) {
    const ki_str delta = { packer->delta.data, packer->delta.size };
    size_t size = delta.size;
    packer->packed.size = 0;
    if (ki_buffer_reserve(&packer->packed, delta.size))
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_body_codec_pack(packer->codec, delta, packer->packed.data, &size);
    if (status == KI_ERR_LIMIT || (!status && size == delta.size)) {
        memcpy(packer->packed.data, delta.data, delta.size);
        status = KI_OK;
    }
    packer->packed.size = status ? 0 : size;
    return status;
}

ki_status ki_body_packer_pack(ki_body_packer *packer, ki_str key, ki_str body, ki_body_base **ret_base) {
    if (!packer->codec || !body.size || body.size > KI_BODY_PACKED_MAX)
        return KI_ERR_NOT_FOUND;
    ki_status status = ki_body_bases_delta(&packer->bases, packer->codec, key, body, &packer->delta, ret_base);
    if (!status)
        status = pack_delta(packer);
    if (!status)
        status =
            ki_body_reserve_grow(packer->contexts, ki_packed_body_reserve(*ret_base, packer->delta.size, body.size));
    return status && status != KI_ERR_NO_MEMORY ? KI_ERR_NOT_FOUND : status;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

void ki_object_format_set_pack(ki_object_format *format, ki_body_contexts *contexts, size_t pack_from) {
    ki_body_packer_free(&format->packer);
    ki_body_packer_init(&format->packer, &format->allocator, contexts, pack_from);
    format->packer.bases.by_name.seed = format->groups.seed;
}

void ki_object_format_sweep(ki_object_format *format) {
    ki_body_bases_sweep(&format->packer.bases);
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

/* What a codec is made of. */
typedef struct samples {
    ki_str texts[KI_BODY_SAMPLES_MAX];
    size_t count, size;
    const ki_object *opened[KI_BODY_SAMPLES_MAX];
    ki_body bodies[KI_BODY_SAMPLES_MAX];
    size_t open_count;
    ki_buffer deltas; /* never grows while it is filled */
} samples;

static void add_sample(samples *all, ki_str text) {
    all->texts[all->count++] = text;
    all->size += text.size;
}

static void add_delta(samples *all, const ki_packed_body *body) {
    char *to = all->deltas.data + all->deltas.size;
    KI_ASSERT(body->delta_size <= all->deltas.capacity - all->deltas.size);
    if (ki_packed_body_delta(body, to))
        return;
    all->deltas.size += body->delta_size;
    add_sample(all, (ki_str){ to, body->delta_size });
}

static void add_body(samples *all, const ki_object *obj) {
    ki_body *body = &all->bodies[all->open_count];
    if (ki_body_open(obj, body, NULL))
        return;
    all->opened[all->open_count++] = obj;
    add_sample(all, body->text);
}

static bool has_delta(const ki_object *obj, size_t place) {
    return obj->is_packed && place % BODIES_APART != 0;
}

void ki_object_format_train(ki_object_format *format, ki_object *const *objects, size_t count, size_t cache_bytes) {
    samples all = { .count = 0 };
    size_t room = 0;
    if (count > KI_BODY_SAMPLES_MAX)
        count = KI_BODY_SAMPLES_MAX;
    for (size_t i = 0; i < count; i++)
        room += has_delta(objects[i], i) ? ki_object_packed_body(objects[i])->delta_size : 0;
    ki_buffer_init(&all.deltas, &format->allocator, 0);
    bool has_room = room == 0 || !ki_buffer_reserve(&all.deltas, room);
    for (size_t i = 0; has_room && i < count && all.size < TRAINED_MAX; i++) {
        if (has_delta(objects[i], i))
            add_delta(&all, ki_object_packed_body(objects[i]));
        else if (objects[i]->body_size)
            add_body(&all, objects[i]);
    }
    ki_body_packer_train(&format->packer, all.texts, all.count, cache_bytes);
    for (size_t i = 0; i < all.open_count; i++)
        ki_body_close(all.opened[i], &all.bodies[i]);
    ki_buffer_free(&all.deltas);
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

/* Returns the packed object for what the packer has; NULL if it would not be smaller, or without memory. */
static ki_object *make_packed(const ki_object *obj, ki_body_base *base) {
    ki_object_format *format = ki_format_of(obj);
    const ki_body_packer *packer = &format->packer;
    size_t body_at = (obj->body_at + 7) / 8 * 8;
    size_t size = body_at + offsetof(ki_packed_body, bytes) + packer->packed.size;
    ki_object *made = size < ki_object_memory(obj) ? ki_alloc(&format->allocator, size) : NULL;
    if (!made)
        return NULL;
    copy_head(obj, made);
    memset((char *)made + obj->body_at, 0, body_at - obj->body_at); /* a part of the fingerprint */
    made->body_at = (uint32_t)body_at;
    made->is_packed = true;
    ki_packed_body *body = (ki_packed_body *)(void *)((char *)made + body_at);
    *body = (ki_packed_body){ .base = ki_body_base_ref(base),
                              .digest = ki_object_digest(obj),
                              .size = (uint32_t)packer->packed.size,
                              .delta_size = (uint32_t)packer->delta.size };
    memcpy(body->bytes, packer->packed.data, packer->packed.size);
    return made;
}

ki_object *ki_object_pack(ki_object *obj) {
    ki_body_packer *packer = &ki_format_of(obj)->packer;
    ki_body_base *base = NULL;
    if (obj->is_packed || !packer->codec)
        return obj;
    ki_status status = ki_body_packer_pack(packer, ki_str_of(ki_object_key(obj)), ki_object_plain_body(obj), &base);
    ki_object *packed = status ? NULL : make_packed(obj, base);
    ki_buffer_reset(&packer->delta, SCRATCH_KEEP);
    ki_buffer_reset(&packer->packed, SCRATCH_KEEP);
    if (!packed)
        return obj;
    ki_object_unref(obj);
    return packed;
}

bool ki_object_is_packed(const ki_object *obj) {
    return obj->is_packed;
}
