/* change.c: create and update, with the real server's order of checks:
 *     kt_change_create ──► check_and_create ──► kt_write_create
 *     kt_change_update ──► check_and_update ──► kt_write_update */
#include "testing/rest/change.h"

#include "src/base/memory.h"
#include "src/base/rfc3339.h"
#include "testing/access/authorize.h"
#include "testing/access/grant.h"
#include "testing/admission/assign.h"
#include "testing/admission/service.h"
#include "testing/admission/unenforced.h"
#include "testing/cluster/cluster_state.h"
#include "testing/cluster/view.h"
#include "testing/crd/custom.h"
#include "testing/kinds/validate_object.h"
#include "testing/kinds/validate_service.h"
#include "testing/request/body.h"
#include "testing/request/status.h"
#include "testing/rest/conform.h"
#include "testing/rest/verbs.h"
#include "testing/schema/defaults.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

enum {
    NAME_SIZE = 256
};

ki_status kt_change_begin(kt_call *call, kt_write *ret_write) {
    *ret_write = (kt_write){ .storage = call->storage,
                             .now_ms = call->now_ms,
                             .manager = kt_call_manager(call),
                             /* The other subresources set their own. */
                             .subresource = ki_str_equals(call->subresource, "approval") ? "approval"
                                            : call->subresource.size                     ? "status"
                                                                                         : "" };
    return kt_call_dry_run(call, &ret_write->dry_run);
}

ki_status kt_change_check_namespace(kt_call *call, ki_str name) {
    if (!call->resource->namespaced)
        return KI_OK;
    const kt_object *ns = kt_storage_get(call->cluster->namespaces, (ki_str){ NULL, 0 }, call->ns);
    if (!ns)
        return kt_fail_not_found(call, KI_NAMESPACES, call->ns);
    if (!ki_str_equals(kt_object_field(ns, KI_STR("status.phase")), "Terminating"))
        return KI_OK;
    const ki_resource *resource = call->resource;
    ki_buffer cause;
    ki_buffer_init(&cause, call->allocator, 0);
    ki_buffer_printf(
        &cause,
        "{\"reason\":\"NamespaceTerminating\",\"message\":\"namespace %.*s is being terminated\",\"field\":"
        "\"metadata.namespace\"}",
        (int)call->ns.size, call->ns.data);
    kt_details details = {
        .name = name, .group = resource->group, .kind = resource->plural, .causes = { cause.data, cause.size }
    };
    ki_status status =
        cause.failed
            ? KI_ERR_NO_MEMORY
            : kt_fail(
                  call, 403, "Forbidden", &details,
                  "%s%s%s \"%.*s\" is forbidden: unable to create new content in namespace %.*s because it is being "
                  "terminated",
                  resource->plural, resource->group[0] ? "." : "", resource->group, (int)name.size, name.data,
                  (int)call->ns.size, call->ns.data);
    ki_buffer_free(&cause);
    return status;
}

/* Returns the body with the defaults of its resource and types as a new document; NULL for custom resources. `uid`: of
 * a new object, which gets its first status too. */
