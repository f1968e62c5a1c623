/* report_limit.h: limits the reports of unusable objects. The first KI_REPORT_LIMIT_MAX of a second are reported one by
 * one. At the end of the second one report has the number of the others. A server that sends only unusable objects thus
 * cannot flood the log and the error handler. On the loop. */
#ifndef KI_CACHE_REPORT_LIMIT_H
#define KI_CACHE_REPORT_LIMIT_H

#include "src/base/kept_error.h"
#include "src/engine/engine.h"

enum {
    KI_REPORT_LIMIT_MAX = 100 /* single reports in a second */
};

typedef struct ki_report_limit {
    const ki_allocator *allocator;
    ki_timer timer;     /* the end of the current second, which begins with its first error */
    size_t count;       /* errors in the current second */
    ki_kept_error last; /* the last error without a report of its own */
    void (*report)(const ki_error *err, const char *key, void *user);
    void *user;
} ki_report_limit;

/* Initializes an embedded struct. The caller closes it. */
void ki_report_limit_open(ki_report_limit *limit, ki_engine *engine,
                          void (*report)(const ki_error *err, const char *key, void *user), void *user);
/* Reports the error, or counts it once the second's limit is reached. */
void ki_report_limit_add(ki_report_limit *limit, const ki_error *err, const char *key);
/* Reports the counted errors. Also accepts a zeroed or closed struct. */
void ki_report_limit_close(ki_report_limit *limit);

#endif
