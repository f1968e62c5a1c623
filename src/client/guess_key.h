/* guess_key.h: finds the key of an object or event that cannot be used. The text may be malformed or cut. */
#ifndef KI_CLIENT_GUESS_KEY_H
#define KI_CLIENT_GUESS_KEY_H

#include "src/base/string_view.h"

#include <stdbool.h>

enum {
    KI_GUESSED_KEY_MAX = 512,    /* bytes with the closing zero; a namespace and a name have at most 253 each */
    KI_GUESSED_VERSION_MAX = 128 /* bytes with the closing zero */
};

typedef struct ki_guess {
    char key[KI_GUESSED_KEY_MAX]; /* "namespace/name" or "name"; "" if unknown */
    bool has_namespace;
    char resource_version[KI_GUESSED_VERSION_MAX]; /* "" if unknown */
    bool is_deleted;                               /* a watch event of the type DELETED */
} ki_guess;

/* Reads the text of an object or a watch event up to its end or its first unclosed string. */
void ki_guess_object(ki_str text, ki_guess *ret_guess);

#endif
