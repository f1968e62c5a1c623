/* write.c: see write.h. */
#include "testing/cluster/write.h"

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/managed_fields.h"
#include "testing/values/equal.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    NAME_SUFFIX = 5,
    GENERATED_PREFIX_MAX = 58
};

void kt_write_generate_name(kt_cluster *cluster, ki_str prefix, char *ret_name, size_t size) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    char suffix[NAME_SUFFIX + 1];
    uint64_t random = kt_cluster_random(cluster);
    for (size_t i = 0; i < NAME_SUFFIX; i++, random /= sizeof letters - 1)
        suffix[i] = letters[random % (sizeof letters - 1)];
    suffix[NAME_SUFFIX] = '\0';
    int kept = (int)(prefix.size < GENERATED_PREFIX_MAX ? prefix.size : GENERATED_PREFIX_MAX);
    snprintf(ret_name, size, "%.*s%s", kept, prefix.data, suffix);
}

void kt_write_make_uid(kt_cluster *cluster, char uid[KT_UID_SIZE]) { /* RFC 9562 version 4 */
    uint64_t a = kt_cluster_random(cluster), b = kt_cluster_random(cluster);
    snprintf(uid, KT_UID_SIZE, "%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64, a >> 32,
             (a >> 16) & 0xffff, a & 0xfff, ((b >> 48) & 0x3fff) | 0x8000, b & 0xffffffffffff);
}

void kt_write_meta_from(kt_meta *meta, yyjson_val *given) {
    meta->generate_name = kt_json_get_str(given, "generateName");
    meta->labels = yyjson_obj_get(given, "labels");
    meta->annotations = yyjson_obj_get(given, "annotations");
    meta->owner_references = yyjson_obj_get(given, "ownerReferences");
    meta->finalizers = yyjson_obj_get(given, "finalizers");
}

/* Writes managedFields: updated for a manager, otherwise as the client sent them. */
static ki_status managed(const kt_write *write, yyjson_val *previous, yyjson_val *old_root, yyjson_val *root,
                         ki_buffer *out, ki_str *ret_text) {
    if (write->manager.size)
        kt_managed_fields_write(write, previous, old_root, root, out);
    else if (yyjson_is_arr(previous) && yyjson_arr_size(previous))
        kt_json_append(out, previous);
    *ret_text = (ki_str){ out->data, out->size };
    return out->failed;
}

ki_status kt_write_store(const kt_write *write, kt_event_type type, const kt_meta *meta, yyjson_val *root,
                         yyjson_val *status_root, kt_object **ret_obj) {
    KT_HOLDS(write->storage->cluster);
    kt_cluster *cluster = write->storage->cluster;
    kt_object *obj;
    uint64_t revision = cluster->revision + (write->dry_run ? 0 : 1);
    ki_status status = kt_object_new(write->storage, meta, root, status_root, revision, &cluster->scratch, &obj);
    if (status)
        return status;
    if (!write->dry_run) {
        status = kt_storage_commit(write->storage, type, obj, write->now_ms);
        if (status) {
            kt_object_unref(obj);
            return status;
        }
        kt_object_ref(obj);
    }
    *ret_obj = obj;
    return KI_OK;
}

uint64_t kt_write_first_generation(const kt_storage *storage, yyjson_val *given) {
    return storage->strategy->counts != KT_COUNTS_NOTHING ? 1 : yyjson_get_uint(yyjson_obj_get(given, "generation"));
}

ki_status kt_write_create(const kt_write *write, ki_str ns, ki_str name, const char *uid, yyjson_val *root,
                          yyjson_val *status_root, kt_object **ret_obj) {
    kt_cluster *cluster = write->storage->cluster;
    char made[KT_UID_SIZE], created[KI_RFC3339_SIZE];
    if (!uid) {
        kt_write_make_uid(cluster, made);
        uid = made;
    }
    ki_rfc3339_seconds(write->now_ms / 1000, created);
    yyjson_val *given = yyjson_obj_get(root, "metadata");
    kt_meta meta = { .name = name, .ns = ns, .uid = ki_str_of(uid), .created = ki_str_of(created), .grace = -1 };
    kt_write_meta_from(&meta, given);
    meta.generation = kt_write_first_generation(write->storage, given);
    ki_buffer fields;
    ki_buffer_init(&fields, &cluster->allocator, 0);
    ki_status status =
        managed(write, yyjson_obj_get(given, "managedFields"), NULL, root, &fields, &meta.managed_fields);
    if (!status)
        status = kt_write_store(write, KT_ADDED, &meta, root, status_root, ret_obj);
    ki_buffer_free(&fields);
    return status;
}

static bool is_spec(const kt_entry *member) {
    static const char *const skipped[] = { "kind", "apiVersion", "metadata", "status" };
    for (size_t i = 0; i < sizeof skipped / sizeof skipped[0]; i++) {
        if (ki_str_equals(member->name, skipped[i]))
            return false;
    }
    return true;
}

/* Returns true if both are equal except for metadata, status, kind and apiVersion. */
static bool same_spec(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    kt_index left, right;
    kt_index_members(arena, a, &left);
    kt_index_members(arena, b, &right);
    for (size_t i = 0, k = 0; i < left.count || k < right.count; i++, k++) {
        while (i < left.count && !is_spec(left.sorted[i]))
            i++;
        while (k < right.count && !is_spec(right.sorted[k]))
            k++;
        if (i >= left.count || k >= right.count)
            return i >= left.count && k >= right.count;
        const kt_entry *one = left.sorted[i], *other = right.sorted[k];
        if (!ki_str_equal(one->name, other->name) || !kt_equal(arena, one->val, other->val))
            return false;
    }
    return true;
}

