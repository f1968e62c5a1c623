/* pending_request.c: one request from sending to its end: its place in the rate limit, its attempts, its response.
 *
 *     posted ──► queued (the limit) ──► sent ──► response ──► over
 *                   ▲                     │
 *                   └── waiting to retry ◄┘  429, 5xx with Retry-After; a GET that was cut before the response
 *
 * Everything runs on the loop except ki_pending_request_start, _cancel and _free. A callback may cancel the request.
 * The memory is freed with the last reference: the client's list, the program's handle, and functions on the stack that
 * use the request. */
#include "src/client/client.h"
#include "src/client/outgoing.h"
#include "src/client/response.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/wire/list_decoder.h"
#include "src/wire/status.h"

#include <stdio.h>
#include <strings.h>

enum {
    RETRY_CUT_MS = 1000, /* delay before a GET whose connection was cut is sent again */
    WORDS_MAX = 160
};

struct ki_pending_request {
    ki_refcount refs;
    ki_client *client; /* invalid once the request is over */
    const ki_allocator *allocator;
    /* under the client's mutex */
    ki_pending_request *next, *previous;
    bool listed;
    /* constant */
    ki_outgoing out;
    ki_response_handler on_response;
    bool (*on_data)(const void *data, size_t size, void *user);
    void *user;
    ki_throttle *throttle; /* NULL: no limit */
    size_t response_max;
    int64_t deadline; /* INT64_MAX: none */
    /* loop only */
    ki_task start, cancel;
    ki_timer deadline_timer, retry_timer;
    ki_ticket ticket;
    ki_exchange *exchange;
    int retries;
    bool over;
    /* of the current attempt */
    ki_response *response;
    ki_list_decoder *list;
    ki_error failure; /* error of the decoder's callback; code 0: none */
    int64_t retry_after_ms;
};

static void attempt(ki_pending_request *call);

/* --- new, over, freed ------------------------------------------------------------------------------------------------------- */

static void ref(ki_pending_request *call) {
    ki_refcount_inc(&call->refs);
}

static void unref(ki_pending_request *call) {
    if (!ki_refcount_dec(&call->refs))
        return;
    ki_outgoing_free(call->allocator, &call->out);
    ki_free(call->allocator, call);
}

void ki_pending_request_free(ki_pending_request *call) {
    if (call)
        unref(call);
}

static void list_call(ki_client *client, ki_pending_request *call) {
    call->listed = true;
    call->next = client->first;
    if (call->next)
        call->next->previous = call;
    client->first = call;
}

static void unlist_call(ki_client *client, ki_pending_request *call) {
    ki_mutex_lock(&client->mutex);
    if (call->previous)
        call->previous->next = call->next;
    else
        client->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    call->listed = false;
    ki_mutex_unlock(&client->mutex);
}

static void forget_attempt(ki_pending_request *call) {
    ki_exchange *exchange = call->exchange;
    call->exchange = NULL;
    if (exchange)
        ki_transport_cancel(call->client->transport, exchange);
    ki_list_decoder_free(call->list);
    call->list = NULL;
    ki_response_unref(call->response);
    call->response = NULL;
}

/* Ends the request: calls on_response, once, and drops the list's reference. `why` NULL: success. */
static void finish(ki_pending_request *call, const ki_error *why) {
    ki_client *client = call->client;
    if (call->over)
        return;
    call->over = true;
    ki_error err = KI_ERROR_INIT;
    if (why) {
        err = *why;
        ki_error_prefix(&err, "%s", call->out.what);
    }
    ki_response *response = call->response;
    call->response = NULL; /* owned by this function; forget_attempt must not free it */
    forget_attempt(call);
    ki_throttle_leave(call->throttle, &call->ticket);
    unlist_call(client, call); /* after this no thread posts its tasks */
    ki_task_cancel(&call->start);
    ki_task_cancel(&call->cancel);
    ki_timer_close(&call->deadline_timer);
    ki_timer_close(&call->retry_timer);
    call->on_response(why && !(response && response->error_response) ? NULL : response, why ? &err : NULL, call->user);
    ki_response_unref(response);
    unref(call);
}

static void fail_with(ki_pending_request *call, ki_status status, const char *message) {
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, status, "%s", message);
    finish(call, &err);
}

void ki_pending_request_end_cancelled(ki_pending_request *call) {
    fail_with(call, KI_ERR_CANCELLED, "cancelled");
}

/* --- retries ---------------------------------------------------------------------------------------------------------------- */

