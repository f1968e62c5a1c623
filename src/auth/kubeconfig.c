/* kubeconfig.c: from one or several kubeconfig files to a config. In a list of files the first that has an entry wins, and paths
 * are relative to the file that they stand in. A field that this library does not know how to obey is an error, never ignored. */
#include "src/auth/config.h"
#include "src/auth/yaml_tree.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_FILES = 64,
    PATH_LIMIT = 4096
};

typedef struct kubeconfig_file {
    char *path;
    yaml_document_t document;
} kubeconfig_file;

typedef struct kubeconfig {
    ki_config *config;
    const ki_config_options *options;
    kubeconfig_file files[MAX_FILES];
    size_t count;
} kubeconfig;

/* One named cluster, context or user, and the file it is from. */
typedef struct entry {
    kubeconfig_file *file;
    ki_yaml *map; /* NULL: not found */
    const char *list;
    ki_str name;
} entry;

/* --- files ------------------------------------------------------------------------------------------------------------------ */

static ki_status add_file(kubeconfig *self, ki_str path_text, bool must_exist, ki_error *err) {
    const ki_allocator *allocator = &self->config->allocator;
    if (ki_str_equals(path_text, "/dev/null"))
        return KI_OK; /* how scripts say that there is none */
    if (self->count == MAX_FILES)
        return ki_error_set(err, KI_ERR_LIMIT, "KUBECONFIG lists more than %d files", MAX_FILES);
    char *path = ki_strndup(allocator, path_text.data, path_text.size);
    if (!path)
        return ki_error_no_memory(err, "reading the kubeconfig");
    ki_secret text = { NULL, 0 };
    ki_error why = KI_ERROR_INIT;
    ki_status status = ki_secret_read_file(allocator, path, "kubeconfig", &text, &why);
    if (status == KI_OK) {
        kubeconfig_file *file = &self->files[self->count];
        status = ki_yaml_load(&file->document, (ki_str){ text.data, text.size }, &why);
        if (status == KI_OK) {
            file->path = path;
            self->count++;
        } else {
            ki_error_prefix(&why, "kubeconfig %s", path);
        }
        ki_secret_clear(allocator, &text);
    } else if (status == KI_ERR_NOT_FOUND && !must_exist) {
        ki_free(allocator, path);
        return KI_OK;
    }
    if (status) {
        ki_free(allocator, path);
        if (err)
            *err = why;
    }
    return status;
}

static ki_status add_home_file(kubeconfig *self, ki_error *err) {
    const char *home = getenv("HOME");
    if (!home || !*home)
        return KI_OK;
    ki_buffer path;
    ki_buffer_init(&path, &self->config->allocator, PATH_LIMIT);
    ki_buffer_printf(&path, "%s/.kube/config", home);
    ki_status status = path.failed;
    if (status)
        ki_error_set(err, status, "HOME is too long, or out of memory");
    else
        status = add_file(self, (ki_str){ path.data, path.size }, false, err);
    ki_buffer_free(&path);
    return status;
}

static ki_status add_files(kubeconfig *self, ki_error *err) {
    if (self->options->kubeconfig)
        return add_file(self, ki_str_of(self->options->kubeconfig), true, err);
    const char *list = getenv("KUBECONFIG");
    if (!list || !*list)
        return add_home_file(self, err);
    ki_str rest = ki_str_of(list);
    while (rest.size) {
        ki_str path = ki_str_split(rest, ':', &rest);
        ki_status status = path.size ? add_file(self, path, false, err) : KI_OK;
        if (status)
            return status;
    }
    return KI_OK;
}

static void free_files(kubeconfig *self) {
    for (size_t i = 0; i < self->count; i++) {
        ki_yaml_free(&self->files[i].document);
        ki_free(&self->config->allocator, self->files[i].path);
    }
}

/* --- entries ---------------------------------------------------------------------------------------------------------------- */

static ki_yaml *root_of(kubeconfig_file *file) {
    return yaml_document_get_root_node(&file->document);
}

