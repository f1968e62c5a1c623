/* delta_fifo.h: the default queue, as client-go's DeltaFIFO: a list of deltas for each key, keys in the order of their
 * first delta. See queue.h. */
#ifndef KI_CACHE_DELTA_FIFO_H
#define KI_CACHE_DELTA_FIFO_H

#include "src/cache/queue/fifo.h"

/* Makes an empty queue; its `free` operation frees it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_delta_fifo_new(const ki_fifo_options *options, ki_queue **ret_queue, ki_error *err);

#endif
