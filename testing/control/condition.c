/* condition.c: see condition.h. */
#include "testing/control/condition.h"

#include <kinformer-testing/requests.h>

#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/object/selector.h"
#include "testing/cluster/cluster_state.h"
#include "testing/request/call.h"
#include "testing/request/known_names.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SHOWN_MAX = 200 /* bytes of a key or a value in a message */
};

/* ---- making ---- */

/* Copies the texts of a condition into one block. */
static ki_status copy_texts(kt_condition *condition, const ki_resource *resource, const char *const given[4],
                            ki_error *err) {
    const char *from[] = { resource ? resource->group : "",
                           resource ? resource->version : "",
                           resource ? resource->plural : "",
                           resource ? resource->kind : "",
                           given[0],
                           given[1],
                           given[2],
                           given[3] };
    enum {
        COUNT = sizeof from / sizeof from[0]
    };
    const char *copies[COUNT];
    size_t size = 0;
    for (size_t i = 0; i < COUNT; i++)
        size += strlen(from[i] ? from[i] : "") + 1;
    char *at = condition->texts = ki_alloc(kt_cluster_allocator(condition->cluster), size);
    if (!at)
        return ki_error_no_memory(err, "waiting");
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = strlen(from[i] ? from[i] : "");
        memcpy(at, from[i] ? from[i] : "", length + 1);
        copies[i] = at;
        at += length + 1;
    }
    condition->resource =
        (ki_resource){ copies[0], copies[1], copies[2], copies[3], resource ? resource->namespaced : false };
    condition->line = copies[4];
    condition->ns = copies[5];
    condition->name = copies[6];
    condition->fields = copies[7];
    return KI_OK;
}

static ki_status end_making(kt_condition *condition, ki_status status, kt_condition *ret_condition) {
    if (status)
        kt_condition_free(condition);
    else
        *ret_condition = *condition;
    return status;
}

ki_status kt_match_parse(const ki_allocator *allocator, const char *line, kt_spec *ret_match, ki_error *err) {
    static const char *const fields[] = { KT_MATCH_FIELDS, NULL };
    ki_status status = kt_spec_parse(allocator, "a selection of requests", fields, line, ret_match, err);
    if (status)
        return status;
    if (ret_match->kind.size)
        status = ki_error_set(err, KI_ERR_INVALID, "a selection of requests has parts such as verb=list, not \"%.*s\"",
                              (int)(ret_match->kind.size < 64 ? ret_match->kind.size : 64), ret_match->kind.data);
    if (!status)
        status = kt_known_names_check(ret_match, KT_NAMES_OF_FAULT, err);
    if (status)
        kt_spec_free(ret_match);
    return status;
}

ki_status kt_condition_requests(kt_cluster *cluster, const char *line, uint64_t since, uint64_t count,
                                kt_condition *ret_condition, ki_error *err) {
    kt_condition condition = { .cluster = cluster, .kind = KT_UNTIL_REQUESTS, .count = count, .since = since };
    if (count > KI_TESTING_REQUESTS_MAX_COUNT)
        return ki_error_set(err, KI_ERR_INVALID, "at most %d requests are recorded, not %" PRIu64,
                            (int)KI_TESTING_REQUESTS_MAX_COUNT, count);
    ki_status status = kt_match_parse(kt_cluster_allocator(cluster), line, &condition.match, err);
    if (!status)
        status = copy_texts(&condition, NULL, (const char *const[]){ line, NULL, NULL, NULL }, err);
    return end_making(&condition, status, ret_condition);
}

ki_status kt_condition_watches(kt_cluster *cluster, const ki_resource *resource, uint64_t count,
                               kt_condition *ret_condition, ki_error *err) {
    kt_condition condition = { .cluster = cluster, .kind = KT_UNTIL_WATCHES, .count = count };
    ki_status status = copy_texts(&condition, resource, (const char *const[]){ NULL, NULL, NULL, NULL }, err);
    return end_making(&condition, status, ret_condition);
}