/* `list` is "clusters", whose elements are {name: …, cluster: {…}}. */
static entry find_entry(kubeconfig *self, const char *list, const char *member, ki_str name) {
    for (size_t i = 0; i < self->count; i++) {
        kubeconfig_file *file = &self->files[i];
        ki_yaml *all = ki_yaml_get(&file->document, root_of(file), list);
        ki_yaml *one;
        for (size_t n = 0; (one = ki_yaml_at(&file->document, all, n)); n++) {
            ki_str own = ki_yaml_text(ki_yaml_get(&file->document, one, "name"));
            if (own.data && ki_str_equal(own, name))
                return (entry){ file, ki_yaml_get(&file->document, one, member), list, name };
        }
    }
    return (entry){ NULL, NULL, list, name };
}

static ki_yaml *field(const entry *from, const char *name) {
    return from->map ? ki_yaml_get(&from->file->document, from->map, name) : NULL;
}

static ki_status bad_field(const entry *from, const char *name, ki_status status, ki_error *err, const char *why) {
    return ki_error_set(err, status, "%s: %s[%.*s].%s: %s", from->file->path, from->list, (int)from->name.size,
                        from->name.data, name, why);
}

/* A scalar field; data NULL where it is absent. */
static ki_status text_field(const entry *from, const char *name, ki_str *ret_text, ki_error *err) {
    *ret_text = (ki_str){ NULL, 0 };
    ki_yaml *value = field(from, name);
    if (!value)
        return KI_OK;
    *ret_text = ki_yaml_text(value);
    if (!ret_text->data)
        return bad_field(from, name, KI_ERR_CONFIG, err, "must be a text");
    if (memchr(ret_text->data, '\0', ret_text->size))
        return bad_field(from, name, KI_ERR_CONFIG, err, "must not hold a zero byte");
    return KI_OK;
}

/* Refuses every field that is not in `known` (ended by NULL). */
static ki_status check_fields(const entry *from, const char *const *known, ki_error *err) {
    for (size_t i = 0;; i++) {
        ki_yaml *key, *value;
        ki_yaml_pair(&from->file->document, from->map, i, &key, &value);
        if (!key)
            return KI_OK;
        if (ki_yaml_is_empty(value))
            continue;
        ki_str name = ki_yaml_text(key);
        size_t k = 0;
        while (known[k] && !ki_str_equals(name, known[k]))
            k++;
        if (!known[k])
            return ki_error_set(err, KI_ERR_UNSUPPORTED, "%s line %zu: %s[%.*s].%.*s is not supported by kinformer yet",
                                from->file->path, ki_yaml_line(key), from->list, (int)from->name.size, from->name.data,
                                (int)name.size, name.data ? name.data : "");
    }
}

/* A file's path, relative to the kubeconfig's folder. */
static ki_status resolve_path(const ki_allocator *allocator, const entry *from, ki_str path, ki_secret *ret_path,
                              ki_error *err) {
    const char *slash = strrchr(from->file->path, '/');
    size_t folder = slash && path.data[0] != '/' ? (size_t)(slash - from->file->path) + 1 : 0;
    ki_buffer joined;
    ki_buffer_init(&joined, allocator, PATH_LIMIT);
    ki_buffer_append(&joined, from->file->path, folder);
    ki_buffer_append_view(&joined, path);
    ki_status status = joined.failed;
    if (status)
        ki_error_set(err, status, "%s: a path is too long, or out of memory", from->file->path);
    else
        status = ki_secret_set(allocator, ret_path, (ki_str){ joined.data, joined.size }, err);
    ki_buffer_free(&joined);
    return status;
}

typedef ki_status (*read_function)(const ki_allocator *allocator, const char *path, const char *what,
                                   ki_secret *ret_secret, ki_error *err);

static ki_status file_field(const ki_allocator *allocator, const entry *from, const char *name, read_function read,
                            ki_secret *ret_secret, ki_error *err) {
    ki_str path;
    ki_status status = text_field(from, name, &path, err);
    if (status || !path.data)
        return status;
    ki_secret full = { NULL, 0 };
    status = resolve_path(allocator, from, path, &full, err);
    if (!status) {
        status = read(allocator, full.data, name, ret_secret, err);
        if (status == KI_ERR_NOT_FOUND)
            status = KI_ERR_CONFIG; /* the kubeconfig is there; what it says is wrong */
        if (status) {
            if (err)
                err->code = status;
            ki_error_prefix(err, "%s: %s[%.*s]", from->file->path, from->list, (int)from->name.size, from->name.data);
        }
    }
    ki_secret_clear(allocator, &full);
    return status;
}

