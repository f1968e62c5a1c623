/* test_socket_faults.c: informers with threads, real sockets, and a proxy between them and the embedded server that
 * does what a network does. After each fault the server goes on; then the informer's copy, and what its handler was
 * told, must add up to what the server has, and few requests must have been made. Each test begins anew: waits after
 * failures grow within an informer. */

#include "tests/support/test.h"
#include "tests/support/world.h"

/* ---- the stream ---- */

WORLD_TEST(a_stream_cut_at_any_byte_continues_where_it_was) {
    static const size_t offsets[] = { 0, 1, 2, 4, 5, 12, 40, 97, 210, 333, 500, 900 };
    const size_t count = sizeof offsets / sizeof offsets[0];
    worlds_start(2 * count, NULL);
    for (size_t i = 0; i < 2 * count; i++)
        proxy_inject(worlds[i].proxy, NULL, offsets[i / 2], i % 2 ? PROXY_RESET : PROXY_CLOSE, NULL);
    world_churn();
    for (size_t i = 0; i < 2 * count; i++)
        proxy_wait_injected(worlds[i].proxy);
    worlds_assert_all_recover(2);
}

WORLD_TEST(a_first_list_cut_at_any_byte_is_listed_again) {
    static const size_t offsets[] = { 0, 9, 30, 200, 260, 700, 1500 };
    const size_t count = sizeof offsets / sizeof offsets[0];
    worlds_open(2 * count, NULL);
    for (size_t i = 0; i < 2 * count; i++) {
        proxy_inject(worlds[i].proxy, NULL, offsets[i / 2], i % 2 ? PROXY_RESET : PROXY_CLOSE, NULL);
        world_start(&worlds[i]);
    }
    for (size_t i = 0; i < 2 * count; i++)
        proxy_wait_injected(worlds[i].proxy);
    world_churn();
    worlds_assert_all_recover(4);
}

WORLD_TEST(a_character_may_come_in_two_parts_or_never_whole) {
    const size_t size = sizeof UMLAUTS - 1;
    worlds_start(2 * (size - 1), NULL);
    for (size_t i = 0; i < world_count; i++)
        proxy_inject(worlds[i].proxy, UMLAUTS, 1 + i / 2, i % 2 ? PROXY_STALL : PROXY_CLOSE, NULL);
    world_churn();
    for (size_t i = 0; i < world_count; i++) {
        proxy_wait_injected(worlds[i].proxy);
        proxy_release(worlds[i].proxy);
    }
    worlds_assert_all_recover(2);
    for (size_t i = 1; i < world_count; i += 2) {
        world_assert_few_requests(&worlds[i], 0);
        assert_int_equal(world_errors(&worlds[i]), 0);
    }
}

WORLD_TEST(bytes_may_come_one_by_one) {
    worlds_open(1, NULL);
    proxy_set_segment(worlds[0].proxy, 1);
    world_start(&worlds[0]);
    world_churn();
    worlds_assert_all_recover(1);
    assert_int_equal(world_errors(&worlds[0]), 0);
}

WORLD_TEST(many_events_may_come_in_one_segment) {
    worlds_start(1, NULL);
    proxy_hold(worlds[0].proxy);
    for (int i = 0; i < 4; i++)
        world_churn();
    proxy_wait_held(worlds[0].proxy, 4096);
    proxy_release(worlds[0].proxy);
    worlds_assert_all_recover(0);
    assert_int_equal(world_errors(&worlds[0]), 0);
}

WORLD_TEST(what_a_silent_connection_has_swallowed_is_asked_for_again) {
    worlds_start(2, NULL);
    for (size_t i = 0; i < 2; i++)
        proxy_hold(worlds[i].proxy);
    world_churn();
    world_churn();
    for (size_t i = 0; i < 2; i++) {
        proxy_wait_held(worlds[i].proxy, 2048);
        proxy_cut_all(worlds[i].proxy, i ? PROXY_RESET : PROXY_CLOSE);
        proxy_release(worlds[i].proxy);
    }
    worlds_assert_all_recover(3);
}

