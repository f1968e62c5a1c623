/* web_socket.c: the frames of a WebSocket's client. The first byte is the size of the pieces. Goes on after an
 * error. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "testing/http/web_socket.h"

/* Reads all bytes in pieces. Returns false if the connection ended. */
static bool read_in_pieces(const char *bytes, size_t size, size_t piece, ki_buffer *out) {
    kt_web_socket_reader reader = { .head_size = 0 };
    bool goes_on = true;
    ki_buffer_init(out, &ki_allocator_default, 0);
    for (size_t at = 0; at < size; at += piece) {
        size_t before = out->size;
        bool has_ended = !goes_on;
        goes_on = kt_web_socket_read(&reader, bytes + at, size - at < piece ? size - at : piece, out);
        fuzz_check(!has_ended || (!goes_on && out->size == before));
    }
    return goes_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_buffer whole, pieces;
    if (!size)
        return 0;
    const char *bytes = (const char *)data + 1;
    bool goes_on = read_in_pieces(bytes, size - 1, size, &whole);
    fuzz_check(goes_on == read_in_pieces(bytes, size - 1, data[0] ? data[0] : 1, &pieces));
    fuzz_check(ki_str_equal((ki_str){ whole.data, whole.size }, (ki_str){ pieces.data, pieces.size }));
    ki_buffer_free(&whole);
    ki_buffer_free(&pieces);
    return 0;
}
