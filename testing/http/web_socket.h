/* web_socket.h: the frames of a WebSocket (RFC 6455) on the server's side: the response to the client's key, frames
 * to the client, and frames from the client. No I/O. web_socket_watch.c calls it. */
#ifndef KT_HTTP_WEB_SOCKET_H
#define KT_HTTP_WEB_SOCKET_H

#include "src/base/buffer.h"

enum {
    KT_WEB_SOCKET_ACCEPT_SIZE = 29,  /* bytes of Sec-WebSocket-Accept with its zero */
    KT_WEB_SOCKET_CONTROL_MAX = 125, /* bytes of a control frame's payload (RFC 6455 §5.5) */
    KT_WEB_SOCKET_HEAD_MAX = 14      /* bytes before a payload */
};

typedef enum kt_web_socket_close {
    KT_CLOSE_NORMAL = 1000, /* RFC 6455 §7.4.1 */
    KT_CLOSE_PROTOCOL_ERROR = 1002
} kt_web_socket_close;

/* The state of the frame that is being received. */
typedef struct kt_web_socket_reader {
    unsigned char head[KT_WEB_SOCKET_HEAD_MAX];
    size_t head_size;
    uint64_t left; /* bytes of the payload still to come; valid if `in_payload` */
    bool in_payload;
    bool has_ended; /* a close frame, a protocol error or lack of memory: takes nothing more */
    unsigned char control[KT_WEB_SOCKET_CONTROL_MAX];
    size_t control_size;
} kt_web_socket_reader;

/* Computes Sec-WebSocket-Accept from Sec-WebSocket-Key. Errors: KI_ERR_NO_MEMORY. */
ki_status kt_web_socket_accept(const ki_allocator *allocator, ki_str key, char ret_accept[KT_WEB_SOCKET_ACCEPT_SIZE]);
/* Appends each line with its newline as a text frame. The rest after the last newline is a frame too. */
ki_status kt_web_socket_append_lines(ki_buffer *out, ki_str lines);
/* Appends the beginning of a text frame: its head and `text`. The caller sends `more` bytes after it. */
ki_status kt_web_socket_append_beginning(ki_buffer *out, ki_str text, size_t more);
/* Appends a close frame. */
ki_status kt_web_socket_append_close(ki_buffer *out, kt_web_socket_close code);
/* Processes bytes from the client and appends the responses: pong and close frames. Ignores messages. Returns false
 * if the connection ends after `out`: after a close frame, a protocol error, or without memory. Later calls then
 * return false and take nothing. */
bool kt_web_socket_read(kt_web_socket_reader *reader, const char *bytes, size_t size, ki_buffer *out);

#endif
