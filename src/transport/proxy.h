/* proxy.h: which proxy a server is reached by: the config's own, or the environment's with Go's rules. Any thread. */
#ifndef KI_TRANSPORT_PROXY_H
#define KI_TRANSPORT_PROXY_H

#include "src/auth/config.h"

/* What of the environment counts; NULL: not set. */
typedef struct ki_proxy_environment {
    const char *https_proxy, *http_proxy, *no_proxy;
    bool is_cgi; /* REQUEST_METHOD is set: then HTTP_PROXY may come from a request's header */
} ki_proxy_environment;

/* HTTPS_PROXY before https_proxy, as Go reads them. Borrowed from the process' environment. */
ki_proxy_environment ki_proxy_environment_of_process(void);

/* Is `host` (a name, or an address without brackets) with this port to be reached without a proxy? Names of this machine always are.
 * `no_proxy`: "*", names (of the domain and of all below it), ".names" (of all below it), addresses, blocks such as 10.0.0.0/8, each but the last
 * perhaps with a :port. */
bool ki_proxy_is_bypassed(const char *no_proxy, ki_str host, int port);

/* A server's URL, in parts. */
typedef struct ki_server_parts {
    bool is_https;
    ki_str host; /* as in the URL: an IPv6 address has its brackets */
    int port;
    ki_str path; /* "" or "/…" */
} ki_server_parts;
ki_server_parts ki_server_parts_of(ki_str url);

/* The proxy's URL for libcurl, "" for none. Errors: KI_ERR_CONFIG (a scheme that is none of http, https, socks5; the message
 * holds no part of the URL but the scheme), KI_ERR_NO_MEMORY. */
ki_status ki_proxy_choose(const ki_allocator *allocator, const ki_config *config,
                          const ki_proxy_environment *environment, ki_secret *ret_url, ki_error *err);

#endif
