/* index_build.h: builds indexes for a store that already has objects, while a writer changes the store.
 *
 * The build indexes one snapshot of the store, which takes time for every object and needs no lock. Then it applies the
 * changes since the snapshot, repeatedly, each time fewer. The last few changes and the publishing happen under the
 * writer's lock. */
#ifndef KI_CACHE_INDEX_BUILD_H
#define KI_CACHE_INDEX_BUILD_H

#include "src/cache/store/snapshot.h"
#include "src/cache/store/store.h"

typedef struct ki_index_build {
    ki_store *store;
    const ki_indexer *indexers; /* borrowed */
    size_t count;
    ki_snapshot *made;     /* only the new indexes, for the objects of `indexed` */
    const ki_schema *base; /* the store's schema without the new indexes */
    ki_snapshot *indexed;  /* NULL: none yet */
    ki_snapshot *target;   /* the snapshot to reach; NULL: `indexed` is reached */
    ki_snapshot *unused;   /* released without the lock */
    ki_snapshot *prepared; /* the snapshot to publish, without the new indexes; NULL: none */
    bool walks_target;     /* the walk goes over `target`; else over `indexed` */
    ki_tree_changes changes;
    ki_index_update update;
} ki_index_build;

/* Begins a build for the published snapshot. Any thread. Errors: as ki_informer_add_indexers. */
ki_status ki_index_build_begin(ki_index_build *build, ki_store *store, const ki_indexer *indexers, size_t count,
                               ki_error *err);
/* Brings the indexes to the target of begin or publish, or without a target to the published snapshot. Any thread, not
 * under the writer's lock.
 * Errors: as begin. */
ki_status ki_index_build_catch_up(ki_index_build *build, ki_error *err);
/* Applies at most `units` further changes, then prepares the snapshot to publish. Called after ki_index_build_catch_up;
 * caller holds the writer's lock. `*ret_ready` false: changes remain; call both again. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_index_build_prepare(ki_index_build *build, size_t units, bool *ret_ready, ki_error *err);
/* Publishes what is prepared, under the same hold of the lock. Cannot fail. Not called: ki_index_build_catch_up drops
 * what is prepared. */
void ki_index_build_publish_prepared(ki_index_build *build);
/* Does both. `*ret_done` false: changes remain; call ki_index_build_catch_up and this again. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status ki_index_build_publish(ki_index_build *build, size_t units, bool *ret_done, ki_error *err);
/* Releases everything. Not under the writer's lock. */
void ki_index_build_end(ki_index_build *build);

#endif
