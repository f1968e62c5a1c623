/* The map holds what was put and not removed, under any sequence of changes. */
#include "src/base/map.h"
#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>

TEST(what_was_put_is_found_and_what_was_removed_is_not) {
    ki_map map;
    int one = 1, two = 2;
    void *old = &two;
    ki_map_init(&map, &ki_allocator_default, 7);
    assert_null(ki_map_get(&map, KI_STR("a")));
    assert_null(ki_map_remove(&map, KI_STR("a")));
    assert_int_equal(ki_map_put(&map, KI_STR("a"), &one, &old), KI_OK);
    assert_null(old);
    assert_int_equal(ki_map_put(&map, KI_STR("a"), &two, &old), KI_OK);
    assert_ptr_equal(old, &one);
    assert_int_equal(map.count, 1);
    assert_int_equal(ki_map_put(&map, KI_STR("null"), NULL, NULL), KI_OK);
    assert_null(ki_map_get(&map, KI_STR("null")));
    assert_true(ki_map_has(&map, KI_STR("null")));
    assert_false(ki_map_has(&map, KI_STR("nul")));
    assert_ptr_equal(ki_map_remove(&map, KI_STR("a")), &two);
    assert_false(ki_map_has(&map, KI_STR("a")));
    assert_int_equal(map.count, 1);
    ki_map_clear(&map);
    assert_int_equal(map.count, 0);
    assert_false(ki_map_has(&map, KI_STR("null")));
    ki_map_free(&map);
}

TEST(the_empty_key_is_a_key) {
    ki_map map;
    int value = 1;
    ki_map_init(&map, &ki_allocator_default, 0);
    assert_int_equal(ki_map_put(&map, (ki_str){ NULL, 0 }, &value, NULL), KI_OK);
    assert_ptr_equal(ki_map_get(&map, KI_STR("")), &value);
    assert_ptr_equal(ki_map_remove(&map, KI_STR("")), &value);
    assert_int_equal(map.count, 0);
    ki_map_free(&map);
}

enum {
    KEYS = 600
};

/* The new key's memory takes the place of the old one, so that the old one may go. */
TEST(putting_again_replaces_the_borrowed_key) {
    ki_map map;
    int value = 1;
    ki_map_init(&map, &ki_allocator_default, 0);
    char *first = strdup("key");
    assert_non_null(first);
    assert_int_equal(ki_map_put(&map, ki_str_of(first), &value, NULL), KI_OK);
    assert_int_equal(ki_map_put(&map, KI_STR("key"), &value, NULL), KI_OK);
    free(first);
    assert_ptr_equal(ki_map_get(&map, KI_STR("key")), &value);
    ki_map_free(&map);
}

TEST(it_equals_a_plain_array_under_random_changes) {
    static char keys[KEYS][40];
    bool is_in[KEYS] = { false };
    size_t count = 0;
    uint64_t random = 12345;
    ki_map map;
    ki_map_init(&map, &ki_allocator_default, 99);
    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "ns-%d/name-%d", i % 7, i);
    for (int turn = 0; turn < 60000; turn++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        int k = (int)((random >> 33) % KEYS);
        /* The share of puts swings, so that the table fills and empties. */
        bool put = (random >> 20) % 100 < (turn / 6000 % 2 ? 20U : 80U);
        if (put) {
            assert_int_equal(ki_map_put(&map, ki_str_of(keys[k]), keys[k], NULL), KI_OK);
            count += !is_in[k];
        } else {
            assert_ptr_equal(ki_map_remove(&map, ki_str_of(keys[k])), is_in[k] ? keys[k] : NULL);
            count -= is_in[k];
        }
        is_in[k] = put;
        assert_int_equal(map.count, count);
        assert_true(!map.parts || map.parts[0]->count <= map.parts[0]->capacity / 8 * 7);
        if (turn % 500)
            continue;
        for (int i = 0; i < KEYS; i++)
            assert_ptr_equal(ki_map_get(&map, ki_str_of(keys[i])), is_in[i] ? keys[i] : NULL);
        size_t cursor = 0, walked = 0;
        ki_str key;
        void *value;
        while (ki_map_next(&map, &cursor, &key, &value)) {
            assert_true(ki_str_equals(key, value));
            walked++;
        }
        assert_int_equal(walked, count);
        assert_false(ki_map_next(&map, &cursor, NULL, NULL));
    }
    ki_map_free(&map);
}

