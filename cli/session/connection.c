/* connection.c: see connection.h. */
#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if flags or $KUBECONFIG name a cluster. Otherwise a pod's own cluster comes before ~/.kube/config. */
static bool is_given(const options *o) {
    const char *list = getenv("KUBECONFIG");
    return o->kubeconfig || o->context || o->server || o->cluster || o->user || (list && *list);
}

/* Splits NAME=VALUE. `name` receives a copy of NAME; VALUE is borrowed from `text`. */
static bool split_extra(const char *text, char *name, size_t size, ki_config_extra *ret_extra) {
    const char *equal = strchr(text, '=');
    if (!equal || equal == text || (size_t)(equal - text) >= size)
        return false;
    memcpy(name, text, (size_t)(equal - text));
    name[equal - text] = '\0';
    *ret_extra = (ki_config_extra){ name, equal + 1 };
    return true;
}

ki_status connection_config(const options *o, const ki_allocator *allocator, ki_config **ret_config, ki_error *err) {
    char names[MAX_REPEATS][256];
    ki_config_extra extra[MAX_REPEATS];
    for (size_t i = 0; i < o->as_user_extra.count; i++) {
        if (split_extra(o->as_user_extra.items[i], names[i], sizeof names[i], &extra[i]))
            continue;
        if (err) {
            *err = (ki_error){ .code = KI_ERR_INVALID, .category = KI_CATEGORY_REQUEST, .retry_after_ms = -1 };
            snprintf(err->message, sizeof err->message, "--as-user-extra=%.100s: NAME=VALUE expected",
                     o->as_user_extra.items[i]);
        }
        return KI_ERR_INVALID;
    }
    const ki_config_options config = {
        .size = sizeof config,
        .allocator = allocator,
        .kubeconfig = o->kubeconfig,
        .context = o->context,
        .server = o->server,
        .token = o->token,
        .certificate_authority = o->certificate_authority,
        .client_certificate = o->client_certificate,
        .client_key = o->client_key,
        .insecure_skip_tls_verify = o->insecure,
        .user_agent = "kinformer/" KI_VERSION,
        .cluster = o->cluster,
        .user = o->user,
        .namespace_name = o->namespace_name,
        .token_file = o->token_file,
        .username = o->username,
        .password = o->password,
        .tls_server_name = o->tls_server_name,
        .proxy_url = o->proxy_url,
        .disable_compression = o->disable_compression,
        .as = o->as,
        .as_uid = o->as_uid,
        .as_groups = o->as_groups.items,
        .as_group_count = o->as_groups.count,
        .as_user_extra = extra,
        .as_user_extra_count = o->as_user_extra.count,
    };
    return is_given(o) ? ki_config_new(&config, ret_config, err) : ki_config_new_default(&config, ret_config, err);
}
