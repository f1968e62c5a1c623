/* server.c: the server: libmicrohttpd receives requests on its one thread, and ki_reply_make responds. */
#include <kinformer-status/server.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "status/connections.h"
#include "status/http/listen.h"
#include "status/reply.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PROCESS_SIZE = HOST_NAME_MAX + 32,
    SILENCE_S = 10,
    CONNECTION_MEMORY = 16 * 1024 /* bytes of each connection; a request's headers must fit */
};

struct ki_status_server {
    /* ---- constant ---- */
    ki_allocator allocator;
    pid_t process; /* that made the server */
    char *title, *version;
    char where[PROCESS_SIZE]; /* "node-1, pid 7" */
    char url[KI_URL_MAX];
    ki_reply_source source;
    struct MHD_Daemon *daemon;

    ki_factory_end end;
    bool is_stopped; /* the factory was freed */
    ki_sampler sampler;
    ki_connections connections;
};

static int64_t now_of(const ki_status_server *server) {
    return ki_engine_now(server->sampler.engine);
}

/* --- requests; the daemon's thread -------------------------------------------------------------------------------- */

/* What is known of a request, without memory of its own: libmicrohttpd keeps one of these addresses. */
typedef struct request_state {
    bool is_verbose, has_begun;
} request_state;

static request_state states[] = { { false, false }, { false, true }, { true, false }, { true, true } };

/* Returns true if the query has "verbose", with or without a value. */
static bool has_verbose(ki_str query) {
    while (query.size) {
        ki_str value;
        if (ki_str_equals(ki_str_split(ki_str_split(query, '&', &query), '=', &value), "verbose"))
            return true;
    }
    return false;
}

/* Cuts the query off the daemon's copy of the URI. The daemon would parse it, and with a thousand parameters use up
 * the connection's memory, so that the client would never get a response. */
static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection) {
    (void)user, (void)connection;
    ki_str query;
    ki_str path = ki_str_split(ki_str_of(uri), '?', &query);
    bool is_verbose = has_verbose(query);
    if (query.size)
        memset((void *)(uintptr_t)(uri + path.size + 1), 0, 1);
    return &states[is_verbose ? 2 : 0];
}

typedef struct sent_body {
    ki_connections *connections;
    ki_buffer body;
    size_t size;
} sent_body;

static void free_body(void *user) {
    sent_body *sent = user;
    const ki_allocator *allocator = sent->body.allocator;
    ki_connections_release(sent->connections, sent->size);
    ki_buffer_free(&sent->body);
    ki_free(allocator, sent);
}

static struct MHD_Response *empty_response(void) {
    return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
}

/* Makes the daemon's response of a reply, whose body it takes. Too many bytes, or no memory: `*status` becomes 503, and
 * the body is empty. */
static struct MHD_Response *take_body(ki_status_server *server, ki_reply *reply, int *status) {
    static char nothing[1];
    size_t size = reply->body.size;
    sent_body *sent =
        ki_connections_reserve(&server->connections, size) ? ki_alloc(&server->allocator, sizeof *sent) : NULL;
    if (!sent) {
        ki_buffer_free(&reply->body);
        reply->is_packed = false;
        *status = MHD_HTTP_SERVICE_UNAVAILABLE;
        return empty_response();
    }
    *sent = (sent_body){ &server->connections, reply->body, size };
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        size, sent->body.data ? sent->body.data : nothing, free_body, sent);
    if (!response)
        free_body(sent);
    return response;
}

static void add_headers(struct MHD_Response *response, const ki_reply *reply, int status) {
    MHD_add_response_header(response, "Content-Type", reply->content_type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    /* The page loads its own script and nothing else, whatever a name or a message has in it. */
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
                            "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    if (reply->is_packed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", "GET, HEAD");
}

static enum MHD_Result respond(ki_status_server *server, struct MHD_Connection *connection,
                               const ki_request_line *request) {
    ki_reply reply;
    ki_reply_make(&server->source, request, &reply);
    int status = reply.status;
    struct MHD_Response *response = take_body(server, &reply, &status);
    if (!response)
        return MHD_NO;
    add_headers(response, &reply, status);
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result;
}

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state) {
    ki_status_server *server = user;
    const request_state *known = *state;
    (void)version, (void)upload;
    if (!known->has_begun) { /* the first call has only the headers; a response now would close the connection */
        *state = &states[known->is_verbose ? 3 : 1];
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0; /* the body is ignored */
        return MHD_YES;
    }
    ki_sampler_check(&server->sampler);
    const ki_request_line request = { .method = method,
                                      .path = url,
                                      .is_verbose = known->is_verbose,
                                      .accept = header(connection, "Accept"),
                                      .accept_encoding = header(connection, "Accept-Encoding") };
    return respond(server, connection, &request);
}

/* --- connections; the daemon's thread ----------------------------------------------------------------------------- */

