/* in_order_fifo.h: the optional queue: all events in the order of their arrival, none merged. A list is passed
 * on as the deletions of the known objects that are not in it, then its objects. See queue.h. */
#ifndef KI_CACHE_IN_ORDER_FIFO_H
#define KI_CACHE_IN_ORDER_FIFO_H

#include "src/cache/queue/fifo.h"

/* Makes an empty queue; its `free` operation frees it. Errors: KI_ERR_INVALID (batch_size 0), KI_ERR_NO_MEMORY. */
ki_status ki_in_order_fifo_new(const ki_fifo_options *options, ki_queue **ret_queue, ki_error *err);

#endif
