/* feed.c: see feed.h. The feeds of a set are sorted by namespace, so that a key leads to its feed quickly. */
#include "src/cache/informer/feed.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/informer/informer_parts.h"
#include "src/engine/callback.h"

#include <stdio.h>

enum {
    FIRST_CAPACITY = 1
};

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* Compares a namespace with the first `size` bytes of `text`. */
static int compare(const char *namespace_name, const char *text, size_t size) {
    int order = strncmp(namespace_name, text, size);
    return order ? order : namespace_name[size] != '\0';
}

/* Returns the place of the first feed whose namespace is not before `text`. */
static size_t place_of(const ki_informer *informer, const char *text, size_t size) {
    size_t from = 0, to = informer->feeds.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare(informer->feeds.list[middle]->selection->namespace_name, text, size) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static ki_feed *find(const ki_informer *informer, const char *text, size_t size) {
    size_t place = place_of(informer, text, size);
    ki_feed *feed = place < informer->feeds.count ? informer->feeds.list[place] : NULL;
    return feed && compare(feed->selection->namespace_name, text, size) == 0 ? feed : NULL;
}

ki_feed *ki_feed_find(const ki_informer *informer, const char *namespace_name) {
    return find(informer, namespace_name, strlen(namespace_name));
}

ki_feed *ki_feed_of_key(const ki_informer *informer, const char *key) {
    if (!informer->options.selection->is_set)
        return informer->feeds.list[0];
    const char *slash = strchr(key, '/');
    return slash ? find(informer, key, (size_t)(slash - key)) : NULL;
}

bool ki_informer_has_namespace(const ki_informer *informer, const char *key) {
    const ki_selection *selection = informer->options.selection;
    if (selection->is_set)
        return ki_feed_of_key(informer, key) != NULL;
    size_t size = strlen(selection->namespace_name);
    return size == 0 || (strncmp(key, selection->namespace_name, size) == 0 && key[size] == '/');
}

/* ---- callbacks of the reflector ---------------------------------------------------------------------------------- */

static int badness(ki_state state) {
    static const int of[] = {
        [KI_STATE_NOT_STARTED] = 3, [KI_STATE_CONNECTING] = 2,  [KI_STATE_LISTING] = 1,
        [KI_STATE_WATCHING] = 0,    [KI_STATE_BACKING_OFF] = 4, [KI_STATE_BLOCKED] = 5,
    };
    return of[state];
}

bool ki_feeds_show_state(ki_informer *informer) {
    int64_t now = ki_engine_now(informer->options.engine);
    const ki_feed *worst = informer->feeds.count ? informer->feeds.list[0] : NULL;
    for (size_t i = 1; i < informer->feeds.count; i++)
        if (badness(informer->feeds.list[i]->health.state) > badness(worst->health.state))
            worst = informer->feeds.list[i];
    if (!worst) {
        ki_health_set_selection(&informer->health.record, informer->options.selection);
        return ki_health_set_state(&informer->health.record, KI_STATE_WATCHING, NULL, -1, now);
    }
    const ki_health_record *shown = &worst->health; /* the loop alone writes it */
    ki_health_set_selection(&informer->health.record, worst->selection);
    ki_health_set_attempts(&informer->health.record, shown->failed_attempt, shown->next_attempt);
    return ki_health_set_state(&informer->health.record, shown->state, shown->cause.code ? &shown->cause : NULL,
                               shown->retry_at, now);
}

/* A set that is about to change is not blocked. Loop: only other threads give sets. */
void ki_feeds_note_blocked(ki_informer *informer) {
    ki_mutex_lock(&informer->feeds.lock);
    bool is_blocked = false, can_sync = informer->namespaces.wanted || informer->namespaces.begun;
    ki_mutex_unlock(&informer->feeds.lock);
    for (size_t i = 0; i < informer->feeds.count; i++) {
        is_blocked = is_blocked || informer->feeds.list[i]->is_blocked;
        can_sync = can_sync ||
                   !(informer->feeds.list[i]->is_blocked || informer->feeds.list[i]->reflector.initial.has_version);
    }
    is_blocked = is_blocked && !can_sync;
    if (atomic_load(&informer->waits.is_blocked) == is_blocked)
        return;
    ki_mutex_lock(&informer->waits.lock);
    atomic_store(&informer->waits.is_blocked, is_blocked);
    ki_cond_broadcast(&informer->waits.changed);
    ki_mutex_unlock(&informer->waits.lock);
}

static void on_state(ki_state state, const ki_error *cause, int64_t retry_at, void *user) {
    ki_feed *feed = user;
    if (state != KI_STATE_CONNECTING)
        feed->is_blocked = state == KI_STATE_BLOCKED;
    if (cause)
        ki_health_set_attempts(&feed->health, feed->reflector.failed_attempt, ki_reflector_next(&feed->reflector));
    (void)ki_health_set_state(&feed->health, state, cause, retry_at, ki_engine_now(feed->informer->options.engine));
    ki_informer_note_state(feed->informer, ki_feeds_show_state(feed->informer), cause != NULL);
    if (state == KI_STATE_WATCHING)
        ki_feed_check_namespace(feed);
    ki_feeds_note_blocked(feed->informer);
}

static void on_listed(size_t listed, int64_t total, void *user) {
    ki_feed *feed = user;
    ki_informer *informer = feed->informer;
    informer->work.listed += listed - feed->listed;
    feed->listed = listed;
    feed->asks_for_namespace = listed == 0;
    ki_health_set_listed(&feed->health, listed, total);
    ki_health_set_listed(&informer->health.record, informer->work.listed, informer->feeds.count == 1 ? total : -1);
}

static void on_error(const ki_error *err, void *user) {
    const ki_feed *feed = user;
    ki_informer_report(feed->informer, err, "");
}

static void on_bad_object(const ki_error *err, const char *key, void *user) {
    const ki_feed *feed = user;
    ki_informer_count_skipped(feed->informer, err, key);
}

static void on_progress(void *user) {
    const ki_feed *feed = user;
    ki_informer_note_progress(feed->informer);
}

static void on_dropped(ki_object **objects, size_t count, void *user) {
    const ki_feed *feed = user;
    ki_deferred_add_objects(&feed->informer->deferred, objects, count);
}

static ki_status transform(ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) {
    const ki_informer *informer = user;
    ki_callback callback;
    ki_callback_enter(&callback, informer->options.owner);
    ki_status status = informer->settings.transform.transform(obj, ret_obj, informer->settings.transform.user, err);
    ki_callback_leave(&callback);
    return status;
}

/* ---- adding and removing ----------------------------------------------------------------------------------------- */

static ki_status make_room(ki_informer *informer) {
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    if (informer->feeds.count < informer->feeds.capacity)
        return KI_OK;
    size_t capacity = informer->feeds.capacity ? informer->feeds.capacity * 2 : FIRST_CAPACITY;
    ki_feed **feeds = ki_alloc_array(allocator, capacity, sizeof(ki_feed *));
    if (!feeds)
        return KI_ERR_NO_MEMORY;
    ki_mutex_lock(&informer->feeds.lock);
    ki_feed **before = informer->feeds.list;
    if (informer->feeds.count > 0)
        memcpy(feeds, before, informer->feeds.count * sizeof(ki_feed *));
    informer->feeds.list = feeds;
    informer->feeds.capacity = capacity;
    ki_mutex_unlock(&informer->feeds.lock);
    ki_free(allocator, before);
    return KI_OK;
}

static void insert(ki_informer *informer, ki_feed *feed) {
    const char *name = feed->selection->namespace_name;
    ki_mutex_lock(&informer->feeds.lock);
    size_t place = place_of(informer, name, strlen(name));
    memmove(informer->feeds.list + place + 1, informer->feeds.list + place,
            (informer->feeds.count - place) * sizeof(ki_feed *));
    informer->feeds.list[place] = feed;
    informer->feeds.count++;
    ki_mutex_unlock(&informer->feeds.lock);
}

ki_status ki_feed_add(ki_informer *informer, ki_selection *selection, ki_feed **ret_feed, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(informer->options.engine);
    ki_feed *feed = make_room(informer) ? NULL : ki_alloc_zero(allocator, sizeof *feed);
    if (!feed)
        return ki_error_no_memory(err, "making an informer");
    feed->informer = informer;
    ki_freshness_init(&feed->freshness);
    ki_status status = ki_health_init(&feed->health, NULL, ki_engine_now(informer->options.engine), err);
    if (!status) {
        status = ki_unreadable_init(&feed->unreadable, allocator, informer->options.seed, err);
        if (status)
            ki_health_destroy(&feed->health);
    }
    if (status) {
        ki_free(allocator, feed);
        return status;
    }
    feed->selection = ki_selection_ref(selection);
    insert(informer, feed);
    *ret_feed = feed;
    return KI_OK;
}

static void free_feed(ki_feed *feed) {
    ki_reflector_close(&feed->reflector);
    if (feed->own)
        feed->own->ops->free(feed->own);
    ki_unreadable_destroy(&feed->unreadable);
    ki_health_destroy(&feed->health);
    ki_selection_unref(feed->selection);
    ki_free(ki_engine_allocator(feed->informer->options.engine), feed);
}

void ki_feed_remove(ki_feed *feed) {
    ki_informer *informer = feed->informer;
    size_t place = 0;
    while (informer->feeds.list[place] != feed)
        place++;
    ki_mutex_lock(&informer->feeds.lock);
    informer->feeds.count--;
    memmove(informer->feeds.list + place, informer->feeds.list + place + 1,
            (informer->feeds.count - place) * sizeof(ki_feed *));
    ki_mutex_unlock(&informer->feeds.lock);
    informer->work.listed -= feed->listed;
    informer->feeds.missing -= atomic_load(&feed->is_namespace_missing);
    free_feed(feed);
}

void ki_feed_open(ki_feed *feed, ki_list_watch *source) {
    ki_informer *informer = feed->informer;
    const ki_reflector_options options = {
        .engine = informer->options.engine,
        .list_watch = source,
        .queue = informer->work.queue,
        .name = feed->selection->name,
        .page_size = informer->options.given.page_size,
        .factory = informer->options.factory,
        .transform = { informer->settings.transform.transform ? transform : NULL, informer },
        .known = ki_store_known_objects(informer->store),
        .on_state = on_state,
        .on_listed = on_listed,
        .on_error = on_error,
        .on_bad_object = on_bad_object,
        .on_progress = on_progress,
        .user = feed,
    };
    const ki_reflector_shared shared = {
        .is_custom = informer->is_custom,
        .namespace_name = informer->options.selection->is_set ? feed->selection->namespace_name : NULL,
        .is_initial = feed->is_initial,
        .metrics = &informer->metrics,
        .freshness = &feed->freshness,
        .unreadable = &feed->unreadable,
        .on_dropped = on_dropped,
    };
    feed->source = source;
    ki_reflector_open(&feed->reflector, &options, &shared);
}

void ki_feeds_hold(ki_informer *informer, bool is_much) {
    informer->work.is_held = false;
    for (size_t i = 0; i < informer->feeds.count; i++) {
        ki_feed *feed = informer->feeds.list[i];
        if (!feed->source->ops->hold)
            continue;
        feed->is_held = is_much && feed->reflector.phase == KI_REFLECTOR_WATCHES;
        informer->work.is_held = informer->work.is_held || feed->is_held;
        feed->source->ops->hold(feed->source, feed->is_held);
    }
}

void ki_feeds_close(ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++)
        ki_reflector_close(&informer->feeds.list[i]->reflector);
}

