/* pending_request.c: one request from sending to its end: its place among those in flight and in the rate limit, its
 * attempts, its response.
 *
 *     posted ──► queued (in flight) ──► queued (the rate limit) ──► sent ──► response ──► ended
 *                   ▲                                                 │
 *                   └───────────────────── waiting to retry ◄─────────┘  429, 5xx with Retry-After; a refused stream;
 *                                                                        a GET that was cut
 *
 * A request takes its place in flight first, so that what waited there does not exceed the rate limit later.
 *
 * Everything runs on the loop except ki_pending_request_start, _cancel and _free. A callback may cancel the request.
 * The memory is freed with the last reference: the client's list, the program's handle, and functions on the stack that
 * use the request. */
#include "src/client/client.h"
#include "src/client/outgoing.h"
#include "src/client/response.h"
#include "src/client/term.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/wire/list_decoder.h"
#include "src/wire/status.h"

#include <stdio.h>
#include <strings.h>

enum {
    RETRY_CUT_MS = 1000, /* delay before a request that was cut is sent again */
    REASON_MAX = 160
};

struct ki_pending_request {
    ki_refcount refs;
    ki_client *client; /* invalid once the request has ended */
    const ki_allocator *allocator;
    /* under the client's mutex */
    ki_pending_request *next, *previous;
    /* constant */
    ki_outgoing out;
    ki_response_handler on_response;
    bool (*on_data)(const void *data, size_t size, void *user);
    void *user;
    ki_throttle *throttle; /* NULL: no limit */
    bool is_counted;       /* takes a place among the client's requests in flight */
    size_t response_max;
    bool is_once;
    int64_t deadline; /* INT64_MAX: none */
    /* loop only */
    ki_term_place place; /* in its term of leadership */
    ki_write *write;     /* in the log of the term; NULL: none */
    ki_task start, cancel;
    ki_timer deadline_timer, retry_timer;
    ki_ticket ticket, place_ticket; /* for the rate limit; for a place in flight */
    bool has_place;                 /* in flight */
    ki_exchange *exchange;
    int retries;
    bool has_ended;
    /* of the current attempt */
    ki_response *response;
    ki_list_decoder *list;
    ki_error failure; /* error of the decoder's callback; code 0: none */
    int64_t retry_after_ms;
};

static void attempt(ki_pending_request *pending);

/* --- new, ended, freed -------------------------------------------------------------------------------------------- */

static void ref(ki_pending_request *pending) {
    ki_refcount_inc(&pending->refs);
}

static void unref(ki_pending_request *pending) {
    if (!ki_refcount_dec(&pending->refs))
        return;
    ki_outgoing_free(pending->allocator, &pending->out);
    ki_free(pending->allocator, pending);
}

void ki_pending_request_free(ki_pending_request *pending) {
    if (pending)
        unref(pending);
}

static void add_to_client(ki_client *client, ki_pending_request *pending) {
    KI_HELD(&client->mutex);
    KI_ASSERT(!client->is_closed);
    KI_LIST_PREPEND(client->first, pending);
}

static void remove_from_client(ki_client *client, ki_pending_request *pending) {
    ki_mutex_lock(&client->mutex);
    KI_LIST_REMOVE(client->first, pending);
    ki_mutex_unlock(&client->mutex);
}

static void forget_attempt(ki_pending_request *pending) {
    ki_exchange *exchange = pending->exchange;
    KI_ON_LOOP(pending->client->engine);
    KI_ASSERT(!pending->has_place || !pending->place_ticket.waiting);
    pending->exchange = NULL;
    if (pending->has_place)
        ki_in_flight_leave(&pending->client->in_flight);
    pending->has_place = false;
    if (exchange)
        ki_transport_cancel(pending->client->transport, exchange);
    ki_list_decoder_free(pending->list);
    pending->list = NULL;
    ki_response_unref(pending->response);
    pending->response = NULL;
}

