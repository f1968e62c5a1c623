/* config.c: a config from the program's options over what was found in a kubeconfig or in the cluster, checked as a whole. */
#include "src/auth/config.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <kinformer/version.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum {
    USER_AGENT_LIMIT = 512,
    SERVER_LIMIT = 2048
};

static const char service_account[] = "/var/run/secrets/kubernetes.io/serviceaccount";

static void clear_list(const ki_allocator *allocator, ki_secret_list *list) {
    for (size_t i = 0; i < list->count; i++)
        ki_secret_clear(allocator, &list->items[i]);
    ki_free(allocator, list->items);
    *list = (ki_secret_list){ 0 };
}

static void clear_pairs(const ki_allocator *allocator, ki_secret_pairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) {
        ki_secret_clear(allocator, &pairs->items[i].name);
        ki_secret_clear(allocator, &pairs->items[i].value);
    }
    ki_free(allocator, pairs->items);
    *pairs = (ki_secret_pairs){ 0 };
}

static void clear_exec(const ki_allocator *allocator, ki_exec_config *exec) {
    ki_secret_clear(allocator, &exec->api_version);
    ki_secret_clear(allocator, &exec->command);
    ki_secret_clear(allocator, &exec->install_hint);
    ki_secret_clear(allocator, &exec->cluster_extension);
    clear_list(allocator, &exec->arguments);
    clear_pairs(allocator, &exec->environment);
}

void ki_config_free(ki_config *config) {
    if (!config)
        return;
    ki_allocator allocator = config->allocator;
    ki_secret *const texts[] = { &config->server,
                                 &config->namespace_name,
                                 &config->user_agent,
                                 &config->token,
                                 &config->token_file,
                                 &config->username,
                                 &config->password,
                                 &config->impersonate_user,
                                 &config->impersonate_uid,
                                 &config->ca,
                                 &config->client_certificate,
                                 &config->client_key,
                                 &config->ca_file,
                                 &config->client_certificate_file,
                                 &config->client_key_file,
                                 &config->tls_server_name,
                                 &config->proxy_url };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ki_secret_clear(&allocator, texts[i]);
    clear_exec(&allocator, &config->exec);
    clear_list(&allocator, &config->impersonate_groups);
    clear_pairs(&allocator, &config->impersonate_extra);
    ki_free(&allocator, config);
}

const char *ki_config_server(const ki_config *config) {
    return config->server.data;
}

const char *ki_config_namespace(const ki_config *config) {
    return config->namespace_name.data ? config->namespace_name.data : "default";
}

bool ki_config_is_https(const ki_config *config) {
    return strncmp(config->server.data, "https://", 8) == 0;
}

/* --- checks ----------------------------------------------------------------------------------------------------------------- */

/* Would the text break out of a header line or a request line? */
static bool has_control(const ki_secret *text) {
    for (size_t i = 0; i < text->size; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c < 0x20 || c == 0x7f)
            return true;
    }
    return false;
}

static ki_status check_port(ki_str port) {
    uint64_t number;
    return ki_str_to_uint64(port, 65535, &number) && number > 0 ? KI_OK : KI_ERR_CONFIG;
}

/* host, host:port, [address] or [address]:port. */
static bool is_authority(ki_str authority) {
    if (authority.size && authority.data[0] == '[') {
        ki_str after;
        ki_str address = ki_str_split(authority, ']', &after);
        if (!after.data || address.size < 3)
            return false;
        return after.size == 0 || (after.data[0] == ':' && !check_port((ki_str){ after.data + 1, after.size - 1 }));
    }
    ki_str port;
    ki_str host = ki_str_split(authority, ':', &port);
    return host.size > 0 && (!port.data || !check_port(port));
}

static ki_status check_server(ki_config *config, ki_error *err) {
    ki_secret *server = &config->server;
    if (!server->data || !server->size)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: not given, neither by the kubeconfig's cluster nor by the program");
    while (server->size && server->data[server->size - 1] == '/')
        server->data[--server->size] = '\0';
    ki_str url = { server->data, server->size };
    size_t scheme = ki_str_starts_with(url, KI_STR("https://"))  ? 8
                    : ki_str_starts_with(url, KI_STR("http://")) ? 7
                                                                 : 0;
    /* The URL is not put into the messages before it is known to hold no password. */
    if (!scheme)
        return ki_error_set(err, KI_ERR_CONFIG, "server: must begin with https:// or http://");
    if (server->size > SERVER_LIMIT)
        return ki_error_set(err, KI_ERR_CONFIG, "server: the URL is longer than %d bytes", SERVER_LIMIT);
    if (memchr(url.data, '@', url.size))
        return ki_error_set(err, KI_ERR_CONFIG, "server: a user or password in the URL is not accepted");
    if (has_control(server) || strpbrk(server->data, " ?#\\"))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: the URL has a query, a fragment or a character that cannot be there");
    ki_str path;
    if (!is_authority(ki_str_split((ki_str){ url.data + scheme, url.size - scheme }, '/', &path)))
        return ki_error_set(err, KI_ERR_CONFIG, "server: %s has no valid host and port", server->data);
    return KI_OK;
}

