/* curl.c: exchanges as libcurl transfers, driven by the engine. Loop only.
 *
 * libcurl forbids adding or removing a transfer inside its callbacks, and our callbacks run inside them. So send queues
 * and cancel marks. ki_curl_service, which runs in a task and after each call into libcurl, adds, removes and ends
 * transfers.
 *
 * A pool is retired when an exchange ends by its idle timeout (its connection may be dead) and when the certificates
 * change. New exchanges then get a new pool. The exchanges of the retired pool continue, and the pool is freed with its
 * last exchange. */
#include "src/transport/curl.h"

#include "src/transport/curl_internal.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/log.h"
#include "src/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

ki_curl_transport *ki_curl_transport_of(ki_curl_pools *pools) {
    return (ki_curl_transport *)(void *)((char *)pools - offsetof(ki_curl_transport, pools));
}

enum {
    HTTP_UNAUTHORIZED = 401,
    ATTEMPTS_MAX = 2, /* how often a safe request is sent if no response comes */
    REASON_MAX = 160
};

/* --- exchanges ---------------------------------------------------------------------------------------------------- */

/* Which list has the exchanges of a state? */
static ki_exchange *const *list_of(const ki_curl_transport *transport, ki_exchange_state state) {
    switch (state) {
    case KI_EXCHANGE_QUEUED:
        return &transport->queued;
    case KI_EXCHANGE_WAITING:
        return &transport->waiting;
    case KI_EXCHANGE_ACTIVE:
        return &transport->active;
    case KI_EXCHANGE_CANCELLED:
        return &transport->cancelled;
    case KI_EXCHANGE_ENDING:
        break;
    }
    return NULL;
}

static bool can_follow(ki_exchange_state before, ki_exchange_state state) {
    switch (state) {
    case KI_EXCHANGE_QUEUED:
        return before == KI_EXCHANGE_QUEUED || before == KI_EXCHANGE_WAITING;
    case KI_EXCHANGE_WAITING:
        return before == KI_EXCHANGE_QUEUED;
    case KI_EXCHANGE_ACTIVE:
        return before == KI_EXCHANGE_QUEUED || before == KI_EXCHANGE_ACTIVE; /* a ping is not queued */
    case KI_EXCHANGE_CANCELLED:
    case KI_EXCHANGE_ENDING:
        return before != KI_EXCHANGE_ENDING;
    }
    return false;
}

static void leave_list(ki_exchange *exchange) {
    KI_LIST_REMOVE(*exchange->list, exchange);
    exchange->list = NULL;
}

/* Sets the state, and moves the exchange to the end of the list of that state. */
static void enter_state(ki_exchange *exchange, ki_exchange_state state, ki_exchange **list) {
    KI_ON_LOOP(exchange->transport->engine);
    KI_ASSERT(list == list_of(exchange->transport, state));
    KI_ASSERT(!exchange->list || can_follow(exchange->state, state));
    if (exchange->list)
        leave_list(exchange);
    exchange->state = state;
    exchange->list = list;
    KI_LIST_APPEND(*list, exchange);
}

static void queue(ki_exchange *exchange) {
    enter_state(exchange, KI_EXCHANGE_QUEUED, &exchange->transport->queued);
}

/* Removes an exchange from libcurl and from the list. Never called inside libcurl. */
static void detach(ki_exchange *exchange) {
    ki_curl_transport *transport = exchange->transport;
    KI_ON_LOOP(transport->engine);
    KI_ASSERT(!transport->pools.in_curl);
    KI_ASSERT(can_follow(exchange->state, KI_EXCHANGE_ENDING));
    KI_ASSERT(transport->unreported >= exchange->report.is_due);
    if (exchange->pool) {
        KI_ASSERT(exchange->pool->exchanges > 0 && exchange->pool->watches >= exchange->is_watch &&
                  exchange->pool->stalled >= exchange->is_stalled);
        if (exchange->opened && exchange->attempts == 0)
            exchange->pool->wake = true; /* other exchanges may have waited for its connection */
        curl_multi_remove_handle(exchange->pool->multi, exchange->easy);
        exchange->pool->exchanges--;
        exchange->pool->watches -= exchange->is_watch;
        exchange->pool->stalled -= exchange->is_stalled;
    }
    transport->unreported -= exchange->report.is_due;
    ki_metered_end(&exchange->metered);
    exchange->state = KI_EXCHANGE_ENDING;
    ki_timer_close(&exchange->idle);
    ki_timer_close(&exchange->total);
    leave_list(exchange);
}

