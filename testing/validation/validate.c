/* validate.c: see validate.h. */
#include "testing/validation/validate.h"

#include "src/object/label.h"
#include "testing/validation/address.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <stdio.h>
#include <stdlib.h>

#define WILDCARD_MESSAGE \
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of " \
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', " \
    "regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define LABEL_MESSAGE \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " \
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define TOO_LONG_63 "must be no more than 63 bytes"
#define TOO_LONG_63_NAME "must be no more than 63 characters"
#define TOO_LONG_253 "must be no more than 253 characters"

enum {
    ANNOTATIONS_MAX = 256 * 1024, /* bytes of all names and values */
    FIELD_SIZE = 64
};

/* ---- formats ---- */

const char *kt_validate_dns_label(ki_str name) {
    if (name.size > KI_LABEL_MAX)
        return TOO_LONG_63;
    if (ki_is_dns_label(name))
        return NULL;
    return ki_is_subdomain(name) ? "must not contain dots" : LABEL_MESSAGE;
}

const char *kt_validate_rfc1035_label(ki_str name) {
    if (ki_is_dns_label(name) && name.data[0] >= 'a')
        return name.size > KI_LABEL_MAX ? TOO_LONG_63 : NULL;
    return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
           "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
           "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
}

const char *kt_validate_wildcard(ki_str name) {
    if (name.size > KI_SUBDOMAIN_MAX)
        return TOO_LONG_253;
    bool is_wildcard =
        ki_str_starts_with(name, KI_STR("*.")) && ki_is_subdomain((ki_str){ name.data + 2, name.size - 2 });
    return is_wildcard ? NULL : WILDCARD_MESSAGE;
}

const char *kt_validate_segment(ki_str name) {
    if (ki_str_equals(name, ".") || ki_str_equals(name, ".."))
        return name.size == 1 ? "may not be '.'" : "may not be '..'";
    if (memchr(name.data, '/', name.size))
        return "may not contain '/'";
    return memchr(name.data, '%', name.size) ? "may not contain '%'" : NULL;
}

const char *kt_validate_in_lower_case(ki_str text, const char *(*check)(ki_str text)) {
    char lower[KI_SUBDOMAIN_MAX + KI_LABEL_MAX + 2];
    if (text.size > sizeof lower)
        return check(text);
    for (size_t i = 0; i < text.size; i++)
        lower[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] - 'A' + 'a') : text.data[i];
    return check((ki_str){ lower, text.size });
}

/* ---- metadata: as ValidateObjectMeta does ---- */

/* Checks a name of an object of this resource. `is_prefix`: the name is a generateName. */
static const char *validate_name(const ki_resource *resource, ki_str name, bool is_prefix) {
    if (strcmp(resource->group, "rbac.authorization.k8s.io") == 0 || resource == KI_APISERVICES)
        return kt_validate_segment(name);
    if (resource == KI_IPADDRESSES)
        return kt_address_problem(name, NULL);
    bool is_core = resource->group[0] == '\0';
    if (is_prefix && name.size && name.data[name.size - 1] == '-')
        name.size--; /* the generated part follows */
    if ((is_core && (strcmp(resource->plural, "namespaces") == 0 || strcmp(resource->plural, "services") == 0)) ||
        (strcmp(resource->group, "apps") == 0 && strcmp(resource->plural, "statefulsets") == 0))
        return name.size > KI_LABEL_MAX ? TOO_LONG_63_NAME : kt_validate_dns_label(name);
    return ki_label_check_subdomain(name);
}

/* Checks labels, or annotations, whose names can be in upper case. */
static void validate_map(kt_causes *causes, const char *field, yyjson_val *map, bool are_labels) {
    size_t index, count, size = 0;
    yyjson_val *key, *val;
    yyjson_obj_foreach(map, index, count, key, val) {
        ki_str name = kt_json_str(key), value = kt_json_str(val);
        size += name.size + value.size;
        const char *why = are_labels ? ki_label_check_key(name) : kt_validate_in_lower_case(name, ki_label_check_key);
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, field, name, why);
        why = are_labels ? ki_label_check_value(value) : NULL;
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, field, value, why);
    }
    if (!are_labels && size > ANNOTATIONS_MAX)
        kt_causes_add(causes, KT_CAUSE_TOO_LONG, field, KI_STR(""), "may not be more than 262144 bytes");
}

/* Adds an "Invalid value" that shows `value` as JSON. */
static void add_json(kt_causes *causes, const char *field, yyjson_val *value, const char *detail) {
    ki_buffer shown;
    ki_buffer_init(&shown, causes->text.allocator, 0);
    if (kt_json_append(&shown, value))
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(causes, KT_CAUSE_INVALID, field, (ki_str){ shown.data, shown.size }, false, detail);
    ki_buffer_free(&shown);
}

