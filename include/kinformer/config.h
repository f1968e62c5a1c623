/* config.h: the API server's address and the program's credentials, from options, a kubeconfig or a pod's service
 * account.
 *
 * Secrets in memory: the library overwrites its copies of tokens, passwords and keys when it frees them, and no message
 * or description has them. libcurl and nghttp2 free their copies of request headers without overwriting them. A core
 * dump may therefore have the token; a program that must not leave one disables core dumps (setrlimit with RLIMIT_CORE,
 * or prctl with PR_SET_DUMPABLE). */
#ifndef KINFORMER_CONFIG_H
#define KINFORMER_CONFIG_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_config ki_config;

enum {
    KI_WATCH_READ_INTERVAL_MAX_MS = 1000
};

/* An extra attribute of the impersonated user (the header Impersonate-Extra-…). A name may occur several times. */
typedef struct ki_config_extra {
    const char *name;
    const char *value;
} ki_config_extra;

/* Strings are copied; NULL and "" mean not given. Files are read when the configuration is made, and read again when
 * they change. An option overrides the kubeconfig. A credential (token, token_file, username, client_certificate)
 * replaces all credentials of the kubeconfig's user. docs/connecting.md describes every field and rule. */
typedef struct ki_config_options {
    size_t size;                       /* sizeof(ki_config_options); set by the macro */
    const ki_allocator *allocator;     /* copied; NULL: malloc */
    const char *kubeconfig;            /* path; NULL: the files of KUBECONFIG, else ~/.kube/config */
    const char *context;               /* NULL: the kubeconfig's current-context */
    const char *server;                /* URL; works without any kubeconfig */
    const char *token;                 /* bearer token */
    const char *certificate_authority; /* path of a PEM file */
    const char *client_certificate;    /* path of a PEM file; needs `client_key` */
    const char *client_key;            /* path of a PEM file */
    bool insecure_skip_tls_verify;     /* do not verify the server's certificate */
    const char *user_agent;            /* NULL: the program's name */

    const char *cluster;        /* name of a cluster in the kubeconfig; NULL: the context's */
    const char *user;           /* name of a user in the kubeconfig; NULL: the context's */
    const char *namespace_name; /* "shop" or "ns/shop"; NULL: the context's */
    const char *token_file;     /* path of a bearer token; read again when it changes */
    const char *username;       /* HTTP basic authentication */
    const char *password;
    const char *tls_server_name; /* name that the server's certificate must have; NULL: the URL's host */
    const char *proxy_url;       /* http://, https:// or socks5:// */
    bool disable_compression;    /* passed to credential plugins; the library never requests compressed responses */
    const char *as;              /* user to impersonate; the program's user needs the verb impersonate */
    const char *as_uid;
    const char *const *as_groups;
    size_t as_group_count;
    const ki_config_extra *as_user_extra;
    size_t as_user_extra_count;
    int requests_per_second; /* client-side rate limit; 0 or less: none */
    int request_burst;       /* requests at once before the rate limit applies; 0: 10 */
    /* Least milliseconds between two reads while a factory has nothing but watches under way. The changes of that time
     * arrive together, at most that much later, and cost less CPU time. Waits for a resource version take as much
     * longer. While another request is under way, and after a read of more than 64 KB, all is read at once: a program
     * that always has a request under way saves nothing. Of more than 90 watches over TLS this is so for each 90. A
     * streaming list can take some intervals longer. 0: changes arrive at once; at most
     * KI_WATCH_READ_INTERVAL_MAX_MS. */
    int watch_read_interval_ms;

    /* For a host program, whose own configuration says everything (docs/connecting.md). */
    bool no_kubeconfig; /* read no kubeconfig, whatever KUBECONFIG and the home folder have; not with `kubeconfig`,
                           `context`, `cluster` or `user` */
    const char *certificate_authority_directory; /* path of a folder with PEM files, each with certificates; instead of
                                                    `certificate_authority` */
    bool insecure_skip_tls_name_verify;  /* verify the chain of the server's certificate, but not its names; not with
                                           `insecure_skip_tls_verify` or `tls_server_name` */
    bool token_file_may_be_missing;      /* `token_file` can appear later: until then requests fail, and are retried */
    bool credentials_over_loopback_http; /* send credentials to an http:// server, if its host is localhost, 127.0.0.0/8
                                            or [::1], and no proxy is set */
} ki_config_options;

