/* front.c: see front.h. The daemon's one thread handles all requests. */
#include "testing/http/front.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/engine/thread.h"
#include "status/http/accept.h"
#include "status/http/gzip.h"
#include "status/http/listen.h"
#include "testing/faults/stream.h"
#include "testing/http/waiter.h"
#include "testing/http/web_socket_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    GZIP_MIN = 128 * 1024, /* bytes; smaller bodies are not compressed, as in the real server */
    CONNECTION_LIMIT = 65536,
    BODY_READ_MAX = 64 * 1024 * 1024, /* bytes of a larger body that are read; then the connection is closed */
    WARNINGS_MAX_SIZE = 4096,         /* bytes of all Warning headers of a response, as in the real server */
    /* The real server's idle timeout (k8s.io/apiserver, secure_serving.go): a client can send its next request half
     * a minute later. Suspended watches are not idle. The daemon does not notice a client that closes in the middle
     * of a request before this timeout. */
    IDLE_TIMEOUT_S = 90
};

#define PATIENCE_NS (INT64_C(5) * 1000000000) /* for the connections' end when the daemon stops */

typedef struct open_socket {
    struct open_socket *next, *previous;
    int fd;
    bool is_awaited;
} open_socket;

/* The sockets of the daemon's connections, which are shut down before libmicrohttpd stops: a malformed request that
 * libmicrohttpd 0.9.75 reads while it stops makes it dereference NULL. Any thread. */
typedef struct open_sockets {
    bool is_initialized;
    ki_mutex mutex; /* guards the members below */
    ki_cond ended;  /* signalled when `awaited` becomes 0 */
    open_socket *first;
    size_t awaited; /* sockets for whose end end_sockets waits */
    bool is_ending; /* a new socket is shut down */
} open_sockets;

struct kt_front {
    /* ---- constant, but for `is_ending` ---- */
    ki_allocator allocator;
    kt_cluster *cluster; /* under the lock of `streams` */
    bool is_ending;      /* watches end, also new ones; under the lock of `streams` */
    char url[KI_URL_MAX];
    const kt_tls *tls; /* NULL: plain HTTP */

    /* ---- the thread that starts and stops the front ---- */
    struct MHD_Daemon *daemon;
    int listener; /* each daemon gets a duplicate, so that the port stays reserved; -1: none */

    kt_streams streams;
    kt_web_sockets web_sockets;
    open_sockets sockets;
};

/* One request while it arrives. The daemon's thread only. */
typedef struct exchange {
    const ki_allocator *allocator;
    char *target;
    ki_buffer body;
    size_t dropped;            /* bytes of a body that is too large */
    kt_web_socket *web_socket; /* a response that becomes a WebSocket; NULL: none */
    kt_waiter *waiter;         /* the request waits, or its wait has ended; NULL: it did not */
    bool begun;
    bool too_large;
} exchange;

static void *on_uri(void *user, const char *uri, struct MHD_Connection *connection) {
    kt_front *front = user;
    (void)connection;
    exchange *x = ki_alloc_zero(&front->allocator, sizeof *x);
    const size_t path = strcspn(uri, "?");
    if (!x)
        return NULL;
    x->allocator = &front->allocator;
    x->target = ki_strndup(x->allocator, uri, strlen(uri));
    /* Cuts the query off the daemon's copy of the URI. The daemon would parse it, and with a thousand parameters use up
     * the connection's memory, so that the client would never get a response. */
    if (uri[path] && uri[path + 1])
        memset((void *)(uintptr_t)(uri + path + 1), 0, 1);
    ki_buffer_init(&x->body, x->allocator, KT_BODY_MAX);
    return x;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how) {
    exchange *x = *state;
    (void)user, (void)connection, (void)how;
    if (!x)
        return;
    if (x->web_socket)
        kt_web_socket_free(x->web_socket);
    if (x->waiter)
        kt_waiter_free(x->waiter);
    ki_buffer_free(&x->body);
    ki_free(x->allocator, x->target);
    ki_free(x->allocator, x);
    *state = NULL;
}

