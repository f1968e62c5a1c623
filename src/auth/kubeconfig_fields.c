/* kubeconfig_fields.c: the fields of a kubeconfig and their types, and the check of a file against them. The whole file
 * is checked, as kubectl does, also the entries that are not used. */
#include "src/auth/kubeconfig.h"

#include "src/base/base64.h"
#include "src/base/error.h"
#include "src/base/map.h"

#include <stdio.h>

#define TEXT(name) \
    { name, KI_KUBECONFIG_TEXT, NULL }
#define BOOL(name) \
    { name, KI_KUBECONFIG_BOOL, NULL }
#define BYTES(name) \
    { name, KI_KUBECONFIG_BYTES, NULL }
#define TEXTS(name) \
    { name, KI_KUBECONFIG_TEXTS, NULL }
#define END \
    { NULL, KI_KUBECONFIG_ANY, NULL }

static const ki_kubeconfig_field extension_fields[] = { TEXT("name"), { "extension", KI_KUBECONFIG_ANY, NULL }, END };

#define EXTENSIONS \
    { "extensions", KI_KUBECONFIG_NAMED, extension_fields }

const ki_kubeconfig_field ki_kubeconfig_cluster_fields[] = { TEXT("server"),
                                                             TEXT("tls-server-name"),
                                                             BOOL("insecure-skip-tls-verify"),
                                                             TEXT("certificate-authority"),
                                                             BYTES("certificate-authority-data"),
                                                             TEXT("proxy-url"),
                                                             BOOL("disable-compression"),
                                                             EXTENSIONS,
                                                             END };

static const ki_kubeconfig_field env_fields[] = { TEXT("name"), TEXT("value"), END };

const ki_kubeconfig_field ki_kubeconfig_exec_fields[] = {
    TEXT("apiVersion"),      TEXT("command"),
    TEXTS("args"),           { "env", KI_KUBECONFIG_MAPS, env_fields },
    TEXT("installHint"),     BOOL("provideClusterInfo"),
    TEXT("interactiveMode"), END
};

static const ki_kubeconfig_field provider_fields[] = { TEXT("name"), { "config", KI_KUBECONFIG_TEXT_MAP, NULL }, END };

const ki_kubeconfig_field ki_kubeconfig_user_fields[] = { TEXT("client-certificate"),
                                                          BYTES("client-certificate-data"),
                                                          TEXT("client-key"),
                                                          BYTES("client-key-data"),
                                                          TEXT("token"),
                                                          TEXT("tokenFile"),
                                                          TEXT("as"),
                                                          TEXT("as-uid"),
                                                          TEXTS("as-groups"),
                                                          { "as-user-extra", KI_KUBECONFIG_TEXTS_MAP, NULL },
                                                          TEXT("username"),
                                                          TEXT("password"),
                                                          { "auth-provider", KI_KUBECONFIG_MAP, provider_fields },
                                                          { "exec", KI_KUBECONFIG_MAP, ki_kubeconfig_exec_fields },
                                                          EXTENSIONS,
                                                          END };

const ki_kubeconfig_field ki_kubeconfig_context_fields[] = { TEXT("cluster"), TEXT("user"), TEXT("namespace"),
                                                             EXTENSIONS, END };

static const ki_kubeconfig_field named_cluster[] = { TEXT("name"),
                                                     { "cluster", KI_KUBECONFIG_MAP, ki_kubeconfig_cluster_fields },
                                                     END };
static const ki_kubeconfig_field named_user[] = { TEXT("name"),
                                                  { "user", KI_KUBECONFIG_MAP, ki_kubeconfig_user_fields },
                                                  END };
static const ki_kubeconfig_field named_context[] = { TEXT("name"),
                                                     { "context", KI_KUBECONFIG_MAP, ki_kubeconfig_context_fields },
                                                     END };
static const ki_kubeconfig_field preferences[] = { BOOL("colors"), EXTENSIONS, END };

static const ki_kubeconfig_field root_fields[] = { TEXT("kind"),
                                                   TEXT("apiVersion"),
                                                   { "preferences", KI_KUBECONFIG_MAP, preferences },
                                                   { "clusters", KI_KUBECONFIG_NAMED, named_cluster },
                                                   { "users", KI_KUBECONFIG_NAMED, named_user },
                                                   { "contexts", KI_KUBECONFIG_NAMED, named_context },
                                                   TEXT("current-context"),
                                                   EXTENSIONS,
                                                   END };

/* The path of a value: the steps from the value up to the root. */
typedef struct place {
    const struct place *outer; /* NULL: the root */
    ki_str name;               /* name of a field or of a list's entry */
    size_t index;              /* index of an entry without a name */
    bool is_entry;
} place;

