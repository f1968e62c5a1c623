/* indexer.h: what a store's indexes are: their functions, the values they give for an object, and the
 * sets of objects under each value.
 *
 * An index is a tree of sets by value, a set a tree of objects by key; a set that gets empty is taken
 * out. The schema is the list of indexes with all that versions of them share; it is immutable and goes
 * with the last version that needs it. Guards: one writer at a time; readers see only published
 * versions. */
#ifndef KI_CACHE_INDEXER_H
#define KI_CACHE_INDEXER_H

#include "src/base/buffer.h"
#include "src/base/refcount.h"
#include "src/cache/tree.h"

enum {
    KI_INDEX_MAX_COUNT = 64,        /* indexes of one store */
    KI_INDEX_MAX_VALUES = 1000,     /* values of one object in one index */
    KI_INDEX_MAX_VALUE_SIZE = 65536 /* bytes of one value, or of an index's name */
};

/* ---- values ---- */

typedef struct ki_index_value {
    size_t at;   /* in the text */
    size_t size; /* without the closing zero */
    uint64_t hash;
} ki_index_value;

struct ki_index_values {
    ki_buffer text;
    ki_index_value *items;
    size_t count;
    size_t capacity;
    ki_status failed; /* the first failure of an add: a function that looks past it has still failed */
};

/* ---- schema ---- */

typedef struct ki_schema {
    ki_refcount refs;
    ki_allocator allocator;
    ki_tree_kind objects; /* objects by key */
    ki_tree_kind sets;    /* sets by value */
    size_t count;
    ki_indexer indexers[]; /* the names are in this block */
} ki_schema;

/* The indexes of `before` (NULL: none), then `more`.
 * Errors: KI_ERR_INVALID, KI_ERR_EXISTS, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_schema_new(const ki_allocator *allocator, uint64_t seed, const ki_schema *before, const ki_indexer *more,
                        size_t count, ki_schema **ret_schema, ki_error *err);
ki_schema *ki_schema_ref(ki_schema *schema);
void ki_schema_unref(ki_schema *schema);
/* The place of an index, or `count`. */
size_t ki_schema_find(const ki_schema *schema, const char *name);

/* ---- sets ---- */

typedef struct ki_index_set {
    ki_refcount refs;
    uint32_t value_size;
    ki_tree objects; /* never empty in a published version */
    char value[];    /* zero-terminated */
} ki_index_set;

/* The set of one value, borrowed; NULL where no object has it. */
const ki_index_set *ki_index_get(const ki_schema *schema, const ki_tree *index, ki_str value);
/* Gives a reference to `set` back; where it was the last one, `drain` (at its end) takes the set's objects over. */
void ki_index_set_drain(const ki_schema *schema, ki_index_set *set, ki_tree_drain *drain);

/* ---- one index and one object ---- */

/* What index functions say of the old and of the new object; kept for the memory in them. One thread. */
typedef struct ki_index_update {
    ki_index_values old_values, new_values;
    /* A function failed for an object, which is left out of its index. */
    void (*on_error)(const ki_indexer *indexer, const ki_object *obj, ki_status status, void *user);
    void *user;
} ki_index_update;
void ki_index_update_init(ki_index_update *update, const ki_allocator *allocator);
void ki_index_update_free(ki_index_update *update);
/* Brings `index`, number `at` of the schema, from `old` to `obj`; either may be NULL. On failure as ki_index_add. */
ki_status ki_index_update_one(ki_index_update *update, const ki_schema *schema, size_t at, ki_tree *index,
                              const ki_object *old, ki_object *obj);

#endif
