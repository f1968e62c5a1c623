/* history.c: the events of a cluster: search by revision, limits, compaction. */
#include "testing/cluster/cluster_state.h"

#include "src/base/assert.h"

uint64_t kt_storage_seq_after(const kt_storage *storage, uint64_t revision) {
    storage = storage->store;
    size_t low = 0, high = storage->history.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const kt_event *event = ki_ring_at(&storage->history, middle);
        if (event->revision <= revision)
            low = middle + 1;
        else
            high = middle;
    }
    return storage->first_seq + low;
}

const kt_event *kt_storage_event(const kt_storage *storage, uint64_t seq) {
    storage = storage->store;
    return ki_ring_at(&storage->history, (size_t)(seq - storage->first_seq));
}

/* Drops the cluster's oldest event. */
static void drop_oldest(kt_cluster *cluster) {
    kt_storage *storage = NULL;
    kt_event event;
    KT_HOLDS(cluster);
    if (!ki_ring_pop(&cluster->log, &storage) || !ki_ring_pop(&storage->history, &event))
        return;
    storage->first_seq++;
    KI_ASSERT(event.revision > cluster->compacted && event.revision <= cluster->revision);
    KI_ASSERT(cluster->history_bytes >= event.obj->json.size);
    cluster->compacted = event.revision;
    cluster->history_bytes -= event.obj->json.size;
    kt_object_unref(event.obj);
    kt_object_unref(event.old);
}

static const kt_event *oldest(const kt_cluster *cluster) {
    kt_storage *const *storage = ki_ring_at(&cluster->log, 0);
    return storage ? ki_ring_at(&(*storage)->history, 0) : NULL;
}

void kt_cluster_trim(kt_cluster *cluster, int64_t now_ms) {
    const kt_cluster_options *options = &cluster->options;
    const kt_event *event;
    while ((event = oldest(cluster)) != NULL &&
           (cluster->log.count > options->compact_after || cluster->history_bytes > options->compact_bytes ||
            (options->compact_age_ms && now_ms - event->time_ms > options->compact_age_ms)))
        drop_oldest(cluster);
}

void kt_cluster_compact(kt_cluster *cluster, uint64_t revision) {
    KT_HOLDS(cluster);
    if (revision == 0 || revision > cluster->revision)
        revision = cluster->revision;
    const kt_event *event;
    while ((event = oldest(cluster)) != NULL && event->revision <= revision)
        drop_oldest(cluster);
    if (cluster->compacted < revision)
        cluster->compacted = revision;
    for (size_t i = 0; i < cluster->storage_count; i++)
        kt_watchers_notify(cluster->storages[i]); /* watches behind it must send 410 */
}
