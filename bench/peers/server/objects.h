/* objects.h: the pods of the server of bench/peers, as ready bytes. The pods are those of the embedded server's load,
 * or of a file. Made once, then read by any thread. */
#ifndef BENCH_PEERS_OBJECTS_H
#define BENCH_PEERS_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COPY_DIGITS = 3,      /* in each name and uid: a pod of the load is sent with several names, if more are needed */
    VERSION_DIGITS = 12,  /* of a resource version */
    STAMP_DIGITS = 19,    /* of the time of a change: nanoseconds of CLOCK_REALTIME */
    LABEL_DIGITS = 12,    /* of the value of a label */
    TIME_SIZE = 20,       /* of a time in a status: 2006-01-02T15:04:05Z */
    LOADED_MAX = 100000,  /* different pods at most; each takes some 17 KB */
    OBJECTS_MAX = 1000000 /* pods at most */
};

/* The annotation with the time of a change. Each client reads it in its handler. */
#define STAMP_NAME "bench/changed-at-ns"

/* A label that a change can give a new value. */
#define LABEL_NAME "bench/label"

/* What differs in each event: the parts that do not change stay as they were. */
typedef struct pod_change {
    uint64_t version;
    int64_t stamp_ns;
    uint64_t label;   /* value of the label */
    int64_t status_s; /* time of a condition; 0: as it was in the beginning */
} pod_change;

/* One form of a pod. The digits at the offsets differ in each object and event. */
typedef struct pod_text {
    char *json;
    size_t size;
    size_t name_at, uid_at; /* COPY_DIGITS */
    size_t version_at;
    size_t stamp_at;
    size_t label_at;
    size_t status_at; /* 0: no condition has a time */
} pod_text;

typedef struct pods {
    size_t count;    /* pods that the server has */
    size_t loaded;   /* different ones */
    pod_text *whole; /* `loaded` of each */
    pod_text *metadata;
    size_t longest, bytes; /* of one, and of all different ones */
} pods;

/* Makes `count` pods, with managedFields or without. Ends the program on failure. */
void load_pods(pods *p, size_t count, bool managed_fields);
/* Takes the pods of a file, the output of `kubectl get pods -A -o json`. Ends the program on failure. */
void read_pods(pods *p, const char *path);

/* Writes a pod into `to`, which has room for `longest` bytes. Returns the size. */
size_t write_pod(const pods *p, size_t number, bool metadata, const pod_change *change, char *to);

#endif
