/* flags.h: the command line, read by tables. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "cli.h"

#include <stdio.h>

typedef enum flag_type {
    FLAG_END = 0,
    FLAG_BOOL,    /* bool */
    FLAG_TEXT,    /* const char * */
    FLAG_LIST,    /* option_list; each time one more */
    FLAG_NUMBER,  /* int64_t, not negative */
    FLAG_DURATION /* int64_t, milliseconds: "30s", "1m30s", "500ms" or plain seconds */
} flag_type;

typedef struct flag {
    const char *name; /* without its dashes */
    char letter;      /* of the short form, or 0 */
    flag_type type;
    size_t place;      /* in options */
    const char *value; /* what stands for the value in the help */
    const char *help;
} flag;

#define FLAG(name, letter, type, member, value, help) \
    { name, letter, type, offsetof(options, member), value, help }
#define FLAGS_END \
    { NULL, 0, FLAG_END, 0, NULL, NULL }

/* Tables that several commands have. */
extern const flag flags_connection[];
extern const flag flags_selection[];

/* Reads what follows the command's name. False, with a message on stderr, where it cannot. */
bool flags_parse(const cli_command *command, int count, char **words, options *ret_options);
/* Returns how many words a flag takes that stands before the command: 1, or 2 with its value; 0 where no command has such a flag. */
int flags_count_words(const char *word);
void flags_print_help(const cli_command *command, FILE *out);
/* Those that a command offers, by number, in the order of the help; NULL past the last. */
const flag *flags_at(const cli_command *command, size_t index);
/* What -o takes in watch and get, one after the other with blanks; templates end with "=". */
const char *flags_output_formats(const cli_command *command);

/* Of `count` words the one closest to `word`, or NULL where none is close. `at` gives them by number. */
const char *nearest(const char *word, size_t count, const char *(*at)(size_t index, const void *user),
                    const void *user);

#endif
