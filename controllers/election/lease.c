/* lease.c: reads and writes a Lease; see lease.h. */
#include "controllers/election/lease.h"

#include "src/base/error.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool take_string(yyjson_val *object, const char *name, ki_str *ret_text) {
    *ret_text = ki_json_string(object, name);
    return ki_json_is_string_or_none(object, name);
}

/* Reads an int32 field: larger values become INT32_MAX, negative and absent ones 0. Returns false for another type. */
static bool take_number(yyjson_val *object, const char *name, int64_t *ret_number) {
    yyjson_val *value = yyjson_obj_get(object, name);
    *ret_number = 0;
    if (!value || yyjson_is_null(value))
        return true;
    if (!yyjson_is_int(value))
        return false;
    if (yyjson_is_uint(value) && yyjson_get_uint(value) > INT32_MAX)
        *ret_number = INT32_MAX;
    else if (yyjson_get_sint(value) > 0)
        *ret_number = yyjson_get_sint(value);
    return true;
}

static bool take_fields(ki_lease *lease) {
    yyjson_val *root = yyjson_doc_get_root(lease->doc);
    yyjson_val *spec = yyjson_obj_get(root, "spec");
    ki_lease_record *record = &lease->record;
    lease->resource_version = ki_json_string(yyjson_obj_get(root, "metadata"), "resourceVersion");
    return lease->resource_version.size > 0 && take_string(spec, "holderIdentity", &record->holder) &&
           take_number(spec, "leaseDurationSeconds", &record->duration_s) &&
           take_number(spec, "leaseTransitions", &record->transitions) &&
           take_string(spec, "acquireTime", &record->acquire_time) &&
           take_string(spec, "renewTime", &record->renew_time);
}

ki_status ki_lease_read(const ki_allocator *allocator, ki_str json, ki_lease *ret_lease, ki_error *err) {
    ki_lease lease = { .doc = NULL };
    ki_status status = ki_json_parse(allocator, json, &lease.doc, err);
    if (status == KI_ERR_NO_MEMORY)
        return status;
    if (status || !take_fields(&lease)) {
        ki_lease_clear(&lease);
        return ki_error_set(err, KI_ERR_PROTOCOL, "the server's response is not a Lease with a resource version");
    }
    *ret_lease = lease;
    return KI_OK;
}

void ki_lease_clear(ki_lease *lease) {
    yyjson_doc_free(lease->doc);
    *lease = (ki_lease){ .doc = NULL };
}

bool ki_lease_is_same(const ki_lease *a, const ki_lease *b) {
    const ki_lease_record *one = &a->record, *other = &b->record;
    return ki_str_equal(a->resource_version, b->resource_version) && ki_str_equal(one->holder, other->holder) &&
           one->duration_s == other->duration_s && one->transitions == other->transitions &&
           ki_str_equal(one->acquire_time, other->acquire_time) && ki_str_equal(one->renew_time, other->renew_time);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static yyjson_mut_val *text_of(yyjson_mut_doc *doc, ki_str text) {
    return text.size ? yyjson_mut_strn(doc, text.data, text.size) : yyjson_mut_str(doc, "");
}

static yyjson_mut_val *time_of(yyjson_mut_doc *doc, ki_str text) {
    return text.size ? text_of(doc, text) : yyjson_mut_null(doc);
}

/* Returns the metadata to write, without managedFields: the server keeps its own if a write has none. */
static yyjson_mut_val *metadata_of(yyjson_mut_doc *doc, const ki_lease_place *place, const ki_lease *base) {
    if (base) {
        yyjson_val *metadata = yyjson_obj_get(yyjson_doc_get_root(base->doc), "metadata");
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, metadata);
        yyjson_mut_obj_remove_key(copy, "managedFields");
        return copy;
    }
    yyjson_mut_val *made = yyjson_mut_obj(doc);
    bool is_whole = yyjson_mut_obj_add_str(doc, made, "name", place->name) &&
                    yyjson_mut_obj_add_str(doc, made, "namespace", place->namespace_name);
    return is_whole ? made : NULL;
}

static bool set_spec(yyjson_mut_doc *doc, yyjson_mut_val *spec, const ki_lease_record *record) {
    return yyjson_mut_obj_add_val(doc, spec, "holderIdentity", text_of(doc, record->holder)) &&
           yyjson_mut_obj_add_int(doc, spec, "leaseDurationSeconds", record->duration_s) &&
           yyjson_mut_obj_add_val(doc, spec, "acquireTime", time_of(doc, record->acquire_time)) &&
           yyjson_mut_obj_add_val(doc, spec, "renewTime", time_of(doc, record->renew_time)) &&
           yyjson_mut_obj_add_int(doc, spec, "leaseTransitions", record->transitions);
}

static bool fill(yyjson_mut_doc *doc, const ki_lease_place *place, const ki_lease *base,
                 const ki_lease_record *record) {
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec = yyjson_mut_obj(doc);
    yyjson_mut_val *metadata = metadata_of(doc, place, base);
    yyjson_mut_doc_set_root(doc, root);
    return yyjson_mut_obj_add_str(doc, root, "apiVersion", "coordination.k8s.io/v1") &&
           yyjson_mut_obj_add_str(doc, root, "kind", "Lease") &&
           yyjson_mut_obj_add_val(doc, root, "metadata", metadata) && set_spec(doc, spec, record) &&
           yyjson_mut_obj_add_val(doc, root, "spec", spec);
}

ki_status ki_lease_write(const ki_allocator *allocator, const ki_lease_place *place, const ki_lease *base,
                         const ki_lease_record *record, char **ret_json, size_t *ret_size, ki_error *err) {
    yyjson_alc alc = ki_json_allocator(allocator);
    yyjson_write_err failure = { .code = YYJSON_WRITE_ERROR_MEMORY_ALLOCATION };
    char *json = NULL;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    if (doc && fill(doc, place, base, record))
        json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &alc, ret_size, &failure);
    yyjson_mut_doc_free(doc);
    if (!json && failure.code == YYJSON_WRITE_ERROR_INVALID_STRING)
        return ki_error_set(err, KI_ERR_INVALID, "a Lease's holder or label is not UTF-8");
    if (!json)
        return ki_error_no_memory(err, "writing a Lease");
    *ret_json = json;
    return KI_OK;
}
