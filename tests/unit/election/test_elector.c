/* test_elector.c: an elector competes for a Lease, renews it, loses it and gives it up. The server is the embedded one,
 * in the process, and the clocks move by hand. */
#include "controllers/election/elector_parts.h"
#include "src/base/memory.h"
#include "tests/support/election.h"
#include "tests/support/metrics_library.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define ME(self) (&(self)->candidates[0])
#define YOU(self) (&(self)->candidates[1])
#define RELEASING (&KI_ELECTOR_OPTIONS(.release_on_stop = true))
#define HELD_BY(holder) \
    "\"holderIdentity\":\"" holder "\",\"leaseDurationSeconds\":15,\"leaseTransitions\":5," \
    "\"acquireTime\":\"2026-01-02T03:04:05.000006Z\",\"renewTime\":\"2026-01-02T03:04:05.000006Z\""
#define RETRY_MOST_MS 4400 /* 2.2 retry periods */

static void compete(candidate *self, const ki_elector_options *more) {
    assert_int_equal(candidate_compete(self, more), KI_OK);
    election_advance(self->election, 0);
}

static bool leads(const candidate *self) {
    return ki_elector_is_leader(self->elector);
}

/* --- attempts ----------------------------------------------------------------------------------------------------- */

TEST(a_candidate_takes_a_lease_that_nobody_holds_or_renews) {
    const struct {
        const char *name, *spec; /* spec NULL: there is no Lease */
        int64_t wait_ms;         /* until the candidate may take it */
        const char *requests;    /* of an attempt that takes it at once; else NULL */
        const char *notes, *transitions;
    } cases[] = {
        { "no object", NULL, 0, "get:404 post:201", "leader=me started", "\"leaseTransitions\":0" },
        { "no record", "", 0, "get:200 put:200", "leader=me started", "\"leaseTransitions\":1" },
        { "nobody leads", "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,\"leaseTransitions\":4", 0,
          "get:200 put:200", "leader=me started", "\"leaseTransitions\":5" },
        { "a holder without a duration", "\"holderIdentity\":\"bing\"", 0, "get:200 put:200",
          "leader=bing leader=me started", "\"leaseTransitions\":1" },
        { "its own", "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":4", 0,
          "get:200 put:200", "leader=me started", "\"leaseTransitions\":4" },
        { "a holder with 3 s", "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":3", 3000, NULL,
          "leader=bing leader=me started", "\"leaseTransitions\":1" },
        { "a holder with 60 s", "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":60", 60000, NULL,
          "leader=bing leader=me started", "\"leaseTransitions\":1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        if (cases[i].spec)
            election_put(&self, cases[i].spec);
        compete(me, NULL);
        if (cases[i].wait_ms) {
            election_advance(&self, cases[i].wait_ms - 1);
            assert_false(leads(me));
            assert_null(strstr(me->requests, "put"));
            election_advance(&self, 1 + RETRY_MOST_MS);
        }
        if (cases[i].requests)
            candidate_expect_requests(me, cases[i].requests);
        assert_true(leads(me));
        candidate_expect(me, cases[i].notes);
        assert_true(election_has(&self, cases[i].transitions));
        assert_true(election_has(&self, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15"));
        election_close(&self);
    }
}

ELECTION_TEST(a_lease_that_is_renewed_is_never_taken) {
    election *self = *state;
    char spec[256];
    election_put(self, HELD_BY("bing"));
    compete(ME(self), NULL);
    for (int i = 0; i < 40; i++) {
        snprintf(spec, sizeof spec,
                 "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":15,\"renewTime\":\"2026-01-02T03:04:05.%06dZ\"",
                 i);
        election_put(self, spec);
        election_advance(self, 10000);
    }
    assert_null(strstr(ME(self)->requests, "put"));
    candidate_expect(ME(self), "leader=bing");
}

ELECTION_TEST(a_candidate_counts_the_lease_duration_from_after_the_response) {
    election *self = *state;
    election_put(self, HELD_BY("bing"));
    ME(self)->fate = "p"; /* 20 s pass between the clock's last reading and the response */
    compete(ME(self), NULL);
    election_advance(self, 14999);
    assert_null(strstr(ME(self)->requests, "put"));
    assert_false(leads(ME(self)));
    election_advance(self, 1 + RETRY_MOST_MS);
    assert_true(leads(ME(self)));
}

ELECTION_TEST(a_late_response_to_an_acquisition_needs_a_renewal_first) {
    election *self = *state;
    ME(self)->fate = ".p5"; /* the process is suspended while it reads that it holds the Lease */
    compete(ME(self), NULL);
    candidate_expect_requests(ME(self), "get:404 post:201 get:500");
    assert_false(leads(ME(self)));
    candidate_expect(ME(self), "leader=me");
    election_advance(self, RETRY_MOST_MS);
    assert_true(leads(ME(self)));
    candidate_expect(ME(self), "started");
}

ELECTION_TEST(a_write_that_comes_too_late_is_tried_again) {
    election *self = *state;
    ME(self)->fate = ".4.4";
    compete(ME(self), NULL);
    candidate_expect_requests(ME(self), "get:404 post:409");
    election_put(self, "");
    election_advance(self, 2 * RETRY_MOST_MS);
    assert_true(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 1);
    candidate_expect(ME(self), "leader=me started");
}

ELECTION_TEST(candidates_wait_for_one_to_2_2_retry_periods) {
    election *self = *state;
    int64_t least = INT64_MAX, most = 0;
    election_put(self, "\"holderIdentity\":\"bing\",\"leaseDurationSeconds\":1000000");
    compete(ME(self), NULL);
    for (int i = 0; i < 200; i++) {
        int64_t waited = 0;
        ME(self)->requests[0] = '\0';
        for (; !ME(self)->requests[0]; waited += 10)
            election_advance(self, 10);
        least = waited < least ? waited : least;
        most = waited > most ? waited : most;
    }
    assert_in_range(least, 2000, 2100);
    assert_in_range(most, 4300, 4400);
}

/* --- renewals ----------------------------------------------------------------------------------------------------- */

TEST(a_leader_renews_without_reading_and_reads_where_that_fails) {
    const struct {
        const char *fate, *requests;
        int slow_paths;
    } cases[] = {
        { "..", "get:404 post:201 put:200 put:200 put:200", 0 },
        { "...4", "get:404 post:201 put:200 put:409 get:200 put:200 put:200", 1 },
        { "...5", "get:404 post:201 put:200 put:500 get:200 put:200 put:200", 1 },
        { "...!", "get:404 post:201 put:200 put:0 get:200 put:200 put:200", 1 },
        /* done, but the response was lost: the next update is refused, and what is read is its own */
        { "...?", "get:404 post:201 put:200 put:200 get:200 put:200 put:200", 1 },
        { "...g", "get:404 post:201 put:200 put:200 put:409 get:200 put:200", 1 },
        { "...45", "get:404 post:201 put:200 put:409 get:500 put:200", 0 },
        { "...4.5", "get:404 post:201 put:200 put:409 get:200 put:500 put:200", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        me->fate = cases[i].fate;
        compete(me, NULL);
        election_advance(&self, 3 * KI_RETRY_PERIOD_MS);
        candidate_expect_requests(me, cases[i].requests);
        candidate_expect(me, "leader=me started");
        assert_true(leads(me));
        assert_int_equal(atomic_load(&me->elector->slow_paths), cases[i].slow_paths);
        assert_true(election_has(&self, "\"leaseTransitions\":0"));
        election_close(&self);
    }
}

ELECTION_TEST(each_renewal_changes_the_renew_time_only) {
    election *self = *state;
    compete(ME(self), NULL);
    assert_true(election_has(self, "\"acquireTime\":\"2026-05-28T20:43:20.000000Z\""));
    assert_true(election_has(self, "\"renewTime\":\"2026-05-28T20:43:20.000000Z\""));
    election_advance(self, KI_RETRY_PERIOD_MS);
    assert_true(election_has(self, "\"acquireTime\":\"2026-05-28T20:43:20.000000Z\""));
    assert_true(election_has(self, "\"renewTime\":\"2026-05-28T20:43:22.000000Z\""));
}

ELECTION_TEST(a_leader_leads_for_a_renew_deadline_after_it_sent_its_last_renewal) {
    election *self = *state;
    ME(self)->fate = "..5555555555555555555555";
    compete(ME(self), NULL);
    election_advance(self, KI_RENEW_DEADLINE_MS - 1);
    assert_true(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 0);
    candidate_expect(ME(self), "leader=me started");
    election_advance(self, 1);
    assert_false(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), -1);
    candidate_expect(ME(self), "stopped");
    ME(self)->fate = NULL;
    election_advance(self, RETRY_MOST_MS);
    assert_true(leads(ME(self)));
    candidate_expect(ME(self), "started");
}

ELECTION_TEST(leadership_ends_by_the_clock_where_the_loop_does_not_run) {
    election *self = *state;
    compete(ME(self), NULL);
    ME(self)->engine.now += KI_MILLISECONDS(KI_RENEW_DEADLINE_MS) - 1;
    assert_true(leads(ME(self)));
    ME(self)->engine.now += 1;
    assert_false(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), -1);
    candidate_expect(ME(self), "leader=me started");
}

static void spend_time(candidate *self) {
    self->engine.now += KI_MILLISECONDS(KI_RENEW_DEADLINE_MS);
    assert_false(leads(self));
}

ELECTION_TEST(leadership_ends_by_the_clock_inside_a_callback) {
    election *self = *state;
    ME(self)->on_started = spend_time;
    compete(ME(self), NULL);
    candidate_expect(ME(self), "leader=me started stopped");
}

ELECTION_TEST(a_request_that_hangs_leaves_time_for_another) {
    election *self = *state;
    ME(self)->fate = "..n";
    compete(ME(self), NULL);
    election_advance(self, KI_RETRY_PERIOD_MS + KI_RENEW_DEADLINE_MS / 2);
    candidate_expect_requests(ME(self), "get:404 post:201 put:0 get:200 put:200");
    election_advance(self, 60000);
    assert_true(leads(ME(self)));
    candidate_expect(ME(self), "leader=me started");
}

ELECTION_TEST(a_leader_that_sees_another_holder_stops_at_once) {
    election *self = *state;
    compete(ME(self), NULL);
    election_put(self, HELD_BY("you"));
    election_advance(self, KI_RETRY_PERIOD_MS);
    candidate_expect_requests(ME(self), "get:404 post:201 put:409 get:200");
    candidate_expect(ME(self), "leader=me started stopped leader=you");
    assert_false(leads(ME(self)));
    char leader[8];
    ki_elector_leader(ME(self)->elector, leader, sizeof leader);
    assert_string_equal(leader, "you");
}

TEST(a_write_that_the_server_changed_makes_no_leader) {
    const struct {
        const char *fate, *notes;
    } cases[] = {
        { ".h", "leader=webhook" },
        { "..h", "leader=me started stopped leader=webhook" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        ME(&self)->fate = cases[i].fate;
        compete(ME(&self), NULL);
        election_advance(&self, KI_RETRY_PERIOD_MS);
        candidate_expect(ME(&self), cases[i].notes);
        assert_false(leads(ME(&self)));
        election_advance(&self, 15000 + RETRY_MOST_MS);
        assert_true(leads(ME(&self)));
        election_close(&self);
    }
}

ELECTION_TEST(a_leader_whose_lease_was_cleared_takes_it_again_in_a_new_term) {
    election *self = *state;
    compete(ME(self), NULL);
    election_put(self, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,\"leaseTransitions\":0");
    election_advance(self, KI_RETRY_PERIOD_MS);
    candidate_expect(ME(self), "leader=me started stopped leader= leader=me started");
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 1);
}

ELECTION_TEST(a_token_does_not_fall_where_the_transitions_are_edited) {
    election *self = *state;
    election_put(self, "\"leaseTransitions\":7");
    compete(ME(self), NULL);
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 8);
    election_put(self, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":0");
    election_advance(self, KI_RETRY_PERIOD_MS);
    candidate_expect_requests(ME(self), "get:200 put:200 put:409 get:200 put:200");
    candidate_expect(ME(self), "leader=me started");
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), 8);
}

