/* show_config.c: what a ki_config makes of kubectl's connection flags and of the environment, as a line of JSON:
 * {"server": …} or {"error": …}. Secrets are printed as hashes (FNV-1a). For tests: it looks into the library. */
#include "src/auth/config.h"
#include "src/base/buffer.h"
#include "src/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    GROUPS_MAX = 16
};

static void put_text(ki_buffer *out, const char *name, const ki_secret *text) {
    ki_buffer_printf(out, ",\"%s\":", name);
    ki_buffer_append_json_string(out, (ki_str){ text->data ? text->data : "", text->size });
}

static uint64_t hash(const ki_secret *secret) {
    uint64_t value = 14695981039346656037U;
    for (size_t i = 0; i < secret->size; i++)
        value = (value ^ (unsigned char)secret->data[i]) * 1099511628211U;
    return value;
}

static void put_hash(ki_buffer *out, const char *name, const ki_secret *secret) {
    ki_buffer_printf(out, ",\"%s\":\"", name);
    if (secret->size)
        ki_buffer_printf(out, "%016" PRIx64, hash(secret));
    ki_buffer_append_char(out, '"');
}

static void put_bool(ki_buffer *out, const char *name, bool value) {
    ki_buffer_printf(out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_list(ki_buffer *out, const char *name, const ki_secret_list *list) {
    ki_buffer_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < list->count; i++) {
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_json_string(out, (ki_str){ list->items[i].data, list->items[i].size });
    }
    ki_buffer_append_char(out, ']');
}

/* As "name=value" each. */
static void put_pairs(ki_buffer *out, const char *name, const ki_secret_pairs *pairs) {
    ki_buffer_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < pairs->count; i++) {
        ki_buffer one;
        ki_buffer_init(&one, &ki_allocator_default, 0);
        ki_buffer_printf(&one, "%s=%s", pairs->items[i].name.data, pairs->items[i].value.data);
        ki_buffer_append_string(out, i ? "," : "");
        ki_buffer_append_json_string(out, (ki_str){ one.data, one.size });
        ki_buffer_free(&one);
    }
    ki_buffer_append_char(out, ']');
}

static void put_exec(ki_buffer *out, const ki_exec_config *exec) {
    static const char *const modes[] = { "Never", "IfAvailable", "Always" };
    ki_buffer_append_string(out, ",\"exec\":");
    if (!exec->command.data) {
        ki_buffer_append_string(out, "null");
        return;
    }
    ki_buffer_printf(out, "{\"interactiveMode\":\"%s\"", modes[exec->interactive_mode]);
    put_text(out, "apiVersion", &exec->api_version);
    put_text(out, "command", &exec->command);
    put_list(out, "args", &exec->arguments);
    put_pairs(out, "env", &exec->environment);
    put_text(out, "installHint", &exec->install_hint);
    put_bool(out, "provideClusterInfo", exec->provide_cluster_info);
    ki_buffer_printf(out, ",\"config\":%s}", exec->cluster_extension.data ? exec->cluster_extension.data : "null");
}

static void put_config(ki_buffer *out, const ki_config *config) {
    ki_buffer_append_string(out, "{\"server\":");
    ki_buffer_append_json_string(out, ki_str_of(ki_config_server(config)));
    ki_buffer_append_string(out, ",\"namespace\":");
    ki_buffer_append_json_string(out, ki_str_of(ki_config_namespace(config)));
    put_hash(out, "token", &config->token);
    put_text(out, "username", &config->username);
    put_hash(out, "password", &config->password);
    put_hash(out, "certificate", &config->client_certificate);
    put_hash(out, "key", &config->client_key);
    static const ki_secret none = { NULL, 0 };
    bool is_https = ki_config_is_https(config); /* else these play no part */
    put_hash(out, "ca", is_https ? &config->ca : &none);
    put_text(out, "serverName", is_https ? &config->tls_server_name : &none);
    put_text(out, "proxy", &config->proxy_url);
    put_bool(out, "insecure", is_https && config->insecure_skip_tls_verify);
    put_bool(out, "disableCompression", config->disable_compression);
    put_text(out, "as", &config->impersonate_user);
    put_text(out, "asUID", &config->impersonate_uid);
    put_list(out, "asGroups", &config->impersonate_groups);
    put_pairs(out, "asExtra", &config->impersonate_extra);
    put_exec(out, &config->exec);
    ki_buffer_append_string(out, "}\n");
}

/* --name value, or --name for those that are true or false. */
static bool take_flag(ki_config_options *options, const char **groups, const char *name, const char *value,
                      bool *ret_took_value) {
    const struct {
        const char *name;
        const char **place;
    } texts[] = {
        { "--kubeconfig", &options->kubeconfig },
        { "--context", &options->context },
        { "--cluster", &options->cluster },
        { "--user", &options->user },
        { "--server", &options->server },
        { "--token", &options->token },
        { "--username", &options->username },
        { "--password", &options->password },
        { "--certificate-authority", &options->certificate_authority },
        { "--client-certificate", &options->client_certificate },
        { "--client-key", &options->client_key },
        { "--tls-server-name", &options->tls_server_name },
        { "--proxy-url", &options->proxy_url },
        { "--namespace", &options->namespace_name },
        { "--as", &options->as },
        { "--as-uid", &options->as_uid },
        { "--as-group", options->as_group_count < GROUPS_MAX ? &groups[options->as_group_count] : NULL },
    };
    *ret_took_value = false;
    if (strcmp(name, "--insecure-skip-tls-verify") == 0)
        return options->insecure_skip_tls_verify = true;
    if (strcmp(name, "--disable-compression") == 0)
        return options->disable_compression = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) != 0 || !value || !texts[i].place)
            continue;
        *texts[i].place = value;
        if (strcmp(name, "--as-group") == 0)
            options->as_group_count++;
        return *ret_took_value = true;
    }
    return false;
}

int main(int argc, char **argv) {
    const char *groups[GROUPS_MAX];
    ki_config_options options = KI_CONFIG_OPTIONS(.as_groups = groups);
    for (int i = 1; i < argc; i++) {
        bool took_value;
        if (!take_flag(&options, groups, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &took_value)) {
            fprintf(stderr, "show_config: %s: no such flag, or no value\n", argv[i]);
            return 2;
        }
        i += took_value;
    }
    ki_config *config = NULL;
    ki_error err = KI_ERROR_INIT;
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    if (ki_config_new(&options, &config, &err)) {
        ki_buffer_append_string(&out, "{\"error\":");
        ki_buffer_append_json_string(&out, ki_str_of(ki_error_message(&err)));
        ki_buffer_append_string(&out, "}\n");
    } else {
        put_config(&out, config);
    }
    bool is_whole = !out.failed && fwrite(out.data, 1, out.size, stdout) == out.size && fflush(stdout) == 0;
    ki_buffer_free(&out);
    ki_config_free(config);
    return is_whole ? 0 : 1;
}
