/* pending.c: see pending.h. KI_DELIVER_LATEST uses a linked list of entries, one for each key that changed since the
 * listener's last change of it. */
#include "src/cache/listener/pending.h"

#include "src/base/memory.h"
#include "src/object/object.h"

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator, ki_delivery delivery, uint64_t seed) {
    *pending = (ki_pending){ .allocator = allocator, .delivery = delivery };
    ki_changes_init(&pending->all, allocator);
    ki_pending_table_init(&pending->by_key, allocator, seed);
}

/* --- latest ------------------------------------------------------------------------------------------------------- */

/* Returns an entry that is not in use, with room for it in the table; NULL without memory. */
static ki_pending_entry *take_entry(ki_pending *pending) {
    ki_pending_entry *entry = pending->spare ? pending->spare : ki_alloc(pending->allocator, sizeof *entry);
    pending->spare = entry;
    if (!entry || ki_pending_table_reserve(&pending->by_key, 1))
        return NULL;
    pending->spare = NULL;
    return entry;
}

static void drop_entry(ki_pending *pending, ki_pending_entry *entry) {
    ki_pending_table_remove(&pending->by_key, entry);
    for (int mark = 0; mark < KI_MARKS; mark++)
        if (pending->marked[mark] == entry)
            pending->marked[mark] = entry->before;
    *(entry->before ? &entry->before->after : &pending->first) = entry->after;
    *(entry->after ? &entry->after->before : &pending->last) = entry->before;
    pending->count--;
    pending->bytes -= ki_object_memory(entry->obj);
    ki_object_unref(entry->known);
    ki_object_unref(entry->obj);
    if (pending->spare)
        ki_free(pending->allocator, entry);
    else
        pending->spare = entry;
}

static ki_status first_change(ki_pending *pending, const ki_change *change) {
    ki_pending_entry *entry = take_entry(pending);
    if (!entry)
        return KI_ERR_NO_MEMORY;
    *entry = (ki_pending_entry){
        .before = pending->last,
        .known = ki_object_ref(change->old),
        .obj = ki_object_ref(change->obj),
        .is_deleted = change->type == KI_EVENT_DELETE,
        .is_in_initial_list = change->is_in_initial_list,
        .is_resync = change->is_resync,
        .final_state_unknown = change->final_state_unknown,
    };
    *(pending->last ? &pending->last->after : &pending->first) = entry;
    pending->last = entry;
    pending->count++;
    pending->bytes += ki_object_memory(entry->obj);
    ki_pending_table_put(&pending->by_key, entry);
    return KI_OK;
}

static ki_status push_latest(ki_pending *pending, const ki_change *change) {
    ki_pending_entry *entry = ki_pending_table_get(&pending->by_key, ki_object_key(change->obj));
    if (!entry)
        return first_change(pending, change);
    if (change->type == KI_EVENT_DELETE && !entry->known) {
        drop_entry(pending, entry); /* the listener was never notified of the object */
        return KI_OK;
    }
    if (change->is_resync && !entry->is_deleted && !ki_object_gains_view(change->obj, entry->obj))
        return KI_OK; /* of the same state, which the pending change has, perhaps with more than the cache keeps */
    ki_object *before = entry->obj;
    entry->obj = ki_object_ref(change->obj);
    pending->bytes += ki_object_memory(entry->obj);
    pending->bytes -= ki_object_memory(before);
    entry->is_deleted = change->type == KI_EVENT_DELETE;
    entry->final_state_unknown = change->final_state_unknown;
    entry->is_resync = entry->is_resync && change->is_resync;
    ki_object_unref(before);
    return KI_OK;
}

static bool pop_latest(ki_pending *pending, ki_change *ret_change) {
    ki_pending_entry *entry = pending->first;
    if (!entry)
        return false;
    *ret_change = (ki_change){ .is_in_initial_list = entry->is_in_initial_list };
    if (entry->known && !ki_object_is_same(entry->known, entry->obj)) {
        /* Another object under the same name. First a delete of the object that the listener knows, then an add of the
         * new one unless it is deleted too. */
        ret_change->type = KI_EVENT_DELETE;
        ret_change->obj = ki_object_ref(entry->known);
        ret_change->old = ki_object_ref(entry->known);
        ret_change->final_state_unknown = true;
        if (entry->is_deleted) {
            drop_entry(pending, entry);
            return true;
        }
        ki_object_unref(entry->known);
        entry->known = NULL;
        entry->is_resync = false;
        return true;
    }
    ret_change->type = entry->is_deleted ? KI_EVENT_DELETE : entry->known ? KI_EVENT_UPDATE : KI_EVENT_ADD;
    ret_change->obj = ki_object_ref(entry->obj);
    ret_change->old = ki_object_ref(entry->known);
    ret_change->is_resync = ret_change->type == KI_EVENT_UPDATE && entry->is_resync;
    ret_change->final_state_unknown = entry->is_deleted && entry->final_state_unknown;
    drop_entry(pending, entry);
    return true;
}

/* --- both --------------------------------------------------------------------------------------------------------- */

/* Returns what a change adds to `new_bytes`. A resync and the first list notify of the store's objects. */
static size_t new_bytes_of(const ki_change *change) {
    bool is_new = !change->is_resync && !change->is_in_initial_list;
    return is_new ? ki_object_memory(change->obj) + sizeof *change : 0;
}

ki_status ki_pending_push(ki_pending *pending, const ki_change *change) {
    if (pending->delivery == KI_DELIVER_LATEST)
        return push_latest(pending, change);
    if (ki_changes_push(&pending->all, change))
        return KI_ERR_NO_MEMORY;
    pending->count++;
    pending->bytes += ki_object_memory(change->obj);
    pending->new_bytes += new_bytes_of(change);
    return KI_OK;
}

bool ki_pending_pop(ki_pending *pending, ki_change *ret_change) {
    if (pending->delivery == KI_DELIVER_LATEST)
        return pop_latest(pending, ret_change);
    if (!ki_changes_pop(&pending->all, ret_change))
        return false;
    pending->count--;
    pending->bytes -= ki_object_memory(ret_change->obj);
    pending->new_bytes -= new_bytes_of(ret_change);
    for (int mark = 0; mark < KI_MARKS; mark++)
        pending->before_mark[mark] -= pending->before_mark[mark] > 0;
    return true;
}

void ki_pending_set_mark(ki_pending *pending, ki_mark mark) {
    pending->before_mark[mark] = pending->all.count;
    pending->marked[mark] = pending->last;
}

bool ki_pending_mark_is_reached(const ki_pending *pending, ki_mark mark) {
    return !pending->before_mark[mark] && !pending->marked[mark];
}

void ki_pending_clear(ki_pending *pending) {
    ki_change change;
    while (ki_pending_pop(pending, &change))
        ki_change_release(&change);
    ki_changes_clear(&pending->all);
    ki_free(pending->allocator, pending->spare);
    uint64_t seed = pending->by_key.seed;
    ki_pending_table_free(&pending->by_key);
    ki_pending_init(pending, pending->allocator, pending->delivery, seed);
}
