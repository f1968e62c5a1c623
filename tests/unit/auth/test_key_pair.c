/* test_key_pair.c: a key that does not fit its certificate is found before anybody connects, whatever form the two
 * have. */

#include "src/auth/key_pair.h"
#include "src/base/memory.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *name) {
    char path[256];
    size_t size;
    snprintf(path, sizeof path, KI_TEST_DATA_DIR "/tls/%s", name);
    return fixture_read(path, &size);
}

static ki_key_pair look(const char *certificate, const char *key) {
    ki_key_pair pair = KI_KEY_PAIR_UNKNOWN;
    assert_int_equal(ki_key_pair_compare(&ki_allocator_default, ki_str_of(certificate), ki_str_of(key), &pair, NULL),
                     KI_OK);
    return pair;
}

TEST(a_key_of_each_kind_and_form_is_compared_with_its_certificate) {
    static const struct {
        const char *certificate, *key;
        ki_key_pair want;
    } cases[] = {
        { "client.pem", "client.key", KI_KEY_PAIR_FITS },
        { "client.pem", "client-old.key", KI_KEY_PAIR_FITS },
        { "client.pem", "client-private.key", KI_KEY_PAIR_UNKNOWN }, /* its point would have to be computed */
        { "client.pem", "server.key", KI_KEY_PAIR_DIFFERS },
        { "client.pem", "encrypted.key", KI_KEY_PAIR_UNKNOWN },
        { "client.pem", "encrypted-old.key", KI_KEY_PAIR_UNKNOWN },
        { "server.pem", "server.key", KI_KEY_PAIR_FITS },
        { "server.pem", "client-old.key", KI_KEY_PAIR_DIFFERS },
        { "server.pem", "rsa.key", KI_KEY_PAIR_DIFFERS },
        { "server.pem", "rsa-old.key", KI_KEY_PAIR_DIFFERS },
        { "server.pem", "p384.key", KI_KEY_PAIR_DIFFERS },
        { "rsa.pem", "rsa.key", KI_KEY_PAIR_FITS },
        { "rsa.pem", "rsa-old.key", KI_KEY_PAIR_FITS },
        { "rsa.pem", "other-rsa.key", KI_KEY_PAIR_DIFFERS },
        { "rsa.pem", "client.key", KI_KEY_PAIR_DIFFERS },
        { "rsa.pem", "client-private.key", KI_KEY_PAIR_DIFFERS },
        { "rsa.pem", "ed25519.key", KI_KEY_PAIR_DIFFERS },
        { "p384.pem", "p384.key", KI_KEY_PAIR_FITS },
        { "p384.pem", "p384-short.key", KI_KEY_PAIR_UNKNOWN }, /* a point in another form */
        { "p384.pem", "p384-hybrid.key", KI_KEY_PAIR_UNKNOWN },
        { "p384.pem", "client.key", KI_KEY_PAIR_DIFFERS },
        { "ed25519.pem", "ed25519.key", KI_KEY_PAIR_UNKNOWN },
        { "ed25519.pem", "rsa.key", KI_KEY_PAIR_DIFFERS },
        { "client.key", "client.key", KI_KEY_PAIR_NO_CERTIFICATE },
        { "client.key", "client.pem", KI_KEY_PAIR_NO_CERTIFICATE },
        { "client.pem", "client.pem", KI_KEY_PAIR_NO_KEY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *certificate = read_file(cases[i].certificate), *key = read_file(cases[i].key);
        ki_key_pair pair = look(certificate, key);
        if (pair != cases[i].want)
            fail_msg("%s, %s: %d", cases[i].certificate, cases[i].key, (int)pair);
        free(certificate);
        free(key);
    }
}

static char *join(const char *first, const char *second) {
    char *a = read_file(first), *b = read_file(second), *both = NULL;
    assert_true(asprintf(&both, "%s%s", a, b) >= 0);
    free(a);
    free(b);
    return both;
}

TEST(the_first_of_each_counts) {
    char *chain = join("client.pem", "ca.pem"), *one_file = join("client.key", "client.pem"),
         *wrong = join("ca.pem", "client.pem");
    assert_int_equal(look(chain, one_file), KI_KEY_PAIR_FITS);
    assert_int_equal(look(one_file, one_file), KI_KEY_PAIR_FITS);
    assert_int_equal(look(wrong, one_file), KI_KEY_PAIR_DIFFERS);
    free(chain);
    free(one_file);
    free(wrong);
}

/* -----BEGIN TYPE----- … */
static char *with_type(const char *name, const char *type) {
    static const char begin[] = "-----BEGIN CERTIFICATE-----", end[] = "-----END CERTIFICATE-----";
    char *text = read_file(name), *renamed = NULL;
    char *body = strstr(text, begin);
    assert_non_null(body);
    char *after = strstr(body, end);
    assert_non_null(after);
    *after = '\0';
    assert_true(asprintf(&renamed, "-----BEGIN %s-----%s-----END %s-----\n", type, body + sizeof begin - 1, type) >= 0);
    free(text);
    return renamed;
}

/* As OpenSSL does, which reads them for libcurl. */
TEST(a_certificate_has_any_of_its_three_names) {
    static const char *const types[] = { "X509 CERTIFICATE", "TRUSTED CERTIFICATE" };
    char *key = read_file("client.key"), *other = read_file("server.key"), *ca = read_file("ca.pem");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char *certificate = with_type("client.pem", types[i]), *chain = NULL, *one_file = NULL;
        assert_true(asprintf(&chain, "%s%s", certificate, ca) >= 0);
        assert_true(asprintf(&one_file, "%s%s", key, certificate) >= 0);
        assert_int_equal(look(chain, key), KI_KEY_PAIR_FITS);
        assert_int_equal(look(chain, other), KI_KEY_PAIR_DIFFERS);
        assert_int_equal(look(one_file, one_file), KI_KEY_PAIR_FITS);
        assert_false(ki_key_pair_is_key_alone(ki_str_of(one_file)));
        free(certificate);
        free(chain);
        free(one_file);
    }
    free(key);
    free(other);
    free(ca);
}

