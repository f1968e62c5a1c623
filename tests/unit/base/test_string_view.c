/* Borrowed text is compared, split and read exactly; the hash is stable and well mixed. */
#include "src/base/memory.h"
#include "src/base/string_view.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(text_is_split_at_the_first_separator) {
    ki_str rest;
    assert_true(ki_str_equals(ki_str_split(KI_STR("a.b.c"), '.', &rest), "a"));
    assert_true(ki_str_equals(rest, "b.c"));
    assert_true(ki_str_equals(ki_str_split(KI_STR("abc"), '.', &rest), "abc"));
    assert_null(rest.data);
    assert_true(ki_str_equals(ki_str_split(KI_STR("abc."), '.', &rest), "abc"));
    assert_non_null(rest.data);
    assert_int_equal(rest.size, 0);
    assert_int_equal(ki_str_split((ki_str){ NULL, 0 }, '.', &rest).size, 0);
    assert_true(ki_str_starts_with(KI_STR("abc"), KI_STR("ab")));
    assert_true(ki_str_starts_with(KI_STR("abc"), KI_STR("")));
    assert_false(ki_str_starts_with(KI_STR("ab"), KI_STR("abc")));
    assert_true(ki_str_equal((ki_str){ NULL, 0 }, KI_STR("")));
}

TEST(only_whole_decimal_numbers_within_the_limit_are_read) {
    static const struct {
        const char *text;
        uint64_t max;
        bool good;
        uint64_t value;
    } cases[] = {
        { "0", 0, true, 0 },
        { "007", 10, true, 7 },
        { "18446744073709551615", UINT64_MAX, true, UINT64_MAX },
        { "18446744073709551616", UINT64_MAX, false, 0 },
        { "99999999999999999999999", UINT64_MAX, false, 0 },
        { "11", 10, false, 0 },
        { "", 10, false, 0 },
        { "-1", 10, false, 0 },
        { "+1", 10, false, 0 },
        { "1 ", 10, false, 0 },
        { "1a", 10, false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        assert_int_equal(ki_str_to_uint64(ki_str_of(cases[i].text), cases[i].max, &value), cases[i].good);
        assert_int_equal(value, cases[i].value);
    }
}

/* Tests and seeds of the simulation depend on these: they must be the same on every machine. */
TEST(the_hash_of_a_text_is_the_same_on_every_machine) {
    assert_int_equal(ki_hash("", 0, 0), UINT64_C(0xa5506ff52926ac13));
    assert_int_equal(ki_hash("pod", 3, 0), UINT64_C(0xc6642d2ba3c6ea14));
    assert_int_equal(ki_hash("kube-system/coredns-668d6bf9bc-x7k2p", 36, 42), UINT64_C(0x25e69f5f569e3327));
    char text[1000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 31 + 7);
    assert_int_equal(ki_hash(text, sizeof text, 42), UINT64_C(0x376d9a7d3aee4bfe));
}

TEST(each_bit_of_the_input_changes_about_half_of_the_hash) {
    char text[48];
    for (size_t size = 1; size <= sizeof text; size++) {
        for (size_t i = 0; i < size; i++)
            text[i] = (char)(i * 31 + 7);
        uint64_t base = ki_hash(text, size, 1);
        assert_int_not_equal(base, ki_hash(text, size, 2));
        assert_int_not_equal(base, ki_hash(text, size - 1, 1));
        unsigned total = 0;
        for (size_t bit = 0; bit < size * 8; bit++) {
            text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
            unsigned changed = (unsigned)__builtin_popcountll(base ^ ki_hash(text, size, 1));
            text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
            assert_in_range(changed, 10, 54);
            total += changed;
        }
        assert_in_range(total / (size * 8), 27, 37);
    }
}

TEST(copies_end_with_a_zero_and_sizes_that_overflow_give_nothing) {
    char *copy = ki_strndup(&ki_allocator_default, "abcdef", 3);
    assert_string_equal(copy, "abc");
    ki_wipe(copy, 3);
    assert_memory_equal(copy, "\0\0\0", 4);
    ki_free(&ki_allocator_default, copy);
    assert_null(ki_strdup(&ki_allocator_default, NULL));
    assert_null(ki_strndup(&ki_allocator_default, "a", SIZE_MAX));
    assert_null(ki_alloc_array(&ki_allocator_default, SIZE_MAX / 2, 3));
    assert_null(ki_realloc_array(&ki_allocator_default, NULL, SIZE_MAX / 2, 3));
    void *nothing = ki_alloc(&ki_allocator_default, 0);
    assert_non_null(nothing);
    ki_free(&ki_allocator_default, nothing);
    ki_free(&ki_allocator_default, NULL);
}
