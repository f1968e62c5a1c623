/* client.h: requests to the API server: get, list, create, update, patch, apply, delete, and any other request by its
 * path.
 *
 *     ki_object *pod = NULL;
 *     if (ki_client_get(client, KI_PODS, "default", "web-1", NULL, &pod, &err)) …       waits, for 30 s at most
 *
 *     ki_unstructured *map = ki_unstructured_for(KI_CONFIGMAPS, "default", "greeting");
 *     ki_unstructured_set_string(map, "data.text", "hello");
 *     if (ki_client_create(client, KI_CONFIGMAPS, map, NULL, NULL, &err)) …             frees the map
 *
 *     ki_client_send(client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_NODES), on_nodes, me, NULL,
 *                    &err);
 *                                                           does not wait; the loop calls on_nodes later
 *
 * Rate limit: by default none, since API servers have priority and fairness, and the client obeys their 429 with
 * Retry-After. With requests_per_second the requests of a client and the lists of its factory's informers share one
 * client-side limit. Requests pass in the order in which they were made.
 *
 * Requests in flight: at most 32 of a client by default (requests_in_flight). Further requests wait in the order in
 * which they were made, without a connection or a descriptor. Each ends by its own time limit, its cancellation, or the
 * end of its term, as if it had been sent. A request that waits to be retried is not in flight. Not counted are the
 * lists and watches of informers (each namespace of a set has one at a time), discovery, the Leases of leader election,
 * and requests with on_data, whose response can be without an end: the program decides how many there are. The fetches
 * of one informer (fetch.h) take half of the places at most, also those of an API that does not respond.
 *
 * Retries: a 429 or 5xx response with Retry-After is retried after that time, and a GET whose connection broke before a
 * response after 1 s; at most 10 times. A write is not sent again after a broken connection, because the server may
 * have executed it; but it is, after 1 s, if the server refused its HTTP/2 stream: it then has not.
 *
 * Fork: a process that is forked after the first request cannot use the client (engine.h). */
#ifndef KINFORMER_CLIENT_H
#define KINFORMER_CLIENT_H

#include <kinformer/config.h>
#include <kinformer/engine.h>
#include <kinformer/factory.h>
#include <kinformer/object.h>
#include <kinformer/resource.h>
#include <kinformer/unstructured.h>

KI_BEGIN_DECLS

typedef struct ki_client ki_client;
typedef struct ki_response ki_response;               /* a response; immutable and reference-counted */
typedef struct ki_pending_request ki_pending_request; /* a request that was sent and can be cancelled */
typedef struct ki_term ki_term;                       /* a term of leadership (ki_reconcile_term) */

enum {
    KI_CLIENT_TIMEOUT_MS = 30000,       /* time limit of a request that names none */
    KI_CLIENT_MAX_RETRIES = 10,         /* retries of one request */
    KI_CLIENT_BODY_MAX = 64 << 20,      /* bytes of a request's body */
    KI_CLIENT_RESPONSE_MAX = 256 << 20, /* bytes of a response */
    KI_CLIENT_TARGET_MAX = 64 << 10,    /* bytes of a request's path and parameters */
    KI_CLIENT_CAUSES_MAX = 1024         /* causes of an error response; further causes are dropped */
};

typedef struct ki_client_options {
    size_t size; /* sizeof(ki_client_options); set by the macro */
    /* The program's engine. The program drives it, and frees it after the client. NULL: the client makes an engine of
     * its own. */
    ki_engine *engine;
    const ki_allocator *allocator; /* of the client's own engine; copied; NULL: malloc */
    const ki_log *log;             /* of the client's own engine; copied; NULL: no log */
    int requests_per_second;       /* the rate limit; 0: the configuration's; < 0: no limit */
    int request_burst;             /* requests at once before the rate limit applies; 0: the configuration's */
    int requests_in_flight;        /* the bound of requests in flight; 0: 32; < 0: none */
} ki_client_options;

