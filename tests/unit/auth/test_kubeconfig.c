/* test_kubeconfig.c: every field of a kubeconfig, what wins over what, and what is refused with which words. */

#include "tests/support/config_files.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KUBECONFIG_TEST(name) TEST_WITH(config_files_open, folder_close, name)

static ki_config *read_one(const char *cluster, const char *user) {
    return config_files_read(&KI_CONFIG_OPTIONS(.kubeconfig = config_files_write(cluster, user)));
}

static void assert_in_folder(const ki_secret *path, const char *name) {
    assert_secret(path, name ? folder_file(name) : NULL);
}

#define HTTPS "server: 'https://a'"
#define V1 "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "

/* ------------------------------------------------------------------------------------------------------------------ */

KUBECONFIG_TEST(every_field_of_a_cluster_is_read) {
    ki_config *config =
        read_one("server: 'HTTPS://a:1/', tls-server-name: n.example, certificate-authority: pki/ca.pem, "
                 "proxy-url: 'socks5://me:pw@p.example:1080/x', disable-compression: yes",
                 "");
    assert_secret(&config->server, "https://a:1");
    assert_secret(&config->tls_server_name, "n.example");
    assert_secret(&config->ca, PEM("CA-FILE"));
    assert_in_folder(&config->ca_file, "pki/ca.pem");
    assert_secret(&config->proxy_url, "socks5://me:pw@p.example:1080");
    assert_true(config->disable_compression);
    assert_false(config->insecure_skip_tls_verify);
    ki_config_description d = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &d);
    assert_string_equal(d.proxy_url, "socks5://p.example:1080"); /* for people: no password */
    assert_null(d.warnings);
    ki_config_free(config);
}

KUBECONFIG_TEST(every_field_of_a_user_is_read) {
    ki_config *config =
        read_one(HTTPS, "token: t, client-certificate: pki/cert.pem, client-key-data: "
                        "LS0tLS1CRUdJTiBLRVktLS0tLQpBQUFBCi0tLS0tRU5EIEtFWS0tLS0tCg==, as: bob, as-uid: '7', "
                        "as-groups: [g1, g2], as-user-extra: {why: [a, b], 'x/z': [c]}");
    assert_secret(&config->token, "t");
    assert_secret(&config->client_certificate, PEM("CERT-FILE"));
    assert_in_folder(&config->client_certificate_file, "pki/cert.pem");
    assert_secret(&config->client_key, PEM("KEY"));
    assert_secret(&config->client_key_file, NULL);
    assert_secret(&config->impersonate_user, "bob");
    assert_secret(&config->impersonate_uid, "7");
    assert_int_equal(config->impersonate_groups.count, 2);
    assert_secret(&config->impersonate_groups.items[1], "g2");
    assert_int_equal(config->impersonate_extra.count, 3);
    assert_secret(&config->impersonate_extra.items[1].name, "why");
    assert_secret(&config->impersonate_extra.items[1].value, "b");
    assert_secret(&config->impersonate_extra.items[2].name, "x/z");
    ki_config_free(config);

    config = read_one(HTTPS, "username: me, password: 'p:w'");
    assert_secret(&config->username, "me");
    assert_secret(&config->password, "p:w");
    ki_config_free(config);
}