TEST(what_is_neither_is_left_to_the_connection) {
    static const char block[] = "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n";
    char *certificate = read_file("client.pem"), *key = read_file("client.key");
    assert_int_equal(look("", ""), KI_KEY_PAIR_UNKNOWN);
    assert_int_equal(look(certificate, "words"), KI_KEY_PAIR_UNKNOWN);
    assert_int_equal(look(block, key), KI_KEY_PAIR_UNKNOWN);
    assert_int_equal(look("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", key), KI_KEY_PAIR_UNKNOWN);
    free(certificate);
    free(key);
}

/* Under the sanitizers: no byte beyond the text is read, whatever its lengths say. */
TEST(any_cut_or_changed_byte_is_survived) {
    static const char *const pairs[][2] = { { "client.pem", "client.key" },
                                            { "rsa.pem", "rsa-old.key" },
                                            { "p384.pem", "p384.key" } };
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        char *texts[] = { read_file(pairs[p][0]), read_file(pairs[p][1]) };
        for (int which = 0; which < 2; which++) {
            for (size_t at = 0; texts[which][at]; at++) {
                char was = texts[which][at];
                for (const char *other = "A/8\n"; *other; other++) {
                    texts[which][at] = *other;
                    look(texts[0], texts[1]);
                }
                texts[which][at] = '\0';
                look(texts[0], texts[1]);
                texts[which][at] = was;
            }
        }
        assert_int_equal(look(texts[0], texts[1]), KI_KEY_PAIR_FITS);
        free(texts[0]);
        free(texts[1]);
    }
}

TEST(every_lack_of_memory_is_reported) {
    char *certificate = read_file("client.pem"), *key = read_file("client.key");
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_key_pair pair;
        ki_status status = ki_key_pair_compare(&memory.allocator, ki_str_of(certificate), ki_str_of(key), &pair, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
    }
    free(certificate);
    free(key);
}