static ki_status check_credentials(const ki_config *config, ki_error *err) {
    if (has_control(&config->token))
        return ki_error_set(err, KI_ERR_CONFIG, "token: holds a line end or another control character");
    if (!config->client_certificate.data != !config->client_key.data)
        return ki_error_set(err, KI_ERR_CONFIG, "client-certificate and client-key go together; one is missing");
    if (ki_config_is_https(config))
        return KI_OK;
    if (config->token.data || config->client_key.data)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "%s: credentials are not sent to a server that is not https; "
                            "use an https server or leave them out",
                            config->server.data);
    return KI_OK;
}

/* --- options ---------------------------------------------------------------------------------------------------------------- */

static ki_status override_text(ki_config *config, ki_secret *secret, const char *text, ki_error *err) {
    return text ? ki_secret_set(&config->allocator, secret, ki_str_of(text), err) : KI_OK;
}

static ki_status override_file(ki_config *config, ki_secret *secret, const char *path, const char *what,
                               ki_error *err) {
    return path ? ki_secret_read_file(&config->allocator, path, what, secret, err) : KI_OK;
}

static ki_status apply_options(ki_config *config, const ki_config_options *options, ki_error *err) {
    const ki_allocator *allocator = &config->allocator;
    if (options->insecure_skip_tls_verify && options->certificate_authority)
        return ki_error_set(err, KI_ERR_CONFIG, "insecure_skip_tls_verify contradicts certificate_authority");
    if (options->insecure_skip_tls_verify) {
        ki_secret_clear(allocator, &config->ca);
        config->insecure_skip_tls_verify = true;
    } else if (options->certificate_authority) {
        config->insecure_skip_tls_verify = false;
    }
    if (options->token) { /* replaces the user as a whole */
        ki_secret_clear(allocator, &config->client_certificate);
        ki_secret_clear(allocator, &config->client_key);
    } else if (options->client_certificate) {
        ki_secret_clear(allocator, &config->token);
    }
    ki_status status = override_text(config, &config->server, options->server, err);
    if (!status)
        status = override_text(config, &config->token, options->token, err);
    if (!status)
        status = override_file(config, &config->ca, options->certificate_authority, "certificate_authority", err);
    if (!status)
        status =
            override_file(config, &config->client_certificate, options->client_certificate, "client_certificate", err);
    if (!status)
        status = override_file(config, &config->client_key, options->client_key, "client_key", err);
    return status;
}

static const char *architecture(const char *machine) {
    if (strcmp(machine, "x86_64") == 0)
        return "amd64";
    return strcmp(machine, "aarch64") == 0 ? "arm64" : machine;
}

/* `name/version (os/arch) kinformer/version`. */
static ki_status make_user_agent(ki_config *config, const char *given, ki_error *err) {
    struct utsname host;
    const char *machine = uname(&host) ? "unknown" : architecture(host.machine);
    const char *name = given ? given : program_invocation_short_name;
    ki_buffer text;
    ki_buffer_init(&text, &config->allocator, USER_AGENT_LIMIT);
    ki_buffer_printf(&text, "%s%s (linux/%s) kinformer/%s", name, strchr(name, '/') ? "" : "/unknown", machine,
                     KI_VERSION);
    ki_status status = text.failed;
    if (status == KI_ERR_LIMIT)
        ki_error_set(err, status, "user_agent: longer than %d bytes", USER_AGENT_LIMIT);
    else if (status)
        ki_error_no_memory(err, "reading the configuration");
    else
        status = ki_secret_set(&config->allocator, &config->user_agent, (ki_str){ text.data, text.size }, err);
    ki_buffer_free(&text);
    if (!status && has_control(&config->user_agent))
        status = ki_error_set(err, KI_ERR_CONFIG, "user_agent: holds a control character");
    return status;
}

/* --- new -------------------------------------------------------------------------------------------------------------------- */

static ki_status take_options(const ki_config_options *options, ki_config **ret_config, ki_config_options *ret_given,
                              ki_error *err) {
    memset(ret_given, 0, sizeof *ret_given);
    if (!ret_config)
        return ki_error_set(err, KI_ERR_INVALID, "nowhere to put the config");
    if (!options)
        return KI_OK;
    if (options->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_config_options without a size: use KI_CONFIG_OPTIONS()");
    memcpy(ret_given, options, options->size < sizeof *ret_given ? options->size : sizeof *ret_given);
    return KI_OK;
}

/* `where` NULL: from the kubeconfig. */
static ki_status make(const ki_config_options *given, const ki_in_cluster *where, ki_config **ret_config,
                      ki_error *err) {
    const ki_allocator *allocator = given->allocator ? given->allocator : &ki_allocator_default;
    ki_config *config = ki_alloc_zero(allocator, sizeof *config);
    if (!config)
        return ki_error_no_memory(err, "reading the configuration");
    config->allocator = *allocator;
    ki_status status = where ? ki_in_cluster_load(config, where, err) : ki_kubeconfig_load(config, given, err);
    if (!status)
        status = apply_options(config, given, err);
    if (!status)
        status = check_server(config, err);
    if (!status)
        status = check_credentials(config, err);
    if (!status)
        status = make_user_agent(config, given->user_agent, err);
    if (status) {
        ki_config_free(config);
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
    return (ki_in_cluster){ service_account, getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT") };
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
    if (!given.kubeconfig && !given.context && !given.server) {
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
