/* The wide map holds what was put and not removed, and no single put moves more than a part of it. */
#include "src/base/memory.h"
#include "src/base/wide_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    KEYS = 20000,
    KEY_SIZE = 12
};

static char keys[KEYS][KEY_SIZE];

static ki_str key(size_t number) {
    snprintf(keys[number], KEY_SIZE, "key-%zu", number);
    return ki_str_of(keys[number]);
}

static void what_was_put_is_found_and_what_was_removed_is_not(void **state) {
    (void)state;
    ki_wide_map map;
    void *old = NULL;
    ki_wide_map_init(&map, &ki_allocator_default, 7);
    assert_null(ki_wide_map_get(&map, KI_STR("a")));
    assert_false(ki_wide_map_has(&map, KI_STR("a")));
    assert_null(ki_wide_map_remove(&map, KI_STR("a")));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(ki_wide_map_put(&map, key(i), keys[i], NULL), KI_OK);
    assert_int_equal(map.count, KEYS);
    assert_int_equal(ki_wide_map_put(&map, key(5), keys, &old), KI_OK);
    assert_ptr_equal(old, keys[5]);
    assert_int_equal(map.count, KEYS);
    for (size_t i = 0; i < KEYS; i += 2)
        assert_non_null(ki_wide_map_remove(&map, key(i)));
    assert_int_equal(map.count, KEYS / 2);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(ki_wide_map_has(&map, key(i)), i % 2 == 1);
    ki_wide_map_free(&map);
    assert_int_equal(map.count, 0);
    assert_false(ki_wide_map_has(&map, key(1)));
}

static void a_large_table_is_freed_once_its_part_is_empty(void **state) {
    (void)state;
    ki_wide_map map;
    size_t freed = 0, kept = 0;
    ki_wide_map_init(&map, &ki_allocator_default, 7);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(ki_wide_map_put(&map, key(i), keys[i], NULL), KI_OK);
    for (size_t i = 0; i < KEYS; i++) {
        assert_non_null(ki_wide_map_remove(&map, key(i)));
        assert_false(ki_wide_map_shrink(&map, key(i), SIZE_MAX));
        freed += ki_wide_map_shrink(&map, key(i), 8);
        assert_false(ki_wide_map_shrink(&map, key(i), 8)); /* once */
    }
    for (size_t i = 0; i < KI_WIDE_MAP_PARTS; i++)
        kept += map.parts[i].capacity > 8;
    assert_int_equal(freed, KI_WIDE_MAP_PARTS);
    assert_int_equal(kept, 0);
    assert_int_equal(ki_wide_map_put(&map, key(1), keys[1], NULL), KI_OK);
    assert_true(ki_wide_map_has(&map, key(1)));
    ki_wide_map_free(&map);
}

static void no_put_needs_a_large_table(void **state) {
    (void)state;
    ki_wide_map map;
    size_t largest = 0;
    ki_wide_map_init(&map, &ki_allocator_default, 7);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(ki_wide_map_put(&map, key(i), keys[i], NULL), KI_OK);
    for (size_t i = 0; i < KI_WIDE_MAP_PARTS; i++)
        largest = map.parts[i].capacity > largest ? map.parts[i].capacity : largest;
    assert_true(largest <= 4 * KEYS / KI_WIDE_MAP_PARTS);
    ki_wide_map_free(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_and_what_was_removed_is_not),
        cmocka_unit_test(a_large_table_is_freed_once_its_part_is_empty),
        cmocka_unit_test(no_put_needs_a_large_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
