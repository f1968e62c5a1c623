/* apply.c: see apply.h. */
#include "testing/rest/apply.h"

#include "testing/cluster/managed_fields.h"
#include "testing/request/status.h"
#include "testing/values/json.h"

static ki_status fail_type(kt_call *call, const kt_write *write, const kt_type_errors *errors) {
    ki_str ns = kt_json_get_str(yyjson_obj_get(write->applied, "metadata"), "namespace");
    const ki_resource *resource = call->resource;
    if (errors->count) /* the core group's name is empty */
        return kt_fail(call, 500, "", NULL, "failed to create typed patch object (%.*s/%.*s; %s/%s, Kind=%s): %s%s",
                       (int)ns.size, ns.size ? ns.data : "", (int)call->name.size, call->name.data, resource->group,
                       resource->version, resource->kind, errors->count > 1 ? "errors:\n  " : "", errors->list.data);
    kt_causes causes; /* a list element needs its key field */
    kt_causes_init(&causes, call->allocator);
    kt_causes_add(&causes, KT_CAUSE_REQUIRED, errors->missing_key.data, (ki_str){ NULL, 0 }, "");
    return kt_fail_causes(call, &causes, resource->group, resource->kind, call->name);
}

ki_status kt_apply_check_manager(kt_call *call) {
    kt_causes causes;
    if (kt_call_param(call, "fieldManager").size)
        return KI_OK;
    kt_causes_init(&causes, call->allocator);
    kt_causes_add(&causes, KT_CAUSE_REQUIRED, "fieldManager", (ki_str){ NULL, 0 }, "is required for apply patch");
    return kt_fail_causes(call, &causes, "meta.k8s.io", "PatchOptions", (ki_str){ NULL, 0 });
}

ki_status kt_apply_check(kt_call *call, const kt_write *write) {
    kt_arena arena;
    kt_type_errors errors;
    const kt_spot spot = write->storage->spot;
    kt_arena_init(&arena, call->allocator);
    kt_type_errors_init(&errors, call->allocator);
    kt_typed_check(&arena, &spot, write->applied, &errors);
    ki_status status = KI_OK;
    if (arena.failed || errors.list.failed || errors.path.failed || errors.missing_key.failed || errors.field.failed)
        status = KI_ERR_NO_MEMORY;
    else if (errors.count || errors.missing_key.size)
        status = fail_type(call, write, &errors);
    kt_type_errors_free(&errors);
    kt_arena_free(&arena);
    return status;
}

/* ---- fields that the manager no longer applies ---- */

/* Returns `val` (NULL: an object without members) as an immutable document, and frees `made`. */
static yyjson_doc *to_document(kt_arena *arena, yyjson_mut_doc *made, yyjson_mut_val *val) {
    yyjson_doc *doc = NULL;
    if (kt_json_freeze(arena->allocator, val ? val : yyjson_mut_obj(made), &doc))
        arena->failed = true;
    yyjson_mut_doc_free(made);
    return doc;
}

static yyjson_doc *without(kt_arena *arena, const kt_spot *spot, yyjson_val *val, const kt_set *set) {
    yyjson_alc alc = kt_json_alc(arena->allocator);
    yyjson_mut_doc *made = yyjson_mut_doc_new(&alc);
    if (!made) {
        arena->failed = true;
        return NULL;
    }
    return to_document(arena, made, kt_typed_remove(arena, made, spot, val, set));
}

/* Returns every field of `val`, also those that contain others. */
static kt_set *all_fields(kt_arena *arena, const kt_spot *spot, yyjson_val *val) {
    return kt_set_with_parents(arena, kt_typed_fields(arena, spot, val));
}

/* Returns the field metadata.name, which keeps the metadata of an object whose configuration has none. */
static kt_set *identity_fields(kt_arena *arena) {
    kt_set *all = kt_set_new(arena), *meta = kt_set_new(arena);
    kt_set_entry *name = kt_set_put(arena, meta, "f:", KI_STR("name"));
    if (name)
        name->member = true;
    kt_set_entry *entry = kt_set_put(arena, all, "f:", KI_STR("metadata"));
    if (entry)
        entry->below = meta;
    return all;
}

/* Removes from `*merged` the fields that the manager applied before and no longer applies. Keeps fields that other
 * managers own, and fields below them that the manager never applied. */
static void prune(kt_arena *arena, const kt_spot *spot, const kt_managers *managers, const kt_set *last, kt_set *now,
                  yyjson_doc **merged) {
    yyjson_val *root = yyjson_doc_get_root(*merged);
    kt_set *owned = kt_set_union(arena, now, identity_fields(arena)), *before = kt_set_with_parents(arena, last);
    for (size_t i = 0; i < managers->count; i++) {
        if (i != managers->own)
            owned = kt_set_union(arena, owned, managers->list[i].fields);
    }
    kt_set *everything = all_fields(arena, spot, root);
    yyjson_doc *pruned = without(arena, spot, root, before);
    kt_set *dropped = kt_set_difference(arena, everything, all_fields(arena, spot, yyjson_doc_get_root(pruned)));
    yyjson_doc_free(pruned);
    dropped = kt_set_difference(arena, dropped, kt_set_with_parents(arena, owned));
    pruned = arena->failed ? NULL : without(arena, spot, root, dropped);
    dropped = kt_set_difference(arena, everything, all_fields(arena, spot, yyjson_doc_get_root(pruned)));
    yyjson_doc_free(pruned);
    dropped = kt_set_intersection(arena, dropped, before);
    pruned = arena->failed ? NULL : without(arena, spot, root, dropped);
    yyjson_doc_free(*merged);
    *merged = pruned;
}

/* ---- conflicts ---- */