kt_condition kt_condition_fault(kt_cluster *cluster, uint64_t id, uint64_t count) {
    return (kt_condition){ .cluster = cluster, .kind = KT_UNTIL_INJECTED, .count = count, .fault = id };
}

ki_status kt_condition_objects(kt_cluster *cluster, const kt_wanted_objects *wanted, kt_condition *ret_condition,
                               ki_error *err) {
    const ki_allocator *allocator = kt_cluster_allocator(cluster);
    kt_condition condition = {
        .cluster = cluster, .kind = KT_UNTIL_OBJECTS, .count = wanted->count, .at_least = wanted->at_least
    };
    ki_status status = copy_texts(&condition, wanted->resource,
                                  (const char *const[]){ NULL, wanted->ns, wanted->name, wanted->fields }, err);
    bool selects = (wanted->labels && wanted->labels[0]) || (wanted->fields && wanted->fields[0]);
    if (!status && selects)
        status = ki_selector_new_of(allocator, wanted->labels, wanted->fields, &condition.selector, err);
    if (!status && selects)
        status = ki_object_format_new(allocator, NULL, &condition.format, err);
    return end_making(&condition, status, ret_condition);
}

void kt_condition_free(kt_condition *condition) {
    if (!condition->cluster)
        return;
    kt_spec_free(&condition->match);
    ki_selector_free(condition->selector);
    ki_object_format_unref(condition->format);
    ki_free(kt_cluster_allocator(condition->cluster), condition->texts);
    *condition = (kt_condition){ 0 };
}

kt_condition *kt_condition_move(kt_condition *condition) {
    kt_condition *moved = ki_alloc(kt_cluster_allocator(condition->cluster), sizeof *moved);
    if (moved)
        *moved = *condition;
    else
        kt_condition_free(condition);
    return moved;
}

void kt_condition_delete(kt_condition *condition) {
    const ki_allocator *allocator = kt_cluster_allocator(condition->cluster);
    kt_condition_free(condition);
    ki_free(allocator, condition);
}

/* ---- looking ---- */

static int shown(ki_str text) {
    return (int)(text.size < SHOWN_MAX ? text.size : SHOWN_MAX);
}

/* Compares an object with the selectors. Writes what it has instead of the first field that does not match. */
static ki_status compare(const kt_condition *condition, ki_str json, bool *ret_matches, char why[2 * SHOWN_MAX + 64],
                         ki_error *err) {
    ki_object *obj = NULL;
    ki_status status = ki_object_from_json(condition->format, json, NULL, NULL, &obj, err);
    if (status)
        return status;
    ki_str value, key = ki_selector_difference(condition->selector, obj, &value);
    *ret_matches = ki_selector_matches_whole(condition->selector, obj);
    if (value.data)
        snprintf(why, 2 * SHOWN_MAX + 64, ": %.*s is %.*s%s", shown(key), key.data, shown(value), value.data,
                 value.size > SHOWN_MAX ? " ..." : "");
    else if (key.data)
        snprintf(why, 2 * SHOWN_MAX + 64, ": the object has no %.*s", shown(key), key.data);
    ki_object_unref(obj);
    return KI_OK;
}

/* Looks for one object by its name. */
static ki_status find_object(const kt_condition *condition, uint64_t *ret_count, ki_error *err) {
    const bool wanted = condition->count > 0;
    const char *ns = condition->ns, *fields = condition->fields;
    char why[2 * SHOWN_MAX + 64] = "";
    ki_str json = { NULL, 0 };
    bool exists = kt_cluster_get(condition->cluster, &condition->resource, ns, condition->name, &json) == KI_OK;
    bool matches = exists;
    ki_status status = exists && condition->selector ? compare(condition, json, &matches, why, err) : KI_OK;
    *ret_count = matches;
    if (status || matches == wanted)
        return status;
    const char *what = !exists ? "does not exist" : wanted ? "is not " : "still exists";
    return ki_error_set(err, KI_ERR_TIMEOUT, "%s %s%s%s %s%s%s", condition->resource.plural, ns, *ns ? "/" : "",
                        condition->name, what, exists && wanted ? fields : "", wanted ? why : "");
}

