/* Completions and manual pages: made of the same tables as --help, and what the shells make of them. */
#include "tests/support/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const names[] = { "watch", "get", "doctor", "serve", "demo", "version", "completion", "man" };
enum {
    NAMES = sizeof names / sizeof names[0]
};

static char directory[64];

static int set_up(void **state) {
    (void)state;
    memset(&command, 0, sizeof command);
    command.pid = command.in = command.out = command.err = -1;
    snprintf(directory, sizeof directory, "/tmp/ki-completion-%d", (int)getpid());
    return mkdir(directory, 0700);
}

static int tear_down(void **state) {
    char line[256];
    snprintf(line, sizeof line, "rm -r %s", directory);
    command_tear_down(state);
    return system(line); /* NOLINT(cert-env33-c): our own directory */
}

/* What the shell prints for the script, with the completions' directory as its first argument; NULL where there is no such shell. */
static const char *shell(const char *name, const char *script) {
    char path[64];
    snprintf(path, sizeof path, "/usr/bin/%s", name);
    if (access(path, X_OK)) {
        print_message("%s is not there: left out\n", name);
        return NULL;
    }
    COMMAND_RUN("completion", "--directory", directory);
    command_ends(0);
    command_start(path, (const char *const[]){ "-c", script, directory, directory, NULL });
    return command_output();
}

static void bash_completes(void **state) {
    (void)state;
    static const char script[] =
        ". $1/kinformer; complete -p kinformer;\n"
        "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _kinformer; echo \"$*: ${COMPREPLY[*]}\"; }\n"
        "try kinformer wat; try kinformer watch --outp; try kinformer watch -o js; try kinformer get --output = y\n"
        "try kinformer get deploym; try kinformer watch pods,deploym; try kinformer completion f; try kinformer man "
        "ge\n"
        "try kinformer watch -n d; try kinformer nothing d\n";
    const char *printed = shell("bash", script);
    if (!printed)
        return;
    assert_string_equal(printed, "complete -F _kinformer kinformer\n"
                                 "kinformer wat: watch\n"
                                 "kinformer watch --outp: --output\n"
                                 "kinformer watch -o js: json jsonpath= jsonpath-file=\n"
                                 "kinformer get --output = y: yaml\n"
                                 "kinformer get deploym: deployments\n"
                                 "kinformer watch pods,deploym: pods,deployments\n"
                                 "kinformer completion f: fish\n"
                                 "kinformer man ge: get\n"
                                 "kinformer watch -n d: \n"
                                 "kinformer nothing d: \n");
    command_ends(0);
}

static void fish_completes(void **state) {
    (void)state;
    const char *printed = shell(
        "fish",
        "source $argv[1]/kinformer.fish; for l in 'kinformer wat' 'kinformer get --outp' 'kinformer get -o ya' "
        "'kinformer get deploym' 'kinformer completion b'; complete -C $l | string replace -r '\\t.*' ''; end; true");
    if (!printed)
        return;
    assert_string_equal(printed, "watch\n--output\nyaml\ndeployments\nbash\n");
    command_ends(0);
}

static void zsh_understands_it(void **state) {
    (void)state;
    const char *printed = shell("zsh", "zsh -fn $1/_kinformer && fpath=($1 $fpath) && autoload -Uz compinit && "
                                       "compinit -u -d $1/dump && print -r -- $_comps[kinformer]");
    if (!printed)
        return;
    assert_string_equal(printed, "_kinformer\n");
    command_ends(0);
}

static void a_shell_that_is_none_is_said(void **state) {
    (void)state;
    COMMAND_RUN("completion", "tcsh");
    command_says("bash, zsh or fish");
    command_ends(2);
    COMMAND_RUN("completion");
    command_says("bash, zsh or fish");
    command_ends(2);
    COMMAND_RUN("completion", "--directory", "/nowhere/at/all");
    command_says("cannot write /nowhere/at/all/kinformer");
    command_ends(1);
}

static void the_main_page_is_shown_without_a_command_or_by_its_name(void **state) {
    (void)state;
    static const char *const words[] = { "kinformer", NULL };
    for (size_t i = 0; i < 2; i++) {
        COMMAND_RUN("man", words[i]);
        const char *printed = command_output();
        assert_non_null(strstr(printed, ".TH KINFORMER 1 "));
        assert_non_null(strstr(printed, "\n.nh\n")); /* no flag or example is broken with a hyphen */
        command_ends(0);
    }
}

/* "--name" with each '-' as roff writes it, in bold. */
static void make_roff_name(const char *flag, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "\\fB");
    for (; *flag && *flag != ' ' && *flag != '\n' && used + 3 < size; flag++)
        used += (size_t)snprintf(out + used, size - used, *flag == '-' ? "\\-" : "%c", *flag);
    snprintf(out + used, size - used, "\\fR");
}

static void each_flag_of_the_help_is_in_the_page_and_in_each_completion(void **state) {
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        char roff[128], bash[128];
        size_t flags = 0;
        COMMAND_RUN(names[i], "--help");
        char *help = strdup(command_output());
        command_ends(0);
        COMMAND_RUN("man", names[i]);
        char *page = strdup(command_output());
        command_ends(0);
        COMMAND_RUN("completion", "bash");
        const char *script = command_output();
        assert_non_null(strstr(page, ".SH EXAMPLES"));
        assert_non_null(strstr(page, ".SH EXIT STATUS"));
        for (const char *line = strstr(help, "flags:\n"); line && (line = strchr(line, '\n')) && *++line; flags++) {
            const char *flag = strstr(line, "--");
            if (!flag || flag - line > 8)
                continue; /* the second line of a flag */
            make_roff_name(flag, roff, sizeof roff);
            if (!strstr(page, roff))
                fail_msg("%s: %s is not in its page", names[i], roff);
            snprintf(bash, sizeof bash, "%.*s", (int)strcspn(flag, " \n"), flag);
            if (!strstr(script, bash))
                fail_msg("%s: %s is not completed", names[i], bash);
        }
        assert_true(flags > 0 || strcmp(names[i], "version") == 0);
        command_ends(0);
        free(help);
        free(page);
    }
}

static void pages_are_sound(void **state) {
    (void)state;
    char script[256];
    COMMAND_RUN("man", "--directory", directory);
    command_ends(0);
    for (size_t i = 0; i < NAMES; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/kinformer-%s.1", directory, names[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    if (access("/usr/bin/groff", X_OK)) {
        print_message("groff is not there: left out\n");
        return;
    }
    snprintf(script, sizeof script, "groff -man -ww -Tutf8 %s/*.1 2>&1 >/dev/null", directory);
    command_start("/bin/sh", (const char *const[]){ "-c", script, NULL });
    assert_string_equal(command_output(), "");
    command_ends(0);
    COMMAND_RUN("man", "wach");
    command_says("did you mean watch?");
    command_ends(2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(bash_completes),
        TEST(fish_completes),
        TEST(zsh_understands_it),
        TEST(a_shell_that_is_none_is_said),
        TEST(the_main_page_is_shown_without_a_command_or_by_its_name),
        TEST(each_flag_of_the_help_is_in_the_page_and_in_each_completion),
        TEST(pages_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
