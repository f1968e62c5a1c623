/* notation.c: see notation.h. */
#include "tests/support/notation.h"

#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Copies a part of a word; "-" is nothing. */
static void copy_part(char *to, const char *from, size_t size) {
    assert_true(size < NOTATION_WORD);
    snprintf(to, NOTATION_WORD, "%.*s", size == 1 && *from == '-' ? 0 : (int)size, from);
}

bool notation_read_change(const char *word, noted_change *ret_change) {
    noted_change change = { .sign = '\0' };
    const char *equals = strchr(word, '=');
    if (!equals || strchr(word, ' '))
        return false;
    if (strchr("+~-?", *word) && word + 1 < equals)
        change.sign = *word++;
    bool has_key = strncmp(word, "?=", 2) != 0;
    if (has_key)
        snprintf(change.key, sizeof change.key, "%s%.*s", memchr(word, '/', (size_t)(equals - word)) ? "" : "default/",
                 (int)(equals - word), word);
    const char *version = equals + 1;
    change.is_unreadable = *version == '!';
    version += change.is_unreadable;
    size_t size = strcspn(version, "#");
    copy_part(change.version, version, size);
    if (version[size] == '#')
        copy_part(change.uid, version + size + 1, strlen(version + size + 1));
    *ret_change = change;
    return true;
}

size_t notation_read_changes(const char *text, noted_change *ret_changes) {
    size_t count = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        char word[NOTATION_WORD];
        size_t size = strcspn(text, " ");
        assert_true(count < NOTATION_LIST);
        copy_part(word, text, size);
        if (!notation_read_change(word, &ret_changes[count++]))
            fail_msg("\"%s\" is no object", word);
        text += size;
    }
    return count;
}

bool notation_read_list(const char *text, noted_list *ret_list) {
    const char *colon = strchr(text, ':'), *end = text + strlen(text) - 1;
    char head[NOTATION_WORD], changes[NOTATION_TEXT];
    char words[3][NOTATION_WORD] = { "", "", "-1" };
    if (*text != '{' || !colon || *end != '}')
        return false;
    copy_part(head, text + 1, (size_t)(colon - text - 1));
    sscanf(head, "%127s %127s %127s", words[0], words[1], words[2]);
    *ret_list = (noted_list){ .remaining = atoi(words[2]) };
    copy_part(ret_list->version, words[0], strlen(words[0]));
    copy_part(ret_list->token, words[1], strlen(words[1]));
    snprintf(changes, sizeof changes, "%.*s", (int)(end - colon - 1), colon + 1);
    ret_list->count = notation_read_changes(changes, ret_list->changes);
    return true;
}

ki_object *noted_object(const char *key, const char *version, const char *uid) {
    char json[1024];
    const char *slash = strchr(key, '/');
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%.*s\",\"resourceVersion\":\"%s\",\"uid\":\"%s%s\"}}",
             slash ? slash + 1 : key, slash ? (int)(slash - key) : 0, key, version, uid ? uid : key, uid ? "" : "-uid");
    return make_object_from_json(json);
}

ki_object *notation_object(const noted_change *change) {
    return noted_object(change->key, change->version, change->uid[0] ? change->uid : NULL);
}

/* --- scripts ------------------------------------------------------------------------------------------------------ */

void notation_play(const char *script, void (*play)(const char *step, void *user), void *user) {
    while (*script) {
        char step[NOTATION_TEXT];
        script += strspn(script, " ;\n");
        size_t size = strcspn(script, ";\n");
        assert_true(size < sizeof step);
        snprintf(step, sizeof step, "%.*s", (int)size, script);
        script += size;
        if (step[0])
            play(step, user);
    }
}

const char *notation_after(const char *step, const char *word) {
    size_t size = strlen(word);
    return strncmp(step, word, size) == 0 ? step + size : NULL;
}

void notation_expect(const char *step, char *is, const char *should_be) {
    if (strcmp(is, strcmp(should_be, "-") == 0 ? "" : should_be) != 0)
        fail_msg("at \"%s\": it is \"%s\"", step, is);
    is[0] = '\0';
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

void notation_add(char *text, const char *separator, const char *part) {
    size_t used = strlen(text);
    snprintf(text + used, NOTATION_TEXT - used, "%s%s", used ? separator : "", part);
}

const char *notation_key(const char *key) {
    const char *name = notation_after(key, "default/");
    return name ? name : key;
}

noted_word notation_version(const ki_object *obj) {
    noted_word version;
    char text[64];
    const char *seen = ki_object_string(obj, "data.seen", NULL, text, sizeof text);
    snprintf(version.text, sizeof version.text, "%s%s%s%s", ki_object_resource_version(obj), seen ? "(" : "",
             seen ? seen : "", seen ? ")" : "");
    return version;
}

static void append(noted_word *word, const char *text) {
    size_t used = strlen(word->text);
    snprintf(word->text + used, sizeof word->text - used, "%s", text);
}

noted_word notation_change(char sign, const ki_object *old, const ki_object *obj, const char *suffix) {
    noted_word word = { { sign, '\0' } };
    append(&word, notation_key(ki_object_key(obj)));
    append(&word, "=");
    if (old) {
        append(&word, notation_version(old).text);
        append(&word, ">");
    }
    append(&word, notation_version(obj).text);
    append(&word, suffix);
    return word;
}
