/* managed_fields.c: who set which fields. A set of fields is a tree: {"f:spec":{"f:replicas":{}}}; a list is one field. */
#include "testing/managed_fields.h"

#include "src/base/memory.h"
#include "testing/cluster_state.h"
#include "testing/json.h"

/* What the server sets, and what names the object, belongs to nobody. */
static bool is_nobodys(yyjson_val *key, bool in_meta) {
    static const char *const top[] = { "kind", "apiVersion" };
    static const char *const meta[] = { "name",
                                        "namespace",
                                        "uid",
                                        "resourceVersion",
                                        "generation",
                                        "selfLink",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "managedFields" };
    const char *const *names = in_meta ? meta : top;
    size_t count = in_meta ? sizeof meta / sizeof meta[0] : sizeof top / sizeof top[0];
    for (size_t i = 0; i < count; i++) {
        if (yyjson_equals_str(key, names[i]))
            return true;
    }
    return false;
}

/* Status belongs to its subresource, where there is one, and nothing but status and metadata does. */
static bool is_elsewhere(const kt_write *write, yyjson_val *key) {
    bool is_status = yyjson_equals_str(key, "status");
    if (strcmp(write->subresource, "status") == 0)
        return !is_status && !yyjson_equals_str(key, "metadata");
    return is_status && kt_write_has_status(write->storage->info);
}

/* The fields of `val` that are not the same in `old`, as members of an object; true where there was any. */
static bool append_changed(const kt_write *write, ki_buffer *out, yyjson_val *old, yyjson_val *val, int depth) {
    size_t index, count;
    yyjson_val *key, *member;
    bool any = false;
    yyjson_obj_foreach(val, index, count, key, member) {
        if ((depth <= 1 && is_nobodys(key, depth == 1)) || (depth == 0 && is_elsewhere(write, key)))
            continue;
        yyjson_val *before = yyjson_obj_getn(old, yyjson_get_str(key), yyjson_get_len(key));
        if (kt_json_equal(before, member) ||
            (depth == 1 && !before && yyjson_is_ctn(member) && !yyjson_get_len(member)))
            continue;
        size_t mark = out->size;
        if (any)
            ki_buffer_append_char(out, ',');
        ki_buffer_append_string(out, "\"f:");
        size_t quote = out->size;
        ki_buffer_append_json_string(out, kt_json_str(key));
        if (out->failed)
            return false;
        memmove(out->data + quote, out->data + quote + 1, out->size - quote - 1); /* its opening quote */
        out->size--;
        ki_buffer_append_string(out, ":{");
        bool is_meta = depth == 0 && yyjson_equals_str(key, "metadata");
        bool inner = yyjson_is_obj(member) && append_changed(write, out, before, member, is_meta ? 1 : 2);
        if (is_meta && !inner) {
            out->size = mark;
            continue;
        }
        ki_buffer_append_char(out, '}');
        any = true;
    }
    return any;
}

/* Is this the entry that the write belongs to? */
static bool is_own(const kt_write *write, yyjson_val *entry) {
    return ki_str_equal(kt_json_get_str(entry, "manager"), write->manager) &&
           ki_str_equals(kt_json_get_str(entry, "operation"), write->applied ? "Apply" : "Update") &&
           ki_str_equals(kt_json_get_str(entry, "subresource"), write->subresource);
}

static yyjson_val *find_own(const kt_write *write, yyjson_val *entries) {
    yyjson_val *entry;
    size_t index, count;
    yyjson_arr_foreach(entries, index, count, entry) {
        if (is_own(write, entry))
            return entry;
    }
    return NULL;
}

/* Has the entry exactly these fields? */
static bool is_same_set(yyjson_val *own, const ki_buffer *fields) {
    yyjson_val *before = yyjson_obj_get(own, "fieldsV1");
    if (!before || fields->failed)
        return false;
    ki_buffer text;
    ki_buffer_init(&text, fields->allocator, 0);
    ki_status status = kt_json_append(&text, before);
    bool same = !status && ki_str_equal((ki_str){ text.data, text.size }, (ki_str){ fields->data, fields->size });
    ki_buffer_free(&text);
    return same;
}

