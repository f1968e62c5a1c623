/* unenforced.c: see unenforced.h. */
#include "testing/rest/unenforced.h"

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
    if (call->subresource.size)
        return KI_OK;
    if (strcmp(resource->kind, "CustomResourceDefinition") == 0)
        return warn_definition(call, root);
    if (call->storage->custom)
        return KI_OK;
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