static void end_write(ki_pending_request *pending, const ki_response *response) {
    if (pending->write)
        pending->place.term.log->ended(pending->write, response);
    pending->write = NULL;
}

/* Ends the request: calls on_response, once, and drops the list's reference. `why` NULL: success. */
static void finish(ki_pending_request *pending, const ki_error *why) {
    ki_client *client = pending->client;
    if (pending->has_ended)
        return;
    KI_ON_LOOP(client->engine);
    pending->has_ended = true;
    ki_error err = KI_ERROR_INIT;
    if (why) {
        err = *why;
        if (!pending->is_once)
            ki_error_prefix(&err, "%s", pending->out.what);
    }
    ki_response *response = pending->response;
    pending->response = NULL; /* owned by this function; forget_attempt must not free it */
    forget_attempt(pending);
    ki_throttle_leave(pending->throttle, &pending->ticket);
    ki_in_flight_withdraw(&client->in_flight, &pending->place_ticket);
    end_write(pending, why ? NULL : response); /* before on_response, which may end the reconcile */
    remove_from_client(client, pending);       /* after this no thread posts its tasks */
    ki_task_cancel(&pending->start);
    ki_task_cancel(&pending->cancel);
    ki_timer_close(&pending->deadline_timer);
    ki_timer_close(&pending->retry_timer);
    const ki_term term = pending->place.term, *outer = ki_term_swap(&term);
    pending->on_response(why && !(response && response->error_response) ? NULL : response, why ? &err : NULL,
                         pending->user);
    ki_term_swap(outer);
    ki_term_leave(&pending->place);
    ki_response_unref(response);
    KI_ASSERT(!pending->exchange && !pending->has_place && !pending->ticket.waiting && !pending->place_ticket.waiting);
    unref(pending);
}

static void fail_with(ki_pending_request *pending, ki_status status, const char *message) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, status, "%s", message);
    finish(pending, &err);
}

void ki_pending_request_end_cancelled(ki_pending_request *pending) {
    fail_with(pending, KI_ERR_CANCELLED, "cancelled");
}

static void term_ended(void *user) {
    fail_with(user, KI_ERR_CANCELLED, "the term of leadership has ended");
}

/* --- retries ------------------------------------------------------------------------------------------------------ */

static bool is_before_deadline(const ki_pending_request *pending, int64_t delay_ns, int64_t *ret_when) {
    *ret_when = ki_time_after(ki_engine_now(pending->client->engine), delay_ns);
    return *ret_when < pending->deadline || (*ret_when == INT64_MAX && pending->deadline == INT64_MAX);
}

/* Schedules a retry. Returns false if no retry is left or the deadline comes first. */
static bool retry_in(ki_pending_request *pending, int64_t delay_ms) {
    KI_ASSERT(!pending->has_ended && delay_ms >= 0);
    int64_t when;
    int64_t delay_ns = delay_ms < INT64_MAX / KI_MILLISECONDS(1) ? KI_MILLISECONDS(delay_ms) : INT64_MAX;
    if (pending->is_once || pending->retries >= KI_CLIENT_MAX_RETRIES || !is_before_deadline(pending, delay_ns, &when))
        return false;
    KI_ASSERT(!ki_timer_is_set(&pending->retry_timer));
    pending->retries++;
    forget_attempt(pending);
    ki_timer_set(&pending->retry_timer, when);
    return true;
}

static void retry_due(ki_timer *timer, void *user) {
    (void)timer;
    KI_ASSERT(((ki_pending_request *)user)->retries > 0);
    attempt(user);
}

