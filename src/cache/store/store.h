/* store.h: objects and their indexes, as a chain of immutable snapshots. <kinformer/parts/store.h> has what a program
 * may call; an informer stages its changes.
 *
 * A store has one writer at a time: under the informer's change lock the loop, or a thread that adds an index; under
 * the store's own lock a function of the public header. No store has both kinds. Each change makes the next snapshot
 * and publishes it by swapping one pointer. The next snapshot copies only the hash trie nodes on the path of the change
 * (tree.h). Readers take no lock (published.h). They take a reference to the published snapshot and keep it for as
 * long as they like, or read it without one for a moment. So a query reads one snapshot, readers see a whole replace or
 * nothing of it, and a late handler's replay costs the loop nothing. */
#ifndef KI_CACHE_STORE_H
#define KI_CACHE_STORE_H

#include <kinformer/parts/store.h>

#include "src/cache/store/published.h"

#include <stdbool.h>

/* Staged changes: one thread at a time (the informer's change lock). A change takes effect whole or not at all: after
 * KI_ERR_NO_MEMORY the store is unchanged. A change of one or more objects: begin, stage, then publish, or abandon
 * after a failure. In between nothing else is written except new indexes and a resource version. If
 * ki_store_is_overtaken then returns true, the caller must abandon. */

/* Begins a change, unless one has begun. `resource_version` NULL keeps the store's version. */
ki_status ki_store_begin(ki_store *store, const char *resource_version, ki_error *err);
/* `read`, equal to `obj`, is what index functions get: the object before it was packed, or `obj` itself. */
ki_status ki_store_stage_put(ki_store *store, ki_object *obj, const ki_object *read);
/* Stages a deletion. A missing key is not an error. */
ki_status ki_store_stage_delete(ki_store *store, const char *key);
/* Publishes the staged snapshot. Returns false if nothing is staged. */
bool ki_store_publish_staged(ki_store *store);
/* Returns true if another snapshot was published since begin: an index was added, or the resource version was set. */
bool ki_store_is_overtaken(const ki_store *store);
/* Gives the staged snapshot to the caller, who releases it. NULL if nothing is staged. */
ki_snapshot *ki_store_abandon(ki_store *store);
/* Returns the published object for the writer, borrowed until the next change is published; NULL if there is none. */
ki_object *ki_store_known(const ki_store *store, const char *key);
/* Returns the memory of the published objects, for the writer. */
size_t ki_store_written_bytes(const ki_store *store);
/* The same, on any thread. */
size_t ki_store_object_bytes(const ki_store *store);
/* Publishes a snapshot that differs only in its resource version. */
ki_status ki_store_set_resource_version(ki_store *store, const char *resource_version, ki_error *err);

/* Makes a snapshot without objects, with the same indexes, for ki_store_publish. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_store_new_empty(const ki_store *store, ki_snapshot **ret_empty, ki_error *err);

/* Returns the published snapshot, valid until ki_store_leave. Between the two the thread must not block or call the
 * program. Any thread. */
const ki_snapshot *ki_store_enter(const ki_store *store, ki_reading *ret_reading);
void ki_store_leave(const ki_store *store, ki_reading reading);

/* For index_build.c. ki_store_init_update prepares an update beside the writer's; its index errors are reported as the
 * store's. ki_store_publish takes the snapshot over; caller holds the writer's lock. */
void ki_store_init_update(ki_store *store, ki_index_update *update);
ki_status ki_store_new_schema(const ki_store *store, const ki_schema *before, const ki_indexer *indexers, size_t count,
                              ki_schema **ret_schema, ki_error *err);
void ki_store_publish(ki_store *store, ki_snapshot *next);

#endif
