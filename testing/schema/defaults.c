/* defaults.c: see defaults.h. constant_defaults.c has the constant ones; functions compute the others. Defaults of
 * optional admission plugins are missing, and so are finalizers that only a controller would remove.
 * Recursive: json.h limits the depth of bodies, and types are finite where objects are absent. */
#include "testing/schema/defaults.h"

#include "testing/schema/constant_defaults.h"
#include "testing/schema/schema.h"
#include "testing/values/image.h"
#include "testing/values/json.h"

#include <string.h>

enum {
    ADDED_MAX = 100 * 1000, /* members that defaults and zeros may add to one object */
    RESOURCES_MAX = 200     /* whose amounts are defaults of others */
};

typedef struct filler {
    const kt_defaults *defaults;
    const kt_schema *schema;
    yyjson_mut_doc *doc;
    bool writes_zeros; /* of this resource */
    size_t left;       /* members that may still be added */
    ki_status failed;
} filler;

static const char *const container_lists[] = { "containers", "initContainers" };

/* ---- members ---- */

static yyjson_mut_val *get(yyjson_mut_val *obj, const char *key) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, key);
    return yyjson_mut_is_null(val) ? NULL : val;
}

static bool is(yyjson_mut_val *obj, const char *key, const char *text) {
    return yyjson_mut_equals_str(yyjson_mut_obj_get(obj, key), text);
}

/* Adds or replaces a member. */
static void put(filler *f, yyjson_mut_val *obj, const char *key, yyjson_mut_val *val) {
    if (f->left == 0)
        f->failed = KI_ERR_LIMIT;
    else if (f->left-- && (!val || !yyjson_mut_obj_put(obj, yyjson_mut_str(f->doc, key), val)))
        f->failed = KI_ERR_NO_MEMORY;
}

/* Returns true if the member is missing. Removes it if it is null. */
static bool lacks(yyjson_mut_val *obj, const char *key) {
    yyjson_mut_val *val = yyjson_mut_obj_get(obj, key);
    if (yyjson_mut_is_null(val))
        yyjson_mut_obj_remove_key(obj, key);
    return !val || yyjson_mut_is_null(val);
}

/* ---- each adds a member only if it is missing or null ---- */

static void put_text(filler *f, yyjson_mut_val *obj, const char *key, const char *text) {
    if (lacks(obj, key))
        put(f, obj, key, yyjson_mut_str(f->doc, text));
}

static void put_number(filler *f, yyjson_mut_val *obj, const char *key, uint64_t number) {
    if (lacks(obj, key))
        put(f, obj, key, yyjson_mut_uint(f->doc, number));
}

static void put_copy(filler *f, yyjson_mut_val *obj, const char *key, yyjson_val *val) {
    if (lacks(obj, key))
        put(f, obj, key, yyjson_val_mut_copy(f->doc, val));
}

static void put_value(filler *f, yyjson_mut_val *obj, const char *key, kt_default which) {
    put_copy(f, obj, key, f->defaults->others[which]);
}

/* Returns the object at `key` and creates it if there is none. NULL if the member has another type. */
static yyjson_mut_val *object_at(filler *f, yyjson_mut_val *obj, const char *key) {
    put_value(f, obj, key, KT_EMPTY);
    yyjson_mut_val *val = get(obj, key);
    return yyjson_mut_is_obj(val) ? val : NULL;
}

/* ---- computed defaults ---- */

static void fill_container(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *image = get(obj, "image");
    const char *name = yyjson_mut_get_str(image);
    bool is_variable = name && kt_image_is_latest(ki_str_of(name)); /* without a tag, or with :latest */
    if (image)
        put_text(f, obj, "imagePullPolicy", is_variable ? "Always" : "IfNotPresent");
}

static void fill_volume(filler *f, yyjson_mut_val *obj) {
    if (yyjson_mut_obj_size(obj) == 1)
        put_value(f, obj, "emptyDir", KT_EMPTY);
}

