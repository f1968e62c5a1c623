/* tls.c: see tls.h. */
#include "testing/access/tls.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    SERIAL_SIZE = 16,
    YEAR_S = 365 * 24 * 60 * 60,
    EARLIER_S = 60 * 60, /* tolerates clocks that differ */
    KEY_ID_SIZE = 64
};

static ki_status failed(ki_error *err, int code, const char *what) {
    if (code == GNUTLS_E_MEMORY_ERROR)
        return ki_error_no_memory(err, "making a certificate");
    ki_error_set(err, KI_ERR_TLS, "cannot make %s: %s", what, gnutls_strerror(code));
    return KI_ERR_TLS;
}

/* ---- one certificate ---- */

typedef enum purpose {
    FOR_CA,
    FOR_SERVER,
    FOR_CLIENT
} purpose;

typedef struct certificate_spec {
    purpose purpose;
    const char *name;
    ki_str groups; /* "a+b" */
    const char *host;
    int64_t seconds;
} certificate_spec;

static int add_address(gnutls_x509_crt_t crt, const char *text) {
    unsigned char bytes[16];
    if (inet_pton(AF_INET, text, bytes) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, bytes, 4, GNUTLS_FSAN_APPEND);
    if (inet_pton(AF_INET6, text, bytes) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, bytes, 16, GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, text, (unsigned)strlen(text),
                                                GNUTLS_FSAN_APPEND);
}

static int set_names(gnutls_x509_crt_t crt, const certificate_spec *w) {
    ki_str groups = w->groups;
    int code = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, w->name, (unsigned)strlen(w->name));
    while (code >= 0 && groups.size) {
        ki_str group = ki_str_split(groups, '+', &groups);
        code =
            gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, group.data, (unsigned)group.size);
    }
    if (code < 0 || w->purpose != FOR_SERVER)
        return code;
    static const char *const always[] = { "localhost",  "127.0.0.1",          "::1",
                                          "kubernetes", "kubernetes.default", "kubernetes.default.svc" };
    for (size_t i = 0; i < sizeof always / sizeof always[0] && code >= 0; i++)
        code = add_address(crt, always[i]);
    return code >= 0 && w->host ? add_address(crt, w->host) : code;
}

static int set_use(gnutls_x509_crt_t crt, const certificate_spec *w) {
    bool is_ca = w->purpose == FOR_CA;
    int code = gnutls_x509_crt_set_ca_status(crt, is_ca);
    if (code >= 0)
        code = gnutls_x509_crt_set_key_usage(crt, is_ca ? GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN
                                                        : GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (code >= 0 && !is_ca)
        code = gnutls_x509_crt_set_key_purpose_oid(
            crt, w->purpose == FOR_SERVER ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT, 0);
    return code;
}

static int set_all(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const certificate_spec *w, gnutls_x509_crt_t ca) {
    unsigned char serial[SERIAL_SIZE], id[KEY_ID_SIZE];
    size_t size = sizeof id;
    time_t now = time(NULL);
    int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 1); /* positive, without a leading zero */
    if (code >= 0)
        code = gnutls_x509_crt_set_version(crt, 3);
    if (code >= 0)
        code = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    if (code >= 0)
        code = gnutls_x509_crt_set_activation_time(crt, now - 2 * EARLIER_S);
    if (code >= 0)
        code = gnutls_x509_crt_set_expiration_time(crt, w->seconds < 0 ? now - EARLIER_S : now + (time_t)w->seconds);
    if (code >= 0)
        code = gnutls_x509_crt_set_key(crt, key);
    if (code >= 0)
        code = set_names(crt, w);
    if (code >= 0)
        code = set_use(crt, w);
    if (code >= 0)
        code = gnutls_x509_crt_get_key_id(crt, 0, id, &size);
    if (code >= 0)
        code = gnutls_x509_crt_set_subject_key_id(crt, id, size);
    size = sizeof id;
    if (code >= 0 && ca)
        code = gnutls_x509_crt_get_subject_key_id(ca, id, &size, NULL);
    if (code >= 0 && ca)
        code = gnutls_x509_crt_set_authority_key_id(crt, id, size);
    return code;
}

static char *take_pem(const ki_allocator *allocator, const gnutls_datum_t *text) {
    return ki_strndup(allocator, (const char *)text->data, text->size);
}

static void clear(gnutls_datum_t *text) {
    if (text->data)
        ki_wipe(text->data, text->size);
    gnutls_free(text->data);
    text->data = NULL;
}

