/* network.c: the way of a request to the server, and of the response back. Both can be lost. An armed fault can respond
 * in place of the server. A request can arrive after its sender has timed out or crashed. */
#include "sim/controllers/world.h"

#include "src/base/error.h"
#include "src/base/list.h"
#include "src/base/map.h"
#include "src/base/memory.h"
#include "testing/request/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READ_SIZE = 16 * 1024 /* bytes of one read from a watch */
};

struct ctl_request {
    ctl_request *next, *previous;
    ctl_world *world;
    ctl_process *process;
    uint64_t number;
    kt_memory_call *call; /* NULL: the exchange has ended for the client */
    char *method, *target, *accept, *content_type, *body;
    size_t body_size;
    bool is_watch, is_lease, is_write;
    bool has_arrived, is_lost, loses_response;
    bool is_silent;  /* nothing more is delivered to the client */
    int64_t latency; /* ns, of each direction */
    /* the response */
    kt_response response; /* of the server, if has_response */
    bool has_response, has_sent_head;
    bool is_ended;          /* the response ends after `out` */
    int status;             /* HTTP; 0: no response */
    int retry_after_s;      /* -1: none */
    ki_buffer out;          /* data not delivered yet */
    ki_status end_status;   /* how the response ends; KI_OK: cleanly */
    int64_t watch_deadline; /* true time, ns: the scheduled on_deadline; INT64_MAX: none */
    bool is_read_scheduled, is_delivery_scheduled;
    unsigned action_count; /* scheduled actions that hold a pointer to this request */
};

static void drop_response(ctl_request *request) {
    if (request->has_response)
        kt_response_free(&request->response);
    request->has_response = false;
}

/* Frees the request once nothing refers to it. */
static void release(ctl_request *request) {
    if (request->call || request->action_count || request->has_response)
        return;
    KI_LIST_REMOVE(request->world->network.first, request);
    ki_buffer_free(&request->out);
    free(request->method);
    free(request->target);
    free(request->accept);
    free(request->content_type);
    free(request->body);
    free(request);
}

static void schedule(ctl_request *request, int64_t at, sim_action action) {
    request->action_count++;
    ctl_at(request->world, at, action, request, 0);
}

/* --- delivery of the response ------------------------------------------------------------------------------------- */

static void deliver(void *user, uint64_t argument);

static void schedule_delivery(ctl_request *request, int64_t delay) {
    if (request->is_delivery_scheduled || !request->call)
        return;
    request->is_delivery_scheduled = true;
    schedule(request, request->world->now + delay, deliver);
}

static void end_call(ctl_request *request) {
    kt_memory_call *call = request->call;
    ki_error err = KI_ERROR_INIT;
    ki_status status = request->end_status;
    request->call = NULL;
    drop_response(request);
    if (status)
        ki_error_set(&err, status, "%s",
                     status == KI_ERR_CONNECT ? "the simulated server refuses connections"
                                              : "the simulated connection was cut");
    CTL_TRACE(request->world, "process %u: request %" PRIu64 " ends, %s", request->process->index, request->number,
              status ? ki_status_name(status) : "cleanly");
    kt_memory_call_end(call, status ? &err : NULL);
}

static void deliver_all(ctl_request *request) {
    ctl_world *world = request->world;
    if (!request->has_sent_head && request->status) {
        request->has_sent_head = true;
        const ki_response_head head = { .status = request->status,
                                        .retry_after_ms =
                                            request->retry_after_s < 0 ? -1 : (int64_t)request->retry_after_s * 1000,
                                        .content_type = "application/json" };
        CTL_TRACE(world, "process %u: request %" PRIu64 ": status %d", request->process->index, request->number,
                  request->status);
        ctl_digest_add(world, request->number * 1000 + (uint64_t)request->status);
        if (!kt_memory_call_head(request->call, &head))
            return;
    }
    if (request->out.size) {
        ki_buffer out = request->out;
        ki_buffer_init(&request->out, &ki_allocator_default, 0);
        ctl_digest_add(world, ki_hash(out.data, out.size, (uint64_t)world->now));
        if (world->trace)
            ctl_print_trace(world, "process %u: request %" PRIu64 ": %.*s", request->process->index, request->number,
                            (int)(out.size > 300 ? 300 : out.size), out.data);
        bool continues = kt_memory_call_data(request->call, out.data, out.size);
        ki_buffer_free(&out);
        if (!continues)
            return;
    }
    if (request->is_ended)
        end_call(request);
}

