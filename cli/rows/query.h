/* query.h: what a person types to find objects: "shop ready!=true restarts>3".
 *
 * Words are separated by blanks; all of them must hold. A word without an operator is a part of the namespace, the name
 * or any cell but an age, with small or capital letters; !word excludes. A condition is NAME=VALUE, NAME!=VALUE,
 * NAME~PART, NAME>N, NAME<N, NAME>=N or NAME<=N of a column or of a field with a dot, as in --where (filter.h); a blank
 * in a column's name is a "-": last-seen<5m. */
#ifndef CLI_ROWS_QUERY_H
#define CLI_ROWS_QUERY_H

#include "cli/lines/filter.h"

enum {
    QUERY_WORDS_MAX = 32
};

typedef struct query_word {
    const char *text;
    bool is_not; /* !word */
} query_word;

/* {0} lets everything pass. */
typedef struct query {
    char *source; /* as it was typed */
    char *text;   /* owns the words, names and values */
    query_word words[QUERY_WORDS_MAX];
    size_t word_count;
    filter filter; /* the conditions */
    bool has_ages; /* objects can begin or cease to pass as time goes */
} query;

/* Parses a text. Returns false, with a message for the user ("there is no column "redy", but ready, status, …",
 * "restarts>: a value is missing"), if it cannot be parsed, as one that is still being typed, or out of memory. The
 * caller frees the query with query_close, also then. */
bool query_open(query *q, const char *text, const ki_columns *columns, char message[FILTER_MESSAGE_MAX]);
void query_close(query *q);
bool query_is_empty(const query *q);
/* Returns in `*ret_passes` whether an object passes. Errors: KI_ERR_NO_MEMORY. */
ki_status query_passes(const query *q, const filter_subject *s, bool *ret_passes, ki_error *err);

#endif
