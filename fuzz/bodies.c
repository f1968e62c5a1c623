/* bodies.c: bodies of objects, packed with a codec that was made of them. The first two bytes are a place in the packed
 * bytes, the third changes the byte there; a byte of 0x1e ends a body. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "src/object/body_codec.h"

enum {
    HEAD = 3,
    END_OF_BODY = 0x1e
};

/* Unpacks into memory of that size, so that a byte too many is seen. Returns true if all of `wanted` came out. */
static ki_status unpack(const ki_body_codec *codec, ki_str packed, size_t size, ki_str wanted, bool *ret_is_equal) {
    char *out = malloc(size ? size : 1);
    fuzz_check(out != NULL);
    ki_status status = ki_body_codec_unpack(codec, packed, out, size);
    *ret_is_equal = !status && ki_str_equal((ki_str){ out, size }, wanted);
    free(out);
    return status;
}

static void check_reserve(const ki_body_codec *codec, ki_str packed, ki_str body) {
    const char *text = ki_body_codec_unpack_reserve(codec, packed, body.size);
    fuzz_check(text && memcmp(text, body.data, body.size) == 0);
    ki_body_codec_unpack_end(codec);
}

static void check_changed(const ki_body_codec *codec, ki_str packed, ki_str body, const uint8_t *head) {
    char *changed = ki_strndup(&ki_allocator_default, packed.data, packed.size);
    bool is_equal;
    fuzz_check(changed != NULL);
    size_t at = (size_t)(head[0] << 8 | head[1]) % packed.size;
    changed[at] = (char)((unsigned char)changed[at] ^ head[2]);
    ki_status status = unpack(codec, (ki_str){ changed, packed.size }, body.size, body, &is_equal);
    fuzz_check(status == KI_OK || status == KI_ERR_INVALID);
    fuzz_check(head[2] || is_equal);
#ifdef KI_BODY_CHECKSUM
    fuzz_check(status || is_equal);
#endif
    free(changed);
}

static void check_body(const ki_body_codec *codec, ki_str body, const uint8_t *head) {
    char *packed = malloc(body.size ? body.size : 1);
    size_t size = 0;
    bool is_equal;
    fuzz_check(packed != NULL);
    ki_status status = ki_body_codec_pack(codec, body, packed, &size);
    fuzz_check(status == KI_OK || status == KI_ERR_LIMIT);
    if (!status) {
        ki_str text = { packed, size };
        fuzz_check(size > 0 && size <= body.size);
        fuzz_check(!unpack(codec, text, body.size, body, &is_equal) && is_equal);
        fuzz_check(unpack(codec, text, body.size - 1, body, &is_equal) == KI_ERR_INVALID);
        fuzz_check(unpack(codec, text, body.size + 1, body, &is_equal) == KI_ERR_INVALID);
        check_reserve(codec, text, body);
        check_changed(codec, text, body, head);
    }
    free(packed);
    /* Any bytes can be in the place of packed ones. */
    status = unpack(codec, body, 100, body, &is_equal);
    fuzz_check(status == KI_OK || status == KI_ERR_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ki_body_contexts *contexts;
    ki_str rest = { (const char *)data + HEAD, size - HEAD }, bodies[KI_BODY_SAMPLES_MAX];
    ki_body_codec *codec = NULL;
    size_t count = 0, bytes = 0;
    if (size <= HEAD)
        return 0;
    contexts = contexts ? contexts : ki_body_contexts_new(&ki_allocator_default);
    fuzz_check(contexts != NULL);
    while (count < KI_BODY_SAMPLES_MAX && rest.size) {
        bodies[count] = ki_str_split(rest, END_OF_BODY, &rest);
        bytes += bodies[count++].size;
    }
    ki_status status = ki_body_codec_new(contexts, bodies, count, &codec);
    fuzz_check(status == (bytes ? KI_OK : KI_ERR_INVALID));
    for (size_t i = 0; !status && i < count; i++)
        check_body(codec, bodies[i], data);
    ki_body_codec_unref(codec);
    return 0;
}
