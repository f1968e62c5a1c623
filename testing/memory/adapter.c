/* adapter.c: see adapter.h. */
#include "testing/memory/adapter.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "testing/faults/stream.h"
#include "testing/request/watch.h"
#include "testing/rest/rest.h"

#include <stdio.h>
#include <string.h>

enum {
    BLOCK = 64 * 1024 /* bytes of a watch that are passed on at once */
};

typedef struct stream stream;

struct kt_memory_adapter {
    ki_engine *engine;
    kt_cluster *cluster;
    int64_t start_ms;
    int64_t start_ns;
    kt_memory_server server;
    const char *held; /* in the targets of watches that are held back; NULL: none is */
    stream *first;    /* list of open watches */
};

/* A call whose response is a watch. */
struct stream {
    kt_memory_adapter *adapter;
    kt_memory_call *call;
    kt_response response;
    char target[256]; /* its beginning */
    ki_task readable;
    ki_timer due;
    stream *previous;
    stream *next;
};

int64_t kt_memory_adapter_now_ms(const kt_memory_adapter *adapter) {
    return adapter->start_ms + (ki_engine_now(adapter->engine) - adapter->start_ns) / 1000000;
}

static void free_stream(stream *s) {
    kt_memory_adapter *adapter = s->adapter;
    KI_LIST_REMOVE(adapter->first, s);
    ki_task_cancel(&s->readable);
    ki_timer_close(&s->due);
    kt_response_free(&s->response);
    ki_free(ki_engine_allocator(adapter->engine), s);
}

static void end_stream(stream *s, const ki_error *err) {
    kt_memory_call *call = s->call;
    free_stream(s);
    kt_memory_call_end(call, err);
}

static void cut_for_memory(stream *s) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_UNEXPECTED_EOF, "the server ran out of memory");
    end_stream(s, &err);
}

/* Passes on the frames of the watch. Can free `s`. */
static void pass_frames(stream *s) {
    kt_memory_adapter *adapter = s->adapter;
    kt_watch_state state = KT_WATCH_MORE;
    if (adapter->held && strstr(s->target, adapter->held))
        return;
    while (state == KT_WATCH_MORE) {
        ki_buffer block;
        ki_buffer_init(&block, ki_engine_allocator(adapter->engine), 0);
        if (kt_watch_read(s->response.watch, kt_memory_adapter_now_ms(adapter), &block, BLOCK, NULL, &state)) {
            ki_buffer_free(&block);
            cut_for_memory(s);
            return;
        }
        bool is_open = !block.size || kt_memory_call_data(s->call, block.data, block.size);
        ki_buffer_free(&block);
        if (!is_open)
            return; /* abandoned: `s` is freed */
        if (state == KT_WATCH_MORE && !ki_engine_work(adapter->engine, 1)) {
            ki_task_post(&s->readable);
            return;
        }
    }
    if (state == KT_WATCH_ENDED) {
        end_stream(s, NULL);
        return;
    }
    int64_t deadline_ms = kt_watch_deadline(s->response.watch);
    if (deadline_ms == INT64_MAX)
        ki_timer_cancel(&s->due);
    else
        ki_timer_set(&s->due, adapter->start_ns + (deadline_ms - adapter->start_ms) * 1000000);
}

static void on_task(ki_task *task, void *user) {
    (void)task;
    pass_frames(user);
}

static void on_due(ki_timer *timer, void *user) {
    (void)timer;
    pass_frames(user);
}

/* Called when the cluster changes. Posts a task, because it must not call the cluster. */
static void wake_stream(void *user) {
    stream *s = user;
    ki_task_post(&s->readable);
}

void kt_memory_adapter_hold(kt_memory_adapter *adapter, const char *text) {
    adapter->held = text;
    for (stream *s = adapter->first; s; s = s->next)
        ki_task_post(&s->readable);
}

