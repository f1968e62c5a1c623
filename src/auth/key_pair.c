/* key_pair.c: reads the public key from a certificate and from a private key, in DER. Computes nothing: a key without
 * its public part is unknown. */
#include "src/auth/key_pair.h"

#include "src/auth/certificate.h"
#include "src/auth/der.h"
#include "src/base/error.h"

typedef enum key_kind {
    KEY_OTHER,
    KEY_RSA,
    KEY_EC
} key_kind;

/* --- keys --------------------------------------------------------------------------------------------------------- */

static key_kind kind_of(ki_str algorithm) {
    static const char rsa[] = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"; /* 1.2.840.113549.1.1.1 */
    static const char ec[] = "\x2a\x86\x48\xce\x3d\x02\x01";          /* 1.2.840.10045.2.1 */
    ki_str id;
    if (!ki_der_take(&algorithm, KI_DER_OBJECT_ID, &id))
        return KEY_OTHER;
    if (ki_str_equal(id, (ki_str){ rsa, sizeof rsa - 1 }))
        return KEY_RSA;
    return ki_str_equal(id, (ki_str){ ec, sizeof ec - 1 }) ? KEY_EC : KEY_OTHER;
}

/* Reads a bit string of whole bytes. */
static bool take_bits(ki_str *der, ki_str *ret_bytes) {
    ki_str bits;
    if (!ki_der_take(der, KI_DER_BIT_STRING, &bits) || bits.size < 2 || bits.data[0] != 0)
        return false;
    *ret_bytes = (ki_str){ bits.data + 1, bits.size - 1 };
    return true;
}

/* Reads a certificate's public key: the modulus of RSA, as its key has it, too; else all of the key. */
static bool read_certificate(ki_str der, key_kind *ret_kind, ki_str *ret_key) {
    ki_certificate certificate;
    ki_str algorithm, numbers;
    if (!ki_certificate_read(der, &certificate) || !ki_der_take(&certificate.public_key, KI_DER_SEQUENCE, &algorithm) ||
        !take_bits(&certificate.public_key, ret_key))
        return false;
    *ret_kind = kind_of(algorithm);
    return *ret_kind != KEY_RSA ||
           (ki_der_take(ret_key, KI_DER_SEQUENCE, &numbers) && ki_der_take(&numbers, KI_DER_INTEGER, ret_key));
}

/* Reads the kind of a private key, and takes it out of a PrivateKeyInfo (RFC 5958 §2). */
static bool unwrap(ki_str type, ki_str *der, key_kind *ret_kind) {
    ki_str fields, version, algorithm;
    *ret_kind = ki_str_equals(type, "RSA PRIVATE KEY") ? KEY_RSA : KEY_EC;
    if (*ret_kind == KEY_RSA || ki_str_equals(type, "EC PRIVATE KEY"))
        return true;
    if (!ki_str_equals(type, "PRIVATE KEY") || !ki_der_take(der, KI_DER_SEQUENCE, &fields) ||
        !ki_der_take(&fields, KI_DER_INTEGER, &version) || !ki_der_take(&fields, KI_DER_SEQUENCE, &algorithm) ||
        !ki_der_take(&fields, KI_DER_OCTET_STRING, der))
        return false;
    *ret_kind = kind_of(algorithm);
    return true;
}

/* Returns the public point of an ECPrivateKey (RFC 5915 §3), which is optional. */
static ki_str point_of(ki_str der) {
    ki_str fields, skipped, point = { NULL, 0 };
    if (ki_der_take(&der, KI_DER_SEQUENCE, &fields) && ki_der_take(&fields, KI_DER_INTEGER, &skipped) &&
        ki_der_take(&fields, KI_DER_OCTET_STRING, &skipped)) {
        ki_der_take(&fields, KI_DER_CONTEXT_0, &skipped);
        if (ki_der_take(&fields, KI_DER_CONTEXT_1, &skipped))
            (void)take_bits(&skipped, &point);
    }
    return point;
}

