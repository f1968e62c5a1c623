/* Mistakes in a kubeconfig and what it names, as somebody sees them who calls the command: one line with file, field
 * and remedy. */
#include <signal.h>

#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define TLS(name) KI_TEST_DATA_DIR "/tls/" name
#define PLUGIN "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "

static ki_process program;

/* The first line of its standard error, which has all of the words. */
static void start_and_read(const char *kubeconfig, const char *timeout, const char *const *words) {
    static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
    const char *const argv[] = { KI_TEST_PROGRAM, "get",      "pods",
                                 "--kubeconfig",  kubeconfig, timeout ? "--timeout" : NULL,
                                 timeout,         NULL };
    assert_true(ki_process_start(&program, argv, environment, true));
    const char *line = ki_process_err_line(&program);
    assert_non_null(line);
    for (; *words; words++) {
        if (!strstr(line, *words))
            fail_msg("no \"%s\" in: %s", *words, line);
    }
}

static void fails_with(const char *kubeconfig, const char *const *words) {
    start_and_read(kubeconfig, NULL, words);
    const char *line = ki_process_err_line(&program);
    if (line)
        fail_msg("another line: %s", line);
    assert_int_equal(ki_process_wait(&program), 1);
    ki_process_free(&program);
}

/* `user` and `cluster` are what the kubeconfig's have. */
static const char *write_kubeconfig(const char *cluster, const char *user) {
    char text[4096];
    snprintf(text, sizeof text,
             "current-context: x\n"
             "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
             "clusters:\n- {name: c, cluster: {server: 'https://127.0.0.1:1', %s}}\n"
             "users:\n- {name: u, user: {%s}}\n",
             cluster, user);
    folder_write("config", text);
    return folder_file("config");
}

FOLDER_TEST(a_file_that_is_no_kubeconfig_is_named) {
    fails_with(
        "/nonexistent/config",
        (const char *const[]){ "kubeconfig: cannot open /nonexistent/config: No such file or directory; name", NULL });
    fails_with(folder_path(),
               (const char *const[]){ folder_path(), "is a directory, not a file; name the file itself", NULL });
    folder_write("config", "clusters: [{name: c}\nusers: []\n");
    fails_with(folder_file("config"),
               (const char *const[]){ folder_file("config"),
                                      "line 2, column 1: did not find expected ',' or ']'; fix the YAML there", NULL });
    folder_write("config", "current-context: x\ncontexts:\n- {name: x, context: {cluster: gone}}\n");
    fails_with(folder_file("config"),
               (const char *const[]){ folder_file("config"),
                                      "line 3: contexts[x].cluster: there is no cluster \"gone\"",
                                      "; name one that exists, or add it", NULL });
}

