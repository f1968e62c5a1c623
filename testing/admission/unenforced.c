/* unenforced.c: see unenforced.h. */
#include "testing/admission/unenforced.h"

#include "testing/values/json.h"

#include <string.h>

#define PREFIX "kinformer serve: "

static const struct {
    const char *group;
    const char *plural;
    const char *warning;
} kinds[] = {
    { "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "webhooks are stored and never called" },
    { "admissionregistration.k8s.io", "validatingwebhookconfigurations", "webhooks are stored and never called" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies", "admission policies are stored and not enforced" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicybindings",
      "admission policies are stored and not enforced" },
    { "admissionregistration.k8s.io", "mutatingadmissionpolicies", "admission policies are stored and not enforced" },
    { "admissionregistration.k8s.io", "mutatingadmissionpolicybindings",
      "admission policies are stored and not enforced" },
    { "apiregistration.k8s.io", "apiservices", "API services are stored and no request is passed on to them" },
    { "", "resourcequotas", "resource quotas are stored and not enforced" },
    { "", "limitranges", "limit ranges are stored and not enforced" },
};

/* Kinds with checks of values in a real server, and none in this one. */
static const struct {
    const char *group;
    const char *plural;
} unchecked[] = {
    { "admissionregistration.k8s.io", "mutatingadmissionpolicies" },
    { "admissionregistration.k8s.io", "validatingadmissionpolicies" },
    { "certificates.k8s.io", "certificatesigningrequests" },
    { "certificates.k8s.io", "clustertrustbundles" },
    { "certificates.k8s.io", "podcertificaterequests" },
    { "resource.k8s.io", "deviceclasses" },
    { "resource.k8s.io", "devicetaintrules" },
    { "resource.k8s.io", "resourceslices" },
    { "storagemigration.k8s.io", "storageversionmigrations" },
};

/* Members whose values a real server checks and this one does not, in kinds with checks. "[]": each item of a list. */
static const char *const members_of_pods[] = { "containers[].resizePolicy",
                                               "containers[].restartPolicyRules",
                                               "hostnameOverride",
                                               "initContainers[].resizePolicy",
                                               "initContainers[].restartPolicyRules",
                                               "resourceClaims",
                                               "resources",
                                               "volumes[].awsElasticBlockStore",
                                               "volumes[].azureDisk",
                                               "volumes[].azureFile",
                                               "volumes[].cephfs",
                                               "volumes[].cinder",
                                               "volumes[].csi",
                                               "volumes[].downwardAPI",
                                               "volumes[].ephemeral",
                                               "volumes[].fc",
                                               "volumes[].flexVolume",
                                               "volumes[].flocker",
                                               "volumes[].gcePersistentDisk",
                                               "volumes[].gitRepo",
                                               "volumes[].glusterfs",
                                               "volumes[].iscsi",
                                               "volumes[].photonPersistentDisk",
                                               "volumes[].portworxVolume",
                                               "volumes[].projected",
                                               "volumes[].quobyte",
                                               "volumes[].rbd",
                                               "volumes[].scaleIO",
                                               "volumes[].storageos",
                                               "volumes[].vsphereVolume",
                                               NULL };
static const char *const members_of_jobs[] = { "backoffLimitPerIndex", "managedBy",     "maxFailedIndexes",
                                               "podFailurePolicy",     "successPolicy", NULL };
static const char *const members_of_job_status[] = { "completedIndexes", "failedIndexes", "uncountedTerminatedPods",
                                                     NULL };
static const char *const members_of_volumes[] = { "awsElasticBlockStore",
                                                  "azureDisk",
                                                  "azureFile",
                                                  "cephfs",
                                                  "cinder",
                                                  "csi",
                                                  "fc",
                                                  "flexVolume",
                                                  "flocker",
                                                  "gcePersistentDisk",
                                                  "glusterfs",
                                                  "iscsi",
                                                  "local",
                                                  "nodeAffinity",
                                                  "photonPersistentDisk",
                                                  "portworxVolume",
                                                  "quobyte",
                                                  "rbd",
                                                  "scaleIO",
                                                  "storageos",
                                                  "vsphereVolume",
                                                  NULL };
static const char *const members_of_attachments[] = { "source.inlineVolumeSpec", NULL };
static const char *const members_of_quotas[] = { "scopeSelector", NULL };
static const char *const members_of_device_claims[] = { "devices.config", "devices.constraints",
                                                        "devices.requests[].exactly.selectors",
                                                        "devices.requests[].firstAvailable[].selectors", NULL };
static const char *const members_of_device_claim_status[] = { "allocation", "devices", NULL };
static const char *const members_of_nodes[] = { "drivers", NULL };

static const struct {
    const char *group;
    const char *plural;
    const char *at; /* the struct that has the members */
    const char *const *members;
} unchecked_members[] = {
    { "", "persistentvolumes", "spec", members_of_volumes },
    { "", "pods", "spec", members_of_pods },
    { "", "podtemplates", "template.spec", members_of_pods },
    { "", "replicationcontrollers", "spec.template.spec", members_of_pods },
    { "", "resourcequotas", "spec", members_of_quotas },
    { "apps", "daemonsets", "spec.template.spec", members_of_pods },
    { "apps", "deployments", "spec.template.spec", members_of_pods },
    { "apps", "replicasets", "spec.template.spec", members_of_pods },
    { "apps", "statefulsets", "spec.template.spec", members_of_pods },
    { "batch", "cronjobs", "spec.jobTemplate.spec", members_of_jobs },
    { "batch", "cronjobs", "spec.jobTemplate.spec.template.spec", members_of_pods },
    { "batch", "jobs", "spec", members_of_jobs },
    { "batch", "jobs", "spec.template.spec", members_of_pods },
    { "batch", "jobs", "status", members_of_job_status },
    { "resource.k8s.io", "resourceclaims", "spec", members_of_device_claims },
    { "resource.k8s.io", "resourceclaims", "status", members_of_device_claim_status },
    { "resource.k8s.io", "resourceclaimtemplates", "spec.spec", members_of_device_claims },
    { "storage.k8s.io", "csinodes", "spec", members_of_nodes },
    { "storage.k8s.io", "volumeattachments", "spec", members_of_attachments },
};

/* Returns true if `path`, in an object, leads to a value. */
static bool has_value(yyjson_val *val, const char *path) {
    size_t size = strcspn(path, ".["), index, count;
    const char *rest = path + size;
    yyjson_val *member = yyjson_obj_getn(val, path, size), *item;
    if (!member)
        return false;
    if (!*rest)
        return !kt_json_is_nothing(member);
    if (*rest == '.')
        return has_value(member, rest + 1);
    yyjson_arr_foreach(member, index, count, item) {
        if (has_value(item, rest + sizeof "[]." - 1))
            return true;
    }
    return false;
}

/* Returns true if a schema, or one inside it, has a CEL rule. */
static bool has_rule(yyjson_val *schema, int depth) {
    size_t index, count;
    yyjson_val *key, *val;
    if (depth > KT_SCHEMA_DEPTH_MAX)
        return false;
    if (yyjson_arr_size(yyjson_obj_get(schema, "x-kubernetes-validations")))
        return true;
    yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), index, count, key, val) {
        if (has_rule(val, depth + 1))
            return true;
    }
    return (yyjson_is_obj(yyjson_obj_get(schema, "items")) && has_rule(yyjson_obj_get(schema, "items"), depth + 1)) ||
           (yyjson_is_obj(yyjson_obj_get(schema, "additionalProperties")) &&
            has_rule(yyjson_obj_get(schema, "additionalProperties"), depth + 1));
}

