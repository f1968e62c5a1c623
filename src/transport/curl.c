/* curl.c: exchanges as libcurl transfers, driven by the engine. Loop only.
 *
 * libcurl may not be told to add or remove a transfer from inside one of its callbacks, and our callbacks run inside them. So
 * send queues and cancel marks; `service`, which runs in a task and after each call into libcurl, adds, removes and ends.
 *
 * A pool is one libcurl multi handle with its connections. When an exchange ends in silence its connection may be dead without
 * anybody knowing, and HTTP/2 would put the next request on the same one: then the pool is retired. New exchanges get a new pool;
 * those of the old one go on, and with the last of them it goes. */
#include "src/transport/curl.h"

#include "src/transport/curl_internal.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>

typedef struct curl_transport curl_transport;

typedef struct curl_socket {
    ki_io io;
    struct curl_pool *pool;
    struct curl_socket *next, *previous;
} curl_socket;

typedef struct curl_pool {
    curl_transport *transport;
    CURLM *multi;
    ki_timer timer; /* libcurl's own */
    curl_socket *sockets;
    size_t exchanges;
    bool retired;
    ki_status failed; /* a socket could not be watched: its exchanges would hang */
    struct curl_pool *next;
} curl_pool;

typedef enum exchange_state {
    EXCHANGE_QUEUED,
    EXCHANGE_ACTIVE,
    EXCHANGE_CANCELLED,
    EXCHANGE_ENDING
} exchange_state;

struct ki_exchange {
    curl_transport *transport;
    curl_pool *pool; /* NULL while queued */
    struct ki_exchange *next, *previous;
    CURL *easy;
    struct curl_slist *headers;
    ki_response_sink sink;
    exchange_state state;
    bool head_given;
    bool suspected; /* the idle deadline has passed once; a second look decides */
    int64_t idle_timeout_ns, last_byte;
    ki_timer idle, total;
    int no_socket; /* errno of the last try to make one; 0: there is one, or none was needed */
    bool is_safe;  /* may go twice: it changes nothing */
    unsigned attempts;
    size_t head_bytes;    /* of all header lines: 1xx, head, trailers */
    int64_t retry_after;  /* seconds that a Retry-After header says, or -1 */
    ki_error own_failure; /* why a callback of ours ended the transfer; code 0: it did not */
    char detail[CURL_ERROR_SIZE];
};

struct curl_transport {
    ki_transport base; /* must be first */
    ki_engine *engine;
    const ki_allocator *allocator;
    ki_curl_identity identity;
    curl_pool *pools;                       /* the first one takes new exchanges, unless it is retired */
    ki_exchange *exchanges, *last_exchange; /* in the order of sending */
    size_t queued, cancelled;               /* of the exchanges: how many wait for service */
    ki_task service;
    bool in_curl;
};

static void service(curl_transport *transport);

/* --- pools ------------------------------------------------------------------------------------------------------------------ */

static void run_curl(curl_pool *pool, curl_socket_t fd, int events) {
    curl_transport *transport = pool->transport;
    int running = 0;
    transport->in_curl = true;
    CURLMcode failed = curl_multi_socket_action(pool->multi, fd, events, &running);
    transport->in_curl = false;
    if (failed && !pool->failed)
        pool->failed = failed == CURLM_OUT_OF_MEMORY ? KI_ERR_NO_MEMORY : KI_ERR_SYSTEM;
    service(transport);
}

static void pool_timer_fired(ki_timer *timer, void *user) {
    (void)timer;
    run_curl(user, CURL_SOCKET_TIMEOUT, 0);
}

static int set_pool_timer(CURLM *multi, long timeout_ms, void *user) {
    (void)multi;
    curl_pool *pool = user;
    if (timeout_ms < 0)
        ki_timer_cancel(&pool->timer);
    else
        ki_timer_set(&pool->timer, ki_engine_now(pool->transport->engine) + KI_MILLISECONDS(timeout_ms));
    return 0;
}

static void socket_ready(ki_io *io, uint32_t events, void *user) {
    curl_socket *socket = user;
    int bits = 0;
    if (events & (EPOLLIN | EPOLLHUP))
        bits |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        bits |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        bits |= CURL_CSELECT_ERR;
    run_curl(socket->pool, io->fd, bits); /* `socket` may be gone afterwards */
}

