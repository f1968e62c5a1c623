/* checkup.h: checks the connection to a cluster step by step: the result and duration of each step, and how to fix the
 * first problem. `kinformer doctor` prints the same checks. */
#ifndef KI_DOCTOR_CHECKUP_H
#define KI_DOCTOR_CHECKUP_H

#include <kinformer/config.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef enum ki_check_result {
    KI_CHECK_OK = 0,      /* success */
    KI_CHECK_WARNING = 1, /* success with a remark */
    KI_CHECK_FAILED = 2,
    KI_CHECK_SKIPPED = 3 /* an earlier step failed, or the step does not apply */
} ki_check_result;

/* The steps, in their order. */
typedef enum ki_check_step {
    KI_CHECK_CONFIGURATION = 0,   /* kubeconfig, context, user and server */
    KI_CHECK_NAME = 1,            /* name lookup of the server's host */
    KI_CHECK_TCP = 2,             /* TCP connection */
    KI_CHECK_TLS = 3,             /* the server's certificate: authority, name and expiry */
    KI_CHECK_HTTP = 4,            /* an HTTP response, and its version */
    KI_CHECK_CREDENTIALS = 5,     /* the client certificate's validity; the user's name at the server
                                   * (SelfSubjectReview) */
    KI_CHECK_VERSION = 6,         /* the server's version */
    KI_CHECK_MAY_LIST = 7,        /* permission to list (SelfSubjectAccessReview) */
    KI_CHECK_MAY_WATCH = 8,       /* permission to watch (SelfSubjectAccessReview) */
    KI_CHECK_LIST = 9,            /* number of objects, and time to the first byte */
    KI_CHECK_STREAMING_LIST = 10, /* support for streaming lists, and the list's size */
    KI_CHECK_BOOKMARKS = 11       /* support for bookmarks */
} ki_check_step;

enum {
    KI_CHECK_STEPS = 12,    /* number of steps */
    KI_CHECK_TEXT_MAX = 512 /* bytes of each text, with the closing zero; longer texts are truncated */
};

/* The result of one step. Has no pointers. */
typedef struct ki_check {
    ki_check_step step;
    ki_check_result result;
    int64_t duration_us;             /* duration in microseconds; -1 for a skipped step */
    char finding[KI_CHECK_TEXT_MAX]; /* what was found; never has credentials */
    char remedy[KI_CHECK_TEXT_MAX];  /* what to do; "" if there is nothing to do */
} ki_check;

typedef struct ki_checkup_options {
    size_t size;                     /* sizeof(ki_checkup_options); set by the macro */
    const ki_config_options *config; /* as for ki_config_new_default; NULL: defaults */
    /* Makes the configuration in place of `config`. Called with the `user` of ki_checkup, which frees the
     * configuration. */
    ki_status (*make_config)(void *user, ki_config **ret_config, ki_error *err) KI_NOEXCEPT;
    const ki_resource *resource; /* the resource to list and watch; NULL: KI_PODS */
    /* A resource name such as "deploy" or "foos.example.com", built in or found by discovery; overrides `resource`. */
    const char *resource_name;
    const char *namespace_name; /* "": all namespaces; NULL: the configuration's */
    int64_t timeout_ms;         /* time limit of each step; 0: 15000 */
    /* Selectors such as "app=web" or "metadata.name=web-1"; NULL: all objects. With metadata.name, the permission
     * checks are for that name, which a role with resourceNames grants. */
    const char *label_selector;
    const char *field_selector;
} ki_checkup_options;

#define KI_CHECKUP_OPTIONS(...) ((ki_checkup_options){ .size = sizeof(ki_checkup_options), __VA_ARGS__ })

/* Returns the name of a step, such as "tcp" or "may-list"; NULL for an unknown step. Ownership: static. Threads:
 * any. */
const char *ki_check_step_name(ki_check_step step);

/* Runs the checks and calls `on_check` once for each of the KI_CHECK_STEPS, in their order, when the step has ended.
 * After a failure, steps that need the failed step are skipped. Changes nothing in the cluster.
 * Threads: any; `on_check` is called on the calling thread. Blocks: yes, up to the time limit for each step; reads
 * files, and may run a credential plugin.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY. A failed step is not an error of this function. */
KI_MUST_CHECK ki_status ki_checkup(const ki_checkup_options *options,
                                   void (*on_check)(const ki_check *check, void *user) KI_NOEXCEPT, void *user,
                                   ki_error *err);

KI_END_DECLS

#endif
