/* error.h: errors as values.
 *
 * Every function that can fail returns a ki_status, KI_OK (0) for success. Its last parameter `ki_error *err` may be
 * NULL; a failure fills `*err`, a success does not change `*err`. A program that continues after a failure and checks
 * err.code later resets the error: err = (ki_error)KI_ERROR_INIT. The library prints only with ki_log_stderr (log.h),
 * and never aborts on input or lack of memory. */
#ifndef KINFORMER_ERROR_H
#define KINFORMER_ERROR_H

#include <kinformer/export.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

KI_BEGIN_DECLS

typedef enum ki_status {
    KI_OK = 0,
    KI_ERR_NO_MEMORY = 1,       /* the allocator returned NULL */
    KI_ERR_INVALID = 2,         /* an argument is invalid, or NULL where it is needed */
    KI_ERR_STATE = 3,           /* not possible in this state: started twice, added after a stop, … */
    KI_ERR_DEADLOCK = 4,        /* the function would wait for the calling thread */
    KI_ERR_LIMIT = 5,           /* a named limit is exceeded */
    KI_ERR_PARSE = 6,           /* malformed JSON, YAML, path, selector, … */
    KI_ERR_NOT_FOUND = 7,       /* no such key, index, file, context, … */
    KI_ERR_EXISTS = 8,          /* the name is taken */
    KI_ERR_SYSTEM = 9,          /* a system call failed; the message has its errno */
    KI_ERR_CONNECT = 10,        /* no connection: unknown host, no route, or refused */
    KI_ERR_TLS = 11,            /* a certificate or the TLS handshake failed */
    KI_ERR_PROTOCOL = 12,       /* the server violated HTTP or the Kubernetes API */
    KI_ERR_TIMEOUT = 13,        /* a time limit passed */
    KI_ERR_CANCELLED = 14,      /* the program stopped the operation */
    KI_ERR_HTTP = 15,           /* an error response; see http_status and reason */
    KI_ERR_EXPIRED = 16,        /* HTTP 410, or a Status with reason Expired or Gone: the resource version is too old */
    KI_ERR_TOO_LARGE_RV = 17,   /* the resource version is newer than any that the server knows */
    KI_ERR_CONFIG = 18,         /* the configuration is contradictory or incomplete; the message names the field */
    KI_ERR_UNEXPECTED_EOF = 19, /* the connection ended within a response */
    KI_ERR_UNSUPPORTED = 20,    /* not supported by this library, build or server */
    KI_ERR_CLOSED = 21,         /* the queue, store or stream is closed */
    KI_ERR_END = 22             /* an index past the end of an array */
} ki_status;

/* Who can fix an error. */
typedef enum ki_category {
    KI_CATEGORY_NONE = 0,
    KI_CATEGORY_RETRY = 1,       /* nobody needs to act: a later retry may succeed */
    KI_CATEGORY_CREDENTIALS = 2, /* the user: credentials or permissions */
    KI_CATEGORY_REQUEST = 3,     /* the program or user: request, arguments or configuration */
    KI_CATEGORY_SERVER = 4,      /* the server's operator */
    KI_CATEGORY_FATAL = 5        /* nobody, in this process: out of memory or descriptors */
} ki_category;

enum {
    KI_ERROR_REASON_MAX = 64,  /* bytes with the closing zero; longer texts are truncated */
    KI_ERROR_MESSAGE_MAX = 512 /* as KI_ERROR_REASON_MAX */
};

/* An error. Usually on the caller's stack; has no pointers and needs no freeing. */
typedef struct ki_error {
    ki_status code;
    ki_category category;
    int http_status;                    /* 0 without an HTTP response */
    int64_t retry_after_ms;             /* the server's Retry-After; -1 without one */
    char reason[KI_ERROR_REASON_MAX];   /* the reason of a Kubernetes Status, such as "Forbidden"; else "" */
    char message[KI_ERROR_MESSAGE_MAX]; /* one line for a person; never has credentials */
} ki_error;

