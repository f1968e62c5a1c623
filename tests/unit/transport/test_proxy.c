/* test_proxy.c: which proxy a server is reached by. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/transport/curl.h"
#include "src/transport/proxy.h"
#include "tests/support/test.h"

#include <stdlib.h>

TEST(the_environments_exceptions_are_those_of_go) {
    static const struct {
        const char *no_proxy, *host;
        int port;
        bool bypassed;
    } cases[] = {
        { NULL, "example.com", 443, false },
        { "", "example.com", 443, false },
        { "*", "example.com", 443, true },
        { "other, * ", "example.com", 443, true },
        { "example.com", "example.com", 443, true },
        { "example.com", "EXAMPLE.com", 443, true },
        { "example.com", "example.com.", 443, true },
        { "example.com", "www.example.com", 443, true },
        { "example.com", "notexample.com", 443, false },
        { "example.com", "example.com.org", 443, false },
        { ".example.com", "www.example.com", 443, true },
        { ".example.com", "example.com", 443, false },
        { "*.example.com", "www.example.com", 443, true },
        { "*.example.com", "example.com", 443, false },
        { "example.com:443", "example.com", 443, true },
        { "example.com:443", "example.com", 6443, false },
        { "a,example.com:6443 ,b", "x.example.com", 6443, true },
        { NULL, "localhost", 443, true },
        { NULL, "LOCALHOST", 443, true },
        { NULL, "127.0.0.1", 443, true },
        { NULL, "127.9.9.9", 443, true },
        { NULL, "::1", 443, true },
        { NULL, "localhost.example.com", 443, false },
        { "10.0.0.1", "10.0.0.1", 443, true },
        { "10.0.0.1", "10.0.0.10", 443, false },
        { "10.0.0.1:443", "10.0.0.1", 443, true },
        { "10.0.0.1:443", "10.0.0.1", 6443, false },
        { "10.0.0.0/8", "10.1.2.3", 443, true },
        { "10.0.0.0/8", "11.1.2.3", 443, false },
        { "10.0.0.0/15", "10.1.2.3", 443, true },
        { "10.0.0.0/15", "10.2.2.3", 443, false },
        { "0.0.0.0/0", "10.2.2.3", 443, true },
        { "0.0.0.0/0", "fd00::1", 443, false },
        { "10.0.0.0/99", "10.2.2.3", 443, false },
        { "10.0.0.0/", "10.0.0.0", 443, false },
        { "fd00::/8", "fd12::1", 443, true },
        { "fd00::/8", "fe12::1", 443, false },
        { "fd00::1", "fd00::1", 443, true },
        { "[fd00::1]", "fd00::1", 443, true },
        { "[fd00::1]:443", "fd00::1", 443, true },
        { "[fd00::1]:443", "fd00::1", 80, false },
        { "10.0.0.0/8", "ten.example.com", 443, false },
        { ",,:443,.", "example.com", 443, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (ki_proxy_is_bypassed(cases[i].no_proxy, ki_str_of(cases[i].host), cases[i].port) != cases[i].bypassed)
            fail_msg("NO_PROXY=%s, %s:%d", cases[i].no_proxy, cases[i].host, cases[i].port);
    }
}

TEST(a_servers_url_has_host_port_and_path) {
    static const struct {
        const char *url, *host, *path;
        int port;
        bool is_https;
    } cases[] = {
        { "https://a", "a", "", 443, true },
        { "http://a", "a", "", 80, false },
        { "https://a:6443", "a", "", 6443, true },
        { "https://a:6443/k8s/c-1", "a", "/k8s/c-1", 6443, true },
        { "https://[::1]", "[::1]", "", 443, true },
        { "https://[::1]:1/x:2", "[::1]", "/x:2", 1, true },
        { "https://1.2.3.4/", "1.2.3.4", "/", 443, true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_server_parts parts = ki_server_parts_of(ki_str_of(cases[i].url));
        if (!ki_str_equals(parts.host, cases[i].host) || !ki_str_equals(parts.path, cases[i].path) ||
            parts.port != cases[i].port || parts.is_https != cases[i].is_https)
            fail_msg("%s", cases[i].url);
    }
}

static ki_secret text(const char *value) {
    return (ki_secret){ value ? ki_strdup(&ki_allocator_default, value) : NULL, value ? strlen(value) : 0 };
}

#define CONTROL "proxy-url: the user or password has an escaped control character"
#define HOST "proxy-url: has no valid host and port"

TEST(the_configs_proxy_comes_before_the_environments) {
    static const struct {
        const char *server, *proxy_url, *https_proxy, *http_proxy, *no_proxy;
        bool is_cgi;
        const char *want, *message;
    } cases[] = {
        { "https://there", NULL, NULL, NULL, NULL, false, "", NULL },
        { "https://there", NULL, "http://p:1", "http://q:2", NULL, false, "http://p:1", NULL },
        { "http://there", NULL, "http://p:1", "http://q:2", NULL, false, "http://q:2", NULL },
        { "https://there", NULL, "p:1", NULL, NULL, false, "http://p:1", NULL },
        { "https://there", NULL, "socks5://p:1", NULL, NULL, false, "socks5h://p:1", NULL },
        { "https://there", NULL, "http://p:1", NULL, "there", false, "", NULL },
        { "https://[::1]", NULL, "http://p:1", NULL, NULL, false, "", NULL },
        { "http://there", NULL, NULL, "http://q:2", NULL, true, NULL, "REQUEST_METHOD" },
        { "https://there", NULL, "http://p:1", NULL, NULL, true, "http://p:1", NULL },
        { "https://there", "https://mine:3", "http://p:1", NULL, "there", false, "https://mine:3", NULL },
        { "https://127.0.0.1", "socks5://mine:3", NULL, NULL, "*", false, "socks5h://mine:3", NULL },
        { "https://there", "http://me:secret@mine:3", NULL, NULL, NULL, false, "http://me:secret@mine:3", NULL },
        { "https://there", "ftp://me:secret@mine:3", NULL, NULL, NULL, false, NULL, "proxy-url: must begin with" },
        { "https://there", "mine:3", NULL, NULL, NULL, false, NULL, "proxy-url: must begin with" },
        { "https://there", "http://me:secret@mi ne", NULL, NULL, NULL, false, NULL, "proxy-url: has a space" },
        { "https://there", NULL, "\tp:1", NULL, NULL, false, NULL, "HTTPS_PROXY: has a space" },
        /* Go's default ports, not libcurl's */
        { "https://there", NULL, "p", NULL, NULL, false, "http://p:80", NULL },
        { "https://there", "https://p", NULL, NULL, NULL, false, "https://p:443", NULL },
        { "https://there", "socks5://p", NULL, NULL, NULL, false, "socks5h://p:1080", NULL },
        { "https://there", "http://[fd00::1]", NULL, NULL, NULL, false, "http://[fd00::1]:80", NULL },
        /* not a path of a Unix socket, as libcurl reads it */
        { "https://there", NULL, "socks5h://localhost/run/secret", NULL, NULL, false, "socks5h://localhost:1080",
          NULL },
        { "https://there", NULL, "p:1?secret#secret", NULL, NULL, false, "http://p:1", NULL },
        /* what has a meaning in a URL is part of a password */
        { "https://there", "http://me:a%40b@c:d;e@p:1", NULL, NULL, NULL, false, "http://me:a%40b%40c%3Ad%3Be@p:1",
          NULL },
        { "https://there", "http://@p:1", NULL, NULL, NULL, false, "http://@p:1", NULL },
        { "https://there", "http://me@p:1", NULL, NULL, NULL, false, "http://me@p:1", NULL },
        { "https://there", "http://:secret@p:1", NULL, NULL, NULL, false, "http://:secret@p:1", NULL },
        /* libcurl ignores the proxy */
        { "https://there", "http://me:secret%0a@p:1", NULL, NULL, NULL, false, NULL, CONTROL },
        { "https://there", "http://me%0D:secret@p:1", NULL, NULL, NULL, false, NULL, CONTROL },
        { "https://there", "socks5://me%00:secret@p:1", NULL, NULL, NULL, false, NULL, CONTROL },
        { "https://there", "https://me:secret%1f@p:1", NULL, NULL, NULL, false, NULL, CONTROL },
        { "https://there", "https://me:secret%7F@p:1", NULL, NULL, NULL, false, NULL, CONTROL },
        { "https://there", NULL, "me:secret%09@p:1", NULL, NULL, false, NULL, "HTTPS_PROXY: the user or password has" },
        { "http://there", NULL, NULL, "me:secret%09@p:1", NULL, false, NULL, "HTTP_PROXY: the user or password has" },
        /* no URL for Go; libcurl takes it as it is */
        { "https://there", "http://me:secret%zz@p:1", NULL, NULL, NULL, false, NULL, "begins no escape" },
        { "https://there", "http://me:secret%4@p:1", NULL, NULL, NULL, false, NULL, "begins no escape" },
        { "https://there", "http:///p", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http:////p", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http://me:secret/@p:1", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http://%70:1", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http://p:0", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http://p:65536", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", "http://p\\q:1", NULL, NULL, NULL, false, NULL, HOST },
        { "https://there", NULL, "http://", NULL, NULL, false, NULL, "HTTPS_PROXY: has no valid host and port" },
        { "https://there", NULL, "socks4://p", NULL, NULL, false, NULL, "HTTPS_PROXY: must begin with" },
        { "https://there", NULL, "socks5h://", NULL, NULL, false, NULL, "HTTPS_PROXY: has no valid host and port" },
        { "https://there", NULL, "ftp://me:secret@mine", NULL, NULL, false, NULL, "HTTPS_PROXY: must begin with" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_config config = { .allocator = ki_allocator_default };
        config.server = text(cases[i].server);
        config.proxy_url = text(cases[i].proxy_url);
        const ki_proxy_environment environment = { cases[i].https_proxy, cases[i].http_proxy, cases[i].no_proxy,
                                                   cases[i].is_cgi };
        ki_secret url = { NULL, 0 };
        ki_error err = KI_ERROR_INIT;
        ki_status status = ki_proxy_choose(&ki_allocator_default, &config, &environment, &url, &err);
        if (!status != !cases[i].message || (!status && strcmp(url.data, cases[i].want) != 0) ||
            (status && !strstr(err.message, cases[i].message)))
            fail_msg("case %zu: %s %s", i, url.data ? url.data : "-", err.message);
        assert_null(strstr(err.message, "secret"));
        ki_secret_clear(&ki_allocator_default, &url);
        ki_secret_clear(&ki_allocator_default, &config.server);
        ki_secret_clear(&ki_allocator_default, &config.proxy_url);
    }
}

