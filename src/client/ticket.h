/* ticket.h: a queue of requests that wait for their turn, first come, first served. Loop only. */
#ifndef KI_CLIENT_TICKET_H
#define KI_CLIENT_TICKET_H

#include "src/base/assert.h"

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
    ki_ticket *first, *last;
    size_t count;
} ki_ticket_queue;

static inline void ki_ticket_queue_append(ki_ticket_queue *queue, ki_ticket *ticket, void (*granted)(void *user),
                                          void *user) {
    KI_ASSERT(!ticket->waiting && granted);
    *ticket = (ki_ticket){ .previous = queue->last, .waiting = true, .granted = granted, .user = user };
    *(queue->last ? &queue->last->next : &queue->first) = ticket;
    queue->last = ticket;
    queue->count++;
    KI_ASSERT(queue->first && !queue->first->previous && !queue->last->next);
}

static inline void ki_ticket_queue_remove(ki_ticket_queue *queue, ki_ticket *ticket) {
    KI_ASSERT(ticket->waiting && queue->count > 0);
    KI_ASSERT(ticket->previous ? ticket->previous->next == ticket : queue->first == ticket);
    KI_ASSERT(ticket->next ? ticket->next->previous == ticket : queue->last == ticket);
    *(ticket->previous ? &ticket->previous->next : &queue->first) = ticket->next;
    *(ticket->next ? &ticket->next->previous : &queue->last) = ticket->previous;
    ticket->next = ticket->previous = NULL;
    ticket->waiting = false;
    queue->count--;
    KI_ASSERT((queue->count > 0) == (queue->first != NULL) && (queue->count > 0) == (queue->last != NULL));
}

#endif
