/* config_files.c: see config_files.h. */
#include "tests/support/config_files.h"

#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int config_files_open(void **state) {
    if (folder_open(state))
        return 1;
    folder_write("pki/ca.pem", PEM("CA-FILE"));
    folder_write("pki/cert.pem", PEM("CERT-FILE"));
    folder_write("pki/key.pem", PEM("KEY-FILE"));
    folder_write("token", " file-token\n");
    setenv("HOME", folder_path(), 1);
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    return 0;
}

int config_files_set_none(void **state) {
    (void)state;
    setenv("HOME", "/nonexistent", 1);
    unsetenv("KUBECONFIG");
    setenv("no_proxy", "*", 1); /* the machine's own proxies are not for 127.0.0.1 */
    return 0;
}

const char *config_files_write(const char *cluster, const char *user) {
    char text[4096];
    snprintf(text, sizeof text,
             "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
             "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: ns1}\n"
             "clusters:\n- name: c\n  cluster: {%s}\nusers:\n- name: u\n  user: {%s}\n",
             cluster, user);
    folder_write("config", text);
    return folder_file("config");
}

ki_config *config_files_read(const ki_config_options *options) {
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_config_new(options, &config, &err))
        fail_msg("%s", ki_error_message(&err));
    return config;
}

void assert_secret(const ki_secret *secret, const char *want) {
    if (!want) {
        assert_null(secret->data);
        return;
    }
    assert_non_null(secret->data);
    assert_string_equal(secret->data, want);
    assert_int_equal(secret->size, strlen(want));
}
