/* socket.c: see socket.h. The content type of a request carries the requester's number: lists and watches have no
 * body. */
#include "sim/world.h"

#include "src/base/error.h"
#include "testing/memory/transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct socket_transport {
    ki_transport base; /* must be first */
    ki_transport_ops ops;
    ki_transport *inner;
    sim_world *world;
} socket_transport;

static ki_status send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                      ki_exchange **ret_exchange, ki_error *err) {
    socket_transport *transport = (socket_transport *)(void *)base;
    sim_world *world = transport->world;
    char requester[16];
    uint32_t key;
    int number = world->requester_number;
    if (number == SIM_NO_REQUESTER && sim_fetches_is_get(request->target, &key))
        number = sim_fetch_requester_number(key);
    snprintf(requester, sizeof requester, "%d", number);
    if (number == SIM_NO_REQUESTER)
        sim_fail(world, "a request without an informer: %s", request->target);
    /* The lack of a descriptor shows at once, or when the connection is opened (network.c). */
    if (world->now < world->network.no_descriptors_until && sim_chance(&world->network.random, 50)) {
        if (number >= sim_fetch_requester_number(0))
            sim_fetches_note_unsent(world, (uint32_t)(number - sim_fetch_requester_number(0)));
        return ki_error_set_errno(err, KI_ERR_SYSTEM, EMFILE, "the simulated transport");
    }
    ki_request marked = *request;
    marked.content_type = requester;
    transport->inner->meter = base->meter;
    return ki_transport_send(transport->inner, &marked, sink, ret_exchange, err);
}

static void pause_exchange(ki_exchange *exchange, bool is_paused) {
    sim_exchange *served = kt_memory_call_user((kt_memory_call *)(void *)exchange);
    if (served)
        sim_exchange_pause(served, is_paused);
}

static void free_socket(ki_transport *base) {
    socket_transport *transport = (socket_transport *)(void *)base;
    ki_transport_free(transport->inner);
    free(transport);
}

ki_status sim_socket_new(sim_world *world, ki_transport **ret_transport, ki_error *err) {
    ki_transport *inner;
    ki_status status = kt_memory_transport_new(world->engine, &world->network.server, &inner, err);
    if (status)
        return status;
    socket_transport *transport = sim_alloc(sizeof *transport);
    transport->ops =
        (ki_transport_ops){ .send = send, .cancel = inner->ops->cancel, .free = free_socket, .pause = pause_exchange };
    transport->base.ops = &transport->ops;
    transport->inner = inner;
    transport->world = world;
    *ret_transport = &transport->base;
    return KI_OK;
}

int sim_socket_requester(const ki_request *request) {
    return atoi(request->content_type);
}
