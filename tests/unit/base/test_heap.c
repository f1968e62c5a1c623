/* The heap's first node is always the smallest, whatever was removed or changed in between. */
#include "src/base/heap.h"

#include "tests/support/test.h"

enum {
    COUNT = 500
};

static bool is_before(const ki_heap_node *a, const ki_heap_node *b) {
    return a->rank < b->rank || (a->rank == b->rank && a->sequence < b->sequence);
}

TEST(nodes_come_out_by_rank_and_ties_by_sequence) {
    static ki_heap_node nodes[COUNT];
    ki_heap heap = { .first = NULL };
    for (int i = 0; i < COUNT; i++) {
        assert_false(nodes[i].is_in);
        ki_heap_put(&heap, &nodes[i], i * 7919 % 101 - 50, (uint64_t)i);
        assert_true(nodes[i].is_in);
    }
    const ki_heap_node *last = NULL;
    for (int i = 0; i < COUNT; i++) {
        ki_heap_node *first = heap.first;
        assert_non_null(first);
        assert_true(!last || is_before(last, first));
        ki_heap_remove(&heap, first);
        assert_false(first->is_in);
        last = first;
    }
    assert_null(heap.first);
}

/* Checks the links and the order, and returns the number of nodes. */
static size_t check_tree(const ki_heap_node *node, const ki_heap_node *parent) {
    if (!node)
        return 0;
    assert_ptr_equal(node->parent, parent);
    assert_true(!parent || !is_before(node, parent));
    return 1 + check_tree(node->children[0], node) + check_tree(node->children[1], node);
}

TEST(any_node_may_be_removed_or_changed) {
    static ki_heap_node nodes[COUNT];
    uint32_t random = 1;
    ki_heap heap = { .first = NULL };
    for (unsigned turn = 0; turn < 20000; turn++) {
        random = random * 1664525 + 1013904223;
        ki_heap_node *node = &nodes[(random >> 8) % COUNT];
        if (!node->is_in || random & 64) {
            ki_heap_put(&heap, node, random >> 20, turn);
            assert_int_equal(node->rank, random >> 20);
        } else {
            ki_heap_remove(&heap, node);
            ki_heap_remove(&heap, node);
            assert_false(node->is_in);
        }
        const ki_heap_node *least = NULL;
        size_t count = 0;
        for (int i = 0; i < COUNT; i++) {
            if (!nodes[i].is_in)
                continue;
            count++;
            if (!least || is_before(&nodes[i], least))
                least = &nodes[i];
        }
        assert_ptr_equal(heap.first, least);
        assert_int_equal(check_tree(heap.first, NULL), count);
    }
}
