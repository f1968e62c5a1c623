/* test_config_options.c: the program's options over a kubeconfig or a pod's files, and what a config tells of
 * itself. */

#include "src/base/memory.h"
#include "tests/support/config_files.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG \
    "current-context: main\n" \
    "contexts:\n" \
    "- {name: main, context: {cluster: c, user: u, namespace: ns1}}\n" \
    "- {name: second, context: {cluster: other, user: token, namespace: ns2}}\n" \
    "- {name: broken, context: {cluster: gone, user: gone}}\n" \
    "clusters:\n" \
    "- {name: c, cluster: {server: 'https://c', tls-server-name: n.c, proxy-url: 'http://p.c', " \
    "certificate-authority: pki/ca.pem}}\n" \
    "- {name: other, cluster: {server: 'https://other', insecure-skip-tls-verify: true}}\n" \
    "- {name: bad-ca, cluster: {server: 'https://bad', certificate-authority: none.pem}}\n" \
    "- {name: plain, cluster: {server: 'http://plain'}}\n" \
    "users:\n" \
    "- {name: u, user: {client-certificate: pki/cert.pem, client-key: pki/key.pem, as: alice, as-uid: '1', " \
    "as-groups: [admins], " \
    "as-user-extra: {a: [b]}}}\n" \
    "- {name: token, user: {token: t}}\n" \
    "- {name: basic, user: {username: me, password: pw}}\n" \
    "- {name: bad, user: {tokenFile: none}}\n" \
    "- {name: old, user: {auth-provider: {name: gcp}}}\n" \
    "- {name: both, user: {username: me, token: t}}\n" \
    "- {name: nobody}\n"

static int set_up(void **state) {
    if (config_files_open(state))
        return 1;
    folder_write("other.pem", PEM("OTHER"));
    folder_write("config", CONFIG);
    setenv("KUBECONFIG", folder_file("config"), 1);
    return 0;
}

#define CONFIG_OPTIONS_TEST(name) TEST_WITH(set_up, folder_close, name)

static void assert_text(const ki_secret *secret, const char *want) {
    if (!want)
        assert_null(secret->data);
    else
        assert_string_equal(secret->data ? secret->data : "(none)", want);
}

#define WITH(...) config_files_read(&KI_CONFIG_OPTIONS(__VA_ARGS__))

/* ------------------------------------------------------------------------------------------------------------------ */

CONFIG_OPTIONS_TEST(context_cluster_and_user_are_chosen_by_name) {
    ki_config *config = WITH(.context = "second");
    assert_string_equal(ki_config_server(config), "https://other");
    assert_string_equal(ki_config_namespace(config), "ns2");
    assert_text(&config->token, "t");
    ki_config_free(config);

    config = WITH(.cluster = "other", .user = "basic");
    assert_string_equal(ki_config_server(config), "https://other");
    assert_string_equal(ki_config_namespace(config), "ns1");
    assert_text(&config->username, "me");
    assert_text(&config->client_certificate, NULL);
    ki_config_free(config);

    config = WITH(.context = "second", .cluster = "c", .user = "token", .server = "https://modified:1", .token = "mine",
                  .namespace_name = "foobar"); /* all of them at once */
    assert_string_equal(ki_config_server(config), "https://modified:1");
    assert_string_equal(ki_config_namespace(config), "foobar");
    assert_text(&config->token, "mine");
    assert_text(&config->context, "second");
    ki_config_free(config);

    config = WITH(.context = "broken", .cluster = "c", .user = "nobody");
    assert_string_equal(ki_config_server(config), "https://c");
    ki_config_free(config);

    static const struct {
        const char *context, *cluster, *user, *message;
        ki_status want;
    } bad[] = {
        { "none", NULL, NULL, "there is no context \"none\"; there are: ", KI_ERR_NOT_FOUND },
        { NULL, "none", NULL, "there is no cluster \"none\"", KI_ERR_NOT_FOUND },
        { NULL, NULL, "none", "there is no user \"none\"", KI_ERR_NOT_FOUND },
        { "broken", NULL, NULL, "contexts[broken].cluster: there is no cluster \"gone\"", KI_ERR_CONFIG },
        { "broken", "c", NULL, "contexts[broken].user: there is no user \"gone\"", KI_ERR_CONFIG },
        { NULL, "bad-ca", NULL, "clusters[bad-ca]: certificate-authority: cannot open", KI_ERR_CONFIG },
        { NULL, NULL, "old", "users[old].auth-provider: Kubernetes has removed auth providers", KI_ERR_CONFIG },
        { NULL, NULL, "both", "users[both].username: conflicts with token", KI_ERR_CONFIG },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ki_error err = KI_ERROR_INIT;
        config = NULL;
        ki_config_options options = KI_CONFIG_OPTIONS(.context = bad[i].context);
        options.cluster = bad[i].cluster;
        options.user = bad[i].user;
        assert_int_equal(ki_config_new(&options, &config, &err), bad[i].want);
        if (!strstr(err.message, bad[i].message))
            fail_msg("case %zu: %s", i, err.message);
        assert_non_null(strstr(err.message, folder_file("config")));
    }
}

