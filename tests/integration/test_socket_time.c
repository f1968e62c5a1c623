/* test_socket_time.c: what an informer notices by the time that passes: a watch on which nothing comes any more, a
 * streaming list whose end does not come, an event that the server has lost. Over real sockets with threads; only the
 * informer's own clock leaps. */
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/world.h"

enum {
    SILENCE_MS = 91000, /* a watch is given up after 90 s */
    NO_END_MS = 31000,  /* a streaming list after 30 s */
    AUDIT_MS = 10000
};

/* Its request was accepted. */
static bool is_listing(const world *self) {
    return self->state == KI_STATE_LISTING;
}

static bool has_failed(const world *self) {
    return self->errors > 0;
}

static bool has_timed_out(const world *self) {
    return self->last_error.code == KI_ERR_TIMEOUT;
}

static int64_t staleness_ms(const world *self) {
    ki_health health;
    ki_informer_health(self->informer, &health);
    return health.staleness_ms;
}

/* ---- a watch that is silent ---- */

/* The server acknowledges on the TCP level and sends nothing: only a timeout ends the connection. One is silent before
 * its first byte, one in the middle. */
WORLD_TEST(a_silent_watch_is_cut_and_continues_where_it_was_with_no_list) {
    const world_plan plan = { .has_own_time = true };
    worlds_start(2, &plan);
    proxy_hold(worlds[0].proxy);
    proxy_inject(worlds[1].proxy, NULL, 300, PROXY_STALL, NULL);
    world_churn();
    proxy_wait_held(worlds[0].proxy, 1);
    proxy_wait_held(worlds[1].proxy, 1);
    for (size_t i = 0; i < 2; i++) {
        world_skip(&worlds[i], SILENCE_MS / 2);
        assert_true(staleness_ms(&worlds[i]) >= SILENCE_MS / 2); /* said meanwhile */
        assert_int_equal(world_errors(&worlds[i]), 0);
        world_skip_until(&worlds[i], SILENCE_MS, has_timed_out);
        proxy_wait_requests(worlds[i].proxy, worlds[i].requests_before + 1);
        proxy_release(worlds[i].proxy);
    }
    worlds_assert_all_recover(1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(world_requests_with(&worlds[i], "watch=true"), 1);
        assert_int_equal(world_requests_with(&worlds[i], "sendInitialEvents"), 0);
        assert_false(world_has_unknown_delete(&worlds[i]));
    }
}

/* ---- a streaming list without its end ---- */

static void assert_listed_in_pages(world *self) {
    assert_int_equal(ki_informer_wait_for_sync(self->informer, WORLD_PATIENCE_MS, NULL), KI_OK);
    world_wait_for_replay(self);
    world_assert_copy_is_the_servers(self);
    assert_int_equal(world_requests_with(self, "sendInitialEvents"), 1);
    assert_int_equal(world_requests_with(self, "resourceVersion=0"), 1);
    assert_int_equal(world_errors(self), 1);
}

WORLD_TEST(a_streaming_list_whose_end_never_comes_is_listed_in_pages) {
    const world_plan plan = { .has_own_time = true };
    world *self = &worlds[0];
    worlds_open(1, &plan);
    world_fault("no-end,verb=watch,count=1");
    world_start(self);
    world_wait_until(self, is_listing);
    world_skip_until(self, NO_END_MS, has_failed);
    assert_true(has_timed_out(self));
    assert_listed_in_pages(self);
    world_assert_faults_injected();

    /* The next list is streamed again: the stream that failed was one of a server that streams lists. */
    world_put_out_of_reach(self, PROXY_CLOSE);
    world_wait_for_error_code(self, KI_ERR_CONNECT);
    world_churn();
    ki_testing_server_compact(world_server);
    proxy_refuse(self->proxy, false);
    world_churn();
    world_read_expected();
    world_wait_for_replay(self);
    assert_int_equal(world_requests_with(self, "sendInitialEvents"), 2);
    worlds_assert_all_recover(8);
}

WORLD_TEST(nothing_of_a_streaming_list_is_reported_before_its_end) {
    static const char end[] = "k8s.io/initial-events-end";
    const world_plan plan = { .has_own_time = true };
    world *self = &worlds[0];
    worlds_open(1, &plan);
    proxy_inject(self->proxy, end, sizeof end - 1, PROXY_STALL, NULL);
    world_start(self);
    proxy_wait_injected(self->proxy);
    world_drop("changed"); /* a mixture would have it, and nobody would tell that it went */
    world_put("new", 1);
    world_read_expected();
    world_wait_until(self, is_listing);
    world_skip_until(self, NO_END_MS, has_failed);
    proxy_release(self->proxy);
    assert_true(has_timed_out(self));
    assert_listed_in_pages(self);
    told_changes changes = world_changes(self);
    told now[WORLD_OBJECTS];
    assert_int_equal(changes.adds, world_expected(now));
    assert_int_equal(changes.updates + changes.deletes, 0);
    worlds_assert_all_recover(3);
}

/* ---- an event that the server has lost ---- */

static bool has_found_what_was_lost(const world *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->objects[i].key, "default/lost") == 0)
            return true;
    }
    return false;
}

WORLD_TEST(a_consistency_check_finds_an_event_that_the_server_lost) {
    const world_plan plan = { .informer = KI_INFORMER_OPTIONS(.consistency_check_ms = AUDIT_MS), .has_own_time = true };
    world *self = &worlds[0];
    worlds_open(1, &plan);
    told now[WORLD_OBJECTS];
    char fault[64];
    snprintf(fault, sizeof fault, "lose,event=%zu,verb=watch,count=1", world_expected(now) + 1);
    world_fault(fault);
    world_start(self);
    world_wait_for_replay(self);
    assert_int_equal(ki_factory_wait_for_sync(self->factory, WORLD_PATIENCE_MS, NULL, NULL), KI_OK);
    world_put("lost", 1); /* the first after the initial ones */
    world_put("told", 1);
    world_skip_until(self, AUDIT_MS, has_found_what_was_lost);
    world_read_expected();
    world_wait_for_replay(self);
    world_assert_copy_is_the_servers(self);
    world_assert_faults_injected();
    assert_true(world_errors(self) >= 1);
    worlds_assert_all_recover(SIZE_MAX);
}