ELECTION_TEST(a_lease_without_a_higher_token_is_not_taken) {
    election *self = *state;
    election_put(self, "\"leaseTransitions\":2147483647");
    compete(ME(self), NULL);
    candidate_expect_log(ME(self),
                         "W cannot take the Lease: its leaseTransitions is 2147483647, and a higher fencing token does "
                         "not exist; delete the Lease and restart all candidates\n");
    election_advance(self, 60000);
    assert_false(leads(ME(self)));
    election_delete(self);
    election_advance(self, 60000);
    assert_false(leads(ME(self)));
    candidate_expect(ME(self), "");
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), -1);
}

ELECTION_TEST(a_leader_whose_token_is_the_highest_renews) {
    election *self = *state;
    election_put(self, "\"leaseTransitions\":2147483646");
    compete(ME(self), NULL);
    election_advance(self, 60000);
    assert_true(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(ME(self)->elector), INT32_MAX);
}

/* --- two ---------------------------------------------------------------------------------------------------------- */

ELECTION_TEST(of_two_one_leads_and_the_other_follows_when_it_is_gone) {
    election *self = *state;
    compete(ME(self), NULL);
    compete(YOU(self), NULL);
    election_advance(self, 600000);
    candidate_expect(ME(self), "leader=me started");
    candidate_expect(YOU(self), "leader=me");
    ki_elector_free(ME(self)->elector);
    ME(self)->elector = NULL;
    candidate_expect(ME(self), "stopped");
    election_advance(self, 12999); /* 15 s after the last renewal at the latest 2 s ago */
    assert_false(leads(YOU(self)));
    election_advance(self, 2001 + RETRY_MOST_MS);
    assert_true(leads(YOU(self)));
    candidate_expect(YOU(self), "leader=you started");
    assert_int_equal(ki_elector_fencing_token(YOU(self)->elector), 1);
}