static void destroy(ki_exchange *exchange) {
    KI_ASSERT(!exchange->list);
    curl_easy_cleanup(exchange->easy);
    ki_curl_free_headers(exchange->headers);
    ki_credential_set_unref(exchange->set);
    ki_error_keep(exchange->transport->allocator, &exchange->own_failure, NULL);
    ki_free(exchange->transport->allocator, exchange);
}

/* Ends an exchange. Its pool may be freed afterwards. */
void ki_curl_end(ki_exchange *exchange, const ki_error *err) {
    detach(exchange);
    if (exchange->is_read && exchange->report.has_mark)
        exchange->sink.on_read(exchange->report.mark.at, exchange->sink.user);
    if (!exchange->is_cancelled)
        exchange->sink.on_end(err, exchange->sink.user);
    destroy(exchange);
}

static void touch(ki_exchange *exchange) {
    exchange->last_byte = ki_engine_now(exchange->transport->engine);
    exchange->last_received = exchange->last_byte;
    exchange->suspected = false;
    if (exchange->pool)
        exchange->pool->last_byte = exchange->last_byte;
}

/* Ends an exchange after its idle timeout. The timer is not moved with each byte: it checks the last byte when it
 * fires. */
static void idle_timer_fired(ki_timer *timer, void *user) {
    ki_exchange *exchange = user;
    ki_curl_transport *transport = exchange->transport;
    int64_t now = ki_engine_now(transport->engine);
    if (exchange->state == KI_EXCHANGE_WAITING || exchange->is_paused)
        exchange->last_byte = now; /* the server is not the cause */
    int64_t deadline = exchange->last_byte + exchange->idle_timeout_ns;
    if (now < deadline) {
        ki_timer_set(timer, deadline);
        return;
    }
    if (!exchange->suspected) { /* bytes may wait in the socket if the host has not run the engine, or if it rests */
        exchange->suspected = true;
        if (exchange->pool)
            ki_curl_pool_end_rest(exchange->pool);
        ki_timer_set(timer, now + KI_MILLISECONDS(1));
        return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "%s %s: no byte for %lld ms", transport->identity.server,
                 exchange->head_delivered ? "stopped sending" : "does not respond",
                 (long long)(exchange->idle_timeout_ns / KI_MILLISECONDS(1)));
    if (exchange->pool && !exchange->pool->is_http2) /* pings check HTTP/2 connections */
        exchange->pool->retired = true;
    ki_curl_end(exchange, &err);
    ki_curl_service(&transport->pools);
}

/* Returns true if the exchange waits for credentials; only an exec plugin makes requests wait. */
static bool curl_waits_for(const ki_exchange *exchange, char *text, size_t size) {
    if (exchange->state != KI_EXCHANGE_WAITING)
        return false;
    snprintf(text, size, "exec plugin %.100s has not ended yet",
             exchange->transport->identity.config->exec.command.data);
    return true;
}

static void total_timer_fired(ki_timer *timer, void *user) {
    ki_exchange *exchange = user;
    ki_curl_transport *transport = exchange->transport;
    if (exchange->is_ping && !exchange->suspected) { /* as in idle_timer_fired: the response may wait in the socket */
        exchange->suspected = true;
        ki_timer_set(timer, ki_engine_now(transport->engine) + KI_MILLISECONDS(1));
        return;
    }
    ki_error err = KI_ERROR_INIT;
    char reason[REASON_MAX];
    if (curl_waits_for(exchange, reason, sizeof reason))
        ki_error_set(&err, KI_ERR_TIMEOUT, "%s: timed out before the request was sent: %s", transport->identity.server,
                     reason);
    else
        ki_error_set(&err, KI_ERR_TIMEOUT, "%s: timed out waiting for a complete response", transport->identity.server);
    ki_curl_end(exchange, &err);
    ki_curl_service(&transport->pools);
}

