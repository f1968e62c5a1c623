/* fold.c: see fold.h. */
#include "fold.h"

#include "cli/output.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* How a line is made to fit. */
typedef struct layout {
    bool has_moves;   /* how many objects were added and deleted */
    bool has_words;   /* the kinds of the owner and of the objects */
    size_t owner_min; /* columns of the owner at least */
} layout;

/* From the whole line to the shortest one. */
static const layout layouts[] = {
    { true, true, OWNER_MAX }, { true, true, 24 }, { false, true, 16 }, { false, false, 5 }
};

/* The objects of one owner. */
typedef struct group {
    char *owner;
    tally now;
    tally before;   /* at the first shown change since the last fold_write */
    size_t changes; /* shown since then; 0: `before` is not set */
    size_t added, deleted;
    struct group *next_changed;
} group;

struct fold {
    void *groups; /* a tree by owner */
    group *changed;
    size_t changed_count;
    size_t changes;
};

/* ---- when changes are folded ---- */

bool fold_rate_add(fold_rate *r) {
    if (++r->changes > FOLD_LINES_MAX)
        r->is_folding = true;
    return r->is_folding;
}

void fold_rate_tick(fold_rate *r) {
    r->is_folding = r->changes > FOLD_LINES_MAX;
    r->changes = 0;
}

/* ---- owners ---- */

/* Writes "deployment shop/cart". */
static void write_owner(char text[OWNER_MAX], const char *kind, const char *namespace_name, const char *name) {
    bool has_namespace = *namespace_name && strcmp(kind, "Node") != 0;
    char word[61];
    snprintf(word, sizeof word, "%s", kind);
    make_lower(word);
    snprintf(text, OWNER_MAX, "%s %s%s%s", word, has_namespace ? namespace_name : "", has_namespace ? "/" : "", name);
}

/* Returns the size of a deployment's name in the name of its replica set, "cart" in "cart-7d9f8c6b5"; 0 if it is none:
 * the object's label has the end. */
static size_t deployment_size(const ki_object *obj, const char *replica_set) {
    const char *hash = ki_object_label(obj, "pod-template-hash");
    size_t size = strlen(replica_set), hash_size = hash ? strlen(hash) : 0;
    bool is_end = hash_size && size > hash_size + 1 && strcmp(replica_set + size - hash_size, hash) == 0 &&
                  replica_set[size - hash_size - 1] == '-';
    return is_end ? size - hash_size - 1 : 0;
}

/* Returns the size of a CronJob's name in the name of its Job, "backup" in "backup-29404800"; 0 if it is none: the end
 * is the time, in minutes or seconds since 1970, and the pod's label has the Job's name. */
static size_t cron_job_size(const ki_object *obj, const char *job) {
    const char *label = ki_object_label(obj, "batch.kubernetes.io/job-name"), *end = strrchr(job, '-');
    if (!label)
        label = ki_object_label(obj, "job-name"); /* before Kubernetes 1.27 */
    if (!label || strcmp(label, job) != 0 || !end || end == job)
        return 0;
    size_t digits = strspn(end + 1, "0123456789");
    return digits >= 8 && digits <= 10 && !end[1 + digits] ? (size_t)(end - job) : 0;
}

/* What creates the owners of a kind, whose names begin with its name. */
static const struct {
    const char *kind, *of;
    size_t (*name_size)(const ki_object *obj, const char *name);
} creators[] = { { "Deployment", "ReplicaSet", deployment_size }, { "CronJob", "Job", cron_job_size } };

static void write_controller(const ki_object *obj, const ki_owner_reference *owner, char text[OWNER_MAX]) {
    char name[KI_OBJECT_KEY_MAX];
    const char *kind = owner->kind;
    size_t size = 0;
    for (size_t i = 0; i < sizeof creators / sizeof creators[0] && !size; i++) {
        size = strcmp(owner->kind, creators[i].of) == 0 ? creators[i].name_size(obj, owner->name) : 0;
        kind = size ? creators[i].kind : kind;
    }
    snprintf(name, sizeof name, "%.*s", (int)(size ? size : strlen(owner->name)), owner->name);
    write_owner(text, kind, ki_object_namespace(obj), name);
}

