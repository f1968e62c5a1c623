/* guess_key.h: whose bytes are these? For objects and events that cannot be used, which may be malformed or cut. */
#ifndef KI_CLIENT_GUESS_KEY_H
#define KI_CLIENT_GUESS_KEY_H

#include "src/base/string_view.h"

#include <stdbool.h>

enum {
    KI_GUESSED_KEY_MAX = 512,    /* bytes with the closing zero; a namespace and a name have 253 each at most */
    KI_GUESSED_VERSION_MAX = 128 /* the same for a resource version */
};

typedef struct ki_guess {
    char key[KI_GUESSED_KEY_MAX]; /* "namespace/name" or "name"; "" where the text does not tell */
    bool has_namespace;
    char resource_version[KI_GUESSED_VERSION_MAX]; /* "" where the text does not tell */
    bool is_deleted;                               /* a watch event of the type DELETED */
} ki_guess;

/* Reads an object's or a watch event's text as far as it goes. */
void ki_guess_object(ki_str text, ki_guess *ret_guess);

#endif
