/* curl_setup.c: what an easy handle is told before it runs: URL, headers, credentials, TLS, limits. */
#include "src/transport/curl_internal.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

/* --- identity --------------------------------------------------------------------------------------------------------------- */

static ki_status copy(ki_curl_identity *identity, ki_secret *to, const ki_secret *from, ki_error *err) {
    return from->data ? ki_secret_set(identity->allocator, to, (ki_str){ from->data, from->size }, err) : KI_OK;
}

static ki_status make_authorization(ki_curl_identity *identity, const ki_config *config, ki_error *err) {
    if (!config->token.data)
        return KI_OK;
    /* The config was checked when it was made; this is the last gate before the wire. */
    if (!ki_config_is_https(config))
        return ki_error_set(err, KI_ERR_CONFIG, "a token is not sent to a server that is not https");
    static const char prefix[] = "Authorization: Bearer ";
    size_t size = sizeof prefix - 1 + config->token.size;
    char *line = ki_alloc(identity->allocator, size + 1);
    if (!line)
        return ki_error_no_memory(err, "making a transport");
    memcpy(line, prefix, sizeof prefix - 1);
    memcpy(line + sizeof prefix - 1, config->token.data, config->token.size + 1);
    identity->authorization = (ki_secret){ line, size };
    return KI_OK;
}

ki_status ki_curl_identity_init(ki_curl_identity *identity, const ki_allocator *allocator, const ki_config *config,
                                ki_error *err) {
    *identity =
        (ki_curl_identity){ .allocator = allocator, .insecure_skip_tls_verify = config->insecure_skip_tls_verify };
    ki_status status = copy(identity, &identity->server, &config->server, err);
    if (!status)
        status = copy(identity, &identity->user_agent, &config->user_agent, err);
    if (!status)
        status = copy(identity, &identity->ca, &config->ca, err);
    if (!status)
        status = copy(identity, &identity->client_certificate, &config->client_certificate, err);
    if (!status)
        status = copy(identity, &identity->client_key, &config->client_key, err);
    if (!status)
        status = make_authorization(identity, config, err);
    if (status)
        ki_curl_identity_clear(identity);
    return status;
}

void ki_curl_identity_clear(ki_curl_identity *identity) {
    const ki_allocator *allocator = identity->allocator;
    ki_secret_clear(allocator, &identity->server);
    ki_secret_clear(allocator, &identity->user_agent);
    ki_secret_clear(allocator, &identity->authorization);
    ki_secret_clear(allocator, &identity->ca);
    ki_secret_clear(allocator, &identity->client_certificate);
    ki_secret_clear(allocator, &identity->client_key);
}

/* --- one handle ------------------------------------------------------------------------------------------------------------- */

/* The first failure of a sequence of options; what an old libcurl does not know is a failure like any other. */
#define SET(option, value) \
    do { \
        if (!failed) \
            failed = curl_easy_setopt(easy, (option), (value)); \
    } while (0)

/* libcurl sets idle and interval by options, but not the count and not the limit of unacknowledged data. */
static int on_socket(void *user, curl_socket_t fd, curlsocktype purpose) {
    (void)user;
    (void)purpose;
    const int on = 1, idle = KI_CURL_KEEPALIVE_IDLE_S, interval = KI_CURL_KEEPALIVE_INTERVAL_S;
    const int count = KI_CURL_KEEPALIVE_COUNT;
    const unsigned unacknowledged_ms = 1000U * (KI_CURL_KEEPALIVE_IDLE_S + KI_CURL_KEEPALIVE_INTERVAL_S * 3U);
    /* A socket without these (a proxy over a Unix socket) is still good. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    return CURL_SOCKOPT_OK;
}

static CURLcode set_basics(CURL *easy) {
    CURLcode failed = CURLE_OK;
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L); /* API servers do not redirect; credentials go to the server that was named only */
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's answer is not the server's */
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)KI_CURL_CONNECT_TIMEOUT_MS);
    SET(CURLOPT_BUFFERSIZE, (long)KI_CURL_BUFFER_SIZE);
    SET(CURLOPT_SOCKOPTFUNCTION, on_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_QUICK_EXIT, 1L); /* cancelling must not wait for a name server */
#endif
    return failed;
}

static struct curl_blob blob_of(const ki_secret *pem) {
    return (struct curl_blob){ .data = pem->data, .len = pem->size, .flags = CURL_BLOB_NOCOPY };
}