static bool is_standard_finalizer(ki_str name) {
    return ki_str_equals(name, "kubernetes") || ki_str_equals(name, KT_FINALIZER_ORPHAN) ||
           ki_str_equals(name, KT_FINALIZER_FOREGROUND);
}

/* `warnings` NULL: a built-in type. */
static void validate_finalizers(kt_causes *causes, yyjson_val *old, yyjson_val *finalizers, ki_buffer *warnings) {
    size_t index, count;
    yyjson_val *one;
    yyjson_arr_foreach(finalizers, index, count, one) {
        const char *why = ki_label_check_key(kt_json_str(one));
        if (why)
            kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.finalizers", kt_json_str(one), why);
    }
    yyjson_arr_foreach(finalizers, index, count, one) {
        ki_str name = kt_json_str(one);
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "metadata.finalizers[%zu]", index);
        if (is_standard_finalizer(name) || (name.size && memchr(name.data, '/', name.size)))
            continue;
        if (!warnings)
            kt_causes_add(causes, KT_CAUSE_INVALID, field, name,
                          "name is neither a standard finalizer name nor is it fully qualified");
        else if (!kt_json_list_has(old, SIZE_MAX, NULL, name))
            ki_buffer_printf(warnings,
                             "metadata.finalizers: \"%.*s\": prefer a domain-qualified finalizer name %sto avoid "
                             "accidental conflicts with other finalizer writers\n",
                             (int)name.size, name.size ? name.data : "",
                             name.size && memchr(name.data, '.', name.size) ? "including a path (/) " : "");
    }
    if (kt_json_list_has(finalizers, SIZE_MAX, NULL, KI_STR(KT_FINALIZER_ORPHAN)) &&
        kt_json_list_has(finalizers, SIZE_MAX, NULL, KI_STR(KT_FINALIZER_FOREGROUND)))
        add_json(causes, "metadata.finalizers", finalizers,
                 "finalizer orphan and foregroundDeletion cannot be both set");
}

/* ---- owner references ---- */

/* Appends a reference with its members in the order of the Go type. */
static void append_reference(ki_buffer *out, yyjson_val *ref) {
    static const char *const members[] = { "apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion" };
    char before = '{';
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_val *member = yyjson_obj_get(ref, members[i]);
        if (!member && i > 3)
            continue;
        ki_buffer_printf(out, "%c\"%s\":", before, members[i]);
        if (member)
            kt_json_append(out, member);
        else
            ki_buffer_append_string(out, "\"\"");
        before = ',';
    }
    ki_buffer_append_char(out, '}');
}

/* Adds an "Invalid value" that shows one reference or a list of them. */
static void add_references(kt_causes *causes, const char *field, yyjson_val *shown, const char *detail) {
    size_t index, count;
    yyjson_val *ref;
    ki_buffer text;
    ki_buffer_init(&text, causes->text.allocator, 0);
    if (yyjson_is_arr(shown))
        ki_buffer_append_char(&text, '[');
    else
        append_reference(&text, shown);
    yyjson_arr_foreach(shown, index, count, ref) {
        ki_buffer_append_string(&text, index ? "," : "");
        append_reference(&text, ref);
    }
    if (yyjson_is_arr(shown))
        ki_buffer_append_char(&text, ']');
    if (text.failed)
        causes->text.failed = text.failed;
    kt_causes_add_value(causes, KT_CAUSE_INVALID, field, (ki_str){ text.data, text.size }, false, detail);
    ki_buffer_free(&text);
}

static void validate_owner(kt_causes *causes, yyjson_val *ref, size_t number) {
    static const char *const needed[] = { "apiVersion", "kind", "name", "uid" };
    ki_str version, group = ki_str_split(kt_json_get_str(ref, "apiVersion"), '/', &version);
    char field[FIELD_SIZE];
    bool is_core = !version.data, is_nested = version.size && memchr(version.data, '/', version.size);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        ki_str val = kt_json_get_str(ref, needed[i]);
        snprintf(field, sizeof field, "metadata.ownerReferences[%zu].%s", number, needed[i]);
        if (!val.size)
            kt_causes_add(causes, KT_CAUSE_REQUIRED, field, KI_STR(""), "must not be empty");
        else if (i == 0 && !is_core && (!version.size || is_nested))
            kt_causes_add(causes, KT_CAUSE_INVALID, field, val, "must be <group>/<version> or <version>");
    }
    snprintf(field, sizeof field, "metadata.ownerReferences[%zu]", number);
    if (is_core && ki_str_equals(group, "v1") && ki_str_equals(kt_json_get_str(ref, "kind"), "Event"))
        add_references(causes, field, ref, "/v1, Kind=Event is disallowed from being an owner");
}