static void deadline_passed(ki_timer *timer, void *user) {
    (void)timer;
    ki_pending_request *pending = user;
    char cause[REASON_MAX], message[2 * REASON_MAX] = "timed out waiting for a response";
    if (pending->place_ticket.waiting)
        snprintf(message, sizeof message, "timed out waiting for the %zu requests of the client in flight",
                 pending->client->in_flight.count);
    else if (pending->ticket.waiting)
        snprintf(message, sizeof message, "timed out waiting for the client's rate limit");
    else if (!pending->exchange)
        snprintf(message, sizeof message, "timed out waiting to retry");
    else if (ki_transport_waits_for(pending->client->transport, pending->exchange, cause, sizeof cause))
        snprintf(message, sizeof message, "timed out waiting for a response: %s", cause);
    fail_with(pending, KI_ERR_TIMEOUT, message);
}

/* --- the response ------------------------------------------------------------------------------------------------- */

static bool is_good(const ki_pending_request *pending) {
    return pending->response->http_status >= 200 && pending->response->http_status < 300;
}

/* Sets the reason AlreadyExists for a 409 to a POST without a reason (from a proxy). For other methods such a 409 is a
 * conflict. */
static void name_conflict(const ki_pending_request *pending, ki_error *err) {
    if (err->http_status != 409 || err->reason[0] || strcmp(pending->out.method, "POST") != 0)
        return;
    snprintf(err->reason, sizeof err->reason, "AlreadyExists");
    err->category = KI_CATEGORY_REQUEST;
}

static void handle_error_response(ki_pending_request *pending) {
    ki_response *response = pending->response;
    ki_error err = KI_ERROR_INIT;
    ki_str body = { response->body.data, response->body.size };
    ki_transport_hide(pending->client->transport, response->body.data, response->body.size);
    bool has_retry_after = pending->retry_after_ms >= 0;
    if (has_retry_after &&
        (response->http_status == 429 || (response->http_status >= 500 && response->http_status <= 599)) &&
        retry_in(pending, pending->retry_after_ms))
        return;
    ki_status_to_error(pending->allocator, response->http_status, body, pending->retry_after_ms, &err);
    name_conflict(pending, &err);
    if (ki_response_make_error(response, pending->retry_after_ms)) {
        ki_error_no_memory(&err, "reading a response");
        err.retry_after_ms = pending->retry_after_ms; /* the server's, whatever memory there is */
    }
    finish(pending, &err);
}

static ki_status on_item(ki_str text, void *user) {
    ki_pending_request *pending = user;
    ki_object *obj = NULL;
    ki_response *response = pending->response;
    if (text.size > pending->response_max - response->item_bytes)
        return ki_error_set(&pending->failure, KI_ERR_LIMIT, "the list has more than %zu bytes", pending->response_max);
    ki_status status = ki_object_from_json(response->format, text, pending->out.api_version, pending->out.kind, &obj,
                                           &pending->failure);
    if (status == KI_ERR_PARSE)
        return ki_error_set(&pending->failure, KI_ERR_PROTOCOL, "item %zu: %s", response->item_count,
                            ki_error_message(&pending->failure));
    if (status)
        return status;
    response->item_bytes += text.size;
    status = ki_response_add_item(response, obj);
    ki_object_unref(obj);
    ki_engine_work(pending->client->engine, 1);
    return status ? ki_error_no_memory(&pending->failure, "reading a list") : KI_OK;
}

static ki_status on_bad_item(const ki_error *why, ki_str sample, void *user) {
    (void)sample;
    ki_pending_request *pending = user;
    pending->failure = *why;
    return why->code;
}

static void on_head(const ki_response_head *head, void *user) {
    ki_pending_request *pending = user;
    pending->retry_after_ms = head->retry_after_ms;
    KI_ASSERT(!pending->has_ended && !pending->response->http_status);
    pending->response->http_status = head->status;
    if (!is_good(pending)) {
        pending->response->body.limit = KI_STATUS_BODY_MAX;
        return;
    }
    if (!pending->out.kind)
        return;
    const ki_list_sink sink = { on_item, on_bad_item, NULL, pending };
    ki_error err = KI_ERROR_INIT;
    if (ki_list_decoder_new(pending->allocator, pending->response_max, &sink, &pending->list, &err)) {
        ref(pending);
        finish(pending, &err);
        unref(pending);
    }
}