static void deliver(void *user, uint64_t argument) {
    ctl_request *request = user;
    ctl_process *process = request->process;
    ctl_world *world = request->world;
    (void)argument;
    request->is_delivery_scheduled = false;
    int64_t callable_at = ctl_process_callable_at(process);
    callable_at = callable_at > process->partition_until ? callable_at : process->partition_until;
    if (request->call && callable_at > world->now) {
        schedule_delivery(request, callable_at - world->now);
    } else if (request->call && !request->is_silent) {
        deliver_all(request);
    }
    request->action_count--; /* last: the client's callbacks must not free the request */
    release(request);
}

/* Ends the response after the data in `out`. `status` KI_OK: cleanly. */
static void end_response(ctl_request *request, ki_status status) {
    request->is_ended = true;
    request->end_status = status;
    drop_response(request);
    schedule_delivery(request, request->latency);
}

/* --- a watch's events --------------------------------------------------------------------------------------------- */

static void on_read_time(void *user, uint64_t argument);

static void on_deadline(void *user, uint64_t argument);

static void schedule_read(ctl_request *request, int64_t delay) {
    if (request->is_read_scheduled)
        return;
    request->is_read_scheduled = true;
    schedule(request, request->world->now + delay, on_read_time);
}

static void read_events(ctl_request *request) {
    ctl_world *world = request->world;
    kt_watch_state state = KT_WATCH_MORE;
    while (state == KT_WATCH_MORE) {
        if (kt_watch_read(request->response.watch, ctl_server_now_ms(world), &request->out, READ_SIZE, NULL, &state)) {
            ctl_fail(world, "the server cannot read a watch: no memory");
            return;
        }
    }
    if (state == KT_WATCH_ENDED) {
        end_response(request, KI_OK);
        return;
    }
    int64_t deadline =
        world->now + (kt_watch_deadline(request->response.watch) - ctl_server_now_ms(world) + 1) * SIM_MILLISECOND;
    if (deadline < request->watch_deadline) {
        request->watch_deadline = deadline;
        schedule(request, deadline, on_deadline);
    }
    if (request->out.size || !request->has_sent_head)
        schedule_delivery(request, request->latency);
}

static void on_read_time(void *user, uint64_t argument) {
    ctl_request *request = user;
    (void)argument;
    request->is_read_scheduled = false;
    request->action_count--;
    if (request->has_response && request->call && !request->is_ended)
        read_events(request);
    release(request);
}

static void on_deadline(void *user, uint64_t argument) {
    ctl_request *request = user;
    (void)argument;
    request->action_count--;
    request->watch_deadline = INT64_MAX;
    if (request->has_response && request->call)
        schedule_read(request, 0);
    release(request);
}

static void wake_request(void *user) {
    ctl_request *request = user;
    schedule_read(request, ctl_server_lag(request->world));
}

/* --- the response ------------------------------------------------------------------------------------------------- */

/* Returns true if the fault hits requests of this kind: only for the Lease, only writes, or all. */
static bool is_target(const ctl_armed *armed, const ctl_request *request) {
    switch (armed->detail & 3) {
    case 0:
        return request->is_lease;
    case 1:
        return request->is_write;
    default:
        return true;
    }
}

/* Takes one hit from the first armed fault that matches the request. `in_transit`: only faults on the way to the
 * server, else only others. Returns NULL if none matches. The result is valid until the next call. */
static const ctl_armed *take_armed(ctl_world *world, const ctl_request *request, bool in_transit) {
    ctl_network *network = &world->network;
    static ctl_armed found;
    for (size_t i = 0; i < network->armed_count; i++) {
        ctl_armed *armed = &network->armed[i];
        bool hits_in_transit = armed->kind == CTL_DELAY || armed->kind == CTL_LOSE_REQUEST;
        if (hits_in_transit != in_transit || !is_target(armed, request) ||
            (armed->kind == CTL_RESPONSE_409 && !request->is_write))
            continue;
        found = *armed;
        if (--armed->count == 0)
            *armed = network->armed[--network->armed_count];
        return &found;
    }
    return NULL;
}

static void respond_with_error(ctl_request *request, int status, int retry_after_s, const char *reason) {
    char body[256];
    CTL_TRACE(request->world, "request %" PRIu64 ": injected response %d", request->number, status);
    int size = snprintf(body, sizeof body,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
                        "\"simulated\",\"reason\":\"%s\",\"code\":%d}",
                        reason, status);
    request->status = status;
    request->retry_after_s = retry_after_s;
    ki_buffer_append(&request->out, body, (size_t)size);
    end_response(request, KI_OK);
}

static bool is_release(const ctl_request *request) {
    return request->is_lease && request->is_write && strstr(request->body, "\"holderIdentity\":\"\"");
}

