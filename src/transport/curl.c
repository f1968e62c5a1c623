/* curl.c: exchanges as libcurl transfers, driven by the engine. Loop only.
 *
 * libcurl may not be told to add or remove a transfer from inside one of its callbacks, and our callbacks run inside them. So
 * send queues and cancel marks; `service`, which runs in a task and after each call into libcurl, adds, removes and ends.
 *
 * When an exchange ends in silence its connection may be dead without anybody knowing; when certificates are other ones, no connection may go on
 * with the old. Then pools are retired: new exchanges get a new pool, and those of the old one go on, and with the last of them it goes. */
#include "src/transport/curl.h"

#include "src/transport/curl_internal.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static void service(ki_curl_transport *transport);

ki_curl_transport *ki_curl_transport_of(ki_curl_pools *pools) {
    return (ki_curl_transport *)(void *)((char *)pools - offsetof(ki_curl_transport, pools));
}

enum {
    HTTP_UNAUTHORIZED = 401,
    MOST_ATTEMPTS = 2, /* times that a request goes out, where nothing answers */
    WORDS_MAX = 160
};

/* --- exchanges -------------------------------------------------------------------------------------------------------------- */

/* Out of libcurl and out of the list; never from inside libcurl. */
static void detach(ki_exchange *exchange) {
    ki_curl_transport *transport = exchange->transport;
    if (exchange->pool) {
        if (exchange->opened && exchange->attempts == 0)
            exchange->pool->wake = true; /* others may have waited for what its connection turns out to be */
        curl_multi_remove_handle(exchange->pool->multi, exchange->easy);
        exchange->pool->exchanges--;
    }
    transport->queued -= exchange->state == KI_EXCHANGE_QUEUED;
    transport->waiting -= exchange->state == KI_EXCHANGE_WAITING;
    transport->cancelled -= exchange->state == KI_EXCHANGE_CANCELLED;
    exchange->state = KI_EXCHANGE_ENDING;
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
    ki_credential_set_unref(exchange->set);
    ki_free(exchange->transport->allocator, exchange);
}

/* The pool, if any, may be swept afterwards: callers that go on with it must look again. */
void ki_curl_end(ki_exchange *exchange, const ki_error *err) {
    detach(exchange);
    exchange->sink.on_end(err, exchange->sink.user);
    destroy(exchange);
}

static void touch(ki_exchange *exchange) {
    exchange->last_byte = ki_engine_now(exchange->transport->engine);
    exchange->heard = exchange->last_byte;
    exchange->suspected = false;
    if (exchange->pool)
        exchange->pool->last_byte = exchange->last_byte;
}

/* A busy exchange does not move its timer with each byte; the timer looks when it fires. */
static void idle_timer_fired(ki_timer *timer, void *user) {
    ki_exchange *exchange = user;
    ki_curl_transport *transport = exchange->transport;
    int64_t now = ki_engine_now(transport->engine);
    if (exchange->state == KI_EXCHANGE_WAITING || exchange->is_paused)
        exchange->last_byte = now; /* the server is not to blame */
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
    ki_error_set(&err, KI_ERR_TIMEOUT, "%s %s: no byte for %lld ms", transport->identity.server,
                 exchange->head_given ? "went silent" : "does not answer",
                 (long long)(exchange->idle_timeout_ns / KI_MILLISECONDS(1)));
    if (exchange->pool && !exchange->pool->is_http2) /* of those it is known whether they live */
        exchange->pool->retired = true;
    ki_curl_end(exchange, &err);
    service(transport);
}

/* Only a plugin lets requests wait. */
static bool curl_waits_for(const ki_exchange *exchange, char *words, size_t size) {
    if (exchange->state != KI_EXCHANGE_WAITING)
        return false;
    snprintf(words, size, "exec plugin %.100s has not ended yet",
             exchange->transport->identity.config->exec.command.data);
    return true;
}

