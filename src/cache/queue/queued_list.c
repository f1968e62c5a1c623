/* queued_list.c: see queued_list.h. One block of memory has the list and its texts. */
#include "src/cache/queue/queued_list.h"

#include "src/base/assert.h"
#include "src/base/memory.h"
#include "src/base/string_view.h"

#include <string.h>

static const char *append_text(char **at, const char *text) {
    size_t size = strlen(text) + 1;
    const char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

/* The size cannot overflow: the texts are in memory already. */
static size_t texts_size(const ki_listing *listing) {
    size_t size = strlen(listing->resource_version) + 1;
    size += listing->namespace_name ? strlen(listing->namespace_name) + 1 : 0;
    for (size_t i = 0; i < listing->kept_count; i++)
        size += strlen(listing->kept[i]) + 1;
    return size;
}

static ki_status copy_texts(ki_queued_list *list, const ki_listing *listing) {
    char *at = (char *)(list + 1);
    ki_status status = KI_OK;
    list->resource_version = append_text(&at, listing->resource_version);
    list->namespace_name = listing->namespace_name ? append_text(&at, listing->namespace_name) : NULL;
    list->walk.namespace_name = list->namespace_name;
    for (size_t i = 0; !status && i < listing->kept_count; i++)
        status = ki_map_put(&list->keys, ki_str_of(append_text(&at, listing->kept[i])), NULL, NULL);
    return status;
}

ki_queued_list *ki_queued_list_new(const ki_allocator *allocator, uint64_t seed, const ki_known_objects *known,
                                   const ki_listing *listing) {
    ki_queued_list *list = ki_alloc(allocator, sizeof *list + (listing ? texts_size(listing) : 0));
    if (!list)
        return NULL;
    *list = (ki_queued_list){ .allocator = allocator, .known = known, .is_resync = !listing };
    ki_map_init(&list->keys, allocator, seed);
    if (!listing)
        return list;
    if (copy_texts(list, listing)) {
        ki_queued_list_free(list);
        return NULL;
    }
    list->keeps_all = listing->keeps_all;
    list->objects = listing->objects;
    list->count = listing->count;
    return list;
}

static void end_walk(ki_queued_list *list) {
    if (list->known->end)
        list->known->end(&list->walk, list->known->user);
    list->walk = (ki_known_walk){ .namespace_name = list->namespace_name };
}

void ki_queued_list_end_walk(ki_queued_list *list) {
    if (list->phase != KI_LIST_KNOWN)
        end_walk(list);
}

bool ki_queued_list_lacks(const ki_queued_list *list, const char *key) {
    bool is_of_list = !list->namespace_name || ki_key_is_in_namespace(key, list->namespace_name);
    return is_of_list && !ki_map_has(&list->keys, ki_str_of(key));
}

void ki_queued_list_free(ki_queued_list *list) {
    if (!list)
        return;
    size_t all = SIZE_MAX;
    (void)ki_queued_list_release_some(list, &all);
    end_walk(list);
    ki_free(list->allocator, list->objects);
    ki_free(list->allocator, list);
}

/* --- phases ------------------------------------------------------------------------------------------------------- */

static ki_status end_phase(ki_queued_list *list) {
    static const ki_list_phase next[][2] = {
        /* without and with `deletes_first` */
        [KI_LIST_BEGINS] = { KI_LIST_OBJECTS, KI_LIST_KEYS }, [KI_LIST_KEYS] = { KI_LIST_OBJECTS, KI_LIST_KNOWN },
        [KI_LIST_KNOWN] = { KI_LIST_ENDS, KI_LIST_OBJECTS },  [KI_LIST_OBJECTS] = { KI_LIST_KNOWN, KI_LIST_ENDS },
        [KI_LIST_ENDS] = { KI_LIST_ENDS, KI_LIST_ENDS },
    };
    KI_ASSERT(list->phase != KI_LIST_ENDS);
    list->phase = next[list->phase][list->deletes_first || (list->phase == KI_LIST_BEGINS && list->is_of_new)];
    list->at = 0;
    return KI_OK;
}

static ki_str key_at(const ki_queued_list *list, size_t index) {
    return ki_str_of(ki_object_key(list->objects[index]));
}

static ki_status begin(ki_queued_list *list) {
    const ki_known_objects *known = list->known;
    list->is_of_new = list->is_first && !list->is_resync && !(known->next && known->next(&list->walk, known->user));
    end_walk(list);
    return end_phase(list);
}

static ki_status collect_next(ki_queued_list *list) {
    void *before = NULL;
    if (list->at == list->count)
        return end_phase(list);
    ki_status status = ki_map_put(&list->keys, key_at(list, list->at), (void *)(uintptr_t)(list->at + 1), &before);
    list->has_duplicates = list->has_duplicates || before;
    list->at += !status;
    return status;
}

static ki_status next_known(ki_queued_list *list, ki_change *ret_change) {
    const ki_known_objects *known = list->known;
    bool has_next = known->next && !list->keeps_all && !list->is_of_new;
    ki_object *obj = has_next ? known->next(&list->walk, known->user) : NULL;
    if (!obj)
        return end_phase(list);
    if (list->is_resync)
        *ret_change = (ki_change){ .type = KI_EVENT_UPDATE, .is_resync = true, .obj = obj };
    else if (ki_queued_list_lacks(list, ki_object_key(obj)))
        *ret_change = (ki_change){
            .type = KI_EVENT_DELETE, .final_state_unknown = true, .is_in_initial_list = list->is_initial, .obj = obj
        };
    return KI_OK;
}

/* Returns true if object `at` is the last one of its key. */
static bool is_last_of_key(const ki_queued_list *list, size_t at) {
    return !list->has_duplicates || (uintptr_t)ki_map_get(&list->keys, key_at(list, at)) == at + 1;
}

static ki_status next_object(ki_queued_list *list, ki_change *ret_change) {
    KI_ASSERT(list->phase == KI_LIST_OBJECTS && list->at <= list->count);
    size_t at = list->at;
    if (ki_queued_list_is_plain(list) && list->keys.part_count && ki_map_free_part(&list->keys))
        return KI_OK;
    if (at == list->count)
        return end_phase(list);
    list->at++;
    if (list->deletes_first && !is_last_of_key(list, at))
        return KI_OK;
    *ret_change = (ki_change){
        .type = KI_EVENT_UPDATE, .is_listed = true, .is_in_initial_list = list->is_initial, .obj = list->objects[at]
    };
    return KI_OK;
}

ki_status ki_queued_list_next(ki_queued_list *list, ki_change *ret_change) {
    ret_change->obj = NULL;
    switch (list->phase) {
    case KI_LIST_BEGINS:
        return begin(list);
    case KI_LIST_KEYS:
        return collect_next(list);
    case KI_LIST_KNOWN:
        return next_known(list, ret_change);
    case KI_LIST_OBJECTS:
        return next_object(list, ret_change);
    case KI_LIST_ENDS:
        break;
    }
    return KI_ERR_NOT_FOUND;
}

void ki_queued_list_take(ki_queued_list *list) {
    KI_ASSERT(list->released <= list->at && list->at <= list->count);
    list->released = list->at;
}

void ki_queued_list_rewind(ki_queued_list *list) {
    end_walk(list);
    list->phase = KI_LIST_KNOWN;
    list->at = 0;
}

bool ki_queued_list_release_some(ki_queued_list *list, size_t *units) {
    while (*units > 0 && ki_map_free_part(&list->keys))
        --*units;
    for (; *units > 0 && list->released < list->count; --*units)
        ki_object_unref(list->objects[list->released++]);
    return list->released == list->count;
}
