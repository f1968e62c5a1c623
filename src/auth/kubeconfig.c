/* kubeconfig.c: makes a config from kubeconfig files: the context, its cluster, its user. In a list of files the first
 * file with an entry wins, and the whole entry counts. Paths are relative to their file. */
#include "src/auth/kubeconfig.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdlib.h>

#include <stdarg.h>
#include <stdio.h>

/* --- entries ------------------------------------------------------------------------------------------------------ */

enum {
    CONTEXTS_SHOWN = 200 /* bytes of the names in a message */
};

/* Finds a named entry. `list` is "clusters", whose elements are {name: …, cluster: {…}}, and `member` is "cluster". */
static ki_kubeconfig_entry find_entry(const ki_kubeconfig *self, const char *list, const char *member, ki_str name) {
    for (size_t i = 0; i < self->count; i++) {
        const ki_kubeconfig_file *file = &self->files[i];
        const ki_yaml *all = ki_yaml_get(file->document.root, list);
        const ki_yaml *one;
        for (size_t n = 0; (one = ki_yaml_at(all, n)); n++) {
            const ki_yaml *own = ki_yaml_get(one, "name");
            if (own && own->text.size && ki_str_equal(own->text, name))
                return (ki_kubeconfig_entry){ file, ki_yaml_get(one, member), list, name };
        }
    }
    return (ki_kubeconfig_entry){ NULL, NULL, list, name };
}

ki_status ki_kubeconfig_bad(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_error *err,
                            const char *format, ...) {
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const ki_yaml *node = ki_yaml_get(map, strrchr(field, '.') ? strrchr(field, '.') + 1 : field);
    const ki_yaml *at = node ? node : map;
    return ki_error_set(err, KI_ERR_CONFIG, "kubeconfig %s, line %zu: %s[%.*s].%s: %s", from->file->path,
                        at ? at->line : 0, from->list, (int)from->name.size, from->name.data, field, why);
}

ki_status ki_kubeconfig_text(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_str *ret_text,
                             ki_error *err) {
    *ret_text = (ki_str){ NULL, 0 };
    const ki_yaml *value = ki_yaml_get(map, strrchr(field, '.') ? strrchr(field, '.') + 1 : field);
    if (!value || !value->text.size)
        return KI_OK;
    if (memchr(value->text.data, '\0', value->text.size))
        return ki_kubeconfig_bad(from, map, field, err, "must not contain a zero byte");
    *ret_text = value->text;
    return KI_OK;
}

ki_status ki_kubeconfig_set_text(ki_config *config, const ki_kubeconfig_entry *from, const ki_yaml *map,
                                 const char *field, ki_secret *ret_text, ki_error *err) {
    ki_str text;
    ki_status status = ki_kubeconfig_text(from, map, field, &text, err);
    return status || !text.data ? status : ki_secret_set(&config->allocator, ret_text, text, err);
}

ki_status ki_kubeconfig_path(const ki_allocator *allocator, const ki_kubeconfig_entry *from, ki_str path,
                             ki_secret *ret_path, ki_error *err) {
    const char *slash = strrchr(from->file->path, '/');
    ki_str folder = { from->file->path, slash ? (size_t)(slash - from->file->path) + 1 : 0 };
    ki_status status = ki_config_absolute_path(allocator, folder, path, ret_path, err);
    if (status)
        ki_error_prefix(err, "kubeconfig %s", from->file->path);
    return status;
}

/* Sets the error of a file that a field names: the kubeconfig exists, but its content is wrong. */
static ki_status bad_file(const ki_kubeconfig_entry *from, ki_status status, ki_error *err) {
    if (status == KI_ERR_NOT_FOUND)
        status = KI_ERR_CONFIG;
    if (err)
        err->code = status;
    ki_error_prefix(err, "kubeconfig %s: %s[%.*s]", from->file->path, from->list, (int)from->name.size,
                    from->name.data);
    return status;
}

ki_status ki_kubeconfig_pem(const ki_allocator *allocator, const ki_kubeconfig_entry *from, const char *name,
                            ki_secret *ret_pem, ki_secret *ret_path, ki_error *err) {
    char data_name[64];
    snprintf(data_name, sizeof data_name, "%s-data", name);
    ki_str path, data;
    ki_status status = ki_kubeconfig_text(from, from->map, name, &path, err);
    if (!status)
        status = ki_kubeconfig_text(from, from->map, data_name, &data, err);
    if (status || (!path.data && !data.data))
        return status;
    if (path.data && data.data)
        return ki_kubeconfig_bad(from, from->map, name, err, "set as a file and as data; keep one of them");
    if (data.data) {
        status = ki_secret_decode_base64(allocator, data, ret_pem, err);
        return status == KI_ERR_PARSE ? ki_kubeconfig_bad(from, from->map, data_name, err, "is not base64") : status;
    }
    status = ki_kubeconfig_path(allocator, from, path, ret_path, err);
    if (status)
        return status;
    status = ki_secret_read_file(allocator, ret_path->data, name, ret_pem, err);
    return status ? bad_file(from, status, err) : KI_OK;
}