#define KI_CLIENT_OPTIONS(...) KI_SIZED_(ki_client_options, __VA_ARGS__)

/* Makes a client for the cluster of `config`. `config` is copied. `options` may be NULL.
 * Ownership: the caller frees the client with ki_client_free. Blocks: no.
 * Errors: KI_ERR_INVALID, KI_ERR_NO_MEMORY, KI_ERR_SYSTEM. */
KI_API KI_MUST_CHECK ki_status ki_client_new(const ki_config *config, const ki_client_options *options,
                                             ki_client **ret_client, ki_error *err);

/* Returns the factory's client, which shares connections, credentials and rate limit with the informers.
 * Ownership: borrowed from the factory. Threads: any. Blocks: no. */
KI_API ki_client *ki_factory_client(ki_factory *factory);

/* Ends all requests with KI_ERR_CANCELLED and frees the client. Does nothing for NULL and for a factory's client.
 * Threads: not in a callback of the client, and not while another thread uses the client. Blocks: until a running
 * callback has returned. */
KI_API void ki_client_free(ki_client *client);

/* Returns the program's engine, or the client's own. Functions that wait drive the client's own engine themselves. A
 * program that calls ki_client_send drives it: ki_engine_start, ki_engine_run or ki_engine_step.
 * Ownership: borrowed from the client. Threads: any. */
KI_API ki_engine *ki_client_engine(const ki_client *client);

/* ---- requests ---- */

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
    KI_PATCH_JSON = 1,      /* RFC 6902; a list of changes: ki_client_do */
    KI_PATCH_STRATEGIC = 2, /* strategic merge patch; built-in resources only */
    KI_PATCH_APPLY = 3      /* server-side apply; JSON or YAML; needs options->field_manager */
} ki_patch_type;

/* What a deletion does to the objects that the deleted object owns (propagationPolicy). */
typedef enum ki_propagation {
    KI_PROPAGATION_DEFAULT = 0, /* the resource's default */
    KI_PROPAGATION_ORPHAN = 1,
    KI_PROPAGATION_BACKGROUND = 2,
    KI_PROPAGATION_FOREGROUND = 3
} ki_propagation;

/* What a write did. */
typedef enum ki_write_result {
    KI_WRITE_CREATED = 1,
    KI_WRITE_UPDATED = 2,
    /* The object is at the version that the written object named or that the informer's cache has. */
    KI_WRITE_UNCHANGED = 3
} ki_write_result;

#define KI_GRACE_NOW (-1) /* for grace_period_s: delete at once (gracePeriodSeconds 0) */

/* One cause of an error response. Strings are never NULL. */
typedef struct ki_cause {
    const char *reason;  /* "FieldValueInvalid" */
    const char *message; /* "must be no more than 63 characters" */
    const char *field;   /* "metadata.labels"; "" if the cause names no field */
} ki_cause;

/* The whole Status of an error response; a ki_error has a truncated message and no causes. Strings are never NULL. */
typedef struct ki_error_response {
    int http_status;
    int64_t retry_after_ms;                /* the Retry-After header; -1 without one */
    const char *reason;                    /* "Invalid", "Conflict", …; "" if the response is not a Status */
    const char *message;                   /* complete, as the server wrote it */
    const char *group, *kind, *name, *uid; /* the object that the error is about */
    const ki_cause *causes;
    size_t cause_count;
} ki_error_response;

/* Frees an error response that a function stored in ki_request_options.ret_error_response. NULL is accepted. */
KI_API void ki_error_response_free(ki_error_response *error_response);

