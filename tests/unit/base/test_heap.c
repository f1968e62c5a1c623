/* The heap always hands out the smallest, whatever was taken out or changed in between. */
#include "src/base/heap.h"
#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct item {
    ki_heap_node node; /* first: a node is its item */
    int value;
} item;

static int value_of(const ki_heap_node *node) {
    return ((const item *)(const void *)node)->value;
}

static bool is_less(const ki_heap_node *a, const ki_heap_node *b) {
    return value_of(a) < value_of(b);
}

static void nodes_come_out_smallest_first(void **state) {
    (void)state;
    enum {
        COUNT = 500
    };
    static item items[COUNT];
    ki_heap heap;
    ki_heap_init(&heap, &ki_allocator_default, is_less);
    assert_null(ki_heap_peek(&heap));
    assert_null(ki_heap_pop(&heap));
    for (int i = 0; i < COUNT; i++) {
        items[i].value = i * 7919 % 101;
        ki_heap_node_init(&items[i].node);
        assert_int_equal(ki_heap_push(&heap, &items[i].node), KI_OK);
    }
    int last = -1;
    for (int i = 0; i < COUNT; i++) {
        ki_heap_node *peeked = ki_heap_peek(&heap);
        ki_heap_node *popped = ki_heap_pop(&heap);
        assert_ptr_equal(peeked, popped);
        assert_int_equal(popped->index, KI_HEAP_OUT);
        assert_true(value_of(popped) >= last);
        last = value_of(popped);
    }
    assert_null(ki_heap_pop(&heap));
    ki_heap_free(&heap);
}

static void any_node_may_be_removed_or_changed(void **state) {
    (void)state;
    enum {
        COUNT = 200
    };
    static item items[COUNT];
    uint32_t random = 1;
    ki_heap heap;
    ki_heap_init(&heap, &ki_allocator_default, is_less);
    for (int i = 0; i < COUNT; i++)
        ki_heap_node_init(&items[i].node);
    for (int turn = 0; turn < 20000; turn++) {
        random = random * 1664525 + 1013904223;
        item *it = &items[(random >> 8) % COUNT];
        if (it->node.index == KI_HEAP_OUT) {
            it->value = (int)(random >> 20);
            assert_int_equal(ki_heap_push(&heap, &it->node), KI_OK);
        } else if (random & 64) {
            it->value = (int)(random >> 20);
            ki_heap_update(&heap, &it->node);
        } else {
            ki_heap_remove(&heap, &it->node);
            ki_heap_remove(&heap, &it->node);
            ki_heap_update(&heap, &it->node);
            assert_int_equal(it->node.index, KI_HEAP_OUT);
        }
        int least = -1;
        size_t count = 0;
        for (int i = 0; i < COUNT; i++) {
            if (items[i].node.index == KI_HEAP_OUT)
                continue;
            assert_ptr_equal(heap.nodes[items[i].node.index], &items[i].node);
            if (!count++ || items[i].value < least)
                least = items[i].value;
        }
        assert_int_equal(heap.count, count);
        if (count)
            assert_int_equal(value_of(ki_heap_peek(&heap)), least);
    }
    ki_heap_free(&heap);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(items[i].node.index, KI_HEAP_OUT);
}

static void each_allocation_may_fail_and_reserved_pushes_cannot(void **state) {
    (void)state;
    enum {
        COUNT = 100
    };
    static item items[COUNT];
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        memory.forever = true;
        ki_heap heap;
        ki_heap_init(&heap, &memory.allocator, is_less);
        for (int i = 0; i < COUNT; i++)
            ki_heap_node_init(&items[i].node);
        bool reserved = ki_heap_reserve(&heap, 40) == KI_OK;
        for (int i = 0; i < COUNT; i++) {
            ki_status status = ki_heap_push(&heap, &items[i].node);
            assert_true(status == KI_OK || (status == KI_ERR_NO_MEMORY && scarce_memory_failed(&memory)));
            assert_true(status == KI_OK || !reserved || i >= 40);
            assert_int_equal(items[i].node.index == KI_HEAP_OUT, status != KI_OK);
        }
        assert_int_equal(ki_heap_reserve(&heap, SIZE_MAX), KI_ERR_NO_MEMORY);
        ki_heap_free(&heap);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_come_out_smallest_first),
        cmocka_unit_test(any_node_may_be_removed_or_changed),
        cmocka_unit_test(each_allocation_may_fail_and_reserved_pushes_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
