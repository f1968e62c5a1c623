/* test_credentials.c: the current credentials: files that change, plugins that succeed, fail, hang. The clock is the
 * test's own, but for plugins, which are real programs. */

#include "src/auth/credentials.h"
#include "src/auth/exec_plugin.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/engine/subprocess.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void remove_file(const char *name) {
    unlink(folder_file(name));
}

static size_t lines_of(const char *name) {
    FILE *file = fopen(folder_file(name), "r");
    size_t lines = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

/* --- a config and what comes of it -------------------------------------------------------------------------------- */

typedef struct stage {
    test_engine clock;
    ki_config config;
    ki_credentials *credentials;
    int changes;
} stage;

static void put(ki_secret *secret, const char *text) {
    assert_int_equal(ki_secret_set(&ki_allocator_default, secret, ki_str_of(text), NULL), KI_OK);
}

static void put_path(ki_secret *secret, const char *name) {
    put(secret, folder_file(name));
}

static void on_change(void *user) {
    ((stage *)user)->changes++;
}

static void prepare(stage *self) {
    memset(self, 0, sizeof *self);
    self->config.allocator = ki_allocator_default;
    put(&self->config.server, "https://there");
    assert_true(test_engine_open(&self->clock, NULL, 1));
}

static void start(stage *self) {
    assert_int_equal(ki_credentials_new(self->clock.engine, &self->config, on_change, self, &self->credentials, NULL),
                     KI_OK);
}

static void clear_config(ki_config *config) {
    ki_secret *const all[] = { &config->server,
                               &config->token,
                               &config->token_file,
                               &config->username,
                               &config->password,
                               &config->ca,
                               &config->ca_file,
                               &config->ca_directory,
                               &config->client_certificate,
                               &config->client_certificate_file,
                               &config->client_key,
                               &config->client_key_file,
                               &config->exec.api_version,
                               &config->exec.command,
                               &config->exec.install_hint };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ki_secret_clear(&ki_allocator_default, all[i]);
}

static void finish(stage *self) {
    ki_credentials_free(self->credentials);
    test_engine_close(&self->clock);
    clear_config(&self->config);
}

/* "Authorization: …" of the moment; NULL: there is none. */
static const char *header(stage *self) {
    static char text[256];
    ki_credential_set *set = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_credentials_get(self->credentials, &set, &err) != KI_CREDENTIALS_READY)
        fail_msg("not ready: %s", err.message);
    snprintf(text, sizeof text, "%s", set->authorization.data ? set->authorization.data : "");
    bool has_one = set->authorization.data != NULL;
    ki_credential_set_unref(set);
    return has_one ? text : NULL;
}

static void refuse(stage *self) {
    ki_credential_set *set = ki_credentials_current(self->credentials);
    ki_credentials_rejected(self->credentials, set);
    ki_credential_set_unref(set);
}

static void pass(stage *self, int64_t s) {
    assert_true(test_engine_advance(&self->clock, s * 1000));
}

/* --- what the config says ----------------------------------------------------------------------------------------- */

