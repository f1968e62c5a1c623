/* event_sink.c: the requests of one write, and its retries.
 *
 * As in client-go, an error response is final, since the same request would get the same response. Other failures are
 * retried. One error response is retried: AlreadyExists for the create of a series' Event that the patch did not
 * find. */
#include "controllers/events/event_sink.h"

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/client/client.h"

#define RETRY_DELAY KI_SECONDS(10)
#define JITTER 0.25 /* events.k8s.io/v1: each delay grows by up to this fraction */

static void send(ki_event_sink *sink);

/* --- the end of a write ------------------------------------------------------------------------------------------- */

static void forget_write(ki_event_sink *sink) {
    sink->record = NULL;
    ki_timer_cancel(&sink->retry);
    ki_buffer_reset(&sink->create, KI_EVENT_RECORD_BYTES_MAX);
    ki_buffer_reset(&sink->patch, KI_EVENT_RECORD_BYTES_MAX);
}

static void finish(ki_event_sink *sink, ki_event_result result) {
    forget_write(sink);
    sink->done(result, sink->user);
}

static void log_failure(const ki_event_sink *sink, ki_log_level level, const char *what, const ki_error *err) {
    ki_log_write(ki_engine_log(sink->engine), level, "events", "%s: event %s about %s \"%s\": %s", what,
                 sink->record->reason, sink->record->regarding.kind, sink->record->regarding.name,
                 ki_error_message(err));
}

/* Returns true if the server rejected an object of a namespace that is being deleted. */
static bool is_namespace_terminating(const ki_error_response *error_response) {
    for (size_t i = 0; error_response && i < error_response->cause_count; i++)
        if (strcmp(error_response->causes[i].reason, "NamespaceTerminating") == 0)
            return true;
    return false;
}

/* --- tries -------------------------------------------------------------------------------------------------------- */

/* Returns the delay after a failed try: random in part, so that many clients do not retry at once. */
static int64_t delay_of(ki_event_sink *sink) {
    double random = ki_engine_random(sink->engine);
    if (sink->source->api == KI_EVENTS_V1)
        return (int64_t)((double)RETRY_DELAY * (1 + JITTER * random));
    return sink->tries_made == 1 ? (int64_t)((double)RETRY_DELAY * random) : RETRY_DELAY;
}

static void try_failed(ki_event_sink *sink, const ki_error *err) {
    sink->tries_made++;
    sink->tries_left--;
    bool is_final = err->code == KI_ERR_CANCELLED || err->code == KI_ERR_STATE;
    if (sink->tries_left > 0 && !is_final) {
        log_failure(sink, sink->tries_made == 1 ? KI_LOG_INFO : KI_LOG_DEBUG, "not written, tried again", err);
        ki_timer_set(&sink->retry, ki_engine_now(sink->engine) + delay_of(sink));
        return;
    }
    log_failure(sink, KI_LOG_WARNING, "not written", err);
    finish(sink, KI_EVENT_NOT_WRITTEN);
}