static ki_key_pair compare(ki_str certificate, ki_str type, ki_str key) {
    key_kind kind, other;
    ki_str public_key;
    if (!read_certificate(certificate, &kind, &public_key) || !unwrap(type, &key, &other))
        return KI_KEY_PAIR_UNKNOWN;
    if (kind != other)
        return KI_KEY_PAIR_DIFFERS;
    if (kind == KEY_RSA && key.size && public_key.size)
        return memmem(key.data, key.size, public_key.data, public_key.size) ? KI_KEY_PAIR_FITS : KI_KEY_PAIR_DIFFERS;
    ki_str point = kind == KEY_EC ? point_of(key) : (ki_str){ NULL, 0 };
    if (!point.size || point.data[0] != public_key.data[0]) /* no point, or in another form (X9.62) */
        return KI_KEY_PAIR_UNKNOWN;
    return ki_str_equal(point, public_key) ? KI_KEY_PAIR_FITS : KI_KEY_PAIR_DIFFERS;
}

/* --- public ------------------------------------------------------------------------------------------------------- */

static bool is_private(ki_str type) {
    static const char end[] = "PRIVATE KEY";
    size_t size = sizeof end - 1;
    return type.size >= size && memcmp(type.data + type.size - size, end, size) == 0;
}

static bool find_key(ki_str pem, ki_pem_block *ret_block) {
    while (ki_pem_next(&pem, ret_block)) {
        if (is_private(ret_block->type))
            return true;
    }
    return false;
}

ki_status ki_key_pair_compare(const ki_allocator *allocator, ki_str certificate, ki_str key, ki_key_pair *ret_pair,
                              ki_error *err) {
    ki_pem_block certificate_block, key_block;
    bool has_certificate = ki_certificate_find(certificate, &certificate_block);
    bool has_key = find_key(key, &key_block);
    *ret_pair = KI_KEY_PAIR_UNKNOWN;
    if (ki_key_pair_is_key_alone(certificate))
        *ret_pair = KI_KEY_PAIR_NO_CERTIFICATE;
    else if (!has_key && ki_certificate_find(key, &key_block))
        *ret_pair = KI_KEY_PAIR_NO_KEY;
    if (!has_certificate || !has_key)
        return KI_OK;
    ki_secret one = { NULL, 0 }, two = { NULL, 0 };
    ki_status status = ki_secret_decode_base64(allocator, certificate_block.body, &one, NULL);
    if (!status)
        status = ki_secret_decode_base64(allocator, key_block.body, &two, NULL);
    if (!status)
        *ret_pair = compare(ki_secret_text(&one), key_block.type, ki_secret_text(&two));
    ki_secret_clear(allocator, &one);
    ki_secret_clear(allocator, &two);
    return status == KI_ERR_NO_MEMORY ? ki_error_no_memory(err, "reading a key") : KI_OK;
}

bool ki_key_pair_is_key_alone(ki_str pem) {
    ki_pem_block block;
    return find_key(pem, &block) && !ki_certificate_find(pem, &block);
}

ki_status ki_key_pair_check(const ki_allocator *allocator, const ki_config *config, const ki_secret *certificate,
                            const ki_secret *key, ki_error *err) {
    if (!certificate->data || !key->data)
        return KI_OK;
    ki_key_pair pair;
    ki_status status = ki_key_pair_compare(allocator, ki_secret_text(certificate), ki_secret_text(key), &pair, err);
    if (status)
        return status;
    const char *certificate_file = ki_secret_file(&config->client_certificate_file);
    const char *key_file = ki_secret_file(&config->client_key_file);
    switch (pair) {
    case KI_KEY_PAIR_UNKNOWN:
    case KI_KEY_PAIR_FITS:
        break;
    case KI_KEY_PAIR_DIFFERS:
        return ki_error_set(err, KI_ERR_CONFIG,
                            "client-key: %s is not the key of client-certificate (%s); use a certificate and a key "
                            "that were issued together",
                            key_file, certificate_file);
    case KI_KEY_PAIR_NO_CERTIFICATE:
        return ki_error_set(
            err, KI_ERR_CONFIG,
            "client-certificate: %s has a private key and no certificate; check that client-certificate "
            "and client-key are not swapped",
            certificate_file);
    case KI_KEY_PAIR_NO_KEY:
        return ki_error_set(err, KI_ERR_CONFIG,
                            "client-key: %s has a certificate and no private key; use the key of the certificate",
                            key_file);
    }
    return KI_OK;
}
