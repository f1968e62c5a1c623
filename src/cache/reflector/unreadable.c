/* unreadable.c: see unreadable.h. */
#include "src/cache/reflector/unreadable.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/memory.h"

#include <stdio.h>

/* --- marks -------------------------------------------------------------------------------------------------------- */

void ki_unreadable_marks_init(ki_unreadable_marks *marks, const ki_allocator *allocator, uint64_t seed) {
    ki_map_init(&marks->by_key, allocator, seed);
    ki_map_init(&marks->beyond, allocator, seed);
    marks->has_nameless = false;
    marks->sequence = 0;
}

static void clear_beyond(ki_unreadable_marks *marks) {
    size_t cursor = 0;
    void *key;
    while (ki_map_next(&marks->beyond, &cursor, NULL, &key))
        ki_free(marks->beyond.allocator, key);
    ki_map_free(&marks->beyond);
}

void ki_unreadable_marks_clear(ki_unreadable_marks *marks) {
    size_t cursor = 0;
    void *mark;
    while (ki_map_next(&marks->by_key, &cursor, NULL, &mark))
        ki_free(marks->by_key.allocator, mark);
    ki_map_free(&marks->by_key);
    clear_beyond(marks);
}

bool ki_unreadable_marks_has(const ki_unreadable_marks *marks, const char *key) {
    return marks->by_key.count > 0 &&
           (ki_map_has(&marks->by_key, ki_str_of(key)) || ki_map_has(&marks->beyond, ki_str_of(key)));
}

static ki_unreadable_mark *find(const ki_unreadable_marks *marks, const char *key) {
    return ki_map_get(&marks->by_key, ki_str_of(key));
}

/* Copies a version. A version that does not fit counts as not known. */
static void copy_version(char to[KI_UNREADABLE_VERSION_MAX], const char *version) {
    size_t size = strlen(version);
    if (size < KI_UNREADABLE_VERSION_MAX)
        memcpy(to, version, size + 1);
    else
        to[0] = '\0';
}

/* Copies a reason. Does not cut it inside a UTF-8 character. */
static void copy_reason(char to[KI_UNREADABLE_REASON_MAX], const ki_error *reason) {
    const char *text = ki_error_message(reason);
    size_t size = strlen(text);
    if (size >= KI_UNREADABLE_REASON_MAX) {
        size = KI_UNREADABLE_REASON_MAX - 1;
        while (size && ((unsigned char)text[size] & 0xC0) == 0x80)
            size--;
    }
    memcpy(to, text, size);
    to[size] = '\0';
}

static ki_status add_mark(ki_unreadable_marks *marks, const char *key, ki_unreadable_mark **ret_mark) {
    const ki_allocator *allocator = marks->by_key.allocator;
    size_t size = strlen(key) + 1;
    ki_unreadable_mark *mark = ki_alloc_zero(allocator, sizeof *mark + size);
    if (!mark)
        return KI_ERR_NO_MEMORY;
    memcpy(mark->key, key, size);
    mark->sequence = marks->sequence++;
    ki_status status = ki_map_put(&marks->by_key, ki_str_of(mark->key), mark, NULL);
    if (status) {
        ki_free(allocator, mark);
        return status;
    }
    *ret_mark = mark;
    return KI_OK;
}

/* Returns true for an object that shares the mark without a key. `own` is its mark, or NULL. */
static bool is_shared(const ki_unreadable_marks *marks, const ki_unreadable_mark *own, const char *key) {
    return !own && (marks->by_key.count >= KI_UNREADABLE_MAX || ki_map_has(&marks->beyond, ki_str_of(key)));
}

/* Remembers the key of an object that shares the mark without a key. */
static ki_status add_beyond(ki_unreadable_marks *marks, const char *key) {
    if (ki_map_has(&marks->beyond, ki_str_of(key)))
        return KI_OK;
    if (marks->beyond.count >= KI_UNREADABLE_KEYS_MAX) {
        marks->has_nameless = true;
        return KI_OK;
    }
    char *copy = ki_strdup(marks->beyond.allocator, key);
    ki_status status = copy ? ki_map_put(&marks->beyond, ki_str_of(copy), copy, NULL) : KI_ERR_NO_MEMORY;
    if (status)
        ki_free(marks->beyond.allocator, copy);
    return status;
}

/* Returns true if the last object that shared the mark without a key is readable. */
static bool remove_beyond(ki_unreadable_marks *marks, const char *key) {
    char *copy = marks->beyond.count ? ki_map_remove(&marks->beyond, ki_str_of(key)) : NULL;
    if (!copy)
        return false;
    ki_free(marks->beyond.allocator, copy);
    return marks->beyond.count == 0 && !marks->has_nameless;
}

