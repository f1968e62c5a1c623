/* continue_token.c: {"v":"meta.k8s.io/v1","rv":7,"start":"default/x\u0000"} in base64url without padding. */
#include "testing/request/continue_token.h"

#include "testing/request/status.h"
#include "testing/values/json.h"

#include <inttypes.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

ki_status kt_continue_token_append(ki_buffer *out, int64_t revision, ki_str after) {
    ki_buffer plain;
    ki_buffer_init(&plain, out->allocator, 0);
    ki_buffer_printf(&plain, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRId64 ",\"start\":", revision);
    ki_buffer_append_json_string(&plain, after);
    if (!plain.failed)
        plain.size--; /* reopen the string before its closing quote */
    ki_buffer_append_string(&plain, "\\u0000\"}");
    if (plain.failed)
        out->failed = plain.failed;
    for (size_t i = 0; !plain.failed && i < plain.size; i += 3) {
        size_t left = plain.size - i < 3 ? plain.size - i : 3;
        uint32_t bits = 0;
        for (size_t n = 0; n < 3; n++)
            bits = bits << 8 | (n < left ? (unsigned char)plain.data[i + n] : 0u);
        for (size_t n = 0; n < left + 1; n++)
            ki_buffer_append_char(out, alphabet[bits >> (18 - 6 * n) & 63]);
    }
    ki_buffer_free(&plain);
    return out->failed;
}

/* Decodes base64url. Returns false and the index of the first wrong byte. */
static bool decode(ki_str token, ki_buffer *out, size_t *ret_bad) {
    uint32_t bits = 0;
    size_t count = 0;
    for (size_t i = 0; i < token.size; i++) {
        const char *at = token.data[i] ? strchr(alphabet, token.data[i]) : NULL;
        if (!at) {
            *ret_bad = i;
            return false;
        }
        bits = bits << 6 | (uint32_t)(at - alphabet);
        count += 6;
        if (count >= 8) {
            count -= 8;
            ki_buffer_append_char(out, (char)(bits >> count & 255));
        }
    }
    *ret_bad = token.size - token.size % 4;
    return token.size % 4 != 1;
}

ki_status kt_continue_token_parse(kt_call *call, ki_str token, ki_buffer *ret_text, int64_t *ret_revision,
                                  ki_str *ret_after) {
    size_t bad;
    ki_buffer_reset(ret_text, SIZE_MAX);
    if (!decode(token, ret_text, &bad))
        return kt_fail_bad_request(
            call, "invalid continue token: continue key is not valid: illegal base64 data at input byte %zu", bad);
    if (ret_text->failed)
        return KI_ERR_NO_MEMORY;
    yyjson_doc *doc = NULL;
    const char *why = NULL;
    ki_status status = kt_json_read(call->allocator, (ki_str){ ret_text->data, ret_text->size }, &doc, &why);
    if (status == KI_ERR_PARSE)
        return kt_fail_bad_request(call, "invalid continue token: continue key is not valid: %s", why);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    ki_str version = kt_json_get_str(root, "v"), start = kt_json_get_str(root, "start");
    *ret_revision = yyjson_get_sint(yyjson_obj_get(root, "rv"));
    if (!ki_str_equals(version, "meta.k8s.io/v1")) {
        status =
            kt_fail_bad_request(call,
                                "invalid continue token: continue key is not valid: server does not recognize this "
                                "encoded version \"%.*s\"",
                                (int)version.size, version.data ? version.data : "");
    } else if (*ret_revision == 0) {
        status = kt_fail_bad_request(
            call, "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version "
                  "meta.k8s.io/v1)");
    } else if (!start.size) {
        status = kt_fail_bad_request(
            call,
            "invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
    } else {
        if (start.data[start.size - 1] == '\0')
            start.size--;
        ki_buffer_reset(ret_text, SIZE_MAX);
        ki_buffer_append_view(ret_text, start);
        *ret_after = (ki_str){ ret_text->data, ret_text->size };
        status = ret_text->failed;
    }
    yyjson_doc_free(doc);
    return status;
}
