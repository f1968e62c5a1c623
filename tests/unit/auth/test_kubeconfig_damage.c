/* test_kubeconfig_damage.c: a full kubeconfig cut anywhere and changed in any byte, memory that fails anywhere, and
 * what is left in memory: it is read or refused in one clean line, nothing leaks, and no secret stays behind. */

#include "src/auth/config.h"
#include "tests/support/folder.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long, so that none can be printed whole by chance; none is like the other. */
#define TOKEN "s3cr3t-T0ken-0123456789-0123456789-0123456789-0123456789"
#define PASSWORD "s3cr3t-Pa55w-abcdefghij-abcdefghij-abcdefghij-abcdefghij"
#define KEY_BASE64 \
    "LS0tLS1CRUdJTiBLRVktLS0tLQpzM2NyM3QtSzN5LXBlbS0wMTIzNDU2Nzg5LTAxMjM0NTY3ODktMDEyMzQ1Njc4OS0wMTIzNDU2Nzg5Ci0tLS0t" \
    "RU5EIEtFWS0tLS0tCg=="
#define KEY "s3cr3t-K3y-pem-0123456789-0123456789-0123456789-0123456789"

#define FULL \
    "apiVersion: v1\nkind: Config\npreferences: {colors: true}\ncurrent-context: main\n" \
    "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: ns1}\n" \
    "clusters:\n- name: c\n  cluster:\n    server: \"https://a.example:6443/x\"\n    tls-server-name: n.x\n" \
    "    proxy-url: 'http://me:" PASSWORD \
    "@p:1'\n    certificate-authority-data: LS0tLS1CRUdJTiBDQS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0EtLS0tLQo=\n" \
    "    extensions: [{name: client.authentication.k8s.io/exec, extension: &e {a: [1, 0x1f, .5, on], b: ~}}, {name: " \
    "z, extension: *e}]\n" \
    "users:\n- name: u\n  user:\n    token: " TOKEN \
    "\n    client-certificate: pki/cert.pem\n    client-key-data: " KEY_BASE64 "\n" \
    "    as: bob\n    as-groups: [g, 'h']\n    as-user-extra: {k: [v]}\n" \
    "    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./x, args: [a], env: [{name: A, value: " \
    "b}]}\n" \
    "- name: two\n  user: {<<: {username: me}, password: \"" PASSWORD "\"}\n"

static int set_up(void **state) {
    if (folder_open(state))
        return 1;
    folder_write("pki/cert.pem", "-----BEGIN C-----\nAAAA\n-----END C-----\n");
    setenv("HOME", folder_path(), 1);
    unsetenv("KUBECONFIG");
    return 0;
}

#define KUBECONFIG_DAMAGE_TEST(name) TEST_WITH(set_up, folder_close, name)

static size_t reads, failures;

static void try(const char *text, size_t size) {
    folder_write_bytes("config", text, size);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (!ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = folder_file("config")), &config, &err)) {
        reads++;
        ki_config_free(config);
        return;
    }
    failures++;
    assert_null(config);
    assert_true(err.code == KI_ERR_CONFIG || err.code == KI_ERR_PARSE);
    assert_true(strncmp(err.message, "kubeconfig ", 11) == 0);
    for (const char *c = err.message; *c; c++)
        assert_true((unsigned char)*c >= 0x20);
    assert_null(strstr(err.message, &TOKEN[8]));
    assert_null(strstr(err.message, &PASSWORD[8]));
    assert_null(strstr(err.message, &KEY_BASE64[8]));
}

KUBECONFIG_DAMAGE_TEST(every_prefix_is_read_or_refused_cleanly) {
    reads = failures = 0;
    for (size_t size = 0; size < sizeof FULL; size++)
        try(FULL, size);
    assert_true(failures > 0);
}

KUBECONFIG_DAMAGE_TEST(every_changed_byte_is_read_or_refused_cleanly) {
    static const char others[] = { '\0', '\n', ' ', ':', '"', '*', '\xff' };
    static char text[] = FULL;
    reads = failures = 0;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        char before = text[i];
        for (size_t k = 0; k < 3; k++) { /* three for each, all in turn: it is thousands of files as it is */
            text[i] = others[(i + k) % sizeof others];
            try(text, sizeof text - 1);
        }
        text[i] = before;
    }
    assert_true(reads > 0 && failures > 0);
}

