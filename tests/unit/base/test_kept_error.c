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
    ki_kept_error kept = { .code = KI_OK };
    ki_error none = KI_ERROR_INIT;
    ki_error_keep(&memory.allocator, &kept, NULL);
    ki_error_keep(&memory.allocator, &kept, &none);
    assert_int_equal(ki_error_kept(&kept).code, KI_OK);
    assert_int_equal(ki_error_kept(&kept).retry_after_ms, -1);
    assert_int_equal(memory.calls, 0);

    ki_error first = error_of(KI_ERR_TIMEOUT, "first"), second = error_of(KI_ERR_CLOSED, "second");
    ki_error_keep(&memory.allocator, &kept, &first);
    ki_error_keep(&memory.allocator, &kept, &second);
    assert_int_equal(memory.calls, 1);
    assert_int_equal(kept.code, KI_ERR_CLOSED);
    assert_string_equal(ki_error_kept(&kept).message, "second");
    ki_error_keep(&memory.allocator, &kept, &none);
    assert_int_equal(kept.code, KI_OK);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}

TEST(without_memory_only_the_texts_are_lost) {
    scarce_memory memory;
    scarce_memory_init(&memory, 0);
    ki_kept_error kept = { .code = KI_OK };
    ki_error first = error_of(KI_ERR_CONNECT, "first");
    first.http_status = 503;
    first.retry_after_ms = 7;
    ki_error_keep(&memory.allocator, &kept, &first);
    const ki_error found = ki_error_kept(&kept);
    assert_int_equal(found.code, KI_ERR_CONNECT);
    assert_int_equal(found.category, first.category);
    assert_int_equal(found.http_status, 503);
    assert_int_equal(found.retry_after_ms, 7);
    assert_string_equal(found.message, "out of memory for the message");
    ki_error_keep(&memory.allocator, &kept, &first); /* allocations work again */
    assert_string_equal(ki_error_kept(&kept).message, "first");
    ki_error_keep(&memory.allocator, &kept, NULL);

    scarce_memory_init(&memory, 0);
    ki_error_keep(&memory.allocator, &kept, &first);
    ki_error_keep(&memory.allocator, &kept, NULL);
    assert_int_equal(kept.code, KI_OK);
    assert_int_equal(scarce_memory_in_use(&memory), 0);
}
