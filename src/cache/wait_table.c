/* wait_table.c: see wait_table.h. A group's name is a letter, the key and, where the version is no decimal integer, a zero and the version. */
#include "src/cache/wait_table.h"

#include "src/base/memory.h"

#include <string.h>

struct ki_wait_group {
    ki_wait_table *table;
    ki_heap waits;
    size_t name_size;
    char name[];
};

/* --- order ---------------------------------------------------------------------------------------------------------------------- */

static ki_version_wait *wait_of(const ki_heap_node *node) {
    return node ? ((const ki_wait_place *)(const void *)node)->wait : NULL;
}

/* Of a group: all are decimal, or all are the same. */
static bool less_by_version(const ki_heap_node *a, const ki_heap_node *b) {
    const ki_version_wait *left = wait_of(a), *right = wait_of(b);
    ((const ki_wait_place *)(const void *)a)->group->table->comparisons++;
    ki_order order = ki_resource_version_compare(left->version, right->version);
    return order == KI_ORDER_OLDER || (order == KI_ORDER_SAME && left->sequence < right->sequence);
}

static bool less_by_deadline(const ki_heap_node *a, const ki_heap_node *b) {
    return wait_of(a)->deadline < wait_of(b)->deadline;
}

static bool less_by_sequence(const ki_heap_node *a, const ki_heap_node *b) {
    return wait_of(a)->sequence < wait_of(b)->sequence;
}

static bool is_decimal(const char *version) {
    return ki_resource_version_compare(version, "0") != KI_ORDER_UNKNOWN;
}

static bool is_reached(ki_wait_table *table, const char *version, const char *wanted) {
    table->comparisons++;
    ki_order order = ki_resource_version_compare(version, wanted);
    return order == KI_ORDER_SAME || order == KI_ORDER_NEWER;
}

/* --- groups --------------------------------------------------------------------------------------------------------------------- */

/* What a group is named by. */
typedef struct group_name {
    char letter;
    ki_str subject;      /* a key, or the bytes of handler and user */
    const char *version; /* NULL: decimal ones */
} group_name;

static group_name name_of(char letter, const char *key, const char *version) {
    return (group_name){ letter, key ? ki_str_of(key) : (ki_str){ "", 0 }, is_decimal(version) ? NULL : version };
}

/* A function's address has no text; its bytes, with those of `user`, tell it from others. */
typedef struct handler_bytes {
    char bytes[sizeof(ki_version_handler) + sizeof(void *)];
} handler_bytes;

static group_name name_of_handler(handler_bytes *bytes, ki_version_handler handler, void *user) {
    memcpy(bytes->bytes, &handler, sizeof handler);
    memcpy(bytes->bytes + sizeof handler, &user, sizeof user);
    return (group_name){ 'h', { bytes->bytes, sizeof bytes->bytes }, NULL };
}

static size_t size_of_name(const group_name *name) {
    return 1 + name->subject.size + (name->version ? 1 + strlen(name->version) : 0);
}

static void write_name(const group_name *name, char *to) {
    *to++ = name->letter;
    if (name->subject.size)
        memcpy(to, name->subject.data, name->subject.size);
    to += name->subject.size;
    if (!name->version)
        return;
    *to++ = '\0';
    memcpy(to, name->version, strlen(name->version));
}

static ki_wait_group *find(const ki_wait_table *table, const group_name *name) {
    size_t size = size_of_name(name);
    if (size > table->scratch_size)
        return NULL; /* none of that length was ever waited for */
    write_name(name, table->scratch);
    return ki_map_get(&table->groups, (ki_str){ table->scratch, size });
}

static void drop_if_empty(ki_wait_table *table, ki_wait_group *group) {
    if (group->waits.count > 0)
        return;
    ki_map_remove(&table->groups, (ki_str){ group->name, group->name_size });
    ki_heap_free(&group->waits);
    ki_free(table->allocator, group);
}

static ki_wait_group *make(ki_wait_table *table, const group_name *name) {
    size_t size = size_of_name(name);
    if (size > table->scratch_size) {
        char *scratch = ki_realloc_array(table->allocator, table->scratch, size, 1);
        if (!scratch)
            return NULL;
        table->scratch = scratch;
        table->scratch_size = size;
    }
    ki_wait_group *group = ki_alloc(table->allocator, sizeof *group + size);
    if (!group)
        return NULL;
    group->table = table;
    group->name_size = size;
    write_name(name, group->name);
    ki_heap_init(&group->waits, table->allocator, less_by_version);
    if (!ki_map_put(&table->groups, (ki_str){ group->name, size }, group, NULL))
        return group;
    ki_free(table->allocator, group);
    return NULL;
}

