/* namespace_set.c: the namespaces of an informer of a set, which change while it runs.
 *
 * Any thread gives a set. The loop then removes the feeds of the namespaces that are not in it, and adds those that are
 * missing, a few in each run of its task. To remove a namespace is to put an empty list of it into the queue, behind
 * what was read before. For lack of memory the loop tries again after a while. */
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"

#include <stdlib.h>

enum {
    AT_ONCE = 16 /* feeds that one run adds and removes */
};
#define RETRY KI_SECONDS(1)

/* --- the names ---------------------------------------------------------------------------------------------------- */

static bool is_label(const char *name) {
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return size > 0 && size <= KI_NAMESPACE_MAX && !name[size] && name[0] != '-' && name[size - 1] != '-';
}

static ki_status check(const char *const *names, size_t count, ki_error *err) {
    if (count > 0 && !names)
        return ki_error_set(err, KI_ERR_INVALID, "%zu namespaces without their names", count);
    if (count > KI_NAMESPACES_MAX)
        return ki_error_set(err, KI_ERR_LIMIT, "%zu namespaces; a set has at most %d", count, (int)KI_NAMESPACES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!names[i])
            return ki_error_set(err, KI_ERR_INVALID, "namespace %zu of %zu is NULL", i + 1, count);
        if (!is_label(names[i]))
            return ki_error_set(err, KI_ERR_INVALID, "'%.100s' is no name of a namespace", names[i]);
    }
    return KI_OK;
}

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Copies, sorts and drops duplicates. Returns NULL without memory. */
static ki_namespaces *copy(const ki_allocator *allocator, const char *const *names, size_t count) {
    size_t size = sizeof(ki_namespaces) + count * sizeof *names;
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 1;
    ki_namespaces *set = ki_alloc(allocator, size);
    if (!set)
        return NULL;
    set->allocator = allocator;
    ki_refcount_init(&set->refs);
    char *at = (char *)(set->names + count);
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        set->names[i] = memcpy(at, names[i], strlen(names[i]) + 1);
    qsort(set->names, count, sizeof *set->names, compare);
    set->count = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(set->names[i], set->names[set->count - 1]) != 0)
            set->names[set->count++] = set->names[i];
    return set;
}

ki_status ki_namespaces_new(const ki_allocator *allocator, const char *const *names, size_t count,
                            ki_namespaces **ret_set, ki_error *err) {
    ki_status status = check(names, count, err);
    if (status)
        return status;
    ki_namespaces *set = copy(allocator, names, count);
    if (!set)
        return ki_error_no_memory(err, "setting namespaces");
    *ret_set = set;
    return KI_OK;
}

static ki_namespaces *ref(ki_namespaces *set) {
    ki_refcount_inc(&set->refs);
    return set;
}

void ki_namespaces_unref(ki_namespaces *set) {
    if (set && ki_refcount_dec(&set->refs))
        ki_free(set->allocator, set);
}

static bool has(const ki_namespaces *set, const char *name) {
    return set->count > 0 && bsearch(&name, set->names, set->count, sizeof *set->names, compare);
}

/* --- any thread --------------------------------------------------------------------------------------------------- */

/* Takes the reference over. */
static void want(ki_informer *informer, ki_namespaces *set) {
    ki_mutex_lock(&informer->feeds.lock);
    ki_namespaces *before = informer->namespaces.wanted;
    informer->namespaces.wanted = set;
    atomic_store(&informer->namespaces.has_new, true);
    ki_mutex_unlock(&informer->feeds.lock);
    ki_namespaces_unref(before);
    ki_task_post(&informer->namespaces.task);
}

ki_status ki_informer_give_namespaces(ki_informer *informer, ki_namespaces *set, ki_error *err) {
    ki_fair_mutex_lock(&informer->change_lock);
    ki_status status = ki_informer_check_runs(informer, err);
    if (!status)
        want(informer, ref(set));
    ki_fair_mutex_unlock(&informer->change_lock);
    return status;
}

ki_status ki_informer_set_namespaces(ki_informer *informer, const char *const *names, size_t count, ki_error *err) {
    if (!informer)
        return ki_error_missing(err, "ki_informer_set_namespaces");
    if (ki_engine_check_process(informer->options.engine, err))
        return KI_ERR_STATE;
    if (!informer->options.selection->is_set)
        return ki_error_set(err, KI_ERR_INVALID, "the informer of %s has no set of namespaces: request one that has",
                            informer->options.selection->name);
    ki_namespaces *set;
    ki_status status = ki_namespaces_new(ki_engine_allocator(informer->options.engine), names, count, &set, err);
    if (status)
        return status;
    status = ki_informer_give_namespaces(informer, set, err);
    ki_namespaces_unref(set);
    return status;
}

ki_feed_found ki_informer_find_in_set(const ki_informer *informer, const char *namespace_name, bool has_feed) {
    const ki_namespaces *const sets[] = { informer->namespaces.wanted, informer->namespaces.begun };
    for (size_t i = 0; i < 2; i++) {
        if (!sets[i] || has(sets[i], namespace_name))
            continue;
        if (i == 0 || !informer->namespaces.wanted) /* the set that was given last */
            return KI_FEED_NONE;
        has_feed = false; /* it is removed first */
    }
    return has_feed                                                    ? KI_FEED_FOUND
           : informer->namespaces.wanted || informer->namespaces.begun ? KI_FEED_COMING
                                                                       : KI_FEED_NONE;
}

/* --- loop --------------------------------------------------------------------------------------------------------- */

