/* tree.c: see tree.h. A node holds its values first, then its child nodes, both in the order of the hash's bits at its
 * level. One bitmap says which values are present, another which child nodes. A child node never holds a single value
 * alone: its parent holds that value instead. A node is not older than its child nodes. */
#include "src/cache/store/tree.h"

#include "src/base/assert.h"
#include "src/base/memory.h"

enum {
    BITS = 5
};

union slot {
    void *value;
    ki_tree_node *node;
};

struct ki_tree_node {
    ki_tree_part part; /* `leaf_count`: the number of bits in `leaves`; on the last level the number of values */
    uint32_t leaves;   /* bitmap; 0 on the last level, like `nodes` */
    uint32_t nodes;    /* bitmap */
    union slot slots[];
};

typedef ki_tree_node node;

_Static_assert(offsetof(node, slots) == KI_TREE_VALUES_AT, "values are where tree.h says");
_Static_assert(KI_TREE_LEVELS *BITS >= 64, "all bits of a hash are used before the last level");
_Static_assert(sizeof(((ki_cursor *)0)->place) / sizeof(void *) >= KI_TREE_MAX_DEPTH, "a cursor holds a whole path");

static uint32_t bit_of(uint64_t hash, unsigned level) {
    return 1u << (hash >> (level * BITS) & 31);
}

/* Returns the number of bits; of those below one, it is the place of its slot. __builtin_popcount is a call where the
 * compiler may not use the instruction. */
static unsigned count_bits(uint32_t map) {
    map -= map >> 1 & 0x55555555;
    map = (map & 0x33333333) + (map >> 2 & 0x33333333);
    return ((map + (map >> 4)) & 0x0f0f0f0f) * UINT32_C(0x01010101) >> 24;
}

static unsigned slot_count(const node *n) {
    return n->part.leaf_count + count_bits(n->nodes);
}

static unsigned node_index(const node *n, uint32_t bit) {
    return n->part.leaf_count + count_bits(n->nodes & (bit - 1));
}

/* Do the maps of a node agree with each other and with its count? */
static bool is_sound(const ki_tree_kind *kind, const node *n, unsigned level) {
    if (level == KI_TREE_LEVELS)
        return !n->leaves && !n->nodes;
    bool is = (n->leaves & n->nodes) == 0 && n->part.leaf_count == count_bits(n->leaves);
    if (is && n->leaves) { /* the first value is at its place */
        uint32_t first = n->leaves & (~n->leaves + 1);
        is = bit_of(ki_tree_hash(kind, kind->key(n->slots[0].value)), level) == first;
    }
    return is;
}

uint64_t ki_tree_hash(const ki_tree_kind *kind, ki_str key) {
    return kind->hash ? kind->hash(key, kind->seed) : ki_hash(key.data, key.size, kind->seed);
}

static node *node_new(const ki_tree_kind *kind, uint64_t version, unsigned slots) {
    node *n = ki_alloc(kind->allocator, sizeof(node) + slots * sizeof(union slot));
    if (!n)
        return NULL;
    n->part = (ki_tree_part){ .born = version & KI_TREE_VERSION_MAX };
    n->leaves = n->nodes = 0;
    return n;
}

void ki_tree_bury(const ki_allocator *allocator, ki_tree_edit *edit, ki_tree_part *part) {
    if (part->born == edit->version) {
        ki_free(allocator, part);
        return;
    }
    part->next_dead = edit->dead;
    edit->dead = part;
}

void ki_tree_free_node(const ki_tree_kind *kind, ki_tree_part *dead) {
    node *n = (node *)(void *)dead;
    for (unsigned i = 0; kind->unref && i < n->part.leaf_count; i++)
        kind->unref(n->slots[i].value);
    ki_free(kind->allocator, n);
}

/* Recurses at most as deep as the tree. */
static size_t node_memory(const node *n) {
    unsigned count = slot_count(n);
    size_t size = sizeof(node) + count * sizeof(union slot);
    for (unsigned i = n->part.leaf_count; i < count; i++)
        size += node_memory(n->slots[i].node);
    return size;
}

size_t ki_tree_memory(const ki_tree *tree) {
    return tree->root ? node_memory(tree->root) : 0;
}

/* References the values of a node. Prefetches the counts first: they are scattered in memory, and each atomic
 * instruction waits for the one before it. */