static ki_status join(ki_wait_table *table, ki_version_wait *wait, int which, const group_name *name) {
    ki_wait_group *group = find(table, name);
    if (!group)
        group = make(table, name);
    if (!group)
        return KI_ERR_NO_MEMORY;
    wait->groups[which].group = group;
    ki_status status = ki_heap_push(&group->waits, &wait->groups[which].node);
    if (status)
        drop_if_empty(table, group);
    return status;
}

static ki_status join_groups(ki_wait_table *table, ki_version_wait *wait) {
    ki_status status = KI_OK;
    if (wait->version[0]) {
        group_name copy = name_of('c', NULL, wait->version);
        status = join(table, wait, KI_WAIT_OF_COPY, &copy);
    }
    if (!status && wait->key) {
        group_name key = name_of(wait->version[0] ? 'k' : 'a', wait->key, wait->version[0] ? wait->version : "0");
        status = join(table, wait, KI_WAIT_OF_KEY, &key);
    }
    if (!status && wait->handler) {
        handler_bytes bytes;
        group_name handler = name_of_handler(&bytes, wait->handler, wait->user);
        status = join(table, wait, KI_WAIT_OF_HANDLER, &handler);
    }
    return status;
}

static void leave_groups(ki_wait_table *table, ki_version_wait *wait) {
    for (int i = 0; i < KI_WAIT_GROUPS; i++) {
        if (wait->groups[i].node.index == KI_HEAP_OUT)
            continue;
        ki_wait_group *group = wait->groups[i].group;
        ki_heap_remove(&group->waits, &wait->groups[i].node);
        drop_if_empty(table, group);
    }
}

/* --- coming and going ----------------------------------------------------------------------------------------------------------- */

void ki_wait_table_init(ki_wait_table *table, const ki_allocator *allocator, uint64_t seed) {
    *table = (ki_wait_table){ .allocator = allocator };
    ki_map_init(&table->groups, allocator, seed);
    ki_heap_init(&table->deadlines, allocator, less_by_deadline);
    ki_heap_init(&table->decided, allocator, less_by_sequence);
    ki_heap_init(&table->held, allocator, less_by_sequence);
}

void ki_wait_table_free(ki_wait_table *table) {
    ki_map_free(&table->groups);
    ki_heap_free(&table->deadlines);
    ki_heap_free(&table->decided);
    ki_heap_free(&table->held);
    ki_free(table->allocator, table->scratch);
    table->scratch = NULL;
    table->scratch_size = 0;
}

static void place(ki_wait_place *at, ki_version_wait *wait) {
    *at = (ki_wait_place){ .wait = wait };
    ki_heap_node_init(&at->node);
}

ki_status ki_wait_table_add(ki_wait_table *table, ki_version_wait *wait) {
    for (int i = 0; i < KI_WAIT_GROUPS; i++)
        place(&wait->groups[i], wait);
    place(&wait->by_deadline, wait);
    place(&wait->decided, wait);
    place(&wait->held, wait);
    wait->is_decided = false;
    wait->status = KI_OK;
    wait->sequence = table->next_sequence;
    /* Room for its end now, since that cannot fail. */
    ki_status status = ki_heap_reserve(&table->decided, table->count + 1);
    if (!status)
        status = ki_heap_reserve(&table->held, table->count + 1);
    if (!status)
        status = join_groups(table, wait);
    if (!status && wait->deadline != INT64_MAX)
        status = ki_heap_push(&table->deadlines, &wait->by_deadline.node);
    if (status) {
        leave_groups(table, wait);
        return status;
    }
    table->next_sequence++;
    table->count++;
    table->undecided++;
    table->keyed += wait->key != NULL;
    return KI_OK;
}

/* Nothing will decide it any more. */
static void leave(ki_wait_table *table, ki_version_wait *wait) {
    leave_groups(table, wait);
    ki_heap_remove(&table->deadlines, &wait->by_deadline.node);
    ki_heap_remove(&table->held, &wait->held.node);
    table->undecided--;
    table->keyed -= wait->key != NULL;
}

void ki_wait_table_remove(ki_wait_table *table, ki_version_wait *wait) {
    if (!wait->is_decided)
        leave(table, wait);
    ki_heap_remove(&table->decided, &wait->decided.node);
    table->count--;
}

/* --- deciding ------------------------------------------------------------------------------------------------------------------- */