static ki_status warn_definition(kt_call *call, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec"), *version;
    size_t index, count;
    bool has_rules = false;
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, version) {
        has_rules = has_rules || has_rule(yyjson_obj_get(yyjson_obj_get(version, "schema"), "openAPIV3Schema"), 0);
    }
    ki_buffer *warnings = &call->response->warnings;
    if (has_rules)
        ki_buffer_append_string(warnings, PREFIX "x-kubernetes-validations are stored and not enforced\n");
    if (ki_str_equals(kt_json_get_str(yyjson_obj_get(spec, "conversion"), "strategy"), "Webhook"))
        ki_buffer_append_string(warnings, PREFIX "conversion webhooks are never called: versions convert as with the "
                                                 "strategy None\n");
    return warnings->failed;
}

ki_status kt_unenforced_warn(kt_call *call, yyjson_val *root) {
    const ki_resource *resource = call->resource;
    ki_buffer *warnings = &call->response->warnings;
    if ((call->subresource.size && !ki_str_equals(call->subresource, "status")) || call->storage->custom)
        return KI_OK;
    for (size_t i = 0; i < sizeof unchecked_members / sizeof unchecked_members[0]; i++) {
        const char *at = unchecked_members[i].at;
        if (strcmp(resource->group, unchecked_members[i].group) != 0 ||
            strcmp(resource->plural, unchecked_members[i].plural) != 0 ||
            (strcmp(at, "status") == 0) != (call->subresource.size > 0)) /* a request for the status is of no others */
            continue;
        yyjson_val *val = root;
        for (size_t size; val && *at; at += size + (at[size] == '.')) {
            size = strcspn(at, ".");
            val = yyjson_obj_getn(val, at, size);
        }
        for (const char *const *member = unchecked_members[i].members; val && *member; member++) {
            if (has_value(val, *member))
                ki_buffer_printf(warnings, PREFIX "the type of %s.%s is checked, its values are not\n",
                                 unchecked_members[i].at, *member);
        }
    }
    if (call->subresource.size)
        return warnings->failed;
    if (strcmp(resource->kind, "CustomResourceDefinition") == 0)
        return warn_definition(call, root);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(resource->group, kinds[i].group) == 0 && strcmp(resource->plural, kinds[i].plural) == 0)
            ki_buffer_printf(warnings, PREFIX "%s\n", kinds[i].warning);
    }
    for (size_t i = 0; i < sizeof unchecked / sizeof unchecked[0]; i++) {
        if (strcmp(resource->group, unchecked[i].group) == 0 && strcmp(resource->plural, unchecked[i].plural) == 0)
            ki_buffer_printf(warnings, PREFIX "the types of this kind's fields are checked, their values are not\n");
    }
    return warnings->failed;
}