static void total_timer_fired(ki_timer *timer, void *user) {
    ki_exchange *exchange = user;
    ki_curl_transport *transport = exchange->transport;
    if (exchange->is_ping && !exchange->suspected) { /* as above: its answer may be waiting to be read */
        exchange->suspected = true;
        ki_timer_set(timer, ki_engine_now(transport->engine) + KI_MILLISECONDS(1));
        return;
    }
    ki_error err = KI_ERROR_INIT;
    char words[WORDS_MAX];
    if (curl_waits_for(exchange, words, sizeof words))
        ki_error_set(&err, KI_ERR_TIMEOUT, "%s: not asked in time: %s", transport->identity.server, words);
    else
        ki_error_set(&err, KI_ERR_TIMEOUT, "%s: no whole answer in time", transport->identity.server);
    ki_curl_end(exchange, &err);
    service(transport);
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
    note_version(exchange);
    if (status == HTTP_UNAUTHORIZED && !exchange->is_ping)
        ki_credentials_refused(exchange->transport->credentials, exchange->set);
    exchange->sink.on_head(&head, exchange->sink.user);
}

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    ki_exchange *exchange = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    exchange->no_socket = fd < 0 ? errno : 0;
    exchange->opened = true;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* Before each time that the request goes out. libcurl sends again, on a new connection, what got no answer on one that was used before, and what an
 * HTTP/2 server refused, five times at once. The server may have done it all the same, so only what changes nothing may go twice; a third time is
 * for the caller's backoff. */
static int before_request(void *user, char *there, char *here, int port_there, int port_here) {
    (void)there, (void)here, (void)port_there;
    ki_exchange *exchange = user;
    exchange->local_port = port_here;
    if (exchange->opened) /* its connection is made: what it is, others may have waited for */
        exchange->pool->wake = true;
    if (exchange->attempts++ == 0 || (exchange->is_safe && exchange->attempts <= MOST_ATTEMPTS))
        return CURL_PREREQFUNC_OK;
    ki_error_set(&exchange->own_failure, KI_ERR_UNEXPECTED_EOF,
                 exchange->is_safe
                     ? "%s refused the request, or cut the connection before it answered, twice"
                     : "%s cut the connection before it answered: the request may have been carried out or not, "
                       "and is not sent twice",
                 exchange->transport->identity.server);
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
    if (exchange->state != KI_EXCHANGE_ACTIVE)
        return 0;
    touch(exchange);
    exchange->head_bytes += size;
    if (exchange->head_bytes > KI_CURL_HEAD_LIMIT) {
        ki_error_set(&exchange->own_failure, KI_ERR_PROTOCOL, "%s sent more than %d bytes of headers",
                     exchange->transport->identity.server, KI_CURL_HEAD_LIMIT);
        return 0;
    }
    if (!exchange->head_given)
        note_retry_after(exchange, (ki_str){ line, size });
    bool is_empty = size == 0 || line[0] == '\r' || line[0] == '\n';
    if (is_empty && !exchange->head_given)
        give_head(exchange);
    return exchange->state == KI_EXCHANGE_ACTIVE ? size : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *user) {
    (void)one;
    ki_exchange *exchange = user;
    if (exchange->state != KI_EXCHANGE_ACTIVE)
        return 0; /* ends the transfer, whose end nobody is told of */
    touch(exchange);
    ki_engine_work(exchange->transport->engine, 1);
    exchange->sink.on_data(data, size, exchange->sink.user);
    return exchange->state == KI_EXCHANGE_ACTIVE ? size : 0;
}

/* --- service ---------------------------------------------------------------------------------------------------------------- */

static ki_exchange *find(ki_curl_transport *transport, ki_exchange_state state) {
    ki_exchange *exchange = transport->exchanges;
    while (exchange && exchange->state != state)
        exchange = exchange->next;
    return exchange;
}

/* Connections that were made with other certificates take nothing new. What can be sent again is, on a new one; the rest ends where it is. */
static void take_certificates(ki_curl_transport *transport) {
    transport->tls_number = ki_credentials_tls_number(transport->credentials);
    ki_curl_pools_retire_all(&transport->pools);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_UNEXPECTED_EOF, "certificates have changed: connecting to %s anew",
                 transport->identity.server);
    for (ki_exchange *exchange = transport->exchanges; exchange;) {
        if (!exchange->is_endless || exchange->state != KI_EXCHANGE_ACTIVE) {
            exchange = exchange->next;
            continue;
        }
        ki_curl_end(exchange, &err);
        exchange = transport->exchanges; /* the callback may have changed the list: from the start */
    }
}

static bool add_handle(const ki_curl_pool *pool, CURL *easy) {
    if (pool->is_http1) /* a request at a time: there is nothing to wait for */
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
    transport->queued -= exchange->state == KI_EXCHANGE_QUEUED;
    exchange->state = KI_EXCHANGE_ACTIVE;
    ki_curl_silence_begin(pool);
    return KI_OK;
}

