/* pending.c: see pending.h. */
#include "src/cache/listener/pending.h"

#include "src/object/object.h"

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator) {
    *pending = (ki_pending){ .bytes = 0 };
    ki_changes_init(&pending->changes, allocator);
}

ki_status ki_pending_push(ki_pending *pending, const ki_change *change) {
    if (ki_changes_push(&pending->changes, change))
        return KI_ERR_NO_MEMORY;
    pending->bytes += ki_object_memory(change->obj);
    return KI_OK;
}

bool ki_pending_pop(ki_pending *pending, ki_change *ret_change) {
    if (!ki_changes_pop(&pending->changes, ret_change))
        return false;
    pending->bytes -= ki_object_memory(ret_change->obj);
    for (int mark = 0; mark < KI_MARKS; mark++)
        pending->before_mark[mark] -= pending->before_mark[mark] > 0;
    return true;
}

void ki_pending_set_mark(ki_pending *pending, ki_mark mark) {
    pending->before_mark[mark] = pending->changes.count;
}

bool ki_pending_mark_is_reached(const ki_pending *pending, ki_mark mark) {
    return !pending->before_mark[mark];
}

void ki_pending_clear(ki_pending *pending) {
    ki_changes_clear(&pending->changes);
    ki_pending_init(pending, pending->changes.allocator);
}
