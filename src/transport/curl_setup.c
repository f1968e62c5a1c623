/* curl_setup.c: the options of an easy handle: URL, headers, credentials, TLS, limits. */
#include "src/transport/curl_internal.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/transport/proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    HTTPS_PORT = 443
};

/* --- identity ----------------------------------------------------------------------------------------------------- */

/* Reads the server's URL and applies tls-server-name. libcurl uses the URL's host for SNI and for verification. So the
 * URL gets the name, and separate options set the address to connect to and the Host header. */
static ki_status read_server(ki_curl_identity *identity, ki_error *err) {
    const ki_config *config = identity->config;
    ki_str server = { config->server.data, config->server.size };
    ki_server_parts parts = ki_server_parts_of(server);
    const curl_version_info_data *loaded = curl_version_info(CURLVERSION_NOW);
    identity->is_https = parts.is_https;
    identity->has_http2 = parts.is_https && (loaded->features & CURL_VERSION_HTTP2);
    if (parts.is_https && !(loaded->features & CURL_VERSION_SSL))
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "%s needs TLS: this libcurl (%s) is built without TLS",
                            identity->server, loaded->version);
    if (!parts.is_https || !config->tls_server_name.size)
        return ki_secret_set(identity->allocator, &identity->base, server, err);
    const char *name = config->tls_server_name.data;
    bool is_v6 = strchr(name, ':') && name[0] != '[';
    ki_buffer text;
    ki_buffer_init(&text, identity->allocator, KI_CURL_URL_LIMIT);
    ki_buffer_printf(&text, "https://%s%s%s:%d%.*s", is_v6 ? "[" : "", name, is_v6 ? "]" : "", parts.port,
                     (int)parts.path.size, parts.path.data);
    ki_status status = ki_secret_take(&identity->base, &text, "tls-server-name: the URL is", err);
    ki_buffer_printf(&text, "::%.*s:%d", (int)parts.host.size, parts.host.data, parts.port);
    if (!status) {
        identity->connect_to = text.failed ? NULL : curl_slist_append(NULL, text.data);
        status = identity->connect_to ? KI_OK : ki_error_no_memory(err, "making a transport");
    }
    ki_buffer_free(&text);
    /* The Host header without tls-server-name: with the port unless it is 443. */
    ki_buffer_printf(&text, "Host: %.*s", (int)parts.host.size, parts.host.data);
    if (parts.port != HTTPS_PORT)
        ki_buffer_printf(&text, ":%d", parts.port);
    if (!status)
        return ki_secret_take(&identity->host, &text, "server: the host is", err);
    ki_buffer_free(&text);
    return status;
}

/* Reads the proxy's URL as libcurl will. Sets `*ret_same` to false if libcurl connects to another host, such as
 * 127.0.0.1 for 0x7f.1. */
static CURLUcode read_proxy(CURLU *parser, const char *url, bool *ret_same) {
    static const CURLUPart parts[] = { CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_HOST, CURLUPART_PORT };
    CURLUcode failed = curl_url_set(parser, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !failed; i++) {
        char *text = NULL;
        failed = curl_url_get(parser, parts[i], &text, CURLU_URLDECODE);
        if (failed == CURLUE_NO_USER || failed == CURLUE_NO_PASSWORD)
            failed = CURLUE_OK;
        if (!failed && parts[i] == CURLUPART_HOST && text[0] != '[')
            *ret_same = strstr(url, text) != NULL;
        if (text)
            ki_wipe(text, strlen(text));
        curl_free(text);
    }
    return failed;
}

/* Checks that libcurl uses the proxy as it is configured. libcurl ignores a proxy whose user or password it cannot
 * decode, and connects to the server directly. */