/* Appends to an error response's body, up to KI_STATUS_BODY_MAX. */
static void error_response_data(ki_pending_request *pending, const char *data, size_t size) {
    size_t room = KI_STATUS_BODY_MAX - pending->response->body.size;
    if (ki_buffer_append(&pending->response->body, data, size < room ? size : room) || size >= room)
        handle_error_response(pending); /* the rest of the body is not needed */
}

static void body_data(ki_pending_request *pending, const char *data, size_t size) {
    ki_buffer *body = &pending->response->body;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_buffer_append(body, data, size);
    if (!status)
        return;
    if (status == KI_ERR_LIMIT)
        ki_error_set(&err, KI_ERR_LIMIT, "the response has more than %zu bytes", pending->response_max);
    else
        ki_error_no_memory(&err, "reading a response");
    finish(pending, &err);
}

static void list_data(ki_pending_request *pending, const char *data, size_t size) {
    ki_error err = KI_ERROR_INIT;
    if (ki_list_decoder_feed(pending->list, &(ki_str){ data, size }, &err))
        finish(pending, pending->failure.code ? &pending->failure : &err);
}

static bool pass_data(ki_pending_request *pending, const char *data, size_t size) {
    const ki_term term = pending->place.term, *outer = ki_term_swap(&term);
    bool continues = pending->on_data(data, size, pending->user);
    ki_term_swap(outer);
    return continues;
}

static void on_data(const char *data, size_t size, void *user) {
    ki_pending_request *pending = user;
    KI_ASSERT(!pending->has_ended && pending->response->http_status);
    ref(pending);
    if (!is_good(pending))
        error_response_data(pending, data, size);
    else if (pending->list)
        list_data(pending, data, size);
    else if (!pending->on_data)
        body_data(pending, data, size);
    else if (!pass_data(pending, data, size) && !pending->has_ended)
        ki_pending_request_end_cancelled(pending);
    unref(pending);
}

/* Ends the request after a complete response with a 2xx status. */
static void succeeded(ki_pending_request *pending) {
    ki_error err = KI_ERROR_INIT;
    ki_response *response = pending->response;
    ki_status status;
    if (pending->list) {
        status = ki_list_decoder_finish(pending->list, &err);
        if (!status && ki_response_take_meta(response, ki_list_decoder_meta(pending->list)))
            status = ki_error_no_memory(&err, "reading a list");
    } else {
        ki_buffer_append(&response->body, "", 0); /* adds the closing zero if the body is empty */
        status = ki_response_make_object(response);
        if (status)
            ki_error_no_memory(&err, "reading a response");
    }
    finish(pending, status ? &err : NULL);
}

/* Returns true for a request that was cut before the response and that the server has not done: a GET, or one that it
 * refused (retry_after_ms is 0). Another write is not sent again: the server may have done it. */
static bool can_send_again(const ki_pending_request *pending, const ki_error *err) {
    return err->code == KI_ERR_UNEXPECTED_EOF && !pending->response->http_status &&
           (err->retry_after_ms == 0 || strcmp(pending->out.method, "GET") == 0);
}