CONFIG_OPTIONS_TEST(a_namespace_may_be_written_with_its_kind) {
    static const struct {
        const char *given, *want; /* NULL: refused */
    } cases[] = { { "x", "x" },
                  { "ns/x", "x" },
                  { "namespace/x", "x" },
                  { "Namespaces/x", "x" },
                  { "", "ns1" },
                  { "ns/", NULL },
                  { "a/b", NULL },
                  { "A", NULL },
                  { "-a", NULL },
                  { "a-", NULL },
                  { "a.b", NULL },
                  { "a-1", "a-1" },
                  { "ns/ns/x", NULL },
                  { "NS/x", "x" },
                  { "NAMESPACE/x", "x" },
                  { "nameSpace/x", "x" },
                  { "NAMESPACES/x", "x" },
                  { "NameSpaces/x", "x" },
                  { "namespaces/", NULL },
                  { "namespace/", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.namespace_name = cases[i].given), &config, NULL);
        assert_int_equal(status, cases[i].want ? KI_OK : KI_ERR_CONFIG);
        if (config)
            assert_string_equal(ki_config_namespace(config), cases[i].want);
        ki_config_free(config);
    }
}

CONFIG_OPTIONS_TEST(the_programs_way_to_know_the_server_replaces_the_files) {
    ki_config *config = WITH(.insecure_skip_tls_verify = true);
    assert_text(&config->ca, NULL);
    assert_text(&config->ca_file, NULL);
    assert_true(config->insecure_skip_tls_verify);
    ki_config_free(config);

    config = WITH(.context = "second", .certificate_authority = folder_file("other.pem"));
    assert_text(&config->ca, PEM("OTHER"));
    assert_text(&config->ca_file, folder_file("other.pem"));
    assert_false(config->insecure_skip_tls_verify);
    ki_config_free(config);

    config =
        WITH(.cluster = "bad-ca", .certificate_authority = folder_file("other.pem")); /* the file's is not looked at */
    assert_text(&config->ca, PEM("OTHER"));
    ki_config_free(config);

    config = WITH(.tls_server_name = "m");
    assert_text(&config->tls_server_name, "m");
    ki_config_free(config);

    config = WITH(.server = "https://b"); /* the file's name was another server's */
    assert_text(&config->tls_server_name, NULL);
    assert_text(&config->ca, PEM("CA-FILE"));
    ki_config_free(config);

    config =
        WITH(.server = "https://b", .tls_server_name = "m", .proxy_url = "socks5://q:1", .disable_compression = true);
    assert_text(&config->tls_server_name, "m");
    assert_text(&config->proxy_url, "socks5://q:1");
    assert_true(config->disable_compression);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(a_credential_of_the_program_replaces_all_of_the_files) {
    static const char *const users[] = { "u", "token", "basic", "bad", "nobody" };
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        ki_config *config = WITH(.user = users[i], .token = "mine");
        assert_text(&config->token, "mine");
        assert_text(&config->username, NULL);
        assert_text(&config->client_certificate, NULL);
        assert_text(&config->client_key_file, NULL);
        ki_config_free(config);

        config = WITH(.user = users[i], .username = "you", .password = "w");
        assert_text(&config->token, NULL);
        assert_text(&config->username, "you");
        assert_text(&config->password, "w");
        assert_text(&config->client_certificate, NULL);
        ki_config_free(config);

        config = WITH(.user = users[i], .client_certificate = folder_file("other.pem"),
                      .client_key = folder_file("other.pem"));
        assert_text(&config->token, NULL);
        assert_text(&config->username, NULL);
        assert_text(&config->client_certificate, PEM("OTHER"));
        assert_text(&config->client_key_file, folder_file("other.pem"));
        ki_config_free(config);

        config = WITH(.user = users[i], .token_file = folder_file("token"));
        assert_text(&config->token, "file-token");
        assert_text(&config->token_file, folder_file("token"));
        assert_text(&config->client_certificate, NULL);
        ki_config_free(config);
    }
    ki_config *config = WITH(.client_key = folder_file("other.pem")); /* a key alone is for the file's certificate */
    assert_text(&config->client_certificate, PEM("CERT-FILE"));
    assert_text(&config->client_key, PEM("OTHER"));
    ki_config_free(config);

    config = WITH(.token = "t", .token_file = folder_file("none"));
    assert_text(&config->token, "t");
    assert_text(&config->token_file, folder_file("none"));
    assert_non_null(config->warnings.data);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(contradicting_options_are_errors) {
    const char *pem = folder_file("other.pem");
    static const char *const no_group[] = { NULL };
    static const ki_config_extra no_value[] = { { "a", NULL } };
    const struct {
        ki_config_options options;
        ki_status want;
        const char *message;
    } cases[] = {
        { KI_CONFIG_OPTIONS(.token = "t", .username = "me"), KI_ERR_CONFIG, "username: conflicts with token" },
        { KI_CONFIG_OPTIONS(.password = "secret"), KI_ERR_CONFIG, "password: without username" },
        { KI_CONFIG_OPTIONS(.client_certificate = pem), KI_ERR_CONFIG,
          "client-certificate: without client-key; set both" },
        { KI_CONFIG_OPTIONS(.certificate_authority = pem, .insecure_skip_tls_verify = true), KI_ERR_CONFIG,
          "conflicts" },
        { KI_CONFIG_OPTIONS(.user = "nobody", .as_uid = "1"), KI_ERR_CONFIG, "as-uid: without as" },
        { KI_CONFIG_OPTIONS(.token_file = "/none"), KI_ERR_NOT_FOUND, "token_file: cannot open /none" },
        { KI_CONFIG_OPTIONS(.token = "a\nb"), KI_ERR_CONFIG, "token: has a line end" },
        { KI_CONFIG_OPTIONS(.server = "http://b", .token = "secret"), KI_ERR_CONFIG, "not https" },
        { KI_CONFIG_OPTIONS(.proxy_url = "p:1"), KI_ERR_CONFIG, "proxy-url: must begin with" },
        { KI_CONFIG_OPTIONS(.as = "x", .as_group_count = 1), KI_ERR_INVALID, "a count without a list" },
        { KI_CONFIG_OPTIONS(.as = "x", .as_groups = no_group, .as_group_count = 1), KI_ERR_INVALID,
          "number 0 is NULL" },
        { KI_CONFIG_OPTIONS(.as = "x", .as_user_extra = no_value, .as_user_extra_count = 1), KI_ERR_INVALID,
          "has a NULL" },
        { KI_CONFIG_OPTIONS(.watch_read_interval_ms = -1), KI_ERR_INVALID, "not between 0 and 1000" },
        { KI_CONFIG_OPTIONS(.watch_read_interval_ms = 1001), KI_ERR_INVALID, "not between 0 and 1000" },
        { KI_CONFIG_OPTIONS(.no_kubeconfig = true, .kubeconfig = pem), KI_ERR_CONFIG,
          "no_kubeconfig conflicts with kubeconfig" },
        { KI_CONFIG_OPTIONS(.no_kubeconfig = true, .context = "main"), KI_ERR_CONFIG,
          "no_kubeconfig conflicts with context" },
        { KI_CONFIG_OPTIONS(.no_kubeconfig = true, .cluster = "c"), KI_ERR_CONFIG,
          "no_kubeconfig conflicts with cluster" },
        { KI_CONFIG_OPTIONS(.no_kubeconfig = true, .user = "u"), KI_ERR_CONFIG, "no_kubeconfig conflicts with user" },
        { KI_CONFIG_OPTIONS(.certificate_authority = pem, .certificate_authority_directory = "/tmp"), KI_ERR_CONFIG,
          "certificate_authority_directory conflicts with certificate_authority" },
        { KI_CONFIG_OPTIONS(.insecure_skip_tls_verify = true, .certificate_authority_directory = "/tmp"), KI_ERR_CONFIG,
          "insecure_skip_tls_verify conflicts with certificate_authority_directory" },
        { KI_CONFIG_OPTIONS(.certificate_authority_directory = "/none"), KI_ERR_NOT_FOUND,
          "certificate_authority_directory: cannot open /none" },
        { KI_CONFIG_OPTIONS(.certificate_authority_directory = pem), KI_ERR_CONFIG,
          "certificate_authority_directory: cannot open" },
        { KI_CONFIG_OPTIONS(.certificate_authority_directory = "/proc/self/task"), KI_ERR_CONFIG,
          "certificate_authority_directory: no file of /proc/self/task has a PEM certificate" },
        { KI_CONFIG_OPTIONS(.insecure_skip_tls_name_verify = true, .tls_server_name = "a"), KI_ERR_CONFIG,
          "insecure_skip_tls_name_verify conflicts with tls_server_name" },
        { KI_CONFIG_OPTIONS(.insecure_skip_tls_name_verify = true, .insecure_skip_tls_verify = true), KI_ERR_CONFIG,
          "insecure-skip-tls-name-verify: conflicts with insecure-skip-tls-verify" },
        { KI_CONFIG_OPTIONS(.context = "second", .user = "nobody", .insecure_skip_tls_name_verify = true),
          KI_ERR_CONFIG, "insecure-skip-tls-name-verify: conflicts with insecure-skip-tls-verify" },
        { KI_CONFIG_OPTIONS(.token_file_may_be_missing = true), KI_ERR_CONFIG,
          "token_file_may_be_missing: without token_file" },
        { KI_CONFIG_OPTIONS(.token_file = "/none", .token_file_may_be_missing = true, .username = "me"), KI_ERR_CONFIG,
          "username: conflicts with token" },
        { KI_CONFIG_OPTIONS(.token_file = "/tmp", .token_file_may_be_missing = true), KI_ERR_CONFIG,
          "token_file: /tmp is a directory" },
        { KI_CONFIG_OPTIONS(.server = "http://b", .token = "secret", .credentials_over_loopback_http = true),
          KI_ERR_CONFIG, "not https and not on this machine" },
        { KI_CONFIG_OPTIONS(.server = "http://b", .token_file = "/none", .token_file_may_be_missing = true),
          KI_ERR_CONFIG, "not https" },
        { KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = "http://localhost", .token = "secret",
                            .credentials_over_loopback_http = true, .proxy_url = "http://p"),
          KI_ERR_CONFIG, "proxy-url: conflicts with credentials_over_loopback_http" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_config_new(&cases[i].options, &config, &err);
        if (status != cases[i].want || !strstr(err.message, cases[i].message))
            fail_msg("case %zu: %d, %s", i, (int)status, err.message);
        assert_null(strstr(err.message, "secret"));
        assert_null(strstr(err.message, "kubeconfig /")); /* it is not to blame */
    }
}

CONFIG_OPTIONS_TEST(whom_to_act_as_is_replaced_whole) {
    static const char *const groups[] = { "g1", "g2" };
    static const ki_config_extra extra[] = { { "x", "1" }, { "x", "2" } };
    ki_config *config = WITH(.as = "bob");
    assert_text(&config->impersonate_user, "bob");
    assert_text(&config->impersonate_uid, NULL);
    assert_int_equal(config->impersonate_groups.count, 0); /* not bob with alice's groups */
    assert_int_equal(config->impersonate_extra.count, 0);
    assert_text(&config->client_certificate, PEM("CERT-FILE"));
    ki_config_free(config);

    config =
        WITH(.as_groups = groups, .as_group_count = 2, .as_user_extra = extra, .as_user_extra_count = 2, .as_uid = "9");
    assert_text(&config->impersonate_user, "alice");
    assert_text(&config->impersonate_uid, "9");
    assert_int_equal(config->impersonate_groups.count, 2);
    assert_text(&config->impersonate_groups.items[1], "g2");
    assert_int_equal(config->impersonate_extra.count, 2);
    assert_text(&config->impersonate_extra.items[1].value, "2");
    ki_config_free(config);

    config = WITH(.token = "t"); /* a credential is not the one whom to act as */
    assert_text(&config->impersonate_user, "alice");
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(limits_of_requests_are_kept_as_given) {
    ki_config *config = WITH(.requests_per_second = -1, .request_burst = 7);
    assert_int_equal(config->requests_per_second, -1);
    assert_int_equal(config->request_burst, 7);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(an_older_programs_smaller_options_are_taken) {
    ki_config_options options = KI_CONFIG_OPTIONS(.server = "https://b", .cluster = "none");
    options.size = offsetof(ki_config_options, cluster);
    ki_config *config = config_files_read(&options);
    assert_string_equal(ki_config_server(config), "https://b");
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(a_config_is_described_without_secrets) {
    ki_config *config = WITH(.user = "basic", .as = "bob", .proxy_url = "http://me:secret@p:1");
    ki_config_description d = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &d);
    assert_string_equal(d.files, folder_file("config"));
    assert_false(d.is_in_cluster);
    assert_string_equal(d.context, "main");
    assert_string_equal(d.cluster, "c");
    assert_string_equal(d.user, "basic");
    assert_string_equal(d.server, "https://c");
    assert_string_equal(d.namespace_name, "ns1");
    assert_int_equal(d.credentials, KI_CREDENTIAL_BASIC);
    assert_true(d.has_certificate_authority);
    assert_string_equal(d.certificate_authority_file, folder_file("pki/ca.pem"));
    assert_string_equal(d.proxy_url, "http://p:1");
    assert_string_equal(d.tls_server_name, "n.c");
    assert_string_equal(d.as, "bob");
    assert_null(d.warnings);
    ki_config_free(config);

    config = WITH(.token_file = folder_file("token"));
    ki_config_describe(config, &d);
    assert_int_equal(d.credentials, KI_CREDENTIAL_TOKEN_FILE);
    assert_string_equal(d.token_file, folder_file("token"));
    d.size = offsetof(ki_config_description, credentials); /* an older program's */
    d.credentials = 77;
    ki_config_describe(config, &d);
    assert_int_equal(d.credentials, 77);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(in_a_pod_options_and_the_environment_win) {
    folder_write("pod/token", "pod-token");
    folder_write("pod/ca.crt", PEM("POD-CA"));
    folder_write("pod/namespace", "pod-space\n");
    char directory[256];
    strcpy(directory, folder_file("pod"));
    static const struct {
        const char *variable, *want;
    } cases[] = { { NULL, "pod-space" }, { "", "pod-space" }, { "mine", "mine" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config config = { .allocator = { NULL, NULL, NULL, NULL } };
        ki_config *whole = WITH(.server = "https://x"); /* for its allocator */
        config.allocator = whole->allocator;
        const ki_in_cluster where = { directory, "10.0.0.1", "443", cases[i].variable };
        assert_int_equal(ki_in_cluster_load(&config, &where, NULL), KI_OK);
        assert_string_equal(ki_config_namespace(&config), cases[i].want);
        assert_true(config.is_in_cluster);
        assert_text(&config.token_file, folder_file("pod/token")); /* read again as it rotates */
        assert_text(&config.ca_file, folder_file("pod/ca.crt"));
        const ki_config_options options = KI_CONFIG_OPTIONS(.server = "https://y", .token = "mine",
                                                            .certificate_authority = folder_file("other.pem"));
        assert_int_equal(ki_config_apply_options(&config, &options, NULL), KI_OK);
        assert_text(&config.server, "https://y");
        assert_text(&config.token, "mine");
        assert_text(&config.token_file, NULL);
        assert_text(&config.ca, PEM("OTHER"));
        ki_secret *all[] = { &config.server, &config.token, &config.ca, &config.ca_file, &config.namespace_name };
        for (size_t s = 0; s < sizeof all / sizeof *all; s++)
            ki_secret_clear(&config.allocator, all[s]);
        ki_config_free(whole);
    }
}

CONFIG_OPTIONS_TEST(in_a_pod_each_option_replaces_its_own_part) {
    folder_write("pod/token", "pod-token");
    folder_write("pod/ca.crt", PEM("POD-CA"));
    char directory[256], ca[256], file[256];
    strcpy(directory, folder_file("pod"));
    strcpy(ca, folder_file("other.pem"));
    strcpy(file, folder_file("token"));
    static const struct {
        const char *server, *token;
        bool ca, token_file;
        const char *want_token; /* what is sent */
    } cases[] = {
        { NULL, NULL, false, false, "pod-token" },
        { "https://host-of-options", NULL, false, false, "pod-token" },
        { NULL, "token-of-options", false, false, "token-of-options" },
        { NULL, NULL, true, false, "pod-token" },
        { "https://host-of-options", "token-of-options", false, false, "token-of-options" },
        { "https://host-of-options", NULL, true, false, "pod-token" },
        { NULL, "token-of-options", true, false, "token-of-options" },
        { "https://host-of-options", "token-of-options", true, false, "token-of-options" },
        { "https://host-of-options", "token-of-options", true, true, "file-token" },
        { "https://host-of-options", NULL, true, true, "file-token" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = ki_alloc_zero(&ki_allocator_default, sizeof *config);
        config->allocator = ki_allocator_default;
        ki_error err = KI_ERROR_INIT;
        const ki_in_cluster where = { directory, "10.0.0.1", "443", NULL };
        assert_int_equal(ki_in_cluster_load(config, &where, NULL), KI_OK);
        const ki_config_options options = KI_CONFIG_OPTIONS(.server = cases[i].server, .token = cases[i].token,
                                                            .certificate_authority = cases[i].ca ? ca : NULL,
                                                            .token_file = cases[i].token_file ? file : NULL);
        if (ki_config_apply_options(config, &options, &err))
            fail_msg("case %zu: %s", i, ki_error_message(&err));
        assert_text(&config->server, cases[i].server ? cases[i].server : "https://10.0.0.1:443");
        assert_text(&config->token, cases[i].want_token);
        bool pods_token = !cases[i].token && !cases[i].token_file;
        assert_text(&config->token_file, cases[i].token_file ? file : pods_token ? folder_file("pod/token") : NULL);
        assert_text(&config->ca, cases[i].ca ? PEM("OTHER") : PEM("POD-CA"));
        assert_text(&config->ca_file, cases[i].ca ? ca : folder_file("pod/ca.crt"));
        ki_config_free(config);
    }
}

CONFIG_OPTIONS_TEST(in_a_pod_every_lack_of_memory_is_an_error_without_a_leak) {
    folder_write("token", "pod-token");
    folder_write("ca.crt", PEM("POD-CA"));
    folder_write("namespace", "pod-space\n");
    const ki_in_cluster where = { folder_path(), "10.0.0.1", "443", NULL };
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_config *config = ki_alloc_zero(&memory.allocator, sizeof *config);
        if (!config)
            continue;
        config->allocator = memory.allocator;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_in_cluster_load(config, &where, &err);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_config_free(config);
    }
}

/* A list that is there and has nothing in it is not given: the kubeconfig is to blame. */
CONFIG_OPTIONS_TEST(a_message_names_the_kubeconfig_where_the_field_is_its_own) {
    static const char *const groups[] = { "g" };
    folder_write("config",
                 "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
                 "clusters: [{name: c, cluster: {server: 'https://a'}}]\nusers: [{name: u, user: {as-groups: [g]}}]\n");
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.as_groups = groups), &config, &err), KI_ERR_CONFIG);
    assert_true(strncmp(err.message, "kubeconfig /", 12) == 0);
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.as_groups = groups, .as_group_count = 1), &config, &err),
                     KI_ERR_CONFIG);
    assert_string_equal(err.message, "as-groups: without as; name the user to impersonate");
}

