/* config.h: the members of ki_config: what a connection needs. Made by config.c from a kubeconfig or a pod's files and
 * the program's options; read by src/transport. Constant once made. Secrets are wiped when it is freed. */
#ifndef KI_AUTH_CONFIG_H
#define KI_AUTH_CONFIG_H

#include <kinformer/config.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

#include <stdatomic.h>

#define KI_CONFIG_FILE_LIMIT ((size_t)4 * 1024 * 1024) /* bytes of a kubeconfig, certificate, key or token file */

/* Bytes with a closing zero, wiped before they are freed. data NULL: not set. */
typedef struct ki_secret {
    char *data;
    size_t size;
} ki_secret;

static inline ki_str ki_secret_text(const ki_secret *secret) {
    return (ki_str){ secret->data, secret->size };
}
/* Returns the path of a file for a message; of what came as data "the data". */
static inline const char *ki_secret_file(const ki_secret *path) {
    return path->data ? path->data : "the data";
}

/* A list of texts, each wiped before it is freed. */
typedef struct ki_secret_list {
    ki_secret *items;
    size_t count, capacity;
} ki_secret_list;

typedef struct ki_secret_pair {
    ki_secret name;
    ki_secret value;
} ki_secret_pair;

typedef struct ki_secret_pairs {
    ki_secret_pair *items;
    size_t count, capacity;
} ki_secret_pairs;

typedef enum ki_exec_interactive {
    KI_EXEC_NEVER,
    KI_EXEC_IF_AVAILABLE, /* the default; same as never: the plugin gets no terminal */
    KI_EXEC_ALWAYS        /* not supported: running the plugin fails */
} ki_exec_interactive;

/* A user's credential plugin from the kubeconfig (client.authentication.k8s.io). command.data NULL: none. */
typedef struct ki_exec_config {
    ki_secret api_version; /* client.authentication.k8s.io/v1 or /v1beta1 */
    ki_secret command;     /* a name to search in PATH, or an absolute path */
    ki_secret_list arguments;
    ki_secret_pairs environment; /* overrides the process's own */
    ki_secret install_hint;
    bool provide_cluster_info;
    ki_exec_interactive interactive_mode;
    ki_secret cluster_extension; /* JSON of the cluster's client.authentication.k8s.io/exec extension, or not set */
} ki_exec_config;

struct ki_config {
    ki_allocator allocator;
    _Atomic unsigned more_owners; /* owners besides the first */
    ki_secret server;             /* URL without a slash at the end */
    ki_secret namespace_name;     /* not set: "default" */
    ki_secret user_agent;         /* value of the header */
    ki_secret token;
    ki_secret token_file; /* path; read again when it rotates. `token` then has the content at creation */
    ki_secret username;   /* basic authentication */
    ki_secret password;
    ki_exec_config exec;
    ki_secret impersonate_user;
    ki_secret impersonate_uid;
    ki_secret_list impersonate_groups;
    ki_secret_pairs impersonate_extra; /* a name may occur several times */
    ki_secret ca;                      /* PEM */
    ki_secret client_certificate;      /* PEM */
    ki_secret client_key;              /* PEM */
    ki_secret ca_file;                 /* paths of the three, if they came from files; read again when they rotate */
    ki_secret client_certificate_file;
    ki_secret client_key_file;
    ki_secret ca_directory; /* in place of ca_file: a folder of files with certificates */
    ki_secret tls_server_name;
    ki_secret proxy_url; /* http, https or socks5, perhaps with a password; not set: the environment's proxy */
    bool insecure_skip_tls_verify;
    bool insecure_skip_tls_name_verify;
    bool credentials_over_loopback_http;
    bool disable_compression;
    int requests_per_second; /* client-side rate limit; negative or 0: none */
    int request_burst;       /* 0: 10 */
    int watch_read_interval_ms;

    /* For descriptions and messages; src/transport does not read these. */
    ki_secret files;   /* paths of the kubeconfigs, separated by ':' */
    ki_secret context; /* names in the kubeconfig */
    ki_secret cluster;
    ki_secret user;
    ki_secret proxy_display; /* proxy_url without user and password */
    ki_secret warnings;      /* separated by newlines */
    bool is_in_cluster;
};

bool ki_config_is_https(const ki_config *config);
bool ki_config_has_credentials(const ki_config *config);
/* Returns true if credentials may be sent to the server: by https, or to this machine where the program allows that. */
bool ki_config_may_send_credentials(const ki_config *config);
/* Adds an owner, which calls ki_config_free too: a transport keeps its config alive. Any thread. */
const ki_config *ki_config_ref(const ki_config *config);

/* --- for the files of this folder --- */