static void decide(ki_wait_table *table, ki_version_wait *wait, ki_status status) {
    leave(table, wait);
    wait->is_decided = true;
    wait->status = status;
    if (wait->changed)
        ki_cond_signal(wait->changed);
    else if (ki_heap_push(&table->decided, &wait->decided.node))
        return; /* cannot be: ki_wait_table_add reserved its place */
}

/* NULL: there is none, or no group. It goes with the last one in it. */
static ki_version_wait *first_of(const ki_wait_table *table, const group_name *name) {
    const ki_wait_group *group = find(table, name);
    return group ? wait_of(ki_heap_peek(&group->waits)) : NULL;
}

static bool may_lack(const ki_wait_table *table, const ki_version_wait *wait) {
    return table->may_lack && table->may_lack(wait, table->may_lack_user);
}

/* Takes it out of the copy's group: that its object is seen may decide it, or its deadline. */
static void hold(ki_wait_table *table, ki_version_wait *wait) {
    ki_wait_group *group = wait->groups[KI_WAIT_OF_COPY].group;
    ki_heap_remove(&group->waits, &wait->groups[KI_WAIT_OF_COPY].node);
    drop_if_empty(table, group);
    if (ki_heap_push(&table->held, &wait->held.node))
        return; /* cannot be: ki_wait_table_add reserved its place */
}

static void decide_reached(ki_wait_table *table, const group_name *name, bool is_of_copy, const char *version) {
    ki_version_wait *wait;
    while ((wait = first_of(table, name)) && is_reached(table, version, wait->version)) {
        if (is_of_copy && may_lack(table, wait))
            hold(table, wait);
        else
            decide(table, wait, KI_OK);
    }
}

void ki_wait_table_look_at_held(ki_wait_table *table) {
    /* Each once: those that stay are pushed behind the others, to where there was room for them. */
    ki_version_wait *kept = NULL;
    ki_version_wait *wait;
    while ((wait = wait_of(ki_heap_peek(&table->held)))) {
        ki_heap_remove(&table->held, &wait->held.node);
        if (may_lack(table, wait)) {
            wait->next_kept = kept;
            kept = wait;
        } else {
            decide(table, wait, KI_OK);
        }
    }
    for (; kept; kept = kept->next_kept)
        if (ki_heap_push(&table->held, &kept->held.node))
            return; /* cannot be, as above */
}

static void decide_all(ki_wait_table *table, const group_name *name, ki_status status) {
    ki_version_wait *wait;
    while ((wait = first_of(table, name)))
        decide(table, wait, status);
}

void ki_wait_table_seen(ki_wait_table *table, const char *key, const char *version, bool is_gone) {
    if (key && !is_gone) {
        group_name any = name_of('a', key, "0");
        decide_all(table, &any, KI_OK);
    }
    if (version[0] == '\0')
        return;
    group_name name = name_of(key ? 'k' : 'c', key, version);
    decide_reached(table, &name, key == NULL, version);
}

int64_t ki_wait_table_next_deadline(const ki_wait_table *table) {
    const ki_version_wait *first = wait_of(ki_heap_peek(&table->deadlines));
    return first ? first->deadline : INT64_MAX;
}

void ki_wait_table_expire(ki_wait_table *table, int64_t now) {
    while (ki_wait_table_next_deadline(table) <= now && table->deadlines.count > 0)
        decide(table, wait_of(ki_heap_peek(&table->deadlines)), KI_ERR_TIMEOUT);
}

bool ki_wait_table_cancel(ki_wait_table *table, ki_version_handler handler, void *user) {
    handler_bytes bytes;
    group_name name = name_of_handler(&bytes, handler, user);
    if (!first_of(table, &name))
        return false;
    decide_all(table, &name, KI_ERR_CANCELLED);
    return true;
}

void ki_wait_table_cancel_all(ki_wait_table *table) {
    size_t cursor = 0;
    void *group;
    while (table->held.count > 0)
        decide(table, wait_of(ki_heap_peek(&table->held)), KI_ERR_CANCELLED);
    while (table->undecided > 0) {
        if (!ki_map_next(&table->groups, &cursor, NULL, &group)) {
            cursor = 0;
            continue;
        }
        decide(table, wait_of(ki_heap_peek(&((ki_wait_group *)group)->waits)), KI_ERR_CANCELLED);
        cursor--; /* another one may have moved there */
    }
}

bool ki_wait_table_has_decided(const ki_wait_table *table) {
    return table->decided.count > 0;
}

ki_version_wait *ki_wait_table_next_decided(ki_wait_table *table) {
    ki_version_wait *wait = wait_of(ki_heap_pop(&table->decided));
    if (wait)
        table->count--;
    return wait;
}
