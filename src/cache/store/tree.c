/* tree.c: see tree.h. A node holds its values first, then its child nodes, both in the order of the hash's bits at its
 * level. One bitmap says which values are present, another which child nodes. A child node never holds a single value
 * alone: its parent holds that value instead.
 *
 * A node may be changed in place if all reference counts from the root down to it are one. Other threads cannot change
 * that: a thread must reach a node to share it, and a thread that reaches it is counted on the path. */
#include "src/cache/store/tree.h"

#include "src/base/memory.h"
#include "src/base/refcount.h"

enum {
    BITS = 5
};

union slot {
    void *value;
    ki_tree_node *node;
};

struct ki_tree_node {
    ki_refcount refs;
    uint32_t leaves;     /* bitmap; 0 on the last level, like `nodes` */
    uint32_t nodes;      /* bitmap */
    uint32_t leaf_count; /* the number of bits in `leaves`; on the last level the number of values */
    union slot slots[];
};

typedef ki_tree_node node;

_Static_assert(KI_TREE_LEVELS *BITS >= 64, "all bits of a hash are used before the last level");
_Static_assert(sizeof(((ki_cursor *)0)->place) / sizeof(void *) >= KI_TREE_MAX_DEPTH, "a cursor holds a whole path");

static uint32_t bit_of(uint64_t hash, unsigned level) {
    return 1u << (hash >> (level * BITS) & 31);
}

/* __builtin_popcount is a call where the compiler may not use the instruction. */
static unsigned count_bits(uint32_t map) {
    map -= map >> 1 & 0x55555555;
    map = (map & 0x33333333) + (map >> 2 & 0x33333333);
    return ((map + (map >> 4)) & 0x0f0f0f0f) * UINT32_C(0x01010101) >> 24;
}

static unsigned below(uint32_t map, uint32_t bit) {
    return count_bits(map & (bit - 1));
}

static unsigned node_count(const node *n) {
    return count_bits(n->nodes);
}

static unsigned slot_count(const node *n) {
    return n->leaf_count + node_count(n);
}

static unsigned node_index(const node *n, uint32_t bit) {
    return n->leaf_count + below(n->nodes, bit);
}

static uint64_t hash_of(const ki_tree_kind *kind, ki_str key) {
    return kind->hash ? kind->hash(key, kind->seed) : ki_hash(key.data, key.size, kind->seed);
}

static size_t node_size(unsigned slots) {
    return sizeof(node) + slots * sizeof(union slot);
}

static node *node_new(const ki_tree_kind *kind, unsigned slots) {
    node *n = ki_alloc(kind->allocator, node_size(slots));
    if (!n)
        return NULL;
    ki_refcount_init(&n->refs);
    n->leaves = n->nodes = n->leaf_count = 0;
    return n;
}

/* Recurses at most as deep as the tree. */
static void node_unref(const ki_tree_kind *kind, node *n) {
    if (!ki_refcount_dec(&n->refs))
        return;
    unsigned count = slot_count(n);
    for (unsigned i = 0; i < n->leaf_count; i++)
        kind->unref(n->slots[i].value, kind);
    for (unsigned i = n->leaf_count; i < count; i++)
        node_unref(kind, n->slots[i].node);
    ki_free(kind->allocator, n);
}

/* References all slots of a node. Prefetches the counts first: they are scattered in memory, and each atomic
 * instruction waits for the one before it. */
static void ref_slots(const ki_tree_kind *kind, const node *n) {
    unsigned count = slot_count(n);
    for (unsigned i = 0; i < count; i++)
        __builtin_prefetch(n->slots[i].value, 1);
    for (unsigned i = 0; i < n->leaf_count; i++)
        kind->ref(n->slots[i].value);
    for (unsigned i = n->leaf_count; i < count; i++)
        ki_refcount_inc(&n->slots[i].node->refs);
}

/* Makes the node at `slot` exclusive to this tree, with `extra` free slots at `gap`. `slot` itself must be in an
 * exclusive node. */
