/* config.h: where the API server is and who we are.
 *
 * Secrets in memory: the library wipes its own copies of tokens, passwords and keys when it frees them, and no message or description has them. libcurl and
 * nghttp2 free their copies of a request's headers without wiping them. A core dump of the program may hold its token, then: a program that must
 * not leave one disables core dumps (setrlimit with RLIMIT_CORE, or prctl with PR_SET_DUMPABLE). */
#ifndef KINFORMER_CONFIG_H
#define KINFORMER_CONFIG_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_config ki_config;

/* One more fact about the one who is impersonated; a name may come several times. */
typedef struct ki_config_extra {
    const char *name;
    const char *value;
} ki_config_extra;

/* Strings are copied; NULL or "" means not given. Files are read when the config is made, and looked at again while it is used.
 * What is given here wins over the kubeconfig; a credential (token, token_file, username, client_certificate) replaces all
 * credentials of the kubeconfig's user. docs/connecting.md has every field and rule. */
typedef struct ki_config_options {
    size_t size;                       /* sizeof(ki_config_options); set by the macro */
    const ki_allocator *allocator;     /* copied; NULL: malloc */
    const char *kubeconfig;            /* path; NULL: KUBECONFIG, else ~/.kube/config */
    const char *context;               /* NULL: the file's current-context */
    const char *server;                /* URL; overrides the file's; enough on its own where no kubeconfig exists */
    const char *token;                 /* bearer token */
    const char *certificate_authority; /* path of a PEM file */
    const char *client_certificate;    /* paths of PEM files */
    const char *client_key;
    bool insecure_skip_tls_verify;
    const char *user_agent; /* NULL: the program's name */

    const char *cluster; /* names of entries of the kubeconfig; NULL: the context's */
    const char *user;
    const char *namespace_name; /* "ns/NAME" too */
    const char *token_file;     /* path; read again as it changes */
    const char *username;       /* HTTP basic authentication */
    const char *password;
    const char *tls_server_name; /* the name that the server's certificate must be for; NULL: the URL's host */
    const char *proxy_url;       /* http://, https:// or socks5:// */
    bool disable_compression;
    const char *as; /* whom to act as; needs the right to impersonate */
    const char *as_uid;
    const char *const *as_groups;
    size_t as_group_count;
    const ki_config_extra *as_user_extra;
    size_t as_user_extra_count;
    int requests_per_second; /* of the client's own limit; 0: 5; negative: no limit */
    int request_burst;       /* 0: 10 */
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

/* In-cluster where that is possible and the options name no kubeconfig, context, server, cluster or user; else the kubeconfig. `options`
 * may be NULL. Errors, Ownership, Blocks: as ki_config_new. */
KI_API KI_MUST_CHECK ki_status ki_config_new_default(const ki_config_options *options, ki_config **ret_config,
                                                     ki_error *err);

KI_API const char *ki_config_server(const ki_config *config);    /* URL without a closing slash. Borrowed. */
KI_API const char *ki_config_namespace(const ki_config *config); /* the context's, else "default". Borrowed. */

/* How the program shows who it is. */
enum {
    KI_CREDENTIAL_TOKEN = 1,       /* a bearer token */
    KI_CREDENTIAL_TOKEN_FILE = 2,  /* … from a file, which is read again */
    KI_CREDENTIAL_BASIC = 4,       /* user name and password */
    KI_CREDENTIAL_CERTIFICATE = 8, /* a client certificate */
    KI_CREDENTIAL_EXEC = 16        /* what a command prints */
};

/* What a config says, for a person; no secrets. A text is NULL where it is not given. */
typedef struct ki_config_description {
    size_t size;         /* sizeof(ki_config_description); set by the macro */
    const char *files;   /* the kubeconfigs that were read, a ':' between them; NULL in a cluster or without any */
    bool is_in_cluster;  /* the pod's service account */
    const char *context; /* names of the kubeconfig's entries */
    const char *cluster;
    const char *user;
    const char *server;
    const char *namespace_name;
    unsigned credentials; /* KI_CREDENTIAL_…, added up; 0: none, anonymous */
    const char *token_file;
    const char *exec_command;
    const char *certificate_authority_file; /* NULL: within the kubeconfig, or the system's own */
    const char *client_certificate_file;
    const char *client_key_file;
    bool has_certificate_authority; /* else the system's own are believed */
    bool insecure_skip_tls_verify;
    const char *tls_server_name;
    const char *proxy_url; /* without user and password; NULL: as the environment says */
    const char *as;
    const char *warnings; /* what was ignored, or will not work as written; a line for each, a line end between them */
} ki_config_description;

#define KI_CONFIG_DESCRIPTION_INIT \
    { .size = sizeof(ki_config_description) }

/* Fills `ret_description` as far as its size goes. Ownership: its texts are borrowed from the config. Threads: any. */
KI_API void ki_config_describe(const ki_config *config, ki_config_description *ret_description);

/* Wipes secrets and frees. NULL is accepted. */
KI_API void ki_config_free(ki_config *config);

KI_END_DECLS

#endif