/* `name` as a file, or `data_name` as base64; both is a contradiction. */
static ki_status pem_field(const ki_allocator *allocator, const entry *from, const char *name, const char *data_name,
                           ki_secret *ret_secret, ki_error *err) {
    ki_str text;
    ki_status status = text_field(from, data_name, &text, err);
    if (status)
        return status;
    if (!text.data)
        return file_field(allocator, from, name, ki_secret_read_file, ret_secret, err);
    if (field(from, name))
        return bad_field(from, name, KI_ERR_CONFIG, err, "given as a file and as data; keep one of them");
    status = ki_secret_decode_base64(allocator, text, ret_secret, err);
    return status == KI_ERR_PARSE ? bad_field(from, data_name, KI_ERR_CONFIG, err, "is not base64") : status;
}

static ki_status bool_field(const entry *from, const char *name, bool *ret_value, ki_error *err) {
    ki_str text;
    ki_status status = text_field(from, name, &text, err);
    if (status)
        return status;
    if (!text.data || ki_str_equals(text, "false"))
        *ret_value = false;
    else if (ki_str_equals(text, "true"))
        *ret_value = true;
    else
        return bad_field(from, name, KI_ERR_CONFIG, err, "must be true or false");
    return KI_OK;
}

/* --- cluster, user, context ------------------------------------------------------------------------------------------------ */

static ki_status read_cluster(ki_config *config, const entry *cluster, ki_error *err) {
    static const char *const known[] = {
        "server",     "certificate-authority", "certificate-authority-data",          "insecure-skip-tls-verify",
        "extensions", "disable-compression",   /* nothing is ever compressed */ NULL,
    };
    ki_str server;
    ki_status status = check_fields(cluster, known, err);
    if (!status)
        status = text_field(cluster, "server", &server, err);
    if (!status && server.data)
        status = ki_secret_set(&config->allocator, &config->server, server, err);
    if (!status)
        status = pem_field(&config->allocator, cluster, "certificate-authority", "certificate-authority-data",
                           &config->ca, err);
    if (!status)
        status = bool_field(cluster, "insecure-skip-tls-verify", &config->insecure_skip_tls_verify, err);
    if (!status && config->insecure_skip_tls_verify && config->ca.data)
        status = bad_field(cluster, "insecure-skip-tls-verify", KI_ERR_CONFIG, err,
                           "contradicts certificate-authority; keep one of them");
    return status;
}

static ki_status read_user(ki_config *config, const entry *user, ki_error *err) {
    static const char *const known[] = {
        "token",      "tokenFile",       "client-certificate", "client-certificate-data",
        "client-key", "client-key-data", "extensions",         NULL,
    };
    const ki_allocator *allocator = &config->allocator;
    ki_str token;
    ki_status status = check_fields(user, known, err);
    if (!status)
        status = text_field(user, "token", &token, err);
    if (!status && field(user, "tokenFile")) /* as in client-go the file wins: it is the fresher one */
        status = file_field(allocator, user, "tokenFile", ki_secret_read_token, &config->token, err);
    else if (!status && token.data)
        status = ki_secret_set(allocator, &config->token, token, err);
    if (!status)
        status = pem_field(allocator, user, "client-certificate", "client-certificate-data",
                           &config->client_certificate, err);
    if (!status)
        status = pem_field(allocator, user, "client-key", "client-key-data", &config->client_key, err);
    if (!status && !config->client_certificate.data != !config->client_key.data)
        status = bad_field(user, config->client_key.data ? "client-key" : "client-certificate", KI_ERR_CONFIG, err,
                           "client-certificate and client-key go together; one is missing");
    return status;
}