#define KI_ERROR_INIT \
    { \
        KI_OK, KI_CATEGORY_NONE, 0, -1, { 0 }, { \
            0 \
        } \
    }

/* Fills an error with the code, its category and a message, and resets the HTTP fields. Returns `code`: a callback of
 * the program can end with `return ki_error_set(err, KI_ERR_INVALID, "no such size: %s", size);`. `err` may be NULL.
 * Threads: as `err`. */
KI_API ki_status ki_error_set(ki_error *err, ki_status code, const char *format, ...) KI_PRINTF(3, 4);

/* Returns the message, or the name of the code if there is no message. Ownership: borrowed from `err`. Threads: as
 * `err`. */
KI_API const char *ki_error_message(const ki_error *err);

/* Returns the name of a status, such as "expired". Ownership: static. Threads: any. */
KI_API const char *ki_status_name(ki_status status);

/* Returns the name of a category, such as "try again". Ownership: static. Threads: any. */
KI_API const char *ki_category_name(ki_category category);

/* ---- kinds of error responses, as client-go's api/errors: by the reason of the Status, or by the HTTP status without
 * a known reason. False for NULL. Threads: any. Blocks: no. ---- */

/* Returns true if the object or resource does not exist (404). */
KI_API bool ki_error_is_not_found(const ki_error *err);
/* Returns true if a create found an object of this name. */
KI_API bool ki_error_is_already_exists(const ki_error *err);
/* Returns true if the object was changed meanwhile, or if an apply meets a field of another manager (409). */
KI_API bool ki_error_is_conflict(const ki_error *err);
/* Returns true if the object is invalid (422); the causes of the error response name the fields. */
KI_API bool ki_error_is_invalid(const ki_error *err);
/* Returns true for a malformed request (400). */
KI_API bool ki_error_is_bad_request(const ki_error *err);
/* Returns true if the server does not accept the credentials (401). */
KI_API bool ki_error_is_unauthorized(const ki_error *err);
/* Returns true if the user lacks the permission (403). */
KI_API bool ki_error_is_forbidden(const ki_error *err);
/* Returns true if the resource does not support the request's method (405). */
KI_API bool ki_error_is_method_not_supported(const ki_error *err);
/* Returns true if the server cannot respond in an accepted content type (406). */
KI_API bool ki_error_is_not_acceptable(const ki_error *err);
/* Returns true if the server does not accept the content type of the request (415). */
KI_API bool ki_error_is_unsupported_media_type(const ki_error *err);
/* Returns true if the request is too large (413). */
KI_API bool ki_error_is_request_too_large(const ki_error *err);
/* Returns true if the resource is no longer available (410, reason Gone). */
KI_API bool ki_error_is_gone(const ki_error *err);
/* Returns true if a continue token or resource version is too old (reason Expired). */
KI_API bool ki_error_is_expired(const ki_error *err);
/* Returns true if the server limits the rate of requests (429). */
KI_API bool ki_error_is_too_many_requests(const ki_error *err);
/* Returns true if a time limit of the server (504) or of the request passed. The request may have been executed. */
KI_API bool ki_error_is_timeout(const ki_error *err);
/* Returns true if the server could not process the request in time (reason ServerTimeout). The request was not
 * executed; retry. */
KI_API bool ki_error_is_server_timeout(const ki_error *err);
/* Returns true if the server is unavailable (503). */
KI_API bool ki_error_is_service_unavailable(const ki_error *err);
/* Returns true for an internal error of the server (500). */
KI_API bool ki_error_is_internal(const ki_error *err);
/* Returns true for a response that no Kubernetes API server sends, such as an HTML page: another content type,
 * malformed JSON, or an error response without a Status. An error response with 401, 403, 429 or 5xx (except 501) can
 * be a proxy's, and is none. What an exec plugin printed is no response. */
KI_API bool ki_error_is_foreign(const ki_error *err);

KI_END_DECLS

#endif
