/* test_listen.c: the addresses of a listening socket. */
#include "status/http/listen.h"
#include "tests/support/test.h"

#include <string.h>
#include <unistd.h>

static char url[KI_URL_MAX];

/* Listens and closes the socket again. */
static ki_status listen_on(const char *address, const char *default_port, ki_error *err) {
    int fd;
    ki_status status = ki_http_listen(address, default_port, "http", &fd, url, err);
    if (!status)
        close(fd);
    return status;
}

static void expect_url(const char *address, const char *default_port, const char *beginning) {
    ki_error err = KI_ERROR_INIT;
    if (listen_on(address, default_port, &err))
        fail_msg("%s: %s", address, ki_error_message(&err));
    if (strncmp(url, beginning, strlen(beginning)) != 0)
        fail_msg("%s: %s", address, url);
}

TEST(an_address_without_a_host_is_loopback) {
    expect_url("0", NULL, "http://127.0.0.1:");
    expect_url(":0", NULL, "http://127.0.0.1:");
    expect_url("localhost:0", NULL, "http://127.0.0.1:");
    expect_url("127.0.0.1:0", NULL, "http://127.0.0.1:");
    expect_url("127.0.0.2:0", NULL, "http://127.0.0.2:");
}

TEST(the_url_of_all_interfaces_is_loopback) {
    expect_url("0.0.0.0:0", NULL, "http://127.0.0.1:");
}

TEST(an_address_without_a_port_has_the_default_one) {
    expect_url("127.0.0.1", "0", "http://127.0.0.1:");
    expect_url("127.0.0.1:", "0", "http://127.0.0.1:");
    expect_url("", "0", "http://127.0.0.1:");
}

TEST(what_is_no_address_is_an_error_that_says_how_to_write_one) {
    static const char *const rows[] = {
        "nowhere",   "x:1",    ":",          ":70000",
        "1.2.3:80",  "[::1]",  "127.0.0.1:", "",
        "70000",     "[::1",   "[::1]x",     "[]:1",
        "127.0.0.1", "1:2:3:", "-1",         "a b:1",
        ":x",        " :8080", "0x50",       "host.with.a.name.that.is.longer.than.any.address.of.ipv6.can.be:1"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ki_error err = KI_ERROR_INIT;
        if (listen_on(rows[i], NULL, &err) != KI_ERR_INVALID)
            fail_msg("%s is accepted", rows[i]);
        assert_non_null(strstr(err.message, rows[i]));
        assert_non_null(strstr(err.message, "a port, or an address with a port"));
    }
}

TEST(a_port_in_use_is_an_error_that_names_it) {
    ki_error err = KI_ERROR_INIT;
    int fd;
    assert_int_equal(ki_http_listen("0", NULL, "http", &fd, url, NULL), KI_OK);
    char taken[KI_URL_MAX];
    strcpy(taken, url + strlen("http://"));
    assert_int_equal(listen_on(taken, NULL, &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(err.message, taken));
    assert_non_null(strstr(err.message, "in use"));
    const char *given = strchr(taken, ':'); /* the address that is tried, also where only the port is given */
    assert_int_equal(listen_on(given, NULL, &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(err.message, taken));
    assert_int_equal(listen_on(given + 1, NULL, &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(err.message, taken));
    close(fd);
}

TEST(an_address_of_another_machine_is_an_error) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(listen_on("203.0.113.1:80", NULL, &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "cannot listen on 203.0.113.1:80"));
}