/* --- cluster ------------------------------------------------------------------------------------------------------ */

static bool read_bool(const ki_kubeconfig_entry *from, const char *name) {
    const ki_yaml *value = ki_yaml_get(from->map, name);
    return value && ki_yaml_is_true(value->text);
}

static ki_status read_cluster(ki_config *config, const ki_kubeconfig_entry *cluster, const ki_config_options *options,
                              ki_error *err) {
    ki_status status = ki_kubeconfig_set_text(config, cluster, cluster->map, "server", &config->server, err);
    if (!status)
        status =
            ki_kubeconfig_set_text(config, cluster, cluster->map, "tls-server-name", &config->tls_server_name, err);
    if (!status)
        status = ki_kubeconfig_set_text(config, cluster, cluster->map, "proxy-url", &config->proxy_url, err);
    config->disable_compression = read_bool(cluster, "disable-compression");
    ki_kubeconfig_warn_unknown(config, cluster, cluster->map, "", ki_kubeconfig_cluster_fields);
    /* The program's own TLS options replace the kubeconfig's. */
    if (status || options->insecure_skip_tls_verify || options->certificate_authority)
        return status;
    config->insecure_skip_tls_verify = read_bool(cluster, "insecure-skip-tls-verify");
    status =
        ki_kubeconfig_pem(&config->allocator, cluster, "certificate-authority", &config->ca, &config->ca_file, err);
    if (!status && config->insecure_skip_tls_verify && config->ca.data)
        status = ki_kubeconfig_bad(cluster, cluster->map, "insecure-skip-tls-verify", err,
                                   "conflicts with certificate-authority; keep one of them");
    return status;
}

/* --- context ------------------------------------------------------------------------------------------------------ */

typedef struct selection {
    ki_kubeconfig_entry context, cluster, user;
} selection;

/* Finds the entry that the program names, or else the context's. `may_miss`: the context's entry may be missing. */
static ki_status select_entry(const ki_kubeconfig *self, const selection *of, const char *given, const char *member,
                              const char *list, bool may_miss, ki_kubeconfig_entry *ret_entry, ki_error *err) {
    ki_str name = ki_str_of(given);
    ki_status status = KI_OK;
    if (!given && of->context.file)
        status = ki_kubeconfig_text(&of->context, of->context.map, member, &name, err);
    *ret_entry = (ki_kubeconfig_entry){ NULL, NULL, list, name };
    if (status || !name.data)
        return status;
    *ret_entry = find_entry(self, list, member, name);
    if (ret_entry->file || (!given && may_miss))
        return KI_OK;
    if (given)
        return ki_error_set(err, KI_ERR_NOT_FOUND, "%s%s: there is no %s \"%s\"; name one that exists",
                            self->count ? "kubeconfig " : "no kubeconfig", self->count ? self->files[0].path : "",
                            member, given);
    return ki_kubeconfig_bad(&of->context, of->context.map, member, err,
                             "there is no %s \"%.*s\"; name one that exists, or add it", member, (int)name.size,
                             name.data);
}

static ki_str current_context(const ki_kubeconfig *self) {
    for (size_t i = 0; i < self->count; i++) {
        const ki_yaml *name = ki_yaml_get(self->files[i].document.root, "current-context");
        if (name && name->text.size)
            return name->text;
    }
    return (ki_str){ NULL, 0 };
}

static ki_status no_file(ki_error *err) {
    const char *list = getenv("KUBECONFIG");
    if (list && *list)
        return ki_error_set(err, KI_ERR_NOT_FOUND,
                            "no kubeconfig: no file of KUBECONFIG (%.200s) exists, and no server is set", list);
    return ki_error_set(err, KI_ERR_NOT_FOUND,
                        "no kubeconfig: KUBECONFIG is not set, ~/.kube/config does not exist, and no server is set");
}

/* Writes the names of the contexts, as many as fit: "dev, staging". */
static void list_contexts(const ki_kubeconfig *self, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < self->count; i++) {
        const ki_yaml *all = ki_yaml_get(self->files[i].document.root, "contexts"), *one;
        for (size_t n = 0; (one = ki_yaml_at(all, n)); n++) {
            const ki_yaml *name = ki_yaml_get(one, "name");
            if (!name || !name->text.size)
                continue;
            int added =
                snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", (int)name->text.size, name->text.data);
            if (added < 0 || (size_t)added >= size - used) {
                text[used] = '\0'; /* drops an incomplete name */
                return;
            }
            used += (size_t)added;
        }
    }
}

