/* metrics_page.c: see metrics_page.h. The session's poll loop drives libmicrohttpd. No connection waits for another;
 * silent connections are closed. */
#include "metrics_page.h"

#include "output.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS_MAX = 64,
    SILENCE_S = 10,
    CONNECTION_MEMORY = 16 * 1024 /* bytes for each connection; a request's headers must fit */
};

struct metrics_page {
    session_part part;
    session *session;
    struct MHD_Daemon *daemon;
    int fd;
    bool was_full;
};

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address;

static bool read_address(const char *text, address *ret_address) {
    char host[64] = "127.0.0.1";
    const char *colon = strrchr(text, ':');
    const char *port_text = colon ? colon + 1 : text;
    size_t size = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    long port = *port_text >= '0' && *port_text <= '9' ? strtol(port_text, &end, 10) : -1;
    address a;
    if (port < 0 || port > 65535 || *end || size >= sizeof host)
        return false;
    if (size)
        snprintf(host, sizeof host, "%.*s", (int)size, text);
    if (strcmp(host, "localhost") == 0)
        snprintf(host, sizeof host, "127.0.0.1");
    memset(&a, 0, sizeof a);
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        host[strlen(host) - 1] = '\0';
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons((uint16_t)port);
        if (inet_pton(AF_INET6, host + 1, &a.v6.sin6_addr) != 1)
            return false;
    } else {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, host, &a.v4.sin_addr) != 1)
            return false;
    }
    *ret_address = a;
    return true;
}

bool metrics_page_check(const char *text) {
    address a;
    return read_address(text, &a);
}

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *type, const char *text) {
    /* libmicrohttpd copies the text, because the caller frees it before it is sent. It does not change the original. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle_request(void *user, struct MHD_Connection *connection, const char *url,
                                      const char *method, const char *version, const char *upload, size_t *upload_size,
                                      void **request) {
    static int is_known;
    static const char plain[] = "text/plain; charset=utf-8";
    metrics_page *page = user;
    (void)version;
    (void)upload;
    if (!*request) { /* the first call has only the headers; a response now would close the connection */
        *request = &is_known;
        return MHD_YES;
    }
    if (*upload_size) {
        *upload_size = 0; /* the body is ignored */
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, plain, "GET /metrics\n");
    if (strcmp(url, "/metrics") != 0)
        return respond(connection, MHD_HTTP_NOT_FOUND, plain, "the metrics are at /metrics\n");
    char *text = NULL;
    if (!page->session->factory || ki_factory_metrics_text(page->session->factory, &text, NULL))
        return respond(connection, MHD_HTTP_SERVICE_UNAVAILABLE, plain, "no metrics now\n");
    enum MHD_Result result = respond(connection, MHD_HTTP_OK, KI_METRICS_CONTENT_TYPE, text);
    ki_metrics_text_free(text);
    return result;
}

static size_t prepare(session_part *part, struct pollfd *fds, size_t max, int *timeout_ms) {
    metrics_page *page = part->user;
    MHD_UNSIGNED_LONG_LONG due_ms = 0;
    if (MHD_get_timeout(page->daemon, &due_ms) == MHD_YES && (*timeout_ms < 0 || due_ms < (unsigned)*timeout_ms))
        *timeout_ms = (int)due_ms;
    /* At its limit libmicrohttpd does not listen. It listens again in the run after a connection ended, and no
     * descriptor becomes ready for that run. */
    const union MHD_DaemonInfo *now = MHD_get_daemon_info(page->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    bool is_full = now && now->num_connections >= CONNECTIONS_MAX;
    if (page->was_full && !is_full)
        *timeout_ms = 0;
    page->was_full = is_full;
    if (max < 1)
        return 0;
    fds[0] = (struct pollfd){ .fd = page->fd, .events = POLLIN };
    return 1;
}

static void run_connections(session_part *part, const struct pollfd *fds, size_t count) {
    metrics_page *page = part->user;
    (void)fds;
    (void)count;
    (void)MHD_run(page->daemon);
}

metrics_page *metrics_page_new(session *s, const char *text) {
    address a;
    metrics_page *page = calloc(1, sizeof *page);
    if (!page || !read_address(text, &a)) {
        free(page);
        return NULL;
    }
    page->session = s;
    page->part = (session_part){ .prepare = prepare, .run = run_connections, .user = page };
    unsigned flags = MHD_USE_EPOLL | (a.any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0U);
    errno = 0;
    page->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle_request, page, MHD_OPTION_SOCK_ADDR, &a.any,
                                    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S,
                                    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_END);
    const union MHD_DaemonInfo *epoll =
        page->daemon ? MHD_get_daemon_info(page->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    const union MHD_DaemonInfo *port =
        page->daemon ? MHD_get_daemon_info(page->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!epoll || !port) {
        say(s->command, "--metrics: cannot listen at %s: %s", text, errno ? strerror(errno) : "no such address");
        metrics_page_free(page);
        return NULL;
    }
    page->fd = epoll->epoll_fd;
    if (!s->options->quiet) {
        char host[INET6_ADDRSTRLEN] = "";
        bool is_v6 = a.any.sa_family == AF_INET6;
        inet_ntop(a.any.sa_family, is_v6 ? (const void *)&a.v6.sin6_addr : (const void *)&a.v4.sin_addr, host,
                  sizeof host);
        say(s->command, "metrics at http://%s%s%s:%u/metrics", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port->port);
    }
    return page;
}

session_part *metrics_page_part(metrics_page *page) {
    return &page->part;
}

void metrics_page_free(metrics_page *page) {
    if (!page)
        return;
    if (page->daemon)
        MHD_stop_daemon(page->daemon);
    free(page);
}
