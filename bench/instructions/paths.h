/* paths.h: a hot path whose instructions are counted, and what all of them share. One thread. */
#ifndef BENCH_INSTRUCTIONS_PATHS_H
#define BENCH_INSTRUCTIONS_PATHS_H

#include <kinformer/allocator.h>
#include <kinformer/engine.h>
#include <kinformer/view.h>

#include "src/base/string_view.h"

typedef struct path {
    const char *name;
    unsigned events; /* of a round */
    unsigned rounds; /* counted, after some that are not */
    void (*begin)(void);
    void (*prepare)(void); /* called before each round, not counted; NULL: nothing */
    void (*round)(void);
    void (*end)(void);
} path;

extern const path path_framing, path_watch_events, path_decode, path_decode_view; /* wire.c */
extern const path path_modified, path_modified_indexed, path_modified_label, path_json, path_fields, path_lookup_key,
    path_lookup_index, path_list_index;                                /* informer.c */
extern const path path_store_put;                                      /* store.c */
extern const path path_delta_fifo, path_in_order_fifo, path_workqueue; /* queues.c */
extern const path path_server_watches;                                 /* server.c */

/* Ends the program unless `holds`. */
void need(bool holds, const char *what);

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* An allocator whose calls cost the same everywhere: free blocks of one size form a list. The library's calls of it are
 * counted, not the work of a malloc. */
extern const ki_allocator fixed_memory;
extern unsigned long allocations;

/* --- time --------------------------------------------------------------------------------------------------------- */

/* Makes an engine with the fixed allocator, a fixed seed and a clock that stands still. */
ki_engine *new_engine(void);
/* Steps until nothing is due. */
void step_all(ki_engine *engine);

/* --- input -------------------------------------------------------------------------------------------------------- */

enum {
    PODS = 50,
    VERSION_DIGITS = 9,
    LABEL_DIGITS = 10,
    CHUNK = 16 * 1024 /* bytes that a connection reads at once */
};

/* A watch's body: a MODIFIED of each pod, of 9 KB with managedFields. */
typedef struct pod_events {
    char *text;
    size_t size;
    ki_str objects[PODS];
    char *versions[PODS]; /* VERSION_DIGITS digits in the text */
    char *labels[PODS];   /* LABEL_DIGITS characters in the text: the value of a label */
} pod_events;

/* A view of two fields, as in bench_pipeline. */
typedef struct pod_view {
    const char *node;
    const char *phase;
} pod_view;
extern const ki_field pod_fields[];

const pod_events *load_pods(void);
/* Writes a resource version into each event, higher than all before. */
void renew_versions(const pod_events *events);
/* Gives each pod another value of a label than all others have, and than it had before. */
void renew_labels(const pod_events *events);

#endif
