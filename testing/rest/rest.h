/* rest.h: the API server without I/O: a request in, a response or watch out. Time is an argument. Called by the HTTP
 * front (testing/http/front.c), by the functions of the embedded server that make requests, by the in-memory
 * transport's adapter, and by the simulation.
 *
 * Threads: one at a time. A front with several threads holds its own lock around every call with the same cluster. */
#ifndef KT_REST_REST_H
#define KT_REST_REST_H

#include "testing/cluster/cluster.h"
#include "testing/request/request.h"
#include "testing/request/watch.h"

/* Handles a request. Fails only if memory runs out (the front then responds 500); every other error is a response.
 * Ownership: the caller frees `*ret_response` with kt_response_free, which also ends the watch. */
ki_status kt_rest_handle(kt_cluster *cluster, const kt_request *request, int64_t now_ms, kt_response *ret_response);
void kt_response_free(kt_response *response);

/* Reads frames from a response with a watch, as kt_watch_read does, with the faults of the response. */
ki_status kt_response_read(kt_response *response, int64_t now_ms, ki_buffer *out, size_t max, kt_object **ret_shared,
                           kt_watch_state *ret_state);

#endif