static bool in_time(const ki_pending_request *call, int64_t delay_ns, int64_t *ret_when) {
    int64_t now = ki_engine_now(call->client->engine);
    *ret_when = delay_ns < INT64_MAX - now ? now + delay_ns : INT64_MAX;
    return *ret_when < call->deadline || (*ret_when == INT64_MAX && call->deadline == INT64_MAX);
}

/* Schedules a retry. Returns false if no retry is left or the deadline comes first. */
static bool retry_in(ki_pending_request *call, int64_t delay_ms) {
    int64_t when;
    int64_t delay_ns = delay_ms < INT64_MAX / KI_MILLISECONDS(1) ? KI_MILLISECONDS(delay_ms) : INT64_MAX;
    if (call->retries >= KI_CLIENT_MAX_RETRIES || !in_time(call, delay_ns, &when))
        return false;
    call->retries++;
    forget_attempt(call);
    ki_timer_set(&call->retry_timer, when);
    return true;
}

static void retry_due(ki_timer *timer, void *user) {
    (void)timer;
    attempt(user);
}

static void deadline_passed(ki_timer *timer, void *user) {
    (void)timer;
    ki_pending_request *call = user;
    char words[WORDS_MAX], message[2 * WORDS_MAX] = "no answer in time";
    if (call->ticket.waiting)
        snprintf(message, sizeof message, "no answer in time: it waits for the client's own limit");
    else if (!call->exchange)
        snprintf(message, sizeof message, "no answer in time: the server asked to come again later");
    else if (ki_transport_waits_for(call->client->transport, call->exchange, words, sizeof words))
        snprintf(message, sizeof message, "no answer in time: %s", words);
    fail_with(call, KI_ERR_TIMEOUT, message);
}

/* --- the response ----------------------------------------------------------------------------------------------------------- */

static bool is_good(const ki_pending_request *call) {
    return call->response->http_status >= 200 && call->response->http_status < 300;
}

/* Sets the reason AlreadyExists for a 409 to a POST without a reason (from a proxy). For other methods such a 409 is a conflict. */
static void name_conflict(const ki_pending_request *call, ki_error *err) {
    if (err->http_status != 409 || err->reason[0] || strcmp(call->out.method, "POST") != 0)
        return;
    snprintf(err->reason, sizeof err->reason, "AlreadyExists");
    err->category = KI_CATEGORY_REQUEST;
}

static void refused(ki_pending_request *call) {
    ki_response *response = call->response;
    ki_error err = KI_ERROR_INIT;
    ki_str body = { response->body.data, response->body.size };
    ki_transport_hide(call->client->transport, response->body.data, response->body.size);
    bool says_when = call->retry_after_ms >= 0;
    if (says_when && (response->http_status == 429 || (response->http_status >= 500 && response->http_status <= 599)) &&
        retry_in(call, call->retry_after_ms))
        return;
    ki_status_to_error(call->allocator, response->http_status, body, call->retry_after_ms, &err);
    name_conflict(call, &err);
    if (ki_response_make_error(response, call->retry_after_ms))
        ki_error_no_memory(&err, "reading an answer");
    finish(call, &err);
}

static ki_status on_item(ki_str text, void *user) {
    ki_pending_request *call = user;
    ki_object *obj = NULL;
    ki_response *response = call->response;
    if (text.size > call->response_max - response->item_bytes)
        return ki_error_set(&call->failure, KI_ERR_LIMIT, "the list has more than %zu bytes", call->response_max);
    ki_status status =
        ki_object_from_json(response->format, text, call->out.api_version, call->out.kind, &obj, &call->failure);
    if (status == KI_ERR_PARSE)
        return ki_error_set(&call->failure, KI_ERR_PROTOCOL, "item %zu: %s", response->item_count,
                            ki_error_message(&call->failure));
    if (status)
        return status;
    response->item_bytes += text.size;
    status = ki_response_add_item(response, obj);
    ki_object_unref(obj);
    ki_engine_work(call->client->engine, 1);
    return status ? ki_error_no_memory(&call->failure, "reading a list") : KI_OK;
}

static ki_status on_bad_item(const ki_error *why, ki_str sample, void *user) {
    (void)sample;
    ki_pending_request *call = user;
    call->failure = *why;
    return why->code;
}

static void on_head(const ki_response_head *head, void *user) {
    ki_pending_request *call = user;
    call->retry_after_ms = head->retry_after_ms;
    call->response->http_status = head->status;
    if (!is_good(call)) {
        call->response->body.limit = KI_STATUS_BODY_MAX;
        return;
    }
    if (!call->out.kind)
        return;
    const ki_list_sink sink = { on_item, on_bad_item, NULL, call };
    ki_error err = KI_ERROR_INIT;
    if (ki_list_decoder_new(call->allocator, call->response_max, &sink, &call->list, &err)) {
        ref(call);
        finish(call, &err);
        unref(call);
    }
}