static ki_status find_context(const ki_kubeconfig *self, const ki_config_options *options, ki_kubeconfig_entry *ret,
                              ki_error *err) {
    ki_str name = options->context ? ki_str_of(options->context) : current_context(self);
    *ret = (ki_kubeconfig_entry){ NULL, NULL, "contexts", name };
    if (!name.size) {
        if (options->server || options->cluster)
            return KI_OK;
        if (self->count == 0)
            return no_file(err);
        return ki_error_set(err, KI_ERR_CONFIG, "kubeconfig %s: current-context is not set; set it, or name a context",
                            self->files[0].path);
    }
    *ret = find_entry(self, "contexts", "context", name);
    if (ret->file)
        return KI_OK;
    char names[CONTEXTS_SHOWN];
    list_contexts(self, names, sizeof names);
    return ki_error_set(err, options->context ? KI_ERR_NOT_FOUND : KI_ERR_CONFIG,
                        "%s%.150s: there is no context \"%.*s\"%s%s", self->count ? "kubeconfig " : "no kubeconfig",
                        self->count ? self->files[0].path : "", (int)(name.size < 100 ? name.size : 100), name.data,
                        names[0] ? "; there are: " : "", names);
}

static ki_status set_names(ki_config *config, const selection *of, ki_error *err) {
    const struct {
        const ki_kubeconfig_entry *entry;
        ki_secret *name;
    } all[] = { { &of->context, &config->context }, { &of->cluster, &config->cluster }, { &of->user, &config->user } };
    ki_status status = KI_OK;
    for (size_t i = 0; !status && i < sizeof all / sizeof *all; i++) {
        if (all[i].entry->file)
            status = ki_secret_set(&config->allocator, all[i].name, all[i].entry->name, err);
    }
    return status;
}

static ki_status set_files(ki_config *config, const ki_kubeconfig *self, ki_error *err) {
    ki_buffer list;
    ki_buffer_init(&list, &config->allocator, (size_t)KI_KUBECONFIG_FILES_LIMIT * KI_CONFIG_PATH_LIMIT);
    for (size_t i = 0; i < self->count; i++)
        ki_buffer_printf(&list, "%s%s", i ? ":" : "", self->files[i].path);
    if (list.size || list.failed)
        return ki_secret_take(&config->files, &list, "KUBECONFIG: its paths are", err);
    return KI_OK;
}

/* Returns true if the kubeconfig's credentials are not used. */
static bool ignores_credentials(const ki_config_options *options) {
    /* No credentials are sent to an http server that the program names. */
    bool is_plain = options->server && strncmp(options->server, "http:", 5) == 0;
    return is_plain || options->token || options->token_file || options->username || options->password ||
           options->client_certificate;
}

static ki_status read_files(ki_config *config, const ki_kubeconfig *self, const ki_config_options *options,
                            ki_error *err) {
    selection of;
    bool own = ignores_credentials(options);
    ki_status status = find_context(self, options, &of.context, err);
    if (!status && of.context.file)
        status = ki_kubeconfig_set_text(config, &of.context, of.context.map, "namespace", &config->namespace_name, err);
    if (!status)
        status =
            select_entry(self, &of, options->cluster, "cluster", "clusters", options->server != NULL, &of.cluster, err);
    if (!status)
        status = select_entry(self, &of, options->user, "user", "users", own, &of.user, err);
    if (!status)
        status = set_names(config, &of, err);
    if (!status && of.context.file)
        ki_kubeconfig_warn_unknown(config, &of.context, of.context.map, "", ki_kubeconfig_context_fields);
    if (!status && of.cluster.file)
        status = read_cluster(config, &of.cluster, options, err);
    if (!status && of.user.file)
        status = ki_kubeconfig_read_impersonation(config, &of.user, err);
    if (!status && of.user.file && !own)
        status = ki_kubeconfig_read_credentials(config, &of.user, &of.cluster, options, err);
    return status;
}

ki_status ki_kubeconfig_load(ki_config *config, const ki_config_options *options, ki_error *err) {
    ki_kubeconfig *self = ki_alloc_zero(&config->allocator, sizeof *self); /* too large for a small stack */
    if (!self)
        return ki_error_no_memory(err, "reading the kubeconfig");
    self->allocator = &config->allocator;
    ki_status status = ki_kubeconfig_read_files(self, options->kubeconfig, err);
    if (!status)
        status = set_files(config, self, err);
    if (!status)
        status = read_files(config, self, options, err);
    ki_kubeconfig_free_files(self);
    ki_free(&config->allocator, self);
    return status;
}