static ki_status with_defaults(kt_call *call, yyjson_val *body, yyjson_val *old_root, ki_str name, const char *uid,
                               yyjson_doc **ret_doc) {
    const kt_storage *storage = call->storage;
    yyjson_alc alc = kt_json_alc(call->allocator);
    if (storage->custom)
        return KI_OK; /* kt_custom_prepare has filled in the defaults */
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    if (!doc)
        return KI_ERR_NO_MEMORY;
    yyjson_mut_val *root =
        storage->defaults ? yyjson_merge_patch(doc, storage->defaults, body) : yyjson_val_mut_copy(doc, body);
    bool is_new = uid && storage->has_status && !(storage->strategy->flags & KT_KEEPS_STATUS);
    ki_status status = root ? kt_assign(call, name, uid, doc, root, old_root) : KI_ERR_NO_MEMORY;
    if (!status && is_new) { /* its first status is that of the defaults */
        char now[KI_RFC3339_SIZE];
        yyjson_val *given = yyjson_obj_get(storage->defaults, "status");
        yyjson_mut_val *first = given ? yyjson_val_mut_copy(doc, given) : NULL, *key = yyjson_mut_str(doc, "status");
        bool fine = first || !given;
        yyjson_mut_obj_remove_key(root, "status");
        if (call->resource == KI_PODS) {
            yyjson_mut_val *qos = yyjson_mut_str(doc, kt_defaults_qos(root));
            fine = fine && yyjson_mut_obj_put(first, yyjson_mut_str(doc, "qosClass"), qos);
        } else if (call->resource == KI_PERSISTENTVOLUMES) {
            ki_rfc3339_seconds(call->now_ms / 1000, now);
            fine = fine && yyjson_mut_obj_add_strcpy(doc, first, "lastPhaseTransitionTime", now);
        }
        if (!fine || (first && !yyjson_mut_obj_add(root, key, first)))
            status = KI_ERR_NO_MEMORY;
    }
    if (!status)
        status = kt_defaults_fill(call->cluster->defaults, &storage->spot, doc, root);
    if (status == KI_ERR_LIMIT)
        status = kt_fail_generic(call, 413);
    else if (!status)
        status = kt_json_freeze(call->allocator, root, ret_doc);
    yyjson_mut_doc_free(doc);
    return status;
}

/* Validates by the kind, or by the custom resource's schema. */
static void validate(kt_call *call, kt_causes *causes, yyjson_val *old_root, yyjson_val *root) {
    const kt_validated given = { .resource = call->resource,
                                 .ns = call->ns,
                                 .is_status = ki_str_equals(call->subresource, "status") };
    if (call->storage->custom)
        kt_custom_validate(causes, call->storage->custom, root, call->subresource.size > 0);
    else if (strcmp(call->resource->kind, "CustomResourceDefinition") == 0)
        kt_crd_validate(causes, call->allocator, root);
    else if (call->subresource.size && call->resource == KI_SERVICES)
        kt_validate_service_status(causes, yyjson_obj_get(root, "spec"), yyjson_obj_get(root, "status"));
    else if (call->subresource.size && call->resource == KI_NAMESPACES)
        kt_validate_namespace_status(causes, root);
    else if (call->subresource.size && call->resource == KI_CERTIFICATESIGNINGREQUESTS)
        kt_validate_csr_status(causes, yyjson_obj_get(old_root, "status"), yyjson_obj_get(root, "status"),
                               ki_str_equals(call->subresource, "approval"));
    else if (!call->subresource.size || given.is_status)
        kt_validate_object(causes, call->allocator, &given, old_root, root);
}

/* Validates an update. Fills in the old object's defaults first, because an object that was put without a request
 * has none. */
static ki_status validate_update(kt_call *call, kt_causes *causes, yyjson_val *old_root, yyjson_val *root) {
    yyjson_doc *full = NULL;
    ki_status status = KI_OK;
    if (!call->subresource.size && kt_validate_knows(call->resource))
        status = with_defaults(call, old_root, old_root, call->name, NULL, &full);
    if (!status)
        validate(call, causes, full ? yyjson_doc_get_root(full) : old_root, root);
    yyjson_doc_free(full);
    return status;
}

static ki_status fail_exists(kt_call *call, kt_object *existing, ki_str name) {
    yyjson_doc *doc = NULL;
    ki_status status = kt_view_read(call->storage, existing, &doc);
    yyjson_val *meta = yyjson_obj_get(yyjson_doc_get_root(doc), "metadata");
    if (!status)
        status = kt_fail_exists(call, call->resource, name, yyjson_obj_get(meta, "deletionTimestamp") != NULL);
    yyjson_doc_free(doc);
    return status;
}