/* Notes the socket of a new connection, and forgets that of a closed one. */
static void on_connection(void *user, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode code) {
    kt_front *front = user;
    open_sockets *sockets = &front->sockets;
    open_socket *socket = *place;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code != MHD_CONNECTION_NOTIFY_CLOSED && info)
        *place = socket = ki_alloc(&front->allocator, sizeof *socket); /* NULL without memory: it is not noted */
    ki_mutex_lock(&sockets->mutex);
    if (code != MHD_CONNECTION_NOTIFY_CLOSED && info && sockets->is_ending)
        (void)shutdown(info->connect_fd, SHUT_RDWR);
    if (code != MHD_CONNECTION_NOTIFY_CLOSED && info && socket) {
        *socket = (open_socket){ .fd = info->connect_fd };
        KI_LIST_PREPEND(sockets->first, socket);
    } else if (socket) {
        KI_LIST_REMOVE(sockets->first, socket);
        if (socket->is_awaited && --sockets->awaited == 0)
            ki_cond_broadcast(&sockets->ended);
    }
    ki_mutex_unlock(&sockets->mutex);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        ki_free(&front->allocator, socket);
}

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result queue(struct MHD_Connection *connection, int status, struct MHD_Response *http_response) {
    if (!http_response)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, http_response);
    MHD_destroy_response(http_response);
    return result;
}

/* Sends a Status of the front itself. */
static enum MHD_Result respond_error(struct MHD_Connection *connection, int code, const char *reason,
                                     const char *message) {
    char body[512];
    int size = snprintf(body, sizeof body,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                        "\"message\":\"%s\",\"reason\":\"%s\",\"code\":%d}\n",
                        message, reason, code);
    struct MHD_Response *http_response = MHD_create_response_from_buffer((size_t)size, body, MHD_RESPMEM_MUST_COPY);
    if (http_response)
        MHD_add_response_header(http_response, "Content-Type", "application/json");
    return queue(connection, code, http_response);
}

static enum MHD_Result respond_no_memory(struct MHD_Connection *connection) {
    return respond_error(connection, 500, "InternalError", "the server is out of memory");
}

static enum MHD_Result respond_too_large(struct MHD_Connection *connection) {
    return respond_error(connection, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
}

static void free_body(void *user) {
    ki_buffer *body = user;
    const ki_allocator *allocator = body->allocator;
    ki_buffer_free(body);
    ki_free(allocator, body);
}

/* Adds headers such as: Warning: 299 - "unknown field \"spec.x\"". Omits those beyond WARNINGS_MAX_SIZE. */
static void add_warnings(struct MHD_Response *http_response, const kt_response *response) {
    ki_str rest = { response->warnings.data, response->warnings.size };
    ki_buffer value;
    ki_buffer_init(&value, response->warnings.allocator, 0);
    for (size_t left = WARNINGS_MAX_SIZE; rest.size;) {
        ki_str line = ki_str_split(rest, '\n', &rest);
        ki_buffer_reset(&value, SIZE_MAX);
        ki_buffer_append_string(&value, "299 - ");
        ki_buffer_append_json_string(&value, line);
        if (value.failed || value.size > left)
            break;
        left -= value.size;
        MHD_add_response_header(http_response, "Warning", value.data);
    }
    ki_buffer_free(&value);
}

/* Creates the daemon's response with the whole body, and takes ownership of the body. */
static struct MHD_Response *whole_response(kt_front *front, struct MHD_Connection *connection, kt_response *response) {
    static char nothing[1];
    bool packed = response->status == 200 && response->body.size >= GZIP_MIN &&
                  ki_http_accepts_gzip(header(connection, "Accept-Encoding"));
    ki_buffer *body = ki_alloc(&front->allocator, sizeof *body);
    if (!body)
        return NULL;
    if (packed && ki_http_gzip(&front->allocator, response->body.data, response->body.size, body) == KI_OK) {
        ki_buffer_free(&response->body);
    } else {
        packed = false;
        *body = response->body;
    }
    ki_buffer_init(&response->body, &front->allocator, 0);

    struct MHD_Response *http_response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->data ? body->data : nothing, free_body, body);
    if (!http_response) {
        free_body(body);
        return NULL;
    }
    if (packed) {
        MHD_add_response_header(http_response, "Content-Encoding", "gzip");
        MHD_add_response_header(http_response, "Vary", "Accept-Encoding");
    }
    return http_response;
}

