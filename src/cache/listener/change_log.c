/* change_log.c: see change_log.h. A chain of blocks, none before the first change. A block goes when each change in it
 * has left and no reader stands at its end; the last published one stays. */
#include "src/cache/listener/change_log.h"

#include "src/base/assert.h"
#include "src/base/list.h"
#include "src/base/memory.h"
#include "src/object/object.h"

enum {
    BLOCK_SIZE =
        40,    /* below 1 KB: for larger blocks glibc's malloc first merges all free memory, which can take long */
    SLICE = 64 /* maximum changes that are released at once */
};

struct ki_change_block {
    ki_change_block *next;
    uint64_t first; /* number of the first change */
    size_t count;   /* changes that were appended */
    ki_change items[BLOCK_SIZE];
};

static ki_change_block *new_block(const ki_change_log *log) {
    ki_change_block *block = ki_alloc(ki_engine_allocator(log->engine), sizeof *block);
    if (block) {
        block->next = NULL;
        block->first = log->end;
        block->count = 0;
    }
    return block;
}

static void free_block(const ki_change_log *log, ki_change_block *block) {
    ki_free(ki_engine_allocator(log->engine), block);
}

/* first <= each reader's position <= published <= end */
static bool is_in_order(const ki_change_log *log) {
    uint64_t first = atomic_load(&log->first), published = atomic_load(&log->published);
    bool is = first <= published && (!log->head || (log->head->first <= first && log->published_tail));
    for (const ki_change_reader *reader = log->readers; is && reader; reader = reader->next) {
        uint64_t position = atomic_load(&reader->position);
        is = first <= position && position <= published && KI_LIST_HAS(reader) &&
             reader->resyncs + reader->unwanted <= published - position;
    }
    return is;
}

/* ---- releasing ---- */

/* Frees the head. A reader at its end moves on. */
static void drop_head(ki_change_log *log) {
    KI_HELD(&log->mutex);
    KI_ASSERT(log->head != log->published_tail && log->head->next);
    ki_change_block *head = log->head;
    for (ki_change_reader *reader = log->readers; reader; reader = reader->next)
        if (reader->block == head)
            reader->block = head->next;
    log->head = head->next;
    free_block(log, head);
}

/* Takes the oldest change, which is published, out of the log. */
static void pop(ki_change_log *log, ki_change *ret_change) {
    uint64_t first = atomic_load(&log->first);
    KI_HELD(&log->mutex);
    KI_ASSERT(first < atomic_load(&log->published));
    if (first - log->head->first == BLOCK_SIZE)
        drop_head(log);
    *ret_change = log->head->items[first - log->head->first];
    KI_ASSERT(log->bytes >= ki_object_memory(ret_change->obj));
    log->bytes -= ki_object_memory(ret_change->obj);
    atomic_store(&log->first, first + 1);
}

/* Returns the number of the first change that is still needed. */
static uint64_t needed_from(const ki_change_log *log) {
    KI_HELD(&log->mutex);
    KI_ASSERT(is_in_order(log));
    uint64_t from = atomic_load(&log->published);
    for (const ki_change_reader *reader = log->readers; reader; reader = reader->next) {
        uint64_t position = atomic_load(&reader->position);
        from = position < from ? position : from;
    }
    return from;
}

/* Releases at most `max` changes, at most a slice, that no reader needs. Returns their number. */
static size_t release_some(ki_change_log *log, size_t max) {
    ki_change released[SLICE];
    size_t count = 0;
    ki_mutex_lock(&log->mutex);
    for (uint64_t end = needed_from(log); count < max && count < SLICE && atomic_load(&log->first) < end; count++)
        pop(log, &released[count]);
    ki_mutex_unlock(&log->mutex);
    for (size_t i = 0; i < count; i++)
        ki_change_release(&released[i]);
    return count;
}

/* Releases at most `max` dropped changes. Returns their number. */
static size_t release_dropped(ki_change_log *log, size_t max) {
    size_t count = 0;
    while (count < max && log->dropped) {
        ki_change_block *block = log->dropped;
        while (count < max && block->count > 0) {
            ki_change_release(&block->items[--block->count]);
            count++;
        }
        if (block->count > 0)
            break;
        log->dropped = block->next;
        free_block(log, block);
    }
    return count;
}

static void run_release(ki_task *task, void *user) {
    ki_change_log *log = user;
    KI_ON_LOOP(log->engine);
    int work_left = ki_engine_work_left(log->engine);
    size_t max = work_left < 1 ? 1 : work_left < SLICE ? (size_t)work_left : SLICE;
    size_t count = release_dropped(log, max);
    count += release_some(log, max - count);
    (void)ki_engine_work(log->engine, (int)count);
    if (count == max)
        ki_task_post(task);
}

/* ---- new, free ---- */

