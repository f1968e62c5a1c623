/* fixture.c: reads a whole file for a test. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/test.h"

char *fixture_read(const char *path, size_t *ret_size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    char *data = malloc((size_t)size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)size, file), size);
    data[size] = '\0';
    assert_int_equal(fclose(file), 0);
    if (ret_size)
        *ret_size = (size_t)size;
    return data;
}
