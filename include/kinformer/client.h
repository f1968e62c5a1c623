/* client.h: requests to the API server: get, list, create, update, patch, apply, delete, and anything else by its path.
 *
 *     ki_object *pod = NULL;
 *     if (ki_client_get(client, KI_PODS, "default", "web-1", NULL, &pod, &err)) …       waits, 30 s at most
 *
 *     ki_client_send(client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_NODES), on_nodes, me, NULL, &err)
 *                                                                                        returns at once; on_nodes comes on the loop
 *
 * All requests of a client, and all lists of its factory's informers, share one limit of the client's side: 5 a second after 10 at once,
 * or what the configuration says; they pass in the order in which they came. Where the server answers 429 or 5xx and says when to come again
 * (Retry-After), a request is sent again by itself, 10 times at most; a GET whose connection was cut before any answer, too.
 * A write that may have reached the server is never sent twice otherwise. */
#ifndef KINFORMER_CLIENT_H
#define KINFORMER_CLIENT_H

#include <kinformer/config.h>
#include <kinformer/engine.h>
#include <kinformer/factory.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>

KI_BEGIN_DECLS

typedef struct ki_client ki_client;
typedef struct ki_answer ki_answer; /* what the server said; immutable and shared */
typedef struct ki_call ki_call;     /* a request under way */

enum {
    KI_CLIENT_TIMEOUT_MS = 30000,     /* where a request names no time limit */
    KI_CLIENT_MAX_RETRIES = 10,       /* because of Retry-After, or a cut connection */
    KI_CLIENT_BODY_MAX = 64 << 20,    /* bytes of a request's body */
    KI_CLIENT_ANSWER_MAX = 256 << 20, /* bytes of an answer, where the client's options name no other limit */
    KI_CLIENT_TARGET_MAX = 64 << 10,  /* bytes of a request's path and parameters */
    KI_CLIENT_CAUSES_MAX = 1024       /* causes of a refusal that are kept */
};

typedef struct ki_client_options {
    size_t size;       /* sizeof(ki_client_options); set by the macro */
    ki_engine *engine; /* the host's, which drives it and outlives the client; NULL: the client has one of its own */
    const ki_allocator *allocator;  /* of its own engine; copied; NULL: malloc */
    const ki_log *log;              /* of its own engine; copied; NULL: silent */
    struct ki_transport *transport; /* in place of a network, for tests; outlives the client; NULL: libcurl */
    int requests_per_second;        /* of the limit; 0: the configuration's; negative: no limit */
    int request_burst;              /* 0: the configuration's */
    size_t answer_max;              /* bytes of one answer; 0: KI_CLIENT_ANSWER_MAX */
} ki_client_options;

#define KI_CLIENT_OPTIONS(...) ((ki_client_options){ .size = sizeof(ki_client_options), __VA_ARGS__ })

/* A client of the cluster of `config` (copied; may be NULL with a transport: then there is no limit unless the options ask for one).
 * `options` may be NULL. Ownership: the caller's, freed with ki_client_free. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_client_new(const ki_config *config, const ki_client_options *options,
                                             ki_client **ret_client, ki_error *err);

/* The factory's own client: its connections, credentials and limit are those of the informers.
 * Ownership: borrowed from the factory. Threads: any. Blocks: no. */
KI_API ki_client *ki_factory_client(ki_factory *factory);

/* Ends what is under way with KI_ERR_CANCELLED, and frees it. NULL is accepted, a factory's client left alone.
 * Threads: not from a callback of its own, nor while another thread uses it. Blocks: until a running callback has returned. */
KI_API void ki_client_free(ki_client *client);

/* The host's engine, or the client's own. A program that only waits for its requests need not drive the client's own: the waiting calls
 * do. One that sends (ki_client_send) drives it: ki_engine_start, run or step. Ownership: borrowed. */
KI_API ki_engine *ki_client_engine(const ki_client *client);

/* --- requests --------------------------------------------------------------------------------------------------------------- */