/* A text of `size` letters; good until the next call. */
static const char *letters(const char *begin, size_t size) {
    static char text[80 * 1024];
    assert_true(size < sizeof text);
    memset(text, 'a', size);
    memcpy(text, begin, strlen(begin));
    text[size] = '\0';
    return text;
}

static void assert_limit(const ki_config_options *fits, const ki_config_options *exceeds, const char *message) {
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (fits) {
        if (ki_config_new(fits, &config, &err))
            fail_msg("%s", ki_error_message(&err));
        ki_config_free(config);
        return;
    }
    assert_int_not_equal(ki_config_new(exceeds, &config, &err), KI_OK);
    if (!strstr(err.message, message))
        fail_msg("%s, not %s", err.message, message);
}

#define FITS(...) assert_limit(&KI_CONFIG_OPTIONS(__VA_ARGS__), NULL, NULL)
#define EXCEEDS(message, ...) assert_limit(NULL, &KI_CONFIG_OPTIONS(__VA_ARGS__), message)

CONFIG_OPTIONS_TEST(every_limit_is_an_error_that_names_it) {
    FITS(.token = letters("", (size_t)64 * 1024));
    EXCEEDS("token: longer than 65536 bytes", .token = letters("", (size_t)64 * 1024 + 1));
    FITS(.user = "nobody", .as = letters("", (size_t)64 * 1024));
    EXCEEDS("as: longer than 65536 bytes", .user = "nobody", .as = letters("", (size_t)64 * 1024 + 1));
    FITS(.server = letters("https://", 2048));
    EXCEEDS("server: the URL is longer than 2048 bytes", .server = letters("https://", 2049));
    FITS(.proxy_url = letters("socks5://", 2048));
    EXCEEDS("proxy-url: longer than 2048 bytes", .proxy_url = letters("socks5://", 2049));
    FITS(.namespace_name = letters("", 63));
    EXCEEDS("namespace: not a valid name", .namespace_name = letters("", 64));
    EXCEEDS("a path is longer than 4096 bytes", .certificate_authority = letters("/", 4097));

    static const char *groups[KI_CONFIG_ITEMS_LIMIT + 1];
    for (size_t i = 0; i < KI_CONFIG_ITEMS_LIMIT + 1; i++)
        groups[i] = "g";
    FITS(.as = "x", .as_groups = groups, .as_group_count = KI_CONFIG_ITEMS_LIMIT);
    EXCEEDS("more than 10000 entries", .as = "x", .as_groups = groups, .as_group_count = KI_CONFIG_ITEMS_LIMIT + 1);
}

