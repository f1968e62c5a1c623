/* lister.h: reading an informer's cache, from any thread, without requests to the server.
 *
 * One object: ki_informer_get by its key, ki_informer_get_by_index by a value. The objects that match: ki_lister_list.
 * All objects, or several reads of one state: a snapshot, which is an immutable state of the cache with its indexes.
 * Taking a snapshot costs a reference and never waits for the loop.
 *
 * To list again when something has changed: a handler with on_changed, whose registration has the same selectors as the
 * list (informer.h). It is called once after any number of changes of objects that match.
 *
 *     static void list_again(ki_informer *pods, void *user) { … ki_lister_list(pods, "shop", "app=web", NULL, …) … }
 *
 *     const ki_handler handler = { .on_changed = list_again };
 *     status = ki_informer_add_handler(pods, &handler, NULL,
 *                                      &KI_REGISTRATION_OPTIONS(.label_selector = "app=web",
 *                                                               .field_selector = "metadata.namespace=shop"),
 *                                      NULL, &err);
 *
 * Before the first list is complete the cache is empty or has a part of the objects: "not found" means something once
 * ki_informer_has_synced. Of a namespace of a set: once ki_informer_namespace_health, before the lookup, is true. */
#ifndef KINFORMER_LISTER_H
#define KINFORMER_LISTER_H

#include <kinformer/informer.h>
#include <kinformer/selector.h>

KI_BEGIN_DECLS

/* Returns the cached object under `key`, "namespace/name" or "name"; NULL if there is none.
 * Ownership: a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no. */
KI_API ki_object *ki_informer_get(const ki_informer *informer, const char *key);

/* ---- snapshots ---- */

typedef struct ki_snapshot ki_snapshot;

/* Returns the current state of the cache. Never fails; NULL only if `informer` is NULL, or in a process that was forked
 * after the start (engine.h). The snapshot may outlive the informer.
 * Ownership: the caller frees the snapshot with ki_snapshot_free. Objects and strings that the functions below return
 * are borrowed from the snapshot. Threads: any; several threads may read one snapshot at the same time. Blocks: no. */
KI_API ki_snapshot *ki_informer_snapshot(const ki_informer *informer);
/* Frees a snapshot. NULL is accepted. Where the loop of a running informer frees the last reference, later steps
 * release what only this snapshot had. Threads: any. */
KI_API void ki_snapshot_free(ki_snapshot *snapshot);

/* Returns the number of objects. */
KI_API size_t ki_snapshot_count(const ki_snapshot *snapshot);
/* Returns the resource version of the snapshot; "" before the first list. */
KI_API const char *ki_snapshot_resource_version(const ki_snapshot *snapshot);
/* Returns the object under `key`; NULL if there is none. */
KI_API const ki_object *ki_snapshot_get(const ki_snapshot *snapshot, const char *key);

/* A position in a walk. Walks have no particular order. A cursor holds no resources; a walk may end at any time.
 *     ki_cursor cursor = KI_CURSOR_INIT;
 *     while ((obj = ki_snapshot_next(snapshot, &cursor))) … */
typedef struct ki_cursor {
    const void *place[16]; /* all members are private */
    unsigned index[16];
    int depth;
} ki_cursor;
#define KI_CURSOR_INIT \
    { { NULL }, { 0 }, 0 }

/* Returns the next object; NULL at the end. */
KI_API const ki_object *ki_snapshot_next(const ki_snapshot *snapshot, ki_cursor *cursor);
/* Returns the next object of a namespace (NULL or "": all) that matches a selector (NULL: all; ki_object_matches); NULL
 * at the end. */
KI_API const ki_object *ki_snapshot_next_match(const ki_snapshot *snapshot, const char *namespace_name,
                                               const ki_selector *selector, ki_cursor *cursor);
/* Returns the next object with `value` in `index`; NULL at the end, and for an index that does not exist
 * (ki_snapshot_has_index). */
KI_API const ki_object *ki_snapshot_next_by_index(const ki_snapshot *snapshot, const char *index, const char *value,
                                                  ki_cursor *cursor);
/* Returns the number of objects with `value` in `index`. */
KI_API size_t ki_snapshot_count_by_index(const ki_snapshot *snapshot, const char *index, const char *value);
/* Returns the next value of an index; NULL at the end. */
KI_API const char *ki_snapshot_next_index_value(const ki_snapshot *snapshot, const char *index, ki_cursor *cursor);
/* Returns true if the snapshot has an index of this name. */
KI_API bool ki_snapshot_has_index(const ki_snapshot *snapshot, const char *index);

/* ---- listers ---- */

typedef struct ki_object_list {
    const ki_object **objects;
    size_t count;
    ki_snapshot *snapshot; /* private */
} ki_object_list;

/* Lists the cached objects of one namespace (NULL or "": all) that match a label selector such as "app=web,tier in (a,
 * b),!canary" and a field selector such as "spec.nodeName=n1" (selector.h; NULL or "": all).
 * Ownership: the caller frees the list with ki_object_list_free; the objects are borrowed from the list. Threads: any.
 * Blocks: no.
 * Errors: KI_ERR_PARSE (a selector), KI_ERR_INVALID (labels or fields that the cache does not keep; also before the
 * start), KI_ERR_LIMIT, KI_ERR_STATE (the informer was removed from its factory), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_lister_list(const ki_informer *informer, const char *namespace_name,
                                              const char *label_selector, const char *field_selector,
                                              ki_object_list *ret_list, ki_error *err);
/* Lists the cached objects with `value` in `index`. Ownership, Threads, Blocks: as ki_lister_list.
 * Errors: KI_ERR_INVALID (there is no such index), KI_ERR_STATE (the informer was removed), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_lister_list_by_index(const ki_informer *informer, const char *index,
                                                       const char *value, ki_object_list *ret_list, ki_error *err);
/* Frees the contents of a list and empties the list. */
KI_API void ki_object_list_free(ki_object_list *list);

