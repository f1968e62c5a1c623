/* deleted_objects.c: see deleted_objects.h. */
#include "src/cache/store/deleted_objects.h"

#include "src/base/assert.h"
#include "src/object/format.h"

typedef struct entry {
    ki_object *obj; /* owned reference */
    int64_t until;
} entry;

ki_status ki_deleted_objects_init(ki_deleted_objects *deleted, const ki_store_options *options, int64_t keep_ns,
                                  ki_error *err) {
    *deleted = (ki_deleted_objects){ .keep_ns = keep_ns };
    ki_ring_init(&deleted->queue, options->allocator, sizeof(entry));
    ki_map_init(&deleted->last, options->allocator, options->seed);
    ki_store_options own = *options;
    own.on_index_error = NULL; /* it was reported while the object was there */
    return keep_ns > 0 ? ki_store_new(&own, &deleted->store, err) : KI_OK;
}

static void pop(ki_deleted_objects *deleted) {
    entry oldest;
    if (!ki_ring_pop(&deleted->queue, &oldest))
        return;
    deleted->popped++;
    KI_ASSERT(deleted->bytes >= ki_object_memory_with_base(oldest.obj));
    deleted->bytes -= ki_object_memory_with_base(oldest.obj);
    if (deleted->staged > deleted->queue.count)
        deleted->staged = deleted->queue.count;
    ki_object_unref(oldest.obj);
}

void ki_deleted_objects_free(ki_deleted_objects *deleted) {
    while (deleted->queue.count)
        pop(deleted);
    ki_ring_free(&deleted->queue);
    ki_map_free(&deleted->last);
    ki_store_free(deleted->store);
}

/* Returns the position of the key's last entry; 0: there is none. */
static size_t last_of(const ki_deleted_objects *deleted, const char *key) {
    return (size_t)(uintptr_t)ki_map_get(&deleted->last, ki_str_of(key));
}

ki_status ki_deleted_objects_stage(ki_deleted_objects *deleted, ki_object *obj) {
    const char *key = ki_object_key(obj);
    if (!deleted->store)
        return KI_OK;
    size_t last = last_of(deleted, key), published = deleted->popped + deleted->queue.count - deleted->staged;
    bool is_stored = ki_store_known(deleted->store, key) == obj;
    if (is_stored && last > published)
        return KI_OK;
    if (ki_ring_reserve(&deleted->queue, 1))
        return KI_ERR_NO_MEMORY;
    ki_map_slot *slot = ki_map_slot_of(&deleted->last, ki_str_of(key));
    if (!slot)
        return KI_ERR_NO_MEMORY;
    ki_status status = is_stored ? KI_OK : ki_store_put(deleted->store, obj, NULL, NULL);
    if (status && !last)
        (void)ki_map_remove(&deleted->last, ki_str_of(key));
    if (status)
        return status;
    slot->key = key;
    slot->value = (void *)(uintptr_t)(deleted->popped + deleted->queue.count + 1);
    (void)ki_ring_push(&deleted->queue, &(entry){ ki_object_ref(obj), INT64_MAX }); /* room is reserved */
    deleted->bytes += ki_object_memory_with_base(obj);
    deleted->staged++;
    KI_ASSERT(deleted->staged <= deleted->queue.count);
    return KI_OK;
}

void ki_deleted_objects_publish(ki_deleted_objects *deleted, int64_t now) {
    for (; deleted->staged > 0; deleted->staged--) {
        entry *staged = ki_ring_at(&deleted->queue, deleted->queue.count - deleted->staged);
        staged->until = deleted->keep_ns < INT64_MAX - now ? now + deleted->keep_ns : INT64_MAX;
    }
}

static bool is_above_limits(const ki_deleted_objects *deleted) {
    return deleted->queue.count > KI_DELETED_MAX_COUNT || deleted->bytes > KI_DELETED_MAX_BYTES;
}

int64_t ki_deleted_objects_next_trim(const ki_deleted_objects *deleted, int64_t now) {
    const entry *oldest = ki_ring_at(&deleted->queue, 0);
    if (!oldest)
        return INT64_MAX;
    return deleted->is_ended || is_above_limits(deleted) ? now : oldest->until;
}

/* Removes the oldest object from the store, unless there is a later deletion under its key. */
static ki_status remove_oldest(ki_deleted_objects *deleted) {
    const char *key = ki_object_key(((const entry *)ki_ring_at(&deleted->queue, 0))->obj);
    if (last_of(deleted, key) != deleted->popped + 1)
        return KI_OK;
    ki_status status = ki_store_delete(deleted->store, key, NULL, NULL);
    if (!status)
        (void)ki_map_remove(&deleted->last, ki_str_of(key));
    return status;
}

ki_status ki_deleted_objects_trim(ki_deleted_objects *deleted, int64_t now, size_t *units) {
    ki_status status = KI_OK;
    for (; !status && *units > 0 && ki_deleted_objects_next_trim(deleted, now) <= now; --*units) {
        status = remove_oldest(deleted);
        if (!status)
            pop(deleted);
    }
    return status;
}
