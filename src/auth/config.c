/* config.c: makes a config: what a kubeconfig or the pod's files give, overridden by the program's options, then
 * checked as a whole. */
#include "src/auth/config.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/base/options.h"

#include <kinformer/version.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    USER_AGENT_LIMIT = 512
};

static const char service_account[] = "/var/run/secrets/kubernetes.io/serviceaccount";

const ki_config *ki_config_ref(const ki_config *config) {
    atomic_fetch_add(&((ki_config *)(uintptr_t)config)->more_owners, 1);
    return config;
}

void ki_config_free(ki_config *config) {
    if (!config || atomic_fetch_sub(&config->more_owners, 1) > 0)
        return;
    ki_allocator allocator = config->allocator;
    ki_secret *const texts[] = { &config->server,          &config->namespace_name,
                                 &config->user_agent,      &config->impersonate_user,
                                 &config->impersonate_uid, &config->ca,
                                 &config->ca_file,         &config->ca_directory,
                                 &config->tls_server_name, &config->proxy_url,
                                 &config->files,           &config->context,
                                 &config->cluster,         &config->user,
                                 &config->proxy_display,   &config->warnings };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ki_secret_clear(&allocator, texts[i]);
    ki_config_clear_credentials(config);
    ki_secret_list_clear(&allocator, &config->impersonate_groups);
    ki_secret_pairs_clear(&allocator, &config->impersonate_extra);
    ki_free(&allocator, config);
}

const char *ki_config_server(const ki_config *config) {
    return config->server.data;
}

const char *ki_config_namespace(const ki_config *config) {
    return config->namespace_name.data ? config->namespace_name.data : "default";
}

void ki_config_clear_credentials(ki_config *config) {
    ki_secret *const texts[] = { &config->token,           &config->token_file,
                                 &config->username,        &config->password,
                                 &config->client_key,      &config->client_certificate,
                                 &config->client_key_file, &config->client_certificate_file };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ki_secret_clear(&config->allocator, texts[i]);
    ki_exec_config_clear(&config->allocator, &config->exec);
}

bool ki_config_has_credentials(const ki_config *config) {
    return config->token.data || config->token_file.data || config->username.data || config->client_key.data ||
           config->exec.command.data;
}

bool ki_config_is_https(const ki_config *config) {
    return strncmp(config->server.data, "https://", 8) == 0;
}

/* --- describing --------------------------------------------------------------------------------------------------- */

static unsigned credentials_of(const ki_config *config) {
    unsigned all = 0;
    if (config->token_file.data)
        all |= KI_CREDENTIAL_TOKEN_FILE;
    else if (config->token.data)
        all |= KI_CREDENTIAL_TOKEN;
    if (config->username.data)
        all |= KI_CREDENTIAL_BASIC;
    if (config->client_certificate.data)
        all |= KI_CREDENTIAL_CERTIFICATE;
    if (config->exec.command.data)
        all |= KI_CREDENTIAL_EXEC;
    return all;
}

void ki_config_describe(const ki_config *config, ki_config_description *ret_description) {
    const ki_config_description all = {
        .size = ret_description->size,
        .files = config->files.data,
        .is_in_cluster = config->is_in_cluster,
        .context = config->context.data,
        .cluster = config->cluster.data,
        .user = config->user.data,
        .server = config->server.data,
        .namespace_name = ki_config_namespace(config),
        .credentials = credentials_of(config),
        .token_file = config->token_file.data,
        .exec_command = config->exec.command.data,
        .certificate_authority_file = config->ca_file.data,
        .client_certificate_file = config->client_certificate_file.data,
        .client_key_file = config->client_key_file.data,
        .has_certificate_authority = config->ca.data != NULL,
        .insecure_skip_tls_verify = config->insecure_skip_tls_verify,
        .tls_server_name = config->tls_server_name.data,
        .proxy_url = config->proxy_display.data,
        .as = config->impersonate_user.data,
        .warnings = config->warnings.data,
        .certificate_authority_directory = config->ca_directory.data,
        .insecure_skip_tls_name_verify = config->insecure_skip_tls_name_verify,
    };
    size_t size = ret_description->size;
    memcpy(ret_description, &all, size < sizeof all ? size : sizeof all);
}

