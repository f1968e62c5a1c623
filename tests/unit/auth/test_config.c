/* test_config.c: kubeconfigs good and bad, the program's options over them, and the view from inside a pod. */

#include "tests/support/config_files.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state) {
    if (config_files_open(state))
        return 1;
    folder_write("empty", "\n");
    return 0;
}

#define CONFIG_TEST(name) TEST_WITH(set_up, folder_close, name)

/* ------------------------------------------------------------------------------------------------------------------ */

CONFIG_TEST(a_kubeconfig_gives_what_it_says) {
    static const struct {
        const char *cluster, *user;
        const char *server, *token, *ca, *cert, *key;
        bool insecure;
    } cases[] = {
        { "server: 'https://a:6443'", "", "https://a:6443", NULL, NULL, NULL, NULL, false },
        { "server: 'https://a/'", "token: t", "https://a", "t", NULL, NULL, NULL, false },
        { "server: 'https://a/k8s/x//'", "token: ''", "https://a/k8s/x", NULL, NULL, NULL, NULL, false },
        { "server: 'https://[::1]:6443'", "token: null", "https://[::1]:6443", NULL, NULL, NULL, NULL, false },
        { "server: 'http://127.0.0.1:8001'", "", "http://127.0.0.1:8001", NULL, NULL, NULL, NULL, false },
        { "server: 'https://a', certificate-authority: pki/ca.pem", "tokenFile: token", "https://a", "file-token",
          PEM("CA-FILE"), NULL, NULL, false },
        { "server: 'https://a'", "tokenFile: token, token: other", "https://a", "file-token", NULL, NULL, NULL, false },
        { "server: 'https://a', certificate-authority-data: "
          "LS0tLS1CRUdJTiBDQS1EQVRBLS0tLS0KQUFBQQotLS0tLUVORCBDQS1EQVRBLS0tLS0K",
          "client-certificate: pki/cert.pem, client-key-data: "
          "LS0tLS1CRUdJTiBLRVktLS0tLQpBQUFBCi0tLS0tRU5EIEtFWS0tLS0tCg==",
          "https://a", NULL, PEM("CA-DATA"), PEM("CERT-FILE"), PEM("KEY"), false },
        { "server: 'https://a', insecure-skip-tls-verify: true, disable-compression: true",
          "client-certificate-data: LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K, client-key: pki/key.pem",
          "https://a", NULL, NULL, PEM("X"), PEM("KEY-FILE"), true },
        { "server: 'https://a', insecure-skip-tls-verify: false, extensions: [{name: x}]",
          "password: '', as-groups: []", "https://a", NULL, NULL, NULL, NULL, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config_files_write(cases[i].cluster, cases[i].user);
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        if (ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err))
            fail_msg("case %zu: %s", i, ki_error_message(&err));
        assert_string_equal(ki_config_server(config), cases[i].server);
        assert_string_equal(ki_config_namespace(config), "ns1");
        assert_secret(&config->token, cases[i].token);
        assert_secret(&config->ca, cases[i].ca);
        assert_secret(&config->client_certificate, cases[i].cert);
        assert_secret(&config->client_key, cases[i].key);
        assert_int_equal(config->insecure_skip_tls_verify, cases[i].insecure);
        ki_config_free(config);
    }
}

