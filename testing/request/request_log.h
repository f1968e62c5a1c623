/* request_log.h: the last requests that clients made through the network, for tests (kinformer-testing/requests.h). The
 * caller holds the cluster (cluster.h). */
#ifndef KT_REQUEST_REQUEST_LOG_H
#define KT_REQUEST_REQUEST_LOG_H

#include <kinformer-testing/requests.h>

#include "src/base/ring.h"
#include "testing/values/spec.h"

struct kt_call;

typedef struct kt_request_log {
    const ki_allocator *allocator;
    ki_ring requests; /* ki_testing_request *, the oldest first; each is one block with its texts */
    size_t size;      /* bytes of all blocks */
    uint64_t dropped; /* older requests that gave way to newer ones */
    uint64_t last;    /* the number of the newest request; numbers are never used again */
    bool is_short;    /* a request was not recorded, for lack of memory */
} kt_request_log;

void kt_request_log_init(kt_request_log *log, const ki_allocator *allocator);
/* Frees all requests, and forgets what was dropped. */
void kt_request_log_clear(kt_request_log *log);
/* Records a call with the HTTP status of its response. */
void kt_request_log_add(kt_request_log *log, const struct kt_call *call, int status);

/* Returns the next request after the number `since` that matches a line of KT_MATCH_FIELDS; NULL: none. `*at` is 0 at
 * first. */
const ki_testing_request *kt_request_log_next(const kt_request_log *log, const kt_spec *match, uint64_t since,
                                              size_t *at);
/* Returns how many there are. */
size_t kt_request_log_count(const kt_request_log *log, const kt_spec *match, uint64_t since);
/* Copies the requests that match. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_request_log_copy(const kt_request_log *log, const kt_spec *match, ki_testing_requests *ret_requests);

#endif
