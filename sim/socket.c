/* socket.c: see socket.h. Over the transport within the process, which carries a request's content type though it has no body. */
#include "sim/world.h"

#include "src/base/error.h"
#include "testing/memory/transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct socket_transport {
    ki_transport base; /* first */
    ki_transport_ops ops;
    ki_transport *inner;
    sim_world *world;
} socket_transport;

static ki_status send(ki_transport *base, const ki_request *request, const ki_response_sink *sink,
                      ki_exchange **ret_exchange, ki_error *err) {
    socket_transport *transport = (socket_transport *)(void *)base;
    sim_world *world = transport->world;
    char owner[16];
    snprintf(owner, sizeof owner, "%d", world->requester_number);
    if (world->requester_number == SIM_NO_REQUESTER)
        sim_fail(world, "a request that is no informer's: %s", request->target);
    /* Some ways of running out show at once, others when the connection is made (network.c). */
    if (world->now < world->network.no_descriptors_until && sim_chance(&world->network.random, 50))
        return ki_error_set_errno(err, KI_ERR_SYSTEM, EMFILE, "the simulated transport");
    ki_request owned = *request;
    owned.content_type = owner;
    return ki_transport_send(transport->inner, &owned, sink, ret_exchange, err);
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
    transport->ops = (ki_transport_ops){ .send = send, .cancel = inner->ops->cancel, .free = free_socket };
    transport->base.ops = &transport->ops;
    transport->inner = inner;
    transport->world = world;
    *ret_transport = &transport->base;
    return KI_OK;
}

int sim_socket_requester(const ki_request *request) {
    return atoi(request->content_type);
}
