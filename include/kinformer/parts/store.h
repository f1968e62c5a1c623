/* parts/store.h: a store of objects with indexes, standing alone: client-go's Store, Indexer and ThreadSafeStore. A
 * building block of an informer.
 *
 * The building blocks have a weaker promise than the other headers: their functions and structs may change with each
 * minor version, without a change of the soname. A program that uses them is built again for each minor version.
 *
 *     ki_store *pods = NULL;
 *     status = ki_store_new(NULL, &pods, &err);
 *     status = ki_store_add_indexers(pods, &(ki_indexer){ .name = "node", .path = "spec.nodeName" }, 1, &err);
 *     status = ki_store_put(pods, obj, NULL, &err);
 *
 *     ki_snapshot *now = ki_store_snapshot(pods);              one state of all objects, for any number of reads
 *     ki_cursor cursor = KI_CURSOR_INIT;
 *     while ((obj = ki_snapshot_next_by_index(now, "node", "n1", &cursor))) …
 *     ki_snapshot_free(now);
 *
 * Threads: any thread may call any function except ki_store_free, also at the same time. Changes wait for each other;
 * readers wait for nobody. */
#ifndef KINFORMER_PARTS_STORE_H
#define KINFORMER_PARTS_STORE_H

#include <kinformer/allocator.h>
#include <kinformer/lister.h>

KI_BEGIN_DECLS

typedef struct ki_store ki_store;

typedef struct ki_store_options {
    size_t size;                   /* sizeof(ki_store_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    uint64_t seed;                 /* of the key hashes; 0 is a seed, too. Random where others choose the keys */
    bool namespaced;               /* adds KI_NAMESPACE_INDEX from the start */
    /* Reports an index function that failed for an object. The object is not in that index. May be NULL. Runs on the
     * thread that changes the store or adds the index; must not change the store. */
    void (*on_index_error)(const ki_error *err, const char *key, void *user) KI_NOEXCEPT;
    void *user;
} ki_store_options;

#define KI_STORE_OPTIONS(...) KI_SIZED_(ki_store_options, __VA_ARGS__)

/* Makes an empty store. `options` may be NULL.
 * Ownership: the caller frees the store with ki_store_free. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_store_new(const ki_store_options *options, ki_store **ret_store, ki_error *err);
/* Frees a store. Its snapshots stay valid. NULL is accepted. Threads: any, while no other thread uses the store. */
KI_API void ki_store_free(ki_store *store);

/* ---- changes: whole, or not at all ---- */

/* Adds an object, or replaces the object with the same key (client-go's Add and Update). The store is then at
 * `resource_version`; NULL: at the version before.
 * Ownership: the store takes a reference to the object. Threads: any. Blocks: while another thread changes the store.
 * Errors: KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_store_put(ki_store *store, const ki_object *obj, const char *resource_version,
                                            ki_error *err);
/* Deletes the object under `key`, if there is one. Otherwise as ki_store_put. */
KI_API KI_MUST_CHECK ki_status ki_store_delete(ki_store *store, const char *key, const char *resource_version,
                                               ki_error *err);
/* Replaces all objects by `count` others. Of several with the same key the last one counts. A reader sees all of the
 * change or nothing of it. Otherwise as ki_store_put. */
KI_API KI_MUST_CHECK ki_status ki_store_replace(ki_store *store, ki_object *const *objects, size_t count,
                                                const char *resource_version, ki_error *err);
/* Adds all of the indexers (lister.h), or none after an error. Objects in the store are indexed before this returns.
 * Threads: any. Blocks: until they are indexed; other threads may change the store meanwhile.
 * Errors: as ki_informer_add_indexers. */
KI_API KI_MUST_CHECK ki_status ki_store_add_indexers(ki_store *store, const ki_indexer *indexers, size_t count,
                                                     ki_error *err);

/* ---- reading ---- */

/* Returns the object under `key`; NULL if there is none.
 * Ownership: a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no. */
KI_API ki_object *ki_store_get(const ki_store *store, const char *key);
/* Returns the number of objects. Threads: any. Blocks: no. */
KI_API size_t ki_store_count(const ki_store *store);
/* Returns the present state of the store: all objects and all indexes, to be read with the functions of lister.h.
 * Ownership: the caller frees the snapshot with ki_snapshot_free. Threads: any. Blocks: no. */
KI_API ki_snapshot *ki_store_snapshot(const ki_store *store);

/* ---- the known objects of a queue or a reflector ---- */

/* A walk over the known objects. All zero before it begins, except the namespace. */
typedef struct ki_known_walk {
    ki_snapshot *snapshot;
    ki_cursor cursor;
    const char *namespace_name; /* only objects of this namespace are needed; NULL: all */
} ki_known_walk;

/* The objects that a program has (client-go's KnownObjects). A queue compares a list with them, and a resync is of
 * them. They do not change while a walk goes over them: it goes over a snapshot. */
typedef struct ki_known_objects {
    ki_object *(*get)(const char *key, void *user)KI_NOEXCEPT;      /* a reference, or NULL */
    ki_object *(*next)(ki_known_walk *walk, void *user)KI_NOEXCEPT; /* borrowed until the walk ends; NULL at the end */
    void (*end)(ki_known_walk *walk, void *user) KI_NOEXCEPT;       /* at any point of a walk, or before its begin */
    void *user;
} ki_known_objects;

/* Returns the objects of a store as known objects. Ownership: borrowed from the store. Threads: any. Blocks: no. */
KI_API ki_known_objects ki_store_known_objects(const ki_store *store);

KI_END_DECLS

#endif
