/* kubeconfig.h: parsed kubeconfig files and the types of their fields. Used only by kubeconfig*.c. */
#ifndef KI_AUTH_KUBECONFIG_H
#define KI_AUTH_KUBECONFIG_H

#include "src/auth/config.h"
#include "src/base/yaml_tree.h"

enum {
    KI_KUBECONFIG_FILES_LIMIT = 64
};

typedef struct ki_kubeconfig_file {
    char *path;
    ki_yaml_document document;
} ki_kubeconfig_file;

typedef struct ki_kubeconfig {
    const ki_allocator *allocator;
    ki_kubeconfig_file files[KI_KUBECONFIG_FILES_LIMIT];
    size_t count;
} ki_kubeconfig;

/* Reads `path`, or the files of KUBECONFIG, or ~/.kube/config, and checks each. Errors: KI_ERR_NOT_FOUND (`path` does
 * not exist), KI_ERR_PARSE, KI_ERR_CONFIG, KI_ERR_LIMIT, KI_ERR_NO_MEMORY. The caller frees the files also after a
 * failure. */
ki_status ki_kubeconfig_read_files(ki_kubeconfig *self, const char *path, ki_error *err);
void ki_kubeconfig_free_files(ki_kubeconfig *self);

typedef enum ki_kubeconfig_type {
    KI_KUBECONFIG_ANY,
    KI_KUBECONFIG_TEXT,
    KI_KUBECONFIG_BOOL,
    KI_KUBECONFIG_BYTES,     /* a text in base64 */
    KI_KUBECONFIG_TEXTS,     /* list of texts */
    KI_KUBECONFIG_TEXT_MAP,  /* any names, each with a text */
    KI_KUBECONFIG_TEXTS_MAP, /* any names, each with a list of texts */
    KI_KUBECONFIG_MAP,       /* a map with the fields of `fields` */
    KI_KUBECONFIG_MAPS,      /* list of such maps */
    KI_KUBECONFIG_NAMED      /* a list of such maps, each with a unique name */
} ki_kubeconfig_type;

typedef struct ki_kubeconfig_field ki_kubeconfig_field;
struct ki_kubeconfig_field {
    const char *name; /* NULL ends a table */
    ki_kubeconfig_type type;
    const ki_kubeconfig_field *fields;
};

extern const ki_kubeconfig_field ki_kubeconfig_cluster_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_user_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_exec_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_context_fields[];

/* Checks the type of every known field, base64, and that names are unique. Ignores unknown fields. */
ki_status ki_kubeconfig_check_file(const ki_allocator *allocator, const ki_kubeconfig_file *file, ki_error *err);

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* A named cluster, context or user, and its file. */
typedef struct ki_kubeconfig_entry {
    const ki_kubeconfig_file *file; /* NULL: not found */
    const ki_yaml *map;             /* NULL: empty */
    const char *list;               /* "clusters", … */
    ki_str name;
} ki_kubeconfig_entry;

/* Reads a text; data is NULL if the field is absent or empty. */
ki_status ki_kubeconfig_text(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_str *ret_text,
                             ki_error *err);
/* The same, copied to `*ret_text`, which is untouched if the field is absent or empty. */
ki_status ki_kubeconfig_set_text(ki_config *config, const ki_kubeconfig_entry *from, const ki_yaml *map,
                                 const char *field, ki_secret *ret_text, ki_error *err);
/* Sets KI_ERR_CONFIG with file, line and the field's full name. `map` has the field, or would have it. */
ki_status ki_kubeconfig_bad(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_error *err,
                            const char *format, ...) KI_PRINTF(5, 6);
/* Makes a path of the file absolute. */
ki_status ki_kubeconfig_path(const ki_allocator *allocator, const ki_kubeconfig_entry *from, ki_str path,
                             ki_secret *ret_path, ki_error *err);
/* Reads the field `name`, a file whose path goes to `ret_path`, or the field `name`-data. Both together are an
 * error. */
ki_status ki_kubeconfig_pem(const ki_allocator *allocator, const ki_kubeconfig_entry *from, const char *name,
                            ki_secret *ret_pem, ki_secret *ret_path, ki_error *err);
/* Adds a warning for each field that is not in the table. */
void ki_kubeconfig_warn_unknown(ki_config *config, const ki_kubeconfig_entry *from, const ki_yaml *map,
                                const char *within, const ki_kubeconfig_field *known);

/* Read a user's impersonation, credentials and exec plugin. `cluster` has the extension for the plugin. */
ki_status ki_kubeconfig_read_impersonation(ki_config *config, const ki_kubeconfig_entry *user, ki_error *err);
ki_status ki_kubeconfig_read_credentials(ki_config *config, const ki_kubeconfig_entry *user,
                                         const ki_kubeconfig_entry *cluster, const ki_config_options *options,
                                         ki_error *err);
ki_status ki_kubeconfig_read_exec(ki_config *config, const ki_kubeconfig_entry *user,
                                  const ki_kubeconfig_entry *cluster, ki_error *err);

#endif
