/* strategy.c: see strategy.h. The rows are those of pkg/registry/GROUP/RESOURCE/strategy.go of Kubernetes 1.37. */
#include "testing/cluster/strategy.h"

#include "testing/crd/custom.h"

#include <string.h>

#define ADMISSION "admissionregistration.k8s.io"
#define FLOW "flowcontrol.apiserver.k8s.io"
#define RBAC "rbac.authorization.k8s.io"
#define STORAGE "storage.k8s.io"

static const kt_strategy rows[] = {
    { "", "endpoints", KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE },
    { "", "events", KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE },
    { "", "limitranges", KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE },
    { "", "nodes", KT_COUNTS_NOTHING, KT_KEEPS_STATUS },
    { "", "persistentvolumeclaims", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { "", "persistentvolumes", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { "", "pods", KT_COUNTS_SPEC, KT_STATUS_NO_OWNERS | KT_RETURNS_DELETED },
    { "", "podtemplates", KT_COUNTS_SPEC, KT_RETURNS_DELETED },
    { "", "replicationcontrollers", KT_COUNTS_SPEC, 0 },
    { "", "resourcequotas", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { "", "serviceaccounts", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { "", "services", KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE | KT_RETURNS_DELETED },
    { ADMISSION, "validatingadmissionpolicies", KT_COUNTS_SPEC, KT_NEEDS_VERSION | KT_STATUS_ONLY },
    { ADMISSION, NULL, KT_COUNTS_SPEC, KT_NEEDS_VERSION },
    { "apiextensions.k8s.io", NULL, KT_COUNTS_SPEC, KT_NEEDS_VERSION },
    { "apiregistration.k8s.io", NULL, KT_COUNTS_NOTHING, KT_NEEDS_VERSION },
    { "apps", "controllerrevisions", KT_COUNTS_NOTHING, 0 },
    { "apps", "deployments", KT_COUNTS_ANNOTATIONS, KT_STATUS_NO_LABELS },
    { "apps", NULL, KT_COUNTS_SPEC, 0 },
    { "autoscaling", NULL, KT_COUNTS_SPEC, 0 },
    { "batch", NULL, KT_COUNTS_SPEC, 0 },
    { "coordination.k8s.io", NULL, KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE | KT_NEEDS_VERSION },
    { "discovery.k8s.io", NULL, KT_COUNTS_LABELS, 0 },
    { "events.k8s.io", NULL, KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE },
    { FLOW, NULL, KT_COUNTS_SPEC, KT_STATUS_ONLY },
    { "networking.k8s.io", "servicecidrs", KT_COUNTS_NOTHING, KT_STATUS_ONLY },
    { "networking.k8s.io", "ipaddresses", KT_COUNTS_NOTHING, 0 },
    { "networking.k8s.io", NULL, KT_COUNTS_SPEC, 0 },
    { "node.k8s.io", NULL, KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE | KT_NEEDS_VERSION },
    { "policy", NULL, KT_COUNTS_SPEC, KT_NEEDS_VERSION },
    { RBAC, NULL, KT_COUNTS_NOTHING, KT_CREATES_ON_UPDATE },
    { "resource.k8s.io", "resourceclaims", KT_COUNTS_NOTHING, KT_STATUS_ONLY | KT_RETURNS_DELETED },
    { "resource.k8s.io", "resourceclaimtemplates", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { "resource.k8s.io", NULL, KT_COUNTS_SPEC, KT_STATUS_ONLY | KT_RETURNS_DELETED },
    { "scheduling.k8s.io", "priorityclasses", KT_COUNTS_FIRST, 0 },
    { STORAGE, "csistoragecapacities", KT_COUNTS_NOTHING, KT_NEEDS_VERSION },
    { STORAGE, "storageclasses", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { STORAGE, "volumeattributesclasses", KT_COUNTS_NOTHING, KT_RETURNS_DELETED },
    { STORAGE, NULL, KT_COUNTS_NOTHING, KT_NEEDS_VERSION | KT_STATUS_ONLY | KT_RETURNS_DELETED },
    { "storagemigration.k8s.io", NULL, KT_COUNTS_NOTHING, KT_NEEDS_VERSION | KT_STATUS_ONLY },
};

const kt_strategy *kt_strategy_of(const ki_resource_info *info) {
    static const kt_strategy custom = { "", NULL, KT_COUNTS_SPEC, KT_NEEDS_VERSION | KT_STATUS_ONLY },
                             other = { "", NULL, KT_COUNTS_NOTHING, 0 };
    const ki_resource *resource = info->resource;
    if (kt_custom_of(info))
        return &custom;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].group, resource->group) == 0 &&
            (!rows[i].plural || strcmp(rows[i].plural, resource->plural) == 0))
            return &rows[i];
    }
    return &other;
}

bool kt_has_status(const ki_resource_info *info) {
    for (size_t i = 0; info->subresources[i].name; i++) {
        if (strcmp(info->subresources[i].name, "status") == 0)
            return true;
    }
    return false;
}
