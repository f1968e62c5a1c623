/* small_objects.h: what the benchmarks of the cache share: small pods with keys in random order, the thread's CPU time,
 * and a check that ends the program. */
#ifndef BENCH_SMALL_OBJECTS_H
#define BENCH_SMALL_OBJECTS_H

#include "src/object/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void need(bool ok, const char *what) {
    if (ok)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline ki_object *make(ki_object_format *format, unsigned number, unsigned version) {
    char json[256];
    ki_object *obj = NULL;
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"pod-%08x-%05u\",\"namespace\":\"namespace-%u\",\"resourceVersion\":\"%u\"}}",
             number * 2654435761u, number, number % 100, version);
    need(!ki_object_from_json(format, ki_str_of(json), "v1", "Pod", &obj, NULL), "object");
    return obj;
}

#endif