FOLDER_TEST(what_a_kubeconfig_names_and_is_not_so_is_reported_with_file_field_and_remedy) {
    static const struct {
        const char *cluster, *user;
        const char *words[4];
    } cases[] = {
        { "certificate-authority: none.pem",
          "",
          { "clusters[c]: certificate-authority: cannot open ", "/none.pem: No such file or directory",
            "; name a file" } },
        { "certificate-authority: .", "", { "certificate-authority: ", "is a directory, not a file; name the file" } },
        { "certificate-authority: " TLS("client.key"),
          "",
          { "certificate-authority: " TLS("client.key") " has a private key", "; name the authority's certificate" } },
        { "certificate-authority-data: '###'",
          "",
          { "line 5: clusters[c].certificate-authority-data: is not base64", "; write the file's bytes" } },
        { "",
          "client-certificate: " TLS("client.pem") ", client-key: none",
          { "users[u]: client-key: cannot open ", "/none: No such file", "; name a file" } },
        { "",
          "client-certificate: " TLS("client.pem") ", client-key: " TLS("server.key"),
          { "client-key: " TLS("server.key") " is not the key of", TLS("client.pem"),
            "; use a certificate and a key" } },
        { "",
          "client-certificate: " TLS("client.key") ", client-key: " TLS("client.pem"),
          { "client-certificate: " TLS("client.key") " has a private key", "are not swapped" } },
        { "",
          "client-certificate: " TLS("client.pem") ", client-key: " TLS("encrypted.key"),
          { "client-key: " TLS("encrypted.key") " has a password", "openssl pkey" } },
        { "", "tokenFile: none", { "users[u]: tokenFile: cannot open ", "/none: No such file", "; name a file" } },
        { "", "tokenFile: .", { "users[u]: tokenFile: ", "is a directory, not a file; name the file itself" } },
        { "", "token: 12", { "line 7: users[u].token: must be a text, not a number; put it in quotes" } },
        { "", PLUGIN "command: ''}", { "line 7: users[u].exec.command: not set; name the program" } },
        { "", "exec: {command: x}", { "line 7: users[u].exec.apiVersion: not set; use client.auth" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *file = write_kubeconfig(cases[i].cluster, cases[i].user);
        const char *words[6] = { file };
        memcpy(words + 1, cases[i].words, sizeof cases[i].words);
        fails_with(file, words);
    }
}

/* These are known once it runs. */
FOLDER_TEST(a_plugin_that_is_of_no_use_is_named_with_its_place_in_the_kubeconfig) {
    static const struct {
        const char *plugin, *what;
    } cases[] = {
        { "command: echo, args: [garbage]",
          "Unable to connect to the server: exec plugin echo: its output is not JSON; check users[u].exec" },
        { "command: 'true'",
          "Unable to connect to the server: exec plugin true: it printed nothing; check users[u].exec" },
        { "command: head, args: ['-c', '100000000', /dev/zero]",
          "exec plugin head: it printed more than 1048576 bytes; check users[u].exec" },
        { "command: sh, args: ['-c', 'kill -9 $$']", "exec plugin sh: it was killed by signal 9; check users[u].exec" },
        { "command: sh, args: ['-c', 'echo no luck >&2; exit 3']",
          "exec plugin sh: it failed with exit status 3 and printed: no luck; check users[u].exec" },
        { "command: sh, args: ['-c', 'echo secret-1234; echo no use for secret-1234 here >&2; exit 3']",
          "it failed with exit status 3 and printed: no use for *********** here; check" },
        { "command: sh, args: ['-c', 'echo eyJ0b2tlbiI6MX0.eyJ0b2tlbiI6MX0.eyJ0b2tlbiI6MX0 is bad >&2; exit 3']",
          " and printed: *********************************************** is bad; check users[u].exec" },
        { "command: no-such-program, installHint: 'install it, please'",
          "exec plugin no-such-program: no such program in PATH; install it, please (users[u].exec" },
        { "command: /, installHint: ''", "exec plugin /: cannot start /: Permission denied; check users[u].exec" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char user[256];
        snprintf(user, sizeof user, PLUGIN "%s}", cases[i].plugin);
        const char *file = write_kubeconfig("", user);
        start_and_read(file, NULL, (const char *const[]){ cases[i].what, file, NULL });
        assert_int_equal(ki_process_wait(&program), 3);
        ki_process_free(&program);
    }
    start_and_read(write_kubeconfig("", PLUGIN "command: sleep, args: ['1000']}"), "300ms",
                   (const char *const[]){ "); check the exec plugin sleep: requests wait until it has ended", NULL });
    assert_int_equal(ki_process_wait(&program), 3);
    ki_process_free(&program);
}

/* The server was not asked. */
FOLDER_TEST(a_plugin_that_does_not_end_is_reported_and_not_the_server) {
    static const char *const rows[][2] = {
        { "pods", "kinformer get: pods: no request sent for 5 s: exec plugin sleep has not ended yet" },
        { "foos", "kinformer get: the exec plugin sleep has not ended, or there is no response from https://" },
    };
    const char *file = write_kubeconfig("", PLUGIN "command: sleep, args: ['1000']}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/nonexistent", NULL };
        const char *const argv[] = { KI_TEST_PROGRAM, "get", rows[i][0], "--kubeconfig", file, NULL };
        assert_true(ki_process_start(&program, argv, environment, true));
        const char *line = ki_process_err_line(&program);
        assert_non_null(line);
        if (strncmp(line, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s", line);
        ki_process_signal(&program, SIGINT); /* it ends the plugin */
        (void)ki_process_wait(&program);
        ki_process_free(&program);
    }
}
