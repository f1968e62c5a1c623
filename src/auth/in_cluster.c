/* in_cluster.c: a pod's config: the service account's files and two environment variables. */
#include "src/auth/config.h"

#include "src/base/buffer.h"
#include "src/base/error.h"

#include <string.h>

enum {
    TEXT_LIMIT = 4096
};

static ki_status set_server(ki_config *config, const ki_in_cluster *where, ki_error *err) {
    bool is_ipv6 = strchr(where->host, ':') != NULL;
    ki_buffer url;
    ki_buffer_init(&url, &config->allocator, TEXT_LIMIT);
    ki_buffer_printf(&url, "https://%s%s%s:%s", is_ipv6 ? "[" : "", where->host, is_ipv6 ? "]" : "", where->port);
    return ki_secret_take(&config->server, &url, "KUBERNETES_SERVICE_HOST is", err);
}

typedef ki_status (*read_function)(const ki_allocator *allocator, const char *path, const char *what,
                                   ki_secret *ret_secret, ki_error *err);

/* Reads one file of the service account. Stores its path in `ret_path`, unless NULL, so that changes can be
 * detected. */
static ki_status read_one(ki_config *config, const ki_in_cluster *where, const char *name, read_function read,
                          ki_secret *ret_secret, ki_secret *ret_path, ki_error *err) {
    const ki_allocator *allocator = &config->allocator;
    ki_secret path = { NULL, 0 };
    ki_status status = ki_config_absolute_path(allocator, ki_str_of(where->directory), ki_str_of(name), &path, err);
    if (!status)
        status = read(allocator, path.data, "service account", ret_secret, err);
    if (status || !ret_path)
        ki_secret_clear(allocator, &path);
    else
        *ret_path = path;
    return status;
}

ki_status ki_in_cluster_load(ki_config *config, const ki_in_cluster *where, ki_error *err) {
    if (!where->host || !*where->host || !where->port || !*where->port)
        return ki_error_set(err, KI_ERR_NOT_FOUND,
                            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
    config->is_in_cluster = true;
    ki_status status = read_one(config, where, "token", ki_secret_read_token, &config->token, &config->token_file, err);
    if (!status)
        status = read_one(config, where, "ca.crt", ki_secret_read_file, &config->ca, &config->ca_file, err);
    if (!status && where->namespace_name && *where->namespace_name)
        status = ki_secret_set(&config->allocator, &config->namespace_name, ki_str_of(where->namespace_name), err);
    if (status)
        return status;
    if (!config->namespace_name.data) {
        status = read_one(config, where, "namespace", ki_secret_read_token, &config->namespace_name, NULL, NULL);
        if (status && status != KI_ERR_NOT_FOUND && status != KI_ERR_CONFIG)
            return ki_error_set(err, status, "cannot read the service account's namespace");
    }
    return set_server(config, where, err);
}