/* Returns the group that an error names. Both groups of events have that of the core. */
static const char *group_of_causes(const kt_call *call) {
    return strcmp(call->resource->group, "events.k8s.io") == 0 ? "" : call->resource->group;
}

static ki_status check_and_create(kt_call *call, const kt_write *write, yyjson_val *root) {
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    ki_str name = kt_json_get_str(meta, "name"), prefix = kt_json_get_str(meta, "generateName");
    ki_str revision = kt_json_get_str(meta, "resourceVersion");
    char generated[NAME_SIZE];
    ki_status status = kt_change_check_namespace(call, name.size ? name : prefix);
    if (!status && call->cluster->auth.rbac)
        status = kt_grant_check(call, root);
    if (!status && call->resource == KI_PODS)
        status = kt_admit_check(call, name.size ? name : prefix, root);
    if (status)
        return status;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    kt_validate_meta(&causes, call->resource, NULL, meta, call->storage->custom ? &call->response->warnings : NULL);
    validate(call, &causes, NULL, root);
    if (causes.count || causes.text.failed)
        return kt_fail_causes(call, &causes, group_of_causes(call), call->resource->kind, name);
    if (call->response->warnings.failed)
        return KI_ERR_NO_MEMORY;
    /* An apply that creates and a dry run ignore it. */
    if (revision.size && !ki_str_equals(revision, "0") && !write->applied && !write->dry_run)
        return kt_fail(call, 500, "", NULL, "resourceVersion should not be set on objects to be created");
    if (!name.size) {
        do
            kt_write_generate_name(call->cluster, prefix, generated, sizeof generated);
        while (kt_storage_get(call->storage, call->ns, ki_str_of(generated)));
        name = ki_str_of(generated);
    }
    if (call->resource == KI_SERVICES && (status = kt_service_check(call, name, root)) != KI_OK)
        return status;
    kt_object *existing = kt_storage_get(call->storage, call->ns, name);
    if (existing)
        return fail_exists(call, existing, name);
    char uid[KT_UID_SIZE];
    yyjson_doc *full = NULL;
    kt_object *obj = NULL;
    kt_write_make_uid(call->cluster, uid);
    status = kt_unenforced_warn(call, root);
    if (!status)
        status = with_defaults(call, root, NULL, name, uid, &full);
    yyjson_val *body = full ? yyjson_doc_get_root(full) : root;
    bool has_status = full || !call->storage->has_status || (call->storage->strategy->flags & KT_KEEPS_STATUS);
    if (!status)
        status = kt_write_create(write, call->ns, name, uid, body, has_status ? body : NULL, &obj);
    if (!status)
        status = kt_call_done_object(call, 201, obj);
    kt_object_unref(obj);
    yyjson_doc_free(full);
    return status;
}

/* Checks that an update of a custom resource has a resourceVersion. */
static ki_status check_conditional(kt_call *call, yyjson_val *meta) {
    kt_causes causes;
    ki_str version = kt_json_get_str(meta, "resourceVersion");
    if (!(call->storage->strategy->flags & KT_NEEDS_VERSION) || (version.size && !ki_str_equals(version, "0")))
        return KI_OK;
    kt_causes_init(&causes, call->allocator);
    kt_causes_add_value(&causes, KT_CAUSE_INVALID, "metadata.resourceVersion", KI_STR("0"), false,
                        "must be specified for an update");
    return kt_fail_causes(call, &causes, call->resource->group, call->resource->plural, call->name);
}

ki_status kt_change_check_name(kt_call *call, yyjson_val *root) {
    ki_str name = kt_json_get_str(yyjson_obj_get(root, "metadata"), "name");
    if (!name.size)
        return kt_fail_bad_request(
            call, "the name of the object (%.*s based on URL) was undeterminable: name must be provided",
            (int)call->name.size, call->name.data);
    if (!ki_str_equal(name, call->name))
        return kt_fail_bad_request(call, "the name of the object (%.*s) does not match the name on the URL (%.*s)",
                                   (int)name.size, name.data, (int)call->name.size, call->name.data);
    return KI_OK;
}