static void fill_service(filler *f, yyjson_mut_val *spec) {
    bool external = is(spec, "type", "ExternalName"), balanced = is(spec, "type", "LoadBalancer");
    yyjson_mut_val *ip = get(spec, "clusterIP");
    if (external) {
        if (is(spec, "internalTrafficPolicy", "Cluster"))
            yyjson_mut_obj_remove_key(spec, "internalTrafficPolicy");
        return;
    }
    put_text(f, spec, "internalTrafficPolicy", "Cluster");
    /* A service without addresses and selector has addresses of both families. */
    bool is_dual = is(spec, "clusterIP", "None") && yyjson_mut_obj_size(get(spec, "selector")) == 0;
    put_text(f, spec, "ipFamilyPolicy", is_dual ? "RequireDualStack" : "SingleStack");
    put_value(f, spec, "ipFamilies", is_dual ? KT_IPV4_AND_IPV6 : KT_IPV4);
    if (is(spec, "sessionAffinity", "ClientIP"))
        put_value(f, spec, "sessionAffinityConfig", KT_SESSION);
    else
        yyjson_mut_obj_remove_key(spec, "sessionAffinityConfig");
    if (balanced && lacks(spec, "allocateLoadBalancerNodePorts"))
        put(f, spec, "allocateLoadBalancerNodePorts", yyjson_mut_true(f->doc));
    if (balanced || is(spec, "type", "NodePort"))
        put_text(f, spec, "externalTrafficPolicy", "Cluster");
    if (yyjson_mut_is_str(ip) && !get(spec, "clusterIPs")) {
        yyjson_mut_val *ips = yyjson_mut_arr(f->doc);
        if (!yyjson_mut_arr_append(ips, yyjson_mut_val_mut_copy(f->doc, ip)))
            f->failed = KI_ERR_NO_MEMORY;
        put(f, spec, "clusterIPs", ips);
    }
}

static void fill_service_port(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *port = get(obj, "port"), *target = get(obj, "targetPort");
    bool has_target = yyjson_mut_is_str(target) ? yyjson_mut_get_len(target) > 0 : yyjson_mut_get_sint(target) != 0;
    if (port && !has_target)
        put(f, obj, "targetPort", yyjson_mut_val_mut_copy(f->doc, port));
}

/* Returns the rollingUpdate of a Deployment's, StatefulSet's or DaemonSet's strategy; NULL if it has another type. */
static yyjson_mut_val *rolling_of(filler *f, yyjson_mut_val *strategy) {
    return is(strategy, "type", "RollingUpdate") ? object_at(f, strategy, "rollingUpdate") : NULL;
}

static void fill_deployment(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *rolling = rolling_of(f, obj);
    if (!rolling)
        return;
    put_text(f, rolling, "maxUnavailable", "25%");
    put_text(f, rolling, "maxSurge", "25%");
}

static void fill_stateful(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *rolling = rolling_of(f, obj);
    if (!rolling)
        return;
    put_number(f, rolling, "partition", 0);
    put_number(f, rolling, "maxUnavailable", 1);
}

static void fill_daemon(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *rolling = rolling_of(f, obj);
    if (!rolling)
        return;
    put_number(f, rolling, "maxUnavailable", 1);
    put_number(f, rolling, "maxSurge", 0);
}

static void fill_claims(filler *f, yyjson_mut_val *spec) {
    size_t index, count;
    yyjson_mut_val *claim;
    yyjson_mut_arr_foreach(get(spec, "volumeClaimTemplates"), index, count, claim) {
        if (!yyjson_mut_is_obj(claim))
            continue;
        put_text(f, claim, "apiVersion", "v1");
        put_text(f, claim, "kind", "PersistentVolumeClaim");
        put_value(f, claim, "status", KT_PENDING);
    }
}

static void fill_network_policy(filler *f, yyjson_mut_val *spec) {
    put_value(f, spec, "policyTypes", yyjson_mut_arr_size(get(spec, "egress")) ? KT_INGRESS_AND_EGRESS : KT_INGRESS);
}

static void fill_subject(filler *f, yyjson_mut_val *obj) {
    if (is(obj, "kind", "User") || is(obj, "kind", "Group"))
        put_text(f, obj, "apiGroup", "rbac.authorization.k8s.io");
}

static void fill_role_ref(filler *f, yyjson_mut_val *obj) {
    put_text(f, obj, "apiGroup", "rbac.authorization.k8s.io");
}