static ki_status remove_feed(ki_feed *feed, ki_error *err) {
    ki_queue *queue = feed->informer->work.queue;
    const ki_listing nothing = { .resource_version = "", .namespace_name = feed->selection->namespace_name };
    ki_reflector_close(&feed->reflector);
    ki_status status = queue->ops->replace(queue, &nothing, err);
    if (!status)
        ki_feed_remove(feed);
    return status;
}

static ki_status open_feed(ki_feed *feed, ki_error *err) {
    const ki_shared_informer_options *options = &feed->informer->options;
    ki_status status = options->make_source(feed->selection, options->make_source_user, &feed->own, err);
    if (!status)
        ki_feed_open(feed, feed->own);
    return status;
}

static ki_status add_feed(ki_informer *informer, const char *name, ki_error *err) {
    const ki_selection *all = informer->options.selection;
    const ki_informer_options options = { .namespace_name = name,
                                          .label_selector = all->label_selector,
                                          .field_selector = all->field_selector,
                                          .keep = all->keep };
    ki_selection *selection;
    ki_feed *feed;
    ki_status status =
        ki_selection_new(ki_engine_allocator(informer->options.engine), &all->resource, &options, &selection, err);
    if (status)
        return status;
    status = ki_feed_add(informer, selection, &feed, err);
    ki_selection_unref(selection);
    if (status)
        return status;
    feed->is_initial = !atomic_load(&informer->sync.is_done);
    status = open_feed(feed, err);
    if (status) {
        ki_feed_remove(feed);
        return status;
    }
    (void)ki_health_set_state(&feed->health, KI_STATE_CONNECTING, NULL, -1, ki_engine_now(informer->options.engine));
    ki_reflector_start(&feed->reflector);
    return KI_OK;
}

/* The first set has its feeds. An empty list of no namespace makes an informer of no namespaces synced, too. */
static ki_status note_first_set(ki_informer *informer, ki_error *err) {
    const ki_listing nothing = { .resource_version = "", .namespace_name = "", .is_initial = true };
    if (informer->namespaces.has_first)
        return KI_OK;
    ki_status status = informer->work.queue->ops->replace(informer->work.queue, &nothing, err);
    informer->namespaces.has_first = status == KI_OK;
    return status;
}

/* Removes and adds some feeds. */
static ki_status apply_some(ki_informer *informer, bool *ret_done, ki_error *err) {
    const ki_namespaces *set = informer->namespaces.begun;
    int left = AT_ONCE;
    ki_status status = KI_OK;
    for (size_t i = informer->feeds.count; !status && left > 0 && i-- > 0;)
        if (!has(set, informer->feeds.list[i]->selection->namespace_name)) {
            status = remove_feed(informer->feeds.list[i], err);
            left--;
        }
    for (size_t i = 0; !status && left > 0 && i < set->count; i++)
        if (!ki_feed_find(informer, set->names[i])) {
            status = add_feed(informer, set->names[i], err);
            left--;
        }
    *ret_done = !status && left > 0;
    if (*ret_done)
        status = note_first_set(informer, err);
    return status;
}

/* Begins the set that was given last, if any. */
static void begin_set(ki_informer *informer) {
    if (informer->namespaces.begun)
        return;
    ki_mutex_lock(&informer->feeds.lock);
    informer->namespaces.begun = informer->namespaces.wanted;
    informer->namespaces.wanted = NULL;
    ki_mutex_unlock(&informer->feeds.lock);
}

static void end_set(ki_informer *informer) {
    ki_mutex_lock(&informer->feeds.lock);
    ki_namespaces *set = informer->namespaces.begun;
    informer->namespaces.begun = NULL;
    ki_mutex_unlock(&informer->feeds.lock);
    ki_namespaces_unref(set);
}

static void apply(ki_informer *informer) {
    ki_error err = KI_ERROR_INIT;
    bool is_done = true;
    if (!informer->life.is_started || informer->life.is_stopped)
        return; /* the start takes up what is given before */
    begin_set(informer);
    if (!informer->namespaces.begun)
        return;
    ki_status status = apply_some(informer, &is_done, &err);
    ki_informer_note_progress(informer);
    if (status) {
        ki_informer_report(informer, &err, "");
        ki_timer_set(&informer->namespaces.timer, ki_engine_now(informer->options.engine) + RETRY);
        return;
    }
    if (is_done) {
        end_set(informer);
        ki_feeds_note_blocked(informer);
        ki_informer_note_state(informer, ki_feeds_show_state(informer), false);
    }
    ki_task_post(&informer->namespaces.task);
}

static void run_task(ki_task *task, void *user) {
    (void)task;
    apply(user);
}

static void retry(ki_timer *timer, void *user) {
    (void)timer;
    apply(user);
}

void ki_informer_init_namespaces(ki_informer *informer) {
    ki_task_init(&informer->namespaces.task, informer->options.engine, run_task, informer);
}

void ki_informer_open_namespaces(ki_informer *informer) {
    ki_timer_init(&informer->namespaces.timer, informer->options.engine, retry, informer);
}

void ki_informer_take_namespaces(ki_informer *informer) {
    ki_task_post(&informer->namespaces.task);
}

void ki_informer_close_namespaces(ki_informer *informer) {
    ki_task_cancel(&informer->namespaces.task);
    ki_timer_close(&informer->namespaces.timer);
}

bool ki_informer_note_set(ki_informer *informer) {
    ki_mutex_lock(&informer->feeds.lock);
    bool is_new = !informer->namespaces.wanted && !informer->namespaces.begun &&
                  atomic_exchange(&informer->namespaces.has_new, false);
    ki_mutex_unlock(&informer->feeds.lock);
    return is_new;
}

void ki_informer_free_namespaces(ki_informer *informer) {
    ki_namespaces_unref(informer->namespaces.begun);
    ki_namespaces_unref(informer->namespaces.wanted);
}