static const char *const users[] = { "u", "two" };

static ki_status read_with(const ki_allocator *allocator, const char *user, ki_error *err) {
    static const char *const groups[] = { "g", "h", "i" };
    static const ki_config_extra extra[] = { { "k", "v" } };
    const ki_config_options options =
        KI_CONFIG_OPTIONS(.allocator = allocator, .kubeconfig = folder_file("config"), .user = user, .as = "bob",
                          .as_groups = groups, .as_group_count = 3, .as_user_extra = extra, .as_user_extra_count = 1,
                          .tls_server_name = "n", .namespace_name = "ns/x");
    ki_config *config = NULL;
    ki_status status = ki_config_new(&options, &config, err);
    ki_config_free(config);
    return status;
}

KUBECONFIG_DAMAGE_TEST(every_lack_of_memory_is_an_error_without_a_leak) {
    folder_write("config", FULL);
    for (size_t u = 0; u < sizeof users / sizeof *users; u++) {
        scarce_memory memory = SCARCE_MEMORY_FROM(0);
        while (scarce_memory_next(&memory)) {
            ki_error err = KI_ERROR_INIT;
            ki_status status = read_with(&memory.allocator, users[u], &err);
            /* A warning that finds no room is lost, and nothing else. */
            if (status != KI_OK && status != KI_ERR_NO_MEMORY)
                fail_msg("%s, %zu: %s", users[u], memory.fail_at, ki_error_message(&err));
            assert_true(status == KI_OK || scarce_memory_failed(&memory));
        }
    }
}

/* --- what is left in memory --------------------------------------------------------------------------------------- */

static size_t found;

static bool holds(const char *data, size_t size, const char *secret) {
    return memmem(data, size, secret, 16) != NULL; /* the beginning is enough */
}

static void look(const char *data, size_t size) {
    static const char *const secrets[] = { TOKEN, PASSWORD, KEY, KEY_BASE64 };
    for (size_t i = 0; data && i < sizeof secrets / sizeof *secrets; i++)
        found += holds(data, size, secrets[i]);
}

static void *watched_alloc(size_t size, void *user) {
    (void)user;
    return calloc(1, size);
}

static void watched_free(void *memory, void *user) {
    (void)user;
    look(memory, memory ? malloc_usable_size(memory) : 0);
    free(memory);
}

static void *watched_realloc(void *memory, size_t size, void *user) {
    size_t before = memory ? malloc_usable_size(memory) : 0;
    void *larger = watched_alloc(size, user);
    if (larger && memory)
        memcpy(larger, memory, before < size ? before : size);
    if (larger)
        watched_free(memory, user);
    return larger;
}

KUBECONFIG_DAMAGE_TEST(no_secret_is_in_memory_that_is_given_back) {
    const ki_allocator watched = { watched_alloc, watched_realloc, watched_free, NULL };
    found = 0;
    char *sample = watched_alloc(100, NULL);
    strcpy(sample, TOKEN);
    watched_free(sample, NULL);
    assert_int_equal(found, 1); /* the watch itself works */
    found = 0;
    folder_write("config", FULL);
    for (size_t u = 0; u < sizeof users / sizeof *users; u++)
        assert_int_equal(read_with(&watched, users[u], NULL), KI_OK);
    /* And on the way out of errors, early and late. */
    static const char *const endings[] = { "\n- [",        "\nx: {",     "\ncurrent-context: [1]\n",
                                           "\nusers: 1\n", "\n\ta: b\n", "\nkind: Pod\n" };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char text[sizeof FULL + 64];
        snprintf(text, sizeof text, "%s%s", FULL, endings[i]);
        folder_write("config", text);
        assert_int_not_equal(read_with(&watched, "u", NULL), KI_OK);
    }
    assert_int_equal(found, 0);
}
