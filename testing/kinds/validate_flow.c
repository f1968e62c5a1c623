/* validate_flow.c: checks flow schemas and priority levels. */
#include "testing/kinds/kinds.h"

#include "src/object/label.h"
#include "testing/validation/validate.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    PATH_SIZE = 128,
    DETAIL_SIZE = 400,
    PRECEDENCE_MAX = 10000,
    QUEUES_MAX = 10 * 1000 * 1000,
    HASH_BITS = 60, /* of the hash that deals a flow its hand of queues */
    PERCENT_MAX = 100,
    DEFAULT_QUEUES = 64,
    DEFAULT_HAND = 8
};

static void add_required(kt_checked *c, const char *path, const char *name, const char *why) {
    kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, why, "%s.%s", path, name);
}

static void add_number(kt_checked *c, const char *path, const char *name, int64_t number, const char *why) {
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, number);
    kt_validate_add(c->causes, KT_CAUSE_INVALID, ki_str_of(shown), false, why, "%s.%s", path, name);
}

/* Adds a text, or the empty one. */
static void add_text(kt_checked *c, const char *path, const char *name, ki_str text, const char *why) {
    kt_validate_add(c->causes, KT_CAUSE_INVALID, text.size ? text : KI_STR(""), true, why, "%s.%s", path, name);
}

/* ---- flow schemas ---- */

static void check_account(kt_checked *c, const char *path, yyjson_val *account) {
    ki_str name = kt_json_get_str(account, "name"), ns = kt_json_get_str(account, "namespace");
    const char *why = ki_str_equals(name, "*") ? NULL : ki_label_check_subdomain(name);
    if (!name.size)
        add_required(c, path, "serviceAccount.name", "");
    else if (why)
        add_text(c, path, "serviceAccount.name", name, why);
    if (!ns.size)
        add_required(c, path, "serviceAccount.namespace", "must specify namespace for service account");
    else if ((why = kt_validate_dns_label(ns)) != NULL)
        add_text(c, path, "serviceAccount.namespace", ns, why);
}

static void check_subject(kt_checked *c, const char *path, yyjson_val *subject) {
    static const char *const kinds[] = { "ServiceAccount", "User", "Group" };
    static const char *const members[] = { "serviceAccount", "user", "group" };
    ki_str kind = kt_json_get_str(subject, "kind");
    size_t own = 0;
    while (own < 3 && !ki_str_equals(kind, kinds[own]))
        own++;
    if (own == 3)
        kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, kind.size ? kind : KI_STR(""), true,
                        "supported values: \"Group\", \"ServiceAccount\", \"User\"", "%s.kind", path);
    for (size_t i = 0; i < 3 && own < 3; i++) {
        yyjson_val *member = yyjson_obj_get(subject, members[i]);
        bool is_given = kt_json_has(subject, members[i]);
        char why[96], name[32];
        snprintf(name, sizeof name, "%s.name", members[i]);
        snprintf(why, sizeof why, "%s is %s when subject kind is %s'%s'", members[i],
                 i == own ? "required" : "forbidden", i == own ? "" : "not ", kinds[i]);
        if (i == own && !is_given)
            add_required(c, path, members[i], why);
        else if (i == own && i == 0)
            check_account(c, path, member);
        else if (i == own && !kt_json_get_str(member, "name").size)
            add_required(c, path, name, "");
        else if (i != own && is_given)
            kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, why, "%s.%s", path, members[i]);
    }
}

/* Checks a list in which "*" stands alone. Returns true if its elements are to be checked. */
static bool check_list(kt_checked *c, const char *path, yyjson_val *rule, const char *name, const char *required,
                       const char *others) {
    yyjson_val *list = yyjson_obj_get(rule, name);
    char field[PATH_SIZE + 32], why[96];
    snprintf(field, sizeof field, "%s.%s", path, name);
    snprintf(why, sizeof why, "if '*' is present, must not specify other %s", others);
    if (!yyjson_arr_size(list))
        add_required(c, path, name, required);
    else if (kt_json_list_has(list, SIZE_MAX, NULL, KI_STR("*")) && yyjson_arr_size(list) > 1)
        kt_add_json(c, field, list, why);
    return yyjson_arr_size(list) && !kt_json_list_has(list, SIZE_MAX, NULL, KI_STR("*"));
}

