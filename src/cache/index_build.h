/* index_build.h: makes indexes for a store that has objects already, beside whoever writes to it.
 *
 * The indexes are made of one moment of the store, which takes as long as there are objects, and needs no lock. Then they follow what has changed since,
 * again and again, each time with less to do; the last few changes and the publishing are done under the writer's lock. */
#ifndef KI_CACHE_INDEX_BUILD_H
#define KI_CACHE_INDEX_BUILD_H

#include "src/cache/snapshot.h"
#include "src/cache/store.h"

typedef struct ki_index_build {
    ki_store *store;
    const ki_indexer *indexers; /* borrowed */
    size_t count;
    ki_snapshot *made;     /* holds the indexes of the objects in `seen`, and nothing else */
    const ki_schema *base; /* the store's, to which `made` adds */
    ki_snapshot *seen;     /* NULL: none yet */
    ki_snapshot *target;   /* the moment that the indexes are brought to; NULL: they are at `seen` */
    ki_snapshot *gone;     /* to be released, without the lock */
    bool is_at_new;        /* objects of `target` are looked at; else those of `seen` */
    ki_tree_changes changes;
    ki_index_update update;
} ki_index_build;

/* Errors: those of ki_store_add_indexers. Any thread; begins from what is published. */
ki_status ki_index_build_begin(ki_index_build *build, ki_store *store, const ki_indexer *indexers, size_t count,
                               ki_error *err);
/* Brings the indexes to what is published when it begins. Any thread, not under the writer's lock. Errors: as begin. */
ki_status ki_index_build_follow(ki_index_build *build, ki_error *err);
/* After follow, under the writer's lock: follows at most `units` further changes and publishes. `*ret_done` false: there was more; to be called again
 * after follow. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_index_build_publish(ki_index_build *build, size_t units, bool *ret_done, ki_error *err);
/* Releases everything. Not under the writer's lock. */
void ki_index_build_end(ki_index_build *build);

#endif
