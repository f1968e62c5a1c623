/* test_term.c: the requests of a reconcile belong to the term of leadership in which it began: after the term none is
 * sent, and each ends. A Lease is released only when every reconcile has ended. */
#include "tests/support/election.h"
#include "tests/support/test.h"

#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-controllers/workqueue.h>
#include <kinformer/client.h>

#include <stdio.h>
#include <string.h>

enum {
    KEYS = 8
};

#define ME(self) (&(self)->candidates[0])
#define YOU(self) (&(self)->candidates[1])
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define HELD_BY_YOU "\"holderIdentity\":\"you\",\"leaseDurationSeconds\":15,\"leaseTransitions\":5"

/* A program of the candidate "me": each reconcile creates the ConfigMap of its key, and ends with the response. */
typedef struct program {
    election election;
    ki_controller *controller;
    ki_reconcile *calls[KEYS]; /* deferred and not finished */
    int running;
    bool sends_again; /* after a failure, in the callback */
    bool is_closing;
    bool stays;         /* reconciles do not end with the response */
    char results[1024]; /* of the requests: "ok", or the status's name */
} program;

static program the_program;

static int index_of(const ki_reconcile *call) {
    return ki_reconcile_key(call)[0] - 'a';
}

static void create(program *self, ki_reconcile *call, const ki_term *term);

static void finish(program *self, ki_reconcile *call) {
    self->calls[index_of(call)] = NULL;
    self->running--;
    ki_reconcile_finish(call, NULL);
}

static void on_response(const ki_response *response, const ki_error *err, void *user) {
    ki_reconcile *call = user;
    program *self = &the_program;
    (void)response;
    if (self->is_closing)
        return; /* its reconcile has ended */
    strcat(strcat(self->results, self->results[0] ? " " : ""), err ? ki_status_name(err->code) : "ok");
    if (err && self->sends_again) {
        self->sends_again = false;
        create(self, call, NULL);
    } else if (!self->stays) {
        finish(self, call);
    }
}

static void create(program *self, ki_reconcile *call, const ki_term *term) {
    char body[256];
    snprintf(
        body, sizeof body,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"of-%s\",\"namespace\":\"default\"}}",
        ki_reconcile_key(call));
    const ki_request_options options = KI_REQUEST_OPTIONS(.timeout_ms = -1, .term = term);
    const ki_client_request request =
        KI_CLIENT_REQUEST(.verb = KI_CLIENT_CREATE, .resource = KI_CONFIGMAPS, .namespace_name = "default",
                          .body = body, .body_size = strlen(body), .options = &options);
    assert_int_equal(
        ki_client_send(ki_factory_client(ME(&self->election)->factory), &request, on_response, call, NULL, NULL),
        KI_OK);
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    program *self = user;
    (void)key, (void)err;
    ki_reconcile_defer(call);
    self->calls[index_of(call)] = call;
    self->running++;
    create(self, call, NULL);
    return KI_OK;
}

static int open_program(void **state) {
    program *self = &the_program;
    *state = self;
    *self = (program){ .running = 0 };
    return election_open_limited(&self->election, NULL, 1, 1) ? 0 : -1;
}

static int close_program(void **state) {
    program *self = *state;
    self->is_closing = true;
    for (int i = 0; i < KEYS; i++)
        if (self->calls[i])
            finish(self, self->calls[i]);
    ki_controller_free(self->controller);
    election_close(&self->election);
    return 0;
}

#define TERM_TEST(name) TEST_WITH(open_program, close_program, name)

/* Makes the candidate lead, with a controller that reconciles the first `count` keys. */
static void lead(program *self, int count, const ki_elector_options *options) {
    candidate *me = ME(&self->election);
    assert_int_equal(candidate_compete(me, options), KI_OK);
    assert_int_equal(
        ki_controller_new(me->factory,
                          &KI_CONTROLLER_OPTIONS(.name = "c", .reconcile = reconcile, .user = self, .workers = KEYS,
                                                 .stop_timeout_ms = 1000, .elector = me->elector),
                          &self->controller, NULL),
        KI_OK);
    assert_int_equal(ki_factory_start(me->factory, NULL), KI_OK);
    election_advance(&self->election, 0);
    assert_true(ki_elector_is_leader(me->elector));
    for (int i = 0; i < count; i++)
        assert_int_equal(ki_workqueue_add(ki_controller_queue(self->controller), (const char[]){ (char)('a' + i), 0 }),
                         KI_OK);
}

/* Another process takes the Lease; the leader sees that at its next renewal. */
static void lose(program *self) {
    election_put(&self->election, HELD_BY_YOU);
    election_advance(&self->election, KI_RETRY_PERIOD_MS);
    assert_false(ki_elector_is_leader(ME(&self->election)->elector));
}

static void expect(program *self, const char *results) {
    assert_string_equal(self->results, results);
    self->results[0] = '\0';
}

