/* own_writes.h: delays the next reconcile of a key until the caches have what the last one wrote. */
#ifndef KI_CONTROLLER_OWN_WRITES_H
#define KI_CONTROLLER_OWN_WRITES_H

#include "src/client/term.h"
#include "src/engine/engine.h"

#include <kinformer-controllers/controller.h>

#define KI_OWN_WRITES_WAIT KI_SECONDS(10) /* the longest delay */

typedef enum ki_own_writes_state {
    KI_OWN_WRITES_OPEN,    /* the reconcile runs, or no reconcile has begun with it */
    KI_OWN_WRITES_WAITING, /* the reconcile has ended, its key is still in processing */
    KI_OWN_WRITES_CLOSED   /* nobody waits any more; never left */
} ki_own_writes_state;

/* The writes of one reconcile that a watched informer selects. The controller's mutex guards all members without a
 * guard of their own. */
typedef struct ki_own_writes {
    ki_write_log log;              /* its references: the reconcile or the wait, each request, the wait of `awaited` */
    const ki_allocator *allocator; /* constant */
    ki_controller *controller;     /* constant; invalid once CLOSED */
    _Atomic ki_own_writes_state state; /* written under the mutex */
    size_t running;                    /* requests that have begun and not ended */
    struct ki_unseen *first; /* list: what the caches may lack, in the order of the responses; the loop writes */
    /* While WAITING. */
    const char *key;                       /* borrowed from the queue */
    struct ki_own_writes *next, *previous; /* in the controller's list */
    ki_task task;
    /* Loop. */
    ki_timer timer;
    ki_informer *awaited; /* calls back; NULL: none */
} ki_own_writes;

/* A reconcile begins whose controller waits for its writes: sets call->writes and the log of call->term. Without memory
 * both are NULL. The thread of the reconcile. */
void ki_own_writes_begin(ki_reconcile *call);
/* A reconcile ends. Returns true if its key must wait: the loop then calls ki_workqueue_done. The thread that ends the
 * reconcile. */
bool ki_own_writes_end(ki_reconcile *call);
/* Ends the first wait of a key, of a controller that stops. Returns false if no key waits. Loop only. */
bool ki_own_writes_cancel_one(ki_controller *controller);
/* Closes what reconciles of a controller without running reconciles have. Loop only. */
void ki_own_writes_free_all(ki_controller *controller);

#endif
