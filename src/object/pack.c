/* pack.c: see pack.h. */
#include "src/object/pack.h"

#include "src/base/memory.h"
#include "src/object/body.h"

#include <stddef.h>
#include <string.h>

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

static ki_status try_pack(ki_object *obj, ki_object **ret_obj) {
    ki_object_format *format = ki_format_of(obj);
    ki_body_packer *packer = &format->packer;
    ki_status status = obj->is_packed ? KI_ERR_NOT_FOUND : ki_body_packer_pack(packer, ki_object_plain_body(obj));
    if (status == KI_ERR_NOT_FOUND)
        *ret_obj = ki_object_ref(obj);
    if (status)
        return status == KI_ERR_NOT_FOUND ? KI_OK : status;
    size_t body_at = (obj->body_at + 7) / 8 * 8;
    ki_object *made = ki_alloc(&format->allocator, body_at + offsetof(ki_packed_body, bytes) + packer->packed.size);
    if (!made)
        return KI_ERR_NO_MEMORY;
    copy_head(obj, made);
    memset((char *)made + obj->body_at, 0, body_at - obj->body_at); /* a part of the fingerprint */
    made->body_at = (uint32_t)body_at;
    made->is_packed = true;
    ki_packed_body *body = (ki_packed_body *)(void *)((char *)made + body_at);
    *body = (ki_packed_body){ ki_body_codec_ref(packer->codec), ki_object_digest(obj), (uint32_t)packer->packed.size };
    memcpy(body->bytes, packer->packed.data, packer->packed.size);
    *ret_obj = made;
    return KI_OK;
}

ki_object *ki_object_pack(ki_object *obj) {
    ki_object *packed;
    return try_pack(obj, &packed) ? ki_object_ref(obj) : packed;
}

bool ki_object_is_packed(const ki_object *obj) {
    return obj->is_packed;
}