/* Returns true for equal values. The server treats an absent value, null, {} and [] as equal. */
static bool same_value(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    bool no_a = !a || yyjson_is_null(a) || (yyjson_is_ctn(a) && yyjson_get_len(a) == 0);
    bool no_b = !b || yyjson_is_null(b) || (yyjson_is_ctn(b) && yyjson_get_len(b) == 0);
    return no_a || no_b ? no_a == no_b : kt_equal(arena, a, b);
}

static bool same_meta(kt_arena *arena, yyjson_val *a, yyjson_val *b) {
    static const char *const kept[] = { "labels", "annotations", "ownerReferences", "finalizers" };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (!same_value(arena, yyjson_obj_get(a, kept[i]), yyjson_obj_get(b, kept[i])))
            return false;
    }
    return true;
}

/* Returns true if metadata.generation counts this change. */
static bool is_counted(const kt_write *write, kt_arena *arena, yyjson_val *old_meta, yyjson_val *new_meta,
                       bool spec_same, bool status_same) {
    const kt_storage *storage = write->storage;
    kt_counts counts = storage->strategy->counts;
    const char *more = counts == KT_COUNTS_LABELS ? "labels" : counts == KT_COUNTS_ANNOTATIONS ? "annotations" : NULL;
    if (counts < KT_COUNTS_SPEC || strcmp(write->subresource, "status") == 0 ||
        strcmp(write->subresource, "binding") == 0)
        return false;
    if (!spec_same || (!status_same && storage->custom && !storage->has_status))
        return true;
    return more && !same_value(arena, yyjson_obj_get(old_meta, more), yyjson_obj_get(new_meta, more));
}

/* Sets `*ret_is` to true if the JSON of `entries` equals `text`, with which `space` begins. */
static ki_status is_text_of(yyjson_val *entries, ki_str text, ki_buffer *space, bool *ret_is) {
    size_t start = space->size;
    if (yyjson_is_arr(entries) && yyjson_arr_size(entries))
        kt_json_append(space, entries);
    if (space->failed)
        return space->failed;
    *ret_is = space->size - start == text.size &&
              (text.size == 0 || memcmp(space->data, space->data + start, text.size) == 0);
    return KI_OK;
}

/* Removes an object whose update takes the last finalizer away. As in the real server, the result is the updated
 * object, with the resource version before the deletion. */
static ki_status remove_updated(const kt_write *write, kt_object *old, const kt_meta *meta, yyjson_val *root,
                                yyjson_val *status_root, kt_object **ret_obj) {
    kt_cluster *cluster = write->storage->cluster;
    kt_object *updated = NULL, *last = NULL;
    ki_status status =
        kt_object_new(write->storage, meta, root, status_root, old->revision, &cluster->scratch, &updated);
    if (!status)
        status = kt_write_remove(write, old, &last);
    kt_object_unref(last);
    if (status)
        kt_object_unref(updated);
    else
        *ret_obj = updated;
    return status;
}

ki_status kt_write_update(const kt_write *write, kt_object *old, yyjson_val *old_root, yyjson_val *root,
                          yyjson_val *status_root, kt_object **ret_obj) {
    kt_cluster *cluster = write->storage->cluster;
    yyjson_val *old_meta = yyjson_obj_get(old_root, "metadata");
    yyjson_val *new_meta = yyjson_obj_get(root, "metadata");
    kt_arena arena;
    kt_arena_init(&arena, &cluster->allocator);
    bool spec_same = same_spec(&arena, old_root, root);
    bool status_same = same_value(&arena, yyjson_obj_get(old_root, "status"), yyjson_obj_get(status_root, "status"));
    bool counts = is_counted(write, &arena, old_meta, new_meta, spec_same, status_same);
    bool same = spec_same && status_same && same_meta(&arena, old_meta, new_meta);
    bool compared = !arena.failed;
    kt_arena_free(&arena);
    if (!compared)
        return KI_ERR_NO_MEMORY;
    kt_meta meta = { .name = old->name, .ns = old->ns, .uid = old->uid, .generation = old->generation, .grace = -1 };
    kt_write_meta_from(&meta, new_meta);
    meta.created = kt_json_get_str(old_meta, "creationTimestamp");
    meta.deleted = kt_json_get_str(old_meta, "deletionTimestamp");
    yyjson_val *grace = yyjson_obj_get(old_meta, "deletionGracePeriodSeconds");
    if (grace)
        meta.grace = yyjson_get_sint(grace);
    if (counts)
        meta.generation++;
    bool removes = meta.deleted.size && yyjson_arr_size(meta.finalizers) == 0 &&
                   (!kt_write_is_namespace(write) ||
                    yyjson_arr_size(yyjson_obj_get(yyjson_obj_get(root, "spec"), "finalizers")) == 0);
    ki_buffer fields;
    ki_buffer_init(&fields, &cluster->allocator, 0);
    yyjson_val *previous = yyjson_obj_get(write->manager.size ? old_meta : new_meta, "managedFields");
    ki_status status = managed(write, previous, old_root, root, &fields, &meta.managed_fields);
    if (!status && same)
        status = is_text_of(yyjson_obj_get(old_meta, "managedFields"), meta.managed_fields, &fields, &same);
    meta.managed_fields.data = fields.data; /* the buffer may have moved */
    if (!status && removes)
        status = remove_updated(write, old, &meta, root, status_root, ret_obj);
    else if (!status && same)
        *ret_obj = kt_object_ref(old);
    else if (!status)
        status = kt_write_store(write, KT_MODIFIED, &meta, root, status_root, ret_obj);
    ki_buffer_free(&fields);
    return status;
}
