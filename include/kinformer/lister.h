/* lister.h: reading an informer's copy, from any thread, never from the network.
 *
 * A snapshot is one moment of the copy with all its indexes: it costs a reference, takes no lock that the loop holds while it works,
 * and does not change while the program looks at it. */
#ifndef KINFORMER_LISTER_H
#define KINFORMER_LISTER_H

#include <kinformer/informer.h>

KI_BEGIN_DECLS

/* One object, by "namespace/name" or "name"; NULL where there is none.
 * Ownership: a reference, the caller's: ki_object_unref. Threads: any. Blocks: no. */
KI_API ki_object *ki_informer_get(const ki_informer *informer, const char *key);

typedef struct ki_snapshot ki_snapshot;

/* Ownership: the caller's, freed with ki_snapshot_free; all objects and strings it gives are borrowed from it. It
 * may outlive the informer. Threads: any; one snapshot may be read by several at once. Blocks: no.
 * Never fails: NULL only where `informer` is NULL. */
KI_API ki_snapshot *ki_informer_snapshot(const ki_informer *informer);
KI_API void ki_snapshot_free(ki_snapshot *snapshot);

KI_API size_t ki_snapshot_count(const ki_snapshot *snapshot);
/* The resource version that this moment is at; "" before the first list. */
KI_API const char *ki_snapshot_resource_version(const ki_snapshot *snapshot);
/* NULL where there is none. */
KI_API const ki_object *ki_snapshot_get(const ki_snapshot *snapshot, const char *key);

/* Walks: in no particular order.
 *     ki_cursor cursor = KI_CURSOR_INIT;
 *     while ((obj = ki_snapshot_next(snapshot, &cursor))) …
 * A cursor holds nothing and may be dropped at any time. */
typedef struct ki_cursor {
    const void *place[16]; /* private, as all below */
    unsigned index[16];
    int depth;
} ki_cursor;
#define KI_CURSOR_INIT \
    { { 0 }, { 0 }, 0 }

KI_API const ki_object *ki_snapshot_next(const ki_snapshot *snapshot, ki_cursor *cursor);
/* Objects under one value of an index. NULL at the end, and for an index that does not exist (ki_snapshot_has_index tells). */
KI_API const ki_object *ki_snapshot_next_by_index(const ki_snapshot *snapshot, const char *index, const char *value,
                                                  ki_cursor *cursor);
KI_API size_t ki_snapshot_count_by_index(const ki_snapshot *snapshot, const char *index, const char *value);
/* The values that an index has now; NULL at the end. */
KI_API const char *ki_snapshot_next_index_value(const ki_snapshot *snapshot, const char *index, ki_cursor *cursor);
KI_API bool ki_snapshot_has_index(const ki_snapshot *snapshot, const char *index);

/* ---- listers ---- */

typedef struct ki_object_list {
    const ki_object **objects;
    size_t count;
    ki_snapshot *snapshot; /* private: keeps the objects */
} ki_object_list;

/* Objects of one namespace (NULL or "": all) that match a label selector ("app=web,tier in (a, b),!canary"; NULL or "": all).
 * Ownership: the caller's, freed with ki_object_list_free. Threads: any. Blocks: no.
 * Errors: KI_ERR_PARSE for the selector, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name,
                                              const char *label_selector, ki_object_list *ret_list, ki_error *err);
KI_API void ki_object_list_free(ki_object_list *list);

/* One object by namespace (NULL or "" for cluster-scoped) and name, as a reference of the caller's.
 * Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name,
                                             ki_object **ret_obj, ki_error *err);

/* ---- indexers ---- */

#define KI_NAMESPACE_INDEX "namespace" /* always there for namespaced resources */

/* Takes an index function's values for one object. */
typedef struct ki_index_values ki_index_values;
/* Adds one; the text is copied; the same value twice counts once. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (1,000 values for one object). */
KI_API KI_MUST_CHECK ki_status ki_index_values_add(ki_index_values *values, const char *value);

typedef struct ki_indexer {
    const char *name; /* copied */
    /* Gives zero or more values for an object. Must be a function of the object alone. A failure leaves the object out of this index; it is counted and
     * reported to the error handler. Called on the loop, and on the thread that adds an indexer late: two indexers that share a function may be
     * called at the same time. */
    ki_status (*index)(const ki_object *obj, ki_index_values *values, void *user) KI_NOEXCEPT;
    void *user;
} ki_indexer;

/* Adds indexes; at any time: objects that are there are indexed before it returns. All or none.
 * Threads: any. Blocks: until all objects are indexed; no other thread waits meanwhile. On the loop it blocks the loop: add indexes to a
 * large cache before the start or on another thread.
 * Errors: KI_ERR_EXISTS for a name that is taken, KI_ERR_LIMIT (64 indexes), KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_STATE after stop. */
KI_API KI_MUST_CHECK ki_status ki_informer_add_indexers(ki_informer *informer, const ki_indexer *indexers, size_t count,
                                                        ki_error *err);

KI_END_DECLS

#endif
