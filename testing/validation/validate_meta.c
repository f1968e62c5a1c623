/* validate_meta.c: checks finalizers, owner references and annotations as the real server's ValidateObjectMeta does. */
#include "testing/validation/validate.h"

#include "src/object/label.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ANNOTATIONS_MAX = 256 * 1024, /* bytes of all names and values */
    FIELD_SIZE = 64
};

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

/* ---- annotations and new finalizers ---- */

static void validate_annotations(kt_causes *causes, yyjson_val *annotations) {
    size_t index, count, size = 0;
    yyjson_val *key, *val;
    yyjson_obj_foreach(annotations, index, count, key, val) {
        size += yyjson_get_len(key) + yyjson_get_len(val);
    }
    if (size > ANNOTATIONS_MAX)
        kt_causes_add(causes, KT_CAUSE_TOO_LONG, "metadata.annotations", KI_STR(""),
                      "may not be more than 262144 bytes");
}

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

void kt_validate_meta_refs(kt_causes *causes, yyjson_val *old_meta, yyjson_val *meta, ki_buffer *warnings) {
    yyjson_val *old = yyjson_obj_get(old_meta, "finalizers"), *finalizers = yyjson_obj_get(meta, "finalizers");
    validate_annotations(causes, yyjson_obj_get(meta, "annotations"));
    validate_owners(causes, yyjson_obj_get(meta, "ownerReferences"));
    validate_finalizers(causes, old, finalizers, warnings);
    if (old_meta)
        validate_immutable(causes, old_meta, meta);
    if (yyjson_obj_get(old_meta, "deletionTimestamp"))
        validate_added_finalizers(causes, old, finalizers);
}
