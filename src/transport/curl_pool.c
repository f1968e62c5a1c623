/* curl_pool.c: the sockets and timers of libcurl, and the lifetime of pools. Loop only. */
#include "src/transport/curl_internal.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#if __has_include(<linux/tcp.h>)
#include <linux/tcp.h> /* glibc's struct tcp_info has no tcpi_bytes_received */
#else
#include <netinet/tcp.h>
#endif

struct ki_curl_socket {
    ki_io io;
    ki_curl_pool *pool;
    int local_port;
    uint32_t wanted; /* events that libcurl waits for */
    bool rests;      /* is not read, although libcurl waits for bytes */
    struct ki_curl_socket *next, *previous;
};

static void run_curl(ki_curl_pool *pool, curl_socket_t fd, int events) {
    ki_curl_pools *pools = pool->owner;
    int running = 0;
    KI_ON_LOOP(pools->engine);
    KI_ASSERT(!pools->in_curl);
    pools->in_curl = true;
    CURLMcode failed = curl_multi_socket_action(pool->multi, fd, events, &running);
    pools->in_curl = false;
    if (failed && !pool->failed)
        pool->failed = failed == CURLM_OUT_OF_MEMORY ? KI_ERR_NO_MEMORY : KI_ERR_SYSTEM;
    ki_curl_service(pools);
}

static void pool_timer_fired(ki_timer *timer, void *user) {
    (void)timer;
    run_curl(user, CURL_SOCKET_TIMEOUT, 0);
}

static int set_pool_timer(CURLM *multi, long timeout_ms, void *user) {
    (void)multi;
    ki_curl_pool *pool = user;
    if (timeout_ms < 0)
        ki_timer_cancel(&pool->timer);
    else
        ki_timer_set(&pool->timer, ki_engine_now(pool->owner->engine) + KI_MILLISECONDS(timeout_ms));
    return 0;
}

/* --- rest --------------------------------------------------------------------------------------------------------- */

void ki_curl_pool_end_rest(ki_curl_pool *pool) {
    ki_timer_cancel(&pool->rest);
    for (ki_curl_socket *socket = pool->sockets; socket; socket = socket->next) {
        if (socket->rests && ki_io_modify(&socket->io, socket->wanted, NULL) && !pool->failed)
            pool->failed = KI_ERR_SYSTEM;
        socket->rests = false;
    }
}

static void rest_timer_fired(ki_timer *timer, void *user) {
    (void)timer;
    ki_curl_pool *pool = user;
    ki_curl_pool_end_rest(pool);
    if (pool->failed)
        ki_curl_service(pool->owner);
}

/* Called before a socket is read. Lets it rest afterwards, if it only waits for the bytes of watches, and few came last
 * time. */
static void maybe_rest(ki_curl_socket *socket) {
    ki_curl_pool *pool = socket->pool;
    int64_t interval = pool->owner->read_interval;
    KI_ASSERT(pool->watches <= pool->exchanges && pool->stalled <= pool->exchanges);
    bool is_quiet = pool->watches == pool->exchanges && pool->received <= KI_CURL_REST_BYTES;
    pool->received = 0;
    if (!interval || !is_quiet || socket->rests || socket->wanted != EPOLLIN || ki_io_modify(&socket->io, 0, NULL))
        return;
    socket->rests = true;
    if (!ki_timer_is_set(&pool->rest))
        ki_timer_set(&pool->rest, ki_engine_now(pool->owner->engine) + interval);
}

/* --- sockets ------------------------------------------------------------------------------------------------------ */

static void socket_ready(ki_io *io, uint32_t events, void *user) {
    ki_curl_socket *socket = user;
    int bits = 0;
    if (events & (EPOLLIN | EPOLLHUP))
        bits |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        bits |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        bits |= CURL_CSELECT_ERR;
    maybe_rest(socket);
    run_curl(socket->pool, io->fd, bits); /* may free `socket` */
}

