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
        char key[KI_GUESSED_KEY_MAX];
        ki_guess_key(ki_str_of(cases[i].text), key);
        if (strcmp(key, cases[i].want) != 0)
            fail_msg("%s: %s", cases[i].text, key);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_guessed_from_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
