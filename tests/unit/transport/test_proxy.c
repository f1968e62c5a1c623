/* test_proxy.c: which proxy a server is reached by. */

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/transport/proxy.h"
#include "tests/support/test.h"

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
        { "https://there", "http://me:secret@mi ne", NULL, NULL, NULL, false, NULL, "proxy-url: has a character" },
        { "https://there", NULL, "\tp:1", NULL, NULL, false, NULL, "HTTPS_PROXY: has a character" },
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