/* Optional parts of a request. Strings are copied; NULL and "" mean none. Each member names the verbs that use it. */
typedef struct ki_request_options {
    size_t size;                  /* sizeof(ki_request_options); set by the macro */
    int64_t timeout_ms;           /* time limit with rate limit and retries; 0: KI_CLIENT_TIMEOUT_MS; < 0: no limit */
    const char *subresource;      /* "status", "scale", "eviction", "binding", "token", "log", … */
    const char *label_selector;   /* list, delete collection */
    const char *field_selector;   /* list, delete collection */
    int64_t limit;                /* list: objects of one page; 0: all objects in one response */
    const char *continue_token;   /* list: ki_response_continue of the previous page */
    const char *resource_version; /* get, list: the response is at least as new as this version */
    const char *resource_version_match;        /* list: "Exact" or "NotOlderThan" */
    const char *field_manager;                 /* writes */
    bool force;                                /* apply: take over fields of other managers */
    bool dry_run;                              /* writes: the server checks the request but stores nothing */
    const char *field_validation;              /* writes: "Strict", "Warn" or "Ignore" */
    const char *precondition_uid;              /* delete: only an object with this uid */
    const char *precondition_resource_version; /* delete: only an object at this version */
    ki_propagation propagation;                /* delete, delete collection */
    int64_t grace_period_s;                    /* delete: 0: the object's own; KI_GRACE_NOW: none */
    const char *parameters; /* further query parameters, percent-encoded: "container=web&tailLines=10" */
    /* Functions that wait store an error response here, which the caller frees with ki_error_response_free. Not changed
     * without an error response. NULL: not stored. */
    ki_error_response **ret_error_response;
    /* The term of leadership that the request belongs to. When the term ends, the request ends with KI_ERR_CANCELLED.
     * NULL: that of the reconcile that the calling thread is inside, if any (kinformer-controllers/controller.h). */
    const ki_term *term;
    /* Get, writes of an object: an informer of the resource. The returned object is made by
     * ki_informer_object_from_json. An update that does not differ from the whole object in its cache, at the same
     * resource version, is not sent. Used during the call. NULL: none. */
    const ki_informer *informer;
    /* Writes of an object store here what they did; not changed by an error. Without a version to compare with (in the
     * object or `informer`), and with `dry_run`, an unchanged object is reported as KI_WRITE_UPDATED. NULL: not
     * stored. */
    ki_write_result *ret_result;
} ki_request_options;

#define KI_REQUEST_OPTIONS(...) KI_SIZED_(ki_request_options, __VA_ARGS__)

typedef struct ki_client_request {
    size_t size; /* sizeof(ki_client_request); set by the macro */
    ki_client_verb verb;
    const ki_resource *resource; /* all verbs but KI_CLIENT_RAW; copied */
    const char *namespace_name;  /* list: NULL or "" for all namespaces; not for cluster-scoped resources */
    const char *name;            /* all verbs but list and delete collection; create: only with a subresource */
    const void *body;            /* create, update: the object as JSON; patch: the patch; raw: any bytes. Copied */
    size_t body_size;
    ki_patch_type patch;
    const char *method;                /* raw: "GET", "POST", … */
    const char *path;                  /* raw: percent-encoded path and query, such as "/healthz" */
    const char *content_type;          /* NULL: the verb's; raw: application/json */
    const char *accept;                /* NULL: application/json; for raw requests and subresources any type */
    const ki_request_options *options; /* NULL: none */
    /* For ki_client_send: receives the bytes of a successful response as they arrive. The response then has no body.
     * Returns false to end the request with KI_ERR_CANCELLED. For responses without an end, such as a followed log.
     * Threads: called on the loop. */
    bool (*on_data)(const void *data, size_t size, void *user) KI_NOEXCEPT;
} ki_client_request;

#define KI_CLIENT_REQUEST(...) KI_SIZED_(ki_client_request, __VA_ARGS__)

/* Receives the end of a request, exactly once. After success `err` is NULL. After an error response both are set, and
 * ki_response_error returns the Status. Without a response `response` is NULL.
 * Ownership: both are borrowed for the call; ki_response_ref keeps the response. Threads: called on the loop; must not
 * block. */
typedef void (*ki_response_handler)(const ki_response *response, const ki_error *err, void *user) KI_NOEXCEPT;

