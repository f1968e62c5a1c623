/* ticket.h: a queue of requests that wait for their turn, first come, first served. Loop only. */
#ifndef KI_CLIENT_TICKET_H
#define KI_CLIENT_TICKET_H

#include "src/base/list.h"

#include <stdbool.h>
#include <stddef.h>

/* A place in a queue, embedded in the waiting request; zero it before its first use. */
typedef struct ki_ticket {
    struct ki_ticket *next, *previous; /* private, as all members */
    bool waiting;
    void (*granted)(void *user);
    void *user;
} ki_ticket;

/* A zeroed queue is empty. */
typedef struct ki_ticket_queue {
    ki_ticket *first;
    size_t count;
} ki_ticket_queue;

static inline void ki_ticket_queue_append(ki_ticket_queue *queue, ki_ticket *ticket, void (*granted)(void *user),
                                          void *user) {
    KI_ASSERT(!ticket->waiting && granted);
    *ticket = (ki_ticket){ .waiting = true, .granted = granted, .user = user };
    KI_LIST_APPEND(queue->first, ticket);
    queue->count++;
}

static inline void ki_ticket_queue_remove(ki_ticket_queue *queue, ki_ticket *ticket) {
    KI_ASSERT(ticket->waiting && queue->count > 0);
    KI_LIST_REMOVE(queue->first, ticket);
    ticket->waiting = false;
    queue->count--;
    KI_ASSERT((queue->count > 0) == (queue->first != NULL));
}

#endif