static void fill_autoscaler(filler *f, yyjson_mut_val *spec) {
    if (yyjson_mut_arr_size(get(spec, "metrics")) == 0)
        put_value(f, spec, "metrics", KT_METRICS);
}

static void fill_behavior(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *up = object_at(f, obj, "scaleUp"), *down = object_at(f, obj, "scaleDown");
    if (up) {
        put_number(f, up, "stabilizationWindowSeconds", 0);
        put_value(f, up, "policies", KT_SCALE_UP);
    }
    if (down)
        put_value(f, down, "policies", KT_SCALE_DOWN);
}

static void fill_ingress_address(filler *f, yyjson_mut_val *obj) {
    if (get(obj, "ip"))
        put_text(f, obj, "ipMode", "VIP");
}

/* Fills in the list of addresses of which `name` is the first, or `name` from the list: podIP and podIPs, podCIDR and
 * podCIDRs. A list that begins with another address is replaced. */
static void fill_list_of(filler *f, yyjson_mut_val *obj, const char *name, const char *list_name, const char *member) {
    yyjson_mut_val *one = get(obj, name), *first = yyjson_mut_arr_get_first(get(obj, list_name));
    if (first && member)
        first = get(first, member);
    if (first && !one)
        put(f, obj, name, yyjson_mut_val_mut_copy(f->doc, first));
    if (!one || (first && yyjson_mut_equals(first, one)))
        return;
    yyjson_mut_obj_remove_key(obj, list_name);
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(f->doc, one), *list = yyjson_mut_arr(f->doc);
    if (member) {
        yyjson_mut_val *element = yyjson_mut_obj(f->doc);
        put(f, element, member, copy);
        copy = element;
    }
    if (!copy || !yyjson_mut_arr_append(list, copy))
        f->failed = KI_ERR_NO_MEMORY;
    put(f, obj, list_name, list);
}

static void fill_pod_status(filler *f, yyjson_mut_val *obj) {
    fill_list_of(f, obj, "podIP", "podIPs", "ip");
}

static void fill_node_spec(filler *f, yyjson_mut_val *obj) {
    fill_list_of(f, obj, "podCIDR", "podCIDRs", NULL);
}

static void fill_node_status(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *capacity = get(obj, "capacity");
    if (capacity && !get(obj, "allocatable"))
        put(f, obj, "allocatable", yyjson_mut_val_mut_copy(f->doc, capacity));
}

/* The number of devices of a request; "All" has none. */
static void fill_device_request(filler *f, yyjson_mut_val *obj) {
    put_text(f, obj, "allocationMode", "ExactCount");
    if (is(obj, "allocationMode", "ExactCount"))
        put_number(f, obj, "count", 1);
}

/* Sets the members of `obj` that `from` has and `obj` lacks, from the first RESOURCES_MAX members. */
static void fill_from(filler *f, yyjson_mut_val *obj, yyjson_mut_val *from) {
    size_t index, count;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(from, index, count, key, val) {
        if (index == RESOURCES_MAX)
            break;
        if (!yyjson_mut_obj_getn(obj, yyjson_mut_get_str(key), yyjson_mut_get_len(key)) &&
            !yyjson_mut_obj_add(obj, yyjson_mut_val_mut_copy(f->doc, key), yyjson_mut_val_mut_copy(f->doc, val)))
            f->failed = KI_ERR_NO_MEMORY;
    }
}

static void fill_limit(filler *f, yyjson_mut_val *item) {
    yyjson_mut_val *most = get(item, "max"), *least = get(item, "min"), *limits = get(item, "default");
    bool has_any = yyjson_mut_obj_size(most) || yyjson_mut_obj_size(least) || yyjson_mut_obj_size(limits);
    if (!is(item, "type", "Container") || !has_any)
        return;
    if (yyjson_mut_obj_size(most) && (limits = object_at(f, item, "default")) != NULL)
        fill_from(f, limits, most);
    yyjson_mut_val *requests = object_at(f, item, "defaultRequest");
    if (!requests)
        return;
    fill_from(f, requests, limits);
    fill_from(f, requests, least);
}