typedef struct conflicts {
    const kt_manager *manager;
    ki_buffer who; /* the manager as messages show it */
    ki_buffer causes;
    ki_buffer list;   /* the message for several conflicts */
    ki_buffer single; /* the message for one conflict */
    size_t count;
} conflicts;

static void add_conflict(void *user, ki_str path) {
    conflicts *all = user;
    ki_str who = { all->who.data, all->who.size };
    if (all->count++)
        ki_buffer_append_char(&all->causes, ',');
    ki_buffer_append_string(&all->causes, "{\"reason\":\"FieldManagerConflict\",\"message\":");
    ki_buffer_reset(&all->single, SIZE_MAX);
    ki_buffer_append_string(&all->single, "conflict with ");
    ki_buffer_append_view(&all->single, who);
    ki_buffer_append_json_string(&all->causes, (ki_str){ all->single.data, all->single.size });
    ki_buffer_append_string(&all->causes, ",\"field\":");
    ki_buffer_append_json_string(&all->causes, path);
    ki_buffer_append_char(&all->causes, '}');
    ki_buffer_append_string(&all->single, ": ");
    ki_buffer_append_view(&all->single, path);
    ki_buffer_append_string(&all->list, "\n- ");
    ki_buffer_append_view(&all->list, path);
}

/* `scale`: the request applies a Scale, whose fields are of another version than the object's. */
static void name_manager(conflicts *all, const kt_manager *manager, bool scale) {
    ki_buffer *who = &all->who;
    ki_buffer_reset(who, SIZE_MAX);
    ki_buffer_append_json_string(who, manager->name);
    if (manager->subresource.size) {
        ki_buffer_append_string(who, " with subresource ");
        ki_buffer_append_json_string(who, manager->subresource);
    }
    if (!manager->is_apply) {
        ki_buffer_append_string(who, " using ");
        ki_buffer_append_view(who, scale ? KI_STR("autoscaling/v1") : manager->api_version);
    }
    ki_buffer_append_string(&all->list, all->list.size ? "\nconflicts with " : "conflicts with ");
    ki_buffer_append(&all->list, who->data, who->size);
    ki_buffer_append_char(&all->list, ':');
}

static ki_status fail_conflicts(kt_call *call, conflicts *all) {
    if (all->causes.failed || all->list.failed || all->single.failed || all->who.failed)
        return KI_ERR_NO_MEMORY;
    if (!all->count)
        return KI_OK;
    kt_details details = { .causes = { all->causes.data, all->causes.size } };
    if (all->count == 1)
        return kt_fail(call, 409, "Conflict", &details, "Apply failed with 1 conflict: %s", all->single.data);
    return kt_fail(call, 409, "Conflict", &details, "Apply failed with %zu conflicts: %s", all->count, all->list.data);
}

static ki_status check_conflicts(kt_call *call, kt_arena *arena, const kt_managers *managers, const kt_set *changed) {
    conflicts all = { .count = 0 };
    ki_buffer path;
    ki_buffer *const buffers[] = { &all.who, &all.causes, &all.list, &all.single, &path };
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ki_buffer_init(buffers[i], call->allocator, 0);
    for (size_t i = 0; i < managers->count; i++) {
        kt_set *both = i == managers->own ? NULL : kt_set_intersection(arena, managers->list[i].fields, changed);
        if (kt_set_is_empty(both))
            continue;
        name_manager(&all, &managers->list[i], ki_str_equals(call->subresource, "scale"));
        kt_set_paths(both, &path, add_conflict, &all);
    }
    ki_status status = path.failed ? KI_ERR_NO_MEMORY : fail_conflicts(call, &all);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        ki_buffer_free(buffers[i]);
    return status;
}

/* ---- merge ---- */

static ki_status merge(kt_call *call, kt_arena *arena, const kt_write *write, yyjson_val *old, yyjson_doc **ret_doc) {
    const kt_spot spot = write->storage->spot;
    kt_managers managers;
    kt_managed_fields_read(arena, write, yyjson_obj_get(yyjson_obj_get(old, "metadata"), "managedFields"), old,
                           &managers);
    yyjson_alc alc = kt_json_alc(arena->allocator);
    yyjson_mut_doc *made = yyjson_mut_doc_new(&alc);
    if (!made)
        return KI_ERR_NO_MEMORY;
    *ret_doc = to_document(arena, made, kt_typed_merge(arena, made, &spot, old, write->applied));
    kt_set *last = !arena->failed && managers.own < managers.count ? managers.list[managers.own].fields : NULL;
    kt_set *now = kt_typed_fields(arena, &spot, write->applied);
    if (!arena->failed && !kt_set_is_empty(last))
        prune(arena, &spot, &managers, last, now, ret_doc);
    if (arena->failed)
        return KI_ERR_NO_MEMORY;
    if (kt_call_param_bool(call, "force"))
        return KI_OK;
    kt_comparison difference;
    kt_typed_compare(arena, &spot, old, yyjson_doc_get_root(*ret_doc), false, &difference);
    /* A null in the configuration changes the field. */
    kt_set *changed = kt_set_union(arena, kt_set_union(arena, difference.added, difference.modified),
                                   kt_set_intersection(arena, difference.removed, now));
    changed = kt_managed_fields_strip(arena, write, changed);
    return arena->failed ? KI_ERR_NO_MEMORY : check_conflicts(call, arena, &managers, changed);
}

ki_status kt_apply_merge(kt_call *call, const kt_write *write, yyjson_val *old, ki_buffer *out) {
    kt_arena arena;
    yyjson_doc *doc = NULL;
    kt_arena_init(&arena, call->allocator);
    ki_status status = merge(call, &arena, write, old, &doc);
    if (!status)
        status = arena.failed ? KI_ERR_NO_MEMORY : kt_json_append(out, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    kt_arena_free(&arena);
    return status;
}
