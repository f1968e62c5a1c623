/* network.c: the life of a request: it leaves its process, arrives or not, is answered by the server or in its place, and the answer returns or
 * not. A request that has left may arrive after its sender has given up, or died. */
#include "sim/controllers/world.h"

#include "src/base/error.h"
#include "src/base/map.h"
#include "src/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 16 * 1024 /* bytes read from a watch at once */
};

struct ctl_request {
    ctl_request *next, *previous;
    ctl_world *world;
    ctl_process *process;
    uint64_t number;
    kt_memory_call *call; /* NULL: over for the client */
    char *method, *target, *accept, *content_type, *body;
    size_t body_size;
    bool is_watch, is_lease, is_write;
    bool has_arrived, is_lost, loses_answer;
    bool is_silent; /* nothing returns any more */
    int64_t latency;
    /* the answer */
    kt_response response;
    bool has_response, has_head, is_ended;
    int status, retry_after_s;
    ki_buffer out;
    ki_status end; /* after `out` */
    int64_t deadline;
    bool pumps, delivers; /* an action of the agenda will */
    unsigned actions;     /* of the agenda that know it */
};

static void drop_response(ctl_request *request) {
    if (request->has_response)
        kt_response_free(&request->response);
    request->has_response = false;
}

static void release(ctl_request *request) {
    if (request->call || request->actions || request->has_response)
        return;
    *(request->previous ? &request->previous->next : &request->world->network.first) = request->next;
    if (request->next)
        request->next->previous = request->previous;
    ki_buffer_free(&request->out);
    free(request->method);
    free(request->target);
    free(request->accept);
    free(request->content_type);
    free(request->body);
    free(request);
}

static void later(ctl_request *request, int64_t at, sim_action action) {
    request->actions++;
    ctl_at(request->world, at, action, request, 0);
}

/* --- the way back --------------------------------------------------------------------------------------------------------- */

static void deliver(void *user, uint64_t argument);

static void wait_to_deliver(ctl_request *request, int64_t delay) {
    if (request->delivers || !request->call)
        return;
    request->delivers = true;
    later(request, request->world->now + delay, deliver);
}

static void finish(ctl_request *request) {
    kt_memory_call *call = request->call;
    ki_error err = KI_ERROR_INIT;
    ki_status status = request->end;
    request->call = NULL;
    drop_response(request);
    if (status)
        ki_error_set(&err, status, "%s",
                     status == KI_ERR_CONNECT ? "the simulated server refuses" : "the simulated connection was cut");
    CTL_TRACE(request->world, "process %u: request %" PRIu64 " ends, %s", request->process->index, request->number,
              status ? ki_status_name(status) : "cleanly");
    kt_memory_call_end(call, status ? &err : NULL);
}

static void deliver_all(ctl_request *request) {
    ctl_world *world = request->world;
    if (!request->has_head && request->status) {
        request->has_head = true;
        const ki_response_head head = { .status = request->status,
                                        .retry_after_ms =
                                            request->retry_after_s < 0 ? -1 : (int64_t)request->retry_after_s * 1000,
                                        .content_type = "application/json" };
        CTL_TRACE(world, "process %u: request %" PRIu64 ": status %d", request->process->index, request->number,
                  request->status);
        ctl_note(world, request->number * 1000 + (uint64_t)request->status);
        if (!kt_memory_call_head(request->call, &head))
            return;
    }
    if (request->out.size) {
        ki_buffer out = request->out;
        ki_buffer_init(&request->out, &ki_allocator_default, 0);
        ctl_note(world, ki_hash(out.data, out.size, (uint64_t)world->now));
        if (world->trace)
            ctl_say(world, "process %u: request %" PRIu64 ": %.*s", request->process->index, request->number,
                    (int)(out.size > 300 ? 300 : out.size), out.data);
        bool goes_on = kt_memory_call_data(request->call, out.data, out.size);
        ki_buffer_free(&out);
        if (!goes_on)
            return;
    }
    if (request->is_ended)
        finish(request);
}

