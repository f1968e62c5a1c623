/* pack.h: packed objects, which a cache keeps in place of plain ones. A packed object is a second object with the same
 * fields, whose body is packed (body_codec.h). Nothing that a reader gets from it differs. Loop. */
#ifndef KI_OBJECT_PACK_H
#define KI_OBJECT_PACK_H

#include "src/object/body_codec.h"
#include "src/object/format.h"

/* Has objects of this format packed once the cache has `pack_from` bytes. Before the first object. */
void ki_object_format_set_pack(ki_object_format *format, ki_body_contexts *contexts, size_t pack_from);

/* Returns the format of an object, borrowed. */
ki_object_format *ki_object_format_of(const ki_object *obj);

/* Returns true if objects of a cache with this many bytes should be given to ki_object_format_train. */
bool ki_object_format_is_due(const ki_object_format *format, size_t cache_bytes);
/* Returns true once objects have been given: ki_object_pack packs. */
bool ki_object_format_packs(const ki_object_format *format);
/* Makes the codec for the next objects from some of the cache, at most KI_BODY_SAMPLES_MAX. Without memory nothing
 * changes. */
void ki_object_format_train(ki_object_format *format, ki_object *const *objects, size_t count, size_t cache_bytes);

/* Returns the packed object, or another reference to `obj`: if it is packed or has no content, if there is no codec
 * yet, if packing saves nothing, or if memory runs out. */
ki_object *ki_object_pack(ki_object *obj);
bool ki_object_is_packed(const ki_object *obj);

#endif