ki_status ki_unreadable_marks_put(ki_unreadable_marks *marks, const char *key, const char *version,
                                  const ki_error *reason) {
    ki_unreadable_mark *mark = find(marks, key);
    marks->has_nameless = marks->has_nameless || !key[0];
    if (is_shared(marks, mark, key)) {
        ki_status status = key[0] ? add_beyond(marks, key) : KI_OK;
        if (status)
            return status;
        key = "";
        mark = find(marks, key);
    }
    if (!mark) {
        ki_status status = add_mark(marks, key, &mark);
        if (status)
            return status;
    }
    copy_version(mark->until, key[0] ? version : "");
    mark->is_version_known = mark->until[0] != '\0';
    mark->is_settled = false;
    copy_reason(mark->reason, reason);
    return KI_OK;
}

/* Returns true if `version` is older than the unreadable state, and so does not settle it. */
static bool is_before(const char *version, const ki_unreadable_mark *mark) {
    return mark->is_version_known && ki_resource_version_compare(version, mark->until) == KI_ORDER_OLDER;
}

void ki_unreadable_marks_remove(ki_unreadable_marks *marks, const char *key, const char *version) {
    if (remove_beyond(marks, key))
        key = ""; /* the mark of the last such object */
    ki_unreadable_mark *mark = marks->by_key.count ? find(marks, key) : NULL;
    if (!mark || is_before(version, mark))
        return;
    ki_map_remove(&marks->by_key, ki_str_of(key));
    ki_free(marks->by_key.allocator, mark);
}

ki_status ki_unreadable_marks_keys(const ki_unreadable_marks *marks, const char ***ret_keys, size_t *ret_count) {
    if (marks->by_key.count == 0) {
        *ret_keys = NULL;
        *ret_count = 0;
        return KI_OK;
    }
    const char **keys = ki_alloc_array(marks->by_key.allocator, marks->by_key.count, sizeof *keys);
    if (!keys)
        return KI_ERR_NO_MEMORY;
    size_t cursor = 0, count = 0;
    void *mark;
    while (ki_map_next(&marks->by_key, &cursor, NULL, &mark))
        if (((const ki_unreadable_mark *)mark)->key[0])
            keys[count++] = ((const ki_unreadable_mark *)mark)->key;
    *ret_keys = keys;
    *ret_count = count;
    return KI_OK;
}

/* --- an informer's marks ------------------------------------------------------------------------------------------ */

ki_status ki_unreadable_init(ki_unreadable *unreadable, const ki_allocator *allocator, uint64_t seed, ki_error *err) {
    *unreadable = (ki_unreadable){ .allocator = allocator };
    ki_unreadable_marks_init(&unreadable->marks, allocator, seed);
    return ki_mutex_init(&unreadable->mutex, err);
}

void ki_unreadable_destroy(ki_unreadable *unreadable) {
    ki_unreadable_marks_clear(&unreadable->marks);
    ki_mutex_destroy(&unreadable->mutex);
}

/* Puts a mark into a list, or takes it out. */
static void set_listed(ki_unreadable *unreadable, ki_unreadable_mark *mark, int list, bool is_in) {
    ki_unreadable_mark **at = mark->links[list].at, *next = mark->links[list].next;
    if (is_in == (at != NULL))
        return;
    if (is_in) {
        at = &unreadable->lists[list];
        next = *at;
        *at = mark;
        mark->links[list].next = next;
        mark->links[list].at = at;
        at = &mark->links[list].next;
    } else {
        *at = next;
        mark->links[list].at = NULL;
    }
    if (next)
        next->links[list].at = at;
}

/* Called after each change of a mark. */
static void note_changed(ki_unreadable *unreadable, ki_unreadable_mark *mark) {
    KI_HELD(&unreadable->mutex);
    unreadable->shown -= mark->node.is_in;
    if (mark->is_settled)
        ki_heap_remove(&unreadable->first, &mark->node);
    else if (!mark->node.is_in)
        ki_heap_put(&unreadable->first, &mark->node, 0, mark->sequence);
    unreadable->shown += mark->node.is_in;
    set_listed(unreadable, mark, KI_UNREADABLE_OPEN, mark->until[0] == '\0');
    set_listed(unreadable, mark, KI_UNREADABLE_SETTLED, mark->is_settled);
    KI_ASSERT(mark->is_settled != mark->node.is_in && unreadable->shown <= unreadable->marks.by_key.count);
}

/* Returns the mark that an object has or shares. Caller holds the mutex. */
static ki_unreadable_mark *find_shared(const ki_unreadable_marks *marks, const char *key) {
    ki_unreadable_mark *mark = find(marks, key);
    return is_shared(marks, mark, key) ? find(marks, "") : mark;
}