CONFIG_OPTIONS_TEST(of_more_than_64_kubeconfigs_none_is_read) {
    static char list[65 * 128];
    list[0] = '\0';
    for (int i = 0; i < 65; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        folder_write(name, i ? "" : CONFIG);
        if (i == 64) {
            setenv("KUBECONFIG", list, 1);
            FITS(.token = "t");
        }
        strcat(strcat(list, i ? ":" : ""), folder_file(name));
    }
    setenv("KUBECONFIG", list, 1);
    EXCEEDS("KUBECONFIG lists more than 64 files", .token = "t");
}

CONFIG_OPTIONS_TEST(warnings_end_somewhere) {
    static char text[64 * 1024];
    strcpy(text, "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters:\n- name: c\n  cluster:\n "
                 "   server: https://a\n");
    for (size_t i = 0; i < 2000; i++) {
        char line[32];
        snprintf(line, sizeof line, "    %c%c%c-: 1\n", (char)('a' + i % 26), (char)('a' + i / 26 % 26),
                 (char)('a' + i / 676));
        strcat(text, line);
    }
    folder_write("config", text);
    ki_config *config = WITH(.disable_compression = true);
    assert_true(config->warnings.size <= KI_CONFIG_WARNINGS_LIMIT);
    assert_true(config->warnings.size > KI_CONFIG_WARNINGS_LIMIT / 2);
    ki_config_free(config);
}

