/* rules.c: see rules.h. */
#include "testing/validation/rules.h"

#include "src/object/label.h"
#include "testing/validation/amounts.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <stdio.h>

enum {
    FIELD_SIZE = 512,
    PORT_MAX = 65535
};

typedef enum rule_type {
    REQUIRED,      /* is neither absent, empty nor 0; `text`: the detail */
    GIVEN,         /* is neither absent nor null; `text`: the detail */
    CHOICE,        /* is one of `text` */
    LEAST,         /* is not below `number`; `text`: the detail */
    LABEL,         /* is a DNS label */
    SUBDOMAIN,     /* is a DNS subdomain */
    SUBDOMAIN_ANY, /* is a DNS subdomain in lower case; `text`: the detail, if another */
    SUBDOMAIN_SET, /* as SUBDOMAIN, and not empty */
    KEY,           /* is the name of a label */
    KEY_ANY_CASE,  /* is the name of a label in lower case */
    SEGMENT,       /* can be a part of a path */
    DOMAIN_PATH,   /* is a path behind a domain */
    PORT,          /* is the number of a port */
    SELECTOR,      /* is a label selector */
    NOT_NEGATIVE,  /* is a quantity of at least 0 */
    KEEP,          /* an update does not change it; the error shows the new value; `text`: the field in the error */
    KEEP_UNSHOWN,  /* as KEEP; the error shows null */
    KEEP_FORBIDDEN /* as KEEP; `text`: the detail of a Forbidden */
} rule_type;

/* The steps of a path are members. "[]": each element; "<>": each element, and the error does not show its index;
 * "?": without this member, the rest is not checked. */
typedef struct rule {
    const char *group;
    const char *plural;
    const char *path;
    rule_type type;
    const char *text;
    int64_t number;
} rule;

#define ADMISSION "admissionregistration.k8s.io"
#define NETWORKING "networking.k8s.io"
#define RBAC "rbac.authorization.k8s.io"
#define STORAGE "storage.k8s.io"

#define CASELESS \
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'Example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

