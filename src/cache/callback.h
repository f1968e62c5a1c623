/* callback.h: is this thread inside one of an informer's callbacks? Then a waiting call would wait for itself.
 * Every call of the program's functions stands between enter and leave. */
#ifndef KI_CACHE_CALLBACK_H
#define KI_CACHE_CALLBACK_H

#include <stdbool.h>

/* On the stack of the one who calls. */
typedef struct ki_callback {
    const void *owner;
    struct ki_callback *outer;
} ki_callback;

void ki_callback_enter(ki_callback *callback, const void *owner);
void ki_callback_leave(const ki_callback *callback);
/* Is the calling thread inside a callback of `owner`? */
bool ki_callback_is_inside(const void *owner);

#endif
