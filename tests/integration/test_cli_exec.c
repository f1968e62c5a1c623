/* watch --exec: a command for each event, in order, one at a time; and the end of those that do not want to end. */
#include "tests/support/command.h"
#include "tests/support/load_nodes.h"
#include "tests/support/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <yyjson.h>

static void put(const char *name, const char *value, size_t size) {
    ki_error err = KI_ERROR_INIT;
    char *json = malloc(size + 256);
    assert_non_null(json);
    snprintf(json, size + 256, "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"x\"},\"data\":{\"v\":\"%.*s\"}}", name,
             (int)size, value);
    if (ki_testing_server_put(command_server, KI_CONFIGMAPS, json, 0, &err))
        fail_msg("%s", ki_error_message(&err));
    free(json);
}

/* Does it end within reason? One that has ended and was not reaped has ended, too: a machine's first process may reap
 * nobody. */
static bool is_gone(pid_t pid) {
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    struct pollfd end = { .fd = fd, .events = POLLIN };
    int ended;
    do
        ended = poll(&end, 1, KI_PROCESS_PATIENCE_MS);
    while (ended < 0 && errno == EINTR);
    close(fd);
    return ended == 1;
}

COMMAND_TEST(each_event_is_a_command_with_its_environment_and_json) {
    put("a", "1", 1);
    COMMAND_RUN("watch", "configmaps", "-n", "x", "-q", "--count", "2", "--server", "URL", "--exec",
                "echo $KI_TYPE $KI_KEY $KI_RESOURCE $KI_INITIAL; cat");
    assert_string_equal(ki_process_line(&command), "ADDED x/a configmaps true");
    const char *line = ki_process_line(&command);
    assert_non_null(line);
    yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/type")), "ADDED");
    assert_true(yyjson_get_bool(yyjson_ptr_get(yyjson_doc_get_root(doc), "/initial")));
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/object/metadata/name")), "a");
    yyjson_doc_free(doc);

    put("a", "2", 1);
    assert_string_equal(ki_process_line(&command), "MODIFIED x/a configmaps false");
    line = ki_process_line(&command);
    assert_non_null(line);
    doc = yyjson_read(line, strlen(line), 0);
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/old/data/v")), "1");
    assert_string_equal(yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/object/data/v")), "2");
    yyjson_doc_free(doc);

    assert_int_equal(ki_testing_server_delete(command_server, KI_CONFIGMAPS, "x", "a", NULL), KI_OK);
    assert_string_equal(ki_process_line(&command), "DELETED x/a configmaps false");
    assert_non_null(ki_process_line(&command)); /* the end waited for the last command */
    assert_null(ki_process_line(&command));
    command_ends(0);
}

/* Looked at one by one: the shell itself would open the folder to list it. */
COMMAND_TEST(a_command_has_the_three_standard_files_and_no_other) {
    put("a", "1", 1);
    COMMAND_RUN("watch", "configmaps", "-n", "x", "-q", "--until-synced", "--server", "URL", "--exec",
                "cat >/dev/null; i=0; while [ $i -lt 64 ]; do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; i=$((i+1)); "
                "done; echo");
    assert_string_equal(ki_process_line(&command), "0 1 2 ");
    assert_null(ki_process_line(&command));
    command_ends(0);
}

COMMAND_TEST(commands_run_one_at_a_time_in_order) {
    char name[16], expected[64];
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "n%02d", i);
        put(name, "1", 1);
    }
    /* A second one at the same time would find the directory there. */
    char command_line[256];
    snprintf(command_line, sizeof command_line, "mkdir /tmp/ki-exec-%d && echo $KI_KEY && rmdir /tmp/ki-exec-%d",
             (int)getpid(), (int)getpid());
    COMMAND_RUN("watch", "configmaps", "-n", "x", "-q", "--server", "URL", "--exec", command_line);
    for (int i = 0; i < 20; i++)
        assert_non_null(ki_process_expect(&command, "x/n"));
    static const char values[] = "1234567";
    for (int i = 0; i < 5; i++)
        put("last", values + i, 2);
    for (int i = 0; i < 5; i++) {
        snprintf(expected, sizeof expected, "x/last");
        assert_non_null(ki_process_expect(&command, expected));
    }
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(a_command_that_fails_is_said_and_is_the_status_of_the_end) {
    COMMAND_RUN("watch", "nodes", "--until-synced", "-q", "--server", "URL", "--exec", "exit 7");
    command_says("--exec: exit 7 ended with status 7 for ADDED ip-10-");
    command_says("ended with status 7");
    command_says("ended with status 7");
    command_ends(1);
    COMMAND_RUN("watch", "nodes", "--until-synced", "-q", "--server", "URL", "--exec", "kill -9 $$");
    command_says("ended with signal 9");
    command_ends(1);
    COMMAND_RUN("watch", "nodes", "--server", "URL", "--exec", "");
    command_says("--exec needs a command");
    command_ends(2);
}

