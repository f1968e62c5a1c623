/* check.c: checks a complete config: URLs, names and headers are valid, and no options contradict each other. Values
 * for a request line or a header have no control characters. */
#include "src/auth/config.h"
#include "src/auth/key_pair.h"
#include "src/auth/pem.h"

#include "src/base/error.h"

#include <arpa/inet.h>
#include <strings.h>

enum {
    URL_LIMIT = 2048,
    LABEL_LIMIT = 63 /* characters of a namespace's name */
};

/* --- URLs --------------------------------------------------------------------------------------------------------- */

static bool is_port(ki_str port) {
    uint64_t number;
    return ki_str_to_uint64(port, 65535, &number) && number > 0;
}

static bool is_host(ki_str host) {
    for (size_t i = 0; i < host.size; i++) {
        unsigned char c = (unsigned char)host.data[i];
        bool is_fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c >= 0x80;
        if (!is_fine)
            return false;
    }
    return host.size > 0;
}

/* Returns true for "[" and an IPv6 address, perhaps with a zone. */
static bool is_bracketed(ki_str address) {
    for (size_t i = 1; i < address.size; i++) {
        if (!strchr("0123456789abcdefABCDEF:.%", address.data[i]) && !memchr(address.data, '%', i))
            return false;
    }
    return address.size >= 3;
}

/* Returns true for host, host:port, [address] or [address]:port. */
static bool is_authority(ki_str authority) {
    if (authority.size && authority.data[0] == '[') {
        ki_str after;
        ki_str address = ki_str_split(authority, ']', &after);
        if (!after.data || !is_bracketed(address))
            return false;
        return after.size == 0 || (after.data[0] == ':' && is_port((ki_str){ after.data + 1, after.size - 1 }));
    }
    ki_str port;
    ki_str host = ki_str_split(authority, ':', &port);
    return is_host(host) && (!port.data || is_port(port));
}

/* Changes the URL's scheme to lower case. Returns the size of the scheme with "://"; 0 if it is not one of
 * `schemes`. */
static size_t take_scheme(ki_secret *url, const char *const *schemes) {
    for (; *schemes; schemes++) {
        size_t size = strlen(*schemes);
        if (url->size < size || strncasecmp(url->data, *schemes, size) != 0)
            continue;
        memcpy(url->data, *schemes, size);
        return size;
    }
    return 0;
}

static ki_status check_server(ki_config *config, ki_error *err) {
    static const char *const schemes[] = { "https://", "http://", NULL };
    ki_secret *server = &config->server;
    if (!server->data || !server->size)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: not set, neither by the kubeconfig's cluster nor by the program");
    while (server->size && server->data[server->size - 1] == '/')
        server->data[--server->size] = '\0';
    size_t scheme = take_scheme(server, schemes);
    /* The messages show the URL only once it is known to have no password. */
    if (!scheme)
        return ki_error_set(err, KI_ERR_CONFIG, "server: must begin with https:// or http://");
    if (server->size > URL_LIMIT)
        return ki_error_set(err, KI_ERR_CONFIG, "server: the URL is longer than %d bytes", URL_LIMIT);
    if (memchr(server->data, '@', server->size))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: a user or password in the URL is not accepted; use username and password");
    if (ki_secret_has_control(server) || strpbrk(server->data, " ?#\\"))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: the URL has a query, a fragment or a character that is not allowed");
    ki_str path;
    if (!is_authority(ki_str_split((ki_str){ server->data + scheme, server->size - scheme }, '/', &path)))
        return ki_error_set(err, KI_ERR_CONFIG, "server: %s has no valid host and port", server->data);
    return KI_OK;
}