enum {
    KI_CONFIG_PATH_LIMIT = 4096,
    KI_CONFIG_HEADER_LIMIT = 64 * 1024, /* bytes of a token, a user name or a group */
    KI_CONFIG_WARNINGS_LIMIT = 8192,    /* bytes of all warnings; further warnings are dropped */
    KI_CONFIG_ITEMS_LIMIT = 10000       /* entries of a list: groups, arguments, … */
};

void ki_secret_list_clear(const ki_allocator *allocator, ki_secret_list *list);
void ki_secret_pairs_clear(const ki_allocator *allocator, ki_secret_pairs *pairs);
void ki_exec_config_clear(const ki_allocator *allocator, ki_exec_config *exec);
ki_status ki_secret_list_append(const ki_allocator *allocator, ki_secret_list *list, ki_str text, ki_error *err);
ki_status ki_secret_pairs_append(const ki_allocator *allocator, ki_secret_pairs *pairs, ki_str name, ki_str value,
                                 ki_error *err);
/* Removes token, token file, password, certificate and plugin. Keeps the impersonation, which is not a credential. */
void ki_config_clear_credentials(ki_config *config);
/* Adds a warning. Drops it if out of memory. */
void ki_config_warn(ki_config *config, const char *format, ...) KI_PRINTF(2, 3);
/* Checks the complete config. Normalises the server's and the proxy's URL. */
ki_status ki_config_check(ki_config *config, ki_error *err);
/* Checks a proxy's URL by Go's rules, changes its scheme to lower case, and removes its path. `field` names it in
 * messages, which have no part of the URL: a password can be anywhere in it. `*ret_host` is the offset of the host.
 * Rejects what libcurl reads otherwise or ignores together with the proxy. Errors: KI_ERR_CONFIG. */
ki_status ki_config_check_proxy(ki_secret *url, const char *field, size_t *ret_host, ki_error *err);
/* Overrides the config with the program's options. */
ki_status ki_config_apply_options(ki_config *config, const ki_config_options *options, ki_error *err);
/* Makes `path` absolute, relative to `folder` (NULL or "": the working directory). */
ki_status ki_config_absolute_path(const ki_allocator *allocator, ki_str folder, ki_str path, ki_secret *ret_path,
                                  ki_error *err);

void ki_secret_clear(const ki_allocator *allocator, ki_secret *secret);
/* Returns true if the text has a control character, which could end a header line or a request line. */
bool ki_secret_has_control(const ki_secret *secret);
ki_status ki_secret_set(const ki_allocator *allocator, ki_secret *secret, ki_str text, ki_error *err);
/* Sets the secret to a buffer's text, and frees the buffer. Errors: KI_ERR_LIMIT ("WHAT longer than … bytes"),
 * KI_ERR_NO_MEMORY. */
ki_status ki_secret_take(ki_secret *secret, ki_buffer *from, const char *what, ki_error *err);

/* Reads a whole file or pipe. `what` names it in messages: "certificate-authority". Errors: KI_ERR_NOT_FOUND,
 * KI_ERR_CONFIG (cannot be read, neither file nor pipe, a pipe without data), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_secret_read_file(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                              ki_error *err);
/* Reads a token file and trims white space. */
ki_status ki_secret_read_token(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                               ki_error *err);
/* Reads the certificates of all files of a folder, in the order of their names. Skips names that begin with a dot,
 * folders, and files without a certificate. Errors: as ki_secret_read_file; KI_ERR_CONFIG (no certificate). */
ki_status ki_secret_read_directory(const ki_allocator *allocator, const char *path, const char *what,
                                   ki_secret *ret_secret, ki_error *err);
/* Reads the certificates of a file and of all files of folders that ':' separates; NULL: none. As in Go and OpenSSL,
 * what is missing or cannot be read is skipped. `*ret_secret` has no data if there is no certificate. Errors:
 * KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
ki_status ki_secret_read_authorities(const ki_allocator *allocator, const char *file, const char *folders,
                                     ki_secret *ret_secret, ki_error *err);
/* Errors: KI_ERR_PARSE (not base64), KI_ERR_NO_MEMORY. */
ki_status ki_secret_decode_base64(const ki_allocator *allocator, ki_str text, ki_secret *ret_secret, ki_error *err);

/* Fills the config from the kubeconfig that the options name. */
ki_status ki_kubeconfig_load(ki_config *config, const ki_config_options *options, ki_error *err);

/* Where a pod finds its service account; tests use their own values. */
typedef struct ki_in_cluster {
    const char *directory; /* directory of the service account's files */
    const char *host;      /* KUBERNETES_SERVICE_HOST; NULL: not set */
    const char *port;
    const char *namespace_name; /* POD_NAMESPACE; NULL: read from the file */
} ki_in_cluster;
ki_status ki_in_cluster_load(ki_config *config, const ki_in_cluster *where, ki_error *err);

#endif
