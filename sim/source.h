/* source.h: a list and watch source around that of an informer or of its consistency check. It counts the lists, and
 * marks each request with its requester. */
#ifndef SIM_SOURCE_H
#define SIM_SOURCE_H

#include <kinformer/parts/list_watch.h>

#include <stdint.h>

#include "sim/network.h"

typedef struct sim_world sim_world;

typedef struct sim_source {
    ki_list_watch base; /* must be first */
    ki_list_watch *inner;
    sim_world *world;
    unsigned informer;
    bool is_consistency_check;
    bool is_of_set; /* the source of one namespace of a set; it owns itself */
    sim_sender sender;
    uint64_t lists;         /* without further pages and repetitions in another form; with streaming lists */
    uint64_t relists;       /* lists after the first queued one; with repetitions */
    uint64_t lists_before;  /* queued ones, at the request of the last list */
    int64_t list_began_at;  /* ns: the request of the last list, of its first page */
    bool is_streaming;      /* the last list was requested as a streaming list */
    int64_t watch_began_at; /* ns: the request of the last watch or streaming list */
} sim_source;

/* Initializes a source around `inner`, and owns `inner`. */
void sim_source_init(sim_source *source, sim_world *world, unsigned informer, bool is_consistency_check,
                     ki_list_watch *inner);

#endif