/* Creates a key and a certificate, signed by `ca` (NULL: by itself). */
static ki_status make(const ki_allocator *allocator, const certificate_spec *w, gnutls_x509_crt_t ca,
                      gnutls_x509_privkey_t ca_key, char **ret_pem, char **ret_key_pem, ki_error *err) {
    gnutls_x509_crt_t crt = NULL;
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t pem = { NULL, 0 }, key_pem = { NULL, 0 };
    int code = gnutls_x509_privkey_init(&key);
    if (code >= 0)
        code = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (code >= 0)
        code = gnutls_x509_crt_init(&crt);
    if (code >= 0)
        code = set_all(crt, key, w, ca);
    if (code >= 0)
        code = gnutls_x509_crt_sign2(crt, ca ? ca : crt, ca ? ca_key : key, GNUTLS_DIG_SHA256, 0);
    if (code >= 0)
        code = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem);
    if (code >= 0)
        code = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &key_pem);
    ki_status status = KI_OK;
    if (code < 0) {
        status = failed(err, code, "a certificate");
    } else {
        char *text = take_pem(allocator, &pem), *key_text = take_pem(allocator, &key_pem);
        if (text && key_text) {
            *ret_pem = text;
            *ret_key_pem = key_text;
        } else {
            ki_free(allocator, text);
            if (key_text)
                ki_wipe(key_text, strlen(key_text));
            ki_free(allocator, key_text);
            status = ki_error_no_memory(err, "making a certificate");
        }
    }
    clear(&pem);
    clear(&key_pem);
    if (crt)
        gnutls_x509_crt_deinit(crt);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

static ki_status make_signed(const kt_tls *tls, const certificate_spec *w, char **ret_pem, char **ret_key_pem,
                             ki_error *err) {
    gnutls_x509_crt_t ca = NULL;
    gnutls_x509_privkey_t key = NULL;
    gnutls_datum_t pem = { (unsigned char *)tls->ca_pem, (unsigned)strlen(tls->ca_pem) };
    gnutls_datum_t key_pem = { (unsigned char *)tls->ca_key_pem, (unsigned)strlen(tls->ca_key_pem) };
    int code = gnutls_x509_crt_init(&ca);
    if (code >= 0)
        code = gnutls_x509_crt_import(ca, &pem, GNUTLS_X509_FMT_PEM);
    if (code >= 0)
        code = gnutls_x509_privkey_init(&key);
    if (code >= 0)
        code = gnutls_x509_privkey_import(key, &key_pem, GNUTLS_X509_FMT_PEM);
    ki_status status =
        code < 0 ? failed(err, code, "a certificate") : make(tls->allocator, w, ca, key, ret_pem, ret_key_pem, err);
    if (ca)
        gnutls_x509_crt_deinit(ca);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return status;
}

/* ---- the server's certificate ---- */

static void replace(const ki_allocator *allocator, char **place, char *text) {
    if (*place)
        ki_wipe(*place, strlen(*place));
    ki_free(allocator, *place);
    *place = text;
}

ki_status kt_tls_renew(kt_tls *tls, bool new_ca, ki_error *err) {
    static const certificate_spec of_ca = { FOR_CA, "kinformer-ca", { NULL, 0 }, NULL, YEAR_S };
    const certificate_spec of_server = { FOR_SERVER, "kinformer", { NULL, 0 }, tls->host, YEAR_S };
    kt_tls next = { .allocator = tls->allocator };
    ki_status status = KI_OK;
    if (!new_ca && !tls->ca_key_pem)
        return ki_error_set(err, KI_ERR_STATE, "the certificate came from files: there is no CA here to sign another");
    if (new_ca)
        status = make(tls->allocator, &of_ca, NULL, NULL, &next.ca_pem, &next.ca_key_pem, err);
    const kt_tls signer = { .allocator = tls->allocator,
                            .ca_pem = new_ca ? next.ca_pem : tls->ca_pem,
                            .ca_key_pem = new_ca ? next.ca_key_pem : tls->ca_key_pem };
    if (!status)
        status = make_signed(&signer, &of_server, &next.pem, &next.key_pem, err);
    if (!status && new_ca) {
        next.client_ca_pem = ki_strdup(tls->allocator, next.ca_pem);
        if (!next.client_ca_pem)
            status = ki_error_no_memory(err, "making a certificate");
    }
    if (status) {
        replace(tls->allocator, &next.ca_pem, NULL);
        replace(tls->allocator, &next.ca_key_pem, NULL);
        replace(tls->allocator, &next.pem, NULL);
        replace(tls->allocator, &next.key_pem, NULL);
        return status;
    }
    replace(tls->allocator, &tls->pem, next.pem);
    replace(tls->allocator, &tls->key_pem, next.key_pem);
    if (new_ca) {
        replace(tls->allocator, &tls->ca_pem, next.ca_pem);
        replace(tls->allocator, &tls->ca_key_pem, next.ca_key_pem);
        replace(tls->allocator, &tls->client_ca_pem, next.client_ca_pem);
    }
    return KI_OK;
}

