/* filter.h: --only ready,status,image and --where 'status!=Running': names of kubectl's columns or of fields.
 *
 * A name is a column if the resource has it, with small or capital letters; else a part of a field's path, "image" of
 * "spec.containers[web].image". In --where such a name is a whole path, with a dot: "spec.nodeName". */
#ifndef CLI_LINES_FILTER_H
#define CLI_LINES_FILTER_H

#include "row.h"

enum {
    FILTER_MAX = 32, /* names of --only, conditions of --where */
    FILTER_MESSAGE_MAX = 512
};

typedef struct filter_condition {
    const char *name;
    const char *value;
    bool is_not; /* NAME!=VALUE */
} filter_condition;

/* {0} lets everything pass. */
typedef struct filter {
    char *text; /* owns the names and values */
    const char *only[FILTER_MAX];
    size_t only_count;
    filter_condition where[FILTER_MAX]; /* all of them must hold */
    size_t where_count;
} filter;

/* Parses both flags; each may be NULL. Returns false, with a message for the user, if one cannot be parsed or out of
 * memory. The caller frees the filter with filter_close, also then. */
bool filter_open(filter *f, const char *only, const char *where, char message[FILTER_MESSAGE_MAX]);
void filter_close(filter *f);
/* Returns false, with a message, if --where names a column that none of the resources has. NULLs in `columns` are
 * skipped. */
bool filter_check(const filter *f, ki_columns *const *columns, size_t count, char message[FILTER_MESSAGE_MAX]);

/* Returns true if --only names this column, or if there is no --only. */
bool filter_has_column(const filter *f, const ki_column *column);
/* Returns true if --only names a part of the path that is no column, or if there is no --only. */
bool filter_has_path(const filter *f, const ki_columns *columns, const char *path);
/* Returns in `*ret_passes` whether the object fulfils --where. Errors: KI_ERR_NO_MEMORY. */
ki_status filter_passes(const filter *f, const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                        bool *ret_passes, ki_error *err);

#endif
