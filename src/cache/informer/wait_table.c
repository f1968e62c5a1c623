/* wait_table.c: see wait_table.h. */
#include "src/cache/informer/wait_table.h"

#include "src/base/string_view.h"

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

static uint64_t hash_of(const ki_wait_table *table, const char *key) {
    uint64_t hash = key ? ki_hash(key, strlen(key), table->seed) : 0;
    return key && hash == 0 ? 1 : hash;
}

/* Keeps the list in order of arrival. */
static void insert(ki_wait_list *list, ki_version_wait *wait) {
    ki_version_wait *before = list->last;
    while (before && before->sequence > wait->sequence)
        before = before->before;
    wait->before = before;
    wait->after = before ? before->after : list->first;
    *(before ? &before->after : &list->first) = wait;
    *(wait->after ? &wait->after->before : &list->last) = wait;
}

static void take_out(ki_wait_list *list, ki_version_wait *wait) {
    *(wait->before ? &wait->before->after : &list->first) = wait->after;
    *(wait->after ? &wait->after->before : &list->last) = wait->before;
    wait->before = wait->after = NULL;
}

void ki_wait_table_init(ki_wait_table *table, uint64_t seed) {
    *table = (ki_wait_table){ .seed = seed };
}

void ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait) {
    wait->is_decided = wait->is_held = false;
    wait->status = KI_OK;
    wait->number = number_of(wait->version);
    wait->key_hash = hash_of(table, wait->key);
    wait->sequence = table->next_sequence++;
    insert(&table->waiting, wait);
    table->count++;
    table->keyed += wait->key != NULL;
    table->deletions += wait->uid != NULL;
}

static void stop_waiting(ki_wait_table *table, ki_version_wait *wait) {
    take_out(&table->waiting, wait);
    table->count--;
    table->keyed -= wait->key != NULL;
    table->deletions -= wait->uid != NULL;
}

void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait) {
    if (!wait->is_decided)
        stop_waiting(table, wait);
    else if (wait->handler)
        take_out(&table->decided, wait);
}

static void decide(ki_wait_table *table, ki_version_wait *wait, ki_status status) {
    stop_waiting(table, wait);
    wait->is_decided = true;
    wait->status = status;
    if (wait->handler)
        insert(&table->decided, wait);
    else
        ki_cond_signal(wait->changed);
}

/* A seen version, parsed once for all waits. */
typedef struct sight {
    const char *key;
    uint64_t key_hash;
    const char *version;
    uint64_t number;
    bool is_deleted;
    const char *namespace_name; /* the version of a namespace; NULL: of an object, or of the cache */
} sight;

static bool is_reached(const ki_version_wait *wait, const sight *seen) {
    if (wait->number && seen->number)
        return wait->number <= seen->number;
    ki_order order = ki_resource_version_compare(seen->version, wait->version);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

/* Returns true if an object's version ends the wait. */
static bool is_met_by_object(const ki_version_wait *wait, const sight *seen) {
    if (wait->key_hash != seen->key_hash || strcmp(wait->key, seen->key) != 0)
        return false;
    return wait->version[0] ? seen->version[0] && is_reached(wait, seen) : !seen->is_deleted;
}

static bool may_lack(const ki_wait_table *table, const ki_version_wait *wait) {
    return table->may_lack && table->may_lack(wait, table->may_lack_user);
}

/* Returns true if the cache's version ends the wait. Holds the wait if the cache can lack its state. */
static bool is_met_by_cache(const ki_wait_table *table, ki_version_wait *wait, const sight *seen) {
    if (seen->namespace_name && (!wait->key || !ki_key_is_in_namespace(wait->key, seen->namespace_name)))
        return false;
    if (wait->is_held || !wait->version[0] || !seen->version[0] || !is_reached(wait, seen))
        return false;
    wait->is_held = may_lack(table, wait);
    return !wait->is_held;
}

static void decide_seen(ki_wait_table *table, const sight *seen) {
    for (ki_version_wait *wait = table->waiting.first, *next; wait; wait = next) {
        next = wait->after;
        if (!wait->uid && (seen->key ? is_met_by_object(wait, seen) : is_met_by_cache(table, wait, seen)))
            decide(table, wait, KI_OK);
    }
}

void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_deleted) {
    const sight seen = { .key = key,
                         .key_hash = hash_of(table, key),
                         .version = version,
                         .number = number_of(version),
                         .is_deleted = is_deleted };
    decide_seen(table, &seen);
}

void ki_wait_table_seen_in(ki_wait_table *table, const char *namespace_name, const char *version) {
    const sight seen = { .version = version, .number = number_of(version), .namespace_name = namespace_name };
    decide_seen(table, &seen);
}

void ki_wait_table_check_deletions(ki_wait_table *table, bool (*has_seen)(const ki_version_wait *wait, void *user),
                                   void *user) {
    for (ki_version_wait *wait = table->deletions ? table->waiting.first : NULL, *next; wait; wait = next) {
        next = wait->after;
        if (wait->uid && has_seen(wait, user))
            decide(table, wait, KI_OK);
    }
}

void ki_wait_table_check_held(ki_wait_table *table) {
    for (ki_version_wait *wait = table->waiting.first, *next; wait; wait = next) {
        next = wait->after;
        if (wait->is_held && !may_lack(table, wait))
            decide(table, wait, KI_OK);
    }
}

int64_t ki_wait_table_next_deadline(const ki_wait_table *table) {
    int64_t first = INT64_MAX;
    for (const ki_version_wait *wait = table->waiting.first; wait; wait = wait->after)
        first = wait->deadline < first ? wait->deadline : first;
    return first;
}

void ki_wait_table_expire(ki_wait_table *table, int64_t now) {
    for (ki_version_wait *wait = table->waiting.first, *next; wait; wait = next) {
        next = wait->after;
        if (wait->deadline != INT64_MAX && wait->deadline <= now)
            decide(table, wait, KI_ERR_TIMEOUT);
    }
}

bool ki_wait_table_cancel(ki_wait_table *table, ki_version_handler handler, void *user) {
    bool was_any = false;
    for (ki_version_wait *wait = table->waiting.first, *next; wait; wait = next) {
        next = wait->after;
        if (!wait->handler || wait->handler != handler || wait->user != user)
            continue;
        was_any = true;
        decide(table, wait, KI_ERR_CANCELLED);
    }
    return was_any;
}

void ki_wait_table_cancel_all(ki_wait_table *table) {
    while (table->waiting.first)
        decide(table, table->waiting.first, KI_ERR_CANCELLED);
}

bool ki_wait_table_has_decided(const ki_wait_table *table) {
    return table->decided.first != NULL;
}

ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table) {
    ki_version_wait *wait = table->decided.first;
    if (wait)
        take_out(&table->decided, wait);
    return wait;
}