static bool is_in(ki_str key, const char *ns) {
    size_t size = strlen(ns);
    return !size || (key.size > size && key.data[size] == '/' && memcmp(key.data, ns, size) == 0);
}

static ki_status count_objects(const kt_condition *condition, uint64_t *ret_count, ki_error *err) {
    size_t cursor = 0;
    ki_str key, json;
    char why[2 * SHOWN_MAX + 64];
    *ret_count = 0;
    while (kt_cluster_next(condition->cluster, &condition->resource, &cursor, &key, &json)) {
        bool matches = is_in(key, condition->ns);
        ki_status status = matches && condition->selector ? compare(condition, json, &matches, why, err) : KI_OK;
        if (status)
            return status;
        *ret_count += matches;
    }
    if (*ret_count == condition->count || (condition->at_least && *ret_count > condition->count))
        return KI_OK;
    return ki_error_set(err, KI_ERR_TIMEOUT, "%" PRIu64 " objects of %s match, not %" PRIu64, *ret_count,
                        condition->resource.plural, condition->count);
}

static ki_status count_requests(const kt_condition *condition, uint64_t *ret_count, ki_error *err) {
    const kt_request_log *log = kt_cluster_requests(condition->cluster);
    *ret_count = kt_request_log_count(log, &condition->match, condition->since);
    if (*ret_count >= condition->count)
        return KI_OK;
    if (log->is_short)
        return ki_error_no_memory(err, "recording requests");
    return ki_error_set(err, KI_ERR_TIMEOUT, "%" PRIu64 " requests match \"%s\", not %" PRIu64, *ret_count,
                        condition->line, condition->count);
}

static ki_status count_watches(const kt_condition *condition, uint64_t *ret_count, ki_error *err) {
    const char *plural = condition->resource.plural;
    *ret_count = kt_cluster_open_watches(condition->cluster, plural[0] ? &condition->resource : NULL);
    if (*ret_count == condition->count)
        return KI_OK;
    return ki_error_set(err, KI_ERR_TIMEOUT, "%" PRIu64 " watches%s%s are open, not %" PRIu64, *ret_count,
                        plural[0] ? " of " : "", plural, condition->count);
}

static ki_status count_injected(const kt_condition *condition, uint64_t *ret_count, ki_error *err) {
    ki_status status = kt_faults_injected(kt_cluster_faults(condition->cluster), condition->fault, ret_count, err);
    if (status || *ret_count >= condition->count)
        return status;
    return ki_error_set(err, KI_ERR_TIMEOUT, "the fault %" PRIu64 " was injected %" PRIu64 " times, not %" PRIu64,
                        condition->fault, *ret_count, condition->count);
}

bool kt_condition_is_as_seen(const kt_condition *condition) {
    KT_HOLDS(condition->cluster);
    return condition->seen && condition->seen == kt_cluster_revision(condition->cluster);
}

bool kt_condition_is_over(kt_condition *condition, uint64_t *ret_count, ki_status *ret_status, ki_error *err) {
    KT_HOLDS(condition->cluster);
    *ret_count = 0;
    switch (condition->kind) {
    case KT_UNTIL_REQUESTS:
        *ret_status = count_requests(condition, ret_count, err);
        break;
    case KT_UNTIL_WATCHES:
        *ret_status = count_watches(condition, ret_count, err);
        break;
    case KT_UNTIL_INJECTED:
        *ret_status = count_injected(condition, ret_count, err);
        break;
    case KT_UNTIL_OBJECTS:
        *ret_status =
            condition->name[0] ? find_object(condition, ret_count, err) : count_objects(condition, ret_count, err);
        condition->seen = kt_cluster_revision(condition->cluster);
        break;
    }
    return *ret_status != KI_ERR_TIMEOUT;
}