static void validate_owners(kt_causes *causes, yyjson_val *owners) {
    size_t index, count;
    yyjson_val *ref, *controller = NULL;
    yyjson_arr_foreach(owners, index, count, ref) {
        validate_owner(causes, ref, index);
        if (!yyjson_get_bool(yyjson_obj_get(ref, "controller")))
            continue;
        if (controller) {
            ki_buffer why;
            ki_buffer_init(&why, causes->text.allocator, 0);
            const char *names[] = { "kind", "name" };
            ki_buffer_append_string(&why, "Only one reference can have Controller set to true. Found \"true\" in "
                                          "references for ");
            for (size_t i = 0; i < 2; i++) {
                ki_buffer_append_string(&why, i ? " and " : "");
                ki_buffer_append_view(&why, kt_json_get_str(i ? ref : controller, names[0]));
                ki_buffer_append_char(&why, '/');
                ki_buffer_append_view(&why, kt_json_get_str(i ? ref : controller, names[1]));
            }
            if (why.failed)
                causes->text.failed = why.failed;
            else
                add_references(causes, "metadata.ownerReferences", owners, why.data);
            ki_buffer_free(&why);
            return;
        }
        controller = ref;
    }
}

/* ---- new finalizers ---- */

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void validate_added_finalizers(kt_causes *causes, yyjson_val *old, yyjson_val *now) {
    enum {
        SHOWN_MAX = 64
    };
    const char *added[SHOWN_MAX];
    size_t added_count = 0;
    kt_arena arena;
    kt_index before, after;
    kt_arena_init(&arena, causes->text.allocator);
    kt_index_elements(&arena, old, NULL, &before);
    kt_index_elements(&arena, now, NULL, &after);
    for (size_t i = 0; i < after.count && added_count < SHOWN_MAX; i++) {
        if (yyjson_is_str(after.entries[i].val) && !kt_index_find(&before, after.entries[i].name))
            added[added_count++] = yyjson_get_str(after.entries[i].val);
    }
    if (arena.failed)
        causes->text.failed = KI_ERR_NO_MEMORY;
    kt_arena_free(&arena);
    if (!added_count)
        return;
    qsort(added, added_count, sizeof added[0], compare);
    ki_buffer why;
    ki_buffer_init(&why, causes->text.allocator, 0);
    ki_buffer_append_string(&why, "no new finalizers can be added if the object is being deleted, found new finalizers "
                                  "[]string{");
    for (size_t i = 0; i < added_count; i++) {
        ki_buffer_append_string(&why, i ? ", " : "");
        ki_buffer_append_json_string(&why, ki_str_of(added[i]));
    }
    ki_buffer_append_char(&why, '}');
    if (why.failed)
        causes->text.failed = why.failed;
    else
        kt_causes_add(causes, KT_CAUSE_FORBIDDEN, "metadata.finalizers", KI_STR(""), why.data);
    ki_buffer_free(&why);
}

/* Checks the fields that a client cannot change. A field that the client leaves out stays. */
static void validate_immutable(kt_causes *causes, yyjson_val *old, yyjson_val *now) {
    static const char *const members[] = { "uid", "deletionTimestamp", "deletionGracePeriodSeconds" };
    bool is_deleting = yyjson_obj_get(old, "deletionTimestamp") != NULL;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        yyjson_val *before = yyjson_obj_get(old, members[i]), *after = yyjson_obj_get(now, members[i]);
        char field[FIELD_SIZE];
        snprintf(field, sizeof field, "metadata.%s", members[i]);
        if (after && !(i == 1 && is_deleting) && !yyjson_equals(before, after))
            add_json(causes, field, after, "field is immutable");
    }
}

void kt_validate_meta(kt_causes *causes, const ki_resource *resource, yyjson_val *old_meta, yyjson_val *meta,
                      ki_buffer *warnings) {
    yyjson_val *old = yyjson_obj_get(old_meta, "finalizers"), *finalizers = yyjson_obj_get(meta, "finalizers");
    yyjson_val *owners = yyjson_obj_get(meta, "ownerReferences");
    ki_str name = kt_json_get_str(meta, "name"), prefix = kt_json_get_str(meta, "generateName");
    const char *why;
    if (!old_meta && name.size && (why = validate_name(resource, name, false)) != NULL)
        kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.name", name, why);
    if (!old_meta && prefix.size && (why = validate_name(resource, prefix, true)) != NULL)
        kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.generateName", prefix, why);
    if (!old_meta && !name.size && !prefix.size)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "metadata.name", (ki_str){ NULL, 0 },
                      "name or generateName is required");
    validate_map(causes, "metadata.labels", yyjson_obj_get(meta, "labels"), true);
    validate_map(causes, "metadata.annotations", yyjson_obj_get(meta, "annotations"), false);
    if (owners)
        validate_owners(causes, owners);
    if (finalizers)
        validate_finalizers(causes, old, finalizers, warnings);
    if (old_meta)
        validate_immutable(causes, old_meta, meta);
    if (yyjson_obj_get(old_meta, "deletionTimestamp"))
        validate_added_finalizers(causes, old, finalizers);
}