CONFIG_TEST(what_a_kubeconfig_cannot_mean_is_an_error_that_names_the_field) {
    static const struct {
        const char *cluster, *user;
        ki_status want;
        const char *message; /* a part of it */
    } cases[] = {
        { "", "", KI_ERR_CONFIG, "server: not set" },
        { "server: 'a:6443'", "", KI_ERR_CONFIG, "must begin with https://" },
        { "server: 'ftp://a'", "", KI_ERR_CONFIG, "must begin with https://" },
        { "server: 'https://'", "", KI_ERR_CONFIG, "server" },
        { "server: 'https://:6443'", "", KI_ERR_CONFIG, "valid host and port" },
        { "server: 'https://a:0'", "", KI_ERR_CONFIG, "valid host and port" },
        { "server: 'https://a:65536'", "", KI_ERR_CONFIG, "valid host and port" },
        { "server: 'https://[::1'", "", KI_ERR_CONFIG, "valid host and port" },
        { "server: 'https://[::1]x'", "", KI_ERR_CONFIG, "valid host and port" },
        { "server: 'https://user:secret@a'", "", KI_ERR_CONFIG, "in the URL" },
        { "server: 'https://a?b'", "", KI_ERR_CONFIG, "query" },
        { "server: \"https://a\\nX: y\"", "", KI_ERR_CONFIG, "character" },
        { "server: [x]", "", KI_ERR_CONFIG, "line 9: clusters[c].server: must be a text, not a list" },
        { "server: 'http://a'", "token: t", KI_ERR_CONFIG, "not https" },
        { "server: 'http://a'",
          "client-certificate-data: LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K, client-key-data: "
          "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
          KI_ERR_CONFIG, "not https" },
        { "server: 'https://a', certificate-authority: pki/ca.pem, certificate-authority-data: "
          "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
          "", KI_ERR_CONFIG, "clusters[c].certificate-authority: set as a file and as data" },
        { "server: 'https://a', certificate-authority-data: 'W'", "", KI_ERR_CONFIG,
          "clusters[c].certificate-authority-data: is not base64" },
        { "server: 'https://a', certificate-authority: pki/none.pem", "", KI_ERR_CONFIG,
          "certificate-authority: cannot open" },
        { "server: 'https://a', certificate-authority: pki", "", KI_ERR_CONFIG, "is a directory" },
        { "server: 'https://a', certificate-authority: /dev/null", "", KI_ERR_CONFIG, "a device or socket" },
        { "server: 'https://a', insecure-skip-tls-verify: maybe", "", KI_ERR_CONFIG,
          "must be true or false, not a text" },
        { "server: 'https://a', insecure-skip-tls-verify: true, certificate-authority-data: "
          "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
          "", KI_ERR_CONFIG, "conflicts with certificate-authority" },
        { "server: 'https://a'", "client-key-data: LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K", KI_ERR_CONFIG,
          "client-certificate is missing" },
        { "server: 'https://a'", "client-certificate: pki/cert.pem", KI_ERR_CONFIG, "client-key is missing" },
        { "server: 'https://a'", "client-certificate: pki/none, client-key: pki/none", KI_ERR_CONFIG,
          "client-certificate: cannot open" },
        { "server: 'https://a'", "client-certificate: pki/cert.pem, client-key: pki/none", KI_ERR_CONFIG,
          "client-key: cannot open" },
        { "server: 'https://a'", "tokenFile: empty", KI_ERR_CONFIG, "is empty" },
        { "server: 'https://a', certificate-authority: empty", "token: ''", KI_ERR_CONFIG, "empty has no PEM block" },
        { "server: 'https://a'", "token: \"a\\r\\nHost: evil\"", KI_ERR_CONFIG, "token: has a line end" },
        { "server: 'https://a'", "token: \"a\\0b\"", KI_ERR_CONFIG, "zero byte" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        config_files_write(cases[i].cluster, cases[i].user);
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err);
        if (status != cases[i].want || !strstr(err.message, cases[i].message) || err.code != status)
            fail_msg("case %zu: %d, %s", i, (int)status, ki_error_message(&err));
        assert_null(strstr(err.message, "secret"));
        assert_int_equal(err.category, KI_CATEGORY_REQUEST);
        assert_null(config);
    }
}