/* The name in a context's field, looked up; one that leads nowhere is an error. */
static ki_status follow(kubeconfig *self, const entry *context, const char *name, const char *list, entry *ret_entry,
                        ki_error *err) {
    ki_str target;
    ki_status status = text_field(context, name, &target, err);
    *ret_entry = (entry){ NULL, NULL, list, target };
    if (status || !target.data)
        return status;
    *ret_entry = find_entry(self, list, name, target);
    if (!ret_entry->file)
        return ki_error_set(err, KI_ERR_CONFIG, "%s: contexts[%.*s].%s: there is no %s \"%.*s\"", context->file->path,
                            (int)context->name.size, context->name.data, name, name, (int)target.size, target.data);
    if (ret_entry->map && !ki_yaml_is_map(ret_entry->map))
        return ki_error_set(err, KI_ERR_CONFIG, "%s: %s[%.*s].%s must be a mapping", ret_entry->file->path, list,
                            (int)target.size, target.data, name);
    return KI_OK;
}

static ki_status read_context(kubeconfig *self, const entry *context, ki_error *err) {
    ki_config *config = self->config;
    ki_str namespace_name;
    entry cluster, user;
    ki_status status = text_field(context, "namespace", &namespace_name, err);
    if (!status && namespace_name.data)
        status = ki_secret_set(&config->allocator, &config->namespace_name, namespace_name, err);
    if (!status)
        status = follow(self, context, "cluster", "clusters", &cluster, err);
    if (!status && cluster.map)
        status = read_cluster(config, &cluster, err);
    if (status)
        return status;
    /* The program's own token replaces the file's user; and to a plain-text server of the program's choice no credentials
     * are sent, so none are looked for. */
    const ki_config_options *options = self->options;
    bool plain = options->server && strncmp(options->server, "http:", 5) == 0;
    if (options->token || plain)
        return KI_OK;
    status = follow(self, context, "user", "users", &user, err);
    return !status && user.map ? read_user(config, &user, err) : status;
}

static ki_str current_context(kubeconfig *self) {
    for (size_t i = 0; i < self->count; i++) {
        kubeconfig_file *file = &self->files[i];
        ki_str name = ki_yaml_text(ki_yaml_get(&file->document, root_of(file), "current-context"));
        if (name.data)
            return name;
    }
    return (ki_str){ NULL, 0 };
}

static ki_status read_files(kubeconfig *self, ki_error *err) {
    const ki_config_options *options = self->options;
    for (size_t i = 0; i < self->count; i++) {
        ki_yaml *root = root_of(&self->files[i]);
        if (!ki_yaml_is_empty(root) && !ki_yaml_is_map(root))
            return ki_error_set(err, KI_ERR_PARSE, "kubeconfig %s: not a mapping", self->files[i].path);
    }
    ki_str name = options->context ? ki_str_of(options->context) : current_context(self);
    if (!name.size) {
        if (options->server)
            return KI_OK;
        if (self->count == 0)
            return ki_error_set(
                err, KI_ERR_NOT_FOUND,
                "no kubeconfig: neither KUBECONFIG nor ~/.kube/config leads to a file, and no server is given");
        return ki_error_set(err, KI_ERR_CONFIG, "%s: current-context is not set; set it, or name a context",
                            self->files[0].path);
    }
    entry context = find_entry(self, "contexts", "context", name);
    if (!context.file)
        return ki_error_set(err, options->context ? KI_ERR_NOT_FOUND : KI_ERR_CONFIG,
                            "%s%sthere is no context \"%.*s\"", self->count ? self->files[0].path : "",
                            self->count ? ": " : "no kubeconfig: ", (int)name.size, name.data);
    return read_context(self, &context, err);
}

ki_status ki_kubeconfig_load(ki_config *config, const ki_config_options *options, ki_error *err) {
    kubeconfig *self = ki_alloc_zero(&config->allocator, sizeof *self); /* large: not for a small stack */
    if (!self)
        return ki_error_no_memory(err, "reading the kubeconfig");
    self->config = config;
    self->options = options;
    ki_status status = add_files(self, err);
    if (!status)
        status = read_files(self, err);
    free_files(self);
    ki_free(&config->allocator, self);
    return status;
}
