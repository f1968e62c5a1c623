/* history.c: see history.h. Each line is a ring, all with the same place. */
#include "status/history.h"

#include "src/base/array.h"
#include "src/base/memory.h"

#define NONE (-1.0f)
#define NANOSECONDS 1e9

typedef struct ki_history_line {
    ki_history_kind kind;
    uint64_t identity;
    bool is_seen;  /* in the sample that is being added */
    double events; /* of an informer, at the last sample */
    ki_history_values values;
} line;

static void forget(ki_history_values *values) {
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++)
        values->at[i] = NONE;
}

ki_status ki_history_init(ki_history *history, const ki_allocator *allocator, ki_error *err) {
    *history = (ki_history){ .allocator = allocator };
    for (size_t i = 0; i < KI_HISTORY_TOTALS; i++)
        forget(&history->totals[i]);
    return ki_mutex_init(&history->mutex, err);
}

void ki_history_free(ki_history *history) {
    ki_free(history->allocator, history->lines);
    ki_mutex_destroy(&history->mutex);
}

/* Looks at the line after the last found one first: a picture's rows usually have the order of the lines. */
static line *find(const ki_history *history, ki_history_kind kind, uint64_t identity, size_t *place) {
    for (size_t i = 0; i < history->count; i++) {
        size_t at = (*place + i) % history->count;
        line *found = &history->lines[at];
        if (found->identity == identity && found->kind == kind) {
            *place = at + 1;
            return found;
        }
    }
    return NULL;
}

/* Returns a new line; NULL without memory or beyond the limit. */
static line *add_line(ki_history *history, ki_history_kind kind, uint64_t identity) {
    if (history->count == KI_HISTORY_LINES_MAX)
        return NULL;
    if (KI_ARRAY_RESERVE(history->allocator, history->lines, history->count, history->capacity))
        return NULL;
    line *added = &history->lines[history->count++];
    *added = (line){ .kind = kind, .identity = identity, .events = -1 };
    forget(&added->values);
    return added;
}

static line *line_of(ki_history *history, ki_history_kind kind, uint64_t identity, size_t *place) {
    line *found = find(history, kind, identity, place);
    if (!found)
        found = add_line(history, kind, identity);
    if (found)
        found->is_seen = true;
    return found;
}

static void set(ki_history *history, ki_history_values *values, double value) {
    values->at[history->next] = (float)value;
}

/* Returns the events a second since the last sample; NONE for the first one. */
static double rate_of(const line *informer, double events, double elapsed_s) {
    return informer->events < 0 || elapsed_s <= 0 ? (double)NONE : (events - informer->events) / elapsed_s;
}

static void add_informers(ki_history *history, const ki_picture *picture, double elapsed_s) {
    double rates = 0, objects = 0, bytes = 0;
    size_t place = 0;
    for (size_t i = 0; i < picture->informer_count; i++) {
        const ki_informer_row *row = &picture->informers[i];
        line *informer = line_of(history, KI_HISTORY_INFORMER, row->identity, &place);
        double rate = informer ? rate_of(informer, row->events, elapsed_s) : (double)NONE;
        objects += row->objects;
        bytes += row->bytes;
        rates += rate > 0 ? rate : 0;
        if (informer) {
            set(history, &informer->values, rate);
            informer->events = row->events;
        }
    }
    set(history, &history->totals[KI_HISTORY_EVENTS], history->samples ? rates : (double)NONE);
    set(history, &history->totals[KI_HISTORY_OBJECTS], objects);
    set(history, &history->totals[KI_HISTORY_BYTES], bytes);
}

static void add_queues_and_electors(ki_history *history, const ki_picture *picture) {
    double depth = 0;
    size_t place = 0;
    for (size_t i = 0; i < picture->queue_count; i++) {
        line *queue = line_of(history, KI_HISTORY_QUEUE, picture->queues[i].identity, &place);
        depth += picture->queues[i].depth;
        if (queue)
            set(history, &queue->values, picture->queues[i].depth);
    }
    set(history, &history->totals[KI_HISTORY_DEPTH], depth);
    for (size_t i = 0; i < picture->elector_count; i++) {
        line *elector = line_of(history, KI_HISTORY_ELECTOR, picture->electors[i].identity, &place);
        if (elector)
            set(history, &elector->values, picture->electors[i].leads ? 1 : 0);
    }
}

/* Removes the lines that the sample does not have. */
static void drop_unseen(ki_history *history) {
    size_t kept = 0;
    for (size_t i = 0; i < history->count; i++)
        if (history->lines[i].is_seen)
            history->lines[kept++] = history->lines[i];
    history->count = kept;
}

void ki_history_add(ki_history *history, const ki_picture *picture, int64_t now_ns) {
    ki_mutex_lock(&history->mutex);
    double elapsed_s = history->samples ? (double)(now_ns - history->last_ns) / NANOSECONDS : 0;
    for (size_t i = 0; i < history->count; i++) {
        history->lines[i].is_seen = false;
        history->lines[i].values.at[history->next] = NONE;
    }
    add_informers(history, picture, elapsed_s);
    add_queues_and_electors(history, picture);
    drop_unseen(history);
    history->last_ns = now_ns;
    history->next = (history->next + 1) % KI_HISTORY_SAMPLES;
    if (history->samples < KI_HISTORY_SAMPLES)
        history->samples++;
    ki_mutex_unlock(&history->mutex);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void copy(const ki_history *history, const ki_history_values *values, ki_history_values *ret_values) {
    for (size_t i = 0; i < KI_HISTORY_SAMPLES; i++)
        ret_values->at[i] = values->at[(history->next + i) % KI_HISTORY_SAMPLES];
}

void ki_history_read(ki_history *history, ki_history_kind kind, uint64_t identity, ki_history_values *ret_values) {
    size_t place = 0;
    ki_mutex_lock(&history->mutex);
    const line *found = find(history, kind, identity, &place);
    if (found)
        copy(history, &found->values, ret_values);
    else
        forget(ret_values);
    ki_mutex_unlock(&history->mutex);
}

void ki_history_read_total(ki_history *history, ki_history_total total, ki_history_values *ret_values) {
    ki_mutex_lock(&history->mutex);
    copy(history, &history->totals[total], ret_values);
    ki_mutex_unlock(&history->mutex);
}

float ki_history_last(const ki_history_values *values) {
    return values->at[KI_HISTORY_SAMPLES - 1];
}
