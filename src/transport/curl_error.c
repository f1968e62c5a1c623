/* curl_error.c: libcurl results as ki_error values, with what to do. */
#include "src/transport/curl_internal.h"

#include "src/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* OpenSSL's X509_V_ERR_… values of CURLINFO_SSL_VERIFYRESULT that are the server's fault, not that of our authority
 * file. */
enum {
    VERIFY_NOT_YET_VALID = 9,
    VERIFY_EXPIRED = 10
};

enum {
    FILE_SHOWN = 120 /* bytes of a path in a message */
};

/* libcurl's text names the proxy without its user and password. */
static void proxy_error(const char *detail, const char *server, ki_error *err) {
    ki_error_set(err, KI_ERR_CONNECT, "connect to %s: the proxy failed: %.250s; check proxy-url", server, detail);
}

static void connect_error(CURL *easy, const char *detail, const char *server, bool by_proxy, ki_error *err) {
    long number = 0;
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    if (by_proxy)
        proxy_error(detail, server, err);
    else if (number)
        ki_error_set_errno(err, KI_ERR_CONNECT, (int)number, "connect to %s", server);
    else
        ki_error_set(err, KI_ERR_CONNECT, "connect to %s: %s", server, detail);
}

void ki_curl_no_socket(int number, const char *server, ki_error *err) {
    bool ours = number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
    ki_error_set_errno(err, ours ? KI_ERR_SYSTEM : KI_ERR_CONNECT, number, "cannot create a socket to connect to %s",
                       server);
    if (ours)
        err->category = KI_CATEGORY_FATAL;
}

/* Writes " (FILE)" for a message; "" if the value came as data. Returns `text`. */
static const char *file_of(const ki_secret *path, char *text, size_t size) {
    text[0] = '\0';
    if (path->data)
        snprintf(text, size, " (%s)", path->data);
    return text;
}

/* Returns true for a certificate that does not have the host's name. */
static bool is_of_name(const char *detail) {
    return strstr(detail, "subject name") || strstr(detail, "does not match");
}

/* Returns true for OpenSSL's result of a certificate that is not valid at this time. */
static bool is_by_time(CURL *easy, CURLINFO info) {
    long result = 0;
    curl_easy_getinfo(easy, info, &result);
    return result == VERIFY_EXPIRED || result == VERIFY_NOT_YET_VALID;
}

/* Reports the certificate of an https proxy. As in Go, the config's authorities are the proxy's too. */
static void proxy_verify_error(CURL *easy, const char *detail, const char *server, ki_error *err) {
    bool by_time = is_by_time(easy, CURLINFO_PROXY_SSL_VERIFYRESULT);
    ki_error_set(err, KI_ERR_TLS, "connect to %s: the certificate of the proxy is not trusted: %.250s; %s", server,
                 detail,
                 by_time              ? "renew it, or check this machine's clock"
                 : is_of_name(detail) ? "use a name in the certificate in proxy-url"
                                      : "add its authority to certificate-authority");
    err->category = by_time ? KI_CATEGORY_SERVER : KI_CATEGORY_REQUEST;
}

static void verify_error(CURL *easy, const char *detail, const ki_config *config, ki_error *err) {
    const char *server = config->server.data;
    char file[FILE_SHOWN];
    bool by_time = is_by_time(easy, CURLINFO_SSL_VERIFYRESULT);
    bool by_name = is_of_name(detail);
    const char *remedy = by_time           ? "renew it, or check this machine's clock"
                         : by_name         ? "use a name in the certificate, or set tls-server-name"
                         : config->ca.data ? "check certificate-authority"
                                           : "set certificate-authority to the file of its authority";
    bool by_authority = !by_time && !by_name;
    ki_error_set(err, KI_ERR_TLS, "the certificate of %s is not trusted: %.250s; %s%s", server, detail, remedy,
                 by_authority
                     ? file_of(config->ca_directory.data ? &config->ca_directory : &config->ca_file, file, sizeof file)
                     : "");
    err->category = by_time ? KI_CATEGORY_SERVER : KI_CATEGORY_REQUEST;
}