/* Sends a request without waiting. The loop calls `on_response` later, never inside this function; after an error of
 * this function `on_response` is not called. `ret_request` may be NULL; the request cannot be cancelled then.
 * Ownership: the caller frees `*ret_request` with ki_pending_request_free before the client. Threads: any. Blocks: no.
 * Errors: KI_ERR_INVALID (the message names what is missing), KI_ERR_LIMIT, KI_ERR_STATE (the engine has ended),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_client_send(ki_client *client, const ki_client_request *request,
                                              ki_response_handler on_response, void *user,
                                              ki_pending_request **ret_request, ki_error *err);

/* Ends a request with KI_ERR_CANCELLED, unless it has ended already. The loop calls `on_response`, not this function.
 * The server may have executed a cancelled write. NULL is accepted. Threads: any. Blocks: no. */
KI_API void ki_pending_request_cancel(ki_pending_request *request);
/* Frees the handle of a request; the request continues. NULL is accepted. Threads: any. */
KI_API void ki_pending_request_free(ki_pending_request *request);

/* Sends a request and waits for the response. `ret_response` may be NULL.
 * Ownership: `*ret_response` is a reference that the caller releases with ki_response_unref. Threads: any but the
 * loop's.
 * Blocks: up to the time limit.
 * Errors: those of ki_client_send; for an error response KI_ERR_HTTP, KI_ERR_EXPIRED or KI_ERR_TOO_LARGE_RV
 * (see ki_error_is_conflict and the like); KI_ERR_TIMEOUT (at once if the rate limit would delay the request
 * past its time limit), KI_ERR_CONNECT, KI_ERR_TLS, KI_ERR_UNEXPECTED_EOF, KI_ERR_PROTOCOL, KI_ERR_LIMIT (the response
 * is too large), KI_ERR_DEADLOCK (called on the loop), KI_ERR_STATE (no thread drives the program's engine),
 * KI_ERR_CANCELLED (the engine has ended, or the request's term of leadership). */
KI_API KI_MUST_CHECK ki_status ki_client_do(ki_client *client, const ki_client_request *request,
                                            ki_response **ret_response, ki_error *err);

/* ---- one function for each verb; all wait, with the Threads, Blocks and Errors of ki_client_do ----
 *
 * `options` and `ret_obj` may be NULL. `*ret_obj` is a reference that the caller releases with ki_object_unref.
 *
 * A function that writes an object finds its namespace and name in the object. It frees the object before it returns,
 * also after an error: `ki_client_apply(client, KI_SERVICES, new_service(site), …)`. To keep an object, write a
 * ki_unstructured_copy. Further errors: the object's failure (ki_unstructured_json); NULL is KI_ERR_NO_MEMORY;
 * KI_ERR_STATE for an object made from metadata alone (ki_unstructured_from_object), except for ki_client_patch. */

/* Gets an object. */
KI_API KI_MUST_CHECK ki_status ki_client_get(ki_client *client, const ki_resource *resource, const char *namespace_name,
                                             const char *name, const ki_request_options *options, ki_object **ret_obj,
                                             ki_error *err);
/* Lists objects: all, or one page of options->limit. ki_response_continue of a page is the continue_token of the next
 * page. */
KI_API KI_MUST_CHECK ki_status ki_client_list(ki_client *client, const ki_resource *resource,
                                              const char *namespace_name, const ki_request_options *options,
                                              ki_response **ret_response, ki_error *err);
/* Creates an object. With options->subresource the object names the one that it is for, such as an Eviction. */
KI_API KI_MUST_CHECK ki_status ki_client_create(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                                                const ki_request_options *options, ki_object **ret_obj, ki_error *err);
/* Replaces an object. If `object` has a metadata.resourceVersion, the server's must still be at that version (else
 * ki_error_is_conflict). */
KI_API KI_MUST_CHECK ki_status ki_client_update(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                                                const ki_request_options *options, ki_object **ret_obj, ki_error *err);
/* Replaces the status of an object (the subresource "status"); otherwise as ki_client_update. */
KI_API KI_MUST_CHECK ki_status ki_client_update_status(ki_client *client, const ki_resource *resource,
                                                       ki_unstructured *object, const ki_request_options *options,
                                                       ki_object **ret_obj, ki_error *err);
