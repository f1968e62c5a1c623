/* socket.h: the client's transport: the transport of testing/memory, with the requester in each request. It fails while
 * no descriptor is left. */
#ifndef SIM_SOCKET_H
#define SIM_SOCKET_H

#include "src/transport/transport.h"

typedef struct sim_world sim_world;

ki_status sim_socket_new(sim_world *world, ki_transport **ret_transport, ki_error *err);
/* Returns the number of the requester (source.h). */
int sim_socket_requester(const ki_request *request);

#endif
