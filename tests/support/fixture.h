/* fixture.h: files of tests/data, read whole. A test calls fixture_read(KI_TEST_DATA_DIR "/pod.json", &size). */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include <stddef.h>

/* The file's bytes with a closing zero, freed with free; the test fails where it cannot be read. */
char *fixture_read(const char *path, size_t *ret_size);

#endif
