/* kubeconfig.h: kubeconfig files as they were read, and what a field of theirs may be. Used by kubeconfig*.c alone. */
#ifndef KI_AUTH_KUBECONFIG_H
#define KI_AUTH_KUBECONFIG_H

#include "src/auth/config.h"
#include "src/auth/yaml_tree.h"

enum {
    KI_KUBECONFIG_FILES_LIMIT = 64,
    KI_KUBECONFIG_VALUES_LIMIT = 1000000 /* of a file, with what its aliases stand for */
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

/* Reads `path`, else what KUBECONFIG lists, else the home's file, and checks each. Errors: KI_ERR_NOT_FOUND (`path` is not there),
 * KI_ERR_PARSE, KI_ERR_CONFIG, KI_ERR_LIMIT, KI_ERR_NO_MEMORY; the files are to be freed after failure, too. */
ki_status ki_kubeconfig_read_files(ki_kubeconfig *self, const char *path, ki_error *err);
void ki_kubeconfig_free_files(ki_kubeconfig *self);

typedef enum ki_kubeconfig_type {
    KI_KUBECONFIG_ANY,
    KI_KUBECONFIG_TEXT,
    KI_KUBECONFIG_BOOL,
    KI_KUBECONFIG_BYTES,     /* a text in base64 */
    KI_KUBECONFIG_TEXTS,     /* a list */
    KI_KUBECONFIG_TEXT_MAP,  /* any name to a text */
    KI_KUBECONFIG_TEXTS_MAP, /* any name to a list of texts */
    KI_KUBECONFIG_MAP,       /* with the fields of `fields` */
    KI_KUBECONFIG_MAPS,      /* a list of such */
    KI_KUBECONFIG_NAMED      /* a list of such, each with a name of its own */
} ki_kubeconfig_type;

typedef struct ki_kubeconfig_field ki_kubeconfig_field;
struct ki_kubeconfig_field {
    const char *name; /* NULL: the end of a table */
    ki_kubeconfig_type type;
    const ki_kubeconfig_field *fields;
};

extern const ki_kubeconfig_field ki_kubeconfig_cluster_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_user_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_exec_fields[];
extern const ki_kubeconfig_field ki_kubeconfig_context_fields[];

/* Is every known field what it should be, every base64 base64, every name there once? Fields that are not known are passed over. */
ki_status ki_kubeconfig_check_file(const ki_allocator *allocator, const ki_kubeconfig_file *file, ki_error *err);

/* --- entries ---------------------------------------------------------------------------------------------------------------- */

/* One named cluster, context or user, and the file it is from. */
typedef struct ki_kubeconfig_entry {
    const ki_kubeconfig_file *file; /* NULL: not found */
    const ki_yaml *map;             /* NULL: empty */
    const char *list;               /* "clusters", … */
    ki_str name;
} ki_kubeconfig_entry;

/* A text; data NULL where it is absent or empty. */
ki_status ki_kubeconfig_text(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_str *ret_text,
                             ki_error *err);
/* KI_ERR_CONFIG with file, line and the field's whole name. `map` is the one that the field is or would be in. */
ki_status ki_kubeconfig_bad(const ki_kubeconfig_entry *from, const ki_yaml *map, const char *field, ki_error *err,
                            const char *format, ...) KI_PRINTF(5, 6);
/* A path of the file's, absolute. */
ki_status ki_kubeconfig_path(const ki_allocator *allocator, const ki_kubeconfig_entry *from, ki_str path,
                             ki_secret *ret_path, ki_error *err);
/* `name` as a file, whose path goes to `ret_path`, or `name`-data; both is a contradiction. */
ki_status ki_kubeconfig_pem(const ki_allocator *allocator, const ki_kubeconfig_entry *from, const char *name,
                            ki_secret *ret_pem, ki_secret *ret_path, ki_error *err);
/* A warning for each field that is not in the table. */
void ki_kubeconfig_warn_unknown(ki_config *config, const ki_kubeconfig_entry *from, const ki_yaml *map,
                                const char *within, const ki_kubeconfig_field *known);

/* The user's credentials, whom to act as, the plugin; `cluster` for what its extensions tell the plugin. */
ki_status ki_kubeconfig_read_impersonation(ki_config *config, const ki_kubeconfig_entry *user, ki_error *err);
ki_status ki_kubeconfig_read_credentials(ki_config *config, const ki_kubeconfig_entry *user,
                                         const ki_kubeconfig_entry *cluster, const ki_config_options *options,
                                         ki_error *err);
ki_status ki_kubeconfig_read_exec(ki_config *config, const ki_kubeconfig_entry *user,
                                  const ki_kubeconfig_entry *cluster, ki_error *err);

#endif