static ki_status begin(const ki_allocator *allocator, const char *host, kt_tls **ret_tls, ki_error *err) {
    kt_tls *tls = ki_alloc_zero(allocator, sizeof *tls);
    if (tls) {
        tls->allocator = allocator;
        tls->host = ki_strdup(allocator, host);
    }
    if (!tls || (host && !tls->host)) {
        ki_free(allocator, tls);
        return ki_error_no_memory(err, "making a certificate");
    }
    *ret_tls = tls;
    return KI_OK;
}

ki_status kt_tls_make(const ki_allocator *allocator, const char *host, kt_tls **ret_tls, ki_error *err) {
    kt_tls *tls = NULL;
    ki_status status = begin(allocator, host, &tls, err);
    if (!status)
        status = kt_tls_renew(tls, true, err);
    if (status) {
        kt_tls_free(tls);
        return status;
    }
    *ret_tls = tls;
    return KI_OK;
}

static ki_status read_file(const ki_allocator *allocator, const char *path, char **ret_text, ki_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot read %s", path);
    size_t size = 0, capacity = 64 * 1024;
    char *text = ki_alloc(allocator, capacity + 1);
    ki_status status = text ? KI_OK : ki_error_no_memory(err, "reading a certificate");
    while (!status) {
        if (size == capacity) {
            char *more = capacity < KT_TLS_FILE_MAX ? ki_realloc_array(allocator, text, capacity * 2 + 1, 1) : NULL;
            if (!more) {
                status = capacity < KT_TLS_FILE_MAX ? ki_error_no_memory(err, "reading a certificate")
                                                    : ki_error_set(err, KI_ERR_LIMIT, "%s is larger than %d bytes",
                                                                   path, (int)KT_TLS_FILE_MAX);
                break;
            }
            text = more;
            capacity *= 2;
        }
        ssize_t got = read(fd, text + size, capacity - size);
        if (got < 0)
            status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot read %s", path);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    close(fd);
    if (!status && memchr(text, '\0', size))
        status = ki_error_set(err, KI_ERR_TLS, "%s is no PEM file", path);
    if (status) {
        if (text)
            ki_wipe(text, size);
        ki_free(allocator, text);
        return status;
    }
    text[size] = '\0';
    *ret_text = text;
    return KI_OK;
}

static ki_status check_pair(const kt_tls *tls, const char *certificate, const char *key, ki_error *err) {
    gnutls_certificate_credentials_t both = NULL;
    const gnutls_datum_t pem = { (unsigned char *)tls->pem, (unsigned)strlen(tls->pem) };
    const gnutls_datum_t key_pem = { (unsigned char *)tls->key_pem, (unsigned)strlen(tls->key_pem) };
    int code = gnutls_certificate_allocate_credentials(&both);
    if (code >= 0)
        code = gnutls_certificate_set_x509_key_mem2(both, &pem, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (both)
        gnutls_certificate_free_credentials(both);
    if (code >= 0)
        return KI_OK;
    return ki_error_set(err, KI_ERR_TLS, "cannot use the certificate %s with the key %s: %s", certificate, key,
                        gnutls_strerror(code));
}

ki_status kt_tls_load(const ki_allocator *allocator, const char *certificate, const char *key, const char *ca,
                      kt_tls **ret_tls, ki_error *err) {
    kt_tls *tls = NULL;
    ki_status status = begin(allocator, NULL, &tls, err);
    if (!status)
        status = read_file(allocator, certificate, &tls->pem, err);
    if (!status)
        status = read_file(allocator, key, &tls->key_pem, err);
    if (!status)
        status = check_pair(tls, certificate, key, err);
    if (!status)
        status = read_file(allocator, ca ? ca : certificate, &tls->ca_pem, err);
    if (!status && ca) {
        tls->client_ca_pem = ki_strdup(allocator, tls->ca_pem);
        if (!tls->client_ca_pem)
            status = ki_error_no_memory(err, "reading a certificate");
    }
    if (status) {
        kt_tls_free(tls);
        return status;
    }
    *ret_tls = tls;
    return KI_OK;
}

void kt_tls_free(kt_tls *tls) {
    if (!tls)
        return;
    const ki_allocator *allocator = tls->allocator;
    replace(allocator, &tls->ca_pem, NULL);
    replace(allocator, &tls->ca_key_pem, NULL);
    replace(allocator, &tls->pem, NULL);
    replace(allocator, &tls->key_pem, NULL);
    replace(allocator, &tls->client_ca_pem, NULL);
    replace(allocator, &tls->host, NULL);
    ki_free(allocator, tls);
}

/* ---- client certificates ---- */

ki_status kt_tls_issue(const kt_tls *tls, const char *user, const char *groups, int64_t seconds, char **ret_pem,
                       char **ret_key_pem, ki_error *err) {
    const certificate_spec of_client = { FOR_CLIENT, user, ki_str_of(groups), NULL, seconds };
    if (!tls->ca_key_pem)
        return ki_error_set(err, KI_ERR_STATE, "the certificate came from files: there is no CA here to sign others");
    if (!user[0] || strlen(user) > 64)
        return ki_error_set(err, KI_ERR_INVALID, "a user's name in a certificate has 1 to 64 bytes");
    return make_signed(tls, &of_client, ret_pem, ret_key_pem, err);
}

ki_status kt_tls_make_token(char *ret_text, size_t size, ki_error *err) {
    unsigned char bytes[20];
    int code = gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof bytes);
    if (code < 0)
        return failed(err, code, "a token");
    for (size_t i = 0; i < sizeof bytes && 2 * i + 3 <= size; i++)
        snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
    ki_wipe(bytes, sizeof bytes);
    return KI_OK;
}

/* Removes GnuTLS' escapes (RFC 4514). Returns false for a name that is no text (# and hex digits). */
static bool unescape(char *text, size_t *size) {
    size_t kept = 0;
    if (*size && text[0] == '#')
        return false;
    for (size_t i = 0; i < *size; i++) {
        if (text[i] == '\\' && i + 1 < *size)
            i++;
        text[kept++] = text[i];
    }
    text[kept] = '\0';
    *size = kept;
    return true;
}

/* Reads the name at `index` of one type, and advances `*at` past it. */
static bool next_name(gnutls_x509_crt_t crt, const char *oid, unsigned index, char **at, char *end, ki_str *ret_name) {
    size_t size = (size_t)(end - *at);
    if (gnutls_x509_crt_get_dn_by_oid(crt, oid, index, 0, *at, &size) < 0 || !unescape(*at, &size))
        return false;
    *ret_name = (ki_str){ *at, size };
    *at += size + 1;
    return *at < end;
}

static bool read_names(const gnutls_datum_t *der, char text[KT_TLS_USER_SIZE], kt_user *user) {
    gnutls_x509_crt_t crt = NULL;
    char *at = text, *end = text + KT_TLS_USER_SIZE;
    ki_str group;
    *user = (kt_user){ 0 };
    if (gnutls_x509_crt_init(&crt) < 0)
        return false;
    bool fine = gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER) >= 0 &&
                next_name(crt, GNUTLS_OID_X520_COMMON_NAME, 0, &at, end, &user->name) && user->name.size > 0;
    for (unsigned i = 0; fine && i + 1 < KT_GROUPS_MAX; i++) {
        if (!next_name(crt, GNUTLS_OID_X520_ORGANIZATION_NAME, i, &at, end, &group))
            break;
        kt_user_join(user, group);
    }
    gnutls_x509_crt_deinit(crt);
    return fine;
}

kt_peer kt_tls_peer(void *session, char text[KT_TLS_USER_SIZE], kt_user *ret_user) {
    char purpose_oid[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st wanted = { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose_oid };
    unsigned count = 0, why = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (!chain || !count)
        return KT_PEER_NONE;
    if (gnutls_certificate_verify_peers(session, &wanted, 1, &why) < 0 || why)
        return KT_PEER_BAD;
    return read_names(&chain[0], text, ret_user) ? KT_PEER_GOOD : KT_PEER_BAD;
}