static void on_end(const ki_error *err, void *user) {
    ki_pending_request *pending = user;
    KI_ASSERT(!pending->has_ended && pending->response);
    ref(pending);
    pending->exchange = NULL;
    if (pending->response->http_status && !is_good(pending))
        handle_error_response(
            pending); /* the error response, complete or cut, has more detail than the transport's error */
    else if (err && !(can_send_again(pending, err) && retry_in(pending, RETRY_CUT_MS)))
        finish(pending, err);
    else if (!err && !pending->response->http_status)
        fail_with(pending, KI_ERR_PROTOCOL, "the response has no head");
    else if (!err)
        succeeded(pending);
    unref(pending);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static void transmit(void *user) {
    ki_pending_request *pending = user;
    ki_client *client = pending->client;
    ki_error err = KI_ERROR_INIT;
    KI_ASSERT(!pending->has_ended && !pending->exchange && !pending->response && !pending->list);
    KI_ASSERT(pending->has_place == pending->is_counted);
    if (!ki_term_lasts(&pending->place.term)) { /* the clock may be ahead of the elector's timer */
        term_ended(pending);
        return;
    }
    ref(pending);
    pending->retry_after_ms = -1;
    pending->failure = (ki_error)KI_ERROR_INIT;
    pending->response = ki_response_new(client->format, pending->response_max);
    if (!pending->response) {
        ki_error_no_memory(&err, "sending a request");
        finish(pending, &err);
    } else {
        const ki_request request = { .method = pending->out.method,
                                     .target = pending->out.target.data,
                                     .accept = pending->out.accept,
                                     .content_type = pending->out.content_type,
                                     .body = { pending->out.body.data, pending->out.body.size } };
        const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = pending };
        if (ki_transport_send(client->transport, &request, &sink, &pending->exchange, &err))
            finish(pending, &err);
    }
    unref(pending);
}

/* Waits for the request's turn in the rate limit. The timer ends a request whose place comes with its deadline. */
static void pass_limit(void *user) {
    ki_pending_request *pending = user;
    KI_ASSERT(!pending->has_place && !pending->place_ticket.waiting);
    pending->has_place = pending->is_counted;
    if (ki_engine_now(pending->client->engine) >= pending->deadline)
        return;
    if (ki_throttle_pass(pending->throttle, &pending->ticket, transmit, pending))
        transmit(pending);
}

/* Takes a place in flight. Ends the request at once if its turn in the rate limit would come after the deadline. */
static void attempt(ki_pending_request *pending) {
    KI_ON_LOOP(pending->client->engine);
    KI_ASSERT(!pending->has_ended && !pending->has_place && !pending->exchange);
    ki_in_flight *in_flight = &pending->client->in_flight;
    if (!ki_term_lasts(&pending->place.term)) {
        term_ended(pending);
        return;
    }
    int64_t when, delay = ki_throttle_delay(pending->throttle, pending->is_counted ? in_flight->queue.count : 0);
    if (delay > 0 && !is_before_deadline(pending, delay, &when)) {
        fail_with(pending, KI_ERR_TIMEOUT, "the client's rate limit would delay the request past its timeout");
        return;
    }
    if (!pending->is_counted || ki_in_flight_enter(in_flight, &pending->place_ticket, pass_limit, pending))
        pass_limit(pending);
}

static void start(ki_task *task, void *user) {
    (void)task;
    ki_pending_request *pending = user;
    ki_engine *engine = pending->client->engine;
    ref(pending);
    ki_timer_init(&pending->deadline_timer, engine, deadline_passed, pending);
    ki_timer_init(&pending->retry_timer, engine, retry_due, pending);
    if (pending->deadline != INT64_MAX)
        ki_timer_set(&pending->deadline_timer, pending->deadline);
    ki_term_watch(&pending->place, term_ended, pending);
    attempt(pending);
    unref(pending);
}

static void cancel(ki_task *task, void *user) {
    (void)task;
    ki_pending_request_end_cancelled(user);
}

void ki_pending_request_cancel(ki_pending_request *pending) {
    if (!pending || ki_engine_is_forked(pending->client->engine))
        return;
    ki_client *client = pending->client;
    ki_mutex_lock(&client->mutex);
    if (KI_LIST_HAS(pending))
        ki_task_post(&pending->cancel);
    ki_mutex_unlock(&client->mutex);
}

/* Copies the caller's structs. Members that an older program's struct lacks become zero. */
static ki_status take_request(const ki_client_request *given, ki_client_request *request, ki_request_options *options,
                              ki_error *err) {
    ki_status status = KI_OPTIONS_TAKE(given, request, "KI_CLIENT_REQUEST", err);
    return status ? status : KI_OPTIONS_TAKE(request->options, options, "KI_REQUEST_OPTIONS", err);
}