void ki_feeds_free(ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++)
        free_feed(informer->feeds.list[i]);
    ki_free(ki_engine_allocator(informer->options.engine), informer->feeds.list);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* Lowers `to` to a feed's version. Returns false if no version is older than both: "". */
static bool lower(char to[KI_RESOURCE_VERSION_MAX + 1], const char *version, bool is_first) {
    if (is_first || !version[0]) {
        (void)ki_reflector_copy_version(to, version, NULL); /* fits: a reflector's */
        return version[0] != '\0';
    }
    ki_order order = ki_resource_version_compare(version, to);
    if (order == KI_ORDER_OLDER)
        (void)ki_reflector_copy_version(to, version, NULL);
    else if (order == KI_ORDER_UNKNOWN)
        to[0] = '\0';
    return order != KI_ORDER_UNKNOWN;
}

void ki_feeds_version(const ki_informer *informer, char to[KI_RESOURCE_VERSION_MAX + 1]) {
    to[0] = '\0';
    for (size_t i = 0; i < informer->feeds.count; i++)
        if (!lower(to, informer->feeds.list[i]->reflector.resource_version, i == 0))
            return;
}

void ki_feeds_initial(const ki_informer *informer, char to[KI_RESOURCE_VERSION_MAX + 1]) {
    to[0] = '\0';
    for (size_t i = 0; i < informer->feeds.count; i++)
        if (!lower(to, informer->feeds.list[i]->reflector.initial.version, i == 0))
            return;
}

