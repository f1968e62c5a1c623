/* web_socket.c: see web_socket.h. */
#include "testing/http/web_socket.h"

#include "testing/values/base64.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum {
    SHA1_SIZE = 20,
    IS_FINAL = 0x80,  /* in the first byte (§5.2) */
    IS_MASKED = 0x80, /* in the second byte */
    OP_MASK = 0x0f,
    OP_CONTROL = 0x08, /* set in control frames */
    OP_TEXT = 1,
    OP_CLOSE = 8,
    OP_PING = 9,
    OP_PONG = 10,
    LENGTH_16 = 126,
    LENGTH_64 = 127,
    MASK_SIZE = 4
};

ki_status kt_web_socket_accept(const ki_allocator *allocator, ki_str key, char ret_accept[KT_WEB_SOCKET_ACCEPT_SIZE]) {
    static const char protocol_id[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* §1.3 */
    char digest[SHA1_SIZE];
    ki_buffer text;
    ki_buffer_init(&text, allocator, 0);
    ki_buffer_append_view(&text, key);
    ki_buffer_append_string(&text, protocol_id);
    ki_status status = text.failed;
    if (!status && gnutls_hash_fast(GNUTLS_DIG_SHA1, text.data, text.size, digest))
        status = KI_ERR_NO_MEMORY;
    ki_buffer_reset(&text, SIZE_MAX);
    if (!status) {
        kt_base64_append(&text, (ki_str){ digest, sizeof digest });
        status = text.failed;
    }
    if (!status) { /* without the quotes */
        memcpy(ret_accept, text.data + 1, KT_WEB_SOCKET_ACCEPT_SIZE - 1);
        ret_accept[KT_WEB_SOCKET_ACCEPT_SIZE - 1] = '\0';
    }
    ki_buffer_free(&text);
    return status;
}

/* ---- to the client ---- */

/* Appends the head of a frame of `size` bytes. */
static void append_head(ki_buffer *out, unsigned op, size_t size) {
    char head[KT_WEB_SOCKET_HEAD_MAX] = { (char)(IS_FINAL | op) };
    size_t bytes = size < LENGTH_16 ? 0 : size <= UINT16_MAX ? 2 : 8;
    head[1] = (char)(bytes == 0 ? size : bytes == 2 ? LENGTH_16 : LENGTH_64);
    for (size_t i = 0; i < bytes; i++)
        head[2 + i] = (char)(((uint64_t)size >> (8 * (bytes - 1 - i))) & 0xff);
    ki_buffer_append(out, head, 2 + bytes);
}

static ki_status append_frame(ki_buffer *out, unsigned op, const char *payload, size_t size) {
    append_head(out, op, size);
    ki_buffer_append(out, payload, size);
    return out->failed;
}

ki_status kt_web_socket_append_beginning(ki_buffer *out, ki_str text, size_t more) {
    append_head(out, OP_TEXT, text.size + more);
    return ki_buffer_append_view(out, text);
}

ki_status kt_web_socket_append_lines(ki_buffer *out, ki_str lines) {
    while (lines.size && !out->failed) {
        const char *end = memchr(lines.data, '\n', lines.size);
        size_t size = end ? (size_t)(end - lines.data) + 1 : lines.size;
        append_frame(out, OP_TEXT, lines.data, size);
        lines.data += size;
        lines.size -= size;
    }
    return out->failed;
}

ki_status kt_web_socket_append_close(ki_buffer *out, kt_web_socket_close code) {
    const char payload[] = { (char)(code >> 8), (char)(code & 0xff) };
    return append_frame(out, OP_CLOSE, payload, sizeof payload);
}

/* ---- from the client ---- */

static unsigned op_of(const kt_web_socket_reader *reader) {
    return reader->head[0] & OP_MASK;
}

/* Returns the length of the frame's head, as far as the received bytes show. */
static size_t head_length(const kt_web_socket_reader *reader) {
    unsigned length = reader->head_size > 1 ? reader->head[1] & ~(unsigned)IS_MASKED : 0;
    return 2 + (length == LENGTH_16 ? 2U : length == LENGTH_64 ? 8U : 0U) + MASK_SIZE;
}

/* Starts the payload. Returns false for a frame that a client must not send (§5.1, §5.5). */
static bool begin_payload(kt_web_socket_reader *reader) {
    uint64_t length = reader->head[1] & ~(unsigned)IS_MASKED;
    size_t more = head_length(reader) - MASK_SIZE - 2;
    for (size_t i = 0; i < more; i++)
        length = (i ? length << 8 : 0) | reader->head[2 + i];
    if (op_of(reader) & OP_CONTROL && (length > KT_WEB_SOCKET_CONTROL_MAX || !(reader->head[0] & IS_FINAL)))
        return false;
    reader->left = length;
    reader->control_size = 0;
    reader->in_payload = true;
    return true;
}

/* Takes a byte of a frame's head. Returns false if the frame is wrong. */
static bool take_head(kt_web_socket_reader *reader, char byte) {
    reader->head[reader->head_size++] = (unsigned char)byte;
    if (reader->head_size == 2 && !(reader->head[1] & IS_MASKED))
        return false; /* every client frame is masked */
    return reader->head_size < head_length(reader) || begin_payload(reader);
}

/* Stores a control frame's payload without its mask (§5.3). */
static void take_payload(kt_web_socket_reader *reader, const char *bytes, size_t size) {
    const unsigned char *mask = reader->head + head_length(reader) - MASK_SIZE;
    for (size_t i = 0; op_of(reader) & OP_CONTROL && i < size; i++, reader->control_size++)
        reader->control[reader->control_size] = (unsigned char)bytes[i] ^ mask[reader->control_size % MASK_SIZE];
    reader->left -= size;
}

/* Responds to a complete frame. */
static void end_frame(kt_web_socket_reader *reader, ki_buffer *out) {
    unsigned op = op_of(reader);
    if (op == OP_PING)
        append_frame(out, OP_PONG, (const char *)reader->control, reader->control_size);
    if (op == OP_CLOSE)
        kt_web_socket_append_close(out, KT_CLOSE_NORMAL);
    reader->in_payload = false;
    reader->head_size = 0;
    reader->has_ended = op == OP_CLOSE || out->failed;
}

bool kt_web_socket_read(kt_web_socket_reader *reader, const char *bytes, size_t size, ki_buffer *out) {
    for (size_t at = 0; at < size && !reader->has_ended;) {
        if (reader->in_payload) {
            size_t taken = size - at < reader->left ? size - at : (size_t)reader->left;
            take_payload(reader, bytes + at, taken);
            at += taken;
        } else if (!take_head(reader, bytes[at++])) {
            kt_web_socket_append_close(out, KT_CLOSE_PROTOCOL_ERROR);
            reader->has_ended = true;
        }
        if (reader->in_payload && !reader->left)
            end_frame(reader, out);
    }
    return !reader->has_ended;
}
