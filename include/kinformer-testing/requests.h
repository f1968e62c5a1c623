/* requests.h: what clients have requested of the embedded server (client-go's Actions), and waits for what they do.
 * With these a test needs no sleep.
 *
 *     ki_testing_server_wait_for_requests(server, "verb=create,resource=deployments.apps", 1, 10000, &err);
 *     ki_testing_server_requests(server, "verb=create,resource=deployments.apps", &requests, &err);
 *     … requests.requests[0]->name, ->body …
 *     ki_testing_requests_clear(&requests);
 *
 * A line selects requests: "verb=get+list,resource=pods+deployments.apps/status,namespace=default,name=web". Further
 * parts are path and user-agent. Each part can be missing, and has one or more values with '+' between them; a star at
 * the end of a value matches any rest. NULL or "" selects all. Faults (faults.h) select requests in the same way.
 *
 * Requests through the network are recorded, also those that get an error response; not the functions of these headers,
 * and not those that drive the server, such as /_faults (docs/testing-your-client.md). Waits return at once if what
 * they wait for is there already. Each wait takes `timeout_ms` at most (< 0: no limit); the message of KI_ERR_TIMEOUT
 * says what there is instead.
 *
 * Threads: any. */
#ifndef KINFORMER_TESTING_REQUESTS_H
#define KINFORMER_TESTING_REQUESTS_H

#include <kinformer-testing/server.h>

KI_BEGIN_DECLS

enum {
    KI_TESTING_REQUESTS_MAX_COUNT = 10000,   /* recorded requests; above, the oldest are dropped */
    KI_TESTING_REQUESTS_MAX_BYTES = 32 << 20 /* their memory; above, the oldest are dropped */
};

/* A request. Strings are never NULL. */
typedef struct ki_testing_request {
    const char *verb;     /* "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection" */
    const char *resource; /* "pods", "deployments.apps", "deployments.apps/status"; "": the path of no resource */
    const char *namespace_name;
    const char *name;   /* "" for a create */
    const char *target; /* path and query, percent-encoded */
    const char *user_agent;
    const char *user; /* who made the request: "system:anonymous", … (access.h) */
    const char *body; /* YAML and protobuf as JSON; ends with a zero */
    size_t body_size;
    int status;      /* HTTP status of the response; 0: a fault closed the connection without one */
    uint64_t number; /* 1 for the server's first request, and so on */
    int64_t time_ms; /* when it was responded to: Unix time in milliseconds */
} ki_testing_request;

typedef struct ki_testing_requests {
    ki_testing_request **requests; /* the oldest first */
    size_t count;
    uint64_t dropped;          /* older requests of any kind that were dropped */
    const ki_allocator *owner; /* private */
} ki_testing_requests;

#define KI_TESTING_REQUESTS_INIT \
    { NULL, 0, 0, NULL }

/* Gets the recorded requests that `line` selects.
 * Ownership: the caller empties `*ret_requests` with ki_testing_requests_clear, before ki_testing_server_free.
 * Errors: KI_ERR_INVALID (the line, with the nearest right word), KI_ERR_NO_MEMORY (also if a request could not be
 * recorded). */
KI_API KI_MUST_CHECK ki_status ki_testing_server_requests(ki_testing_server *server, const char *line,
                                                          ki_testing_requests *ret_requests, ki_error *err);
/* Frees the requests and empties `*requests`. */
KI_API void ki_testing_requests_clear(ki_testing_requests *requests);
/* Forgets the requests so far. */
KI_API void ki_testing_server_forget_requests(ki_testing_server *server);

/* Waits until at least `count` recorded requests match. A request counts before the client gets its response; a watch
 * counts when it is opened.
 * Blocks: yes. Errors: KI_ERR_TIMEOUT, KI_ERR_INVALID (also a count above KI_TESTING_REQUESTS_MAX_COUNT),
 * KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_wait_for_requests(ki_testing_server *server, const char *line,
                                                                   size_t count, int64_t timeout_ms, ki_error *err);

/* Waits until exactly `count` watches of a resource (NULL: of all) are open. A watch that the server ends or cuts,
 * or whose client has closed it, counts no more. A wait for fewer watches notices what clients close within a second.
 * Blocks: yes. Errors: KI_ERR_TIMEOUT, KI_ERR_INVALID (not a resource of this server), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_wait_for_watches(ki_testing_server *server,
                                                                  const ki_resource *resource, size_t count,
                                                                  int64_t timeout_ms, ki_error *err);

/* Waits until the fault with this number (ki_testing_server_add_fault) was injected at least `count` times.
 * Blocks: yes. Errors: KI_ERR_TIMEOUT, KI_ERR_NOT_FOUND (no such fault, or it was removed). */
KI_API KI_MUST_CHECK ki_status ki_testing_server_wait_for_fault(ki_testing_server *server, uint64_t id, uint64_t count,
                                                                int64_t timeout_ms, ki_error *err);

/* Waits until an object exists and has the fields of `field_selector` (kinformer/selector.h), such as
 * "spec.replicas=3,status.phase!=Failed"; NULL or "": any.
 * Blocks: yes. Errors: KI_ERR_TIMEOUT, KI_ERR_PARSE, KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_wait_for_object(ki_testing_server *server, const ki_resource *resource,
                                                                 const char *namespace_name, const char *name,
                                                                 const char *field_selector, int64_t timeout_ms,
                                                                 ki_error *err);

/* Waits until there is no object of this name.
 * Blocks: yes. Errors: KI_ERR_TIMEOUT, KI_ERR_INVALID, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_wait_for_deletion(ki_testing_server *server,
                                                                   const ki_resource *resource,
                                                                   const char *namespace_name, const char *name,
                                                                   int64_t timeout_ms, ki_error *err);

KI_END_DECLS

#endif
