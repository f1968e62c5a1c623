/* error.h: what went wrong, as values.
 *
 * Every function that can fail returns a ki_status, 0 (KI_OK) for success, and takes an optional `ki_error *err` last, which
 * it fills on failure and leaves untouched on success: a program that goes on after a failure and looks at err.code later empties
 * it, err = (ki_error)KI_ERROR_INIT. The library never prints and never aborts on input or lack of memory. */
#ifndef KINFORMER_ERROR_H
#define KINFORMER_ERROR_H

#include <kinformer/export.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

KI_BEGIN_DECLS

typedef enum ki_status {
    KI_OK = 0,
    KI_ERR_NO_MEMORY = 1,     /* the allocator had nothing left */
    KI_ERR_INVALID = 2,       /* an argument is not acceptable */
    KI_ERR_STATE = 3,         /* not now: started twice, added after stop, … */
    KI_ERR_DEADLOCK = 4,      /* a waiting call from a thread that it would wait for */
    KI_ERR_LIMIT = 5,         /* a named limit was reached */
    KI_ERR_PARSE = 6,         /* malformed JSON, YAML, path, selector, … */
    KI_ERR_NOT_FOUND = 7,     /* no such key, index, file, context, … */
    KI_ERR_EXISTS = 8,        /* the name is taken */
    KI_ERR_SYSTEM = 9,        /* a system call failed; the message has its errno */
    KI_ERR_CONNECT = 10,      /* no connection: name, route, refused */
    KI_ERR_TLS = 11,          /* certificate or handshake */
    KI_ERR_PROTOCOL = 12,     /* the peer broke HTTP or the Kubernetes API's rules */
    KI_ERR_TIMEOUT = 13,      /* a deadline passed */
    KI_ERR_CANCELLED = 14,    /* stopped by the program */
    KI_ERR_HTTP = 15,         /* the server answered with an error; http_status and reason tell which */
    KI_ERR_EXPIRED = 16,      /* HTTP 410 or a Status with reason Expired or Gone: the resource version is too old */
    KI_ERR_TOO_LARGE_RV = 17, /* the resource version is ahead of what this server has seen */
    KI_ERR_CONFIG = 18,       /* the configuration contradicts itself or lacks something; the message names the field */
    KI_ERR_CUT = 19,          /* the connection ended in the middle of an answer */
    KI_ERR_UNSUPPORTED = 20,  /* not offered by this library, build or server */
    KI_ERR_CLOSED = 21        /* the queue, store or stream is closed */
} ki_status;

/* Who has to act. */
typedef enum ki_category {
    KI_CATEGORY_NONE = 0,
    KI_CATEGORY_RETRY = 1,       /* nobody: trying again later may work */
    KI_CATEGORY_CREDENTIALS = 2, /* fix your credentials or permissions */
    KI_CATEGORY_REQUEST = 3,     /* fix your request, arguments or configuration */
    KI_CATEGORY_SERVER = 4,      /* the server is at fault */
    KI_CATEGORY_FATAL = 5        /* nothing will help in this process: out of memory or descriptors */
} ki_category;

enum {
    KI_ERROR_REASON_MAX = 64,
    KI_ERROR_MESSAGE_MAX = 512
}; /* bytes with the closing zero; longer texts are cut */

/* Ownership: the caller's, usually on the stack; it holds no pointers and needs no freeing. */
typedef struct ki_error {
    ki_status code;
    ki_category category;
    int http_status;                    /* 0 where no HTTP answer came */
    int64_t retry_after_ms;             /* what the server asked for, or -1 */
    char reason[KI_ERROR_REASON_MAX];   /* Kubernetes Status reason, such as "Forbidden", or "" */
    char message[KI_ERROR_MESSAGE_MAX]; /* one line for a person; never holds credentials */
} ki_error;

#define KI_ERROR_INIT \
    { \
        KI_OK, KI_CATEGORY_NONE, 0, -1, { 0 }, { \
            0 \
        } \
    }

/* Fills in an error: the code, the category that goes with it, and a message; the HTTP fields are emptied. Returns `code`, so that a callback of the
 * program can end with `return ki_error_set(err, KI_ERR_INVALID, "no such size: %s", size);`. `err` may be NULL. Threads: as `err`. */
KI_API ki_status ki_error_set(ki_error *err, ki_status code, const char *format, ...) KI_PRINTF(3, 4);

/* The message, or the status' name where there is none. Ownership: borrowed from `err`. Threads: as `err`. */
KI_API const char *ki_error_message(const ki_error *err);

/* A status as a word, such as "expired". Ownership: static. Threads: any. */
KI_API const char *ki_status_name(ki_status status);

/* A category as words, such as "try again". Ownership: static. Threads: any. */
KI_API const char *ki_category_name(ki_category category);

/* What a refusal of the server means: by its reason, or by the HTTP status where it gave none that is known. False for NULL.
 * Threads: any. Blocks: no. */
KI_API bool ki_error_is_not_found(const ki_error *err);
KI_API bool ki_error_is_already_exists(const ki_error *err); /* a create */
KI_API bool ki_error_is_conflict(
    const ki_error *err); /* it has changed meanwhile: read it again; or an apply met another manager */
KI_API bool ki_error_is_invalid(const ki_error *err); /* the object; the refusal's causes name the fields */
KI_API bool ki_error_is_bad_request(const ki_error *err);
KI_API bool ki_error_is_unauthorized(const ki_error *err); /* the server does not know who you are */
KI_API bool ki_error_is_forbidden(const ki_error *err);    /* it knows, and you may not */
KI_API bool ki_error_is_method_not_supported(const ki_error *err);
KI_API bool ki_error_is_not_acceptable(const ki_error *err);
KI_API bool ki_error_is_unsupported_media_type(const ki_error *err);
KI_API bool ki_error_is_request_too_large(const ki_error *err);
KI_API bool ki_error_is_gone(const ki_error *err);
KI_API bool ki_error_is_expired(const ki_error *err); /* a continue token or resource version that is too old */
KI_API bool ki_error_is_too_many_requests(const ki_error *err);
KI_API bool ki_error_is_timeout(
    const ki_error *err); /* the server's, or the request's own time limit: it may have been done */
KI_API bool ki_error_is_server_timeout(const ki_error *err); /* not done: try again */
KI_API bool ki_error_is_service_unavailable(const ki_error *err);
KI_API bool ki_error_is_internal(const ki_error *err);

KI_END_DECLS

#endif