/* Asserts how many objects the reconciles have created. */
static void expect_created(program *self, int count) {
    int found = 0;
    assert_int_equal(rest_get(&self->election.server, CONFIGMAPS), 200);
    for (const char *at = self->election.server.text.data; (at = strstr(at, "\"name\":\"of-")); at++)
        found++;
    assert_int_equal(found, count);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

TERM_TEST(a_request_that_waits_for_the_rate_limit_ends_with_its_term) {
    program *self = *state;
    lead(self, 5, NULL);
    election_advance(&self->election, 0);
    expect_created(self, 1);
    lose(self);
    expect(self, "ok ok ok cancelled cancelled");
    election_advance(&self->election, 10000);
    expect_created(self, 3);
    assert_int_equal(self->running, 0);
}

TERM_TEST(a_request_that_waits_to_be_sent_again_ends_with_its_term) {
    program *self = *state;
    lead(self, 1, NULL);
    ME(&self->election)->fate = "r";
    election_advance(&self->election, 0);
    lose(self);
    expect(self, "cancelled");
    election_advance(&self->election, 60000);
    expect_created(self, 0);
}

TERM_TEST(a_request_on_the_wire_ends_with_its_term) {
    program *self = *state;
    lead(self, 1, NULL);
    ME(&self->election)->fate = "N";
    election_advance(&self->election, 0);
    expect_created(self, 1); /* the server has it: the window that remains */
    lose(self);
    expect(self, "cancelled");
}

TERM_TEST(a_request_made_after_the_term_is_not_sent) {
    program *self = *state;
    self->stays = true;
    lead(self, 1, NULL);
    ME(&self->election)->fate = "5";
    election_advance(&self->election, 0);
    expect(self, "http error");
    lose(self);
    ki_reconcile *call = self->calls[0];
    assert_true(ki_reconcile_is_cancelled(call));
    self->sends_again = true; /* in the callback of the cancelled request */
    create(self, call, ki_reconcile_term(call));
    election_advance(&self->election, 5000);
    expect(self, "cancelled cancelled");
    expect_created(self, 0);
}

/* The timers of the rate limit and of the election are due at once after the suspension. */
TERM_TEST(a_process_that_was_suspended_sends_nothing_of_its_old_term) {
    program *self = *state;
    lead(self, 5, NULL);
    election_advance(&self->election, 0);
    expect(self, "ok");
    ME(&self->election)->engine.now += KI_MILLISECONDS(KI_RENEW_DEADLINE_MS);
    election_advance(&self->election, 0);
    expect(self, "cancelled cancelled cancelled cancelled");
    expect_created(self, 1);
}

TERM_TEST(the_next_term_has_its_own_requests) {
    program *self = *state;
    self->stays = true;
    lead(self, 1, NULL);
    ME(&self->election)->fate = "5";
    election_advance(&self->election, 0);
    lose(self);
    ki_reconcile *old = self->calls[0];
    self->stays = false;
    expect(self, "http error");
    election_put(&self->election, "");
    election_advance(&self->election, 10000);
    assert_true(ki_elector_is_leader(ME(&self->election)->elector));
    assert_true(ki_reconcile_is_cancelled(old));
    assert_int_equal(ki_workqueue_add(ki_controller_queue(self->controller), "b"), KI_OK);
    election_advance(&self->election, 0);
    expect(self, "ok");
    create(self, old, ki_reconcile_term(old));
    election_advance(&self->election, 5000);
    expect(self, "cancelled");
    expect_created(self, 1);
}

TERM_TEST(a_request_of_the_program_itself_belongs_to_no_term) {
    program *self = *state;
    self->stays = true;
    lead(self, 1, NULL);
    ME(&self->election)->fate = "5";
    election_advance(&self->election, 0);
    lose(self);
    expect(self, "http error");
    create(self, self->calls[0], NULL); /* not inside the reconcile function, and no term is named */
    election_advance(&self->election, 5000);
    expect(self, "ok");
}

TERM_TEST(a_term_of_another_engine_is_rejected) {
    program *self = *state;
    self->stays = true;
    lead(self, 1, NULL);
    election_advance(&self->election, 0);
    const ki_request_options options = KI_REQUEST_OPTIONS(.term = ki_reconcile_term(self->calls[0]));
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(
        ki_client_send(ki_factory_client(YOU(&self->election)->factory),
                       &KI_CLIENT_REQUEST(.verb = KI_CLIENT_LIST, .resource = KI_PODS, .options = &options),
                       on_response, self->calls[0], NULL, &err),
        KI_ERR_INVALID);
    assert_non_null(strstr(err.message, "different engines"));
}

/* --- the release -------------------------------------------------------------------------------------------------- */

TERM_TEST(a_lease_is_not_released_while_a_reconcile_runs) {
    program *self = *state;
    candidate *me = ME(&self->election), *you = YOU(&self->election);
    self->stays = true;
    lead(self, 1, &KI_ELECTOR_OPTIONS(.release_on_stop = true));
    election_advance(&self->election, 1900);
    assert_int_equal(candidate_compete(you, NULL), KI_OK);
    ki_factory_stop(me->factory); /* the controller's stop timeout is 1 s */
    election_advance(&self->election, 13000);
    assert_int_equal(self->running, 1);
    assert_false(ki_elector_is_leader(me->elector));
    assert_false(ki_elector_is_leader(you->elector));
    assert_true(election_has(&self->election, "\"holderIdentity\":\"me\""));
    election_advance(&self->election, 15000);
    assert_true(ki_elector_is_leader(you->elector));
}

TERM_TEST(an_elector_that_is_stopped_alone_waits_for_no_reconcile_but_keeps_the_lease) {
    program *self = *state;
    self->stays = true;
    lead(self, 1, &KI_ELECTOR_OPTIONS(.release_on_stop = true));
    election_advance(&self->election, 0);
    ki_elector_stop(ME(&self->election)->elector);
    election_advance(&self->election, 60000);
    assert_true(election_has(&self->election, "\"holderIdentity\":\"me\""));
}

TERM_TEST(a_lease_is_released_when_all_reconciles_have_ended) {
    program *self = *state;
    lead(self, 1, &KI_ELECTOR_OPTIONS(.release_on_stop = true));
    election_advance(&self->election, 0);
    ki_factory_stop(ME(&self->election)->factory);
    election_advance(&self->election, 0);
    assert_true(election_has(&self->election, "\"holderIdentity\":\"\""));
}