/* --- for hosts ---------------------------------------------------------------------------------------------------- */

CONFIG_OPTIONS_TEST(a_host_needs_no_kubeconfig_and_reads_none) {
    folder_write("config", "no: [kubeconfig"); /* it would be an error */
    ki_config *config = WITH(.no_kubeconfig = true, .server = "https://own", .token = "t");
    assert_string_equal(ki_config_server(config), "https://own");
    assert_text(&config->token, "t");
    assert_text(&config->files, NULL);
    assert_text(&config->user, NULL);
    ki_config_free(config);
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(ki_config_new(&KI_CONFIG_OPTIONS(.no_kubeconfig = true), &config, &err), KI_ERR_CONFIG);
    assert_non_null(strstr(err.message, "server: not set"));
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(ki_config_new_default(&KI_CONFIG_OPTIONS(.no_kubeconfig = true), &config, &err), KI_ERR_CONFIG);
    assert_non_null(strstr(err.message, "server: not set"));
}

#define TLS_FILE(name) KI_TEST_DATA_DIR "/tls/" name

static void write_certificate(const char *name, const char *fixture) {
    char path[256];
    size_t size = 0;
    snprintf(path, sizeof path, TLS_FILE("%s"), fixture);
    char *pem = fixture_read(path, &size);
    folder_write_bytes(name, pem, size);
    free(pem);
}

