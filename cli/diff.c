/* diff.c: see diff.h. Members of lists are matched by their type or name, where they have one, and by their place otherwise. */
#include "diff.h"

#include "output.h"

#include <kinformer-testing/server.h>

#include <stdarg.h>
#include <string.h>
#include <yyjson.h>

enum {
    PATH_MAX_SIZE = 200,
    VALUE_MAX = 60,
    DEPTH_MAX = 64
};

/* What a person looks for first. */
enum {
    RANK_CONTENT,
    RANK_METADATA,
    RANK_TIME,
    RANKS
};

typedef struct change {
    char path[PATH_MAX_SIZE];
    char before[VALUE_MAX];
    char after[VALUE_MAX];
} change;

typedef struct changes {
    change shown[RANKS][DIFF_SHOWN];
    size_t counts[RANKS];
    char path[PATH_MAX_SIZE];
} changes;

/* Every write changes these; they say nothing. */
static bool is_noise(const char *path) {
    static const char *const noise[] = { "metadata.resourceVersion", "metadata.generation", "metadata.managedFields",
                                         "status.observedGeneration",
                                         "metadata.annotations['" KI_TESTING_CHANGED_AT "']" };
    for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++) {
        if (strcmp(path, noise[i]) == 0)
            return true;
    }
    return false;
}

static int rank_of(const char *path) {
    size_t size = strlen(path);
    if (size > 4 && strcmp(path + size - 4, "Time") == 0)
        return RANK_TIME;
    return strncmp(path, "metadata.", 9) == 0 ? RANK_METADATA : RANK_CONTENT;
}