CONFIG_TEST(a_file_that_is_no_kubeconfig_is_an_error) {
    static const struct {
        const char *text, *context;
        ki_status want;
        const char *message;
    } cases[] = {
        { "a: [b\nc: d", NULL, KI_ERR_PARSE, "line 2, column 2" },
        { "\xff\xff", NULL, KI_ERR_PARSE, "byte 0" },
        { "just text", NULL, KI_ERR_PARSE, "not a map" },
        { "[1, 2]", NULL, KI_ERR_PARSE, "not a map" },
        { "", NULL, KI_ERR_CONFIG, "current-context is not set" },
        { "current-context: x", NULL, KI_ERR_CONFIG, "no context \"x\"" },
        { "current-context: x", "y", KI_ERR_NOT_FOUND, "no context \"y\"" },
        { "{current-context: x, contexts: [{name: x, context: {cluster: gone}}]}", NULL, KI_ERR_CONFIG,
          "contexts[x].cluster: there is no cluster \"gone\"" },
        { "{current-context: x, contexts: [{name: x, context: {cluster: c, user: gone}}], clusters: [{name: c, "
          "cluster: "
          "{server: 'https://a'}}]}",
          NULL, KI_ERR_CONFIG, "there is no user \"gone\"" },
        { "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: oops}]}",
          NULL, KI_ERR_CONFIG, "clusters[c]: must be a map, not a text" },
        { "{current-context: x, contexts: {name: x}}", NULL, KI_ERR_CONFIG, "contexts: must be a list, not a map" },
        { "{current-context: x, contexts: [{name: x}]}", NULL, KI_ERR_CONFIG, "server: not set" },
        { "{current-context: &a [*a], contexts: *a}", NULL, KI_ERR_PARSE,
          "line 1, column 23: an alias to a node that contains it" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_write("config", cases[i].text);
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_config_new(
            &KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config"), .context = cases[i].context), &config, &err);
        if (status != cases[i].want || !strstr(err.message, cases[i].message) ||
            !strstr(err.message, folder_file("config")))
            fail_msg("case %zu: %d, %s", i, (int)status, ki_error_message(&err));
    }
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("none")), &config, &err),
                     KI_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, folder_file("none")));
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_path()), &config, &err), KI_ERR_CONFIG);
    assert_non_null(strstr(err.message, folder_path()));
    FILE *large = fopen(folder_file("large"), "w");
    assert_non_null(large);
    assert_int_equal(ftruncate(fileno(large), (off_t)KI_CONFIG_FILE_LIMIT + 1), 0);
    fclose(large);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("large")), &config, &err),
                     KI_ERR_LIMIT);
}

/* A '#' becomes the number. */
static void put_numbered(FILE *file, const char *piece, size_t number) {
    for (; *piece; piece++) {
        if (*piece == '#')
            fprintf(file, "%zu", number);
        else
            putc(*piece, file);
    }
}

/* `piece` over and over, then what the parser says of it. */
static ki_status load_repeated(const char *begin, const char *piece, size_t times, const char *end, ki_error *err) {
    FILE *file = fopen(folder_file("config"), "w");
    assert_non_null(file);
    fputs(begin, file);
    for (size_t i = 0; i < times; i++)
        put_numbered(file, piece, i);
    fputs(end, file);
    assert_int_equal(fclose(file), 0);
    ki_config *config = NULL;
    ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, err);
    ki_config_free(config);
    return status;
}

/* Each of them would keep the parser busy for minutes: a test that ends is the proof. */
CONFIG_TEST(a_kubeconfig_that_is_made_to_be_slow_is_rejected) {
    static const struct {
        const char *begin, *piece;
        size_t times;
        const char *message;
    } cases[] = {
        { "", "[", 200000, "line 1: nested deeper than 128" },
        { "", "{a: ", 50000, "line 1: nested deeper than 128" },
        { "a: 1\nb: ", "[\n", 200000, "line 129: nested deeper" },
        { "", "- ", 100000, "line 1: nested deeper than 128" },
        { "", "- &a# x\n", 300000, "line 1001: more than 1000 anchors and aliases" },
        { "", "%TAG !a#! b\n", 200000, "line 65: more than 64 directives" },
        { "a: &a x\nb:\n", "- *a\n", 300000, "line 1002: more than 1000 anchors and aliases" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_status status = load_repeated(cases[i].begin, cases[i].piece, cases[i].times, "", &err);
        if (status != KI_ERR_LIMIT || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %d, %s", i, (int)status, ki_error_message(&err));
    }
}

CONFIG_TEST(aliases_that_grow_or_lead_to_themselves_are_rejected) {
    ki_error err = KI_ERROR_INIT;
    folder_write("config",
                 "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                 "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ncurrent-context: *d\ncontexts: *d\n");
    ki_config *config = NULL;
    const char *file = folder_file("config");
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file), &config, &err), KI_ERR_LIMIT);
    folder_write("config", "current-context: x\ncontexts: &l\n- &a {name: x, context: *a, cluster: *a, user: *l}\n");
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file), &config, &err), KI_ERR_PARSE);
}