/* One that is queued. Where certificates are found to be other ones it stays so, until they are taken. */
static void begin(ki_exchange *exchange) {
    ki_curl_transport *transport = exchange->transport;
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    switch (ki_credentials_get(transport->credentials, &exchange->set, &err)) {
    case KI_CREDENTIALS_PENDING:
        exchange->state = KI_EXCHANGE_WAITING;
        transport->queued--;
        transport->waiting++;
        return;
    case KI_CREDENTIALS_FAILED:
        ki_curl_end(exchange, &err);
        return;
    case KI_CREDENTIALS_READY:
        break;
    }
    if (exchange->set->tls_number != transport->tls_number) {
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

/* Ends all exchanges of a pool that can no longer be relied on. */
static void give_up(ki_curl_pool *pool) {
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, pool->failed, "the connection to %s cannot be watched", transport->identity.server);
    pool->retired = true;
    for (ki_exchange *exchange = transport->exchanges; exchange;) {
        if (exchange->pool != pool || exchange->state != KI_EXCHANGE_ACTIVE) {
            exchange = exchange->next;
            continue;
        }
        ki_curl_end(exchange, &err);
        exchange = transport->exchanges; /* the callback may have changed the list: from the start */
    }
}

/* One transfer that libcurl has finished; false where there is none. */
static bool end_one_finished(ki_curl_pool *pool) {
    int left = 0;
    CURLMsg *message;
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    const char *server = transport->identity.server;
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
            ki_curl_error(exchange->easy, code, exchange->detail, transport->identity.config,
                          transport->identity.proxy.size > 0, &err);
        else if (!exchange->head_given) /* libcurl is content with half a head */
            ki_error_set(&err, KI_ERR_UNEXPECTED_EOF, "%s cut the connection before the answer's head was whole",
                         server);
        if (err.code == KI_ERR_TLS && err.category == KI_CATEGORY_CREDENTIALS)
            ki_credentials_refused(transport->credentials, exchange->set);
        else if (err.code == KI_ERR_TLS)
            ki_credentials_doubt_certificates(transport->credentials, exchange->set);
        ki_curl_end(exchange, err.code ? &err : NULL);
        return true;
    }
    return false;
}

/* Where a connection is being made, other exchanges wait whether it will take them, too. libcurl 8 wakes them if it does; if not,
 * they wait until something has ended, which a watch does not. Asked again they find that out by themselves. One of them ends where
 * there is no memory for it; false: none did. */
static bool wake_parked(ki_curl_pool *pool) {
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    pool->wake = false;
    if (!transport->identity.is_https) /* nobody waits */
        return false;
    for (ki_exchange *exchange = transport->exchanges; exchange; exchange = exchange->next) {
        if (exchange->pool != pool || exchange->state != KI_EXCHANGE_ACTIVE || exchange->opened ||
            exchange->attempts > 0)
            continue;
        curl_multi_remove_handle(pool->multi, exchange->easy);
        if (add_handle(pool, exchange->easy))
            continue;
        ki_error err = KI_ERROR_INIT;
        ki_error_no_memory(&err, "sending a request");
        pool->wake = true; /* for the others */
        ki_curl_end(exchange, &err);
        return true;
    }
    return false;
}

/* Does what could not be done from inside libcurl. Callbacks may change everything, so each step starts anew. */
static void service(ki_curl_transport *transport) {
    for (;;) {
        while (transport->cancelled > 0) {
            ki_exchange *exchange = find(transport, KI_EXCHANGE_CANCELLED);
            detach(exchange);
            destroy(exchange);
        }
        if (ki_credentials_tls_number(transport->credentials) != transport->tls_number)
            take_certificates(transport);
        if (transport->queued > 0) {
            begin(find(transport, KI_EXCHANGE_QUEUED));
            continue;
        }
        ki_curl_pool *pool = transport->pools.first;
        for (; pool; pool = pool->next) {
            if (pool->failed && (pool->exchanges > 0 || !pool->retired)) {
                give_up(pool);
                break;
            }
            if (end_one_finished(pool) || (pool->wake && wake_parked(pool)))
                break;
        }
        if (!pool)
            break;
    }
    ki_curl_pools_sweep(&transport->pools);
}

