/* listen.c: see listen.h. */
#include "status/http/listen.h"

#include "src/base/error.h"
#include "src/base/string_view.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 4096 /* many clients can connect at once */
};

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

/* Splits "PORT", ":PORT", "ADDRESS:PORT", "ADDRESS" and "[IPv6]:PORT"; what is missing has data NULL. Returns false for
 * text after a bracket. */
static bool split(ki_str text, ki_str *ret_name, ki_str *ret_port) {
    uint64_t number;
    *ret_port = (ki_str){ NULL, 0 };
    if (text.size && text.data[0] == '[') {
        *ret_name = ki_str_split((ki_str){ text.data + 1, text.size - 1 }, ']', ret_port);
        if (!ret_name->size || !ret_port->data || (ret_port->size && ret_port->data[0] != ':'))
            return false;
        *ret_port = ret_port->size ? (ki_str){ ret_port->data + 1, ret_port->size - 1 } : (ki_str){ NULL, 0 };
    } else if (ki_str_to_uint64(text, UINT64_MAX, &number)) {
        *ret_name = (ki_str){ NULL, 0 };
        *ret_port = text;
    } else if (memchr(text.data, ':', text.size) == strrchr(text.data, ':')) { /* no IPv6 address without brackets */
        *ret_name = ki_str_split(text, ':', ret_port);
    } else {
        *ret_name = text;
    }
    return true;
}

/* Parses an address. `default_port` NULL: a port is needed. Returns false if `text` is none. */
static bool parse(const char *text, const char *default_port, address *ret_address, socklen_t *ret_size) {
    char host[INET6_ADDRSTRLEN + 1] = "127.0.0.1";
    ki_str name, port;
    uint64_t number = 0;
    if (!split(ki_str_of(text), &name, &port))
        return false;
    if (default_port && !port.size)
        port = ki_str_of(default_port);
    if (!ki_str_to_uint64(port, 65535, &number) || name.size >= sizeof host)
        return false;
    if (name.size) {
        memcpy(host, name.data, name.size);
        host[name.size] = '\0';
    }
    if (strcmp(host, "localhost") == 0)
        strcpy(host, "127.0.0.1");

    memset(ret_address, 0, sizeof *ret_address);
    if (inet_pton(AF_INET, host, &ret_address->v4.sin_addr) == 1) {
        ret_address->v4.sin_family = AF_INET;
        ret_address->v4.sin_port = htons((uint16_t)number);
        *ret_size = sizeof ret_address->v4;
        return true;
    }
    if (inet_pton(AF_INET6, host, &ret_address->v6.sin6_addr) == 1) {
        ret_address->v6.sin6_family = AF_INET6;
        ret_address->v6.sin6_port = htons((uint16_t)number);
        *ret_size = sizeof ret_address->v6;
        return true;
    }
    return false;
}

/* Writes "ADDRESS:PORT" or "[IPv6]:PORT" after the scheme and the separator. */
static void write_address(const address *from, const char *scheme, const char *separator, char text[KI_URL_MAX]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (from->any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &from->v4.sin_addr, host, sizeof host);
        snprintf(text, KI_URL_MAX, "%s%s%s:%d", scheme, separator, host, ntohs(from->v4.sin_port));
    } else {
        inet_ntop(AF_INET6, &from->v6.sin6_addr, host, sizeof host);
        snprintf(text, KI_URL_MAX, "%s%s[%s]:%d", scheme, separator, host, ntohs(from->v6.sin6_port));
    }
}

/* Writes the URL. The URL of a wildcard address has the loopback address. */
static void write_url(const address *bound, const char *scheme, char url[KI_URL_MAX]) {
    address shown = *bound;
    if (shown.any.sa_family == AF_INET && shown.v4.sin_addr.s_addr == htonl(INADDR_ANY))
        shown.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (shown.any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&shown.v6.sin6_addr))
        shown.v6.sin6_addr = in6addr_loopback;
    write_address(&shown, scheme, "://", url);
}

ki_status ki_http_listen(const char *listen_on, const char *default_port, const char *scheme, int *ret_socket,
                         char url[KI_URL_MAX], ki_error *err) {
    address wanted = { 0 };
    address bound = { 0 };
    socklen_t size = 0;
    const int on = 1;

    if (!parse(listen_on, default_port, &wanted, &size))
        return ki_error_set(
            err, KI_ERR_INVALID,
            "cannot listen on \"%.200s\": write a port, or an address with a port: 8080, 127.0.0.1:8080, "
            "[::1]:8080",
            listen_on);
    write_address(&wanted, "", "", url); /* for messages: the address that is tried */
    int fd = socket(wanted.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot make a socket for %s", url);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* a restart can use the port at once */
    if (bind(fd, &wanted.any, size) || listen(fd, BACKLOG)) {
        ki_status status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot listen on %s", url);
        close(fd);
        return status;
    }
    size = sizeof bound;
    if (getsockname(fd, &bound.any, &size)) {
        ki_status status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot find out the port of %s", url);
        close(fd);
        return status;
    }
    write_url(&bound, scheme, url);
    *ret_socket = fd;
    return KI_OK;
}
