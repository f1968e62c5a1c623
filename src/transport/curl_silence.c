/* curl_silence.c: is a connection of HTTP/2 that says nothing still there? Loop only.
 *
 * A dead one takes all its watches with it, and TCP's keepalive is answered by whatever speaks TCP on the way. HTTP/2 has a PING, which
 * libcurl's multi interface does not offer; so a GET of /version goes out on the same connection. Any answer will do. */
#include "src/transport/curl_internal.h"

#include "src/base/error.h"

/* When the exchange's connection was heard last: by it or by others on the same one. */
static int64_t last_heard(const ki_curl_transport *transport, const ki_exchange *exchange) {
    int64_t last = exchange->heard;
    for (const ki_exchange *other = transport->exchanges; other; other = other->next) {
        if (other->pool == exchange->pool && other->local_port == exchange->local_port && other->heard > last)
            last = other->heard;
    }
    return last;
}

/* One whose connection has said nothing since the ping was sent. On another connection than the ping's an exchange that is
 * younger may still hope for an answer. */
static ki_exchange *find_dead(const ki_curl_transport *transport, const ki_curl_pool *pool, int64_t asked,
                              int ping_port) {
    for (ki_exchange *exchange = transport->exchanges; exchange; exchange = exchange->next) {
        if (exchange->pool == pool && exchange->state == KI_EXCHANGE_ACTIVE && exchange->local_port != 0 &&
            (exchange->local_port == ping_port || exchange->began < asked) && last_heard(transport, exchange) < asked)
            return exchange;
    }
    return NULL;
}

static void ping_ended(const ki_error *err, void *user) {
    ki_curl_pool *pool = user;
    ki_curl_transport *transport = ki_curl_transport_of(pool->owner);
    int64_t asked = pool->ping_sent;
    int ping_port = pool->ping->local_port;
    pool->ping = NULL;
    ki_curl_silence_begin(pool);
    /* Of one that failed otherwise nothing follows: its connection was closed, and libcurl tells its exchanges so. Nor of one that was answered: if
     * the pool has more than one connection for once, those that it did not go out on may be well and silent. */
    if (!err || err->code != KI_ERR_TIMEOUT)
        return;
    if (pool->last_byte < asked)
        pool->retired = true;
    ki_error dead = KI_ERROR_INIT;
    ki_error_set(&dead, KI_ERR_UNEXPECTED_EOF,
                 "the connection to %s is dead: nothing came for %d s, nor an answer within %d s",
                 transport->identity.server, KI_CURL_SILENCE_S, KI_CURL_SILENCE_ANSWER_S);
    /* The pool goes with its last exchange, but not before service, which is not run in here. */
    for (ki_exchange *one; (one = find_dead(transport, pool, asked, ping_port)) != NULL;)
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
        return; /* whatever changes that begins anew */
    if (now < due) {
        ki_timer_set(timer, due);
        return;
    }
    const ki_request request = { .method = "GET",
                                 .target = "/version",
                                 .total_timeout_ns = KI_SECONDS(KI_CURL_SILENCE_ANSWER_S) };
    const ki_response_sink sink = { ignore_head, ignore_data, ping_ended, pool };
    pool->ping_sent = now;
    if (ki_curl_ping(pool, &request, &sink, &pool->ping, NULL))
        ki_timer_set(timer, now + KI_SECONDS(1)); /* no memory: later */
}

void ki_curl_silence_begin(ki_curl_pool *pool) {
    if (pool->is_http2 && !pool->ping && !ki_timer_is_set(&pool->silence))
        ki_timer_set(&pool->silence, pool->last_byte + KI_SECONDS(KI_CURL_SILENCE_S));
}
