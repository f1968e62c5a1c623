/* Messages that wait while something else has the terminal. */
#include "cli/output.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int real_stderr;
static FILE *file;

/* Sends stderr into a file. */
static void begin(void) {
    file = tmpfile();
    assert_non_null(file);
    real_stderr = dup(STDERR_FILENO);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
}

/* Returns what is in the file. The caller frees it. */
static char *printed(void) {
    size_t size = (size_t)lseek(fileno(file), 0, SEEK_END);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(file), text, size, 0), size);
    return text;
}

static void assert_printed(const char *expected) {
    char *text = printed();
    assert_string_equal(text, expected);
    free(text);
}

/* Prints on the test's own stderr again. */
static void end(void) {
    assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
    close(real_stderr);
    fclose(file);
}

TEST(messages_are_printed_once_they_are_released) {
    begin();
    say("top", "before");
    output_hold_messages();
    say("top", "pods: %s", "forbidden\033[2J");
    say("top", "nodes");
    show_progress("10 %");
    assert_printed("kinformer top: before\n");
    output_release_messages();
    assert_printed("kinformer top: before\nkinformer top: pods: forbidden?[2J\nkinformer top: nodes\n");
    output_release_messages();
    say("top", "after");
    assert_printed(
        "kinformer top: before\nkinformer top: pods: forbidden?[2J\nkinformer top: nodes\nkinformer top: after\n");
    end();
}

TEST(the_last_messages_are_kept) {
    char filler[1000];
    memset(filler, 'x', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    begin();
    output_hold_messages();
    for (int i = 0; i < 100; i++)
        say("top", "%d %s", i, filler);
    output_release_messages();
    char *text = printed();
    const char *first = strchr(text, '\n') + 1;
    int left_out = (int)strtol(text + strlen("kinformer: "), NULL, 10);
    assert_int_equal(strncmp(strchr(text + 11, ' '), " earlier messages are left out\n", 31), 0);
    assert_int_equal(strtol(first + strlen("kinformer top: "), NULL, 10), left_out);
    assert_true(strlen(first) <= HELD_MAX && strlen(first) > HELD_MAX - 1100);
    assert_non_null(strstr(first, "kinformer top: 99 x"));
    free(text);
    end();
}
