/* front.h: the HTTP server of a cluster: libmicrohttpd receives requests, kt_rest_handle responds. */
#ifndef KT_HTTP_FRONT_H
#define KT_HTTP_FRONT_H

#include "testing/access/tls.h"
#include "testing/http/stream.h"

typedef struct kt_front kt_front;

/* Serves `cluster` on the address `listen` (see ki_testing_server_options). Borrows `cluster`; from now on the lock
 * of kt_front_streams guards it. Borrows `tls` (NULL: plain HTTP); every start of the front reads it. */
ki_status kt_front_new(const ki_allocator *allocator, kt_cluster *cluster, const char *listen, const kt_tls *tls,
                       kt_front **ret_front, ki_error *err);
/* Cuts all connections and starts again with the current `tls`. Clients that connect meanwhile wait; with `down_ms`
 * they are refused for that time.
 * Threads: one at a time.
 * Blocks: for `down_ms`.
 * Errors: KI_ERR_SYSTEM; the front then serves nothing until the next call. */
ki_status kt_front_restart(kt_front *front, int64_t down_ms, ki_error *err);
/* Cuts the connections of the watches that are open now. Caller holds the lock of kt_front_streams. */
void kt_front_cut_watches(kt_front *front);
/* Ends watches cleanly after the events so far, and cuts clients that do not read. NULL is allowed. */
void kt_front_free(kt_front *front);
/* Returns the URL, such as "http://127.0.0.1:41873". Ownership: borrowed. */
const char *kt_front_url(const kt_front *front);
kt_streams *kt_front_streams(kt_front *front);

#endif
