/* assign.c: see assign.h. */
#include "testing/admission/assign.h"

#include "testing/admission/service.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"
#include "testing/values/json.h"

#include <inttypes.h>

/* Sets the label kubernetes.io/metadata.name of a namespace. A body without metadata stays as it is: the check of its
 * name rejects it. */
static bool label_namespace(yyjson_mut_doc *doc, yyjson_mut_val *root, ki_str name) {
    yyjson_mut_val *meta = yyjson_mut_obj_get(root, "metadata");
    if (!meta)
        return true;
    yyjson_mut_val *labels = yyjson_mut_obj_get(meta, "labels");
    if (!yyjson_mut_is_obj(labels)) {
        labels = yyjson_mut_obj(doc);
        if (!yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "labels"), labels))
            return false;
    }
    return yyjson_mut_obj_put(labels, yyjson_mut_str(doc, "kubernetes.io/metadata.name"),
                              yyjson_mut_strncpy(doc, name.data, name.size));
}

/* Keeps a namespace's spec, which only the subresource finalize can change. */
static bool keep_namespace_spec(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old_root) {
    yyjson_val *spec = yyjson_obj_get(old_root, "spec");
    return !spec || yyjson_mut_obj_put(root, yyjson_mut_str(doc, "spec"), yyjson_val_mut_copy(doc, spec));
}

/* Returns the object at `key` and creates it if there is none; NULL without memory or if the member is no object. */
static yyjson_mut_val *object_at(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, key);
    if (yyjson_mut_is_obj(val))
        return val;
    val = yyjson_mut_obj(doc);
    return val && yyjson_mut_obj_put(obj, yyjson_mut_str(doc, key), val) ? val : NULL;
}

static bool put_text(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, ki_str text) {
    return yyjson_mut_obj_put(obj, yyjson_mut_str(doc, key), yyjson_mut_strncpy(doc, text.data, text.size));
}

/* Sets the selector of a new job and the labels of its pods. */
static bool select_pods(yyjson_mut_doc *doc, yyjson_mut_val *spec, yyjson_mut_val *labels, ki_str name, ki_str uid) {
    static const char *const names[] = { "batch.kubernetes.io/job-name", "job-name" };
    static const char *const uids[] = { "batch.kubernetes.io/controller-uid", "controller-uid" };
    yyjson_mut_val *selector = object_at(doc, spec, "selector");
    yyjson_mut_val *matches = selector ? object_at(doc, selector, "matchLabels") : NULL;
    bool fine = labels && matches && put_text(doc, matches, uids[0], uid);
    for (size_t i = 0; fine && i < 2; i++)
        fine = put_text(doc, labels, uids[i], uid) &&
               (yyjson_mut_obj_get(labels, names[i]) || put_text(doc, labels, names[i], name));
    return fine;
}

/* Sets what the server sets in a new job. A job without labels has those of its pods. */
static bool complete_job(yyjson_mut_doc *doc, yyjson_mut_val *root, ki_str name, const char *uid) {
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec"), *template = yyjson_mut_obj_get(spec, "template"),
                   *meta = yyjson_mut_obj_get(root, "metadata");
    if (!yyjson_mut_is_obj(template) || !yyjson_mut_is_obj(meta))
        return true;
    bool is_manual = yyjson_mut_is_true(yyjson_mut_obj_get(spec, "manualSelector"));
    yyjson_mut_val *pod_meta = object_at(doc, template, "metadata");
    yyjson_mut_val *labels = pod_meta ? object_at(doc, pod_meta, "labels") : NULL;
    if (!labels || (!is_manual && !select_pods(doc, spec, labels, name, ki_str_of(uid))))
        return false;
    if (yyjson_mut_obj_size(yyjson_mut_obj_get(meta, "labels")) || !yyjson_mut_obj_size(labels))
        return true;
    return yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "labels"), yyjson_mut_val_mut_copy(doc, labels));
}

static bool is_of(yyjson_mut_val *source, const char *group, const char *kind) {
    yyjson_mut_val *given = yyjson_mut_obj_get(source, "apiGroup");
    return yyjson_mut_equals_str(yyjson_mut_obj_get(source, "kind"), kind) &&
           (yyjson_mut_equals_str(given, group) || (!group[0] && (!given || yyjson_mut_is_null(given))));
}

/* Completes the two fields that name the source of a claim's data: each has what the other says. Removes sources that
 * the server does not support: of other kinds, and in other namespaces. */