TEST(reserved_room_needs_no_further_memory) {
    scarce_memory memory;
    scarce_memory_init(&memory, 2);
    static char keys[100][16];
    ki_map map;
    ki_map_init(&map, &memory.allocator, 0);
    assert_int_equal(ki_map_reserve(&map, 0), KI_OK);
    assert_false(ki_map_has(&map, KI_STR("0")));
    assert_int_equal(ki_map_reserve(&map, 100), KI_OK);
    for (int i = 0; i < 100; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        assert_int_equal(ki_map_put(&map, ki_str_of(keys[i]), keys[i], NULL), KI_OK);
    }
    assert_int_equal(ki_map_reserve(&map, SIZE_MAX), KI_ERR_NO_MEMORY);
    assert_false(scarce_memory_failed(&memory));
    ki_map_free(&map);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(each_allocation_may_fail) {
    static char keys[200][16];
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_map map;
        ki_map_init(&map, &memory.allocator, 0);
        size_t good = 0;
        for (int i = 0; i < 200; i++) {
            snprintf(keys[i], sizeof keys[i], "%d", i);
            ki_status status = ki_map_put(&map, ki_str_of(keys[i]), keys[i], NULL);
            assert_true(status == KI_OK || status == KI_ERR_NO_MEMORY);
            assert_int_equal(ki_map_has(&map, ki_str_of(keys[i])), status == KI_OK);
            good += status == KI_OK;
        }
        assert_int_equal(map.count, good);
        ki_map_free(&map);
    }
}

/* --- many keys ---------------------------------------------------------------------------------------------------- */

enum {
    MANY = 50000,
    NUMBER_SIZE = 12
};

static char numbers[MANY][NUMBER_SIZE];

static ki_str number(size_t n) {
    snprintf(numbers[n], NUMBER_SIZE, "key-%zu", n);
    return ki_str_of(numbers[n]);
}

static void put_many(ki_map *map) {
    for (size_t n = 0; n < MANY; n++)
        assert_int_equal(ki_map_put(map, number(n), numbers[n], NULL), KI_OK);
    assert_int_equal(map->count, MANY);
}

TEST(a_map_with_many_keys_has_what_was_put_and_not_removed) {
    static bool is_seen[MANY];
    ki_map map;
    void *value, *old = NULL;
    size_t cursor = 0, seen = 0;
    ki_map_init(&map, &ki_allocator_default, 7);
    put_many(&map);
    assert_true(map.part_count > 10);
    assert_int_equal(ki_map_put(&map, number(5), numbers, &old), KI_OK);
    assert_ptr_equal(old, numbers[5]);
    assert_int_equal(map.count, MANY);
    for (size_t n = 0; n < MANY; n += 2)
        assert_non_null(ki_map_remove(&map, number(n)));
    for (size_t n = 0; n < MANY; n++)
        assert_int_equal(ki_map_has(&map, number(n)), n % 2 == 1);
    for (; ki_map_next(&map, &cursor, NULL, &value); seen++) {
        size_t n = (size_t)((char(*)[NUMBER_SIZE])value - numbers);
        assert_true(n == 0 || n % 2 == 1); /* the value of key 5 is the first one */
        assert_false(is_seen[n]);
        is_seen[n] = true;
    }
    assert_int_equal(seen, MANY / 2);
    ki_map_clear(&map);
    assert_int_equal(map.count, 0);
    assert_false(ki_map_has(&map, number(1)));
    put_many(&map);
    ki_map_free(&map);
    assert_int_equal(map.count, 0);
}

