/* transform.h: applies the program's transform to an object, right after decoding. For the reflector. Loop. */
#ifndef KI_CACHE_TRANSFORM_H
#define KI_CACHE_TRANSFORM_H

#include <kinformer/parts/reflector.h>

/* Returns the transformed object, as a reference. Fails with the transform's status, or with KI_ERR_INVALID if the
 * result is NULL or has another key. */
ki_status ki_transform_object(const ki_transform_step *step, ki_object *obj, ki_object **ret_obj, ki_error *err);

#endif
