/* server.h: an embedded Kubernetes API server for tests.
 *
 *     ki_testing_server *server;
 *     if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 100), &server, &err)) …
 *     … run the program under test with ki_testing_server_url(server) …
 *     ki_testing_server_patch(server, KI_PODS, "default", "web", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 0, &err);
 *     ki_testing_server_free(server);
 *
 * The server serves HTTP or HTTPS on the loopback interface, on threads of its own, and keeps all data in memory. It
 * has the built-in resources, and custom resources whose CustomResourceDefinition is created. kubectl, client-go and
 * kube-rs work with it unchanged. A process can run any number of servers. Fork: a child may use the server's URL, and
 * none of the functions below.
 *
 * Threads: any thread may call any function at any time, unless the comment says otherwise. JSON texts have a parameter
 * `size` in bytes; with size 0 the text ends with a zero. `namespace_name` is NULL for cluster-scoped resources. */
#ifndef KINFORMER_TESTING_SERVER_H
#define KINFORMER_TESTING_SERVER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_testing_server ki_testing_server;

/* The annotation that `stamp_changes` adds to each object that the load changes: the time of the change in nanoseconds
 * of CLOCK_MONOTONIC, in decimal. Use it to measure how long a change takes to reach a program. */
#define KI_TESTING_CHANGED_AT "load.kinformer/changed-at-ns"

/* Strings are copied. */
typedef struct ki_testing_server_options {
    size_t size;                   /* sizeof(ki_testing_server_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc. libmicrohttpd always uses malloc */
    /* "ADDRESS:PORT", "ADDRESS" or ":PORT", with IPv6 as "[::1]:8080". Port 0: a free port. NULL: 127.0.0.1:0. */
    const char *listen;
    uint64_t seed;        /* of the load and of faults by chance; uids, generated names and tokens are never the same */
    size_t pods;          /* load: approximate number of pods, with their owners and Services, in several namespaces */
    size_t nodes;         /* load: number of nodes; 0 with pods: one for 30 pods */
    int64_t churn;        /* load: changes a second */
    bool managed_fields;  /* load: objects have metadata.managedFields (a pod of 11 KB, not 7 KB) */
    bool stamp_changes;   /* load: changed objects have the annotation KI_TESTING_CHANGED_AT */
    size_t compact_after; /* number of events in the history; 0: 100,000 */
    bool no_streaming_list;      /* the server does not support streaming lists */
    bool tls;                    /* HTTPS with a generated CA and certificate; requires authentication (access.h) */
    const char *tls_certificate; /* PEM file: HTTPS with this certificate, and `tls_key` */
    const char *tls_key;         /* PEM file */
    /* PEM file: the CA of client certificates, also in kubeconfigs, for `tls_certificate`. NULL: the certificate
     * itself. */
    const char *tls_ca;
    bool rbac;             /* roles and bindings authorize requests, as on a real server (access.h) */
    bool collects_garbage; /* deletes objects whose owners (ownerReferences) are deleted, as a cluster does */
} ki_testing_server_options;

#define KI_TESTING_SERVER_OPTIONS(...) KI_SIZED_(ki_testing_server_options, __VA_ARGS__)

/* Starts a server. The objects of the load exist when this returns. `options` may be NULL.
 * Ownership: the caller frees the server with ki_testing_server_free. Blocks: while the load is made (20,000 pods take
 * one to three seconds).
 * Errors: KI_ERR_INVALID, KI_ERR_SYSTEM (the address is in use or does not exist), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_new(const ki_testing_server_options *options,
                                                     ki_testing_server **ret_server, ki_error *err);

/* Stops and frees a server. Open watches get all events up to now, and end cleanly. NULL is accepted.
 * Threads: not while another thread uses the server. Blocks: until the server's threads have ended. Connections of
 * clients that do not read are closed after half a second. */
KI_API void ki_testing_server_free(ki_testing_server *server);