/* Rejects the first releases of a stop, as if somebody had changed the Lease since the process read it. Returns false
 * if the server must respond itself. */
static bool reject_release(ctl_request *request) {
    if (!is_release(request) || request->process->release_conflicts == 0)
        return false;
    request->process->release_conflicts--;
    respond_with_error(request, 409, -1, "Conflict");
    return true;
}

/* Responds in place of the server. Returns false if the server must respond itself. */
static bool inject_response(ctl_request *request, const ctl_armed *armed) {
    static const int codes[] = { 500, 502, 503, 504 };
    static const char *const reasons[] = { "InternalError", "", "ServiceUnavailable", "Timeout" };
    unsigned chosen = (unsigned)(armed->detail >> 8);
    switch (armed->kind) {
    case CTL_RESPONSE_429:
        respond_with_error(request, 429, (int)(chosen % 4), "TooManyRequests");
        return true;
    case CTL_RESPONSE_5XX:
        respond_with_error(request, codes[chosen % 4], chosen >> 2 & 1 ? 1 : -1, reasons[chosen % 4]);
        return true;
    case CTL_RESPONSE_409:
        respond_with_error(request, 409, -1, "Conflict");
        return true;
    case CTL_REFUSE:
        end_response(request, KI_ERR_CONNECT);
        return true;
    default:
        request->loses_response = armed->kind == CTL_LOSE_RESPONSE;
        request->is_silent = request->loses_response && (chosen & 1);
        return false;
    }
}

