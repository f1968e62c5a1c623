/* picture.c: see picture.h. The samples of one informer, queue or elector follow each other, or nearly so: each is
 * looked for from the last row back. */
#include "src/readiness/picture.h"

#include "src/base/array.h"
#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *label(const ki_sample *sample, const char *name) {
    for (size_t i = 0; i < sample->label_count; i++)
        if (strcmp(sample->labels[i].name, name) == 0)
            return sample->labels[i].value;
    return "";
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static char *copy_name(ki_picture *picture, const char *text) {
    char *name = ki_strdup(picture->allocator, text);
    if (!name)
        picture->failed = KI_ERR_NO_MEMORY;
    return name;
}

/* --- informers ---------------------------------------------------------------------------------------------------- */

static ki_concern concern_of(const ki_health *health, bool is_synced) {
    if (health->state == KI_STATE_BLOCKED)
        return KI_CONCERN_BLOCKED;
    if (health->state == KI_STATE_BACKING_OFF)
        return KI_CONCERN_FAILING;
    if (!is_synced || health->state == KI_STATE_STOPPED)
        return KI_CONCERN_UNSYNCED;
    return health->message[0] || health->unreadable ? KI_CONCERN_WARNED : KI_CONCERN_NONE;
}

/* Writes "deployments.apps in shop (app=web, spec.nodeName=a)". */
static char *informer_name(ki_picture *picture, const ki_sample *sample) {
    const char *group = label(sample, "group"), *namespace_name = label(sample, "namespace");
    const char *keep = label(sample, "keep");
    const char *const selectors[] = { label(sample, "label_selector"), label(sample, "field_selector"),
                                      strcmp(keep, "object") == 0 ? "" : keep };
    size_t size = strlen(label(sample, "resource")) + strlen(group) + strlen(namespace_name) + sizeof ". in  ()";
    for (size_t i = 0; i < 3; i++)
        size += strlen(selectors[i]) + 2;
    char *name = ki_alloc(picture->allocator, size);
    if (!name) {
        picture->failed = KI_ERR_NO_MEMORY;
        return NULL;
    }
    int used = snprintf(name, size, "%s%s%s%s%s", label(sample, "resource"), group[0] ? "." : "", group,
                        namespace_name[0] ? " in " : "", namespace_name);
    bool has_selector = false;
    for (size_t i = 0; i < 3; i++) {
        if (!selectors[i][0])
            continue;
        used += snprintf(name + used, size - (size_t)used, "%s%s", has_selector ? ", " : " (", selectors[i]);
        has_selector = true;
    }
    if (has_selector)
        snprintf(name + used, size - (size_t)used, ")");
    return name;
}

static ki_informer_row *informer_of(ki_picture *picture, const ki_sample *sample) {
    for (size_t i = picture->informer_count; i-- > 0;)
        if (picture->informers[i].informer == sample->informer)
            return &picture->informers[i];
    picture->failed =
        KI_ARRAY_RESERVE(picture->allocator, picture->informers, picture->informer_count, picture->informer_room);
    if (picture->failed)
        return NULL;
    ki_informer_row *row = &picture->informers[picture->informer_count++];
    *row = (ki_informer_row){ .informer = sample->informer, .identity = (uint64_t)(uintptr_t)sample->informer };
    if (picture->has_details) {
        ki_informer_health(sample->informer, &row->health);
        row->name = informer_name(picture, sample);
    }
    return row;
}

static void note_relists(ki_informer_row *row, const ki_sample *sample) {
    size_t used = strlen(row->causes);
    row->relists += sample->value;
    snprintf(row->causes + used, sizeof row->causes - used, "%s%s %.0f", used ? ";" : "", label(sample, "cause"),
             sample->value);
}

static void note_informer(ki_picture *picture, const ki_sample *sample) {
    ki_informer_row *row = informer_of(picture, sample);
    const char *name = sample->metric->name;
    if (!row)
        return;
    if (strcmp(name, "informer_events") == 0)
        row->events = sample->value;
    else if (strcmp(name, "informer_objects") == 0)
        row->objects = sample->value;
    else if (strcmp(name, "informer_object_bytes") == 0)
        row->bytes = sample->value;
    else if (strcmp(name, "informer_synced") == 0)
        row->is_synced = sample->value > 0;
    else if (strcmp(name, "informer_pending_notifications") == 0)
        row->pending += sample->value;
    else if (strcmp(name, "informer_relists") == 0)
        note_relists(row, sample);
}

static int compare_concern(const void *left, const void *right) {
    const ki_informer_row *a = left, *b = right;
    if (a->concern != b->concern)
        return a->concern < b->concern ? -1 : 1;
    int by_name = strcmp(a->name, b->name);
    return by_name ? by_name : a->identity < b->identity ? -1 : a->identity > b->identity;
}

/* --- queues and electors ------------------------------------------------------------------------------------------ */

/* Returns the row of a queue's name; NULL without memory. A controller has the name of its queue, so the two have one
 * row. Queues with the same name have one row, too. */
