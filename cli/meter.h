/* meter.h: measurements for the demo: memory in use, and percentiles. */
#ifndef CLI_METER_H
#define CLI_METER_H

#include <kinformer/allocator.h>

#include <stdint.h>

/* An allocator over malloc that counts. Threads: any. */
extern const ki_allocator meter_allocator;
/* Returns the bytes in use through meter_allocator. */
size_t meter_bytes(void);

typedef struct meter {
    int64_t *values;
    size_t count;
    size_t capacity;
} meter;

/* Adds a value; skips the value if out of memory. */
void meter_add(meter *m, int64_t value);
/* Returns the value that `percent` of all values do not exceed; 0 without values. Sorts the values. */
int64_t meter_percentile(meter *m, double percent);
void meter_free(meter *m);

#endif