KUBECONFIG_TEST(every_field_of_a_plugin_is_read) {
    ki_config *config = read_one(
        HTTPS
        ", extensions: [{name: x, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {audience: foo, "
        "n-: [1, 1.5, yes, null, 'x']}}]",
        "exec: {" V1 "command: ./bin/plugin, args: [a, 'b c', ''], env: [{name: A, value: '1'}, {name: B}], "
        "provideClusterInfo: true, installHint: \"get \\e[1mit\\x7f\\n\\u0085\"}");
    const ki_exec_config *exec = &config->exec;
    assert_secret(&exec->api_version, "client.authentication.k8s.io/v1");
    assert_in_folder(&exec->command, "./bin/plugin");
    assert_int_equal(exec->arguments.count, 3);
    assert_secret(&exec->arguments.items[1], "b c");
    assert_secret(&exec->arguments.items[2], "");
    assert_int_equal(exec->environment.count, 2);
    assert_secret(&exec->environment.items[0].value, "1");
    assert_secret(&exec->environment.items[1].name, "B");
    assert_secret(&exec->environment.items[1].value, "");
    assert_true(exec->provide_cluster_info);
    assert_int_equal(exec->interactive_mode, KI_EXEC_NEVER);
    assert_secret(&exec->install_hint, "get U+001B[1mitU+007F\nU+0085");
    assert_secret(&exec->cluster_extension, "{\"audience\":\"foo\",\"n-\":[1,1.5,true,null,\"x\"]}");
    ki_config_free(config);

    static const struct {
        const char *text, *command;
        ki_exec_interactive mode;
    } cases[] = {
        { V1 "command: aws", "aws", KI_EXEC_NEVER },
        { "apiVersion: client.authentication.k8s.io/v1beta1, command: /bin/x", "/bin/x", KI_EXEC_IF_AVAILABLE },
        { "apiVersion: client.authentication.k8s.io/v1beta1, command: x, interactiveMode: Always", "x",
          KI_EXEC_ALWAYS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char user[512];
        snprintf(user, sizeof user, "exec: {%s}", cases[i].text);
        config = read_one(HTTPS, user);
        assert_secret(&config->exec.command, cases[i].command);
        assert_int_equal(config->exec.interactive_mode, cases[i].mode);
        assert_secret(&config->exec.cluster_extension, NULL);
        ki_config_free(config);
    }
}

KUBECONFIG_TEST(a_hint_loses_its_control_characters_and_nothing_else) {
    static const struct {
        const char *given, *want; /* as YAML has it; NULL: as it is */
    } cases[] = {
        { "\\e[1mbold tuna\\e[0m, fish, \\e[1mbold marlin\\e[0m",
          "U+001B[1mbold tunaU+001B[0m, fish, U+001B[1mbold marlinU+001B[0m" },
        { "\\e[2Aup up, \\e[2Cright right", "U+001B[2Aup up, U+001B[2Cright right" },
        { "clear: \\e[2J", "clear: U+001B[2J" },
        { "tuna\\nfish\\r\\nmarlin\\t\\r\\ntuna\\vfish\\fmarlin", "tuna\nfish\r\nmarlin\t\r\ntuna\vfish\fmarlin" },
        { "alpha: \u03b1, beta: \u03b2, gamma: \u03b3", NULL },
        { "tu\u0301na, fi\u0302sh, ma\u030Arlin", NULL },
        { "t1na, f2sh, t12a, f34h, m567n", NULL },
        { "here's a sentence; with! some...punctuation ;)", NULL },
        { "\u222b\u2081\u207F f(x) dx \u2248 \u2211\u2090\u208C\u2081\u207F f(x), a \u2208 \u2115", NULL },
        { "a paragraph\\Pand here\u2003are\u2003em\u2003spaces",
          "a paragraph\u2029and here\u2003are\u2003em\u2003spaces" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char user[512];
        snprintf(user, sizeof user, "exec: {" V1 "command: x, installHint: \"%s\"}", cases[i].given);
        ki_config *config = read_one(HTTPS, user);
        assert_secret(&config->exec.install_hint, cases[i].want ? cases[i].want : cases[i].given);
        ki_config_free(config);
    }
}

KUBECONFIG_TEST(a_plugin_is_for_those_who_have_nothing_else) {
    static const struct {
        const char *user;
        bool is_used;
    } cases[] = {
        { "exec: {" V1 "command: x}", true },
        { "exec: {" V1 "command: x}, as: bob", true },
        { "exec: {" V1 "command: x}, token: t", false },
        { "exec: {" V1 "command: x}, username: me", false },
        { "exec: {" V1 "command: x}, client-certificate: pki/cert.pem, client-key: pki/key.pem", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = read_one(HTTPS, cases[i].user);
        ki_config_description d = KI_CONFIG_DESCRIPTION_INIT;
        ki_config_describe(config, &d);
        assert_int_equal(config->exec.command.data != NULL, cases[i].is_used);
        assert_int_equal((d.credentials & KI_CREDENTIAL_EXEC) != 0, cases[i].is_used);
        assert_int_equal(d.warnings == NULL, cases[i].is_used);
        ki_config_free(config);
    }
}

KUBECONFIG_TEST(a_proxy_is_a_url_of_a_scheme_that_is_known) {
    static const struct {
        const char *given, *want; /* NULL: refused */
        const char *says;
    } cases[] = {
        { "socks5://example.com", "socks5://example.com", NULL },
        { "https://example.com", "https://example.com", NULL },
        { "http://example.com", "http://example.com", NULL },
        { "http://me:a%20b@example.com:1/path", "http://me:a%20b@example.com:1", NULL },
        { "socks6://example.com", NULL, "must begin with http://, https:// or socks5://" },
        { "example.com", NULL, "must begin with http://, https:// or socks5://" },
        { "chewbacca@example.com", NULL, "must begin with http://, https:// or socks5://" },
        { "http://me:secret%0a@example.com", NULL, "the user or password has an escaped control character" },
        { "http://me:secret%@example.com", NULL, "the user or password has a % that begins no escape such as %25" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char cluster[256];
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        snprintf(cluster, sizeof cluster, HTTPS ", proxy-url: '%s'", cases[i].given);
        ki_status status =
            ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = config_files_write(cluster, "")), &config, &err);
        assert_int_equal(status, cases[i].want ? KI_OK : KI_ERR_CONFIG);
        if (config)
            assert_secret(&config->proxy_url, cases[i].want);
        else
            assert_true(strstr(err.message, "proxy-url: ") && strstr(err.message, cases[i].says));
        ki_config_free(config);
    }
    ki_config *config = read_one(HTTPS, "");
    assert_secret(&config->proxy_url, NULL);
    ki_config_free(config);
}

/* As on client-go's wire: the file's token is the fresher one. */
KUBECONFIG_TEST(a_token_file_wins_as_long_as_it_can_be_read) {
    static const struct {
        const char *user, *token, *file;
        bool warns;
    } cases[] = {
        { "token: t", "t", NULL, false },
        { "tokenFile: token", "file-token", "token", false },
        { "token: t, tokenFile: token", "file-token", "token", false },
        { "token: t, tokenFile: none", "t", "none", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = read_one(HTTPS, cases[i].user);
        assert_secret(&config->token, cases[i].token);
        assert_in_folder(&config->token_file, cases[i].file);
        assert_int_equal(config->warnings.data != NULL, cases[i].warns);
        ki_config_free(config);
    }
}

KUBECONFIG_TEST(a_contradiction_is_an_error_that_names_file_field_and_remedy) {
    static const struct {
        const char *cluster, *user, *message; /* what follows the file */
    } cases[] = {
        { HTTPS, "token: t, username: me, password: pw",
          ", line 12: users[u].username: conflicts with token; keep one of them" },
        { HTTPS, "tokenFile: token, username: me",
          ", line 12: users[u].username: conflicts with tokenFile; keep one of them" },
        { HTTPS, "password: secret", ", line 12: users[u].password: without username; set both" },
        { HTTPS, "username: 'a:b'", ": username: has a ':', which separates user name and password" },
        { HTTPS, "as-groups: [g]", ": as-groups: without as; name the user to impersonate" },
        { HTTPS, "as-uid: x", ": as-uid: without as; name the user to impersonate" },
        { HTTPS, "as-user-extra: {a: [b]}", ": as-user-extra: without as; name the user to impersonate" },
        { HTTPS, "as: b, as-user-extra: {'': [b]}", ": as-user-extra: an empty name" },
        { HTTPS, "as: \"b\\nX: y\"", ": as: has a line end or another control character" },
        { HTTPS, "as: b, as-groups: [\"a\\x7f\"]", ": as-groups: has a line end or another control character" },
        { HTTPS,
          "client-certificate: pki/cert.pem, client-certificate-data: "
          "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
          ", line 12: users[u].client-certificate: set as a file and as data; keep one of them" },
        { HTTPS,
          "client-certificate: pki/cert.pem, client-key: pki/key.pem, client-key-data: "
          "LS0tLS1CRUdJTiBYLS0tLS0KQUFBQQotLS0tLUVORCBYLS0tLS0K",
          ", line 12: users[u].client-key: set as a file and as data; keep one of them" },
        { HTTPS ", certificate-authority: pki/ca.pem, insecure-skip-tls-verify: true", "",
          ", line 9: clusters[c].insecure-skip-tls-verify: conflicts with certificate-authority; keep one of them" },
        { HTTPS ", proxy-url: 'ftp://secret@p'", "", ": proxy-url: must begin with http://, https:// or socks5://" },
        { HTTPS ", proxy-url: 'http://me:secret@:1'", "", ": proxy-url: has no valid host and port" },
        { HTTPS ", proxy-url: \"http://me:secret@p\\n\"", "", ": proxy-url: has a space or a control character" },
        { HTTPS ", tls-server-name: 'a/b'", "", ": tls-server-name: not a host name" },
        { "server: 'https://a<b'", "", ": server: https://a<b has no valid host and port" },
        { HTTPS, "auth-provider: {name: gcp}",
          ", line 12: users[u].auth-provider: Kubernetes has removed auth providers such as \"gcp\": run "
          "gcloud container clusters get-credentials with gke-gcloud-auth-plugin installed" },
        { HTTPS, "auth-provider: {name: own}",
          ", line 12: users[u].auth-provider: Kubernetes has removed auth providers such as \"own\": use exec, a "
          "token or a client certificate" },
        { HTTPS, "auth-provider: {name: oidc}, exec: {" V1 "command: x}",
          ", line 12: users[u].auth-provider: conflicts with exec; keep exec" },
        { HTTPS, "exec: {command: x, interactiveMode: Never}",
          ", line 12: users[u].exec.apiVersion: not set; use client.authentication.k8s.io/v1 or "
          "client.authentication.k8s.io/v1beta1" },
        { HTTPS, "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}",
          ", line 12: users[u].exec.apiVersion: client.authentication.k8s.io/v1alpha1 is not supported; update the "
          "plugin and use client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1" },
        { HTTPS, "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}",
          ", line 12: users[u].exec.interactiveMode: not set; with this apiVersion it must be one of Never, "
          "IfAvailable or Always" },
        { HTTPS, "exec: {" V1 "interactiveMode: Perhaps, command: x}",
          ", line 12: users[u].exec.interactiveMode: must be Never, IfAvailable or Always" },
        { HTTPS, "exec: {" V1 "args: [a]}",
          ", line 12: users[u].exec.command: not set; name the program that prints the credentials" },
        { HTTPS, "exec: {" V1 "command: x, args: [\"\\0\"]}",
          ", line 12: users[u].exec.args: must not contain a zero byte" },
        { HTTPS, "exec: {" V1 "command: x, env: [{name: A}, {value: v}]}",
          ", line 12: users[u].exec.env: entry 1 has no name" },
        { HTTPS, "exec: {" V1 "command: x, env: [{name: 'A=B'}]}",
          ", line 12: users[u].exec.env: entry 0: not a valid name or value of a variable" },
        { HTTPS, "token: 12", ", line 12: users[u].token: must be a text, not a number; put it in quotes" },
        { HTTPS, "exec: {" V1 "command: x, env: [{name: [a]}]}",
          ", line 12: users[u].exec.env[0].name: must be a text, not a list" },
        { HTTPS ", insecure-skip-tls-verify: 'true'", "",
          ", line 9: clusters[c].insecure-skip-tls-verify: must be true or false, not a text; remove the quotes" },
        { HTTPS ", certificate-authority-data: 'W*=='", "",
          ", line 9: clusters[c].certificate-authority-data: is not base64; write the file's bytes with base64 -w0, or "
          "name the file" },
        { HTTPS ", certificate-authority-data: 'WB=='", "",
          ", line 9: clusters[c].certificate-authority-data: is not base64; write the file's bytes with base64 -w0, or "
          "name the file" },
        { HTTPS ", certificate-authority-data: Z2FyYmFnZQ==", "",
          ": certificate-authority: the data has no PEM block (-----BEGIN ...); openssl can convert other formats" },
        { HTTPS, "client-certificate-data: Z2FyYmFnZQ==, client-key: pki/key.pem",
          ": client-certificate: the data has no PEM block (-----BEGIN ...); openssl can convert other formats" },
        { HTTPS, "client-certificate: pki/cert.pem, client-key-data: Z2FyYmFnZQ==",
          ": client-key: the data has no PEM block (-----BEGIN ...); openssl can convert other formats" },
        { HTTPS,
          "client-certificate: pki/cert.pem, client-key-data: "
          "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFURSBLRVktLS0tLQpBQUFBCi0tLS0tRU5EIEVOQ1JZUFRFRCBQUklWQVRFIEtFWS0tLS0t",
          ": client-key: the data has a password, which is not supported: openssl pkey removes it" },
        { HTTPS ", extensions: [{name: x}, {name: x}]", "",
          ", line 9: clusters[c].extensions[x]: the name is used twice" },
        { HTTPS ", extensions: [{name: client.authentication.k8s.io/exec, extension: .inf}]",
          "exec: {" V1 "command: x}",
          ": clusters[c].extensions[client.authentication.k8s.io/exec]: line 9: a number that JSON does not have" },
        { "server: 'http://a'", "username: me",
          ": server: http://a: credentials are not sent to a server that is not https; use an https "
          "server or remove them" },
        { "server: 'http://a'", "exec: {" V1 "command: x}",
          ": server: http://a: credentials are not sent to a server that is not https; use an https server or remove "
          "them" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        char want[KI_ERROR_MESSAGE_MAX];
        snprintf(want, sizeof want, "kubeconfig %s%s", folder_file("config"), cases[i].message);
        ki_config_options options =
            KI_CONFIG_OPTIONS(.kubeconfig = config_files_write(cases[i].cluster, cases[i].user));
        ki_status status = ki_config_new(&options, &config, &err);
        if (!status || strcmp(err.message, want) != 0)
            fail_msg("case %zu: %d, %s, not %s", i, (int)status, ki_error_message(&err), want);
        assert_true(status == KI_ERR_CONFIG || status == KI_ERR_UNSUPPORTED);
        assert_int_equal(err.category, KI_CATEGORY_REQUEST);
        assert_null(strstr(err.message, "secret"));
    }
}

/* The message's %s are the certificate's and the key's path. */
KUBECONFIG_TEST(a_key_that_does_not_fit_is_rejected_with_both_files_and_the_remedy) {
#define TLS(name) KI_TEST_DATA_DIR "/tls/" name
    static const struct {
        const char *user, *message;
    } cases[] = {
        { "client-certificate: " TLS("client.pem") ", client-key: " TLS("server.key"),
          ": client-key: " TLS("server.key") " is not the key of client-certificate (" TLS(
              "client.pem") "); use a certificate and a key that were issued together" },
        { "client-certificate: " TLS("client.key") ", client-key: " TLS("client.pem"),
          ": client-certificate: " TLS("client.key") " has a private key and no certificate; check that "
                                                     "client-certificate and client-key are not swapped" },
        { "client-certificate: " TLS("client.pem") ", client-key: " TLS("ca.pem"),
          ": client-key: " TLS("ca.pem") " has a certificate and no private key; use the key of the certificate" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        const char *file = config_files_write(HTTPS, cases[i].user);
        char want[2 * KI_ERROR_MESSAGE_MAX];
        snprintf(want, sizeof want, "kubeconfig %s%s", file, cases[i].message);
        want[KI_ERROR_MESSAGE_MAX - 1] = '\0'; /* where the folders' names are long ones */
        assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = file), &config, &err), KI_ERR_CONFIG);
        assert_string_equal(err.message, want);
    }
    /* Flags are no mistakes of the kubeconfig's. */
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.server = "https://a", .client_certificate = TLS("rsa.pem"),
                                                      .client_key = TLS("client.key")),
                                   &config, &err),
                     KI_ERR_CONFIG);
    assert_non_null(strstr(err.message, "client-key: " TLS("client.key") " is not the key of"));
    assert_null(strstr(err.message, "kubeconfig"));
    ki_config_free(read_one(HTTPS, "client-certificate: " TLS("client.pem") ", client-key: " TLS("client-old.key")));
}