static void note_version(ki_exchange *exchange) {
    long version = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_HTTP_VERSION, &version);
    if (version == CURL_HTTP_VERSION_1_1 && !exchange->pool->is_http1)
        exchange->pool->is_http1 = exchange->pool->wake = true;
    if (version == CURL_HTTP_VERSION_2_0 && !exchange->pool->is_http2) {
        exchange->pool->is_http2 = true;
        ki_curl_silence_begin(exchange->pool);
    }
}

static void deliver_head(ki_exchange *exchange) {
    long status = 0;
    const char *content_type = NULL;
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200)
        return;
    curl_off_t until = 0; /* libcurl parses dates; 0 means none, garbage or now */
    curl_easy_getinfo(exchange->easy, CURLINFO_RETRY_AFTER, &until);
    curl_easy_getinfo(exchange->easy, CURLINFO_CONTENT_TYPE, &content_type);
    int64_t retry_after = exchange->retry_after < 0 && until > 0 ? until : exchange->retry_after;
    const int64_t longest = INT64_MAX / 1000;
    const ki_response_head head = {
        .status = (int)status,
        .retry_after_ms = retry_after < 0 ? -1 : (retry_after < longest ? retry_after : longest) * 1000,
        .content_type = content_type ? content_type : "",
    };
    KI_ASSERT(!exchange->head_delivered && exchange->pool->watches < exchange->pool->exchanges);
    exchange->head_delivered = true;
    exchange->is_watch = exchange->is_endless;
    exchange->pool->watches += exchange->is_watch;
    note_version(exchange);
    ki_metered_head(&exchange->metered, (int)status);
    if (status == HTTP_UNAUTHORIZED && !exchange->is_ping)
        ki_credentials_rejected(exchange->transport->credentials, exchange->set);
    exchange->sink.on_head(&head, exchange->sink.user);
}

/* Opens a socket if there is also a descriptor for epoll's copy of it (ki_io_add): a lack of one fails this exchange
 * alone, and not all of its pool. */
static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    ki_exchange *exchange = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    exchange->no_socket = copy < 0 ? errno : 0;
    exchange->opened = true;
    if (copy >= 0)
        close(copy);
    else if (fd >= 0)
        close(fd);
    return copy < 0 ? CURL_SOCKET_BAD : fd;
}

void ki_curl_note_socket(CURL *easy, int change) {
    ki_exchange *exchange = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
    if (!exchange || exchange->attempts > 0) /* one of libcurl's own; or it is connected */
        return;
    exchange->sockets += change;
    bool is_stalled = exchange->opened && exchange->sockets == 0;
    KI_ASSERT(exchange->sockets >= 0);
    exchange->pool->stalled += (size_t)is_stalled - (size_t)exchange->is_stalled;
    exchange->is_stalled = is_stalled;
}

/* Receives what libcurl logs, the only place where it says that it repeats a request since the server refused the
 * stream. A libcurl that says so in other words has an error without that: the write is not sent again. */
static int on_log(CURL *easy, curl_infotype type, char *text, size_t size, void *user) {
    (void)easy;
    ki_exchange *exchange = user;
    if (type == CURLINFO_TEXT && ki_str_starts_with((ki_str){ text, size }, KI_STR("REFUSED_STREAM")))
        exchange->is_refused = true;
    return 0;
}

/* Called before each time that libcurl sends the request. libcurl sends it again on a new connection if a reused
 * connection broke without a response, and up to five times if an HTTP/2 server refused the stream. The server can have
 * carried the request out, so only safe requests are sent twice. The caller's backoff makes further attempts. */
