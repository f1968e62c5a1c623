/* curl_silence.c: detects dead HTTP/2 connections. Loop only.
 *
 * A dead connection stops all its watches, and a TCP proxy acknowledges keepalive probes. libcurl's multi interface has
 * no HTTP/2 PING (RFC 9113 §6.7). So a GET of /version, called ping here, goes out on the same connection. Any response
 * counts. */
#include "src/transport/curl_internal.h"

#include "src/base/assert.h"
#include "src/base/error.h"

/* Returns when the exchange's connection last received a byte, for this exchange or another. */
static int64_t last_received(const ki_curl_transport *transport, const ki_exchange *exchange) {
    int64_t last = exchange->last_received;
    for (const ki_exchange *other = transport->active; other; other = other->next) {
        if (other->pool == exchange->pool && other->local_port == exchange->local_port && other->last_received > last)
            last = other->last_received;
    }
    return last;
}

/* Finds an exchange whose connection has received nothing since the ping was sent. On a connection other than the
 * ping's, exchanges that began after the ping are skipped: their response can still come. */
static ki_exchange *find_dead(const ki_curl_transport *transport, const ki_curl_pool *pool, int64_t ping_sent,
                              int ping_port) {
    for (ki_exchange *exchange = transport->active; exchange; exchange = exchange->next) {
        if (exchange->pool == pool && exchange->state == KI_EXCHANGE_ACTIVE && exchange->local_port != 0 &&
            (exchange->local_port == ping_port || exchange->began < ping_sent) &&
            last_received(transport, exchange) < ping_sent)
            return exchange;
    }
    return NULL;
}

static void ping_ended(const ki_error *err, void *user) {
    ki_curl_pool *pool = user;
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    KI_ASSERT(pool->ping);
    int64_t ping_sent = pool->ping_sent;
    int ping_port = pool->ping->local_port;
    pool->ping = NULL;
    ki_curl_silence_begin(pool);
    /* Only a timeout proves a dead connection. For other failures libcurl ends the exchanges itself. A response proves
     * nothing about a second connection of the pool. */
    if (!err || err->code != KI_ERR_TIMEOUT)
        return;
    if (pool->last_byte < ping_sent)
        pool->retired = true;
    ki_error dead = KI_ERROR_INIT;
    ki_error_set(&dead, KI_ERR_UNEXPECTED_EOF,
                 "the connection to %s is dead: nothing received for %d s, and no response to a ping within %d s",
                 transport->identity.server, KI_CURL_SILENCE_S, KI_CURL_PING_TIMEOUT_S);
    /* service frees the pool, and does not run in here. */
    for (ki_exchange *one; (one = find_dead(transport, pool, ping_sent, ping_port)) != NULL;)
        ki_curl_end(one, &dead);
}

static void ignore_head(const ki_response_head *head, void *user) {
    (void)head, (void)user;
}

static void ignore_data(const char *data, size_t size, void *user) {
    (void)data, (void)size, (void)user;
}

void ki_curl_silence_fired(ki_timer *timer, void *user) {
    ki_curl_pool *pool = user;
    int64_t now = ki_engine_now(pool->owner->engine);
    int64_t due = pool->last_byte + KI_SECONDS(KI_CURL_SILENCE_S);
    if (!pool->is_http2 || pool->ping || pool->exchanges == 0)
        return; /* ki_curl_silence_begin sets the timer again */
    if (now < due) {
        ki_timer_set(timer, due);
        return;
    }
    const ki_request request = { .method = "GET",
                                 .target = "/version",
                                 .total_timeout_ns = KI_SECONDS(KI_CURL_PING_TIMEOUT_S) };
    const ki_response_sink sink = {
        .on_head = ignore_head, .on_data = ignore_data, .on_end = ping_ended, .user = pool
    };
    pool->ping_sent = now;
    if (ki_curl_ping(pool, &request, &sink, &pool->ping, NULL))
        ki_timer_set(timer, now + KI_SECONDS(1)); /* out of memory: try again later */
}

void ki_curl_silence_begin(ki_curl_pool *pool) {
    if (pool->is_http2 && !pool->ping && !ki_timer_is_set(&pool->silence))
        ki_timer_set(&pool->silence, pool->last_byte + KI_SECONDS(KI_CURL_SILENCE_S));
}
