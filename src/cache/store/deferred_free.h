/* deferred_free.h: releases large arrays of objects and snapshots on the loop, a part in each step. Allocates nothing.
 * Loop only. */
#ifndef KI_CACHE_DEFERRED_FREE_H
#define KI_CACHE_DEFERRED_FREE_H

#include "src/cache/store/snapshot.h"
#include "src/engine/engine.h"

typedef struct ki_deferred_block ki_deferred_block;

typedef struct ki_deferred {
    ki_engine *engine;
    ki_task task;
    ki_deferred_block *blocks;
    /* Linked by `next_deferred`, the oldest first: else nodes would move from each snapshot to the one before it, and
     * be freed with the last (snapshot.h). */
    ki_snapshot *snapshots, *last_snapshot;
    ki_snapshot_drain drain;
    ki_versions *served; /* NULL: none */
} ki_deferred;

void ki_deferred_init(ki_deferred *deferred, ki_engine *engine);
/* Until ki_deferred_stop, ki_snapshot_free on the loop passes this store's snapshots to `deferred`. The store must live
 * as long. */
void ki_deferred_serve(ki_deferred *deferred, const ki_snapshot *of_store);
/* Takes the array over, with a reference to each object in it. NULL elements are accepted. The array must come from the
 * engine's allocator. */
void ki_deferred_add_objects(ki_deferred *deferred, ki_object **objects, size_t count);
/* Takes the reference over. NULL is accepted. */
void ki_deferred_add_snapshot(ki_deferred *deferred, ki_snapshot *snapshot);
/* Ends the task. The rest stays until free. */
void ki_deferred_stop(ki_deferred *deferred);
/* Releases the rest at once. Any thread, after stop. */
void ki_deferred_free(ki_deferred *deferred);

#endif