/* Responds 409: the object does not have the uid of the request. */
static ki_status fail_uid(kt_call *call, ki_str uid, ki_str found) {
    const char *slash = call->ns.size ? "/" : "", *group = call->storage->custom ? call->resource->group : "";
    return kt_fail_conflict(
        call, call->resource->plural, call->name,
        "StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%.*s%s%.*s, ResourceVersion: "
        "0, AdditionalErrorMsg: Precondition failed: UID in precondition: %.*s, UID in object meta: "
        "%.*s",
        group, group[0] ? "/" : "", call->resource->plural, (int)call->ns.size, call->ns.size ? call->ns.data : "",
        slash, (int)call->name.size, call->name.data, (int)uid.size, uid.data, (int)found.size, found.data);
}

static ki_status check_identity(kt_call *call, const kt_object *old, yyjson_val *meta) {
    ki_str uid = kt_json_get_str(meta, "uid"), revision = kt_json_get_str(meta, "resourceVersion");
    uint64_t number = 0;
    bool is_number = !revision.size || ki_str_to_uint64(revision, UINT64_MAX, &number);
    if (!is_number && strcmp(call->request->method, "PATCH") == 0)
        return kt_fail(call, 500, "", NULL, "strconv.ParseUint: parsing \"%.*s\": invalid syntax", (int)revision.size,
                       revision.data);
    if (!is_number)
        return kt_fail_bad_request(call,
                                   "resourceVersion: Invalid value: \"%.*s\": strconv.ParseUint: parsing \"%.*s\": "
                                   "invalid syntax",
                                   (int)revision.size, revision.data, (int)revision.size, revision.data);
    if (uid.size && !ki_str_equal(uid, old->uid) && strcmp(call->request->method, "PUT") == 0)
        return fail_uid(call, uid, old->uid);
    if (number && number != old->revision)
        return kt_fail_conflict(call, call->resource->plural, call->name,
                                "the object has been modified; please apply your changes to the latest version and try "
                                "again");
    return KI_OK;
}

static ki_status check_and_update(kt_call *call, const kt_write *write, kt_object *old, yyjson_val *old_root,
                                  yyjson_val *root) {
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    ki_status status = check_identity(call, old, meta);
    if (!status)
        status = check_conditional(call, meta);
    if (!status && call->cluster->auth.rbac)
        status = kt_grant_check(call, root);
    if (status)
        return status;
    kt_causes causes;
    kt_causes_init(&causes, call->allocator);
    kt_validate_meta(&causes, call->resource, yyjson_obj_get(old_root, "metadata"), meta,
                     call->storage->custom ? &call->response->warnings : NULL);
    status = validate_update(call, &causes, old_root, root);
    if (!status)
        status = call->response->warnings.failed;
    if (status) {
        kt_causes_free(&causes);
        return status;
    }
    status = kt_fail_causes(call, &causes, group_of_causes(call), call->resource->kind, call->name);
    if (!status && call->resource == KI_SERVICES && !call->subresource.size)
        status = kt_service_check(call, call->name, root);
    if (!status)
        status = kt_unenforced_warn(call, root);
    if (status)
        return status;
    yyjson_val *status_root = call->subresource.size || !call->storage->has_status ? root : old_root;
    yyjson_doc *unbalanced = NULL; /* only a service with a load balancer has its status */
    if (call->resource == KI_SERVICES && !call->subresource.size &&
        !yyjson_equals_str(yyjson_obj_get(yyjson_obj_get(root, "spec"), "type"), "LoadBalancer")) {
        status = kt_json_read(call->allocator, KI_STR("{\"status\":{\"loadBalancer\":{}}}"), &unbalanced, NULL);
        if (status)
            return status;
        status_root = yyjson_doc_get_root(unbalanced);
    }
    kt_object *obj = NULL;
    kt_object_ref(old); /* the history can drop the old object during the update */
    status = kt_write_update(write, old, old_root, root, status_root, &obj);
    if (!status)
        status = kt_call_done_object(call, 200, obj);
    yyjson_doc_free(unbalanced);
    kt_object_unref(obj);
    kt_object_unref(old);
    return status;
}

