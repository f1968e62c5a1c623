/* test_memory_transport.c: the transport within the process keeps the promises that transport.h makes for every
 * transport. */

#include "src/base/error.h"
#include "testing/memory/transport.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static int64_t test_time;

static int64_t test_now(void *user) {
    (void)user;
    return test_time;
}

static const ki_clock test_clock = { .now = test_now, .user = NULL };

/* Both sides write what happens to them: client h(ead) d(ata) e(nd, clean) x(cut); server s(erve) a(bandoned). */
typedef struct both {
    ki_engine *engine;
    ki_transport *transport;
    ki_exchange *exchange;
    kt_memory_call *call; /* NULL: none, or gone */
    char trace[64];
    char data[64];
    ki_status end_code;
    char at_once;   /* in serve: 0 nothing, 'e' a complete response, 'x' an error only */
    char cancel_in; /* the client's callback that cancels: h, d, e */
    char seen[128]; /* the request as the server saw it */
} both;

static void note(both *self, char what) {
    size_t size = strlen(self->trace);
    assert_true(size + 1 < sizeof self->trace);
    self->trace[size] = what;
}

static void maybe_cancel(both *self, char where) {
    note(self, where);
    if (self->cancel_in == where)
        ki_transport_cancel(self->transport, self->exchange);
}

static void on_head(const ki_response_head *head, void *user) {
    assert_int_equal(head->status, 200);
    maybe_cancel(user, 'h');
}

static void on_data(const char *data, size_t size, void *user) {
    both *self = user;
    assert_true(strlen(self->data) + size < sizeof self->data);
    strncat(self->data, data, size);
    maybe_cancel(self, 'd');
}

static void on_end(const ki_error *err, void *user) {
    both *self = user;
    self->end_code = err ? err->code : KI_OK;
    maybe_cancel(self, err ? 'x' : 'e');
}

static const ki_response_head ok_head = { 200, -1, "application/json" };

static void respond(both *self) {
    kt_memory_call *call = self->call;
    if (!kt_memory_call_head(call, &ok_head) || !kt_memory_call_data(call, "one", 3) ||
        !kt_memory_call_data(call, "two", 3)) {
        self->call = NULL;
        return;
    }
    self->call = NULL;
    kt_memory_call_end(call, NULL);
}

static void serve(kt_memory_call *call, const ki_request *request, void *user) {
    both *self = user;
    note(self, 's');
    self->call = call;
    kt_memory_call_set_user(call, self);
    assert_ptr_equal(kt_memory_call_user(call), self);
    snprintf(self->seen, sizeof self->seen, "%s %s %s %s %.*s", request->method, request->target,
             request->accept ? request->accept : "-", request->content_type ? request->content_type : "-",
             (int)request->body.size, request->body.data);
    if (self->at_once == 'e')
        respond(self);
    if (self->at_once == 'x') {
        ki_error err = KI_ERROR_INIT;
        ki_error_set(&err, KI_ERR_CONNECT, "refused");
        kt_memory_call_end(call, &err);
        self->call = NULL;
    }
}

static void abandoned(kt_memory_call *call, void *user) {
    both *self = user;
    assert_ptr_equal(kt_memory_call_user(call), self);
    self->call = NULL;
    note(self, 'a');
}

static const ki_request get_request = { .method = "GET", .target = "/api/v1/pods" };

static ki_status open_both(both *self, const ki_allocator *allocator) {
    memset(self, 0, sizeof *self);
    test_time = 1;
    ki_status status =
        ki_engine_new(&KI_ENGINE_OPTIONS(.clock = &test_clock, .seed = 1, .allocator = allocator), &self->engine, NULL);
    if (status)
        return status;
    const kt_memory_server server = { serve, abandoned, self };
    return kt_memory_transport_new(self->engine, &server, &self->transport, NULL);
}

static ki_status send_request(both *self, const ki_request *request) {
    const ki_response_sink sink = { .on_head = on_head, .on_data = on_data, .on_end = on_end, .user = self };
    return ki_transport_send(self->transport, request, &sink, &self->exchange, NULL);
}

static void step(both *self) {
    assert_int_equal(ki_engine_step(self->engine, 0, NULL), KI_OK);
}

static void close_both(both *self) {
    ki_transport_free(self->transport);
    ki_engine_free(self->engine);
}

/* ------------------------------------------------------------------------------------------------------------------ */

