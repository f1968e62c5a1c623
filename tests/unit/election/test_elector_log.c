/* test_elector_log.c: an elector's log says who leads, and why this process cannot: once for each change. The server is
 * the embedded one, in the process, and the clocks move by hand. */
#include "tests/support/election.h"
#include "tests/support/test.h"

#include <string.h>

#define ME(self) (&(self)->candidates[0])
#define YOU(self) (&(self)->candidates[1])

static void compete(candidate *self) {
    assert_int_equal(candidate_compete(self, NULL), KI_OK);
    election_advance(self->election, 0);
}

ELECTION_TEST(a_candidate_says_who_leads) {
    election *self = *state;
    compete(ME(self));
    candidate_expect_log(ME(self), "I became leader\n");
    compete(YOU(self));
    election_advance(self, 60000);
    candidate_expect_log(YOU(self), "I \"me\" leads; this process waits\n");
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 60000);
    candidate_expect_log(YOU(self), "I became leader\n");
    candidate_expect_log(ME(self), "I the elector was stopped: stopped leading\n");
}

ELECTION_TEST(a_holder_of_several_lines_is_one_line) {
    election *self = *state;
    election_put(self, "\"holderIdentity\":\"a\\nb\",\"leaseDurationSeconds\":15");
    compete(ME(self));
    candidate_expect_log(ME(self), "I \"a b\" leads; this process waits\n");
}

ELECTION_TEST(a_failure_is_one_warning_however_often_it_is_tried_again) {
    election *self = *state;
    candidate *me = ME(self);
    me->fate = "55555555"; /* a candidate */
    compete(me);
    election_advance(self, 12000);
    assert_true(strlen(me->fate) < 6);
    assert_int_equal(strncmp(me->log, "W cannot read the Lease: ", 25), 0);
    assert_ptr_equal(strchr(me->log, '\n'), strrchr(me->log, '\n'));
    election_advance(self, 60000);
    me->log[0] = '\0';
    me->fate = "555555"; /* the leader */
    election_advance(self, 6000);
    assert_true(strlen(me->fate) < 3);
    assert_int_equal(strncmp(me->log, "W cannot read the Lease: ", 25), 0);
    assert_ptr_equal(strchr(me->log, '\n'), strrchr(me->log, '\n'));
    election_advance(self, 60000);
    me->log[0] = '\0';
    me->fate = "55"; /* after a success the next failure is news again */
    election_advance(self, 2000);
    assert_int_equal(strncmp(me->log, "W cannot read the Lease: ", 25), 0);
}

ELECTION_TEST(a_write_that_fails_after_each_read_is_one_warning) {
    election *self = *state;
    candidate *me = ME(self);
    me->fate = ".5.5.5.5.5.5.5.5";
    compete(me);
    election_advance(self, 12000);
    assert_true(strlen(me->fate) < 12);
    assert_int_equal(strncmp(me->log, "W cannot write the Lease: ", 26), 0);
    assert_ptr_equal(strchr(me->log, '\n'), strrchr(me->log, '\n'));
}

ELECTION_TEST(a_lost_lease_is_a_warning) {
    election *self = *state;
    compete(ME(self));
    candidate_expect_log(ME(self), "I became leader\n");
    election_put(self, "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":15");
    election_advance(self, 3000);
    candidate_expect_log(ME(self), "W another process holds the Lease: stopped leading\n"
                                   "I \"bing\" leads; this process waits\n");
}

ELECTION_TEST(a_lost_race_is_no_news) {
    election *self = *state;
    ME(self)->fate = ".4";
    compete(ME(self));
    candidate_expect_log(ME(self), "");
}

/* Its renewal is due as well: there is no time for it, which is no second warning. */
ELECTION_TEST(a_leader_that_was_suspended_is_one_warning) {
    election *self = *state;
    compete(ME(self));
    candidate_expect_log(ME(self), "I became leader\n");
    ME(self)->engine.now += KI_SECONDS(20);
    election_advance(self, 0);
    candidate_expect_log(ME(self), "W the renew deadline has passed: stopped leading\n");
    election_advance(self, 60000);
    candidate_expect_log(ME(self), "I became leader\n");
}

/* As a second signal stops it. */
ELECTION_TEST(a_release_that_is_cut_short_is_no_failure) {
    election *self = *state;
    const ki_elector_options options = KI_ELECTOR_OPTIONS(.release_on_stop = true);
    assert_int_equal(candidate_compete(ME(self), &options), KI_OK);
    election_advance(self, 0);
    ME(self)->fate = "n";
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 0);
    candidate_expect_log(ME(self), "I became leader\nI the elector was stopped: stopped leading\n");
    ki_engine_stop(ME(self)->engine.engine);
    election_advance(self, 0);
    candidate_expect_log(ME(self), "I not released, because the engine was stopped: the Lease expires\n");
}

ELECTION_TEST(a_release_that_has_no_time_left_is_one_warning) {
    election *self = *state;
    const ki_elector_options options = KI_ELECTOR_OPTIONS(.release_on_stop = true);
    assert_int_equal(candidate_compete(ME(self), &options), KI_OK);
    election_advance(self, 0);
    ME(self)->fate = "nnn";
    ki_factory_stop(ME(self)->factory);
    election_advance(self, KI_RENEW_DEADLINE_MS - 1);
    candidate_expect_log(ME(self), "I became leader\nI the elector was stopped: stopped leading\n");
    election_advance(self, 1);
    candidate_expect_log(ME(self), "W not released in time: the Lease expires\n");
    election_advance(self, 60000);
    candidate_expect_log(ME(self), "");
}

ELECTION_TEST(a_release_that_waits_for_its_next_try_is_reported_when_it_is_cut_short) {
    election *self = *state;
    const ki_elector_options options = KI_ELECTOR_OPTIONS(.release_on_stop = true);
    assert_int_equal(candidate_compete(ME(self), &options), KI_OK);
    election_advance(self, 0);
    ME(self)->fate = "5";
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 0);
    candidate_expect_log(ME(self), "I became leader\nI the elector was stopped: stopped leading\n");
    ki_elector_free(ME(self)->elector);
    ME(self)->elector = NULL;
    candidate_expect_log(ME(self), "W not released in time: the Lease expires\n");
}
