/* probe.c: see probe.h; uses libcurl's easy interface, which blocks. A checkup may block, an informer may not. */
#include "probe.h"

#include "src/base/error.h"
#include "src/transport/curl_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BODY_READ_MAX = 64 * 1024
};

/* --- certificates ------------------------------------------------------------------------------------------------- */

static int month_of(const char *name) {
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++) {
        if (strncmp(names + i * 3, name, 3) == 0)
            return i;
    }
    return -1;
}

/* Parses "Nov 21 22:33:10 2027 GMT", as OpenSSL writes times in every locale. Returns 0 for other text. */
static int64_t read_time(const char *text) {
    char month[4] = "";
    struct tm parts = { 0 };
    if (sscanf(text, "%3s %d %d:%d:%d %d", month, &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec,
               &parts.tm_year) != 6)
        return 0;
    parts.tm_mon = month_of(month);
    parts.tm_year -= 1900;
    return parts.tm_mon < 0 ? 0 : (int64_t)timegm(&parts);
}

/* Copies a text of a certificate without control characters, which must not reach a terminal. */
static void copy_text(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from);
    for (char *at = to; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
}

static const char *value_of(const struct curl_slist *line, const char *name) {
    size_t size = strlen(name);
    return strncmp(line->data, name, size) == 0 && line->data[size] == ':' ? line->data + size + 1 : NULL;
}

static void read_certificate(const struct curl_slist *line, ki_probe_certificate *ret) {
    for (; line; line = line->next) {
        const char *value;
        if ((value = value_of(line, "Subject")))
            copy_text(ret->subject, sizeof ret->subject, value);
        else if ((value = value_of(line, "Issuer")))
            copy_text(ret->issuer, sizeof ret->issuer, value);
        else if ((value = value_of(line, "X509v3 Subject Alternative Name")))
            copy_text(ret->names, sizeof ret->names, value);
        else if ((value = value_of(line, "Start date")))
            ret->begins_s = read_time(value);
        else if ((value = value_of(line, "Expire date")))
            ret->ends_s = read_time(value);
    }
}

static void read_chain(CURL *easy, ki_probe *probe) {
    struct curl_certinfo *chain = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &chain) || !chain || chain->num_of_certs <= 0)
        return;
    probe->chain = (size_t)chain->num_of_certs;
    probe->now_s = (int64_t)time(NULL);
    read_certificate(chain->certinfo[0], &probe->certificate);
}

/* --- one connection ----------------------------------------------------------------------------------------------- */

/* Discards the body. Ends after BODY_READ_MAX bytes: only the existence of a response matters. */
static size_t discard_body(char *data, size_t size, size_t count, void *user) {
    (void)data;
    size_t *taken = user;
    *taken += size * count;
    return *taken <= BODY_READ_MAX ? size * count : 0;
}

typedef struct sockets {
    int failure;                  /* errno of a failed socket(); libcurl's result only reports an unreachable server */
    bool is_connected;            /* a closed socket was connected; libcurl records the time only after TLS */
    struct sockaddr_storage peer; /* address of that peer; libcurl 8 reports it only after TLS */
} sockets;

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)purpose;
    sockets *all = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    all->failure = fd < 0 ? errno : 0;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int close_socket(void *user, curl_socket_t fd) {
    sockets *all = user;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0) {
        all->is_connected = true;
        all->peer = peer;
    }
    return close(fd);
}

static int64_t time_of(CURL *easy, CURLINFO which) {
    curl_off_t us = 0;
    curl_easy_getinfo(easy, which, &us);
    return (int64_t)us;
}

/* Computes the duration of each step. libcurl's times count from the beginning; a step that was not reached has 0. */
static void read_times(CURL *easy, ki_probe *probe) {
    static const CURLINFO infos[KI_PROBE_DONE] = { CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T,
                                                   CURLINFO_APPCONNECT_TIME_T, CURLINFO_STARTTRANSFER_TIME_T };
    int64_t before = 0;
    for (int step = 0; step < KI_PROBE_DONE; step++) {
        int64_t until = time_of(easy, infos[step]);
        bool is_reached = until > 0 && !(step == KI_PROBE_HTTP && !probe->http_status);
        probe->duration_us[step] = is_reached ? until - before : -1;
        if (is_reached)
            before = until;
    }
}

/* Sets the duration of the failed step, for which libcurl records no time: what the steps before it did not take. */
static void read_time_of_failed(CURL *easy, ki_probe *probe) {
    int64_t left = time_of(easy, CURLINFO_TOTAL_TIME_T);
    if (probe->failed == KI_PROBE_DONE || probe->duration_us[probe->failed] >= 0)
        return;
    for (int step = 0; step < KI_PROBE_DONE; step++)
        left -= probe->duration_us[step] > 0 ? probe->duration_us[step] : 0;
    probe->duration_us[probe->failed] = left > 0 ? left : 0;
}

/* Returns the failed step. libcurl records some times only after the next step, so its result code has precedence. */
static ki_probe_step first_failed(const ki_probe *probe, CURLcode code) {
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY)
        return KI_PROBE_NAME;
    if (code == CURLE_COULDNT_CONNECT)
        return KI_PROBE_TCP;
    if (probe->error.code == KI_ERR_TLS || code == CURLE_SSL_CONNECT_ERROR)
        return KI_PROBE_TLS;
    for (int step = KI_PROBE_NAME; step < KI_PROBE_DONE; step++) {
        if (probe->duration_us[step] < 0 && (step != KI_PROBE_TLS || probe->is_https))
            return (ki_probe_step)step;
    }
    return KI_PROBE_HTTP; /* the response began but did not end */
}

