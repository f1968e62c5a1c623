/* snapshot_list.c: lists and gets from one snapshot by namespace, name and labels. The listers of lister.h use it. */
#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/cache/store/snapshot.h"
#include "src/object/selector.h"

/* A walk over one namespace, by the namespace index. Without that index, or for all namespaces, it walks all objects
 * and skips other namespaces. */
typedef struct scope {
    const ki_snapshot *snapshot;
    const char *namespace_name; /* NULL: all */
    bool indexed;
    ki_cursor cursor;
} scope;

static scope scope_of(const ki_snapshot *snapshot, const char *namespace_name) {
    bool all = !namespace_name || !*namespace_name;
    return (scope){ .snapshot = snapshot,
                    .namespace_name = all ? NULL : namespace_name,
                    .indexed = !all && ki_snapshot_has_index(snapshot, KI_NAMESPACE_INDEX),
                    .cursor = KI_CURSOR_INIT };
}

static size_t scope_most(const scope *s) {
    return s->indexed ? ki_snapshot_count_by_index(s->snapshot, KI_NAMESPACE_INDEX, s->namespace_name)
                      : ki_snapshot_count(s->snapshot);
}

static const ki_object *scope_next(scope *s) {
    if (s->indexed)
        return ki_snapshot_next_by_index(s->snapshot, KI_NAMESPACE_INDEX, s->namespace_name, &s->cursor);
    const ki_object *obj;
    do
        obj = ki_snapshot_next(s->snapshot, &s->cursor);
    while (obj && s->namespace_name && strcmp(ki_object_namespace(obj), s->namespace_name) != 0);
    return obj;
}

ki_status ki_snapshot_list(ki_snapshot *snapshot, const char *namespace_name, const char *label_selector,
                           ki_object_list *ret_list, ki_error *err) {
    const ki_allocator *allocator = &snapshot->schema->allocator;
    ki_selector *selector = NULL;
    ki_status status = ki_selector_parse(allocator, ki_str_of(label_selector), &selector, err);
    if (status) {
        ki_error_prefix(err, "label selector");
        return status;
    }
    scope s = scope_of(snapshot, namespace_name);
    size_t most = scope_most(&s);
    const ki_object **objects = ki_alloc_array(allocator, most, sizeof(const ki_object *));
    size_t count = 0;
    const ki_object *obj;
    while (objects && (obj = scope_next(&s)))
        if (ki_selector_matches(selector, obj))
            objects[count++] = obj;
    ki_selector_free(allocator, selector);
    if (!objects)
        return ki_error_no_memory(err, "listing objects");
    if (count < most / 2) { /* releases the unused part, if the allocator can */
        void *smaller = ki_realloc_array(allocator, objects, count, sizeof(const ki_object *));
        objects = smaller ? smaller : objects;
    }
    *ret_list = (ki_object_list){ .objects = objects, .count = count, .snapshot = ki_snapshot_ref(snapshot) };
    return KI_OK;
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
