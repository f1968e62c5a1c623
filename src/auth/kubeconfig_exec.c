/* kubeconfig_exec.c: reads a user's credential plugin from its kubeconfig. Does not run it. */
#include "src/auth/kubeconfig.h"

#include "src/base/buffer.h"
#include "src/base/error.h"

static const char extension_name[] = "client.authentication.k8s.io/exec";

static ki_status read_version(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec, ki_error *err) {
    static const char *const known[] = { "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1" };
    ki_secret *version = &config->exec.api_version;
    ki_status status = ki_kubeconfig_set_text(config, user, exec, "exec.apiVersion", version, err);
    if (status)
        return status;
    if (!version->data)
        return ki_kubeconfig_bad(user, exec, "exec.apiVersion", err, "not set; use %s or %s", known[0], known[1]);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(version->data, known[i]) == 0)
            return KI_OK;
    }
    return ki_kubeconfig_bad(user, exec, "exec.apiVersion", err,
                             "%.100s is not supported; update the plugin and use %s or %s", version->data, known[0],
                             known[1]);
}

static ki_status read_command(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec, ki_error *err) {
    ki_str command;
    ki_status status = ki_kubeconfig_text(user, exec, "exec.command", &command, err);
    if (status)
        return status;
    if (!command.data)
        return ki_kubeconfig_bad(user, exec, "exec.command", err,
                                 "not set; name the program that prints the credentials");
    if (!memchr(command.data, '/', command.size)) /* searched in PATH when it runs */
        return ki_secret_set(&config->allocator, &config->exec.command, command, err);
    return ki_kubeconfig_path(&config->allocator, user, command, &config->exec.command, err);
}

static bool has_zero(ki_str text) {
    return text.size && memchr(text.data, '\0', text.size);
}

static ki_status read_arguments(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec,
                                ki_error *err) {
    const ki_yaml *list = ki_yaml_get(exec, "args"), *one;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && (one = ki_yaml_at(list, i)); i++) {
        if (has_zero(one->text))
            return ki_kubeconfig_bad(user, exec, "exec.args", err, "must not contain a zero byte");
        status = ki_secret_list_append(&config->allocator, &config->exec.arguments, one->text, err);
    }
    return status;
}

static ki_status read_environment(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec,
                                  ki_error *err) {
    const ki_yaml *list = ki_yaml_get(exec, "env"), *one;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && (one = ki_yaml_at(list, i)); i++) {
        const ki_yaml *name = ki_yaml_get(one, "name"), *value = ki_yaml_get(one, "value");
        if (!name || !name->text.size)
            return ki_kubeconfig_bad(user, exec, "exec.env", err, "entry %zu has no name", i);
        if (has_zero(name->text) || memchr(name->text.data, '=', name->text.size) || (value && has_zero(value->text)))
            return ki_kubeconfig_bad(user, exec, "exec.env", err, "entry %zu: not a valid name or value of a variable",
                                     i);
        status = ki_secret_pairs_append(&config->allocator, &config->exec.environment, name->text,
                                        value ? value->text : KI_STR(""), err);
    }
    return status;
}

static ki_status read_mode(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec, ki_error *err) {
    static const struct {
        const char *name;
        ki_exec_interactive mode;
    } known[] = { { "Never", KI_EXEC_NEVER }, { "IfAvailable", KI_EXEC_IF_AVAILABLE }, { "Always", KI_EXEC_ALWAYS } };
    ki_str mode;
    ki_status status = ki_kubeconfig_text(user, exec, "exec.interactiveMode", &mode, err);
    if (status)
        return status;
    config->exec.interactive_mode = KI_EXEC_IF_AVAILABLE;
    if (!mode.data && strstr(config->exec.api_version.data, "/v1beta1"))
        return KI_OK;
    for (size_t i = 0; mode.data && i < sizeof known / sizeof *known; i++) {
        if (ki_str_equals(mode, known[i].name)) {
            config->exec.interactive_mode = known[i].mode;
            return KI_OK;
        }
    }
    return ki_kubeconfig_bad(user, exec, "exec.interactiveMode", err, "%s Never, IfAvailable or Always",
                             mode.data ? "must be" : "not set; with this apiVersion it must be one of");
}

/* Reads the install hint. Escapes control characters as kubectl does, so that the hint cannot drive a terminal. */
static ki_status read_hint(ki_config *config, const ki_kubeconfig_entry *user, const ki_yaml *exec, ki_error *err) {
    ki_str hint;
    ki_status status = ki_kubeconfig_text(user, exec, "exec.installHint", &hint, err);
    if (status || !hint.data)
        return status;
    ki_buffer clean;
    ki_buffer_init(&clean, &config->allocator, 0);
    for (size_t i = 0; i < hint.size; i++) {
        unsigned char c = (unsigned char)hint.data[i];
        bool is_c1 = c == 0xc2 && i + 1 < hint.size && (unsigned char)hint.data[i + 1] < 0xa0;
        if (is_c1)
            c = (unsigned char)hint.data[++i];
        if (is_c1 || (c < 0x20 && !(c >= '\t' && c <= '\r')) || c == 0x7f)
            ki_buffer_printf(&clean, "U+%04X", c);
        else
            ki_buffer_append_char(&clean, (char)c);
    }
    return ki_secret_take(&config->exec.install_hint, &clean, "exec.installHint is", err);
}

/* Reads the cluster's extension for plugins. */
static ki_status read_extension(ki_config *config, const ki_kubeconfig_entry *cluster, ki_error *err) {
    const ki_yaml *list = ki_yaml_get(cluster->map, "extensions"), *one, *found = NULL;
    for (size_t i = 0; !found && (one = ki_yaml_at(list, i)); i++) {
        const ki_yaml *name = ki_yaml_get(one, "name");
        if (name && ki_str_equals(name->text, extension_name))
            found = ki_yaml_get(one, "extension");
    }
    if (!found)
        return KI_OK;
    ki_buffer json;
    ki_buffer_init(&json, &config->allocator, KI_YAML_JSON_LIMIT);
    json.is_secret = true;
    ki_error why = KI_ERROR_INIT;
    ki_status status = ki_yaml_append_json(&json, found, &why);
    if (!status)
        return ki_secret_take(&config->exec.cluster_extension, &json, "an extension is", err);
    ki_buffer_free(&json);
    return ki_error_set(err, status == KI_ERR_UNSUPPORTED ? KI_ERR_CONFIG : status,
                        "kubeconfig %s: clusters[%.*s].extensions[%s]: %s", cluster->file->path,
                        (int)cluster->name.size, cluster->name.data, extension_name, why.message);
}

ki_status ki_kubeconfig_read_exec(ki_config *config, const ki_kubeconfig_entry *user,
                                  const ki_kubeconfig_entry *cluster, ki_error *err) {
    const ki_yaml *exec = ki_yaml_get(user->map, "exec");
    ki_kubeconfig_warn_unknown(config, user, exec, "exec.", ki_kubeconfig_exec_fields);
    const ki_yaml *info = ki_yaml_get(exec, "provideClusterInfo");
    config->exec.provide_cluster_info = info && ki_yaml_is_true(info->text);
    ki_status status = read_version(config, user, exec, err);
    if (!status)
        status = read_command(config, user, exec, err);
    if (!status)
        status = read_arguments(config, user, exec, err);
    if (!status)
        status = read_environment(config, user, exec, err);
    if (!status)
        status = read_mode(config, user, exec, err);
    if (!status)
        status = read_hint(config, user, exec, err);
    if (!status && cluster->file)
        status = read_extension(config, cluster, err);
    return status;
}
