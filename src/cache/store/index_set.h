/* index_set.h: the objects of one index value. A set of several objects is a tree by key. A set of one object, as in an
 * index of addresses or uids, has the object itself: a lookup reads one block less, and the set is a third smaller.
 *
 * Versions of a store share sets, as they share nodes of trees (tree.h). Guards: as indexer.h. */
#ifndef KI_CACHE_INDEX_SET_H
#define KI_CACHE_INDEX_SET_H

#include "src/cache/store/indexer.h"

typedef struct ki_index_set {
    ki_tree_part part; /* `leaf_count` 1: it has a reference to `only`, and dies as a node with one value */
    uint32_t value_size;
    uint32_t reserved;
    union {
        ki_tree objects; /* of at least two */
        struct {
            ki_object *only;
            size_t count; /* of either. In a published snapshot at least 1; 1: `only` */
        };
    };
    char value[]; /* zero-terminated */
} ki_index_set;

/* For the kind of a tree of sets. */
ki_str ki_index_set_value(const void *value);
bool ki_index_set_has_value(const void *value, ki_str text);

/* Returns the set of a value, borrowed; NULL: no object has the value. */
ki_index_set *ki_index_set_get(const ki_schema *schema, const ki_tree *index, ki_str value);
/* Returns true if the set of a value has the object with a key. */
bool ki_index_set_has(const ki_schema *schema, size_t at, const ki_tree *index, ki_str value, ki_str key);
/* Adds the change's object to the set of a value in index number `at` of the schema, or replaces the one with its key.
 * `value_hash`: of the value (ki_tree_hash). After a failure, here and below, `index` may have half of the change: the
 * caller drops it. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
ki_status ki_index_set_add(const ki_schema *schema, size_t at, ki_store_edit *edit, ki_tree *index, ki_str value,
                           uint64_t value_hash, const ki_index_change *change);
/* Removes the object with a key from the set of a value. A missing one is not an error. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_index_set_remove(const ki_schema *schema, size_t at, ki_store_edit *edit, ki_tree *index, ki_str value,
                              uint64_t value_hash, ki_str key);
/* Returns the bytes of the set and of its tree. */
size_t ki_index_set_memory(const ki_index_set *set);
/* Begins a walk over the objects of a set (NULL: none), and returns the first one. ki_tree_next returns the others, of
 * any tree. */
ki_object *ki_index_set_first(const ki_index_set *set, ki_cursor *cursor);
/* Frees a set. What is left to free of its tree goes to `drain` (ki_tree_drain_next). `born`: as for
 * ki_tree_drain_begin. */
void ki_index_set_drain(const ki_schema *schema, ki_index_set *set, uint64_t born, ki_tree_drain *drain);

#endif
