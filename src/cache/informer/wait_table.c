/* wait_table.c: see wait_table.h. */
#include "src/cache/informer/wait_table.h"

#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <stddef.h>
#include <string.h>

enum {
    DIGITS_MAX = 19 /* decimal digits that always fit 64 bits */
};

/* Returns 0 if the version is not a decimal integer, or is a very long one. */
static uint64_t number_of(const char *version) {
    uint64_t number = 0;
    size_t digits = 0;
    for (; version[digits] >= '0' && version[digits] <= '9' && digits <= DIGITS_MAX; digits++)
        number = number * 10 + (uint64_t)(version[digits] - '0');
    return version[digits] == '\0' && digits <= DIGITS_MAX ? number : 0;
}

/* Orders all numbers of 64 bits as ranks. */
static int64_t rank_of(uint64_t number) {
    return number > INT64_MAX ? (int64_t)(number - INT64_MAX - 1) : (int64_t)number - INT64_MAX - 1;
}

#define WAIT_OF(node, member) \
    ((node) ? (ki_version_wait *)(void *)((char *)(node)-offsetof(ki_version_wait, member)) : NULL)

static void enter_list(ki_wait_link **list, ki_wait_link *link) {
    *link = (ki_wait_link){ .next = *list, .at = list };
    if (link->next)
        link->next->at = &link->next;
    *list = link;
}

static void leave_list(ki_wait_link *link) {
    if (!link->at)
        return;
    *link->at = link->next;
    if (link->next)
        link->next->at = link->at;
    link->at = NULL;
}

void ki_wait_table_init(ki_wait_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_wait_table){ .allocator = allocator, .seed = seed };
}

/* Makes the maps of the first wait. Returns false without memory. */
static bool make_maps(ki_wait_table *table) {
    ki_wait_table_free(table);
    ki_wait_maps *maps = ki_alloc(table->allocator, sizeof *maps);
    table->maps = maps;
    if (!maps)
        return false;
    ki_map_init(&maps->by_key, table->allocator, table->seed);
    ki_map_init(&maps->by_user, table->allocator, table->seed);
    ki_map_init(&maps->groups, table->allocator, table->seed);
    return true;
}

void ki_wait_table_free(ki_wait_table *table) {
    size_t cursor = 0;
    if (!table->maps)
        return;
    for (void *group; ki_map_next(&table->maps->groups, &cursor, NULL, &group);)
        ki_free(table->allocator, group);
    ki_map_free(&table->maps->groups);
    ki_map_free(&table->maps->by_key);
    ki_map_free(&table->maps->by_user);
    ki_free(table->allocator, table->maps);
    table->maps = NULL;
}

/* Returns the group of a key; NULL: no memory. */
static ki_wait_group *group_of(ki_wait_table *table, const char *key) {
    const char *end = table->is_set && key ? strchr(key, '/') : NULL;
    ki_str name = { end ? key : "", end ? (size_t)(end - key) : 0 };
    ki_wait_group *group = ki_map_get(&table->maps->groups, name);
    if (group)
        return group;
    group = ki_alloc_zero(table->allocator, sizeof *group + name.size);
    if (!group)
        return NULL;
    group->namespace_size = name.size;
    if (name.size)
        memcpy(group->namespace_name, name.data, name.size);
    if (!ki_map_put(&table->maps->groups, (ki_str){ group->namespace_name, name.size }, group, NULL))
        return group;
    ki_free(table->allocator, group);
    return NULL;
}

static void stop_waiting(ki_wait_table *table, ki_version_wait *wait) {
    leave_list(&wait->listed);
    leave_list(&wait->keyed);
    if (wait->group)
        ki_heap_remove(&wait->group->by_version, &wait->reached);
    ki_multimap_remove(&table->maps->by_key, &wait->of_key);
    ki_multimap_remove(&table->maps->by_user, &wait->of_user);
    ki_heap_remove(&table->due, &wait->due);
    table->count--;
}

/* Returns false without memory. */
static bool enter_maps(ki_wait_table *table, ki_version_wait *wait) {
    wait->group = group_of(table, wait->key);
    return wait->group && (!wait->key || !ki_multimap_add(&table->maps->by_key, &wait->of_key, ki_str_of(wait->key))) &&
           (!wait->handler ||
            !ki_multimap_add(&table->maps->by_user, &wait->of_user, ki_multimap_pointer_key(&wait->user)));
}

