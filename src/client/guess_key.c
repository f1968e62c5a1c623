/* guess_key.c: follows only nesting and strings, and takes name, namespace and resourceVersion from metadata (in a
 * watch event: object.metadata), and an event's type, if they are complete. No validation: the text is known to be
 * bad. */
#include "src/client/guess_key.h"

#include <stdio.h>

/* Values on deeper levels are skipped. */
enum {
    LEVELS = 3
};

typedef struct walk {
    ki_str member[LEVELS + 1]; /* the name of the member being read, by depth from 1 */
    size_t depth;
    bool is_name; /* the next string is a member's name */
    ki_str name, namespace_name, resource_version, type;
} walk;

/* Reads the string after the quote at `at`, without decoding escapes. Returns false if the string is cut. */
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

/* Records a member's value if the member is one of the wanted ones. */
static void look(walk *at, ki_str value) {
    if (at->depth == 1 && ki_str_equals(at->member[1], "type"))
        at->type = value;
    bool plain = at->depth == 2 && ki_str_equals(at->member[1], "metadata");
    bool in_event =
        at->depth == 3 && ki_str_equals(at->member[1], "object") && ki_str_equals(at->member[2], "metadata");
    if (!plain && !in_event)
        return;
    if (ki_str_equals(at->member[at->depth], "name"))
        at->name = value;
    else if (ki_str_equals(at->member[at->depth], "namespace"))
        at->namespace_name = value;
    else if (ki_str_equals(at->member[at->depth], "resourceVersion"))
        at->resource_version = value;
}

static void enter(walk *at) {
    at->depth++;
    if (at->depth <= LEVELS)
        at->member[at->depth] = (ki_str){ NULL, 0 };
}

static walk walk_through(ki_str text) {
    walk at = { .depth = 0 };
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
            at.is_name = true; /* wrong inside an array, but strings of arrays are not used */
        }
    }
    return at;
}

/* Returns true if `text` has no escapes and no white space or control characters: valid names and versions have
 * none. */
static bool is_plain(ki_str text) {
    for (size_t i = 0; i < text.size; i++) {
        if ((unsigned char)text.data[i] <= ' ' || text.data[i] == '\\')
            return false;
    }
    return true;
}

void ki_guess_object(ki_str text, ki_guess *ret_guess) {
    walk at = walk_through(text);
    *ret_guess = (ki_guess){ .is_deleted = ki_str_equals(at.type, "DELETED") };
    if (is_plain(at.resource_version) && at.resource_version.size < KI_GUESSED_VERSION_MAX && at.resource_version.size)
        memcpy(ret_guess->resource_version, at.resource_version.data, at.resource_version.size);
    if (!is_plain(at.name) || !is_plain(at.namespace_name))
        return;
    ret_guess->has_namespace = at.namespace_name.size > 0;
    if (at.name.size && at.name.size + at.namespace_name.size + 2 <= KI_GUESSED_KEY_MAX)
        snprintf(ret_guess->key, KI_GUESSED_KEY_MAX, "%.*s%s%.*s", (int)at.namespace_name.size,
                 at.namespace_name.size ? at.namespace_name.data : "", at.namespace_name.size ? "/" : "",
                 (int)at.name.size, at.name.data);
}