static bool has_one_of(const char *text, const char *const *phrases) {
    for (; *phrases; phrases++) {
        if (strstr(text, *phrases))
            return true;
    }
    return false;
}

/* Returns true if the server rejected our certificate or requires one. With TLS 1.3 it does so after our side of the
 * handshake is complete. */
static bool is_rejected_certificate(const char *detail) {
    static const char *const phrases[] = { "alert bad certificate",         "alert certificate",
                                           "alert unsupported certificate", "alert unknown ca",
                                           "alert access denied",           "alert decrypt error",
                                           "alert handshake failure",       NULL };
    static const char *const terms[] = { "certificate required", "certificate expired", "certificate revoked",
                                         "certificate unknown", NULL };
    return has_one_of(detail, phrases) || (strstr(detail, "alert") && has_one_of(detail, terms));
}

/* Reports a failed handshake: our certificate, TLS itself, or a connection that the server or a proxy closed. OpenSSL
 * reports a closed connection as a system error, with or without a cause, or as an unexpected end. */
static void handshake_error(const char *detail, const ki_config *config, ki_error *err) {
    const char *server = config->server.data;
    static const char *const gone[] = { "Connection reset",      "SSL_ERROR_SYSCALL",
                                        "unexpected eof",        "Broken pipe",
                                        "SSL_ERROR_ZERO_RETURN", "Connection refused",
                                        "Connection timed out",  NULL };
    if (is_rejected_certificate(detail)) {
        char file[FILE_SHOWN];
        ki_error_set(err, KI_ERR_TLS, "TLS with %s: %.250s; check client-certificate%s", server, detail,
                     file_of(&config->client_certificate_file, file, sizeof file));
        err->category = KI_CATEGORY_CREDENTIALS;
    } else if (has_one_of(detail, gone)) {
        ki_error_set(err, KI_ERR_CONNECT, "connect to %s: closed during the TLS handshake", server);
    } else {
        const char *remedy = strstr(detail, "wrong version number") || strstr(detail, "packet length")
                                 ? "; the server may use http, not https"
                                 : "";
        ki_error_set(err, KI_ERR_TLS, "TLS with %s: %.250s%s", server, detail, remedy);
        err->category = KI_CATEGORY_RETRY;
    }
}

/* Returns true if a byte of a response has arrived. */
static bool has_begun(CURL *easy) {
    curl_off_t began_us = 0;
    curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &began_us);
    return began_us > 0;
}

/* Returns true if a response has begun without a complete head. libcurl returns CURLE_OUT_OF_MEMORY for a header line
 * above its limit (CURL_MAX_HTTP_HEADER); a lack of memory is far less likely at this point. */
static bool is_in_head(CURL *easy) {
    curl_off_t body = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &body);
    return has_begun(easy) && body == 0;
}

/* Reports a client certificate or key that libcurl rejected. auth/key_pair.h detects most of them earlier. */
static void certificate_error(const char *detail, const ki_config *config, ki_error *err) {
    char certificate[FILE_SHOWN], key[FILE_SHOWN];
    file_of(&config->client_certificate_file, certificate, sizeof certificate);
    file_of(&config->client_key_file, key, sizeof key);
    if (strstr(detail, "does not match") || strstr(detail, "private key"))
        ki_error_set(err, KI_ERR_TLS,
                     "client-certificate%s or client-key%s is not usable: client-key is not the key of "
                     "client-certificate, or has a password; use a certificate and a key that were issued together",
                     certificate, key);
    else
        ki_error_set(err, KI_ERR_TLS, "client-certificate%s or client-key%s is not usable: %s", certificate, key,
                     detail);
    err->category = KI_CATEGORY_CREDENTIALS;
}