/* Appends to an error response's body, up to KI_STATUS_BODY_MAX. */
static void error_response_data(ki_pending_request *call, const char *data, size_t size) {
    size_t room = KI_STATUS_BODY_MAX - call->response->body.size;
    if (ki_buffer_append(&call->response->body, data, size < room ? size : room) || size >= room)
        refused(call); /* the rest of the body is not needed */
}

static void body_data(ki_pending_request *call, const char *data, size_t size) {
    ki_buffer *body = &call->response->body;
    ki_error err = KI_ERROR_INIT;
    ki_status status = ki_buffer_append(body, data, size);
    if (!status)
        return;
    if (status == KI_ERR_LIMIT)
        ki_error_set(&err, KI_ERR_LIMIT, "the answer has more than %zu bytes", call->response_max);
    else
        ki_error_no_memory(&err, "reading an answer");
    finish(call, &err);
}

static void list_data(ki_pending_request *call, const char *data, size_t size) {
    ki_error err = KI_ERROR_INIT;
    if (ki_list_decoder_feed(call->list, &(ki_str){ data, size }, &err))
        finish(call, call->failure.code ? &call->failure : &err);
}

static void on_data(const char *data, size_t size, void *user) {
    ki_pending_request *call = user;
    ref(call);
    if (!is_good(call))
        error_response_data(call, data, size);
    else if (call->list)
        list_data(call, data, size);
    else if (!call->on_data)
        body_data(call, data, size);
    else if (!call->on_data(data, size, call->user) && !call->over)
        ki_pending_request_end_cancelled(call);
    unref(call);
}

/* Ends the request after a complete response with a 2xx status. */
static void succeeded(ki_pending_request *call) {
    ki_error err = KI_ERROR_INIT;
    ki_response *response = call->response;
    ki_status status;
    if (call->list) {
        status = ki_list_decoder_finish(call->list, &err);
        if (!status && ki_response_take_meta(response, ki_list_decoder_meta(call->list)))
            status = ki_error_no_memory(&err, "reading a list");
    } else {
        ki_buffer_append(&response->body, "", 0); /* adds the closing zero if the body is empty */
        status = ki_response_make_object(response);
        if (status)
            ki_error_no_memory(&err, "reading an answer");
    }
    finish(call, status ? &err : NULL);
}

/* Returns true for a GET whose connection was cut before the response. A write is never sent again: the server may have done it. */
static bool is_lost_read(const ki_pending_request *call, const ki_error *err) {
    return err->code == KI_ERR_UNEXPECTED_EOF && !call->response->http_status && strcmp(call->out.method, "GET") == 0;
}

static void on_end(const ki_error *err, void *user) {
    ki_pending_request *call = user;
    ref(call);
    call->exchange = NULL;
    if (call->response->http_status && !is_good(call))
        refused(call); /* the error response, complete or cut, has more detail than the transport's error */
    else if (err && !(is_lost_read(call, err) && retry_in(call, RETRY_CUT_MS)))
        finish(call, err);
    else if (!err && !call->response->http_status)
        fail_with(call, KI_ERR_PROTOCOL, "an answer without a head");
    else if (!err)
        succeeded(call);
    unref(call);
}

/* --- sending ---------------------------------------------------------------------------------------------------------------- */

static void transmit(void *user) {
    ki_pending_request *call = user;
    ki_client *client = call->client;
    ki_error err = KI_ERROR_INIT;
    ref(call);
    call->retry_after_ms = -1;
    call->failure = (ki_error)KI_ERROR_INIT;
    call->response = ki_response_new(client->format, call->response_max);
    if (!call->response) {
        ki_error_no_memory(&err, "sending a request");
        finish(call, &err);
    } else {
        const ki_request request = { .method = call->out.method,
                                     .target = call->out.target.data,
                                     .accept = call->out.accept,
                                     .content_type = call->out.content_type,
                                     .body = { call->out.body.data, call->out.body.size } };
        const ki_response_sink sink = { on_head, on_data, on_end, call };
        if (ki_transport_send(client->transport, &request, &sink, &call->exchange, &err))
            finish(call, &err);
    }
    unref(call);
}

/* Takes a place in the client's rate limit. Ends the request at once if its turn would come after the deadline. */
static void attempt(ki_pending_request *call) {
    int64_t when, delay = ki_throttle_delay(call->throttle);
    if (delay > 0 && !in_time(call, delay, &when)) {
        fail_with(call, KI_ERR_TIMEOUT, "the client's own limit of requests would make it too late");
        return;
    }
    if (ki_throttle_pass(call->throttle, &call->ticket, transmit, call))
        transmit(call);
}