static void forget_socket(curl_socket *socket) {
    curl_pool *pool = socket->pool;
    ki_io_remove(&socket->io);
    if (socket->previous)
        socket->previous->next = socket->next;
    else
        pool->sockets = socket->next;
    if (socket->next)
        socket->next->previous = socket->previous;
    ki_free(pool->transport->allocator, socket);
}

static ki_status add_socket(curl_pool *pool, curl_socket_t fd, uint32_t events) {
    curl_socket *socket = ki_alloc_zero(pool->transport->allocator, sizeof *socket);
    if (!socket)
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_io_add(&socket->io, pool->transport->engine, fd, events, socket_ready, socket, NULL);
    if (status) {
        ki_free(pool->transport->allocator, socket);
        return status;
    }
    socket->pool = pool;
    socket->next = pool->sockets;
    if (socket->next)
        socket->next->previous = socket;
    pool->sockets = socket;
    curl_multi_assign(pool->multi, fd, socket);
    return KI_OK;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user) {
    (void)easy;
    curl_pool *pool = user;
    curl_socket *socket = socket_user;
    if (what == CURL_POLL_REMOVE) {
        if (socket)
            forget_socket(socket);
        return 0;
    }
    uint32_t events = 0;
    if (what & CURL_POLL_IN)
        events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        events |= EPOLLOUT;
    ki_status status = socket ? ki_io_modify(&socket->io, events, NULL) : add_socket(pool, fd, events);
    if (status && !pool->failed)
        pool->failed = status; /* told to libcurl it would make the whole handle unusable: service ends the exchanges */
    return 0;
}

static void free_pool(curl_pool *pool) {
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, NULL);
    while (pool->sockets)
        forget_socket(pool->sockets);
    curl_multi_cleanup(pool->multi);
    ki_timer_close(&pool->timer);
    ki_free(pool->transport->allocator, pool);
}

static curl_pool *new_pool(curl_transport *transport) {
    curl_pool *pool = ki_alloc_zero(transport->allocator, sizeof *pool);
    if (!pool)
        return NULL;
    pool->transport = transport;
    pool->multi = curl_multi_init();
    if (!pool->multi || ki_timer_init(&pool->timer, transport->engine, pool_timer_fired, pool)) {
        curl_multi_cleanup(pool->multi);
        ki_free(transport->allocator, pool);
        return NULL;
    }
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_pool_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    pool->next = transport->pools;
    transport->pools = pool;
    return pool;
}

static curl_pool *current_pool(curl_transport *transport) {
    return transport->pools && !transport->pools->retired ? transport->pools : new_pool(transport);
}

static void sweep_pools(curl_transport *transport) {
    for (curl_pool **at = &transport->pools; *at;) {
        curl_pool *pool = *at;
        if (pool->retired && pool->exchanges == 0) {
            *at = pool->next;
            free_pool(pool);
        } else {
            at = &pool->next;
        }
    }
}

/* --- exchanges -------------------------------------------------------------------------------------------------------------- */

/* Out of libcurl and out of the list; never from inside libcurl. */
static void detach(ki_exchange *exchange) {
    curl_transport *transport = exchange->transport;
    if (exchange->pool) {
        curl_multi_remove_handle(exchange->pool->multi, exchange->easy);
        exchange->pool->exchanges--;
    }
    transport->queued -= exchange->state == EXCHANGE_QUEUED;
    transport->cancelled -= exchange->state == EXCHANGE_CANCELLED;
    exchange->state = EXCHANGE_ENDING;
    ki_timer_close(&exchange->idle);
    ki_timer_close(&exchange->total);
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        transport->exchanges = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    else
        transport->last_exchange = exchange->previous;
}

static void destroy(ki_exchange *exchange) {
    curl_easy_cleanup(exchange->easy);
    ki_curl_free_headers(exchange->headers);
    ki_free(exchange->transport->allocator, exchange);
}

/* The pool, if any, may be swept afterwards: callers that go on with it must look again. */
static void end(ki_exchange *exchange, const ki_error *err) {
    detach(exchange);
    exchange->sink.on_end(err, exchange->sink.user);
    destroy(exchange);
}

static void touch(ki_exchange *exchange) {
    exchange->last_byte = ki_engine_now(exchange->transport->engine);
    exchange->suspected = false;
}

