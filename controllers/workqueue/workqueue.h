/* workqueue.h: what other modules use of a work queue apart from its public functions. */
#ifndef KI_WORKQUEUE_WORKQUEUE_H
#define KI_WORKQUEUE_WORKQUEUE_H

#include <kinformer-controllers/workqueue.h>

#include "src/base/metrics.h"

/* Passes the queue's samples, under no lock. `controller` is the name of the controller that the queue belongs to;
 * NULL: none. Any thread. */
void ki_workqueue_pass_metrics(const ki_workqueue *queue, const char *controller, const ki_metrics_visit *to);
/* As ki_workqueue_done. `forgets`: also as ki_workqueue_forget. */
ki_status ki_workqueue_finish(ki_workqueue *queue, const void *key, bool forgets);
/* Calls on_ready no more: threads take the keys. An add then posts no task to the loop. Loop only. */
void ki_workqueue_forget_on_ready(ki_workqueue *queue);

#endif
