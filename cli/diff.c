/* diff.c: see diff.h. Elements of lists are matched by their type or name, or by their index if they have neither. */
#include "diff.h"

#include "output.h"

#include <kinformer-testing/server.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    PATH_MAX_SIZE = 200,
    VALUE_MAX = 60,
    MEMBERS_MAX = 2 * VALUE_MAX + 8,
    DEPTH_MAX = 520 /* deeper than the library parses */
};

/* The order in which changes are printed: the important ones first. */
typedef enum diff_rank {
    RANK_PHASE,
    RANK_READY,
    RANK_REPLICAS,
    RANK_IMAGE,
    RANK_NODE,
    RANK_CONTENT,
    RANK_METADATA,
    RANK_TEXT, /* texts of conditions */
    RANK_TIME,
    RANKS
} diff_rank;

typedef struct change {
    char path[PATH_MAX_SIZE];
    char before[VALUE_MAX];
    char after[VALUE_MAX];
    char members[MEMBERS_MAX]; /* elements that a list gained or lost: "+ a, b - c"; else "" */
} change;

typedef struct changes {
    change shown[RANKS][DIFF_SHOWN];
    size_t counts[RANKS];
    size_t heartbeats;
    char path[PATH_MAX_SIZE];
} changes;

/* Returns true for a field that every write changes. */
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

static bool ends_with(const char *path, const char *end) {
    size_t size = strlen(path), end_size = strlen(end);
    return size >= end_size && strcmp(path + size - end_size, end) == 0;
}

/* Returns true for a field that a component only renews to show that it is alive. */
static bool is_heartbeat(const char *path) {
    static const char *const ends[] = { ".lastHeartbeatTime", ".lastProbeTime", "spec.renewTime",
                                        "['control-plane.alpha.kubernetes.io/leader']" };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(path, ends[i]))
            return true;
    }
    return false;
}

static diff_rank rank_of(const char *path) {
    static const struct {
        const char *end;
        diff_rank rank;
    } ends[] = { { ".phase", RANK_PHASE },
                 { "metadata.deletionTimestamp", RANK_PHASE },
                 { "[Ready].status", RANK_READY },
                 { "[Available].status", RANK_READY },
                 { ".ready", RANK_READY },
                 { "eplicas", RANK_REPLICAS }, /* replicas, readyReplicas, ... */
                 { ".image", RANK_IMAGE },
                 { ".nodeName", RANK_NODE },
                 { "Time", RANK_TIME },
                 { "Timestamp", RANK_TIME },
                 { "edAt", RANK_TIME } }; /* startedAt, finishedAt */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(path, ends[i].end))
            return ends[i].rank;
    }
    if (strstr(path, "onditions[") && !ends_with(path, ".status"))
        return RANK_TEXT;
    return strncmp(path, "metadata.", 9) == 0 ? RANK_METADATA : RANK_CONTENT;
}

/* Appends to the path. Returns the size before, for the caller to restore. */
static size_t append_path(changes *c, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

static size_t append_path(changes *c, const char *format, ...) {
    size_t size = strlen(c->path);
    va_list args;
    va_start(args, format);
    vsnprintf(c->path + size, sizeof c->path - size, format, args);
    va_end(args);
    return size;
}

static size_t append_name(changes *c, const char *name) {
    if (strpbrk(name, "./["))
        return append_path(c, "['%s']", name);
    return append_path(c, "%s%s", c->path[0] ? "." : "", name);
}

/* Writes a condition's status, or "{…}" for another object. */
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
                size--; /* do not cut a UTF-8 character */
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

/* Returns the place for a change at the current path; NULL if the change is only counted. */
static change *add_change(changes *c) {
    if (is_noise(c->path))
        return NULL;
    if (is_heartbeat(c->path)) {
        c->heartbeats++;
        return NULL;
    }
    diff_rank rank = rank_of(c->path);
    size_t index = c->counts[rank]++;
    if (index >= DIFF_SHOWN)
        return NULL;
    change *shown = &c->shown[rank][index];
    *shown = (change){ .path = "" };
    snprintf(shown->path, sizeof shown->path, "%s", c->path);
    return shown;
}

static void note(changes *c, yyjson_val *before, yyjson_val *after) {
    change *shown = add_change(c);
    if (!shown)
        return;
    write_value(before, shown->before);
    write_value(after, shown->after);
}

/* ---- matching members ---- */

typedef struct member {
    yyjson_val *name; /* NULL: none */
    yyjson_val *value;
    size_t place;
    const struct member *other; /* its match in the other version; NULL: none */
} member;

/* The members of both versions of an object or a list, each in its own order. */
typedef struct pairing {
    member *before, *after;
    size_t before_count, after_count;
} pairing;

static yyjson_val *name_of(yyjson_val *element) {
    static const char *const names[] = { "type", "name", "ip", "key", "uid" };
    if (yyjson_is_str(element)) /* an element of a list of strings */
        return element;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        yyjson_val *name = yyjson_obj_get(element, names[i]);
        if (yyjson_is_str(name))
            return name;
    }
    return NULL;
}

