/* private_file.h: writes a file that only its owner can read, for texts that contain a token. */
#ifndef KT_SERVER_PRIVATE_FILE_H
#define KT_SERVER_PRIVATE_FILE_H

#include <kinformer/error.h>

#include "src/base/string_view.h"

/* Writes a new file with mode 0600 and renames it to `path`. Replaces an existing file, a link, and a pipe of another
 * user. Writes directly to a device, to a pipe of this user or root, and through such a link to a file that the process
 * has open (/dev/stdout). An error leaves an existing file unchanged.
 * Errors: KI_ERR_SYSTEM, KI_ERR_LIMIT (the path is too long). */
ki_status kt_private_file_write(const char *path, ki_str text, ki_error *err);

#endif