static node *make_exclusive(const ki_tree_kind *kind, node **slot, unsigned gap, unsigned extra) {
    node *old = *slot;
    bool shared = !ki_refcount_is_one(&old->refs);
    if (!shared && extra == 0)
        return old;
    unsigned count = slot_count(old);
    node *n = node_new(kind, count + extra);
    if (!n)
        return NULL;
    n->leaves = old->leaves;
    n->nodes = old->nodes;
    n->leaf_count = old->leaf_count;
    memcpy(n->slots, old->slots, gap * sizeof(union slot));
    memcpy(n->slots + gap + extra, old->slots + gap, (count - gap) * sizeof(union slot));
    if (shared) {
        ref_slots(kind, old);
        node_unref(kind, old);
    } else {
        ki_free(kind->allocator, old);
    }
    *slot = n;
    return n;
}

ki_tree ki_tree_ref(const ki_tree *tree) {
    if (tree->root)
        ki_refcount_inc(&tree->root->refs);
    return *tree;
}

void ki_tree_unref(const ki_tree_kind *kind, ki_tree *tree) {
    if (tree->root)
        node_unref(kind, tree->root);
    *tree = (ki_tree){ NULL, 0 };
}

/* Returns the index of the key's value in `n`, or -1. */
static int leaf_at(const ki_tree_kind *kind, const node *n, unsigned level, uint32_t bit, ki_str key) {
    if (level == KI_TREE_LEVELS) {
        for (unsigned i = 0; i < n->leaf_count; i++)
            if (ki_str_equal(kind->key(n->slots[i].value), key))
                return (int)i;
        return -1;
    }
    if (!(n->leaves & bit))
        return -1;
    unsigned at = below(n->leaves, bit);
    return ki_str_equal(kind->key(n->slots[at].value), key) ? (int)at : -1;
}

static void *get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key, bool unshared) {
    uint64_t hash = hash_of(kind, key);
    const node *n = tree->root;
    for (unsigned level = 0; n && !(unshared && !ki_refcount_is_one(&n->refs)); level++) {
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        int at = leaf_at(kind, n, level, bit, key);
        if (at >= 0)
            return n->slots[at].value;
        n = n->nodes & bit ? n->slots[node_index(n, bit)].node : NULL;
    }
    return NULL;
}

void *ki_tree_get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key) {
    return get(kind, tree, key, false);
}

void *ki_tree_get_unshared(const ki_tree_kind *kind, const ki_tree *tree, ki_str key) {
    return get(kind, tree, key, true);
}

/* ---- put ---- */

/* Returns nodes from `level` down that separate two values, and moves the values into them. */
static node *split(const ki_tree_kind *kind, void *a, uint64_t hash_a, void *b, uint64_t hash_b, unsigned level) {
    node *top = NULL;
    node **slot = &top;
    for (;; level++) {
        bool last = level == KI_TREE_LEVELS;
        uint32_t bit_a = last ? 0 : bit_of(hash_a, level);
        uint32_t bit_b = last ? 0 : bit_of(hash_b, level);
        bool apart = last || bit_a != bit_b;
        node *n = node_new(kind, apart ? 2 : 1);
        if (!n)
            break;
        *slot = n;
        if (apart) {
            n->leaves = bit_a | bit_b;
            n->leaf_count = 2;
            n->slots[bit_a > bit_b].value = a;
            n->slots[bit_a <= bit_b].value = b;
            return top;
        }
        n->nodes = bit_a;
        slot = &n->slots[0].node;
        *slot = NULL;
    }
    while (top) {
        node *next = top->slots[0].node;
        ki_free(kind->allocator, top);
        top = next;
    }
    return NULL;
}

/* Replaces the value at `at` by a child node at `level` + 1 with that value and `value`. */
static ki_status push_down(const ki_tree_kind *kind, node *n, unsigned at, unsigned level, uint32_t bit, void *value,
                           uint64_t hash) {
    void *there = n->slots[at].value;
    node *child = split(kind, there, hash_of(kind, kind->key(there)), value, hash, level + 1);
    if (!child)
        return KI_ERR_NO_MEMORY;
    kind->ref(value);
    n->leaves &= ~bit;
    n->nodes |= bit;
    n->leaf_count--;
    unsigned to = node_index(n, bit);
    memmove(n->slots + at, n->slots + at + 1, (to - at) * sizeof(union slot));
    n->slots[to].node = child;
    return KI_OK;
}

