/* key_pair.c: reads the public key from a certificate and from a private key, in DER. Computes nothing: a key without
 * its public part is unknown. */
#include "src/auth/key_pair.h"

#include "src/auth/pem.h"
#include "src/base/error.h"

enum {
    TAG_INTEGER = 0x02,
    TAG_BIT_STRING = 0x03,
    TAG_OCTET_STRING = 0x04,
    TAG_OBJECT_ID = 0x06,
    TAG_SEQUENCE = 0x30,
    TAG_CONTEXT_0 = 0xa0, /* a certificate's version; an EC key's curve */
    TAG_CONTEXT_1 = 0xa1  /* an EC key's public point */
};

typedef enum key_kind {
    KEY_OTHER,
    KEY_RSA,
    KEY_EC
} key_kind;

typedef struct public_key {
    key_kind kind;
    ki_str value; /* RSA: the modulus without leading zeros; EC: the point; size 0: unknown */
} public_key;

/* --- DER ---------------------------------------------------------------------------------------------------------- */

/* Reads the value at the beginning of `*der` and advances. Returns its tag, or -1 if it is incomplete. */
static int next_value(ki_str *der, ki_str *ret_value) {
    if (der->size < 2)
        return -1;
    const unsigned char *bytes = (const unsigned char *)der->data;
    size_t length = bytes[1], head = 2;
    if (length & 0x80) {
        size_t count = length & 0x7f;
        if (count == 0 || count > 3 || der->size < 2 + count)
            return -1;
        length = 0;
        for (size_t i = 0; i < count; i++)
            length = length << 8 | bytes[2 + i];
        head += count;
    }
    if (length > der->size - head)
        return -1;
    *ret_value = (ki_str){ der->data + head, length };
    *der = (ki_str){ der->data + head + length, der->size - head - length };
    return bytes[0];
}

static bool take(ki_str *der, int tag, ki_str *ret_value) {
    ki_str rest = *der;
    if (next_value(&rest, ret_value) != tag)
        return false;
    *der = rest;
    return true;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static key_kind kind_of(ki_str algorithm) {
    static const char rsa[] = "\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"; /* 1.2.840.113549.1.1.1 */
    static const char ec[] = "\x2a\x86\x48\xce\x3d\x02\x01";          /* 1.2.840.10045.2.1 */
    ki_str id;
    if (!take(&algorithm, TAG_OBJECT_ID, &id))
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
    if (!take(der, TAG_BIT_STRING, &bits) || bits.size < 2 || bits.data[0] != 0)
        return false;
    *ret_bytes = (ki_str){ bits.data + 1, bits.size - 1 };
    return true;
}

/* Reads a certificate's public key (RFC 5280 §4.1). */
static bool read_certificate(ki_str der, public_key *ret_key) {
    ki_str certificate, body, info, algorithm, bits, skipped;
    if (!take(&der, TAG_SEQUENCE, &certificate) || !take(&certificate, TAG_SEQUENCE, &body))
        return false;
    take(&body, TAG_CONTEXT_0, &skipped);
    if (!take(&body, TAG_INTEGER, &skipped)) /* serial number */
        return false;
    for (int i = 0; i < 4; i++) { /* signature algorithm, issuer, validity, subject */
        if (!take(&body, TAG_SEQUENCE, &skipped))
            return false;
    }
    if (!take(&body, TAG_SEQUENCE, &info) || !take(&info, TAG_SEQUENCE, &algorithm) || !take_bits(&info, &bits))
        return false;
    public_key key = { kind_of(algorithm), bits };
    if (key.kind == KEY_RSA) {
        ki_str numbers, modulus;
        if (!take(&bits, TAG_SEQUENCE, &numbers) || !take(&numbers, TAG_INTEGER, &modulus))
            return false;
        key.value = without_zeros(modulus);
    }
    *ret_key = key;
    return true;
}

/* Reads an RSAPrivateKey (RFC 8017 §A.1.2). */
static bool read_rsa(ki_str der, public_key *ret_key) {
    ki_str numbers, version, modulus;
    if (!take(&der, TAG_SEQUENCE, &numbers) || !take(&numbers, TAG_INTEGER, &version) ||
        !take(&numbers, TAG_INTEGER, &modulus))
        return false;
    *ret_key = (public_key){ KEY_RSA, without_zeros(modulus) };
    return true;
}

/* Reads an ECPrivateKey (RFC 5915 §3); its public point is optional. */
static bool read_ec(ki_str der, public_key *ret_key) {
    ki_str fields, skipped, point;
    if (!take(&der, TAG_SEQUENCE, &fields) || !take(&fields, TAG_INTEGER, &skipped) ||
        !take(&fields, TAG_OCTET_STRING, &skipped))
        return false;
    take(&fields, TAG_CONTEXT_0, &skipped);
    *ret_key = (public_key){ KEY_EC, { NULL, 0 } };
    if (take(&fields, TAG_CONTEXT_1, &skipped) && take_bits(&skipped, &point))
        ret_key->value = point;
    return true;
}

/* Reads a PrivateKeyInfo (RFC 5958 §2) around an RSA key, an EC key or another key. */
static bool read_wrapped(ki_str der, public_key *ret_key) {
    ki_str fields, version, algorithm, inner;
    if (!take(&der, TAG_SEQUENCE, &fields) || !take(&fields, TAG_INTEGER, &version) ||
        !take(&fields, TAG_SEQUENCE, &algorithm) || !take(&fields, TAG_OCTET_STRING, &inner))
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

/* Returns true for the types that OpenSSL accepts as a certificate. Data after the certificate in the last type is
 * ignored. */
static bool is_certificate(ki_str type) {
    return ki_str_equals(type, "CERTIFICATE") || ki_str_equals(type, "X509 CERTIFICATE") ||
           ki_str_equals(type, "TRUSTED CERTIFICATE");
}

static bool find_block(ki_str pem, bool want_key, ki_pem_block *ret_block) {
    while (ki_pem_next(&pem, ret_block)) {
        if (want_key ? is_private(ret_block->type) : is_certificate(ret_block->type))
            return true;
    }
    return false;
}

ki_status ki_key_pair_compare(const ki_allocator *allocator, ki_str certificate, ki_str key, ki_key_pair *ret_pair,
                              ki_error *err) {
    ki_pem_block certificate_block, key_block;
    bool has_certificate = find_block(certificate, false, &certificate_block);
    bool has_key = find_block(key, true, &key_block);
    *ret_pair = KI_KEY_PAIR_UNKNOWN;
    if (ki_key_pair_is_key_alone(certificate))
        *ret_pair = KI_KEY_PAIR_NO_CERTIFICATE;
    else if (!has_key && find_block(key, false, &key_block))
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
    return find_block(pem, true, &block) && !find_block(pem, false, &block);
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
