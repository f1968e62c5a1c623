/* test_connections.c: the limits of connections in time and bytes. */
#include "src/engine/engine.h"
#include "status/connections.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static ki_connections connections;

static int set_up(void **state) {
    (void)state;
    return (int)ki_connections_init(&connections, NULL);
}

static int tear_down(void **state) {
    (void)state;
    ki_connections_free(&connections);
    return 0;
}

#define CONNECTIONS_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Returns true if the other side of a socket pair sees the end. */
static bool has_ended(int fd) {
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

CONNECTIONS_TEST(a_connection_ends_thirty_seconds_after_its_last_response) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct ki_connection *connection = ki_connections_add(&connections, pair[0], 0);
    ki_connections_end_late(&connections, KI_SECONDS(30));
    assert_false(has_ended(pair[1]));
    ki_connections_renew(&connections, connection, KI_SECONDS(20));
    ki_connections_end_late(&connections, KI_SECONDS(50));
    assert_false(has_ended(pair[1]));
    ki_connections_end_late(&connections, KI_SECONDS(51));
    assert_true(has_ended(pair[1]));
    ki_connections_remove(&connections, connection);
    close(pair[0]);
    close(pair[1]);
}

CONNECTIONS_TEST(a_connection_that_was_removed_is_left_alone) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ki_connections_remove(&connections, ki_connections_add(&connections, pair[0], 0));
    ki_connections_end_late(&connections, KI_SECONDS(100));
    assert_false(has_ended(pair[1]));
    close(pair[0]);
    close(pair[1]);
}

static void *remove_first(void *user) {
    char byte;
    const int *fds = user;
    assert_true(recv(fds[1], &byte, 1, 0) == 0); /* blocks until the socket is shut down */
    ki_connections_remove(&connections, &connections.all[0]);
    return NULL;
}

CONNECTIONS_TEST(the_end_of_all_waits_for_the_present_ones_and_ends_later_ones_at_once) {
    int first[2], later[2];
    pthread_t thread;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, first), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, later), 0);
    assert_ptr_equal(ki_connections_add(&connections, first[0], 0), &connections.all[0]);
    assert_int_equal(pthread_create(&thread, NULL, remove_first, first), 0);
    ki_connections_end_all(&connections);
    assert_int_equal(connections.all[0].fd, -1);
    pthread_join(thread, NULL);
    struct ki_connection *connection = ki_connections_add(&connections, later[0], 0);
    assert_true(has_ended(later[1]));
    ki_connections_remove(&connections, connection);
    ki_connections_end_all(&connections); /* none */
    for (size_t i = 0; i < 2; i++) {
        close(first[i]);
        close(later[i]);
    }
}

/* The time stands still: the order counts. */
CONNECTIONS_TEST(a_connection_too_many_ends_the_one_that_waits_longest) {
    int pairs[KI_CONNECTIONS_MAX + 2][2];
    struct ki_connection *places[KI_CONNECTIONS_MAX + 2];
    for (size_t i = 0; i < KI_CONNECTIONS_MAX + 2; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pairs[i]), 0);
    for (size_t i = 0; i < KI_CONNECTIONS_MAX; i++)
        places[i] = ki_connections_add(&connections, pairs[i][0], 0);
    ki_connections_renew(&connections, places[0], 0);
    ki_connections_remove(&connections, places[1]);
    places[1] = ki_connections_add(&connections, pairs[1][0], 0);
    for (size_t i = 0; i < KI_CONNECTIONS_MAX; i++)
        assert_false(has_ended(pairs[i][1]));
    for (size_t i = KI_CONNECTIONS_MAX; i < KI_CONNECTIONS_MAX + 2; i++)
        places[i] = ki_connections_add(&connections, pairs[i][0], 0);
    for (size_t i = 0; i < KI_CONNECTIONS_MAX + 2; i++) {
        assert_true(has_ended(pairs[i][1]) == (i == 2 || i == 3));
        ki_connections_remove(&connections, places[i]);
        close(pairs[i][0]);
        close(pairs[i][1]);
    }
}

CONNECTIONS_TEST(there_are_places_for_all_connections) {
    for (int i = 0; i < KI_CONNECTIONS_PLACES; i++)
        assert_non_null(ki_connections_add(&connections, 1000 + i, 0));
    assert_null(ki_connections_add(&connections, 2000, 0));
    ki_connections_remove(&connections, &connections.all[7]);
    assert_ptr_equal(ki_connections_add(&connections, 2000, 0), &connections.all[7]);
    ki_connections_renew(&connections, NULL, 0);
    ki_connections_remove(&connections, NULL);
}

CONNECTIONS_TEST(bytes_that_are_not_sent_are_limited) {
    const size_t least = KI_CONNECTIONS_SMALL + 1;
    assert_true(ki_connections_reserve(&connections, KI_CONNECTIONS_BYTES_MAX - least));
    assert_false(ki_connections_reserve(&connections, least + 1));
    assert_true(ki_connections_reserve(&connections, least));
    assert_false(ki_connections_reserve(&connections, least));
    ki_connections_release(&connections, least);
    assert_true(ki_connections_reserve(&connections, least));
    assert_false(ki_connections_reserve(&connections, SIZE_MAX));
}

/* Scrapers that read nothing must not make a probe fail: the kubelet would restart the program. */
CONNECTIONS_TEST(a_probes_response_needs_no_room) {
    assert_true(ki_connections_reserve(&connections, KI_CONNECTIONS_BYTES_MAX));
    assert_true(ki_connections_reserve(&connections, KI_CONNECTIONS_SMALL));
    ki_connections_release(&connections, KI_CONNECTIONS_SMALL);
    assert_false(ki_connections_reserve(&connections, KI_CONNECTIONS_SMALL + 1));
    ki_connections_release(&connections, KI_CONNECTIONS_BYTES_MAX);
    assert_true(ki_connections_reserve(&connections, KI_CONNECTIONS_BYTES_MAX));
}