static void deliver(void *user, uint64_t argument) {
    ctl_request *request = user;
    ctl_process *process = request->process;
    ctl_world *world = request->world;
    (void)argument;
    request->delivers = false;
    int64_t free_at = ctl_process_free_at(process);
    free_at = free_at > process->partition_until ? free_at : process->partition_until;
    if (request->call && free_at > world->now) {
        wait_to_deliver(request, free_at - world->now);
    } else if (request->call && !request->is_silent) {
        deliver_all(request);
    }
    request->actions--; /* not before: the request must stay while the client is called */
    release(request);
}

/* The connection ends with `status`; KI_OK: cleanly. */
static void end(ctl_request *request, ki_status status) {
    request->is_ended = true;
    request->end = status;
    drop_response(request);
    wait_to_deliver(request, request->latency);
}

/* --- a watch's events ---------------------------------------------------------------------------------------------------- */

static void pump(void *user, uint64_t argument);

static void on_deadline(void *user, uint64_t argument);

static void wait_to_pump(ctl_request *request, int64_t delay) {
    if (request->pumps)
        return;
    request->pumps = true;
    later(request, request->world->now + delay, pump);
}

static void read_events(ctl_request *request) {
    ctl_world *world = request->world;
    kt_watch_state state = KT_WATCH_MORE;
    while (state == KT_WATCH_MORE) {
        if (kt_watch_read(request->response.watch, ctl_server_now_ms(world), &request->out, BLOCK, &state)) {
            ctl_fail(world, "a watch of the server failed");
            return;
        }
    }
    if (state == KT_WATCH_ENDED) {
        end(request, KI_OK);
        return;
    }
    int64_t deadline =
        world->now + (kt_watch_deadline(request->response.watch) - ctl_server_now_ms(world) + 1) * SIM_MILLISECOND;
    if (deadline < request->deadline) {
        request->deadline = deadline;
        later(request, deadline, on_deadline);
    }
    if (request->out.size || !request->has_head)
        wait_to_deliver(request, request->latency);
}

static void pump(void *user, uint64_t argument) {
    ctl_request *request = user;
    (void)argument;
    request->pumps = false;
    request->actions--;
    if (request->has_response && request->call && !request->is_ended)
        read_events(request);
    release(request);
}

static void on_deadline(void *user, uint64_t argument) {
    ctl_request *request = user;
    (void)argument;
    request->actions--;
    request->deadline = INT64_MAX;
    if (request->has_response && request->call)
        wait_to_pump(request, 0);
    release(request);
}

static void on_ready(void *user) {
    ctl_request *request = user;
    wait_to_pump(request, ctl_server_lag(request->world));
}

/* --- answers ---------------------------------------------------------------------------------------------------------------- */

static bool is_about(const ctl_armed *armed, const ctl_request *request) {
    switch (armed->detail & 3) {
    case 0:
        return request->is_lease;
    case 1:
        return request->is_write;
    default:
        return true;
    }
}

/* Takes one count of an armed fault. NULL: the request is spared. */
static const ctl_armed *hit(ctl_world *world, const ctl_request *request, bool on_the_way) {
    ctl_network *network = &world->network;
    static ctl_armed found;
    for (size_t i = 0; i < network->armed_count; i++) {
        ctl_armed *armed = &network->armed[i];
        bool is_of_the_way = armed->kind == CTL_DELAY || armed->kind == CTL_LOSE_REQUEST;
        if (is_of_the_way != on_the_way || !is_about(armed, request) ||
            (armed->kind == CTL_ANSWER_409 && !request->is_write))
            continue;
        found = *armed;
        if (--armed->count == 0)
            *armed = network->armed[--network->armed_count];
        return &found;
    }
    return NULL;
}

