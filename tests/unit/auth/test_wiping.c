/* test_wiping.c: released memory has no secrets: tokens, passwords, keys, a plugin's environment and its output. */

#include "src/auth/config.h"
#include "src/auth/credentials.h"
#include "src/base/memory.h"
#include "src/engine/subprocess.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The secret, and what it is in base64 where it begins with a group. */
#define SECRET "s3cr3t"
#define SECRET64 "czNjcjN0"

/* Each block's size is before it. */
typedef union head {
    size_t size;
    max_align_t align;
} head;

static size_t found; /* blocks that were given back with it */

static void look(const head *block) {
    if (memmem(block + 1, block->size, SECRET, strlen(SECRET)) ||
        memmem(block + 1, block->size, SECRET64, strlen(SECRET64)))
        found++;
}

static void *wary_alloc(size_t size, void *user) {
    (void)user;
    head *block = calloc(1, sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    return block + 1;
}

static void wary_free(void *memory, void *user) {
    (void)user;
    if (!memory)
        return;
    look((head *)memory - 1);
    free((head *)memory - 1);
}

static void *wary_realloc(void *memory, size_t size, void *user) {
    void *moved = wary_alloc(size, user);
    if (memory && moved) {
        size_t before = ((head *)memory - 1)->size;
        memcpy(moved, memory, before < size ? before : size);
        wary_free(memory, user);
    }
    return moved;
}

static const ki_allocator wary = { wary_alloc, wary_realloc, wary_free, NULL };

static void on_change(void *user) {
    ++*(int *)user;
}

/* Reads the config, asks for the credentials until they are there, frees all. */
static void use(const char *user) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/tmp/kinformer-wiping-%d", (int)getpid());
    snprintf(text, sizeof text,
             "clusters: [{name: c, cluster: {server: 'https://there', proxy-url: 'http://me:" SECRET "@proxy:1',\n"
             "  extensions: [{name: client.authentication.k8s.io/exec, extension: {a: '%0100d', k: " SECRET "}}]}}]\n"
             "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
             "current-context: x\n"
             "users: [{name: u, user: {%s}}]\n",
             1, user);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_config_new(&KI_CONFIG_OPTIONS(.allocator = &wary, .kubeconfig = path), &config, &err))
        fail_msg("%s", err.message);
    unlink(path);
    test_engine clock;
    ki_credentials *credentials = NULL;
    ki_credential_set *set = NULL;
    int changes = 0;
    assert_true(test_engine_open(&clock, &wary, 1));
    assert_int_equal(ki_credentials_new(clock.engine, config, on_change, &changes, &credentials, NULL), KI_OK);
    if (ki_credentials_get(credentials, &set, &err) == KI_CREDENTIALS_PENDING) {
        while (changes == 0) {
            struct pollfd descriptor = { .fd = ki_engine_fd(clock.engine), .events = POLLIN };
            poll(&descriptor, 1, KI_SUBPROCESS_POLL_MS);
            assert_true(test_engine_advance(&clock, KI_SUBPROCESS_POLL_MS));
        }
        assert_int_equal(ki_credentials_get(credentials, &set, &err), KI_CREDENTIALS_READY);
    }
    assert_non_null(set);
    ki_credential_set_unref(set);
    ki_credentials_free(credentials);
    test_engine_close(&clock);
    ki_config_free(config);
}

TEST(no_memory_is_given_back_with_a_secret_in_it) {
    static const char *const users[] = {
        "token: " SECRET,
        "username: me, password: " SECRET,
        /* a block of PEM whose body has it, as data */
        "client-certificate-data: LS0tLS1CRUdJTiBBLS0tLS0KQUFBQQotLS0tLUVORCBBLS0tLS0K, client-key-data: "
        "LS0tLS1CRUdJTiBBLS0tLS0K" SECRET64 "Ci0tLS0tRU5EIEEtLS0tLQo=",
        /* a key that has it in its DER, which is looked into */
        "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=, "
        "client-key-data: LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCmN6Tmpjak4wCi0tLS0tRU5EIEVDIFBSSVZBVEUgS0VZLS0tLS0K",
        "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true, "
        "command: "
        "printenv, args: [ANSWER], env: [{name: FIRST, value: " SECRET
        "}, {name: ANSWER, value: '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
        "\"status\":{\"token\":\"" SECRET "\"}}'}]}",
    };
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        found = 0;
        use(users[i]);
        if (found)
            fail_msg("%zu blocks: %s", found, users[i]);
    }
    /* It would be seen. */
    char *text = ki_strdup(&wary, SECRET);
    ki_free(&wary, text);
    assert_int_equal(found, 1);
}
