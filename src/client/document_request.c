/* document_request.c: see document_request.h. */
#include "src/client/document_request.h"

#include "src/base/assert.h"
#include "src/wire/status.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    PATH_SIZE = 512 /* bytes of a path with its zero: a group or plural has at most 253, a version 63 */
};

#define TIMEOUT KI_SECONDS(30)

static void on_head(const ki_response_head *head, void *user) {
    ki_document_request *request = user;
    request->status = head->status;
    request->retry_after_ms = head->retry_after_ms;
    if (head->status == KI_DOCUMENT_OK)
        return;
    ki_retry_after_note(&request->retry_after, head->retry_after_ms);
    request->body.limit = KI_STATUS_BODY_MAX;
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
        ki_retry_after_note(&request->retry_after, failure.retry_after_ms);
        err = &failure;
    }
    yyjson_doc *doc = err ? NULL : parse(request);
    ki_buffer_free(&request->body);
    request->on_document(doc ? yyjson_doc_get_root(doc) : NULL, err, request->user);
    yyjson_doc_free(doc);
}

ki_status ki_document_request_send(ki_document_request *request, ki_on_document on_document, void *user, ki_error *err,
                                   const char *target, ...) {
    char path[PATH_SIZE];
    va_list args;
    va_start(args, target);
    int size = vsnprintf(path, sizeof path, target, args);
    va_end(args);
    KI_ASSERT(size > 0 && (size_t)size < sizeof path);
    (void)size;
    ki_status status = ki_retry_after_check(&request->retry_after, path, err);
    if (status)
        return status;
    request->on_document = on_document;
    request->user = user;
    request->status = 0;
    ki_buffer_free(&request->body);
    ki_buffer_init(&request->body, request->allocator, KI_DOCUMENT_MAX);
    const ki_request get = { .method = "GET", .target = path, .total_timeout_ns = TIMEOUT };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = request };
    return ki_transport_send(request->transport, &get, &sink, &request->exchange, err);
}

yyjson_val *ki_document_find(yyjson_val *array, const char *member, const char *name) {
    size_t index, count;
    yyjson_val *item;
    yyjson_arr_foreach(array, index, count, item) {
        if (ki_str_equals(ki_json_string(item, member), name))
            return item;
    }
    return NULL;
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
