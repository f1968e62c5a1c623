/* queue.c: the functions of <kinformer/parts/queue.h>, which call the queue's own. */
#include "src/cache/queue/queue.h"

#include "src/base/error.h"

void ki_queue_free(ki_queue *queue) {
    if (queue)
        queue->ops->free(queue);
}

ki_status ki_queue_put(ki_queue *queue, const ki_change *change, ki_error *err) {
    if (!queue || !change || !change->obj)
        return ki_error_missing(err, "ki_queue_put");
    return queue->ops->put(queue, change, err);
}

ki_status ki_queue_replace(ki_queue *queue, const ki_listing *list, ki_error *err) {
    if (!queue || !list || !list->resource_version || (list->count > 0 && !list->objects))
        return ki_error_missing(err, "ki_queue_replace");
    return queue->ops->replace(queue, list, err);
}

ki_status ki_queue_resync(ki_queue *queue, ki_error *err) {
    return queue ? queue->ops->resync(queue, err) : ki_error_missing(err, "ki_queue_resync");
}

ki_status ki_queue_pop(ki_queue *queue, ki_process process, void *user, ki_error *err) {
    if (!queue || !process)
        return ki_error_missing(err, "ki_queue_pop");
    queue->slice = 0;
    if (queue->failed && !queue->ops->length(queue))
        (void)queue->ops->retry(queue, KI_QUEUE_SLICE);
    return queue->ops->pop(queue, process, user, err);
}

void ki_queue_close(ki_queue *queue) {
    if (queue)
        queue->ops->close(queue);
}

bool ki_queue_has_synced(const ki_queue *queue) {
    return queue && queue->ops->has_synced(queue);
}

size_t ki_queue_length(const ki_queue *queue) {
    return queue ? queue->ops->length(queue) + queue->failed : 0;
}