static void after_curl(ki_curl_pools *pools) {
    service(ki_curl_transport_of(pools));
}

static void credentials_changed(void *user) {
    ki_curl_transport *transport = user;
    for (ki_exchange *exchange = transport->exchanges; exchange; exchange = exchange->next) {
        if (exchange->state != KI_EXCHANGE_WAITING)
            continue;
        exchange->state = KI_EXCHANGE_QUEUED;
        transport->waiting--;
        transport->queued++;
    }
    ki_task_post(&transport->service);
}

static void service_task(ki_task *task, void *user) {
    (void)task;
    service(user);
}

/* --- the transport ---------------------------------------------------------------------------------------------------------- */

static ki_status open_exchange(ki_exchange *exchange, const ki_request *request, ki_error *err) {
    ki_curl_transport *transport = exchange->transport;
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

/* In no state yet. */
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

/* Into the list, with its deadlines running. */
static void attach(ki_exchange *exchange, const ki_request *request) {
    ki_curl_transport *transport = exchange->transport;
    exchange->previous = transport->last_exchange;
    if (exchange->previous)
        exchange->previous->next = exchange;
    else
        transport->exchanges = exchange;
    transport->last_exchange = exchange;
    exchange->began = exchange->last_byte = ki_engine_now(transport->engine);
    if (request->idle_timeout_ns > 0)
        ki_timer_set(&exchange->idle, exchange->last_byte + request->idle_timeout_ns);
    if (request->total_timeout_ns > 0)
        ki_timer_set(&exchange->total, exchange->last_byte + request->total_timeout_ns);
}

static ki_status curl_send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                           ki_exchange **ret_exchange, ki_error *err) {
    ki_curl_transport *transport = (ki_curl_transport *)(void *)base;
    ki_exchange *exchange = NULL;
    ki_status status = new_exchange(transport, request, sink, &exchange, err);
    if (status)
        return status;
    attach(exchange, request);
    exchange->state = KI_EXCHANGE_QUEUED;
    transport->queued++;
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
    exchange->state = KI_EXCHANGE_ACTIVE;
    attach(exchange, request);
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
    ki_curl_transport *transport = exchange->transport;
    if (exchange->state == KI_EXCHANGE_ENDING || exchange->state == KI_EXCHANGE_CANCELLED)
        return;
    if (transport->pools.in_curl) {
        transport->queued -= exchange->state == KI_EXCHANGE_QUEUED;
        transport->waiting -= exchange->state == KI_EXCHANGE_WAITING;
        exchange->state = KI_EXCHANGE_CANCELLED;
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
    ki_curl_transport *transport = (ki_curl_transport *)(void *)base;
    while (transport->exchanges) {
        ki_exchange *exchange = transport->exchanges;
        detach(exchange);
        destroy(exchange);
    }
    ki_curl_pools_clear(&transport->pools);
    ki_credentials_free(transport->credentials);
    ki_task_cancel(&transport->service);
    ki_curl_identity_clear(&transport->identity);
    ki_free(transport->allocator, transport);
}

/* libcurl may call back before it returns, as in any other of its functions. */
static void curl_pause(ki_exchange *exchange, bool is_paused) {
    ki_curl_transport *transport = exchange->transport;
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
    ki_curl_transport *transport = ki_alloc_zero(allocator, sizeof *transport);
    if (!transport)
        return ki_error_no_memory(err, "making a transport");
    transport->base.ops = &curl_ops;
    transport->engine = engine;
    transport->allocator = allocator;
    ki_task_init(&transport->service, engine, service_task, transport);
    ki_status status = ki_curl_identity_init(&transport->identity, allocator, config, err);
    if (!status)
        status = ki_credentials_new(engine, config, credentials_changed, transport, &transport->credentials, err);
    if (status) {
        ki_curl_identity_clear(&transport->identity);
        ki_free(allocator, transport);
        return status;
    }
    transport->tls_number = ki_credentials_tls_number(transport->credentials);
    transport->pools = (ki_curl_pools){ .engine = engine,
                                        .allocator = allocator,
                                        .limit = transport->identity.is_https ? KI_CURL_POOL_STREAMS : 0,
                                        .after = after_curl,
                                        .silent = ki_curl_silence_fired };
    *ret_transport = &transport->base;
    return KI_OK;
}
