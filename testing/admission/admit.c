/* admit.c: see admit.h. */
#include "testing/admission/admit.h"

#include "testing/cluster/cluster_state.h"
#include "testing/request/status.h"
#include "testing/values/json.h"

#include <inttypes.h>

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

static ki_status read(const kt_call *call, const kt_object *obj, yyjson_doc **ret_doc) {
    return obj ? kt_json_read_trusted(call->allocator, obj->json, ret_doc, NULL) : KI_OK;
}

/* Finds the priority class for the pods that name none; NULL: there is none. */
static const kt_object *find_default(const kt_storage *storage) {
    for (size_t i = 0; i < storage->store->count; i++) {
        const kt_object *obj = storage->store->objects[i];
        if (memmem(obj->json.data, obj->json.size, "\"globalDefault\":true", sizeof "\"globalDefault\":true" - 1))
            return obj;
    }
    return NULL;
}

static ki_status find_priority(const kt_call *call, ki_str name, classes *found) {
    const kt_storage *storage = call->cluster->priority_classes;
    const kt_object *obj = name.size ? kt_storage_get(storage, KI_STR(""), name) : find_default(storage);
    ki_status status = read(call, obj, &found->priority_doc);
    yyjson_val *root = yyjson_doc_get_root(found->priority_doc);
    ki_str policy = kt_json_get_str(root, "preemptionPolicy");
    found->has_priority = obj || !name.size;
    found->name = obj ? kt_json_get_str(yyjson_obj_get(root, "metadata"), "name") : name;
    found->value = yyjson_get_sint(yyjson_obj_get(root, "value"));
    found->policy = policy.size ? policy : KI_STR(LOWER);
    for (size_t i = 0; !obj && i < sizeof standard / sizeof standard[0]; i++) {
        if (!ki_str_equals(name, standard[i].name))
            continue;
        found->has_priority = true;
        found->value = standard[i].value;
    }
    return status;
}

static ki_status find_runtime(const kt_call *call, ki_str name, classes *found) {
    const kt_object *obj = NULL;
    if (name.size)
        obj = kt_storage_get(kt_storage_of(call->cluster, KI_RUNTIMECLASSES), KI_STR(""), name);
    ki_status status = read(call, obj, &found->runtime_doc);
    yyjson_val *overhead = yyjson_obj_get(yyjson_doc_get_root(found->runtime_doc), "overhead");
    found->has_runtime = obj || !name.size;
    found->overhead = yyjson_obj_get(overhead, "podFixed");
    return status;
}

static ki_status find(const kt_call *call, ki_str priority, ki_str runtime, classes *ret_found) {
    *ret_found = (classes){ .value = 0 };
    ki_status status = find_priority(call, priority, ret_found);
    return status ? status : find_runtime(call, runtime, ret_found);
}

static void release(classes *found) {
    yyjson_doc_free(found->priority_doc);
    yyjson_doc_free(found->runtime_doc);
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
    release(&found);
    return status;
}

static ki_str text_of(yyjson_mut_val *obj, const char *name) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, name);
    return yyjson_mut_is_str(val) ? (ki_str){ yyjson_mut_get_str(val), yyjson_mut_get_len(val) } : KI_STR("");
}

static bool put(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, yyjson_mut_val *val) {
    return val && yyjson_mut_obj_put(obj, yyjson_mut_str(doc, name), val);
}

ki_status kt_admit_set(kt_call *call, yyjson_mut_doc *doc, yyjson_mut_val *root) {
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
    release(&found);
    return fine ? KI_OK : KI_ERR_NO_MEMORY;
}

bool kt_admit_keep(yyjson_mut_doc *doc, yyjson_mut_val *root, yyjson_val *old_root) {
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