/* Takes ownership of the response. */
static stream *start_stream(kt_memory_adapter *adapter, kt_memory_call *call, const char *target,
                            kt_response *response) {
    stream *s = ki_alloc_zero(ki_engine_allocator(adapter->engine), sizeof *s);
    if (!s) {
        kt_response_free(response);
        return NULL;
    }
    ki_timer_init(&s->due, adapter->engine, on_due, s);
    s->adapter = adapter;
    s->call = call;
    s->response = *response;
    snprintf(s->target, sizeof s->target, "%s", target);
    ki_task_init(&s->readable, adapter->engine, on_task, s);
    KI_LIST_PREPEND(adapter->first, s);
    kt_watch_set_wake(s->response.watch, wake_stream, s);
    return s;
}

static void on_request(kt_memory_call *call, const ki_request *request, void *user) {
    kt_memory_adapter *adapter = user;
    const kt_request rest_request = {
        .method = request->method,
        .target = request->target,
        .accept = request->accept ? request->accept : "application/json",
        .content_type = request->content_type,
        .body = request->body,
        .from_network = true /* faults apply; of those of the network the adapter injects "close" and "silent" */
    };
    ki_error no_memory = KI_ERROR_INIT, closed = KI_ERROR_INIT;
    kt_response response;
    stream *s = NULL;

    ki_error_set(&no_memory, KI_ERR_UNEXPECTED_EOF, "the server ran out of memory");
    ki_error_set(&closed, KI_ERR_UNEXPECTED_EOF, "the server closed the connection before a response");
    if (kt_rest_handle(adapter->cluster, &rest_request, kt_memory_adapter_now_ms(adapter), &response)) {
        kt_memory_call_end(call, &no_memory);
        return;
    }
    const kt_injection *injection = response.faults ? &response.faults->injection : NULL;
    bool is_silent = injection && injection->silent_at == 0, is_closed = injection && injection->close;
    if (is_silent || is_closed) {
        kt_response_free(&response);
        if (is_closed)
            kt_memory_call_end(call, &closed);
        return; /* a silent call ends when the client abandons it */
    }
    const ki_response_head head = { .status = response.status,
                                    .retry_after_ms =
                                        response.retry_after_s < 0 ? -1 : (int64_t)response.retry_after_s * 1000,
                                    .content_type = response.content_type ? response.content_type : "" };
    if (response.watch) {
        s = start_stream(adapter, call, request->target, &response);
        if (!s) {
            kt_memory_call_end(call, &no_memory);
            return;
        }
        kt_memory_call_set_user(call, s);
        if (kt_memory_call_head(call, &head))
            pass_frames(s);
        return;
    }
    bool is_open = kt_memory_call_head(call, &head);
    if (is_open && response.body.size)
        is_open = kt_memory_call_data(call, response.body.data, response.body.size);
    kt_response_free(&response);
    if (is_open)
        kt_memory_call_end(call, NULL);
}

static void on_abandoned(kt_memory_call *call, void *user) {
    stream *s = kt_memory_call_user(call);
    (void)user;
    if (s)
        free_stream(s);
}

ki_status kt_memory_adapter_new(ki_engine *engine, kt_cluster *cluster, int64_t start_ms,
                                kt_memory_adapter **ret_adapter, ki_error *err) {
    kt_memory_adapter *adapter = ki_alloc_zero(ki_engine_allocator(engine), sizeof *adapter);
    if (!adapter)
        return ki_error_no_memory(err, "making a server in memory");
    adapter->engine = engine;
    adapter->cluster = cluster;
    adapter->start_ms = start_ms;
    adapter->start_ns = ki_engine_now(engine);
    adapter->server = (kt_memory_server){ .serve = on_request, .abandoned = on_abandoned, .user = adapter };
    *ret_adapter = adapter;
    return KI_OK;
}

void kt_memory_adapter_free(kt_memory_adapter *adapter) {
    if (!adapter)
        return;
    while (adapter->first)
        free_stream(adapter->first);
    ki_free(ki_engine_allocator(adapter->engine), adapter);
}

const kt_memory_server *kt_memory_adapter_server(const kt_memory_adapter *adapter) {
    return &adapter->server;
}
