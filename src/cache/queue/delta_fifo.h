/* delta_fifo.h: the default queue, as client-go's DeltaFIFO: a list of deltas for each key, keys in the order of their
 * first delta. See queue.h. */
#ifndef KI_CACHE_DELTA_FIFO_H
#define KI_CACHE_DELTA_FIFO_H

#include <kinformer/allocator.h>
#include <kinformer/informer.h>

#include "src/cache/queue/queue.h"

typedef struct ki_delta_fifo_options {
    const ki_allocator *allocator;
    ki_known_objects known; /* get NULL: no known objects, only the queued ones */
    uint64_t seed;          /* of the key hashes */
} ki_delta_fifo_options;

/* Makes an empty queue; its `free` operation frees it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_delta_fifo_new(const ki_delta_fifo_options *options, ki_queue **ret_queue, ki_error *err);

#endif
