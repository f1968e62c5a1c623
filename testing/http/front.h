/* front.h: the HTTP server in front of a cluster: libmicrohttpd outside, kt_rest_handle inside. */
#ifndef KT_HTTP_FRONT_H
#define KT_HTTP_FRONT_H

#include "testing/access/tls.h"
#include "testing/http/stream.h"

typedef struct kt_front kt_front;

/* Serves `cluster` (borrowed; from now on touched only under the lock of kt_front_streams) on `listen` (see
 * ki_testing_server_options). `tls` (borrowed; NULL: plain HTTP) is read when the front starts and when it starts again. */
ki_status kt_front_new(const ki_allocator *allocator, kt_cluster *cluster, const char *listen, const kt_tls *tls,
                       kt_front **ret_front, ki_error *err);
/* Cuts all connections and serves anew, with what `tls` has by now. Clients that connect meanwhile wait; with `down_ms` they are refused
 * for so long. Blocks: for so long. One thread at a time. Errors: KI_ERR_SYSTEM; then nothing is served any more, until it is called again. */
ki_status kt_front_restart(kt_front *front, int64_t down_ms, ki_error *err);
/* Ends watches cleanly, with what had happened until then; clients that do not read are cut. NULL is accepted. */
void kt_front_free(kt_front *front);
/* "http://127.0.0.1:41873". Borrowed. */
const char *kt_front_url(const kt_front *front);
kt_streams *kt_front_streams(kt_front *front);

#endif