static void start(ki_task *task, void *user) {
    (void)task;
    ki_pending_request *call = user;
    ki_engine *engine = call->client->engine;
    ref(call);
    if (ki_timer_init(&call->deadline_timer, engine, deadline_passed, call) ||
        ki_timer_init(&call->retry_timer, engine, retry_due, call)) {
        ki_error err = KI_ERROR_INIT;
        ki_error_no_memory(&err, "sending a request");
        finish(call, &err);
    } else {
        if (call->deadline != INT64_MAX)
            ki_timer_set(&call->deadline_timer, call->deadline);
        attempt(call);
    }
    unref(call);
}

static void cancel(ki_task *task, void *user) {
    (void)task;
    ki_pending_request_end_cancelled(user);
}

void ki_pending_request_cancel(ki_pending_request *call) {
    if (!call)
        return;
    ki_client *client = call->client;
    ki_mutex_lock(&client->mutex);
    if (call->listed)
        ki_task_post(&call->cancel);
    ki_mutex_unlock(&client->mutex);
}

/* Copies the caller's structs. Members that an older program's struct lacks become zero. */
static ki_status take_request(const ki_client_request *given, ki_client_request *request, ki_request_options *options,
                              ki_error *err) {
    *request = (ki_client_request){ .size = 0 };
    *options = (ki_request_options){ .size = 0 };
    if (given->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_client_request without a size: use KI_CLIENT_REQUEST()");
    memcpy(request, given, given->size < sizeof *request ? given->size : sizeof *request);
    const ki_request_options *more = request->options;
    if (more && more->size == 0)
        return ki_error_set(err, KI_ERR_INVALID, "ki_request_options without a size: use KI_REQUEST_OPTIONS()");
    if (more)
        memcpy(options, more, more->size < sizeof *options ? more->size : sizeof *options);
    return KI_OK;
}

static ki_pending_request *new_call(ki_client *client, const ki_client_request *request,
                                    ki_response_handler on_response, void *user) {
    ki_pending_request *call = ki_alloc_zero(client->allocator, sizeof *call);
    if (!call)
        return NULL;
    ki_refcount_init(&call->refs);
    call->client = client;
    call->allocator = client->allocator;
    call->on_response = on_response;
    call->on_data = request->on_data;
    call->user = user;
    call->retry_after_ms = -1;
    ki_task_init(&call->start, client->engine, start, call);
    ki_task_init(&call->cancel, client->engine, cancel, call);
    return call;
}

static ki_status post(ki_client *client, ki_pending_request *call, ki_error *err) {
    int64_t now = ki_engine_now(client->engine), timeout = call->out.timeout_ns;
    call->deadline = timeout > 0 && timeout < INT64_MAX - now ? now + timeout : INT64_MAX;
    ki_status status = KI_OK;
    ki_mutex_lock(&client->mutex);
    if (client->is_closed || ki_engine_is_stopping(client->engine)) {
        status = ki_error_set(err, KI_ERR_STATE, "the client's engine has ended");
    } else {
        list_call(client, call);
        ki_task_post(&call->start);
    }
    ki_mutex_unlock(&client->mutex);
    return status;
}

ki_status ki_pending_request_start(ki_client *client, const ki_client_request *given, bool unlimited,
                                   size_t response_max, ki_response_handler on_response, void *user,
                                   ki_pending_request **ret_request, ki_error *err) {
    ki_client_request request;
    ki_request_options options;
    ki_status status = take_request(given, &request, &options, err);
    if (status)
        return status;
    ki_pending_request *call = new_call(client, &request, on_response, user);
    if (!call)
        return ki_error_no_memory(err, "making a request");
    call->throttle = unlimited ? NULL : client->throttle;
    call->response_max = response_max && response_max < client->response_max ? response_max : client->response_max;
    status = ki_outgoing_make(client->allocator, &request, &options, &call->out, err);
    if (status) {
        ki_free(client->allocator, call);
        return status;
    }
    if (ret_request)
        ref(call);
    status = post(client, call, err);
    if (status) {
        ki_outgoing_free(call->allocator, &call->out);
        ki_free(client->allocator, call);
        return status;
    }
    if (ret_request)
        *ret_request = call;
    return KI_OK;
}

ki_status ki_client_send(ki_client *client, const ki_client_request *request, ki_response_handler on_response,
                         void *user, ki_pending_request **ret_request, ki_error *err) {
    if (!client || !request || !on_response)
        return ki_error_set(err, KI_ERR_INVALID, "ki_client_send: the client, the request or the callback is missing");
    return ki_pending_request_start(client, request, false, 0, on_response, user, ret_request, err);
}