typedef struct checker {
    const ki_allocator *allocator;
    const ki_kubeconfig_file *file;
    ki_error *err;
} checker;

enum {
    NAME_LIMIT = 40,
    PLACE_LIMIT = 160,
    DEPTH_MAX = 8
};

/* Returns true for the inner map of an entry such as {name: u, user: {…}}; paths leave its name out. */
static bool is_wrapping(ki_str name) {
    return ki_str_equals(name, "cluster") || ki_str_equals(name, "user") || ki_str_equals(name, "context");
}

/* Writes a path such as "users[u].exec.env[2].name". */
static void write_place(const place *where, char *text, size_t size) {
    const place *steps[DEPTH_MAX];
    size_t count = 0, at = 0;
    for (; where->outer && count < DEPTH_MAX; where = where->outer)
        steps[count++] = where;
    text[0] = '\0';
    while (count-- > 0 && at < size - 1) {
        const place *step = steps[count];
        size_t left = size - at;
        int written = 0;
        if (!step->is_entry && step->outer->is_entry && is_wrapping(step->name))
            continue;
        if (!step->is_entry)
            written = snprintf(text + at, left, "%s%.*s", at ? "." : "", (int)step->name.size, step->name.data);
        else if (step->name.size)
            written = snprintf(text + at, left, "[%.*s]", (int)step->name.size, step->name.data);
        else
            written = snprintf(text + at, left, "[%zu]", step->index);
        at += written > 0 ? (size_t)written : 0;
    }
}

static ki_status set_error(const checker *self, const place *where, const ki_yaml *node, const char *why) {
    char text[PLACE_LIMIT];
    write_place(where, text, sizeof text);
    return ki_error_set(self->err, KI_ERR_CONFIG, "kubeconfig %s, line %zu: %s%s%s", self->file->path, node->line, text,
                        *text ? ": " : "", why);
}

static ki_status set_kind_error(const checker *self, const place *where, const ki_yaml *node, const char *wanted) {
    char why[96];
    bool is_quotable = (node->kind == KI_YAML_NUMBER || node->kind == KI_YAML_BOOL) && strcmp(wanted, "a text") == 0;
    bool is_quoted = node->kind == KI_YAML_TEXT && strcmp(wanted, "true or false") == 0 &&
                     ki_yaml_plain_kind(node->text) == KI_YAML_BOOL;
    snprintf(why, sizeof why, "must be %s, not %s%s", wanted, ki_yaml_kind_name(node->kind),
             is_quotable ? "; put it in quotes"
             : is_quoted ? "; remove the quotes"
                         : "");
    return set_error(self, where, node, why);
}

static ki_status check_value(const checker *self, const place *where, const ki_yaml *node,
                             const ki_kubeconfig_field *field);

static ki_status check_scalar(const checker *self, const place *where, const ki_yaml *node, ki_kubeconfig_type type) {
    if (type == KI_KUBECONFIG_BOOL)
        return node->kind == KI_YAML_BOOL ? KI_OK : set_kind_error(self, where, node, "true or false");
    if (node->kind != KI_YAML_TEXT)
        return set_kind_error(self, where, node, "a text");
    size_t size;
    if (type == KI_KUBECONFIG_BYTES && !ki_base64_decode(node->text, NULL, &size))
        return set_error(self, where, node, "is not base64; write the file's bytes with base64 -w0, or name the file");
    return KI_OK;
}

static const ki_kubeconfig_field *find_field(const ki_kubeconfig_field *fields, ki_str name) {
    for (; fields->name; fields++) {
        if (ki_str_equals(name, fields->name))
            return fields;
    }
    return NULL;
}

static ki_status check_map(const checker *self, const place *where, const ki_yaml *node, /* NOLINT(misc-no-recursion) */
                           const ki_kubeconfig_field *field) {
    if (node->kind != KI_YAML_MAP)
        return set_kind_error(self, where, node, "a map");
    const ki_kubeconfig_field one = { NULL,
                                      field->type == KI_KUBECONFIG_TEXT_MAP ? KI_KUBECONFIG_TEXT : KI_KUBECONFIG_TEXTS,
                                      NULL };
    const ki_yaml *key, *value;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && (ki_yaml_pair(node, i, &key, &value), key); i++) {
        const place inner = { where, key->text, 0, false };
        const ki_kubeconfig_field *known =
            field->type == KI_KUBECONFIG_MAP ? find_field(field->fields, key->text) : &one;
        if (known)
            status = check_value(self, &inner, value, known);
    }
    return status;
}