static int count_certificates(const char *pem) {
    int count = 0;
    while ((pem = strstr(pem, "-----BEGIN CERTIFICATE-----"))) {
        count++;
        pem++;
    }
    return count;
}

CONFIG_OPTIONS_TEST(the_authorities_of_a_folder_are_those_of_all_its_files) {
    write_certificate("cas/b.crt", "ca.pem");
    write_certificate("cas/a.pem", "other-ca.pem");
    write_certificate("cas/.hidden", "server.pem");
    write_certificate("cas/below/c.pem", "server.pem");
    folder_write("cas/README", "no certificate");
    ki_config *config = WITH(.certificate_authority_directory = folder_file("cas"));
    char *first = fixture_read(TLS_FILE("other-ca.pem"), NULL), *second = fixture_read(TLS_FILE("ca.pem"), NULL);
    const char *at_first = strstr(config->ca.data, strchr(first, '\n')),
               *at_second = strstr(config->ca.data, strchr(second, '\n'));
    assert_true(at_first && at_first < at_second);
    free(first);
    free(second);
    assert_int_equal(count_certificates(config->ca.data), 2);
    assert_text(&config->ca_file, NULL); /* of the kubeconfig */
    ki_config_description about = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &about);
    assert_string_equal(about.certificate_authority_directory, folder_file("cas"));
    assert_true(about.has_certificate_authority);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(a_token_file_may_appear_later_if_the_program_says_so) {
    ki_config *config = WITH(.token_file = "/none", .token_file_may_be_missing = true);
    assert_text(&config->token, NULL);
    assert_text(&config->token_file, "/none");
    assert_non_null(strstr(config->warnings.data, "token_file: cannot open /none"));
    ki_config_description about = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &about);
    assert_int_equal(about.credentials, KI_CREDENTIAL_TOKEN_FILE);
    ki_config_free(config);
}

