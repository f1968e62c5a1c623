/* proxy.h: chooses the proxy for a server: the config's, or the environment's by Go's rules. Any thread. */
#ifndef KI_TRANSPORT_PROXY_H
#define KI_TRANSPORT_PROXY_H

#include "src/auth/config.h"

/* The environment's variables; NULL: not set. */
typedef struct ki_proxy_environment {
    const char *https_proxy, *http_proxy, *no_proxy;
    bool is_cgi; /* REQUEST_METHOD is set: HTTP_PROXY can come from a request's header (CVE-2016-5385) */
} ki_proxy_environment;

/* Reads the process's environment; upper case before lower case, as in Go. Strings are borrowed from the
 * environment. */
ki_proxy_environment ki_proxy_environment_of_process(void);

/* Returns true if `host` (a name, or an address without brackets) needs no proxy. localhost and loopback addresses need
 * none. `no_proxy` has entries separated by commas: "*", a name (the domain and its subdomains), ".name" (subdomains
 * only), an address, or a block such as 10.0.0.0/8. All but blocks can have a :port. */
bool ki_proxy_is_bypassed(const char *no_proxy, ki_str host, int port);

/* The parts of a server's URL. */
typedef struct ki_server_parts {
    bool is_https;
    ki_str host; /* as in the URL: an IPv6 address has brackets */
    int port;
    ki_str path; /* "" or "/…" */
} ki_server_parts;
ki_server_parts ki_server_parts_of(ki_str url);

/* Chooses the proxy's URL for libcurl, with its port; "" for none. Errors: KI_ERR_CONFIG (of ki_config_check_proxy),
 * KI_ERR_NO_MEMORY. */
ki_status ki_proxy_choose(const ki_allocator *allocator, const ki_config *config,
                          const ki_proxy_environment *environment, ki_secret *ret_url, ki_error *err);

#endif
