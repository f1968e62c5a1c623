/* server.h: an embedded Kubernetes API server, for the tests of any program that talks to one.
 *
 *     ki_testing_server *server;
 *     if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 100), &server, &err)) …
 *     … the program under test, pointed at ki_testing_server_url(server) …
 *     ki_testing_server_patch(server, KI_PODS, "default", "web", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", 0, &err);
 *     ki_testing_server_free(server);
 *
 * It serves HTTP or HTTPS on loopback from threads of its own, keeps everything in memory, and knows the built-in resources. kubectl,
 * client-go and kube-rs work against it unchanged. There is no limit to how many run in one process.
 *
 * Functions here may be called from any thread at any time between new and free, unless they say otherwise. JSON is passed as
 * `json` with its `size` in bytes; size 0 means that the text ends with a zero. For resources without namespaces
 * `namespace_name` is NULL. */
#ifndef KINFORMER_TESTING_SERVER_H
#define KINFORMER_TESTING_SERVER_H

#include <kinformer/allocator.h>
#include <kinformer/error.h>
#include <kinformer/resource.h>

#include <stdbool.h>

KI_BEGIN_DECLS

typedef struct ki_testing_server ki_testing_server;

/* With `stamp_changes` set: the annotation in which each object that the load changes carries when it was changed, as nanoseconds
 * of CLOCK_MONOTONIC in decimal. For measuring how long a change takes to reach a program. */
#define KI_TESTING_CHANGED_AT "load.kinformer/changed-at-ns"

/* Strings are copied. */
typedef struct ki_testing_server_options {
    size_t size;                   /* sizeof(ki_testing_server_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc. The HTTP library underneath uses malloc nevertheless */
    const char *
        listen; /* "ADDRESS:PORT", "ADDRESS" or ":PORT", IPv6 as "[::1]:8080"; port 0: any free one; NULL: 127.0.0.1:0 */
    uint64_t seed; /* of the load, and of uids and generated names */
    size_t pods;   /* load: about so many pods at all times, with their owners, in several namespaces */
    size_t nodes;  /* load: so many nodes; 0 with pods: one for each 30 pods */
    int64_t churn; /* load: changes a second */
    bool
        managed_fields; /* load: objects carry metadata.managedFields as a real server's do (a pod of 8.5 KB, not 5 KB) */
    bool stamp_changes;   /* load: KI_TESTING_CHANGED_AT */
    size_t compact_after; /* events of history that are kept; 0: 100,000 */
    bool no_watch_list;   /* as a server without streaming lists */
    bool tls;             /* HTTPS, with a CA and a certificate of its own; see access.h for what follows from it */
    const char *tls_certificate; /* HTTPS with this certificate, a PEM file, and this key */
    const char *tls_key;
    const char *
        tls_ca; /* with those two: who signs clients' certificates, and what kubeconfigs have; NULL: the certificate itself */
    bool rbac; /* roles and bindings decide, as on a real server; see access.h */
    bool
        collects_garbage; /* objects go with their owners (ownerReferences), as in a cluster with its garbage collector */
} ki_testing_server_options;

#define KI_TESTING_SERVER_OPTIONS(...) \
    ((ki_testing_server_options){ .size = sizeof(ki_testing_server_options), __VA_ARGS__ })

/* Starts serving. With a load, its objects are there when this returns. `options` may be NULL.
 * Ownership: the caller's, freed with ki_testing_server_free. Blocks: while the load is made (20,000 pods: about a second).
 * Errors: KI_ERR_INVALID, KI_ERR_SYSTEM (the address is taken, no such address), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_new(const ki_testing_server_options *options,
                                                     ki_testing_server **ret_server, ki_error *err);

/* Ends watches cleanly, with all that had happened until then, and frees it. NULL is accepted. Blocks: until its threads have ended; half
 * a second more at most for clients that do not read, which are cut then.
 * Threads: no other call with it may be under way. */
KI_API void ki_testing_server_free(ki_testing_server *server);

/* "http://127.0.0.1:41873", or https://. Ownership: borrowed. Blocks: no. */
KI_API const char *ki_testing_server_url(const ki_testing_server *server);

/* Writes a kubeconfig with this server as its only cluster and current context, with what a client needs to be let in: the CA and the
 * administrator's token (which clients send to a server with `tls` only). The file is a new one that only its owner may read; a file or link that is there
 * is replaced.
 * Errors: KI_ERR_SYSTEM, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_write_kubeconfig(const ki_testing_server *server, const char *path,
                                                                  ki_error *err);

/* ---- objects, as a client would ---- */

