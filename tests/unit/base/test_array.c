/* An array makes room for each item that comes, and loses none without memory. */
#include "src/base/array.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdint.h>

typedef struct pair {
    const char *name;
    int number;
} pair;

TEST(an_array_keeps_its_items_as_it_grows) {
    pair *pairs = NULL;
    size_t count = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(KI_ARRAY_RESERVE(&ki_allocator_default, pairs, count, capacity), KI_OK);
        pairs[count++] = (pair){ "a pair", i };
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(pairs[i].number, i);
    assert_int_equal(capacity, 1024);
    ki_free(&ki_allocator_default, pairs);
}

TEST(an_array_without_memory_stays_as_it_is) {
    scarce_memory memory;
    scarce_memory_init(&memory, 2);
    int **items = NULL;
    size_t count = 0, capacity = 0;
    while (!KI_ARRAY_RESERVE(&memory.allocator, items, count, capacity))
        items[count++] = NULL;
    assert_int_equal(count, 16);
    assert_int_equal(capacity, 16);
    assert_int_equal(KI_ARRAY_RESERVE(&memory.allocator, items, count, capacity), KI_OK); /* there is memory again */
    assert_int_equal(capacity, 32);
    ki_free(&memory.allocator, items);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(an_array_whose_size_would_overflow_gets_no_room) {
    char *items = NULL;
    size_t capacity = SIZE_MAX / 2 + 1;
    assert_int_equal(KI_ARRAY_RESERVE(&ki_allocator_default, items, capacity, capacity), KI_ERR_NO_MEMORY);
    pair *pairs = NULL;
    capacity = SIZE_MAX / sizeof *pairs / 2 + 1;
    assert_int_equal(KI_ARRAY_RESERVE(&ki_allocator_default, pairs, capacity, capacity), KI_ERR_NO_MEMORY);
    assert_null(pairs);
}
