/* tree.h: a persistent map from keys to values: a hash array mapped trie (Bagwell, 2001). Its versions share nodes.
 *
 * A version is a ki_tree: a root and a count. Versions follow one another, each with a greater number, and a change is
 * made on the last one: on a copy of the struct, with the new number. The change copies the nodes on its path that are
 * older, and notes these as dead: no later version has them. Nodes with the number of the change are its own, and are
 * changed in place, so filling a new tree copies few nodes. Nodes have no counts of references, so a change touches
 * only the nodes on its path. Who keeps versions frees a dead node with the last version that has it (snapshot.c). A
 * value knows its own key, so a leaf costs one pointer.
 *
 * Guards: one thread changes the last version. Any number of threads may read a version that no thread changes. */
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

/* The beginning of a node, and of other blocks that versions share. */
typedef struct ki_tree_part ki_tree_part;
struct ki_tree_part {
    uint64_t born : 48;       /* number of the first version that has it */
    uint64_t leaf_count : 16; /* of a node: values */
    ki_tree_part *next_dead;
};

enum {
    KI_TREE_VALUES_AT = sizeof(ki_tree_part) + 2 * sizeof(uint32_t) /* of a node */
};

#define KI_TREE_VERSION_MAX ((UINT64_C(1) << 48) - 1) /* a version each microsecond for nine years */

/* The change that makes a version. */
typedef struct ki_tree_edit {
    uint64_t version;   /* its number */
    ki_tree_part *dead; /* what the version before has and this one has not */
} ki_tree_edit;

/* Notes a part as dead, or frees it at once if only this version has it. */
void ki_tree_bury(const ki_allocator *allocator, ki_tree_edit *edit, ki_tree_part *part);

/* The kind of a tree's values. All calls on one tree pass the same kind, or an equal one. */
typedef struct ki_tree_kind ki_tree_kind;
struct ki_tree_kind {
    const ki_allocator *allocator;
    uint64_t seed;
    ki_str (*key)(const void *value);
    bool (*has_key)(const void *value, ki_str key); /* compares `key` */
    /* Each node with a value has a reference to it. Both NULL: none has. */
    void (*ref)(void *value);
    void (*unref)(void *value);
    uint64_t (*hash)(ki_str key, uint64_t seed); /* NULL: ki_hash */
};

typedef struct ki_tree {
    ki_tree_node *root; /* NULL: empty */
    size_t count;
} ki_tree;

/* Frees a dead node, or another part with values where a node has them. */
void ki_tree_free_node(const ki_tree_kind *kind, ki_tree_part *dead);

/* Returns the bytes of the tree's nodes, also of those that other versions share. */
size_t ki_tree_memory(const ki_tree *tree);
/* Returns the value, borrowed; NULL if there is none. */
void *ki_tree_get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key);
/* Adds a value, with a reference. The replaced value goes to `*ret_old` with its reference, or NULL; without `ret_old`
 * it is released. KI_ERR_NO_MEMORY and KI_ERR_LIMIT leave the content unchanged. */
ki_status ki_tree_put(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, void *value, void **ret_old);
/* As ki_tree_put, with the value's key and its hash: for a value that goes into several trees of one seed. */
ki_status ki_tree_put_hashed(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, uint64_t hash,
                             void *value, void **ret_old);
uint64_t ki_tree_hash(const ki_tree_kind *kind, ki_str key);
/* Gives the version nodes of its own on the way to a key, whose hash is given, for a caller that then changes or adds
 * the value. `*ret_place`: where the value is, which may be replaced by one with the same key, in a tree without
 * references; NULL: there is none. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_tree_own(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, uint64_t hash,
                      void ***ret_place);
/* Removes a value. `ret_old` and failures as in put. A missing key is not an error. */
ki_status ki_tree_remove(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, void **ret_old);
/* Removes the only value of a tree. Cannot fail. */
void ki_tree_remove_last(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree);
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

/* Frees a version value by value: this can take long. */
typedef struct ki_tree_drain {
    ki_tree_node *path[KI_TREE_MAX_DEPTH]; /* nodes that are being freed, from the root down */
    unsigned at[KI_TREE_MAX_DEPTH];
    int depth; /* 0: nothing is left */
    uint64_t born;
} ki_tree_drain;
/* Takes the version over. `born` 0: no other version has any of its nodes. Else only those with this number are
 * freed; the versions that have the others must stay. */
void ki_tree_drain_begin(ki_tree_drain *drain, ki_tree *tree, uint64_t born);
/* Returns the next value of a freed node. The caller releases its reference. NULL at the end: everything is freed. Must
 * be called until then. */
void *ki_tree_drain_next(const ki_tree_kind *kind, ki_tree_drain *drain);

#endif
