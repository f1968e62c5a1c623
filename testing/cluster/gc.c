/* gc.c: the owner garbage collector. Off by default: a kube-apiserver alone has none. Deletes objects whose owners
 * are gone, and performs Foreground and Orphan deletions. A real cluster's controller does so later; this one does
 * it at once. For each change, checks the changed object, its owners and its dependents. Writes of the collector
 * are changes too; the collector runs until it has processed all of them. */
#include "testing/cluster/cluster.h"
#include "testing/cluster/crd_sync.h"

#include "src/base/array.h"
#include "src/base/assert.h"
#include "src/base/memory.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/owners.h"
#include "testing/cluster/view.h"
#include "testing/cluster/write.h"
#include "testing/crd/custom.h"
#include "testing/values/json.h"

/* An object to check. */
typedef struct gc_object {
    kt_storage *storage;
    kt_object *obj; /* owned reference in a list, borrowed elsewhere */
} gc_object;

typedef struct gc_list {
    const ki_allocator *allocator;
    gc_object *items;
    size_t count;
    size_t capacity;
} gc_list;

static ki_status add_object(gc_list *list, kt_storage *storage, kt_object *obj) {
    if (KI_ARRAY_RESERVE(list->allocator, list->items, list->count, list->capacity))
        return KI_ERR_NO_MEMORY;
    list->items[list->count++] = (gc_object){ storage, kt_object_ref(obj) };
    return KI_OK;
}

static void free_list(gc_list *list) {
    while (list->count)
        kt_object_unref(list->items[--list->count].obj);
    ki_free(list->allocator, list->items);
}

/* ---- reading metadata ---- */

static bool meta_has(const kt_object *obj, const char *text, size_t size) {
    return memmem(obj->json.data + obj->meta_start, obj->meta_end - obj->meta_start, text, size) != NULL;
}

static bool names_owners(const kt_object *obj) {
    static const char key[] = "\"ownerReferences\":";
    return meta_has(obj, key, sizeof key - 1);
}

/* Returns true for an object that is being deleted in the foreground. */
static bool waits_for_dependents(const kt_object *obj) {
    static const char waits[] = "\"" KT_FINALIZER_FOREGROUND "\"";
    static const char deleted[] = "\"deletionTimestamp\":";
    return meta_has(obj, waits, sizeof waits - 1) && meta_has(obj, deleted, sizeof deleted - 1);
}

static bool has_finalizer(yyjson_val *root, const char *name) {
    yyjson_val *finalizers = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "finalizers");
    return kt_json_list_has(finalizers, SIZE_MAX, NULL, ki_str_of(name));
}

static bool is_deleted(yyjson_val *root) {
    return yyjson_obj_get(yyjson_obj_get(root, "metadata"), "deletionTimestamp") != NULL;
}

static yyjson_val *owners_of(yyjson_val *root) {
    return yyjson_obj_get(yyjson_obj_get(root, "metadata"), "ownerReferences");
}

static ki_status read_object(const kt_cluster *cluster, const kt_object *obj, yyjson_doc **ret_doc) {
    return kt_json_read_trusted(&cluster->allocator, obj->json, ret_doc, NULL);
}

/* Returns the current version of an object; NULL if it is gone or another object has its name. */
static kt_object *current(const gc_object *item) {
    kt_object *obj = kt_storage_get(item->storage, item->obj->ns, item->obj->name);
    return obj && ki_str_equal(obj->uid, item->obj->uid) ? obj : NULL;
}

/* ---- owners ---- */

typedef enum owner_state {
    OWNER_SOLID,    /* exists, or is of an unknown kind */
    OWNER_DANGLING, /* does not exist */
    OWNER_WAITING   /* is being deleted in the foreground and waits for its dependents */
} owner_state;

static kt_storage *storage_of_kind(const kt_cluster *cluster, ki_str api_version, ki_str kind) {
    ki_str version, group = ki_str_split(api_version, '/', &version);
    if (!version.data) {
        version = group;
        group = KI_STR("");
    }
    for (size_t i = 0; i < cluster->storage_count; i++) {
        const ki_resource *resource = cluster->storages[i]->info->resource;
        if (ki_str_equals(group, resource->group) && ki_str_equals(version, resource->version) &&
            ki_str_equals(kind, resource->kind))
            return cluster->storages[i];
    }
    return NULL;
}

