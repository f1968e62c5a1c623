/* socket.h: the client's end of the network: a transport that writes on each request whose it is, that has no descriptor to give at times,
 * and that has only so many streams on a connection. */
#ifndef SIM_SOCKET_H
#define SIM_SOCKET_H

#include "src/transport/transport.h"

typedef struct sim_world sim_world;

ki_status sim_socket_new(sim_world *world, ki_transport **ret_transport, ki_error *err);
/* Whose request it is (source.h). */
int sim_socket_requester(const ki_request *request);

#endif