ki_status ki_change_log_init(ki_change_log *log, ki_engine *engine, ki_error *err) {
    *log = (ki_change_log){ .engine = engine };
    ki_task_init(&log->release, engine, run_release, log);
    return ki_mutex_init(&log->mutex, err);
}

void ki_change_log_free(ki_change_log *log) {
    KI_ASSERT(log->end == atomic_load(&log->published));
    ki_task_cancel(&log->release);
    while (release_dropped(log, SLICE) > 0) {}
    while (release_some(log, SLICE) > 0) {}
    while (log->head) {
        ki_change_block *block = log->head;
        log->head = block->next;
        free_block(log, block);
    }
    ki_mutex_destroy(&log->mutex);
}

/* ---- writing ---- */

static void link_first(ki_change_log *log, ki_change_block *block) {
    ki_mutex_lock(&log->mutex);
    log->head = log->published_tail = block;
    ki_mutex_unlock(&log->mutex);
}

ki_status ki_change_log_append(ki_change_log *log, const ki_change *change) {
    KI_ON_LOOP(log->engine);
    KI_ASSERT(!log->tail || log->tail->first + log->tail->count == log->end);
    if (!log->tail || log->tail->count == BLOCK_SIZE) {
        ki_change_block *block = new_block(log);
        if (!block)
            return KI_ERR_NO_MEMORY;
        if (log->tail)
            log->tail->next = block;
        else
            link_first(log, block);
        log->tail = block;
    }
    ki_object_ref(change->obj);
    ki_object_ref(change->old);
    log->tail->items[log->tail->count++] = *change;
    log->end++;
    log->staged_bytes += ki_object_memory(change->obj);
    log->staged_resyncs += change->is_resync && !change->is_listed;
    log->staged_repeats += change->is_resync && change->is_listed;
    return KI_OK;
}

/* Counts the changes that are being published and are of a resync. */
static void count_resyncs(ki_change_log *log) {
    KI_HELD(&log->mutex);
    size_t all = log->staged_resyncs + log->staged_repeats;
    if (log->staged_resyncs > 0)
        log->resync_end = log->end;
    for (ki_change_reader *reader = log->readers; reader; reader = reader->next) {
        size_t wanted = (reader->resync_end == UINT64_MAX ? log->staged_resyncs : 0) +
                        (reader->has_resyncs ? log->staged_repeats : 0);
        reader->resyncs += wanted;
        reader->unwanted += all - wanted;
    }
}

/* Nothing is staged any more. */
static void reset_staged(ki_change_log *log) {
    log->staged_bytes = log->staged_resyncs = log->staged_repeats = 0;
}

bool ki_change_log_publish(ki_change_log *log) {
    KI_ON_LOOP(log->engine);
    KI_ASSERT(log->end >= atomic_load(&log->published));
    bool has_any = log->end != atomic_load(&log->published);
    if (!has_any)
        return false;
    ki_mutex_lock(&log->mutex);
    log->published_tail = log->tail;
    log->bytes += log->staged_bytes;
    if (log->staged_resyncs || log->staged_repeats)
        count_resyncs(log);
    atomic_store(&log->published, log->end);
    bool is_read = log->readers != NULL;
    KI_ASSERT(is_in_order(log));
    ki_mutex_unlock(&log->mutex);
    reset_staged(log);
    if (!is_read && release_some(log, SLICE) == SLICE)
        ki_task_post(&log->release);
    return true;
}

void ki_change_log_drop(ki_change_log *log) {
    KI_ASSERT(log->end >= atomic_load(&log->published));
    ki_change_block *kept = log->published_tail, *block = kept ? kept->next : NULL;
    if (!kept)
        return;
    size_t count = (size_t)(atomic_load(&log->published) - kept->first);
    while (kept->count > count)
        ki_change_release(&kept->items[--kept->count]);
    kept->next = NULL;
    if (block) {
        log->tail->next = log->dropped;
        log->dropped = block;
        ki_task_post(&log->release);
    }
    log->tail = kept;
    log->end = atomic_load(&log->published);
    reset_staged(log);
}

/* ---- reading ---- */

void ki_change_log_attach(ki_change_log *log, ki_change_reader *reader) {
    ki_mutex_lock(&log->mutex);
    atomic_store(&reader->position, atomic_load(&log->published));
    reader->block = log->published_tail;
    KI_LIST_PREPEND(log->readers, reader);
    ki_mutex_unlock(&log->mutex);
}

void ki_change_log_detach(ki_change_log *log, ki_change_reader *reader) {
    bool has_rest = false;
    ki_mutex_lock(&log->mutex);
    if (KI_LIST_HAS(reader)) {
        KI_LIST_REMOVE(log->readers, reader);
        has_rest = atomic_load(&log->first) < needed_from(log);
    }
    ki_mutex_unlock(&log->mutex);
    if (has_rest)
        ki_task_post(&log->release);
}

