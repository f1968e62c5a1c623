/* certificates.c: a certificate and a key. The first two bytes are the size of the certificate, the third the form: PEM
 * as it is (0), or the DER of blocks of some types. */
#include "fuzz/fuzz.h"

#include "cli/doctor/validity.h"
#include "src/auth/certificate.h"
#include "src/auth/der.h"
#include "src/auth/key_pair.h"
#include "src/base/base64.h"
#include "src/base/memory.h"

enum {
    HEAD = 3
};

static bool is_inside(ki_str part, ki_str whole) {
    return !part.data || (part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

/* --- DER ---------------------------------------------------------------------------------------------------------- */

static void check_der(ki_str der) {
    ki_certificate certificate = { { NULL, 0 }, { NULL, 0 } };
    ki_str rest = der, value = { NULL, 0 };
    bool is_whole = ki_der_check(&rest);
    fuzz_check(is_inside(rest, der));
    rest = der;
    for (size_t before = rest.size; ki_der_next(&rest, &value) >= 0; before = rest.size)
        fuzz_check(is_inside(value, der) && rest.size < before);
    rest = der;
    fuzz_check(!is_whole || ki_der_next(&rest, &value) >= 0);
    if (ki_certificate_read(der, &certificate))
        fuzz_check(is_inside(certificate.validity, der) && is_inside(certificate.public_key, der));
}

/* Writes a block of PEM. */
static void write_pem(ki_buffer *out, const char *type, ki_str der) {
    ki_buffer_printf(out, "-----BEGIN %s-----\n", type);
    fuzz_check(!ki_base64_encode(out, der));
    fuzz_check(!ki_buffer_printf(out, "\n-----END %s-----\n", type));
}

/* --- PEM ---------------------------------------------------------------------------------------------------------- */

/* The certificates that are copied are found again, and nothing else. */
static void check_pem(ki_str pem) {
    ki_secret first = { NULL, 0 }, second = { NULL, 0 };
    size_t count = 0, skipped = 0, count_again = 0, skipped_again = 0, blocks = 0;
    ki_pem_block block;
    for (ki_str rest = pem; ki_pem_next(&rest, &block); blocks++) {
        fuzz_check(is_inside(block.all, pem) && is_inside(block.type, block.all) && is_inside(block.body, block.all));
        fuzz_check(is_inside(rest, pem));
    }
    fuzz_check(ki_pem_has_block(pem) == (blocks > 0));
    fuzz_check(!ki_pem_certificates(&ki_allocator_default, pem, &first, &count, &skipped, NULL));
    fuzz_check(count + skipped <= blocks && (first.data != NULL) == (count > 0));
    if (first.data) {
        const ki_str copied = { first.data, first.size };
        fuzz_check(!ki_pem_certificates(&ki_allocator_default, copied, &second, &count_again, &skipped_again, NULL));
        fuzz_check(count_again == count && skipped_again == 0 && second.size == first.size);
        fuzz_check(memcmp(first.data, second.data, first.size) == 0);
    }
    ki_secret_clear(&ki_allocator_default, &first);
    ki_secret_clear(&ki_allocator_default, &second);
}

static void check_pair(ki_str certificate, ki_str key) {
    ki_key_pair pair = KI_KEY_PAIR_UNKNOWN, again = KI_KEY_PAIR_FITS;
    ki_validity validity;
    ki_pem_block block;
    ki_status status = ki_certificate_validity(&ki_allocator_default, certificate, &validity);
    fuzz_check(status == KI_OK || status == KI_ERR_PARSE);
    fuzz_check(status || ki_certificate_find(certificate, &block));
    fuzz_check(!ki_key_pair_compare(&ki_allocator_default, certificate, key, &pair, NULL));
    fuzz_check(!ki_key_pair_compare(&ki_allocator_default, certificate, key, &again, NULL) && pair == again);
    fuzz_check(pair != KI_KEY_PAIR_FITS || !ki_key_pair_is_key_alone(certificate));
    (void)ki_pem_is_encrypted(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[][2] = { { "CERTIFICATE", "PRIVATE KEY" },
                                            { "CERTIFICATE", "EC PRIVATE KEY" },
                                            { "X509 CERTIFICATE", "RSA PRIVATE KEY" },
                                            { "TRUSTED CERTIFICATE", "ENCRYPTED PRIVATE KEY" } };
    if (size < HEAD)
        return 0;
    size_t left = size - HEAD, first_size = (size_t)(data[0] << 8 | data[1]);
    ki_str first = { (const char *)data + HEAD, first_size < left ? first_size : left };
    ki_str second = { first.data + first.size, left - first.size };
    unsigned form = data[2] % 5;
    if (!form) {
        check_pem(first);
        check_pair(first, second);
        return 0;
    }
    check_der(first);
    check_der(second);
    ki_buffer certificate, key;
    ki_buffer_init(&certificate, &ki_allocator_default, 0);
    ki_buffer_init(&key, &ki_allocator_default, 0);
    write_pem(&certificate, types[form - 1][0], first);
    write_pem(&key, types[form - 1][1], second);
    check_pem((ki_str){ certificate.data, certificate.size });
    check_pair((ki_str){ certificate.data, certificate.size }, (ki_str){ key.data, key.size });
    ki_buffer_free(&certificate);
    ki_buffer_free(&key);
    return 0;
}
