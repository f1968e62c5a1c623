/* delta_apply.h: applies one delta to one object and stages the changes for the listeners. For the process step. Caller
 * holds change_lock. */
#ifndef KI_CACHE_DELTA_APPLY_H
#define KI_CACHE_DELTA_APPLY_H

#include "src/cache/listener/processor.h"
#include "src/cache/reflector/unreadable.h"

/* Applies `delta` to `*state`, borrowed; NULL: no object. Sets `*state` to the object to store, borrowed from `delta`
 * or as before; NULL: the object is deleted. Sets `*ret_deleted` to the last state of an object that is deleted,
 * borrowed in the same way, also if another of its name follows it; NULL: none. Errors: KI_ERR_NO_MEMORY; the caller
 * drops what is staged. */
ki_status ki_delta_apply(const ki_change *delta, ki_object **state, ki_processor *processor, ki_unreadable *unreadable,
                         ki_object **ret_deleted);

#endif