TEST(a_large_map_can_be_freed_part_by_part) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_map map;
    ki_map_init(&map, &memory.allocator, 7);
    put_many(&map);
    size_t held = scarce_memory_in_use(&memory);
    assert_true(held > 10);
    for (; ki_map_free_part(&map); held--)
        assert_int_equal(scarce_memory_in_use(&memory), held - 1);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    assert_int_equal(map.count, 0);
    assert_false(ki_map_free_part(&map));
}

TEST(a_map_with_reserved_room_takes_more_keys) {
    ki_map map;
    ki_map_init(&map, &ki_allocator_default, 7);
    assert_int_equal(ki_map_reserve(&map, MANY / 4), KI_OK);
    put_many(&map);
    for (size_t n = 0; n < MANY; n++)
        assert_ptr_equal(ki_map_remove(&map, number(n)), numbers[n]);
    ki_map_free(&map);
}

TEST(no_put_moves_more_than_a_part) {
    ki_map map;
    ki_map_init(&map, &ki_allocator_default, 7);
    for (size_t n = 0; n < MANY; n++) {
        assert_int_equal(ki_map_put(&map, number(n), numbers[n], NULL), KI_OK);
        for (size_t i = 0; n % 100 == 0 && i < map.part_count; i++)
            assert_true(map.parts[i]->capacity <= 4096);
    }
    ki_map_free(&map);
}

/* Freeing the table of one part can take malloc long: a removal frees one at most. */
TEST(memory_is_freed_part_by_part) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_map map;
    ki_map_init(&map, &memory.allocator, 7);
    put_many(&map);
    size_t full = scarce_memory_in_use(&memory), held = full;
    for (size_t n = 0; n < MANY - 2; n++) {
        assert_non_null(ki_map_remove(&map, number(n)));
        assert_true(scarce_memory_in_use(&memory) + 1 >= held);
        held = scarce_memory_in_use(&memory);
    }
    assert_true(scarce_memory_in_use(&memory) <= 3 && full > 10);
    assert_true(ki_map_has(&map, number(MANY - 1)));
    assert_int_equal(ki_map_put(&map, number(0), numbers, NULL), KI_OK); /* an emptied part takes keys again */
    for (size_t n = 0; n < MANY; n++)
        (void)ki_map_remove(&map, number(n));
    assert_int_equal(scarce_memory_in_use(&memory), 0);
    put_many(&map);
    ki_map_free(&map);
}

/* Room for more keys than a part has on average, in a map that has parts already. */
TEST(reserved_room_in_many_parts_needs_no_further_memory) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_map map;
    ki_map_init(&map, &memory.allocator, 7);
    size_t n = 0;
    for (; n < MANY / 4; n++)
        assert_int_equal(ki_map_put(&map, number(n), numbers[n], NULL), KI_OK);
    assert_int_equal(ki_map_reserve(&map, n + 5000), KI_OK);
    size_t calls = memory.calls;
    for (size_t end = n + 5000; n < end; n++)
        assert_int_equal(ki_map_put(&map, number(n), numbers[n], NULL), KI_OK);
    assert_int_equal(memory.calls, calls);
    ki_map_free(&map);
}

/* A part that cannot be split grows instead, and is split later. */
TEST(a_large_map_works_on_without_memory) {
    for (size_t n = 0; n < 200; n += 7) {
        scarce_memory memory;
        scarce_memory_init(&memory, n);
        ki_map map;
        ki_map_init(&map, &memory.allocator, 7);
        for (size_t i = 0; i < MANY / 4; i++) {
            ki_status status = ki_map_put(&map, number(i), numbers[i], NULL);
            if (status)
                assert_int_equal(ki_map_put(&map, number(i), numbers[i], NULL), KI_OK);
        }
        for (size_t i = 0; i < MANY / 4; i++)
            assert_ptr_equal(ki_map_get(&map, number(i)), numbers[i]);
        ki_map_free(&map);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}
