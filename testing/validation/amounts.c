/* amounts.c: see amounts.h. */
#include "testing/validation/amounts.h"

#include "src/base/quantity.h"
#include "src/object/label.h"
#include "testing/values/json.h"

static const char *const of_containers[] = { "cpu", "memory", "ephemeral-storage", NULL };
static const char *const of_requests[] = {
    "requests.cpu", "requests.memory", "requests.storage",         "requests.ephemeral-storage",
    "limits.cpu",   "limits.memory",   "limits.ephemeral-storage", NULL
};
static const char *const counted[] = {
    "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
    "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers", NULL
};

static bool is_among(ki_str name, const char *const *names) {
    while (*names && !ki_str_equals(name, *names))
        names++;
    return *names != NULL;
}

static bool has_domain(ki_str name) {
    return name.size && memchr(name.data, '/', name.size);
}

static bool is_huge_page(ki_str name) {
    return ki_str_starts_with(name, KI_STR("hugepages-"));
}

static bool is_quota_name(ki_str name) {
    return is_among(name, of_containers) || is_among(name, of_requests) || is_among(name, counted) ||
           is_huge_page(name) || ki_str_starts_with(name, KI_STR("requests.hugepages-"));
}

/* Returns true for a name of another domain than kubernetes.io. */
static bool is_foreign(ki_str name) {
    return has_domain(name) && !memmem(name.data, name.size, "kubernetes.io/", sizeof "kubernetes.io/" - 1);
}

static void add(kt_causes *causes, const char *field, ki_str name, const char *why) {
    kt_causes_add(causes, KT_CAUSE_INVALID, field, name, why);
}

bool kt_check_resource_name(kt_causes *causes, const char *field, ki_str name) {
    const char *why = ki_label_check_key(name);
    if (!why && !has_domain(name) && !is_quota_name(name) && !ki_str_equals(name, "storage"))
        why = "must be a standard resource type or fully qualified";
    if (why)
        add(causes, field, name, why);
    return !why;
}

void kt_check_quota_name(kt_causes *causes, const char *field, ki_str name) {
    kt_check_resource_name(causes, field, name);
    if (!has_domain(name) && !is_quota_name(name))
        add(causes, field, name, "must be a standard resource for quota");
}

void kt_check_container_resource_name(kt_causes *causes, const char *field, ki_str name) {
    kt_check_resource_name(causes, field, name);
    if (!has_domain(name) && !is_among(name, of_containers) && !is_huge_page(name))
        add(causes, field, name, "must be a standard resource for containers");
    else if (is_foreign(name) && ki_str_starts_with(name, KI_STR("requests.")))
        add(causes, field, name, "doesn't follow extended resource name standard");
}

void kt_check_amount(kt_causes *causes, const char *field, ki_str name, yyjson_val *val) {
    static const ki_quantity zero = { 0 };
    bool is_counted = is_among(name, counted) || (is_foreign(name) && !ki_str_starts_with(name, KI_STR("requests.")));
    ki_quantity amount;
    char shown[KI_QUANTITY_SIZE];
    if (!yyjson_is_str(val) || !ki_quantity_parse(kt_json_str(val), &amount))
        return;
    ki_quantity_write(&amount, shown);
    if (ki_quantity_compare(&amount, &zero) < 0)
        add(causes, field, ki_str_of(shown), KT_NOT_NEGATIVE);
    if (is_counted && amount.nano)
        add(causes, field, ki_str_of(shown), "must be an integer");
}