TEST(a_token_that_comes_back_is_hidden) {
    static const struct {
        const char *token, *text, *want;
    } rows[] = {
        { "secret-1", "no secret-1 is secret-1", "no ******** is ********" },
        { "secret-1", "secret-1 is wrong", "******** is wrong" },
        { "secret-1", "secret-", "secret-" },
        { "secret-1", "ssecret-1", "s********" },
        { "abc", "abc", "abc" }, /* part of any text */
        { NULL, "secret-1", "secret-1" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage self;
        char text[64];
        prepare(&self);
        if (rows[i].token)
            put(&self.config.token, rows[i].token);
        start(&self);
        ki_credential_set *set = ki_credentials_current(self.credentials);
        snprintf(text, sizeof text, "%s", rows[i].text);
        ki_credential_set_hide(set, text, strlen(text));
        assert_string_equal(text, rows[i].want);
        ki_credential_set_unref(set);
        finish(&self);
    }
}

TEST(a_token_or_a_password_becomes_a_header) {
    stage self;
    prepare(&self);
    start(&self);
    assert_null(header(&self));
    finish(&self);
    prepare(&self);
    put(&self.config.token, "abc");
    start(&self);
    assert_string_equal(header(&self), "Authorization: Bearer abc");
    refuse(&self);
    assert_string_equal(header(&self), "Authorization: Bearer abc");
    finish(&self);
    static const struct {
        const char *name, *password, *want;
    } cases[] = {
        { "Aladdin", "open sesame", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
        { "a", "", "Authorization: Basic YTo=" },
        { "ab", "", "Authorization: Basic YWI6" },
        { "a", "bc", "Authorization: Basic YTpiYw==" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prepare(&self);
        put(&self.config.username, cases[i].name);
        put(&self.config.password, cases[i].password);
        start(&self);
        assert_string_equal(header(&self), cases[i].want);
        finish(&self);
    }
}

TEST(nothing_of_it_goes_to_a_server_that_is_not_https) {
    for (int kind = 0; kind < 5; kind++) {
        stage self;
        prepare(&self);
        put(&self.config.server, "http://there");
        ki_secret *const secrets[] = { &self.config.token, &self.config.token_file, &self.config.username,
                                       &self.config.client_key, &self.config.exec.command };
        put(secrets[kind], "x");
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_credentials_new(self.clock.engine, &self.config, on_change, &self, &self.credentials, &err),
                         KI_ERR_CONFIG);
        assert_non_null(strstr(err.message, "not https"));
        finish(&self);
    }
}

TEST(to_this_machine_it_goes_by_http_too_if_the_program_says_so) {
    stage self;
    prepare(&self);
    put(&self.config.server, "http://127.0.0.1:8001");
    put(&self.config.token, "t");
    self.config.credentials_over_loopback_http = true;
    start(&self);
    assert_string_equal(header(&self), "Authorization: Bearer t");
    finish(&self);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

TEST(a_token_file_is_read_again_and_the_last_good_token_kept) {
    stage self;
    prepare(&self);
    folder_write("token", "one\n");
    put(&self.config.token, "one");
    put_path(&self.config.token_file, "token");
    start(&self);
    folder_write("token", " two \n");
    pass(&self, KI_TOKEN_FILE_PERIOD_S - 1);
    assert_string_equal(header(&self), "Authorization: Bearer one");
    pass(&self, 1);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    static const char *const bad[] = { "", "\n", "thr\nee", "t\x01" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        folder_write("token", bad[i]);
        pass(&self, KI_TOKEN_FILE_PERIOD_S);
        assert_string_equal(header(&self), "Authorization: Bearer two");
    }
    remove_file("token");
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    assert_int_equal(mkfifo(folder_file("token"), 0600), 0); /* it would hold up the loop */
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    remove_file("token");
    static char longer[70000]; /* than a config's token may be */
    memset(longer, 'a', sizeof longer - 1);
    folder_write("token", longer);
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    folder_write("token", "three");
    pass(&self, KI_TOKEN_FILE_RETRY_S);
    assert_string_equal(header(&self), "Authorization: Bearer three");
    finish(&self);
    remove_file("token");
}

static void count_line(ki_log_level level, const char *component, const char *message, void *user) {
    int *lines = user;
    (void)level;
    (void)component;
    assert_non_null(strstr(message, "keeping the previous content"));
    ++*lines;
}

TEST(an_unreadable_file_is_one_line_in_the_log_until_it_was_readable) {
    stage self;
    int lines = 0;
    const ki_log log = { .write = count_line, .user = &lines };
    memset(&self, 0, sizeof self);
    self.config.allocator = ki_allocator_default;
    put(&self.config.server, "https://there");
    assert_true(test_engine_open_logged(&self.clock, NULL, 1, &log));
    put(&self.config.token, "one");
    put_path(&self.config.token_file, "unreadable");
    put_path(&self.config.ca_file, "unreadable");
    folder_write("unreadable", "");
    start(&self);
    for (int i = 0; i < 10; i++) {
        pass(&self, KI_CERTIFICATE_CHECK_S);
        assert_string_equal(header(&self), "Authorization: Bearer one");
    }
    assert_int_equal(lines, 2); /* as a token, and as an authority */
    folder_write("unreadable", "two");
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    folder_write("unreadable", "");
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    assert_int_equal(lines, 3);
    finish(&self);
    remove_file("unreadable");
}

TEST(a_token_file_that_appears_later_is_found_within_a_second) {
    stage self;
    ki_credential_set *set = NULL;
    ki_error err = KI_ERROR_INIT;
    prepare(&self);
    put_path(&self.config.token_file, "late");
    start(&self);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ki_credentials_get(self.credentials, &set, &err), KI_CREDENTIALS_FAILED);
        assert_int_equal(err.code, KI_ERR_NOT_FOUND);
        assert_int_equal(err.category, KI_CATEGORY_CREDENTIALS);
        assert_non_null(strstr(err.message, "tokenFile: "));
        pass(&self, KI_TOKEN_FILE_MISSING_S);
    }
    folder_write("late", "");
    assert_int_equal(ki_credentials_get(self.credentials, &set, &err), KI_CREDENTIALS_FAILED);
    folder_write("late", "one\n");
    pass(&self, KI_TOKEN_FILE_MISSING_S);
    assert_string_equal(header(&self), "Authorization: Bearer one");
    remove_file("late");
    pass(&self, KI_TOKEN_FILE_PERIOD_S);
    assert_string_equal(header(&self), "Authorization: Bearer one");
    finish(&self);
}

TEST(a_folder_of_authorities_that_changes_is_another_set_of_certificates) {
    stage self;
    size_t size = 0;
    char *first = fixture_read(KI_TEST_DATA_DIR "/tls/ca.pem", &size);
    folder_write("cas/a.pem", first);
    prepare(&self);
    put_path(&self.config.ca_directory, "cas");
    assert_int_equal(ki_secret_read_directory(&ki_allocator_default, folder_file("cas"), "cas", &self.config.ca, NULL),
                     KI_OK);
    start(&self);
    uint64_t before = ki_credentials_tls_number(self.credentials);
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), before);
    char *second = fixture_read(KI_TEST_DATA_DIR "/tls/other-ca.pem", &size);
    folder_write("cas/b.pem", second);
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), before + 1);
    assert_int_equal(self.changes, 1);
    remove_file("cas/a.pem");
    remove_file("cas/b.pem");
    pass(&self, KI_CERTIFICATE_CHECK_S); /* empty: the previous authorities stay */
    assert_int_equal(ki_credentials_tls_number(self.credentials), before + 1);
    free(first);
    free(second);
    finish(&self);
    rmdir(folder_file("cas"));
}