CONFIG_OPTIONS_TEST(credentials_go_by_http_to_this_machine_alone_and_only_if_the_program_says_so) {
    static const struct {
        const char *server;
        bool is_accepted;
    } cases[] = {
        { "http://localhost", true },
        { "http://LOCALHOST:8001/k8s", true },
        { "http://127.0.0.1:8001", true },
        { "http://127.9.9.9", true },
        { "http://[::1]:8001", true },
        { "https://there", true },
        { "http://127.0.0.1.example", false },
        { "http://localhost.example", false },
        { "http://128.0.0.1", false },
        { "http://[::2]", false },
        { "http://10.0.0.1", false },
        { "http://127.1", false },
        { "http://[::1", false },
        { "http://there", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config *config = NULL;
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = cases[i].server,
                                                            .token = "secret", .credentials_over_loopback_http = true),
                                         &config, &err);
        if ((status == KI_OK) != cases[i].is_accepted)
            fail_msg("%s: %s", cases[i].server, err.message);
        assert_true(!status || status == KI_ERR_CONFIG);
        assert_true(!status || strstr(err.message, "server: "));
        ki_config_free(config);
    }
}

CONFIG_OPTIONS_TEST(the_systems_authorities_survive_every_lack_of_memory) {
    write_certificate("cas/a.pem", "ca.pem");
    write_certificate("file.pem", "other-ca.pem");
    char folders[512];
    snprintf(folders, sizeof folders, "/nonexistent::%s", folder_file("cas"));
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_secret pem = { NULL, 0 };
        ki_status status = ki_secret_read_authorities(&memory.allocator, folder_file("file.pem"), folders, &pem, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        assert_int_equal(pem.data != NULL, status == KI_OK);
        ki_secret_clear(&memory.allocator, &pem);
    }
}

CONFIG_OPTIONS_TEST(a_folder_of_authorities_survives_every_lack_of_memory) {
    write_certificate("cas/a.pem", "ca.pem");
    write_certificate("cas/b.pem", "other-ca.pem");
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_secret pem = { NULL, 0 };
        ki_status status = ki_secret_read_directory(&memory.allocator, folder_file("cas"), "cas", &pem, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_secret_clear(&memory.allocator, &pem);
    }
}
