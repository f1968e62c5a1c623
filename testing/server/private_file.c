/* private_file.c: see private_file.h. */
#include "testing/server/private_file.h"

#include "src/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static ki_status fail(const char *path, int code, ki_error *err) {
    return ki_error_set_errno(err, KI_ERR_SYSTEM, code, "cannot write %s", path);
}

/* Writes everything and closes. Returns 0 or an errno. */
static int write_and_close(int fd, ki_str text) {
    int code = 0;
    while (text.size && !code) {
        ssize_t written = write(fd, text.data, text.size);
        if (written < 0 && errno != EINTR)
            code = errno;
        if (written > 0) {
            text.data += written;
            text.size -= (size_t)written;
        }
    }
    if (close(fd) && !code)
        code = errno;
    return code;
}

static bool is_no_file(const char *path) {
    struct stat is;
    ki_str name = ki_str_of(path);
    return ki_str_starts_with(name, KI_STR("/dev/")) || ki_str_starts_with(name, KI_STR("/proc/")) ||
           (lstat(path, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISLNK(is.st_mode));
}

ki_status kt_private_file_write(const char *path, ki_str text, ki_error *err) {
    char temporary[PATH_MAX];
    if (is_no_file(path)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        int code = fd < 0 ? errno : write_and_close(fd, text);
        return code ? fail(path, code, err) : KI_OK;
    }
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        return ki_error_set(err, KI_ERR_LIMIT, "cannot write %.100s…: the path is too long", path);
    int fd = mkostemp(temporary, O_CLOEXEC); /* with mode 0600 */
    if (fd < 0)
        return fail(path, errno, err);
    int code = write_and_close(fd, text);
    if (!code && rename(temporary, path))
        code = errno;
    if (code)
        (void)unlink(temporary);
    return code ? fail(path, code, err) : KI_OK;
}
