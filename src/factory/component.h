/* component.h: what starts and stops with a factory beside its informers: controllers, electors, event recorders.
 *
 * A stop of the factory goes in steps, so that running work can end while the client still works: first every component of the first
 * order is asked to stop, and the factory waits until all of them have; then the second order; then informers and engine end. A component
 * that does not stop in its time is cut off. */
#ifndef KI_FACTORY_COMPONENT_H
#define KI_FACTORY_COMPONENT_H

#include <kinformer/factory.h>
#include <kinformer/metrics.h>

#include "src/base/buffer.h"
#include "src/engine/engine.h"

typedef enum ki_component_order {
    KI_COMPONENT_WORKS,  /* controllers: they need the others to end their work */
    KI_COMPONENT_SERVES, /* electors, event recorders */
    KI_COMPONENT_ORDERS
} ki_component_order;

typedef enum ki_component_state {
    KI_COMPONENT_NEW,
    KI_COMPONENT_STARTED,
    KI_COMPONENT_STOPPING,
    KI_COMPONENT_STOPPED
} ki_component_state;

/* Some metrics that stand together; static. */
typedef struct ki_metric_table {
    const ki_metric *metrics;
    size_t count;
} ki_metric_table;

/* One thing that has the metrics of a table. */
typedef struct ki_metric_source {
    struct ki_metric_source *next; /* of the same component */
    const ki_metric_table *table;
    ki_status (*write)(const struct ki_metric_source *source, size_t index, ki_buffer *out); /* any thread */
    void (*set_gauges)(const struct ki_metric_source *source); /* any thread; NULL: none */
} ki_metric_source;

typedef struct ki_component_list ki_component_list;

/* Embedded in what it is. All functions are called on the loop. */
typedef struct ki_component {
    ki_component_order order;
    int64_t stop_timeout_ns;
    void (*start)(struct ki_component *self);
    /* Begins to stop; calls ki_component_stopped when it has, from inside or later. Also called where it never started. */
    void (*stop)(struct ki_component *self);
    /* Stops at once: nothing that it waits for will come any more. Called once at most, with or without `stop` before. */
    void (*cut_off)(struct ki_component *self);
    ki_metric_source *metrics;
    /* private */
    struct ki_component *next;
    ki_component_list *list;
    ki_component_state state;
} ki_component;

/* Adds a component; it starts with the factory, or at once where that has started. Any thread. Errors: KI_ERR_STATE after the factory's stop. */
ki_status ki_factory_add_component(ki_factory *factory, ki_component *component, ki_error *err);
/* Removes it: none of its functions is called afterwards. Harmless where it was not added. Waits for the loop: call it without locks. */
void ki_component_remove(ki_component *component);
/* Loop only; harmless where it has stopped already. */
void ki_component_stopped(ki_component *component);

/* Returns the program's metrics library, NULL where there is none. Borrowed. */
const ki_metrics *ki_factory_metrics(const ki_factory *factory);

/* ---- for the factory ---- */

struct ki_component_list {
    ki_engine *engine;
    ki_mutex *mutex; /* the factory's; guards first, next and the metrics */
    ki_component *first;
    void (*stopped)(void *user); /* loop: every component has stopped */
    void *user;
    /* loop only */
    ki_task task;
    ki_timer deadline;
    ki_component_order stopping; /* which order is asked to stop; all before it have */
    bool is_stopping, has_stopped;
};

/* Loop only. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_component_list_init(ki_component_list *list, ki_engine *engine, ki_mutex *mutex,
                                 void (*stopped)(void *user), void *user);
void ki_component_list_close(ki_component_list *list); /* loop only; harmless on a zeroed one */
/* The caller holds the mutex. */
void ki_component_list_add(ki_component_list *list, ki_component *component);
void ki_component_list_start(ki_component_list *list);   /* loop: those that have not started */
void ki_component_list_stop(ki_component_list *list);    /* loop: `stopped` is called when all have; repeatable */
void ki_component_list_cut_off(ki_component_list *list); /* loop: all, now */
/* Any thread: the samples of all components' metrics, and their gauges. */
ki_status ki_component_list_write_metrics(ki_component_list *list, ki_buffer *out);
void ki_component_list_set_gauges(ki_component_list *list);

#endif