ki_status ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait) {
    wait->is_decided = wait->is_held = false;
    wait->status = KI_OK;
    wait->number = number_of(wait->version);
    wait->sequence = table->next_sequence++;
    wait->listed = wait->keyed = (ki_wait_link){ .next = NULL };
    wait->due = wait->reached = (ki_heap_node){ .is_in = false };
    wait->of_key = wait->of_user = (ki_multimap_node){ .previous = NULL };
    if (table->count == 0 && !make_maps(table))
        return KI_ERR_NO_MEMORY;
    table->count++;
    if (!enter_maps(table, wait)) {
        stop_waiting(table, wait);
        return KI_ERR_NO_MEMORY;
    }
    ki_heap_put(&table->due, &wait->due, wait->deadline, wait->sequence);
    if (wait->key && !wait->uid)
        enter_list(&table->keyed, &wait->keyed);
    if (wait->uid)
        enter_list(&table->deletions, &wait->listed);
    else if (wait->number)
        ki_heap_put(&wait->group->by_version, &wait->reached, rank_of(wait->number), wait->sequence);
    else if (wait->version[0])
        enter_list(&wait->group->others, &wait->listed);
    return KI_OK;
}

void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait) {
    if (!wait->is_decided)
        stop_waiting(table, wait);
    else
        ki_heap_remove(&table->decided, &wait->due);
}

void ki_wait_table_decide(ki_wait_table *table, ki_version_wait *wait, ki_status status) {
    stop_waiting(table, wait);
    wait->is_decided = true;
    wait->status = status;
    if (wait->handler)
        ki_heap_put(&table->decided, &wait->due, 0, wait->sequence);
    else
        ki_cond_signal(wait->changed);
}

/* A seen version, parsed once for all waits. */
typedef struct sight {
    const char *version;
    uint64_t number;
} sight;

static bool is_reached(const ki_version_wait *wait, const sight *seen) {
    if (wait->number && seen->number)
        return wait->number <= seen->number;
    ki_order order = ki_resource_version_compare(seen->version, wait->version);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

/* Returns true if the version of the key's object ends the wait. */
static bool is_met_by_object(const ki_version_wait *wait, const sight *seen, bool is_deleted) {
    return wait->version[0] ? seen->version[0] && is_reached(wait, seen) : !is_deleted;
}

static bool may_lack(const ki_wait_table *table, const ki_version_wait *wait) {
    return table->may_lack && table->may_lack(wait, table->may_lack_user);
}

/* The cache has reached the wait's version. Holds the wait if the cache can lack its state. */
static void meet(ki_wait_table *table, ki_version_wait *wait) {
    wait->is_held = may_lack(table, wait);
    if (!wait->is_held) {
        ki_wait_table_decide(table, wait, KI_OK);
        return;
    }
    leave_list(&wait->listed);
    ki_heap_remove(&wait->group->by_version, &wait->reached);
    enter_list(&table->held, &wait->listed);
}

static void meet_group(ki_wait_table *table, ki_wait_group *group, const sight *seen) {
    if (!seen->version[0])
        return;
    ki_version_wait *wait;
    while ((wait = WAIT_OF(group->by_version.first, reached)) && is_reached(wait, seen))
        meet(table, wait);
    for (ki_version_wait *next, *other = WAIT_OF(group->others, listed); other; other = next) {
        next = WAIT_OF(other->listed.next, listed);
        if (is_reached(other, seen))
            meet(table, other);
    }
}

void ki_wait_table_check(ki_wait_table *table, ki_version_wait *wait, const char *version, bool is_of_object) {
    const sight seen = { version, number_of(version) };
    if (wait->is_decided || wait->uid)
        return;
    if (is_of_object && is_met_by_object(wait, &seen, false))
        ki_wait_table_decide(table, wait, KI_OK);
    else if (!is_of_object && !wait->is_held && wait->version[0] && version[0] && is_reached(wait, &seen))
        meet(table, wait);
}

void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_deleted) {
    const sight seen = { version, number_of(version) };
    size_t cursor = 0;
    if (table->count == 0)
        return;
    for (void *group; !key && ki_map_next(&table->maps->groups, &cursor, NULL, &group);)
        meet_group(table, group, &seen);
    ki_multimap_node *first = key ? ki_multimap_first(&table->maps->by_key, ki_str_of(key)) : NULL;
    for (ki_version_wait *next, *wait = WAIT_OF(first, of_key); wait; wait = next) {
        next = WAIT_OF(wait->of_key.next, of_key);
        if (!wait->uid && is_met_by_object(wait, &seen, is_deleted))
            ki_wait_table_decide(table, wait, KI_OK);
    }
}

