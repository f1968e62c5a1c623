/* h2_refuser.c: see h2_refuser.h. */
#include "tests/support/h2_refuser.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PREFACE_SIZE = 24,
    HEAD_SIZE = 9,
    TYPE_DATA = 0,
    TYPE_HEADERS = 1,
    TYPE_RST_STREAM = 3,
    TYPE_SETTINGS = 4,
    FLAG_END_STREAM = 1
};

static gnutls_certificate_credentials_t credentials;

static void must(bool holds) {
    if (!holds)
        abort();
}

static bool read_all(gnutls_session_t session, unsigned char *data, size_t size) {
    while (size > 0) {
        ssize_t count = gnutls_record_recv(session, data, size);
        if (count == GNUTLS_E_INTERRUPTED || count == GNUTLS_E_AGAIN)
            continue;
        if (count <= 0)
            return false;
        data += count;
        size -= (size_t)count;
    }
    return true;
}

static void send_frame(gnutls_session_t session, unsigned char type, const unsigned char stream[4],
                       const unsigned char *payload, unsigned char size) {
    unsigned char frame[HEAD_SIZE + 4] = { 0, 0, size, type };
    memcpy(frame + 5, stream, 4);
    if (size)
        memcpy(frame + HEAD_SIZE, payload, size);
    (void)gnutls_record_send(session, frame, HEAD_SIZE + (size_t)size); /* the next read notices a closed connection */
}

static void reset_all(h2_refuser *server, gnutls_session_t session) {
    static const unsigned char none[4] = { 0 };
    const unsigned char code[4] = { 0, 0, 0, server->code };
    unsigned char head[HEAD_SIZE], payload[1 << 14];
    if (!read_all(session, payload, PREFACE_SIZE))
        return;
    send_frame(session, TYPE_SETTINGS, none, none, 0);
    while (read_all(session, head, sizeof head)) {
        size_t size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        if (size > sizeof payload || !read_all(session, payload, size))
            return;
        server->requests += head[3] == TYPE_HEADERS;
        bool is_end = (head[3] == TYPE_HEADERS || head[3] == TYPE_DATA) && (head[4] & FLAG_END_STREAM);
        if (server->reads_all ? is_end : head[3] == TYPE_HEADERS)
            send_frame(session, TYPE_RST_STREAM, head + 5, code, sizeof code);
    }
}

static void *serve(void *user) {
    h2_refuser *server = user;
    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        gnutls_session_t session;
        const gnutls_datum_t h2 = { (unsigned char *)(uintptr_t) "h2", 2 };
        must(gnutls_init(&session, GNUTLS_SERVER) == 0 && gnutls_set_default_priority(session) == 0);
        must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials) == 0);
        must(gnutls_alpn_set_protocols(session, &h2, 1, 0) == 0);
        gnutls_transport_set_int(session, fd);
        int status;
        do
            status = gnutls_handshake(session);
        while (status < 0 && !gnutls_error_is_fatal(status));
        if (status == 0) {
            server->connections++;
            reset_all(server, session);
        }
        gnutls_deinit(session);
        close(fd);
    }
}

void h2_refuser_start(h2_refuser *server, unsigned char code, bool reads_all, const char *certificate,
                      const char *key) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    *server =
        (h2_refuser){ .code = code, .reads_all = reads_all, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    must(gnutls_certificate_allocate_credentials(&credentials) == 0);
    must(gnutls_certificate_set_x509_key_file(credentials, certificate, key, GNUTLS_X509_FMT_PEM) == 0);
    must(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, size) == 0 && listen(server->fd, 8) == 0);
    must(getsockname(server->fd, (struct sockaddr *)&address, &size) == 0);
    server->port = ntohs(address.sin_port);
    must(pthread_create(&server->thread, NULL, serve, server) == 0);
}

void h2_refuser_stop(h2_refuser *server) {
    shutdown(server->fd, SHUT_RDWR); /* ends accept */
    pthread_join(server->thread, NULL);
    close(server->fd);
    gnutls_certificate_free_credentials(credentials);
}
