/* in_flight.h: the bound of a client's requests in flight, and the queue of those that wait for a place. Loop only. */
#ifndef KI_CLIENT_IN_FLIGHT_H
#define KI_CLIENT_IN_FLIGHT_H

#include "src/client/ticket.h"
#include "src/engine/engine.h"

typedef struct ki_in_flight {
    size_t limit; /* constant */
    size_t count; /* places that are taken */
    ki_ticket_queue queue;
    ki_task task; /* grants places that became free */
} ki_in_flight;

/* Any thread, before its first use. */
void ki_in_flight_init(ki_in_flight *flight, ki_engine *engine, size_t limit);
/* Empties the queue without calling `granted`. */
void ki_in_flight_close(ki_in_flight *flight);
/* Returns true if the caller has a place now. Otherwise queues `ticket`, and calls `granted` once the caller has a
 * place: first come, first served, never from inside this function. */
bool ki_in_flight_enter(ki_in_flight *flight, ki_ticket *ticket, void (*granted)(void *user), void *user);
/* Gives a place back. The loop grants it later. */
void ki_in_flight_leave(ki_in_flight *flight);
/* Removes a ticket that waits; else does nothing. */
void ki_in_flight_withdraw(ki_in_flight *flight, ki_ticket *ticket);

#endif
