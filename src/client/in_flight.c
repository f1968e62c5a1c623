/* in_flight.c: see in_flight.h. */
#include "src/client/in_flight.h"

#include "src/base/assert.h"

static bool can_grant(const ki_in_flight *flight) {
    return flight->queue.first && flight->count < flight->limit;
}

/* Grants one place in each run: `granted` sends a request. */
static void grant(ki_task *task, void *user) {
    ki_in_flight *flight = user;
    KI_ON_LOOP(task->engine);
    ki_ticket *ticket = flight->queue.first;
    if (!can_grant(flight))
        return;
    ki_ticket_queue_remove(&flight->queue, ticket);
    flight->count++;
    KI_ASSERT(flight->count <= flight->limit);
    if (can_grant(flight))
        ki_task_post(task);
    ticket->granted(ticket->user);
}

void ki_in_flight_init(ki_in_flight *flight, ki_engine *engine, size_t limit) {
    *flight = (ki_in_flight){ .limit = limit };
    ki_task_init(&flight->task, engine, grant, flight);
}

void ki_in_flight_close(ki_in_flight *flight) {
    ki_task_cancel(&flight->task);
    while (flight->queue.first)
        ki_ticket_queue_remove(&flight->queue, flight->queue.first);
}

bool ki_in_flight_enter(ki_in_flight *flight, ki_ticket *ticket, void (*granted)(void *user), void *user) {
    KI_ON_LOOP(flight->task.engine);
    KI_ASSERT(flight->count <= flight->limit);
    if (!flight->queue.first && flight->count < flight->limit) {
        flight->count++;
        return true;
    }
    ki_ticket_queue_append(&flight->queue, ticket, granted, user);
    return false;
}

void ki_in_flight_leave(ki_in_flight *flight) {
    KI_ON_LOOP(flight->task.engine);
    KI_ASSERT(flight->count > 0);
    flight->count--;
    if (can_grant(flight))
        ki_task_post(&flight->task);
}

void ki_in_flight_withdraw(ki_in_flight *flight, ki_ticket *ticket) {
    KI_ON_LOOP(flight->task.engine);
    if (ticket->waiting)
        ki_ticket_queue_remove(&flight->queue, ticket);
}
