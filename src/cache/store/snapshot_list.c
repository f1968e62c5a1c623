/* snapshot_list.c: lists and gets from one snapshot by namespace, name, selector and index. The listers of lister.h use
 * it. */
#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/store/snapshot.h"

/* Returns true if the namespace index leads to the objects of a namespace. Else a walk goes over all objects. */
static bool is_indexed(const ki_snapshot *snapshot, const char *namespace_name) {
    return namespace_name && *namespace_name && ki_snapshot_has_index(snapshot, KI_NAMESPACE_INDEX);
}

static const ki_object *next_in_namespace(const ki_snapshot *snapshot, const char *namespace_name, ki_cursor *cursor) {
    if (is_indexed(snapshot, namespace_name))
        return ki_snapshot_next_by_index(snapshot, KI_NAMESPACE_INDEX, namespace_name, cursor);
    const ki_object *obj;
    do
        obj = ki_snapshot_next(snapshot, cursor);
    while (obj && namespace_name && *namespace_name && strcmp(ki_object_namespace(obj), namespace_name) != 0);
    return obj;
}

const ki_object *ki_snapshot_next_match(const ki_snapshot *snapshot, const char *namespace_name,
                                        const ki_selector *selector, ki_cursor *cursor) {
    if (!snapshot || !cursor)
        return NULL;
    const ki_object *obj;
    do
        obj = next_in_namespace(snapshot, namespace_name, cursor);
    while (obj && !ki_object_matches(obj, selector));
    return obj;
}

/* Makes a list of at most `most` objects, those that a walk returns. */
typedef struct walk {
    ki_snapshot *snapshot;
    const char *scope; /* the namespace, or the value of `index` */
    const char *index; /* NULL: by namespace and selector */
    const ki_selector *selector;
} walk;

static ki_status make_list(const walk *w, size_t most, ki_object_list *ret_list, ki_error *err) {
    const ki_allocator *allocator = &w->snapshot->schema->allocator;
    const ki_object **objects = ki_alloc_array(allocator, most, sizeof(const ki_object *));
    if (!objects)
        return ki_error_no_memory(err, "listing objects");
    size_t count = 0;
    ki_cursor cursor = KI_CURSOR_INIT;
    const ki_object *obj;
    while ((obj = w->index ? ki_snapshot_next_by_index(w->snapshot, w->index, w->scope, &cursor)
                           : ki_snapshot_next_match(w->snapshot, w->scope, w->selector, &cursor)))
        objects[count++] = obj;
    if (count < most / 2) { /* releases the unused part, if the allocator can */
        void *smaller = ki_realloc_array(allocator, objects, count, sizeof(const ki_object *));
        objects = smaller ? smaller : objects;
    }
    *ret_list = (ki_object_list){ .objects = objects, .count = count, .snapshot = ki_snapshot_ref(w->snapshot) };
    return KI_OK;
}

ki_status ki_snapshot_list(ki_snapshot *snapshot, const char *namespace_name, const ki_selector *selector,
                           ki_object_list *ret_list, ki_error *err) {
    size_t most = is_indexed(snapshot, namespace_name)
                      ? ki_snapshot_count_by_index(snapshot, KI_NAMESPACE_INDEX, namespace_name)
                      : ki_snapshot_count(snapshot);
    return make_list(&(walk){ .snapshot = snapshot, .scope = namespace_name, .selector = selector }, most, ret_list,
                     err);
}

ki_status ki_snapshot_check_index(const ki_snapshot *snapshot, const char *index, ki_error *err) {
    if (ki_snapshot_has_index(snapshot, index))
        return KI_OK;
    return ki_error_set(err, KI_ERR_INVALID, "there is no index \"%.100s\"", index);
}

ki_status ki_snapshot_list_by_index(ki_snapshot *snapshot, const char *index, const char *value,
                                    ki_object_list *ret_list, ki_error *err) {
    ki_status status = ki_snapshot_check_index(snapshot, index, err);
    if (status)
        return status;
    return make_list(&(walk){ .snapshot = snapshot, .scope = value, .index = index },
                     ki_snapshot_count_by_index(snapshot, index, value), ret_list, err);
}

ki_status ki_snapshot_lookup(const ki_snapshot *snapshot, const char *namespace_name, const char *name,
                             ki_object **ret_obj, ki_error *err) {
    bool namespaced = namespace_name && *namespace_name;
    ki_buffer key;
    ki_buffer_init(&key, &snapshot->schema->allocator, 0);
    ki_status status = ki_buffer_printf(&key, "%s%s%s", namespaced ? namespace_name : "", namespaced ? "/" : "", name);
    const ki_object *obj = status ? NULL : ki_snapshot_get(snapshot, key.data);
    if (status)
        status = ki_error_no_memory(err, "looking for an object");
    else if (!obj)
        status = ki_error_set(err, KI_ERR_NOT_FOUND, "there is no object %s", key.data);
    else
        *ret_obj = ki_object_ref(obj);
    ki_buffer_free(&key);
    return status;
}

void ki_object_list_free(ki_object_list *list) {
    if (!list || !list->snapshot)
        return;
    ki_allocator allocator = list->snapshot->schema->allocator;
    ki_free(&allocator, list->objects);
    ki_snapshot_free(list->snapshot);
    *list = (ki_object_list){ NULL, 0, NULL };
}