void ki_wait_table_seen_in(ki_wait_table *table, const char *namespace_name, const char *version) {
    const sight seen = { version, number_of(version) };
    ki_wait_group *group = table->count ? ki_map_get(&table->maps->groups, ki_str_of(namespace_name)) : NULL;
    if (group && namespace_name[0]) /* "": the whole cache */
        meet_group(table, group, &seen);
}

size_t ki_wait_table_check_objects(ki_wait_table *table, const char *(*version_of)(const char *key, void *user),
                                   void *user) {
    size_t looked_at = 0;
    for (ki_version_wait *next, *wait = WAIT_OF(table->keyed, keyed); wait; wait = next) {
        const char *version = version_of(wait->key, user);
        next = WAIT_OF(wait->keyed.next, keyed);
        looked_at++;
        if (version)
            ki_wait_table_check(table, wait, version, true);
    }
    return looked_at;
}

size_t ki_wait_table_check_deletions(ki_wait_table *table, const char *key,
                                     bool (*has_seen)(const ki_version_wait *wait, void *user), void *user) {
    ki_multimap_node *first = key && table->count ? ki_multimap_first(&table->maps->by_key, ki_str_of(key)) : NULL;
    size_t looked_at = 0;
    for (ki_version_wait *next, *wait = key ? WAIT_OF(first, of_key) : WAIT_OF(table->deletions, listed); wait;
         wait = next) {
        looked_at++;
        next = key ? WAIT_OF(wait->of_key.next, of_key) : WAIT_OF(wait->listed.next, listed);
        if (wait->uid && has_seen(wait, user))
            ki_wait_table_decide(table, wait, KI_OK);
    }
    return looked_at;
}

void ki_wait_table_check_held(ki_wait_table *table) {
    for (ki_version_wait *next, *wait = WAIT_OF(table->held, listed); wait; wait = next) {
        next = WAIT_OF(wait->listed.next, listed);
        if (!may_lack(table, wait))
            ki_wait_table_decide(table, wait, KI_OK);
    }
}

int64_t ki_wait_table_next_deadline(const ki_wait_table *table) {
    return table->due.first ? table->due.first->rank : INT64_MAX;
}

void ki_wait_table_expire(ki_wait_table *table, int64_t now) {
    for (int64_t next; (next = ki_wait_table_next_deadline(table)) != INT64_MAX && next <= now;)
        ki_wait_table_decide(table, WAIT_OF(table->due.first, due), KI_ERR_TIMEOUT);
}

bool ki_wait_table_cancel(ki_wait_table *table, ki_version_handler handler, void *user) {
    bool was_any = false;
    ki_multimap_node *first =
        table->count ? ki_multimap_first(&table->maps->by_user, ki_multimap_pointer_key(&user)) : NULL;
    for (ki_version_wait *next, *wait = WAIT_OF(first, of_user); wait; wait = next) {
        next = WAIT_OF(wait->of_user.next, of_user);
        if (wait->handler != handler)
            continue;
        was_any = true;
        ki_wait_table_decide(table, wait, KI_ERR_CANCELLED);
    }
    return was_any;
}

void ki_wait_table_cancel_all(ki_wait_table *table) {
    while (table->due.first)
        ki_wait_table_decide(table, WAIT_OF(table->due.first, due), KI_ERR_CANCELLED);
    ki_wait_table_free(table);
}

bool ki_wait_table_has_decided(const ki_wait_table *table) {
    return table->decided.first != NULL;
}

ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table) {
    ki_version_wait *wait = WAIT_OF(table->decided.first, due);
    if (wait)
        ki_heap_remove(&table->decided, &wait->due);
    return wait;
}
