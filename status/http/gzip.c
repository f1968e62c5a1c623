/* gzip.c: see gzip.h. Uses zlib. */
#include "status/http/gzip.h"

#include "src/base/memory.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

enum {
    LEVEL = 1,        /* the real server's level */
    GZIP_WINDOW = 31, /* zlib: the largest window, with gzip's header */
    MEMORY_LEVEL = 8  /* zlib's default */
};

static void *allocate(void *user, uInt count, uInt size) {
    return ki_alloc_array(user, count, size);
}

static void release(void *user, void *memory) {
    ki_free(user, memory);
}

ki_status ki_http_gzip(const ki_allocator *allocator, const char *data, size_t size, ki_buffer *ret_packed) {
    ki_allocator own = *allocator;
    z_stream stream = { .zalloc = allocate, .zfree = release, .opaque = &own };
    if (size > UINT_MAX)
        return KI_ERR_LIMIT;
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return KI_ERR_NO_MEMORY;
    }
    ki_buffer_init(ret_packed, allocator, 0);
    uLong bound = deflateBound(&stream, size);
    ki_status status = bound > UINT_MAX ? KI_ERR_LIMIT : ki_buffer_reserve(ret_packed, bound);
    if (!status) {
        stream.next_in = (const Bytef *)data;
        stream.avail_in = (uInt)size;
        stream.next_out = (Bytef *)ret_packed->data;
        stream.avail_out = (uInt)bound;
        if (deflate(&stream, Z_FINISH) == Z_STREAM_END)
            ret_packed->size = stream.total_out;
        else
            status = KI_ERR_LIMIT;
    }
    deflateEnd(&stream);
    if (status)
        ki_buffer_free(ret_packed);
    return status;
}
