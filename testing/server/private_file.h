/* private_file.h: a file that only its owner may read, for what has a token in it. */
#ifndef KT_SERVER_PRIVATE_FILE_H
#define KT_SERVER_PRIVATE_FILE_H

#include <kinformer/error.h>

#include "src/base/string_view.h"

/* Writes a new file with mode 0600 and gives it the name `path`: a file or a link that is there is replaced, and is never written through. What is no file,
 * such as a pipe or something in /dev or /proc, is written to. Errors: KI_ERR_SYSTEM, KI_ERR_LIMIT (the path is too long); then the file that was there
 * stays as it is. */
ki_status kt_private_file_write(const char *path, ki_str text, ki_error *err);

#endif
