/* test_kept_error.c: an error that a struct keeps. */
#include "src/base/kept_error.h"

#include "src/base/error.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

static ki_error error_of(ki_status code, const char *message) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, code, "%s", message);
    return err;
}

TEST(a_kept_error_takes_memory_only_while_there_is_one) {
    scarce_memory memory;
    scarce_memory_init(&memory, SIZE_MAX);
    ki_error *kept = NULL, none = KI_ERROR_INIT;
    ki_error_keep(&memory.allocator, &kept, NULL);
    ki_error_keep(&memory.allocator, &kept, &none);
    assert_null(kept);
    assert_int_equal(ki_error_kept(kept).code, KI_OK);
    assert_int_equal(ki_error_kept(kept).retry_after_ms, -1);
    assert_int_equal(memory.calls, 0);

    ki_error first = error_of(KI_ERR_TIMEOUT, "first"), second = error_of(KI_ERR_CLOSED, "second");
    ki_error_keep(&memory.allocator, &kept, &first);
    ki_error_keep(&memory.allocator, &kept, &second);
    ki_error_keep(&memory.allocator, &kept, kept);
    assert_int_equal(memory.calls, 1);
    assert_int_equal(kept->code, KI_ERR_CLOSED);
    assert_string_equal(ki_error_kept(kept).message, "second");
    ki_error_keep(&memory.allocator, &kept, &none);
    assert_null(kept);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(without_memory_it_is_out_of_memory_until_the_next_one) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_error *kept = NULL, first = error_of(KI_ERR_TIMEOUT, "first");
    ki_error_keep(&memory.allocator, &kept, &first);
    assert_int_equal(kept->code, KI_ERR_NO_MEMORY);
    assert_int_equal(kept->category, KI_CATEGORY_FATAL);
    assert_string_equal(kept->message, "out of memory");
    ki_error_keep(&memory.allocator, &kept, &first); /* allocations work again */
    assert_int_equal(kept->code, KI_ERR_TIMEOUT);
    ki_error_keep(&memory.allocator, &kept, NULL);

    scarce_memory_init(&memory, 0);
    ki_error_keep(&memory.allocator, &kept, &first);
    ki_error_keep(&memory.allocator, &kept, NULL);
    assert_null(kept);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