static ki_status insert(const ki_tree_kind *kind, node **slot, uint32_t bit, void *value) {
    unsigned at = bit ? below((*slot)->leaves, bit) : (*slot)->leaf_count;
    if (at >= KI_TREE_MAX_COLLISIONS)
        return KI_ERR_LIMIT;
    node *n = make_exclusive(kind, slot, at, 1);
    if (!n)
        return KI_ERR_NO_MEMORY;
    kind->ref(value);
    n->slots[at].value = value;
    n->leaves |= bit;
    n->leaf_count++;
    return KI_OK;
}

ki_status ki_tree_put(const ki_tree_kind *kind, ki_tree *tree, void *value, void **ret_old) {
    ki_str key = kind->key(value);
    uint64_t hash = hash_of(kind, key);
    void *old = NULL;
    ki_status status = KI_OK;
    node **slot = &tree->root;
    if (!tree->root && !(tree->root = node_new(kind, 1)))
        return KI_ERR_NO_MEMORY;
    for (unsigned level = 0;; level++) {
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        int at = leaf_at(kind, *slot, level, bit, key);
        if (at < 0 && !(((*slot)->leaves | (*slot)->nodes) & bit)) {
            status = insert(kind, slot, bit, value);
            break;
        }
        node *n = make_exclusive(kind, slot, 0, 0);
        if (!n)
            return KI_ERR_NO_MEMORY;
        if (at >= 0) {
            kind->ref(value);
            old = n->slots[at].value;
            n->slots[at].value = value;
            break;
        }
        if (n->leaves & bit) {
            status = push_down(kind, n, below(n->leaves, bit), level, bit, value, hash);
            break;
        }
        slot = &n->slots[node_index(n, bit)].node;
    }
    if (status) {
        if (tree->count == 0)
            ki_tree_unref(kind, tree);
        return status;
    }
    tree->count += !old;
    if (ret_old)
        *ret_old = old;
    else if (old)
        kind->unref(old, kind);
    return KI_OK;
}

/* ---- remove ---- */

/* Releases an unused slot, if the allocator can. */
static void shrink(const ki_tree_kind *kind, node **slot) {
    node *smaller = ki_realloc_array(kind->allocator, *slot, 1, node_size(slot_count(*slot)));
    if (smaller)
        *slot = smaller;
}

/* Moves the single value of a child node into its parent. The path must be exclusive to this tree. */
static void pull_up(const ki_tree_kind *kind, node *parent, uint32_t bit) {
    unsigned from = node_index(parent, bit);
    node *child = parent->slots[from].node;
    void *value = child->slots[0].value;
    ki_free(kind->allocator, child);
    unsigned to = below(parent->leaves, bit);
    memmove(parent->slots + to + 1, parent->slots + to, (from - to) * sizeof(union slot));
    parent->slots[to].value = value;
    parent->leaves |= bit;
    parent->nodes &= ~bit;
    parent->leaf_count++;
}