TEST(a_response_comes_in_order_and_never_from_inside_send) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    self.at_once = 'e';
    char method[] = "POST", target[] = "/x?y=z", body[] = "{}";
    const ki_request request = {
        .method = method, .target = target, .accept = "a/b", .content_type = "c/d", .body = { body, 2 }
    };
    assert_int_equal(send_request(&self, &request), KI_OK);
    memset(method, '!', 4); /* the transport has its own copies */
    memset(target, '!', 6);
    memset(body, '!', 2);
    assert_string_equal(self.trace, "");
    step(&self);
    assert_string_equal(self.trace, "shdde");
    assert_string_equal(self.data, "onetwo");
    assert_string_equal(self.seen, "POST /x?y=z a/b c/d {}");
    close_both(&self);
}

static void on_send(const ki_request *request, void *user) {
    assert_string_equal(request->target, "/api/v1/pods");
    note(user, 'S');
}

TEST(a_server_can_look_at_each_request_inside_send) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    kt_memory_transport_on_send(self.transport, on_send);
    assert_int_equal(send_request(&self, &get_request), KI_OK);
    assert_string_equal(self.trace, "S");
    step(&self);
    assert_string_equal(self.trace, "Ss");
    close_both(&self);
}

TEST(a_failure_comes_without_a_head) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    self.at_once = 'x';
    assert_int_equal(send_request(&self, &get_request), KI_OK);
    step(&self);
    assert_string_equal(self.trace, "sx");
    assert_int_equal(self.end_code, KI_ERR_CONNECT);
    assert_string_equal(self.seen, "GET /api/v1/pods - - ");
    close_both(&self);
}

TEST(after_cancel_nothing_comes_wherever_it_was_called) {
    static const struct {
        char cancel_in;
        const char *want;
    } cases[] = { { 'h', "sha" }, { 'd', "shda" }, { 'e', "shdde" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int later = 0; later < 2; later++) {
            both self;
            assert_int_equal(open_both(&self, NULL), KI_OK);
            self.cancel_in = cases[i].cancel_in;
            self.at_once = later ? 0 : 'e';
            assert_int_equal(send_request(&self, &get_request), KI_OK);
            step(&self);
            if (later)
                respond(&self);
            step(&self);
            assert_string_equal(self.trace, cases[i].want);
            assert_null(self.call);
            close_both(&self);
        }
    }
}

TEST(a_request_cancelled_before_it_arrived_is_never_served) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    assert_int_equal(send_request(&self, &get_request), KI_OK);
    ki_transport_cancel(self.transport, self.exchange);
    step(&self);
    assert_string_equal(self.trace, "");
    assert_int_equal(send_request(&self, &get_request), KI_OK);
    step(&self);
    ki_transport_cancel(self.transport, self.exchange);
    assert_string_equal(self.trace, "sa");
    close_both(&self);
}

TEST(silence_longer_than_the_idle_timeout_cuts) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    ki_request request = get_request;
    request.idle_timeout_ns = 100;
    assert_int_equal(send_request(&self, &request), KI_OK);
    test_time += 60;
    step(&self);
    assert_true(kt_memory_call_head(self.call, &ok_head));
    test_time += 60;
    step(&self);
    assert_true(kt_memory_call_data(self.call, "x", 1));
    test_time += 99;
    step(&self);
    assert_string_equal(self.trace, "shd");
    test_time += 1;
    step(&self);
    assert_string_equal(self.trace, "shdax");
    assert_int_equal(self.end_code, KI_ERR_TIMEOUT);
    close_both(&self);
}

TEST(the_total_timeout_cuts_a_response_that_never_is_silent) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    ki_request request = get_request;
    request.idle_timeout_ns = 100;
    request.total_timeout_ns = 250;
    assert_int_equal(send_request(&self, &request), KI_OK);
    step(&self);
    assert_true(kt_memory_call_head(self.call, &ok_head));
    for (int i = 0; i < 3; i++) {
        test_time += 80;
        step(&self);
        assert_true(kt_memory_call_data(self.call, "x", 1));
    }
    test_time += 80;
    step(&self);
    assert_string_equal(self.trace, "shdddax");
    assert_int_equal(self.end_code, KI_ERR_TIMEOUT);
    close_both(&self);
}

TEST(freeing_the_transport_ends_what_is_under_way_without_a_callback) {
    both self;
    assert_int_equal(open_both(&self, NULL), KI_OK);
    assert_int_equal(send_request(&self, &get_request), KI_OK);
    step(&self);
    assert_int_equal(send_request(&self, &get_request), KI_OK); /* not served yet */
    close_both(&self);
    assert_string_equal(self.trace, "sa");
}

TEST(every_lack_of_memory_is_an_error_without_a_leak) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        both self;
        ki_status status = open_both(&self, &memory.allocator);
        if (!status) {
            self.at_once = 'e';
            status = send_request(&self, &get_request);
            step(&self);
        }
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        close_both(&self);
    }
}
