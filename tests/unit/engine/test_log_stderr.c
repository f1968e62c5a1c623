/* test_log_stderr.c: the log callback that writes to stderr: one line for each message, in klog's form. */

#include "src/base/log.h"
#include "tests/support/test.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WRITTEN_MAX = 4 * KI_LOG_LINE_MAX
};

/* Writes one message with stderr redirected into a file. Returns what was written. */
static void write_entry(ki_log_level level, const char *component, const char *message, char written[WRITTEN_MAX]) {
    FILE *file = tmpfile();
    assert_non_null(file);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    ki_log_stderr(level, component, message, NULL);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    written[fread(written, 1, WRITTEN_MAX - 1, file)] = '\0';
    fclose(file);
}

static void assert_matches(const char *text, const char *pattern) {
    regex_t compiled;
    assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool matches = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    if (!matches)
        fail_msg("\"%s\" does not match %s", text, pattern);
}

TEST(an_entry_is_one_line_in_klog_s_form) {
    static const char letters[] = "-EWID";
    char written[WRITTEN_MAX], pattern[200];
    for (int level = KI_LOG_ERROR; level <= KI_LOG_DEBUG; level++) {
        write_entry((ki_log_level)level, "reflector", "pods: watching", written);
        snprintf(
            pattern, sizeof pattern,
            "^%c[01][0-9][0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{6} +%ld reflector\\] pods: watching\n$",
            letters[level], (long)getpid());
        assert_matches(written, pattern);
    }
}

TEST(a_message_sends_nothing_else_to_a_terminal) {
    char written[WRITTEN_MAX];
    write_entry(KI_LOG_INFO, "client", "one\ntwo\r\033[31mthree\177", written);
    assert_matches(written, "client\\] one two  \\[31mthree \n$");
    write_entry(KI_LOG_INFO, NULL, NULL, written);
    assert_matches(written, " \\] \n$");
}

TEST(a_message_of_any_length_is_one_line) {
    static char message[3 * KI_LOG_LINE_MAX], written[WRITTEN_MAX];
    memset(message, 'x', sizeof message - 1);
    write_entry(KI_LOG_ERROR, "engine", message, written);
    size_t size = strlen(written);
    assert_true(size > KI_LOG_LINE_MAX && size < sizeof message);
    assert_ptr_equal(strchr(written, '\n'), written + size - 1);
}

/* The level is the log's, so two engines of one program can have different levels. */
TEST(the_log_s_own_level_decides) {
    const ki_log quiet = { .write = ki_log_stderr, .max_level = KI_LOG_ERROR };
    FILE *file = tmpfile();
    assert_non_null(file);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    ki_log_write(&quiet, KI_LOG_WARNING, "reflector", "not written");
    ki_log_write(&(const ki_log){ .write = ki_log_stderr }, KI_LOG_DEBUG, "reflector", "not written");
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    fseek(file, 0, SEEK_END);
    assert_int_equal(ftell(file), 0);
    fclose(file);
}
