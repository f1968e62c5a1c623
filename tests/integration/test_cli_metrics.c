/* watch --metrics: the status server of a watch. test_status_server.c has the server itself. */
#include "tests/support/command.h"
#include "tests/support/http/client.h"
#include "tests/support/load_nodes.h"
#include "tests/support/test.h"

#include <signal.h>
#include <string.h>

/* Starts a watch with metrics; gives the port. */
static int start(const char *address) {
    COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", address);
    const char *line = ki_process_expect_err(&command, "status at http://127.0.0.1:");
    assert_non_null(line);
    int port = http_port(strstr(line, "metrics at"));
    assert_true(port > 0);
    command_says("synced, 3 objects");
    return port;
}

static void expect(const char *response, const char *beginning, const char *part) {
    assert_memory_equal(response, beginning, strlen(beginning));
    assert_non_null(strstr(response, part));
}

COMMAND_TEST(a_watch_serves_metrics_probes_and_a_page) {
    int port = start("0");
    const char *got = http_get(port, "/metrics", "Accept: application/openmetrics-text\r\n");
    expect(got, "HTTP/1.1 200", "application/openmetrics-text; version=1.0.0");
    expect(got, "HTTP/1.1 200", "resource=\"nodes\"");
    assert_string_equal(got + strlen(got) - 6, "# EOF\n");
    expect(http_get(port, "/readyz?verbose", ""), "HTTP/1.1 200", "[+]informer nodes: watching, synced");
    expect(http_get(port, "/livez", ""), "HTTP/1.1 200", "ok");
    expect(http_get(port, "/", ""), "HTTP/1.1 200", "<title>kinformer watch</title>");
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
}

COMMAND_TEST(silent_clients_keep_no_watch_waiting) {
    int idle[20];
    int port = start(":0");
    for (size_t i = 0; i < 20; i++)
        idle[i] = http_dial(port);
    assert_int_equal(ki_testing_server_patch(command_server, KI_NODES, NULL, NODE_1,
                                             "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 0, NULL),
                     KI_OK);
    assert_non_null(ki_process_expect(&command, NODE_1 "  metadata.labels"));
    ki_process_signal(&command, SIGTERM);
    command_ends(0);
    for (size_t i = 0; i < 20; i++)
        (void)http_receive(idle[i]);
}

COMMAND_TEST(an_address_that_is_none_is_said) {
    static const char *const bad[] = { "nowhere", "x:1", ":", ":70000", "1.2.3:80", "[::1]", "127.0.0.1:" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", bad[i]);
        command_says("a port, or an address with a port");
        command_ends(2);
    }
    COMMAND_RUN("watch", "nodes", "--server", "URL", "--metrics", "203.0.113.1:80");
    command_says("--metrics: cannot listen on 203.0.113.1:80");
    command_ends(1);
}