KUBECONFIG_TEST(a_name_that_is_there_twice_is_rejected_in_each_list) {
    static const char *const lists[] = { "clusters", "users", "contexts", "extensions" };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char text[256], want[64];
        snprintf(text, sizeof text, "current-context: x\n%s:\n- {name: a}\n- {name: b}\n- {name: a}\n", lists[i]);
        snprintf(want, sizeof want, "line 5: %s[a]: the name is used twice", lists[i]);
        folder_write("config", text);
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err),
                         KI_ERR_CONFIG);
        assert_non_null(strstr(err.message, want));
    }
}

KUBECONFIG_TEST(another_kind_of_file_is_rejected) {
    static const struct {
        const char *text, *message;
    } cases[] = { { "kind: Pod\n", "line 1: kind: is \"Pod\", not Config" },
                  { "kind: Config\napiVersion: v2\n", "line 2: apiVersion: is \"v2\", not v1" },
                  { "current-context: 'a\tb'\n", "there is no context \"a b\"" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_write("config", cases[i].text);
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err),
                         KI_ERR_CONFIG);
        assert_non_null(strstr(err.message, cases[i].message));
    }
}

/* 300 users with 300 lists of 10,000 texts each: nine hundred million values in a small file. */
KUBECONFIG_TEST(aliases_that_multiply_are_rejected) {
    static char text[128 * 1024];
    char *at = stpcpy(text, "x: &l [a");
    for (size_t i = 0; i < 10000; i++)
        at = stpcpy(at, ",a");
    at = stpcpy(at, "]\ny: &u {as-user-extra: {k: [a]");
    for (size_t i = 0; i < 300; i++)
        at += sprintf(at, ", k%zu: *l", i);
    at = stpcpy(at, "}}\nusers:\n");
    for (size_t i = 0; i < 300; i++)
        at += sprintf(at, "- {name: u%zu, user: *u}\n", i);
    folder_write("config", text);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err),
                     KI_ERR_LIMIT);
    assert_non_null(strstr(err.message, "the document contains excessive aliasing"));
}

