/* deleted_objects.c: see deleted_objects.h. */
#include "src/cache/store/deleted_objects.h"

#include "src/object/format.h"

typedef struct entry {
    ki_object *obj; /* owned reference */
    int64_t until;
} entry;

ki_status ki_deleted_objects_init(ki_deleted_objects *deleted, const ki_store_options *options, int64_t keep_ns,
                                  ki_error *err) {
    *deleted = (ki_deleted_objects){ .keep_ns = keep_ns };
    ki_ring_init(&deleted->queue, options->allocator, sizeof(entry));
    ki_store_options own = *options;
    own.on_index_error = NULL; /* it was reported while the object was there */
    return keep_ns > 0 ? ki_store_new(&own, &deleted->store, err) : KI_OK;
}

static void pop(ki_deleted_objects *deleted) {
    entry oldest;
    if (!ki_ring_pop(&deleted->queue, &oldest))
        return;
    deleted->bytes -= ki_object_memory(oldest.obj);
    if (deleted->staged > deleted->queue.count)
        deleted->staged = deleted->queue.count;
    ki_object_unref(oldest.obj);
}

void ki_deleted_objects_free(ki_deleted_objects *deleted) {
    while (deleted->queue.count)
        pop(deleted);
    ki_ring_free(&deleted->queue);
    ki_store_free(deleted->store);
}

ki_status ki_deleted_objects_stage(ki_deleted_objects *deleted, ki_object *obj) {
    if (!deleted->store || ki_store_known(deleted->store, ki_object_key(obj)) == obj)
        return KI_OK;
    if (ki_ring_reserve(&deleted->queue, 1))
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_store_put(deleted->store, obj, NULL, NULL);
    if (status)
        return status;
    (void)ki_ring_push(&deleted->queue, &(entry){ ki_object_ref(obj), INT64_MAX }); /* room is reserved */
    deleted->bytes += ki_object_memory(obj);
    deleted->staged++;
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

/* Removes the oldest object from the store, unless a later deletion under its key has replaced it. */
static ki_status remove_oldest(ki_deleted_objects *deleted) {
    const ki_object *obj = ((const entry *)ki_ring_at(&deleted->queue, 0))->obj;
    const char *key = ki_object_key(obj);
    return ki_store_known(deleted->store, key) == obj ? ki_store_delete(deleted->store, key, NULL, NULL) : KI_OK;
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