static void read_closed_peer(const sockets *all, ki_probe *probe) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&all->peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&all->peer;
    if (all->peer.ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, probe->address, sizeof probe->address))
        probe->port = ntohs(v4->sin_port);
    if (all->peer.ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6->sin6_addr, probe->address, sizeof probe->address))
        probe->port = ntohs(v6->sin6_port);
}

static void read_peer(CURL *easy, const sockets *all, ki_probe *probe) {
    long port = 0;
    char *address = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
    copy_text(probe->address, sizeof probe->address, address ? address : "");
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
    probe->port = (int)port;
    if (!probe->address[0] && all->is_connected)
        read_closed_peer(all, probe);
}

/* Sets the error of a timeout. Only libcurl's recorded times show which step took too long. */
static void set_timeout_error(ki_probe *probe, const char *server, int64_t timeout_ms) {
    static const char *const lacks[] = { "no address", "no connection", "no TLS handshake", "no response" };
    bool has_begun = probe->failed == KI_PROBE_HTTP && probe->http_status;
    ki_error_set(&probe->error, probe->failed == KI_PROBE_HTTP ? KI_ERR_TIMEOUT : KI_ERR_CONNECT,
                 "%s: %s within %lld ms", server, has_begun ? "no complete response" : lacks[probe->failed],
                 (long long)timeout_ms);
}

static void read_result(CURL *easy, CURLcode code, const char *detail, const ki_curl_identity *identity,
                        int64_t timeout_ms, const sockets *all, ki_probe *probe) {
    long number = 0, version = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &number);
    probe->http_status = (int)number;
    read_peer(easy, all, probe);
    curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
    probe->http_version = version == CURL_HTTP_VERSION_1_0   ? 10
                          : version == CURL_HTTP_VERSION_1_1 ? 11
                          : version == CURL_HTTP_VERSION_3   ? 30
                                                             : 20;
    read_times(easy, probe);
    if (code == CURLE_WRITE_ERROR) /* caused by discard_body */
        code = CURLE_OK;
    if (code == CURLE_COULDNT_CONNECT && all->failure)
        ki_curl_no_socket(all->failure, identity->server, &probe->error);
    else if (code)
        ki_curl_error(easy, code, detail, identity->config, identity->proxy.data, &probe->error);
    probe->failed = code ? first_failed(probe, code) : KI_PROBE_DONE;
    if (code == CURLE_OPERATION_TIMEDOUT && probe->failed == KI_PROBE_TCP && all->is_connected && probe->is_https)
        probe->failed = KI_PROBE_TLS;
    if (code == CURLE_OPERATION_TIMEDOUT)
        set_timeout_error(probe, identity->server, timeout_ms);
    read_time_of_failed(easy, probe);
    read_chain(easy, probe);
}

/* Reads the chain of an untrusted server: a handshake without verification, over which nothing is sent. */
static void read_untrusted_chain(CURL *easy, const sockets *all, ki_probe *probe) {
    if (curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) || curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L) ||
        curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L) || curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L))
        return;
    if (curl_easy_perform(easy))
        return;
    read_peer(easy, all, probe);
    read_times(easy, probe);
    read_chain(easy, probe);
}

ki_status ki_probe_run(const ki_config *config, int64_t timeout_ms, ki_probe *ret_probe, ki_error *err) {
    ki_probe probe = { .is_https = ki_config_is_https(config), .error = KI_ERROR_INIT };
    ki_curl_identity identity;
    char detail[CURL_ERROR_SIZE] = "";
    size_t taken = 0;
    sockets all = { .failure = 0 };
    struct curl_slist *headers = NULL;
    const ki_request request = { .method = "GET", .target = "/version" };
    /* The config's certificates; borrowed. */
    const ki_credential_set set = { .allocator = &config->allocator,
                                    .refs = 1,
                                    .ca = config->ca,
                                    .client_certificate = config->client_certificate,
                                    .client_key = config->client_key };

    ki_status status = ki_curl_identity_init(&identity, &config->allocator, config, err);
    CURL *easy = status ? NULL : curl_easy_init();
    if (!status)
        status = easy ? ki_curl_setup(easy, &identity, &request, &headers, err)
                      : ki_error_no_memory(err, "checking the connection");
    if (!status)
        status = ki_curl_present(easy, &identity, &set, &headers, err);
    if (!status && curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L)) /* the only one that depends on the build */
        status = ki_error_set(err, KI_ERR_UNSUPPORTED, "this libcurl (%s) lacks the option CURLOPT_CERTINFO",
                              curl_version());
    if (!status) {
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard_body);
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, &taken);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &all);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, &all);
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
        CURLcode code = curl_easy_perform(easy);
        read_result(easy, code, detail, &identity, timeout_ms, &all, &probe);
        if (probe.failed == KI_PROBE_TLS && !probe.chain)
            read_untrusted_chain(easy, &all, &probe);
        *ret_probe = probe;
    }
    if (easy)
        curl_easy_cleanup(easy);
    ki_curl_free_headers(headers);
    ki_curl_identity_clear(&identity);
    return status;
}
