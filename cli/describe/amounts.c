/* amounts.c: see amounts.h. A pod's sums follow Kubernetes' rules for init containers and sidecars (KEP-753) and for
 * resources of whole pods (KEP-2837). */
#include "amounts.h"

#include "values.h"

#include <stdio.h>
#include <string.h>

const char *amount_text(yyjson_val *quantity, char text[KI_QUANTITY_SIZE]) {
    ki_quantity amount;
    ki_str given = { yyjson_get_str(quantity), yyjson_get_len(quantity) };
    if (given.data && ki_quantity_parse(given, &amount))
        ki_quantity_write(&amount, text);
    else if (yyjson_is_int(quantity))
        snprintf(text, KI_QUANTITY_SIZE, "%lld", (long long)yyjson_get_sint(quantity));
    else
        snprintf(text, KI_QUANTITY_SIZE, "%.*s", KI_QUANTITY_SIZE - 1, text_of(quantity));
    return text;
}

ki_quantity amount_of(yyjson_val *quantity) {
    ki_quantity amount = { 0 };
    char text[KI_QUANTITY_SIZE];
    if (!ki_quantity_parse(ki_str_of(amount_text(quantity, text)), &amount))
        return (ki_quantity){ 0 };
    return amount;
}

static bool is_zero(const ki_quantity *amount) {
    return !amount->whole && !amount->nano;
}

/* Adds amounts that are not negative; the server accepts no others. */
static void add_amount(ki_quantity *to, const ki_quantity *more) {
    enum {
        NANO = 1000000000
    };
    if (is_zero(to))
        to->format = more->format;
    to->nano += more->nano;
    to->whole += more->whole + to->nano / NANO;
    to->nano %= NANO;
    if (to->whole > INT64_MAX)
        to->whole = INT64_MAX;
}

/* Returns the place of a resource, which is added if it is new; NULL if there is no room. */
static ki_quantity *place_of(amounts *all, const char *name, bool *ret_is_new) {
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->names[i], name) == 0) {
            *ret_is_new = false;
            return &all->values[i];
        }
    }
    *ret_is_new = true;
    if (all->count == AMOUNTS_MAX)
        return NULL;
    all->names[all->count] = name;
    all->values[all->count] = (ki_quantity){ 0 };
    return &all->values[all->count++];
}

ki_quantity amounts_get(const amounts *all, const char *name) {
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->names[i], name) == 0)
            return all->values[i];
    }
    return (ki_quantity){ 0 };
}

void amounts_add(amounts *to, const amounts *from) {
    for (size_t i = 0; i < from->count; i++) {
        bool is_new;
        ki_quantity *place = place_of(to, from->names[i], &is_new);
        if (place)
            add_amount(place, &from->values[i]);
    }
}

/* Sets each amount to the larger one. */
static void take_larger(amounts *to, const amounts *from) {
    for (size_t i = 0; i < from->count; i++) {
        bool is_new;
        ki_quantity *place = place_of(to, from->names[i], &is_new);
        if (place && (is_new || ki_quantity_compare(&from->values[i], place) > 0))
            *place = from->values[i];
    }
}

static amounts read_amounts(yyjson_val *object) {
    amounts all = { .count = 0 };
    yyjson_val *key, *value;
    size_t index, max;
    yyjson_obj_foreach(object, index, max, key, value) {
        bool is_new;
        ki_quantity *place = place_of(&all, yyjson_get_str(key), &is_new);
        if (place)
            *place = amount_of(value);
    }
    return all;
}

/* ---- containers ---- */

/* Which amounts of a container count. */
typedef enum amount_source {
    FROM_SPEC,
    FROM_ALLOCATED, /* what the kubelet has admitted */
    FROM_ACTUATED   /* what the container runs with */
} amount_source;

/* How a pod's amounts are added up. */
typedef struct counting {
    yyjson_val *pod;
    const char *member; /* "requests" or "limits" */
    amount_source source;
    bool is_infeasible; /* the pod's resize can never happen: its spec does not count */
} counting;

static yyjson_val *find_status(yyjson_val *pod, const char *name) {
    static const char *const lists[] = { "status.containerStatuses", "status.initContainerStatuses" };
    yyjson_val *one;
    size_t index, count;
    for (size_t i = 0; i < 2; i++) {
        yyjson_arr_foreach(value_at(pod, lists[i]), index, count, one) {
            if (strcmp(text_at(one, "name"), name) == 0)
                return one;
        }
    }
    return NULL;
}

static amounts amounts_of_container(const counting *c, yyjson_val *container) {
    bool is_request = strcmp(c->member, "requests") == 0;
    yyjson_val *own = yyjson_obj_get(value_at(container, "resources"), c->member);
    yyjson_val *status = c->source == FROM_SPEC ? NULL : find_status(c->pod, text_at(container, "name"));
    yyjson_val *actual = yyjson_obj_get(value_at(status, "resources"), c->member), *found = NULL;
    if (c->source == FROM_ACTUATED && yyjson_is_obj(actual))
        found = actual;
    else if (is_request)
        found = value_at(status, "allocatedResources");
    if (!found && !(c->source != FROM_SPEC && c->is_infeasible))
        found = own;
    return read_amounts(found);
}

