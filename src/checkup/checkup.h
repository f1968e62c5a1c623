/* checkup.h: the way to the cluster, step by step: which steps are well, how long each took, and what to do about the first that is not.
 * What `kinformer doctor` prints; for programs that want to tell their users the same. */
#ifndef KI_CHECKUP_CHECKUP_H
#define KI_CHECKUP_CHECKUP_H

#include <kinformer/config.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef enum ki_check_result {
    KI_CHECK_WELL = 0,
    KI_CHECK_WARNING = 1, /* it works, but somebody may want to know */
    KI_CHECK_FAILED = 2,
    KI_CHECK_SKIPPED = 3 /* an earlier step failed, or it does not apply here */
} ki_check_result;

/* The steps, in their order. */
typedef enum ki_check_step {
    KI_CHECK_CONFIGURATION = 0, /* which kubeconfig, context, user, server */
    KI_CHECK_NAME = 1,          /* the host's name has an address */
    KI_CHECK_TCP = 2,           /* something listens there */
    KI_CHECK_TLS = 3,           /* the server's certificate: believed, for this name, and until when */
    KI_CHECK_HTTP = 4,          /* an HTTP answer, and in which version */
    KI_CHECK_CREDENTIALS = 5,   /* who we are to the server (SelfSubjectReview) */
    KI_CHECK_VERSION = 6,       /* the server's version */
    KI_CHECK_MAY_LIST = 7,      /* permission (SelfSubjectAccessReview) */
    KI_CHECK_MAY_WATCH = 8,
    KI_CHECK_LIST = 9,            /* how many objects; time to the first byte */
    KI_CHECK_STREAMING_LIST = 10, /* does the server send a list as a watch? Its size */
    KI_CHECK_BOOKMARKS = 11       /* does a watch tell how far it is? */
} ki_check_step;

enum {
    KI_CHECK_STEPS = 12,
    KI_CHECK_TEXT_MAX = 512 /* bytes of each text, with the closing zero; longer ones are cut */
};

/* How one step went. Holds no pointers. */
typedef struct ki_check {
    ki_check_step step;
    ki_check_result result;
    int64_t took_us;                 /* -1: nothing was done */
    char finding[KI_CHECK_TEXT_MAX]; /* what was found; never holds credentials */
    char remedy[KI_CHECK_TEXT_MAX];  /* what to do; "" where nothing is to be done */
} ki_check;

typedef struct ki_checkup_options {
    size_t size;                     /* sizeof(ki_checkup_options); set by the macro */
    const ki_config_options *config; /* as of ki_config_new_default; may be NULL */
    /* In place of `config`, for a program that makes its configuration otherwise; gets the same `user`. What it gives is freed here. */
    ki_status (*make_config)(void *user, ki_config **ret_config, ki_error *err) KI_NOEXCEPT;
    const ki_resource *resource; /* what to list and watch; NULL: KI_PODS */
    const char *
        word; /* the same as a person writes it ('deploy', 'foos.example.com'), looked up in the built-in resources and the server's; goes before it */
    const char *namespace_name; /* "": all; NULL: the configuration's */
    int64_t timeout_ms;         /* of each step; 0: 15000 */
    /* What an informer would be asked for: "app=web", "metadata.name=web-1"; NULL: all. With one name the permission that is asked for is that for the
     * name, which a role with resourceNames gives. */
    const char *label_selector;
    const char *field_selector;
} ki_checkup_options;

#define KI_CHECKUP_OPTIONS(...) ((ki_checkup_options){ .size = sizeof(ki_checkup_options), __VA_ARGS__ })

/* A step in a word, such as "tcp" or "may-list"; NULL where there is none of this number. Ownership: static. Threads: any. */
const char *ki_check_step_name(ki_check_step step);

/* Goes the way, and tells of each step as soon as it is known, in their order, each of the KI_CHECK_STEPS once. After a failure the
 * steps that need the failed one are told as skipped. Changes nothing in the cluster.
 * Threads: `on_check` is called on the calling thread. Blocks: yes, up to the time limit for each step; reads files, may run a credential plugin.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY; what is wrong with the way is told to `on_check` and is no error. */
KI_MUST_CHECK ki_status ki_checkup(const ki_checkup_options *options,
                                   void (*on_check)(const ki_check *check, void *user) KI_NOEXCEPT, void *user,
                                   ki_error *err);

KI_END_DECLS

#endif