static void check_verbs(kt_checked *c, const char *path, yyjson_val *rule) {
    static const char *const verbs[] = { "create", "delete", "deletecollection", "get",  "list",
                                         "patch",  "proxy",  "update",           "watch" };
    yyjson_val *list = yyjson_obj_get(rule, "verbs"), *verb;
    bool is_known = true;
    char field[PATH_SIZE + 16];
    size_t index, count;
    if (!check_list(c, path, rule, "verbs", "verbs must contain at least one value", "verbs"))
        return;
    yyjson_arr_foreach(list, index, count, verb) {
        size_t i = 0;
        while (i < sizeof verbs / sizeof verbs[0] && !yyjson_equals_str(verb, verbs[i]))
            i++;
        is_known = is_known && i < sizeof verbs / sizeof verbs[0];
    }
    snprintf(field, sizeof field, "%s.verbs", path);
    if (!is_known)
        kt_add_json_as(c, KT_CAUSE_NOT_SUPPORTED, field, list,
                       "supported values: \"create\", \"delete\", \"deletecollection\", \"get\", \"list\", \"patch\", "
                       "\"proxy\", \"update\", \"watch\"");
}

static void check_resource_rule(kt_checked *c, const char *path, yyjson_val *rule) {
    yyjson_val *namespaces = yyjson_obj_get(rule, "namespaces"), *one;
    bool is_cluster_scoped = yyjson_get_bool(yyjson_obj_get(rule, "clusterScope"));
    size_t index, count;
    check_verbs(c, path, rule);
    check_list(c, path, rule, "apiGroups", "resource rules must supply at least one api group", "api groups");
    check_list(c, path, rule, "resources", "resource rules must supply at least one resource", "resources");
    if ((is_cluster_scoped && !yyjson_arr_size(namespaces)) ||
        !check_list(c, path, rule, "namespaces",
                    "resource rules that are not cluster scoped must supply at least one namespace", "namespaces"))
        return;
    yyjson_arr_foreach(namespaces, index, count, one) {
        const char *problem = kt_validate_dns_label(kt_json_str(one));
        char why[DETAIL_SIZE], name[40];
        snprintf(why, sizeof why, "each member of this list must be '*' or a DNS-1123 label; %s",
                 problem ? problem : "");
        snprintf(name, sizeof name, "namespaces[%zu]", index);
        if (problem)
            add_text(c, path, name, kt_json_str(one), why);
    }
}

static const char *url_problem(ki_str url) {
    const char *star = url.size ? memchr(url.data, '*', url.size) : NULL;
    if (!url.size)
        return "must not be empty";
    if (url.data[0] != '/')
        return "must start with slash";
    if (memchr(url.data, ' ', url.size))
        return "must not contain white-space";
    if (memmem(url.data, url.size, "//", 2))
        return "must not contain double slash";
    if (star && (star != url.data + url.size - 1 || star[-1] != '/'))
        return "wildcard can only do suffix matching";
    return NULL;
}

static void check_url_rule(kt_checked *c, const char *path, yyjson_val *rule) {
    size_t index, count;
    yyjson_val *one;
    check_verbs(c, path, rule);
    if (!check_list(c, path, rule, "nonResourceURLs", "nonResourceURLs must contain at least one value",
                    "non-resource URLs"))
        return;
    yyjson_arr_foreach(yyjson_obj_get(rule, "nonResourceURLs"), index, count, one) {
        const char *why = url_problem(kt_json_str(one));
        char name[40];
        snprintf(name, sizeof name, "nonResourceURLs[%zu]", index);
        if (why)
            add_text(c, path, name, kt_json_str(one), why);
    }
}