static CURLcode set_tls(CURL *easy, const ki_curl_identity *identity) {
    CURLcode failed = CURLE_OK;
    /* Another stream rather than another connection. Without TLS there is no HTTP/2, and libcurl 7.88 would let the second
     * request wait until the first, perhaps a watch, has ended. */
    const bool is_https = identity->server.size >= 6 && strncasecmp(identity->server.data, "https:", 6) == 0;
    SET(CURLOPT_PIPEWAIT, is_https ? 1L : 0L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or later */
    SET(CURLOPT_SSL_VERIFYPEER, identity->insecure_skip_tls_verify ? 0L : 1L);
    SET(CURLOPT_SSL_VERIFYHOST, identity->insecure_skip_tls_verify ? 0L : 2L);
    if (identity->ca.data) {
        struct curl_blob ca = blob_of(&identity->ca);
        SET(CURLOPT_CAINFO_BLOB, &ca);
        SET(CURLOPT_CAPATH, NULL); /* this authority alone, not the system's beside it */
    }
    if (identity->client_certificate.data) {
        struct curl_blob certificate = blob_of(&identity->client_certificate), key = blob_of(&identity->client_key);
        SET(CURLOPT_SSLCERT_BLOB, &certificate);
        SET(CURLOPT_SSLKEY_BLOB, &key);
    }
    return failed;
}

static CURLcode set_url(CURL *easy, const ki_curl_identity *identity, const ki_request *request) {
    ki_buffer url;
    ki_buffer_init(&url, identity->allocator, KI_CURL_URL_LIMIT);
    ki_buffer_append(&url, identity->server.data, identity->server.size);
    ki_buffer_append_string(&url, request->target);
    CURLcode failed = url.failed ? CURLE_OUT_OF_MEMORY : curl_easy_setopt(easy, CURLOPT_URL, url.data);
    if (url.failed == KI_ERR_LIMIT)
        failed = CURLE_URL_MALFORMAT;
    ki_buffer_free(&url);
    return failed;
}

/* What the server must be told the length of, be it 0. */
static bool has_body(const ki_request *request) {
    static const char *const methods[] = { "POST", "PUT", "PATCH" };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(request->method, methods[i]) == 0)
            return true;
    }
    return request->body.size > 0;
}

static CURLcode set_method(CURL *easy, const ki_request *request) {
    CURLcode failed = CURLE_OK;
    if (has_body(request)) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        SET(CURLOPT_COPYPOSTFIELDS, request->body.size ? request->body.data : "");
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
        return failed;
    }
    if (has_body(request) || strcmp(request->method, "GET") != 0)
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    return failed;
}

static ki_status add_header(ki_buffer *line, struct curl_slist **headers, const char *name, const char *value) {
    ki_buffer_reset(line, line->capacity);
    for (const char *at = value; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return KI_ERR_INVALID; /* it would become another header */
    }
    ki_buffer_printf(line, "%s: %s", name, value);
    struct curl_slist *longer = line->failed ? NULL : curl_slist_append(*headers, line->data);
    if (!longer)
        return KI_ERR_NO_MEMORY;
    *headers = longer;
    return KI_OK;
}

static ki_status make_headers(const ki_curl_identity *identity, const ki_request *request,
                              struct curl_slist **headers) {
    ki_buffer line;
    ki_buffer_init(&line, identity->allocator, 0);
    ki_status status = add_header(&line, headers, "Accept", request->accept ? request->accept : "application/json");
    if (!status && request->content_type)
        status = add_header(&line, headers, "Content-Type", request->content_type);
    ki_buffer_free(&line);
    if (!status && has_body(request) && !request->content_type) {
        struct curl_slist *longer = curl_slist_append(*headers, "Content-Type:"); /* not libcurl's idea of it */
        status = longer ? KI_OK : KI_ERR_NO_MEMORY;
        *headers = longer ? longer : *headers;
    }
    if (!status && has_body(request)) {
        struct curl_slist *longer = curl_slist_append(*headers, "Expect:"); /* send the body at once */
        status = longer ? KI_OK : KI_ERR_NO_MEMORY;
        *headers = longer ? longer : *headers;
    }
    if (!status && identity->authorization.data) {
        struct curl_slist *longer = curl_slist_append(*headers, identity->authorization.data);
        status = longer ? KI_OK : KI_ERR_NO_MEMORY;
        *headers = longer ? longer : *headers;
    }
    return status;
}

void ki_curl_free_headers(struct curl_slist *headers) {
    for (struct curl_slist *line = headers; line; line = line->next)
        ki_wipe(line->data, strlen(line->data)); /* one of them holds the token */
    curl_slist_free_all(headers);
}

ki_status ki_curl_setup(CURL *easy, const ki_curl_identity *identity, const ki_request *request,
                        struct curl_slist **ret_headers, ki_error *err) {
    CURLcode failed = set_basics(easy);
    if (!failed)
        failed = set_tls(easy, identity);
    if (!failed)
        failed = set_url(easy, identity, request);
    if (!failed)
        failed = set_method(easy, request);
    SET(CURLOPT_USERAGENT, identity->user_agent.data);
    if (failed == CURLE_OUT_OF_MEMORY)
        return ki_error_no_memory(err, "sending a request");
    if (failed == CURLE_URL_MALFORMAT)
        return ki_error_set(err, KI_ERR_LIMIT, "the request's URL is longer than %d bytes", KI_CURL_URL_LIMIT);
    if (failed)
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "this libcurl (%s) lacks something: %s", curl_version(),
                            curl_easy_strerror(failed));
    struct curl_slist *headers = NULL;
    ki_status status = make_headers(identity, request, &headers);
    SET(CURLOPT_HTTPHEADER, headers);
    if (status || failed) {
        ki_curl_free_headers(headers);
        if (status == KI_ERR_INVALID)
            return ki_error_set(err, status, "a header of the request holds a control character");
        return ki_error_no_memory(err, "sending a request");
    }
    *ret_headers = headers;
    return KI_OK;
}
