/* web_socket.h: the bytes of a WebSocket (RFC 6455), on the server's side: the answer to the client's key, frames to the client, and what the
 * client says. No I/O. Called by web_socket_watch.c. */
#ifndef KT_HTTP_WEB_SOCKET_H
#define KT_HTTP_WEB_SOCKET_H

#include "src/base/buffer.h"

enum {
    KT_WEB_SOCKET_ACCEPT_SIZE = 29,  /* of Sec-WebSocket-Accept, with its end */
    KT_WEB_SOCKET_CONTROL_MAX = 125, /* bytes of a control frame's payload (RFC 6455 §5.5) */
    KT_WEB_SOCKET_HEAD_MAX = 14      /* bytes in front of a payload */
};

typedef enum kt_web_socket_close {
    KT_CLOSE_NORMAL = 1000, /* RFC 6455 §7.4.1 */
    KT_CLOSE_PROTOCOL_ERROR = 1002
} kt_web_socket_close;

/* What is known of the frame that the client is sending. */
typedef struct kt_web_socket_reader {
    unsigned char head[KT_WEB_SOCKET_HEAD_MAX];
    size_t head_size;
    uint64_t left; /* bytes of the payload that are to come; only once the head is complete */
    bool in_payload;
    unsigned char control[KT_WEB_SOCKET_CONTROL_MAX];
    size_t control_size;
} kt_web_socket_reader;

/* Writes the value of Sec-WebSocket-Accept for a Sec-WebSocket-Key. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_web_socket_accept(const ki_allocator *allocator, ki_str key, char ret_accept[KT_WEB_SOCKET_ACCEPT_SIZE]);
/* Appends each line, with its end, as a text frame. What stands behind the last line's end is a frame too. */
ki_status kt_web_socket_append_lines(ki_buffer *out, ki_str lines);
/* Appends the frame that says goodbye. */
ki_status kt_web_socket_append_close(ki_buffer *out, kt_web_socket_close code);
/* Takes in what the client sent, and appends what the server must answer: a pong, a close. Messages of the client are skipped. Returns false where
 * the connection ends behind what was appended: the client said goodbye, broke the protocol, or memory ran out. */
bool kt_web_socket_read(kt_web_socket_reader *reader, const char *bytes, size_t size, ki_buffer *out);

#endif
