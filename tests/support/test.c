/* test.c: the main function of each test program. PROGRAM NOUN [PATTERN] runs the tests of a noun, or those whose names
 * match, as "*_twice". */
#include "tests/support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TESTS_MAX = 256 /* of a file */
};

static declared_test *tests, **last_test = &tests;
static declared_group *groups, **last_group = &groups;

void test_declare(declared_test *test) {
    *last_test = test;
    last_test = &test->next;
}

void test_declare_group(declared_group *group) {
    *last_group = group;
    last_group = &group->next;
}

size_t test_case_count(size_t usual) {
    const char *wanted = getenv("KI_TEST_CASES");
    return wanted ? strtoul(wanted, NULL, 10) : usual;
}

/* The noun of ".../test_NOUN.c" or ".../test_NOUN.cc", without its end. */
static const char *noun_of(const char *file, int *ret_size) {
    const char *slash = strrchr(file, '/');
    const char *noun = (slash ? slash + 1 : file) + strlen("test_");
    *ret_size = (int)strcspn(noun, ".");
    return noun;
}

static bool is_of(const char *file, const char *noun) {
    int size;
    const char *of_file = noun_of(file, &size);
    return strlen(noun) == (size_t)size && strncmp(of_file, noun, (size_t)size) == 0;
}

static int run(const char *noun) {
    struct CMUnitTest list[TESTS_MAX];
    size_t count = 0;
    int failed = 0, runs = 0;
    for (const declared_test *test = tests; test; test = test->next)
        if (is_of(test->file, noun) && count < TESTS_MAX)
            list[count++] = test->test;
    if (count == 0 || count == TESTS_MAX)
        return -1;
    for (const declared_group *group = groups; group; group = group->next) {
        if (!is_of(group->file, noun))
            continue;
        failed += _cmocka_run_group_tests(group->name, list, count, group->set_up, group->tear_down);
        runs++;
    }
    return runs ? failed : _cmocka_run_group_tests(noun, list, count, NULL, NULL);
}

int main(int argc, char **argv) {
    if (argc >= 3)
        cmocka_set_test_filter(argv[2]);
    int failed = argc >= 2 ? run(argv[1]) : -1;
    if (failed >= 0)
        return failed;
    (void)fprintf(stderr, "usage: %s NOUN [PATTERN], where NOUN is one of:\n", argv[0]);
    const char *file = "";
    for (const declared_test *test = tests; test; file = test->file, test = test->next) {
        int size;
        const char *noun = noun_of(test->file, &size);
        if (strcmp(file, test->file) != 0)
            (void)fprintf(stderr, "    %.*s\n", size, noun);
    }
    return 2;
}