static void retry_due(ki_timer *timer, void *user) {
    (void)timer;
    send(user);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void handle_error_response(ki_event_sink *sink, const ki_error_response *error_response, const ki_error *err) {
    bool is_patch = sink->patch.size > 0;
    if (is_patch && !sink->is_creating && err->http_status == 404) {
        sink->is_creating = true;
        send(sink);
        return;
    }
    if (is_patch && sink->source->api == KI_EVENTS_V1 && ki_error_is_already_exists(err)) {
        sink->is_creating = false;
        try_failed(sink, err);
        return;
    }
    bool is_expected = ki_error_is_already_exists(err) || is_namespace_terminating(error_response);
    log_failure(sink, is_expected ? KI_LOG_DEBUG : KI_LOG_WARNING, "rejected by the server", err);
    finish(sink, KI_EVENT_REJECTED);
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    ki_event_sink *sink = user;
    ki_pending_request *pending = sink->pending;
    sink->pending = NULL;
    ki_pending_request_free(pending);
    if (!sink->record)
        return; /* cancelled */
    if (!err) {
        finish(sink, KI_EVENT_ACCEPTED);
        return;
    }
    const ki_error_response *error_response = response ? ki_response_error(response) : NULL;
    if (error_response) {
        handle_error_response(sink, error_response, err);
        return;
    }
    sink->is_creating = false;
    try_failed(sink, err);
}

static void send(ki_event_sink *sink) {
    bool is_v1 = sink->source->api == KI_EVENTS_V1;
    bool is_patch = sink->patch.size > 0 && !sink->is_creating;
    const ki_buffer *body = is_patch ? &sink->patch : &sink->create;
    const ki_client_request request =
        KI_CLIENT_REQUEST(.verb = is_patch ? KI_CLIENT_PATCH : KI_CLIENT_CREATE,
                          .resource = is_v1 ? KI_EVENTS_K8S_IO_EVENTS : KI_EVENTS,
                          .namespace_name = ki_event_namespace(sink->record), .name = is_patch ? sink->name : NULL,
                          .body = body->data, .body_size = body->size, .patch = KI_PATCH_STRATEGIC);
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_client_send(sink->client, &request, on_response, sink, &sink->pending, &err);
    if (!status)
        return;
    if (status != KI_ERR_NO_MEMORY)
        sink->tries_left = 1; /* a retry would fail the same way */
    try_failed(sink, &err);
}

ki_status ki_event_sink_write(ki_event_sink *sink, const ki_event_write *write) {
    const ki_event_record *record = write->record;
    const ki_event_outcome *outcome = &write->outcome;
    bool is_v1 = sink->source->api == KI_EVENTS_V1;
    ki_status status = is_v1 ? ki_event_write_v1(sink->source, record, outcome->count, outcome->last_ns, &sink->create)
                             : ki_event_write_core(sink->source, record, outcome, &sink->create);
    if (!status && outcome->count > 1)
        status = is_v1 ? ki_event_patch_v1(outcome->count, outcome->last_ns, &sink->patch)
                       : ki_event_patch_core(record, outcome, &sink->patch);
    if (status) {
        forget_write(sink);
        return status;
    }
    ki_event_name(sink->source, record, is_v1 ? record->name_ns : outcome->name_ns, sink->name);
    sink->record = record;
    sink->is_creating = false;
    sink->tries_left = write->tries;
    sink->tries_made = 0;
    ki_timer_set(&sink->retry, ki_engine_now(sink->engine));
    return KI_OK;
}

/* --- init, close -------------------------------------------------------------------------------------------------- */

void ki_event_sink_init(ki_event_sink *sink, ki_client *client, ki_engine *engine, const ki_event_source *source,
                        void (*done)(ki_event_result result, void *user), void *user) {
    *sink = (ki_event_sink){ .engine = engine, .client = client, .source = source, .done = done, .user = user };
    ki_buffer_init(&sink->create, ki_engine_allocator(engine), 0);
    ki_buffer_init(&sink->patch, ki_engine_allocator(engine), 0);
    ki_timer_init(&sink->retry, engine, retry_due, sink);
}

bool ki_event_sink_is_idle(const ki_event_sink *sink) {
    return !sink->record;
}

void ki_event_sink_skip_delay(ki_event_sink *sink) {
    sink->tries_left = 1;
    if (ki_timer_is_set(&sink->retry))
        ki_timer_set(&sink->retry, ki_engine_now(sink->engine));
}

void ki_event_sink_cancel(ki_event_sink *sink) {
    if (!sink->engine)
        return;
    forget_write(sink);
    if (sink->pending)
        ki_pending_request_end_cancelled(sink->pending); /* on_response clears sink->pending */
}

void ki_event_sink_close(ki_event_sink *sink) {
    if (!sink->engine)
        return;
    ki_event_sink_cancel(sink);
    ki_timer_close(&sink->retry);
    ki_buffer_free(&sink->create);
    ki_buffer_free(&sink->patch);
    sink->engine = NULL;
}
