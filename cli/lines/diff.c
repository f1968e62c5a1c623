/* diff.c: see diff.h. */
#include "diff.h"

#include "cli/output.h"

#include <kinformer-testing/server.h>

#include <string.h>

/* The elements that an array gained or lost: "a, b". */
typedef struct member_list {
    char text[DIFF_VALUE_MAX];
    size_t size;
    size_t count;
} member_list;

/* A comparison under way. */
typedef struct comparison {
    diff *diff;
    char list[DIFF_PATH_MAX]; /* the array that `gained` and `lost` are of */
    member_list gained, lost;
} comparison;

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

/* Writes a text of at most 40 bytes, a longer one cut, without control characters. */
static void write_text(const char *string, char text[DIFF_VALUE_MAX]) {
    size_t size = strlen(string);
    bool fits = size < 41;
    if (!fits) {
        size = 40;
        while (size && ((unsigned char)string[size] & 0xc0) == 0x80)
            size--; /* do not cut a UTF-8 character */
    }
    if (!size)
        snprintf(text, DIFF_VALUE_MAX, "\"\"");
    else
        snprintf(text, DIFF_VALUE_MAX, "%.*s%s", (int)size, string, fits ? "" : "…");
    for (char *at = text; *at; at++) {
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    }
}

/* Writes a condition's status, or "{…}" for another object. */
static void write_object(ki_value *object, char text[DIFF_VALUE_MAX]) {
    const char *name;
    ki_value member;
    snprintf(text, DIFF_VALUE_MAX, "{}");
    while (ki_value_next(object, &name, &member)) {
        snprintf(text, DIFF_VALUE_MAX, "{…}");
        if (strcmp(name, "status") != 0 || member.type != KI_VALUE_STRING || member.text_size >= DIFF_VALUE_MAX)
            continue;
        snprintf(text, DIFF_VALUE_MAX, "%s", member.text);
        return;
    }
}

static void write_value(ki_value *value, char text[DIFF_VALUE_MAX]) {
    ki_value member;
    size_t count = 0;
    switch (value ? value->type : KI_VALUE_NULL) {
    case KI_VALUE_NULL:
        snprintf(text, DIFF_VALUE_MAX, value ? "null" : "(none)");
        break;
    case KI_VALUE_BOOL:
        snprintf(text, DIFF_VALUE_MAX, "%s", value->boolean ? "true" : "false");
        break;
    case KI_VALUE_INT:
        snprintf(text, DIFF_VALUE_MAX, "%lld", (long long)value->integer);
        break;
    case KI_VALUE_DOUBLE:
        snprintf(text, DIFF_VALUE_MAX, "%g", value->number);
        break;
    case KI_VALUE_STRING:
        write_text(value->text, text);
        break;
    case KI_VALUE_ARRAY:
        while (ki_value_next(value, NULL, &member))
            count++;
        snprintf(text, DIFF_VALUE_MAX, "[%zu]", count);
        break;
    case KI_VALUE_OBJECT:
        write_object(value, text);
        break;
    }
}

/* Returns the index of a new field in diff.fields: the next one, or the least important one of a full array. Returns
 * DIFF_FIELDS_MAX if the field is less important than all of them. */
static size_t place_of(diff *d, diff_rank rank) {
    if (d->count < DIFF_FIELDS_MAX)
        return d->count++;
    size_t last = d->order[DIFF_FIELDS_MAX - 1];
    return d->fields[last].rank > rank ? last : DIFF_FIELDS_MAX;
}

/* Returns the place for a change at the path; NULL if the change is only counted. */
static diff_field *add_change(comparison *c, const char *path) {
    diff *d = c->diff;
    if (is_noise(path))
        return NULL;
    if (is_heartbeat(path)) {
        d->heartbeats++;
        return NULL;
    }
    diff_rank rank = rank_of(path);
    size_t place = place_of(d, rank), at = d->count - 1;
    d->changes++;
    if (place == DIFF_FIELDS_MAX)
        return NULL;
    for (; at > 0 && d->fields[d->order[at - 1]].rank > rank; at--)
        d->order[at] = d->order[at - 1];
    d->order[at] = (unsigned char)place;
    diff_field *field = &d->fields[place];
    *field = (diff_field){ .rank = rank };
    snprintf(field->path, sizeof field->path, "%s", path);
    return field;
}

/* ---- elements that an array gained or lost ---- */

/* Returns the name of the element that the path ends with, "a" of "list[a]"; NULL if it ends with a field. */
static char *element_of(char *path) {
    size_t size = strlen(path);
    char *open = size && path[size - 1] == ']' && path[size - 2] != '\'' ? strrchr(path, '[') : NULL;
    return open;
}

/* Appends an element's name, with its status if it is a condition: "Ready=True". */
static void add_member(member_list *list, const char *name, ki_value *value) {
    char text[DIFF_VALUE_MAX], status[DIFF_VALUE_MAX] = "";
    if (list->count++ && list->size >= sizeof list->text / 2) {
        if (list->text[list->size - 1] != '.')
            list->size += (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, ", ...");
        return;
    }
    bool is_named = strspn(name, "0123456789") != strlen(name);
    if (is_named)
        write_text(name, text);
    if (value->type == KI_VALUE_OBJECT)
        write_object(value, is_named ? status : text);
    else if (!is_named)
        write_value(value, text);
    bool has_status = *status && *status != '{';
    int size = snprintf(list->text + list->size, sizeof list->text - list->size, "%s%s%s%s", list->size ? ", " : "",
                        text, has_status ? "=" : "", has_status ? status : "");
    list->size += (size_t)size < sizeof list->text - list->size ? (size_t)size : sizeof list->text - list->size - 1;
}