/* Sets a member to a copy of `val`, or removes it if `val` is NULL. */
static bool put_copy(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, yyjson_val *val) {
    yyjson_mut_val *copy = val ? yyjson_val_mut_copy(doc, val) : NULL;
    if (!val)
        yyjson_mut_obj_remove_key(obj, name);
    return !val || (copy && yyjson_mut_obj_put(obj, yyjson_mut_str(doc, name), copy));
}

/* Sets `*ret_doc` to the old object with what a status update can change: the status, and metadata as the strategy
 * says. */
static ki_status take_status(kt_call *call, yyjson_val *old_root, yyjson_val *root, yyjson_doc **ret_doc) {
    static const struct {
        const char *name;
        unsigned kept_by;
    } members[] = {
        { "resourceVersion", 0 },
        { "uid", 0 },
        { "managedFields", 0 },
        { "labels", KT_STATUS_ONLY | KT_STATUS_NO_LABELS },
        { "annotations", KT_STATUS_ONLY },
        { "ownerReferences", KT_STATUS_ONLY | KT_STATUS_NO_OWNERS },
        { "finalizers", KT_STATUS_ONLY },
    };
    /* An update cannot remove them. Another value is an error of kt_validate_meta. */
    static const char *const deletion[] = { "deletionTimestamp", "deletionGracePeriodSeconds" };
    unsigned flags = call->storage->strategy->flags;
    yyjson_alc alc = kt_json_alc(call->allocator);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    if (!doc)
        return KI_ERR_NO_MEMORY;
    yyjson_mut_val *made = yyjson_val_mut_copy(doc, old_root), *part = yyjson_mut_obj(doc);
    yyjson_val *meta = yyjson_obj_get(root, "metadata");
    bool fine = made && part && put_copy(doc, part, "status", yyjson_obj_get(root, "status"));
    ki_status status = fine ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status && !call->storage->custom) /* of the status alone: the old object stays as it is */
        status = kt_defaults_fill(call->cluster->defaults, &call->storage->spot, doc, part);
    fine = !status;
    yyjson_mut_val *filled = fine ? yyjson_mut_obj_remove_key(part, "status") : NULL;
    if (fine)
        yyjson_mut_obj_remove_key(made, "status");
    if (filled)
        fine = yyjson_mut_obj_put(made, yyjson_mut_str(doc, "status"), filled);
    /* A patch of a custom resource's status ignores the uid. */
    bool ignores_uid = call->storage->custom && strcmp(call->request->method, "PATCH") == 0;
    for (size_t i = 0; fine && i < sizeof members / sizeof members[0]; i++) {
        if (!(flags & members[i].kept_by) && !(ignores_uid && strcmp(members[i].name, "uid") == 0))
            fine = put_copy(doc, yyjson_mut_obj_get(made, "metadata"), members[i].name,
                            yyjson_obj_get(meta, members[i].name));
    }
    for (size_t i = 0; fine && i < sizeof deletion / sizeof deletion[0]; i++) {
        yyjson_val *given = yyjson_obj_get(meta, deletion[i]);
        bool is_ignored = flags & (i == 0 ? KT_STATUS_ONLY | KT_STATUS_NO_OWNERS : KT_STATUS_ONLY);
        if (given && !is_ignored)
            fine = put_copy(doc, yyjson_mut_obj_get(made, "metadata"), deletion[i], given);
    }
    if (!status)
        status = fine ? kt_json_freeze(call->allocator, made, ret_doc) : KI_ERR_NO_MEMORY;
    yyjson_mut_doc_free(doc);
    return status == KI_ERR_LIMIT ? kt_fail_generic(call, 413) : status;
}