bool ki_feeds_are_listed(const ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++)
        if (!informer->feeds.list[i]->reflector.initial.has_version)
            return false;
    return true;
}

void ki_feeds_note_listed(ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++)
        ki_freshness_set_stored_at(&informer->feeds.list[i]->freshness,
                                   informer->feeds.list[i]->reflector.initial.requested_at);
}

void ki_feeds_note_stored(ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++) {
        ki_freshness *freshness = &informer->feeds.list[i]->freshness;
        ki_freshness_set_stored_at(freshness, atomic_load_explicit(&freshness->queued_at, memory_order_relaxed));
    }
}

void ki_feeds_catch_up(ki_informer *informer) {
    for (size_t i = 0; i < informer->feeds.count; i++) {
        ki_feed *feed = informer->feeds.list[i];
        const char *version = feed->reflector.resource_version;
        ki_unreadable_catch_up(&feed->unreadable);
        if (!informer->options.selection->is_set || strcmp(feed->stored_version, version) == 0)
            continue;
        ki_mutex_lock(&informer->feeds.lock);
        (void)ki_reflector_copy_version(feed->stored_version, version, NULL);
        ki_mutex_unlock(&informer->feeds.lock);
        feed->has_new_version = true;
    }
}

/* ---- any thread -------------------------------------------------------------------------------------------------- */

