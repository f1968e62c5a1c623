/* client.c: creates and frees clients; sends requests and waits for their responses. */
#include "src/client/client.h"

#include "src/client/response.h"

#include "src/auth/config.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/base/refcount.h"
#include "src/object/json.h"
#include "src/transport/curl.h"

enum {
    DEFAULT_BURST = 10,
    DEFAULT_IN_FLIGHT = 32,
    GRACE_MS = 250 /* extra time for the loop to report the timeout with its cause */
};

/* --- new, free ---------------------------------------------------------------------------------------------------- */

void ki_client_limit_of(const ki_config *config, int per_second, int burst, int *ret_per_second, int *ret_burst) {
    if (!per_second)
        per_second = config && config->requests_per_second ? config->requests_per_second : -1;
    if (!burst)
        burst = config && config->request_burst ? config->request_burst : DEFAULT_BURST;
    *ret_per_second = per_second;
    *ret_burst = burst;
}

static size_t in_flight_of(int requests_in_flight) {
    if (requests_in_flight < 0)
        return SIZE_MAX;
    return requests_in_flight ? (size_t)requests_in_flight : DEFAULT_IN_FLIGHT;
}

void ki_client_cancel_all(void *user) {
    ki_client *client = user;
    ki_mutex_lock(&client->mutex);
    client->is_closed = true;
    while (client->first) {
        ki_pending_request *pending = client->first;
        ki_mutex_unlock(&client->mutex);
        ki_pending_request_end_cancelled(pending);
        ki_mutex_lock(&client->mutex);
    }
    ki_mutex_unlock(&client->mutex);
}

static void set_up_on_loop(void *user) {
    ki_client *client = user;
    if (client->throttle)
        ki_throttle_init(client->throttle, client->engine, client->per_second, client->burst);
    ki_end_hook_set(&client->end_hook, client->engine, ki_client_cancel_all, client);
}

static void tear_down_on_loop(void *user) {
    ki_client *client = user;
    ki_client_cancel_all(client);
    ki_end_hook_remove(&client->end_hook);
    ki_in_flight_close(&client->in_flight);
    ki_throttle_close(&client->own_throttle);
    if (client->owns_transport)
        ki_transport_free(client->transport);
}

void ki_client_free_of(ki_client *client) {
    if (!client)
        return;
    const ki_allocator *allocator = client->allocator;
    ki_engine *own_engine = client->owns_engine ? client->engine : NULL;
    ki_engine_call(client->engine, tear_down_on_loop, client);
    ki_object_format_unref(client->format);
    ki_mutex_destroy(&client->mutex);
    ki_free(allocator, client);
    ki_engine_free(own_engine);
}

void ki_client_free(ki_client *client) {
    if (client && !client->is_factorys && !ki_engine_is_forked(client->engine))
        ki_client_free_of(client);
}

ki_status ki_client_new_of(const ki_client_parts *parts, ki_client **ret_client, ki_error *err) {
    if (ki_json_check_library(err))
        return KI_ERR_UNSUPPORTED;
    const ki_allocator *allocator = ki_engine_allocator(parts->engine);
    ki_client *client = ki_alloc_zero(allocator, sizeof *client);
    if (!client)
        return ki_error_no_memory(err, "making a client");
    client->engine = parts->engine;
    client->allocator = allocator;
    client->may_drive = parts->may_drive;
    client->transport = parts->transport;
    ki_client_limit_of(parts->config, parts->requests_per_second, parts->request_burst, &client->per_second,
                       &client->burst);
    client->throttle = client->per_second < 0 ? NULL : &client->own_throttle;
    client->is_factorys = true;
    client->response_max = KI_CLIENT_RESPONSE_MAX;
    ki_in_flight_init(&client->in_flight, parts->engine, in_flight_of(parts->requests_in_flight));
    ki_status status =
        ki_object_format_new(allocator, &KI_OBJECT_FORMAT_OPTIONS(.keep_managed_fields = true), &client->format, err);
    if (!status)
        status = ki_mutex_init(&client->mutex, err);
    if (status) {
        ki_object_format_unref(client->format);
        ki_free(allocator, client);
        return status;
    }
    ki_engine_call(client->engine, set_up_on_loop, client);
    *ret_client = client;
    return KI_OK;
}

ki_status ki_client_take_engine(ki_engine *given, const ki_allocator *allocator, const ki_log *log,
                                ki_engine **ret_engine, ki_error *err) {
    if (!given)
        return ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator, .log = log), ret_engine, err);
    *ret_engine = given;
    return ki_engine_check_process(given, err);
}

