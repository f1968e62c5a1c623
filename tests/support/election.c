/* election.c: see election.h. */
#include "tests/support/election.h"

#include "src/factory/factory.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#define LEASE ELECTION_LEASES "/lock"
#define WALL_START INT64_C(1780000000000000000)
#define SUSPENDED_MS 20000
#define RETRY_AFTER_MS 30000

/* --- the server --------------------------------------------------------------------------------------------------- */

static void note(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(char *text, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    if (used && used < ELECTION_TEXT - 1)
        text[used++] = ' ';
    va_start(args, format);
    vsnprintf(text + used, ELECTION_TEXT - used, format, args);
    va_end(args);
}

static void note_request(candidate *self, const char *method, int status) {
    char name[8] = "";
    for (size_t i = 0; method[i] && i < sizeof name - 1; i++)
        name[i] = (char)tolower((unsigned char)method[i]);
    note(self->requests, "%s:%d", name, status);
}

static void respond(kt_memory_call *call, int status, const char *body) {
    const ki_response_head head = { .status = status,
                                    .retry_after_ms = status == 429 ? RETRY_AFTER_MS : -1,
                                    .content_type = "application/json" };
    if (kt_memory_call_head(call, &head) && kt_memory_call_data(call, body, strlen(body)))
        kt_memory_call_end(call, NULL);
}

static void cut(kt_memory_call *call) {
    const ki_error err = { .code = KI_ERR_UNEXPECTED_EOF, .retry_after_ms = -1, .message = "cut" };
    kt_memory_call_end(call, &err);
}

static char next_fate(candidate *self) {
    return self->fate && *self->fate ? *self->fate++ : '.';
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    candidate *self = user;
    rest_server *server = &self->election->server;
    char fate = next_fate(self);
    int status = 0;
    if (fate == 'd') { /* a kube-apiserver responds 409 to a Lease with an uid */
        election_delete(self->election);
        status = 404;
    } else if (fate == '3' || fate == '4' || fate == '5' || fate == 'r')
        status = fate == '3' ? 403 : fate == '4' ? 409 : fate == '5' ? 500 : 429;
    else if (fate != '!' && fate != 'n')
        status = rest_send_bytes(server, request->method, request->target, request->content_type, request->body);
    note_request(self, request->method, status);
    switch (fate) {
    case '3':
    case '4':
    case '5':
    case 'r':
        respond(call, status, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\"}");
        break;
    case 'd':
        respond(call, status,
                "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"NotFound\"}");
        break;
    case '!':
    case '?':
        cut(call);
        break;
    case 'n':
    case 'N':
        self->open = call;
        break;
    case 'g':
        respond(call, status, "{\"metadata\":{\"name\":\"lock\"}}");
        break;
    case 'h':
        election_put(self->election, "\"holderIdentity\":\"webhook\",\"leaseDurationSeconds\":15");
        respond(call, status, server->text.data);
        break;
    case 'p':
        self->engine.now += KI_MILLISECONDS(SUSPENDED_MS);
        respond(call, status, server->text.data);
        break;
    default:
        respond(call, status, server->text.data);
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    candidate *self = user;
    if (self->open == call)
        self->open = NULL;
}

/* --- candidates --------------------------------------------------------------------------------------------------- */

static void on_started(ki_elector *elector, void *user) {
    candidate *self = user;
    note(self->notes, "started");
    assert_true(ki_elector_is_leader(elector));
    if (self->on_started)
        self->on_started(self);
}

static void on_stopped(ki_elector *elector, void *user) {
    candidate *self = user;
    note(self->notes, "stopped");
    assert_false(ki_elector_is_leader(elector));
    if (self->on_stopped)
        self->on_stopped(self);
}

static void on_new_leader(ki_elector *elector, const char *identity, void *user) {
    candidate *self = user;
    (void)elector;
    note(self->notes, "leader=%s", identity);
}

static int64_t now(void *user) {
    return ((const candidate *)user)->engine.now;
}

static void note_log_line(ki_log_level level, const char *component, const char *message, void *user) {
    candidate *self = user;
    size_t used = strlen(self->log);
    const char *what = strncmp(component, "elector", strlen("elector")) == 0 ? strstr(message, ": ") : NULL;
    if (what)
        snprintf(self->log + used, sizeof self->log - used, "%c %s\n", "-EWID"[level], what + strlen(": "));
}

static int64_t wall_now(void *user) {
    return WALL_START + ((const candidate *)user)->engine.now;
}

static bool open_candidate(candidate *self, election *owner, const char *identity, const ki_allocator *allocator,
                           const ki_factory_options *limit) {
    ki_factory_options options = *limit;
    *self = (candidate){ .election = owner, .identity = identity, .engine.now = KI_SECONDS(1000) };
    const ki_clock clock = { .now = now, .user = self, .wall_now = wall_now };
    const kt_memory_server server = { serve, abandoned, self };
    const ki_log log = { .write = note_log_line, .user = self };
    if (ki_engine_new(&KI_ENGINE_OPTIONS(.allocator = allocator, .log = &log, .clock = &clock, .seed = 1),
                      &self->engine.engine, NULL) ||
        kt_memory_transport_new(self->engine.engine, &server, &self->transport, NULL))
        return false;
    options.engine = self->engine.engine;
    return ki_factory_new_on(NULL, self->transport, &options, &self->factory, NULL) == KI_OK;
}

static void close_candidate(candidate *self) {
    ki_elector_free(self->elector);
    ki_factory_free(self->factory);
    ki_transport_free(self->transport);
    test_engine_close(&self->engine);
}

bool election_open_limited(election *self, const ki_allocator *allocator, int per_second, int burst) {
    static const char *const identities[ELECTION_CANDIDATES] = { "me", "you" };
    rest_server_start(&self->server, &(kt_cluster_options){ .seed = 1 });
    const ki_factory_options limit = KI_FACTORY_OPTIONS(.requests_per_second = per_second, .request_burst = burst);
    bool is_whole = true;
    for (int i = 0; i < ELECTION_CANDIDATES; i++)
        is_whole = open_candidate(&self->candidates[i], self, identities[i], allocator, &limit) && is_whole;
    return is_whole;
}

bool election_open(election *self, const ki_allocator *allocator) {
    return election_open_limited(self, allocator, -1, 0);
}

void election_close(election *self) {
    for (int i = 0; i < ELECTION_CANDIDATES; i++)
        close_candidate(&self->candidates[i]);
    rest_server_stop(&self->server);
}

int election_set_up(void **state) {
    static election self;
    *state = &self;
    return election_open(&self, NULL) ? 0 : -1;
}

int election_tear_down(void **state) {
    election_close(*state);
    return 0;
}

ki_status candidate_compete(candidate *self, const ki_elector_options *more) {
    ki_elector_options options = KI_ELECTOR_OPTIONS(.namespace_name = "default");
    if (more)
        options = *more;
    options.namespace_name = "default";
    options.name = "lock";
    options.identity = self->identity;
    options.callbacks = (ki_elector_callbacks){ on_started, on_stopped, on_new_leader };
    options.user = self;
    ki_status status = ki_elector_new(self->factory, &options, &self->elector, NULL);
    if (!status)
        status = ki_factory_start(self->factory, NULL);
    return status;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static int64_t settle_all(election *self) {
    int64_t wait = INT64_MAX;
    for (int i = 0; i < ELECTION_CANDIDATES; i++) {
        candidate *one = &self->candidates[i];
        assert_true(test_engine_settle(&one->engine));
        int64_t timeout = ki_engine_timeout(one->engine.engine);
        if (timeout >= 0 && timeout < wait)
            wait = timeout;
    }
    return wait;
}

void election_advance(election *self, int64_t ms) {
    for (;;) {
        int64_t wait = settle_all(self);
        int64_t step = wait < ms ? wait : ms;
        for (int i = 0; i < ELECTION_CANDIDATES; i++)
            self->candidates[i].engine.now += KI_MILLISECONDS(step);
        ms -= step;
        if (ms == 0) {
            settle_all(self);
            return;
        }
    }
}

/* --- the Lease ---------------------------------------------------------------------------------------------------- */

void election_put(election *self, const char *spec) {
    char body[ELECTION_TEXT];
    snprintf(body, sizeof body,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"lock\"},"
             "\"spec\":{%s}}",
             spec);
    if (rest_get(&self->server, LEASE) == 404) {
        assert_int_equal(rest_post(&self->server, ELECTION_LEASES, body), 201);
    } else { /* an update of a Lease has a version; a patch needs none */
        snprintf(body, sizeof body, "[{\"op\":\"add\",\"path\":\"/spec\",\"value\":{%s}}]", spec);
        assert_int_equal(rest_send(&self->server, "PATCH", LEASE, "application/json-patch+json", body), 200);
    }
}

void election_delete(election *self) {
    assert_int_equal(rest_send(&self->server, "DELETE", LEASE, NULL, NULL), 200);
}

bool election_has(election *self, const char *part) {
    assert_int_equal(rest_get(&self->server, LEASE), 200);
    return rest_has(&self->server, part);
}

/* --- expectations ------------------------------------------------------------------------------------------------- */

void candidate_expect_requests(candidate *self, const char *requests) {
    assert_string_equal(self->requests, requests);
    self->requests[0] = '\0';
}

void candidate_expect(candidate *self, const char *notes) {
    assert_string_equal(self->notes, notes);
    self->notes[0] = '\0';
}

void candidate_expect_log(candidate *self, const char *lines) {
    assert_string_equal(self->log, lines);
    self->log[0] = '\0';
}