/* A busy exchange does not move its timer with each byte; the timer looks when it fires. */
static void idle_timer_fired(ki_timer *timer, void *user) {
    ki_exchange *exchange = user;
    curl_transport *transport = exchange->transport;
    int64_t now = ki_engine_now(transport->engine);
    int64_t deadline = exchange->last_byte + exchange->idle_timeout_ns;
    if (now < deadline) {
        ki_timer_set(timer, deadline);
        return;
    }
    if (!exchange
             ->suspected) { /* the silence may be ours: a host that did not step, with bytes waiting in the socket */
        exchange->suspected = true;
        ki_timer_set(timer, now + KI_MILLISECONDS(1));
        return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "%s %s: no byte for %lld ms", transport->identity.server.data,
                 exchange->head_given ? "went silent" : "does not answer",
                 (long long)(exchange->idle_timeout_ns / KI_MILLISECONDS(1)));
    if (exchange->pool)
        exchange->pool->retired = true;
    end(exchange, &err);
    service(transport);
}

static void total_timer_fired(ki_timer *timer, void *user) {
    (void)timer;
    ki_exchange *exchange = user;
    curl_transport *transport = exchange->transport;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "%s: no whole answer in time", transport->identity.server.data);
    end(exchange, &err);
    service(transport);
}

static void give_head(ki_exchange *exchange) {
    long status = 0;
    const char *content_type = NULL;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return;
    curl_off_t until = 0; /* libcurl knows dates; 0 may be none, garbage, or now */
    curl_easy_getinfo(exchange->easy, CURLINFO_RETRY_AFTER, &until);
    curl_easy_getinfo(exchange->easy, CURLINFO_CONTENT_TYPE, &content_type);
    int64_t retry_after = exchange->retry_after < 0 && until > 0 ? until : exchange->retry_after;
    const int64_t longest = INT64_MAX / 1000;
    const ki_response_head head = {
        .status = (int)status,
        .retry_after_ms = retry_after < 0 ? -1 : (retry_after < longest ? retry_after : longest) * 1000,
        .content_type = content_type ? content_type : "",
    };
    exchange->head_given = true;
    exchange->sink.on_head(&head, exchange->sink.user);
}

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    ki_exchange *exchange = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    exchange->no_socket = fd < 0 ? errno : 0;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Before each time that the request goes out. libcurl sends again, on a new connection, what got no answer on one that was used before; the
 * server may have done it all the same, so only what changes nothing may go twice. */
static int before_request(void *user, char *there, char *here, int port_there, int port_here) {
    (void)there, (void)here, (void)port_there, (void)port_here;
    ki_exchange *exchange = user;
    if (exchange->attempts++ == 0 || exchange->is_safe)
        return CURL_PREREQFUNC_OK;
    ki_error_set(&exchange->own_failure, KI_ERR_CUT,
                 "%s cut the connection before it answered: the request may have been carried out or not, "
                 "and is not sent twice",
                 exchange->transport->identity.server.data);
    return CURL_PREREQFUNC_ABORT;
}

/* Seconds; a date is left to libcurl. */
static void note_retry_after(ki_exchange *exchange, ki_str line) {
    static const char name[] = "retry-after:";
    if (line.size < sizeof name - 1 || strncasecmp(line.data, name, sizeof name - 1) != 0)
        return;
    ki_str value = { line.data + sizeof name - 1, line.size - (sizeof name - 1) };
    for (; value.size && strchr(" \t", *value.data); value.size--)
        value.data++;
    while (value.size && strchr(" \t\r\n", value.data[value.size - 1]))
        value.size--;
    uint64_t seconds;
    if (ki_str_to_uint64(value, INT64_MAX, &seconds))
        exchange->retry_after = (int64_t)seconds;
}

