/* component.h: the parts that start and stop with a factory beside its informers: controllers, electors, event
 * recorders.
 *
 * The factory stops in steps, so that running work can end while the client still works. The factory asks every
 * component of the first order to stop, and waits until all of them have stopped. Then it stops the second order, then
 * informers and engine. A component that exceeds its stop timeout is cut off. */
#ifndef KI_FACTORY_COMPONENT_H
#define KI_FACTORY_COMPONENT_H

#include <kinformer/factory.h>

#include "src/base/internal_api.h"
#include "src/base/metrics.h"
#include "src/engine/engine.h"

typedef enum ki_component_order {
    KI_COMPONENT_WORKER,  /* controllers: they need the others to end their work */
    KI_COMPONENT_SERVICE, /* electors, event recorders */
    KI_COMPONENT_ORDERS
} ki_component_order;

typedef enum ki_component_state {
    KI_COMPONENT_NEW,
    KI_COMPONENT_STARTED,
    KI_COMPONENT_STOPPING,
    KI_COMPONENT_STOPPED
} ki_component_state;

typedef struct ki_component_list ki_component_list;

/* Embedded in the component's own struct. The loop calls all functions except `visit_metrics`. */
typedef struct ki_component {
    ki_component_order order;
    const char *name; /* of its metrics: unique in its order; NULL: no metrics */
    int64_t stop_timeout_ns;
    void (*start)(struct ki_component *self);
    /* Begins to stop. Calls ki_component_stopped at the end, from inside or later. Also called if the component never
     * started. */
    void (*stop)(struct ki_component *self);
    /* Stops at once, because no response or event will arrive. Called at most once, with or without `stop` before. */
    void (*cut_off)(struct ki_component *self);
    /* Frees what ki_component_leave left to the loop, if it has ended. NULL: the component never calls
     * ki_component_leave. */
    void (*reap)(struct ki_component *self);
    /* Passes the component's samples. Any thread, also before the start. Does not wait for the loop. NULL: no
     * metrics. */
    void (*visit_metrics)(const struct ki_component *self, const ki_metrics_visit *to);
    /* private */
    struct ki_component *next, *previous;
    ki_component_list *list;
    ki_component_state state;
    bool is_start_requested; /* its start was requested */
    bool is_left;
} ki_component;

/* Adds a component. Components of the order KI_COMPONENT_WORKER start with the next ki_factory_start or ki_factory_run,
 * as informers do. Other components also start at once if the factory has started. Any thread. Errors: KI_ERR_STATE
 * after the factory's stop, KI_ERR_EXISTS (the name). */
KI_INTERNAL_API ki_status ki_factory_add_component(ki_factory *factory, ki_component *component, ki_error *err);
/* Removes the component. None of its functions is called afterwards. No effect if it was not added. Waits for the loop
 * and for readers of its metrics: the caller must hold no locks. */
KI_INTERNAL_API void ki_component_remove(ki_component *component);
/* Marks the component stopped. Loop only. No effect if it has stopped already. */
KI_INTERNAL_API void ki_component_stopped(ki_component *component);

/* Marks a component whose owner freed it while it worked. `reap` frees it once it has ended. The component calls `reap`
 * itself on the loop. The factory also calls `reap` before it is freed, since the loop may have ended by then. Any
 * thread. */
KI_INTERNAL_API void ki_component_leave(ki_component *component);
/* Wakes the factory if it waits for left components, so that it calls `reap` again. Any thread. */
KI_INTERNAL_API void ki_component_note_end(ki_component *component);

/* Returns the owner of the component's callbacks (engine/callback.h): ki_factory_shutdown inside one is
 * KI_ERR_DEADLOCK. */
KI_INTERNAL_API const void *ki_component_owner(const ki_component *component);

/* ---- for the factory ---- */

struct ki_component_list {
    ki_engine *engine;
    ki_mutex *mutex;  /* the factory's; guards the list, each component's state, `readers` and `ends` */
    ki_cond *changed; /* signalled when something that `mutex` guards changes */
    ki_component *first;
    size_t readers;              /* readers of metrics: components are not freed meanwhile */
    size_t ends;                 /* calls of ki_component_note_end */
    void (*stopped)(void *user); /* loop: every component has stopped */
    void *user;
    /* loop only */
    ki_task task;
    ki_timer deadline;
    ki_component_order stopping; /* the order that is being stopped; all before it have stopped */
    bool is_stopping, has_stopped;
};

/* Loop only. */
void ki_component_list_init(ki_component_list *list, ki_engine *engine, ki_mutex *mutex, ki_cond *changed,
                            void (*stopped)(void *user), void *user);
void ki_component_list_close(ki_component_list *list); /* loop only; no effect on a zeroed list */
/* Errors: KI_ERR_EXISTS. */
ki_status ki_component_list_add(ki_component_list *list, ki_component *component, ki_error *err);
void ki_component_list_request_start(ki_component_list *list); /* requests the start of all */
void ki_component_list_start(ki_component_list *list); /* loop: starts the requested components that have not started */
void ki_component_list_stop(ki_component_list *list);  /* loop: calls `stopped` once all have stopped; repeatable */
void ki_component_list_cut_off(ki_component_list *list); /* loop: cuts all off, now */
/* Waits until all left components are freed. Any thread but the loop of a threaded engine. */
void ki_component_list_reap(ki_component_list *list);
/* Passes all components' samples, under no lock. Any thread. */
void ki_component_list_visit_metrics(ki_component_list *list, const ki_metrics_visit *to);

#endif