static bool is_loopback(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    if (address && address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (!address || address->sa_family != AF_INET6)
        return false;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/* Reads the Impersonate headers. Impersonate-Group can occur several times. Ignores extras. */
static enum MHD_Result read_impersonation(void *user, enum MHD_ValueKind kind, const char *name, const char *value) {
    kt_user *as = user;
    (void)kind;
    if (!value)
        return MHD_YES;
    if (strcasecmp(name, "Impersonate-User") == 0)
        as->name = ki_str_of(value);
    else if (strcasecmp(name, "Impersonate-Uid") == 0)
        as->uid = ki_str_of(value);
    else if (strcasecmp(name, "Impersonate-Group") == 0)
        kt_user_join(as, ki_str_of(value));
    return MHD_YES;
}

static void read_credentials(kt_front *front, struct MHD_Connection *connection, char text[KT_TLS_USER_SIZE],
                             kt_user *user, kt_request *request) {
    const union MHD_ConnectionInfo *info =
        front->tls ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION) : NULL;
    kt_peer peer = info && info->tls_session ? kt_tls_peer(info->tls_session, text, user) : KT_PEER_NONE;
    request->user = peer == KT_PEER_GOOD ? user : NULL;
    request->bad_certificate = peer == KT_PEER_BAD;
    request->authorization = header(connection, "Authorization");
    request->host = header(connection, "Host");
    request->origin = header(connection, "Origin");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, read_impersonation, &request->as);
    request->from_network = true;
    request->is_local = is_loopback(connection);
}

/* Responds to a watch over a WebSocket: 101, or an error response without a body if the handshake is invalid. Takes
 * ownership of `response`. */
