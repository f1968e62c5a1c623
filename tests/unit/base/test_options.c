/* A program's options are read as far as the library knows them. */
#include "src/base/options.h"
#include "tests/support/test.h"

typedef struct own_options {
    size_t size;
    const char *name;
    int count;
} own_options;

typedef struct newer_options {
    own_options known;
    int unknown;
} newer_options;

static ki_status take(const void *options, own_options *ret_given, ki_error *err) {
    return KI_OPTIONS_TAKE((const own_options *)options, ret_given, "OWN_OPTIONS", err);
}

TEST(options_of_an_older_program_have_zeros_for_new_members) {
    const own_options whole = { .size = offsetof(own_options, count), .name = "a", .count = 7 };
    own_options given = { .count = 1 };
    assert_int_equal(take(&whole, &given, NULL), KI_OK);
    assert_string_equal(given.name, "a");
    assert_int_equal(given.count, 0);
    assert_int_equal(given.size, sizeof given);
}

TEST(options_of_a_newer_program_are_cut) {
    const newer_options newer = { .known = { .size = sizeof newer, .name = "a", .count = 7 }, .unknown = 1 };
    struct {
        own_options given;
        int behind;
    } place = { .behind = 3 };
    assert_int_equal(take(&newer, &place.given, NULL), KI_OK);
    assert_int_equal(place.given.count, 7);
    assert_int_equal(place.given.size, sizeof place.given);
    assert_int_equal(place.behind, 3);
}

TEST(no_options_are_zeros_and_a_struct_without_a_size_is_refused) {
    own_options given = { .name = "a", .count = 1 }, unsized = { .name = "b" };
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(take(NULL, &given, &err), KI_OK);
    assert_null(given.name);
    assert_int_equal(given.size, sizeof given);
    assert_int_equal(take(&unsized, &given, &err), KI_ERR_INVALID);
    assert_string_equal(ki_error_message(&err), "options without a size: use OWN_OPTIONS()");
}
