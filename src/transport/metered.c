/* metered.c: see metered.h. An exchange has a record of its own here, which passes the callbacks on. `mutex` guards the
 * counts; everything else belongs to the loop.
 *
 * As in client-go each attempt is counted when its response begins, or when it fails before, as "<error>", and a watch
 * has no duration. Otherwise than in client-go a duration is that of one attempt, without the wait for the rate limit
 * and for a retry. */
#include "src/transport/metered.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/engine/thread.h"
#include "src/transport/proxy.h"

#include <stdio.h>
#include <string.h>

enum {
    HOST_MAX = 255,  /* bytes of the label */
    SERIES_MAX = 64, /* pairs of method and status; further pairs are not counted */
    NO_RESPONSE = 0  /* in place of a status */
};

/* A raw request can have any method. */
static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "OTHER" };
#define METHODS (sizeof methods / sizeof *methods)

static const ki_metric_bound bounds[] = {
    KI_METRIC_BOUND(0.005), KI_METRIC_BOUND(0.025), KI_METRIC_BOUND(0.1),  KI_METRIC_BOUND(0.25),
    KI_METRIC_BOUND(0.5),   KI_METRIC_BOUND(1.0),   KI_METRIC_BOUND(2.0),  KI_METRIC_BOUND(4.0),
    KI_METRIC_BOUND(8.0),   KI_METRIC_BOUND(15.0),  KI_METRIC_BOUND(30.0), KI_METRIC_BOUND(60.0),
};

static const ki_metric requests = { .name = "rest_client_requests",
                                    .help = "Number of HTTP requests, partitioned by status code, method, and host",
                                    .type = KI_METRIC_COUNTER };
static const ki_metric duration = { .name = "rest_client_request_duration_seconds",
                                    .help = "Request latency in seconds. Broken down by verb, and host",
                                    .type = KI_METRIC_HISTOGRAM,
                                    .unit = "seconds",
                                    KI_METRIC_BOUNDS(bounds) };

typedef struct series {
    size_t method;
    int status;
    uint64_t count;
} series;

typedef struct counts {
    series of_status[SERIES_MAX];
    size_t used;
    ki_histogram durations[METHODS];
} counts;

typedef struct metered_exchange metered_exchange;

typedef struct metered_transport {
    ki_transport base; /* must be first */
    ki_engine *engine;
    ki_transport *inner;
    char host[HOST_MAX + 1];
    metered_exchange *first;
    ki_mutex mutex;
    counts counts; /* under `mutex` */
} metered_transport;

struct metered_exchange {
    metered_exchange *next, *previous;
    metered_transport *owner;
    ki_exchange *inner;
    ki_response_sink sink;
    size_t method;
    int64_t sent_at;
    bool is_endless, has_head;
    bool is_ending; /* inside the receiver's on_end, which may still cancel */
};