/* The requests create, update, merge patch and delete, with all that a server does with them: defaults, validation, conflicts,
 * finalizers, namespaces that must exist. Blocks: while another thread is in the server.
 * The resource version that a write gave its object is in what ki_testing_server_get gives, and in the answer of ki_testing_server_request.
 * Errors: KI_ERR_HTTP with the Status' code, reason and message; KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_create(ki_testing_server *server, const ki_resource *resource,
                                                        const char *namespace_name, const char *json, size_t size,
                                                        ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_testing_server_replace(ki_testing_server *server, const ki_resource *resource,
                                                         const char *namespace_name, const char *name, const char *json,
                                                         size_t size, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_testing_server_patch(ki_testing_server *server, const ki_resource *resource,
                                                       const char *namespace_name, const char *name, const char *json,
                                                       size_t size, ki_error *err);
KI_API KI_MUST_CHECK ki_status ki_testing_server_delete(ki_testing_server *server, const ki_resource *resource,
                                                        const char *namespace_name, const char *name, ki_error *err);

/* Text that the server gives away. */
typedef struct ki_testing_text {
    char *data; /* closed with a zero; NULL where empty */
    size_t size;
    const void *owner; /* private */
} ki_testing_text;

#define KI_TESTING_TEXT_INIT \
    { NULL, 0, NULL }

/* Frees what it holds and empties it. Must come before the server goes. */
KI_API void ki_testing_text_clear(ki_testing_text *text);

/* Any request, without a network: `target` is path and query, percent-encoded. `json` may be NULL; it is sent as `content_type` (NULL:
 * application/json). The answer's body goes to `*ret_body` (may be NULL), whatever its HTTP status; a watch cannot be
 * asked for this way (KI_ERR_INVALID).
 * Ownership: `*ret_body` is the caller's, to be freed with ki_testing_text_clear. Errors: as above. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_request(ki_testing_server *server, const char *method,
                                                         const char *target, const char *content_type, const char *json,
                                                         size_t size, ki_testing_text *ret_body, ki_error *err);

/* ---- objects, directly ---- */

/* Creates the object, or replaces it where its name is taken, without any of a request's checks: status, managedFields and
 * deletionTimestamp are stored as given, and its namespace is created where it does not exist. The fast way to fill a server.
 * Errors: KI_ERR_PARSE, KI_ERR_INVALID (no name, no namespace, not a known resource), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_put(ki_testing_server *server, const ki_resource *resource,
                                                     const char *json, size_t size, ki_error *err);

/* The object as it is now, as compact JSON with kind and apiVersion.
 * Ownership: `*ret_json` as in ki_testing_server_request. Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_get(ki_testing_server *server, const ki_resource *resource,
                                                     const char *namespace_name, const char *name,
                                                     ki_testing_text *ret_json, ki_error *err);

/* Calls `visit` for every object of a resource at one moment, in the order of a list; it must not call the server. Ends early where
 * `visit` gives false. `key` and `json` are valid during the call; neither ends with a zero byte that could be relied on. */
KI_API void ki_testing_server_each(ki_testing_server *server, const ki_resource *resource,
                                   bool (*visit)(const char *key, size_t key_size, const char *json, size_t size,
                                                 void *user) KI_NOEXCEPT,
                                   void *user);

/* Objects of one resource, in all namespaces. */
KI_API size_t ki_testing_server_count(ki_testing_server *server, const ki_resource *resource);

/* ---- the server as a whole ---- */

/* The resource version now. */
KI_API uint64_t ki_testing_server_revision(ki_testing_server *server);
/* Forgets all history up to now: watches and continue tokens from before get 410 Gone. */
KI_API void ki_testing_server_compact(ki_testing_server *server);
/* Ends all watches cleanly, as a server does that restarts. */
KI_API void ki_testing_server_close_watches(ki_testing_server *server);
/* Changes a second from now on; 0 stops the load (once this has returned nothing more is changed).
 * Errors: KI_ERR_STATE on a server without pods or nodes of the load's. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_set_churn(ki_testing_server *server, int64_t changes_per_second,
                                                           ki_error *err);

/* What the load has done since the start. */
typedef struct ki_testing_load {
    uint64_t changes;
    uint64_t behind; /* changes that it could not make in time and dropped */
} ki_testing_load;
KI_API void ki_testing_server_load(ki_testing_server *server, ki_testing_load *ret_load);

KI_END_DECLS

#endif