/* Returns the server's URL, such as "http://127.0.0.1:41873". Ownership: borrowed from `server`. Blocks: no. */
KI_API const char *ki_testing_server_url(const ki_testing_server *server);

/* Writes a kubeconfig with the server as its only cluster. The current context, "kinformer", is that of the
 * administrator; each user of a token (access.h) has a context with the user's name. The kubeconfig has the CA and the
 * tokens, if the server has them; clients send tokens only with HTTPS. The file is new and readable by its owner only;
 * an existing file or link is replaced. A pipe, a device and /dev/stdout are written to.
 * Errors: KI_ERR_SYSTEM, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_write_kubeconfig(const ki_testing_server *server, const char *path,
                                                                  ki_error *err);

/* ---- requests, processed as a client's: defaults, validation, conflicts, finalizers, namespaces ----
 *
 * `text` is JSON or YAML of one object, `size` bytes; 0: up to its zero. An error in YAML has its line and column. */

/* Creates an object. A status in `text` is ignored, as a real server does; ki_testing_server_put stores it. The new
 * resource version is in the object that ki_testing_server_get returns.
 * Blocks: while another thread is in the server. Errors: KI_ERR_HTTP (code, reason and message of the Status),
 * KI_ERR_PARSE (YAML), KI_ERR_INVALID, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_create(ki_testing_server *server, const ki_resource *resource,
                                                        const char *namespace_name, const char *text, size_t size,
                                                        ki_error *err);
/* Replaces an object (an update request). A status in `text` replaces the object's status; if the status is a
 * subresource, this is a second request, and a second event. Without a status the object keeps its own. An error
 * changes nothing. Blocks, Errors: as ki_testing_server_create. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_replace(ki_testing_server *server, const ki_resource *resource,
                                                         const char *namespace_name, const char *name, const char *text,
                                                         size_t size, ki_error *err);
/* Applies a merge patch to an object, and to its status as ki_testing_server_replace does. An error changes nothing.
 * Blocks, Errors: as ki_testing_server_create. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_patch(ki_testing_server *server, const ki_resource *resource,
                                                       const char *namespace_name, const char *name, const char *text,
                                                       size_t size, ki_error *err);
/* Deletes an object. Blocks, Errors: as ki_testing_server_create. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_delete(ki_testing_server *server, const ki_resource *resource,
                                                        const char *namespace_name, const char *name, ki_error *err);

/* A text that the caller owns. */
typedef struct ki_testing_text {
    char *data; /* ends with a zero; NULL if empty */
    size_t size;
    const void *owner; /* private */
} ki_testing_text;

#define KI_TESTING_TEXT_INIT \
    { NULL, 0, NULL }

/* Frees the text and empties `*text`. Call it before ki_testing_server_free. */
KI_API void ki_testing_text_clear(ki_testing_text *text);

/* Makes any request except a watch, without the network. `target` is the percent-encoded path and query. `json` is the
 * body, of type `content_type` (NULL: application/json); NULL: no body. `*ret_body` receives the body of the response,
 * also of an error response; `ret_body` may be NULL.
 * Ownership: the caller empties `*ret_body` with ki_testing_text_clear.
 * Blocks, Errors: as ki_testing_server_create; KI_ERR_INVALID (a watch). */
KI_API KI_MUST_CHECK ki_status ki_testing_server_request(ki_testing_server *server, const char *method,
                                                         const char *target, const char *content_type, const char *json,
                                                         size_t size, ki_testing_text *ret_body, ki_error *err);

/* ---- direct access, without the checks of a request ---- */