static void ref_values(const ki_tree_kind *kind, const node *n) {
    if (!kind->ref)
        return;
    for (unsigned i = 0; i < n->part.leaf_count; i++)
        __builtin_prefetch(n->slots[i].value, 1);
    for (unsigned i = 0; i < n->part.leaf_count; i++)
        kind->ref(n->slots[i].value);
}

/* Makes the node at `slot` one of this version alone, with `extra` free slots at `gap`. `slot` itself must be in such a
 * node. */
static node *make_exclusive(const ki_tree_kind *kind, ki_tree_edit *edit, node **slot, unsigned gap, unsigned extra) {
    node *old = *slot;
    bool shared = old->part.born != edit->version;
    if (!shared && extra == 0)
        return old;
    unsigned count = slot_count(old);
    node *n = node_new(kind, edit->version, count + extra);
    if (!n)
        return NULL;
    n->leaves = old->leaves;
    n->nodes = old->nodes;
    n->part.leaf_count = old->part.leaf_count;
    memcpy(n->slots, old->slots, gap * sizeof(union slot));
    memcpy(n->slots + gap + extra, old->slots + gap, (count - gap) * sizeof(union slot));
    if (shared)
        ref_values(kind, old);
    ki_tree_bury(kind->allocator, edit, &old->part);
    *slot = n;
    return n;
}

/* Returns the index of the key's value in `n`, or -1. */
static int leaf_at(const ki_tree_kind *kind, const node *n, unsigned level, uint32_t bit, ki_str key) {
    if (level == KI_TREE_LEVELS) {
        for (unsigned i = 0; i < n->part.leaf_count; i++)
            if (kind->has_key(n->slots[i].value, key))
                return (int)i;
        return -1;
    }
    if (!(n->leaves & bit))
        return -1;
    unsigned at = count_bits(n->leaves & (bit - 1));
    return kind->has_key(n->slots[at].value, key) ? (int)at : -1;
}

/* ki_tree_get, compiled twice. `has_popcnt`: bits are counted by one instruction. */
static inline __attribute__((always_inline)) void *find(const ki_tree_kind *kind, const node *n, ki_str key,
                                                        bool has_popcnt) {
    uint64_t hash = ki_tree_hash(kind, key);
    for (unsigned level = 0; n && level < KI_TREE_LEVELS; level++, hash >>= BITS) {
        uint32_t bit = bit_of(hash, 0), in_leaves = n->leaves & (bit - 1), in_nodes = n->nodes & (bit - 1);
        if (n->leaves & bit) {
            unsigned at = has_popcnt ? (unsigned)__builtin_popcount(in_leaves) : count_bits(in_leaves);
            void *value = n->slots[at].value;
            return kind->has_key(value, key) ? value : NULL;
        }
        if (!(n->nodes & bit))
            return NULL;
        unsigned at = has_popcnt ? (unsigned)__builtin_popcount(in_nodes) : count_bits(in_nodes);
        n = n->slots[n->part.leaf_count + at].node;
    }
    int at = n ? leaf_at(kind, n, KI_TREE_LEVELS, 0, key) : -1;
    return at < 0 ? NULL : n->slots[at].value;
}

#if defined(__x86_64__)
__attribute__((target("popcnt"))) static void *find_with_popcnt(const ki_tree_kind *kind, const node *n, ki_str key) {
    return find(kind, n, key, true);
}
#endif

void *ki_tree_get(const ki_tree_kind *kind, const ki_tree *tree, ki_str key) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("popcnt"))
        return find_with_popcnt(kind, tree->root, key);
#endif
    return find(kind, tree->root, key, false);
}

static void ref_value(const ki_tree_kind *kind, void *value) {
    if (kind->ref)
        kind->ref(value);
}

/* Gives a replaced or removed value to the caller, or releases it. */
static void hand_over(const ki_tree_kind *kind, void *old, void **ret_old) {
    if (ret_old)
        *ret_old = old;
    else if (old && kind->unref)
        kind->unref(old);
}

/* Frees the root of a tree without values. */
static void free_root(const ki_tree_kind *kind, ki_tree *tree) {
    KI_ASSERT(slot_count(tree->root) == 0);
    ki_free(kind->allocator, tree->root);
    tree->root = NULL;
}

/* ---- put ---- */

