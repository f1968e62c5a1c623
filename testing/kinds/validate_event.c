/* validate_event.c: checks events. Both groups have the same checks; a new event of events.k8s.io has more. */
#include "testing/kinds/kinds.h"

#include "testing/values/json.h"

#include <stdio.h>

enum {
    TEXT_MAX = 128,  /* bytes of an instance, an action or a reason */
    NOTE_MAX = 1024, /* bytes */
    DETAIL_SIZE = 64
};

static void check_length(kt_checked *c, const char *field, ki_str text, size_t most) {
    char why[DETAIL_SIZE];
    snprintf(why, sizeof why, "can have at most %zu characters", most);
    if (text.size > most)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, field, KI_STR(""), why);
}

/* Checks what an event with an eventTime needs. */
static void check_new_form(kt_checked *c, bool is_core) {
    static const char *const members[] = { "reportingInstance", "action", "reason" };
    const char *source = is_core ? "reportingComponent" : "reportingController";
    ki_str controller = kt_json_get_str(c->root, source);
    if (!controller.size)
        kt_add_required(c, source);
    kt_check_key(c->causes, source, controller);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ki_str text = kt_json_get_str(c->root, members[i]);
        if (!text.size)
            kt_add_required(c, members[i]);
        check_length(c, members[i], text, TEXT_MAX);
    }
    check_length(c, "message", kt_json_get_str(c->root, is_core ? "message" : "note"), NOTE_MAX);
}

/* Checks what only a new event of events.k8s.io needs. */
static void check_strictly(kt_checked *c) {
    static const struct {
        const char *member;
        const char *shown;
    } unset[] = { { "deprecatedFirstTimestamp", "firstTimestamp" },
                  { "deprecatedLastTimestamp", "lastTimestamp" },
                  { "deprecatedCount", "count" },
                  { "deprecatedSource", "source" } };
    ki_str type = kt_json_get_str(c->root, "type");
    yyjson_val *series = yyjson_obj_get(c->root, "series");
    char why[DETAIL_SIZE];
    if (kt_json_has(c->root, "series") && yyjson_get_sint(yyjson_obj_get(series, "count")) < 2)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "series.count", KI_STR(""), "should be at least 2");
    if (kt_json_has(c->root, "series") && !kt_json_has(series, "lastObservedTime"))
        kt_add_required(c, "series.lastObservedTime");
    if (!kt_json_has(c->root, "eventTime"))
        kt_add_required(c, "eventTime");
    snprintf(why, sizeof why, "has invalid value: %.*s", (int)(type.size < 40 ? type.size : 40),
             type.size ? type.data : "");
    if (!ki_str_equals(type, "Normal") && !ki_str_equals(type, "Warning"))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "type", KI_STR(""), why);
    for (size_t i = 0; i < sizeof unset / sizeof unset[0]; i++) {
        yyjson_val *val = yyjson_obj_get(c->root, unset[i].member);
        if (!kt_json_is_nothing(val) && !(yyjson_is_int(val) && !yyjson_get_sint(val)))
            kt_causes_add(c->causes, KT_CAUSE_INVALID, unset[i].shown, KI_STR(""), "needs to be unset");
    }
}

/* Rejects changes of what an event of events.k8s.io reports. Only its series can change. */
static void check_kept(kt_checked *c) {
    static const struct {
        const char *member;
        const char *shown;
    } kept[] = { { "regarding", "involvedObject" },
                 { "reason", "reason" },
                 { "note", "message" },
                 { "deprecatedSource", "source" },
                 { "deprecatedFirstTimestamp", "firstTimestamp" },
                 { "deprecatedLastTimestamp", "lastTimestamp" },
                 { "deprecatedCount", "count" },
                 { "type", "type" },
                 { "eventTime", "eventTime" },
                 { "action", "action" },
                 { "related", "related" },
                 { "reportingController", "reportingController" },
                 { "reportingInstance", "reportingInstance" } };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        yyjson_val *val = yyjson_obj_get(c->root, kept[i].member);
        if (!kt_is_same(c, yyjson_obj_get(c->old, kept[i].member), val))
            kt_add_json(c, kept[i].shown, val, KT_IMMUTABLE);
    }
}

void kt_check_event(kt_checked *c) {
    bool is_core = strcmp(c->what, "event") == 0, is_new_form = kt_json_has(c->root, "eventTime");
    ki_str ns = kt_json_get_str(yyjson_obj_get(c->root, is_core ? "involvedObject" : "regarding"), "namespace");
    bool is_default = ki_str_equals(c->ns, "default");
    bool is_allowed = ns.size ? is_new_form || ki_str_equal(ns, c->ns)
                              : is_default || (is_new_form && ki_str_equals(c->ns, "kube-system"));
    if (!is_allowed)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "involvedObject.namespace", ns.size ? ns : KI_STR(""),
                      "does not match event.namespace");
    if (is_new_form)
        check_new_form(c, is_core);
    if (!is_core && c->old)
        check_kept(c);
    else if (!is_core)
        check_strictly(c);
}
