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

enum {
    DESCRIPTORS_MAX = 256 /* a shell's >(...) has 63 and below */
};

static ki_status fail_file(const char *path, int code, ki_error *err) {
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

/* Returns a copy of the own descriptor that is open for writing to this file; -1 if there is none. */
static int own_descriptor(const struct stat *file) {
    struct stat is;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        bool is_file = fstat(fd, &is) == 0 && is.st_dev == file->st_dev && is.st_ino == file->st_ino;
        if (is_file && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY) /* a pipe has two ends */
            return fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    return -1;
}

/* Returns a descriptor to write to if `path` is no place for a file: a device, a pipe, or a link to an own descriptor,
 * such as /dev/stdout. Another user's link or pipe is none: everybody may make them in /tmp. -1: it is a place for a
 * file; -2: errno says why it cannot be opened. */
static int open_stream(const char *path) {
    struct stat is, target;
    if (lstat(path, &is) || S_ISREG(is.st_mode))
        return -1;
    bool is_trusted = is.st_uid == 0 || is.st_uid == geteuid();
    if (S_ISFIFO(is.st_mode) && !is_trusted)
        return -1;
    if (!S_ISLNK(is.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -2 : fd;
    }
    return is_trusted && stat(path, &target) == 0 ? own_descriptor(&target) : -1;
}

ki_status kt_private_file_write(const char *path, ki_str text, ki_error *err) {
    char temporary[PATH_MAX];
    int stream = open_stream(path);
    if (stream != -1) {
        int failed = stream < 0 ? errno : write_and_close(stream, text);
        return failed ? fail_file(path, failed, err) : KI_OK;
    }
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        return ki_error_set(err, KI_ERR_LIMIT, "cannot write %.100s…: the path is too long", path);
    int fd = mkostemp(temporary, O_CLOEXEC); /* with mode 0600 */
    if (fd < 0)
        return fail_file(path, errno, err);
    int code = write_and_close(fd, text);
    if (!code && rename(temporary, path))
        code = errno;
    if (code)
        (void)unlink(temporary);
    return code ? fail_file(path, code, err) : KI_OK;
}