CONFIG_TEST(twenty_thousand_contexts_are_read) {
    ki_error err = KI_ERROR_INIT;
    ki_status status =
        load_repeated("clusters: [{name: c, cluster: {server: 'https://a'}}]\ncontexts:\n",
                      "- {name: context-#, context: {cluster: c}}\n", 20000, "current-context: context-19999\n", &err);
    if (status)
        fail_msg("%s", ki_error_message(&err));
}

CONFIG_TEST(a_kubeconfig_in_utf_16_is_read_and_zero_bytes_are_rejected) {
    static const char text[] = "{current-context: x, contexts: [{name: x, context: {cluster: c}}], "
                               "clusters: [{name: c, cluster: {server: 'https://a'}}]}";
    FILE *file = fopen(folder_file("config"), "w");
    assert_non_null(file);
    fputs("\xff\xfe", file);
    for (const char *c = text; *c; c++)
        fprintf(file, "%c%c", *c, 0);
    fclose(file);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    const char *path = folder_file("config");
    if (ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &err))
        fail_msg("%s", ki_error_message(&err));
    assert_string_equal(ki_config_server(config), "https://a");
    ki_config_free(config);
    config = NULL;
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "current-context: a%cb\n", 0);
    fclose(file);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &err), KI_ERR_PARSE);
}

/* As a shell's <(command) does: what is in the pipe is read to its end. */
CONFIG_TEST(a_kubeconfig_may_come_through_a_pipe_and_one_without_a_writer_does_not_hang) {
    static const char text[] = "{current-context: x, contexts: [{name: x, context: {cluster: c}}], "
                               "clusters: [{name: c, cluster: {server: 'https://a'}}]}";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[1]);
    char path[64];
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &err))
        fail_msg("%s", ki_error_message(&err));
    assert_string_equal(ki_config_server(config), "https://a");
    ki_config_free(config);
    close(ends[0]);
    config = NULL;
    assert_int_equal(mkfifo(folder_file("fifo"), 0600), 0);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("fifo")), &config, &err),
                     KI_ERR_CONFIG);
    assert_non_null(strstr(err.message, "has no writer"));
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = "/dev/zero"), &config, &err), KI_ERR_CONFIG);
}

CONFIG_TEST(options_win_over_the_file) {
    config_files_write(
        "server: 'https://a', certificate-authority-data: LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
        "client-certificate-data: LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K, client-key-data: "
        "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K");
    const char *file = folder_file("config");
    ki_config *config = NULL;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file, .server = "https://b:1", .token = "mine",
                                                      .insecure_skip_tls_verify = true),
                                   &config, NULL),
                     KI_OK);
    assert_string_equal(ki_config_server(config), "https://b:1");
    assert_secret(&config->token, "mine");
    assert_secret(&config->client_certificate, NULL); /* the token replaces the user */
    assert_secret(&config->ca, NULL);
    assert_true(config->insecure_skip_tls_verify);
    ki_config_free(config);

    config = NULL;
    assert_int_equal(
        ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file, .certificate_authority = folder_file("pki/ca.pem"),
                                         .client_certificate = folder_file("pki/cert.pem"),
                                         .client_key = folder_file("pki/key.pem")),
                      &config, NULL),
        KI_OK);
    assert_secret(&config->ca, PEM("CA-FILE"));
    assert_secret(&config->client_certificate, PEM("CERT-FILE"));
    assert_secret(&config->client_key, PEM("KEY-FILE"));
    ki_config_free(config);

    /* To a plain-text server of the program's choice no credentials of the file go, and an unusable user does not
     * matter. */
    config_files_write("server: 'https://a'", "exec: {command: x}");
    config = NULL;
    assert_int_equal(
        ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file, .server = "http://127.0.0.1:1"), &config, NULL), KI_OK);
    assert_secret(&config->token, NULL);
    ki_config_free(config);

    static const struct {
        const char *server, *token, *ca, *cert;
        bool insecure;
        ki_status want;
    } bad[] = {
        { "http://b", "t", NULL, NULL, false, KI_ERR_CONFIG },
        { "https://b", NULL, "pki/ca.pem", NULL, true, KI_ERR_CONFIG },
        { "https://b", "t", NULL, "pki/cert.pem", false, KI_ERR_CONFIG },
        { "https://b", "t", "pki/none", NULL, false, KI_ERR_NOT_FOUND },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        config = NULL;
        ki_config_options options = KI_CONFIG_OPTIONS(.server = bad[i].server, .token = bad[i].token);
        options.certificate_authority = bad[i].ca ? folder_file(bad[i].ca) : NULL;
        options.client_certificate = bad[i].cert ? folder_file(bad[i].cert) : NULL;
        options.insecure_skip_tls_verify = bad[i].insecure;
        assert_int_equal(ki_config_new(&options, &config, NULL), bad[i].want);
    }
    ki_config_options no_size = { .server = "https://b" };
    assert_int_equal(ki_config_new(&no_size, &config, NULL), KI_ERR_INVALID);
}