static int before_request(void *user, char *there, char *here, int port_there, int port_here) {
    (void)there, (void)here, (void)port_there;
    ki_exchange *exchange = user;
    exchange->local_port = port_here;
    if (exchange->opened) /* its connection is established; other exchanges may have waited for it */
        exchange->pool->wake = true;
    if (exchange->attempts++ == 0 || (exchange->is_safe && exchange->attempts <= ATTEMPTS_MAX))
        return CURL_PREREQFUNC_OK;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_UNEXPECTED_EOF,
                 exchange->is_safe ? "%s refused the request, or closed the connection before a response, twice"
                 : exchange->is_refused
                     ? "%s refused the request"
                     : "%s closed the connection before a response: the request may have been carried out, and is "
                       "not sent twice",
                 exchange->transport->identity.server);
    if (exchange->is_refused)
        err.retry_after_ms = 0;
    ki_error_keep(exchange->transport->allocator, &exchange->own_failure, &err);
    return CURL_PREREQFUNC_ABORT;
}

/* Parses a Retry-After header with seconds (RFC 9110 §10.2.3). libcurl parses dates. */
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

/* Receives one header line. An empty line ends the head, a 1xx response or the trailers. */
static size_t on_header_line(char *line, size_t one, size_t size, void *user) {
    (void)one;
    ki_exchange *exchange = user;
    if (exchange->state != KI_EXCHANGE_ACTIVE)
        return 0;
    touch(exchange);
    exchange->head_bytes += size;
    if (exchange->head_bytes > KI_CURL_HEAD_LIMIT) {
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, KI_ERR_PROTOCOL, "%s sent more than %d bytes of headers",
                     exchange->transport->identity.server, KI_CURL_HEAD_LIMIT);
        ki_error_keep(exchange->transport->allocator, &exchange->own_failure, &err);
        return 0;
    }
    if (!exchange->head_delivered)
        note_retry_after(exchange, (ki_str){ line, size });
    bool is_empty = size == 0 || line[0] == '\r' || line[0] == '\n';
    if (is_empty && !exchange->head_delivered)
        deliver_head(exchange);
    return exchange->state == KI_EXCHANGE_ACTIVE ? size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *user) {
    (void)one;
    ki_exchange *exchange = user;
    if (exchange->state != KI_EXCHANGE_ACTIVE)
        return 0; /* ends the transfer; the exchange was cancelled */
    KI_ASSERT(exchange->transport->pools.in_curl && exchange->head_delivered);
    touch(exchange);
    ki_engine_work(exchange->transport->engine, 1);
    exchange->pool->received += size;
    ki_curl_note_delivered(exchange);
    exchange->sink.on_data(data, size, exchange->sink.user);
    return exchange->state == KI_EXCHANGE_ACTIVE ? size : 0;
}

/* --- service ------------------------------------------------------------------------------------------------------ */

/* Ends the active exchanges of a pool; NULL: all watches. */
static void end_all(ki_curl_transport *transport, const ki_curl_pool *pool, const ki_error *err) {
    for (ki_exchange *exchange = transport->active; exchange;) {
        if (pool ? exchange->pool != pool : !exchange->is_endless) {
            exchange = exchange->next;
            continue;
        }
        ki_curl_end(exchange, err);
        exchange = transport->active; /* the callback may have changed the list: start again */
    }
}

/* Retires the connections made with the old certificates. Ends watches, which their callers send again; other exchanges
 * continue on the old connections. */
static void change_certificates(ki_curl_transport *transport) {
    transport->tls_number = ki_credentials_tls_number(transport->credentials);
    transport->has_new_certificates = false;
    ki_curl_pools_retire_all(&transport->pools);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_UNEXPECTED_EOF, "the certificates have changed: connecting to %s again",
                 transport->identity.server);
    end_all(transport, NULL, &err);
}

static bool add_handle(const ki_curl_pool *pool, CURL *easy) {
    if (pool->is_http1) /* HTTP/1.1 has no streams to wait for */
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 0L);
    return curl_multi_add_handle(pool->multi, easy) == CURLM_OK;
}

static ki_status add_to_pool(ki_exchange *exchange, ki_curl_pool *pool, ki_error *err) {
    ki_curl_transport *transport = exchange->transport;
    if (!pool || !add_handle(pool, exchange->easy))
        return ki_error_no_memory(err, "sending a request");
    if (pool->exchanges++ == 0)
        pool->last_byte = ki_engine_now(transport->engine);
    exchange->pool = pool;
    ki_curl_pool_end_rest(pool);
    enter_state(exchange, KI_EXCHANGE_ACTIVE, &transport->active);
    ki_curl_silence_begin(pool);
    return KI_OK;
}

