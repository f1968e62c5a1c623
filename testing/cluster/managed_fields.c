/* managed_fields.c: see managed_fields.h. A writer owns the fields that it changes. Nobody owns removed fields. */
#include "testing/cluster/managed_fields.h"

#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/values/json.h"

#include <stdlib.h>

#define BEFORE_FIRST_APPLY "before-first-apply"
#define ANCIENT_CHANGES "ancient-changes"

/* ---- fields without an owner ---- */

static bool is_one_of(ki_str element, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (ki_str_equals(element, names[i]))
            return true;
    }
    return false;
}

kt_set *kt_managed_fields_strip(kt_arena *arena, const kt_write *write, const kt_set *set) {
    static const char *const top[] = { "f:kind", "f:apiVersion" };
    static const char *const meta[] = { "f:name",
                                        "f:namespace",
                                        "f:uid",
                                        "f:resourceVersion",
                                        "f:generation",
                                        "f:selfLink",
                                        "f:creationTimestamp",
                                        "f:deletionTimestamp",
                                        "f:deletionGracePeriodSeconds",
                                        "f:managedFields" };
    bool is_of_status = strcmp(write->subresource, "status") == 0, has_status = write->storage->has_status;
    bool can_change_meta = !(write->storage->strategy->flags & KT_STATUS_ONLY);
    kt_set *kept = kt_set_new(arena);
    for (size_t i = 0; set && i < set->count; i++) {
        const kt_set_entry *from = &set->entries[i];
        bool is_status = ki_str_equals(from->element, "f:status"), is_meta = ki_str_equals(from->element, "f:metadata");
        /* This request cannot change status without its subresource, and with it all but status and, for some
         * resources, metadata. */
        bool is_elsewhere = is_of_status ? !is_status && !(is_meta && can_change_meta) : is_status && has_status;
        if (is_elsewhere || is_one_of(from->element, top, sizeof top / sizeof top[0]))
            continue;
        kt_set *below = from->below;
        bool member = from->member;
        if (is_meta) {
            below = kt_set_new(arena);
            member = false;
            for (size_t k = 0; from->below && k < from->below->count; k++) {
                const kt_set_entry *inner = &from->below->entries[k];
                kt_set_entry *entry = is_one_of(inner->element, meta, sizeof meta / sizeof meta[0])
                                          ? NULL
                                          : kt_set_put(arena, below, "", inner->element);
                if (entry)
                    entry->member = inner->member;
                if (entry)
                    entry->below = inner->below;
            }
            if (!below || !below->count)
                continue;
        }
        kt_set_entry *entry = kt_set_put(arena, kept, "", from->element);
        if (entry)
            entry->member = member;
        if (entry)
            entry->below = below;
    }
    return kept;
}

/* ---- reading ---- */

static bool is_own(const kt_write *write, const kt_manager *manager) {
    return ki_str_equal(manager->name, write->manager) && manager->is_apply == (write->applied != NULL) &&
           ki_str_equals(manager->subresource, write->subresource);
}

void kt_managed_fields_read(kt_arena *arena, const kt_write *write, yyjson_val *previous, yyjson_val *old_root,
                            kt_managers *ret) {
    size_t index, count, size = yyjson_arr_size(previous);
    yyjson_val *entry;
    *ret = (kt_managers){ .list = kt_arena_alloc(arena,
                                                 (size + 2) * sizeof *ret->list) }; /* and two that are added later */
    if (!ret->list)
        return;
    yyjson_arr_foreach(previous, index, count, entry) {
        ret->list[ret->count++] = (kt_manager){
            .name = kt_json_get_str(entry, "manager"),
            .api_version = kt_json_get_str(entry, "apiVersion"),
            .time = kt_json_get_str(entry, "time"),
            .subresource = kt_json_get_str(entry, "subresource"),
            .is_apply = ki_str_equals(kt_json_get_str(entry, "operation"), "Apply"),
            .fields = kt_set_read(arena, yyjson_obj_get(entry, "fieldsV1")),
        };
    }
    if (!ret->count && write->applied && old_root) {
        kt_comparison all;
        kt_typed_compare(arena, &write->storage->spot, NULL, old_root, false, &all);
        ret->list[ret->count++] = (kt_manager){ .name = KI_STR(BEFORE_FIRST_APPLY),
                                                .api_version = write->storage->api_version,
                                                .fields = kt_managed_fields_strip(arena, write, all.added) };
    }
    ret->own = ret->count;
    for (size_t i = 0; i < ret->count; i++) {
        if (is_own(write, &ret->list[i]))
            ret->own = i;
    }
}

/* ---- writing ---- */

/* Sorts entries as the real server does: applies first, then by time. */
static int compare(const void *a, const void *b) {
    const kt_manager *left = a, *right = b;
    if (left->is_apply != right->is_apply)
        return left->is_apply ? -1 : 1;
    int order = ki_str_order(left->time, right->time);
    if (!order)
        order = ki_str_order(left->name, right->name);
    if (!order)
        order = ki_str_order(left->api_version, right->api_version);
    return order ? order : ki_str_order(left->subresource, right->subresource);
}

