/* test_socket_clients.c: what many informers, and slow handlers, may not do to one another or to the server: a stuck
 * handler delays neither the copy nor other handlers, a server that restarts is not stormed with lists, and an informer
 * that is stopped in the middle of a list leaves nothing. */
#include <string.h>

#include "tests/support/test.h"
#include "tests/support/world.h"

/* ---- slow handlers ---- */

static void last_is_seen(ki_informer *informer, const char *version) {
    ki_error err = KI_ERROR_INIT;
    if (ki_informer_wait_for_version(informer, "default/zz-marker", version, WORLD_PATIENCE_MS, &err))
        fail_msg("%s", ki_error_message(&err));
}

static const told *marker(const told *objects, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(objects[i].key, "default/zz-marker") == 0)
            return &objects[i];
    }
    fail_msg("there is no marker");
    return NULL;
}

/* Rounds of changes while one handler does not return; the copy, and another informer's handler, go on. */
static void change_behind_its_back(world *stuck, world *other, void (*meanwhile)(ki_testing_server *server)) {
    told now[WORLD_OBJECTS];
    for (int i = 0; i < 6; i++) {
        world_churn();
        if (i == 3)
            meanwhile(world_server);
        world_read_expected();
        world_wait_for_replay(other);
        last_is_seen(stuck->informer, marker(now, world_expected(now))->version);
    }
    world_assert_copy_is_the_servers(stuck);
}

static void forget_and_close(ki_testing_server *testing_server) {
    ki_testing_server_compact(testing_server);
    ki_testing_server_close_watches(testing_server);
}

/* When it goes on it is told every change that there was, in order. */
WORLD_TEST(a_stuck_handler_delays_nobody_and_loses_nothing) {
    worlds_start(2, NULL);
    world_stick(&worlds[0], true);
    change_behind_its_back(&worlds[0], &worlds[1], ki_testing_server_close_watches);
    world_stick(&worlds[0], false);
    world_wait_for_replay(&worlds[0]);
    told_changes all = world_changes(&worlds[1]), told_late = world_changes(&worlds[0]);
    assert_memory_equal(&all, &told_late, sizeof all);
    world_stick(&worlds[0], true);
    change_behind_its_back(&worlds[0], &worlds[1], forget_and_close); /* those who had not read it all list again */
    world_stick(&worlds[0], false);
    worlds_assert_all_recover(6);
}

/* ---- a restart ---- */

/* As its clients see it: all are cut, and refused for a while. */
WORLD_TEST(no_list_follows_a_restart_of_the_server) {
    worlds_start(WORLDS, NULL);
    for (size_t i = 0; i < WORLDS; i++)
        world_put_out_of_reach(&worlds[i], i % 2 ? PROXY_RESET : PROXY_CLOSE);
    world_churn();
    for (size_t i = 0; i < WORLDS; i++)
        world_wait_out_of_reach(&worlds[i]);
    for (size_t i = 0; i < WORLDS; i++) {
        worlds[i].requests_before = proxy_requests(worlds[i].proxy);
        proxy_refuse(worlds[i].proxy, false);
    }
    worlds_assert_all_recover(2);
    for (size_t i = 0; i < WORLDS; i++) {
        assert_int_equal(world_requests_with(&worlds[i], "sendInitialEvents"), 0);
        assert_int_equal(world_requests_with(&worlds[i], "watch=true"),
                         proxy_requests(worlds[i].proxy) - worlds[i].requests_before);
        assert_false(world_has_unknown_delete(&worlds[i]));
    }
}

/* ---- a stop ---- */

/* In the middle of a streaming list, a page, an event; while nobody listens, and before an answer. */
WORLD_TEST(a_stop_in_the_middle_of_anything_is_clean) {
    static const size_t offsets[] = { 0, 1, 30, 170, 200, 300, 700, 1500 };
    for (int streams = 0; streams < 2; streams++) {
        const world_plan plan = { .no_streaming_list = !streams };
        const size_t count = sizeof offsets / sizeof offsets[0];
        worlds_open(count + 2, &plan);
        for (size_t i = 0; i < count; i++)
            proxy_inject(worlds[i].proxy, NULL, offsets[i], PROXY_STALL, NULL);
        proxy_refuse(worlds[count].proxy, true);
        for (size_t i = 0; i < count + 2; i++)
            world_start(&worlds[i]);
        for (size_t i = 0; i < count; i++)
            proxy_wait_injected(worlds[i].proxy);
        world_wait_for_errors(&worlds[count], 1);
        for (size_t i = 0; i < count + 2; i++) {
            assert_int_equal(ki_factory_shutdown(worlds[i].factory, NULL), KI_OK);
            told_changes told_before = world_changes(&worlds[i]);
            proxy_release(worlds[i].proxy);
            ki_health health;
            ki_informer_health(worlds[i].informer, &health);
            assert_int_equal(health.state, KI_STATE_STOPPED);
            told_changes told_after = world_changes(&worlds[i]);
            assert_memory_equal(&told_before, &told_after, sizeof told_before);
        }
        worlds_close(state);
    }
}