static ki_status prepare_custom(kt_call *call, const kt_write *write, yyjson_val *root, yyjson_doc **ret_doc) {
    ki_status status = kt_custom_prepare(call->storage->custom, root, write->applied != NULL, ret_doc);
    return status == KI_ERR_LIMIT ? kt_fail_generic(call, 413) : status;
}

ki_status kt_change_create(kt_call *call, const kt_write *write, yyjson_val *root) {
    yyjson_doc *prepared = NULL;
    ki_status status = kt_body_check_namespace(call, root);
    if (!status && call->storage->custom)
        status = prepare_custom(call, write, root, &prepared);
    if (!status)
        status = check_and_create(call, write, prepared ? yyjson_doc_get_root(prepared) : root);
    yyjson_doc_free(prepared);
    return status;
}

/* Sets `*ret_doc` to what the update stores of `root` if it is not the body itself. */
static ki_status prepare_update(kt_call *call, const kt_write *write, yyjson_val *old_root, yyjson_val *root,
                                yyjson_doc **ret_doc) {
    yyjson_doc *conformed = NULL;
    ki_status status = KI_OK;
    if (call->storage->custom)
        status = prepare_custom(call, write, root, &conformed);
    else if (!call->subresource.size)
        status = with_defaults(call, root, old_root, call->name, NULL, &conformed);
    if (status || !call->subresource.size) {
        *ret_doc = conformed;
        return status;
    }
    status = take_status(call, old_root, conformed ? yyjson_doc_get_root(conformed) : root, ret_doc);
    yyjson_doc_free(conformed);
    return status;
}

ki_status kt_change_update(kt_call *call, const kt_write *write, kt_object *old, yyjson_val *old_root,
                           yyjson_val *root) {
    yyjson_doc *prepared = NULL;
    ki_status status = kt_body_check_namespace(call, root);
    if (!status)
        status = kt_change_check_name(call, root);
    bool creates = !call->subresource.size && (call->storage->strategy->flags & KT_CREATES_ON_UPDATE);
    ki_str uid = kt_json_get_str(yyjson_obj_get(root, "metadata"), "uid");
    if (!status && !old && creates && strcmp(call->request->method, "PUT") == 0) {
        status = kt_auth_check_create(call);
        if (!status && uid.size)
            status = fail_uid(call, uid, KI_STR(""));
        return status ? status : kt_change_create(call, write, root);
    }
    if (!status && !old)
        status = kt_fail_not_found(call, call->resource, call->name);
    if (!status)
        status = prepare_update(call, write, old_root, root, &prepared);
    if (!status)
        status = check_and_update(call, write, old, old_root, prepared ? yyjson_doc_get_root(prepared) : root);
    yyjson_doc_free(prepared);
    return status;
}

ki_status kt_verb_create(kt_call *call) {
    kt_write write;
    yyjson_doc *doc = NULL;
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_change_begin(call, &write);
    if (!status)
        status = kt_body_read(call, &doc);
    if (!status)
        status = kt_conform(call, KT_ORIGIN_BODY, NULL, &doc);
    if (!status)
        status = kt_change_create(call, &write, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return status;
}

ki_status kt_verb_update(kt_call *call) {
    kt_write write;
    yyjson_doc *doc = NULL, *old_doc = NULL;
    ki_status status = kt_call_negotiate(call, true);
    if (!status)
        status = kt_change_begin(call, &write);
    if (!status)
        status = kt_body_read(call, &doc);
    if (!status)
        status = kt_conform(call, KT_ORIGIN_BODY, NULL, &doc);
    kt_object *old = status ? NULL : kt_storage_get(call->storage, call->ns, call->name);
    if (old)
        status = kt_view_read(call->storage, old, &old_doc);
    if (!status)
        status = kt_change_update(call, &write, old, yyjson_doc_get_root(old_doc), yyjson_doc_get_root(doc));
    yyjson_doc_free(old_doc);
    yyjson_doc_free(doc);
    return status;
}
