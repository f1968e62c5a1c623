/* pem.c: finds the blocks between BEGIN and END lines. */
#include "src/auth/pem.h"

#include "src/auth/der.h"
#include "src/base/error.h"

static const char begin_mark[] = "-----BEGIN ";
static const char end_mark[] = "-----END ";
static const char dashes[] = "-----";

static const char *find(ki_str text, const char *what) {
    return text.size ? memmem(text.data, text.size, what, strlen(what)) : NULL;
}

static ki_str from(ki_str text, const char *at) {
    return (ki_str){ at, text.size - (size_t)(at - text.data) };
}

/* Looks no further than the next BEGIN: each byte is looked at a few times, however many there are. */
bool ki_pem_next(ki_str *text, ki_pem_block *ret_block) {
    for (const char *begin; (begin = find(*text, begin_mark)) != NULL;) {
        ki_str rest = from(*text, begin + sizeof begin_mark - 1);
        *text = rest;
        const char *next = find(rest, begin_mark);
        if (next)
            rest.size = (size_t)(next - rest.data);
        const char *type_end = find(rest, dashes);
        const char *line_end = rest.size ? memchr(rest.data, '\n', rest.size) : NULL;
        if (!type_end || !line_end || line_end < type_end)
            continue;
        ki_str type = { rest.data, (size_t)(type_end - rest.data) };
        ki_str body = from(rest, line_end + 1);
        const char *end = find(body, end_mark);
        if (!end)
            continue; /* the block is incomplete */
        ki_str after = from(body, end + sizeof end_mark - 1);
        if (after.size < type.size + sizeof dashes - 1 || memcmp(after.data, type.data, type.size) != 0 ||
            memcmp(after.data + type.size, dashes, sizeof dashes - 1) != 0)
            continue;
        const char *past = after.data + type.size + sizeof dashes - 1;
        *ret_block =
            (ki_pem_block){ type, { body.data, (size_t)(end - body.data) }, { begin, (size_t)(past - begin) } };
        *text = from(*text, past);
        return true;
    }
    return false;
}

bool ki_pem_has_block(ki_str pem) {
    ki_pem_block block;
    return ki_pem_next(&pem, &block);
}

bool ki_pem_is_encrypted(ki_str pem) {
    ki_pem_block block;
    while (ki_pem_next(&pem, &block)) { /* PKCS #8, and the header of the older format */
        if (ki_str_equals(block.type, "ENCRYPTED PRIVATE KEY") || find(block.body, "4,ENCRYPTED"))
            return true;
    }
    return false;
}

/* Returns KI_OK for a certificate, KI_ERR_PARSE for anything else. */
static ki_status check_certificate(const ki_allocator *allocator, ki_str base64) {
    ki_secret der = { NULL, 0 };
    ki_status status = ki_secret_decode_base64(allocator, base64, &der, NULL);
    if (status)
        return status;
    ki_str rest = { der.data, der.size };
    bool is_whole = der.size && (unsigned char)der.data[0] == KI_DER_SEQUENCE && ki_der_check(&rest) && rest.size == 0;
    ki_secret_clear(allocator, &der);
    return is_whole ? KI_OK : KI_ERR_PARSE;
}

ki_status ki_pem_certificates(const ki_allocator *allocator, ki_str pem, ki_secret *ret_certificates, size_t *ret_count,
                              size_t *ret_skipped, ki_error *err) {
    ki_buffer out;
    ki_buffer_init(&out, allocator, 0);
    size_t count = 0, skipped = 0;
    ki_pem_block block;
    ki_status status = KI_OK;
    while (!status && ki_pem_next(&pem, &block)) {
        if (!ki_str_equals(block.type, "CERTIFICATE"))
            continue;
        status = check_certificate(allocator, block.body);
        if (status == KI_ERR_PARSE) {
            skipped++;
            status = KI_OK;
            continue;
        }
        count++;
        ki_buffer_append_view(&out, block.all);
        ki_buffer_append_char(&out, '\n');
    }
    if (!status && count)
        status = ki_secret_take(ret_certificates, &out, "", NULL);
    ki_buffer_free(&out);
    if (status)
        return ki_error_no_memory(err, "reading certificates");
    *ret_count = count;
    *ret_skipped = skipped;
    return KI_OK;
}
