/* namespace_lookup.c: see namespace_lookup.h. */
#include "src/client/namespace_lookup.h"

#include "src/client/http_list_watch.h"

#include "src/base/error.h"
#include "src/wire/status.h"

enum {
    HTTP_OK = 200
};

#define TIMEOUT KI_SECONDS(30)

static void on_head(const ki_response_head *head, void *user) {
    ki_namespace_lookup *lookup = user;
    lookup->status = head->status;
    ki_retry_after_note(&lookup->retry_after, head->retry_after_ms);
}

/* Reads as much as the Status of an error has; nothing of a namespace is needed. */
static void on_data(const char *data, size_t size, void *user) {
    ki_namespace_lookup *lookup = user;
    size_t room = lookup->status == HTTP_OK ? 0 : KI_STATUS_BODY_MAX - lookup->body.size;
    (void)ki_buffer_append(&lookup->body, data, size < room ? size : room); /* on lack of memory: uncertain */
}

/* Also notes a Retry-After. Only a Status says that there is no namespace: a proxy's 404 says nothing. */
static ki_namespace_found read_response(ki_namespace_lookup *lookup) {
    ki_error err = KI_ERROR_INIT;
    if (lookup->status == HTTP_OK)
        return KI_NAMESPACE_THERE;
    ki_status_to_error(ki_engine_allocator(lookup->engine), lookup->status,
                       (ki_str){ lookup->body.data, lookup->body.size }, -1, &err);
    ki_retry_after_note(&lookup->retry_after, err.retry_after_ms);
    return err.http_status == 404 && strcmp(err.reason, "NotFound") == 0 ? KI_NAMESPACE_MISSING
                                                                         : KI_NAMESPACE_UNCERTAIN;
}

static void on_end(const ki_error *err, void *user) {
    ki_namespace_lookup *lookup = user;
    ki_namespace_found found = err ? KI_NAMESPACE_UNCERTAIN : read_response(lookup);
    lookup->exchange = NULL;
    ki_buffer_free(&lookup->body);
    lookup->on_found(found, lookup->user);
}

void ki_namespace_lookup_init(ki_namespace_lookup *lookup, ki_engine *engine, ki_transport *transport) {
    *lookup = (ki_namespace_lookup){ .engine = engine, .transport = transport };
    ki_retry_after_init(&lookup->retry_after, engine);
    ki_buffer_init(&lookup->body, ki_engine_allocator(engine), KI_STATUS_BODY_MAX);
}

ki_status ki_namespace_lookup_begin(ki_namespace_lookup *lookup, const char *namespace_name,
                                    ki_on_namespace_found on_found, void *user, ki_error *err) {
    if (lookup->exchange)
        return KI_OK;
    ki_status status = ki_retry_after_check(&lookup->retry_after, namespace_name, err);
    if (status)
        return status;
    ki_buffer target;
    ki_buffer_init(&target, ki_engine_allocator(lookup->engine), 0);
    lookup->on_found = on_found;
    lookup->user = user;
    lookup->status = 0;
    status = ki_resource_path(&target, KI_NAMESPACES, NULL, namespace_name);
    const ki_request request = { .method = "GET", .target = target.data, .total_timeout_ns = TIMEOUT };
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = lookup };
    status = status ? ki_error_no_memory(err, "making a request")
                    : ki_transport_send(lookup->transport, &request, &sink, &lookup->exchange, err);
    ki_buffer_free(&target);
    return status;
}

void ki_namespace_lookup_cancel(ki_namespace_lookup *lookup) {
    ki_exchange *exchange = lookup->exchange;
    lookup->exchange = NULL;
    if (exchange)
        ki_transport_cancel(lookup->transport, exchange);
    ki_buffer_free(&lookup->body);
}
