/* informer_table.h: a factory's informers by their selection. The first request makes an informer; later ones share it.
 * No lock of its own: the caller holds the factory's. An entry and its informer stay at their address until the table
 * is freed, also after their removal. */
#ifndef KI_FACTORY_INFORMER_TABLE_H
#define KI_FACTORY_INFORMER_TABLE_H

#include <kinformer/informer.h>

#include "src/base/map.h"
#include "src/cache/informer/shared_informer.h"
#include "src/factory/fetch.h"
#include "src/object/body_codec.h"
#include "src/transport/transport.h"

struct ki_informer_maker;

typedef struct ki_informer_entry {
    ki_informer *informer;
    ki_fetcher *fetcher; /* NULL with a source of the program's own */
    ki_selection *selection;
    ki_object_format *format;
    const ki_field *view;    /* of the first request; NULL: none */
    bool has_check;          /* consistency checks, of the first request */
    bool is_start_requested; /* its start was requested */
    bool is_started;         /* loop only */
    const struct ki_informer_maker *maker;
    bool is_removed;
    struct ki_informer_entry *next, *previous;
} ki_informer_entry;

typedef struct ki_informer_table {
    const ki_allocator *allocator;
    ki_map by_key;            /* of its selection; without the removed ones */
    ki_informer_entry *first; /* of all in the order of their making, also of the removed ones */
} ki_informer_table;

/* The settings of new informers. Outlives them. */
typedef struct ki_informer_maker {
    ki_transport *transport;
    ki_client *client;                  /* of what is fetched beside the caches; has the rate limit of all */
    ki_body_contexts *contexts;         /* for packing; owned by the factory */
    ki_shared_informer_options options; /* of all informers; the rest differs by informer */
} ki_informer_maker;

void ki_informer_table_init(ki_informer_table *table, const ki_allocator *allocator, uint64_t seed);
/* Frees the table and its informers. The informers must have ended. */
void ki_informer_table_free(ki_informer_table *table);
/* Returns the informer of a selection, and makes it if necessary. `options` must be complete, with the
 * factory's defaults. Errors: KI_ERR_INVALID if the informer has another view. */
ki_status ki_informer_table_get(ki_informer_table *table, const ki_informer_maker *maker, ki_selection *selection,
                                const ki_informer_options *options, ki_informer **ret_informer, ki_error *err);
/* Makes the informer of a selection with a source of the program's own. With KI_OK the informer owns the source.
 * Errors: KI_ERR_EXISTS if there is such an informer; KI_ERR_INVALID for an option that such a source cannot have. */
ki_status ki_informer_table_add(ki_informer_table *table, const ki_informer_maker *maker, ki_selection *selection,
                                ki_list_watch *own_source, const ki_informer_options *options,
                                ki_informer **ret_informer, ki_error *err);
/* Removes an informer (ki_informer_remove). Errors: KI_ERR_NOT_FOUND, KI_ERR_NO_MEMORY. */
ki_status ki_informer_table_remove(ki_informer_table *table, const ki_informer *informer, ki_error *err);

#endif