static void fill_slice_port(filler *f, yyjson_mut_val *obj) {
    put_text(f, obj, "name", "");
}

/* Copies the template's labels to the selector and to the labels of a ReplicationController. */
static void fill_replication(filler *f, yyjson_mut_val *root) {
    yyjson_mut_val *spec = get(root, "spec"), *meta = get(root, "metadata");
    yyjson_mut_val *labels = get(get(get(spec, "template"), "metadata"), "labels");
    if (yyjson_mut_obj_size(labels) == 0)
        return;
    if (yyjson_mut_is_obj(spec) && !get(spec, "selector"))
        put(f, spec, "selector", yyjson_mut_val_mut_copy(f->doc, labels));
    if (yyjson_mut_is_obj(meta) && !get(meta, "labels"))
        put(f, meta, "labels", yyjson_mut_val_mut_copy(f->doc, labels));
}

/* Sets the missing resource requests of a container or pod to its limits. */
static void fill_requests(filler *f, yyjson_mut_val *obj) {
    yyjson_mut_val *resources = get(obj, "resources"), *limits = get(resources, "limits");
    if (!yyjson_mut_is_obj(limits) || yyjson_mut_obj_size(limits) == 0)
        return;
    yyjson_mut_val *requests = object_at(f, resources, "requests");
    if (!requests)
        return;
    fill_from(f, requests, limits);
}

static bool tolerates(yyjson_mut_val *list, yyjson_val *toleration) {
    size_t index, count;
    yyjson_mut_val *one;
    const char *wanted = yyjson_get_str(yyjson_obj_get(toleration, "key"));
    yyjson_mut_arr_foreach(list, index, count, one) {
        yyjson_mut_val *key = get(one, "key"), *effect = get(one, "effect");
        bool is_key = key ? yyjson_mut_equals_str(key, wanted) : yyjson_mut_get_len(key) == 0;
        if (is_key && (!effect || yyjson_mut_equals_str(effect, "NoExecute")))
            return true;
    }
    return false;
}

static void fill_tolerations(filler *f, yyjson_mut_val *spec) {
    yyjson_val *all = f->defaults->others[KT_TOLERATIONS], *one;
    size_t index, count;
    if (lacks(spec, "tolerations")) {
        put(f, spec, "tolerations", yyjson_val_mut_copy(f->doc, all));
        return;
    }
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "tolerations");
    yyjson_arr_foreach(all, index, count, one) {
        if (yyjson_mut_is_arr(list) && !tolerates(list, one) &&
            !yyjson_mut_arr_append(list, yyjson_val_mut_copy(f->doc, one)))
            f->failed = KI_ERR_NO_MEMORY;
    }
}

/* Sets the host ports of containers in the host's network. */
static void fill_host_ports(filler *f, yyjson_mut_val *containers) {
    size_t index, count, k, port_count;
    yyjson_mut_val *container, *port;
    yyjson_mut_arr_foreach(containers, index, count, container) {
        yyjson_mut_arr_foreach(get(container, "ports"), k, port_count, port) {
            yyjson_mut_val *number = get(port, "containerPort");
            if (number && !get(port, "hostPort"))
                put(f, port, "hostPort", yyjson_mut_val_mut_copy(f->doc, number));
        }
    }
}

static void fill_pod_spec(filler *f, yyjson_mut_val *spec) {
    yyjson_mut_val *account = get(spec, "serviceAccountName");
    if (account)
        put(f, spec, "serviceAccount", yyjson_mut_val_mut_copy(f->doc, account));
    if (yyjson_mut_is_true(get(spec, "hostNetwork"))) {
        fill_host_ports(f, get(spec, "containers"));
        fill_host_ports(f, get(spec, "initContainers"));
    }
}

static void fill_pod(filler *f, yyjson_mut_val *root) {
    yyjson_mut_val *spec = get(root, "spec"), *container;
    size_t index, count;
    if (yyjson_mut_is_obj(spec))
        fill_tolerations(f, spec);
    if (yyjson_mut_get_sint(get(spec, "terminationGracePeriodSeconds")) < 0)
        put(f, spec, "terminationGracePeriodSeconds", yyjson_mut_sint(f->doc, 1));
    fill_requests(f, spec); /* of pods, and not of templates */
    for (size_t i = 0; i < sizeof container_lists / sizeof container_lists[0]; i++) {
        yyjson_mut_arr_foreach(get(spec, container_lists[i]), index, count, container) {
            fill_requests(f, container);
        }
    }
}