typedef enum ki_client_verb {
    KI_CLIENT_GET = 1,
    KI_CLIENT_LIST = 2,
    KI_CLIENT_CREATE = 3,
    KI_CLIENT_UPDATE = 4,
    KI_CLIENT_PATCH = 5,
    KI_CLIENT_DELETE = 6,
    KI_CLIENT_DELETE_COLLECTION = 7,
    KI_CLIENT_RAW = 8 /* any method and path */
} ki_client_verb;

typedef enum ki_patch_type {
    KI_PATCH_MERGE = 0,     /* RFC 7396 */
    KI_PATCH_JSON = 1,      /* RFC 6902 */
    KI_PATCH_STRATEGIC = 2, /* built-in resources only */
    KI_PATCH_APPLY = 3      /* server-side apply; JSON or YAML; needs a field manager */
} ki_patch_type;

typedef enum ki_propagation {
    KI_PROPAGATION_DEFAULT = 0,
    KI_PROPAGATION_ORPHAN = 1,
    KI_PROPAGATION_BACKGROUND = 2,
    KI_PROPAGATION_FOREGROUND = 3
} ki_propagation;

#define KI_GRACE_NOW (-1) /* a grace period of 0 s: at once */

/* One reason of several why the server refused. Strings are never NULL. */
typedef struct ki_cause {
    const char *reason;  /* "FieldValueInvalid" */
    const char *message; /* "must be no more than 63 characters" */
    const char *field;   /* "metadata.labels"; "" where none is meant */
} ki_cause;

/* The Status of a server that refused, in full (a ki_error has room for its first words). Strings are never NULL. */
typedef struct ki_refusal {
    int http_status;
    int64_t retry_after_ms;                /* -1: not said */
    const char *reason;                    /* "Invalid", "Conflict", …; "" where the answer was no Status */
    const char *message;                   /* the whole of it, as the server wrote it */
    const char *group, *kind, *name, *uid; /* of what it is about */
    const ki_cause *causes;
    size_t cause_count;
} ki_refusal;

/* Frees what a waiting call gave through `ret_refusal`. NULL is accepted. */
KI_API void ki_refusal_free(ki_refusal *refusal);

/* What a request may say beside its verb, resource and name. Strings are copied; NULL or "": not said. */
typedef struct ki_call_options {
    size_t size;                /* sizeof(ki_call_options); set by the macro */
    int64_t timeout_ms;         /* for all of it, waiting and retries too; 0: KI_CLIENT_TIMEOUT_MS; < 0: none */
    const char *subresource;    /* "status", "scale", "eviction", "binding", "token", "log", … */
    const char *label_selector; /* list, delete collection */
    const char *field_selector;
    int64_t limit;                      /* list: objects in one answer; 0: all */
    const char *continue_token;         /* list: ki_answer_continue of the page before */
    const char *resource_version;       /* get, list: not older than */
    const char *resource_version_match; /* list: "Exact" or "NotOlderThan" */
    const char *field_manager;          /* writes */
    bool force;                         /* apply: takes over fields of other managers */
    bool dry_run;                       /* writes: nothing is kept */
    const char *field_validation;       /* writes: "Strict", "Warn" or "Ignore" */
    const char *precondition_uid;       /* delete: only if it is still this one */
    const char *precondition_resource_version;
    ki_propagation propagation; /* delete */
    int64_t grace_period_s;     /* delete: 0: the object's own; KI_GRACE_NOW: none */
    const char *parameters;     /* more of the query, already percent-encoded: "container=web&tailLines=10" */
    ki_refusal **
        ret_refusal; /* waiting calls: where the server refused, its Status is put here; else untouched. The caller's */
} ki_call_options;

#define KI_CALL_OPTIONS(...) ((ki_call_options){ .size = sizeof(ki_call_options), __VA_ARGS__ })

