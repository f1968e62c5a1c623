/* test_elector_deleted.c: somebody deletes the Lease: who waits, and how long. */
#include "tests/support/election.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define ME(self) (&(self)->candidates[0])
#define RETRY_MOST_MS 4400 /* 2.2 retry periods */

static void compete(candidate *self, const ki_elector_options *more) {
    assert_int_equal(candidate_compete(self, more), KI_OK);
    election_advance(self->election, 0);
}

static bool leads(const candidate *self) {
    return ki_elector_is_leader(self->elector);
}

ELECTION_TEST(a_leader_makes_a_deleted_lease_again_with_a_higher_token) {
    election *self = *state;
    election_put(self, "\"leaseTransitions\":7");
    compete(ME(self), NULL);
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 8);
    election_delete(self);
    election_advance(self, KI_RETRY_PERIOD_MS);
    candidate_expect_requests(ME(self), "get:200 put:200 put:409 get:404 post:201");
    candidate_expect(ME(self), "leader=me started");
    assert_true(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 9);
}

ELECTION_TEST(a_candidate_waits_for_a_deleted_lease_as_if_it_were_there) {
    election *self = *state;
    election_put(self, "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":15,\"leaseTransitions\":5");
    compete(ME(self), NULL);
    election_delete(self);
    election_advance(self, 14999);
    assert_null(strstr(ME(self)->requests, "post"));
    assert_false(leads(ME(self)));
    election_advance(self, 1 + RETRY_MOST_MS);
    assert_true(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 6);
}

ELECTION_TEST(a_lease_that_is_deleted_under_a_release_counts_as_released) {
    election *self = *state;
    candidate *me = ME(self);
    compete(me, &KI_ELECTOR_OPTIONS(.release_on_stop = true));
    candidate_expect_log(me, "I became leader\n");
    me->requests[0] = '\0';
    me->fate = ".d";
    ki_elector_stop(me->elector);
    election_advance(self, 60000);
    candidate_expect_requests(me, "get:200 put:404");
    candidate_expect_log(me, "I the elector was stopped: stopped leading\n");
}

TEST(a_deleted_lease_is_not_waited_for_longer_than_a_holder_can_mean) {
    const struct {
        const char *duration_s;
        int64_t own_ms, wait_ms;
    } cases[] = {
        { "3600", 0, 3600000 },       { "3601", 0, KI_LEASE_DURATION_MS }, { "2147483647", 0, KI_LEASE_DURATION_MS },
        { "7200", 7200000, 7200000 }, /* as long as its own */
        { "7201", 7200000, 7200000 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        char spec[128];
        assert_true(election_open(&self, NULL));
        snprintf(spec, sizeof spec, "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":%s", cases[i].duration_s);
        election_put(&self, spec);
        compete(ME(&self), &KI_ELECTOR_OPTIONS(.lease_duration_ms = cases[i].own_ms));
        election_delete(&self);
        election_advance(&self, cases[i].wait_ms - 1);
        assert_false(leads(ME(&self)));
        election_advance(&self, 1 + RETRY_MOST_MS);
        assert_true(leads(ME(&self)));
        election_close(&self);
    }
}
