/* kinformer-status/server.h: an HTTP server for a program's probes, its metrics, and a page for people.
 *
 *     ki_status_server *server;
 *     if (ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "0.0.0.0:8080"), &server, &err)) …
 *     … ki_factory_run(factory, &err) …
 *     ki_status_server_free(server);
 *     ki_factory_free(factory);
 *
 *     /livez     200, or 503 if the factory's loop has not run for half a minute
 *     /readyz    200 once all informers have synced, else 503; with ?verbose a line for each informer, queue, elector,
 *                with a warning, "[!]", of a controller whose key failed three times in a row
 *     /metrics   the metrics of the factory: OpenMetrics, or Prometheus' text format, as the client's Accept says
 *     /          the page: state, cause, age and size of each informer, the queues with their failing keys, who
 *                leads, the last 15 minutes; the cluster, the process and the version
 *
 * The responses have names of resources, namespaces, selectors, Leases, identities, hosts and failing keys, and the
 * causes of failures. They have no objects and no credentials. The server has neither TLS nor authentication, so it
 * listens on loopback unless the program says otherwise. Responses are compressed with gzip if the client accepts it.
 *
 * Threads: the server works on one thread of its own, whichever way drives the engine (step, run, start): it responds
 * before the engine is driven, while the loop is busy and after the loop has ended. The thread reads the factory as any
 * thread may; it calls no handler. Every 10 s a call on the loop (ki_engine_post) takes a sample for the charts, so a
 * program that steps its engine steps it at least that often. The thread blocks all signals.
 *
 * Limits: 64 connections; 30 s for a request with its response; 10 s without a byte; 16 KiB of a request's headers; 16
 * MiB of a response, and 32 MiB of all responses that clients have not read yet, beyond which the server responds 503
 * instead of more than 4 KiB. A connection beyond the 64 closes the one whose last response, or whose begin, is the
 * longest ago: clients that send or read nothing keep no probe out. A request fails only if 64 more connections are
 * opened before its response is sent. Up to 80 descriptors are open meanwhile. Bodies of requests are ignored. The
 * charts have 90 samples, of at most 1,024 informers, queues and electors: 400 bytes of memory for each. libmicrohttpd
 * allocates with malloc.
 *
 * Fork: make the server after a fork. In a process that was forked later it does not exist: ki_status_server_free
 * returns and releases nothing. */
#ifndef KINFORMER_STATUS_SERVER_H
#define KINFORMER_STATUS_SERVER_H

#include <kinformer/factory.h>
#include <kinformer/metrics.h>

KI_BEGIN_DECLS

typedef struct ki_status_server ki_status_server;

/* Strings are copied. */
typedef struct ki_status_server_options {
    size_t size;                   /* sizeof(ki_status_server_options); set by the macro */
    const ki_allocator *allocator; /* copied; NULL: malloc */
    /* "PORT", ":PORT", "ADDRESS:PORT" or "[IPv6]:PORT" with a numeric address or localhost. Without an address
     * loopback; port 0: any free port. All interfaces: "0.0.0.0:8080", "[::]:8080". NULL: 127.0.0.1:8080. */
    const char *address;
    const char *title; /* name of the program, on the page; NULL: "kinformer" */
    /* Passes samples of the program's own to `visit` with its `visit_user`, for /metrics; for instance by
     * ki_workqueue_visit_metrics for a queue that is no controller's, which the page then has, too. NULL: none.
     * Threads: called on the server's thread and on the loop; must not block. */
    void (*collect)(ki_sample_visitor visit, void *visit_user, void *user) KI_NOEXCEPT;
    void *user;          /* of `collect` */
    const char *version; /* of the program, on the page; NULL: none */
} ki_status_server_options;

#define KI_STATUS_SERVER_OPTIONS(...) KI_SIZED_(ki_status_server_options, __VA_ARGS__)

/* Starts the server of a factory. `options` may be NULL.
 * Ownership: the caller frees the server with ki_status_server_free. ki_factory_free stops it, if the factory is freed
 * first: the server then responds no more, and is still to be freed. Threads: any. Blocks: no.
 * Errors: KI_ERR_INVALID (no such address), KI_ERR_SYSTEM (the port is in use, the address is not this machine's, no
 * descriptors), KI_ERR_STATE (the engine is stopped), KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_status_server_new(ki_factory *factory, const ki_status_server_options *options,
                                                    ki_status_server **ret_server, ki_error *err);

/* Returns the URL of the page, such as "http://127.0.0.1:8080". Of a server on all interfaces it has the loopback
 * address. Ownership: borrowed from the server. Threads: any. */
KI_API const char *ki_status_server_url(const ki_status_server *server);

/* Stops and frees a server. Closes its connections. NULL is accepted.
 * Threads: any, but not in `collect`. Blocks: until the responses in the making are made, and a sample is taken. */
KI_API void ki_status_server_free(ki_status_server *server);

KI_END_DECLS

#endif
