/* secret.c: bytes that are wiped before they are freed, copied from text or read from a file. */
#include "src/auth/config.h"

#include "src/base/array.h"
#include "src/base/base64.h"
#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void ki_secret_clear(const ki_allocator *allocator, ki_secret *secret) {
    if (secret->data)
        ki_wipe(secret->data, secret->size);
    ki_free(allocator, secret->data);
    *secret = (ki_secret){ NULL, 0 };
}

bool ki_secret_has_control(const ki_secret *secret) {
    for (size_t i = 0; i < secret->size; i++) {
        unsigned char c = (unsigned char)secret->data[i];
        if (c < 0x20 || c == 0x7f)
            return true;
    }
    return false;
}

ki_status ki_secret_set(const ki_allocator *allocator, ki_secret *secret, ki_str text, ki_error *err) {
    char *copy = ki_strndup(allocator, text.data, text.size);
    if (!copy)
        return ki_error_no_memory(err, "reading the configuration");
    ki_secret_clear(allocator, secret);
    *secret = (ki_secret){ copy, text.size };
    return KI_OK;
}

ki_status ki_secret_take(ki_secret *secret, ki_buffer *from, const char *what, ki_error *err) {
    ki_status status = from->failed;
    if (status == KI_ERR_LIMIT)
        ki_error_set(err, status, "%s longer than %zu bytes", what, from->limit);
    else if (status)
        ki_error_no_memory(err, "reading the configuration");
    else
        status = ki_secret_set(from->allocator, secret, (ki_str){ from->data, from->size }, err);
    ki_buffer_free(from);
    return status;
}

void ki_secret_list_clear(const ki_allocator *allocator, ki_secret_list *list) {
    for (size_t i = 0; i < list->count; i++)
        ki_secret_clear(allocator, &list->items[i]);
    ki_free(allocator, list->items);
    *list = (ki_secret_list){ 0 };
}

void ki_secret_pairs_clear(const ki_allocator *allocator, ki_secret_pairs *pairs) {
    for (size_t i = 0; i < pairs->count; i++) {
        ki_secret_clear(allocator, &pairs->items[i].name);
        ki_secret_clear(allocator, &pairs->items[i].value);
    }
    ki_free(allocator, pairs->items);
    *pairs = (ki_secret_pairs){ 0 };
}

void ki_exec_config_clear(const ki_allocator *allocator, ki_exec_config *exec) {
    ki_secret_clear(allocator, &exec->api_version);
    ki_secret_clear(allocator, &exec->command);
    ki_secret_clear(allocator, &exec->install_hint);
    ki_secret_clear(allocator, &exec->cluster_extension);
    ki_secret_list_clear(allocator, &exec->arguments);
    ki_secret_pairs_clear(allocator, &exec->environment);
}

static ki_status check_count(size_t count, ki_error *err) {
    return count < KI_CONFIG_ITEMS_LIMIT
               ? KI_OK
               : ki_error_set(err, KI_ERR_LIMIT, "a list of the configuration has more than %d entries",
                              KI_CONFIG_ITEMS_LIMIT);
}

ki_status ki_secret_list_append(const ki_allocator *allocator, ki_secret_list *list, ki_str text, ki_error *err) {
    ki_status status = check_count(list->count, err);
    if (!status && KI_ARRAY_RESERVE(allocator, list->items, list->count, list->capacity))
        status = ki_error_no_memory(err, "reading the configuration");
    ki_secret one = { NULL, 0 };
    if (!status)
        status = ki_secret_set(allocator, &one, text, err);
    if (!status)
        list->items[list->count++] = one;
    return status;
}

ki_status ki_secret_pairs_append(const ki_allocator *allocator, ki_secret_pairs *pairs, ki_str name, ki_str value,
                                 ki_error *err) {
    ki_status status = check_count(pairs->count, err);
    if (!status && KI_ARRAY_RESERVE(allocator, pairs->items, pairs->count, pairs->capacity))
        status = ki_error_no_memory(err, "reading the configuration");
    ki_secret_pair one = { { NULL, 0 }, { NULL, 0 } };
    if (!status)
        status = ki_secret_set(allocator, &one.name, name, err);
    if (!status)
        status = ki_secret_set(allocator, &one.value, value, err);
    if (status)
        ki_secret_clear(allocator, &one.name);
    else
        pairs->items[pairs->count++] = one;
    return status;
}

