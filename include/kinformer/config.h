/* config.h: where the API server is and who we are. */
#ifndef KINFORMER_CONFIG_H
#define KINFORMER_CONFIG_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_config ki_config;

/* Strings are copied; NULL means not given. Files are read when the config is made. */
typedef struct ki_config_options {
    size_t size;                       /* sizeof(ki_config_options); set by the macro */
    const ki_allocator *allocator;     /* copied; NULL: malloc */
    const char *kubeconfig;            /* path; NULL: KUBECONFIG, else ~/.kube/config */
    const char *context;               /* NULL: the file's current-context */
    const char *server;                /* URL; overrides the file's; enough on its own where no kubeconfig exists */
    const char *token;                 /* bearer token; overrides the file's user */
    const char *certificate_authority; /* path of a PEM file */
    const char *client_certificate;    /* paths of PEM files */
    const char *client_key;
    bool insecure_skip_tls_verify;
    const char *user_agent; /* NULL: the program's name */
} ki_config_options;

#define KI_CONFIG_OPTIONS(...) ((ki_config_options){ .size = sizeof(ki_config_options), __VA_ARGS__ })

/* From the options and the kubeconfig they name. Errors: KI_ERR_CONFIG (the message names file, field and remedy),
 * KI_ERR_NOT_FOUND (an explicit file or context that does not exist), KI_ERR_PARSE, KI_ERR_NO_MEMORY, KI_ERR_LIMIT.
 * Ownership: the caller's, freed with ki_config_free; a factory copies what it needs. Blocks: reads files,
 * and pipes until their writer closes them. */
KI_API KI_MUST_CHECK ki_status ki_config_new(const ki_config_options *options, ki_config **ret_config, ki_error *err);

/* As a pod sees its cluster: the service account's token, ca.crt and namespace, KUBERNETES_SERVICE_HOST and _PORT.
 * Errors: KI_ERR_NOT_FOUND outside a pod. */
KI_API KI_MUST_CHECK ki_status ki_config_new_in_cluster(const ki_config_options *options, ki_config **ret_config,
                                                        ki_error *err);

/* In-cluster where that is possible, else the kubeconfig. `options` may be NULL. */
KI_API KI_MUST_CHECK ki_status ki_config_new_default(const ki_config_options *options, ki_config **ret_config,
                                                     ki_error *err);

KI_API const char *ki_config_server(const ki_config *config);    /* URL without a closing slash. Borrowed. */
KI_API const char *ki_config_namespace(const ki_config *config); /* the context's, else "default". Borrowed. */

/* Wipes secrets and frees. NULL is accepted. */
KI_API void ki_config_free(ki_config *config);

KI_END_DECLS

#endif
