/* filter.h: --only ready,status,image and --where 'status!=Running': names of kubectl's columns or of fields.
 *
 * A name is a column if the resource has it, with small or capital letters; else a part of a field's path, "image" of
 * "spec.containers[web].image". In a condition such a name is a whole path, with a dot, "spec.nodeName", or
 * "namespace".
 *
 *     status=Running   without regard to small and capital letters; numbers and quantities by value (1024Mi is 1Gi);
 *                      true and false of "1/2" say whether all are ready, and ready=true of a daemon set whether as
 *                      many are as are desired; restarts=1 is "1 (3s ago)"
 *     status!=Running  none of this
 *     node~eu-central  a part of the value
 *     restarts>3       also <, >=, <=: numbers, quantities, ages (age<5m), "1/2" by its first number; other values do
 *                      not pass */
#ifndef CLI_LINES_FILTER_H
#define CLI_LINES_FILTER_H

#include "row.h"

enum {
    FILTER_MAX = 32, /* names of --only, conditions of --where */
    FILTER_MESSAGE_MAX = 512
};

typedef enum filter_operator {
    FILTER_IS,
    FILTER_IS_NOT,
    FILTER_CONTAINS,
    FILTER_IS_LESS,
    FILTER_IS_AT_MOST,
    FILTER_IS_GREATER,
    FILTER_IS_AT_LEAST
} filter_operator;

typedef struct filter_condition {
    const char *name;
    const char *value;
    filter_operator is;
} filter_condition;

/* What a condition is about. */
typedef struct filter_subject {
    const ki_columns *columns;
    const row *cells;
    const ki_object *obj;
    int64_t elapsed_ms; /* time since the cells were read, by which ages have grown */
    int64_t age_ms;     /* the object's age; below 0: what the column Age says */
} filter_subject;

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
/* Parses one condition and adds it; `word` is changed, and borrowed. Returns false, with a message, if it cannot be
 * parsed. */
bool filter_add_condition(filter *f, char *word, char message[FILTER_MESSAGE_MAX]);
/* Returns the operator of a condition in a text, "!=" of "status!=Running"; NULL if the text has none. */
const char *filter_find_operator(const char *text);
/* Returns false, with a message, if a condition names a column that none of the resources has. NULLs in `columns` are
 * skipped. */
bool filter_check(const filter *f, const ki_columns *const *columns, size_t count, char message[FILTER_MESSAGE_MAX]);

/* Returns true if --only names this column, or if there is no --only. */
bool filter_has_column(const filter *f, const ki_column *column);
/* Returns true if --only names a part of the path that is no column, or if there is no --only. */
bool filter_has_path(const filter *f, const ki_columns *columns, const char *path);
/* Returns in `*ret_passes` whether all conditions hold. Errors: KI_ERR_NO_MEMORY. */
ki_status filter_matches(const filter *f, const filter_subject *s, bool *ret_passes, ki_error *err);
/* The same for an object whose cells are not read yet. */
ki_status filter_passes(const filter *f, const ki_columns *columns, const ki_object *obj, int64_t now_ms,
                        bool *ret_passes, ki_error *err);

#endif
