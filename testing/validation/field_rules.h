/* field_rules.h: tables of simple checks of an object or a part of it: where a value is, and what it must be. The
 * messages are the real server's. One thread. */
#ifndef KT_VALIDATION_FIELD_RULES_H
#define KT_VALIDATION_FIELD_RULES_H

#include "testing/validation/address.h"
#include "testing/validation/checked.h"

#define KT_ID_RANGE "must be between 0 and 2147483647, inclusive"

/* The name of a field, such as "spec.containers[0].name". A longer one is cut off. */
typedef struct kt_place {
    char text[256];
} kt_place;
kt_place kt_place_of(const char *format, ...) KI_PRINTF(1, 2);

typedef enum kt_rule_type {
    KT_RULE_NUMBER,   /* at least `least` and at most `most`; otherwise `detail` */
    KT_RULE_CHOICE,   /* one of `detail`, a list with commas */
    KT_RULE_TEXT,     /* a text in which `check` finds no problem */
    KT_RULE_PORT,     /* the number or name of a port */
    KT_RULE_VALUE,    /* a value in which `check_value` finds no problem */
    KT_RULE_REQUIRED, /* neither absent nor empty; otherwise `detail` */
    KT_RULE_GIVEN,    /* not absent; otherwise `detail` */
    KT_RULE_KEEP, /* an update of the whole object does not change it; `detail`: the field in the error, if another */
    KT_RULE_KEEP_UNSHOWN,  /* as KEEP; the error shows null */
    KT_RULE_KEEP_FORBIDDEN /* as KEEP; `detail`: that of a Forbidden */
} kt_rule_type;

/* When a rule applies. Null is absent; empty is the text "" or the number 0. */
typedef enum kt_rule_presence {
    KT_IF_FILLED, /* neither absent nor empty: the server fills in a default, or the member is optional */
    KT_IF_GIVEN,  /* not absent */
    KT_ALWAYS     /* an absent member is empty */
} kt_rule_presence;

/* Each adds the problems of a value. */
typedef void kt_text_check(kt_causes *causes, const char *field, ki_str text);
typedef void kt_value_check(kt_causes *causes, const char *field, yyjson_val *val);

/* The steps of a path are members: "a.b" is not checked without "a", "a!.b" is. "a[]": each element of a list; "a<>":
 * each element, and the error does not show its index. */
typedef struct kt_rule {
    kt_rule_type type;
    kt_rule_presence presence;
    const char *path;
    const char *detail;
    int64_t least, most;
    kt_text_check *check;
    kt_value_check *check_value;
} kt_rule;

#define KT_NUMBER(path_, presence_, least_, most_, detail_) \
    { \
        .type = KT_RULE_NUMBER, .presence = (presence_), .path = (path_), .detail = (detail_), .least = (least_), \
        .most = (most_) \
    }
#define KT_NOT_BELOW_0(path_) KT_NUMBER(path_, KT_IF_GIVEN, 0, INT64_MAX, KT_NOT_NEGATIVE)
#define KT_CHOICE(path_, presence_, known_) \
    { .type = KT_RULE_CHOICE, .presence = (presence_), .path = (path_), .detail = (known_) }
#define KT_TEXT(path_, presence_, check_) \
    { .type = KT_RULE_TEXT, .presence = (presence_), .path = (path_), .check = (check_) }
#define KT_PORT(path_, presence_) \
    { .type = KT_RULE_PORT, .presence = (presence_), .path = (path_) }
#define KT_VALUE(path_, check_) \
    { .type = KT_RULE_VALUE, .presence = KT_IF_GIVEN, .path = (path_), .check_value = (check_) }
#define KT_REQUIRED(path_, detail_) \
    { .type = KT_RULE_REQUIRED, .presence = KT_ALWAYS, .path = (path_), .detail = (detail_) }
#define KT_GIVEN(path_, detail_) \
    { .type = KT_RULE_GIVEN, .presence = KT_ALWAYS, .path = (path_), .detail = (detail_) }
#define KT_KEEP_AS(path_, field_) \
    { .type = KT_RULE_KEEP, .presence = KT_ALWAYS, .path = (path_), .detail = (field_) }
#define KT_KEEP(path_) KT_KEEP_AS(path_, NULL)
#define KT_KEEP_UNSHOWN(path_) \
    { .type = KT_RULE_KEEP_UNSHOWN, .presence = KT_ALWAYS, .path = (path_) }
#define KT_KEEP_FORBIDDEN(path_, detail_) \
    { .type = KT_RULE_KEEP_FORBIDDEN, .presence = KT_ALWAYS, .path = (path_), .detail = (detail_) }

/* Adds the problems of `val` and what is below it. `path`: its place, such as "spec"; "" for a root. */
void kt_check_rules(kt_causes *causes, const char *path, yyjson_val *val, const kt_rule *rules, size_t count);
#define KT_CHECK_RULES(causes, path, val, rules) \
    kt_check_rules((causes), (path), (val), (rules), sizeof(rules) / sizeof((rules)[0]))
/* Applies a rule to a whole object. */
void kt_check_object_rule(kt_checked *c, const kt_rule *rule);

/* Adds an "Invalid value", unless `why` is NULL. */
void kt_add_problem(kt_causes *causes, const char *field, ki_str text, const char *why);

/* Adds an "Invalid value" with a number. */
void kt_add_number(kt_causes *causes, const char *field, int64_t number, const char *detail);
/* Returns true for an absent value and for null. */
bool kt_is_absent(yyjson_val *val);

kt_value_check kt_check_labels;
kt_text_check kt_check_value;     /* a label's value */
kt_text_check kt_check_dns_label; /* "web-1" */
kt_text_check kt_check_full_name; /* "example.com", not "com" */
kt_text_check kt_check_subdomain; /* "example.com" */
/* Adds why an address cannot be that of an endpoint. */
void kt_check_reachable(kt_causes *causes, const char *field, ki_str text, const kt_block *address);
kt_text_check kt_check_address;
kt_text_check kt_check_canonical_address; /* "2001:db8::1", not "2001:DB8:0::1" */
kt_text_check kt_check_block;             /* "10.0.0.0/8" */
kt_text_check kt_check_port_name;         /* of a container, where targetPort names it */

#endif