static ki_status append_entry(const kt_write *write, yyjson_val *own, ki_str fields, ki_buffer *out) {
    char now[KT_TIME_SIZE];
    kt_format_time(write->now_ms, now);
    ki_buffer_append_string(out, "{\"manager\":");
    ki_buffer_append_json_string(out, write->manager);
    ki_buffer_printf(out, ",\"operation\":\"%s\",\"apiVersion\":\"", write->applied ? "Apply" : "Update");
    kt_append_api_version(out, write->storage->info->resource);
    ki_buffer_printf(out, "\",\"time\":\"%s\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":", now);
    yyjson_val *before = write->applied ? NULL : yyjson_obj_get(own, "fieldsV1");
    if (before) { /* what it set now joins what it had set: a merge patch without nulls is the union */
        yyjson_doc *doc = NULL;
        yyjson_alc alc = kt_json_alc(out->allocator);
        ki_status status = kt_json_read(out->allocator, fields, &doc, NULL);
        yyjson_mut_doc *both = status ? NULL : yyjson_mut_doc_new(&alc);
        yyjson_mut_val *merged = both ? yyjson_merge_patch(both, before, yyjson_doc_get_root(doc)) : NULL;
        if (merged)
            kt_json_append_mut(out, merged);
        else
            out->failed = KI_ERR_NO_MEMORY;
        yyjson_mut_doc_free(both);
        yyjson_doc_free(doc);
    } else {
        ki_buffer_append_view(out, fields);
    }
    if (write->subresource[0])
        ki_buffer_printf(out, ",\"subresource\":\"%s\"", write->subresource);
    return ki_buffer_append_char(out, '}');
}

ki_status kt_managed_fields_write(const kt_write *write, yyjson_val *previous, yyjson_val *old_root, yyjson_val *root,
                                  ki_buffer *out) {
    ki_buffer fields;
    ki_buffer_init(&fields, out->allocator, 0);
    ki_buffer_append_char(&fields, '{');
    bool any =
        append_changed(write, &fields, write->applied ? NULL : old_root, write->applied ? write->applied : root, 0);
    ki_buffer_append_char(&fields, '}');
    if (fields.failed)
        out->failed = fields.failed;

    yyjson_val *own = find_own(write, previous), *entry;
    bool rewrite = write->applied ? !is_same_set(own, &fields) : any;
    size_t index, count, start = out->size;
    ki_buffer_append_char(out, '[');
    yyjson_arr_foreach(previous, index, count, entry) {
        if (rewrite && entry == own)
            continue; /* written anew, last */
        if (out->size > start + 1)
            ki_buffer_append_char(out, ',');
        kt_json_append(out, entry);
    }
    if (rewrite) {
        if (out->size > start + 1)
            ki_buffer_append_char(out, ',');
        append_entry(write, own, (ki_str){ fields.data, fields.size }, out);
    }
    if (out->size == start + 1) { /* nobody set anything: no list */
        out->size = start;
        ki_buffer_free(&fields);
        return out->failed;
    }
    ki_buffer_append_char(out, ']');
    ki_buffer_free(&fields);
    return out->failed;
}

yyjson_val *kt_managed_fields_applied(yyjson_val *root, ki_str manager) {
    yyjson_val *entry, *list = yyjson_obj_get(yyjson_obj_get(root, "metadata"), "managedFields");
    size_t index, count;
    yyjson_arr_foreach(list, index, count, entry) {
        if (ki_str_equal(kt_json_get_str(entry, "manager"), manager) &&
            ki_str_equals(kt_json_get_str(entry, "operation"), "Apply") && !yyjson_obj_get(entry, "subresource"))
            return yyjson_obj_get(entry, "fieldsV1");
    }
    return NULL;
}
