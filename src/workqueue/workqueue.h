/* workqueue.h: what other modules use of a work queue apart from its public functions. */
#ifndef KI_WORKQUEUE_WORKQUEUE_H
#define KI_WORKQUEUE_WORKQUEUE_H

#include <kinformer/workqueue.h>

#include "src/base/buffer.h"

/* Writes the samples, without the head, of the metric that ki_workqueue_metric_at(index) returns. For texts of several
 * queues, in which one metric's samples stand together. Any thread. Errors: the buffer's. */
ki_status ki_workqueue_metrics_write(const ki_workqueue *queue, size_t index, ki_buffer *out);

#endif