static int hex_digit(char c) {
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Returns what is wrong with the user and password of a URL; NULL: nothing. */
static const char *user_fault(ki_str user) {
    for (size_t i = 0; i < user.size; i++) {
        if (user.data[i] != '%')
            continue;
        int high = i + 2 < user.size ? hex_digit(user.data[i + 1]) : -1,
            low = high < 0 ? -1 : hex_digit(user.data[i + 2]);
        if (low < 0)
            return "has a % that begins no escape such as %25";
        if (high < 2 || (high == 7 && low == 15))
            return "has an escaped control character";
        i += 2;
    }
    return NULL;
}

ki_status ki_config_check_proxy(ki_secret *url, const char *field, size_t *ret_host, ki_error *err) {
    static const char *const schemes[] = { "http://", "https://", "socks5://", NULL };
    size_t scheme = take_scheme(url, schemes);
    if (!scheme)
        return ki_error_set(err, KI_ERR_CONFIG, "%s: must begin with http://, https:// or socks5://", field);
    if (url->size > URL_LIMIT)
        return ki_error_set(err, KI_ERR_CONFIG, "%s: longer than %d bytes", field, URL_LIMIT);
    if (ki_secret_has_control(url) || strchr(url->data, ' '))
        return ki_error_set(err, KI_ERR_CONFIG, "%s: has a space or a control character", field);
    size_t end = scheme + strcspn(url->data + scheme, "/?#");
    memset(url->data + end, 0, url->size - end);
    url->size = end;
    const char *at = strrchr(url->data + scheme, '@');
    size_t host = at ? (size_t)(at + 1 - url->data) : scheme;
    if (!is_authority((ki_str){ url->data + host, end - host }))
        return ki_error_set(err, KI_ERR_CONFIG, "%s: has no valid host and port", field);
    const char *fault = at ? user_fault((ki_str){ url->data + scheme, host - 1 - scheme }) : NULL;
    if (fault)
        return ki_error_set(err, KI_ERR_CONFIG, "%s: the user or password %s", field, fault);
    *ret_host = host;
    return KI_OK;
}

static ki_status check_proxy(ki_config *config, ki_error *err) {
    ki_secret *proxy = &config->proxy_url;
    size_t host = 0;
    if (!proxy->data)
        return KI_OK;
    ki_status status = ki_config_check_proxy(proxy, "proxy-url", &host, err);
    if (status)
        return status;
    char shown[URL_LIMIT + 1];
    size_t scheme = (size_t)(strstr(proxy->data, "://") + 3 - proxy->data), host_size = proxy->size - host;
    memcpy(shown, proxy->data, scheme);
    memcpy(shown + scheme, proxy->data + host, host_size);
    return ki_secret_set(&config->allocator, &config->proxy_display, (ki_str){ shown, scheme + host_size }, err);
}

static ki_status check_names(const ki_config *config, ki_error *err) {
    const ki_secret *name = &config->tls_server_name;
    if (name->data && !is_host(ki_secret_text(name)) && strspn(name->data, "0123456789abcdefABCDEF:.") != name->size)
        return ki_error_set(err, KI_ERR_CONFIG, "tls-server-name: not a host name");
    const ki_secret *space = &config->namespace_name;
    bool is_label = space->size <= LABEL_LIMIT;
    for (size_t i = 0; i < space->size; i++) {
        char c = space->data[i];
        bool is_inner = i > 0 && i + 1 < space->size;
        is_label = is_label && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c == '-' && is_inner));
    }
    if (!is_label)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "namespace: not a valid name: at most %d lower case letters, digits and '-'", LABEL_LIMIT);
    return KI_OK;
}

/* --- identity ----------------------------------------------------------------------------------------------------- */

static ki_status check_header(const ki_secret *text, const char *field, ki_error *err) {
    if (ki_secret_has_control(text))
        return ki_error_set(err, KI_ERR_CONFIG, "%s: has a line end or another control character", field);
    if (text->size > KI_CONFIG_HEADER_LIMIT)
        return ki_error_set(err, KI_ERR_CONFIG, "%s: longer than %d bytes", field, KI_CONFIG_HEADER_LIMIT);
    return KI_OK;
}

static ki_status check_headers(const ki_config *config, ki_error *err) {
    const struct {
        const ki_secret *text;
        const char *field;
    } headers[] = { { &config->token, "token" },
                    { &config->username, "username" },
                    { &config->password, "password" },
                    { &config->impersonate_user, "as" },
                    { &config->impersonate_uid, "as-uid" } };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < sizeof headers / sizeof *headers; i++)
        status = check_header(headers[i].text, headers[i].field, err);
    for (size_t i = 0; !status && i < config->impersonate_groups.count; i++)
        status = check_header(&config->impersonate_groups.items[i], "as-groups", err);
    for (size_t i = 0; !status && i < config->impersonate_extra.count; i++) {
        const ki_secret_pair *pair = &config->impersonate_extra.items[i];
        if (!pair->name.size)
            return ki_error_set(err, KI_ERR_CONFIG, "as-user-extra: an empty name");
        status = check_header(&pair->name, "as-user-extra", err);
        if (!status)
            status = check_header(&pair->value, "as-user-extra", err);
    }
    return status;
}

static ki_status check_impersonation(const ki_config *config, ki_error *err) {
    const char *alone = config->impersonate_uid.data       ? "as-uid"
                        : config->impersonate_groups.count ? "as-groups"
                        : config->impersonate_extra.count  ? "as-user-extra"
                                                           : NULL;
    return !alone || config->impersonate_user.data
               ? KI_OK
               : ki_error_set(err, KI_ERR_CONFIG, "%s: without as; name the user to impersonate", alone);
}

