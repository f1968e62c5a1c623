/* directory.c: reads the certificates of all files of folders. Any thread. */
#include "src/auth/pem.h"

#include "src/base/array.h"
#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    FILES_LIMIT = 10000 /* names of a folder */
};

/* Names of a folder, sorted. */
typedef struct names {
    const ki_allocator *allocator;
    char **items;
    size_t count, capacity;
} names;

static void clear_names(names *all) {
    for (size_t i = 0; i < all->count; i++)
        ki_free(all->allocator, all->items[i]);
    ki_free(all->allocator, all->items);
}

static ki_status add_name(names *all, const char *name, ki_error *err) {
    if (KI_ARRAY_RESERVE(all->allocator, all->items, all->count, all->capacity))
        return ki_error_no_memory(err, "reading a folder");
    all->items[all->count] = ki_strdup(all->allocator, name);
    if (!all->items[all->count])
        return ki_error_no_memory(err, "reading a folder");
    all->count++;
    return KI_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ki_status list_names(names *all, const char *path, const char *what, ki_error *err) {
    DIR *folder = opendir(path);
    if (!folder) {
        int number = errno;
        return ki_error_set_errno(err, number == ENOENT ? KI_ERR_NOT_FOUND : KI_ERR_CONFIG, number,
                                  "%s: cannot open %s", what, path);
    }
    ki_status status = KI_OK;
    for (const struct dirent *entry; !status && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') /* also the hidden folders of a mounted ConfigMap or Secret */
            continue;
        if (all->count == FILES_LIMIT)
            status = ki_error_set(err, KI_ERR_LIMIT, "%s: %s has more than %d files", what, path, FILES_LIMIT);
        else
            status = add_name(all, entry->d_name, err);
    }
    closedir(folder);
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, by_name);
    return status;
}

/* Appends the certificates of one file. Skips what is not a regular file. */
static ki_status append_file(const ki_allocator *allocator, const char *path, const char *what, ki_buffer *all,
                             ki_error *err) {
    struct stat info;
    if (stat(path, &info) || !S_ISREG(info.st_mode))
        return KI_OK;
    ki_secret text = { NULL, 0 }, certificates = { NULL, 0 };
    size_t count = 0, skipped = 0;
    ki_status status = ki_secret_read_file(allocator, path, what, &text, err);
    if (status == KI_ERR_NOT_FOUND)
        return KI_OK; /* removed meanwhile */
    if (!status)
        status = ki_pem_certificates(allocator, ki_secret_text(&text), &certificates, &count, &skipped, err);
    if (!status && count) {
        ki_buffer_append(all, certificates.data, certificates.size);
        ki_buffer_append_char(all, '\n');
    }
    ki_secret_clear(allocator, &text);
    ki_secret_clear(allocator, &certificates);
    return status;
}

/* Appends the certificates of a folder's files, in the order of their names. */
static ki_status append_folder(const ki_allocator *allocator, const char *path, const char *what, ki_buffer *all,
                               ki_error *err) {
    names files = { .allocator = allocator };
    ki_status status = list_names(&files, path, what, err);
    for (size_t i = 0; !status && !all->failed && i < files.count; i++) {
        ki_secret full = { NULL, 0 };
        status = ki_config_absolute_path(allocator, ki_str_of(path), ki_str_of(files.items[i]), &full, err);
        if (!status)
            status = append_file(allocator, full.data, what, all, err);
        ki_secret_clear(allocator, &full);
    }
    clear_names(&files);
    return status;
}

ki_status ki_secret_read_directory(const ki_allocator *allocator, const char *path, const char *what,
                                   ki_secret *ret_secret, ki_error *err) {
    ki_buffer all;
    ki_buffer_init(&all, allocator, KI_CONFIG_FILE_LIMIT);
    ki_status status = append_folder(allocator, path, what, &all, err);
    if (!status && !all.failed && !all.size)
        status = ki_error_set(err, KI_ERR_CONFIG, "%s: no file of %s has a PEM certificate", what, path);
    if (!status)
        status = ki_secret_take(ret_secret, &all, "the certificates of a folder are", err);
    ki_buffer_free(&all);
    return status;
}

/* Returns KI_OK in place of the failure of a file or folder that cannot be read. */
static ki_status skip_unreadable(ki_status status, ki_error *failure, ki_error *err) {
    if (status == KI_ERR_NOT_FOUND || status == KI_ERR_CONFIG)
        status = KI_OK;
    if (status && err)
        *err = *failure;
    return status;
}

ki_status ki_secret_read_authorities(const ki_allocator *allocator, const char *file, const char *folders,
                                     ki_secret *ret_secret, ki_error *err) {
    ki_buffer all;
    ki_error failure = KI_ERROR_INIT;
    ki_status status = KI_OK;
    ki_buffer_init(&all, allocator, KI_CONFIG_FILE_LIMIT);
    if (file)
        status = skip_unreadable(append_file(allocator, file, "SSL_CERT_FILE", &all, &failure), &failure, err);
    ki_str rest = ki_str_of(folders ? folders : "");
    while (!status && rest.data) {
        ki_str folder = ki_str_split(rest, ':', &rest);
        ki_secret path = { NULL, 0 };
        if (folder.size)
            status = ki_secret_set(allocator, &path, folder, err);
        if (path.data)
            status =
                skip_unreadable(append_folder(allocator, path.data, "SSL_CERT_DIR", &all, &failure), &failure, err);
        ki_secret_clear(allocator, &path);
    }
    if (!status && (all.size || all.failed))
        status = ki_secret_take(ret_secret, &all, "SSL_CERT_FILE, SSL_CERT_DIR: the certificates are", err);
    ki_buffer_free(&all);
    return status;
}