/* Finds the owner `ref` and sets `*ret_owner` if it exists. A namespaced owner owns only objects of its namespace. */
static owner_state find_owner(const kt_cluster *cluster, yyjson_val *ref, ki_str ns, gc_object *ret_owner) {
    kt_storage *storage = storage_of_kind(cluster, kt_json_get_str(ref, "apiVersion"), kt_json_get_str(ref, "kind"));
    if (!storage || (storage->info->resource->namespaced && !ns.size))
        return OWNER_SOLID;
    if (!storage->info->resource->namespaced)
        ns = (ki_str){ NULL, 0 };
    kt_object *owner = kt_storage_get(storage, ns, kt_json_get_str(ref, "name"));
    if (!owner || !ki_str_equal(owner->uid, kt_json_get_str(ref, "uid")))
        return OWNER_DANGLING;
    *ret_owner = (gc_object){ storage, owner };
    return waits_for_dependents(owner) ? OWNER_WAITING : OWNER_SOLID;
}

static ki_status find_dependents(kt_cluster *cluster, ki_str uid, gc_list *list) {
    ki_status status = KI_OK;
    for (kt_dependent *one = kt_owners_first(cluster, uid); one && !status; one = (kt_dependent *)one->node.next) {
        kt_storage *storage = kt_view_leader(one->store);
        if (storage)
            status = add_object(list, storage, one->obj);
    }
    return status;
}

static bool is_owned_by(yyjson_val *root, ki_str uid, bool only_blocking) {
    size_t index, count;
    yyjson_val *ref;
    yyjson_arr_foreach(owners_of(root), index, count, ref) {
        if (ki_str_equal(kt_json_get_str(ref, "uid"), uid) &&
            (!only_blocking || yyjson_get_bool(yyjson_obj_get(ref, "blockOwnerDeletion"))))
            return true;
    }
    return false;
}

/* ---- changes ---- */

/* What is changed in an object. */
typedef enum gc_change {
    DROP_FINALIZER,    /* this one */
    DROP_OWNER,        /* the owner with this uid */
    DROP_OTHER_OWNERS, /* the owners that are absent or wait */
    UNBLOCK_OWNERS     /* the object blocks the deletion of none */
} gc_change;

/* Changes a copy's finalizers or owners. `before` has the same elements. */
static void change_list(const kt_cluster *cluster, const gc_object *item, gc_change change, ki_str what,
                        yyjson_val *before, yyjson_mut_val *list) {
    size_t index, count, at = 0;
    yyjson_val *one;
    gc_object owner;
    yyjson_arr_foreach(before, index, count, one) {
        bool drop = change == DROP_FINALIZER ? ki_str_equal(kt_json_str(one), what)
                    : change == DROP_OWNER
                        ? ki_str_equal(kt_json_get_str(one, "uid"), what)
                        : change == DROP_OTHER_OWNERS && find_owner(cluster, one, item->obj->ns, &owner) != OWNER_SOLID;
        if (change == UNBLOCK_OWNERS)
            yyjson_mut_obj_remove_key(yyjson_mut_arr_get(list, at), "blockOwnerDeletion");
        if (drop)
            yyjson_mut_arr_remove(list, at);
        else
            at++;
    }
}

/* Updates an object. `what`: the finalizer or uid of the change. */
static ki_status rewrite(kt_cluster *cluster, const gc_object *item, gc_change change, ki_str what, int64_t now_ms) {
    const kt_write write = { .storage = item->storage, .now_ms = now_ms, .subresource = "" };
    const char *name = change == DROP_FINALIZER ? "finalizers" : "ownerReferences";
    yyjson_doc *old = NULL;
    ki_status status = kt_view_read(item->storage, item->obj, &old);
    if (status)
        return status;
    yyjson_val *root = yyjson_doc_get_root(old);
    yyjson_alc alc = kt_json_alc(&cluster->allocator);
    yyjson_mut_doc *made = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *copy = made ? yyjson_val_mut_copy(made, root) : NULL;
    change_list(cluster, item, change, what, yyjson_obj_get(yyjson_obj_get(root, "metadata"), name),
                yyjson_mut_obj_get(yyjson_mut_obj_get(copy, "metadata"), name));
    yyjson_doc *doc = NULL;
    kt_object *obj = NULL;
    status = kt_json_freeze(&cluster->allocator, copy, &doc);
    if (!status) {
        yyjson_val *changed = yyjson_doc_get_root(doc);
        status = kt_write_update(&write, item->obj, root, changed, changed, &obj);
    }
    kt_object_unref(obj);
    yyjson_doc_free(doc);
    yyjson_doc_free(old);
    yyjson_mut_doc_free(made);
    return status;
}

static ki_status remove_object(const gc_object *item, kt_propagation propagation, int64_t now_ms) {
    const kt_write write = {
        .storage = item->storage, .now_ms = now_ms, .subresource = "", .propagation = propagation
    };
    kt_object *last = NULL;
    bool is_removed;
    ki_status status = kt_write_delete(&write, item->obj, &last, &is_removed);
    kt_object_unref(last);
    return status;
}