static void forget_socket(ki_curl_socket *socket) {
    ki_curl_pool *pool = socket->pool;
    ki_io_remove(&socket->io);
    KI_LIST_REMOVE(pool->sockets, socket);
    ki_free(pool->owner->allocator, socket);
}

static int local_port_of(curl_socket_t fd) {
    struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size))
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
    return address.ss_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port) : 0;
}

static ki_status add_socket(ki_curl_pool *pool, curl_socket_t fd, uint32_t events) {
    ki_curl_socket *socket = ki_alloc_zero(pool->owner->allocator, sizeof *socket);
    if (!socket)
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_io_add(&socket->io, pool->owner->engine, fd, events, socket_ready, socket, NULL);
    if (status) {
        ki_free(pool->owner->allocator, socket);
        return status;
    }
    socket->pool = pool;
    socket->wanted = events;
    socket->local_port = local_port_of(fd);
    KI_LIST_PREPEND(pool->sockets, socket);
    curl_multi_assign(pool->multi, fd, socket);
    return KI_OK;
}

static ki_status want(ki_curl_socket *socket, uint32_t events) {
    socket->wanted = events;
    if (events != EPOLLIN)
        socket->rests = false;
    return socket->rests ? KI_OK : ki_io_modify(&socket->io, events, NULL);
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user) {
    ki_curl_pool *pool = user;
    ki_curl_socket *socket = socket_user;
    if (what == CURL_POLL_REMOVE || !socket)
        ki_curl_note_socket(easy, what == CURL_POLL_REMOVE ? -1 : 1);
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
    ki_status status = socket ? want(socket, events) : add_socket(pool, fd, events);
    if (status && !pool->failed)
        pool->failed = status; /* an error returned to libcurl would make the multi handle unusable */
    return 0;
}

static void free_pool(ki_curl_pool *pool) {
    KI_ASSERT(pool->retired && pool->exchanges == 0 && pool->watches == 0 && pool->stalled == 0 && !pool->ping);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, NULL);
    while (pool->sockets)
        forget_socket(pool->sockets);
    curl_multi_cleanup(pool->multi);
    ki_timer_close(&pool->timer);
    ki_timer_close(&pool->rest);
    ki_timer_close(&pool->silence);
    ki_free(pool->owner->allocator, pool);
}