static void check_flow_rule(kt_checked *c, size_t at, yyjson_val *rule) {
    static const struct {
        const char *member;
        void (*check)(kt_checked *c, const char *path, yyjson_val *one);
    } parts[] = { { "subjects", check_subject },
                  { "resourceRules", check_resource_rule },
                  { "nonResourceRules", check_url_rule } };
    size_t index, count;
    yyjson_val *one;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "spec.rules[%zu]", at);
    if (!yyjson_arr_size(yyjson_obj_get(rule, "subjects")))
        add_required(c, path, "subjects", "subjects must contain at least one value");
    if (!yyjson_arr_size(yyjson_obj_get(rule, "resourceRules")) &&
        !yyjson_arr_size(yyjson_obj_get(rule, "nonResourceRules")))
        kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true,
                        "at least one of resourceRules and nonResourceRules has to be non-empty", "%s", path);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        yyjson_arr_foreach(yyjson_obj_get(rule, parts[i].member), index, count, one) {
            if (kt_causes_is_full(c->causes))
                return;
            snprintf(path, sizeof path, "spec.rules[%zu].%s[%zu]", at, parts[i].member, index);
            parts[i].check(c, path, one);
        }
    }
}

static void check_method(kt_checked *c) {
    ki_str type = kt_json_get_str(yyjson_obj_get(c->spec, "distinguisherMethod"), "type");
    ki_buffer text;
    if (!kt_json_has(c->spec, "distinguisherMethod") || ki_str_equals(type, "ByUser") ||
        ki_str_equals(type, "ByNamespace"))
        return;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    ki_buffer_append_string(&text, "{\"Type\":");
    ki_buffer_append_json_string(&text, type);
    if (ki_buffer_append_char(&text, '}'))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.distinguisherMethod.type",
                        (ki_str){ text.data, text.size }, false, "supported values: \"ByNamespace\", \"ByUser\"");
    ki_buffer_free(&text);
}

void kt_check_flow_schema(kt_checked *c) {
    int64_t precedence = yyjson_get_sint(yyjson_obj_get(c->spec, "matchingPrecedence")); /* 0: the default */
    ki_str name = kt_json_get_str(yyjson_obj_get(c->root, "metadata"), "name");
    ki_str level = kt_json_get_str(yyjson_obj_get(c->spec, "priorityLevelConfiguration"), "name");
    const char *why = ki_label_check_subdomain(level);
    size_t index, count;
    yyjson_val *rule;
    if (precedence < 0)
        add_number(c, "spec", "matchingPrecedence", precedence, "must be a positive value");
    if (precedence > PRECEDENCE_MAX)
        add_number(c, "spec", "matchingPrecedence", precedence, "must not be greater than 10000");
    if (precedence == 1 && !ki_str_equals(name, "exempt"))
        add_number(c, "spec", "matchingPrecedence", precedence,
                   "only the schema named 'exempt' may have matchingPrecedence 1");
    check_method(c);
    if (!level.size)
        add_required(c, "spec", "priorityLevelConfiguration.name", "must reference a priority level");
    else if (why)
        add_text(c, "spec", "priorityLevelConfiguration.name", level, why);
    yyjson_arr_foreach(yyjson_obj_get(c->spec, "rules"), index, count, rule) {
        check_flow_rule(c, index, rule);
    }
}

/* ---- priority levels ---- */

/* Returns a number; absent and 0 are the default. */
static int64_t number_or(yyjson_val *obj, const char *name, int64_t otherwise) {
    int64_t number = yyjson_get_sint(yyjson_obj_get(obj, name));
    return number ? number : otherwise;
}

/* Returns true if queues to the power of hand exceeds the hash. */
static bool needs_more_bits(int64_t queues, int64_t hand) {
    uint64_t most = UINT64_C(1) << HASH_BITS, hands = 1;
    for (int64_t i = 0; i < hand && queues > 1; i++) {
        if (hands > most / (uint64_t)queues)
            return true;
        hands *= (uint64_t)queues;
    }
    return false;
}