TEST(a_401_has_the_token_file_read_at_once_but_once_for_all) {
    stage self;
    prepare(&self);
    folder_write("token", "two");
    put(&self.config.token, "one");
    put_path(&self.config.token_file, "token");
    start(&self);
    assert_string_equal(header(&self), "Authorization: Bearer one");
    ki_credential_set *old = ki_credentials_current(self.credentials);
    ki_credentials_rejected(self.credentials, old);
    assert_string_equal(header(&self), "Authorization: Bearer two");
    folder_write("token", "three");
    ki_credentials_rejected(self.credentials, old); /* of another request with the old token */
    assert_string_equal(header(&self), "Authorization: Bearer two");
    ki_credential_set_unref(old);
    finish(&self);
    remove_file("token");
}

#define PEM(letter) "-----BEGIN " letter "-----\nAAAA\n-----END " letter "-----\n"

TEST(certificates_that_change_are_another_set_of_certificates) {
    stage self;
    prepare(&self);
    put(&self.config.ca, PEM("A"));
    put(&self.config.client_certificate, PEM("B"));
    put(&self.config.client_key, PEM("C"));
    put_path(&self.config.ca_file, "ca");
    put_path(&self.config.client_certificate_file, "certificate");
    put_path(&self.config.client_key_file, "key");
    folder_write("ca", PEM("A"));
    folder_write("certificate", PEM("B"));
    folder_write("key", PEM("C"));
    start(&self);
    uint64_t first = ki_credentials_tls_number(self.credentials);
    pass(&self, KI_CERTIFICATE_CHECK_S * 2);
    assert_int_equal(ki_credentials_tls_number(self.credentials), first);
    assert_int_equal(self.changes, 0);
    folder_write("certificate", PEM("D"));
    folder_write("key", PEM("E"));
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), first + 1);
    assert_int_equal(self.changes, 1);
    ki_credential_set *set = ki_credentials_current(self.credentials);
    assert_string_equal(set->client_certificate.data, PEM("D"));
    assert_string_equal(set->client_key.data, PEM("E"));
    assert_string_equal(set->ca.data, PEM("A"));
    ki_credential_set_unref(set);
    /* Half written, empty, gone, and one of a pair alone: the last good ones go on. */
    folder_write("certificate", "-----BEGIN F-----\nAA");
    folder_write("key", PEM("G"));
    folder_write("ca", "");
    pass(&self, KI_CERTIFICATE_CHECK_S);
    remove_file("certificate");
    remove_file("ca");
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), first + 1);
    /* A handshake that failed has them looked at before the next request. */
    folder_write("certificate", PEM("F"));
    folder_write("ca", PEM("H"));
    set = ki_credentials_current(self.credentials);
    pass(&self, KI_CERTIFICATE_RECHECK_S);
    ki_credentials_doubt_certificates(self.credentials, set);
    ki_credential_set_unref(set);
    assert_null(header(&self));
    assert_int_equal(ki_credentials_tls_number(self.credentials), first + 2);
    set = ki_credentials_current(self.credentials);
    assert_string_equal(set->client_certificate.data, PEM("F"));
    assert_string_equal(set->client_key.data, PEM("G"));
    assert_string_equal(set->ca.data, PEM("H"));
    ki_credential_set_unref(set);
    finish(&self);
    remove_file("certificate");
    remove_file("key");
    remove_file("ca");
}