ki_status ki_tree_remove(const ki_tree_kind *kind, ki_tree *tree, ki_str key, void **ret_old) {
    void *old = ki_tree_get(kind, tree, key);
    if (!old) {
        if (ret_old)
            *ret_old = NULL;
        return KI_OK;
    }
    uint64_t hash = hash_of(kind, key);
    node **path[KI_TREE_MAX_DEPTH];
    unsigned level = 0;
    int at;
    path[0] = &tree->root;
    for (;; level++) { /* the key is present, so the path ends at it */
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        node *n = make_exclusive(kind, path[level], 0, 0);
        if (!n)
            return KI_ERR_NO_MEMORY;
        at = leaf_at(kind, n, level, bit, key);
        if (at >= 0) {
            n->leaves &= ~bit;
            break;
        }
        path[level + 1] = &n->slots[node_index(n, bit)].node;
    }
    /* Nothing can fail from here on. */
    node *n = *path[level];
    unsigned count = slot_count(n) - 1;
    memmove(n->slots + at, n->slots + at + 1, (count - (unsigned)at) * sizeof(union slot));
    n->leaf_count--;
    tree->count--;
    while (level > 0 && n->leaf_count == 1 && n->nodes == 0) {
        level--;
        n = *path[level];
        pull_up(kind, n, bit_of(hash, level));
    }
    if (tree->count == 0)
        ki_tree_unref(kind, tree);
    else
        shrink(kind, path[level]);
    if (ret_old)
        *ret_old = old;
    else
        kind->unref(old, kind);
    return KI_OK;
}

/* ---- walk ---- */

void *ki_tree_next(const ki_tree *tree, ki_cursor *cursor) {
    if (cursor->depth == 0 && tree->root) {
        cursor->place[0] = tree->root;
        cursor->index[0] = 0;
        cursor->depth = 1;
    }
    while (cursor->depth > 0) {
        int top = cursor->depth - 1;
        const node *n = cursor->place[top];
        unsigned at = cursor->index[top]++;
        if (at < n->leaf_count)
            return n->slots[at].value;
        if (at < slot_count(n)) {
            cursor->place[top + 1] = n->slots[at].node;
            cursor->index[top + 1] = 0;
        }
        cursor->depth += at < slot_count(n) ? 1 : -1;
    }
    cursor->depth = -1;
    return NULL;
}

/* ---- what two versions do not share ---- */

static void look_into(ki_tree_changes *changes, const node *n, const node *beside) {
    if (n == beside)
        return;
    changes->path[changes->depth] = n;
    changes->beside[changes->depth] = beside;
    changes->at[changes->depth++] = 0;
}

void ki_tree_changes_begin(ki_tree_changes *changes, const ki_tree *tree, const ki_tree *other) {
    changes->depth = 0;
    if (tree->root)
        look_into(changes, tree->root, other->root);
}

/* Returns the other version's node beside child number `at` of `n`. */
static const node *child_beside(const node *n, unsigned at, const node *beside) {
    uint32_t bits = n->nodes;
    while (at-- > 0)
        bits &= bits - 1;
    uint32_t bit = bits & (~bits + 1);
    return beside && beside->nodes & bit ? beside->slots[node_index(beside, bit)].node : NULL;
}

void *ki_tree_changes_next(ki_tree_changes *changes) {
    while (changes->depth > 0) {
        int top = changes->depth - 1;
        const node *n = changes->path[top];
        unsigned at = changes->at[top]++;
        if (at < n->leaf_count)
            return n->slots[at].value;
        if (at < slot_count(n))
            look_into(changes, n->slots[at].node, child_beside(n, at - n->leaf_count, changes->beside[top]));
        else
            changes->depth--;
    }
    return NULL;
}

/* ---- draining ---- */

/* Releases a reference to the node. Descends into the node if that was the last one. */
static void drain_into(ki_tree_drain *drain, node *n) {
    if (!ki_refcount_dec(&n->refs))
        return;
    drain->path[drain->depth] = n;
    drain->at[drain->depth++] = 0;
}

void ki_tree_drain_begin(ki_tree_drain *drain, ki_tree *tree) {
    drain->depth = 0;
    if (tree->root)
        drain_into(drain, tree->root);
    *tree = (ki_tree){ NULL, 0 };
}

void *ki_tree_drain_next(const ki_tree_kind *kind, ki_tree_drain *drain) {
    while (drain->depth > 0) {
        node *n = drain->path[drain->depth - 1];
        unsigned at = drain->at[drain->depth - 1]++;
        if (at < n->leaf_count)
            return n->slots[at].value;
        if (at < slot_count(n)) {
            drain_into(drain, n->slots[at].node);
            continue;
        }
        ki_free(kind->allocator, n);
        drain->depth--;
    }
    return NULL;
}