ki_status ki_unreadable_add(ki_unreadable *unreadable, const char *key, const char *version, const char *since,
                            const ki_error *reason) {
    ki_mutex_lock(&unreadable->mutex);
    ki_unreadable_marks *marks = &unreadable->marks;
    size_t before = marks->by_key.count;
    ki_status status = ki_unreadable_marks_put(marks, key, version, reason);
    ki_unreadable_mark *mark = find_shared(marks, key);
    if (mark) {
        if (marks->by_key.count > before)
            copy_version(mark->since, since);
        note_changed(unreadable, mark);
    }
    ki_mutex_unlock(&unreadable->mutex);
    return status;
}

bool ki_unreadable_has(ki_unreadable *unreadable, const char *key) {
    ki_mutex_lock(&unreadable->mutex);
    const ki_unreadable_mark *mark = find(&unreadable->marks, key);
    bool has = (mark && !mark->is_settled) || ki_map_has(&unreadable->marks.beyond, ki_str_of(key));
    ki_mutex_unlock(&unreadable->mutex);
    return has;
}

static void settle(ki_unreadable *unreadable, ki_unreadable_mark *mark, const char *version) {
    KI_HELD(&unreadable->mutex);
    if (!mark || mark->is_settled || is_before(version, mark))
        return;
    mark->is_settled = true;
    if (!mark->until[0])
        copy_version(mark->until, version);
    note_changed(unreadable, mark);
}

void ki_unreadable_settle(ki_unreadable *unreadable, const char *key, const char *version) {
    if (unreadable->shown == 0)
        return; /* only the loop writes it */
    ki_mutex_lock(&unreadable->mutex);
    if (remove_beyond(&unreadable->marks, key))
        settle(unreadable, find(&unreadable->marks, ""), version);
    settle(unreadable, find(&unreadable->marks, key), version);
    ki_mutex_unlock(&unreadable->mutex);
}

void ki_unreadable_advance(ki_unreadable *unreadable, const char *version) {
    if (!unreadable->lists[KI_UNREADABLE_OPEN])
        return; /* only the loop writes it */
    ki_mutex_lock(&unreadable->mutex);
    for (ki_unreadable_mark *next, *mark = unreadable->lists[KI_UNREADABLE_OPEN]; mark; mark = next) {
        next = mark->links[KI_UNREADABLE_OPEN].next;
        copy_version(mark->until, version);
        note_changed(unreadable, mark);
    }
    ki_mutex_unlock(&unreadable->mutex);
}

ki_status ki_unreadable_reserve(ki_unreadable *unreadable, const ki_unreadable_marks *listed) {
    ki_mutex_lock(&unreadable->mutex);
    ki_map *marks = &unreadable->marks.by_key;
    ki_status status = listed->by_key.count ? ki_map_reserve(marks, marks->count + listed->by_key.count) : KI_OK;
    ki_mutex_unlock(&unreadable->mutex);
    return status;
}

static void raise_past(ki_unreadable_mark *mark, const char *version) {
    if (!mark->past[0] || ki_resource_version_compare(version, mark->past) == KI_ORDER_NEWER)
        copy_version(mark->past, version);
}

/* Raises `past` to the list's version, and to the cache's version before the list (`since`), which is newer after a
 * restore. */
static void note_past(ki_unreadable_mark *mark, const char *since, const char *version) {
    raise_past(mark, since);
    raise_past(mark, version);
}

/* Applies a list at `version` to an old mark. `again` is the list's mark of the same key. NULL settles the old mark:
 * the list has replaced all that earlier lists kept. */
static void renew(ki_unreadable_mark *mark, const ki_unreadable_mark *again, const char *since, const char *version) {
    mark->is_settled = again == NULL;
    if (again) {
        memcpy(mark->until, again->until, sizeof mark->until);
        memcpy(mark->reason, again->reason, sizeof mark->reason);
        mark->is_version_known = again->is_version_known;
        note_past(mark, since, version);
    } else {
        mark->past[0] = '\0';
    }
    if (!mark->until[0])
        copy_version(mark->until, version);
}

void ki_unreadable_take_list(ki_unreadable *unreadable, ki_unreadable_marks *listed, const char *since,
                             const char *version) {
    size_t cursor = 0;
    void *value;
    ki_mutex_lock(&unreadable->mutex);
    ki_map *marks = &unreadable->marks.by_key;
    while (ki_map_next(marks, &cursor, NULL, &value)) {
        ki_unreadable_mark *mark = value;
        ki_unreadable_mark *again = ki_map_remove(&listed->by_key, ki_str_of(mark->key));
        renew(mark, again, since, version);
        note_changed(unreadable, mark);
        ki_free(unreadable->allocator, again);
    }
    cursor = 0;
    while (ki_map_next(&listed->by_key, &cursor, NULL, &value)) {
        ki_unreadable_mark *mark = value;
        mark->sequence += unreadable->marks.sequence;
        copy_version(mark->since, since);
        note_past(mark, since, version);
        if (!mark->until[0])
            copy_version(mark->until, version);
        if (ki_map_put(marks, ki_str_of(mark->key), mark, NULL))
            ki_free(unreadable->allocator, mark); /* impossible: its room is reserved */
        else
            note_changed(unreadable, mark);
    }
    unreadable->marks.sequence += listed->sequence;
    listed->sequence = 0;
    ki_map_free(&listed->by_key);
    clear_beyond(&unreadable->marks);
    unreadable->marks.beyond = listed->beyond;
    unreadable->marks.has_nameless = listed->has_nameless;
    ki_map_init(&listed->beyond, unreadable->allocator, listed->by_key.seed);
    listed->has_nameless = false;
    ki_mutex_unlock(&unreadable->mutex);
}