static void answer_with(ctl_request *request, int status, int retry_after_s, const char *reason) {
    char body[256];
    CTL_TRACE(request->world, "request %" PRIu64 ": is answered with %d", request->number, status);
    int size = snprintf(body, sizeof body,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":"
                        "\"simulated\",\"reason\":\"%s\",\"code\":%d}",
                        reason, status);
    request->status = status;
    request->retry_after_s = retry_after_s;
    ki_buffer_append(&request->out, body, (size_t)size);
    end(request, KI_OK);
}

/* Gives an answer that the server never gave. Returns false where there is none. */
static bool answer_for_the_server(ctl_request *request, const ctl_armed *armed) {
    static const int codes[] = { 500, 502, 503, 504 };
    static const char *const reasons[] = { "InternalError", "", "ServiceUnavailable", "Timeout" };
    unsigned chosen = (unsigned)(armed->detail >> 8);
    switch (armed->kind) {
    case CTL_ANSWER_429:
        answer_with(request, 429, (int)(chosen % 4), "TooManyRequests");
        return true;
    case CTL_ANSWER_5XX:
        answer_with(request, codes[chosen % 4], chosen >> 2 & 1 ? 1 : -1, reasons[chosen % 4]);
        return true;
    case CTL_ANSWER_409:
        answer_with(request, 409, -1, "Conflict");
        return true;
    case CTL_REFUSE:
        end(request, KI_ERR_CONNECT);
        return true;
    default:
        request->loses_answer = armed->kind == CTL_LOSE_ANSWER;
        request->is_silent = request->loses_answer && (chosen & 1);
        return false;
    }
}