/* Returns the reader's next change; NULL if there is none. */
static const ki_change *peek(ki_change_log *log, ki_change_reader *reader) {
    KI_HELD(&log->mutex);
    uint64_t number = atomic_load(&reader->position);
    if (!KI_LIST_HAS(reader) || number == atomic_load(&log->published))
        return NULL;
    if (!reader->block)
        reader->block = log->head; /* it came before the first change */
    else if (number - reader->block->first == BLOCK_SIZE)
        reader->block = reader->block->next;
    KI_ASSERT(number >= reader->block->first && number - reader->block->first < BLOCK_SIZE);
    return &reader->block->items[number - reader->block->first];
}

/* Moves the reader behind `next`, its next change. Returns true if no other reader needs the change: `*ret_change` then
 * has the log's references. */
static bool pass(ki_change_log *log, ki_change_reader *reader, const ki_change *next, ki_change *ret_change) {
    KI_HELD(&log->mutex);
    uint64_t number = atomic_load(&reader->position);
    *ret_change = *next;
    atomic_store(&reader->position, number + 1);
    bool is_last = number == atomic_load(&log->first);
    for (const ki_change_reader *other = log->readers; is_last && other; other = other->next)
        is_last = atomic_load(&other->position) > number;
    if (is_last)
        pop(log, ret_change);
    return is_last;
}

/* Passes over changes that are not for the reader, a slice at most. Returns their number. `released` gets the
 * `*ret_count` of them that no other reader needs. */
static size_t skip(ki_change_log *log, ki_change_reader *reader, ki_change released[SLICE], size_t *ret_count) {
    KI_HELD(&log->mutex);
    size_t skipped = 0;
    const ki_change *next;
    *ret_count = 0;
    while (skipped < SLICE && reader->unwanted > 0 && (next = peek(log, reader)) &&
           !ki_change_reader_wants(reader, next, atomic_load(&reader->position))) {
        *ret_count += pass(log, reader, next, &released[*ret_count]);
        reader->unwanted--;
        skipped++;
    }
    return skipped;
}

bool ki_change_log_take(ki_change_log *log, ki_change_reader *reader, ki_change *ret_change, size_t *ret_skipped) {
    ki_change released[SLICE];
    size_t count = 0;
    ki_mutex_lock(&log->mutex);
    *ret_skipped = reader->unwanted > 0 ? skip(log, reader, released, &count) : 0;
    const ki_change *next = *ret_skipped > 0 ? NULL : peek(log, reader);
    if (next) {
        KI_ASSERT(ki_change_reader_wants(reader, next, atomic_load(&reader->position)));
        KI_ASSERT(!next->is_resync || reader->resyncs > 0);
        reader->resyncs -= next->is_resync;
        if (!pass(log, reader, next, ret_change)) {
            ki_object_ref(ret_change->obj);
            ki_object_ref(ret_change->old);
        }
    }
    KI_ASSERT(is_in_order(log));
    ki_mutex_unlock(&log->mutex);
    for (size_t i = 0; i < count; i++)
        ki_change_release(&released[i]);
    return next != NULL;
}

size_t ki_change_log_pending(ki_change_log *log, const ki_change_reader *reader) {
    ki_mutex_lock(&log->mutex);
    size_t pending = (size_t)(atomic_load(&log->published) - atomic_load(&reader->position)) - reader->unwanted;
    ki_mutex_unlock(&log->mutex);
    return pending;
}

size_t ki_change_log_load(const ki_change_log *log, const ki_change_reader *reader) {
    KI_ON_LOOP(log->engine);
    size_t all = (size_t)(atomic_load(&log->published) - atomic_load(&reader->position));
    return all - reader->unwanted - reader->resyncs;
}

/* ---- resyncs ---- */

bool ki_change_log_begin_resync(ki_change_log *log, ki_change_reader *reader, bool is_due) {
    KI_ON_LOOP(log->engine);
    KI_ASSERT(log->staged_resyncs == 0);
    ki_mutex_lock(&log->mutex);
    uint64_t published = atomic_load(&log->published);
    bool is_for = is_due && atomic_load(&reader->position) >= log->resync_end;
    if (is_for)
        reader->resync_end = UINT64_MAX;
    else if (reader->resync_end > published)
        reader->resync_end = published;
    ki_mutex_unlock(&log->mutex);
    return is_for;
}

bool ki_change_reader_wants(const ki_change_reader *reader, const ki_change *change, uint64_t number) {
    if (!change->is_resync)
        return true;
    return change->is_listed ? reader->has_resyncs : number < reader->resync_end;
}

size_t ki_change_log_bytes(ki_change_log *log) {
    ki_mutex_lock(&log->mutex);
    size_t count = (size_t)(atomic_load(&log->published) - atomic_load(&log->first));
    size_t bytes = log->bytes + count * sizeof(ki_change);
    ki_mutex_unlock(&log->mutex);
    return bytes;
}