ki_status fold_owner_of(const ki_object *obj, char text[OWNER_MAX], ki_error *err) {
    ki_owner_reference *owners = NULL;
    size_t count = 0;
    const char *namespace_name = ki_object_namespace(obj);
    if (*namespace_name)
        write_owner(text, "namespace", "", namespace_name);
    else
        snprintf(text, OWNER_MAX, "cluster");
    ki_status status = ki_object_owner_references(obj, &owners, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (owners[i].controller)
            write_controller(obj, &owners[i], text);
    }
    ki_owner_references_free(owners);
    return status;
}

/* ---- groups ---- */

static int by_owner(const void *a, const void *b) {
    const group *left = a, *right = b;
    return strcmp(left->owner, right->owner);
}

static void free_group(void *member) {
    group *g = member;
    tally_clear(&g->now);
    tally_clear(&g->before);
    free(g->owner);
    free(g);
}

fold *fold_new(void) {
    return calloc(1, sizeof(fold));
}

/* Frees the groups, one by one: tdestroy is not in POSIX. */
void fold_free(fold *f) {
    while (f && f->groups) {
        group *g = *(group **)f->groups;
        tdelete(g, &f->groups, by_owner);
        free_group(g);
    }
    free(f);
}

/* Returns the owner's group, a new one if it has none; NULL if out of memory. */
static group *group_of(fold *f, const char *owner) {
    group *added = calloc(1, sizeof *added);
    if (!added || !(added->owner = strdup(owner))) {
        free(added);
        return NULL;
    }
    void *place = tsearch(added, &f->groups, by_owner);
    group *found = place ? *(group **)place : NULL;
    if (found != added)
        free_group(added);
    return found;
}

/* Records the counts before the first shown change. */
static bool begin_changes(fold *f, group *g) {
    tally_clear(&g->before);
    if (!tally_copy(&g->before, &g->now))
        return false;
    g->added = g->deleted = 0;
    g->next_changed = f->changed;
    f->changed = g;
    f->changed_count++;
    return true;
}

bool fold_change(fold *f, const char *owner, const condition *before, const condition *after, bool is_shown) {
    group *g = group_of(f, owner);
    if (!g || (is_shown && !g->changes && !begin_changes(f, g)))
        return false;
    if (is_shown) {
        g->changes++;
        g->added += !before;
        g->deleted += !after;
        f->changes++;
    }
    if (before)
        tally_remove(&g->now, before);
    return !after || tally_add(&g->now, after);
}

bool fold_has_changes(const fold *f) {
    return f->changes > 0;
}

/* ---- the lines ---- */

/* Returns how many objects moved from one status to another. */
static size_t moves_of(const group *g) {
    size_t moves = 0;
    for (size_t i = 0; i < g->now.count; i++) {
        size_t now = g->now.rows[i].count, before = tally_count(&g->before, g->now.rows[i].of.status);
        moves += now > before ? now - before : before - now;
    }
    return moves + (g->now.ready > g->before.ready ? g->now.ready - g->before.ready : g->before.ready - g->now.ready);
}

static int by_moves(const void *a, const void *b) {
    const group *left = *(group *const *)a, *right = *(group *const *)b;
    size_t left_moves = moves_of(left), right_moves = moves_of(right);
    if (left_moves != right_moves)
        return left_moves > right_moves ? -1 : 1;
    if (left->changes != right->changes)
        return left->changes > right->changes ? -1 : 1;
    return strcmp(left->owner, right->owner);
}

/* Writes "9 Ready → 11" after a separator; the count alone if it did not change. */
static void write_status(FILE *out, const char **separator, size_t before, const char *status, size_t now) {
    fprintf(out, "%s%zu %s", *separator, before, status);
    *separator = ", ";
    if (now != before)
        fprintf(out, " → %zu", now);
}

/* Writes "  12 pods (+2 -1)". */
static void write_objects(const group *g, const fold_words *words, const layout *with, FILE *out) {
    char kind[64];
    size_t objects = g->now.objects;
    snprintf(kind, sizeof kind, "%s", objects == 1 ? words->kind : words->plural);
    make_lower(kind);
    make_safe(kind);
    fprintf(out, "  %zu %s", objects, kind);
    if (!with->has_moves || (!g->added && !g->deleted))
        return;
    if (g->added && g->deleted)
        fprintf(out, " (+%zu -%zu)", g->added, g->deleted);
    else
        fprintf(out, " (%s%zu)", g->added ? "+" : "-", g->added + g->deleted);
}