static ki_pending_request *new_pending(ki_client *client, const ki_client_request *request,
                                       ki_response_handler on_response, void *user) {
    ki_pending_request *pending = ki_alloc_zero(client->allocator, sizeof *pending);
    if (!pending)
        return NULL;
    ki_refcount_init(&pending->refs);
    pending->client = client;
    pending->allocator = client->allocator;
    pending->on_response = on_response;
    pending->on_data = request->on_data;
    pending->user = user;
    pending->retry_after_ms = -1;
    ki_task_init(&pending->start, client->engine, start, pending);
    ki_task_init(&pending->cancel, client->engine, cancel, pending);
    return pending;
}

static ki_status post(ki_client *client, ki_pending_request *pending, ki_error *err) {
    int64_t timeout = pending->out.timeout_ns;
    pending->deadline = timeout > 0 ? ki_time_after(ki_engine_now(client->engine), timeout) : INT64_MAX;
    ki_status status = KI_OK;
    ki_mutex_lock(&client->mutex);
    if (client->is_closed || ki_engine_is_stopping(client->engine)) {
        status = ki_error_set(err, KI_ERR_STATE, "the client's engine has ended");
    } else {
        add_to_client(client, pending);
        ki_task_post(&pending->start);
    }
    ki_mutex_unlock(&client->mutex);
    return status;
}

ki_status ki_pending_request_start(ki_client *client, const ki_client_request *given, ki_request_kind kind,
                                   size_t response_max, ki_response_handler on_response, void *user,
                                   ki_pending_request **ret_request, ki_error *err) {
    ki_client_request request;
    ki_request_options options = { .size = sizeof options };
    ki_status status = take_request(given, &request, &options, err);
    if (status)
        return status;
    if (options.term && !ki_term_fits(options.term, client->engine))
        return ki_error_set(err, KI_ERR_INVALID, "the client and the request's term are of different engines");
    ki_pending_request *pending = new_pending(client, &request, on_response, user);
    if (!pending)
        return ki_error_no_memory(err, "making a request");
    bool is_internal = kind == KI_REQUEST_INTERNAL;
    pending->throttle = is_internal ? NULL : client->throttle;
    pending->is_counted = !is_internal && !request.on_data; /* a stream may have no end */
    pending->is_once = kind == KI_REQUEST_ONCE;
    pending->response_max = response_max && response_max < client->response_max ? response_max : client->response_max;
    status = ki_outgoing_make(client->allocator, &request, &options, &pending->out, err);
    if (status) {
        ki_free(client->allocator, pending);
        return status;
    }
    if (ret_request)
        ref(pending);
    if (!is_internal)
        ki_term_join(&pending->place, options.term ? options.term : ki_term_of_thread(client->engine), client->engine);
    ki_write_log *log = pending->place.term.log;
    pending->write = log ? log->begin(log, client, &request, &options) : NULL;
    status = post(client, pending, err);
    if (status) {
        end_write(pending, NULL);
        ki_term_leave(&pending->place);
        ki_outgoing_free(pending->allocator, &pending->out);
        ki_free(client->allocator, pending);
        return status;
    }
    if (ret_request)
        *ret_request = pending;
    return KI_OK;
}

ki_status ki_client_send(ki_client *client, const ki_client_request *request, ki_response_handler on_response,
                         void *user, ki_pending_request **ret_request, ki_error *err) {
    if (!client || !request || !on_response)
        return ki_error_set(err, KI_ERR_INVALID, "ki_client_send: the client, the request or the callback is missing");
    if (ki_engine_check_process(client->engine, err))
        return KI_ERR_STATE;
    return ki_pending_request_start(client, request, KI_REQUEST_OF_PROGRAM, 0, on_response, user, ret_request, err);
}
