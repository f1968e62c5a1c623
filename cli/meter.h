/* meter.h: measures for the demo: memory in use, and percentiles. */
#ifndef CLI_METER_H
#define CLI_METER_H

#include <kinformer/allocator.h>

#include <stdint.h>

/* malloc, counted. Threads: any. */
extern const ki_allocator meter_allocator;
/* Bytes that are in use through it. */
size_t meter_bytes(void);

typedef struct meter {
    int64_t *values;
    size_t count;
    size_t capacity;
} meter;

/* Without memory the value is left out. */
void meter_add(meter *m, int64_t value);
/* The value that `percent` of all do not exceed; 0 without any. Sorts. */
int64_t meter_percentile(meter *m, double percent);
void meter_free(meter *m);

#endif
