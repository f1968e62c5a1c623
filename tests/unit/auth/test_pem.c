/* test_pem.c: certificates are found among what else a file has, and a garbled one does not spoil the others. */

#include "src/auth/pem.h"
#include "src/base/memory.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>

static char good[8192]; /* a certificate */
static char key[8192];

static void read_text(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t count = fread(text, 1, size - 1, file);
    fclose(file);
    assert_true(count > 0);
    text[count] = '\0';
}

static void check(const char *what, const char *pem, size_t want, size_t want_skipped) {
    ki_secret out = { NULL, 0 };
    size_t count = 99, skipped = 99;
    assert_int_equal(ki_pem_certificates(&ki_allocator_default, ki_str_of(pem), &out, &count, &skipped, NULL), KI_OK);
    if (count != want || skipped != want_skipped)
        fail_msg("%s: %zu, %zu left out", what, count, skipped);
    assert_int_equal(out.data == NULL, want == 0);
    size_t found = 0;
    for (const char *at = out.data; at && (at = strstr(at, "BEGIN CERTIFICATE")) != NULL; at++)
        found++;
    assert_int_equal(found, want);
    ki_secret_clear(&ki_allocator_default, &out);
}

TEST(each_certificate_is_judged_alone) {
    char pem[40000];
    check("nothing", "", 0, 0);
    check("one", good, 1, 0);
    check("text", "no PEM at all\n", 0, 0);
    snprintf(pem, sizeof pem, "some words\n%s\nmore words\n%s", good, good);
    check("words between", pem, 2, 0);
    snprintf(pem, sizeof pem, "%s%s%s", good, key, good);
    check("a key between", pem, 2, 0);
    static const char *const bad[] = {
        "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIBIjCB\n-----END CERTIFICATE-----\n",         /* cut short */
        "-----BEGIN CERTIFICATE-----\nBQAAAAAA\n-----END CERTIFICATE-----\n",         /* no sequence */
        "-----BEGIN CERTIFICATE-----\nMAMCAQEA\n-----END CERTIFICATE-----\n",         /* something after it */
        "-----BEGIN CERTIFICATE-----\nX: y\n\nMAMCAQE=\n-----END CERTIFICATE-----\n", /* headers */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check(bad[i], bad[i], 0, 1);
        snprintf(pem, sizeof pem, "%s%s%s", good, bad[i], good);
        check(bad[i], pem, 2, 1);
    }
    snprintf(pem, sizeof pem, "-----BEGIN CERTIFICATE-----\nMIIB\n%s", good);
    check("one without its end", pem, 1, 0);
    snprintf(pem, sizeof pem, "%s-----BEGIN CERTIFICATE-----\nMIIB\n", good);
    check("the last without its end", pem, 1, 0);
    snprintf(pem, sizeof pem, "%s", good);
    strstr(pem, "BEGIN")[120] ^= 1;
    check("a letter that is another one", pem, 1, 0); /* its DER may be whole: the handshake will tell */
    assert_true(ki_pem_has_block(ki_str_of(key)));
    assert_false(ki_pem_has_block(ki_str_of("-----BEGIN X-----\nabc")));
    assert_false(ki_pem_has_block((ki_str){ NULL, 0 }));
}

TEST(beginnings_without_an_end_are_skipped) {
    enum {
        SIZE = 256 * 1024
    };
    static const char *const lines[] = { "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----",
                                         "-----BEGIN " };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t count = SIZE / strlen(lines[i]);
        char *pem = malloc(SIZE + sizeof good + 1);
        assert_non_null(pem);
        for (size_t line = 0; line < count; line++)
            memcpy(pem + line * strlen(lines[i]), lines[i], strlen(lines[i]));
        snprintf(pem + count * strlen(lines[i]), sizeof good + 1, "\n%s", good);
        check("beginnings and a certificate", pem, 1, 0);
        free(pem);
    }
}

TEST(a_key_with_a_password_is_known_by_its_head) {
    static const struct {
        const char *file;
        bool is_encrypted;
    } cases[] = {
        { "client.key", false }, { "client.pem", false }, { "encrypted.key", true }, { "encrypted-old.key", true }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[256], text[8192], more[16384];
        snprintf(path, sizeof path, KI_TEST_DATA_DIR "/tls/%s", cases[i].file);
        read_text(path, text, sizeof text);
        snprintf(more, sizeof more, "%s%s", good, text);
        if (ki_pem_is_encrypted(ki_str_of(text)) != cases[i].is_encrypted ||
            ki_pem_is_encrypted(ki_str_of(more)) != cases[i].is_encrypted)
            fail_msg("%s", path);
    }
    assert_false(ki_pem_is_encrypted((ki_str){ NULL, 0 }));
    assert_false(ki_pem_is_encrypted(ki_str_of("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHs")));
}

TEST(any_cut_or_changed_byte_is_survived) {
    size_t size = strlen(good);
    for (size_t at = 0; at < size; at++) {
        char pem[8192];
        memcpy(pem, good, size + 1);
        pem[at] = (char)(pem[at] ^ 0x15);
        ki_secret out = { NULL, 0 };
        size_t count = 0, skipped = 0;
        assert_int_equal(
            ki_pem_certificates(&ki_allocator_default, (ki_str){ pem, size }, &out, &count, &skipped, NULL), KI_OK);
        ki_secret_clear(&ki_allocator_default, &out);
        assert_int_equal(ki_pem_certificates(&ki_allocator_default, (ki_str){ good, at }, &out, &count, &skipped, NULL),
                         KI_OK);
        ki_secret_clear(&ki_allocator_default, &out);
    }
}

TEST(every_lack_of_memory_is_reported) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        ki_secret out = { NULL, 0 };
        size_t count = 0, skipped = 0;
        ki_status status = ki_pem_certificates(&memory.allocator, ki_str_of(good), &out, &count, &skipped, NULL);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        ki_secret_clear(&memory.allocator, &out);
    }
}

static int read_files(void **state) {
    (void)state;
    read_text(KI_TEST_DATA_DIR "/tls/ca.pem", good, sizeof good);
    read_text(KI_TEST_DATA_DIR "/tls/client.key", key, sizeof key);
    return 0;
}

TEST_GROUP(pem, read_files, NULL);