static enum MHD_Result respond_web_socket(kt_front *front, struct MHD_Connection *connection, exchange *x,
                                          kt_response *response) {
    int code = kt_web_socket_handshake_error(connection);
    struct MHD_Response *http_response;
    if (code) {
        kt_streams_lock(&front->streams);
        kt_response_free(response);
        kt_streams_unlock(&front->streams);
        http_response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else {
        code = MHD_HTTP_SWITCHING_PROTOCOLS;
        http_response = kt_web_socket_start(&front->web_sockets, connection, response, &x->web_socket);
    }
    return http_response ? queue(connection, code, http_response) : respond_no_memory(connection);
}

static enum MHD_Result respond(kt_front *front, struct MHD_Connection *connection, exchange *x, const char *method) {
    kt_request request = {
        .method = strcmp(method, "HEAD") == 0 ? "GET" : method, /* libmicrohttpd omits the body */
        .target = x->target,
        .accept = header(connection, "Accept"),
        .content_type = header(connection, "Content-Type"),
        .user_agent = header(connection, "User-Agent"),
        .body = { x->body.data, x->body.size },
    };
    kt_response response;
    struct MHD_Response *http_response = NULL;
    kt_stream *stream = NULL;
    char number[16], names[KT_TLS_USER_SIZE];
    kt_user user;

    read_credentials(front, connection, names, &user, &request);
    kt_streams_lock(&front->streams);
    request.waited = x->waiter ? kt_waiter_result(x->waiter) : NULL;
    ki_status status = kt_rest_handle(front->cluster, &request, kt_streams_now_ms(&front->streams), &response);
    if (!status && response.until) {
        x->waiter = kt_waiter_start(&front->streams, connection, &response);
        kt_response_free(&response);
        kt_streams_unlock(&front->streams);
        return x->waiter ? MHD_YES : MHD_NO;
    }
    if (front->is_ending)
        kt_cluster_close_watches(front->cluster);
    const kt_injection injection =
        !status && response.faults ? response.faults->injection : (kt_injection)KT_INJECTION_NONE;
    bool is_cut = injection.cut_at >= 0 || injection.silent_at >= 0;
    bool is_slow = injection.delay_ms || injection.chunk || injection.bytes_a_second;
    bool streamed = !status && (response.watch || is_cut || is_slow); /* the response is sent in pieces */
    bool is_web_socket = !status && response.watch && kt_web_socket_is_wanted(connection);
    if (injection.close) {
        kt_response_free(&response);
        kt_streams_unlock(&front->streams);
        return MHD_NO;
    }
    if (streamed && !is_web_socket) {
        kt_response streaming = response; /* the stream takes what it owns; status and headers are read below */
        http_response = kt_stream_start(&front->streams, connection, &streaming, &stream);
    }
    kt_streams_unlock(&front->streams);
    if (status)
        return respond_no_memory(connection);
    if (is_web_socket)
        return respond_web_socket(front, connection, x, &response);
    if (!streamed) {
        http_response = whole_response(front, connection, &response);
        if (http_response && response.warnings.size)
            add_warnings(http_response, &response);
        kt_response_free(&response);
    }
    if (!http_response)
        return respond_no_memory(connection);

    if (response.content_type)
        MHD_add_response_header(http_response, "Content-Type", response.content_type);
    MHD_add_response_header(http_response, "Cache-Control", "no-cache, private");
    if (response.allow[0])
        MHD_add_response_header(http_response, "Allow", response.allow);
    if (response.retry_after_s >= 0) {
        snprintf(number, sizeof number, "%d", response.retry_after_s);
        MHD_add_response_header(http_response, "Retry-After", number);
    }
    if (injection.close_after)
        MHD_add_response_header(http_response, "Connection", "close");
    if (injection.delay_ms && stream)
        return kt_stream_queue_late(stream, response.status, http_response, injection.delay_ms);
    return queue(connection, response.status, http_response);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state) {
    kt_front *front = user;
    exchange *x = *state;
    (void)url, (void)version;

    if (!x || !x->target)
        return MHD_NO; /* no memory for the request */
    if (!x->begun) {
        const char *length = header(connection, "Content-Length");
        uint64_t size = 0;
        x->begun = true;
        bool waits = header(connection, "Expect"); /* for "100 Continue" */
        bool is_small = !length || ki_str_to_uint64(ki_str_of(length), KT_BODY_MAX, &size);
        return waits && !is_small ? respond_too_large(connection) : MHD_YES;
    }
    if (*upload_size) { /* read a body that is too large to its end, so that the client reads the response */
        if (!x->too_large && ki_buffer_append(&x->body, upload, *upload_size)) {
            x->too_large = x->body.failed == KI_ERR_LIMIT;
            if (!x->too_large)
                return MHD_NO;
            ki_buffer_reset(&x->body, 0);
        }
        if (x->too_large)
            x->dropped += *upload_size;
        if (x->dropped > BODY_READ_MAX)
            return MHD_NO;
        *upload_size = 0;
        return MHD_YES;
    }
    if (x->too_large)
        return respond_too_large(connection);
    return respond(front, connection, x, method);
}

/* Starts the daemon. Its thread blocks all signals, like all threads of the project: only the host's threads run the
 * host's signal handlers. */
static struct MHD_Daemon *start_daemon(kt_front *front, int listener) {
    static char priorities[] = "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1";
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_ITC;
    const kt_tls *tls = front->tls;
    struct MHD_OptionItem secure[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, tls ? tls->pem : NULL },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, tls ? tls->key_pem : NULL },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, priorities },
        { tls && tls->client_ca_pem ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0, tls ? tls->client_ca_pem : NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    const struct MHD_OptionItem nothing[] = { { MHD_OPTION_END, 0, NULL } };
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        tls ? flags | MHD_USE_TLS : flags, 0, NULL, NULL, on_request, front, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTION_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)KT_STREAM_BLOCK,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, front, MHD_OPTION_NOTIFY_COMPLETED, on_completed, front,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, front, MHD_OPTION_ARRAY, tls ? secure : nothing, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static ki_status serve(kt_front *front, ki_error *err) {
    int listener = fcntl(front->listener, F_DUPFD_CLOEXEC, 0);
    if (listener < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot serve on %s", front->url);
    errno = 0;
    front->daemon = start_daemon(front, listener);
    if (front->daemon)
        return KI_OK;
    int failed = errno;
    close(listener); /* a running daemon closes it itself */
    if (failed == EMFILE || failed == ENFILE || failed == ENOMEM ||
        failed == EAGAIN) /* another value may not be the cause */
        return ki_error_set_errno(err, KI_ERR_SYSTEM, failed, "cannot start the HTTP server on %s", front->url);
    return ki_error_set(err, KI_ERR_SYSTEM, "cannot start the HTTP server on %s", front->url);
}

static ki_status init_sockets(open_sockets *sockets, ki_error *err) {
    ki_status status = ki_mutex_init(&sockets->mutex, err);
    if (status)
        return status;
    status = ki_cond_init(&sockets->ended, err);
    if (status)
        ki_mutex_destroy(&sockets->mutex);
    sockets->is_initialized = !status;
    return status;
}

/* Shuts down all sockets, also those that are added later. Waits until the present ones are removed, for PATIENCE_NS
 * at most. */
static void end_sockets(open_sockets *sockets) {
    const int64_t deadline_ns = ki_monotonic_now() + PATIENCE_NS;
    ki_mutex_lock(&sockets->mutex);
    sockets->is_ending = true;
    for (open_socket *socket = sockets->first; socket; socket = socket->next) {
        (void)shutdown(socket->fd, SHUT_RDWR);
        sockets->awaited += !socket->is_awaited;
        socket->is_awaited = true;
    }
    while (sockets->awaited && ki_cond_wait_until(&sockets->ended, &sockets->mutex, deadline_ns)) {}
    ki_mutex_unlock(&sockets->mutex);
}

static ki_status open_listener(kt_front *front, const char *where, char url[KI_URL_MAX], ki_error *err) {
    return ki_http_listen(where ? where : "127.0.0.1:0", "0", front->tls ? "https" : "http", &front->listener, url,
                          err);
}

ki_status kt_front_new(const ki_allocator *allocator, kt_cluster *cluster, const char *listen_on, const kt_tls *tls,
                       kt_front **ret_front, ki_error *err) {
    kt_front *front = ki_alloc_zero(allocator, sizeof *front);
    if (!front)
        return ki_error_no_memory(err, "starting the server");
    front->allocator = *allocator;
    front->cluster = cluster;
    front->tls = tls;
    front->listener = -1;

    ki_status status = open_listener(front, listen_on, front->url, err);
    if (!status)
        status = kt_streams_init(&front->streams, &front->allocator, err);
    if (!status)
        status = kt_web_sockets_init(&front->web_sockets, &front->streams, err);
    if (!status)
        status = init_sockets(&front->sockets, err);
    if (front->streams.allocator)
        kt_cluster_set_lock(cluster, &front->streams.mutex);
    if (!status)
        status = serve(front, err);
    if (status) {
        kt_front_free(front);
        return status;
    }
    *ret_front = front;
    return KI_OK;
}

static void stop_daemon(kt_front *front) {
    if (front->daemon) {
        end_sockets(&front->sockets);
        MHD_stop_daemon(front->daemon);
        ki_mutex_lock(&front->sockets.mutex);
        front->sockets.is_ending = false;
        ki_mutex_unlock(&front->sockets.mutex);
    }
    front->daemon = NULL;
}

ki_status kt_front_restart(kt_front *front, int64_t down_ms, ki_error *err) {
    ki_status status = KI_OK;
    char same[KI_URL_MAX]; /* the URL stays unchanged, because any thread can read it */
    if (down_ms && front->listener >= 0) {
        /* Also closes the daemon's duplicate, so that no cut client can reconnect. */
        (void)shutdown(front->listener, SHUT_RDWR);
        close(front->listener);
        front->listener = -1;
    }
    kt_streams_cut(&front->streams, true);
    kt_web_sockets_cut(&front->web_sockets, true);
    stop_daemon(front);
    if (down_ms)
        kt_streams_sleep(&front->streams, down_ms);
    kt_streams_cut(&front->streams, false);
    kt_web_sockets_cut(&front->web_sockets, false);
    if (front->listener < 0)
        status = open_listener(front, strstr(front->url, "://") + 3, same, err);
    return status ? status : serve(front, err);
}

void kt_front_cut_watches(kt_front *front) {
    KI_HELD(&front->streams.mutex);
    kt_cluster_cut_watches(front->cluster);
    kt_streams_resume_cut(&front->streams);
}

void kt_front_free(kt_front *front) {
    if (!front)
        return;
    if (front->daemon) {
        kt_streams_lock(&front->streams);
        front->is_ending = true;
        kt_cluster_close_watches(front->cluster);
        kt_waiters_end_all(&front->streams);
        kt_streams_unlock(&front->streams);
        kt_streams_drain(&front->streams);
        kt_web_sockets_drain(&front->web_sockets);
        kt_web_sockets_cut(&front->web_sockets, true);
        kt_streams_stop(&front->streams);
        stop_daemon(front);
    } else if (front->streams.allocator) {
        kt_streams_stop(&front->streams);
    }
    if (front->listener >= 0)
        close(front->listener);
    if (front->sockets.is_initialized) {
        ki_cond_destroy(&front->sockets.ended);
        ki_mutex_destroy(&front->sockets.mutex);
    }
    kt_web_sockets_free(&front->web_sockets);
    kt_cluster_set_lock(front->cluster, NULL);
    kt_streams_free(&front->streams);
    const ki_allocator allocator = front->allocator;
    ki_free(&allocator, front);
}

const char *kt_front_url(const kt_front *front) {
    return front->url;
}

kt_streams *kt_front_streams(kt_front *front) {
    return &front->streams;
}
