/* folder.h: a temporary folder of a test below /tmp, with files. One at a time. */
#ifndef TESTS_SUPPORT_FOLDER_H
#define TESTS_SUPPORT_FOLDER_H

#include "tests/support/test.h"

#include <stddef.h>

/* cmocka's setup and teardown. */
int folder_open(void **state);
int folder_close(void **state);
#define FOLDER_TEST(name) TEST_WITH(folder_open, folder_close, name)

const char *folder_path(void);
/* Returns the path of a file in it. Valid for the next seven calls. */
const char *folder_file(const char *name);
/* Writes a file and creates missing folders. */
void folder_write(const char *name, const char *text);
void folder_write_bytes(const char *name, const char *data, size_t size);

#endif
