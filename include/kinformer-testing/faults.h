/* faults.h: fault injection in the embedded server: errors, delays and broken connections for chosen requests at chosen
 * times.
 *
 * A fault is a line of text: "status,code=503,retry-after=1,verb=list,resource=pods,count=2".
 * docs/testing-your-client.md lists all faults. `kinformer serve --fault` takes the same lines, as does POST /_faults
 * of a running server, from the same machine; a server with tokens requires the administrator's. */
#ifndef KINFORMER_TESTING_FAULTS_H
#define KINFORMER_TESTING_FAULTS_H

#include <kinformer-testing/server.h>

KI_BEGIN_DECLS

/* Adds a fault. Its counts and times start now. At most 256 faults exist at a time. `*ret_id` is the fault's number;
 * `ret_id` may be NULL.
 * Errors: KI_ERR_INVALID (unknown fault or argument; a fault that can match no request, with the nearest right word),
 * KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_add_fault(ki_testing_server *server, const char *fault,
                                                           uint64_t *ret_id, ki_error *err);
/* Removes a fault. Later requests are not affected by it. Errors: KI_ERR_NOT_FOUND. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_remove_fault(ki_testing_server *server, uint64_t id, ki_error *err);
/* Removes all faults. */
KI_API void ki_testing_server_clear_faults(ki_testing_server *server);

/* Gets all faults as JSON, each with the number of requests that it applied to and the number of requests in which it
 * was injected: {"faults":[{"id":1,"fault":"close,count=1","requests":3,"injected":1}]}.
 * Ownership: as ki_testing_server_request. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_faults(ki_testing_server *server, ki_testing_text *ret_json,
                                                        ki_error *err);

/* Simulates a restore from a backup: resets objects and resource version to their state before the last `events`
 * changes, as far as the history goes, and ends all watches. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_rewind(ki_testing_server *server, uint64_t events, ki_error *err);

KI_END_DECLS

#endif
