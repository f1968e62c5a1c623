/* election.h: electors that compete for one Lease: each a process of its own, with an engine, a clock and a factory, and one API server in between. A
 * test moves the time, and says what becomes of each request. What goes wrong fails the test. */
#ifndef TESTS_SUPPORT_ELECTION_H
#define TESTS_SUPPORT_ELECTION_H

#include <kinformer/leader.h>

#include "tests/support/rest_server.h"
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
    kt_memory_call *open; /* the last request that was never answered; NULL: none, or it was abandoned */
    /* What becomes of the next requests, a letter each: '.' or the end: they are answered; '4': 409, '5': 500, '!': the connection is cut
     * before the request arrives; '?': after it was done; 'n': never answered; 'N': done, and never answered; 'g': done, and
     * answered with what is no Lease; 'h': answered with the Lease as a webhook changed it, which made itself the holder; 'p': as '.', but the process is suspended for 20 s while the response is read. */
    const char *fate;
    char requests[ELECTION_TEXT]; /* "get:404 post:201 put:409" since the last look; 0: no response */
    char heard[ELECTION_TEXT];    /* "leader=me started stopped" since the last look */
    /* called inside the callbacks; NULL: nothing */
    void (*on_started)(struct candidate *self);
    void (*on_stopped)(struct candidate *self);
} candidate;

typedef struct election {
    rest_server server;
    candidate candidates[ELECTION_CANDIDATES]; /* "me" and "you" */
} election;

/* Makes the server and the candidates' factories. `allocator` is theirs; NULL: malloc. False where there is no memory. */
bool election_open(election *self, const ki_allocator *allocator);
void election_close(election *self);

/* Makes the candidate's elector with the callbacks that take notes, and with what is set in `more`; NULL: the defaults. Starts it. */
ki_status candidate_compete(candidate *self, const ki_elector_options *more);
/* Moves the time of all candidates, as each of them needs it. */
void election_advance(election *self, int64_t ms);

/* Writes the Lease by hand, whatever it is: its spec as JSON. */
void election_put(election *self, const char *spec);
void election_delete(election *self);
/* Is this part of the Lease's JSON? Prints the Lease where it is not. */
bool election_has(election *self, const char *part);

/* The requests, or the calls, since the last look are these. */
void candidate_expect_requests(candidate *self, const char *requests);
void candidate_expect(candidate *self, const char *heard);

#endif
