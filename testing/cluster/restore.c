/* restore.c: sets a cluster back to an earlier state, or to its first. */
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/crd_sync.h"

#include "src/base/memory.h"
#include "testing/cluster/owners.h"
#include "testing/cluster/view.h"

/* Replaces a storage's objects by a snapshot's (NULL: none). */
static ki_status restore(kt_storage *storage, const kt_snapshot *snapshot) {
    const ki_allocator *allocator = &storage->cluster->allocator;
    size_t count = snapshot ? snapshot->count : 0;
    kt_object **objects = ki_alloc_array(allocator, count + 1, sizeof *objects);
    if (!objects)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        objects[i] = kt_object_ref(snapshot->objects[i]);
    for (size_t i = 0; i < storage->count; i++) {
        kt_owners_remove(storage->cluster, storage->objects[i]);
        kt_object_unref(storage->objects[i]);
    }
    ki_free(allocator, storage->objects);
    storage->objects = objects;
    storage->count = count;
    storage->capacity = count + 1;
    ki_status status = KI_OK;
    for (size_t i = 0; storage->cluster->options.collects_garbage && i < count && !status; i++)
        status = kt_owners_add(storage, objects[i]);
    return status;
}

static ki_status restore_all(kt_cluster *cluster, kt_snapshot *const *snapshots, uint64_t revision, int64_t now_ms) {
    ki_status status = KI_OK;
    kt_cluster_compact(cluster, 0);
    for (size_t i = 0; i < cluster->storage_count && !status; i++) {
        kt_storage *storage = cluster->storages[i];
        if (kt_view_leads(storage))
            status = restore(storage->store, snapshots ? snapshots[i] : NULL);
        kt_snapshot_unref(storage->present);
        storage->present = NULL;
        kt_watchers_end_all(storage);
    }
    if (status)
        return status;
    cluster->revision = revision;
    cluster->compacted = revision;
    cluster->crd.synced = 0; /* kt_crd_sync must read all definitions */
    return kt_crd_sync(cluster, now_ms);
}

ki_status kt_cluster_rewind(kt_cluster *cluster, uint64_t events, int64_t now_ms) {
    KT_HOLDS(cluster);
    uint64_t least = cluster->compacted > 0 ? cluster->compacted : 1;
    uint64_t revision = cluster->revision - least > events ? cluster->revision - events : least;
    size_t count = cluster->storage_count;
    kt_snapshot **snapshots = ki_alloc_zero(&cluster->allocator, count * sizeof *snapshots);
    ki_status status = snapshots ? KI_OK : KI_ERR_NO_MEMORY;
    for (size_t i = 0; i < count && !status; i++) {
        if (kt_view_leads(cluster->storages[i]))
            status = kt_storage_past(cluster->storages[i], revision, &snapshots[i]);
    }
    if (!status)
        status = restore_all(cluster, snapshots, revision, now_ms);
    for (size_t i = 0; snapshots && i < count; i++)
        kt_snapshot_unref(snapshots[i]);
    ki_free(&cluster->allocator, snapshots);
    return status;
}

ki_status kt_cluster_reset(kt_cluster *cluster, int64_t now_ms, ki_error *err) {
    KT_HOLDS(cluster);
    uint64_t first = cluster->options.first_revision ? cluster->options.first_revision : 1;
    ki_status status = restore_all(cluster, NULL, first, now_ms);
    return status ? status : kt_cluster_add_namespaces(cluster, err);
}
