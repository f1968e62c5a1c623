/* bodies.c: bodies of objects: their deltas against each other, and packed with a codec and bases that were made of
 * them. The first two bytes are a place in the packed bytes, the third changes the byte there; a byte of 0x1e ends a
 * body. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "src/object/body_contexts.h"
#include "src/object/body_delta.h"
#include "src/object/pack.h"

enum {
    HEAD = 3,
    END_OF_BODY = 0x1e,
    ANY_SIZE = 100 /* bytes of the text that bytes which are none of ours are read as */
};

/* Returns memory of exactly that size, so that a byte too many is seen. */
static char *room_for(size_t size) {
    char *room = malloc(size ? size : 1);
    fuzz_check(room != NULL);
    return room;
}

static char *copy_of(const char *data, size_t size) {
    char *copy = room_for(size);
    memcpy(copy, data, size);
    return copy;
}

/* Changes the byte at the place that the head has. Returns true if it is another one then. */
static bool change(char *bytes, size_t size, const uint8_t *head) {
    size_t at = size ? (size_t)(head[0] << 8 | head[1]) % size : 0;
    if (size)
        bytes[at] = (char)((unsigned char)bytes[at] ^ head[2]);
    return size && head[2];
}

/* --- deltas ------------------------------------------------------------------------------------------------------- */

/* Returns true if the delta gives `wanted`, of which it need not be one. */
static bool applies(ki_str base, ki_str delta, size_t size, ki_str wanted) {
    char *out = room_for(size);
    bool is_wanted = ki_body_delta_apply(base, delta, out, size) && ki_str_equal((ki_str){ out, size }, wanted);
    free(out);
    return is_wanted;
}

static void check_delta(ki_str base, ki_str text, const uint8_t *head) {
    char *written = room_for(ki_body_delta_max(text.size));
    size_t size = ki_body_delta_write(base, text, written);
    fuzz_check(size >= 2 && size <= ki_body_delta_max(text.size));
    char *delta = copy_of(written, size);
    fuzz_check(applies(base, (ki_str){ delta, size }, text.size, text));
    (void)applies(base, (ki_str){ delta, size }, text.size + 1, text);
    (void)applies(base, (ki_str){ delta, size }, text.size / 2, text);
    bool is_other = change(delta, size, head);
    fuzz_check(is_other || applies(base, (ki_str){ delta, size }, text.size, text));
    (void)applies(base, (ki_str){ delta, size }, text.size, text);
    free(delta);
    for (size_t cut = 0; cut < size; cut += 1 + size / 16) {
        delta = copy_of(written, cut);
        fuzz_check(!applies(base, (ki_str){ delta, cut }, text.size, text));
        free(delta);
    }
    free(written);
    (void)applies(base, text, ANY_SIZE, text); /* any bytes can be in the place of a delta */
}

/* --- packed bytes ------------------------------------------------------------------------------------------------- */

/* Unpacks into memory of that size. Says whether all of `wanted` came out. */
static ki_status unpack(const ki_body_codec *codec, ki_str packed, size_t size, ki_str wanted, bool *ret_is_equal) {
    ki_body_contexts *contexts = ki_body_codec_contexts(codec);
    ZSTD_DCtx *context = ki_unpacking_context_take(contexts);
    char *out = room_for(size);
    fuzz_check(context != NULL);
    ki_status status = ki_body_codec_unpack(codec, context, packed, out, size);
    *ret_is_equal = !status && ki_str_equal((ki_str){ out, size }, wanted);
    ki_unpacking_context_put(contexts, context);
    free(out);
    return status;
}

static void check_codec(const ki_body_codec *codec, ki_str body) {
    char *packed = room_for(body.size);
    size_t size = 0;
    bool is_equal;
    ki_status status = ki_body_codec_pack(codec, body, packed, &size);
    fuzz_check(status == KI_OK || status == KI_ERR_LIMIT);
    if (!status) {
        ki_str text = { packed, size };
        fuzz_check(size > 0 && size <= body.size);
        fuzz_check(!unpack(codec, text, body.size, body, &is_equal) && is_equal);
        fuzz_check(unpack(codec, text, body.size - 1, body, &is_equal) == KI_ERR_INVALID);
        fuzz_check(unpack(codec, text, body.size + 1, body, &is_equal) == KI_ERR_INVALID);
    }
    free(packed);
    /* Any bytes can be in the place of packed ones. */
    status = unpack(codec, body, ANY_SIZE, body, &is_equal);
    fuzz_check(status == KI_OK || status == KI_ERR_INVALID);
}

/* --- packed bodies ------------------------------------------------------------------------------------------------ */