static bool complete_claim(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old_root) {
    static const char first[] = "dataSource", second[] = "dataSourceRef", ns[] = "namespace";
    yyjson_val *old = yyjson_obj_get(old_root, "spec");
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    if (!yyjson_mut_is_obj(spec) ||
        kt_json_has(old, first) != kt_json_has(old, second)) /* written by the program itself */
        return true;
    yyjson_mut_val *source = yyjson_mut_obj_get(spec, first), *ref = yyjson_mut_obj_get(spec, second);
    bool is_foreign = yyjson_mut_get_len(yyjson_mut_obj_get(ref, ns)) > 0;
    if (source && !kt_json_has(old, first) && !is_of(source, "", "PersistentVolumeClaim") &&
        !is_of(source, "snapshot.storage.k8s.io", "VolumeSnapshot")) {
        yyjson_mut_obj_remove_key(spec, first);
        source = NULL;
    }
    if (is_foreign && !kt_json_has(old, second)) {
        yyjson_mut_obj_remove_key(spec, second);
        ref = NULL;
    }
    if ((source != NULL) == (ref != NULL) || (ref && is_foreign))
        return true;
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(doc, source ? source : ref);
    yyjson_mut_obj_remove_key(copy, ns);
    return copy && yyjson_mut_obj_put(spec, yyjson_mut_str(doc, source ? second : first), copy);
}

/* ---- the priority class and the runtime class of a pod (admission plugins Priority, RuntimeClass) ---- */

#define LOWER "PreemptLowerPriority"
#define BOTH "must not be provided in pod spec; priority admission controller computed"

/* The priority classes that every cluster has. */
static const struct {
    const char *name;
    int64_t value;
} standard[] = {
    { "system-cluster-critical", 2000000000 },
    { "system-node-critical", 2000001000 },
};

/* The classes of a pod. The texts are those of the documents. */
typedef struct classes {
    yyjson_doc *priority_doc, *runtime_doc;
    bool has_priority; /* the named priority class exists, or the pod names none */
    bool has_runtime;  /* the same of the runtime class */
    ki_str name;       /* of the priority class; empty: none */
    int64_t value;
    ki_str policy;
    yyjson_val *overhead; /* NULL: the runtime class has none */
} classes;

static ki_status find_priority(const kt_call *call, ki_str name, classes *found) {
    const kt_storage *storage = call->cluster->priority_classes;
    static const char is_default[] = "\"globalDefault\":true"; /* for the pods that name no class */
    const kt_object *obj = name.size ? kt_storage_get(storage, KI_STR(""), name) : NULL;
    for (size_t i = 0; !name.size && !obj && i < storage->store->count; i++) {
        const kt_object *one = storage->store->objects[i];
        obj = memmem(one->json.data, one->json.size, is_default, sizeof is_default - 1) ? one : NULL;
    }
    found->has_priority = obj || !name.size;
    found->name = name;
    found->policy = KI_STR(LOWER);
    for (size_t i = 0; !obj && name.size && i < sizeof standard / sizeof standard[0]; i++) {
        if (!ki_str_equals(name, standard[i].name))
            continue;
        found->has_priority = true;
        found->value = standard[i].value;
    }
    if (!obj)
        return KI_OK;
    ki_status status = kt_json_read_trusted(call->allocator, obj->json, &found->priority_doc, NULL);
    yyjson_val *root = yyjson_doc_get_root(found->priority_doc);
    ki_str policy = kt_json_get_str(root, "preemptionPolicy");
    found->name = kt_json_get_str(yyjson_obj_get(root, "metadata"), "name");
    found->value = yyjson_get_sint(yyjson_obj_get(root, "value"));
    if (policy.size)
        found->policy = policy;
    return status;
}

static ki_status find(const kt_call *call, ki_str priority, ki_str runtime, classes *ret_found) {
    *ret_found = (classes){ .has_runtime = !runtime.size };
    ki_status status = find_priority(call, priority, ret_found);
    if (status || !runtime.size)
        return status;
    const kt_object *obj = kt_storage_get(kt_storage_of(call->cluster, KI_RUNTIMECLASSES), KI_STR(""), runtime);
    if (!obj)
        return KI_OK;
    status = kt_json_read_trusted(call->allocator, obj->json, &ret_found->runtime_doc, NULL);
    yyjson_val *overhead = yyjson_obj_get(yyjson_doc_get_root(ret_found->runtime_doc), "overhead");
    ret_found->has_runtime = true;
    ret_found->overhead = yyjson_obj_get(overhead, "podFixed");
    return status;
}

