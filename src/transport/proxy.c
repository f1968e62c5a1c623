/* proxy.c: parses URLs, the environment's variables and NO_PROXY. */
#include "src/transport/proxy.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    ADDRESS_LIMIT = 64, /* bytes of an address as text */
    HTTP_PORT = 80,
    HTTPS_PORT = 443,
    SOCKS_PORT = 1080
};

static bool begins_with(ki_str text, const char *prefix) {
    size_t size = strlen(prefix);
    return text.size >= size && strncasecmp(text.data, prefix, size) == 0;
}

static ki_str without(ki_str text, size_t size) {
    return (ki_str){ text.data + size, text.size - size };
}

/* Splits "host:port" or "[address]:port". The host keeps its brackets. Without a port `*ret_port` is untouched. */
static ki_str split_port(ki_str authority, int *ret_port) {
    size_t at = authority.size;
    while (at && authority.data[at - 1] >= '0' && authority.data[at - 1] <= '9')
        at--;
    uint64_t port;
    if (at < 2 || at == authority.size || authority.data[at - 1] != ':' ||
        !ki_str_to_uint64(without(authority, at), 65535, &port))
        return authority;
    ki_str host = { authority.data, at - 1 };
    if (memchr(host.data, ':', host.size) && host.data[0] != '[')
        return authority; /* an IPv6 address without brackets */
    *ret_port = (int)port;
    return host;
}

static ki_str without_brackets(ki_str host) {
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        return (ki_str){ host.data + 1, host.size - 2 };
    return host;
}

ki_server_parts ki_server_parts_of(ki_str url) {
    bool is_https = begins_with(url, "https://");
    ki_str rest = without(url, is_https ? 8 : begins_with(url, "http://") ? 7 : 0);
    const char *slash = rest.size ? memchr(rest.data, '/', rest.size) : NULL;
    size_t size = slash ? (size_t)(slash - rest.data) : rest.size;
    ki_server_parts parts = { .is_https = is_https, .port = is_https ? HTTPS_PORT : HTTP_PORT };
    parts.path = without(rest, size);
    parts.host = split_port((ki_str){ rest.data, size }, &parts.port);
    return parts;
}

/* --- NO_PROXY ----------------------------------------------------------------------------------------------------- */

