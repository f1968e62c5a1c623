/* fixture.h: files of tests/data, read whole. A test calls fixture_read(KI_TEST_DATA_DIR "/pod.json", &size). */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include <stddef.h>

/* Returns the file's bytes with a zero byte. Ownership: freed with free. `ret_size` may be NULL. Fails the test if
 * it cannot read the file. */
char *fixture_read(const char *path, size_t *ret_size);

#endif
