/* test.h: what each test_<noun>.c begins with: cmocka and the headers that it needs, and how a test is declared.
 *
 *     TEST(a_key_added_twice_is_handed_out_once) {
 *         ...
 *     }
 *
 * The tests of a folder are one program (test.c), which runs those of one file in a process, in the file's order. */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <stdio.h> /* cmocka.h includes what is C++, too, and does not say that it is C */
#include <stdlib.h>
extern "C" {
#endif

#include <cmocka.h>

/* Begins a test. */
#define TEST(name) TEST_WITH(NULL, NULL, name)

/* Begins a test between set_up and tear_down, which are cmocka's: `state` is theirs. Either may be NULL. */
#define TEST_WITH(set_up, tear_down, name) \
    static void name(void **state); \
    __attribute__((constructor)) static void declare_##name(void) { \
        static declared_test self = { { #name, name, set_up, tear_down, NULL }, __FILE__, NULL }; \
        test_declare(&self); \
    } \
    static void name(__attribute__((unused)) void **state)

/* All tests of the file run between set_up and tear_down, as a group. With several groups they run once in each. */
#define TEST_GROUP(name, set_up, tear_down) \
    __attribute__((constructor)) static void declare_group_##name(void) { \
        static declared_group self = { #name, set_up, tear_down, __FILE__, NULL }; \
        test_declare_group(&self); \
    } \
    struct declared_group

typedef struct declared_test {
    struct CMUnitTest test;
    const char *file;
    struct declared_test *next;
} declared_test;

typedef struct declared_group {
    const char *name;
    CMFixtureFunction set_up, tear_down;
    const char *file;
    struct declared_group *next;
} declared_group;

/* Called before main. */
void test_declare(declared_test *test);
void test_declare_group(declared_group *group);

/* Returns how many cases a test with random input runs: `usual`, or what the environment's KI_TEST_CASES says. */
size_t test_case_count(size_t usual);

#ifdef __cplusplus
}
#endif

#endif