/* Writes ": 9 Ready → 11, 2 Pending → 0", or the number of changes if none is of a status. */
static void write_counts(const group *g, const fold_words *words, const char *separator, FILE *out) {
    if (words->has_ready)
        write_status(out, &separator, g->before.ready, "Ready", g->now.ready);
    for (size_t i = 0; i < g->now.count; i++) {
        const tally_row *of = &g->now.rows[i];
        size_t before = tally_count(&g->before, of->of.status);
        bool is_ready_anyway = words->has_ready && strcmp(of->of.status, "Running") == 0;
        if (of->count != before && *of->of.status && !is_ready_anyway)
            write_status(out, &separator, before, of->of.status, of->count);
    }
    if (!moves_of(g))
        fprintf(out, "%s%zu change%s", separator, g->changes, g->changes == 1 ? "" : "s");
}

/* Returns the line with an owner of at most `owner_max` columns; the caller frees it. Returns NULL if out of memory. */
static char *compose(const group *g, const fold_words *words, const layout *with, const char *owner, size_t owner_max) {
    char *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    const char *name = strchr(owner, ' ');
    if (!out)
        return NULL;
    fprintf(out, "%s~%s ", colour_text(stdout, COLOUR_YELLOW), colour_text(stdout, COLOUR_NONE));
    display_shorten(with->has_words || !name ? owner : name + 1, owner_max, out);
    if (with->has_words)
        write_objects(g, words, with, out);
    write_counts(g, words, with->has_words ? ": " : " ", out);
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

/* Writes a group's line. Returns false if out of memory. */
static bool write_group(const group *g, const fold_words *words, size_t width, FILE *out) {
    const size_t count = sizeof layouts / sizeof layouts[0];
    char owner[OWNER_MAX], *line = NULL;
    snprintf(owner, sizeof owner, "%s", g->owner);
    make_safe(owner);
    for (size_t i = 0; i < count; i++) {
        const layout *with = &layouts[i];
        const char *name = strchr(owner, ' ');
        size_t own = display_width(with->has_words || !name ? owner : name + 1);
        free(line);
        line = compose(g, words, with, owner, own);
        size_t all = line ? display_width(line) : 0, excess = width && all > width ? all - width : 0;
        if (excess && own > with->owner_min) {
            free(line);
            size_t most = own - with->owner_min > excess ? own - excess : with->owner_min;
            line = compose(g, words, with, owner, most);
        }
        if (!line || !width || display_width(line) <= width)
            break;
    }
    if (line) {
        display_cut(line, width, out);
        putc('\n', out);
    }
    bool is_ok = line;
    free(line);
    return is_ok;
}

static void write_heading(const fold *f, const fold_words *words, const char *clock, size_t max, size_t width,
                          FILE *out) {
    char line[256], changes[32], owners[32], shown[32] = "";
    if (f->changed_count > max)
        snprintf(shown, sizeof shown, ", %zu shown", max);
    snprintf(line, sizeof line, "%s %.60s: %s change%s of %s owner%s%s", clock, words->plural,
             with_commas(f->changes, changes), f->changes == 1 ? "" : "s", with_commas(f->changed_count, owners),
             f->changed_count == 1 ? "" : "s", shown);
    make_safe(line);
    fputs(colour_text(stdout, COLOUR_DIM), out);
    display_cut(line, width, out);
    fprintf(out, "%s\n", colour_text(stdout, COLOUR_NONE));
}

/* Forgets what was written, and groups without objects. */
static void end_changes(fold *f, group **sorted) {
    for (size_t i = 0; i < f->changed_count; i++) {
        sorted[i]->changes = 0;
        if (sorted[i]->now.objects)
            continue;
        tdelete(sorted[i], &f->groups, by_owner);
        free_group(sorted[i]);
    }
    f->changed = NULL;
    f->changed_count = f->changes = 0;
}

bool fold_write(fold *f, const fold_words *words, const char *clock, size_t max, size_t width, FILE *out) {
    if (!f->changes)
        return true;
    group **sorted = malloc(f->changed_count * sizeof(group *));
    bool is_ok = sorted;
    size_t count = 0;
    for (group *g = f->changed; g && is_ok; g = g->next_changed)
        sorted[count++] = g;
    if (!is_ok)
        return false;
    qsort(sorted, count, sizeof *sorted, by_moves);
    write_heading(f, words, clock, max, width, out);
    for (size_t i = 0; i < count && i < max && is_ok; i++)
        is_ok = write_group(sorted[i], words, width, out);
    end_changes(f, sorted);
    free(sorted);
    return is_ok;
}