ki_status ki_client_new_on(const ki_config *config, ki_transport *transport, const ki_client_options *options,
                           ki_client **ret_client, ki_error *err) {
    ki_client_options given;
    if (!ret_client)
        return ki_error_set(err, KI_ERR_INVALID, "ki_client_new: ret_client is NULL");
    if (KI_OPTIONS_TAKE(options, &given, "KI_CLIENT_OPTIONS", err))
        return KI_ERR_INVALID;
    ki_engine *engine;
    ki_status status = ki_client_take_engine(given.engine, given.allocator, given.log, &engine, err);
    if (status)
        return status;
    const ki_client_parts parts = { .engine = engine,
                                    .may_drive = !given.engine,
                                    .transport = transport,
                                    .config = config,
                                    .requests_per_second = given.requests_per_second,
                                    .request_burst = given.request_burst,
                                    .requests_in_flight = given.requests_in_flight };
    ki_client *client = NULL;
    status = ki_client_new_of(&parts, &client, err);
    if (!status && !transport) {
        status = ki_curl_transport_new(engine, config, &client->transport, err);
        client->owns_transport = status == KI_OK;
    }
    if (status) {
        ki_client_free_of(client);
        if (!given.engine)
            ki_engine_free(engine);
        return status;
    }
    client->is_factorys = false;
    client->owns_engine = !given.engine;
    *ret_client = client;
    return KI_OK;
}

ki_status ki_client_new(const ki_config *config, const ki_client_options *options, ki_client **ret_client,
                        ki_error *err) {
    return config ? ki_client_new_on(config, NULL, options, ret_client, err)
                  : ki_error_set(err, KI_ERR_INVALID, "a client needs a config");
}

ki_engine *ki_client_engine(const ki_client *client) {
    return client->engine;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* Shared by the waiting function and the request's callback: the function may time out before the callback runs. */
typedef struct waiter {
    ki_refcount refs;
    ki_engine *engine;
    const ki_allocator *allocator;
    bool done; /* set by ki_engine_notify */
    ki_response *response;
    ki_error err;
} waiter;

static void drop(waiter *waiting) {
    if (!ki_refcount_dec(&waiting->refs))
        return;
    ki_response_unref(waiting->response);
    ki_free(waiting->allocator, waiting);
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    waiter *waiting = user;
    waiting->response = ki_response_ref(response);
    if (err)
        waiting->err = *err;
    ki_engine_notify(waiting->engine, &waiting->done);
    drop(waiting);
}

static const ki_request_options *options_of(const ki_client_request *request) {
    return request->size > offsetof(ki_client_request, options) ? request->options : NULL;
}

/* Returns the request's own time limit plus GRACE_MS; -1: no limit. */
static int64_t wait_ns(const ki_request_options *options) {
    int64_t ms = options && options->timeout_ms ? options->timeout_ms : KI_CLIENT_TIMEOUT_MS;
    return ms < 0 || ms > INT64_MAX / KI_MILLISECONDS(2) ? -1 : KI_MILLISECONDS(ms + GRACE_MS);
}

static void give_error_response(const ki_request_options *options, const ki_response *response) {
    if (options && options->size > offsetof(ki_request_options, ret_error_response) && options->ret_error_response &&
        response && response->error_response)
        *options->ret_error_response = ki_error_response_ref(response->error_response);
}

/* Waits for a started request; cancels it if the wait fails. */
static ki_status wait_for(ki_client *client, const ki_request_options *options, waiter *waiting,
                          ki_pending_request *pending, ki_response **ret_response, ki_error *err) {
    ki_status status = ki_engine_await(client->engine, &waiting->done, wait_ns(options), client->may_drive, err);
    if (status) {
        ki_pending_request_cancel(pending);
        return status;
    }
    give_error_response(options, waiting->response);
    if (waiting->err.code) {
        if (err)
            *err = waiting->err;
        return waiting->err.code;
    }
    if (ret_response)
        *ret_response = ki_response_ref(waiting->response);
    return KI_OK;
}

ki_status ki_client_do(ki_client *client, const ki_client_request *request, ki_response **ret_response, ki_error *err) {
    if (!client || !request)
        return ki_error_set(err, KI_ERR_INVALID, "ki_client_do: the client or the request is missing");
    if (ki_engine_check_process(client->engine, err))
        return KI_ERR_STATE;
    if (request->size > offsetof(ki_client_request, on_data) && request->on_data)
        return ki_error_set(err, KI_ERR_INVALID, "on_data is for ki_client_send");
    if (ki_engine_on_loop(client->engine))
        return ki_error_set(err, KI_ERR_DEADLOCK, "waiting for a response on the loop's own thread");
    waiter *waiting = ki_alloc_zero(client->allocator, sizeof *waiting);
    if (!waiting)
        return ki_error_no_memory(err, "making a request");
    *waiting = (waiter){ .engine = client->engine, .allocator = client->allocator, .err = KI_ERROR_INIT };
    ki_refcount_init(&waiting->refs);
    ki_refcount_inc(&waiting->refs); /* for the callback */
    ki_pending_request *pending = NULL;
    ki_status status =
        ki_pending_request_start(client, request, KI_REQUEST_OF_PROGRAM, 0, on_response, waiting, &pending, err);
    if (status)
        drop(waiting);
    else
        status = wait_for(client, options_of(request), waiting, pending, ret_response, err);
    ki_pending_request_free(pending);
    drop(waiting);
    return status;
}