static void check_queuing(kt_checked *c, yyjson_val *queuing) {
    static const char path[] = "spec.limited.limitResponse.queuing";
    int64_t queues = number_or(queuing, "queues", DEFAULT_QUEUES), hand = number_or(queuing, "handSize", DEFAULT_HAND);
    int64_t length = number_or(queuing, "queueLengthLimit", 1);
    char why[128];
    if (length < 0)
        add_number(c, path, "queueLengthLimit", length, "must be positive");
    if (queues < 0)
        add_number(c, path, "queues", queues, "must be positive");
    else if (queues > QUEUES_MAX)
        add_number(c, path, "queues", queues, "must not be greater than 10000000");
    snprintf(why, sizeof why, "should not be greater than queues (%" PRId64 ")", queues);
    if (hand < 0)
        add_number(c, path, "handSize", hand, "must be positive");
    else if (hand > queues)
        add_number(c, path, "handSize", hand, why);
    else if (needs_more_bits(queues, hand)) {
        snprintf(why, sizeof why,
                 "required entropy bits of deckSize %" PRId64 " and handSize %" PRId64 " should not be greater than %d",
                 queues, hand, HASH_BITS);
        add_number(c, path, "handSize", hand, why);
    }
}

static void check_shares(kt_checked *c, const char *path, yyjson_val *level) {
    int64_t shares = yyjson_get_sint(yyjson_obj_get(level, "nominalConcurrencyShares"));
    int64_t lent = yyjson_get_sint(yyjson_obj_get(level, "lendablePercent"));
    int64_t borrowed = yyjson_get_sint(yyjson_obj_get(level, "borrowingLimitPercent"));
    if (shares < 0)
        add_number(c, path, "nominalConcurrencyShares", shares, "must be a non-negative integer");
    if (lent < 0 || lent > PERCENT_MAX)
        add_number(c, path, "lendablePercent", lent, "must be between 0 and 100, inclusive");
    if (borrowed < 0)
        add_number(c, path, "borrowingLimitPercent", borrowed, "if specified, must be a non-negative integer");
}

static void check_limited(kt_checked *c, yyjson_val *limited) {
    yyjson_val *response = yyjson_obj_get(limited, "limitResponse"), *type = yyjson_obj_get(response, "type");
    bool is_queue = yyjson_equals_str(type, "Queue"), has_queuing = kt_json_has(response, "queuing");
    check_shares(c, "spec.limited", limited);
    if (!kt_json_str(type).size)
        kt_add_required(c, "spec.limited.limitResponse.type");
    else
        kt_check_choice(c->causes, "spec.limited.limitResponse", "type", type, "Queue,Reject");
    if (is_queue && !has_queuing)
        kt_add_required(c, "spec.limited.limitResponse.queuing");
    else if (is_queue)
        check_queuing(c, yyjson_obj_get(response, "queuing"));
    else if (has_queuing)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.limited.limitResponse.queuing", KI_STR(""), "");
}

void kt_check_priority_level(kt_checked *c) {
    ki_str type = kt_json_get_str(c->spec, "type"), name = kt_json_get_str(yyjson_obj_get(c->root, "metadata"), "name");
    bool is_exempt = ki_str_equals(type, "Exempt"), is_limited = ki_str_equals(type, "Limited");
    if (ki_str_equals(name, "exempt") != is_exempt)
        add_text(c, "spec", "type", type, "must be 'Exempt' if and only if `name` is 'exempt'");
    if (!type.size)
        kt_add_required(c, "spec.type");
    else
        kt_check_choice(c->causes, "spec", "type", yyjson_obj_get(c->spec, "type"), "Exempt,Limited");
    if (is_limited && !kt_json_has(c->spec, "limited"))
        kt_add_required(c, "spec.limited");
    else if (is_limited)
        check_limited(c, yyjson_obj_get(c->spec, "limited"));
    else if (is_exempt && kt_json_has(c->spec, "limited"))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.limited", KI_STR(""), "");
    if (is_limited && kt_json_has(c->spec, "exempt"))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.exempt", KI_STR(""), "");
    else if (is_exempt)
        check_shares(c, "spec.exempt", yyjson_obj_get(c->spec, "exempt"));
}
