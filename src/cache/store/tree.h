/* tree.h: a persistent map from keys to values: a hash array mapped trie (Bagwell, 2001). Its versions share nodes.
 *
 * A version is a ki_tree: a root and a count. ki_tree_ref copies the struct and so makes another version at once. A
 * change copies the nodes on its path that another version shares, and changes nothing in the other version. A node
 * that only this version reaches is changed in place, so filling a new tree copies few nodes. A value knows its own
 * key, so a leaf costs one pointer.
 *
 * Guards: one thread changes a version. Any number of threads may read a version that no thread changes. Any thread may
 * release a version. */
#ifndef KI_CACHE_TREE_H
#define KI_CACHE_TREE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/lister.h>

#include "src/base/string_view.h"

/* The levels that use 5 bits of the hash each, and a last level for keys with equal hashes. */
enum {
    KI_TREE_LEVELS = 13,
    KI_TREE_MAX_DEPTH = KI_TREE_LEVELS + 1,
    KI_TREE_MAX_COLLISIONS = 65535
};

typedef struct ki_tree_node ki_tree_node;

/* The kind of a tree's values. All calls on one tree pass the same kind, or an equal one. */
typedef struct ki_tree_kind ki_tree_kind;
struct ki_tree_kind {
    const ki_allocator *allocator;
    uint64_t seed;
    ki_str (*key)(const void *value);
    void (*ref)(void *value);
    void (*unref)(void *value, const ki_tree_kind *kind);
    uint64_t (*hash)(ki_str key, uint64_t seed); /* NULL: ki_hash */
    const void *context;                         /* for `unref` */
};

typedef struct ki_tree {
    ki_tree_node *root; /* NULL: empty */
    size_t count;
} ki_tree;

/* Returns another version with the same content. */
ki_tree ki_tree_ref(const ki_tree *tree);
void ki_tree_unref(const ki_tree_kind *kind, ki_tree *tree);

/* Returns the value, borrowed; NULL if there is none. */
void *ki_tree_get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key);
/* Returns the value only if no other version reaches it, else NULL. The caller may change such a value in place if it
 * holds the only reference. */
void *ki_tree_get_unshared(const ki_tree_kind *kind, const ki_tree *tree, ki_str key);
/* Adds a value, with a reference. The replaced value goes to `*ret_old` with its reference, or NULL; without `ret_old`
 * it is released. KI_ERR_NO_MEMORY and KI_ERR_LIMIT leave the content unchanged. */
ki_status ki_tree_put(const ki_tree_kind *kind, ki_tree *tree, void *value, void **ret_old);
/* Removes a value. `ret_old` and failures as in put. A missing key is not an error. */
ki_status ki_tree_remove(const ki_tree_kind *kind, ki_tree *tree, ki_str key, void **ret_old);
/* Returns each value once, in no particular order. NULL at the end and afterwards. */
void *ki_tree_next(const ki_tree *tree, ki_cursor *cursor);

/* A walk over the values that one version does not share with another. Neither may change meanwhile. */
typedef struct ki_tree_changes {
    const ki_tree_node *path[KI_TREE_MAX_DEPTH];
    const ki_tree_node *beside[KI_TREE_MAX_DEPTH]; /* the other version's node at the same place; NULL: none */
    unsigned at[KI_TREE_MAX_DEPTH];
    int depth;
} ki_tree_changes;
void ki_tree_changes_begin(ki_tree_changes *changes, const ki_tree *tree, const ki_tree *other);
/* Returns each value that the other version does not reach by the same node: at least those that it lacks. NULL at the
 * end. */
void *ki_tree_changes_next(ki_tree_changes *changes);

/* Releases a version value by value: the release of a whole version can take long. */
typedef struct ki_tree_drain {
    ki_tree_node *path[KI_TREE_MAX_DEPTH]; /* nodes of this version alone, from the root down */
    unsigned at[KI_TREE_MAX_DEPTH];
    int depth; /* 0: nothing is left */
} ki_tree_drain;
/* Takes the version over. */
void ki_tree_drain_begin(ki_tree_drain *drain, ki_tree *tree);
/* Returns the next value that no other version reaches by the same node. The caller releases its reference. NULL at the
 * end: everything is released. Must be called until then. */
void *ki_tree_drain_next(const ki_tree_kind *kind, ki_tree_drain *drain);

#endif