static ki_curl_pool *new_pool(ki_curl_pools *pools) {
    ki_curl_pool *pool = ki_alloc_zero(pools->allocator, sizeof *pool);
    if (!pool)
        return NULL;
    pool->owner = pools;
    pool->multi = curl_multi_init();
    if (!pool->multi) {
        ki_free(pools->allocator, pool);
        return NULL;
    }
    ki_timer_init(&pool->timer, pools->engine, pool_timer_fired, pool);
    ki_timer_init(&pool->rest, pools->engine, rest_timer_fired, pool);
    ki_timer_init(&pool->silence, pools->engine, ki_curl_silence_fired, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, set_pool_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    pool->next = pools->first;
    pools->first = pool;
    return pool;
}

ki_curl_pool *ki_curl_pools_current(ki_curl_pools *pools) {
    for (ki_curl_pool *pool = pools->first; pool; pool = pool->next) {
        if (!pool->retired && (pools->limit == 0 || pool->exchanges < pools->limit))
            return pool;
    }
    return new_pool(pools);
}

void ki_curl_pools_retire_all(ki_curl_pools *pools) {
    for (ki_curl_pool *pool = pools->first; pool; pool = pool->next)
        pool->retired = true;
}

void ki_curl_pools_sweep(ki_curl_pools *pools) {
    KI_ASSERT(!pools->in_curl);
    for (ki_curl_pool **at = &pools->first; *at;) {
        ki_curl_pool *pool = *at;
        if (pool->retired && pool->exchanges == 0) {
            *at = pool->next;
            free_pool(pool);
        } else {
            at = &pool->next;
        }
    }
}

void ki_curl_pools_clear(ki_curl_pools *pools) {
    ki_curl_pools_retire_all(pools);
    ki_curl_pools_sweep(pools);
    KI_ASSERT(!pools->first);
}

/* --- what has arrived --------------------------------------------------------------------------------------------- */

/* on_read of an exchange: its receiver has everything that had arrived at some time. When bytes are
 * delivered, a mark records how much the socket had received by then. Once libcurl has read up to the mark and the pool
 * is idle, the receiver has it all. After a report the next mark is set KI_CURL_REPORT_MS later: with the next bytes,
 * or by the transport's timer. */

/* Returns true if `*ret_arrival` was set. Returns false for a connection that libcurl does not watch now. */
static bool read_arrival(const ki_curl_pool *pool, int local_port, ki_curl_arrival *ret_arrival) {
    const ki_curl_socket *socket = pool->sockets;
    while (socket && socket->local_port != local_port)
        socket = socket->next;
    struct tcp_info info = { .tcpi_bytes_received = 0 };
    socklen_t size = sizeof info;
    int unread = 0;
    int64_t now = ki_engine_clock(pool->owner->engine);
    if (!socket || getsockopt(socket->io.fd, IPPROTO_TCP, TCP_INFO, &info, &size) ||
        ioctl(socket->io.fd, FIONREAD, &unread))
        return false;
    int64_t received = (int64_t)info.tcpi_bytes_received, silent_ms = info.tcpi_last_data_recv;
    if (received < unread)
        return false;
    *ret_arrival = (ki_curl_arrival){ .received = received,
                                      .read = received - unread,
                                      .at = now - KI_MILLISECONDS(silent_ms + KI_CURL_TICK_MS) };
    return true;
}

/* Sets the mark, or the timer if it is too early. No byte arrived later than it was delivered: the program's own clock
 * can be ahead of the kernel's. */
static void set_mark(ki_exchange *exchange) {
    ki_curl_transport *transport = exchange->transport;
    if (exchange->report.has_mark)
        return;
    if (ki_engine_now(transport->engine) < exchange->report.next) {
        if (!ki_timer_is_set(&transport->report))
            ki_timer_set(&transport->report, exchange->report.next);
        return;
    }
    exchange->report.has_mark = read_arrival(exchange->pool, exchange->local_port, &exchange->report.mark);
    if (exchange->report.mark.at > exchange->last_received)
        exchange->report.mark.at = exchange->last_received;
}

void ki_curl_note_delivered(ki_exchange *exchange) {
    if (!exchange->sink.on_read)
        return;
    exchange->transport->unreported += !exchange->report.is_due;
    exchange->report.is_due = true;
    set_mark(exchange);
}

/* Returns true if the receiver has everything up to the mark: libcurl has read it, as it usually had when the mark was
 * set. */
static bool is_mark_reached(ki_exchange *exchange) {
    long timeout_ms = -1; /* 0: libcurl has more to do */
    if (!exchange->report.is_due || exchange->state != KI_EXCHANGE_ACTIVE || exchange->is_paused ||
        curl_multi_timeout(exchange->pool->multi, &timeout_ms) != CURLM_OK || timeout_ms == 0)
        return false;
    set_mark(exchange);
    ki_curl_arrival present = exchange->report.mark;
    return exchange->report.has_mark && (present.read >= exchange->report.mark.received ||
                                         (read_arrival(exchange->pool, exchange->local_port, &present) &&
                                          present.read >= exchange->report.mark.received));
}

bool ki_curl_report_one_read(ki_curl_transport *transport) {
    for (ki_exchange *exchange = transport->active; exchange; exchange = exchange->next) {
        if (!is_mark_reached(exchange))
            continue;
        int64_t until = exchange->report.mark.at;
        transport->unreported--;
        exchange->report.is_due = exchange->report.has_mark = false;
        exchange->report.next = ki_engine_now(transport->engine) + KI_MILLISECONDS(KI_CURL_REPORT_MS);
        exchange->sink.on_read(until, exchange->sink.user);
        return true;
    }
    return false;
}