static size_t take_members(yyjson_val *from, member *to) {
    size_t index, count;
    yyjson_val *name, *value;
    if (yyjson_is_obj(from)) {
        yyjson_obj_foreach(from, index, count, name, value) to[index] = (member){ name, value, index, NULL };
    } else {
        yyjson_arr_foreach(from, index, count, value) to[index] = (member){ name_of(value), value, index, NULL };
    }
    return count;
}

static int compare_names(const member *a, const member *b) {
    if (!a->name || !b->name)
        return (a->name != NULL) - (b->name != NULL);
    size_t a_size = yyjson_get_len(a->name), b_size = yyjson_get_len(b->name);
    int order = memcmp(yyjson_get_str(a->name), yyjson_get_str(b->name), a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_name_and_place(const void *a, const void *b) {
    const member *const *left = a;
    const member *const *right = b;
    int order = compare_names(*left, *right);
    return order ? order : ((*left)->place > (*right)->place) - ((*left)->place < (*right)->place);
}

/* Matches members of the same name, the first with the first and the second with the second. Sorts, because a list can
 * have a hundred thousand members. */
static bool pair(pairing *p) {
    member **sorted = malloc((p->before_count + p->after_count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    member **before = sorted, **after = sorted + p->before_count;
    for (size_t i = 0; i < p->before_count; i++)
        before[i] = &p->before[i];
    for (size_t i = 0; i < p->after_count; i++)
        after[i] = &p->after[i];
    qsort(before, p->before_count, sizeof *before, by_name_and_place);
    qsort(after, p->after_count, sizeof *after, by_name_and_place);
    for (size_t i = 0, j = 0; i < p->before_count && j < p->after_count;) {
        int order = compare_names(before[i], after[j]);
        if (order == 0) {
            before[i]->other = after[j];
            after[j]->other = before[i];
        }
        i += order <= 0;
        j += order >= 0;
    }
    free(sorted);
    return true;
}

static size_t count_of(yyjson_val *container) {
    return yyjson_is_obj(container) ? yyjson_obj_size(container) : yyjson_arr_size(container);
}

static bool open_pairing(pairing *p, yyjson_val *before, yyjson_val *after) {
    p->before = malloc((count_of(before) + count_of(after) + 1) * sizeof *p->before);
    if (!p->before)
        return false;
    p->before_count = take_members(before, p->before);
    p->after = p->before + p->before_count;
    p->after_count = take_members(after, p->after);
    if (pair(p))
        return true;
    free(p->before);
    return false;
}

/* ---- comparing ---- */

static void compare(changes *c, yyjson_val *before, yyjson_val *after, int depth);

static size_t append_member(changes *c, const member *m, bool is_object) {
    if (is_object)
        return append_name(c, yyjson_get_str(m->name));
    return m->name ? append_path(c, "[%s]", yyjson_get_str(m->name)) : append_path(c, "[%zu]", m->place);
}

/* The elements that a list gained or lost: "a, b". */
typedef struct member_list {
    char text[VALUE_MAX];
    size_t size;
    size_t count;
} member_list;

/* Appends an element's name, with its status if it is a condition: "Ready=True". */
static void add_member(member_list *list, yyjson_val *value) {
    char text[VALUE_MAX];
    yyjson_val *name = name_of(value);
    const char *status = yyjson_get_str(yyjson_obj_get(value, "status"));
    if (list->count++ && list->size >= sizeof list->text / 2) {
        if (list->text[list->size - 1] != '.')
            list->size += (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, ", ...");
        return;
    }
    write_value(name ? name : value, text);
    int size = snprintf(list->text + list->size, sizeof list->text - list->size, "%s%s%s%s", list->size ? ", " : "",
                        text, status ? "=" : "", status ? status : "");
    list->size += (size_t)size < sizeof list->text - list->size ? (size_t)size : sizeof list->text - list->size - 1;
}

static void note_members(changes *c, const member_list *gained, const member_list *lost) {
    change *shown = gained->count || lost->count ? add_change(c) : NULL;
    if (shown)
        snprintf(shown->members, sizeof shown->members, "%s%s%s%s%s", gained->count ? "+ " : "", gained->text,
                 gained->count && lost->count ? " " : "", lost->count ? "- " : "", lost->text);
}

/* Compares two objects or two lists. `before` or `after` is NULL for a list that exists in one version only. */
static void compare_members(changes *c, yyjson_val *before, yyjson_val *after, int depth) {
    bool is_object = yyjson_is_obj(after ? after : before);
    member_list gained = { .size = 0 }, lost = { .size = 0 };
    pairing p;
    if (!open_pairing(&p, before, after)) {
        note(c, before, after);
        return;
    }
    for (size_t i = 0; i < p.after_count; i++) {
        const member *m = &p.after[i];
        if (!m->other && !is_object) {
            add_member(&gained, m->value);
            continue;
        }
        size_t up = append_member(c, m, is_object);
        compare(c, m->other ? m->other->value : NULL, m->value, depth + 1);
        c->path[up] = '\0';
    }
    for (size_t i = 0; i < p.before_count; i++) {
        const member *m = &p.before[i];
        if (m->other)
            continue;
        if (!is_object) {
            add_member(&lost, m->value);
            continue;
        }
        size_t up = append_member(c, m, is_object);
        compare(c, m->value, NULL, depth + 1);
        c->path[up] = '\0';
    }
    note_members(c, &gained, &lost);
    free(p.before);
}

/* Returns true for an object or list that can be compared member by member with `other`, and for a missing value. */
static bool can_be_entered(yyjson_val *value, yyjson_val *other) {
    if (!value)
        return true;
    if (!other && count_of(value) == 0)
        return false;
    return yyjson_is_ctn(value);
}

/* Compares two values. An object that was removed is one change; a new object is one change for each field. Does not
 * call yyjson_equals for objects: it searches each name linearly. */
static void compare(changes *c, yyjson_val *before, yyjson_val *after, int depth) {
    bool is_alike = !before || !after || yyjson_get_type(before) == yyjson_get_type(after);
    bool is_removed = !after && yyjson_is_obj(before);
    if (is_alike && !is_removed && can_be_entered(before, after) && can_be_entered(after, before) && depth < DEPTH_MAX)
        compare_members(c, before, after, depth);
    else if (!before || !after || yyjson_is_ctn(before) || yyjson_is_ctn(after) || !yyjson_equals(before, after))
        note(c, before, after);
}

diff_sum diff_print(const char *old_json, size_t old_size, const char *new_json, size_t new_size, FILE *out) {
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
            print_safe(out, shown->path);
            fputs(": ", out);
            if (*shown->members) {
                print_safe(out, shown->members);
                continue;
            }
            fputs(colour_text(stdout, COLOUR_DIM), out);
            print_safe(out, shown->before);
            fprintf(out, "%s → ", colour_text(stdout, COLOUR_NONE));
            print_safe(out, shown->after);
        }
    }
    if (total > printed)
        fprintf(out, " (+%zu more)", total - printed);
    yyjson_doc_free(before);
    yyjson_doc_free(after);
    return (diff_sum){ .changes = total, .heartbeats = c.heartbeats };
}