CONFIG_TEST(a_server_alone_is_enough_and_nothing_at_all_is_not) {
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(NULL, &config, &err), KI_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "no kubeconfig"));
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.context = "x"), &config, &err), KI_ERR_NOT_FOUND);
    assert_int_equal(ki_config_new_default(&KI_CONFIG_OPTIONS(.server = "http://localhost:8080/"), &config, &err),
                     KI_OK);
    assert_string_equal(ki_config_server(config), "http://localhost:8080");
    assert_string_equal(ki_config_namespace(config), "default");
    ki_config_free(config);
    ki_config_free(NULL);
}

CONFIG_TEST(of_several_files_the_first_that_has_an_entry_wins) {
    folder_write("other/token", "token of other");
    folder_write("one", "contexts: [{name: x, context: {cluster: c, user: u, namespace: one}}]\ncurrent-context: ''\n");
    folder_write("other/two", "current-context: x\ncontexts: [{name: x, context: {namespace: two}}]\n"
                              "users: [{name: u, user: {tokenFile: token}}]\n");
    folder_write("three", "current-context: z\nclusters: [{name: c, cluster: {server: 'https://three'}}]\n"
                          "users: [{name: u, user: {token: three}}]\n");
    char list[1024];
    snprintf(list, sizeof list, "%s::%s:%s:%s", folder_file("one"), folder_file("missing"), folder_file("other/two"),
             folder_file("three"));
    setenv("KUBECONFIG", list, 1);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_config_new(NULL, &config, &err))
        fail_msg("%s", ki_error_message(&err));
    assert_string_equal(ki_config_namespace(config), "one");
    assert_string_equal(ki_config_server(config), "https://three");
    assert_secret(&config->token, "token of other"); /* the path was relative to its own file */
    ki_config_free(config);
}

CONFIG_TEST(the_home_file_is_the_default) {
    mkdir(folder_file(".kube"), 0700);
    config_files_write("server: 'https://home'", "");
    assert_int_equal(rename(folder_file("config"), folder_file(".kube/config")), 0);
    ki_config *config = NULL;
    assert_int_equal(ki_config_new_default(NULL, &config, NULL), KI_OK);
    assert_string_equal(ki_config_server(config), "https://home");
    ki_config_free(config);
}

