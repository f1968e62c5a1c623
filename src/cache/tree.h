/* tree.h: a persistent map from keys to values: a hash array mapped trie (Bagwell, 2001) whose nodes are
 * shared between versions.
 *
 * A version is a ki_tree: a root and a count. Copying the struct with ki_tree_ref makes another version
 * in no time; a change to one of them copies the nodes on its path that another version also has, and
 * never touches what that one sees. A node that only this version can reach is changed in place, so a
 * new tree of n values is filled with few copies. A value knows its own key, so a leaf costs one
 * pointer.
 *
 * Guards: a version is changed by one thread; any number may read one that nobody changes. Releasing is
 * for any thread. */
#ifndef KI_CACHE_TREE_H
#define KI_CACHE_TREE_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/lister.h>

#include "src/base/string_view.h"

/* Levels that split by 5 bits of the hash, and the one below them, for keys whose hashes are all alike. */
enum {
    KI_TREE_LEVELS = 13,
    KI_TREE_MAX_DEPTH = KI_TREE_LEVELS + 1,
    KI_TREE_MAX_COLLISIONS = 65535
};

typedef struct ki_tree_node ki_tree_node;

/* What the values of a tree are. Every call on one tree gets the same kind, or one that says the same. */
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

/* Another version, the same for now. */
ki_tree ki_tree_ref(const ki_tree *tree);
void ki_tree_unref(const ki_tree_kind *kind, ki_tree *tree);

/* The value, borrowed; NULL where there is none. */
void *ki_tree_get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key);
/* The same, but only where no other version can reach it: then what is in the value may be changed too,
 * if nobody else has it. */
void *ki_tree_get_unshared(const ki_tree_kind *kind, const ki_tree *tree, ki_str key);
/* Takes a reference to `value`. What it replaces goes to `*ret_old` with its reference, or NULL; without
 * `ret_old` it is released. KI_ERR_NO_MEMORY and KI_ERR_LIMIT leave the content as it was. */
ki_status ki_tree_put(const ki_tree_kind *kind, ki_tree *tree, void *value, void **ret_old);
/* The same for taking out; a key that is not in is no failure. */
ki_status ki_tree_remove(const ki_tree_kind *kind, ki_tree *tree, ki_str key, void **ret_old);
/* Every value once, in no particular order; NULL at the end, and from then on. */
void *ki_tree_next(const ki_tree *tree, ki_cursor *cursor);

/* A walk over what one version has and another one does not share with it. Both must stay as they are meanwhile. */
typedef struct ki_tree_changes {
    const ki_tree_node *path[KI_TREE_MAX_DEPTH];
    const ki_tree_node *beside[KI_TREE_MAX_DEPTH]; /* at the same place in the other version; NULL: nothing */
    unsigned at[KI_TREE_MAX_DEPTH];
    int depth;
} ki_tree_changes;
void ki_tree_changes_begin(ki_tree_changes *changes, const ki_tree *tree, const ki_tree *other);
/* Gives each value of the tree that the other one does not reach by the same node: at least those that it does not have. NULL at the end. */
void *ki_tree_changes_next(ki_tree_changes *changes);

/* Releases a version a value at a time, where releasing it at once would take long. */
typedef struct ki_tree_drain {
    ki_tree_node *path[KI_TREE_MAX_DEPTH]; /* nodes that nobody else has, from the root down */
    unsigned at[KI_TREE_MAX_DEPTH];
    int depth; /* 0: nothing is left */
} ki_tree_drain;
/* Takes the version over. */
void ki_tree_drain_begin(ki_tree_drain *drain, ki_tree *tree);
/* Gives the next value that no other version reaches by the same node, with its reference, which the caller releases; NULL at the end: all is
 * released. To be called until then. */
void *ki_tree_drain_next(const ki_tree_kind *kind, ki_tree_drain *drain);

#endif