WORLD_TEST(garbage_in_the_stream_costs_no_object) {
    static const struct {
        const char *needle;
        size_t offset;
        proxy_fault what;
        const char *text;
    } rows[] = {
        { NULL, 0, PROXY_INSERT, "HTTP/1.1 200 OK\r\n\r\n" }, /* where a chunk's length should be */
        { NULL, 0, PROXY_INSERT, "zzzz\r\n" },
        { NULL, 0, PROXY_INSERT, "ffffffffffffffffffffff\r\n" },
        { "{\"type\":", 8, PROXY_INSERT, "\xff\xfe" }, /* the chunk's length is wrong from there on */
        { "{\"type\":", 8, PROXY_OVERWRITE, "}}}}" },
        { "\"object\":", 9, PROXY_OVERWRITE, "\\u0000]" },
        { "\"metadata\":", 11, PROXY_OVERWRITE, "\xc3\x28" },
        { UMLAUTS, 1, PROXY_OVERWRITE, "\"" },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    worlds_start(count, NULL);
    for (size_t i = 0; i < count; i++)
        proxy_inject(worlds[i].proxy, rows[i].needle, rows[i].offset, rows[i].what, rows[i].text);
    world_churn();
    for (size_t i = 0; i < count; i++) {
        proxy_wait_injected(worlds[i].proxy);
        world_wait_for_errors(&worlds[i], 1);
    }
    worlds_assert_all_recover(3);
}

/* ---- connections ---- */

WORLD_TEST(a_server_out_of_reach_is_found_again) {
    worlds_start(2, NULL);
    world_put_out_of_reach(&worlds[0], PROXY_CLOSE);
    world_put_out_of_reach(&worlds[1], PROXY_RESET);
    world_churn();
    for (size_t i = 0; i < 2; i++) {
        world_wait_for_error_code(&worlds[i], KI_ERR_CONNECT);
        proxy_refuse(worlds[i].proxy, false);
    }
    worlds_assert_all_recover(2);
    assert_false(world_has_unknown_delete(&worlds[0]) ||
                 world_has_unknown_delete(&worlds[1])); /* the history was there */
}

WORLD_TEST(what_was_compacted_meanwhile_is_found_by_comparing) {
    worlds_start(1, NULL);
    world_put("gone", 1);
    world_read_expected();
    world_wait_for_replay(&worlds[0]);
    world_put_out_of_reach(&worlds[0], PROXY_RESET);
    world_wait_for_error_code(&worlds[0], KI_ERR_CONNECT);
    world_drop("gone");
    world_churn();
    ki_testing_server_compact(world_server);
    proxy_refuse(worlds[0].proxy, false);
    worlds_assert_all_recover(3);
    assert_true(world_has_unknown_delete(&worlds[0]));
}

WORLD_TEST(a_watch_that_is_closed_again_and_again_is_opened_no_faster_than_it_backs_off) {
    worlds_start(1, NULL);
    for (size_t i = 1; i <= 3; i++) {
        world_churn();
        world_read_expected();
        world_wait_for_replay(&worlds[0]); /* so the watch is open, and has had events */
        ki_testing_server_close_watches(world_server);
        proxy_wait_requests(worlds[0].proxy, worlds[0].requests_before + i);
    }
    world_churn();
    worlds_assert_all_recover(3);
}

/* ---- responses ---- */

/* The cache syncs after any response to the first request. */
WORLD_TEST(a_first_response_that_is_an_error_is_no_end) {
    static const struct {
        const char *text;
        size_t times;
        bool is_reported; /* to the error handler */
    } rows[] = {
        { WORLD_RESPONSE("400 Bad Request", WORLD_STATUS("400", "BadRequest")), 1,
          false }, /* streaming lists are new to it */
        { WORLD_RESPONSE("422 Unprocessable Entity", WORLD_STATUS("422", "Invalid")), 1, false },
        { WORLD_RESPONSE("410 Gone", WORLD_STATUS("410", "Expired")), 1, true },
        { WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE), 1, true },
        { WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE_OLD), 1, true },
        { WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_TOO_LARGE "}\n"), 1, true },
        { WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_STATUS("500", "InternalError") "}\n"), 1,
          true },
        { "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\n\r\n", 1, true },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", 2, true },
        { WORLD_RESPONSE("200 OK", "{\"kind\":\"Status\"}"), 2, true },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    worlds_open(count, NULL);
    for (size_t i = 0; i < count; i++) {
        proxy_response(worlds[i].proxy, rows[i].text, rows[i].times);
        world_start(&worlds[i]);
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ki_factory_wait_for_sync(worlds[i].factory, WORLD_PATIENCE_MS, NULL, NULL), KI_OK);
    worlds_assert_all_recover(6);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(world_errors(&worlds[i]) > 0, rows[i].is_reported);
}