/* Stores an object, JSON or YAML as for ki_testing_server_create, in place of an object with the same name. Status,
 * managedFields and deletionTimestamp are stored as given, and a missing namespace is created. The fastest way to fill
 * a server.
 * Errors: KI_ERR_PARSE, KI_ERR_INVALID (no name, no namespace, or an unknown resource), KI_ERR_LIMIT,
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_put(ki_testing_server *server, const ki_resource *resource,
                                                     const char *text, size_t size, ki_error *err);

/* Stores every object of a text as ki_testing_server_put does: JSON or YAML, several documents, and Lists. Kinds are
 * those that the server has: a custom resource comes after its definition. An object without a namespace gets
 * "default". `ret_count` (may be NULL) gets the number of objects that were stored, also on failure; those stay.
 * Errors: those of ki_testing_server_put; the message has the object's number in the text. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_put_all(ki_testing_server *server, const char *text, size_t size,
                                                         size_t *ret_count, ki_error *err);

/* Deletes all objects of a resource (NULL: of all resources) in a namespace (NULL: in all), regardless of finalizers.
 * Watches get their deletions. The namespaces default and kube-* stay.
 * Errors: KI_ERR_INVALID (no such resource), KI_ERR_NO_MEMORY (some are deleted). */
KI_API KI_MUST_CHECK ki_status ki_testing_server_delete_all(ki_testing_server *server, const ki_resource *resource,
                                                            const char *namespace_name, ki_error *err);

/* Gets the current state of an object as compact JSON with kind and apiVersion.
 * Ownership: as ki_testing_server_request. Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_get(ki_testing_server *server, const ki_resource *resource,
                                                     const char *namespace_name, const char *name,
                                                     ki_testing_text *ret_json, ki_error *err);

/* Calls `visit` for every object of a resource in the order of a list, until `visit` returns false. No object changes
 * meanwhile; `visit` must not call the server. `key` and `json` are borrowed for the call, and need not end with a
 * zero. */
KI_API void ki_testing_server_each(ki_testing_server *server, const ki_resource *resource,
                                   bool (*visit)(const char *key, size_t key_size, const char *json, size_t size,
                                                 void *user) KI_NOEXCEPT,
                                   void *user);

/* Returns the number of objects of a resource, in all namespaces. */
KI_API size_t ki_testing_server_count(ki_testing_server *server, const ki_resource *resource);

/* ---- the server as a whole ---- */

/* Returns the current resource version. */
KI_API uint64_t ki_testing_server_revision(ki_testing_server *server);
/* Keeps the present state as the start: objects, tokens, rules and faults. Without a call it is the state after
 * ki_testing_server_new. Errors: KI_ERR_NO_MEMORY; the start before stays. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_keep_start(ki_testing_server *server, ki_error *err);
/* Returns to the start, for the next test, as changes that open watches get: objects that are new or have changed are
 * deleted, then those that are missing are added, with their uids and new resource versions. Tokens, rules and faults
 * that were added since are removed; the faults of the start begin anew. Forgets the recorded requests. A load goes on.
 * Errors: KI_ERR_NO_MEMORY; call it again. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_return_to_start(ki_testing_server *server, ki_error *err);
/* Deletes the history up to now: watches from older resource versions and older continue tokens get 410 Gone. */
KI_API void ki_testing_server_compact(ki_testing_server *server);
/* Ends all watches cleanly, as a restarting server does. They get all changes up to now; a later change does not reach
 * them. */
KI_API void ki_testing_server_close_watches(ki_testing_server *server);
/* Cuts the connections of the watches that are open now, as a broken network does: their clients see no end. */
KI_API void ki_testing_server_cut_watches(ki_testing_server *server);
/* Sets the load's number of changes a second. 0 stops the load: after this returns the load changes nothing.
 * Errors: KI_ERR_INVALID, KI_ERR_STATE (a server without `pods` and `nodes`), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_set_churn(ki_testing_server *server, int64_t changes_per_second,
                                                           ki_error *err);

/* Counters of the load since the start. */
typedef struct ki_testing_load {
    uint64_t changes; /* changes made */
    uint64_t dropped; /* changes dropped, because they were late */
} ki_testing_load;
/* Writes the counters of the load. */
KI_API void ki_testing_server_load(ki_testing_server *server, ki_testing_load *ret_load);

KI_END_DECLS

#endif
