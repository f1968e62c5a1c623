/* callback.h: records which callbacks a thread is inside. A function that waits for callbacks would wait for itself if
 * a callback called it. The library calls enter before and leave after each of the program's callbacks. */
#ifndef KI_ENGINE_CALLBACK_H
#define KI_ENGINE_CALLBACK_H

#include "src/base/internal_api.h"

#include <stdbool.h>

/* One running callback; on the stack of its caller. */
typedef struct ki_callback {
    const void *owner;
    struct ki_callback *outer;
} ki_callback;

/* `owner` is only compared, never read. */
KI_INTERNAL_API void ki_callback_enter(ki_callback *callback, const void *owner);
KI_INTERNAL_API void ki_callback_leave(const ki_callback *callback);
/* Returns true if the calling thread is inside a callback of `owner`. */
KI_INTERNAL_API bool ki_callback_is_inside(const void *owner);

#endif