/* libcurl hands over each header line; an empty one ends the head (or a 1xx answer, or the trailers). */
static size_t on_header_line(char *line, size_t one, size_t size, void *user) {
    (void)one;
    ki_exchange *exchange = user;
    if (exchange->state != EXCHANGE_ACTIVE)
        return 0;
    touch(exchange);
    exchange->head_bytes += size;
    if (exchange->head_bytes > KI_CURL_HEAD_LIMIT) {
        ki_error_set(&exchange->own_failure, KI_ERR_PROTOCOL, "%s sent more than %d bytes of headers",
                     exchange->transport->identity.server.data, KI_CURL_HEAD_LIMIT);
        return 0;
    }
    if (!exchange->head_given)
        note_retry_after(exchange, (ki_str){ line, size });
    bool is_empty = size == 0 || line[0] == '\r' || line[0] == '\n';
    if (is_empty && !exchange->head_given)
        give_head(exchange);
    return exchange->state == EXCHANGE_ACTIVE ? size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *user) {
    (void)one;
    ki_exchange *exchange = user;
    if (exchange->state != EXCHANGE_ACTIVE)
        return 0; /* ends the transfer, whose end nobody is told of */
    touch(exchange);
    ki_engine_work(exchange->transport->engine, 1);
    exchange->sink.on_data(data, size, exchange->sink.user);
    return exchange->state == EXCHANGE_ACTIVE ? size : 0;
}

/* --- service ---------------------------------------------------------------------------------------------------------------- */

static ki_exchange *find(curl_transport *transport, exchange_state state) {
    ki_exchange *exchange = transport->exchanges;
    while (exchange && exchange->state != state)
        exchange = exchange->next;
    return exchange;
}

static void begin(ki_exchange *exchange) {
    curl_transport *transport = exchange->transport;
    curl_pool *pool = current_pool(transport);
    if (pool && curl_multi_add_handle(pool->multi, exchange->easy) == CURLM_OK) {
        exchange->pool = pool;
        exchange->state = EXCHANGE_ACTIVE;
        pool->exchanges++;
        transport->queued--;
        return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_no_memory(&err, "sending a request");
    end(exchange, &err);
}

/* Ends all exchanges of a pool that can no longer be relied on. */
static void give_up(curl_pool *pool) {
    curl_transport *transport = pool->transport;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, pool->failed, "the connection to %s cannot be watched", transport->identity.server.data);
    pool->retired = true;
    for (ki_exchange *exchange = transport->exchanges; exchange;) {
        if (exchange->pool != pool || exchange->state != EXCHANGE_ACTIVE) {
            exchange = exchange->next;
            continue;
        }
        end(exchange, &err);
        exchange = transport->exchanges; /* the callback may have changed the list: from the start */
    }
}

/* One transfer that libcurl has finished; false where there is none. */
static bool end_one_finished(curl_pool *pool) {
    int left = 0;
    CURLMsg *message;
    const char *server = pool->transport->identity.server.data;
    while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        ki_exchange *exchange = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        ki_error err = KI_ERROR_INIT;
        if (code && exchange->own_failure.code)
            err = exchange->own_failure;
        else if (code == CURLE_COULDNT_CONNECT && exchange->no_socket)
            ki_curl_no_socket(exchange->no_socket, server, &err);
        else if (code)
            ki_curl_error(exchange->easy, code, exchange->detail, server, &err);
        else if (!exchange->head_given) /* libcurl is content with half a head */
            ki_error_set(&err, KI_ERR_CUT, "%s cut the connection before the answer's head was whole", server);
        end(exchange, err.code ? &err : NULL);
        return true;
    }
    return false;
}

/* Does what could not be done from inside libcurl. Callbacks may change everything, so each step starts anew. */
static void service(curl_transport *transport) {
    for (;;) {
        while (transport->cancelled > 0) {
            ki_exchange *exchange = find(transport, EXCHANGE_CANCELLED);
            detach(exchange);
            destroy(exchange);
        }
        while (transport->queued > 0)
            begin(find(transport, EXCHANGE_QUEUED));
        curl_pool *pool = transport->pools;
        for (; pool; pool = pool->next) {
            if (pool->failed && (pool->exchanges > 0 || !pool->retired)) {
                give_up(pool);
                break;
            }
            if (end_one_finished(pool))
                break;
        }
        if (!pool)
            break;
    }
    sweep_pools(transport);
}

static void service_task(ki_task *task, void *user) {
    (void)task;
    service(user);
}

/* --- the transport ---------------------------------------------------------------------------------------------------------- */