/* Appends to the path; gives the size it had, to go back to. */
static size_t go_down(changes *c, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

static size_t go_down(changes *c, const char *format, ...) {
    size_t size = strlen(c->path);
    va_list args;
    va_start(args, format);
    vsnprintf(c->path + size, sizeof c->path - size, format, args);
    va_end(args);
    return size;
}

static size_t go_to_member(changes *c, const char *name) {
    if (strpbrk(name, "./["))
        return go_down(c, "['%s']", name);
    return go_down(c, "%s%s", c->path[0] ? "." : "", name);
}

/* A condition is what it says; of other objects there is too much to show. */
static void write_object(yyjson_val *object, char text[VALUE_MAX]) {
    const char *status = yyjson_get_str(yyjson_obj_get(object, "status"));
    if (status && strlen(status) < VALUE_MAX)
        snprintf(text, VALUE_MAX, "%s", status);
    else
        snprintf(text, VALUE_MAX, yyjson_obj_size(object) ? "{…}" : "{}");
}

static void write_value(yyjson_val *value, char text[VALUE_MAX]) {
    if (!value)
        snprintf(text, VALUE_MAX, "(none)");
    else if (yyjson_is_str(value)) {
        const char *string = yyjson_get_str(value);
        size_t size = strlen(string);
        bool fits = size < 41;
        if (!fits) {
            size = 40;
            while (size && ((unsigned char)string[size] & 0xc0) == 0x80)
                size--; /* not inside a UTF-8 character */
        }
        if (!size)
            snprintf(text, VALUE_MAX, "\"\"");
        else
            snprintf(text, VALUE_MAX, "%.*s%s", (int)size, string, fits ? "" : "…");
        for (char *at = text; *at; at++) {
            if ((unsigned char)*at < ' ' || *at == 127)
                *at = ' ';
        }
    } else if (yyjson_is_obj(value))
        write_object(value, text);
    else if (yyjson_is_arr(value))
        snprintf(text, VALUE_MAX, "[%zu]", yyjson_arr_size(value));
    else if (yyjson_is_bool(value))
        snprintf(text, VALUE_MAX, "%s", yyjson_get_bool(value) ? "true" : "false");
    else if (yyjson_is_uint(value))
        snprintf(text, VALUE_MAX, "%llu", (unsigned long long)yyjson_get_uint(value));
    else if (yyjson_is_int(value))
        snprintf(text, VALUE_MAX, "%lld", (long long)yyjson_get_sint(value));
    else if (yyjson_is_num(value))
        snprintf(text, VALUE_MAX, "%g", yyjson_get_num(value));
    else
        snprintf(text, VALUE_MAX, "null");
}

static void note(changes *c, yyjson_val *before, yyjson_val *after) {
    if (is_noise(c->path))
        return;
    int rank = rank_of(c->path);
    size_t index = c->counts[rank]++;
    if (index >= DIFF_SHOWN)
        return;
    change *shown = &c->shown[rank][index];
    snprintf(shown->path, sizeof shown->path, "%s", c->path);
    write_value(before, shown->before);
    write_value(after, shown->after);
}

static void compare(changes *c, yyjson_val *before, yyjson_val *after, int depth);

static void compare_objects(changes *c, yyjson_val *before, yyjson_val *after, int depth) {
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach(after, index, count, key, value) {
        const char *name = yyjson_get_str(key);
        size_t up = go_to_member(c, name);
        compare(c, yyjson_obj_getn(before, name, yyjson_get_len(key)), value, depth + 1);
        c->path[up] = '\0';
    }
    yyjson_obj_foreach(before, index, count, key, value) {
        const char *name = yyjson_get_str(key);
        if (yyjson_obj_getn(after, name, yyjson_get_len(key)))
            continue;
        size_t up = go_to_member(c, name);
        note(c, value, NULL);
        c->path[up] = '\0';
    }
}

static const char *member_name(yyjson_val *member) {
    static const char *const names[] = { "type", "name", "ip" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *name = yyjson_get_str(yyjson_obj_get(member, names[i]));
        if (name)
            return name;
    }
    return NULL;
}

static yyjson_val *find_member(yyjson_val *array, const char *name) {
    size_t index;
    size_t count;
    yyjson_val *member;
    yyjson_arr_foreach(array, index, count, member) {
        const char *found = member_name(member);
        if (found && strcmp(found, name) == 0)
            return member;
    }
    return NULL;
}

static void compare_arrays(changes *c, yyjson_val *before, yyjson_val *after, int depth) {
    size_t index;
    size_t count;
    yyjson_val *member;
    yyjson_arr_foreach(after, index, count, member) {
        const char *name = member_name(member);
        size_t up = name ? go_down(c, "[%s]", name) : go_down(c, "[%zu]", index);
        compare(c, name ? find_member(before, name) : yyjson_arr_get(before, index), member, depth + 1);
        c->path[up] = '\0';
    }
    yyjson_arr_foreach(before, index, count, member) {
        const char *name = member_name(member);
        if (name ? find_member(after, name) != NULL : index < yyjson_arr_size(after))
            continue;
        size_t up = name ? go_down(c, "[%s]", name) : go_down(c, "[%zu]", index);
        note(c, member, NULL);
        c->path[up] = '\0';
    }
}

static void compare(changes *c, yyjson_val *before, yyjson_val *after, int depth) {
    if (yyjson_equals(before, after))
        return;
    if (depth < DEPTH_MAX && yyjson_is_obj(before) && yyjson_is_obj(after))
        compare_objects(c, before, after, depth);
    else if (depth < DEPTH_MAX && yyjson_is_arr(before) && yyjson_is_arr(after))
        compare_arrays(c, before, after, depth);
    else
        note(c, before, after);
}

size_t diff_print(const char *old_json, size_t old_size, const char *new_json, size_t new_size, FILE *out) {
    changes c = { .path = "" };
    size_t total = 0;
    size_t printed = 0;
    yyjson_doc *before = yyjson_read(old_json, old_size, 0);
    yyjson_doc *after = yyjson_read(new_json, new_size, 0);

    if (before && after)
        compare(&c, yyjson_doc_get_root(before), yyjson_doc_get_root(after), 0);
    for (int rank = 0; rank < RANKS; rank++) {
        total += c.counts[rank];
        for (size_t i = 0; i < c.counts[rank] && i < DIFF_SHOWN && printed < DIFF_SHOWN; i++, printed++) {
            const change *shown = &c.shown[rank][i];
            fputs(printed ? ", " : "", out);
            print_tame(out, shown->path);
            fprintf(out, ": %s", colour_text(out, COLOUR_DIM));
            print_tame(out, shown->before);
            fprintf(out, "%s → ", colour_text(out, COLOUR_NONE));
            print_tame(out, shown->after);
        }
    }
    if (total > printed)
        fprintf(out, " (+%zu more)", total - printed);
    yyjson_doc_free(before);
    yyjson_doc_free(after);
    return total;
}