/* At the start the streaming list and the list are refused; later a watch that is opened again. */
WORLD_TEST(a_blocking_failure_is_reported_and_its_fix_is_noticed) {
    static const struct {
        const char *text, *list_words, *watch_words;
        size_t times; /* of a watch, a streaming list and a list: one of them blocks */
    } rows[] = {
        { WORLD_RESPONSE("401 Unauthorized", WORLD_STATUS("401", "Unauthorized")),
          "unauthorized: the server does not accept the credentials",
          "unauthorized: the server does not accept the credentials", 1 },
        { WORLD_RESPONSE("403 Forbidden", WORLD_STATUS("403", "Forbidden")),
          "forbidden: list configmaps in all namespaces", "forbidden: watch configmaps in all namespaces", 1 },
        { "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n404 page not found\n",
          "the server has no configmaps in version v1", "the server has no configmaps in version v1", 3 },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    worlds_open(count, NULL);
    for (size_t i = 0; i < count; i++) {
        proxy_response(worlds[i].proxy, rows[i].text, 2);
        world_start(&worlds[i]);
    }
    for (size_t i = 0; i < count; i++) {
        world_wait_for_words(&worlds[i], rows[i].list_words);
        world_wait_for_replay(&worlds[i]);
        pthread_mutex_lock(&worlds[i].lock);
        worlds[i].words[0] = '\0';
        pthread_mutex_unlock(&worlds[i].lock);
        proxy_response(worlds[i].proxy, rows[i].text, rows[i].times);
        proxy_cut_all(worlds[i].proxy, PROXY_CLOSE);
    }
    world_churn();
    for (size_t i = 0; i < count; i++)
        world_wait_for_words(&worlds[i], rows[i].watch_words);
    worlds_assert_all_recover(8);
}

WORLD_TEST(a_response_that_is_no_watch_is_no_end) {
    static const struct {
        const char *text;
        size_t at_most; /* requests */
    } rows[] = {
        { "HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" WORLD_STATUS("410",
                                                                                                          "Expired"),
          3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
          "{\"type\":\"ERROR\",\"object\":" WORLD_STATUS("410", "Expired") "}\n",
          3 },
        { "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"
          "Connection: close\r\n\r\n" WORLD_STATUS("429", "TooManyRequests"),
          3 },
        { WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE), 3 },
        { WORLD_RESPONSE("504 Gateway Timeout", WORLD_TOO_LARGE_OLD), 3 },
        { WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_TOO_LARGE "}\n"), 3 },
        { WORLD_RESPONSE("200 OK", "{\"type\":\"ERROR\",\"object\":" WORLD_STATUS("500", "InternalError") "}\n"), 3 },
        { "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n", 3 },
        { "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>", 3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>log in</html>", 3 },
        { "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 3 },
        { "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 4 },
        { "SSH-2.0-OpenSSH_9.2\r\n", 3 },
        { "", 3 },
    };
    const size_t count = sizeof rows / sizeof rows[0];
    worlds_start(count, NULL);
    for (size_t i = 0; i < count; i++) {
        proxy_response(worlds[i].proxy, rows[i].text, 1);
        proxy_cut_all(worlds[i].proxy, PROXY_CLOSE);
    }
    world_churn();
    for (size_t i = 0; i < count; i++)
        world_wait_for_errors(&worlds[i], 1);
    worlds_assert_all_recover(4);
    for (size_t i = 0; i < count; i++)
        world_assert_few_requests(&worlds[i], rows[i].at_most);
}