static void copy_file(const char *name, const char *from) {
    char path[256];
    snprintf(path, sizeof path, KI_TEST_DATA_DIR "/tls/%s", from);
    char *text = fixture_read(path, NULL);
    folder_write(name, text);
    free(text);
}

TEST(a_pair_of_files_is_taken_once_both_are_the_new_ones) {
    stage self;
    prepare(&self);
    char *certificate = fixture_read(KI_TEST_DATA_DIR "/tls/client.pem", &(size_t){ 0 });
    char *key = fixture_read(KI_TEST_DATA_DIR "/tls/client.key", &(size_t){ 0 });
    put(&self.config.client_certificate, certificate);
    put(&self.config.client_key, key);
    put_path(&self.config.client_certificate_file, "certificate");
    put_path(&self.config.client_key_file, "key");
    copy_file("certificate", "client.pem");
    copy_file("key", "client.key");
    start(&self);
    uint64_t first = ki_credentials_tls_number(self.credentials);
    copy_file("certificate", "rsa.pem"); /* the key comes later */
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), first);
    assert_int_equal(self.changes, 0);
    ki_credential_set *set = ki_credentials_current(self.credentials);
    assert_string_equal(set->client_certificate.data, certificate);
    assert_string_equal(set->client_key.data, key);
    ki_credential_set_unref(set);
    copy_file("key", "rsa.key");
    pass(&self, KI_CERTIFICATE_CHECK_S);
    assert_int_equal(ki_credentials_tls_number(self.credentials), first + 1);
    assert_int_equal(self.changes, 1);
    finish(&self);
    free(certificate);
    free(key);
    remove_file("certificate");
    remove_file("key");
}

/* --- plugins ------------------------------------------------------------------------------------------------------ */

#define RESPONSE(status) \
    "printf '%s\\n' " \
    "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{" status "}}'\n"