CONFIG_TEST(in_a_pod_the_service_account_says_it_all) {
    static const struct {
        const char *host, *port, *files;
        ki_status want;
        const char *server;
    } cases[] = {
        { "10.0.0.1", "443", "tcn", KI_OK, "https://10.0.0.1:443" },
        { "fd00::1", "6443", "tc", KI_OK, "https://[fd00::1]:6443" },
        { NULL, "443", "tcn", KI_ERR_NOT_FOUND, NULL },
        { "10.0.0.1", "", "tcn", KI_ERR_NOT_FOUND, NULL },
        { "10.0.0.1", "443", "cn", KI_ERR_NOT_FOUND, NULL },
        { "10.0.0.1", "443", "tn", KI_ERR_NOT_FOUND, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const names[] = { "token", "ca.crt", "namespace" };
        for (size_t f = 0; f < 3; f++) {
            remove(folder_file(names[f]));
            if (strchr(cases[i].files, names[f][0]))
                folder_write(names[f], names[f]);
        }
        ki_config config = { .allocator = { NULL, NULL, NULL, NULL } };
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        config.allocator = memory.allocator;
        const ki_in_cluster where = { folder_path(), cases[i].host, cases[i].port, NULL };
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_in_cluster_load(&config, &where, &err), cases[i].want);
        if (!cases[i].want) {
            assert_secret(&config.server, cases[i].server);
            assert_secret(&config.token, "token");
            assert_secret(&config.ca, "ca.crt");
            assert_string_equal(ki_config_namespace(&config), strchr(cases[i].files, 'n') ? "namespace" : "default");
        }
        ki_secret *all[] = { &config.server,     &config.token,   &config.ca,
                             &config.token_file, &config.ca_file, &config.namespace_name };
        for (size_t s = 0; s < sizeof all / sizeof *all; s++)
            ki_secret_clear(&config.allocator, all[s]);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
    ki_config *config = NULL;
    assert_int_equal(ki_config_new_in_cluster(NULL, &config, NULL), KI_ERR_NOT_FOUND);
}

CONFIG_TEST(base64_is_strict) {
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        { "", "" },
        { "YQ==", "a" },
        { "YWI=", "ab" },
        { "YWJj", "abc" },
        { "YWJjZA==", "abcd" },
        { "YW\nJj\r\n", "abc" },
        { "+/+/", "\xfb\xff\xbf" },
        { "YQ=", NULL },
        { "YQ", NULL },
        { "Y", NULL },
        { "Y===", NULL },
        { "YR==", NULL },
        { "YWJ=", NULL },
        { "Y Q==", NULL },
        { "YQ==YQ==", NULL },
        { "YWJj=", NULL },
        { "====", NULL },
        { "_-_-", NULL },
        { "YQ=a", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scarce_memory memory;
        scarce_memory_init(&memory, SIZE_MAX);
        ki_secret secret = { NULL, 0 };
        ki_status status = ki_secret_decode_base64(&memory.allocator, ki_str_of(cases[i].text), &secret, NULL);
        if (status != (cases[i].want ? KI_OK : KI_ERR_PARSE))
            fail_msg("%s: %d", cases[i].text, (int)status);
        assert_secret(&secret, cases[i].want);
        ki_secret_clear(&memory.allocator, &secret);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
}

CONFIG_TEST(the_user_agent_says_program_system_and_library) {
    static const struct {
        const char *given, *begin;
    } cases[] = { { "watch-pods/1.2", "watch-pods/1.2 (linux/" }, { "tool", "tool/unknown (linux/" }, { NULL, "" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        assert_int_equal(
            ki_config_new(&KI_CONFIG_OPTIONS(.server = "https://a", .user_agent = cases[i].given), &config, NULL),
            KI_OK);
        assert_int_equal(strncmp(config->user_agent.data, cases[i].begin, strlen(cases[i].begin)), 0);
        assert_non_null(strstr(config->user_agent.data, ") kinformer/"));
        ki_config_free(config);
    }
    ki_config *config = NULL;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "https://a", .user_agent = "a\nb"), &config, NULL),
                     KI_ERR_CONFIG);
    char longer[1000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "https://a", .user_agent = longer), &config, NULL),
                     KI_ERR_LIMIT);
}

CONFIG_TEST(every_lack_of_memory_is_an_error_without_a_leak) {
    config_files_write("server: 'https://a', certificate-authority: pki/ca.pem",
                       "tokenFile: token, client-certificate: pki/cert.pem, client-key-data: "
                       "LS0tLS1CRUdJTiBLRVktLS0tLQpBQUFBCi0tLS0tRU5EIEtFWS0tLS0tCg==");
    setenv("KUBECONFIG", folder_file("config"), 1);
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.allocator = &memory.allocator), &config, &err);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        assert_int_equal(err.code, status);
        ki_config_free(config);
    }
}
