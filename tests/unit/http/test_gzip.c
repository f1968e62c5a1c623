/* test_gzip.c: compression. */
#include "src/base/memory.h"
#include "status/http/gzip.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/test.h"

#include <zlib.h>

static char data[100000], unpacked[sizeof data + 1];

static void fill(void) {
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * i / 7);
}

TEST(what_is_packed_unpacks_to_the_same) {
    ki_buffer packed;
    fill();
    assert_int_equal(ki_http_gzip(&ki_allocator_default, data, sizeof data, &packed), KI_OK);
    z_stream stream = { .next_in = (Bytef *)packed.data,
                        .avail_in = (uInt)packed.size,
                        .next_out = (Bytef *)unpacked,
                        .avail_out = sizeof unpacked };
    assert_int_equal(inflateInit2(&stream, 31), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, sizeof data);
    assert_memory_equal(data, unpacked, sizeof data);
    inflateEnd(&stream);
    ki_buffer_free(&packed);
}

TEST(without_memory_nothing_is_packed) {
    scarce_memory memory = SCARCE_MEMORY_FROM(0);
    fill();
    while (scarce_memory_next(&memory)) {
        ki_buffer packed;
        ki_status status = ki_http_gzip(&memory.allocator, data, sizeof data, &packed);
        assert_int_equal(status, scarce_memory_failed(&memory) ? KI_ERR_NO_MEMORY : KI_OK);
        if (!status)
            ki_buffer_free(&packed);
    }
}
