/* component.h: what starts and stops with a factory beside its informers: controllers, electors, event recorders.
 *
 * A stop of the factory goes in steps, so that running work can end while the client still works. First every component of the first
 * order is asked to stop, and the factory waits until all of them have stopped. Then comes the second order, then informers and engine.
 * A component that does not stop in its time is cut off. */
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

/* Metrics that several components have. `metrics` is static, and tells one table from another. */
typedef struct ki_metric_table {
    const ki_metric *metrics;
    size_t count;
} ki_metric_table;

/* One thing that has the metrics of a table. Its functions are called on any thread; they do not wait for the loop. */
typedef struct ki_metric_source {
    struct ki_metric_source *next; /* of the same component */
    const ki_metric_table *table;
    /* Writes the samples of the metric `index` of the table, without its head. */
    ki_status (*write)(const struct ki_metric_source *source, size_t index, ki_buffer *out);
    /* Tells the program's metrics library the gauges. NULL: there are none. */
    void (*set_gauges)(const struct ki_metric_source *source);
} ki_metric_source;

typedef struct ki_component_list ki_component_list;

/* Embedded in what it is. All functions but those of `metrics` are called on the loop. */
typedef struct ki_component {
    ki_component_order order;
    const char *name; /* of its metrics: no two of one order have the same; NULL: it has none */
    int64_t stop_timeout_ns;
    void (*start)(struct ki_component *self);
    /* Begins to stop; calls ki_component_stopped when it has, from inside or later. Also called where it never started. */
    void (*stop)(struct ki_component *self);
    /* Stops at once: nothing that it waits for will come any more. Called once at most, with or without `stop` before. */
    void (*cut_off)(struct ki_component *self);
    /* Frees what was left to the loop by ki_component_leave, where it has ended by now. NULL: it never calls that. */
    void (*reap)(struct ki_component *self);
    ki_metric_source *metrics;
    /* private */
    struct ki_component *next;
    ki_component_list *list;
    ki_component_state state;
    bool is_wanted; /* its start was asked for */
    bool is_left;
} ki_component;

/* Adds a component. Components of the order KI_COMPONENT_WORKS start with the next ki_factory_start or ki_factory_run, as informers do; others also
 * at once where the factory has started. Any thread. Errors: KI_ERR_STATE after the factory's stop, KI_ERR_EXISTS (the name). */
ki_status ki_factory_add_component(ki_factory *factory, ki_component *component, ki_error *err);
/* Removes it: none of its functions is called afterwards. Harmless where it was not added. Waits for the loop, and for those who read its
 * metrics: call it without locks. */
void ki_component_remove(ki_component *component);
/* Loop only; harmless where it has stopped already. */
void ki_component_stopped(ki_component *component);

/* Its owner freed it while it worked: `reap` frees it once it has ended. The component calls `reap` itself on the loop; the factory calls it
 * too before it is freed, since the loop may have ended by then. Any thread. */
void ki_component_leave(ki_component *component);
/* It may have ended: the factory, where it waits for that, calls `reap`. Any thread. */
void ki_component_note_end(ki_component *component);

/* Returns the owner of the component's callbacks (cache/callback.h): ki_factory_shutdown inside one is KI_ERR_DEADLOCK. */
const void *ki_component_owner(const ki_component *component);

/* Returns the program's metrics library, NULL where there is none. Borrowed. */
const ki_metrics *ki_factory_metrics(const ki_factory *factory);

/* ---- for the factory ---- */

struct ki_component_list {
    ki_engine *engine;
    ki_mutex *mutex;  /* the factory's; guards the list, each component's state, and what follows `first` */
    ki_cond *changed; /* of what it guards */
    ki_component *first;
    size_t readers;              /* those who read metrics: no component goes meanwhile */
    size_t ends;                 /* calls of ki_component_note_end */
    void (*stopped)(void *user); /* loop: every component has stopped */
    void *user;
    /* loop only */
    ki_task task;
    ki_timer deadline;
    ki_component_order stopping; /* which order is asked to stop; all before it have */
    bool is_stopping, has_stopped;
};

/* Loop only. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_component_list_init(ki_component_list *list, ki_engine *engine, ki_mutex *mutex, ki_cond *changed,
                                 void (*stopped)(void *user), void *user);
void ki_component_list_close(ki_component_list *list); /* loop only; harmless on a zeroed one */
/* The caller holds the mutex. Errors: KI_ERR_EXISTS. */
ki_status ki_component_list_add(ki_component_list *list, ki_component *component, ki_error *err);
void ki_component_list_want(ki_component_list *list);    /* all that are there now; the caller holds the mutex */
void ki_component_list_start(ki_component_list *list);   /* loop: those that are wanted and have not started */
void ki_component_list_stop(ki_component_list *list);    /* loop: `stopped` is called when all have; repeatable */
void ki_component_list_cut_off(ki_component_list *list); /* loop: all, now */
/* Waits until all that were left to the loop are freed. Any thread but the loop of a threaded engine. */
void ki_component_list_reap(ki_component_list *list);
/* Any thread: the samples of all components' metrics, each metric's together after its head; and their gauges. */
ki_status ki_component_list_write_metrics(ki_component_list *list, ki_buffer *out);
void ki_component_list_set_gauges(ki_component_list *list);

#endif
