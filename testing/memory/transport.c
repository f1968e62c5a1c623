/* transport.c: see transport.h. A request reaches the server in a task, so that no callback of the client or
 * of `serve` runs inside send. Loop only. */
#include "testing/memory/transport.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/transport/metered.h"

#include <string.h>

typedef struct memory_transport {
    ki_transport base; /* first member */
    ki_engine *engine;
    kt_memory_server server;
    void (*sent)(const ki_request *request, void *user); /* NULL: not wanted */
    struct kt_memory_call *first;                        /* list of open calls */
} memory_transport;

/* The server's call is the client's exchange. */
struct kt_memory_call {
    memory_transport *transport;
    struct kt_memory_call *next, *previous;
    ki_response_sink sink;
    ki_metered metered;
    void *server_user;
    ki_task arrival;
    ki_timer idle, total;
    int64_t idle_timeout_ns;
    bool served;   /* the server has the call */
    bool over;     /* ended or cancelled: no more callbacks */
    int callbacks; /* running callbacks, which still need the memory */
    /* copies of the request's parts */
    ki_request request;
    char *texts; /* one block: method, target, accept, content type, body */
};

static kt_memory_call *call_of(ki_exchange *exchange) {
    return (kt_memory_call *)(void *)exchange;
}

static void release(kt_memory_call *call) {
    KI_ASSERT(call->callbacks >= 0);
    if (!call->over || call->callbacks > 0)
        return;
    const ki_allocator *allocator = ki_engine_allocator(call->transport->engine);
    ki_free(allocator, call->texts);
    ki_free(allocator, call);
}

/* Stops all callbacks. The caller then calls release(), which frees the call after the last running callback. */
static void finish(kt_memory_call *call) {
    KI_ASSERT(!call->over);
    call->over = true;
    ki_task_cancel(&call->arrival);
    ki_timer_close(&call->idle);
    ki_timer_close(&call->total);
    KI_LIST_REMOVE(call->transport->first, call);
    ki_metered_end(&call->metered);
}

static void abandon(kt_memory_call *call) {
    memory_transport *transport = call->transport;
    if (call->served && transport->server.abandoned)
        transport->server.abandoned(call, transport->server.user);
}

static void touch(kt_memory_call *call) {
    if (call->idle_timeout_ns > 0)
        ki_timer_set(&call->idle, ki_engine_now(call->transport->engine) + call->idle_timeout_ns);
}

static void end(kt_memory_call *call, const ki_error *err) {
    finish(call);
    call->callbacks++;
    call->sink.on_end(err, call->sink.user);
    call->callbacks--;
    release(call);
}

static void timed_out(ki_timer *timer, void *user) {
    kt_memory_call *call = user;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_TIMEOUT, "%s",
                 timer == &call->idle ? "the server stopped sending" : "timed out waiting for a response");
    abandon(call);
    end(call, &err);
}

static void arrived(ki_task *task, void *user) {
    (void)task;
    kt_memory_call *call = user;
    memory_transport *transport = call->transport;
    call->served = true;
    call->callbacks++; /* keeps the request, because the server may end the call while it reads it */
    transport->server.serve(call, &call->request, transport->server.user);
    call->callbacks--;
    release(call);
}

/* --- the client's side --- */

