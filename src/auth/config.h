/* config.h: the inside of a ki_config: what a connection needs. Made by config.c from kubeconfig.c's or in_cluster.c's findings and the
 * program's options; read by src/transport. Constant once made; secrets are wiped when it is freed. */
#ifndef KI_AUTH_CONFIG_H
#define KI_AUTH_CONFIG_H

#include <kinformer/config.h>

#include "src/base/buffer.h"
#include "src/base/string_view.h"

#include <stdatomic.h>

#define KI_CONFIG_FILE_LIMIT ((size_t)4 * 1024 * 1024) /* bytes of a kubeconfig, certificate, key or token file */

/* Bytes, zero-terminated, wiped before they are freed; data NULL: not given. */
typedef struct ki_secret {
    char *data;
    size_t size;
} ki_secret;

/* A list of texts, each wiped when freed. */
typedef struct ki_secret_list {
    ki_secret *items;
    size_t count;
} ki_secret_list;

typedef struct ki_secret_pair {
    ki_secret name;
    ki_secret value;
} ki_secret_pair;

typedef struct ki_secret_pairs {
    ki_secret_pair *items;
    size_t count;
} ki_secret_pairs;

typedef enum ki_exec_interactive {
    KI_EXEC_NEVER,
    KI_EXEC_IF_AVAILABLE, /* the default; always without a terminal here, so as never */
    KI_EXEC_ALWAYS        /* cannot be served: an error when it is needed */
} ki_exec_interactive;

/* A user's credential plugin, as the kubeconfig has it: client.authentication.k8s.io. command.data NULL: none. */
typedef struct ki_exec_config {
    ki_secret api_version; /* client.authentication.k8s.io/v1 or /v1beta1 */
    ki_secret command; /* a bare name is looked up in PATH; a relative path was made absolute from its file's folder */
    ki_secret_list arguments;
    ki_secret_pairs environment; /* over the process' own */
    ki_secret install_hint;
    bool provide_cluster_info;
    ki_exec_interactive interactive_mode;
    ki_secret
        cluster_extension; /* JSON of the cluster's client.authentication.k8s.io/exec extension; not given: none */
} ki_exec_config;

struct ki_config {
    ki_allocator allocator;
    _Atomic unsigned more_owners; /* than the one that has made it */
    ki_secret server;             /* URL without a closing slash */
    ki_secret namespace_name;     /* not given: "default" */
    ki_secret user_agent;         /* the whole header's value */
    ki_secret token;
    ki_secret token_file; /* path; read again as it rotates; `token` is then what it held when the config was made */
    ki_secret username;   /* basic */
    ki_secret password;
    ki_exec_config exec;
    ki_secret impersonate_user;
    ki_secret impersonate_uid;
    ki_secret_list impersonate_groups;
    ki_secret_pairs impersonate_extra; /* a name may come several times */
    ki_secret ca;                      /* PEM */
    ki_secret client_certificate;      /* PEM */
    ki_secret client_key;              /* PEM */
    ki_secret ca_file;                 /* paths, where the three came from files: looked at again as they rotate */
    ki_secret client_certificate_file;
    ki_secret client_key_file;
    ki_secret tls_server_name;
    ki_secret
        proxy_url; /* http, https or socks5, perhaps with a password, which no message shows; not given: the environment's */
    bool insecure_skip_tls_verify;
    bool disable_compression;
    int requests_per_second; /* of the client-side limit; negative: off; 0: 5 */
    int request_burst;       /* 0: 10 */

    /* For people; src/transport has no use for them. */
    ki_secret files;   /* the kubeconfigs that were read, a ':' between them */
    ki_secret context; /* names */
    ki_secret cluster;
    ki_secret user;
    ki_secret proxy_display; /* proxy_url without user and password */
    ki_secret warnings;      /* lines */
    bool is_in_cluster;
};

bool ki_config_is_https(const ki_config *config);
/* Another owner, who calls ki_config_free too: a transport, which reads it as long as it lives. Any thread. */
const ki_config *ki_config_ref(const ki_config *config);

/* --- for the files of this folder --- */

enum {
    KI_CONFIG_PATH_LIMIT = 4096,
    KI_CONFIG_HEADER_LIMIT = 64 * 1024, /* bytes of a token, a user, a group */
    KI_CONFIG_WARNINGS_LIMIT = 8192,    /* bytes of all; more are left out */
    KI_CONFIG_ITEMS_LIMIT = 10000       /* of a list: groups, arguments, … */
};

void ki_secret_list_clear(const ki_allocator *allocator, ki_secret_list *list);
void ki_secret_pairs_clear(const ki_allocator *allocator, ki_secret_pairs *pairs);
void ki_exec_config_clear(const ki_allocator *allocator, ki_exec_config *exec);
ki_status ki_secret_list_append(const ki_allocator *allocator, ki_secret_list *list, ki_str text, ki_error *err);
ki_status ki_secret_pairs_append(const ki_allocator *allocator, ki_secret_pairs *pairs, ki_str name, ki_str value,
                                 ki_error *err);
/* Forgets token, token file, password, certificate and plugin; not the impersonation, which is no credential. */
void ki_config_clear_credentials(ki_config *config);
/* One line more for a person. Lack of memory loses it. */
void ki_config_warn(ki_config *config, const char *format, ...) KI_PRINTF(2, 3);
/* Is the config, as a whole, one that can be used? Normalises the server's URL and the proxy's. */
ki_status ki_config_check(ki_config *config, ki_error *err);
/* The program's options over what was found. */
ki_status ki_config_apply_options(ki_config *config, const ki_config_options *options, ki_error *err);
/* `path` from `folder` (NULL or "": the working directory) on, absolute. */
ki_status ki_config_absolute_path(const ki_allocator *allocator, ki_str folder, ki_str path, ki_secret *ret_path,
                                  ki_error *err);

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
bool ki_base64_is_valid(ki_str text);
ki_status ki_secret_decode_base64(const ki_allocator *allocator, ki_str text, ki_secret *ret_secret, ki_error *err);

ki_status ki_base64_encode(ki_buffer *out, ki_str data);

/* Fills the config from the kubeconfig that the options name. */
ki_status ki_kubeconfig_load(ki_config *config, const ki_config_options *options, ki_error *err);

/* What a pod sees; a test's own values instead. */
typedef struct ki_in_cluster {
    const char *directory; /* of the service account's files */
    const char *host;      /* KUBERNETES_SERVICE_HOST; NULL: not set */
    const char *port;
    const char *namespace_name; /* POD_NAMESPACE; NULL: the file's */
} ki_in_cluster;
ki_status ki_in_cluster_load(ki_config *config, const ki_in_cluster *where, ki_error *err);

#endif