/* ---- consequences of a change ---- */

/* Checks an object with owners. Deletes it if no owner is solid. Removes the references to other owners if one is. */
static ki_status check_dependent(kt_cluster *cluster, const gc_object *item, yyjson_val *root, int64_t now_ms) {
    size_t index, count, counts[OWNER_WAITING + 1] = { 0 };
    yyjson_val *ref;
    gc_object owner;
    if (is_deleted(root))
        return KI_OK;
    yyjson_arr_foreach(owners_of(root), index, count, ref) {
        counts[find_owner(cluster, ref, item->obj->ns, &owner)]++;
    }
    if (!counts[OWNER_DANGLING] && !counts[OWNER_WAITING])
        return KI_OK;
    if (counts[OWNER_SOLID])
        return rewrite(cluster, item, DROP_OTHER_OWNERS, KI_STR(""), now_ms);
    gc_list dependents = { .allocator = &cluster->allocator };
    ki_status status = counts[OWNER_WAITING] ? find_dependents(cluster, item->obj->uid, &dependents) : KI_OK;
    bool has_dependents = dependents.count > 0, is_in_cycle = false;
    for (size_t i = 0; i < dependents.count; i++)
        is_in_cycle = is_in_cycle || waits_for_dependents(dependents.items[i].obj);
    free_list(&dependents);
    if (!status && is_in_cycle) /* its owner can wait for itself, as in the real collector */
        status = rewrite(cluster, item, UNBLOCK_OWNERS, KI_STR(""), now_ms);
    kt_object *obj = status ? NULL : current(item);
    if (!obj)
        return status;
    const gc_object now = { item->storage, kt_object_ref(obj) };
    status = remove_object(&now,
                           has_finalizer(root, KT_FINALIZER_ORPHAN)                         ? KT_PROPAGATE_ORPHAN
                           : has_dependents || has_finalizer(root, KT_FINALIZER_FOREGROUND) ? KT_PROPAGATE_FOREGROUND
                                                                                            : KT_PROPAGATE_BACKGROUND,
                           now_ms);
    kt_object_unref(obj);
    return status;
}

static ki_status check_object(kt_cluster *cluster, const gc_object *item, int64_t now_ms);

/* Deletes the dependents of an owner that waits for them. Removes its finalizer once no dependent blocks it. */
static ki_status finish_foreground(kt_cluster *cluster, const gc_object *item, int64_t now_ms) {
    gc_list dependents = { .allocator = &cluster->allocator };
    ki_status status = find_dependents(cluster, item->obj->uid, &dependents);
    for (size_t i = 0; i < dependents.count && !status; i++) {
        kt_object *obj = current(&dependents.items[i]);
        const gc_object dependent = { dependents.items[i].storage, obj };
        yyjson_doc *doc = NULL;
        if (!obj)
            continue;
        kt_object_ref(obj);
        status = read_object(cluster, obj, &doc);
        if (!status)
            status = check_dependent(cluster, &dependent, yyjson_doc_get_root(doc), now_ms);
        yyjson_doc_free(doc);
        kt_object_unref(obj);
    }
    bool blocked = false;
    for (size_t i = 0; i < dependents.count && !status && !blocked; i++) {
        yyjson_doc *doc = NULL;
        const kt_object *obj = current(&dependents.items[i]);
        if (!obj || ki_str_equal(obj->uid, item->obj->uid)) /* an object does not wait for itself */
            continue;
        status = read_object(cluster, obj, &doc);
        blocked = !status && is_owned_by(yyjson_doc_get_root(doc), item->obj->uid, true);
        yyjson_doc_free(doc);
    }
    free_list(&dependents);
    kt_object *obj = current(item);
    yyjson_doc *doc = NULL;
    if (status || blocked || !obj)
        return status;
    const gc_object owner = { item->storage, kt_object_ref(obj) };
    status = read_object(cluster, obj, &doc);
    if (!status && has_finalizer(yyjson_doc_get_root(doc), KT_FINALIZER_FOREGROUND))
        status = rewrite(cluster, &owner, DROP_FINALIZER, KI_STR(KT_FINALIZER_FOREGROUND), now_ms);
    yyjson_doc_free(doc);
    kt_object_unref(obj);
    return status;
}