void ki_config_warn(ki_config *config, const char *format, ...) {
    char line[KI_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (size < 0)
        return;
    ki_log_on_one_line(line);
    ki_buffer all;
    ki_buffer_init(&all, &config->allocator, KI_CONFIG_WARNINGS_LIMIT);
    ki_buffer_printf(&all, "%s%s%s", config->warnings.data ? config->warnings.data : "",
                     config->warnings.data ? "\n" : "", line);
    (void)!ki_secret_take(&config->warnings, &all, "warnings:", NULL); /* the list stays as it is */
}

/* --- user agent --------------------------------------------------------------------------------------------------- */

static const char *architecture(const char *machine) {
    if (strcmp(machine, "x86_64") == 0)
        return "amd64";
    return strcmp(machine, "aarch64") == 0 ? "arm64" : machine;
}

/* Makes `name/version (os/arch) kinformer/version`. */
static ki_status make_user_agent(ki_config *config, const char *given, ki_error *err) {
    struct utsname host;
    const char *machine = uname(&host) ? "unknown" : architecture(host.machine);
    const char *name = given ? given : program_invocation_short_name;
    ki_buffer text;
    ki_buffer_init(&text, &config->allocator, USER_AGENT_LIMIT);
    ki_buffer_printf(&text, "%s%s (linux/%s) kinformer/%s", name, strchr(name, '/') ? "" : "/unknown", machine,
                     KI_VERSION);
    ki_status status = ki_secret_take(&config->user_agent, &text, "user_agent:", err);
    if (!status && ki_secret_has_control(&config->user_agent))
        status = ki_error_set(err, KI_ERR_CONFIG, "user_agent: has a control character");
    return status;
}

/* --- new ---------------------------------------------------------------------------------------------------------- */

/* Checks the options that the files cannot contradict. */
static ki_status check_given(const ki_config_options *given, ki_error *err) {
    const struct {
        const char *name;
        bool is_set;
        const char *other;
        bool is_other_set;
    } conflicts[] = {
        { "no_kubeconfig", given->no_kubeconfig, "kubeconfig", given->kubeconfig },
        { "no_kubeconfig", given->no_kubeconfig, "context", given->context },
        { "no_kubeconfig", given->no_kubeconfig, "cluster", given->cluster },
        { "no_kubeconfig", given->no_kubeconfig, "user", given->user },
        { "certificate_authority_directory", given->certificate_authority_directory, "certificate_authority",
          given->certificate_authority },
        { "insecure_skip_tls_verify", given->insecure_skip_tls_verify, "certificate_authority_directory",
          given->certificate_authority_directory },
        { "insecure_skip_tls_verify", given->insecure_skip_tls_verify, "certificate_authority",
          given->certificate_authority },
        { "insecure_skip_tls_name_verify", given->insecure_skip_tls_name_verify, "tls_server_name",
          given->tls_server_name },
    };
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (conflicts[i].is_set && conflicts[i].is_other_set)
            return ki_error_set(err, KI_ERR_CONFIG, "%s conflicts with %s; keep one of them", conflicts[i].name,
                                conflicts[i].other);
    if (given->token_file_may_be_missing && !given->token_file)
        return ki_error_set(err, KI_ERR_CONFIG, "token_file_may_be_missing: without token_file; name the file");
    return KI_OK;
}

static ki_status take_options(const ki_config_options *options, ki_config **ret_config, ki_config_options *ret_given,
                              ki_error *err) {
    memset(ret_given, 0, sizeof *ret_given);
    if (!ret_config)
        return ki_error_set(err, KI_ERR_INVALID, "ret_config is NULL");
    if (KI_OPTIONS_TAKE(options, ret_given, "KI_CONFIG_OPTIONS", err))
        return KI_ERR_INVALID;
    if ((ret_given->as_group_count && !ret_given->as_groups) ||
        (ret_given->as_user_extra_count && !ret_given->as_user_extra))
        return ki_error_set(err, KI_ERR_INVALID, "as_groups or as_user_extra: a count without a list");
    const char **texts[] = { &ret_given->kubeconfig,
                             &ret_given->context,
                             &ret_given->server,
                             &ret_given->token,
                             &ret_given->certificate_authority,
                             &ret_given->client_certificate,
                             &ret_given->client_key,
                             &ret_given->cluster,
                             &ret_given->user,
                             &ret_given->namespace_name,
                             &ret_given->token_file,
                             &ret_given->username,
                             &ret_given->password,
                             &ret_given->tls_server_name,
                             &ret_given->proxy_url,
                             &ret_given->as,
                             &ret_given->as_uid,
                             &ret_given->certificate_authority_directory };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (*texts[i] && !**texts[i])
            *texts[i] = NULL; /* an empty flag is the same as none */
    }
    return check_given(ret_given, err);
}

