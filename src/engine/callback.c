/* callback.c: a linked list of running callbacks for each thread. */
#include "src/engine/callback.h"

#include "src/base/assert.h"

#include <stddef.h>

static _Thread_local ki_callback *innermost;

void ki_callback_enter(ki_callback *callback, const void *owner) {
    callback->owner = owner;
    callback->outer = innermost;
    innermost = callback;
}

void ki_callback_leave(const ki_callback *callback) {
    KI_ASSERT(innermost == callback);
    innermost = callback->outer;
}

bool ki_callback_is_inside(const void *owner) {
    for (const ki_callback *at = innermost; at; at = at->outer)
        if (at->owner == owner)
            return true;
    return false;
}