/* Adds the elements that the last array gained and lost, as one change. */
static void end_list(comparison *c) {
    member_list *gained = &c->gained, *lost = &c->lost;
    diff_field *shown = gained->count || lost->count ? add_change(c, c->list) : NULL;
    if (shown)
        snprintf(shown->members, sizeof shown->members, "%s%s%s%s%s", gained->count ? "+ " : "", gained->text,
                 gained->count && lost->count ? " " : "", lost->count ? "- " : "", lost->text);
    c->gained = c->lost = (member_list){ .size = 0 };
}

static bool note(const ki_field_difference *difference, void *user) {
    comparison *c = user;
    char path[DIFF_PATH_MAX];
    snprintf(path, sizeof path, "%s", difference->path);
    char *element = !difference->before || !difference->after ? element_of(path) : NULL;
    if (element) {
        path[strlen(path) - 1] = '\0';
        *element = '\0';
        if (strcmp(c->list, path) != 0)
            end_list(c);
        snprintf(c->list, sizeof c->list, "%s", path);
        ki_value *gained = difference->after, *lost = difference->before;
        if (gained)
            add_member(&c->gained, element + 1, gained);
        else if (lost)
            add_member(&c->lost, element + 1, lost);
        return true;
    }
    end_list(c);
    diff_field *shown = add_change(c, path);
    if (shown) {
        write_value(difference->before, shown->before);
        write_value(difference->after, shown->after);
    }
    return true;
}

ki_status diff_read(const ki_object *before, const ki_object *after, diff *ret_diff, ki_error *err) {
    comparison c = { .diff = ret_diff };
    ret_diff->count = ret_diff->changes = ret_diff->heartbeats = 0;
    ki_status status = ki_object_diff(before, after, note, &c, err);
    if (!status)
        end_list(&c);
    return status;
}

bool diff_is_heartbeat(const diff *d) {
    return !d->changes && d->heartbeats;
}

const diff_field *diff_at(const diff *d, size_t index) {
    return index < d->count ? &d->fields[d->order[index]] : NULL;
}

/* ---- short paths ---- */

/* Returns the begin of the path's part before `end`: "containers[a.b].image" before ".name". */
static const char *part_before(const char *path, const char *end) {
    int depth = 0;
    while (end > path) {
        depth += end[-1] == ']' ? 1 : end[-1] == '[' ? -1 : 0;
        if (end[-1] == '.' && depth <= 0)
            return end;
        end--;
    }
    return path;
}

/* Returns true for the name of a field that many objects have. */
static bool says_little(const char *part) {
    static const char *const names[] = { "status", "reason", "message", "name", "type", "value", "key" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(part, names[i]) == 0)
            return true;
    }
    return false;
}

/* Returns true if another changed path has this end, after a separator. */
static bool is_end_of_another(const diff *d, const diff_field *field, const char *end) {
    size_t size = strlen(end);
    for (size_t i = 0; i < d->count; i++) {
        const char *path = d->fields[i].path;
        size_t path_size = strlen(path);
        if (strcmp(path, field->path) != 0 && ends_with(path, end) &&
            (path_size == size || strchr("./'", path[path_size - size - 1])))
            return true;
    }
    return false;
}

/* Returns the name in the key of a map, "cost']" of "annotations['example.com/cost']"; NULL for another path. */
static const char *key_name(const char *path) {
    const char *open = ends_with(path, "']") ? strrchr(path, '[') : NULL;
    const char *slash = open ? strrchr(open, '/') : NULL;
    return slash ? slash + 1 : open ? open + 2 : NULL;
}

/* Prints "Ready" for "status.conditions[Ready].status". Returns false for another path. */
static bool print_condition(const char *path, FILE *out) {
    char name[DIFF_PATH_MAX];
    const char *open = strstr(path, "onditions[");
    if (!open || !ends_with(path, "].status"))
        return false;
    open += strlen("onditions[");
    snprintf(name, sizeof name, "%.*s", (int)(strlen(open) - strlen("].status")), open);
    print_safe(out, name);
    return true;
}

void diff_print_short_path(const diff *d, const diff_field *field, FILE *out) {
    const char *end = key_name(field->path);
    if (print_condition(field->path, out))
        return;
    if (end && !is_end_of_another(d, field, end)) {
        char name[DIFF_PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strlen(end) - 2, end);
        print_safe(out, name);
        return;
    }
    end = part_before(field->path, field->path + strlen(field->path));
    while (end > field->path && (says_little(end) || is_end_of_another(d, field, end)))
        end = part_before(field->path, end - 1);
    print_safe(out, end);
}

/* ---- printing ---- */

void diff_print_value(const diff_field *field, FILE *out) {
    if (*field->members) {
        print_safe(out, field->members);
        return;
    }
    fputs(colour_text(stdout, COLOUR_DIM), out);
    print_safe(out, field->before);
    fprintf(out, "%s → ", colour_text(stdout, COLOUR_NONE));
    print_safe(out, field->after);
}

void diff_print(const diff *d, FILE *out) {
    const diff_field *field;
    size_t printed = 0;
    for (; printed < DIFF_SHOWN && (field = diff_at(d, printed)); printed++) {
        fputs(printed ? ", " : "", out);
        print_safe(out, field->path);
        fputs(": ", out);
        diff_print_value(field, out);
    }
    if (d->changes > printed)
        fprintf(out, " (+%zu more)", d->changes - printed);
}
