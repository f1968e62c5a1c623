/* test_certificate.c: from when until when a certificate is valid; whatever bytes stand in its place. */

#include "cli/doctor/validity.h"
#include "src/auth/certificate.h"
#include "src/base/base64.h"
#include "src/base/memory.h"
#include "tests/support/fixture.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DER_MAX = 256,
    S_2001_01_01 = 978307200,
    S_2020_01_01 = 1577836800,
    S_DAY = 86400
};
#define S_2100_01_01 ((int64_t)4102444800)
#define S_2120_01_01 ((int64_t)4733510400)

static char *read_file(const char *name) {
    char path[256];
    snprintf(path, sizeof path, KI_TEST_DATA_DIR "/tls/%s", name);
    return fixture_read(path, NULL);
}

static ki_status validity_of(const char *pem, ki_validity *ret) {
    return ki_certificate_validity(&ki_allocator_default, ki_str_of(pem), ret);
}

TEST(the_validity_of_real_certificates_is_read) {
    static const struct {
        const char *file;
        int64_t begins_s, ends_s;
    } cases[] = {
        { "client.pem", S_2020_01_01, S_2120_01_01 }, /* UTCTime, GeneralizedTime */
        { "ca.pem", S_2020_01_01, S_2120_01_01 },
        { "expired.pem", S_2001_01_01, S_2001_01_01 + S_DAY }, /* both UTCTime */
        { "later.pem", S_2100_01_01, S_2120_01_01 },           /* both GeneralizedTime */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *pem = read_file(cases[i].file);
        ki_validity found = { 0, 0 };
        assert_int_equal(validity_of(pem, &found), KI_OK);
        assert_int_equal(found.begins_s, cases[i].begins_s);
        assert_int_equal(found.ends_s, cases[i].ends_s);
        free(pem);
    }
}

