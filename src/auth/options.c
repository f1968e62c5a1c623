/* options.c: overrides a config with the program's options. Their paths are relative to the working directory. */
#include "src/auth/config.h"

#include "src/base/error.h"

#include <strings.h>

/* Returns NAME for "ns/NAME", as kubectl's flag does. */
static const char *without_kind(const char *name) {
    static const char *const kinds[] = { "namespaces/", "namespace/", "ns/" };
    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i]);
        if (strncasecmp(name, kinds[i], size) == 0 && name[size])
            return name + size;
    }
    return name;
}

/* Overrides the texts that are given. */
static ki_status override_texts(ki_config *config, const ki_config_options *options, ki_error *err) {
    const struct {
        ki_secret *secret;
        const char *text;
    } all[] = { { &config->server, options->server },
                { &config->tls_server_name, options->tls_server_name },
                { &config->proxy_url, options->proxy_url },
                { &config->token, options->token },
                { &config->username, options->username },
                { &config->password, options->password },
                { &config->impersonate_user, options->as },
                { &config->impersonate_uid, options->as_uid },
                { &config->namespace_name, without_kind(options->namespace_name) } };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < sizeof all / sizeof *all; i++)
        if (all[i].text)
            status = ki_secret_set(&config->allocator, all[i].secret, ki_str_of(all[i].text), err);
    return status;
}

/* Reads a file and stores its absolute path: it is read again later, perhaps from another working directory. */
static ki_status override_file(ki_config *config, ki_secret *secret, ki_secret *path_to, const char *path,
                               const char *what, ki_error *err) {
    if (!path)
        return KI_OK;
    ki_status status = ki_config_absolute_path(&config->allocator, KI_STR(""), ki_str_of(path), path_to, err);
    return status ? status : ki_secret_read_file(&config->allocator, path, what, secret, err);
}

/* Reads the certificates of a folder's files. */
static ki_status override_directory(ki_config *config, const char *path, ki_error *err) {
    const ki_allocator *allocator = &config->allocator;
    if (!path)
        return KI_OK;
    ki_status status = ki_config_absolute_path(allocator, KI_STR(""), ki_str_of(path), &config->ca_directory, err);
    return status ? status
                  : ki_secret_read_directory(allocator, path, "certificate_authority_directory", &config->ca, err);
}

static ki_status apply_cluster(ki_config *config, const ki_config_options *options, ki_error *err) {
    ki_status status = override_file(config, &config->ca, &config->ca_file, options->certificate_authority,
                                     "certificate_authority", err);
    if (!status)
        status = override_directory(config, options->certificate_authority_directory, err);
    config->insecure_skip_tls_name_verify = options->insecure_skip_tls_name_verify;
    config->disable_compression = config->disable_compression || options->disable_compression;
    return status;
}

static ki_status apply_token(ki_config *config, const ki_config_options *options, ki_error *err) {
    if (!options->token_file)
        return KI_OK;
    const ki_allocator *allocator = &config->allocator;
    ki_status status =
        ki_config_absolute_path(allocator, KI_STR(""), ki_str_of(options->token_file), &config->token_file, err);
    if (status)
        return status;
    ki_error why = KI_ERROR_INIT;
    status = ki_secret_read_token(allocator, options->token_file, "token_file", &config->token, &why);
    if (status && status != KI_ERR_NO_MEMORY && options->token) {
        ki_config_warn(config, "%s; using token until the file can be read", ki_error_message(&why));
        return KI_OK;
    }
    if (status == KI_ERR_NOT_FOUND && options->token_file_may_be_missing) {
        ki_config_warn(config, "%s; requests fail until it is there", ki_error_message(&why));
        return KI_OK;
    }
    if (status && err)
        *err = why;
    return status;
}

static ki_status apply_credentials(ki_config *config, const ki_config_options *options, ki_error *err) {
    ki_status status = apply_token(config, options, err);
    if (!status)
        status = override_file(config, &config->client_certificate, &config->client_certificate_file,
                               options->client_certificate, "client_certificate", err);
    if (!status)
        status = override_file(config, &config->client_key, &config->client_key_file, options->client_key, "client_key",
                               err);
    return status;
}

static ki_status apply_impersonation(ki_config *config, const ki_config_options *options, ki_error *err) {
    const ki_allocator *allocator = &config->allocator;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < options->as_group_count; i++) {
        if (!options->as_groups[i])
            return ki_error_set(err, KI_ERR_INVALID, "as_groups: number %zu is NULL", i);
        status = ki_secret_list_append(allocator, &config->impersonate_groups, ki_str_of(options->as_groups[i]), err);
    }
    for (size_t i = 0; !status && i < options->as_user_extra_count; i++) {
        const ki_config_extra *extra = &options->as_user_extra[i];
        if (!extra->name || !extra->value)
            return ki_error_set(err, KI_ERR_INVALID, "as_user_extra: number %zu has a NULL", i);
        status = ki_secret_pairs_append(allocator, &config->impersonate_extra, ki_str_of(extra->name),
                                        ki_str_of(extra->value), err);
    }
    return status;
}

/* Removes what the options replace, and what belonged to that. */
static void clear_overridden(ki_config *config, const ki_config_options *options) {
    const ki_allocator *allocator = &config->allocator;
    if (options->insecure_skip_tls_verify || options->certificate_authority ||
        options->certificate_authority_directory) {
        ki_secret_clear(allocator, &config->ca);
        ki_secret_clear(allocator, &config->ca_file);
        config->insecure_skip_tls_verify = options->insecure_skip_tls_verify;
    }
    if (options->server ||
        options->insecure_skip_tls_name_verify) /* the name was the replaced server's, or is unused */
        ki_secret_clear(allocator, &config->tls_server_name);
    if (options->token || options->token_file || options->username || options->password || options->client_certificate)
        ki_config_clear_credentials(config);
    if (options->as) /* another user: the kubeconfig's groups do not apply */
        ki_secret_clear(allocator, &config->impersonate_uid);
    if (options->as || options->as_group_count)
        ki_secret_list_clear(allocator, &config->impersonate_groups);
    if (options->as || options->as_user_extra_count)
        ki_secret_pairs_clear(allocator, &config->impersonate_extra);
}

ki_status ki_config_apply_options(ki_config *config, const ki_config_options *options, ki_error *err) {
    clear_overridden(config, options);
    ki_status status = override_texts(config, options, err);
    if (!status)
        status = apply_cluster(config, options, err);
    config->credentials_over_loopback_http = options->credentials_over_loopback_http;
    if (!status)
        status = apply_credentials(config, options, err);
    if (!status)
        status = apply_impersonation(config, options, err);
    config->requests_per_second = options->requests_per_second;
    config->request_burst = options->request_burst;
    config->watch_read_interval_ms = options->watch_read_interval_ms;
    if (!status && (unsigned)options->watch_read_interval_ms > KI_WATCH_READ_INTERVAL_MAX_MS)
        return ki_error_set(err, KI_ERR_INVALID, "watch_read_interval_ms is not between 0 and %d",
                            KI_WATCH_READ_INTERVAL_MAX_MS);
    return status;
}
