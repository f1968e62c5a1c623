/* document_request.c: see document_request.h. */
#include "src/client/document_request.h"

#include "src/base/error.h"
#include "src/wire/status.h"

#define TIMEOUT KI_SECONDS(30)

static void on_head(const ki_response_head *head, void *user) {
    ki_document_request *request = user;
    request->status = head->status;
    request->retry_after_ms = head->retry_after_ms;
    if (head->status != KI_DOCUMENT_OK)
        ki_retry_after_note(&request->retry_after, head->retry_after_ms);
}

static void on_data(const char *data, size_t size, void *user) {
    ki_document_request *request = user;
    (void)ki_buffer_append(&request->body, data, size); /* parse checks `failed` */
}

/* Returns NULL for what is no document. */
static yyjson_doc *parse(const ki_document_request *request) {
    yyjson_doc *doc;
    ki_str text = { request->body.data, request->body.size };
    bool is_usable = request->status == KI_DOCUMENT_OK && !request->body.failed;
    return is_usable && !ki_json_parse(request->allocator, text, &doc, NULL) ? doc : NULL;
}

static void on_end(const ki_error *err, void *user) {
    ki_document_request *request = user;
    const ki_buffer *body = &request->body;
    ki_error failure = KI_ERROR_INIT;
    request->exchange = NULL;
    if (!err && request->status != KI_DOCUMENT_OK) {
        ki_transport_hide(request->transport, body->data, body->size);
        ki_status_to_error(request->allocator, request->status, (ki_str){ body->data, body->size },
                           request->retry_after_ms, &failure);
        err = &failure;
    }
    yyjson_doc *doc = err ? NULL : parse(request);
    ki_buffer_free(&request->body);
    request->on_document(doc ? yyjson_doc_get_root(doc) : NULL, err, request->user);
    yyjson_doc_free(doc);
}

static void append_target(ki_buffer *target, const char *group, const char *version) {
    const char *const segments[] = { group && group[0] ? group : NULL, version };
    ki_buffer_append_string(target, group && !group[0] ? "/api" : "/apis");
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
        if (!segments[i])
            continue;
        ki_buffer_append_char(target, '/');
        ki_buffer_append_url(target, ki_str_of(segments[i]));
    }
}

ki_status ki_document_request_send(ki_document_request *request, const char *group, const char *version,
                                   ki_on_document on_document, void *user, ki_error *err) {
    ki_status status = ki_retry_after_check(&request->retry_after, "discovery", err);
    if (status)
        return status;
    ki_buffer target;
    ki_buffer_init(&target, request->allocator, 0);
    append_target(&target, group, version);
    request->on_document = on_document;
    request->user = user;
    request->status = 0;
    ki_buffer_free(&request->body);
    ki_buffer_init(&request->body, request->allocator, KI_DOCUMENT_MAX);
    const ki_request get = { .method = "GET", .target = target.data, .total_timeout_ns = TIMEOUT };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = request };
    status = target.failed ? ki_error_no_memory(err, "making a request")
                           : ki_transport_send(request->transport, &get, &sink, &request->exchange, err);
    ki_buffer_free(&target);
    return status;
}

void ki_document_request_init(ki_document_request *request, ki_engine *engine, ki_transport *transport) {
    *request = (ki_document_request){ .allocator = ki_engine_allocator(engine), .transport = transport };
    ki_retry_after_init(&request->retry_after, engine);
    ki_buffer_init(&request->body, request->allocator, KI_DOCUMENT_MAX);
}

void ki_document_request_cancel(ki_document_request *request) {
    ki_exchange *exchange = request->exchange;
    request->exchange = NULL;
    if (exchange)
        ki_transport_cancel(request->transport, exchange);
    ki_buffer_free(&request->body);
}
