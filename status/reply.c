/* reply.c: see reply.h. */
#include "status/reply.h"

#include "src/base/openmetrics.h"
#include "src/readiness/readiness.h"
#include "src/readiness/text.h"
#include "status/http/accept.h"
#include "status/http/gzip.h"
#include "status/page.h"

#include <string.h>

enum {
    PACKED_FROM = 1024, /* bytes; smaller bodies are not worth it */
    OK = 200,
    NOT_FOUND = 404,
    NOT_ALLOWED = 405,
    INTERNAL_ERROR = 500,
    UNAVAILABLE = 503
};

#define NANOSECONDS 1e9

static const char plain[] = "text/plain; charset=utf-8";
static const char prometheus[] = "text/plain; version=0.0.4; charset=utf-8";
static const char openmetrics[] = "application/openmetrics-text";

typedef struct exchange {
    const ki_reply_source *source;
    const ki_request_line *request;
    ki_reply *reply;
} exchange;

static ki_status take_picture(const exchange *x, ki_picture *picture) {
    const ki_sampler *sampler = x->source->sampler;
    return ki_picture_take(picture, sampler->allocator, true, sampler->factory, sampler->collect, sampler->user);
}

static void respond_livez(const exchange *x) {
    double late_s = ki_sampler_late_s(x->source->sampler);
    ki_buffer *out = &x->reply->body;
    if (late_s > 0) {
        x->reply->status = UNAVAILABLE;
        ki_buffer_append_string(out, "[-]loop has not run for ");
        ki_text_duration(out, late_s);
        ki_buffer_append_string(out, "\nlivez check failed\n");
    } else {
        ki_buffer_append_string(out, "ok\n");
    }
}

static void respond_readyz(const exchange *x) {
    ki_picture picture;
    if (take_picture(x, &picture))
        x->reply->body.failed = KI_ERR_NO_MEMORY;
    else if (!ki_readiness_write(&picture, x->request->is_verbose, &x->reply->body))
        x->reply->status = UNAVAILABLE;
    ki_picture_free(&picture);
}

/* Prometheus' format, unless the client prefers OpenMetrics by name: without an Accept header, as for curl, it is what
 * all parsers read. */
static void respond_metrics(const exchange *x) {
    const ki_sampler *sampler = x->source->sampler;
    const char *accept = x->request->accept;
    int weight = ki_http_weight(accept, openmetrics);
    char *text = NULL;
    ki_openmetrics samples;
    ki_openmetrics_init(&samples, sampler->allocator);
    samples.is_prometheus = weight == 0 || weight < ki_http_weight(accept, "text/plain");
    ki_status status = ki_factory_visit_metrics(sampler->factory, ki_openmetrics_add, &samples, NULL);
    if (!status && sampler->collect)
        sampler->collect(ki_openmetrics_add, &samples, sampler->user);
    if (status)
        samples.failed = status;
    x->reply->content_type = samples.is_prometheus ? prometheus : KI_METRICS_CONTENT_TYPE;
    if (ki_openmetrics_end(&samples, &text))
        x->reply->body.failed = KI_ERR_NO_MEMORY;
    else
        ki_buffer_append_string(&x->reply->body, text);
    ki_metrics_text_free(text);
}

static void respond_page(const exchange *x) {
    ki_sampler *sampler = x->source->sampler;
    ki_picture picture;
    x->reply->content_type = "text/html; charset=utf-8";
    if (take_picture(x, &picture)) {
        x->reply->body.failed = KI_ERR_NO_MEMORY;
    } else {
        const ki_page page = {
            .title = x->source->title,
            .process = x->source->process,
            .version = x->source->version,
            .picture = &picture,
            .history = &sampler->history,
            .running_s = (double)(ki_engine_now(sampler->engine) - x->source->started_ns) / NANOSECONDS,
            .loop_late_s = ki_sampler_late_s(sampler),
        };
        ki_page_write(&page, &x->reply->body);
    }
    ki_picture_free(&picture);
}

static void respond_script(const exchange *x) {
    x->reply->content_type = "text/javascript; charset=utf-8";
    ki_buffer_append_string(&x->reply->body, ki_page_script);
}

static const struct {
    const char *path;
    void (*respond)(const exchange *x);
} routes[] = {
    { "/livez", respond_livez }, { "/readyz", respond_readyz },  { "/metrics", respond_metrics },
    { "/", respond_page },       { "/page.js", respond_script },
};

static void respond(const exchange *x) {
    const char *method = x->request->method;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        x->reply->status = NOT_ALLOWED;
        ki_buffer_append_string(&x->reply->body, "only GET and HEAD\n");
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(x->request->path, routes[i].path) == 0) {
            routes[i].respond(x);
            return;
        }
    x->reply->status = NOT_FOUND;
    ki_buffer_append_string(&x->reply->body, "there are /, /livez, /readyz?verbose and /metrics\n");
}

static void pack(const exchange *x, const ki_allocator *allocator) {
    ki_buffer packed;
    ki_reply *reply = x->reply;
    if (reply->body.size < PACKED_FROM || !ki_http_accepts_gzip(x->request->accept_encoding) ||
        ki_http_gzip(allocator, reply->body.data, reply->body.size, &packed))
        return;
    ki_buffer_free(&reply->body);
    reply->body = packed;
    reply->is_packed = true;
}

void ki_reply_make(const ki_reply_source *source, const ki_request_line *request, ki_reply *ret_reply) {
    const ki_allocator *allocator = source->sampler->allocator;
    const exchange x = { source, request, ret_reply };
    *ret_reply = (ki_reply){ .status = OK, .content_type = plain };
    ki_buffer_init(&ret_reply->body, allocator, KI_REPLY_MAX);
    respond(&x);
    if (!ret_reply->body.failed) {
        pack(&x, allocator);
        return;
    }
    ki_buffer_free(&ret_reply->body);
    ki_buffer_init(&ret_reply->body, allocator, KI_REPLY_MAX);
    *ret_reply = (ki_reply){ .status = INTERNAL_ERROR, .content_type = plain, .body = ret_reply->body };
}
