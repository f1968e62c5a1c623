/* validate_data.c: checks config maps and secrets. */
#include "testing/kinds/kinds.h"

#include "testing/validation/field_rules.h"
#include "testing/values/base64.h"
#include "testing/values/go_json.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#define MARKED_IMMUTABLE "field is immutable when `immutable` is set"

enum {
    SIZE_LIMIT = 1024 * 1024 /* bytes of all values */
};

/* Checks the keys of a member, which must not be in `other`. */
static void check_keys(kt_checked *c, const char *member, yyjson_val *other) {
    yyjson_val *key, *val;
    kt_index others;
    size_t index, count;
    kt_index_members(&c->arena, other, &others);
    yyjson_obj_foreach(yyjson_obj_get(c->root, member), index, count, key, val) {
        ki_str name = kt_json_str(key);
        kt_place place = kt_place_of("%s[%.*s]", member, (int)name.size, name.data);
        kt_check_config_key(c->causes, place.text, name);
        if (kt_index_find(&others, name))
            kt_causes_add(c->causes, KT_CAUSE_INVALID, place.text, name, "duplicate of key present in binaryData");
    }
}

/* Returns the bytes of the values of a member. `is_base64`: they are encoded. */
static size_t size_of(yyjson_val *map, bool is_base64) {
    size_t index, count, size = 0;
    yyjson_val *key, *val;
    yyjson_obj_foreach(map, index, count, key, val) {
        ki_str text = kt_json_str(val);
        size_t padding = 0;
        while (is_base64 && padding < text.size && text.data[text.size - 1 - padding] == '=')
            padding++;
        size += is_base64 ? text.size / 4 * 3 - (padding < 3 ? padding : 0) : text.size;
    }
    return size;
}

static void check_size(kt_checked *c, const char *field, size_t size) {
    if (size > SIZE_LIMIT)
        kt_causes_add(c->causes, KT_CAUSE_TOO_LONG, field, KI_STR(""), "may not be more than 1048576 bytes");
}

static void check_marked_immutable(kt_checked *c, const char *const *members) {
    if (!yyjson_get_bool(yyjson_obj_get(c->old, "immutable")))
        return;
    if (!yyjson_get_bool(yyjson_obj_get(c->root, "immutable")))
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "immutable", KI_STR(""), MARKED_IMMUTABLE);
    for (; *members; members++) {
        if (!kt_is_same(c, yyjson_obj_get(c->old, *members), yyjson_obj_get(c->root, *members)))
            kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, *members, KI_STR(""), MARKED_IMMUTABLE);
    }
}

void kt_check_config_map(kt_checked *c) {
    static const char *const members[] = { "data", "binaryData", NULL };
    yyjson_val *binary = yyjson_obj_get(c->root, "binaryData");
    check_keys(c, "data", binary);
    check_keys(c, "binaryData", NULL);
    check_size(c, "", size_of(yyjson_obj_get(c->root, "data"), false) + size_of(binary, true));
    check_marked_immutable(c, members);
}

/* Checks that the value of a key is a JSON object. Its text is that of stringData, or decoded from data. */
static void check_json(kt_checked *c, const char *key, yyjson_val *data, yyjson_val *text) {
    ki_buffer bytes, problem;
    ki_buffer_init(&bytes, c->causes->text.allocator, 0);
    ki_buffer_init(&problem, c->causes->text.allocator, 0);
    ki_status status =
        text ? ki_buffer_append_view(&bytes, kt_json_str(text)) : kt_base64_decode(&bytes, kt_json_str(data));
    if (!status)
        status = kt_go_json_check_map((ki_str){ bytes.data, bytes.size }, &problem);
    if (status)
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    else if (problem.size)
        kt_validate_add(c->causes, KT_CAUSE_INVALID, KI_STR("<secret contents redacted>"), true, problem.data,
                        "data[%s]", key);
    ki_buffer_free(&bytes);
    ki_buffer_free(&problem);
}

/* Checks the types of secrets that need one of several fields. */
static void check_credentials(kt_checked *c, ki_str type, yyjson_val *data) {
    yyjson_val *annotations = yyjson_obj_get(yyjson_obj_get(c->root, "metadata"), "annotations");
    if (ki_str_equals(type, "kubernetes.io/service-account-token") &&
        !kt_json_get_str(annotations, "kubernetes.io/service-account.name").size)
        kt_add_required(c, "metadata.annotations[kubernetes.io/service-account.name]");
    if (ki_str_equals(type, "kubernetes.io/basic-auth") && !yyjson_obj_get(data, "username") &&
        !yyjson_obj_get(data, "password")) {
        kt_add_required(c, "data[username]");
        kt_add_required(c, "data[password]");
    }
    if (ki_str_equals(type, "kubernetes.io/ssh-auth") && !kt_json_get_str(data, "ssh-privatekey").size)
        kt_add_required(c, "data[ssh-privatekey]");
}

void kt_check_secret(kt_checked *c) {
    static const char *const members[] = { "data", NULL };
    static const struct {
        const char *type;
        bool is_json;
        const char *keys[3];
    } typed[] = { { "kubernetes.io/tls", false, { "tls.crt", "tls.key", NULL } },
                  { "kubernetes.io/dockerconfigjson", true, { ".dockerconfigjson", NULL, NULL } },
                  { "kubernetes.io/dockercfg", true, { ".dockercfg", NULL, NULL } } };
    ki_str type = kt_json_get_str(c->root, "type"), old_type = kt_json_get_str(c->old, "type");
    yyjson_val *data = yyjson_obj_get(c->root, "data"), *text = yyjson_obj_get(c->root, "stringData");
    check_keys(c, "data", NULL);
    check_size(c, "data", size_of(data, true));
    check_credentials(c, type, data);
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
        for (const char *const *key = typed[i].keys; ki_str_equals(type, typed[i].type) && *key; key++) {
            yyjson_val *bytes = yyjson_obj_get(data, *key), *given = yyjson_obj_get(text, *key);
            if (!bytes && !given)
                kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "data[%s]", *key);
            else if (typed[i].is_json)
                check_json(c, *key, bytes, given);
        }
    }
    if (old_type.size && type.size && !ki_str_equal(type, old_type))
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "type", type, KT_IMMUTABLE);
    check_marked_immutable(c, members);
}

void kt_check_revision(kt_checked *c) {
    yyjson_val *data = yyjson_obj_get(c->root, "data");
    if (!c->old && !yyjson_is_obj(data))
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "data", KI_STR(""),
                      kt_is_absent(data) ? "data is mandatory" : "data must be a valid JSON object");
}
