/* notation.h: how tests write objects, changes and lists, in scripts and in what they expect. Sources, queues,
 * reflectors and informers (fake_list_watch.h, fifo_stage.h, reflector_stage.h, informer_stage.h) have it in common.
 *
 *     script  = step { (";" | newline) step }
 *     object  = [namespace "/"] name "=" version ["#" uid]   without a namespace: in "default"; else its uid is KEY-uid
 *             | [namespace "/"] name "=!" [version]          its state is unreadable
 *             | "?=!"                                        its key is unreadable too
 *     change  = [sign] object [suffix]
 *     sign    = "+" added | "~" updated | "-" deleted | "?" deleted, last state unknown      none: listed
 *     suffix  = "i" of the initial list | "r" from a resync                                  only of what comes out
 *     batch   = "[" {change} "]"
 *     list    = "{" version [token [remaining]] ":" {change} "}"    with a token: a page, more follow
 *
 * What handlers get has both versions of an update, "~a=5>6", and "5(7)" for version 5 of an object with "7" in
 * data.seen. "-" is no version, no token, or no text. */
#ifndef TESTS_SUPPORT_NOTATION_H
#define TESTS_SUPPORT_NOTATION_H

#include <kinformer/object.h>

#include <stdbool.h>

enum {
    NOTATION_TEXT = 4096,
    NOTATION_WORD = 128,
    NOTATION_LIST = 32 /* changes of a list */
};

typedef struct noted_change {
    char sign; /* 0: none */
    bool is_unreadable;
    char key[NOTATION_WORD]; /* with the namespace; "": unreadable */
    char version[NOTATION_WORD];
    char uid[NOTATION_WORD];
} noted_change;

typedef struct noted_list {
    char version[NOTATION_WORD], token[NOTATION_WORD];
    int remaining; /* -1: it does not say */
    noted_change changes[NOTATION_LIST];
    size_t count;
} noted_list;

/* Read a change or a list. Return false if the text is none. */
bool notation_read_change(const char *word, noted_change *ret_change);
bool notation_read_list(const char *text, noted_list *ret_list);
/* Read the changes of a text without signs around it, such as "a=5 b=6". */
size_t notation_read_changes(const char *text, noted_change *ret_changes);

/* Return a ConfigMap. `uid` NULL: KEY-uid. Ownership: a reference. */
ki_object *notation_object(const noted_change *change);
ki_object *noted_object(const char *key, const char *version, const char *uid);

/* Calls `play` for each step. */
void notation_play(const char *script, void (*play)(const char *step, void *user), void *user);
/* Returns what follows `word`, or NULL if the step begins otherwise. */
const char *notation_after(const char *step, const char *word);
/* Fails the test unless the text is what the step expects; then empties it. */
void notation_expect(const char *step, char *is, const char *should_be);

/* Adds a part to a text of NOTATION_TEXT bytes, after a separator unless the text is empty. */
void notation_add(char *text, const char *separator, const char *part);
/* The key without "default/". */
const char *notation_key(const char *key);

typedef struct noted_word {
    char text[2 * NOTATION_WORD];
} noted_word;

noted_word notation_version(const ki_object *obj); /* "5", "5(7)" */
/* A change as a word. `sign` 0: none. `old` NULL: only the new version. */
noted_word notation_change(char sign, const ki_object *old, const ki_object *obj, const char *suffix);

#endif