static ki_status check_named(const checker *self, const place *where, ki_map *names, const ki_yaml *item) {
    const ki_yaml *own = ki_yaml_get(item, "name");
    ki_str name = own ? own->text : KI_STR("");
    if (ki_map_has(names, name)) {
        const place inner = { where, name, 0, true };
        return set_error(self, &inner, item, "the name is used twice");
    }
    ki_status status = ki_map_put(names, name, names, NULL); /* the value is not used */
    return status ? ki_error_no_memory(self->err, "reading the kubeconfig") : KI_OK;
}

static ki_status check_list(const checker *self, const place *where,
                            const ki_yaml *node, /* NOLINT(misc-no-recursion) */
                            const ki_kubeconfig_field *field) {
    if (node->kind != KI_YAML_LIST)
        return set_kind_error(self, where, node, "a list");
    const ki_kubeconfig_field one = { NULL, field->type == KI_KUBECONFIG_TEXTS ? KI_KUBECONFIG_TEXT : KI_KUBECONFIG_MAP,
                                      field->fields };
    ki_map names;
    ki_map_init(&names, self->allocator, 0);
    const ki_yaml *item;
    ki_status status = KI_OK;
    for (size_t i = 0; !status && (item = ki_yaml_at(node, i)); i++) {
        const ki_yaml *own = ki_yaml_get(item, "name");
        const place inner = { where, own ? own->text : KI_STR(""), i, true };
        status = check_value(self, &inner, item, &one);
        if (!status && field->type == KI_KUBECONFIG_NAMED)
            status = check_named(self, where, &names, item);
    }
    ki_map_free(&names);
    return status;
}

/* Recursion ends with the depth of the tables. */
static ki_status check_value(const checker *self, const place *where,
                             const ki_yaml *node, /* NOLINT(misc-no-recursion) */
                             const ki_kubeconfig_field *field) {
    if (node->kind == KI_YAML_NULL)
        return KI_OK;
    switch (field->type) {
    case KI_KUBECONFIG_ANY:
        return KI_OK;
    case KI_KUBECONFIG_TEXT:
    case KI_KUBECONFIG_BOOL:
    case KI_KUBECONFIG_BYTES:
        return check_scalar(self, where, node, field->type);
    case KI_KUBECONFIG_TEXTS:
    case KI_KUBECONFIG_MAPS:
    case KI_KUBECONFIG_NAMED:
        return check_list(self, where, node, field);
    default:
        return check_map(self, where, node, field);
    }
}

static ki_status check_header(const checker *self, const place *root, const char *name, const char *wanted) {
    const ki_yaml *node = ki_yaml_get(self->file->document.root, name);
    if (!node || !node->text.size || ki_str_equals(node->text, wanted))
        return KI_OK;
    const place where = { root, ki_str_of(name), 0, false };
    char why[96];
    snprintf(why, sizeof why, "is \"%.*s\", not %s: not a supported kubeconfig",
             node->text.size < 40 ? (int)node->text.size : 40, node->text.data, wanted);
    return set_error(self, &where, node, why);
}

ki_status ki_kubeconfig_check_file(const ki_allocator *allocator, const ki_kubeconfig_file *file, ki_error *err) {
    const checker self = { allocator, file, err };
    const place root = { NULL, { NULL, 0 }, 0, false };
    const ki_yaml *node = file->document.root;
    if (node->kind == KI_YAML_NULL)
        return KI_OK;
    if (node->kind != KI_YAML_MAP)
        return ki_error_set(err, KI_ERR_PARSE, "kubeconfig %s: is %s, not a map: not a kubeconfig", file->path,
                            ki_yaml_kind_name(node->kind));
    const ki_kubeconfig_field whole = { NULL, KI_KUBECONFIG_MAP, root_fields };
    ki_status status = check_value(&self, &root, node, &whole);
    if (!status)
        status = check_header(&self, &root, "kind", "Config");
    return status ? status : check_header(&self, &root, "apiVersion", "v1");
}

/* Returns true if the text looks like a field's name. Anything else can be a secret in the wrong place. */
static bool is_printable_name(ki_str name) {
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'))
            return false;
    }
    return name.size <= NAME_LIMIT;
}

void ki_kubeconfig_warn_unknown(ki_config *config, const ki_kubeconfig_entry *from, const ki_yaml *map,
                                const char *within, const ki_kubeconfig_field *known) {
    const ki_yaml *key, *value;
    for (size_t i = 0; ki_yaml_pair(map, i, &key, &value), key; i++) {
        if (find_field(known, key->text) || value->kind == KI_YAML_NULL)
            continue;
        ki_str shown = is_printable_name(key->text) ? key->text : KI_STR("(a field)");
        ki_config_warn(config, "kubeconfig %s, line %zu: %s[%.*s].%s%.*s: no such field; ignored", from->file->path,
                       key->line, from->list, (int)from->name.size, from->name.data, within, (int)shown.size,
                       shown.data);
    }
}
