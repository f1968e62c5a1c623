/* config.h: the inside of a ki_config: what a connection needs. Made by config.c from kubeconfig.c's or in_cluster.c's findings and the
 * program's options; read by src/transport. Constant once made; secrets are wiped when it is freed. */
#ifndef KI_AUTH_CONFIG_H
#define KI_AUTH_CONFIG_H

#include <kinformer/config.h>

#include "src/base/string_view.h"

#define KI_CONFIG_FILE_LIMIT ((size_t)4 * 1024 * 1024) /* bytes of a kubeconfig, certificate, key or token file */

/* Bytes, zero-terminated, wiped before they are freed; data NULL: not given. */
typedef struct ki_secret {
    char *data;
    size_t size;
} ki_secret;

struct ki_config {
    ki_allocator allocator;
    ki_secret server;         /* URL without a closing slash */
    ki_secret namespace_name; /* not given: "default" */
    ki_secret user_agent;     /* the whole header's value */
    ki_secret token;
    ki_secret ca;                 /* PEM */
    ki_secret client_certificate; /* PEM */
    ki_secret client_key;         /* PEM */
    bool insecure_skip_tls_verify;
};

bool ki_config_is_https(const ki_config *config);

/* --- for the files of this folder --- */

void ki_secret_clear(const ki_allocator *allocator, ki_secret *secret);
ki_status ki_secret_set(const ki_allocator *allocator, ki_secret *secret, ki_str text, ki_error *err);

/* The whole of a file, or what comes through a pipe. `what` names it in messages: "certificate-authority". Errors: KI_ERR_NOT_FOUND,
 * KI_ERR_CONFIG (unreadable, neither file nor pipe, a pipe that stays silent), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_secret_read_file(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                              ki_error *err);
/* A token file's text without the white space around it. */
ki_status ki_secret_read_token(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                               ki_error *err);
/* Standard base64 with padding; line ends are skipped, anything else is KI_ERR_PARSE. */
ki_status ki_secret_decode_base64(const ki_allocator *allocator, ki_str text, ki_secret *ret_secret, ki_error *err);

/* Fills the config from the kubeconfig that the options name. */
ki_status ki_kubeconfig_load(ki_config *config, const ki_config_options *options, ki_error *err);

/* What a pod sees; a test's own values instead. */
typedef struct ki_in_cluster {
    const char *directory; /* of the service account's files */
    const char *host;      /* KUBERNETES_SERVICE_HOST; NULL: not set */
    const char *port;
} ki_in_cluster;
ki_status ki_in_cluster_load(ki_config *config, const ki_in_cluster *where, ki_error *err);

#endif
