/* transform.h: what becomes of an object before it is queued: the program's transform, and what follows where that fails. For the queues. Loop. */
#ifndef KI_CACHE_TRANSFORM_H
#define KI_CACHE_TRANSFORM_H

#include <kinformer/informer.h>

typedef struct ki_transform_step {
    ki_transform transform; /* NULL: objects are queued as they are */
    void *transform_user;
    /* It failed: this change is dropped. May be NULL. */
    void (*on_error)(const ki_error *err, const char *key, void *user);
    void *on_error_user;
} ki_transform_step;

/* What is queued for `obj`, as a reference; NULL where the transform failed and the change is dropped. Lack of memory is told apart: it
 * must not lose a change. */
ki_status ki_transform_object(const ki_transform_step *step, ki_object *obj, ki_object **ret_obj);

#endif
