/* test.h: what each test_<noun>.c begins with: cmocka and the headers that it needs, and the group of the noun's tests.
 * The tests of a folder are one program (test.c), which runs one noun's group in a process. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct kt_group {
    const char *noun;
    int (*run)(void); /* returns how many tests fail, or 77 if they cannot run here */
    struct kt_group *next;
} kt_group;

/* Called before main. */
void kt_add_group(kt_group *group);

/* Ends a test_<noun>.c, in place of main: KT_TESTS(noun) { ... return cmocka_run_group_tests(tests, NULL, NULL); } */
#define KT_TESTS(name) \
    static int run_tests_of_##name(void); \
    __attribute__((constructor)) static void add_tests_of_##name(void) { \
        static kt_group group = { .noun = #name, .run = run_tests_of_##name }; \
        kt_add_group(&group); \
    } \
    static int run_tests_of_##name(void)

#endif
