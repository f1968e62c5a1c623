/* indexer.h: a store's indexes: their functions, the values of an object, and the set of objects for each value.
 *
 * An index is a tree of sets by value (index_set.h). Empty sets are removed. The schema lists the
 * indexes, with the data that all snapshots share; it is immutable and reference-counted. Guards: one writer at a time;
 * readers see only published snapshots. */
#ifndef KI_CACHE_INDEXER_H
#define KI_CACHE_INDEXER_H

#include "src/base/buffer.h"
#include "src/base/refcount.h"
#include "src/cache/store/tree.h"
#include "src/engine/thread.h"

enum {
    KI_INDEX_MAX_COUNT = 64,        /* indexes of one store */
    KI_INDEX_MAX_VALUES = 1000,     /* values of one object in one index */
    KI_INDEX_MAX_VALUE_SIZE = 65536 /* bytes of one value, or of an index's name */
};

/* ---- values ---- */

typedef struct ki_index_value {
    size_t at;   /* offset in the text */
    size_t size; /* without the closing zero */
    uint64_t hash;
} ki_index_value;

struct ki_index_values {
    ki_buffer text;
    uint64_t seed; /* of the hashes: that of the index's tree */
    ki_index_value *items;
    size_t count;
    size_t capacity;
    ki_status failed; /* the first failed add; it fails the index function even if the function ignores it */
};

/* ---- schema ---- */

/* What all snapshots of a store share: the numbers of their versions, and the lock of their order (snapshot.h). */
typedef struct ki_versions {
    ki_refcount refs;
    ki_mutex lock;
    _Atomic uint64_t last;
    struct ki_deferred *deferred; /* under `lock`: releases what the loop frees (deferred_free.h); NULL: nobody */
} ki_versions;

typedef struct ki_schema {
    ki_refcount refs;
    ki_allocator allocator;
    ki_versions *versions; /* owned reference */
    ki_tree_kind objects;  /* objects by key: all, or those of a set */
    ki_tree_kind unowned;  /* the same, without references */
    ki_tree_kind sets;     /* sets by value, without references */
    size_t count;
    ki_indexer indexers[]; /* their texts are in this block; `user` of those by path is the parsed path, owned */
} ki_schema;

/* Makes a schema of the indexes of `before` (NULL: none), then `more`.
 * Errors: KI_ERR_INVALID, KI_ERR_EXISTS, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_schema_new(const ki_allocator *allocator, uint64_t seed, const ki_schema *before, const ki_indexer *more,
                        size_t count, ki_schema **ret_schema, ki_error *err);
void ki_schema_unref(ki_schema *schema);
/* Returns the position of an index, or `count`. */
size_t ki_schema_find(const ki_schema *schema, const char *name);

/* ---- changes ---- */

/* The change that makes a snapshot. */
typedef struct ki_store_edit {
    ki_tree_edit objects; /* of trees with references to their objects */
    ki_tree_edit others;  /* of all else; the same version */
} ki_store_edit;

/* The index function of the namespace index. */
ki_status ki_index_by_namespace(const ki_object *obj, ki_index_values *values, void *user);
/* Returns the kind of the objects' trees in an index. An object's namespace is read without a failure, and is the same
 * at any time. So the object leaves the namespace index with the tree of all objects, and the index needs no
 * references. Other functions may return other values later, and so leave an object in their index. */
const ki_tree_kind *ki_index_kind(const ki_schema *schema, size_t at);

/* ---- one index and one object ---- */

/* The values of the old and of the new object. Reused for further updates, to keep their memory. One thread. */
typedef struct ki_index_update {
    ki_index_values old_values, new_values;
    /* Called when an index function failed; the index omits the object. */
    void (*on_error)(const ki_indexer *indexer, const ki_object *obj, ki_status status, void *user);
    void *user;
} ki_index_update;
void ki_index_update_init(ki_index_update *update, const ki_allocator *allocator);
void ki_index_update_free(ki_index_update *update);
/* What a change of an object means for the indexes. */
typedef struct ki_index_change {
    const ki_object *old;  /* NULL: it is new */
    ki_object *obj;        /* in place of `old`; NULL: it is deleted */
    const ki_object *read; /* what the index function gets, equal to `obj` */
    ki_str key;            /* of both */
    uint64_t hash;         /* of the key (ki_tree_hash) */
} ki_index_change;
/* Changes `index`, number `at` of the schema. On failure `index` may have half of the change: the caller drops it.
 * Errors: KI_ERR_NO_MEMORY. */
ki_status ki_index_update_one(ki_index_update *update, const ki_schema *schema, size_t at, ki_store_edit *edit,
                              ki_tree *index, const ki_index_change *change);

#endif
