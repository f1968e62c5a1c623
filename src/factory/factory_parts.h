/* factory_parts.h: the struct of a factory, for the files that implement it: factory.c (creation, start, stop, end),
 * factory_informers.c and factory_wait.c. */
#ifndef KI_FACTORY_FACTORY_PARTS_H
#define KI_FACTORY_FACTORY_PARTS_H

#include "src/client/client.h"
#include "src/engine/thread.h"
#include "src/factory/component.h"
#include "src/factory/factory.h"
#include "src/factory/informer_options.h"
#include "src/factory/informer_table.h"

/* Under `mutex`. */
typedef struct ki_factory_life {
    bool is_engine_started;
    bool is_running; /* ki_factory_run is inside the engine */
    bool is_started;
    bool is_stopped;
    bool have_components_stopped;
    bool is_shutting_down, is_shut_down;
} ki_factory_life;

struct ki_factory {
    /* Constant. */
    ki_engine *engine;
    bool owns_engine;
    ki_factory_options options; /* the program's; the texts are `name` and `namespace_name` */
    char *name, *namespace_name;
    ki_transport *transport;
    bool owns_transport;
    ki_meter *meter;   /* counts the transport's requests */
    ki_client *client; /* for the program's own requests */
    ki_informer_maker maker;
    ki_informer *running; /* the first running informer; loop */
    /* Under `mutex`. */
    ki_mutex mutex;
    ki_cond changed; /* signalled when a field below changes */
    ki_informer_table table;
    ki_factory_life life;
    ki_factory_end *first_end;
    ki_component_list components; /* `mutex` guards its list; the rest belongs to the loop */
    /* Loop. */
    ki_task start_task, stop_task;
    ki_timer start_timer;
    ki_end_hook end_hook;
};

/* factory.c: returns the entry after `entry`; after NULL the first, after the last NULL. Skips removed ones. The table
 * may change meanwhile. */
ki_informer_entry *ki_factory_next_entry(ki_factory *factory, const ki_informer_entry *entry, bool *ret_is_requested);
/* factory_informers.c: returns KI_ERR_STATE if the factory or its engine is stopped. */
ki_status ki_factory_check_not_stopped(const ki_factory *factory, ki_error *err);

#endif