/* The first certificate is the one that a client presents; a key can stand before it. */
TEST(the_first_certificate_counts) {
    char *key = read_file("expired.key"), *first = read_file("expired.pem"), *second = read_file("ca.pem"), *all;
    ki_validity found = { 0, 0 };
    assert_true(asprintf(&all, "%s%s%s", key, first, second) >= 0);
    assert_int_equal(validity_of(all, &found), KI_OK);
    assert_int_equal(found.ends_s, S_2001_01_01 + S_DAY);
    assert_int_equal(validity_of(key, &found), KI_ERR_PARSE);
    assert_int_equal(validity_of("", &found), KI_ERR_PARSE);
    free(key);
    free(first);
    free(second);
    free(all);
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static char *pem_of(const char *der, size_t size) {
    ki_buffer base64;
    char *pem;
    ki_buffer_init(&base64, &ki_allocator_default, 0);
    assert_int_equal(ki_base64_encode(&base64, (ki_str){ der, size }), KI_OK);
    assert_true(asprintf(&pem, "-----BEGIN CERTIFICATE-----\n%.*s\n-----END CERTIFICATE-----\n", (int)base64.size,
                         base64.data ? base64.data : "") >= 0);
    ki_buffer_free(&base64);
    return pem;
}

static size_t put(char *to, int tag, const char *data, size_t size) {
    assert_true(size < 0x80);
    to[0] = (char)tag;
    to[1] = (char)size;
    memcpy(to + 2, data, size);
    return size + 2;
}

/* A certificate of a serial number, empty names and key, and this Validity. */
static char *pem_with_validity(const char *validity, size_t size) {
    static const char before[] = "\x02\x01\x01\x30\x00\x30\x00", after[] = "\x30\x00\x30\x00";
    char body[DER_MAX], inner[DER_MAX], der[DER_MAX];
    size_t at = sizeof before - 1;
    memcpy(body, before, at);
    at += put(body + at, 0x30, validity, size);
    memcpy(body + at, after, sizeof after - 1);
    at = put(inner, 0x30, body, at + sizeof after - 1);
    return pem_of(der, put(der, 0x30, inner, at));
}

static ki_status validity_of_times(int tag, const char *time, ki_validity *ret) {
    char text[DER_MAX];
    size_t size = put(text, tag, time, strlen(time));
    size += put(text + size, 0x17, "491231235959Z", 13);
    char *pem = pem_with_validity(text, size);
    ki_status status = validity_of(pem, ret);
    free(pem);
    return status;
}

TEST(each_form_of_a_time_is_read_or_rejected) {
    enum {
        UTC = 0x17,
        GENERAL = 0x18
    };
    static const struct {
        int tag;
        const char *time;
        bool is_valid;
        int64_t seconds;
    } cases[] = {
        { UTC, "700101000000Z", true, 0 },
        { UTC, "700101000001Z", true, 1 },
        { UTC, "491231235959Z", true, INT64_C(2524607999) }, /* the last of a UTCTime: 2049 */
        { UTC, "500101000000Z", true, INT64_C(-631152000) }, /* the first: 1950 */
        { UTC, "000229120000Z", true, INT64_C(951825600) },  /* a leap day */
        { UTC, "010229120000Z", false, 0 },                  /* none */
        { UTC, "010431120000Z", false, 0 },
        { GENERAL, "19700101000000Z", true, 0 },
        { GENERAL, "20500101000000Z", true, INT64_C(2524608000) },
        { GENERAL, "99991231235959Z", true, INT64_C(253402300799) }, /* "no expiry" (RFC 5280 §4.1.2.5) */
        { GENERAL, "00010101000000Z", true, INT64_C(-62135596800) },
        { UTC, "7001010000Z", false, 0 },  /* without seconds */
        { UTC, "700101000000", false, 0 }, /* without a zone */
        { UTC, "700101000000+0000", false, 0 },
        { UTC, "19700101000000Z", false, 0 }, /* the other form */
        { GENERAL, "700101000000Z", false, 0 },
        { GENERAL, "19700101000000.5Z", false, 0 },
        { GENERAL, "19700101000000z", false, 0 },
        { GENERAL, "19700001000000Z", false, 0 },
        { GENERAL, "19701301000000Z", false, 0 },
        { GENERAL, "19700100000000Z", false, 0 },
        { GENERAL, "19700132000000Z", false, 0 },
        { GENERAL, "19700101240000Z", false, 0 },
        { GENERAL, "19700101006000Z", false, 0 },
        { GENERAL, "19700101000060Z", false, 0 },
        { GENERAL, "-9700101000000Z", false, 0 },
        { GENERAL, "1970 101000000Z", false, 0 },
        { GENERAL, "", false, 0 },
        { UTC, "", false, 0 },
        { UTC, "Z", false, 0 },
        { 0x16, "700101000000Z", false, 0 }, /* a text that is no time */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_validity found = { -7, -7 };
        ki_status status = validity_of_times(cases[i].tag, cases[i].time, &found);
        if (status != (cases[i].is_valid ? KI_OK : KI_ERR_PARSE) ||
            found.begins_s != (cases[i].is_valid ? cases[i].seconds : -7))
            fail_msg("%s: %d, %lld", cases[i].time, (int)status, (long long)found.begins_s);
    }
}

TEST(a_validity_has_two_times_and_nothing_more) {
    static const char one[] = "\x17\x0d"
                              "700101000000Z";
    char three[3 * sizeof one] = { 0 };
    ki_validity found;
    for (size_t count = 0; count <= 3; count++) {
        for (size_t i = 0; i < count; i++)
            memcpy(three + i * (sizeof one - 1), one, sizeof one - 1);
        char *pem = pem_with_validity(three, count * (sizeof one - 1));
        assert_int_equal(validity_of(pem, &found), count == 2 ? KI_OK : KI_ERR_PARSE);
        free(pem);
    }
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static ki_secret der_of(const char *name) {
    char *pem = read_file(name);
    ki_pem_block block;
    ki_secret der = { NULL, 0 };
    assert_true(ki_certificate_find(ki_str_of(pem), &block));
    assert_int_equal(ki_secret_decode_base64(&ki_allocator_default, block.body, &der, NULL), KI_OK);
    free(pem);
    return der;
}

/* The bytes are copied to memory of their exact size, where the address sanitizer sees a read past their end. */
static bool reads(const char *der, size_t size) {
    char *copy = malloc(size ? size : 1);
    ki_certificate certificate;
    assert_non_null(copy);
    memcpy(copy, der, size);
    bool is_read = ki_certificate_read((ki_str){ copy, size }, &certificate);
    free(copy);
    return is_read;
}

TEST(a_truncated_certificate_is_rejected) {
    ki_secret der = der_of("client.pem");
    ki_validity found = { -7, -7 };
    for (size_t size = 0; size < der.size; size++) {
        char *pem = pem_of(der.data, size);
        assert_false(reads(der.data, size));
        assert_int_equal(validity_of(pem, &found), KI_ERR_PARSE);
        free(pem);
    }
    assert_int_equal(found.begins_s, -7);
    ki_secret_clear(&ki_allocator_default, &der);
}

/* Each byte with each value: any result, but no read outside (the sanitizers). */
TEST(a_certificate_with_any_byte_changed_is_read_or_rejected) {
    ki_secret der = der_of("client.pem");
    size_t rejected = 0;
    for (size_t at = 0; at < der.size; at++) {
        char before = der.data[at];
        for (int value = 0; value < 256; value++) {
            der.data[at] = (char)value;
            rejected += !reads(der.data, der.size);
        }
        der.data[at] = before;
    }
    assert_true(rejected > 0);
    ki_secret_clear(&ki_allocator_default, &der);
}

TEST(a_length_beyond_the_bytes_is_rejected) {
    static const struct {
        const char *der;
        size_t size;
    } cases[] = {
        { "\x30\x80\x30\x00", 4 },         /* an indefinite length, which DER has not */
        { "\x30\x84\xff\xff\xff\xff", 6 }, /* four bytes of length */
        { "\x30\x83\xff\xff\xff\x00", 6 }, /* 16 MiB */
        { "\x30\xff", 2 },                 /* 127 bytes of length */
        { "\x30\x01", 2 },
        { "\x3f\x02\x30\x00", 4 },         /* a long tag */
        { "\x30\x04\x30\x7f\x02\x01", 6 }, /* longer inside than outside */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_false(reads(cases[i].der, cases[i].size));
}

TEST(memory_that_runs_out_is_an_error) {
    char *pem = read_file("client.pem");
    bool has_failed = true;
    for (size_t allowed = 0; has_failed; allowed++) {
        scarce_memory memory;
        ki_validity found = { -7, -7 };
        scarce_memory_init(&memory, allowed);
        ki_status status = ki_certificate_validity(&memory.allocator, ki_str_of(pem), &found);
        has_failed = scarce_memory_failed(&memory);
        assert_int_equal(status, has_failed ? KI_ERR_NO_MEMORY : KI_OK);
        assert_int_equal(scarce_memory_in_use(&memory), 0);
    }
    free(pem);
}
