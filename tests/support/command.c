/* command.c: see command.h. */
#include "tests/support/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

ki_testing_server *command_server;
ki_process command;
static char *output;

int command_set_up(void **state) {
    (void)state;
    memset(&command, 0, sizeof command);
    command.pid = command.in = command.out = command.err = -1;
    return ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 20, .nodes = 3, .seed = 5), &command_server, NULL)
               ? -1
               : 0;
}

int command_tear_down(void **state) {
    (void)state;
    ki_process_free(&command);
    ki_testing_server_free(command_server);
    command_server = NULL;
    free(output);
    output = NULL;
    return 0;
}

void command_start(const char *program, const char *const *words) {
    const char *argv[COMMAND_WORDS_MAX + 2] = { program };
    const char *const environment[] = { "KUBECONFIG=/dev/null", NULL };
    ki_process_free(&command);
    for (size_t i = 0; words[i]; i++) {
        assert_true(i < COMMAND_WORDS_MAX);
        argv[i + 1] = strcmp(words[i], "URL") == 0 ? ki_testing_server_url(command_server) : words[i];
    }
    assert_true(ki_process_start(&command, argv, environment, true));
}

const char *command_output(void) {
    size_t size = 0;
    const char *line;
    free(output);
    output = NULL;
    FILE *out = open_memstream(&output, &size);
    assert_non_null(out);
    while ((line = ki_process_line(&command)))
        fprintf(out, "%s\n", line);
    assert_int_equal(fclose(out), 0);
    return output;
}

void command_ends(int status) {
    int got = ki_process_wait(&command);
    const char *line;
    if (got == status)
        return;
    while ((line = ki_process_err_line(&command)))
        print_error("stderr: %s\n", line);
    assert_int_equal(got, status);
}

void command_says(const char *text) {
    const char *line;
    char last[256] = "";
    while ((line = ki_process_err_line(&command))) {
        if (strstr(line, text))
            return;
        snprintf(last, sizeof last, "%s", line);
    }
    fail_msg("stderr has no '%s'; its last line: %s", text, last);
}