void ki_curl_error(CURL *easy, CURLcode code, const char *detail, const ki_config *config, const char *proxy,
                   ki_error *err) {
    const char *server = config->server.data;
    char file[FILE_SHOWN];
    if (!detail[0])
        detail = curl_easy_strerror(code);
    bool by_proxy = proxy[0] != '\0';
    long proxy_status = 0; /* 0: no response of the proxy to CONNECT */
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
    bool in_proxy_handshake = proxy_status == 0 && strncmp(proxy, "https:", 6) == 0;
    if (proxy_status >= 300) {
        ki_error_set(err, KI_ERR_CONNECT, "connect to %s: the proxy returned HTTP %ld", server, proxy_status);
        return;
    }
    switch (code) {
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE: /* libcurl's limits on a line and on the number of lines */
        ki_error_set(err, KI_ERR_PROTOCOL, "%s sent %s", config->server.data,
                     strstr(detail, "many") ? "too many headers" : "a header line that is too long");
        break;
#endif
    case CURLE_OUT_OF_MEMORY:
        if (is_in_head(easy))
            ki_error_set(err, KI_ERR_PROTOCOL, "%s sent a header line that is too long", server);
        else
            ki_error_no_memory(err, "talking to the server");
        break;
    case CURLE_COULDNT_RESOLVE_PROXY:
        if (strstr(detail, "://")) /* the whole URL, which can have a password */
            detail = "invalid proxy URL";
        /* fall through */
    case CURLE_PROXY:
        proxy_error(detail, server, err);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        ki_error_set(err, KI_ERR_CONNECT, "connect to %s: %s", server, detail);
        break;
    case CURLE_COULDNT_CONNECT:
        connect_error(easy, detail, server, by_proxy, err);
        break;
    case CURLE_OPERATION_TIMEDOUT:
        ki_error_set(err, KI_ERR_CONNECT, "connect to %s%s: no connection within %d s", server,
                     by_proxy ? " through the proxy" : "", KI_CURL_CONNECT_TIMEOUT_MS / 1000);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
        if (in_proxy_handshake)
            proxy_verify_error(easy, detail, server, err);
        else
            verify_error(easy, detail, config, err);
        break;
    case CURLE_SSL_CACERT_BADFILE:
        if (strstr(detail, " file:")) /* our authority is never a file: this is the system's */
            ki_error_set(err, KI_ERR_TLS,
                         "the certificate of %s is not trusted: this system has no authorities (%.250s); set "
                         "certificate-authority, or install ca-certificates",
                         config->server.data, detail);
        else
            ki_error_set(err, KI_ERR_TLS,
                         "certificate-authority%s is not usable: %.250s; use the authority's certificate in PEM",
                         file_of(&config->ca_file, file, sizeof file), detail);
        err->category = KI_CATEGORY_REQUEST;
        break;
    case CURLE_SSL_CERTPROBLEM:
        certificate_error(detail, config, err);
        break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CLIENTCERT:
        if (in_proxy_handshake)
            proxy_error(detail, server, err);
        else
            handshake_error(detail, config, err);
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        if (is_rejected_certificate(detail)) {
            handshake_error(detail, config, err);
            break;
        }
        /* fall through */
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        ki_error_set(err, KI_ERR_UNEXPECTED_EOF, "%s closed the connection: %s", server, detail);
        break;
    case CURLE_HTTP2:
        ki_error_set(err, KI_ERR_UNEXPECTED_EOF, "the HTTP/2 connection to %s failed: %s", server, detail);
        break;
    case CURLE_HTTP2_STREAM:
        ki_error_set(err, KI_ERR_UNEXPECTED_EOF, "%s reset the stream: %s", server, detail);
        break;
    case CURLE_UNSUPPORTED_PROTOCOL: /* no HTTP status line */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        ki_error_set(err, KI_ERR_PROTOCOL, "%s does not send HTTP: %s", server, detail);
        break;
    case CURLE_BAD_FUNCTION_ARGUMENT: /* libcurl's result for a header line or trailer without a name */
        if (has_begun(easy)) {
            ki_error_set(err, KI_ERR_PROTOCOL, "%s does not send HTTP: a header line without a name", server);
            break;
        }
        /* fall through */
    default:
        ki_error_set(err, KI_ERR_SYSTEM, "request to %s failed: %s", server, detail);
        err->category = KI_CATEGORY_RETRY; /* unknown: the failure can be temporary */
        break;
    }
}