/* Returns true if the program's options set the field that a message of ki_config_check begins with. */
static bool is_own_field(const ki_config_options *given, const char *message) {
    const struct {
        const char *field;
        const void *option;
    } fields[] = { { "server", given->server },
                   { "proxy-url", given->proxy_url },
                   { "tls-server-name", given->tls_server_name },
                   { "namespace", given->namespace_name },
                   { "token", given->token ? given->token : given->token_file },
                   { "username", given->username },
                   { "password", given->password },
                   { "client-certificate", given->client_certificate },
                   { "client-key", given->client_key },
                   { "certificate-authority", given->certificate_authority },
                   { "insecure-skip-tls-name-verify", given->insecure_skip_tls_name_verify ? given : NULL },
                   { "credentials-over-loopback-http", given->credentials_over_loopback_http ? given : NULL },
                   { "as", given->as },
                   { "as-uid", given->as_uid },
                   { "as-groups", given->as_group_count ? given->as_groups : NULL },
                   { "as-user-extra", given->as_user_extra_count ? given->as_user_extra : NULL } };
    size_t size = strcspn(message, ":");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].field) == size && memcmp(message, fields[i].field, size) == 0)
            return fields[i].option != NULL;
    }
    return false;
}

/* Checks the config. Messages about a field of a kubeconfig name the file. */
static ki_status check(ki_config *config, const ki_config_options *given, ki_error *err) {
    ki_error why = KI_ERROR_INIT;
    ki_status status = ki_config_check(config, &why);
    if (status && config->files.data && !is_own_field(given, why.message))
        ki_error_prefix(&why, "kubeconfig %s", config->files.data);
    if (status && err)
        *err = why;
    return status;
}

/* Makes a config from the pod's files, or from the kubeconfig if `where` is NULL. */
static ki_status make(const ki_config_options *given, const ki_in_cluster *where, ki_config **ret_config,
                      ki_error *err) {
    const ki_allocator *allocator = given->allocator ? given->allocator : &ki_allocator_default;
    ki_config *config = ki_alloc_zero(allocator, sizeof *config);
    if (!config)
        return ki_error_no_memory(err, "reading the configuration");
    config->allocator = *allocator;
    ki_status status = KI_OK;
    if (where)
        status = ki_in_cluster_load(config, where, err);
    else if (!given->no_kubeconfig)
        status = ki_kubeconfig_load(config, given, err);
    if (!status)
        status = ki_config_apply_options(config, given, err);
    if (!status)
        status = check(config, given, err);
    if (!status)
        status = make_user_agent(config, given->user_agent, err);
    if (status) {
        ki_config_free(config);
        if (err)
            ki_log_on_one_line(err->message);
        return status;
    }
    *ret_config = config;
    return KI_OK;
}

ki_status ki_config_new(const ki_config_options *options, ki_config **ret_config, ki_error *err) {
    ki_config_options given;
    ki_status status = take_options(options, ret_config, &given, err);
    return status ? status : make(&given, NULL, ret_config, err);
}

static ki_in_cluster here(void) {
    return (ki_in_cluster){ service_account, getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT"),
                            getenv("POD_NAMESPACE") };
}

ki_status ki_config_new_in_cluster(const ki_config_options *options, ki_config **ret_config, ki_error *err) {
    ki_config_options given;
    ki_status status = take_options(options, ret_config, &given, err);
    ki_in_cluster where = here();
    return status ? status : make(&given, &where, ret_config, err);
}

ki_status ki_config_new_default(const ki_config_options *options, ki_config **ret_config, ki_error *err) {
    ki_config_options given;
    ki_status status = take_options(options, ret_config, &given, err);
    if (status)
        return status;
    if (!given.kubeconfig && !given.context && !given.server && !given.cluster && !given.user) {
        ki_in_cluster where = here();
        ki_error why = KI_ERROR_INIT;
        status = make(&given, &where, ret_config, &why);
        if (status != KI_ERR_NOT_FOUND) {
            if (status && err)
                *err = why;
            return status;
        }
    }
    return make(&given, NULL, ret_config, err);
}
