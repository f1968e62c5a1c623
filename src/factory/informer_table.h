/* informer_table.h: a factory's informers by what they select; the first request makes one, later ones share it. It has no lock: its
 * factory's is held around every call. An entry never moves and never goes before the table does. */
#ifndef KI_FACTORY_INFORMER_TABLE_H
#define KI_FACTORY_INFORMER_TABLE_H

#include <kinformer/informer.h>
#include <kinformer/metrics.h>

#include "src/base/map.h"
#include "src/client/throttle.h"
#include "src/engine/engine.h"
#include "src/object/format.h"
#include "src/transport/transport.h"

typedef struct ki_informer_entry {
    ki_informer *informer;
    char *key;
    char *selection;          /* for messages: "pods in default (app=web)" */
    ki_object_format *format; /* of its objects: who asks again must mean the same view */
    bool is_wanted;           /* start was asked for */
    bool is_started;          /* loop only */
} ki_informer_entry;

typedef struct ki_informer_table {
    const ki_allocator *allocator;
    ki_map by_key;
    ki_informer_entry **entries; /* in order of making */
    size_t count, capacity;
} ki_informer_table;

/* What informers are made with. */
typedef struct ki_informer_maker {
    ki_engine *engine;
    ki_transport *transport;
    ki_throttle *throttle; /* NULL: none */
    const void *owner;
    const char *namespace_name; /* of those that name none; NULL: all */
    int64_t resync_ms;          /* likewise; 0: none */
    const ki_metrics *metrics;  /* NULL: none */
    bool detect_mutations;
    uint64_t seed;
} ki_informer_maker;

void ki_informer_table_init(ki_informer_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the informers too, which have ended. */
void ki_informer_table_free(ki_informer_table *table);
/* Errors: KI_ERR_EXISTS where it is there with another view. `options` is whole: its size has been looked at. */
ki_status ki_informer_table_get(ki_informer_table *table, const ki_informer_maker *maker, const ki_resource *resource,
                                const ki_informer_options *options, ki_informer **ret_informer, ki_error *err);

#endif
