/* snapshot.h: one immutable moment of a store: all objects, all indexes, the resource version. Made by
 * store.c, read through lister.h. Shared by the store and every reader; whoever is last frees it. Any
 * thread. */
#ifndef KI_CACHE_SNAPSHOT_H
#define KI_CACHE_SNAPSHOT_H

#include "src/cache/indexer.h"

struct ki_snapshot {
    ki_refcount refs;
    ki_schema *schema;            /* owned reference */
    const char *resource_version; /* in this block */
    size_t object_bytes;          /* memory of all objects */
    ki_snapshot *next_wasted;     /* of one that nobody has any more (waste.h) */
    ki_tree items;
    ki_tree indexes[]; /* as many as the schema has */
};

/* An empty moment. */
ki_snapshot *ki_snapshot_new(ki_schema *schema, ki_str resource_version);
/* Another version of `before`, with `schema`, whose first indexes are those of `before`. */
ki_snapshot *ki_snapshot_next_moment(const ki_snapshot *before, ki_schema *schema, ki_str resource_version);
ki_snapshot *ki_snapshot_ref(ki_snapshot *snapshot);

/* Gives a reference back a part at a time, where the last one may stand for very many objects. */
typedef struct ki_snapshot_drain {
    ki_snapshot *snapshot; /* NULL: nothing is left */
    size_t next;           /* index, then the objects */
    ki_tree_drain tree;    /* the one of `next` - 1 */
    ki_tree_drain set;     /* of an index: the objects of a set that goes */
} ki_snapshot_drain;
/* Takes the reference over; NULL is accepted. */
void ki_snapshot_drain_begin(ki_snapshot_drain *drain, ki_snapshot *snapshot);
/* Releases `*units` objects and sets at most, and counts them down. Returns true once nothing is left. */
bool ki_snapshot_drain_some(ki_snapshot_drain *drain, size_t *units);

/* ki_lister_list and ki_lister_get for one moment. */
ki_status ki_snapshot_list(ki_snapshot *snapshot, const char *namespace_name, const char *label_selector,
                           ki_object_list *ret_list, ki_error *err);
ki_status ki_snapshot_lookup(const ki_snapshot *snapshot, const char *namespace_name, const char *name,
                             ki_object **ret_obj, ki_error *err);

#endif
