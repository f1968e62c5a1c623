/* metered.c: see metered.h. `mutex` guards the counts; everything else belongs to the loop.
 *
 * As in client-go each attempt is counted when its response begins, or when it fails before, as "<error>", and a watch
 * has no duration. Otherwise than in client-go a duration is that of one attempt, without the wait for the rate limit
 * and for a retry. */
#include "src/transport/metered.h"

#include "src/base/assert.h"
#include "src/base/error.h"
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

struct ki_meter {
    ki_engine *engine;
    char host[HOST_MAX + 1];
    ki_mutex mutex;
    counts counts; /* under `mutex` */
};

/* --- counting ----------------------------------------------------------------------------------------------------- */

static size_t method_of(const char *method) {
    size_t at = 0;
    while (at < METHODS - 1 && strcmp(methods[at], method) != 0)
        at++;
    return at;
}

static void count(ki_metered *self, int status) {
    ki_meter *owner = self->meter;
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

void ki_metered_begin(ki_metered *self, ki_meter *meter, const ki_request *request) {
    KI_ASSERT(!self->meter);
    if (meter)
        *self = (ki_metered){ .meter = meter,
                              .method = method_of(request->method),
                              .sent_at = ki_engine_clock(meter->engine),
                              .is_endless = request->endless };
}

void ki_metered_head(ki_metered *self, int status) {
    KI_ASSERT(!self->has_head);
    self->has_head = true;
    if (self->meter)
        count(self, status);
}

void ki_metered_end(ki_metered *self) {
    ki_meter *owner = self->meter;
    if (!owner)
        return;
    if (!self->has_head)
        count(self, NO_RESPONSE);
    self->meter = NULL;
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

void ki_meter_visit(ki_meter *self, const char *name, const ki_metrics_visit *to) {
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

/* --- new, free ---------------------------------------------------------------------------------------------------- */

/* Host and port as in the URL, as client-go has them. */
static void set_host(ki_meter *self, ki_str url) {
    const ki_str host = url.size ? ki_server_parts_of(url).host : KI_STR("none");
    size_t size = url.size ? 0 : host.size, most = url.size ? (size_t)(url.data + url.size - host.data) : 0;
    while (size < most && host.data[size] != '/')
        size++;
    snprintf(self->host, sizeof self->host, "%.*s", (int)(size < HOST_MAX ? size : HOST_MAX), host.data);
}

ki_status ki_meter_new(ki_engine *engine, ki_str server_url, ki_meter **ret_meter, ki_error *err) {
    ki_meter *self = ki_alloc_zero(ki_engine_allocator(engine), sizeof *self);
    if (!self)
        return ki_error_no_memory(err, "making a transport");
    ki_status status = ki_mutex_init(&self->mutex, err);
    if (status) {
        ki_free(ki_engine_allocator(engine), self);
        return status;
    }
    self->engine = engine;
    set_host(self, server_url);
    *ret_meter = self;
    return KI_OK;
}

void ki_meter_free(ki_meter *self) {
    if (!self)
        return;
    ki_mutex_destroy(&self->mutex);
    ki_free(ki_engine_allocator(self->engine), self);
}