static size_t room_for(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

static const char *keep(char **at, const char *text) {
    if (!text)
        return NULL;
    char *copy = *at;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static ki_status keep_request(kt_memory_call *call, const ki_request *request) {
    size_t size = room_for(request->method) + room_for(request->target) + room_for(request->accept) +
                  room_for(request->content_type) + request->body.size;
    call->texts = ki_alloc(ki_engine_allocator(call->transport->engine), size);
    if (!call->texts)
        return KI_ERR_NO_MEMORY;
    char *at = call->texts;
    call->request = *request;
    call->request.method = keep(&at, request->method);
    call->request.target = keep(&at, request->target);
    call->request.accept = keep(&at, request->accept);
    call->request.content_type = keep(&at, request->content_type);
    call->request.body.data = at;
    if (request->body.size)
        memcpy(at, request->body.data, request->body.size);
    return KI_OK;
}

static ki_status memory_send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                             ki_exchange **ret_exchange, ki_error *err) {
    memory_transport *transport = (memory_transport *)(void *)base;
    const ki_allocator *allocator = ki_engine_allocator(transport->engine);
    kt_memory_call *call = ki_alloc_zero(allocator, sizeof *call);
    if (!call)
        return ki_error_no_memory(err, "sending a request");
    call->transport = transport;
    call->sink = *sink;
    call->idle_timeout_ns = request->idle_timeout_ns;
    ki_task_init(&call->arrival, transport->engine, arrived, call);
    ki_timer_init(&call->idle, transport->engine, timed_out, call);
    ki_timer_init(&call->total, transport->engine, timed_out, call);
    if (keep_request(call, request)) {
        ki_free(allocator, call->texts);
        ki_free(allocator, call);
        return ki_error_no_memory(err, "sending a request");
    }
    ki_metered_begin(&call->metered, base->meter, request);
    KI_LIST_PREPEND(transport->first, call);
    touch(call);
    if (request->total_timeout_ns > 0)
        ki_timer_set(&call->total, ki_engine_now(transport->engine) + request->total_timeout_ns);
    ki_task_post(&call->arrival);
    if (transport->sent)
        transport->sent(request, transport->server.user);
    *ret_exchange = (ki_exchange *)(void *)call;
    return KI_OK;
}

static void memory_cancel(ki_exchange *exchange) {
    kt_memory_call *call = call_of(exchange);
    if (call->over)
        return; /* cancelled inside its own on_end */
    finish(call);
    call->callbacks++;
    abandon(call);
    call->callbacks--;
    release(call);
}

static void memory_free(ki_transport *base) {
    memory_transport *transport = (memory_transport *)(void *)base;
    while (transport->first)
        memory_cancel((ki_exchange *)(void *)transport->first);
    ki_free(ki_engine_allocator(transport->engine), transport);
}

static const ki_transport_ops memory_ops = { .send = memory_send, .cancel = memory_cancel, .free = memory_free };

ki_status kt_memory_transport_new(ki_engine *engine, const kt_memory_server *server, ki_transport **ret_transport,
                                  ki_error *err) {
    memory_transport *transport = ki_alloc_zero(ki_engine_allocator(engine), sizeof *transport);
    if (!transport)
        return ki_error_no_memory(err, "making a transport");
    transport->base.ops = &memory_ops;
    transport->engine = engine;
    transport->server = *server;
    *ret_transport = &transport->base;
    return KI_OK;
}

void kt_memory_transport_on_send(ki_transport *transport, void (*sent)(const ki_request *request, void *user)) {
    ((memory_transport *)(void *)transport)->sent = sent;
}

/* --- the server's side --- */

/* Returns true if the call is still open after a callback; otherwise frees it. */
static bool is_alive(kt_memory_call *call) {
    bool alive = !call->over;
    release(call);
    return alive;
}

bool kt_memory_call_head(kt_memory_call *call, const ki_response_head *head) {
    touch(call);
    ki_metered_head(&call->metered, head->status);
    call->callbacks++;
    call->sink.on_head(head, call->sink.user);
    call->callbacks--;
    return is_alive(call);
}

bool kt_memory_call_read(kt_memory_call *call, int64_t until) {
    if (!call->sink.on_read)
        return true;
    call->callbacks++;
    call->sink.on_read(until, call->sink.user);
    call->callbacks--;
    return is_alive(call);
}

bool kt_memory_call_data(kt_memory_call *call, const char *data, size_t size) {
    return kt_memory_call_late_data(call, data, size) &&
           kt_memory_call_read(call, ki_engine_now(call->transport->engine));
}

bool kt_memory_call_late_data(kt_memory_call *call, const char *data, size_t size) {
    touch(call);
    call->callbacks++;
    call->sink.on_data(data, size, call->sink.user);
    call->callbacks--;
    return is_alive(call);
}

void kt_memory_call_end(kt_memory_call *call, const ki_error *err) {
    end(call, err);
}

void kt_memory_call_set_user(kt_memory_call *call, void *user) {
    call->server_user = user;
}

void *kt_memory_call_user(const kt_memory_call *call) {
    return call->server_user;
}