ki_status kt_admit_check(kt_call *call, ki_str name, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec"), *given = yyjson_obj_get(spec, "priority");
    ki_str priority = kt_json_get_str(spec, "priorityClassName"), runtime = kt_json_get_str(spec, "runtimeClassName");
    ki_str policy = kt_json_get_str(spec, "preemptionPolicy");
    kt_details details = { .name = name, .kind = "pods" };
    classes found;
    ki_status status = find(call, priority, runtime, &found);
    ki_buffer why;
    ki_buffer_init(&why, call->allocator, 0);
    if (!found.has_priority)
        ki_buffer_printf(&why, "no PriorityClass with name %.*s was found", (int)priority.size, priority.data);
    else if (yyjson_is_int(given) && yyjson_get_sint(given) != found.value)
        ki_buffer_printf(
            &why, "the integer value of priority (%" PRId64 ") " BOTH " %" PRId64 " from the given PriorityClass name",
            yyjson_get_sint(given), found.value);
    else if (policy.size && !ki_str_equal(policy, found.policy))
        ki_buffer_printf(&why,
                         "the string value of PreemptionPolicy (%.*s) " BOTH " %.*s from the given PriorityClass name",
                         (int)policy.size, policy.data, (int)found.policy.size, found.policy.data);
    else if (!found.has_runtime)
        ki_buffer_printf(&why, "pod rejected: RuntimeClass \"%.*s\" not found", (int)runtime.size, runtime.data);
    else if (yyjson_obj_size(yyjson_obj_get(spec, "overhead")) && !found.overhead)
        ki_buffer_append_string(&why, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined "
                                      "Overhead");
    if (!status)
        status = why.failed;
    if (!status && why.size)
        status = kt_fail(call, 403, "Forbidden", &details, "pods \"%.*s\" is forbidden: %s", (int)name.size,
                         name.size ? name.data : "", why.data);
    ki_buffer_free(&why);
    yyjson_doc_free(found.priority_doc);
    yyjson_doc_free(found.runtime_doc);
    return status;
}

static ki_str text_of(yyjson_mut_val *obj, const char *name) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, name);
    return yyjson_mut_is_str(val) ? (ki_str){ yyjson_mut_get_str(val), yyjson_mut_get_len(val) } : KI_STR("");
}

static bool put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, yyjson_mut_val *val) {
    return val && yyjson_mut_obj_put(obj, yyjson_mut_str(doc, name), val);
}

/* Sets in a new pod what its classes say: priority, preemption policy and overhead. */
static ki_status set_classes(kt_call *call, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    classes found;
    if (!yyjson_mut_is_obj(spec))
        return KI_OK;
    ki_status status = find(call, text_of(spec, "priorityClassName"), text_of(spec, "runtimeClassName"), &found);
    bool fine = !status && put(doc, spec, "priority", yyjson_mut_sint(doc, found.value)) &&
                put(doc, spec, "preemptionPolicy", yyjson_mut_strncpy(doc, found.policy.data, found.policy.size));
    if (fine && found.name.size)
        fine = put(doc, spec, "priorityClassName", yyjson_mut_strncpy(doc, found.name.data, found.name.size));
    if (fine && found.overhead)
        fine = put(doc, spec, "overhead", yyjson_val_mut_copy(doc, found.overhead));
    yyjson_doc_free(found.priority_doc);
    yyjson_doc_free(found.runtime_doc);
    return fine ? KI_OK : KI_ERR_NO_MEMORY;
}

/* Keeps the priority and the preemption policy of the pod `old_root` in an update that has the defaults. */
static bool keep_classes(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old_root) {
    yyjson_val *old = yyjson_obj_get(old_root, "spec"), *priority = yyjson_obj_get(old, "priority");
    yyjson_val *policy = yyjson_obj_get(old, "preemptionPolicy"), *resources = yyjson_obj_get(old, "resources");
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    bool fine = true;
    if (resources && !yyjson_mut_obj_get(spec, "resources"))
        fine = put(doc, spec, "resources", yyjson_val_mut_copy(doc, resources));
    if (fine && priority && yyjson_mut_get_sint(yyjson_mut_obj_get(spec, "priority")) == 0)
        fine = put(doc, spec, "priority", yyjson_val_mut_copy(doc, priority));
    if (fine && policy && ki_str_equals(text_of(spec, "preemptionPolicy"), LOWER))
        fine = put(doc, spec, "preemptionPolicy", yyjson_val_mut_copy(doc, policy));
    return fine;
}

ki_status kt_assign(kt_call *call, ki_str name, const char *uid, yyjson_mut_doc *doc, yyjson_mut_val *root,
                    yyjson_val *old_root) {
    const ki_resource *resource = call->resource;
    bool fine = true;
    if (resource == KI_NAMESPACES)
        fine = label_namespace(doc, root, name) && keep_namespace_spec(doc, root, old_root);
    else if (resource == KI_JOBS && uid)
        fine = complete_job(doc, root, name, uid);
    else if (resource == KI_PODS && uid)
        return set_classes(call, doc, root);
    else if (resource == KI_PODS)
        fine = !yyjson_mut_is_obj(yyjson_mut_obj_get(root, "spec")) || keep_classes(doc, root, old_root);
    else if (resource == KI_PERSISTENTVOLUMECLAIMS)
        fine = complete_claim(doc, root, old_root);
    else if (resource == KI_SERVICES)
        return kt_service_assign(call, name, doc, root, old_root);
    return fine ? KI_OK : KI_ERR_NO_MEMORY;
}