static ki_status orphan_dependents(kt_cluster *cluster, const gc_object *item, int64_t now_ms) {
    gc_list dependents = { .allocator = &cluster->allocator };
    ki_status status = find_dependents(cluster, item->obj->uid, &dependents);
    for (size_t i = 0; i < dependents.count && !status; i++) {
        yyjson_doc *doc = NULL;
        status = read_object(cluster, dependents.items[i].obj, &doc);
        if (!status && is_owned_by(yyjson_doc_get_root(doc), item->obj->uid, false))
            status = rewrite(cluster, &dependents.items[i], DROP_OWNER, item->obj->uid, now_ms);
        yyjson_doc_free(doc);
    }
    free_list(&dependents);
    return status ? status : rewrite(cluster, item, DROP_FINALIZER, KI_STR(KT_FINALIZER_ORPHAN), now_ms);
}

/* Checks the current version of an object that was created or updated. */
static ki_status check_object(kt_cluster *cluster, const gc_object *item, int64_t now_ms) {
    static const char deleted[] = "\"deletionTimestamp\":";
    bool is_owned = names_owners(item->obj), is_terminating = meta_has(item->obj, deleted, sizeof deleted - 1);
    yyjson_doc *doc = NULL;
    if (!is_owned && !is_terminating)
        return KI_OK;
    ki_status status = read_object(cluster, item->obj, &doc);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!status && is_terminating && has_finalizer(root, KT_FINALIZER_ORPHAN))
        status = orphan_dependents(cluster, item, now_ms);
    else if (!status && is_terminating && has_finalizer(root, KT_FINALIZER_FOREGROUND))
        status = finish_foreground(cluster, item, now_ms);
    else if (!status && is_owned)
        status = check_dependent(cluster, item, root, now_ms);
    yyjson_doc_free(doc);
    return status;
}

/* Checks the owners of an object that was updated or removed, because one of them can wait for it. */
static ki_status check_owners(kt_cluster *cluster, const kt_object *obj, int64_t now_ms) {
    size_t index, count;
    yyjson_val *ref;
    yyjson_doc *doc = NULL;
    ki_status status = read_object(cluster, obj, &doc);
    yyjson_arr_foreach(owners_of(yyjson_doc_get_root(doc)), index, count, ref) {
        gc_object owner;
        if (status || find_owner(cluster, ref, obj->ns, &owner) != OWNER_WAITING)
            continue;
        kt_object_ref(owner.obj);
        status = finish_foreground(cluster, &owner, now_ms);
        kt_object_unref(owner.obj);
    }
    yyjson_doc_free(doc);
    return status;
}

static ki_status check_dependents(kt_cluster *cluster, ki_str uid, int64_t now_ms) {
    gc_list dependents = { .allocator = &cluster->allocator };
    ki_status status = find_dependents(cluster, uid, &dependents);
    for (size_t i = 0; i < dependents.count && !status; i++) {
        kt_object *obj = current(&dependents.items[i]);
        const gc_object item = { dependents.items[i].storage, obj };
        if (!obj)
            continue;
        kt_object_ref(obj);
        status = check_object(cluster, &item, now_ms);
        kt_object_unref(obj);
    }
    free_list(&dependents);
    return status;
}

static ki_status handle_change(kt_cluster *cluster, kt_storage *storage, kt_event_type type, kt_object *changed,
                               int64_t now_ms) {
    const gc_object then = { storage, changed };
    kt_object *obj = type == KT_DELETED ? NULL : current(&then);
    ki_status status = KI_OK;
    if (obj) {
        const gc_object now = { storage, kt_object_ref(obj) };
        status = check_object(cluster, &now, now_ms);
        kt_object_unref(obj);
    }
    if (!status && type != KT_ADDED && names_owners(changed))
        status = check_owners(cluster, changed, now_ms);
    if (!status && type == KT_DELETED)
        status = check_dependents(cluster, changed->uid, now_ms);
    return status;
}

ki_status kt_cluster_collect_garbage(kt_cluster *cluster, int64_t now_ms) {
    KT_HOLDS(cluster);
    if (cluster->gc_revision > cluster->revision) /* the cluster was rewound */
        cluster->gc_revision = cluster->revision;
    while (cluster->gc_revision < cluster->revision) {
        uint64_t revision = cluster->gc_revision + 1, behind = cluster->revision - revision;
        size_t count = cluster->log.count;
        kt_storage *const *storage = behind < count ? ki_ring_at(&cluster->log, count - 1 - (size_t)behind) : NULL;
        const kt_event *event =
            storage ? kt_storage_event(*storage, kt_storage_seq_after(*storage, revision - 1)) : NULL;
        ki_status status = KI_OK;
        if (event && event->revision == revision) { /* otherwise the event is compacted */
            kt_object *changed = kt_object_ref(event->obj);
            status = handle_change(cluster, *storage, event->type, changed, now_ms);
            kt_object_unref(changed);
        }
        if (status)
            return status;
        cluster->gc_revision = revision;
        KI_ASSERT(cluster->gc_revision <= cluster->revision);
    }
    return KI_OK;
}
