/* readiness.h: the responses of /livez and /readyz, as lines of text like those of Kubernetes' own servers. Any
 * thread. */
#ifndef KI_STATUS_READINESS_H
#define KI_STATUS_READINESS_H

#include "src/base/buffer.h"
#include "src/status/picture.h"

/* Appends "ok", or why the loop is not alive. `late_s`: seconds since the loop should have run; 0: it is in time.
 * Returns true if it is alive. */
bool ki_liveness_write(double late_s, ki_buffer *out);
/* Appends "ok", or with `verbose` and for a failure a line for each informer, queue and elector. `picture` has details.
 * Returns true if all informers are ready. */
bool ki_readiness_write(const ki_picture *picture, bool verbose, ki_buffer *out);

#endif