/* libcurl would leave the proxy out and connect to the server, or connect to another host. */
TEST(a_proxy_that_libcurl_would_ignore_is_an_error_and_no_connection) {
    static const char *const proxies[] = {
        "http://me:se%0acret@127.0.0.1:1",
        "https://m%0de:secret@127.0.0.1:1",
        "socks5://m%00e:secret@127.0.0.1:1",
        "http://me:se%09cret@127.0.0.1:1",
        "http://me:se%7fcret@127.0.0.1:1",
        "http://me:secret@0x7f.1:1",
        "http://me:secret@[::::::]:80",
        "http://me:secret@ho{st:80",
        "socks5://me:secret@[zz]:1",
        "http://me:secret@[::1",
        "http://me:secret@:80",
    };
    for (size_t i = 0; i < 2 * sizeof proxies / sizeof *proxies; i++) {
        const char *url = proxies[i / 2];
        ki_error err = KI_ERROR_INIT;
        ki_engine *engine = NULL;
        ki_transport *transport = NULL;
        ki_config *config = ki_alloc_zero(&ki_allocator_default, sizeof *config);
        assert_non_null(config);
        config->allocator = ki_allocator_default;
        config->server = text("https://there.invalid");
        if (i % 2)
            config->proxy_url = text(url);
        else
            setenv("HTTPS_PROXY", url, 1);
        assert_int_equal(ki_engine_new(NULL, &engine, NULL), KI_OK);
        (void)!ki_curl_transport_new(engine, config, &transport, &err);
        unsetenv("HTTPS_PROXY");
        ki_transport_free(transport);
        ki_engine_free(engine);
        ki_config_free(config);
        bool names_it = strstr(err.message, "proxy-url: ") || strstr(err.message, "HTTPS_PROXY: ") ||
                        strstr(err.message, "the proxy's URL");
        if (err.code != KI_ERR_CONFIG || !names_it || strstr(err.message, "cret"))
            fail_msg("%s: %s", url, err.code ? err.message : "a connection without a proxy");
    }
}