/* Takes the lock of the feeds; reading takes it, too. */
static ki_mutex *lock_of(const ki_informer *informer) {
    ki_mutex *lock;
    const ki_mutex *constant = &informer->feeds.lock;
    memcpy(&lock, &constant, sizeof lock);
    ki_mutex_lock(lock);
    return lock;
}

int64_t ki_feeds_age(const ki_informer *informer, int64_t now) {
    ki_mutex *lock = lock_of(informer);
    int64_t oldest = KI_NEVER;
    for (size_t i = 0; i < informer->feeds.count; i++) {
        int64_t age = ki_freshness_age(&informer->feeds.list[i]->freshness, &informer->metrics, now);
        oldest = age > oldest ? age : oldest;
        if (age == KI_NEVER) {
            oldest = KI_NEVER;
            break;
        }
    }
    ki_mutex_unlock(lock);
    return oldest;
}

static void read_feed(ki_feed *feed, int64_t now, bool is_listed, ki_health *health) {
    KI_HELD(&feed->informer->feeds.lock);
    uint64_t skipped = health->skipped; /* of all feeds */
    ki_attempt failed = ki_health_read(&feed->health, now, health, NULL);
    health->skipped = skipped;
    health->failures = atomic_load_explicit(&feed->freshness.failures_in_row, memory_order_relaxed);
    health->unreadable =
        ki_unreadable_describe(&feed->unreadable, health->unreadable_message, sizeof health->unreadable_message);
    ki_health_describe(health, failed, feed->selection, is_listed);
    if (health->state == KI_STATE_WATCHING && atomic_load(&feed->is_namespace_missing))
        snprintf(health->message, sizeof health->message, "there is no namespace %s", feed->selection->namespace_name);
}