ki_status ki_config_absolute_path(const ki_allocator *allocator, ki_str folder, ki_str path, ki_secret *ret_path,
                                  ki_error *err) {
    char here[KI_CONFIG_PATH_LIMIT] = "";
    bool is_absolute = path.size && path.data[0] == '/';
    bool is_below = !is_absolute && folder.size > 0;
    bool is_from_here = !is_absolute && !(is_below && folder.data[0] == '/');
    if (is_from_here && !getcwd(here, sizeof here))
        return ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "cannot read the working directory");
    ki_buffer joined;
    ki_buffer_init(&joined, allocator, KI_CONFIG_PATH_LIMIT);
    if (is_from_here)
        ki_buffer_printf(&joined, "%s/", here);
    if (is_below)
        ki_buffer_append_view(&joined, folder);
    if (is_below && folder.data[folder.size - 1] != '/')
        ki_buffer_append_char(&joined, '/');
    ki_buffer_append_view(&joined, path);
    return ki_secret_take(ret_path, &joined, "a path is", err);
}

static ki_status too_large(const char *what, const char *path, ki_error *err) {
    return ki_error_set(err, KI_ERR_LIMIT, "%s: %s is larger than %zu bytes", what, path, KI_CONFIG_FILE_LIMIT);
}

/* Appends "; REMEDY" to the message, if there is one. */
static void add_remedy(int number, ki_error *err) {
    const char *remedy = number == ENOENT || number == ENOTDIR ? "name a file that exists"
                         : number == EACCES                    ? "let this user read it"
                                                               : NULL;
    if (!err || !remedy)
        return;
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, "; %s", remedy);
}

/* Opens a file, or a pipe such as a shell's <(command). `*ret_size` is the maximum number of bytes to read. */
static ki_status open_file(const char *path, const char *what, int *ret_fd, size_t *ret_size, ki_error *err) {
    /* O_NONBLOCK: opening a pipe without a writer must not block. Reading blocks again. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        int number = errno;
        ki_status status = number == ENOENT || number == ENOTDIR ? KI_ERR_NOT_FOUND : KI_ERR_CONFIG;
        ki_error_set_errno(err, status, number, "%s: cannot open %s", what, path);
        add_remedy(number, err);
        return status;
    }
    struct stat info;
    ki_status status = KI_OK;
    if (fstat(fd, &info))
        status = ki_error_set_errno(err, KI_ERR_SYSTEM, errno, "%s: cannot stat %s", what, path);
    else if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: %s is %s, not a file; name the file itself", what, path,
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
            break; /* 0: the end; the file can have become shorter */
        got += (size_t)count;
    }
    close(fd);
    data[got] = '\0';
    ki_secret read_one = { data, got };
    if (!status && got > KI_CONFIG_FILE_LIMIT)
        status = too_large(what, path, err);
    if (!status && got == 0 && size > KI_CONFIG_FILE_LIMIT)
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: the pipe %s has no writer", what, path);
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

ki_status ki_secret_decode_base64(const ki_allocator *allocator, ki_str text, ki_secret *ret_secret, ki_error *err) {
    size_t capacity = KI_BASE64_DECODED_MAX(text.size) + 1;
    char *data = ki_alloc(allocator, capacity);
    if (!data)
        return ki_error_no_memory(err, "decoding base64");
    size_t size = 0;
    if (!ki_base64_decode(text, data, &size)) {
        ki_wipe(data, capacity);
        ki_free(allocator, data);
        return ki_error_set(err, KI_ERR_PARSE, "not base64");
    }
    data[size] = '\0';
    ki_secret_clear(allocator, ret_secret);
    *ret_secret = (ki_secret){ data, size };
    return KI_OK;
}
