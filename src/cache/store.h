/* store.h: the objects of one informer and their indexes, as a chain of immutable moments.
 *
 * A store has one writer, the loop. Each change makes the next moment by copying the few nodes of a hash trie on its path (tree.h)
 * and publishes it by swapping one pointer. Readers take a reference to the moment that is published and look at it for as long as
 * they like; the lock on that pointer is held for the length of the swap, never for work. So a query sees one moment, a replace
 * is seen whole or not at all, and a late handler's replay costs the loop nothing. */
#ifndef KI_CACHE_STORE_H
#define KI_CACHE_STORE_H

#include <kinformer/allocator.h>
#include <kinformer/lister.h>

#include "src/cache/indexer.h"

#include <stdbool.h>

typedef struct ki_store ki_store;

typedef struct ki_store_options {
    const ki_allocator *allocator;
    uint64_t seed;   /* of the key hashes */
    bool namespaced; /* then KI_NAMESPACE_INDEX is there from the start */
    /* An index function failed for an object, which is left out of that index. May be NULL. Called on the thread that calls the function. */
    void (*on_index_error)(const ki_error *err, const char *key, void *user);
    void *on_index_error_user;
} ki_store_options;

ki_status ki_store_new(const ki_store_options *options, ki_store **ret_store, ki_error *err);
void ki_store_free(ki_store *store); /* snapshots live on */

/* Writing: one thread at a time (the informer's lock). A change is all or nothing: on KI_ERR_NO_MEMORY the store is as it was.
 * `resource_version` NULL keeps the store's. */
/* Several changes as one, which readers see whole or not at all: begin (`empty`: from nothing), stage, end with KI_OK or the failure that
 * throws all away. Nothing else is written between begin and end, but for indexes: after ki_store_is_overtaken only abandon is left. */
ki_status ki_store_begin(ki_store *store, bool empty, const char *resource_version, ki_error *err);
ki_status ki_store_stage_put(ki_store *store, ki_object *obj);
ki_status ki_store_stage_delete(ki_store *store, const char *key);
const ki_snapshot *ki_store_staged(const ki_store *store); /* what will be there, borrowed until end */
/* `what` was done, for the message. Gives `status` back, or publishes. */
ki_status ki_store_end(ki_store *store, ki_status status, const char *what, ki_error *err);
/* Was an index added since begin? */
bool ki_store_is_overtaken(const ki_store *store);
/* Gives what is staged to the caller, to be thrown away; NULL where nothing is. */
ki_snapshot *ki_store_abandon(ki_store *store);
ki_status ki_store_set_resource_version(ki_store *store, const char *resource_version, ki_error *err);

/* For index_build.c. Init: for index functions beside those that the writer calls; their failures are the store's. Publish: takes the moment over; the
 * writer's lock is held. */
void ki_store_init_update(ki_store *store, ki_index_update *update);
ki_status ki_store_new_schema(const ki_store *store, const ki_schema *before, const ki_indexer *indexers, size_t count,
                              ki_schema **ret_schema, ki_error *err);
void ki_store_publish(ki_store *store, ki_snapshot *next);

/* Reading: any thread. */
ki_snapshot *ki_store_snapshot(const ki_store *store);
ki_object *ki_store_get(const ki_store *store, const char *key); /* a reference, or NULL */
size_t ki_store_count(const ki_store *store);

#endif