ki_feed_found ki_feeds_read(const ki_informer *informer, const char *namespace_name, int64_t now, int64_t *ret_age,
                            ki_health *ret_health) {
    ki_mutex *lock = lock_of(informer);
    ki_feed *feed = find(informer, namespace_name, strlen(namespace_name));
    feed = feed ? feed : ki_feed_find(informer, "");
    ki_feed_found found = ki_informer_find_in_set(informer, namespace_name, feed != NULL);
    *ret_age = KI_NEVER;
    if (found == KI_FEED_FOUND) {
        *ret_age = ki_freshness_age(&feed->freshness, &informer->metrics, now);
        if (ret_health)
            read_feed(feed, now, *ret_age != KI_NEVER, ret_health);
    }
    ki_mutex_unlock(lock);
    return found;
}

uint64_t ki_feeds_failures(const ki_informer *informer) {
    ki_mutex *lock = lock_of(informer);
    uint64_t most = 0;
    for (size_t i = 0; i < informer->feeds.count; i++) {
        uint64_t failures =
            atomic_load_explicit(&informer->feeds.list[i]->freshness.failures_in_row, memory_order_relaxed);
        most = failures > most ? failures : most;
    }
    ki_mutex_unlock(lock);
    return most;
}

bool ki_feeds_may_lack(const ki_informer *informer, const char *key, const char *version) {
    ki_mutex *lock = lock_of(informer);
    ki_feed *only = key ? ki_feed_of_key(informer, key) : NULL;
    bool may_lack = only && ki_unreadable_may_lack(&only->unreadable, key, version);
    for (size_t i = 0; !key && !may_lack && i < informer->feeds.count; i++)
        may_lack = ki_unreadable_may_lack(&informer->feeds.list[i]->unreadable, NULL, version);
    ki_mutex_unlock(lock);
    return may_lack;
}

size_t ki_feeds_describe_unreadable(const ki_informer *informer, char *message, size_t size) {
    char other[KI_HEALTH_MESSAGE_MAX];
    size_t count = 0;
    message[0] = '\0';
    ki_mutex *lock = lock_of(informer);
    for (size_t i = 0; i < informer->feeds.count; i++) {
        bool is_first = count == 0;
        count += ki_unreadable_describe(&informer->feeds.list[i]->unreadable, is_first ? message : other,
                                        is_first ? size : sizeof other);
    }
    ki_mutex_unlock(lock);
    return count;
}

bool ki_feeds_are_none(const ki_informer *informer) {
    ki_mutex *lock = lock_of(informer);
    bool are_none = informer->feeds.count == 0 && !informer->namespaces.wanted && !informer->namespaces.begun;
    ki_mutex_unlock(lock);
    return are_none;
}

bool ki_feeds_missing_namespace(const ki_informer *informer, char *name, size_t size) {
    bool is_missing = false;
    ki_mutex *lock = lock_of(informer);
    for (size_t i = 0; !is_missing && i < informer->feeds.count; i++) {
        is_missing = atomic_load(&informer->feeds.list[i]->is_namespace_missing);
        if (is_missing)
            snprintf(name, size, "%s", informer->feeds.list[i]->selection->namespace_name);
    }
    ki_mutex_unlock(lock);
    return is_missing;
}

bool ki_feeds_stored_version(const ki_informer *informer, const char *key, char name[KI_NAMESPACE_MAX + 1],
                             char version[KI_RESOURCE_VERSION_MAX + 1]) {
    ki_mutex *lock = lock_of(informer);
    const ki_feed *feed = informer->options.selection->is_set ? ki_feed_of_key(informer, key) : NULL;
    bool has_version = feed && feed->stored_version[0];
    if (has_version) {
        snprintf(name, KI_NAMESPACE_MAX + 1, "%s", feed->selection->namespace_name);
        memcpy(version, feed->stored_version, sizeof feed->stored_version);
    }
    ki_mutex_unlock(lock);
    return has_version;
}