/* Returns nodes from `level` down that separate two values, and moves the values into them. */
static node *split(const ki_tree_kind *kind, uint64_t version, void *a, uint64_t hash_a, void *b, uint64_t hash_b,
                   unsigned level) {
    node *top = NULL;
    node **slot = &top;
    for (;; level++) {
        bool last = level == KI_TREE_LEVELS;
        uint32_t bit_a = last ? 0 : bit_of(hash_a, level);
        uint32_t bit_b = last ? 0 : bit_of(hash_b, level);
        bool apart = last || bit_a != bit_b;
        node *n = node_new(kind, version, apart ? 2 : 1);
        if (!n)
            break;
        *slot = n;
        if (apart) {
            n->leaves = bit_a | bit_b;
            n->part.leaf_count = 2;
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
static ki_status push_down(const ki_tree_kind *kind, uint64_t version, node *n, unsigned at, unsigned level,
                           uint32_t bit, void *value, uint64_t hash) {
    KI_ASSERT(n->part.born == version && n->leaves & bit);
    void *there = n->slots[at].value;
    node *child = split(kind, version, there, ki_tree_hash(kind, kind->key(there)), value, hash, level + 1);
    if (!child)
        return KI_ERR_NO_MEMORY;
    ref_value(kind, value);
    n->leaves &= ~bit;
    n->nodes |= bit;
    n->part.leaf_count--;
    unsigned to = node_index(n, bit);
    memmove(n->slots + at, n->slots + at + 1, (to - at) * sizeof(union slot));
    n->slots[to].node = child;
    return KI_OK;
}

static ki_status insert(const ki_tree_kind *kind, ki_tree_edit *edit, node **slot, uint32_t bit, void *value) {
    KI_ASSERT(!(((*slot)->leaves | (*slot)->nodes) & bit));
    unsigned at = bit ? count_bits((*slot)->leaves & (bit - 1)) : (*slot)->part.leaf_count;
    if (at >= KI_TREE_MAX_COLLISIONS)
        return KI_ERR_LIMIT;
    node *n = make_exclusive(kind, edit, slot, at, 1);
    if (!n)
        return KI_ERR_NO_MEMORY;
    ref_value(kind, value);
    n->slots[at].value = value;
    n->leaves |= bit;
    n->part.leaf_count++;
    return KI_OK;
}

ki_status ki_tree_put_hashed(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, uint64_t hash,
                             void *value, void **ret_old) {
    void *old = NULL;
    ki_status status = KI_OK;
    node **slot = &tree->root;
    if (!tree->root && !(tree->root = node_new(kind, edit->version, 1)))
        return KI_ERR_NO_MEMORY;
    for (unsigned level = 0;; level++) {
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        int at = leaf_at(kind, *slot, level, bit, key);
        if (at < 0 && !(((*slot)->leaves | (*slot)->nodes) & bit)) {
            status = insert(kind, edit, slot, bit, value);
            break;
        }
        node *n = make_exclusive(kind, edit, slot, 0, 0);
        if (!n)
            return KI_ERR_NO_MEMORY;
        if (at >= 0) {
            ref_value(kind, value);
            old = n->slots[at].value;
            n->slots[at].value = value;
            break;
        }
        if (n->leaves & bit) {
            status = push_down(kind, edit->version, n, count_bits(n->leaves & (bit - 1)), level, bit, value, hash);
            break;
        }
        slot = &n->slots[node_index(n, bit)].node;
    }
    if (status) {
        if (tree->count == 0)
            free_root(kind, tree);
        return status;
    }
    KI_ASSERT(is_sound(kind, tree->root, 0) && tree->root->part.born == edit->version);
    tree->count += !old;
    hand_over(kind, old, ret_old);
    return KI_OK;
}

ki_status ki_tree_put(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, void *value, void **ret_old) {
    ki_str key = kind->key(value);
    return ki_tree_put_hashed(kind, edit, tree, key, ki_tree_hash(kind, key), value, ret_old);
}

ki_status ki_tree_own(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, uint64_t hash,
                      void ***ret_place) {
    node **slot = &tree->root;
    *ret_place = NULL;
    for (unsigned level = 0; *slot; level++) {
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        int at = leaf_at(kind, *slot, level, bit, key);
        if (at < 0 && !((*slot)->nodes & bit))
            break;
        node *n = make_exclusive(kind, edit, slot, 0, 0);
        if (!n)
            return KI_ERR_NO_MEMORY;
        if (at >= 0) {
            *ret_place = &n->slots[at].value;
            break;
        }
        slot = &n->slots[node_index(n, bit)].node;
    }
    return KI_OK;
}

/* ---- remove ---- */

/* Releases an unused slot, if the allocator can. */
static void shrink(const ki_tree_kind *kind, node **slot) {
    node *smaller = ki_realloc_array(kind->allocator, *slot, 1, sizeof(node) + slot_count(*slot) * sizeof(union slot));
    if (smaller)
        *slot = smaller;
}

/* Moves the single value of a child node into its parent. Both must be of this version alone. */
static void pull_up(const ki_tree_kind *kind, node *parent, uint32_t bit) {
    KI_ASSERT(parent->nodes & bit && !(parent->leaves & bit));
    unsigned from = node_index(parent, bit);
    node *child = parent->slots[from].node;
    KI_ASSERT(child->part.leaf_count == 1 && !child->nodes && child->part.born == parent->part.born);
    void *value = child->slots[0].value;
    ki_free(kind->allocator, child);
    unsigned to = count_bits(parent->leaves & (bit - 1));
    memmove(parent->slots + to + 1, parent->slots + to, (from - to) * sizeof(union slot));
    parent->slots[to].value = value;
    parent->leaves |= bit;
    parent->nodes &= ~bit;
    parent->part.leaf_count++;
}

ki_status ki_tree_remove(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree, ki_str key, void **ret_old) {
    void *old = ki_tree_get(kind, tree, key);
    if (!old) {
        if (ret_old)
            *ret_old = NULL;
        return KI_OK;
    }
    uint64_t hash = ki_tree_hash(kind, key);
    node **path[KI_TREE_MAX_DEPTH];
    unsigned level = 0;
    int at;
    path[0] = &tree->root;
    for (;; level++) { /* the key is present, so the path ends at it */
        uint32_t bit = level < KI_TREE_LEVELS ? bit_of(hash, level) : 0;
        node *n = make_exclusive(kind, edit, path[level], 0, 0);
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
    KI_ASSERT(n->part.leaf_count > 0 && tree->count > 0);
    unsigned count = slot_count(n) - 1;
    memmove(n->slots + at, n->slots + at + 1, (count - (unsigned)at) * sizeof(union slot));
    n->part.leaf_count--;
    tree->count--;
    while (level > 0 && n->part.leaf_count == 1 && n->nodes == 0) {
        level--;
        n = *path[level];
        pull_up(kind, n, bit_of(hash, level));
    }
    KI_ASSERT(is_sound(kind, n, level));
    KI_ASSERT((tree->count == 0) == (slot_count(tree->root) == 0));
    if (tree->count == 0)
        free_root(kind, tree);
    else
        shrink(kind, path[level]);
    hand_over(kind, old, ret_old);
    return KI_OK;
}

void ki_tree_remove_last(const ki_tree_kind *kind, ki_tree_edit *edit, ki_tree *tree) {
    if (tree->root->part.born == edit->version)
        ki_tree_free_node(kind, &tree->root->part);
    else
        ki_tree_bury(kind->allocator, edit, &tree->root->part);
    *tree = (ki_tree){ NULL, 0 };
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
        if (at < n->part.leaf_count)
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
        if (at < n->part.leaf_count)
            return n->slots[at].value;
        if (at < slot_count(n))
            look_into(changes, n->slots[at].node, child_beside(n, at - n->part.leaf_count, changes->beside[top]));
        else
            changes->depth--;
    }
    return NULL;
}

/* ---- draining ---- */

/* Descends into the node if it is freed. */
static void drain_into(ki_tree_drain *drain, node *n) {
    if (drain->born && n->part.born != drain->born)
        return;
    drain->path[drain->depth] = n;
    drain->at[drain->depth++] = 0;
}

void ki_tree_drain_begin(ki_tree_drain *drain, ki_tree *tree, uint64_t born) {
    drain->depth = 0;
    drain->born = born;
    if (tree->root)
        drain_into(drain, tree->root);
    *tree = (ki_tree){ NULL, 0 };
}

void *ki_tree_drain_next(const ki_tree_kind *kind, ki_tree_drain *drain) {
    while (drain->depth > 0) {
        node *n = drain->path[drain->depth - 1];
        unsigned at = drain->at[drain->depth - 1]++;
        if (at < n->part.leaf_count)
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