static ki_queue_row *queue_of(ki_picture *picture, const char *name) {
    for (size_t i = picture->queue_count; i-- > 0;)
        if (strcmp(picture->queues[i].name, name) == 0)
            return &picture->queues[i];
    picture->failed = KI_ARRAY_RESERVE(picture->allocator, picture->queues, picture->queue_count, picture->queue_room);
    char *copy = picture->failed ? NULL : copy_name(picture, name);
    if (!copy)
        return NULL;
    picture->queues[picture->queue_count] = (ki_queue_row){ .name = copy, .identity = ki_hash(name, strlen(name), 0) };
    return &picture->queues[picture->queue_count++];
}

static void note_queue(ki_picture *picture, const ki_sample *sample) {
    static const char queue[] = "workqueue_", controller[] = "controller_runtime_";
    const char *name = sample->metric->name;
    if (strcmp(name, "rest_client_requests") == 0)
        snprintf(picture->host, sizeof picture->host, "%s", label(sample, "host"));
    bool is_queue = strncmp(name, queue, sizeof queue - 1) == 0;
    if (!is_queue && strncmp(name, controller, sizeof controller - 1) != 0)
        return;
    ki_queue_row *row = queue_of(picture, label(sample, is_queue ? "name" : "controller"));
    if (!row)
        return;
    row->has_reconciles |= !is_queue;
    if (sample->failure && picture->has_details)
        row->failure = *sample->failure;
    if (strcmp(name, "workqueue_depth") == 0)
        row->depth += sample->value; /* of each priority */
    else if (strcmp(name, "workqueue_longest_running_processor_seconds") == 0)
        row->longest_s = sample->value;
    else if (strcmp(name, "workqueue_retries") == 0)
        row->retries = sample->value;
    else if (strcmp(name, "workqueue_failing_keys") == 0)
        row->failing = sample->value;
    else if (strcmp(name, "controller_runtime_reconcile") == 0)
        row->reconciles += sample->value; /* of each result */
    else if (strcmp(name, "controller_runtime_reconcile_errors") == 0)
        row->errors = sample->value;
    else if (strcmp(name, "controller_runtime_active_workers") == 0)
        row->running = sample->value;
}

static void note_elector(ki_picture *picture, const ki_sample *sample) {
    if (strcmp(sample->metric->name, "leader_election_master_status") != 0)
        return;
    picture->failed =
        KI_ARRAY_RESERVE(picture->allocator, picture->electors, picture->elector_count, picture->elector_room);
    char *name = picture->failed ? NULL : copy_name(picture, label(sample, "name"));
    if (!name)
        return;
    ki_elector_row *row = &picture->electors[picture->elector_count++];
    *row =
        (ki_elector_row){ .name = name, .leads = sample->value > 0, .identity = (uint64_t)(uintptr_t)sample->elector };
    if (picture->has_details)
        snprintf(row->leader, sizeof row->leader, "%s", sample->leader ? sample->leader : "");
}

/* --- the picture -------------------------------------------------------------------------------------------------- */

static void note(const ki_sample *sample, void *user) {
    ki_picture *picture = user;
    if (picture->failed)
        return;
    if (sample->informer)
        note_informer(picture, sample);
    else if (sample->elector)
        note_elector(picture, sample);
    else
        note_queue(picture, sample);
}

ki_status ki_picture_take(ki_picture *picture, const ki_allocator *allocator, bool details, ki_factory *factory,
                          void (*collect)(ki_sample_visitor visit, void *visit_user, void *user), void *user) {
    *picture = (ki_picture){ .allocator = allocator, .has_details = details };
    ki_status status = ki_factory_visit_metrics(factory, note, picture, NULL);
    if (!status && collect)
        collect(note, picture, user);
    if (!status)
        status = picture->failed;
    if (status || !details)
        return status;
    for (size_t i = 0; i < picture->informer_count; i++)
        picture->informers[i].concern = concern_of(&picture->informers[i].health, picture->informers[i].is_synced);
    if (picture->informer_count)
        qsort(picture->informers, picture->informer_count, sizeof *picture->informers, compare_concern);
    return KI_OK;
}

void ki_picture_free(ki_picture *picture) {
    for (size_t i = 0; i < picture->informer_count; i++)
        ki_free(picture->allocator, picture->informers[i].name);
    for (size_t i = 0; i < picture->queue_count; i++)
        ki_free(picture->allocator, picture->queues[i].name);
    for (size_t i = 0; i < picture->elector_count; i++)
        ki_free(picture->allocator, picture->electors[i].name);
    ki_free(picture->allocator, picture->informers);
    ki_free(picture->allocator, picture->queues);
    ki_free(picture->allocator, picture->electors);
}

bool ki_picture_is_failing(const ki_queue_row *row) {
    return row->failure.key[0] && (row->failure.failures >= KI_PICTURE_OFTEN || !row->failure.is_retried);
}

size_t ki_picture_unready(const ki_picture *picture) {
    size_t count = 0;
    for (size_t i = 0; i < picture->informer_count; i++)
        count += !picture->informers[i].is_synced || picture->informers[i].health.state == KI_STATE_STOPPED;
    return count;
}