typedef struct ki_client_request {
    size_t size; /* sizeof(ki_client_request); set by the macro */
    ki_client_verb verb;
    const ki_resource *resource; /* of all verbs but KI_CLIENT_RAW; copied */
    const char *namespace_name;  /* NULL or "": all (list only), or not namespaced */
    const char *name;            /* all but list and delete collection; create: only with a subresource */
    const void *body;            /* create, update: the object as JSON; patch: the patch; raw: anything. Copied */
    size_t body_size;
    ki_patch_type patch;
    const char *method; /* raw: "GET", "POST", … */
    const char *path;   /* raw: "/healthz", "/api/v1/namespaces/default/pods/web-1/log?follow=true", percent-encoded */
    const char *content_type;       /* NULL: what goes with the verb; raw: application/json */
    const char *accept;             /* NULL: application/json; raw and subresources also anything else */
    const ki_call_options *options; /* NULL: none */
    /* ki_client_send only: bytes of a good answer as they come, in place of keeping them; false ends the request with KI_ERR_CANCELLED.
     * For answers without end, such as a log that is followed. Threads: the loop. */
    bool (*on_data)(const void *data, size_t size, void *user) KI_NOEXCEPT;
} ki_client_request;

#define KI_CLIENT_REQUEST(...) ((ki_client_request){ .size = sizeof(ki_client_request), __VA_ARGS__ })

/* How a request ended; comes exactly once. `err` is NULL where the server did as it was asked, and then `answer` is there; where it
 * refused, both are, and ki_answer_refusal has its words; where no answer came, `answer` is NULL.
 * Ownership: both borrowed for the call; ki_answer_ref keeps an answer. Threads: the loop. Must not block. */
typedef void (*ki_answer_function)(const ki_answer *answer, const ki_error *err, void *user) KI_NOEXCEPT;

/* Sends a request and returns at once. `ret_call` may be NULL: then it cannot be cancelled.
 * Ownership: `*ret_call` is the caller's, freed with ki_call_free before the client. Threads: any. Blocks: no; `on_answer` never comes
 * from inside. Errors: KI_ERR_INVALID (the message names what is missing), KI_ERR_LIMIT, KI_ERR_STATE (the engine has
 * ended), KI_ERR_NO_MEMORY; then `on_answer` does not come. */
KI_API KI_MUST_CHECK ki_status ki_client_send(ki_client *client, const ki_client_request *request,
                                              ki_answer_function on_answer, void *user, ki_call **ret_call,
                                              ki_error *err);

/* Ends it with KI_ERR_CANCELLED, unless it has ended already; on_answer comes from the loop, not from inside.
 * Whether a write has reached the server is then not known. Threads: any. Blocks: no. */
KI_API void ki_call_cancel(ki_call *call);
/* Gives the handle back; the request goes on. NULL is accepted. Threads: any. */
KI_API void ki_call_free(ki_call *call);

/* The same, waiting for the answer. `ret_answer` may be NULL.
 * Ownership: `*ret_answer` is a reference, the caller's (ki_answer_unref). Threads: any but the loop's. Blocks: up to the time limit.
 * Errors: as ki_client_send; KI_ERR_HTTP and its like where the server refused (ki_error_is_conflict and friends tell how),
 * KI_ERR_TIMEOUT (at once where the client's own limit would make it too late), KI_ERR_CONNECT, KI_ERR_TLS, KI_ERR_CUT, KI_ERR_PROTOCOL,
 * KI_ERR_LIMIT (the answer is too large), KI_ERR_DEADLOCK on the loop's thread, KI_ERR_STATE where nobody drives the host's engine,
 * KI_ERR_CANCELLED where the engine ended. */
KI_API KI_MUST_CHECK ki_status ki_client_do(ki_client *client, const ki_client_request *request, ki_answer **ret_answer,
                                            ki_error *err);

/* --- the frequent ones, waiting --------------------------------------------------------------------------------------------- */
/* All as ki_client_do. `options` and `ret_obj` may be NULL; `*ret_obj` is a reference, the caller's. `json` is zero-terminated. */