static void answer(ctl_request *request) {
    ctl_world *world = request->world;
    const kt_request asked = { .method = request->method,
                               .target = request->target,
                               .accept = request->accept ? request->accept : "application/json",
                               .content_type = request->content_type,
                               .user_agent = "simulation",
                               .body = { request->body, request->body_size } };
    if (!ctl_server_handle(world, request->process->index, &asked, &request->response)) {
        end(request, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    request->has_response = true;
    if (request->loses_answer) {
        CTL_TRACE(world, "request %" PRIu64 ": its answer is lost (%d)", request->number, request->response.status);
        end(request, KI_ERR_UNEXPECTED_EOF);
        return;
    }
    request->status = request->response.status;
    request->retry_after_s = request->response.retry_after_s;
    if (request->response.watch) {
        kt_watch_on_ready(request->response.watch, on_ready, request);
        read_events(request);
        return;
    }
    ki_buffer_append(&request->out, request->response.body.data, request->response.body.size);
    end(request, KI_OK);
}

static bool is_cut_off(const ctl_request *request, ctl_partition partition) {
    const ctl_process *process = request->process;
    return process->partition_until > request->world->now && process->partition == partition;
}

static void arrive(void *user, uint64_t argument) {
    ctl_request *request = user;
    ctl_world *world = request->world;
    (void)argument;
    request->actions--;
    request->has_arrived = true;
    if (request->is_lost || is_cut_off(request, CTL_REQUESTS_ARE_LOST)) {
        CTL_TRACE(world, "request %" PRIu64 ": is lost", request->number);
        release(request);
        return;
    }
    if (world->server.down_until > world->now || is_cut_off(request, CTL_REQUESTS_ARE_REFUSED)) {
        end(request, KI_ERR_CONNECT);
    } else {
        if (is_cut_off(request, CTL_ANSWERS_ARE_LOST))
            request->is_silent = true;
        const ctl_armed *armed = hit(world, request, false);
        if (!armed || !answer_for_the_server(request, armed))
            answer(request);
    }
    if (!request->call)
        drop_response(request);
    release(request);
}

/* --- the way there -------------------------------------------------------------------------------------------------------- */

static char *copy_of(const char *text) {
    return text ? sim_strdup(text) : NULL;
}

static ctl_request *new_request(ctl_process *process, kt_memory_call *call, const ki_request *given) {
    ctl_world *world = process->world;
    ctl_network *network = &world->network;
    ctl_request *request = sim_alloc(sizeof *request);
    *request = (ctl_request){ .next = network->first,
                              .world = world,
                              .process = process,
                              .number = ++world->requests,
                              .call = call,
                              .method = copy_of(given->method),
                              .target = copy_of(given->target),
                              .accept = copy_of(given->accept),
                              .content_type = copy_of(given->content_type),
                              .body_size = given->body.size,
                              .is_watch = strstr(given->target, "watch=") != NULL,
                              .is_lease = strstr(given->target, "/leases") != NULL,
                              .is_write = strcmp(given->method, "GET") != 0,
                              .retry_after_s = -1,
                              .deadline = INT64_MAX };
    if (request->next)
        request->next->previous = request;
    network->first = request;
    ki_buffer_init(&request->out, &ki_allocator_default, 0);
    request->body = sim_alloc(given->body.size + 1);
    if (given->body.size)
        memcpy(request->body, given->body.data, given->body.size);
    return request;
}

static void pause_mid_step(ctl_process *process) {
    int64_t length = process->pause_mid_step;
    process->pause_mid_step = 0;
    ctl_world_pass(process->world, process, length);
}

static void serve(kt_memory_call *call, const ki_request *given, void *user) {
    ctl_process *process = user;
    ctl_world *world = process->world;
    if (process->is_dropped)
        return;
    bool pauses_after = process->pause_mid_step && !process->pause_before;
    if (process->pause_mid_step && process->pause_before)
        pause_mid_step(process);
    ctl_request *request = new_request(process, call, given);
    kt_memory_call_set_user(call, request);
    if (request->is_lease)
        ctl_leadership_note_request(process);
    request->latency =
        sim_between(&world->network.random, 0, world->now < world->network.slow_until ? 3000 : 30) * SIM_MILLISECOND;
    CTL_TRACE(world, "process %u: request %" PRIu64 ": %s %s %.*s", process->index, request->number, request->method,
              request->target, (int)request->body_size, request->body);
    ctl_note(world, ki_hash(request->target, strlen(request->target), (uint64_t)world->now));
    const ctl_armed *armed = hit(world, request, true);
    int64_t delay = armed && armed->kind == CTL_DELAY ? armed->length : request->latency;
    request->is_lost = armed && armed->kind == CTL_LOSE_REQUEST;
    later(request, world->now + delay, arrive);
    if (pauses_after)
        pause_mid_step(process);
}

/* The client has given up, or is gone. What has left may arrive all the same. */
static void abandoned(kt_memory_call *call, void *user) {
    ctl_process *process = user;
    ctl_request *request = kt_memory_call_user(call);
    if (!request)
        return; /* sent while the process was freed */
    request->call = NULL;
    CTL_TRACE(process->world, "process %u: lets go of request %" PRIu64, process->index, request->number);
    if (!request->has_arrived && sim_chance(&process->world->network.random, 30))
        request->is_lost = true;
    drop_response(request);
    release(request);
}

kt_memory_server ctl_network_server(ctl_process *process) {
    return (kt_memory_server){ .serve = serve, .abandoned = abandoned, .user = process };
}

/* --- the whole ---------------------------------------------------------------------------------------------------------- */

void ctl_network_make(ctl_world *world) {
    world->network = (ctl_network){ .random = sim_random_from(world->plan.seed, 121) };
}

void ctl_network_free(ctl_world *world) {
    for (ctl_request *request = world->network.first, *next; request; request = next) {
        next = request->next;
        request->call = NULL;
        request->actions = 0;
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

void ctl_network_silence(ctl_world *world) {
    for (ctl_request *request = world->network.first; request; request = request->next)
        request->is_silent = request->is_silent || request->is_watch;
}

void ctl_network_cut(ctl_world *world) {
    for (ctl_request *request = world->network.first, *next; request; request = next) {
        next = request->next;
        if (request->call && request->is_watch && request->has_response)
            end(request, KI_ERR_UNEXPECTED_EOF);
    }
}

void ctl_network_heal(ctl_world *world) {
    world->network.armed_count = 0;
    world->network.slow_until = 0;
}