/* More than a pipe holds: who reads none of it must not stop us, nor who closes it. */
COMMAND_TEST(what_a_command_does_not_read_is_dropped) {
    enum {
        SIZE = 512 * 1024
    };
    static const char *const commands[] = { "echo done", "exec <&-; echo done", "head -c 10 >/dev/null; echo done",
                                            "wc -c | grep -q 524 && echo done" };
    char *value = malloc(SIZE + 1);
    assert_non_null(value);
    memset(value, 'x', SIZE);
    put("big", value, SIZE);
    free(value);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        COMMAND_RUN("watch", "configmaps", "-n", "x", "--until-synced", "-q", "--server", "URL", "--exec", commands[i]);
        assert_string_equal(command_output(), "done\n");
        command_ends(0);
    }
}

COMMAND_TEST(what_is_given_with_o_is_shown_too) {
    COMMAND_RUN("watch", "nodes", "--until-synced", "-q", "-o", "name", "--server", "URL", "--exec",
                "echo from $KI_KEY");
    const char *printed = command_output();
    assert_non_null(strstr(printed, "node/" NODE_1 "\n"));
    assert_non_null(strstr(printed, "from " NODE_1 "\n"));
    command_ends(0);
}

COMMAND_TEST(a_signal_ends_a_command_with_all_that_it_began) {
    static const char *const stubborn[] = { /* the last ignores SIGTERM, in a grandchild, too */
                                            "echo $$ $$; sleep 1000", "sleep 1000 & echo $$ $!; wait",
                                            "trap '' TERM; sleep 1000 & echo $$ $!; while :; do wait; sleep 1; done"
    };
    for (size_t i = 0; i < sizeof stubborn / sizeof stubborn[0]; i++) {
        int pids[2] = { 0, 0 };
        COMMAND_RUN("watch", "nodes", "-q", "--server", "URL", "--exec", stubborn[i]);
        const char *line = ki_process_line(&command);
        assert_non_null(line);
        assert_int_equal(sscanf(line, "%d %d", &pids[0], &pids[1]), 2);
        ki_process_signal(&command, i % 2 ? SIGINT : SIGTERM);
        command_ends(0);
        assert_true(is_gone(pids[0]));
        assert_true(is_gone(pids[1]));
    }
}

COMMAND_TEST(a_command_starts_with_the_signals_that_we_were_given) {
    COMMAND_RUN("watch", "nodes", "--until-synced", "-q", "--server", "URL", "--exec",
                "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f 2");
    const char *line;
    size_t lines = 0;
    for (; (line = ki_process_line(&command)); lines++) {
        unsigned long long mask = strtoull(line, NULL, 16);
        assert_int_equal(mask & (1ULL << (SIGPIPE - 1) | 1ULL << (SIGTERM - 1) | 1ULL << (SIGCHLD - 1)), 0);
    }
    assert_int_equal(lines, 6);
    command_ends(0);
}
