/* test_web_socket.c: the bytes of a WebSocket, as RFC 6455 has them. */
#include "src/base/memory.h"
#include "testing/http/web_socket.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

enum {
    FLOOD_SIZE = 60000
};

TEST(the_accept_key_is_the_one_of_the_rfc) {
    char accept[KT_WEB_SOCKET_ACCEPT_SIZE];
    assert_int_equal(kt_web_socket_accept(&ki_allocator_default, KI_STR("dGhlIHNhbXBsZSBub25jZQ=="), accept), KI_OK);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="); /* RFC 6455 §1.3 */
}

TEST(each_line_is_a_text_frame) {
    ki_buffer out;
    ki_buffer_init(&out, &ki_allocator_default, 0);
    assert_int_equal(kt_web_socket_append_lines(&out, KI_STR("ab\nc\nd")), KI_OK);
    static const char frames[] = "\x81\x03"
                                 "ab\n\x81\x02"
                                 "c\n\x81\x01"
                                 "d";
    assert_int_equal(out.size, sizeof frames - 1);
    assert_memory_equal(out.data, frames, out.size);
    ki_buffer_free(&out);
}

TEST(a_length_is_written_in_the_shortest_form) {
    static const struct {
        size_t size;
        const char *head;
        size_t head_size;
    } rows[] = {
        { 125, "\x81\x7d", 2 },
        { 126, "\x81\x7e\x00\x7e", 4 },
        { 65535, "\x81\x7e\xff\xff", 4 },
        { 65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ki_buffer out;
        char *text = malloc(rows[i].size);
        assert_non_null(text);
        memset(text, 'x', rows[i].size);
        ki_buffer_init(&out, &ki_allocator_default, 0);
        assert_int_equal(kt_web_socket_append_lines(&out, (ki_str){ text, rows[i].size }), KI_OK);
        assert_int_equal(out.size, rows[i].head_size + rows[i].size);
        assert_memory_equal(out.data, rows[i].head, rows[i].head_size);
        ki_buffer_free(&out);
        free(text);
    }
}

/* Frames of a client, masked with 1 2 3 4, and the responses. */
static const struct {
    const char *sent;
    size_t size;
    const char *response;
    size_t response_size;
    bool goes_on;
} frames[] = {
    { "", 0, "", 0, true },
    { "\x81\x82\1\2\3\4xy", 8, "", 0, true },                                 /* a text */
    { "\x89\x80\1\2\3\4", 6, "\x8a\x00", 2, true },                           /* an empty ping */
    { "\x89\x85\1\2\3\4\x49\x67\x6f\x68\x6e", 11, "\x8a\x05Hello", 7, true }, /* a ping */
    { "\x8a\x81\1\2\3\4x\x89\x80\1\2\3\4", 13, "\x8a\x00", 2, true },         /* a pong, a ping */
    { "\x88\x80\1\2\3\4", 6, "\x88\x02\x03\xe8", 4, false },                  /* a close */
    { "\x88\x82\1\2\3\4\x02\xea\x89\x80\1\2\3\4", 14, "\x88\x02\x03\xe8", 4,
      false },                                         /* a close with its reason; what follows is not read */
    { "\x81\x02xy", 4, "\x88\x02\x03\xea", 4, false }, /* without a mask */
    { "\x89\xfe\x00\x7e\1\2\3\4", 8, "\x88\x02\x03\xea", 4, false },                    /* a ping that is too long */
    { "\x89\xfe\xff\xff\1\2\3\4", 8, "\x88\x02\x03\xea", 4, false },                    /* one of 65,535 bytes */
    { "\x09\x80\1\2\3\4", 6, "\x88\x02\x03\xea", 4, false },                            /* a ping in pieces */
    { "\x82\xfe\x00\x03\1\2\3\4xyz\x89\x80\1\2\3\4", 17, "\x8a\x00", 2, true },         /* a length of 16 bits */
    { "\x82\xff\0\0\0\0\0\0\0\3\1\2\3\4xyz\x89\x80\1\2\3\4", 23, "\x8a\x00", 2, true }, /* of 64 bits */
};

TEST(frames_of_a_client_are_read_in_any_pieces) {
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        for (size_t piece = 1; piece <= frames[i].size + 1; piece++) {
            kt_web_socket_reader reader = { .head_size = 0 };
            ki_buffer out;
            bool goes_on = true;
            ki_buffer_init(&out, &ki_allocator_default, 0);
            for (size_t at = 0; goes_on && at < frames[i].size; at += piece) {
                size_t size = frames[i].size - at < piece ? frames[i].size - at : piece;
                goes_on = kt_web_socket_read(&reader, frames[i].sent + at, size, &out);
            }
            if (goes_on != frames[i].goes_on || out.size != frames[i].response_size)
                fail_msg("row %zu in pieces of %zu: %zu bytes", i, piece, out.size);
            if (out.size)
                assert_memory_equal(out.data, frames[i].response, out.size);
            ki_buffer_free(&out);
        }
    }
}

/* Payloads after the frame that ended the connection, with and without a new head. */
TEST(a_connection_that_ended_takes_nothing_more) {
    static const char more[] = "\x89\x80\1\2\3\4";
    char *flood = malloc(FLOOD_SIZE);
    assert_non_null(flood);
    memset(flood, 'x', FLOOD_SIZE);
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        kt_web_socket_reader reader = { .head_size = 0 };
        ki_buffer out;
        if (frames[i].goes_on)
            continue;
        ki_buffer_init(&out, &ki_allocator_default, 0);
        assert_false(kt_web_socket_read(&reader, frames[i].sent, frames[i].size, &out));
        assert_false(kt_web_socket_read(&reader, flood, FLOOD_SIZE, &out));
        assert_false(kt_web_socket_read(&reader, more, sizeof more - 1, &out));
        assert_int_equal(out.size, frames[i].response_size);
        ki_buffer_free(&out);
    }
    free(flood);
}

TEST(lack_of_memory_ends_the_connection) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    while (scarce_memory_next(&memory)) {
        char accept[KT_WEB_SOCKET_ACCEPT_SIZE];
        kt_web_socket_reader reader = { .head_size = 0 };
        ki_buffer out;
        ki_buffer_init(&out, &memory.allocator, 0);
        bool fine = kt_web_socket_read(&reader, "\x89\x80\1\2\3\4", 6, &out) &&
                    !kt_web_socket_accept(&memory.allocator, KI_STR("key"), accept);
        assert_int_equal(fine, !scarce_memory_failed(&memory));
        ki_buffer_free(&out);
    }
}
