/* command.h: the kinformer program under test, and an embedded server for it. For cmocka tests; one at a time. */
#ifndef KI_TESTS_SUPPORT_COMMAND_H
#define KI_TESTS_SUPPORT_COMMAND_H

#include "tests/support/process.h"

#include <kinformer-testing/server.h>

enum {
    COMMAND_WORDS_MAX = 32
};

extern ki_testing_server *command_server;
extern ki_process command;

/* A server with a few nodes and pods, for each test. */
int command_set_up(void **state);
int command_tear_down(void **state);

/* Runs `program` with these words, ended by NULL; "URL" stands for the server's. */
void command_start(const char *program, const char *const *words);
#define COMMAND_RUN(...) command_start(KI_TEST_PROGRAM, (const char *const[]){ __VA_ARGS__, NULL })
/* All that it prints to stdout until its end; valid until the next call. */
const char *command_output(void);
/* Waits for its end, which must be with this status. */
void command_ends(int status);
/* A line of its stderr must contain this. */
void command_says(const char *text);

#endif