/* Checks that each text has a PEM block. Only the connection validates certificates. */
static ki_status check_pems(const ki_config *config, ki_error *err) {
    const struct {
        const ki_secret *pem, *file;
        const char *field;
    } pems[] = { { &config->ca, &config->ca_file, "certificate-authority" },
                 { &config->client_certificate, &config->client_certificate_file, "client-certificate" },
                 { &config->client_key, &config->client_key_file, "client-key" } };
    for (size_t i = 0; i < sizeof pems / sizeof *pems; i++)
        if (pems[i].pem->data && !ki_pem_has_block(ki_secret_text(pems[i].pem)))
            return ki_error_set(err, KI_ERR_CONFIG,
                                "%s: %s has no PEM block (-----BEGIN ...); openssl can convert other formats",
                                pems[i].field, ki_secret_file(pems[i].file));
    if (ki_key_pair_is_key_alone(ki_secret_text(&config->ca)))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "certificate-authority: %s has a private key and no certificate; name the authority's "
                            "certificate",
                            ki_secret_file(&config->ca_file));
    if (ki_pem_is_encrypted(ki_secret_text(&config->client_key)))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "client-key: %s has a password, which is not supported: openssl pkey removes it",
                            ki_secret_file(&config->client_key_file));
    return ki_key_pair_check(&config->allocator, config, &config->client_certificate, &config->client_key, err);
}

static ki_status check_credentials(const ki_config *config, ki_error *err) {
    if ((config->token.data || config->token_file.data) && config->username.data)
        return ki_error_set(err, KI_ERR_CONFIG, "username: conflicts with token; keep one of them");
    if (config->password.data && !config->username.data)
        return ki_error_set(err, KI_ERR_CONFIG, "password: without username; set both");
    if (config->username.data && memchr(config->username.data, ':', config->username.size))
        return ki_error_set(err, KI_ERR_CONFIG, "username: has a ':', which separates user name and password");
    if (!config->client_certificate.data != !config->client_key.data)
        return ki_error_set(err, KI_ERR_CONFIG, "client-%s: without client-%s; set both",
                            config->client_key.data ? "key" : "certificate",
                            config->client_key.data ? "certificate" : "key");
    if (!ki_config_has_credentials(config) || ki_config_is_https(config))
        return KI_OK;
    if (!ki_config_may_send_credentials(config))
        return ki_error_set(err, KI_ERR_CONFIG,
                            "server: %s: credentials are not sent to a server that is not https%s; "
                            "use an https server or remove them",
                            config->server.data,
                            config->credentials_over_loopback_http ? " and not on this machine" : "");
    if (config->proxy_url.data)
        return ki_error_set(err, KI_ERR_CONFIG,
                            "proxy-url: conflicts with credentials_over_loopback_http; keep one of them");
    return KI_OK;
}

/* Returns true for localhost, 127.0.0.0/8 and [::1], with any port and path. */
static bool is_loopback(ki_str url) {
    static const char scheme[] = "http://";
    enum {
        ADDRESS_LIMIT = 64
    };
    char host[ADDRESS_LIMIT];
    unsigned char address[4];
    ki_str authority = { url.data + sizeof scheme - 1, url.size - (sizeof scheme - 1) };
    size_t size =
        authority.size && authority.data[0] == '[' ? strcspn(authority.data, "]") + 1 : strcspn(authority.data, ":/");
    if (size >= sizeof host)
        return false;
    memcpy(host, authority.data, size);
    host[size] = '\0';
    if (inet_pton(AF_INET, host, address) == 1)
        return address[0] == 127;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

bool ki_config_may_send_credentials(const ki_config *config) {
    if (ki_config_is_https(config))
        return true;
    return config->credentials_over_loopback_http && is_loopback(ki_secret_text(&config->server));
}

ki_status ki_config_check(ki_config *config, ki_error *err) {
    ki_status status = check_server(config, err);
    if (!status)
        status = check_proxy(config, err);
    if (!status)
        status = check_names(config, err);
    if (!status && config->insecure_skip_tls_name_verify && config->insecure_skip_tls_verify)
        status =
            ki_error_set(err, KI_ERR_CONFIG,
                         "insecure-skip-tls-name-verify: conflicts with insecure-skip-tls-verify; keep one of them");
    if (!status)
        status = check_headers(config, err);
    if (!status)
        status = check_credentials(config, err);
    if (!status && ki_config_is_https(config))
        status = check_pems(config, err);
    return status ? status : check_impersonation(config, err);
}
