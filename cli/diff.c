/* diff.c: see diff.h. */
#include "diff.h"

#include "output.h"

#include <kinformer-testing/server.h>

#include <string.h>

enum {
    PATH_MAX_SIZE = 200,
    VALUE_MAX = 60,
    MEMBERS_MAX = 2 * VALUE_MAX + 8
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

/* The elements that an array gained or lost: "a, b". */
typedef struct member_list {
    char text[VALUE_MAX];
    size_t size;
    size_t count;
} member_list;

typedef struct changes {
    change shown[RANKS][DIFF_SHOWN];
    size_t counts[RANKS];
    size_t heartbeats;
    char list[PATH_MAX_SIZE]; /* the array that `gained` and `lost` are of */
    member_list gained, lost;
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

/* Writes a text of at most 40 bytes, a longer one cut, without control characters. */
static void write_text(const char *string, char text[VALUE_MAX]) {
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
}

/* Writes a condition's status, or "{…}" for another object. */
static void write_object(ki_value *object, char text[VALUE_MAX]) {
    const char *name;
    ki_value member;
    snprintf(text, VALUE_MAX, "{}");
    while (ki_value_next(object, &name, &member)) {
        snprintf(text, VALUE_MAX, "{…}");
        if (strcmp(name, "status") != 0 || member.type != KI_VALUE_STRING || member.text_size >= VALUE_MAX)
            continue;
        snprintf(text, VALUE_MAX, "%s", member.text);
        return;
    }
}

static void write_value(ki_value *value, char text[VALUE_MAX]) {
    ki_value member;
    size_t count = 0;
    switch (value ? value->type : KI_VALUE_NULL) {
    case KI_VALUE_NULL:
        snprintf(text, VALUE_MAX, value ? "null" : "(none)");
        break;
    case KI_VALUE_BOOL:
        snprintf(text, VALUE_MAX, "%s", value->boolean ? "true" : "false");
        break;
    case KI_VALUE_INT:
        snprintf(text, VALUE_MAX, "%lld", (long long)value->integer);
        break;
    case KI_VALUE_DOUBLE:
        snprintf(text, VALUE_MAX, "%g", value->number);
        break;
    case KI_VALUE_STRING:
        write_text(value->text, text);
        break;
    case KI_VALUE_ARRAY:
        while (ki_value_next(value, NULL, &member))
            count++;
        snprintf(text, VALUE_MAX, "[%zu]", count);
        break;
    case KI_VALUE_OBJECT:
        write_object(value, text);
        break;
    }
}

/* Returns the place for a change at the path; NULL if the change is only counted. */
static change *add_change(changes *c, const char *path) {
    if (is_noise(path))
        return NULL;
    if (is_heartbeat(path)) {
        c->heartbeats++;
        return NULL;
    }
    diff_rank rank = rank_of(path);
    size_t index = c->counts[rank]++;
    if (index >= DIFF_SHOWN)
        return NULL;
    change *shown = &c->shown[rank][index];
    *shown = (change){ .path = "" };
    snprintf(shown->path, sizeof shown->path, "%s", path);
    return shown;
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
    char text[VALUE_MAX], status[VALUE_MAX] = "";
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
static void end_list(changes *c) {
    member_list *gained = &c->gained, *lost = &c->lost;
    change *shown = gained->count || lost->count ? add_change(c, c->list) : NULL;
    if (shown)
        snprintf(shown->members, sizeof shown->members, "%s%s%s%s%s", gained->count ? "+ " : "", gained->text,
                 gained->count && lost->count ? " " : "", lost->count ? "- " : "", lost->text);
    c->gained = c->lost = (member_list){ .size = 0 };
}

static bool note(const ki_field_difference *difference, void *user) {
    changes *c = user;
    char path[PATH_MAX_SIZE];
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
    change *shown = add_change(c, path);
    if (shown) {
        write_value(difference->before, shown->before);
        write_value(difference->after, shown->after);
    }
    return true;
}

ki_status diff_print(const ki_object *before, const ki_object *after, FILE *out, diff_sum *ret_sum, ki_error *err) {
    changes c = { .list = "" };
    size_t total = 0;
    size_t printed = 0;
    ki_status status = ki_object_diff(before, after, note, &c, err);
    if (status)
        return status;
    end_list(&c);
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
    *ret_sum = (diff_sum){ .changes = total, .heartbeats = c.heartbeats };
    return KI_OK;
}