#define KI_CONFIG_OPTIONS(...) KI_SIZED_(ki_config_options, __VA_ARGS__)

/* Makes a configuration from the options and the kubeconfig that they name. `options` may be NULL.
 * Ownership: the caller frees the configuration with ki_config_free. Factories and clients copy it. Blocks: reads
 * files; a named pipe until its writer closes it.
 * Errors: KI_ERR_CONFIG (the message names file, field and remedy), KI_ERR_INVALID (an option), KI_ERR_NOT_FOUND (a
 * file or context that the options name, or no kubeconfig at all), KI_ERR_PARSE, KI_ERR_NO_MEMORY, KI_ERR_LIMIT. */
KI_API KI_MUST_CHECK ki_status ki_config_new(const ki_config_options *options, ki_config **ret_config, ki_error *err);

/* Makes the configuration of a pod: the service account's token, ca.crt and namespace, and the server of
 * KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. `options` may be NULL.
 * Ownership, Blocks: as ki_config_new. Errors: as ki_config_new; KI_ERR_NOT_FOUND (not in a pod). */
KI_API KI_MUST_CHECK ki_status ki_config_new_in_cluster(const ki_config_options *options, ki_config **ret_config,
                                                        ki_error *err);

/* Makes the configuration of a pod if the program runs in one and the options name no kubeconfig, context, server,
 * cluster or user; else the configuration of ki_config_new. `options` may be NULL.
 * Ownership, Blocks, Errors: as ki_config_new. */
KI_API KI_MUST_CHECK ki_status ki_config_new_default(const ki_config_options *options, ki_config **ret_config,
                                                     ki_error *err);

/* Returns the server's URL without a slash at the end. Ownership: borrowed from `config`. Threads: any. */
KI_API const char *ki_config_server(const ki_config *config);
/* Returns the configured namespace, or "default". Ownership: borrowed from `config`. Threads: any. */
KI_API const char *ki_config_namespace(const ki_config *config);

/* Kinds of credentials. */
enum {
    KI_CREDENTIAL_TOKEN = 1,       /* a bearer token */
    KI_CREDENTIAL_TOKEN_FILE = 2,  /* a bearer token from a file */
    KI_CREDENTIAL_BASIC = 4,       /* user name and password */
    KI_CREDENTIAL_CERTIFICATE = 8, /* a client certificate */
    KI_CREDENTIAL_EXEC = 16        /* a credential plugin */
};

/* A summary of a configuration, without secrets. Strings are NULL if not given. */
typedef struct ki_config_description {
    size_t size;         /* sizeof(ki_config_description); set by the macro */
    const char *files;   /* the kubeconfig files that were read, separated by ':'; NULL: none */
    bool is_in_cluster;  /* from a pod's service account */
    const char *context; /* name in the kubeconfig */
    const char *cluster; /* name in the kubeconfig */
    const char *user;    /* name in the kubeconfig */
    const char *server;
    const char *namespace_name;
    unsigned credentials; /* sum of KI_CREDENTIAL_…; 0: anonymous */
    const char *token_file;
    const char *exec_command;
    const char *certificate_authority_file; /* NULL: data in the kubeconfig, or the system's authorities */
    const char *client_certificate_file;
    const char *client_key_file;
    bool has_certificate_authority; /* false: the system's authorities are trusted */
    bool insecure_skip_tls_verify;
    const char *tls_server_name;
    const char *proxy_url; /* without user and password; NULL: the environment's proxies */
    const char *as;
    const char *warnings; /* ignored fields and likely mistakes, one on each line */
    const char *certificate_authority_directory;
    bool insecure_skip_tls_name_verify;
} ki_config_description;

#define KI_CONFIG_DESCRIPTION_INIT KI_SIZED_(ki_config_description, )

/* Describes a configuration: fills the first `size` bytes of `*ret_description`.
 * Ownership: the strings are borrowed from `config`. Threads: any. */
KI_API void ki_config_describe(const ki_config *config, ki_config_description *ret_description);

/* Overwrites the secrets and frees the configuration. NULL is accepted. */
KI_API void ki_config_free(ki_config *config);

KI_END_DECLS

#endif
