/* flags.h: the command line, parsed by tables of flags. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "cli.h"

#include <stdio.h>

typedef enum flag_type {
    FLAG_END = 0,
    FLAG_BOOL,    /* bool */
    FLAG_CHOICE,  /* choice: as FLAG_BOOL, and CHOICE_NONE without the flag */
    FLAG_LEVEL,   /* bool: true without a value, and for kubectl's levels above 0: -v=6 */
    FLAG_TEXT,    /* const char * */
    FLAG_LIST,    /* option_list; each use adds a value */
    FLAG_NUMBER,  /* int64_t, not negative */
    FLAG_DURATION /* int64_t, milliseconds: "30s", "1m30s", "500ms" or plain seconds */
} flag_type;

typedef struct flag {
    const char *name; /* without dashes */
    char letter;      /* the short form, or 0 */
    flag_type type;
    size_t place;      /* offset in options */
    const char *value; /* the value's placeholder in the help; NULL: takes none */
    const char *help;
} flag;

#define FLAG(name, letter, type, member, value, help) \
    { name, letter, type, offsetof(options, member), value, help }
#define FLAGS_END \
    { NULL, 0, FLAG_END, 0, NULL, NULL }

/* Tables that several commands share. */
extern const flag flags_connection[];
extern const flag flags_selection[];
extern const flag flags_once[]; /* of commands that list once */

/* Parses the arguments after the command's name. Returns false, with a message on stderr, if they are wrong. */
bool flags_parse(const cli_command *command, int count, char **words, options *ret_options);
/* Returns how many arguments a flag before the command takes: 1, or 2 with a separate value; 0 if no command has the
 * flag. */
int flags_count_arguments(const char *word);
void flags_print_help(const cli_command *command, FILE *out);
/* Returns a flag of a command by its index, in the order of the help; NULL past the last. */
const flag *flags_at(const cli_command *command, size_t index);
/* Returns the formats of -o, separated by blanks; templates end with "=". */
const char *flags_output_formats(const cli_command *command);

/* Returns the word closest to `word` of `count` words, or NULL if none is close. `at` returns a word by its index. */
const char *nearest(const char *word, size_t count, const char *(*at)(size_t index, const void *user),
                    const void *user);

#endif
