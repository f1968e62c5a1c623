/* guess_key.c: follows nesting and strings only, and takes metadata.name and metadata.namespace (or object.metadata's, in a watch event) where
 * they are whole. No validation: the text is known to be bad. */
#include "src/client/guess_key.h"

#include <stdio.h>

/* Deeper levels are walked through and not looked at. */
enum {
    LEVELS = 3
};

typedef struct walk {
    ki_str member[LEVELS + 1]; /* the name whose value is being read, by depth from 1 */
    size_t depth;
    bool is_name; /* the next string is a member's name */
    ki_str name, namespace_name;
} walk;

/* The string that begins after `at`'s quote, without escapes decoded; false where it is cut. */
static bool take_string(ki_str text, size_t *at, ki_str *ret_string) {
    size_t begin = ++*at;
    for (; *at < text.size; ++*at) {
        if (text.data[*at] == '\\')
            ++*at;
        else if (text.data[*at] == '"')
            break;
    }
    if (*at >= text.size)
        return false;
    *ret_string = (ki_str){ text.data + begin, *at - begin };
    return true;
}

/* A member's value; is it one of the two? */
static void look(walk *at, ki_str value) {
    bool plain = at->depth == 2 && ki_str_equals(at->member[1], "metadata");
    bool in_event =
        at->depth == 3 && ki_str_equals(at->member[1], "object") && ki_str_equals(at->member[2], "metadata");
    if (!plain && !in_event)
        return;
    if (ki_str_equals(at->member[at->depth], "name"))
        at->name = value;
    else if (ki_str_equals(at->member[at->depth], "namespace"))
        at->namespace_name = value;
}

static void enter(walk *at) {
    at->depth++;
    if (at->depth <= LEVELS)
        at->member[at->depth] = (ki_str){ NULL, 0 };
}

void ki_guess_key(ki_str text, char key[KI_GUESSED_KEY_MAX]) {
    walk at = { .depth = 0 };
    key[0] = '\0';
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        ki_str string;
        if (c == '"') {
            if (!take_string(text, &i, &string))
                break;
            if (at.depth == 0 || at.depth > LEVELS)
                continue;
            if (at.is_name)
                at.member[at.depth] = string;
            else
                look(&at, string);
        } else if (c == '{' || c == '[') {
            enter(&at);
            at.is_name = c == '{';
        } else if ((c == '}' || c == ']') && at.depth > 0) {
            at.depth--;
        } else if (c == ':') {
            at.is_name = false;
        } else if (c == ',') {
            at.is_name = true; /* wrong inside an array, whose strings are of no interest */
        }
    }
    /* Names have no escapes and no control characters; others would only confuse a log. */
    for (size_t i = 0; i < at.name.size; i++) {
        if ((unsigned char)at.name.data[i] <= ' ' || at.name.data[i] == '\\')
            return;
    }
    for (size_t i = 0; i < at.namespace_name.size; i++) {
        if ((unsigned char)at.namespace_name.data[i] <= ' ' || at.namespace_name.data[i] == '\\')
            return;
    }
    if (at.name.size && at.name.size + at.namespace_name.size + 2 <= KI_GUESSED_KEY_MAX)
        snprintf(key, KI_GUESSED_KEY_MAX, "%.*s%s%.*s", (int)at.namespace_name.size,
                 at.namespace_name.size ? at.namespace_name.data : "", at.namespace_name.size ? "/" : "",
                 (int)at.name.size, at.name.data);
}
