/* secret.c: bytes that are wiped before they are freed, set from text or read from a file. */
#include "src/auth/config.h"

#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void ki_secret_clear(const ki_allocator *allocator, ki_secret *secret) {
    if (secret->data)
        ki_wipe(secret->data, secret->size);
    ki_free(allocator, secret->data);
    *secret = (ki_secret){ NULL, 0 };
}

ki_status ki_secret_set(const ki_allocator *allocator, ki_secret *secret, ki_str text, ki_error *err) {
    char *copy = ki_strndup(allocator, text.data, text.size);
    if (!copy)
        return ki_error_no_memory(err, "reading the configuration");
    ki_secret_clear(allocator, secret);
    *secret = (ki_secret){ copy, text.size };
    return KI_OK;
}

static ki_status too_large(const char *what, const char *path, ki_error *err) {
    return ki_error_set(err, KI_ERR_LIMIT, "%s: %s is larger than %zu bytes", what, path, KI_CONFIG_FILE_LIMIT);
}

/* A file, or a pipe as from a shell's <(command): `*ret_size` is how much there may be. */
static ki_status open_file(const char *path, const char *what, int *ret_fd, size_t *ret_size, ki_error *err) {
    /* Opened without blocking: a pipe without a writer must not hang the program. It is read as any file then. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        ki_status status = errno == ENOENT || errno == ENOTDIR ? KI_ERR_NOT_FOUND : KI_ERR_CONFIG;
        return ki_error_set_errno(err, status, errno, "%s: cannot open %s", what, path);
    }
    struct stat info;
    ki_status status = KI_OK;
    if (fstat(fd, &info))
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "%s: cannot look at %s", what, path);
    else if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: %s is %s, not a file", what, path,
                              S_ISDIR(info.st_mode) ? "a directory" : "a device or socket");
    else if (S_ISREG(info.st_mode) && (info.st_size < 0 || (uintmax_t)info.st_size > KI_CONFIG_FILE_LIMIT))
        status = too_large(what, path, err);
    else if (fcntl(fd, F_SETFL, 0))
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "%s: cannot read %s", what, path);
    if (status) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    *ret_size = S_ISREG(info.st_mode) ? (size_t)info.st_size : KI_CONFIG_FILE_LIMIT + 1;
    return KI_OK;
}

ki_status ki_secret_read_file(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                              ki_error *err) {
    int fd = -1;
    size_t size = 0;
    ki_status status = open_file(path, what, &fd, &size, err);
    if (status)
        return status;
    char *data = ki_alloc(allocator, size + 1);
    if (!data) {
        close(fd);
        return ki_error_no_memory(err, "reading a file");
    }
    size_t got = 0;
    while (got < size) {
        ssize_t count = read(fd, data + got, size - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            status = ki_error_set_errno(err, KI_ERR_CONFIG, errno, "%s: cannot read %s", what, path);
        if (count <= 0)
            break; /* 0: the end; a file may have become shorter meanwhile */
        got += (size_t)count;
    }
    close(fd);
    data[got] = '\0';
    ki_secret read_one = { data, got };
    if (!status && got > KI_CONFIG_FILE_LIMIT)
        status = too_large(what, path, err);
    if (!status && got == 0 && size > KI_CONFIG_FILE_LIMIT)
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: nobody writes to the pipe %s", what, path);
    if (status) {
        ki_secret_clear(allocator, &read_one);
        return status;
    }
    ki_secret_clear(allocator, ret_secret);
    *ret_secret = read_one;
    return KI_OK;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

ki_status ki_secret_read_token(const ki_allocator *allocator, const char *path, const char *what, ki_secret *ret_secret,
                               ki_error *err) {
    ki_secret file = { NULL, 0 };
    ki_status status = ki_secret_read_file(allocator, path, what, &file, err);
    if (status)
        return status;
    ki_str token = { file.data, file.size };
    while (token.size && is_space(token.data[token.size - 1]))
        token.size--;
    while (token.size && is_space(*token.data)) {
        token.data++;
        token.size--;
    }
    if (token.size)
        status = ki_secret_set(allocator, ret_secret, token, err);
    else
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: %s is empty", what, path);
    ki_secret_clear(allocator, &file);
    return status;
}
