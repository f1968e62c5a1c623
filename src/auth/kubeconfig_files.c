/* kubeconfig_files.c: finds and reads the kubeconfig files. */
#include "src/auth/kubeconfig.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdlib.h>

static bool is_loaded(const ki_kubeconfig *self, ki_str path) {
    for (size_t i = 0; i < self->count; i++) {
        if (ki_str_equals(path, self->files[i].path))
            return true;
    }
    return false;
}

static ki_status load_file(ki_kubeconfig *self, ki_kubeconfig_file *file, ki_error *err) {
    ki_secret text = { NULL, 0 };
    ki_status status = ki_secret_read_file(self->allocator, file->path, "kubeconfig", &text, err);
    if (status)
        return status;
    status = ki_yaml_load(self->allocator, (ki_str){ text.data, text.size }, NULL, &file->document, err);
    if (status == KI_ERR_PARSE || status == KI_ERR_UNSUPPORTED) { /* the name of a field can be no number of JSON */
        const ki_error why = *err;
        status = ki_error_set(err, KI_ERR_PARSE, "kubeconfig %s: %s; fix the YAML there", file->path, why.message);
    } else if (status) {
        ki_error_prefix(err, "kubeconfig %s", file->path);
    } else {
        status = ki_kubeconfig_check_file(self->allocator, file, err);
    }
    ki_secret_clear(self->allocator, &text);
    return status;
}

static ki_status add_file(ki_kubeconfig *self, ki_str path, bool must_exist, ki_error *err) {
    if (ki_str_equals(path, "/dev/null") || is_loaded(self, path))
        return KI_OK; /* scripts set KUBECONFIG=/dev/null for "no kubeconfig" */
    if (self->count == KI_KUBECONFIG_FILES_LIMIT)
        return ki_error_set(err, KI_ERR_LIMIT, "KUBECONFIG lists more than %d files", KI_KUBECONFIG_FILES_LIMIT);
    ki_kubeconfig_file file = { .path = ki_strndup(self->allocator, path.data, path.size) };
    if (!file.path)
        return ki_error_no_memory(err, "reading the kubeconfig");
    ki_error why = KI_ERROR_INIT;
    ki_status status = load_file(self, &file, &why);
    if (!status) {
        self->files[self->count++] = file;
        return KI_OK;
    }
    ki_yaml_free(&file.document);
    ki_free(self->allocator, file.path);
    if (status == KI_ERR_NOT_FOUND && !must_exist)
        return KI_OK;
    if (err)
        *err = why;
    return status;
}

static ki_status add_home_file(ki_kubeconfig *self, ki_error *err) {
    const char *home = getenv("HOME");
    if (!home || !*home)
        return KI_OK;
    ki_buffer path;
    ki_buffer_init(&path, self->allocator, KI_CONFIG_PATH_LIMIT);
    ki_buffer_printf(&path, "%s/.kube/config", home);
    ki_status status = path.failed;
    if (status)
        ki_error_set(err, status, "HOME is too long, or out of memory");
    else
        status = add_file(self, (ki_str){ path.data, path.size }, false, err);
    ki_buffer_free(&path);
    return status;
}

ki_status ki_kubeconfig_read_files(ki_kubeconfig *self, const char *path, ki_error *err) {
    if (path)
        return add_file(self, ki_str_of(path), true, err);
    const char *list = getenv("KUBECONFIG");
    if (!list || !*list)
        return add_home_file(self, err);
    ki_str rest = ki_str_of(list);
    while (rest.size) {
        ki_str one = ki_str_split(rest, ':', &rest);
        ki_status status = one.size ? add_file(self, one, false, err) : KI_OK;
        if (status)
            return status;
    }
    return KI_OK;
}

void ki_kubeconfig_free_files(ki_kubeconfig *self) {
    for (size_t i = 0; i < self->count; i++) {
        ki_yaml_free(&self->files[i].document);
        ki_free(self->allocator, self->files[i].path);
    }
    self->count = 0;
}