static void on_connection(void *user, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code) {
    ki_status_server *server = user;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        ki_connections_remove(&server->connections, *place);
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    ki_connections_end_late(&server->connections, now_of(server));
    *place = info ? ki_connections_add(&server->connections, info->connect_fd, now_of(server)) : NULL;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how) {
    ki_status_server *server = user;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    (void)state, (void)how;
    if (info)
        ki_connections_renew(&server->connections, info->socket_context, now_of(server));
}

/* On the loop, every 10 s: ends the late connections also where no new one comes. */
static void on_tick(void *user) {
    ki_status_server *server = user;
    ki_connections_end_late(&server->connections, now_of(server));
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

/* Starts the daemon, which takes the listening socket. Its thread blocks all signals, as all threads of the project do:
 * only the program's threads run the program's signal handlers. */
static struct MHD_Daemon *start_daemon(ki_status_server *server, int listener) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET,
        listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)KI_CONNECTIONS_PLACES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_URI_LOG_CALLBACK,
        on_uri, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        server, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static ki_status serve(ki_status_server *server, const char *address, ki_error *err) {
    int listener;
    ki_status status = ki_http_listen(address ? address : "127.0.0.1:8080", NULL, "http", &listener, server->url, err);
    if (status)
        return status;
    errno = 0;
    server->daemon = start_daemon(server, listener);
    if (server->daemon)
        return KI_OK;
    int failed = errno;
    close(listener);
    return ki_error_set_errno(err, KI_ERR_SYSTEM, failed ? failed : ENOMEM, "cannot start the HTTP server on %s",
                              server->url);
}

/* Ends all that reads the factory. */
static void stop(void *user) {
    ki_status_server *server = user;
    /* libmicrohttpd (0.9.75) dereferences NULL if a malformed request is read after MHD_stop_daemon has begun */
    ki_connections_end_all(&server->connections);
    MHD_stop_daemon(server->daemon);
    ki_sampler_stop(&server->sampler);
    server->is_stopped = true;
}

static ki_status start(ki_status_server *server, ki_factory *factory, const ki_status_server_options *given,
                       ki_error *err) {
    server->title = ki_strdup(&server->allocator, given->title ? given->title : "kinformer");
    server->version = ki_strdup(&server->allocator, given->version ? given->version : "");
    if (!server->title || !server->version)
        return ki_error_no_memory(err, "starting the status server");
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(server->where, sizeof server->where, "%s, pid %ld", host, (long)getpid());
    server->sampler = (ki_sampler){ .allocator = &server->allocator,
                                    .factory = factory,
                                    .engine = ki_factory_engine(factory),
                                    .collect = given->collect,
                                    .user = given->user,
                                    .tick = on_tick,
                                    .tick_user = server };
    server->source = (ki_reply_source){ .sampler = &server->sampler,
                                        .title = server->title,
                                        .process = server->where,
                                        .version = server->version,
                                        .started_ns = now_of(server) };
    ki_status status = ki_connections_init(&server->connections, err);
    if (status)
        return status;
    status = ki_sampler_start(&server->sampler, err);
    if (!status) {
        status = serve(server, given->address, err);
        if (!status)
            return KI_OK;
        ki_sampler_stop(&server->sampler);
    }
    ki_connections_free(&server->connections);
    return status;
}

static void release(ki_status_server *server) {
    const ki_allocator allocator = server->allocator;
    ki_free(&allocator, server->title);
    ki_free(&allocator, server->version);
    ki_free(&allocator, server);
}

ki_status ki_status_server_new(ki_factory *factory, const ki_status_server_options *options,
                               ki_status_server **ret_server, ki_error *err) {
    ki_status_server_options given;
    if (!factory || !ret_server)
        return ki_error_missing(err, "ki_status_server_new");
    ki_status status = KI_OPTIONS_TAKE(options, &given, "KI_STATUS_SERVER_OPTIONS", err);
    if (status)
        return status;
    const ki_allocator *allocator = given.allocator ? given.allocator : &ki_allocator_default;
    ki_status_server *server = ki_alloc_zero(allocator, sizeof *server);
    if (!server)
        return ki_error_no_memory(err, "starting the status server");
    server->allocator = *allocator;
    server->process = getpid();
    status = start(server, factory, &given, err);
    if (status) {
        release(server);
        return status;
    }
    server->end = (ki_factory_end){ .call = stop, .user = server };
    ki_factory_add_end(factory, &server->end);
    *ret_server = server;
    return KI_OK;
}

const char *ki_status_server_url(const ki_status_server *server) {
    return server->url;
}

void ki_status_server_free(ki_status_server *server) {
    if (!server || server->process != getpid())
        return;
    if (!server->is_stopped) {
        ki_factory_remove_end(server->sampler.factory, &server->end);
        stop(server);
    }
    ki_connections_free(&server->connections);
    release(server);
}