static const struct {
    const char *type;
    const char *package; /* NULL: any package */
    void (*fill)(filler *f, yyjson_mut_val *obj);
} special[] = {
    { "Container", NULL, fill_container },
    { "EphemeralContainer", NULL, fill_container },
    { "Volume", NULL, fill_volume },
    { "ServiceSpec", NULL, fill_service },
    { "ServicePort", NULL, fill_service_port },
    { "DeploymentStrategy", NULL, fill_deployment },
    { "StatefulSetUpdateStrategy", NULL, fill_stateful },
    { "StatefulSetSpec", NULL, fill_claims },
    { "DaemonSetUpdateStrategy", NULL, fill_daemon },
    { "NetworkPolicySpec", NULL, fill_network_policy },
    { "Subject", "io.k8s.api.rbac.v1", fill_subject },
    { "RoleRef", "io.k8s.api.rbac.v1", fill_role_ref },
    { "HorizontalPodAutoscalerSpec", "io.k8s.api.autoscaling.v2", fill_autoscaler },
    { "HorizontalPodAutoscalerBehavior", NULL, fill_behavior },
    { "EndpointPort", "io.k8s.api.discovery.v1", fill_slice_port },
    { "LimitRangeItem", NULL, fill_limit },
    { "ExactDeviceRequest", NULL, fill_device_request },
    { "DeviceSubRequest", NULL, fill_device_request },
    { "LoadBalancerIngress", NULL, fill_ingress_address },
    { "PodStatus", NULL, fill_pod_status },
    { "NodeSpec", NULL, fill_node_spec },
    { "NodeStatus", NULL, fill_node_status },
    { "ReplicationController", NULL, fill_replication },
    { "PodSpec", NULL, fill_pod_spec },
    { "Pod", NULL, fill_pod },
};

/* ---- zeros: Go writes fields without omitempty, and structs ---- */

static yyjson_mut_val *zero_of(filler *f, const kt_field *field) {
    if (field->wrap != KT_WRAP_ONE || (field->flags & KT_FIELD_POINTER))
        return yyjson_mut_null(f->doc);
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_STRING:
        return yyjson_mut_str(f->doc, "");
    case KT_VALUE_BOOL:
        return yyjson_mut_bool(f->doc, false);
    case KT_VALUE_INT32:
    case KT_VALUE_INT64:
    case KT_VALUE_INT_OR_STRING:
        return yyjson_mut_uint(f->doc, 0);
    case KT_VALUE_DOUBLE:
        return yyjson_mut_real(f->doc, 0);
    case KT_VALUE_QUANTITY:
        return yyjson_mut_str(f->doc, "0");
    case KT_VALUE_OBJECT:
        return yyjson_mut_obj(f->doc);
    default:
        return yyjson_mut_null(f->doc);
    }
}

static bool is_empty(const kt_field *field, yyjson_mut_val *val) {
    return field->wrap != KT_WRAP_ONE && yyjson_mut_is_ctn(val) && yyjson_mut_get_len(val) == 0;
}

static void fill_member(filler *f, const kt_field *field, yyjson_mut_val *val);

/* Adds the zeros of the fields that Go writes. */
static void add_zeros(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    const kt_field *field = f->schema->fields + type->first, *end = field + type->count;
    for (; field < end && !f->failed; field++) {
        if (field->flags & KT_FIELD_INLINE)
            add_zeros(f, f->schema->types + field->type, obj);
        if (!(field->flags & KT_FIELD_WRITTEN))
            continue;
        yyjson_mut_val *val = yyjson_mut_obj_get(obj, field->name);
        if (val && !yyjson_mut_is_null(val) && !is_empty(field, val))
            continue;
        yyjson_mut_val *zero = zero_of(f, field);
        put(f, obj, field->name, zero);
        fill_member(f, field, zero);
    }
}

