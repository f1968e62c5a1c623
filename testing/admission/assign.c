/* assign.c: see assign.h. */
#include "testing/admission/assign.h"

#include "testing/admission/admit.h"
#include "testing/admission/service.h"
#include "testing/values/json.h"

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

ki_status kt_assign(kt_call *call, ki_str name, const char *uid, yyjson_mut_doc *doc, yyjson_mut_val *root,
                    yyjson_val *old_root) {
    const ki_resource *resource = call->resource;
    bool fine = true;
    if (resource == KI_NAMESPACES)
        fine = label_namespace(doc, root, name) && keep_namespace_spec(doc, root, old_root);
    else if (resource == KI_JOBS && uid)
        fine = complete_job(doc, root, name, uid);
    else if (resource == KI_PODS && uid)
        return kt_admit_set(call, doc, root);
    else if (resource == KI_PODS)
        fine = !yyjson_mut_is_obj(yyjson_mut_obj_get(root, "spec")) || kt_admit_keep(doc, root, old_root);
    else if (resource == KI_PERSISTENTVOLUMECLAIMS)
        fine = complete_claim(doc, root, old_root);
    else if (resource == KI_SERVICES)
        return kt_service_assign(call, name, doc, root, old_root);
    return fine ? KI_OK : KI_ERR_NO_MEMORY;
}
