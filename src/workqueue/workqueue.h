/* workqueue.h: what other modules need of a work queue beside its public functions: its metrics, one at a time. */
#ifndef KI_WORKQUEUE_WORKQUEUE_H
#define KI_WORKQUEUE_WORKQUEUE_H

#include <kinformer/workqueue.h>

#include "src/base/buffer.h"

/* Writes the samples of the metric that ki_workqueue_metric_at(index) returns, without its head: for texts of several queues, in which
 * the samples of one metric stand together. Any thread. Failures are the buffer's. */
ki_status ki_workqueue_metrics_write(const ki_workqueue *queue, size_t index, ki_buffer *out);

#endif