KI_API KI_MUST_CHECK ki_status ki_client_get(ki_client *client, const ki_resource *resource, const char *namespace_name,
                                             const char *name, const ki_call_options *options, ki_object **ret_obj,
                                             ki_error *err);
/* One page where options->limit says so: ki_answer_continue goes into the next one's continue_token. */
KI_API KI_MUST_CHECK ki_status ki_client_list(ki_client *client, const ki_resource *resource,
                                              const char *namespace_name, const ki_call_options *options,
                                              ki_answer **ret_answer, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_create(ki_client *client, const ki_resource *resource,
                                                const char *namespace_name, const char *json,
                                                const ki_call_options *options, ki_object **ret_obj, ki_error *err);
/* The object in full; with a metadata.resourceVersion only if it is still that (else ki_error_is_conflict). */
KI_API KI_MUST_CHECK ki_status ki_client_update(ki_client *client, const ki_resource *resource,
                                                const char *namespace_name, const char *name, const char *json,
                                                const ki_call_options *options, ki_object **ret_obj, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_update_status(ki_client *client, const ki_resource *resource,
                                                       const char *namespace_name, const char *name, const char *json,
                                                       const ki_call_options *options, ki_object **ret_obj,
                                                       ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_patch(ki_client *client, const ki_resource *resource,
                                               const char *namespace_name, const char *name, ki_patch_type type,
                                               const char *patch, const ki_call_options *options, ki_object **ret_obj,
                                               ki_error *err);
/* Server-side apply; options->field_manager says in whose name. Unlike the others', `json` must have apiVersion and kind. Where another manager
 * has set a field (ki_error_is_conflict; the refusal's causes name both), options->force takes it over. */
KI_API KI_MUST_CHECK ki_status ki_client_apply(ki_client *client, const ki_resource *resource,
                                               const char *namespace_name, const char *name, const char *json,
                                               const ki_call_options *options, ki_object **ret_obj, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_delete(ki_client *client, const ki_resource *resource,
                                                const char *namespace_name, const char *name,
                                                const ki_call_options *options, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_client_delete_collection(ki_client *client, const ki_resource *resource,
                                                           const char *namespace_name, const ki_call_options *options,
                                                           ki_error *err);

/* --- answers ---------------------------------------------------------------------------------------------------------------- */

/* Another owner, and one less. Both accept NULL. Threads: any. */
KI_API ki_answer *ki_answer_ref(const ki_answer *answer);
KI_API void ki_answer_unref(const ki_answer *answer);

/* What it holds is borrowed from it. Threads: any. */
KI_API int ki_answer_http_status(const ki_answer *answer);
/* The object that came, or NULL: a list, a Status, something without a name. */
KI_API const ki_object *ki_answer_object(const ki_answer *answer);
/* A list's objects by number from 0; NULL past the last. */
KI_API const ki_object *ki_answer_item(const ki_answer *answer, size_t index);
KI_API size_t ki_answer_item_count(const ki_answer *answer);
KI_API const char *ki_answer_resource_version(const ki_answer *answer); /* a list's; "" where none */
KI_API const char *ki_answer_continue(const ki_answer *answer);         /* "": it was the last page */
KI_API int64_t ki_answer_remaining(const ki_answer *answer);            /* objects after this page; -1: not said */
/* The bytes, closed by a zero that does not count; "" for lists, which are not kept. */
KI_API const char *ki_answer_body(const ki_answer *answer, size_t *ret_size);
/* A field of the body, which must be JSON, as ki_object_field: for answers that are no objects. Errors: as there. */
KI_API KI_MUST_CHECK ki_status ki_answer_field(const ki_answer *answer, const char *path, ki_value *ret_value,
                                               ki_error *err);
/* Where the server refused, why; else NULL. */
KI_API const ki_refusal *ki_answer_refusal(const ki_answer *answer);

KI_END_DECLS

#endif