static ki_packed_body *new_body(ki_body_base *base, ki_str bytes, size_t delta_size) {
    ki_packed_body *body = malloc(offsetof(ki_packed_body, bytes) + bytes.size);
    fuzz_check(body != NULL);
    body->base = base;
    body->digest = 0;
    body->size = (uint32_t)bytes.size;
    body->delta_size = (uint32_t)delta_size;
    memcpy(body->bytes, bytes.data, bytes.size);
    return body;
}

/* Reads the body in each way, which must agree. Says whether it is `wanted`. */
static ki_status read_body(const ki_packed_body *body, size_t size, ki_str wanted, bool *ret_is_equal) {
    char *out = room_for(size);
    ki_status status = ki_packed_body_read(body, out, size);
    *ret_is_equal = !status && ki_str_equal((ki_str){ out, size }, wanted);
    fuzz_check(status == KI_OK || status == KI_ERR_INVALID);
    const char *text = ki_packed_body_open_reserve(body, size);
    fuzz_check(status ? !text : text && memcmp(text, out, size) == 0);
    if (text)
        ki_packed_body_end(body);
    ki_unpacked *unpacked = NULL;
    fuzz_check(ki_packed_body_open(body, size, &unpacked) == status);
    if (!status) {
        fuzz_check(unpacked->size == size && memcmp(unpacked->text, out, size) == 0 && !unpacked->text[size]);
        ki_packed_body_close(body, unpacked);
    }
    free(out);
    return status;
}

static void check_any_bytes(const ki_body_packer *packer, ki_body_base *base, ki_str bytes) {
    bool is_equal;
    for (size_t more = 0; more <= 1; more++) { /* as the delta, and as a packed one */
        size_t delta_size = bytes.size + more * ANY_SIZE;
        ki_packed_body *body = new_body(base, bytes, delta_size);
        fuzz_check(!ki_body_reserve_grow(packer->contexts, ki_packed_body_reserve(base, delta_size, ANY_SIZE)));
        (void)read_body(body, ANY_SIZE, bytes, &is_equal);
        free(body);
    }
}

static void check_packed_body(ki_body_packer *packer, ki_str key, ki_str body, const uint8_t *head) {
    ki_body_base *base = NULL;
    bool is_equal;
    ki_status status = ki_body_packer_pack(packer, key, body, &base);
    fuzz_check(status == KI_OK || status == KI_ERR_NOT_FOUND);
    if (status)
        return;
    const size_t size = packer->packed.size, delta_size = packer->delta.size;
    fuzz_check(size > 0 && size <= delta_size); /* perhaps more than the body: such an object stays plain */
    ki_packed_body *packed = new_body(base, (ki_str){ packer->packed.data, size }, delta_size);
    fuzz_check(!read_body(packed, body.size, body, &is_equal) && is_equal);
    char *delta = room_for(delta_size);
    fuzz_check(!ki_packed_body_delta(packed, delta) && memcmp(delta, packer->delta.data, delta_size) == 0);
    free(delta);
    bool is_other = change(packed->bytes, size, head);
    status = read_body(packed, body.size, body, &is_equal);
    fuzz_check(is_other || is_equal);
#ifdef KI_BODY_CHECKSUM
    fuzz_check(status || is_equal || size == delta_size);
#endif
    free(packed);
    check_any_bytes(packer, base, body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = { "n/a-1", "n/a-2", "n/a-b-3", "n/b-1" };
    static ki_body_contexts *contexts;
    ki_str rest = { (const char *)data + HEAD, size - HEAD }, bodies[KI_BODY_SAMPLES_MAX];
    ki_body_packer packer;
    size_t count = 0, bytes = 0;
    if (size <= HEAD)
        return 0;
    contexts = contexts ? contexts : ki_body_contexts_new(&ki_allocator_default);
    fuzz_check(contexts != NULL);
    while (count < KI_BODY_SAMPLES_MAX && rest.size) {
        bodies[count] = ki_str_split(rest, END_OF_BODY, &rest);
        bytes += bodies[count++].size;
    }
    for (size_t i = 0; i < count; i++) {
        check_delta(bodies[i], bodies[(i + 1) % count], data);
        check_delta(bodies[i], bodies[0], data);
    }
    ki_body_packer_init(&packer, &ki_allocator_default, contexts, 1);
    ki_body_packer_train(&packer, bodies, count, 1);
    fuzz_check((packer.codec != NULL) == (bytes > 0));
    for (size_t i = 0; packer.codec && i < count; i++) {
        check_codec(packer.codec, bodies[i]);
        check_packed_body(&packer, ki_str_of(names[i % 4]), bodies[i], data);
    }
    ki_body_packer_free(&packer);
    fuzz_check(atomic_load(&packer.bases.bytes) == 0);
    return 0;
}
