/* snapshot.h: one immutable state of a store: all objects, all indexes, the resource version. store.c makes snapshots;
 * programs read them through lister.h. The store and all readers share a snapshot; its last reference frees it. Any
 * thread.
 *
 * Two snapshots in a row share most nodes of their trees (tree.h). The published snapshots with a reference form a
 * chain in the order of their versions. Each has a list of its nodes that its successor does not have (`dead`). When a
 * snapshot is released, a node of its list that its predecessor has moves to the predecessor's list. The other nodes of
 * the list are in no other snapshot, and are freed. So a snapshot that is read for a long time keeps no node that was
 * made after it. */
#ifndef KI_CACHE_SNAPSHOT_H
#define KI_CACHE_SNAPSHOT_H

#include "src/cache/store/indexer.h"

struct ki_snapshot {
    ki_refcount refs;
    ki_schema *schema;            /* owned reference */
    const char *resource_version; /* in this block */
    size_t object_bytes;          /* memory of all objects */
    ki_snapshot *next_deferred;   /* the next released snapshot (published.h, deferred_free.h) */
    ki_snapshot *base;            /* owned reference until it is linked: the snapshot that it was made from, or NULL */
    /* `dead`: before ki_snapshot_link the nodes of `base` that this snapshot does not have; afterwards the nodes of
     * this snapshot that its successor does not have. */
    ki_store_edit edit;
    /* Under the lock of the schema's versions. */
    ki_snapshot *before, *after; /* the chain */
    bool is_released;            /* nobody reads it */
    /* Constant once it is linked. */
    ki_tree items;
    ki_tree indexes[]; /* one for each index of the schema */
};

/* Returns a snapshot without objects. */
ki_snapshot *ki_snapshot_new(ki_schema *schema, const char *resource_version);
/* Returns a snapshot with the objects and indexes of `base`, which is the last one of its chain. The first indexes of
 * `schema` must be those of `base`. */
ki_snapshot *ki_snapshot_new_from(ki_snapshot *base, ki_schema *schema, const char *resource_version);
/* Makes the snapshot the successor of the one that it was made from: called before it is published. From now on it does
 * not change. */
void ki_snapshot_link(ki_snapshot *snapshot);
ki_snapshot *ki_snapshot_ref(ki_snapshot *snapshot);
/* Releases a reference. The last one frees everything at once; ki_snapshot_free does so in steps. NULL is accepted. */
void ki_snapshot_unref(ki_snapshot *snapshot);
/* Returns the memory of its trees: of the objects, the indexes and their sets. */
size_t ki_snapshot_tree_memory(const ki_snapshot *snapshot);

/* Releases a reference in slices: the last reference can release very many objects. */
typedef struct ki_snapshot_drain {
    ki_snapshot *snapshot; /* NULL: nothing is left */
    bool is_whole;         /* frees its trees; else what its successor lacks */
    uint64_t born;         /* of the nodes that are freed; 0: all */
    size_t next;           /* the next index; after the indexes, the objects */
    ki_tree_drain tree;    /* of index `next` - 1, or of the objects */
    ki_tree_drain set;     /* of an index: the objects of the set being freed */
} ki_snapshot_drain;
/* Takes the reference over. NULL is accepted. */
void ki_snapshot_drain_begin(ki_snapshot_drain *drain, ki_snapshot *snapshot);
/* Releases about `*units` objects, sets and nodes at most, and subtracts their number. Returns true once nothing is
 * left. */
bool ki_snapshot_drain_some(ki_snapshot_drain *drain, size_t *units);

/* The listers of lister.h for one snapshot. `selector` NULL: all objects. */
ki_status ki_snapshot_list(ki_snapshot *snapshot, const char *namespace_name, const ki_selector *selector,
                           ki_object_list *ret_list, ki_error *err);
ki_status ki_snapshot_list_by_index(ki_snapshot *snapshot, const char *index, const char *value,
                                    ki_object_list *ret_list, ki_error *err);
ki_status ki_snapshot_lookup(const ki_snapshot *snapshot, const char *namespace_name, const char *name,
                             ki_object **ret_obj, ki_error *err);
/* Errors: KI_ERR_INVALID (there is no such index). */
ki_status ki_snapshot_check_index(const ki_snapshot *snapshot, const char *index, ki_error *err);

#endif