/* Gets the cached object with `value` in `index`, any of them if several have it. Does not allocate.
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND, KI_ERR_INVALID (there is no such index), KI_ERR_STATE (the informer was removed). */
KI_API KI_MUST_CHECK ki_status ki_informer_get_by_index(const ki_informer *informer, const char *index,
                                                        const char *value, ki_object **ret_obj, ki_error *err);

/* Gets one cached object by namespace (NULL or "" for cluster-scoped resources) and name.
 * Ownership: `*ret_obj` is a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no.
 * Errors: KI_ERR_NOT_FOUND, KI_ERR_STATE (the informer was removed), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_lister_get(const ki_informer *informer, const char *namespace_name, const char *name,
                                             ki_object **ret_obj, ki_error *err);

/* ---- deleted objects ----
 *
 * With ki_informer_options.keep_deleted_ms the two functions below also find an object after its deletion, in its last
 * state: a log agent reads the last lines of a pod that is gone. An object that exists comes first. If a new object has
 * the same name, its key finds the new one; an index value finds the deleted one only if no existing object has that
 * value. Of several deleted objects with one name the last is kept. Only these two functions find deleted objects. */

enum {
    KI_DELETED_MAX_COUNT = 10000,   /* deleted objects of one informer; above, the oldest are dropped early */
    KI_DELETED_MAX_BYTES = 64 << 20 /* their memory; above, the oldest are dropped early */
};

/* Returns the object under `key`, or the deleted one; NULL if there is none. Sets `*ret_is_deleted` (may be NULL).
 * Ownership: a reference that the caller releases with ki_object_unref. Threads: any. Blocks: no. */
KI_API ki_object *ki_informer_get_or_deleted(const ki_informer *informer, const char *key, bool *ret_is_deleted);

/* Gets the object with `value` in `index`, or a deleted one, any of them if several have it. Sets `*ret_is_deleted`
 * (may be NULL). Ownership, Threads, Blocks, Errors: as ki_informer_get_by_index. */
KI_API KI_MUST_CHECK ki_status ki_informer_get_by_index_or_deleted(const ki_informer *informer, const char *index,
                                                                   const char *value, ki_object **ret_obj,
                                                                   bool *ret_is_deleted, ki_error *err);

/* ---- indexers ---- */

#define KI_NAMESPACE_INDEX "namespace" /* every informer of a namespaced resource has this index */

/* The values that an index function adds for one object. */
typedef struct ki_index_values ki_index_values;
/* Adds a value; repeated values count once. Ownership: the text is copied.
 * Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT (more than 1,000 values of one object, or a value of more than 64 KiB). The
 * index then lacks the object, as if the function had failed. */
KI_API KI_MUST_CHECK ki_status ki_index_values_add(ki_index_values *values, const char *value);

/* How objects are indexed: by a path, or by a function.
 *     { .name = "ip", .path = "status.podIPs[*].ip" } */
typedef struct ki_indexer {
    const char *name; /* copied */
    /* Adds any number of values for an object. The values must depend on the object alone. If the function fails, the
     * index lacks the object, and the failure is counted and reported to the watch error handler.
     * Threads: called on the loop, and on the thread that calls ki_informer_add_indexers, also at the same time. */
    ki_status (*index)(const ki_object *obj, ki_index_values *values, void *user) KI_NOEXCEPT;
    void *user;
    /* In place of a function: the values are the strings, numbers and booleans at this path (ki_object_field); copied.
     * With "[*]", also several, each element adds its own. The limits are those of ki_index_values_add.
     * The cache must keep the field of each object (else KI_ERR_INVALID): with KI_KEEP_OBJECT any, with
     * KI_KEEP_METADATA those of the metadata, kind and apiVersion. With KI_KEEP_VIEW it can only be that of a label,
     * "metadata.labels.app", if the view has metadata.labels as a ki_string_map. In all other cases there is no index
     * by path. */
    const char *path;
} ki_indexer;

/* Adds all of the indexers, or none after an error. May be called at any time; cached objects are indexed before this
 * returns.
 * Threads: any. Blocks: until all objects are indexed; on the loop's thread the loop stops for that time. Add indexers
 * to a large cache before the start, or on another thread.
 * Errors: KI_ERR_EXISTS (the name), KI_ERR_LIMIT (more than 64 indexes), KI_ERR_INVALID (no name, neither a function
 * nor a path, or both; a path of a field that the cache does not keep: ki_indexer.path), KI_ERR_PARSE (the path),
 * KI_ERR_NO_MEMORY, KI_ERR_STATE (the informer is stopped). */
KI_API KI_MUST_CHECK ki_status ki_informer_add_indexers(ki_informer *informer, const ki_indexer *indexers, size_t count,
                                                        ki_error *err);

KI_END_DECLS

#endif