ELECTION_TEST(a_released_lease_is_taken_at_the_next_try) {
    election *self = *state;
    compete(ME(self), RELEASING);
    compete(YOU(self), RELEASING);
    election_advance(self, 10000);
    ME(self)->requests[0] = '\0';
    ki_factory_stop(ME(self)->factory);
    election_advance(self, 0);
    candidate_expect_requests(ME(self), "get:200 put:200");
    candidate_expect(ME(self), "leader=me started stopped leader=");
    election_advance(self, RETRY_MOST_MS);
    assert_true(leads(YOU(self)));
    assert_false(leads(ME(self)));
    assert_int_equal(ki_elector_fencing_token(YOU(self)->elector), 1);
}

/* --- stopping ----------------------------------------------------------------------------------------------------- */

TEST(a_stop_gives_the_lease_up_where_that_is_asked_for) {
    const struct {
        const char *name, *fate; /* 'n' and 'N' are the request that is under way at the stop */
        int64_t after_ms;
        const char *after_fate, *requests; /* from the stop on */
        const char *notes, *holder;
        int64_t stop_ms;
    } cases[] = {
        { "between two renewals", "", 1000, "", "get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1", 0 },
        { "while a renewal is under way", "..n", 2000, "", "get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1", 0 },
        { "while a renewal that was done is under way", "..N", 2000, "", "get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 0 },
        { "while a leader reads", "..4n", 2000, "", "get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 0 },
        { "while a candidate creates what is done", ".N", 0, "", "get:200 put:200",
          "stopped leader=me leader=", "\"holderIdentity\":\"\"", 0 },
        { "while a candidate creates what is not done", ".n", 0, "", "get:404", "stopped", NULL, 0 },
        { "while a candidate reads", "n", 0, "", "", "stopped", NULL, 0 },
        { "a conflict: a renewal came late", "", 1000, ".4", "get:200 put:409 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 },
        { "three conflicts", "", 1000, ".4.4.4", "get:200 put:409 get:200 put:409 get:200 put:409 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 + 250 + 500 },
        { "each update is a conflict", "", 1000, ".4.4.4.4.4.4.4.4.4.4.4.4",
          "get:200 put:409 get:200 put:409 get:200 put:409 get:200 put:409 get:200 put:409 get:200 put:409 get:200 "
          "put:409 get:200 put:409 get:200 put:409",
          "leader=me started stopped", "\"holderIdentity\":\"me\"", 125 + 250 + 500 + 1000 + 4 * 2000 },
        { "the server says no to reading", "", 1000, "5", "get:500 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 },
        { "the server says no to writing", "", 1000, ".5", "get:200 put:500 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 },
        { "the permission to read is gone", "", 1000, "3", "get:403", "leader=me started stopped",
          "\"holderIdentity\":\"me\"", 0 },
        { "the permission to write is gone", "", 1000, ".3", "get:200 put:403", "leader=me started stopped",
          "\"holderIdentity\":\"me\"", 0 },
        { "the server asks for more time than is left", "", 1000, "r", "get:429", "leader=me started stopped",
          "\"holderIdentity\":\"me\"", 0 },
        { "no Lease comes", "", 1000, "g", "get:200 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 },
        { "what was written is not read", "", 1000, ".g", "get:200 put:200", "leader=me started stopped",
          "\"holderIdentity\":\"\"", 0 },
        { "what was written gets no response", "", 1000, ".?", "get:200 put:200 get:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", 125 },
        { "nothing comes once", "", 1000, ".n", "get:200 put:0 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"", KI_RENEW_DEADLINE_MS / 2 + 125 },
        { "nothing comes", "", 1000, ".n.n.n", "get:200 put:0 get:200 put:0", "leader=me started stopped",
          "\"holderIdentity\":\"me\"", KI_RENEW_DEADLINE_MS },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        me->fate = cases[i].fate;
        compete(me, RELEASING);
        election_advance(&self, cases[i].after_ms);
        me->requests[0] = '\0';
        me->fate = cases[i].after_fate;
        ki_elector_stop(me->elector);
        ki_elector_stop(me->elector);
        election_advance(&self, cases[i].stop_ms);
        assert_int_equal(me->elector->component.state, KI_COMPONENT_STOPPED);
        election_advance(&self, 60000);
        candidate_expect_requests(me, cases[i].requests);
        candidate_expect(me, cases[i].notes);
        if (cases[i].holder)
            assert_true(election_has(&self, cases[i].holder));
        election_close(&self);
    }
}

ELECTION_TEST(a_lease_that_another_has_taken_is_not_given_up) {
    election *self = *state;
    compete(ME(self), RELEASING);
    election_put(self, HELD_BY("you"));
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 60000);
    candidate_expect_requests(ME(self), "get:404 post:201 get:200");
    candidate_expect(ME(self), "leader=me started stopped leader=you");
    assert_true(election_has(self, "\"holderIdentity\":\"you\""));
}

/* In each case a release meets a conflict, and the Lease changes before the next try. */
TEST(a_lease_that_changes_under_a_release_is_read_again) {
    const struct {
        const char *name, *spec; /* of the new Lease; NULL: it is deleted */
        const char *requests, *notes, *holder;
    } cases[] = {
        { "another process takes it", HELD_BY("you"), "get:200 put:409 get:200", "leader=me started stopped leader=you",
          "\"holderIdentity\":\"you\"" },
        { "somebody clears it", "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1", "get:200 put:409 get:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"" },
        { "a late renewal", HELD_BY("me"), "get:200 put:409 get:200 put:200",
          "leader=me started stopped leader=", "\"holderIdentity\":\"\"" },
        { "it is deleted", NULL, "get:200 put:409 get:404", "leader=me started stopped", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        compete(me, RELEASING);
        me->requests[0] = '\0';
        me->fate = ".4";
        ki_elector_stop(me->elector);
        election_advance(&self, 0);
        if (cases[i].spec)
            election_put(&self, cases[i].spec);
        else
            election_delete(&self);
        election_advance(&self, 125);
        assert_int_equal(me->elector->component.state, KI_COMPONENT_STOPPED);
        candidate_expect_requests(me, cases[i].requests);
        candidate_expect(me, cases[i].notes);
        if (cases[i].holder)
            assert_true(election_has(&self, cases[i].holder));
        election_close(&self);
    }
}

ELECTION_TEST(a_stop_without_release_leaves_the_lease_as_it_is) {
    election *self = *state;
    compete(ME(self), NULL);
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 60000);
    candidate_expect_requests(ME(self), "get:404 post:201");
    candidate_expect(ME(self), "leader=me started stopped");
    assert_true(election_has(self, "\"holderIdentity\":\"me\""));
}

ELECTION_TEST(a_stop_before_the_start_is_for_good) {
    election *self = *state;
    const ki_elector_options options = KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "lock");
    assert_int_equal(ki_elector_new(ME(self)->factory, &options, &ME(self)->elector, NULL), KI_OK);
    ki_elector_stop(ME(self)->elector);
    election_advance(self, 0);
    assert_int_equal(ki_factory_start(ME(self)->factory, NULL), KI_OK);
    election_advance(self, 60000);
    candidate_expect_requests(ME(self), "");
    candidate_expect(ME(self), "");
}

/* In each case the elector is stopped after so many responses, while the next request is under way, and freed. */
TEST(an_elector_may_be_freed_at_any_time) {
    static const char *const fates[] = { "n", ".n", "..n", "..4n", "..4.n", "...n", "N", ".N", "..N", "..4.N" };
    enum {
        FREE,
        STOP_AND_FREE,
        STOP_AND_WAIT,
        SHUT_DOWN,
        STOP_ENGINE,
        WAYS
    };
    for (size_t i = 0; i < WAYS * (sizeof fates / sizeof *fates); i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        me->fate = fates[i / WAYS];
        compete(me, i % 2 ? RELEASING : NULL);
        election_advance(&self, 2 * KI_RETRY_PERIOD_MS);
        bool had_started = strstr(me->notes, "started") != NULL;
        if (i % WAYS == STOP_AND_FREE || i % WAYS == STOP_AND_WAIT)
            ki_elector_stop(me->elector);
        if (i % WAYS == STOP_AND_WAIT) {
            me->fate = "n";
            election_advance(&self, 0);
        }
        if (i % WAYS == SHUT_DOWN)
            assert_int_equal(ki_factory_shutdown(me->factory, NULL), KI_OK);
        if (i % WAYS == STOP_ENGINE) {
            ki_engine_stop(me->engine.engine);
            election_advance(&self, 0);
        }
        ki_elector_free(me->elector);
        me->elector = NULL;
        candidate_expect(me, had_started ? "leader=me started stopped" : "stopped");
        election_close(&self);
    }
}

static void stop_elector(candidate *self) {
    ki_elector_stop(self->elector);
}

static void stop_factory(candidate *self) {
    ki_factory_stop(self->factory);
    assert_int_equal(ki_factory_shutdown(self->factory, NULL), KI_ERR_DEADLOCK);
}

TEST(callbacks_may_stop_the_elector_and_the_factory) {
    void (*const ways[])(candidate * self) = { stop_elector, stop_factory };
    for (size_t i = 0; i < 4; i++) {
        election self;
        assert_true(election_open(&self, NULL));
        candidate *me = ME(&self);
        if (i < 2)
            me->on_started = ways[i % 2];
        else
            me->on_stopped = ways[i % 2];
        compete(me, RELEASING);
        ki_elector_stop(me->elector);
        election_advance(&self, 60000);
        candidate_expect(me, "leader=me started stopped leader=");
        candidate_expect_requests(me, "get:404 post:201 get:200 put:200");
        election_close(&self);
    }
}

/* --- hooks -------------------------------------------------------------------------------------------------------- */

typedef struct hooked {
    candidate *candidate;
    ki_elector_hook hook;
    ki_elector_hook *removes; /* in its next call */
} hooked;

static void changed(bool leading, void *user) {
    hooked *self = user;
    char *notes = self->candidate->notes;
    size_t used = strlen(notes);
    snprintf(notes + used, ELECTION_TEXT - used, " %s", leading ? "hook+" : "hook-");
    assert_int_equal(leads(self->candidate), leading);
    if (self->removes)
        ki_elector_remove_hook(self->candidate->elector, self->removes);
}

ELECTION_TEST(hooks_are_called_within_what_the_program_is_called_for) {
    election *self = *state;
    candidate *me = ME(self);
    hooked first = { .candidate = me, .hook = { .changed = changed, .user = &first } };
    hooked second = { .candidate = me, .hook = { .changed = changed, .user = &second } };
    compete(me, NULL);
    ki_elector_add_hook(me->elector, &first.hook);
    candidate_expect(me, "leader=me started hook+");
    ki_elector_add_hook(me->elector, &second.hook);
    candidate_expect(me, " hook+");
    election_put(self, HELD_BY("you"));
    election_advance(self, KI_RETRY_PERIOD_MS);
    candidate_expect(me, " hook- hook- stopped leader=you");
    second.removes = &first.hook;
    election_put(self, "");
    election_advance(self, RETRY_MOST_MS);
    candidate_expect(me, "leader= leader=me started hook+");
    second.removes = &second.hook;
    ki_elector_stop(me->elector);
    election_advance(self, 0);
    candidate_expect(me, " hook- stopped");
    ki_elector_remove_hook(me->elector, &second.hook);
    assert_null(me->elector->hooks);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

#define NAMES .namespace_name = "default", .name = "lock"
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

ELECTION_TEST(what_cannot_be_elected_is_rejected_by_name) {
    election *self = *state;
    const struct {
        ki_elector_options options;
        ki_status status;
        const char *word;
    } cases[] = {
        { { .size = 0 }, KI_ERR_INVALID, "KI_ELECTOR_OPTIONS" },
        { KI_ELECTOR_OPTIONS(.name = "lock"), KI_ERR_INVALID, "a namespace" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "", .name = "lock"), KI_ERR_INVALID, "a namespace" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "a.b", .name = "lock"), KI_ERR_INVALID, "the namespace" },
        { KI_ELECTOR_OPTIONS(.namespace_name = TEN TEN TEN TEN TEN TEN TEN, .name = "lock"), KI_ERR_LIMIT,
          "the namespace" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "default"), KI_ERR_INVALID, "name" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "a/b"), KI_ERR_INVALID, "name" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = "A"), KI_ERR_INVALID, "name" },
        { KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = HUNDRED HUNDRED HUNDRED), KI_ERR_LIMIT, "the name" },
        { KI_ELECTOR_OPTIONS(NAMES, .identity = ""), KI_ERR_INVALID, "identity" },
        { KI_ELECTOR_OPTIONS(NAMES, .identity = "a\xff"), KI_ERR_INVALID, "identity" },
        { KI_ELECTOR_OPTIONS(NAMES, .identity = HUNDRED HUNDRED HUNDRED), KI_ERR_LIMIT, "identity" },
        { KI_ELECTOR_OPTIONS(NAMES, .lease_duration_ms = -1), KI_ERR_INVALID, "negative" },
        { KI_ELECTOR_OPTIONS(NAMES, .renew_deadline_ms = -1), KI_ERR_INVALID, "negative" },
        { KI_ELECTOR_OPTIONS(NAMES, .retry_period_ms = INT64_MIN), KI_ERR_INVALID, "negative" },
        { KI_ELECTOR_OPTIONS(NAMES, .lease_duration_ms = 10000), KI_ERR_INVALID, "the lease duration" },
        { KI_ELECTOR_OPTIONS(NAMES, .lease_duration_ms = INT64_MAX), KI_ERR_INVALID, "the lease duration" },
        { KI_ELECTOR_OPTIONS(NAMES, .renew_deadline_ms = 15000), KI_ERR_INVALID, "the lease duration" },
        { KI_ELECTOR_OPTIONS(NAMES, .renew_deadline_ms = 2400), KI_ERR_INVALID, "the retry period" },
        { KI_ELECTOR_OPTIONS(NAMES, .retry_period_ms = INT64_MAX), KI_ERR_INVALID, "the retry period" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_elector *elector = NULL;
        assert_int_equal(ki_elector_new(ME(self)->factory, &cases[i].options, &elector, &err), cases[i].status);
        assert_non_null(strstr(err.message, cases[i].word));
        assert_null(elector);
    }
    const ki_elector_options good = KI_ELECTOR_OPTIONS(NAMES);
    ki_elector *elector = NULL;
    assert_int_equal(ki_elector_new(NULL, &good, &elector, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_elector_new(ME(self)->factory, NULL, &elector, NULL), KI_ERR_INVALID);
    assert_int_equal(ki_elector_new(ME(self)->factory, &good, NULL, NULL), KI_ERR_INVALID);
    ki_elector_free(NULL);
    ki_elector_stop(NULL);
    ki_factory_stop(ME(self)->factory);
    election_advance(self, 0);
    assert_int_equal(ki_elector_new(ME(self)->factory, &good, &elector, NULL), KI_ERR_STATE);
}

ELECTION_TEST(what_may_be_elected_is_taken) {
    election *self = *state;
    const ki_elector_options cases[] = {
        KI_ELECTOR_OPTIONS(NAMES),
        KI_ELECTOR_OPTIONS(NAMES, .renew_deadline_ms = 2401),
        KI_ELECTOR_OPTIONS(NAMES, .lease_duration_ms = 10001),
        KI_ELECTOR_OPTIONS(NAMES, .lease_duration_ms = 3, .renew_deadline_ms = 2, .retry_period_ms = 1),
        KI_ELECTOR_OPTIONS(NAMES, .identity = "\xc3\xbc"),
        KI_ELECTOR_OPTIONS(.namespace_name = TEN TEN TEN TEN TEN TEN "123", .name = "lock"),
        KI_ELECTOR_OPTIONS(.namespace_name = "default", .name = HUNDRED HUNDRED TEN TEN TEN TEN TEN "123"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_elector *elector = NULL;
        assert_int_equal(ki_elector_new(ME(self)->factory, &cases[i], &elector, NULL), KI_OK);
        assert_false(ki_elector_is_leader(elector));
        ki_elector_free(elector);
    }
}

ELECTION_TEST(identities_that_are_made_differ) {
    election *self = *state;
    const ki_elector_options options = KI_ELECTOR_OPTIONS(NAMES);
    ki_elector *one = NULL, *other = NULL;
    assert_int_equal(ki_elector_new(ME(self)->factory, &options, &one, NULL), KI_OK);
    assert_int_equal(ki_elector_new(ME(self)->factory, &options, &other, NULL), KI_OK);
    assert_non_null(strchr(one->given.identity, '_'));
    assert_int_equal(strlen(strrchr(one->given.identity, '_')), 33);
    assert_string_not_equal(one->given.identity, other->given.identity);
    ki_elector_free(one);
    ki_elector_free(other);
}

ELECTION_TEST(a_duration_of_less_than_a_second_is_rounded_up) {
    election *self = *state;
    compete(ME(self),
            &KI_ELECTOR_OPTIONS(.lease_duration_ms = 1100, .renew_deadline_ms = 1001, .retry_period_ms = 300));
    assert_true(election_has(self, "\"leaseDurationSeconds\":2"));
}

/* --- what is asked of it ------------------------------------------------------------------------------------------ */

TEST(a_check_fails_where_a_lease_is_expired_for_long_and_the_loop_has_not_noticed) {
    const struct {
        const char *spec; /* NULL: no Lease: it leads */
        int64_t after_ms;
        ki_status status;
    } cases[] = {
        { NULL, 0, KI_OK },
        { NULL, 3600000, KI_ERR_TIMEOUT },
        { HELD_BY("bing"), 3600000, KI_OK },
        { NULL, 15000 + 1000, KI_OK },
        { NULL, 15000 + 20000, KI_OK },
        { NULL, 15000 + 20001, KI_ERR_TIMEOUT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        election self;
        ki_error err = KI_ERROR_INIT;
        assert_true(election_open(&self, NULL));
        if (cases[i].spec)
            election_put(&self, cases[i].spec);
        compete(ME(&self), NULL);
        ME(&self)->engine.now += KI_MILLISECONDS(cases[i].after_ms);
        assert_int_equal(ki_elector_check(ME(&self)->elector, 20000, &err), cases[i].status);
        assert_int_equal(err.code, cases[i].status);
        election_close(&self);
    }
}

ELECTION_TEST(the_leader_is_written_as_far_as_there_is_room) {
    election *self = *state;
    char leader[8] = "before";
    compete(ME(self), NULL);
    ki_elector_leader(ME(self)->elector, leader, 0);
    assert_string_equal(leader, "before");
    ki_elector_leader(ME(self)->elector, leader, 1);
    assert_string_equal(leader, "");
    ki_elector_leader(ME(self)->elector, leader, 2);
    assert_string_equal(leader, "m");
    ki_elector_leader(ME(self)->elector, leader, 3);
    assert_string_equal(leader, "me");
    compete(YOU(self), NULL);
    ki_elector_leader(YOU(self)->elector, leader, sizeof leader);
    assert_string_equal(leader, "me");
}

ELECTION_TEST(its_metrics_are_client_go_s) {
    election *self = *state;
    candidate *me = ME(self);
    metrics_library library = { .has_gauges = true };
    const ki_metrics_visit visit = { metrics_library_visit, &library };
    me->fate = "..4";
    compete(me, NULL);
    election_advance(self, KI_RETRY_PERIOD_MS);
    const ki_component *component = &me->elector->component;
    component->visit_metrics(component, &visit);
    metrics_library_expect(&library, "leader_election_master_status/lock=1 leader_election_slowpath/lock+1");
    ki_elector_stop(me->elector);
    election_advance(self, 0);
    component->visit_metrics(component, &visit);
    metrics_library_expect(&library, "leader_election_master_status/lock=0");
}
