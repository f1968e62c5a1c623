/* command.h: the kinformer program under test and an embedded server for it. For cmocka tests; one at a time. */
#ifndef KI_TESTS_SUPPORT_COMMAND_H
#define KI_TESTS_SUPPORT_COMMAND_H

#include "tests/support/process.h"
#include "tests/support/test.h"

#include <kinformer-testing/server.h>

enum {
    COMMAND_WORDS_MAX = 32
};

extern ki_testing_server *command_server;
extern ki_process command;

/* cmocka's setup and teardown: a server with a few nodes and pods. */
int command_set_up(void **state);
int command_tear_down(void **state);
#define COMMAND_TEST(name) TEST_WITH(command_set_up, command_tear_down, name)

/* Runs `program` with these arguments; NULL ends them. "URL" stands for the server's URL. */
void command_start(const char *program, const char *const *words);
#define COMMAND_RUN(...) command_start(KI_TEST_PROGRAM, (const char *const[]){ __VA_ARGS__, NULL })
/* Returns everything that the program prints to stdout until it ends. Valid until the next call. */
const char *command_output(void);
/* Waits for the end of the program and asserts its exit status. */
void command_ends(int status);
/* Asserts that a line of stderr contains `text`. */
void command_says(const char *text);

#endif
