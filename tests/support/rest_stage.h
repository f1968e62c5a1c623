/* rest_stage.h: one REST layer for the tests of a program, new for each test, and requests as table rows. See
 * rest_server.h. */
#ifndef TESTS_SUPPORT_REST_STAGE_H
#define TESTS_SUPPORT_REST_STAGE_H

#include "tests/support/rest_server.h"
#include "tests/support/test.h"

#include <stddef.h>

extern rest_server server;
int rest_set_up(void **state); /* a cluster with the default options */
int rest_tear_down(void **state);

#define REST_TEST(name) TEST_WITH(rest_set_up, rest_tear_down, name)
/* A test with a set-up of its own that begins with rest_set_up. */
#define REST_TEST_WITH(set_up, name) TEST_WITH(set_up, rest_tear_down, name)

typedef struct rest_row {
    const char *method, *target;
    const char *type, *body; /* or NULL */
    int status;              /* of the response */
    const char *part;        /* of the response's body, or NULL */
} rest_row;

/* Sends each request in turn, and asserts status and part. With a user the requests come through the network. */
void rest_check(const rest_row *rows, size_t count, const char *user);

typedef struct rest_call {
    const char *method, *target;
    const char *type, *body; /* or NULL */
} rest_call;

/* Sends the requests in turn to a new cluster, again and again: in each round one allocation fails, and nothing may
 * leak. */
void rest_run_short_of_memory(const rest_call *calls, size_t count);

#endif
