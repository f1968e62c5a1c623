/* test_guess_key.c: what an object is called that could not be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "src/client/guess_key.h"

#include <string.h>

static void a_key_is_guessed_from_what_there_is(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "{\"metadata\":{\"name\":\"a\"}}", "a" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"", "n/a" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n", "a" },
        { "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"n\",\"name\":\"a\"},oops", "n/a" },
        { "{\"spec\":{\"name\":\"x\"},\"metadata\":{\"labels\":{\"name\":\"y\"},\"name\":\"a\"}}", "a" },
        { "{\"spec\":[{\"metadata\":{\"name\":\"x\"}}]}", "" },
        { "{\"metadata\":{\"name\":\"a\\u0000\"}}", "" },
        { "{\"metadata\":{\"name\":\"a\",\"namespace\":\"\xc2\xa0\\n\"}}", "" },
        { "{\"metadata\":{\"name\":{\"name\":\"x\"}}}", "" },
        { "}}}}{\"metadata\":{\"name\":\"a\"}", "a" },
        { "[[[[[[[[\"name\"", "" },
        { "\"metadata", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_guess guess;
        ki_guess_object(ki_str_of(cases[i].text), &guess);
        if (strcmp(guess.key, cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].text, guess.key);
        assert_int_equal(guess.has_namespace, strchr(cases[i].want, '/') != NULL);
    }
}

static void an_event_s_type_and_version_are_guessed_too(void **state) {
    (void)state;
    static const struct {
        const char *text, *version;
        bool is_deleted;
    } cases[] = {
        { "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"", "7", true },
        { "{\"object\":{\"metadata\":{\"resourceVersion\":\"7\"},bad},\"type\":\"DELETED\"}", "7", true },
        { "{\"type\":\"MODIFIED\",\"object\":{\"type\":\"DELETED\"", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"7", "", false },
        { "{\"metadata\":{\"resourceVersion\":\"7\\u0000\"}}", "", false },
        { "{\"spec\":{\"resourceVersion\":\"7\"}}", "", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_guess guess;
        ki_guess_object(ki_str_of(cases[i].text), &guess);
        assert_string_equal(guess.resource_version, cases[i].version);
        assert_int_equal(guess.is_deleted, cases[i].is_deleted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_guessed_from_what_there_is),
        cmocka_unit_test(an_event_s_type_and_version_are_guessed_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
