/* pack.h: packed objects, which a cache keeps in place of plain ones, and what packs them. A packed object is a second
 * object with the same fields, whose body is packed (body_base.h). Nothing that a reader gets from it differs. The loop
 * alone calls it; any thread may read what is atomic.
 *
 * The first codec is made once the cache has `pack_from` bytes. The next one is made when the cache has become four
 * times as large, since the first objects may not be typical. Objects keep the base, and with it the codec, that they
 * were packed with. */
#ifndef KI_OBJECT_PACK_H
#define KI_OBJECT_PACK_H

#include "src/base/buffer.h"
#include "src/object/body_bases.h"
#include "src/object/format.h"

#include <stdatomic.h>

enum {
    KI_BODY_PACKED_MAX = 1024 * 1024 /* bytes; larger bodies stay plain */
};

/* What packs the bodies of one format's objects. */
typedef struct ki_body_packer {
    ki_body_contexts *contexts; /* owned reference; NULL: bodies stay plain */
    size_t pack_from;           /* bytes of the cache from which on bodies are packed */
    ki_body_codec *codec;       /* owned reference; NULL: none yet */
    size_t next_from;           /* bytes of the cache from which on a codec is made */
    ki_body_bases bases;        /* of this codec */
    ki_buffer delta, packed;    /* the last body's */
    /* Any thread (atomic): of `codec`; 0: there is none. Each is true for itself: a reader meanwhile can get the number
     * of one codec and the bytes of the next. */
    _Atomic(uint32_t) codec_bytes;
    _Atomic(uint64_t) codec_number;
} ki_body_packer;

void ki_body_packer_init(ki_body_packer *packer, const ki_allocator *allocator, ki_body_contexts *contexts,
                         size_t pack_from);
void ki_body_packer_free(ki_body_packer *packer);

/* Returns true if a codec is to be made of a cache with this many bytes. */
bool ki_body_packer_is_due(const ki_body_packer *packer, size_t cache_bytes);
/* Makes a codec from `samples`, texts as it will pack them. Without memory or samples the codec before stays, and the
 * next attempt comes when the cache has grown by a quarter. */
void ki_body_packer_train(ki_body_packer *packer, const ki_str *samples, size_t count, size_t cache_bytes);
/* Packs the body of the object with this key: `packer->delta` has its delta and `packer->packed` what is kept of that,
 * with the same size if it is the delta itself. Returns the base, borrowed. Errors: KI_ERR_NOT_FOUND (the body stays
 * plain: there is no codec, it is too large, or its base would save nothing), KI_ERR_NO_MEMORY. */
ki_status ki_body_packer_pack(ki_body_packer *packer, ki_str key, ki_str body, ki_body_base **ret_base);

/* Has objects of this format packed once the cache has `pack_from` bytes. Before the first object, after
 * ki_object_format_set_seed: names of objects are somebody's choice, too. */
void ki_object_format_set_pack(ki_object_format *format, ki_body_contexts *contexts, size_t pack_from);

/* With each change: frees some of what packed objects had in common that none has any more. */
void ki_object_format_sweep(ki_object_format *format);

/* Returns the format of an object, borrowed. */
ki_object_format *ki_object_format_of(const ki_object *obj);

/* Returns true if objects of a cache with this many bytes should be given to ki_object_format_train. */
bool ki_object_format_is_due(const ki_object_format *format, size_t cache_bytes);
/* Returns true once objects have been given: ki_object_pack packs. */
bool ki_object_format_packs(const ki_object_format *format);
/* Makes the codec for the next objects from some of the cache, at most KI_BODY_SAMPLES_MAX. Without memory nothing
 * changes. */
void ki_object_format_train(ki_object_format *format, ki_object *const *objects, size_t count, size_t cache_bytes);

/* Takes a reference, and returns the packed object for it; or the reference: if the object is packed or has no content,
 * if there is no codec yet, if packing saves nothing, or if memory runs out. */
ki_object *ki_object_pack(ki_object *obj);
bool ki_object_is_packed(const ki_object *obj);

#endif