/* Merges the oldest update entries beyond KT_UPDATE_MANAGERS_MAX into "ancient-changes". The list is sorted. */
static void cap_updates(kt_arena *arena, const kt_write *write, kt_managers *managers) {
    size_t applies = 0;
    while (applies < managers->count && managers->list[applies].is_apply)
        applies++;
    if (managers->count - applies <= KT_UPDATE_MANAGERS_MAX)
        return;
    size_t merged = managers->count - applies - KT_UPDATE_MANAGERS_MAX + 1;
    kt_manager *first = &managers->list[applies], *last = first + merged - 1;
    kt_manager ancient = { .name = KI_STR(ANCIENT_CHANGES),
                           .api_version = write->storage->api_version,
                           .time = last->time };
    for (const kt_manager *one = first; one <= last; one++)
        ancient.fields = kt_set_union(arena, ancient.fields, one->fields);
    memmove(first + 1, last + 1, (managers->count - applies - merged) * sizeof *first);
    *first = ancient;
    managers->count -= merged - 1;
}

static void append_entry(const kt_manager *manager, ki_buffer *out) {
    ki_buffer_append_string(out, "{\"manager\":");
    ki_buffer_append_json_string(out, manager->name);
    ki_buffer_printf(out, ",\"operation\":\"%s\",\"apiVersion\":", manager->is_apply ? "Apply" : "Update");
    ki_buffer_append_json_string(out, manager->api_version);
    if (manager->time.size) {
        ki_buffer_append_string(out, ",\"time\":");
        ki_buffer_append_json_string(out, manager->time);
    }
    ki_buffer_append_string(out, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    kt_set_append(out, manager->fields, false);
    if (manager->subresource.size) {
        ki_buffer_append_string(out, ",\"subresource\":");
        ki_buffer_append_json_string(out, manager->subresource);
    }
    ki_buffer_append_char(out, '}');
}

ki_status kt_managed_fields_write(const kt_write *write, yyjson_val *previous, yyjson_val *old_root, yyjson_val *root,
                                  ki_buffer *out) {
    kt_arena arena;
    kt_managers managers;
    kt_comparison difference;
    const kt_spot *spot = &write->storage->spot;
    char now[KI_RFC3339_SIZE];
    kt_arena_init(&arena, out->allocator);
    kt_managed_fields_read(&arena, write, previous, old_root, &managers);
    kt_typed_compare(&arena, spot, old_root, root, false, &difference);
    kt_set *changed =
        kt_managed_fields_strip(&arena, write, kt_set_union(&arena, difference.added, difference.modified));
    kt_set *removed = difference.removed ? kt_managed_fields_strip(&arena, write, difference.removed) : NULL;
    kt_set *lost = kt_set_union(&arena, changed, removed);
    if (managers.own == managers.count && managers.list)
        managers.list[managers.count++] = (kt_manager){ .name = write->manager,
                                                        .is_apply = write->applied != NULL,
                                                        .subresource = ki_str_of(write->subresource) };
    for (size_t i = 0; i < managers.count && !arena.failed; i++) {
        kt_manager *manager = &managers.list[i];
        if (i != managers.own) {
            manager->fields = kt_set_difference(&arena, manager->fields, lost);
            continue;
        }
        kt_set *fields = write->applied
                             ? kt_managed_fields_strip(&arena, write, kt_typed_fields(&arena, spot, write->applied))
                             : kt_set_union(&arena, kt_set_difference(&arena, manager->fields, removed), changed);
        bool took = write->applied ? !kt_set_equal(fields, manager->fields) || !kt_set_is_empty(lost)
                                   : !kt_set_is_empty(changed);
        manager->fields = fields;
        if (took) {
            ki_rfc3339_seconds(write->now_ms / 1000, now);
            manager->time = ki_str_of(now);
            manager->api_version = write->storage->api_version;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < managers.count && !arena.failed; i++) {
        if (!kt_set_is_empty(managers.list[i].fields))
            managers.list[kept++] = managers.list[i];
    }
    managers.count = kept;
    if (kept) /* no entries: no array */
        qsort(managers.list, kept, sizeof *managers.list, compare);
    if (kept > KT_UPDATE_MANAGERS_MAX)
        cap_updates(&arena, write, &managers);
    for (size_t i = 0; i < managers.count; i++) {
        ki_buffer_append_char(out, i ? ',' : '[');
        append_entry(&managers.list[i], out);
    }
    if (kept)
        ki_buffer_append_char(out, ']');
    if (arena.failed)
        out->failed = KI_ERR_NO_MEMORY;
    kt_arena_free(&arena);
    return out->failed;
}