static ki_status open_exchange(ki_exchange *exchange, const ki_request *request, ki_error *err) {
    curl_transport *transport = exchange->transport;
    exchange->easy = curl_easy_init();
    if (!exchange->easy || ki_timer_init(&exchange->idle, transport->engine, idle_timer_fired, exchange) ||
        ki_timer_init(&exchange->total, transport->engine, total_timer_fired, exchange))
        return ki_error_no_memory(err, "sending a request");
    ki_status status = ki_curl_setup(exchange->easy, &transport->identity, request, &exchange->headers, err);
    if (status)
        return status;
    curl_easy_setopt(exchange->easy, CURLOPT_PRIVATE, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_ERRORBUFFER, exchange->detail);
    curl_easy_setopt(exchange->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(exchange->easy, CURLOPT_OPENSOCKETDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(exchange->easy, CURLOPT_PREREQDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_HEADERFUNCTION, on_header_line);
    curl_easy_setopt(exchange->easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(exchange->easy, CURLOPT_WRITEDATA, exchange);
    return KI_OK;
}

static ki_status curl_send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                           ki_exchange **ret_exchange, ki_error *err) {
    curl_transport *transport = (curl_transport *)(void *)base;
    ki_exchange *exchange = ki_alloc_zero(transport->allocator, sizeof *exchange);
    if (!exchange)
        return ki_error_no_memory(err, "sending a request");
    exchange->transport = transport;
    exchange->sink = *sink;
    exchange->retry_after = -1;
    exchange->is_safe = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    ki_status status = open_exchange(exchange, request, err);
    if (status) {
        ki_timer_close(&exchange->idle);
        ki_timer_close(&exchange->total);
        destroy(exchange);
        return status;
    }
    exchange->previous = transport->last_exchange;
    if (exchange->previous)
        exchange->previous->next = exchange;
    else
        transport->exchanges = exchange;
    transport->last_exchange = exchange;
    transport->queued++;
    touch(exchange);
    exchange->idle_timeout_ns = request->idle_timeout_ns;
    if (request->idle_timeout_ns > 0)
        ki_timer_set(&exchange->idle, exchange->last_byte + request->idle_timeout_ns);
    if (request->total_timeout_ns > 0)
        ki_timer_set(&exchange->total, exchange->last_byte + request->total_timeout_ns);
    ki_task_post(&transport->service);
    *ret_exchange = exchange;
    return KI_OK;
}

static void curl_cancel(ki_exchange *exchange) {
    curl_transport *transport = exchange->transport;
    if (exchange->state == EXCHANGE_ENDING || exchange->state == EXCHANGE_CANCELLED)
        return;
    if (transport->in_curl) {
        transport->queued -= exchange->state == EXCHANGE_QUEUED;
        exchange->state = EXCHANGE_CANCELLED;
        transport->cancelled++;
        ki_timer_close(&exchange->idle);
        ki_timer_close(&exchange->total);
        return; /* service follows libcurl's return */
    }
    detach(exchange);
    destroy(exchange);
    ki_task_post(&transport->service); /* its pool may have to go */
}

static void curl_transport_free(ki_transport *base) {
    curl_transport *transport = (curl_transport *)(void *)base;
    while (transport->exchanges) {
        ki_exchange *exchange = transport->exchanges;
        detach(exchange);
        destroy(exchange);
    }
    while (transport->pools) {
        curl_pool *pool = transport->pools;
        transport->pools = pool->next;
        free_pool(pool);
    }
    ki_task_cancel(&transport->service);
    ki_curl_identity_clear(&transport->identity);
    ki_free(transport->allocator, transport);
}

static const ki_transport_ops curl_ops = { curl_send, curl_cancel, curl_transport_free };

/* libcurl's one unavoidable global; it stays until the process ends, since other users of libcurl may have joined. */
static CURLcode global_result;
static void init_libcurl(void) {
    global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

ki_status ki_curl_transport_new(ki_engine *engine, const ki_config *config, ki_transport **ret_transport,
                                ki_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_libcurl);
    if (global_result)
        return ki_error_set(err, KI_ERR_SYSTEM, "libcurl does not start: %s", curl_easy_strerror(global_result));
    const ki_allocator *allocator = ki_engine_allocator(engine);
    curl_transport *transport = ki_alloc_zero(allocator, sizeof *transport);
    if (!transport)
        return ki_error_no_memory(err, "making a transport");
    transport->base.ops = &curl_ops;
    transport->engine = engine;
    transport->allocator = allocator;
    ki_task_init(&transport->service, engine, service_task, transport);
    ki_status status = ki_curl_identity_init(&transport->identity, allocator, config, err);
    if (status) {
        ki_free(allocator, transport);
        return status;
    }
    *ret_transport = &transport->base;
    return KI_OK;
}