/* Parses an address into the form of IPv6. An IPv4 address becomes ::ffff:a.b.c.d. */
static bool to_address(ki_str text, unsigned char bytes[16], bool *ret_is_v4) {
    char copy[ADDRESS_LIMIT];
    unsigned char v4[4];
    if (text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *ret_is_v4 = inet_pton(AF_INET, copy, v4) == 1;
    if (!*ret_is_v4)
        return inet_pton(AF_INET6, copy, bytes) == 1;
    static const unsigned char prefix[12] = { [10] = 0xff, [11] = 0xff };
    memcpy(bytes, prefix, sizeof prefix);
    memcpy(bytes + sizeof prefix, v4, sizeof v4);
    return true;
}

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits) {
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

static bool is_in_block(ki_str entry, const unsigned char host[16]) {
    unsigned char block[16];
    bool is_v4;
    uint64_t bits;
    ki_str length;
    ki_str address = ki_str_split(entry, '/', &length);
    if (!length.data || !to_address(address, block, &is_v4) || !ki_str_to_uint64(length, is_v4 ? 32 : 128, &bits))
        return false;
    return same_bits(block, host, (unsigned)bits + (is_v4 ? 96 : 0));
}

static bool is_address_match(ki_str entry, const unsigned char host[16], int port) {
    unsigned char other[16];
    bool is_v4;
    int wanted = 0;
    if (memchr(entry.data, '/', entry.size))
        return is_in_block(entry, host);
    entry = without_brackets(split_port(entry, &wanted));
    return to_address(entry, other, &is_v4) && memcmp(other, host, sizeof other) == 0 && (!wanted || wanted == port);
}

static bool is_name_match(ki_str entry, ki_str host, int port) {
    int wanted = 0;
    entry = split_port(entry, &wanted);
    if (wanted && wanted != port)
        return false;
    if (begins_with(entry, "*."))
        entry = without(entry, 1);
    bool below_only = entry.size && entry.data[0] == '.';
    if (below_only)
        entry = without(entry, 1);
    if (entry.size == 0 || host.size < entry.size)
        return false;
    if (strncasecmp(host.data + host.size - entry.size, entry.data, entry.size) != 0)
        return false;
    return host.size == entry.size ? !below_only : host.data[host.size - entry.size - 1] == '.';
}

static bool is_this_machine(ki_str host, const unsigned char *address, bool is_v4) {
    static const unsigned char v6_loopback[16] = { [15] = 1 };
    if (address)
        return is_v4 ? address[12] == 127 : memcmp(address, v6_loopback, 16) == 0;
    return host.size == 9 && strncasecmp(host.data, "localhost", 9) == 0;
}

static ki_str trim(ki_str text) {
    while (text.size && (*text.data == ' ' || *text.data == '\t'))
        text = without(text, 1);
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

bool ki_proxy_is_bypassed(const char *no_proxy, ki_str host, int port) {
    unsigned char address[16];
    bool is_v4 = false;
    if (host.size && host.data[host.size - 1] == '.')
        host.size--;
    bool is_address = to_address(host, address, &is_v4);
    if (is_this_machine(host, is_address ? address : NULL, is_v4))
        return true;
    ki_str rest = ki_str_of(no_proxy ? no_proxy : "");
    while (rest.data) {
        ki_str entry = trim(ki_str_split(rest, ',', &rest));
        if (entry.size == 0)
            continue;
        if (ki_str_equals(entry, "*") ||
            (is_address ? is_address_match(entry, address, port) : is_name_match(entry, host, port)))
            return true;
    }
    return false;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

static const char *first_set(const char *upper, const char *lower) {
    const char *value = getenv(upper);
    return value && value[0] ? value : getenv(lower);
}

ki_proxy_environment ki_proxy_environment_of_process(void) {
    const char *method = getenv("REQUEST_METHOD");
    return (ki_proxy_environment){ .https_proxy = first_set("HTTPS_PROXY", "https_proxy"),
                                   .http_proxy = first_set("HTTP_PROXY", "http_proxy"),
                                   .no_proxy = first_set("NO_PROXY", "no_proxy"),
                                   .is_cgi = method && method[0] };
}

/* Appends a user and password. What is neither unreserved (RFC 3986 §2.3), an escape, nor the first colon is escaped:
 * versions of libcurl differ in how they read it. */
static void append_user(ki_buffer *out, ki_str user) {
    ki_str password;
    ki_str name = ki_str_split(user, ':', &password);
    for (ki_str part = name;; part = password) {
        for (size_t i = 0; i < part.size; i++)
            if (part.data[i] == '%')
                ki_buffer_append_char(out, '%');
            else
                ki_buffer_append_url(out, (ki_str){ part.data + i, 1 });
        if (!password.data || part.data == password.data)
            return;
        ki_buffer_append_char(out, ':');
    }
}

/* Writes the URL for libcurl: with the port, since libcurl's default is another than Go's, and with socks5h. Such a
 * proxy resolves host names itself, because it can know names that this machine does not. `host`: the offset of the
 * host in `url`. */
static ki_status put_url(const ki_allocator *allocator, ki_str url, size_t host, ki_secret *ret_url, ki_error *err) {
    bool is_socks = begins_with(url, "socks5://"), is_https = begins_with(url, "https://");
    const char *scheme = is_socks ? "socks5h://" : is_https ? "https://" : "http://";
    size_t user = strlen(scheme) - (is_socks ? 1 : 0);
    int port = is_socks ? SOCKS_PORT : is_https ? HTTPS_PORT : HTTP_PORT;
    ki_str name = split_port(without(url, host), &port);
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    text.is_secret = true;
    ki_buffer_append_string(&text, scheme);
    if (host > user) {
        append_user(&text, (ki_str){ url.data + user, host - 1 - user });
        ki_buffer_append_char(&text, '@');
    }
    ki_buffer_printf(&text, "%.*s:%d", (int)name.size, name.data, port);
    return ki_secret_take(ret_url, &text, "", err);
}

/* Converts a proxy URL for libcurl. `is_loose`: the environment allows "proxy:8080" and socks5h. */
static ki_status take_url(const ki_allocator *allocator, const char *field, ki_str url, bool is_loose,
                          ki_secret *ret_url, ki_error *err) {
    bool has_scheme = !is_loose || memmem(url.data, url.size, "://", 3);
    bool is_socks5h = is_loose && begins_with(url, "socks5h://");
    size_t host = 0;
    ki_secret copy = { NULL, 0 };
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    text.is_secret = true;
    ki_buffer_append_string(&text, is_socks5h ? "socks5://" : has_scheme ? "" : "http://");
    ki_buffer_append_view(&text, is_socks5h ? without(url, strlen("socks5h://")) : url);
    if (ki_secret_take(&copy, &text, "", err))
        return KI_ERR_NO_MEMORY;
    ki_status status = ki_config_check_proxy(&copy, field, &host, err);
    if (!status)
        status = put_url(allocator, (ki_str){ copy.data, copy.size }, host, ret_url, err);
    ki_secret_clear(allocator, &copy);
    return status;
}

ki_status ki_proxy_choose(const ki_allocator *allocator, const ki_config *config,
                          const ki_proxy_environment *environment, ki_secret *ret_url, ki_error *err) {
    if (config->proxy_url.size)
        return take_url(allocator, "proxy-url", (ki_str){ config->proxy_url.data, config->proxy_url.size }, false,
                        ret_url, err);
    ki_server_parts server = ki_server_parts_of((ki_str){ config->server.data, config->server.size });
    const char *url = server.is_https ? environment->https_proxy : environment->http_proxy;
    if (!url || !url[0] || ki_proxy_is_bypassed(environment->no_proxy, without_brackets(server.host), server.port))
        return ki_secret_set(allocator, ret_url, KI_STR(""), err);
    if (!server.is_https && environment->is_cgi)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "HTTP_PROXY is not allowed while REQUEST_METHOD is set: unset one of them");
    return take_url(allocator, server.is_https ? "HTTPS_PROXY" : "HTTP_PROXY", ki_str_of(url), true, ret_url, err);
}
