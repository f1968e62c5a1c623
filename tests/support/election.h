/* election.h: electors that compete for one Lease. Each stands for a process, with its own engine, clock and
 * factory; one API server is between them. The test advances time and decides the fate of each request. An
 * unexpected failure fails the test. */
#ifndef TESTS_SUPPORT_ELECTION_H
#define TESTS_SUPPORT_ELECTION_H

#include <kinformer-controllers/leader.h>

#include "tests/support/rest_server.h"
#include "tests/support/test.h"
#include "tests/support/test_engine.h"

#include "testing/memory/transport.h"

enum {
    ELECTION_CANDIDATES = 2,
    ELECTION_TEXT = 4096
};

#define ELECTION_LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"

typedef struct candidate {
    struct election *election;
    const char *identity;
    test_engine engine;
    ki_transport *transport;
    ki_factory *factory;
    ki_elector *elector;
    kt_memory_call *open; /* the last request without a response; NULL: none, or it was abandoned */
    /* The fate of the next requests, a letter each. '.' or the end: normal response. '3': 403. '4': 409. '5': 500.
     * '!': cut before the server handles the request. '?': cut after. 'n': no response. 'N': handled, no response. 'g':
     * handled, the response is no Lease. 'r': 429 with a Retry-After of 30 s. 'h': handled, and a webhook in the server
     * makes itself the holder. 'p': like '.', and the process is suspended for 20 s while it reads the response. 'd':
     * somebody deletes the Lease, then 404. */
    const char *fate;
    char requests[ELECTION_TEXT]; /* "get:404 post:201 put:409" since the last check; 0: no response */
    char notes[ELECTION_TEXT];    /* "leader=me started stopped" since the last check */
    char log[ELECTION_TEXT];      /* "I became leader\n": level and message of each line since the last check */
    /* called inside the callbacks; NULL: none */
    void (*on_started)(struct candidate *self);
    void (*on_stopped)(struct candidate *self);
} candidate;

typedef struct election {
    rest_server server;
    candidate candidates[ELECTION_CANDIDATES]; /* "me" and "you" */
} election;

/* Creates the server and the candidates' factories. `allocator` is theirs; NULL: malloc. Returns false without
 * memory. */
bool election_open(election *self, const ki_allocator *allocator);
/* The same with a client-side rate limit for each candidate. */
bool election_open_limited(election *self, const ki_allocator *allocator, int per_second, int burst);
void election_close(election *self);
/* cmocka's setup and teardown: `*state` is the election. */
int election_set_up(void **state);
int election_tear_down(void **state);
#define ELECTION_TEST(name) TEST_WITH(election_set_up, election_tear_down, name)

/* Creates and starts the candidate's elector. Its callbacks take notes. `more` has other options; NULL: the
 * defaults. */
ki_status candidate_compete(candidate *self, const ki_elector_options *more);
/* Advances the time of all candidates, step by step. */
void election_advance(election *self, int64_t ms);

/* Writes the Lease unconditionally. `spec` is the content of its spec as JSON. */
void election_put(election *self, const char *spec);
void election_delete(election *self);
/* Returns true if the Lease's JSON contains `part`; otherwise prints the Lease. */
bool election_has(election *self, const char *part);

/* Assert the requests, or the callbacks, since the last check. */
void candidate_expect_requests(candidate *self, const char *requests);
void candidate_expect(candidate *self, const char *notes);
/* Asserts the log since the last check, without "elector: lease NAMESPACE/NAME: ". */
void candidate_expect_log(candidate *self, const char *lines);

#endif