KUBECONFIG_TEST(what_nobody_knows_is_a_warning) {
    ki_config *config =
        read_one(HTTPS ", colour: green", "tokn: secret, exec: {" V1 "command: x, colour: green}, 'eyJhbGciOi.x': y");
    ki_config_description d = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &d);
    assert_non_null(d.warnings);
    assert_non_null(strstr(d.warnings, "line 9: clusters[c].colour: no such field; ignored\n"));
    assert_non_null(strstr(d.warnings, "line 12: users[u].tokn: no such field; ignored\n"));
    assert_non_null(strstr(d.warnings, "line 12: users[u].(a field): no such field; ignored\n"));
    assert_non_null(strstr(d.warnings, "line 12: users[u].exec.colour: no such field; ignored"));
    assert_null(strstr(d.warnings, "secret"));
    ki_config_free(config);
}

KUBECONFIG_TEST(a_json_kubeconfig_is_read) {
    folder_write(
        "config",
        "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\n\t\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\","
        "\"context\":"
        "{\"cluster\":\"c\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"https:\\/\\/j\","
        "\"insecure-skip-tls-verify\":true}}],\"users\":[{\"name\":\"u\",\"user\":{\"token\":\"\\u0074\"}}]}");
    ki_config *config = config_files_read(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")));
    assert_secret(&config->server, "https://j");
    assert_secret(&config->token, "t");
    assert_true(config->insecure_skip_tls_verify);
    ki_config_free(config);
}

KUBECONFIG_TEST(a_file_named_twice_in_the_list_is_read_once) {
    const char *file = config_files_write(HTTPS, "token: t");
    char list[1024];
    snprintf(list, sizeof list, "%s:%s:%s", file, folder_file("none"), file);
    setenv("KUBECONFIG", list, 1);
    ki_config *config = config_files_read(NULL);
    assert_secret(&config->files, file);
    ki_config_free(config);

    char b[256], c[256], once[1024];
    folder_write("b", "kind: Config\n");
    folder_write("c", "kind: Config\n");
    strcpy(b, folder_file("b"));
    strcpy(c, folder_file("c"));
    snprintf(list, sizeof list, "%s:%s:%s:%s:%s:%s", b, b, file, file, c, file);
    snprintf(once, sizeof once, "%s:%s:%s", b, file, c); /* in the order of the first of each */
    setenv("KUBECONFIG", list, 1);
    config = config_files_read(NULL);
    assert_secret(&config->files, once);
    ki_config_free(config);
}

KUBECONFIG_TEST(files_that_are_all_missing_are_named) {
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    setenv("KUBECONFIG", "/nowhere/one:/nowhere/two", 1);
    assert_int_equal(ki_config_new(NULL, &config, &err), KI_ERR_NOT_FOUND);
    assert_string_equal(err.message, "no kubeconfig: no file of KUBECONFIG (/nowhere/one:/nowhere/two) exists, and no "
                                     "server is set");
    setenv("KUBECONFIG", "", 1);
    assert_int_equal(ki_config_new(NULL, &config, &err), KI_ERR_NOT_FOUND);
    assert_string_equal(err.message, "no kubeconfig: KUBECONFIG is not set, ~/.kube/config does not exist, and no "
                                     "server is set");
}

/* Nothing leads to it, so nobody checks it. */
KUBECONFIG_TEST(a_context_without_a_name_is_never_chosen) {
    static const struct {
        const char *current, *context, *server; /* NULL: refused */
    } cases[] = {
        { "main", NULL, "https://a" },
        { "main", "", "https://a" }, /* none is given */
        { "''", NULL, NULL },
        { "''", "main", "https://a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        snprintf(text, sizeof text,
                 "current-context: %s\ncontexts:\n- {name: '', context: {cluster: missing, user: missing}}\n"
                 "- {name: main, context: {cluster: c}}\nclusters: [{name: c, cluster: {" HTTPS "}}]\n",
                 cases[i].current);
        folder_write("config", text);
        ki_status status = ki_config_new(
            &KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config"), .context = cases[i].context), &config, &err);
        if (status != (cases[i].server ? KI_OK : KI_ERR_CONFIG))
            fail_msg("case %zu: %d, %s", i, (int)status, ki_error_message(&err));
        if (config)
            assert_string_equal(ki_config_server(config), cases[i].server);
        else
            assert_non_null(strstr(err.message, "current-context is not set"));
        ki_config_free(config);
    }
}

KUBECONFIG_TEST(an_explicit_file_is_read_alone) {
    config_files_write(HTTPS, "token: t");
    folder_write("other", "current-context: x\nusers: [{name: x, user: {token: 1}}]\n"); /* wrong, and not looked at */
    setenv("KUBECONFIG", folder_file("other"), 1);
    ki_config *config = config_files_read(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")));
    assert_secret(&config->context, "main");
    assert_secret(&config->files, folder_file("config"));
    ki_config_free(config);
}

/* Entries of the files are not mixed: of one that is in two files the first counts, whole. */
KUBECONFIG_TEST(of_an_entry_in_two_files_the_first_counts_whole) {
    folder_write(
        "first",
        "users: [{name: u, user: {username: me}}]\ncontexts: [{name: main, context: {cluster: c, user: u}}]\n");
    const char *second = config_files_write(HTTPS, "password: pw");
    char list[1024];
    snprintf(list, sizeof list, "%s:%s", folder_file("first"), second);
    setenv("KUBECONFIG", list, 1);
    ki_config *config = config_files_read(NULL);
    assert_secret(&config->username, "me");
    assert_secret(&config->password, NULL);
    assert_string_equal(ki_config_namespace(config), "default");
    ki_config_free(config);
}

/* Relative to the folder that the kubeconfig is in, whatever the working directory is or becomes. */
KUBECONFIG_TEST(relative_paths_become_absolute) {
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    config_files_write(HTTPS ", certificate-authority: pki/ca.pem", "tokenFile: ./token");
    assert_int_equal(chdir(folder_path()), 0);
    ki_config *config = config_files_read(
        &KI_CONFIG_OPTIONS(.kubeconfig = "config", .client_certificate = "pki/cert.pem", .client_key = "pki/key.pem"));
    assert_in_folder(&config->ca_file, "pki/ca.pem");
    assert_in_folder(&config->client_certificate_file, "pki/cert.pem");
    assert_in_folder(&config->client_key_file, "pki/key.pem");
    ki_config_free(config);
    folder_write("sub/config",
                 "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], clusters: [{name: c, "
                 "cluster: {" HTTPS "}}], users: [{name: u, user: {tokenFile: ../token}}]}");
    config = config_files_read(&KI_CONFIG_OPTIONS(.kubeconfig = "sub/config"));
    assert_in_folder(&config->token_file, "sub/../token");
    assert_secret(&config->token, "file-token");
    ki_config_free(config);
    assert_int_equal(chdir(before), 0);
}
