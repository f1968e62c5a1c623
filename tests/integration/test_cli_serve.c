/* test_cli_serve.c: kinformer serve as a process: it starts, and ends when it is told to, whatever it is doing. */
#include "tests/support/process.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    ROUNDS = 8,
    WATCHERS = 10
};

static ki_process process;

static int tear_down(void **state) {
    (void)state;
    ki_process_free(&process);
    memset(&process, 0, sizeof process);
    return 0;
}

static int connect_to(const char *line) {
    struct sockaddr_in to = { .sin_family = AF_INET };
    to.sin_port = htons((uint16_t)atoi(strrchr(line, ':') + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void serve_ends_again_and_again_under_load_with_clients_that_do_not_read(void **state) {
    (void)state;
    static const char watch[] = "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n", half[] = "GET /api/v1/po";
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--pods", "60", "--churn", "3000", NULL };
    for (int round = 0; round < ROUNDS; round++) {
        int fds[WATCHERS];
        assert_true(ki_process_start(&process, argv, NULL, false));
        const char *line = ki_process_expect(&process, "serving ");
        assert_non_null(line);
        for (size_t i = 0; i < WATCHERS; i++) {
            const char *text = i % 3 == 2 ? half : watch;
            fds[i] = connect_to(line);
            assert_true(send(fds[i], text, strlen(text), MSG_NOSIGNAL) > 0);
        }
        ki_process_signal(&process, round % 2 ? SIGTERM : SIGINT);
        assert_int_equal(ki_process_wait(&process), 0);
        for (size_t i = 0; i < WATCHERS; i++)
            close(fds[i]);
        tear_down(NULL);
    }
}

static void serve_ends_while_it_waits_for_the_objects_it_is_filled_with(void **state) {
    (void)state;
    static const char *const argv[] = { KI_TEST_PROGRAM, "serve", "--load", "-", NULL };
    assert_true(ki_process_start(&process, argv, NULL, false));
    assert_true(write(process.in, "apiVersion: v1\n", 15) == 15);
    ki_process_signal(&process,
                      SIGTERM); /* before or after it began to read: it ends, by its own handler or the system's */
    int status = ki_process_wait(&process);
    assert_true(status == 0 || status == 128 + SIGTERM);
}

static void serve_refuses_tokens_rules_and_faults_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *flag, *value, *words;
    } rows[] = {
        { "--token", "secret", "token=SECRET,user=NAME" },
        { "--allow", "verb=get", "user=NAME or group=NAME" },
        { "--fault", "nonsense", "there is no fault 'nonsense'" },
        { "--fault", "cut,bytes=x", "bytes=x" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const argv[] = { KI_TEST_PROGRAM, "serve", rows[i].flag, rows[i].value, NULL };
        assert_true(ki_process_start(&process, argv, NULL, true));
        const char *line = ki_process_err_line(&process);
        assert_non_null(line);
        if (!strstr(line, rows[i].words))
            fail_msg("%s", line);
        assert_int_equal(ki_process_wait(&process), 2);
        tear_down(NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(serve_ends_again_and_again_under_load_with_clients_that_do_not_read, tear_down),
        cmocka_unit_test_teardown(serve_ends_while_it_waits_for_the_objects_it_is_filled_with, tear_down),
        cmocka_unit_test_teardown(serve_refuses_tokens_rules_and_faults_that_are_none, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