/* ---- walk ---- */

/* Fills in an object that was there or is a default, and its members. */
static void fill(filler *f, const kt_type *type, yyjson_mut_val *obj) {
    size_t index, count;
    yyjson_val *name, *constant;
    if (!yyjson_mut_is_obj(obj) || f->failed)
        return;
    yyjson_obj_foreach(f->defaults->of_type[type - f->schema->types], index, count, name, constant) {
        put_copy(f, obj, yyjson_get_str(name), constant);
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (strcmp(special[i].type, type->name) == 0 &&
            (!special[i].package || strcmp(special[i].package, type->package) == 0))
            special[i].fill(f, obj);
    }
    bool has_zeros = f->writes_zeros && strcmp(type->name, "ObjectMeta") != 0;
    yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; !f->failed && (key = yyjson_mut_obj_iter_next(&iter)) != NULL;) {
        yyjson_mut_val *val = yyjson_mut_obj_iter_get_val(key);
        const kt_field *field = NULL;
        if (yyjson_mut_is_ctn(val))
            field = kt_type_field(f->schema, type, (ki_str){ yyjson_mut_get_str(key), yyjson_mut_get_len(key) });
        if (!field)
            continue;
        if (has_zeros && !(field->flags & KT_FIELD_WRITTEN) && is_empty(field, val))
            yyjson_mut_obj_iter_remove(&iter); /* a protobuf storage does not keep empty lists and maps */
        else
            fill_member(f, field, val);
    }
    if (has_zeros)
        add_zeros(f, type, obj);
}

static void fill_member(filler *f, const kt_field *field, yyjson_mut_val *val) {
    const kt_type *type = f->schema->types + field->type;
    size_t index, count;
    yyjson_mut_val *key, *element;
    if (field->kind != KT_VALUE_OBJECT)
        return;
    if (field->wrap == KT_WRAP_ONE) {
        fill(f, type, val);
    } else if (field->wrap == KT_WRAP_LIST) {
        yyjson_mut_arr_foreach(val, index, count, element) {
            fill(f, type, element);
        }
    } else {
        yyjson_mut_obj_foreach(val, index, count, key, element) {
            fill(f, type, element);
        }
    }
}

ki_status kt_defaults_fill(const kt_defaults *defaults, const kt_spot *spot, yyjson_mut_doc *doc,
                           yyjson_mut_val *root) {
    filler f = { .defaults = defaults, .schema = spot->schema, .doc = doc, .left = ADDED_MAX };
    if (!spot->type)
        return KI_OK;
    f.writes_zeros = strcmp(spot->type->name, "CustomResourceDefinition") != 0;
    fill(&f, spot->type, root);
    return f.failed;
}

/* ---- quality of service ---- */

static bool is_nonzero(yyjson_mut_val *quantity) {
    return quantity && !yyjson_mut_equals_str(quantity, "0") &&
           !(yyjson_mut_is_num(quantity) && yyjson_mut_get_num(quantity) == 0);
}

static void check_resources(yyjson_mut_val *resources, bool *any, bool *all) {
    static const char *const counted[] = { "cpu", "memory" };
    yyjson_mut_val *limits = get(resources, "limits"), *requests = get(resources, "requests");
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        yyjson_mut_val *limit = get(limits, counted[i]), *request = get(requests, counted[i]);
        *any = *any || is_nonzero(limit) || is_nonzero(request);
        *all = *all && is_nonzero(limit) && (!request || yyjson_mut_equals(limit, request));
    }
}

const char *kt_defaults_qos(yyjson_mut_val *pod) {
    yyjson_mut_val *spec = get(pod, "spec"), *resources = get(spec, "resources"), *container;
    bool any = false, all = true;
    size_t index, count;
    if (resources) /* the pod's own resources count alone */
        check_resources(resources, &any, &all);
    for (size_t i = 0; !resources && i < sizeof container_lists / sizeof container_lists[0]; i++) {
        yyjson_mut_arr_foreach(get(spec, container_lists[i]), index, count, container) {
            check_resources(get(container, "resources"), &any, &all);
        }
    }
    return !any ? "BestEffort" : all ? "Guaranteed" : "Burstable";
}