#define BLOCK(letter) "-----BEGIN " letter "-----\\nAAAA\\n-----END " letter "-----\\n" /* PEM, as JSON has it */
#define PAIR(letter) "\"clientCertificateData\":\"" BLOCK(letter) "\",\"clientKeyData\":\"" BLOCK("k") "\""

/* Each run of it is a line in the file "runs". */
static void use_plugin(stage *self, const char *script) {
    char text[2048];
    const char *path = folder_file("plugin");
    snprintf(text, sizeof text, "#!/bin/sh\necho run >>%s/runs\n%s", folder_path(), script);
    remove_file("runs");
    folder_write("plugin", text);
    assert_int_equal(chmod(path, 0700), 0);
    put(&self->config.exec.api_version, "client.authentication.k8s.io/v1");
    if (!self->config.exec.command.data)
        put(&self->config.exec.command, path);
}

static void wait_for_plugin(stage *self) {
    int before = self->changes;
    while (self->changes == before) {
        struct pollfd descriptor = { .fd = ki_engine_fd(self->clock.engine), .events = POLLIN };
        poll(&descriptor, 1, KI_SUBPROCESS_POLL_MS);
        assert_true(test_engine_advance(&self->clock, KI_SUBPROCESS_POLL_MS));
    }
}

static ki_credential_state ask(stage *self, ki_error *err) {
    ki_credential_set *set = NULL;
    ki_credential_state state = ki_credentials_get(self->credentials, &set, err);
    ki_credential_set_unref(set);
    return state;
}

TEST(a_plugin_is_run_once_for_all_and_again_when_its_response_expires_or_is_rejected) {
    stage self;
    prepare(&self);
    use_plugin(&self, RESPONSE("\"token\":\"one\""));
    start(&self);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    assert_string_equal(header(&self), "Authorization: Bearer one");
    assert_string_equal(header(&self), "Authorization: Bearer one");
    assert_int_equal(lines_of("runs"), 1);
    /* refused: once for all who had it */
    use_plugin(&self, RESPONSE("\"token\":\"two\",\"expirationTimestamp\":\"2001-01-01T00:00:00Z\""));
    ki_credential_set *old = ki_credentials_current(self.credentials);
    ki_credentials_rejected(self.credentials, old);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    ki_credentials_rejected(self.credentials, old);
    ki_credential_set_unref(old);
    assert_int_equal(lines_of("runs"), 1);
    /* what it gave has expired already: who waited for it gets it, and it is asked for anew a little later, not at
     * once */
    assert_string_equal(header(&self), "Authorization: Bearer two");
    assert_string_equal(header(&self), "Authorization: Bearer two");
    assert_int_equal(lines_of("runs"), 1);
    pass(&self, KI_EXEC_RETRY_S);
    use_plugin(&self, RESPONSE("\"token\":\"three\",\"expirationTimestamp\":\"2999-01-01T00:00:00Z\""));
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    assert_string_equal(header(&self), "Authorization: Bearer three");
    assert_int_equal(lines_of("runs"), 1);
    finish(&self);
}

TEST(a_certificate_from_a_plugin_is_another_set_of_certificates) {
    stage self;
    prepare(&self);
    put(&self.config.ca, PEM("A"));
    use_plugin(&self, RESPONSE(PAIR("c")));
    start(&self);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    assert_null(header(&self));
    uint64_t number = ki_credentials_tls_number(self.credentials);
    refuse(&self);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    assert_int_equal(ki_credentials_tls_number(self.credentials), number); /* the same one again */
    use_plugin(&self, RESPONSE(PAIR("d")));
    refuse(&self);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    assert_int_equal(ki_credentials_tls_number(self.credentials), number + 1);
    ki_credential_set *set = ki_credentials_current(self.credentials);
    assert_string_equal(set->ca.data, PEM("A"));
    assert_string_equal(set->client_certificate.data, PEM("d"));
    ki_credential_set_unref(set);
    finish(&self);
}

