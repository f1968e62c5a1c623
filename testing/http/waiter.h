/* waiter.h: requests that wait for something (GET /_wait). Their connections are suspended; libmicrohttpd asks for the
 * response again once they are resumed. The daemon's thread, and threads that hold the lock. */
#ifndef KT_HTTP_WAITER_H
#define KT_HTTP_WAITER_H

#include "testing/http/stream.h"

/* Suspends the connection until `response->until` is so, or `response->wait_ms` have passed. Takes the condition. NULL
 * without memory, or if all connections are cut. Caller holds the lock. */
kt_waiter *kt_waiter_start(kt_streams *streams, struct MHD_Connection *connection, kt_response *response);
/* Returns what ended the wait. Ownership: borrowed from the waiter. Caller holds the lock. */
const kt_waited *kt_waiter_result(const kt_waiter *waiter);
/* Takes the lock. */
void kt_waiter_free(kt_waiter *waiter);

/* ---- for stream.c, which holds the lock ---- */

/* Resumes those whose condition holds, or cannot hold any more. */
void kt_waiters_look(kt_streams *streams);
/* Resumes those that are late. Returns the earliest time of the others and `earliest_ms`. */
int64_t kt_waiters_resume_due(kt_streams *streams, int64_t now_ms, int64_t earliest_ms);
void kt_waiters_end_all(kt_streams *streams);

#endif
