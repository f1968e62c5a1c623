/* general.c: any object by its fields, as kubectl describe shows a kind that it does not know. */
#include "describe.h"
#include "values.h"

#include "print/go_template.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 256,
    LABEL_SIZE = 512 /* of a heading; a longer name is printed as it is */
};

/* ---- headings ---- */

static bool is_lower(char c) {
    return islower((unsigned char)c) || ((unsigned char)c & 0x80);
}

static int class_of(char c) {
    return is_lower(c) ? 1 : isupper((unsigned char)c) ? 2 : 3;
}

/* Returns the size of the first word of a name such as "podIPs" or "lastTransitionTime". */
static size_t word_size(const char *name) {
    size_t size = 1;
    while (name[size] && class_of(name[size]) == class_of(name[0]))
        size++;
    if (class_of(name[0]) == 2 && is_lower(name[size])) { /* the last capital begins the next word */
        if (size > 1)
            return size - 1;
        while (is_lower(name[size]))
            size++;
    }
    return size;
}

static bool is_acronym(const char *word, size_t size) {
    static const char *const acronyms[] = { "api", "url", "uid", "guid" };
    for (size_t i = 0; i < sizeof acronyms / sizeof acronyms[0]; i++) {
        if (strlen(acronyms[i]) == size && strncasecmp(word, acronyms[i], size) == 0)
            return true;
    }
    return false;
}

static bool is_upper(const char *word, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (is_lower(word[i]))
            return false;
    }
    return true;
}

static bool has_lower_only(const char *word, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (isupper((unsigned char)word[i]))
            return false;
    }
    return true;
}

/* Writes the heading of a name: "API Version" for apiVersion, "Pod I Ps" for podIPs. Returns `text`, or `name`. */
static const char *heading_of(const char *name, char text[LABEL_SIZE]) {
    size_t used = 0;
    if (2 * strlen(name) >= LABEL_SIZE)
        return name;
    for (const char *c = name; *c; c++) {
        if (!isalpha((unsigned char)*c) && *c != '-' && !((unsigned char)*c & 0x80))
            return name;
    }
    for (const char *word = name; *word;) {
        size_t size = word_size(word);
        if (size >= 2 && is_upper(word, size) && isupper((unsigned char)word[size]))
            size += word_size(word + size); /* "HTTPGet" stays */
        bool is_known = is_acronym(word, size), is_title = has_lower_only(word, size);
        if (used)
            text[used++] = ' ';
        for (size_t i = 0; i < size; i++)
            text[used++] = (char)(is_known || (is_title && i == 0) ? toupper((unsigned char)word[i]) : word[i]);
        word += size;
    }
    text[used] = '\0';
    return text;
}

/* ---- values ---- */

/* Writes a number with a fraction, or an array inside an array, as Go does: 1e+21, [1 map[a:b]]. */
static void write_other(sheet *s, yyjson_val *value) {
    ki_go_template *whole = NULL;
    ki_jsonpath_text text = KI_JSONPATH_TEXT_INIT;
    size_t size = 0;
    char *json = yyjson_val_write(value, 0, &size);
    bool is_ok = json && ki_go_template_new("{{.}}", NULL, &whole, NULL) == KI_OK &&
                 ki_go_template_print(whole, json, size, &text, NULL) == KI_OK;
    if (is_ok)
        sheet_write(s, 0, "%s", text.data);
    s->has_failed |= !is_ok;
    ki_jsonpath_text_clear(&text);
    ki_go_template_free(whole);
    free(json);
}

static void write_value(sheet *s, yyjson_val *value) {
    if (yyjson_is_str(value))
        sheet_write(s, 0, "%s", yyjson_get_str(value));
    else if (yyjson_is_null(value))
        sheet_write(s, 0, "<nil>");
    else if (yyjson_is_bool(value))
        sheet_write(s, 0, "%s", yyjson_is_true(value) ? "true" : "false");
    else if (yyjson_is_sint(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX))
        sheet_write(s, 0, "%" PRId64, yyjson_get_sint(value));
    else
        write_other(s, value);
    sheet_write(s, 0, "\n");
}

/* Returns true for a field of metadata that is printed elsewhere or not at all. */
static bool is_skipped(const char *name) {
    static const char *const names[] = { "annotations", "labels", "managedFields", "name", "namespace" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static void write_fields(sheet *s, int level, yyjson_val *object, bool is_metadata);

static void write_elements(sheet *s, int level, yyjson_val *array) {
    yyjson_val *element;
    size_t index, count;
    yyjson_arr_foreach(array, index, count, element) {
        if (yyjson_is_obj(element)) {
            write_fields(s, level, element, false);
        } else {
            sheet_write(s, level, "%s", "");
            write_value(s, element);
        }
    }
}

static void write_field(sheet *s, int level, const char *name, yyjson_val *value) {
    char text[LABEL_SIZE];
    bool is_nested = yyjson_is_obj(value) || yyjson_is_arr(value);
    sheet_write(s, level, "%s:%s", heading_of(name, text), is_nested ? "\n" : "\t");
    if (level >= DEPTH_MAX && is_nested)
        sheet_write(s, level + 1, "...\n");
    else if (yyjson_is_obj(value))
        write_fields(s, level + 1, value, level == 0 && strcmp(name, "metadata") == 0);
    else if (yyjson_is_arr(value))
        write_elements(s, level + 1, value);
    else
        write_value(s, value);
}

static void write_fields(sheet *s, int level, yyjson_val *object, bool is_metadata) {
    size_t count;
    named_value *fields = members_sorted(s, object, &count);
    for (size_t i = 0; i < count; i++) {
        if (!is_metadata || !is_skipped(fields[i].name))
            write_field(s, level, fields[i].name, fields[i].value);
    }
    free(fields);
}

void describe_by_fields(const description *d, sheet *s) {
    sheet_write(s, 0, "Name:\t%s\n", text_at(d->object, "metadata.name"));
    sheet_write(s, 0, "Namespace:\t%s\n", text_at(d->object, "metadata.namespace"));
    write_labels(s, "Labels", value_at(d->object, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(d->object, "metadata.annotations"));
    write_fields(s, 0, d->object, false);
}
