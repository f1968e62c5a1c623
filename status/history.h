/* history.h: the samples of the last 15 minutes, for the charts: of the whole factory, and of each informer, queue and
 * elector. Their number is limited, so the memory is, too. Any thread. */
#ifndef KI_STATUS_HISTORY_H
#define KI_STATUS_HISTORY_H

#include "src/engine/thread.h"
#include "src/readiness/picture.h"

enum {
    KI_HISTORY_SAMPLES = 90,
    KI_HISTORY_INTERVAL_MS = 10000,
    KI_HISTORY_LINES_MAX = 1024
};

/* The values of one thing, oldest first after ki_history_read; negative: there is none. */
typedef struct ki_history_values {
    float at[KI_HISTORY_SAMPLES];
} ki_history_values;

/* The lines of the whole factory. */
typedef enum ki_history_total {
    KI_HISTORY_EVENTS, /* a second */
    KI_HISTORY_OBJECTS,
    KI_HISTORY_BYTES,
    KI_HISTORY_DEPTH, /* of all queues */
    KI_HISTORY_TOTALS
} ki_history_total;

/* What a line is of: of an informer the events a second, of a queue its depth, of an elector 1 while it leads. */
typedef enum ki_history_kind {
    KI_HISTORY_INFORMER,
    KI_HISTORY_QUEUE,
    KI_HISTORY_ELECTOR
} ki_history_kind;

typedef struct ki_history {
    const ki_allocator *allocator;
    ki_mutex mutex; /* guards all below; held for one line, or while one sample is added */
    struct ki_history_line *lines;
    size_t count, capacity;
    size_t next;     /* place of the next sample in each line */
    size_t samples;  /* that were taken, up to KI_HISTORY_SAMPLES */
    int64_t last_ns; /* time of the last sample */
    ki_history_values totals[KI_HISTORY_TOTALS];
} ki_history;

ki_status ki_history_init(ki_history *history, const ki_allocator *allocator, ki_error *err);
void ki_history_free(ki_history *history);
/* Adds a sample. Without memory a line is missing until the next sample. Forgets lines whose row the picture no longer
 * has. */
void ki_history_add(ki_history *history, const ki_picture *picture, int64_t now_ns);
/* Copies the values of a line, oldest first. Without such a line all are negative. */
void ki_history_read(ki_history *history, ki_history_kind kind, uint64_t identity, ki_history_values *ret_values);
void ki_history_read_total(ki_history *history, ki_history_total total, ki_history_values *ret_values);
/* Returns the last value; negative: there is none. */
float ki_history_last(const ki_history_values *values);

#endif
