/* pack.h: packed objects, which a cache keeps in place of plain ones. A packed object is a second object with the same
 * fields, whose body is packed (body_codec.h). Nothing that a reader gets from it differs. Loop. */
#ifndef KI_OBJECT_PACK_H
#define KI_OBJECT_PACK_H

#include "src/object/body_codec.h"
#include "src/object/format.h"
#include "src/object/memory_limits.h"

/* Has objects of this format packed once the cache has `pack_from` bytes. Before the first object. */
void ki_object_format_set_pack(ki_object_format *format, ki_body_contexts *contexts, size_t pack_from);

/* Sets the limits of the cache's memory. Before the first object. */
void ki_object_format_set_limits(ki_object_format *format, const ki_memory_limits *limits);

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
/* The same, but fails if memory runs out. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_object_try_pack(ki_object *obj, ki_object **ret_obj);
bool ki_object_is_packed(const ki_object *obj);

/* Returns the object with key, labels and view, and the digest of its content; or another reference to `obj`, if it has
 * no content, or if memory runs out. */
ki_object *ki_object_drop_content(ki_object *obj);

#endif
