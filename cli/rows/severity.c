/* severity.c: see severity.h. */
#include "severity.h"

#include <string.h>

/* Words of pods, nodes, jobs, namespaces, volumes, requests for certificates, and conditions of any kind. */
static const struct {
    const char *word;
    severity severity;
} words[] = {
    { "Running", SEVERITY_GOOD },
    { "Ready", SEVERITY_GOOD },
    { "Succeeded", SEVERITY_GOOD },
    { "Completed", SEVERITY_GOOD },
    { "Complete", SEVERITY_GOOD },
    { "Active", SEVERITY_GOOD },
    { "Bound", SEVERITY_GOOD },
    { "Available", SEVERITY_GOOD },
    { "Healthy", SEVERITY_GOOD },
    { "Approved,Issued", SEVERITY_GOOD },
    { "True", SEVERITY_GOOD },
    { "Pending", SEVERITY_WAITING },
    { "ContainerCreating", SEVERITY_WAITING },
    { "PodInitializing", SEVERITY_WAITING },
    { "SchedulingGated", SEVERITY_WAITING },
    { "Terminating", SEVERITY_WAITING },
    { "Released", SEVERITY_WAITING },
    { "Suspended", SEVERITY_WAITING },
    { "Progressing", SEVERITY_WAITING },
    { "Ready,SchedulingDisabled", SEVERITY_WAITING },
    { "False", SEVERITY_WAITING },
    { "Failed", SEVERITY_BAD },
    { "Error", SEVERITY_BAD },
    { "Lost", SEVERITY_BAD },
    { "Unknown", SEVERITY_BAD },
    { "Degraded", SEVERITY_BAD },
    { "Denied", SEVERITY_BAD },
};

static bool has_column(const ki_columns *columns, const char *name) {
    return column_named(columns, name) < ki_columns_count(columns);
}

/* Returns true for "Init:0/2"; "Init:Error" is none. */
static bool is_init_progress(const char *status) {
    size_t done = strncmp(status, "Init:", 5) == 0 ? strspn(status + 5, "0123456789") : 0;
    return done && status[5 + done] == '/';
}

static severity severity_of_word(const ki_columns *columns, const char *status) {
    if (!*status)
        return SEVERITY_PLAIN;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].word, status) == 0)
            return words[i].severity;
    }
    bool is_pod = columns_have_ready(columns) && has_column(columns, "Restarts");
    if (strncmp(status, "NotReady", 8) == 0) /* of a node, or what counts what is ready */
        return has_column(columns, "Status") && !is_pod ? SEVERITY_BAD : SEVERITY_WAITING;
    if (strncmp(status, "Warning ", 8) == 0 || is_init_progress(status)) /* an Event's type; a pod */
        return SEVERITY_WAITING;
    return is_pod ? SEVERITY_BAD : SEVERITY_PLAIN;
}

severity severity_of(const ki_columns *columns, const condition *one) {
    severity of = severity_of_word(columns, one->status);
    bool has_ended = strcmp(one->status, "Completed") == 0 || strcmp(one->status, "Succeeded") == 0;
    if (columns_have_ready(columns) && !one->is_ready && !has_ended && of < SEVERITY_WAITING)
        return SEVERITY_WAITING;
    return of;
}

severity severity_of_all(const ki_columns *columns, const tally *t, size_t *ret_count) {
    severity worst = SEVERITY_GOOD;
    *ret_count = 0;
    for (size_t i = 0; i < 2 * t->count; i++) { /* each status: the objects that are not ready, then those that are */
        const tally_row *some = &t->rows[i / 2];
        condition one = some->of;
        one.is_ready = i % 2;
        size_t count = one.is_ready ? some->ready : some->count - some->ready;
        severity is = severity_of(columns, &one);
        if (!count || is < worst)
            continue;
        *ret_count = is == worst ? *ret_count + count : count;
        worst = is;
    }
    return worst;
}
