/* status.c: an error response, or the object of a watch's ERROR event. The first two bytes are the HTTP status (0 to
 * 1023), the third is the Retry-After header in seconds (255: none); the rest is the body. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"
#include "src/wire/status.h"

enum {
    HEAD = 3,
    NO_HEADER = 255
};

static void *no_alloc(size_t size, void *user) {
    (void)size;
    (void)user;
    return NULL;
}

static void *no_realloc(void *memory, size_t size, void *user) {
    (void)memory;
    (void)size;
    (void)user;
    return NULL;
}

static void no_free(void *memory, void *user) {
    (void)memory;
    (void)user;
}

/* A text for a person is one line of characters that are not cut. */
static void check_text(const char *text, size_t size, bool is_utf8) {
    size_t length = strnlen(text, size);
    fuzz_check(length < size);
    for (size_t i = 0; i < length; i++)
        fuzz_check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
    fuzz_check(!is_utf8 || ki_str_is_utf8((ki_str){ text, length }));
}

static void check_error(const ki_error *err, bool is_utf8) {
    fuzz_check(err->code == KI_ERR_HTTP || err->code == KI_ERR_EXPIRED || err->code == KI_ERR_TOO_LARGE_RV);
    fuzz_check(err->category != KI_CATEGORY_NONE && err->category != KI_CATEGORY_FATAL);
    fuzz_check(err->message[0] != '\0' && err->retry_after_ms >= -1);
    check_text(err->message, sizeof err->message, is_utf8);
    check_text(err->reason, sizeof err->reason, is_utf8);
    /* An error has one kind at most, but for those that client-go also finds in others. */
    bool (*const kinds[])(const ki_error *) = { ki_error_is_not_found, ki_error_is_conflict, ki_error_is_invalid,
                                                ki_error_is_unauthorized, ki_error_is_forbidden };
    int count = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        count += kinds[i](err);
    fuzz_check(count <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const ki_allocator no_memory = { no_alloc, no_realloc, no_free, NULL };
    if (size < HEAD)
        return 0;
    int http_status = (data[0] << 8 | data[1]) & 1023;
    int64_t header = data[2] == NO_HEADER ? -1 : data[2] * 1000;
    ki_str body = { (const char *)data + HEAD, size - HEAD };
    bool is_utf8 = body.size <= KI_STATUS_BODY_MAX && ki_str_is_utf8(body);
    ki_error err = KI_ERROR_INIT;
    fuzz_check(ki_status_to_error(&ki_allocator_default, http_status, body, header, &err) == err.code);
    check_error(&err, is_utf8);
    fuzz_check(http_status == 0 || err.http_status == http_status);
    fuzz_check(header < 0 || err.retry_after_ms == header);
    fuzz_check(ki_status_to_error(&ki_allocator_default, http_status, body, header, NULL) == err.code);
    fuzz_check(ki_status_to_error(&no_memory, http_status, body, header, &err) == err.code);
    check_error(&err, is_utf8);
    return 0;
}
