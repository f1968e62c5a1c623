/* The ring hands out in order, from both ends, and gives memory back. */
#include "src/base/memory.h"
#include "src/base/ring.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(elements_come_out_in_the_order_they_went_in) {
    ki_ring ring;
    ki_ring_init(&ring, &ki_allocator_default, sizeof(int));
    int in = 0, out = 0, value;
    assert_false(ki_ring_pop(&ring, &value));
    /* The fill goes up and down, so that the head wraps and the block grows while it is wrapped. */
    for (int turn = 0; turn < 2000; turn++) {
        for (int i = 0; i < turn % 37; i++, in++)
            assert_int_equal(ki_ring_push(&ring, &in), KI_OK);
        for (int i = 0; i < turn % 29 && ki_ring_pop(&ring, &value); i++)
            assert_int_equal(value, out++);
        assert_int_equal(ring.count, in - out);
    }
    while (ki_ring_pop(&ring, &value))
        assert_int_equal(value, out++);
    assert_int_equal(in, out);
    ki_ring_free(&ring);
}

TEST(a_large_ring_that_is_empty_gives_its_memory_back_and_a_small_one_keeps_it) {
    ki_ring ring;
    ki_ring_init(&ring, &ki_allocator_default, sizeof(int));
    int value = 0;
    for (int i = 0; i < 4096; i++)
        assert_int_equal(ki_ring_push(&ring, &i), KI_OK);
    while (ki_ring_pop(&ring, &value)) {}
    assert_int_equal(ring.capacity, 4096);
    for (int i = 0; i < 4097; i++)
        assert_int_equal(ki_ring_push(&ring, &i), KI_OK);
    while (ki_ring_pop(&ring, &value)) {}
    assert_int_equal(ring.capacity, 0);
    assert_int_equal(ki_ring_push(&ring, &value), KI_OK);
    ki_ring_free(&ring);
}

TEST(each_allocation_may_fail_and_reserved_pushes_cannot) {
    for (size_t n = 0;; n++) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        ki_ring ring;
        ki_ring_init(&ring, &memory.allocator, sizeof(int));
        size_t good = 0;
        for (int i = 0; i < 100; i++)
            good += ki_ring_push(&ring, &i) == KI_OK;
        assert_int_equal(ring.count, good);
        assert_true(scarce_memory_failed(&memory) ? good < 100 : good == 100);
        bool more = scarce_memory_failed(&memory);
        memory.fail_at = SIZE_MAX;
        assert_int_equal(ki_ring_reserve(&ring, 1000), KI_OK);
        memory.fail_at = 0;
        memory.forever = true;
        for (int i = 0; i < 1000; i++)
            assert_int_equal(ki_ring_push(&ring, &i), KI_OK);
        assert_int_equal(ki_ring_reserve(&ring, SIZE_MAX), KI_ERR_NO_MEMORY);
        ki_ring_free(&ring);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
        if (!more)
            break;
    }
}
