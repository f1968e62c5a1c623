/* kubeconfig_user.c: reads a user's credentials and impersonation from its kubeconfig. kubeconfig_exec.c reads the
 * plugin. */
#include "src/auth/kubeconfig.h"

#include "src/base/error.h"

/* --- impersonation ------------------------------------------------------------------------------------------------ */

static ki_status read_extra(ki_config *config, const ki_yaml *extra, ki_error *err) {
    const ki_yaml *key, *values, *value;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && (ki_yaml_pair(extra, i, &key, &values), key); i++) {
        for (size_t n = 0; !status && (value = ki_yaml_at(values, n)); n++)
            status =
                ki_secret_pairs_append(&config->allocator, &config->impersonate_extra, key->text, value->text, err);
    }
    return status;
}

ki_status ki_kubeconfig_read_impersonation(ki_config *config, const ki_kubeconfig_entry *user, ki_error *err) {
    ki_status status = ki_kubeconfig_set_text(config, user, user->map, "as", &config->impersonate_user, err);
    if (!status)
        status = ki_kubeconfig_set_text(config, user, user->map, "as-uid", &config->impersonate_uid, err);
    const ki_yaml *groups = ki_yaml_get(user->map, "as-groups"), *group;
    for (size_t i = 0; !status && (group = ki_yaml_at(groups, i)); i++)
        status = ki_secret_list_append(&config->allocator, &config->impersonate_groups, group->text, err);
    if (!status)
        status = read_extra(config, ki_yaml_get(user->map, "as-user-extra"), err);
    return status;
}

/* --- credentials -------------------------------------------------------------------------------------------------- */

/* Reads token and tokenFile. As in kubectl, the file's content wins if it can be read. */
static ki_status read_token(ki_config *config, const ki_kubeconfig_entry *user, ki_error *err) {
    ki_str path;
    ki_status status = ki_kubeconfig_set_text(config, user, user->map, "token", &config->token, err);
    if (!status)
        status = ki_kubeconfig_text(user, user->map, "tokenFile", &path, err);
    if (status || !path.data)
        return status;
    const ki_allocator *allocator = &config->allocator;
    status = ki_kubeconfig_path(allocator, user, path, &config->token_file, err);
    if (status)
        return status;
    ki_error why = KI_ERROR_INIT;
    status = ki_secret_read_token(allocator, config->token_file.data, "tokenFile", &config->token, &why);
    if (!status)
        return KI_OK;
    if (config->token.data && status != KI_ERR_NO_MEMORY) {
        ki_config_warn(config, "kubeconfig %s: users[%.*s].%s; using token until the file can be read",
                       user->file->path, (int)user->name.size, user->name.data, ki_error_message(&why));
        return KI_OK;
    }
    if (status == KI_ERR_NOT_FOUND)
        why.code = status = KI_ERR_CONFIG; /* the kubeconfig exists; its content is wrong */
    ki_error_prefix(&why, "kubeconfig %s: users[%.*s]", user->file->path, (int)user->name.size, user->name.data);
    if (err)
        *err = why;
    return status;
}

static ki_status read_basic(ki_config *config, const ki_kubeconfig_entry *user, ki_error *err) {
    ki_status status = ki_kubeconfig_set_text(config, user, user->map, "username", &config->username, err);
    if (!status)
        status = ki_kubeconfig_set_text(config, user, user->map, "password", &config->password, err);
    if (status || (!config->username.data && !config->password.data))
        return status;
    if (config->token.data)
        return ki_kubeconfig_bad(user, user->map, "username", err, "conflicts with %s; keep one of them",
                                 config->token_file.data ? "tokenFile" : "token");
    if (!config->username.data)
        return ki_kubeconfig_bad(user, user->map, "password", err, "without username; set both");
    return KI_OK;
}

static ki_status read_certificate(ki_config *config, const ki_kubeconfig_entry *user, const ki_config_options *options,
                                  ki_error *err) {
    const ki_allocator *allocator = &config->allocator;
    ki_status status = ki_kubeconfig_pem(allocator, user, "client-certificate", &config->client_certificate,
                                         &config->client_certificate_file, err);
    if (!status && !options->client_key)
        status = ki_kubeconfig_pem(allocator, user, "client-key", &config->client_key, &config->client_key_file, err);
    bool has_key = options->client_key || config->client_key.data;
    if (!status && !config->client_certificate.data != !has_key)
        status = ki_kubeconfig_bad(user, user->map, has_key ? "client-key" : "client-certificate", err,
                                   "client-certificate and client-key are both required; %s is missing",
                                   has_key ? "client-certificate" : "client-key");
    return status;
}

static ki_status reject_provider(const ki_kubeconfig_entry *user, const ki_yaml *provider, ki_error *err) {
    static const struct {
        const char *name, *remedy;
    } known[] = {
        { "gcp", "run gcloud container clusters get-credentials with gke-gcloud-auth-plugin installed" },
        { "azure", "run kubelogin convert-kubeconfig" },
        { "oidc", "use an exec plugin such as kubectl oidc-login, or a token" },
    };
    ki_str name;
    ki_status status = ki_kubeconfig_text(user, provider, "auth-provider.name", &name, err);
    if (status)
        return status;
    const char *remedy = "use exec, a token or a client certificate";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (name.data && ki_str_equals(name, known[i].name))
            remedy = known[i].remedy;
    }
    return ki_kubeconfig_bad(user, user->map, "auth-provider", err,
                             "Kubernetes has removed auth providers such as \"%.*s\": %s",
                             name.size < 64 ? (int)name.size : 64, name.data ? name.data : "", remedy);
}

ki_status ki_kubeconfig_read_credentials(ki_config *config, const ki_kubeconfig_entry *user,
                                         const ki_kubeconfig_entry *cluster, const ki_config_options *options,
                                         ki_error *err) {
    ki_kubeconfig_warn_unknown(config, user, user->map, "", ki_kubeconfig_user_fields);
    const ki_yaml *provider = ki_yaml_get(user->map, "auth-provider");
    if (provider && ki_yaml_get(user->map, "exec"))
        return ki_kubeconfig_bad(user, user->map, "auth-provider", err, "conflicts with exec; keep exec");
    if (provider)
        return reject_provider(user, provider, err);
    ki_status status = read_token(config, user, err);
    if (!status)
        status = read_basic(config, user, err);
    if (!status)
        status = read_certificate(config, user, options, err);
    if (!status && ki_yaml_get(user->map, "exec"))
        status = ki_kubeconfig_read_exec(config, user, cluster, err);
    if (status || !config->exec.command.data)
        return status;
    /* As in kubectl, other credentials take precedence over a plugin. */
    const char *instead = config->token.data                ? "token"
                          : config->username.data           ? "username"
                          : config->client_certificate.data ? "client-certificate"
                                                            : NULL;
    if (instead) {
        ki_config_warn(config, "kubeconfig %s: users[%.*s].exec: not used, because %s is set", user->file->path,
                       (int)user->name.size, user->name.data, instead);
        ki_exec_config_clear(&config->allocator, &config->exec);
    }
    return KI_OK;
}
