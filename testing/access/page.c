/* page.c: see page.h. */
#include "testing/access/page.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* Copies the host of "HOST", "HOST:PORT" and "[IPv6]:PORT", without brackets. Returns false if there is none. */
static bool copy_host(const char *authority, char ret_host[INET6_ADDRSTRLEN]) {
    bool has_bracket = authority[0] == '[';
    size_t size = strcspn(authority + has_bracket, has_bracket ? "]" : ":");
    const char *after = authority + has_bracket + size;
    if (has_bracket && *after++ != ']')
        return false;
    if (!size || size >= INET6_ADDRSTRLEN || (*after && *after != ':'))
        return false;
    memcpy(ret_host, authority + has_bracket, size);
    ret_host[size] = '\0';
    return true;
}

/* Returns true for "localhost" and addresses. `only_loopback`: no other addresses. */
static bool is_local(const char *authority, bool only_loopback) {
    char host[INET6_ADDRSTRLEN];
    struct in_addr v4;
    struct in6_addr v6;
    if (!copy_host(authority, host))
        return false;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return !only_loopback || ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return !only_loopback || IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

bool kt_is_of_foreign_page(const char *host, const char *origin) {
    if (host && !is_local(host, false))
        return true;
    if (!origin)
        return false;
    const char *scheme = strstr(origin, "://"); /* none in "null" */
    return !scheme || (!is_local(scheme + 3, true) && (!host || strcasecmp(scheme + 3, host) != 0));
}
