/* faults.h: what the embedded server can be told to do wrong, for the tests of a client: each fault that HTTP can show, for chosen requests, at a chosen
 * time. A fault is a line: "status,code=503,retry-after=1,verb=list,resource=pods,count=2". docs/testing-your-client.md has all of them; the
 * same lines are taken by `kinformer serve --fault` and, while it runs, by POST /_faults from the same machine. */
#ifndef KINFORMER_TESTING_FAULTS_H
#define KINFORMER_TESTING_FAULTS_H

#include <kinformer-testing/server.h>

KI_BEGIN_DECLS

/* Adds a fault; it counts requests and time from now on. At most 256 at a time. `ret_id` (may be NULL) is its number.
 * Errors: KI_ERR_INVALID (no such fault or argument), KI_ERR_LIMIT, KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_add_fault(ki_testing_server *server, const char *fault,
                                                           uint64_t *ret_id, ki_error *err);
/* Takes one away: requests from now on do not meet it. Errors: KI_ERR_NOT_FOUND. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_remove_fault(ki_testing_server *server, uint64_t id, ki_error *err);
/* Takes all away. */
KI_API void ki_testing_server_clear_faults(ki_testing_server *server);

/* All faults with how many requests they were for, and how many they struck, as JSON:
 * {"faults":[{"id":1,"fault":"close,count=1","requests":3,"struck":1}]}.
 * Ownership: `*ret_json` as in ki_testing_server_request. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_faults(ki_testing_server *server, ki_testing_text *ret_json,
                                                        ki_error *err);

/* As a server that was restored from a backup: objects and resource version go back to where they were `events` changes ago, as far as history
 * goes, and all watches end. Errors: KI_ERR_NO_MEMORY. */
KI_API KI_MUST_CHECK ki_status ki_testing_server_rewind(ki_testing_server *server, uint64_t events, ki_error *err);

KI_END_DECLS

#endif