/* The credentials may have been read again. */
static void note_certificates(ki_curl_transport *transport) {
    if (ki_credentials_tls_number(transport->credentials) != transport->tls_number)
        transport->has_new_certificates = true;
}

/* Starts a queued exchange. If the certificates have changed, the exchange stays queued until ki_curl_service has
 * retired the old connections. */
static void begin(ki_exchange *exchange) {
    KI_ASSERT(exchange->state == KI_EXCHANGE_QUEUED && !exchange->pool && !exchange->set);
    ki_curl_transport *transport = exchange->transport;
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    ki_credential_state state = ki_credentials_get(transport->credentials, &exchange->set, &err);
    note_certificates(transport);
    switch (state) {
    case KI_CREDENTIALS_PENDING:
        enter_state(exchange, KI_EXCHANGE_WAITING, &transport->waiting);
        return;
    case KI_CREDENTIALS_FAILED:
        ki_curl_end(exchange, &err);
        return;
    case KI_CREDENTIALS_READY:
        break;
    }
    if (transport->has_new_certificates) {
        ki_credential_set_unref(exchange->set);
        exchange->set = NULL;
        return;
    }
    status = ki_curl_present(exchange->easy, &transport->identity, exchange->set, &exchange->headers, &err);
    if (!status)
        status = add_to_pool(exchange, ki_curl_pools_current(&transport->pools), &err);
    if (status)
        ki_curl_end(exchange, &err);
}

/* Ends all exchanges of a pool whose sockets cannot be watched. */
static void give_up(ki_curl_pool *pool) {
    KI_ASSERT(pool->failed);
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, pool->failed, "cannot watch the socket of the connection to %s", transport->identity.server);
    pool->retired = true;
    end_all(transport, pool, &err);
}

