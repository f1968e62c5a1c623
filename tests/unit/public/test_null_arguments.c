/* test_null_arguments.c: every public function, called with NULL and 0 throughout. One that returns a status says KI_ERR_INVALID, unless the table below
 * names it; one that frees does nothing. Each call is made in a process of its own. The calls are written by tests/null_calls.awk from the headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <kinformer-print/columns.h>
#include <kinformer-print/jsonpath.h>
#include <kinformer-testing/access.h>
#include <kinformer-testing/faults.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Functions that need none of their pointers, or say more than that one is missing. */
static const struct {
    const char *name;
    ki_status status;
} others[] = {
    { "ki_block_signals", KI_OK }, { "ki_error_set", KI_OK }, /* the status that it is given */
};

static ki_status expected_of(const char *name) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(others[i].name, name) == 0)
            return others[i].status;
    }
    return KI_ERR_INVALID;
}

enum {
    RETURNED = 100 /* and more: the exit status of a child whose call returned; a sanitizer's are less */
};

/* Runs `call` in a child. Returns its result; -1: it did not return. */
static int result_of(int (*call)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(RETURNED + call());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) >= RETURNED ? WEXITSTATUS(status) - RETURNED : -1;
}

#define CALL(name, arguments) \
    static int call_##name(void) { \
        return (int)(name)arguments; \
    }
#define FREE(name) \
    static int call_##name(void) { \
        (name)(NULL); \
        return KI_OK; \
    }
#include "null_calls.h"
#undef CALL
#undef FREE

static void every_public_function_takes_null_for_invalid(void **state) {
    (void)state;
    int wrong = 0;
#define CHECK(name, wanted) \
    do { \
        int result = result_of(call_##name); \
        if (result != (int)(wanted)) { \
            print_error(#name ": %s, and not %s\n", result < 0 ? "crash" : ki_status_name((ki_status)result), \
                        ki_status_name(wanted)); \
            wrong++; \
        } \
    } while (0);
#define CALL(name, arguments) CHECK(name, expected_of(#name))
#define FREE(name) CHECK(name, KI_OK)
#include "null_calls.h"
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_function_takes_null_for_invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