static ki_status check_proxy(const char *url, ki_error *err) {
    bool is_same = true;
    if (!url[0])
        return KI_OK;
    CURLU *parser = curl_url();
    CURLUcode failed = parser ? read_proxy(parser, url, &is_same) : CURLUE_OUT_OF_MEMORY;
    curl_url_cleanup(parser);
    if (failed == CURLUE_OUT_OF_MEMORY)
        return ki_error_no_memory(err, "making a transport");
    if (failed || !is_same)
        return ki_error_set(err, KI_ERR_CONFIG, "the proxy's URL cannot be used with this libcurl: %s",
                            failed ? curl_url_strerror(failed) : "libcurl reads another host");
    return KI_OK;
}

static const char *environment(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static bool has_https_proxy(const ki_curl_identity *identity) {
    return strncmp(identity->proxy.data, "https:", 6) == 0;
}

static bool uses_tls(const ki_curl_identity *identity) {
    return identity->is_https || has_https_proxy(identity);
}

/* Reads the system's authorities from the places that the environment names, as Go's crypto/x509 (root_unix.go):
 * SSL_CERT_FILE replaces the system's file, SSL_CERT_DIR its folders, and the other one stays. Reads nothing for plain
 * HTTP. */
static ki_status read_authorities(ki_curl_identity *identity, ki_error *err) {
    const ki_config *config = identity->config;
    const char *file = environment("SSL_CERT_FILE"), *folders = environment("SSL_CERT_DIR");
    if (!uses_tls(identity) || config->ca.data || config->insecure_skip_tls_verify || (!file && !folders))
        return KI_OK;
    CURL *easy = file ? NULL : curl_easy_init();
    char *system_file = NULL; /* libcurl's own; a blob of authorities replaces it */
    if (easy)
        curl_easy_getinfo(easy, CURLINFO_CAINFO, &system_file);
    identity->replaces_file = true;
    identity->replaces_folder = folders != NULL;
    ki_status status = ki_secret_read_authorities(identity->allocator, file ? file : system_file, folders,
                                                  &identity->authorities, err);
    curl_easy_cleanup(easy);
    return status;
}

ki_status ki_curl_identity_init(ki_curl_identity *identity, const ki_allocator *allocator, const ki_config *config,
                                ki_error *err) {
    *identity =
        (ki_curl_identity){ .allocator = allocator, .config = ki_config_ref(config), .server = config->server.data };
    const ki_proxy_environment environment = ki_proxy_environment_of_process();
    ki_status status = read_server(identity, err);
    if (!status)
        status = ki_proxy_choose(allocator, config, &environment, &identity->proxy, err);
    if (!status)
        status = check_proxy(identity->proxy.data, err);
    if (!status)
        status = read_authorities(identity, err);
    return status; /* the caller clears the identity, also on failure */
}

void ki_curl_identity_clear(ki_curl_identity *identity) {
    ki_secret_clear(identity->allocator, &identity->base);
    ki_secret_clear(identity->allocator, &identity->host);
    ki_secret_clear(identity->allocator, &identity->proxy);
    ki_secret_clear(identity->allocator, &identity->authorities);
    curl_slist_free_all(identity->connect_to);
    ki_config_free((ki_config *)(uintptr_t)identity->config);
}

/* --- one handle --------------------------------------------------------------------------------------------------- */

/* The handle whose options are set. */
typedef struct settings {
    CURL *easy;
    CURLcode failed;    /* of the first option that failed */
    const char *option; /* its name */
} settings;

/* Sets an option; keeps the first failure. An option that an old libcurl lacks is a failure. */
#define SET(of, name, value) \
    do { \
        if (!(of)->failed) { \
            (of)->option = #name; \
            (of)->failed = curl_easy_setopt((of)->easy, name, (value)); \
        } \
    } while (0)

/* Sets TCP keepalive and TCP_USER_TIMEOUT. libcurl has no option for the count and for TCP_USER_TIMEOUT. */
static int on_socket(void *user, curl_socket_t fd, curlsocktype purpose) {
    (void)user;
    (void)purpose;
    const int on = 1, idle = KI_CURL_KEEPALIVE_IDLE_S, interval = KI_CURL_KEEPALIVE_INTERVAL_S;
    const int count = KI_CURL_KEEPALIVE_COUNT;
    const unsigned unacknowledged_ms = 1000U * (KI_CURL_KEEPALIVE_IDLE_S + KI_CURL_KEEPALIVE_INTERVAL_S * 3U);
    /* Failures are ignored: a Unix socket of a proxy has no such options. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
    return CURL_SOCKOPT_OK;
}

static void set_basics(settings *self) {
    SET(self, CURLOPT_NOSIGNAL, 1L);
    /* API servers do not redirect, and credentials must go to the named server only. */
    SET(self, CURLOPT_FOLLOWLOCATION, 0L);
    SET(self, CURLOPT_PATH_AS_IS, 1L);
    SET(self, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(self, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(self, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* do not report the proxy's response as the server's */
    SET(self, CURLOPT_CONNECTTIMEOUT_MS, (long)KI_CURL_CONNECT_TIMEOUT_MS);
    SET(self, CURLOPT_BUFFERSIZE, (long)KI_CURL_BUFFER_SIZE);
    SET(self, CURLOPT_SOCKOPTFUNCTION, on_socket);
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(self, CURLOPT_QUICK_EXIT, 1L); /* cancelling must not wait for name resolution */
#endif
}

static struct curl_blob blob_of(const ki_secret *pem) {
    return (struct curl_blob){ .data = pem->data, .len = pem->size, .flags = CURL_BLOB_NOCOPY };
}

static void set_connection(settings *self, const ki_curl_identity *identity) {
    const bool verify = !identity->config->insecure_skip_tls_verify;
    /* A libcurl that is built without TLS rejects "https", and the options of TLS. */
    SET(self, CURLOPT_PROTOCOLS_STR, identity->is_https ? "https" : "http");
    SET(self, CURLOPT_HTTP_VERSION, (long)(identity->has_http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    /* Prefer a new stream to a new connection. Without HTTP/2 libcurl 7.88 would make the second request wait until the
     * first, perhaps a watch, has ended. */
    SET(self, CURLOPT_PIPEWAIT, identity->has_http2 ? 1L : 0L);
    if (identity->is_https) {
        SET(self, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or later */
        SET(self, CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
        SET(self, CURLOPT_SSL_VERIFYHOST, verify && !identity->config->insecure_skip_tls_name_verify ? 2L : 0L);
    }
    if (identity->connect_to)
        SET(self, CURLOPT_CONNECT_TO, identity->connect_to);
    /* Always set the proxy: libcurl reads the environment by other rules than Go's clients. */
    SET(self, CURLOPT_PROXY, identity->proxy.data);
    SET(self, CURLOPT_NOPROXY, "");
    if (identity->proxy.size) {
        SET(self, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* do not send our headers to the proxy */
        SET(self, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
    }
    if (has_https_proxy(identity)) {
        SET(self, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
        SET(self, CURLOPT_PROXY_SSL_VERIFYPEER, verify ? 1L : 0L);
        SET(self, CURLOPT_PROXY_SSL_VERIFYHOST, verify ? 2L : 0L);
    }
}

/* Sets the authorities of the server and of an https proxy. */
static void set_authorities(settings *self, const ki_curl_identity *identity, const ki_secret *pem, bool keeps_folder) {
    const bool has_proxy = has_https_proxy(identity);
    struct curl_blob ca = blob_of(pem);
    if (!keeps_folder)
        SET(self, CURLOPT_CAPATH, NULL);
    if (!keeps_folder && has_proxy)
        SET(self, CURLOPT_PROXY_CAPATH, NULL);
    if (pem->data) {
        SET(self, CURLOPT_CAINFO_BLOB, &ca);
        if (has_proxy)
            SET(self, CURLOPT_PROXY_CAINFO_BLOB, &ca);
        return;
    }
    SET(self, CURLOPT_CAINFO, NULL);
    if (has_proxy)
        SET(self, CURLOPT_PROXY_CAINFO, NULL);
}

static void set_certificates(settings *self, const ki_curl_identity *identity, const ki_credential_set *set) {
    if (set->ca.data) /* trust this authority only, not the system's */
        set_authorities(self, identity, &set->ca, false);
    else if (identity->replaces_file)
        set_authorities(self, identity, &identity->authorities, !identity->replaces_folder);
    if (set->client_certificate.data) {
        struct curl_blob certificate = blob_of(&set->client_certificate), key = blob_of(&set->client_key);
        SET(self, CURLOPT_SSLCERT_BLOB, &certificate);
        SET(self, CURLOPT_SSLKEY_BLOB, &key);
        /* A key with a password (from a plugin or a rotated file) then fails. Without this option libcurl up to 7.88
         * dereferences a null pointer, and other versions ask for the password on the terminal. */
        SET(self, CURLOPT_KEYPASSWD, "");
    }
}

static void set_url(settings *self, const ki_curl_identity *identity, const ki_request *request) {
    ki_buffer url;
    ki_buffer_init(&url, identity->allocator, KI_CURL_URL_LIMIT);
    ki_buffer_append(&url, identity->base.data, identity->base.size);
    ki_buffer_append_string(&url, request->target);
    if (url.failed && !self->failed)
        self->failed = url.failed == KI_ERR_LIMIT ? CURLE_URL_MALFORMAT : CURLE_OUT_OF_MEMORY;
    SET(self, CURLOPT_URL, url.data);
    ki_buffer_free(&url);
}

/* Returns true for a request that needs a Content-Length, even 0. */
static bool has_body(const ki_request *request) {
    static const char *const methods[] = { "POST", "PUT", "PATCH" };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(request->method, methods[i]) == 0)
            return true;
    }
    return request->body.size > 0;
}

static void set_method(settings *self, const ki_request *request) {
    if (has_body(request)) {
        SET(self, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
        SET(self, CURLOPT_COPYPOSTFIELDS, request->body.size ? request->body.data : "");
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(self, CURLOPT_NOBODY, 1L);
        return;
    }
    if (has_body(request) || strcmp(request->method, "GET") != 0)
        SET(self, CURLOPT_CUSTOMREQUEST, request->method);
}

static ki_status add_line(struct curl_slist **headers, const char *line) {
    struct curl_slist *longer = line ? curl_slist_append(*headers, line) : NULL;
    if (!longer)
        return KI_ERR_NO_MEMORY;
    *headers = longer;
    return KI_OK;
}

/* Adds a header. Rejects control characters in `value`: they could begin another header. `name` is trusted. */
static ki_status add_header(ki_buffer *line, struct curl_slist **headers, const char *name, const char *value) {
    ki_buffer_reset(line, line->capacity);
    for (const char *at = value; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return KI_ERR_INVALID;
    }
    ki_buffer_printf(line, value[0] ? "%s: %s" : "%s;", name, value); /* libcurl's syntax for an empty header */
    return line->failed ? KI_ERR_NO_MEMORY : add_line(headers, line->data);
}

/* Returns true for a character of a header's name (RFC 9110 §5.6.2), except '%', which begins an escape here. */
static bool is_name_character(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$&'*+-.^_`|~", c));
}

static ki_status add_extra(ki_buffer *line, ki_buffer *name, struct curl_slist **headers, const ki_secret_pair *extra) {
    ki_buffer_reset(name, name->capacity);
    ki_buffer_append_string(name, "Impersonate-Extra-");
    for (size_t i = 0; i < extra->name.size; i++) {
        unsigned char c = (unsigned char)extra->name.data[i];
        if (is_name_character(c))
            ki_buffer_append_char(name, (char)c);
        else
            ki_buffer_printf(name, "%%%02X", c);
    }
    return name->failed ? KI_ERR_NO_MEMORY : add_header(line, headers, name->data, extra->value.data);
}

static ki_status add_impersonation(ki_buffer *line, struct curl_slist **headers, const ki_config *config) {
    if (!config->impersonate_user.size)
        return KI_OK;
    ki_status status = add_header(line, headers, "Impersonate-User", config->impersonate_user.data);
    if (!status && config->impersonate_uid.size)
        status = add_header(line, headers, "Impersonate-Uid", config->impersonate_uid.data);
    for (size_t i = 0; !status && i < config->impersonate_groups.count; i++)
        status = add_header(line, headers, "Impersonate-Group", config->impersonate_groups.items[i].data);
    ki_buffer name;
    ki_buffer_init(&name, line->allocator, 0);
    for (size_t i = 0; !status && i < config->impersonate_extra.count; i++)
        status = add_extra(line, &name, headers, &config->impersonate_extra.items[i]);
    ki_buffer_free(&name);
    return status;
}

static ki_status make_headers(const ki_curl_identity *identity, const ki_request *request,
                              struct curl_slist **headers) {
    ki_buffer line;
    ki_buffer_init(&line, identity->allocator, 0);
    ki_status status = add_header(&line, headers, "Accept", request->accept ? request->accept : "application/json");
    if (!status && request->content_type)
        status = add_header(&line, headers, "Content-Type", request->content_type);
    if (!status)
        status = add_impersonation(&line, headers, identity->config);
    ki_buffer_free(&line);
    if (!status && has_body(request) && !request->content_type)
        status = add_line(headers, "Content-Type:"); /* removes libcurl's default */
    if (!status && has_body(request))
        status = add_line(headers, "Expect:"); /* no 100-continue: the body is sent at once */
    if (!status && identity->host.data)
        status = add_line(headers, identity->host.data);
    return status;
}

void ki_curl_free_headers(struct curl_slist *headers) {
    for (struct curl_slist *line = headers; line; line = line->next)
        ki_wipe(line->data, strlen(line->data)); /* one line has the token */
    curl_slist_free_all(headers);
}

static ki_status set_error(const settings *self, ki_error *err) {
    CURLcode failed = self->failed;
    if (failed == CURLE_OUT_OF_MEMORY)
        return ki_error_no_memory(err, "sending a request");
    if (failed == CURLE_URL_MALFORMAT)
        return ki_error_set(err, KI_ERR_LIMIT, "the request's URL is longer than %d bytes", KI_CURL_URL_LIMIT);
    if (failed)
        return ki_error_set(err, KI_ERR_UNSUPPORTED, "this libcurl (%s) lacks the option %s: %s", curl_version(),
                            self->option, curl_easy_strerror(failed));
    return KI_OK;
}

ki_status ki_curl_setup(CURL *easy, const ki_curl_identity *identity, const ki_request *request,
                        struct curl_slist **ret_headers, ki_error *err) {
    settings self = { .easy = easy };
    set_basics(&self);
    set_connection(&self, identity);
    set_url(&self, identity, request);
    set_method(&self, request);
    SET(&self, CURLOPT_USERAGENT, identity->config->user_agent.data);
    if (self.failed)
        return set_error(&self, err);
    struct curl_slist *headers = NULL;
    ki_status status = make_headers(identity, request, &headers);
    if (status) {
        ki_curl_free_headers(headers);
        if (status == KI_ERR_INVALID)
            return ki_error_set(err, status, "a header of the request has a control character");
        return ki_error_no_memory(err, "sending a request");
    }
    *ret_headers = headers;
    return KI_OK;
}

ki_status ki_curl_present(CURL *easy, const ki_curl_identity *identity, const ki_credential_set *set,
                          struct curl_slist **headers, ki_error *err) {
    if (set->authorization.data && add_line(headers, set->authorization.data))
        return ki_error_no_memory(err, "sending a request");
    settings self = { .easy = easy };
    if (uses_tls(identity))
        set_certificates(&self, identity, set);
    SET(&self, CURLOPT_HTTPHEADER, *headers);
    return set_error(&self, err);
}