/* Ends one transfer that libcurl has finished. Returns false if there is none. */
static bool end_one_finished(ki_curl_transport *transport, ki_curl_pool *pool) {
    int left = 0;
    CURLMsg *message;
    const char *server = transport->identity.server;
    while ((message = curl_multi_info_read(pool->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        ki_exchange *exchange = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        ki_error err = KI_ERROR_INIT;
        /* the peer closed the connection or the stream; after a reset bytes can be lost */
        exchange->is_read = code == CURLE_OK || code == CURLE_PARTIAL_FILE || code == CURLE_HTTP2_STREAM;
        if (code && exchange->own_failure.code)
            err = ki_error_kept(&exchange->own_failure);
        else if (code == CURLE_COULDNT_CONNECT && exchange->no_socket)
            ki_curl_no_socket(exchange->no_socket, server, &err);
        else if (code)
            ki_curl_error(exchange->easy, code, exchange->detail, transport->identity.config,
                          transport->identity.proxy.data, &err);
        else if (!exchange->head_delivered) /* libcurl accepts an incomplete head */
            ki_error_set(&err, KI_ERR_UNEXPECTED_EOF, "%s closed the connection inside the response's head", server);
        if (err.code == KI_ERR_TLS && err.category == KI_CATEGORY_CREDENTIALS)
            ki_credentials_rejected(transport->credentials, exchange->set);
        else if (err.code == KI_ERR_TLS)
            ki_credentials_doubt_certificates(transport->credentials, exchange->set);
        ki_curl_end(exchange, err.code ? &err : NULL);
        return true;
    }
    return false;
}

/* Adds waiting exchanges to libcurl again. While a connection is being established, other exchanges wait for a stream
 * on it. If the connection does not take them, libcurl 8 wakes them only after a transfer has ended, and a watch does
 * not end. Adding them again makes libcurl choose again. Returns true if an exchange ended for lack of memory. */
static bool wake_parked(ki_curl_pool *pool) {
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    pool->wake = false;
    if (!transport->identity.has_http2) /* only HTTP/2 exchanges wait */
        return false;
    for (ki_exchange *exchange = transport->active; exchange; exchange = exchange->next) {
        if (exchange->pool != pool || exchange->opened || exchange->attempts > 0)
            continue;
        curl_multi_remove_handle(pool->multi, exchange->easy);
        if (add_handle(pool, exchange->easy))
            continue;
        ki_error err = KI_ERROR_INIT;
        ki_error_no_memory(&err, "sending a request");
        pool->wake = true; /* the others still wait */
        ki_curl_end(exchange, &err);
        return true;
    }
    return false;
}

/* Runs transfers whose socket did not connect and that have not ended. libcurl 7.88 tries the server's next address
 * only when it runs the transfer again, and sets no timer for that: it would happen after half of the time for
 * connecting. Nothing else runs a transfer without a socket and a timer. */
static void run_stalled(ki_curl_pool *pool) {
    int running = 0;
    for (ki_exchange *exchange = ki_curl_transport_of(pool->owner)->active; exchange; exchange = exchange->next) {
        KI_ASSERT(exchange->pool != pool || pool->stalled >= exchange->is_stalled);
        pool->stalled -= exchange->pool == pool && exchange->is_stalled;
        exchange->is_stalled = exchange->is_stalled && exchange->pool != pool;
    }
    KI_ASSERT(pool->stalled == 0);
    pool->owner->in_curl = true;
    CURL_IGNORE_DEPRECATION((void)curl_multi_socket_all(pool->multi, &running);)
    pool->owner->in_curl = false;
}

/* Adds, removes and ends transfers. Callbacks may change every list, so each step starts from the beginning. */
void ki_curl_service(ki_curl_pools *pools) {
    ki_curl_transport *transport = ki_curl_transport_of(pools);
    KI_ON_LOOP(transport->engine);
    KI_ASSERT(!pools->in_curl);
    for (;;) {
        while (transport->cancelled) {
            ki_exchange *exchange = transport->cancelled;
            detach(exchange);
            destroy(exchange);
        }
        if (transport->has_new_certificates)
            change_certificates(transport);
        if (transport->queued) {
            begin(transport->queued);
            continue;
        }
        ki_curl_pool *pool = transport->pools.first;
        for (; pool; pool = pool->next) {
            if (pool->failed && (pool->exchanges > 0 || !pool->retired)) {
                give_up(pool);
                break;
            }
            if (end_one_finished(transport, pool) || (pool->wake && wake_parked(pool)))
                break;
            if (pool->stalled > 0) {
                run_stalled(pool);
                break;
            }
        }
        if (!pool && !(transport->unreported && ki_curl_report_one_read(transport)))
            break;
    }
    ki_curl_pools_sweep(&transport->pools);
}

static void credentials_changed(void *user) {
    ki_curl_transport *transport = user;
    while (transport->waiting)
        queue(transport->waiting);
    note_certificates(transport);
    ki_task_post(&transport->service);
}

static void service_task(ki_task *task, void *user) {
    (void)task;
    ki_curl_transport *transport = user;
    ki_curl_service(&transport->pools);
}

static void report_timer_fired(ki_timer *timer, void *user) {
    (void)timer;
    ki_curl_transport *transport = user;
    ki_curl_service(&transport->pools);
}

/* --- the transport ------------------------------------------------------------------------------------------------ */

static ki_status open_exchange(ki_exchange *exchange, const ki_request *request, ki_error *err) {
    ki_curl_transport *transport = exchange->transport;
    exchange->easy = curl_easy_init();
    if (!exchange->easy)
        return ki_error_no_memory(err, "sending a request");
    ki_timer_init(&exchange->idle, transport->engine, idle_timer_fired, exchange);
    ki_timer_init(&exchange->total, transport->engine, total_timer_fired, exchange);
    ki_status status = ki_curl_setup(exchange->easy, &transport->identity, request, &exchange->headers, err);
    if (status)
        return status;
    curl_easy_setopt(exchange->easy, CURLOPT_PRIVATE, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_ERRORBUFFER, exchange->detail);
    curl_easy_setopt(exchange->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(exchange->easy, CURLOPT_OPENSOCKETDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_VERBOSE, exchange->is_safe ? 0L : 1L);
    curl_easy_setopt(exchange->easy, CURLOPT_DEBUGFUNCTION, on_log);
    curl_easy_setopt(exchange->easy, CURLOPT_DEBUGDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(exchange->easy, CURLOPT_PREREQDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_HEADERFUNCTION, on_header_line);
    curl_easy_setopt(exchange->easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(exchange->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(exchange->easy, CURLOPT_WRITEDATA, exchange);
    return KI_OK;
}

/* Creates an exchange, without a state. */
static ki_status new_exchange(ki_curl_transport *transport, const ki_request *request, const ki_response_sink *sink,
                              ki_exchange **ret_exchange, ki_error *err) {
    ki_exchange *exchange = ki_alloc_zero(transport->allocator, sizeof *exchange);
    if (!exchange)
        return ki_error_no_memory(err, "sending a request");
    exchange->transport = transport;
    exchange->sink = *sink;
    exchange->retry_after = -1;
    exchange->is_safe = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    exchange->is_endless = request->endless;
    exchange->idle_timeout_ns = request->idle_timeout_ns;
    ki_status status = open_exchange(exchange, request, err);
    if (status) {
        ki_timer_close(&exchange->idle);
        ki_timer_close(&exchange->total);
        destroy(exchange);
        return status;
    }
    *ret_exchange = exchange;
    return KI_OK;
}

static void start_timeouts(ki_exchange *exchange, const ki_request *request) {
    ki_curl_transport *transport = exchange->transport;
    exchange->began = exchange->last_byte = ki_engine_now(transport->engine);
    if (request->idle_timeout_ns > 0)
        ki_timer_set(&exchange->idle, exchange->last_byte + request->idle_timeout_ns);
    if (request->total_timeout_ns > 0)
        ki_timer_set(&exchange->total, exchange->last_byte + request->total_timeout_ns);
}

static ki_status curl_send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                           ki_exchange **ret_exchange, ki_error *err) {
    KI_ON_LOOP(((ki_curl_transport *)(void *)base)->engine);
    ki_curl_transport *transport = (ki_curl_transport *)(void *)base;
    ki_exchange *exchange = NULL;
    ki_status status = new_exchange(transport, request, sink, &exchange, err);
    if (status)
        return status;
    ki_metered_begin(&exchange->metered, base->meter, request);
    start_timeouts(exchange, request);
    queue(exchange);
    ki_task_post(&transport->service);
    *ret_exchange = exchange;
    return KI_OK;
}

ki_status ki_curl_ping(ki_curl_pool *pool, const ki_request *request, const ki_response_sink *sink,
                       ki_exchange **ret_exchange, ki_error *err) {
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    ki_exchange *exchange = NULL;
    ki_status status = new_exchange(transport, request, sink, &exchange, err);
    if (status)
        return status;
    exchange->is_ping = true;
    enter_state(exchange, KI_EXCHANGE_ACTIVE, &transport->active);
    start_timeouts(exchange, request);
    exchange->set = ki_credentials_current(transport->credentials);
    status = ki_curl_present(exchange->easy, &transport->identity, exchange->set, &exchange->headers, err);
    if (!status)
        status = add_to_pool(exchange, pool, err);
    if (status) {
        detach(exchange);
        destroy(exchange);
        return status;
    }
    *ret_exchange = exchange;
    return KI_OK;
}

static void curl_cancel(ki_exchange *exchange) {
    KI_ON_LOOP(exchange->transport->engine);
    ki_curl_transport *transport = exchange->transport;
    if (exchange->state == KI_EXCHANGE_ENDING || exchange->state == KI_EXCHANGE_CANCELLED) {
        exchange->is_cancelled = true;
        return;
    }
    if (transport->pools.in_curl) {
        enter_state(exchange, KI_EXCHANGE_CANCELLED, &transport->cancelled);
        ki_timer_close(&exchange->idle);
        ki_timer_close(&exchange->total);
        return; /* service runs when libcurl returns */
    }
    detach(exchange);
    destroy(exchange);
    ki_task_post(&transport->service); /* its pool may be empty and retired */
}

static void curl_transport_free(ki_transport *base) {
    KI_ASSERT(!((ki_curl_transport *)(void *)base)->pools.in_curl);
    ki_curl_transport *transport = (ki_curl_transport *)(void *)base;
    ki_exchange **const lists[] = { &transport->queued, &transport->waiting, &transport->active,
                                    &transport->cancelled };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (ki_exchange *exchange; (exchange = *lists[i]) != NULL;) {
            detach(exchange);
            destroy(exchange);
        }
    }
    ki_curl_pools_clear(&transport->pools);
    ki_credentials_free(transport->credentials);
    ki_task_cancel(&transport->service);
    ki_timer_close(&transport->report);
    ki_curl_identity_clear(&transport->identity);
    ki_free(transport->allocator, transport);
}

/* Pauses or resumes the body. libcurl may call our callbacks before it returns. */
static void curl_pause(ki_exchange *exchange, bool is_paused) {
    ki_curl_transport *transport = exchange->transport;
    KI_ON_LOOP(transport->engine);
    if (exchange->state != KI_EXCHANGE_ACTIVE || exchange->is_paused == is_paused)
        return;
    exchange->is_paused = is_paused;
    if (is_paused) {
        (void)curl_easy_pause(exchange->easy, CURLPAUSE_RECV);
        return;
    }
    touch(exchange);
    transport->pools.in_curl = true;
    (void)curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    transport->pools.in_curl = false;
    ki_task_post(&transport->service);
}

static void curl_hide(ki_transport *base, char *text, size_t size) {
    ki_curl_transport *transport = (ki_curl_transport *)base;
    ki_credential_set *set = ki_credentials_current(transport->credentials);
    ki_credential_set_hide(set, text, size);
    ki_credential_set_unref(set);
}

static const ki_transport_ops curl_ops = {
    .send = curl_send,
    .cancel = curl_cancel,
    .free = curl_transport_free,
    .waits_for = curl_waits_for,
    .pause = curl_pause,
    .hide = curl_hide,
};

/* libcurl's global state. It is never cleaned up: other users of libcurl in the process may need it. */
static CURLcode global_result;
static void init_libcurl(void) {
    global_result = curl_global_init(CURL_GLOBAL_DEFAULT);
}

ki_status ki_curl_transport_new(ki_engine *engine, const ki_config *config, ki_transport **ret_transport,
                                ki_error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_libcurl);
    if (global_result)
        return ki_error_set(err, KI_ERR_SYSTEM, "libcurl cannot be initialised: %s", curl_easy_strerror(global_result));
    const curl_version_info_data *loaded = curl_version_info(CURLVERSION_NOW);
    if (loaded->version_num < KI_CURL_VERSION_MIN)
        return ki_error_set(err, KI_ERR_UNSUPPORTED,
                            "the process has libcurl %s: libcurl " KI_CURL_VERSION_MIN_TEXT " or later is needed",
                            loaded->version);
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_curl_transport *transport = ki_alloc_zero(allocator, sizeof *transport);
    if (!transport)
        return ki_error_no_memory(err, "making a transport");
    transport->base.ops = &curl_ops;
    transport->engine = engine;
    transport->allocator = allocator;
    ki_task_init(&transport->service, engine, service_task, transport);
    ki_timer_init(&transport->report, engine, report_timer_fired, transport);
    ki_status status = ki_curl_identity_init(&transport->identity, allocator, config, err);
    if (!status)
        status = ki_credentials_new(engine, config, credentials_changed, transport, &transport->credentials, err);
    if (status) {
        ki_curl_identity_clear(&transport->identity);
        ki_free(allocator, transport);
        return status;
    }
    if (!(loaded->features & CURL_VERSION_HTTP2))
        ki_log_write(ki_engine_log(engine), KI_LOG_INFO, "transport",
                     "this libcurl (%s) is built without HTTP/2: each request needs a connection", loaded->version);
    transport->tls_number = ki_credentials_tls_number(transport->credentials);
    transport->pools = (ki_curl_pools){ .engine = engine,
                                        .allocator = allocator,
                                        .read_interval = KI_MILLISECONDS(config->watch_read_interval_ms),
                                        .limit = transport->identity.has_http2 ? KI_CURL_POOL_STREAMS : 0 };
    *ret_transport = &transport->base;
    return KI_OK;
}