static void respond_from_server(ctl_request *request) {
    ctl_world *world = request->world;
    const kt_request received = { .method = request->method,
                                  .target = request->target,
                                  .accept = request->accept ? request->accept : "application/json",
                                  .content_type = request->content_type,
                                  .user_agent = "simulation",
                                  .body = { request->body, request->body_size } };
    if (!ctl_server_handle(world, request->process->index, &received, &request->response)) {
        end_response(request, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    request->has_response = true;
    if (request->loses_response) {
        CTL_TRACE(world, "request %" PRIu64 ": its response is lost (%d)", request->number, request->response.status);
        end_response(request, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    request->status = request->response.status;
    request->retry_after_s = request->response.retry_after_s;
    if (request->response.watch) {
        kt_watch_set_wake(request->response.watch, wake_request, request);
        read_events(request);
        return;
    }
    ki_buffer_append(&request->out, request->response.body.data, request->response.body.size);
    end_response(request, KI_OK);
}

/* Returns true if the process is in a partition of this kind. */
static bool is_cut_off(const ctl_request *request, ctl_partition partition) {
    const ctl_process *process = request->process;
    return process->partition_until > request->world->now && process->partition == partition;
}

static void arrive(void *user, uint64_t argument) {
    ctl_request *request = user;
    ctl_world *world = request->world;
    (void)argument;
    request->action_count--;
    request->has_arrived = true;
    if (request->is_lost || is_cut_off(request, CTL_REQUESTS_ARE_LOST)) {
        CTL_TRACE(world, "request %" PRIu64 ": is lost", request->number);
        release(request);
        return;
    }
    if (world->server.down_until > world->now || is_cut_off(request, CTL_REQUESTS_ARE_REFUSED)) {
        end_response(request, KI_ERR_CONNECT);
    } else {
        if (is_cut_off(request, CTL_RESPONSES_ARE_LOST))
            request->is_silent = true;
        const ctl_armed *armed = take_armed(world, request, false);
        if (!(armed && inject_response(request, armed)) && !reject_release(request))
            respond_from_server(request);
    }
    if (!request->call)
        drop_response(request);
    release(request);
}

/* --- the request -------------------------------------------------------------------------------------------------- */

static char *strdup_or_null(const char *text) {
    return text ? sim_strdup(text) : NULL;
}

static ctl_request *new_request(ctl_process *process, kt_memory_call *call, const ki_request *sent) {
    ctl_world *world = process->world;
    ctl_network *network = &world->network;
    ctl_request *request = sim_alloc(sizeof *request);
    *request = (ctl_request){ .world = world,
                              .process = process,
                              .number = ++world->requests,
                              .call = call,
                              .method = strdup_or_null(sent->method),
                              .target = strdup_or_null(sent->target),
                              .accept = strdup_or_null(sent->accept),
                              .content_type = strdup_or_null(sent->content_type),
                              .body_size = sent->body.size,
                              .is_watch = strstr(sent->target, "watch=") != NULL,
                              .is_lease = strstr(sent->target, "/leases") != NULL,
                              .is_write = strcmp(sent->method, "GET") != 0,
                              .retry_after_s = -1,
                              .watch_deadline = INT64_MAX };
    KI_LIST_PREPEND(network->first, request);
    ki_buffer_init(&request->out, &ki_allocator_default, 0);
    request->body = sim_alloc(sent->body.size + 1);
    if (sent->body.size)
        memcpy(request->body, sent->body.data, sent->body.size);
    return request;
}

static void pause_mid_step(ctl_process *process) {
    int64_t length = process->mid_step_pause;
    process->mid_step_pause = 0;
    ctl_world_pause_mid_step(process->world, process, length);
}

/* The oracles of what leaves a process. */
static void check_leaving(ctl_process *process, const ctl_request *request) {
    if (request->is_lease)
        ctl_leadership_count_request(process);
    if (is_release(request))
        ctl_leadership_check_release(process);
}

/* Called inside the library's send. A request leaves the process later; its term can end meanwhile. */
static void on_send(const ki_request *sent, void *user) {
    ctl_process *process = user;
    const char *term = strstr(sent->target, "term=");
    if (term && !process->is_freed)
        ctl_leadership_check_write(process, strtoull(term + 5, NULL, 10));
}

static void serve(kt_memory_call *call, const ki_request *sent, void *user) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    if (process->is_freed)
        return;
    bool pauses_after = process->mid_step_pause && !process->pauses_before_send;
    if (process->mid_step_pause && process->pauses_before_send)
        pause_mid_step(process);
    ctl_request *request = new_request(process, call, sent);
    kt_memory_call_set_user(call, request);
    check_leaving(process, request);
    request->latency =
        sim_between(&world->network.random, 0, world->now < world->network.slow_until ? 3000 : 30) * SIM_MILLISECOND;
    CTL_TRACE(world, "process %u: request %" PRIu64 ": %s %s %.*s", process->index, request->number, request->method,
              request->target, (int)request->body_size, request->body);
    ctl_digest_add(world, ki_hash(request->target, strlen(request->target), (uint64_t)world->now));
    const ctl_armed *armed = take_armed(world, request, true);
    int64_t delay = armed && armed->kind == CTL_DELAY ? armed->length : request->latency;
    request->is_lost = armed && armed->kind == CTL_LOSE_REQUEST;
    schedule(request, world->now + delay, arrive);
    if (pauses_after)
        pause_mid_step(process);
}

/* The client has cancelled or timed out, or is being freed. The request can arrive all the same. */
static void abandoned(kt_memory_call *call, void *user) {
    ctl_process *process = user;
    ctl_request *request = kt_memory_call_user(call);
    if (!request)
        return; /* `serve` discarded the request, because the process is being freed */
    request->call = NULL;
    CTL_TRACE(process->world, "process %u: abandons request %" PRIu64, process->index, request->number);
    if (!request->has_arrived && sim_chance(&process->world->network.random, 30))
        request->is_lost = true;
    drop_response(request);
    release(request);
}

ki_status ctl_network_transport_new(ctl_process *process, ki_error *err) {
    const kt_memory_server server = { .serve = serve, .abandoned = abandoned, .user = process };
    ki_status status = kt_memory_transport_new(process->engine, &server, &process->transport, err);
    if (!status)
        kt_memory_transport_on_send(process->transport, on_send);
    return status;
}

/* --- the network -------------------------------------------------------------------------------------------------- */

void ctl_network_make(ctl_world *world) {
    world->network = (ctl_network){ .random = sim_random_from(world->plan.seed, 121) };
}

void ctl_network_free(ctl_world *world) {
    for (ctl_request *request = world->network.first, *next; request; request = next) {
        next = request->next;
        request->call = NULL;
        request->action_count = 0;
        drop_response(request);
        release(request);
    }
}

void ctl_network_arm(ctl_world *world, const ctl_fault *fault, unsigned count) {
    ctl_network *network = &world->network;
    if (network->armed_count < CTL_MAX_ARMED)
        network->armed[network->armed_count++] =
            (ctl_armed){ .kind = fault->kind, .count = count, .length = fault->length, .detail = fault->detail };
}

void ctl_network_silence_watches(ctl_world *world) {
    for (ctl_request *request = world->network.first; request; request = request->next)
        request->is_silent = request->is_silent || request->is_watch;
}

void ctl_network_cut_watches(ctl_world *world) {
    for (ctl_request *request = world->network.first, *next; request; request = next) {
        next = request->next;
        if (request->call && request->is_watch && request->has_response)
            end_response(request, KI_ERR_UNEXPECTED_EOF);
    }
}

void ctl_network_heal(ctl_world *world) {
    world->network.armed_count = 0;
    world->network.slow_until = 0;
}