/* Patches an object: sets the fields that `object` has, and removes those that are null. `type` is KI_PATCH_MERGE or
 * KI_PATCH_STRATEGIC. A metadata.resourceVersion is checked as by ki_client_update. */
KI_API KI_MUST_CHECK ki_status ki_client_patch(ki_client *client, const ki_resource *resource, ki_patch_type type,
                                               ki_unstructured *object, const ki_request_options *options,
                                               ki_object **ret_obj, ki_error *err);
/* Applies an object (server-side apply) in the name of options->field_manager. `object` must have apiVersion and kind.
 * If another manager owns a field, ki_error_is_conflict is true, and the causes of the error response name manager and
 * field; options->force takes the field over. */
KI_API KI_MUST_CHECK ki_status ki_client_apply(ki_client *client, const ki_resource *resource, ki_unstructured *object,
                                               const ki_request_options *options, ki_object **ret_obj, ki_error *err);
/* Deletes an object. The response says what was deleted: ki_response_uid, with which ki_informer_wait_for_deletion
 * waits until a cache has no more of it. An object that stays until its finalizers or a grace period end is the object
 * of the response, and ki_response_resource_version is the version at which it was marked.
 * Ownership: `ret_response` may be NULL; `*ret_response` is a reference that the caller releases with
 * ki_response_unref. */
KI_API KI_MUST_CHECK ki_status ki_client_delete(ki_client *client, const ki_resource *resource,
                                                const char *namespace_name, const char *name,
                                                const ki_request_options *options, ki_response **ret_response,
                                                ki_error *err);
/* Deletes all objects that match the selectors of the options. */
KI_API KI_MUST_CHECK ki_status ki_client_delete_collection(ki_client *client, const ki_resource *resource,
                                                           const char *namespace_name,
                                                           const ki_request_options *options, ki_error *err);

/* ---- responses: any thread; strings and objects are borrowed from the response ---- */

/* Returns `response` with one more reference. NULL is accepted. */
KI_API ki_response *ki_response_ref(const ki_response *response);
/* Releases a reference; the last one frees the response. NULL is accepted. */
KI_API void ki_response_unref(const ki_response *response);

/* Returns the HTTP status, such as 200. */
KI_API int ki_response_http_status(const ki_response *response);
/* Returns the object of a response; NULL for a list, a Status, and a body without a name. */
KI_API const ki_object *ki_response_object(const ki_response *response);
/* Returns the object number `index` of a list, counted from 0; NULL past the last. */
KI_API const ki_object *ki_response_item(const ki_response *response, size_t index);
/* Returns the number of objects of a list. */
KI_API size_t ki_response_item_count(const ki_response *response);
/* Returns the uid of the response's object, or of the object that a deletion removed (details.uid of a Status); else
 * "". */
KI_API const char *ki_response_uid(const ki_response *response);
/* Returns the resource version of a list or of the response's object; else "". */
KI_API const char *ki_response_resource_version(const ki_response *response);
/* Returns the continue token of a page; "" for the last page. */
KI_API const char *ki_response_continue(const ki_response *response);
/* Returns the number of objects after this page (remainingItemCount); -1 if the server did not send it. */
KI_API int64_t ki_response_remaining(const ki_response *response);
/* Returns the body, with a zero byte after it that `*ret_size` does not count. "" for lists, whose body is not kept. */
KI_API const char *ki_response_body(const ki_response *response, size_t *ret_size);
/* Gets a field of a JSON body by its path; for responses that are no objects. Ownership, Errors: as ki_object_field. */
KI_API KI_MUST_CHECK ki_status ki_response_field(const ki_response *response, const char *path, ki_value *ret_value,
                                                 ki_error *err);
/* Returns the error response; NULL after success. */
KI_API const ki_error_response *ki_response_error(const ki_response *response);

KI_END_DECLS

#endif
