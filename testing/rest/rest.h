/* rest.h: the API server without any I/O: a request goes in, a response or a stream comes out. Time is an argument.
 * Called by the HTTP front (testing/http/front.c), by the in-memory transport's adapter and by the simulation.
 *
 * One thread at a time: a front that has several holds its own lock around every call with the same cluster. */
#ifndef KT_REST_REST_H
#define KT_REST_REST_H

#include "testing/cluster/cluster.h"
#include "testing/request/request.h"

/* Answers. Fails only for lack of memory (the front then answers 500 itself); everything else, bad input too, is a response.
 * Ownership: `ret_response` is the caller's, freed with kt_response_free (which ends the watch as well). */
ki_status kt_rest_handle(kt_cluster *cluster, const kt_request *request, int64_t now_ms, kt_response *ret_response);
void kt_response_free(kt_response *response);

#endif
