/* objects.h: the pods of the server of bench/peers, as ready bytes. The pods are those of the embedded server's load.
 * Made once, then read by any thread. */
#ifndef BENCH_PEERS_OBJECTS_H
#define BENCH_PEERS_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COPY_DIGITS = 3,      /* in each name and uid: a pod of the load is sent with several names, if more are needed */
    VERSION_DIGITS = 12,  /* of a resource version */
    STAMP_DIGITS = 19,    /* of the time of a change: nanoseconds of CLOCK_REALTIME */
    LOADED_MAX = 100000,  /* different pods at most; each takes some 14 KB */
    OBJECTS_MAX = 1000000 /* pods at most */
};

/* The annotation with the time of a change. Each client reads it in its handler. */
#define STAMP_NAME "bench/changed-at-ns"

/* One form of a pod. The digits at the offsets differ in each object and event. */
typedef struct pod_text {
    char *json;
    size_t size;
    size_t name_at, uid_at; /* COPY_DIGITS */
    size_t version_at;
    size_t stamp_at;
} pod_text;

typedef struct pods {
    size_t count;    /* pods that the server has */
    size_t loaded;   /* different ones */
    pod_text *whole; /* `loaded` of each */
    pod_text *metadata;
    size_t longest;
} pods;

/* Makes `count` pods, with managedFields or without. Ends the program on failure. */
void load_pods(pods *p, size_t count, bool managed_fields);

/* Writes a pod into `to`, which has room for `longest` bytes. Returns the size. */
size_t write_pod(const pods *p, size_t number, bool metadata, uint64_t version, int64_t stamp_ns, char *to);

#endif
