/* transform.h: the program's transform of one object, as soon as the object is decoded. For the reflector. Loop. */
#ifndef KI_CACHE_TRANSFORM_H
#define KI_CACHE_TRANSFORM_H

#include <kinformer/informer.h>

typedef struct ki_transform_step {
    ki_transform transform; /* NULL: objects stay as they are */
    void *user;
} ki_transform_step;

/* Gives what takes the place of `obj`, as a reference. Fails as the transform does, or with KI_ERR_INVALID where that gives nothing or an object
 * with another key. */
ki_status ki_transform_object(const ki_transform_step *step, ki_object *obj, ki_object **ret_obj, ki_error *err);

#endif
