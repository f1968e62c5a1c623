/* source.h: stands between an informer and its list and watch source. Notes which part sends a request, the informer or its consistency check, and
 * counts the requests. */
#ifndef SIM_SOURCE_H
#define SIM_SOURCE_H

#include "src/cache/list_watch.h"

#include <stdint.h>

typedef struct sim_world sim_world;

typedef struct sim_source {
    ki_list_watch base; /* first */
    ki_list_watch *inner;
    sim_world *world;
    unsigned informer;
    bool is_consistency_check;
    /* what it was asked for */
    uint64_t lists;         /* streaming ones too; without further pages and second tries of the same list */
    uint64_t relists;       /* all that is not the first list, second tries too, but for pages */
    int64_t list_began_at;  /* the last list, by its first page */
    bool is_streaming;      /* as a streaming list */
    int64_t watch_began_at; /* the last watch or streaming list */
} sim_source;

/* In place of `inner`, which it frees. */
void sim_source_init(sim_source *source, sim_world *world, unsigned informer, bool is_consistency_check,
                     ki_list_watch *inner);

/* A number for whom a request is, and back: on its way it is part of the request (socket.c). */
enum {
    SIM_NO_REQUESTER = -1
};
static inline int sim_requester_number(unsigned informer, bool is_consistency_check) {
    return (int)informer * 2 + is_consistency_check;
}

#endif