static const rule rules[] = {
    { ADMISSION, "mutatingadmissionpolicybindings", "spec.policyName", REQUIRED, "", 0 },
    { ADMISSION, "mutatingadmissionpolicybindings", "spec.policyName", SUBDOMAIN, NULL, 0 },
    { ADMISSION, "validatingadmissionpolicybindings", "spec.policyName", REQUIRED, "", 0 },
    { ADMISSION, "validatingadmissionpolicybindings", "spec.policyName", SUBDOMAIN, NULL, 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].failurePolicy", CHOICE, "Fail,Ignore", 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].matchPolicy", CHOICE, "Equivalent,Exact", 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].reinvocationPolicy", CHOICE, "IfNeeded,Never", 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].sideEffects", CHOICE, "None,NoneOnDryRun", 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].namespaceSelector", SELECTOR, NULL, 0 },
    { ADMISSION, "mutatingwebhookconfigurations", "webhooks[].objectSelector", SELECTOR, NULL, 0 },
    { ADMISSION, "validatingwebhookconfigurations", "webhooks[].failurePolicy", CHOICE, "Fail,Ignore", 0 },
    { ADMISSION, "validatingwebhookconfigurations", "webhooks[].matchPolicy", CHOICE, "Equivalent,Exact", 0 },
    { ADMISSION, "validatingwebhookconfigurations", "webhooks[].sideEffects", CHOICE, "None,NoneOnDryRun", 0 },
    { ADMISSION, "validatingwebhookconfigurations", "webhooks[].namespaceSelector", SELECTOR, NULL, 0 },
    { ADMISSION, "validatingwebhookconfigurations", "webhooks[].objectSelector", SELECTOR, NULL, 0 },
    { "apps", "controllerrevisions", "data", GIVEN, "data is mandatory", 0 },
    { "apps", "controllerrevisions", "data", KEEP, NULL, 0 },
    { "apps", "controllerrevisions", "revision", LEAST, KT_NOT_NEGATIVE, 0 },
    { "autoscaling", "horizontalpodautoscalers", "spec.maxReplicas", REQUIRED, "", 0 },
    { "autoscaling", "horizontalpodautoscalers", "spec.scaleTargetRef.kind", REQUIRED, "", 0 },
    { "autoscaling", "horizontalpodautoscalers", "spec.scaleTargetRef.kind", SEGMENT, NULL, 0 },
    { "autoscaling", "horizontalpodautoscalers", "spec.scaleTargetRef.name", REQUIRED, "", 0 },
    { "autoscaling", "horizontalpodautoscalers", "spec.scaleTargetRef.name", SEGMENT, NULL, 0 },
    { "autoscaling", "horizontalpodautoscalers", "status.currentReplicas", LEAST, KT_NOT_NEGATIVE, 0 },
    { "autoscaling", "horizontalpodautoscalers", "status.desiredReplicas", LEAST, KT_NOT_NEGATIVE, 0 },
    { "discovery.k8s.io", "endpointslices", "addressType", REQUIRED, "", 0 },
    { "discovery.k8s.io", "endpointslices", "addressType", CHOICE, "FQDN,IPv4,IPv6", 0 },
    { "discovery.k8s.io", "endpointslices", "addressType", KEEP_UNSHOWN, NULL, 0 },
    { "discovery.k8s.io", "endpointslices", "endpoints[].addresses", REQUIRED, "", 0 },
    { "discovery.k8s.io", "endpointslices", "endpoints[].nodeName", SUBDOMAIN, NULL, 0 },
    { "discovery.k8s.io", "endpointslices", "endpoints[].hostname", LABEL, NULL, 0 },
    { "discovery.k8s.io", "endpointslices", "ports[].name", LABEL, NULL, 0 },
    { "discovery.k8s.io", "endpointslices", "ports[].protocol", CHOICE, "SCTP,TCP,UDP", 0 },
    { "discovery.k8s.io", "endpointslices", "ports[].appProtocol", KEY, NULL, 0 },
    { "", "endpoints", "subsets[].addresses[].hostname", LABEL, NULL, 0 },
    { "", "endpoints", "subsets[].addresses[].nodeName", SUBDOMAIN, NULL, 0 },
    { "", "endpoints", "subsets[].notReadyAddresses[].hostname", LABEL, NULL, 0 },
    { "", "endpoints", "subsets[].notReadyAddresses[].nodeName", SUBDOMAIN, NULL, 0 },
    { "", "endpoints", "subsets[].ports[].name", LABEL, NULL, 0 },
    { "", "endpoints", "subsets[].ports[].port", PORT, NULL, 0 },
    { "", "endpoints", "subsets[].ports[].protocol", CHOICE, "SCTP,TCP,UDP", 0 },
    { "", "endpoints", "subsets[].ports[].appProtocol", KEY, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.controller", REQUIRED, "", 0 },
    { NETWORKING, "ingressclasses", "spec.controller", DOMAIN_PATH, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.controller", KEEP, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.parameters?.kind", REQUIRED, "", 0 },
    { NETWORKING, "ingressclasses", "spec.parameters?.kind", SEGMENT, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.parameters?.name", REQUIRED, "", 0 },
    { NETWORKING, "ingressclasses", "spec.parameters?.name", SEGMENT, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.parameters.apiGroup", SUBDOMAIN, NULL, 0 },
    { NETWORKING, "ingressclasses", "spec.parameters.scope", CHOICE, "Cluster,Namespace", 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef", GIVEN, "", 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef", KEEP_UNSHOWN, NULL, 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.group", SUBDOMAIN, NULL, 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.resource", REQUIRED, "", 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.resource", SEGMENT, NULL, 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.name", REQUIRED, "", 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.name", SEGMENT, NULL, 0 },
    { NETWORKING, "ipaddresses", "spec.parentRef?.namespace", SEGMENT, NULL, 0 },
    { NETWORKING, "networkpolicies", "spec.podSelector", SELECTOR, NULL, 0 },
    { NETWORKING, "networkpolicies", "spec.ingress[].ports[].protocol", CHOICE, "TCP,UDP,SCTP", 0 },
    { NETWORKING, "networkpolicies", "spec.egress[].ports[].protocol", CHOICE, "TCP,UDP,SCTP", 0 },
    { NETWORKING, "networkpolicies", "spec.policyTypes[]", CHOICE, "Ingress,Egress", 0 },
    { "node.k8s.io", "runtimeclasses", "handler", REQUIRED, "", 0 },
    { "node.k8s.io", "runtimeclasses", "handler", LABEL, NULL, 0 },
    { "node.k8s.io", "runtimeclasses", "handler", KEEP_UNSHOWN, NULL, 0 },
    { "", "persistentvolumes", "spec.accessModes", REQUIRED, "", 0 },
    { "", "persistentvolumes", "spec.capacity", REQUIRED, "", 0 },
    { "", "persistentvolumes", "spec.persistentVolumeReclaimPolicy", CHOICE, "Delete,Recycle,Retain", 0 },
    { "", "persistentvolumes", "spec.volumeMode", CHOICE, "Block,Filesystem", 0 },
    { "", "persistentvolumes", "spec.storageClassName", SUBDOMAIN, NULL, 0 },
    { "policy", "poddisruptionbudgets", "spec.selector", SELECTOR, NULL, 0 },
    { "policy", "poddisruptionbudgets", "spec.unhealthyPodEvictionPolicy", CHOICE, "AlwaysAllow,IfHealthyBudget", 0 },
    { "policy", "poddisruptionbudgets", "status.disruptionsAllowed", LEAST, KT_NOT_NEGATIVE, 0 },
    { "policy", "poddisruptionbudgets", "status.currentHealthy", LEAST, KT_NOT_NEGATIVE, 0 },
    { "policy", "poddisruptionbudgets", "status.desiredHealthy", LEAST, KT_NOT_NEGATIVE, 0 },
    { "policy", "poddisruptionbudgets", "status.expectedPods", LEAST, KT_NOT_NEGATIVE, 0 },
    { RBAC, "clusterroles", "rules[].verbs", REQUIRED, "", 0 },
    { RBAC, "clusterroles", "aggregationRule?.clusterRoleSelectors", REQUIRED,
      "at least one clusterRoleSelector required if aggregationRule is non-nil", 0 },
    { RBAC, "clusterroles", "aggregationRule?.clusterRoleSelectors[]", SELECTOR, NULL, 0 },
    { RBAC, "roles", "rules[].verbs", REQUIRED, "", 0 },
    { "scheduling.k8s.io", "priorityclasses", "value", KEEP_FORBIDDEN, "may not be changed in an update.", 0 },
    { "scheduling.k8s.io", "priorityclasses", "preemptionPolicy", CHOICE, "PreemptLowerPriority,Never", 0 },
    { "scheduling.k8s.io", "priorityclasses", "preemptionPolicy", KEEP, NULL, 0 },
    { STORAGE, "csidrivers", "spec.attachRequired", KEEP, "spec.attachedRequired", 0 },
    { STORAGE, "csidrivers", "spec.fsGroupPolicy", CHOICE, "File,None,ReadWriteOnceWithFSType", 0 },
    { STORAGE, "csidrivers", "spec.volumeLifecycleModes<>", CHOICE, "Persistent,Ephemeral", 0 },
    { STORAGE, "csidrivers", "spec.volumeLifecycleModes", KEEP, NULL, 0 },
    { STORAGE, "csidrivers", "spec.nodeAllocatableUpdatePeriodSeconds", LEAST,
      "must be greater than or equal to 10 seconds", 10 },
    { STORAGE, "csinodes", "spec.drivers[].name", REQUIRED, "", 0 },
    { STORAGE, "csinodes", "spec.drivers[].name", SUBDOMAIN_ANY, NULL, 0 },
    { STORAGE, "csinodes", "spec.drivers[].nodeID", REQUIRED, "", 0 },
    { STORAGE, "csinodes", "spec.drivers[].allocatable.count", LEAST, KT_NOT_NEGATIVE, 0 },
    { STORAGE, "csistoragecapacities", "nodeTopology", SELECTOR, NULL, 0 },
    { STORAGE, "csistoragecapacities", "nodeTopology", KEEP, NULL, 0 },
    { STORAGE, "csistoragecapacities", "storageClassName", SUBDOMAIN_SET, NULL, 0 },
    { STORAGE, "csistoragecapacities", "storageClassName", KEEP, NULL, 0 },
    { STORAGE, "csistoragecapacities", "capacity", NOT_NEGATIVE, NULL, 0 },
    { STORAGE, "storageclasses", "provisioner", REQUIRED, "", 0 },
    { STORAGE, "storageclasses", "provisioner", KEY_ANY_CASE, NULL, 0 },
    { STORAGE, "storageclasses", "provisioner", KEEP_UNSHOWN, NULL, 0 },
    { STORAGE, "storageclasses", "parameters", KEEP_UNSHOWN, NULL, 0 },
    { STORAGE, "storageclasses", "reclaimPolicy", CHOICE, "Delete,Retain", 0 },
    { STORAGE, "storageclasses", "reclaimPolicy", KEEP_UNSHOWN, NULL, 0 },
    { STORAGE, "storageclasses", "volumeBindingMode", CHOICE, "Immediate,WaitForFirstConsumer", 0 },
    { STORAGE, "storageclasses", "volumeBindingMode", KEEP_UNSHOWN, NULL, 0 },
    { STORAGE, "volumeattachments", "spec.attacher", REQUIRED, "", 0 },
    { STORAGE, "volumeattachments", "spec.attacher", SUBDOMAIN_ANY, CASELESS, 0 },
    { STORAGE, "volumeattachments", "spec.nodeName", SUBDOMAIN_SET, NULL, 0 },
    { STORAGE, "volumeattachments", "spec", KEEP_UNSHOWN, NULL, 0 },
    { STORAGE, "volumeattributesclasses", "driverName", REQUIRED, "", 0 },
    { STORAGE, "volumeattributesclasses", "driverName", KEY_ANY_CASE, NULL, 0 },
    { STORAGE, "volumeattributesclasses", "driverName", KEEP_FORBIDDEN, "updates to driverName are forbidden.", 0 },
    { STORAGE, "volumeattributesclasses", "parameters", REQUIRED, "must contain at least one key/value pair", 0 },
    { STORAGE, "volumeattributesclasses", "parameters", KEEP_FORBIDDEN, "updates to parameters are forbidden.", 0 },
    { "resource.k8s.io", "resourceclaims", "spec", KEEP_UNSHOWN, NULL, 0 },
};

enum {
    RULE_COUNT = sizeof rules / sizeof rules[0]
};

/* ---- values ---- */

static bool is_missing(yyjson_val *val) {
    return kt_is_nothing(val) || (yyjson_is_str(val) && yyjson_get_len(val) == 0) ||
           (yyjson_is_int(val) && yyjson_get_sint(val) == 0);
}

/* Returns why a text is not of a format; NULL if it is, or if it is empty. */
static const char *text_problem(const rule *one, ki_str text) {
    const char *why;
    if (!text.size && one->type != SUBDOMAIN_SET)
        return NULL;
    switch (one->type) {
    case LABEL:
        return kt_validate_dns_label(text);
    case SUBDOMAIN_ANY:
        why = kt_validate_in_lower_case(text, ki_label_check_subdomain);
        return why && one->text ? one->text : why;
    case SUBDOMAIN:
    case SUBDOMAIN_SET:
        return ki_label_check_subdomain(text);
    case KEY:
        return ki_label_check_key(text);
    case KEY_ANY_CASE:
        return kt_validate_in_lower_case(text, ki_label_check_key);
    case SEGMENT:
        return kt_validate_segment(text);
    default:
        return NULL;
    }
}

static void check_kept(kt_checked *c, const rule *one, const char *field, yyjson_val *old, yyjson_val *val) {
    if (!c->old || kt_is_same(c, old, val))
        return;
    if (one->type == KEEP_FORBIDDEN)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, field, KI_STR(""), one->text);
    else
        kt_add_json(c, one->text ? one->text : field, one->type == KEEP ? val : NULL, KT_IMMUTABLE);
}

static void check_domain_path(kt_checked *c, const char *field, ki_str text) {
    ki_str path, host = ki_str_split(text, '/', &path);
    const char *why = ki_label_check_subdomain(host);
    if (!text.size)
        return;
    if (!host.size || !path.size)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, text,
                      "must be a domain-prefixed path (such as \"acme.io/foo\")");
    else if (why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, host, why);
}

/* Checks a value. `old` is the one of the old object; NULL inside lists. */
static void check_value(kt_checked *c, const rule *one, const char *field, yyjson_val *old, yyjson_val *val) {
    const char *why = text_problem(one, kt_json_str(val));
    int64_t number = yyjson_get_sint(val);
    switch (one->type) {
    case REQUIRED:
        if (is_missing(val))
            kt_causes_add(c->causes, KT_CAUSE_REQUIRED, field, KI_STR(""), one->text);
        break;
    case GIVEN:
        if (!val || yyjson_is_null(val))
            kt_causes_add(c->causes, KT_CAUSE_REQUIRED, field, KI_STR(""), one->text);
        break;
    case CHOICE:
        kt_check_one_of(c->causes, field, val, one->text);
        break;
    case LEAST:
        kt_check_least(c, field, val, one->number, one->text);
        break;
    case PORT:
        if (number < 1 || number > PORT_MAX)
            kt_add_json(c, field, val, "must be between 1 and 65535, inclusive");
        break;
    case DOMAIN_PATH:
        check_domain_path(c, field, kt_json_str(val));
        break;
    case NOT_NEGATIVE:
        kt_check_amount(c->causes, field, KI_STR(""), val);
        break;
    case SELECTOR:
        kt_check_selector(c->causes, field, val);
        break;
    case KEEP:
    case KEEP_UNSHOWN:
    case KEEP_FORBIDDEN:
        check_kept(c, one, field, old, val);
        break;
    default:
        if (why)
            kt_causes_add(c->causes, KT_CAUSE_INVALID, field, yyjson_is_str(val) ? kt_json_str(val) : KI_STR(""), why);
    }
}

/* ---- paths ---- */

static void walk(kt_checked *c, const rule *one, const char *rest, char field[FIELD_SIZE], yyjson_val *old,
                 yyjson_val *val);

/* Checks the elements of a list. `rest` is the path behind their brackets. */
static void walk_each(kt_checked *c, const rule *one, const char *rest, char field[FIELD_SIZE], yyjson_val *val) {
    size_t end = strlen(field), index, count;
    yyjson_val *element;
    yyjson_arr_foreach(val, index, count, element) {
        if (kt_causes_is_full(c->causes))
            break;
        if (rest[-1] == ']')
            snprintf(field + end, FIELD_SIZE - end, "[%zu]", index);
        walk(c, one, rest, field, NULL, element);
    }
    field[end] = '\0';
}

/* Checks the values at the path `rest` below `val`, whose own path is `field`. */
static void walk(kt_checked *c, const rule *one, const char *rest, char field[FIELD_SIZE], yyjson_val *old,
                 yyjson_val *val) {
    if (!*rest) {
        check_value(c, one, field, old, val);
        return;
    }
    rest += *rest == '.';
    size_t end = strlen(field), size = strcspn(rest, ".[<?");
    yyjson_val *member = yyjson_obj_getn(val, rest, size);
    const char *next = rest + size + (rest[size] == '?');
    if (rest[size] == '?' && (!member || yyjson_is_null(member)))
        return;
    snprintf(field + end, FIELD_SIZE - end, "%s%.*s", end ? "." : "", (int)size, rest);
    if (*next == '[' || *next == '<')
        walk_each(c, one, next + 2, field, member);
    else
        walk(c, one, next, field, yyjson_obj_getn(old, rest, size), member);
    field[end] = '\0';
}

static bool is_of(const rule *one, const ki_resource *resource, bool is_status) {
    return strcmp(one->group, resource->group) == 0 && strcmp(one->plural, resource->plural) == 0 &&
           (strncmp(one->path, "status.", 7) == 0) == is_status;
}

bool kt_rules_has(const ki_resource *resource, bool is_status) {
    size_t i = 0;
    while (i < RULE_COUNT && !is_of(&rules[i], resource, is_status))
        i++;
    return i < RULE_COUNT;
}

void kt_rules_check(kt_checked *c, const ki_resource *resource, bool is_status) {
    char field[FIELD_SIZE] = "";
    for (size_t i = 0; i < RULE_COUNT; i++) {
        if (is_of(&rules[i], resource, is_status))
            walk(c, &rules[i], rules[i].path, field, c->old, c->root);
    }
}