TEST(each_way_in_which_a_plugin_fails_is_one_line_with_command_and_remedy) {
    static const struct {
        const char *script, *message;
        ki_status code;
    } cases[] = {
        { "exit 3\n", "it failed with exit status 3; ", KI_ERR_CONFIG },
        { "echo first >&2; echo 'log in first' >&2; exit 3\n", "exit status 3 and printed: log in first; ",
          KI_ERR_CONFIG },
        { "kill -9 $$\n", "it was killed by signal 9; ", KI_ERR_CONFIG },
        { "echo secret\n", "its output is not JSON; ", KI_ERR_CONFIG },
        { "exec >&-\n", "it printed nothing; ", KI_ERR_CONFIG },
        { "printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
          "\"status\":{\"token\":\"%065537d\"}}' 1\n",
          "status.token is longer than 65536 bytes", KI_ERR_CONFIG },
        { "printf %s '{\"kind\":\"a\\nb\"}'\n", "has the kind \"a b\"", KI_ERR_CONFIG },
        { "head -c 100000000 /dev/zero\n", "it printed more than 1048576 bytes; ", KI_ERR_LIMIT },
        { RESPONSE("\"a\":1"), "neither token nor", KI_ERR_CONFIG },
        { RESPONSE("\"clientCertificateData\":\"bar\",\"clientKeyData\":\"foo\""),
          "has no PEM block (-----BEGIN ...); ", KI_ERR_CONFIG },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage self;
        prepare(&self);
        put(&self.config.exec.install_hint, "get it\nthere");
        use_plugin(&self, cases[i].script);
        start(&self);
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ask(&self, &err), KI_CREDENTIALS_PENDING);
        wait_for_plugin(&self);
        assert_int_equal(ask(&self, &err), KI_CREDENTIALS_FAILED);
        if (err.code != cases[i].code || err.category != KI_CATEGORY_CREDENTIALS ||
            !strstr(err.message, cases[i].message))
            fail_msg("%s: %d %s", cases[i].script, (int)err.code, err.message);
        assert_non_null(strstr(err.message, "exec plugin /"));
        assert_non_null(strstr(err.message, "; get it there"));
        assert_null(strchr(err.message, '\n'));
        assert_null(strstr(err.message, "secret"));
        /* It is not run again and again, but again. */
        assert_int_equal(ask(&self, &err), KI_CREDENTIALS_FAILED);
        assert_int_equal(lines_of("runs"), 1);
        pass(&self, KI_EXEC_RETRY_S);
        assert_int_equal(ask(&self, &err), KI_CREDENTIALS_PENDING);
        finish(&self); /* while it runs */
    }
}

TEST(a_plugin_that_cannot_be_run_or_hangs_is_reported_too) {
    static const struct {
        const char *command, *message;
        ki_exec_interactive mode;
        ki_status code;
        const char *hint;
    } cases[] = {
        { "no-such-plugin-anywhere", "no such program in PATH; check users.user.exec", KI_EXEC_IF_AVAILABLE,
          KI_ERR_NOT_FOUND, NULL },
        { "no-such-plugin-anywhere", "no such program in PATH; some install hint", KI_EXEC_IF_AVAILABLE,
          KI_ERR_NOT_FOUND, "some install hint" },
        { "/nonexistent/plugin", "No such file or directory; ", KI_EXEC_IF_AVAILABLE, KI_ERR_NOT_FOUND, NULL },
        { "/etc/passwd", "Permission denied; ", KI_EXEC_IF_AVAILABLE, KI_ERR_SYSTEM, NULL },
        { "true", "it printed nothing; ", KI_EXEC_NEVER, KI_ERR_CONFIG, NULL }, /* found in PATH */
        { "true", "interactiveMode is Always", KI_EXEC_ALWAYS, KI_ERR_UNSUPPORTED, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stage self;
        if (cases[i].command[0] == '/' && !ki_process_reports_failed_exec())
            continue;
        prepare(&self);
        put(&self.config.exec.command, cases[i].command);
        if (cases[i].hint)
            put(&self.config.exec.install_hint, cases[i].hint);
        self.config.exec.interactive_mode = cases[i].mode;
        use_plugin(&self, "");
        start(&self);
        ki_error err = KI_ERROR_INIT;
        if (ask(&self, &err) == KI_CREDENTIALS_PENDING) {
            wait_for_plugin(&self);
            assert_int_equal(ask(&self, &err), KI_CREDENTIALS_FAILED);
        }
        if (err.code != cases[i].code || !strstr(err.message, cases[i].message))
            fail_msg("%s: %d %s", cases[i].command, (int)err.code, err.message);
        assert_int_equal(err.category, KI_CATEGORY_CREDENTIALS);
        finish(&self);
    }
    stage self;
    prepare(&self);
    use_plugin(&self, "sleep 1000\n");
    start(&self);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ask(&self, &err), KI_CREDENTIALS_PENDING);
    self.clock.now += KI_SECONDS(KI_EXEC_TIME_LIMIT_S);
    wait_for_plugin(&self);
    assert_int_equal(ask(&self, &err), KI_CREDENTIALS_FAILED);
    assert_int_equal(err.code, KI_ERR_TIMEOUT);
    assert_non_null(strstr(err.message, "it did not end within 60 s; "));
    finish(&self);
}