static metered_exchange *exchange_of(const ki_exchange *exchange) {
    return (metered_exchange *)(uintptr_t)exchange;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

static size_t method_of(const char *method) {
    size_t at = 0;
    while (at < METHODS - 1 && strcmp(methods[at], method) != 0)
        at++;
    return at;
}

static void count(metered_exchange *self, int status) {
    metered_transport *owner = self->owner;
    counts *counted = &owner->counts;
    size_t at = 0;
    ki_mutex_lock(&owner->mutex);
    while (at < counted->used &&
           (counted->of_status[at].method != self->method || counted->of_status[at].status != status))
        at++;
    KI_ASSERT(counted->used <= SERIES_MAX);
    if (at == counted->used && at < SERIES_MAX)
        counted->of_status[counted->used++] = (series){ .method = self->method, .status = status };
    if (at < counted->used)
        counted->of_status[at].count++;
    ki_mutex_unlock(&owner->mutex);
}

/* Counts the end of an exchange. */
static void note_end(metered_exchange *self) {
    metered_transport *owner = self->owner;
    if (!self->has_head)
        count(self, NO_RESPONSE);
    if (self->is_endless)
        return;
    int64_t took = ki_engine_clock(owner->engine) - self->sent_at;
    ki_mutex_lock(&owner->mutex);
    ki_histogram_observe(&owner->counts.durations[self->method], &duration, took);
    ki_mutex_unlock(&owner->mutex);
}

static bool has_observations(const ki_histogram *histogram) {
    size_t at = 0;
    while (at <= duration.bound_count && histogram->counts[at] == 0)
        at++;
    return at <= duration.bound_count;
}

void ki_metered_transport_visit(ki_transport *transport, const char *name, const ki_metrics_visit *to) {
    metered_transport *self = (metered_transport *)(void *)transport;
    ki_mutex_lock(&self->mutex);
    const counts now = self->counts;
    ki_mutex_unlock(&self->mutex);
    for (size_t i = 0; i < now.used; i++) {
        char code[16];
        const series *of = &now.of_status[i];
        if (of->status == NO_RESPONSE)
            snprintf(code, sizeof code, "<error>");
        else
            snprintf(code, sizeof code, "%d", of->status);
        const ki_label labels[] = {
            { "name", name }, { "code", code }, { "method", methods[of->method] }, { "host", self->host }
        };
        ki_metrics_pass(to, &requests, labels, sizeof labels / sizeof *labels, (double)of->count);
    }
    for (size_t i = 0; i < METHODS; i++) {
        const ki_label labels[] = { { "name", name }, { "verb", methods[i] }, { "host", self->host } };
        if (has_observations(&now.durations[i]))
            ki_metrics_pass_histogram(to, &duration, labels, sizeof labels / sizeof *labels, &now.durations[i]);
    }
}

/* --- exchanges ---------------------------------------------------------------------------------------------------- */

static void free_exchange(metered_exchange *self) {
    ki_free(ki_engine_allocator(self->owner->engine), self);
}

/* The receiver may cancel inside its callbacks, which frees the record: each callback passes on last. */
static void on_head(const ki_response_head *head, void *user) {
    metered_exchange *self = user;
    KI_ASSERT(!self->has_head && !self->is_ending);
    self->has_head = true;
    count(self, head->status);
    if (self->sink.on_head)
        self->sink.on_head(head, self->sink.user);
}

static void on_data(const char *data, size_t size, void *user) {
    const metered_exchange *self = user;
    KI_ASSERT(self->has_head && !self->is_ending);
    self->sink.on_data(data, size, self->sink.user);
}

static void on_read(int64_t until, void *user) {
    const metered_exchange *self = user;
    self->sink.on_read(until, self->sink.user);
}

static void on_end(const ki_error *err, void *user) {
    metered_exchange *self = user;
    KI_ON_LOOP(self->owner->engine);
    KI_ASSERT(!self->is_ending);
    note_end(self);
    KI_LIST_REMOVE(self->owner->first, self);
    self->is_ending = true;
    self->sink.on_end(err, self->sink.user);
    free_exchange(self);
}

static ki_status send_request(ki_transport *transport, const ki_request *request, const ki_response_sink *sink,
                              ki_exchange **ret_exchange, ki_error *err) {
    metered_transport *owner = (metered_transport *)(void *)transport;
    metered_exchange *self = ki_alloc_zero(ki_engine_allocator(owner->engine), sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "sending a request");
    *self = (metered_exchange){ .owner = owner,
                                .sink = *sink,
                                .method = method_of(request->method),
                                .sent_at = ki_engine_clock(owner->engine),
                                .is_endless = request->endless };
    const ki_response_sink passing = { .on_head = on_head,
                                       .on_data = sink->on_data ? on_data : NULL,
                                       .on_read = sink->on_read ? on_read : NULL,
                                       .on_end = on_end,
                                       .user = self };
    KI_LIST_PREPEND(owner->first, self);
    ki_status status = ki_transport_send(owner->inner, request, &passing, &self->inner, err);
    if (status) {
        KI_LIST_REMOVE(owner->first, self);
        free_exchange(self);
        return status;
    }
    *ret_exchange = (ki_exchange *)(void *)self;
    return KI_OK;
}

static void cancel(ki_exchange *exchange) {
    metered_exchange *self = exchange_of(exchange);
    ki_transport_cancel(self->owner->inner, self->inner);
    if (self->is_ending)
        return;
    note_end(self);
    KI_LIST_REMOVE(self->owner->first, self);
    free_exchange(self);
}

static void pause_exchange(ki_exchange *exchange, bool is_paused) {
    const metered_exchange *self = exchange_of(exchange);
    ki_transport_pause(self->owner->inner, self->inner, is_paused);
}

static bool waits_for(const ki_exchange *exchange, char *text, size_t size) {
    const metered_exchange *self = exchange_of(exchange);
    return ki_transport_waits_for(self->owner->inner, self->inner, text, size);
}

static void hide(ki_transport *transport, char *text, size_t size) {
    ki_transport_hide(((metered_transport *)(void *)transport)->inner, text, size);
}

/* --- new, free ---------------------------------------------------------------------------------------------------- */

static void free_transport(ki_transport *transport) {
    metered_transport *self = (metered_transport *)(void *)transport;
    while (self->first)
        cancel((ki_exchange *)(void *)self->first);
    ki_mutex_destroy(&self->mutex);
    ki_free(ki_engine_allocator(self->engine), self);
}

static const ki_transport_ops ops = { .send = send_request,
                                      .cancel = cancel,
                                      .free = free_transport,
                                      .waits_for = waits_for,
                                      .pause = pause_exchange,
                                      .hide = hide };

/* Host and port as in the URL, as client-go has them. */
static void set_host(metered_transport *self, ki_str url) {
    const ki_str host = url.size ? ki_server_parts_of(url).host : KI_STR("none");
    size_t size = url.size ? 0 : host.size, most = url.size ? (size_t)(url.data + url.size - host.data) : 0;
    while (size < most && host.data[size] != '/')
        size++;
    snprintf(self->host, sizeof self->host, "%.*s", (int)(size < HOST_MAX ? size : HOST_MAX), host.data);
}

ki_status ki_metered_transport_new(ki_engine *engine, ki_transport *inner, ki_str server_url,
                                   ki_transport **ret_transport, ki_error *err) {
    metered_transport *self = ki_alloc_zero(ki_engine_allocator(engine), sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "making a transport");
    ki_status status = ki_mutex_init(&self->mutex, err);
    if (status) {
        ki_free(ki_engine_allocator(engine), self);
        return status;
    }
    self->base.ops = &ops;
    self->engine = engine;
    self->inner = inner;
    set_host(self, server_url);
    *ret_transport = &self->base;
    return KI_OK;
}
