/* pending.c: see pending.h. KI_DELIVER_ALL uses a chain of fixed blocks: a long queue is never copied, and an empty one
 * keeps a single block. KI_DELIVER_LATEST uses a linked list of entries, one for each key that changed since the
 * listener's last notification of it. */
#include "src/cache/pending.h"

#include "src/base/memory.h"
#include "src/object/object.h"

/* Notifications in one block. A block is smaller than 1 KB: for larger blocks glibc's malloc first merges all free
 * memory, which can take long. */
enum {
    CHUNK_SIZE = 40
};

struct ki_pending_chunk {
    ki_pending_chunk *next;
    ki_change items[CHUNK_SIZE]; /* small: a stuck listener can have millions */
};

void ki_pending_init(ki_pending *pending, const ki_allocator *allocator, ki_delivery delivery, uint64_t seed) {
    *pending = (ki_pending){ .allocator = allocator, .delivery = delivery };
    ki_pending_table_init(&pending->by_key, allocator, seed);
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void free_chunks(ki_pending *pending, ki_pending_chunk *chunk) {
    while (chunk) {
        ki_pending_chunk *next = chunk->next;
        ki_free(pending->allocator, chunk);
        chunk = next;
    }
}

static ki_status reserve_chunks(ki_pending *pending, size_t changes) {
    size_t room = pending->tail ? CHUNK_SIZE - pending->tail_at : 0;
    for (const ki_pending_chunk *chunk = pending->spare; chunk; chunk = chunk->next)
        room += CHUNK_SIZE;
    while (room < changes) {
        ki_pending_chunk *chunk = ki_alloc(pending->allocator, sizeof *chunk);
        if (!chunk)
            return KI_ERR_NO_MEMORY;
        chunk->next = pending->spare;
        pending->spare = chunk;
        room += CHUNK_SIZE;
    }
    return KI_OK;
}

static void push_all(ki_pending *pending, const ki_change *change) {
    if (!pending->tail || pending->tail_at == CHUNK_SIZE) {
        ki_pending_chunk *chunk = pending->spare;
        pending->spare = chunk->next;
        chunk->next = NULL;
        if (pending->tail)
            pending->tail->next = chunk;
        else
            pending->head = chunk;
        pending->tail = chunk;
        pending->tail_at = 0;
    }
    ki_object_ref(change->obj);
    ki_object_ref(change->old);
    pending->tail->items[pending->tail_at++] = *change;
    pending->count++;
    pending->pushed++;
}

static void drop_head(ki_pending *pending) {
    ki_pending_chunk *chunk = pending->head;
    if (chunk == pending->tail) {
        if (pending->head_at == pending->tail_at)
            pending->head_at = pending->tail_at = 0;
        return;
    }
    if (pending->head_at < CHUNK_SIZE)
        return;
    pending->head = chunk->next;
    pending->head_at = 0;
    if (pending->spare) {
        ki_free(pending->allocator, chunk);
        return;
    }
    chunk->next = NULL;
    pending->spare = chunk;
}

static bool pop_all(ki_pending *pending, ki_change *ret_change) {
    if (pending->count == 0)
        return false;
    *ret_change = pending->head->items[pending->head_at++];
    pending->count--;
    pending->popped++;
    drop_head(pending);
    return true;
}

/* --- latest ------------------------------------------------------------------------------------------------------- */

static ki_status reserve_entries(ki_pending *pending, size_t keys) {
    ki_status status = ki_pending_table_reserve(&pending->by_key, keys);
    while (!status && pending->spare_count < keys) {
        ki_pending_entry *entry = ki_alloc(pending->allocator, sizeof *entry);
        if (!entry)
            return KI_ERR_NO_MEMORY;
        entry->after = pending->spare_entry;
        pending->spare_entry = entry;
        pending->spare_count++;
    }
    return status;
}

static ki_pending_entry *take_spare(ki_pending *pending) {
    ki_pending_entry *entry = pending->spare_entry;
    pending->spare_entry = entry->after;
    pending->spare_count--;
    return entry;
}

static void free_spares(ki_pending *pending, size_t keep) {
    while (pending->spare_count > keep)
        ki_free(pending->allocator, take_spare(pending));
}

static void drop_entry(ki_pending *pending, ki_pending_entry *entry) {
    ki_pending_table_remove(&pending->by_key, entry);
    if (pending->marked == entry)
        pending->marked = entry->before;
    *(entry->before ? &entry->before->after : &pending->first) = entry->after;
    *(entry->after ? &entry->after->before : &pending->last) = entry->before;
    pending->count--;
    ki_object_unref(entry->known);
    ki_object_unref(entry->obj);
    if (pending->spare_entry) {
        ki_free(pending->allocator, entry);
        return;
    }
    entry->after = NULL;
    pending->spare_entry = entry;
    pending->spare_count = 1;
}

static void first_change(ki_pending *pending, const ki_change *change) {
    ki_pending_entry *entry = take_spare(pending);
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
    ki_pending_table_put(&pending->by_key, entry);
}

static void push_latest(ki_pending *pending, const ki_change *change) {
    ki_pending_entry *entry = ki_pending_table_get(&pending->by_key, ki_object_key(change->obj));
    if (!entry) {
        first_change(pending, change);
        return;
    }
    if (change->type == KI_EVENT_DELETE && !entry->known) {
        drop_entry(pending, entry); /* the listener was never notified of the object */
        return;
    }
    ki_object *before = entry->obj;
    entry->obj = ki_object_ref(change->obj);
    entry->is_deleted = change->type == KI_EVENT_DELETE;
    entry->final_state_unknown = change->final_state_unknown;
    entry->is_resync = entry->is_resync && change->is_resync;
    ki_object_unref(before);
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

ki_status ki_pending_reserve(ki_pending *pending, size_t changes, size_t keys) {
    return pending->delivery == KI_DELIVER_ALL ? reserve_chunks(pending, changes) : reserve_entries(pending, keys);
}

void ki_pending_trim(ki_pending *pending) {
    if (pending->spare) {
        free_chunks(pending, pending->spare->next);
        pending->spare->next = NULL;
    }
    free_spares(pending, 1);
}

void ki_pending_push(ki_pending *pending, const ki_change *change) {
    if (pending->delivery == KI_DELIVER_ALL)
        push_all(pending, change);
    else
        push_latest(pending, change);
}

bool ki_pending_pop(ki_pending *pending, ki_change *ret_change) {
    return pending->delivery == KI_DELIVER_ALL ? pop_all(pending, ret_change) : pop_latest(pending, ret_change);
}

void ki_pending_set_mark(ki_pending *pending) {
    pending->mark = pending->pushed;
    pending->marked = pending->last;
}

bool ki_pending_mark_is_reached(const ki_pending *pending) {
    if (pending->delivery == KI_DELIVER_ALL)
        return pending->popped >= pending->mark;
    return !pending->marked;
}

void ki_pending_clear(ki_pending *pending) {
    ki_change change;
    while (ki_pending_pop(pending, &change)) {
        ki_object_unref(change.obj);
        ki_object_unref(change.old);
    }
    free_chunks(pending, pending->head);
    free_chunks(pending, pending->spare);
    free_spares(pending, 0);
    uint64_t seed = pending->by_key.seed;
    ki_pending_table_free(&pending->by_key);
    ki_pending_init(pending, pending->allocator, pending->delivery, seed);
}