TEST(a_plugin_gets_what_the_config_says) {
    stage self;
    prepare(&self);
    use_plugin(&self, "[ \"$A\" = 'b c' ] && [ \"$1 $2\" = 'x y' ] && [ -n \"$PATH\" ] || exit 9\n"
                      "case $KUBERNETES_EXEC_INFO in *'\"interactive\":false'*) ;; *) exit 8 ;; esac\n" RESPONSE(
                          "\"token\":\"t\""));
    ki_secret arguments[] = { { (char[]){ "x" }, 1 }, { (char[]){ "y" }, 1 } };
    ki_secret_pair environment[] = { { { (char[]){ "A" }, 1 }, { (char[]){ "b c" }, 3 } } };
    self.config.exec.arguments = (ki_secret_list){ .items = arguments, .count = 2 };
    self.config.exec.environment = (ki_secret_pairs){ .items = environment, .count = 1 };
    setenv("A", "the host's", 1);
    start(&self);
    assert_int_equal(ask(&self, NULL), KI_CREDENTIALS_PENDING);
    wait_for_plugin(&self);
    unsetenv("A");
    assert_string_equal(header(&self), "Authorization: Bearer t");
    finish(&self);
}

TEST(what_is_given_outright_needs_no_plugin) {
    stage self;
    prepare(&self);
    use_plugin(&self, "exit 1\n");
    put(&self.config.token, "t");
    start(&self);
    assert_string_equal(header(&self), "Authorization: Bearer t");
    assert_int_equal(lines_of("runs"), 0);
    finish(&self);
}

TEST(every_lack_of_memory_is_reported) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        stage self;
        memset(&self, 0, sizeof self);
        self.config.allocator = ki_allocator_default;
        put(&self.config.server, "https://there");
        put(&self.config.ca, PEM("A"));
        use_plugin(&self, RESPONSE("\"token\":\"one\"," PAIR("c")));
        ki_error err = KI_ERROR_INIT;
        bool told = !test_engine_open(&self.clock, &memory.allocator, 1);
        if (!told && ki_credentials_new(self.clock.engine, &self.config, on_change, &self, &self.credentials, &err))
            told = err.code == KI_ERR_NO_MEMORY;
        if (!told && ask(&self, &err) == KI_CREDENTIALS_PENDING)
            wait_for_plugin(&self);
        if (!told && ask(&self, &err) == KI_CREDENTIALS_FAILED)
            told = err.code == KI_ERR_NO_MEMORY;
        if (told != scarce_memory_failed(&memory))
            fail_msg("allocation %zu: %s", memory.fail_at, err.message);
        finish(&self);
    }
}

TEST_GROUP(credentials, folder_open, folder_close);
