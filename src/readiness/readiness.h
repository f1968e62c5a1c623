/* readiness.h: whether a program is ready, as lines of text like those of /readyz of Kubernetes' own servers, for
 * ki_factory_readiness_text and the status server. Any thread. */
#ifndef KI_READINESS_READINESS_H
#define KI_READINESS_READINESS_H

#include "src/base/buffer.h"
#include "src/base/internal_api.h"
#include "src/readiness/picture.h"

/* Appends "ok", or with `verbose` and for a failure a line for each informer, queue and elector. `picture` has details.
 * Returns true if all informers are ready. */
KI_INTERNAL_API bool ki_readiness_write(const ki_picture *picture, bool verbose, ki_buffer *out);

#endif