bool ki_unreadable_has_settled(const ki_unreadable *unreadable) {
    return unreadable->lists[KI_UNREADABLE_SETTLED] != NULL;
}

void ki_unreadable_catch_up(ki_unreadable *unreadable) {
    if (!ki_unreadable_has_settled(unreadable))
        return;
    ki_mutex_lock(&unreadable->mutex);
    for (ki_unreadable_mark *mark; (mark = unreadable->lists[KI_UNREADABLE_SETTLED]);) {
        set_listed(unreadable, mark, KI_UNREADABLE_OPEN, false);
        set_listed(unreadable, mark, KI_UNREADABLE_SETTLED, false);
        ki_map_remove(&unreadable->marks.by_key, ki_str_of(mark->key));
        ki_free(unreadable->allocator, mark);
    }
    ki_mutex_unlock(&unreadable->mutex);
}

/* --- any thread --------------------------------------------------------------------------------------------------- */

/* Returns true if the mark can stand for `version`. Versions that cannot be compared can be anything. */
static bool may_hold(const ki_unreadable_mark *mark, const char *version) {
    if (mark->since[0]) {
        ki_order order = ki_resource_version_compare(version, mark->since);
        if (order == KI_ORDER_OLDER || order == KI_ORDER_SAME)
            return false;
    }
    return !mark->until[0] || ki_resource_version_compare(version, mark->until) != KI_ORDER_NEWER;
}

bool ki_unreadable_may_lack(ki_unreadable *unreadable, const char *key, const char *version) {
    bool may_lack = false;
    ki_mutex_lock(&unreadable->mutex);
    const ki_unreadable_marks *marks = &unreadable->marks;
    if (marks->by_key.count && key) {
        const ki_unreadable_mark *own = find(marks, key), *nameless = find(marks, "");
        may_lack = (own && may_hold(own, version)) || (nameless && may_hold(nameless, version));
    } else {
        size_t cursor = 0;
        void *mark;
        while (!may_lack && ki_map_next(&marks->by_key, &cursor, NULL, &mark))
            may_lack = may_hold(mark, version);
    }
    ki_mutex_unlock(&unreadable->mutex);
    return may_lack;
}

/* Returns true if a list kept the state at `version`, which is newer than the list's unreadable state. */
static bool is_of_past(const ki_unreadable_mark *mark, const char *version) {
    return mark && mark->past[0] && ki_resource_version_compare(version, mark->until) == KI_ORDER_NEWER &&
           ki_resource_version_compare(version, mark->past) != KI_ORDER_NEWER;
}

static bool is_past(ki_unreadable *unreadable, const char *key, const char *version) {
    ki_mutex_lock(&unreadable->mutex);
    const ki_unreadable_marks *marks = &unreadable->marks;
    bool is_of_list = is_of_past(find(marks, key), version) || is_of_past(find(marks, ""), version);
    ki_mutex_unlock(&unreadable->mutex);
    return is_of_list;
}

bool ki_unreadable_drops(ki_unreadable *unreadable, const ki_change *change, const ki_object *known) {
    const char *version = ki_object_resource_version(known);
    return ki_change_is_repeated(change, known) &&
           !(unreadable && strcmp(ki_object_resource_version(change->obj), version) != 0 &&
             is_past(unreadable, ki_object_key(known), version));
}

size_t ki_unreadable_describe(ki_unreadable *unreadable, char *message, size_t size) {
    message[0] = '\0';
    ki_mutex_lock(&unreadable->mutex);
    /* The objects that share a mark are counted one by one. */
    const ki_unreadable_marks *marks = &unreadable->marks;
    size_t shown = unreadable->shown + marks->beyond.count - (marks->beyond.count && !marks->has_nameless);
    const ki_unreadable_mark *first = (const ki_unreadable_mark *)unreadable->first.first; /* `node` is first in it */
    if (first)
        snprintf(message, size, "%s: %s", first->key[0] ? first->key : "an object without a known key", first->reason);
    ki_mutex_unlock(&unreadable->mutex);
    return shown;
}
