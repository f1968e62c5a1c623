/* kubeconfig.c: a kubeconfig file, alone in its folder. */
#include "fuzz/fuzz.h"

#include "src/auth/config.h"

#include <stdio.h>
#include <unistd.h>

static char folder[64], path[80];

static void remove_folder(void) {
    remove(path);
    rmdir(folder);
}

static void make_folder(void) {
    const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/kinformer-fuzz-XXXXXX", memory);
    fuzz_check(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/config", folder);
    atexit(remove_folder);
}

static void write_file(const uint8_t *data, size_t size) {
    FILE *file = fopen(path, "we");
    fuzz_check(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Nothing that a request has may end its line. */
static void check_line(const ki_secret *text) {
    for (size_t i = 0; i < text->size; i++)
        fuzz_check((unsigned char)text->data[i] >= 0x20 && text->data[i] != 0x7f);
}

static void check_lines(const ki_config *config) {
    const ki_secret *const lines[] = { &config->server,          &config->namespace_name,  &config->user_agent,
                                       &config->token,           &config->username,        &config->impersonate_user,
                                       &config->impersonate_uid, &config->tls_server_name, &config->proxy_url };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check_line(lines[i]);
    for (size_t i = 0; i < config->impersonate_groups.count; i++)
        check_line(&config->impersonate_groups.items[i]);
    for (size_t i = 0; i < config->impersonate_extra.count; i++)
        check_line(&config->impersonate_extra.items[i].value);
}

static void check_description(const ki_config *config) {
    ki_config_description description = KI_CONFIG_DESCRIPTION_INIT;
    ki_config_describe(config, &description);
    fuzz_check(description.files && strcmp(description.files, path) == 0 && !description.is_in_cluster);
    fuzz_check(!(description.credentials & KI_CREDENTIAL_TOKEN) || config->token.size > 0);
    fuzz_check(!(description.credentials & KI_CREDENTIAL_BASIC) || config->username.data);
    fuzz_check(!(description.credentials & KI_CREDENTIAL_EXEC) || config->exec.command.data);
    fuzz_check((config->client_certificate.data == NULL) == (config->client_key.data == NULL));
    fuzz_check(!config->insecure_skip_tls_verify || !config->ca.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!folder[0])
        make_folder();
    write_file(data, size);
    ki_error err = KI_ERROR_INIT, again = KI_ERROR_INIT;
    ki_config *config = NULL;
    if (ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &err)) {
        fuzz_check(err.message[0] && !strchr(err.message, '\n'));
        fuzz_check(err.code == KI_ERR_CONFIG || err.code == KI_ERR_PARSE || err.code == KI_ERR_LIMIT ||
                   err.code == KI_ERR_NOT_FOUND);
        fuzz_check(ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &again) == err.code);
        fuzz_check(strcmp(err.message, again.message) == 0);
        return 0;
    }
    const char *server = ki_config_server(config);
    fuzz_check(strncmp(server, "http://", 7) == 0 || strncmp(server, "https://", 8) == 0);
    fuzz_check(server[strlen(server) - 1] != '/');
    check_lines(config);
    check_description(config);
    ki_config_free(config);
    return 0;
}
