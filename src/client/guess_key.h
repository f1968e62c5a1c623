/* guess_key.h: whose bytes are these? For the reports about objects that cannot be used, which may be malformed or cut. */
#ifndef KI_CLIENT_GUESS_KEY_H
#define KI_CLIENT_GUESS_KEY_H

#include "src/base/string_view.h"

enum {
    KI_GUESSED_KEY_MAX = 512
}; /* bytes with the closing zero; a namespace and a name have 253 each at most */

/* "namespace/name" or "name" from an object's or a watch event's text as far as it goes; "" where it does not tell. */
void ki_guess_key(ki_str text, char key[KI_GUESSED_KEY_MAX]);

#endif
