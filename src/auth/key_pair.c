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

typedef struct public_key {
    key_kind kind;
    ki_str value; /* RSA: the modulus without leading zeros; EC: the point; size 0: unknown */
} public_key;

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

static ki_str without_zeros(ki_str number) {
    while (number.size && number.data[0] == 0) {
        number.data++;
        number.size--;
    }
    return number;
}

/* Reads a bit string of whole bytes. */
static bool take_bits(ki_str *der, ki_str *ret_bytes) {
    ki_str bits;
    if (!ki_der_take(der, KI_DER_BIT_STRING, &bits) || bits.size < 2 || bits.data[0] != 0)
        return false;
    *ret_bytes = (ki_str){ bits.data + 1, bits.size - 1 };
    return true;
}

/* Reads a certificate's public key. */
static bool read_certificate(ki_str der, public_key *ret_key) {
    ki_certificate certificate;
    ki_str algorithm, bits;
    if (!ki_certificate_read(der, &certificate) || !ki_der_take(&certificate.public_key, KI_DER_SEQUENCE, &algorithm) ||
        !take_bits(&certificate.public_key, &bits))
        return false;
    public_key key = { kind_of(algorithm), bits };
    if (key.kind == KEY_RSA) {
        ki_str numbers, modulus;
        if (!ki_der_take(&bits, KI_DER_SEQUENCE, &numbers) || !ki_der_take(&numbers, KI_DER_INTEGER, &modulus))
            return false;
        key.value = without_zeros(modulus);
    }
    *ret_key = key;
    return true;
}

/* Reads an RSAPrivateKey (RFC 8017 §A.1.2). */
static bool read_rsa(ki_str der, public_key *ret_key) {
    ki_str numbers, version, modulus;
    if (!ki_der_take(&der, KI_DER_SEQUENCE, &numbers) || !ki_der_take(&numbers, KI_DER_INTEGER, &version) ||
        !ki_der_take(&numbers, KI_DER_INTEGER, &modulus))
        return false;
    *ret_key = (public_key){ KEY_RSA, without_zeros(modulus) };
    return true;
}

/* Reads an ECPrivateKey (RFC 5915 §3); its public point is optional. */
static bool read_ec(ki_str der, public_key *ret_key) {
    ki_str fields, skipped, point;
    if (!ki_der_take(&der, KI_DER_SEQUENCE, &fields) || !ki_der_take(&fields, KI_DER_INTEGER, &skipped) ||
        !ki_der_take(&fields, KI_DER_OCTET_STRING, &skipped))
        return false;
    ki_der_take(&fields, KI_DER_CONTEXT_0, &skipped);
    *ret_key = (public_key){ KEY_EC, { NULL, 0 } };
    if (ki_der_take(&fields, KI_DER_CONTEXT_1, &skipped) && take_bits(&skipped, &point))
        ret_key->value = point;
    return true;
}

/* Reads a PrivateKeyInfo (RFC 5958 §2) around an RSA key, an EC key or another key. */
static bool read_wrapped(ki_str der, public_key *ret_key) {
    ki_str fields, version, algorithm, inner;
    if (!ki_der_take(&der, KI_DER_SEQUENCE, &fields) || !ki_der_take(&fields, KI_DER_INTEGER, &version) ||
        !ki_der_take(&fields, KI_DER_SEQUENCE, &algorithm) || !ki_der_take(&fields, KI_DER_OCTET_STRING, &inner))
        return false;
    switch (kind_of(algorithm)) {
    case KEY_RSA:
        return read_rsa(inner, ret_key);
    case KEY_EC:
        return read_ec(inner, ret_key);
    case KEY_OTHER:
        break;
    }
    *ret_key = (public_key){ KEY_OTHER, { NULL, 0 } };
    return true;
}

static bool read_key(ki_str type, ki_str der, public_key *ret_key) {
    if (ki_str_equals(type, "RSA PRIVATE KEY"))
        return read_rsa(der, ret_key);
    if (ki_str_equals(type, "EC PRIVATE KEY"))
        return read_ec(der, ret_key);
    return ki_str_equals(type, "PRIVATE KEY") && read_wrapped(der, ret_key);
}

/* Returns true for the uncompressed and the hybrid form (X9.62), by the first byte. */
static bool has_both_coordinates(ki_str point) {
    return point.data[0] == 4 || point.data[0] == 6 || point.data[0] == 7;
}

/* Compares two points. If one of them has one coordinate only, compares that: it determines the point except for the
 * sign. */
static bool is_same_point(ki_str a, ki_str b) {
    bool both_of_a = has_both_coordinates(a), both_of_b = has_both_coordinates(b);
    size_t of_a = both_of_a ? (a.size - 1) / 2 : a.size - 1, of_b = both_of_b ? (b.size - 1) / 2 : b.size - 1;
    if (a.data[0] == b.data[0])
        return ki_str_equal(a, b);
    return of_a == of_b && memcmp(a.data + 1, b.data + 1, both_of_a && both_of_b ? 2 * of_a : of_a) == 0;
}

static ki_key_pair compare(const public_key *a, const public_key *b) {
    if (a->kind != b->kind)
        return KI_KEY_PAIR_DIFFERS;
    if (a->kind == KEY_OTHER || !a->value.size || !b->value.size)
        return KI_KEY_PAIR_UNKNOWN;
    bool is_same = a->kind == KEY_EC ? is_same_point(a->value, b->value) : ki_str_equal(a->value, b->value);
    return is_same ? KI_KEY_PAIR_FITS : KI_KEY_PAIR_DIFFERS;
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
    public_key a, b;
    if (!status && read_certificate((ki_str){ one.data, one.size }, &a) &&
        read_key(key_block.type, (ki_str){ two.data, two.size }, &b))
        *ret_pair = compare(&a, &b);
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
    ki_status status = ki_key_pair_compare(allocator, (ki_str){ certificate->data, certificate->size },
                                           (ki_str){ key->data, key->size }, &pair, err);
    if (status)
        return status;
    const char *certificate_file = config->client_certificate_file.data, *key_file = config->client_key_file.data;
    if (!certificate_file)
        certificate_file = "the data";
    if (!key_file)
        key_file = "the data";
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
