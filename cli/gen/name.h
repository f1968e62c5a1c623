/* name.h: C identifiers for the names of a schema. Pure functions. */
#ifndef CLI_GEN_NAME_H
#define CLI_GEN_NAME_H

#include <stddef.h>

enum {
    GEN_NAME_MAX = 64 /* bytes of an identifier with its zero; C99 compares 63 characters */
};

/* Writes `text` in the form of "host_ips" for "hostIPs": ASCII letters, digits, and single underscores between them.
 * "field" if nothing is left. One byte stays free for gen_member. */
void gen_snake(const char *text, size_t size, char name[GEN_NAME_MAX]);
/* Makes a member's name of gen_snake's result: "default_" for a word of C, C++ or their headers, "_9p" for a digit. */
void gen_member(char name[GEN_NAME_MAX]);
/* Makes a struct's name of gen_snake's result: as gen_member; "the_ki_object" for a name that the library can have, or
 * whose structs can. */
void gen_struct(char name[GEN_NAME_MAX]);
/* Makes a list's name that of one of its elements: "container_status" of "container_statuses", "env_item" of "env". */
void gen_singular(char name[GEN_NAME_MAX]);

#endif
