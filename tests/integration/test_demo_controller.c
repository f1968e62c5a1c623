/* test_demo_controller.c: kinformer demo --controller: what it shows, and how it ends. */
#include "tests/support/folder.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum {
    SCRIPT_MAX = 64,
    WORDS_MAX = 128
};

static const char sample[] = KI_TEST_EXAMPLES_DIR "/example-sample-controller";
static ki_process demo;

static int set_up(void **state) {
    demo = (ki_process){ .pid = -1, .in = -1, .out = -1, .err = -1 };
    return folder_open(state);
}

static int tear_down(void **state) {
    ki_process_free(&demo);
    return folder_close(state);
}

static void start(const char *program, const char *seconds, const char *seed) {
    const char *const argv[] = { KI_TEST_PROGRAM, "demo",   "--controller", program, "--seconds",
                                 seconds,         "--seed", seed,           NULL };
    char entry[256];
    snprintf(entry, sizeof entry, "TMPDIR=%s", folder_path());
    const char *const environment[] = { entry, NULL };
    ki_process_free(&demo);
    assert_true(ki_process_start(&demo, argv, environment, true));
}

/* What users and the saboteur did, without the times. Returns how many lines. */
static size_t read_script(char lines[SCRIPT_MAX][WORDS_MAX], bool *ret_right) {
    size_t count = 0;
    *ret_right = false;
    for (const char *line; (line = ki_process_line(&demo));) {
        const char *act = strstr(line, " s  user  ");
        if (!act)
            act = strstr(line, " s  saboteur  ");
        if (act && count < SCRIPT_MAX)
            snprintf(lines[count++], WORDS_MAX, "%s", act);
        *ret_right = *ret_right || strstr(line, "every Foo has its Deployment");
    }
    return count;
}

static void the_sample_controller_repairs_what_a_seed_decides(void **state) {
    static char first[SCRIPT_MAX][WORDS_MAX], second[SCRIPT_MAX][WORDS_MAX], other[SCRIPT_MAX][WORDS_MAX];
    bool right;
    (void)state;
    start(sample, "3", "7");
    size_t count = read_script(first, &right);
    assert_true(right);
    assert_int_equal(ki_process_wait(&demo), 0);

    start(sample, "3", "7");
    size_t again = read_script(second, &right);
    assert_true(right);
    assert_int_equal(ki_process_wait(&demo), 0);

    start(sample, "1", "8");
    size_t others = read_script(other, &right);
    assert_true(right);
    assert_int_equal(ki_process_wait(&demo), 0);

    assert_true(count > 1 && again > 1 && others > 1); /* the clock decides how many */
    for (size_t i = 0; i < count && i < again; i++)
        assert_string_equal(first[i], second[i]);
    assert_true(strcmp(first[0], other[0]) != 0 || strcmp(first[1], other[1]) != 0);
}

static void write_program(const char *name, const char *text) {
    folder_write(name, text);
    assert_int_equal(chmod(folder_file(name), 0700), 0);
}

static void a_controller_that_does_its_work_only_once_is_found_out(void **state) {
    char script[1024];
    (void)state;
    snprintf(script, sizeof script,
             "#!/bin/sh\n"
             "mkfifo \"$0.lines\"\n"
             "%s >\"$0.lines\" 2>&1 &\n"
             "while read -r line; do\n"
             "    case $line in *Foo*synced*) break ;; esac\n"
             "done <\"$0.lines\"\n"
             "kill -9 $!\n"
             "exec sleep 600\n",
             sample);
    write_program("lazy", script);
    start(folder_file("lazy"), "1", "1");
    assert_non_null(ki_process_expect(&demo, "not every Foo has its Deployment: "));
    assert_int_equal(ki_process_wait(&demo), 1);
}

static void a_controller_that_ends_or_cannot_be_run_fails_the_demo(void **state) {
    static const struct {
        const char *text; /* NULL: there is no such file */
        const char *says;
    } cases[] = {
        { "#!/bin/sh\necho it did\nexit 3\n", "ended with status 3" },
        { "#!/bin/sh\nexit 0\n", "ended before the demo did" },
        { NULL, "cannot run " },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].text)
            write_program("program", cases[i].text);
        start(cases[i].text ? folder_file("program") : "/nonexistent/program", "1", "1");
        const char *line = ki_process_expect_err(&demo, cases[i].says);
        assert_non_null(line);
        assert_int_equal(ki_process_wait(&demo), 1);
    }
}

static void two_demos_at_once_are_rejected(void **state) {
    const char *const argv[] = { KI_TEST_PROGRAM, "demo", "--controller", sample, "--faults", NULL };
    (void)state;
    assert_true(ki_process_start(&demo, argv, NULL, true));
    assert_non_null(ki_process_expect_err(&demo, "cannot be combined"));
    assert_int_equal(ki_process_wait(&demo), 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_sample_controller_repairs_what_a_seed_decides),
        TEST(a_controller_that_does_its_work_only_once_is_found_out),
        TEST(two_demos_at_once_are_rejected),
        TEST(a_controller_that_ends_or_cannot_be_run_fails_the_demo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