/* Adds up the containers. An init container runs beside the sidecars that come before it. */
static amounts sum_of(const counting *c) {
    amounts sum = { .count = 0 }, sidecars = { .count = 0 }, most = { .count = 0 };
    yyjson_val *container;
    size_t index, count;
    yyjson_arr_foreach(value_at(c->pod, "spec.containers"), index, count, container) {
        amounts own = amounts_of_container(c, container);
        amounts_add(&sum, &own);
    }
    yyjson_arr_foreach(value_at(c->pod, "spec.initContainers"), index, count, container) {
        amounts own = amounts_of_container(c, container);
        if (strcmp(text_at(container, "restartPolicy"), "Always") == 0) {
            amounts_add(&sum, &own);
            amounts_add(&sidecars, &own);
            take_larger(&most, &sidecars);
        } else {
            amounts_add(&own, &sidecars);
            take_larger(&most, &own);
        }
    }
    take_larger(&sum, &most);
    return sum;
}

static bool is_resize_infeasible(yyjson_val *pod) {
    yyjson_val *condition;
    size_t index, count;
    yyjson_arr_foreach(value_at(pod, "status.conditions"), index, count, condition) {
        if (strcmp(text_at(condition, "type"), "PodResizePending") == 0)
            return strcmp(text_at(condition, "reason"), "Infeasible") == 0;
    }
    return false;
}

static amounts sum_of_containers(yyjson_val *pod, const char *member, bool uses_status) {
    bool is_infeasible = uses_status && is_resize_infeasible(pod), is_request = strcmp(member, "requests") == 0;
    counting c = { .pod = pod, .member = member, .is_infeasible = is_infeasible };
    amounts sum = is_infeasible ? (amounts){ .count = 0 } : sum_of(&c);
    if (!uses_status)
        return sum;
    for (c.source = is_request ? FROM_ALLOCATED : FROM_ACTUATED; c.source <= FROM_ACTUATED; c.source++) {
        amounts other = sum_of(&c);
        take_larger(&sum, &other);
    }
    return sum;
}

/* ---- pods ---- */

/* Returns true for a resource that a whole pod can have. */
static bool is_of_pod(const char *name) {
    return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 || strncmp(name, "hugepages-", 10) == 0;
}

static bool has_any_of_pod(const amounts *all) {
    for (size_t i = 0; i < all->count; i++) {
        if (is_of_pod(all->names[i]))
            return true;
    }
    return false;
}

/* Replaces the sums by what the pod as a whole has. */
static void apply_own(amounts *sum, const amounts *own) {
    for (size_t i = 0; i < own->count; i++) {
        bool is_new;
        ki_quantity *place = is_of_pod(own->names[i]) ? place_of(sum, own->names[i], &is_new) : NULL;
        if (place)
            *place = own->values[i];
    }
}

amounts pod_requests(yyjson_val *pod, bool uses_status) {
    amounts sum = sum_of_containers(pod, "requests", uses_status);
    amounts own = read_amounts(value_at(pod, "spec.resources.requests"));
    amounts overhead = read_amounts(value_at(pod, "spec.overhead"));
    apply_own(&sum, &own);
    amounts_add(&sum, &overhead);
    return sum;
}

amounts pod_limits(yyjson_val *pod, bool uses_status) {
    amounts sum = sum_of_containers(pod, "limits", uses_status);
    amounts own = read_amounts(value_at(pod, "spec.resources.limits"));
    amounts overhead = read_amounts(value_at(pod, "spec.overhead"));
    apply_own(&sum, &own);
    for (size_t i = 0; i < sum.count; i++) {
        ki_quantity more = amounts_get(&overhead, sum.names[i]);
        if (!is_zero(&sum.values[i]) && !is_zero(&more))
            add_amount(&sum.values[i], &more);
    }
    return sum;
}

/* ---- the QoS class ---- */

static const char best_effort[] = "BestEffort", burstable[] = "Burstable", guaranteed[] = "Guaranteed";

static const char *qos_of_requirements(yyjson_val *resources) {
    static const char *const names[] = { "cpu", "memory" };
    amounts requests = read_amounts(value_at(resources, "requests"));
    amounts limits = read_amounts(value_at(resources, "limits"));
    const char *qos = NULL;
    if (!requests.count && !limits.count)
        return best_effort;
    for (size_t i = 0; i < 2; i++) {
        ki_quantity request = amounts_get(&requests, names[i]), limit = amounts_get(&limits, names[i]);
        const char *own = is_zero(&request) ? best_effort : guaranteed;
        if (ki_quantity_compare(&request, &limit) != 0 || (qos && qos != own))
            return burstable;
        qos = own;
    }
    return qos;
}

const char *qos_class_of(yyjson_val *pod) {
    static const char *const lists[] = { "spec.initContainers", "spec.containers" };
    yyjson_val *container, *whole = value_at(pod, "spec.resources");
    amounts requests = read_amounts(value_at(whole, "requests")), limits = read_amounts(value_at(whole, "limits"));
    const char *qos = NULL;
    size_t index, count;
    if (has_any_of_pod(&requests) || has_any_of_pod(&limits))
        return qos_of_requirements(whole);
    for (size_t i = 0; i < 2; i++) {
        yyjson_arr_foreach(value_at(pod, lists[i]), index, count, container) {
            const char *own = qos_of_requirements(value_at(container, "resources"));
            if (own == burstable || (qos && qos != own))
                return burstable;
            qos = own;
        }
    }
    return qos ? qos : best_effort;
}
