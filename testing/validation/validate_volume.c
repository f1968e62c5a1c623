/* validate_volume.c: checks volumes and the claims for them. */
#include "testing/validation/kinds.h"

#include "src/base/quantity.h"
#include "src/object/label.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 512
};

/* Rejects a change of a claim's spec. A claim can get its volume and its class later; a bound one can ask for more. */
static void check_claim_change(kt_checked *c) {
    static const char *const fixed[] = { "accessModes", "selector", "volumeMode", "dataSource", "dataSourceRef" };
    static const char *const set_once[] = { "volumeName", "storageClassName" };
    yyjson_val *resources = yyjson_obj_get(c->spec, "resources"), *before = yyjson_obj_get(c->old_spec, "resources");
    bool is_bound = ki_str_equals(kt_json_get_str(yyjson_obj_get(c->old, "status"), "phase"), "Bound");
    bool is_changed = !kt_is_same(c, yyjson_obj_get(before, "limits"), yyjson_obj_get(resources, "limits"));
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        is_changed |= !kt_is_same(c, yyjson_obj_get(c->old_spec, fixed[i]), yyjson_obj_get(c->spec, fixed[i]));
    for (size_t i = 0; i < sizeof set_once / sizeof set_once[0]; i++) {
        yyjson_val *was = yyjson_obj_get(c->old_spec, set_once[i]);
        is_changed |= !kt_is_nothing(was) && !kt_is_same(c, was, yyjson_obj_get(c->spec, set_once[i]));
    }
    if (!is_bound)
        is_changed |= !kt_is_same(c, yyjson_obj_get(before, "requests"), yyjson_obj_get(resources, "requests")) ||
                      !kt_is_same(c, yyjson_obj_get(c->old_spec, "volumeAttributesClassName"),
                                  yyjson_obj_get(c->spec, "volumeAttributesClassName"));
    if (is_changed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec", KI_STR(""),
                      "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                      "bound claims");
}

static void check_access_modes(kt_checked *c, yyjson_val *given) {
    static const char *const modes[] = { "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod" };
    bool for_one_pod = false, for_others = false;
    size_t index, count;
    yyjson_val *mode;
    yyjson_arr_foreach(given, index, count, mode) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            is_known = is_known || yyjson_equals_str(mode, modes[i]);
        if (!is_known)
            kt_validate_add(c->causes, KT_CAUSE_NOT_SUPPORTED, kt_json_str(mode), true,
                            "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", "
                            "\"ReadWriteOncePod\"",
                            "spec.accessModes");
        else if (yyjson_equals_str(mode, "ReadWriteOncePod"))
            for_one_pod = true;
        else
            for_others = true;
    }
    if (for_one_pod && for_others)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.accessModes", KI_STR(""),
                      "may not use ReadWriteOncePod with other access modes");
}

void kt_check_volume_claim(kt_checked *c) {
    static const ki_quantity zero = { 0 };
    yyjson_val *given = yyjson_obj_get(c->spec, "accessModes");
    yyjson_val *requests = yyjson_obj_get(yyjson_obj_get(c->spec, "resources"), "requests");
    yyjson_val *storage = yyjson_obj_get(requests, "storage");
    ki_quantity wanted;
    if (yyjson_arr_size(given) == 0)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.accessModes", KI_STR(""),
                      "at least 1 access mode is required");
    check_access_modes(c, given);
    if (!storage) {
        kt_add_required(c, "spec.resources[storage]");
    } else if (ki_quantity_parse(kt_json_str(storage), &wanted) && ki_quantity_compare(&wanted, &zero) <= 0) {
        char shown[KI_QUANTITY_SIZE];
        ki_quantity_write(&wanted, shown);
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.resources[storage]", ki_str_of(shown),
                      "must be greater than zero");
    }
    if (c->old)
        check_claim_change(c);
}

static const char *const sources[] = { "hostPath",
                                       "gcePersistentDisk",
                                       "awsElasticBlockStore",
                                       "glusterfs",
                                       "flocker",
                                       "nfs",
                                       "rbd",
                                       "quobyte",
                                       "cephfs",
                                       "iscsi",
                                       "cinder",
                                       "fc",
                                       "flexVolume",
                                       "azureFile",
                                       "vsphereVolume",
                                       "photonPersistentDisk",
                                       "portworxVolume",
                                       "azureDisk",
                                       "scaleIO",
                                       "local",
                                       "storageos",
                                       "csi" };

enum {
    SOURCE_COUNT = sizeof sources / sizeof sources[0]
};

/* Returns true if a CSI source is `old`, at most with the secret to expand it, which an update can add. */
static bool is_same_driver(kt_checked *c, yyjson_val *old, yyjson_val *now) {
    static const char secret[] = "controllerExpandSecretRef";
    size_t index, count;
    yyjson_val *key, *val;
    if (kt_json_has(old, secret) || !kt_json_has(now, secret) || yyjson_obj_size(now) != yyjson_obj_size(old) + 1)
        return kt_is_same(c, old, now);
    yyjson_obj_foreach(old, index, count, key, val) {
        ki_str name = kt_json_str(key);
        if (!kt_is_same(c, val, yyjson_obj_getn(now, name.data, name.size)))
            return false;
    }
    return true;
}

/* The error of the real server shows the difference too. */
static void check_volume_change(kt_checked *c) {
    bool is_changed = false;
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        yyjson_val *old = yyjson_obj_get(c->old_spec, sources[i]), *now = yyjson_obj_get(c->spec, sources[i]);
        bool is_csi = strcmp(sources[i], "csi") == 0;
        is_changed = is_changed || kt_json_has(c->old_spec, sources[i]) != kt_json_has(c->spec, sources[i]) ||
                     !(is_csi ? is_same_driver(c, old, now) : kt_is_same(c, old, now));
    }
    if (is_changed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.persistentvolumesource", KI_STR(""),
                      "spec.persistentvolumesource is immutable after creation");
    if (!kt_is_same(c, yyjson_obj_get(c->old_spec, "volumeMode"), yyjson_obj_get(c->spec, "volumeMode")))
        kt_add_json(c, "volumeMode", yyjson_obj_get(c->spec, "volumeMode"), KT_IMMUTABLE);
}

/* Checks the first source. */
static void check_source_members(kt_checked *c, const char *first) {
    static const struct {
        const char *source;
        const char *member;
    } required[] = { { "hostPath", "path" }, { "local", "path" }, { "nfs", "server" },
                     { "nfs", "path" },      { "csi", "driver" }, { "csi", "volumeHandle" } };
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        yyjson_val *source = yyjson_obj_get(c->spec, required[i].source);
        ki_str text = kt_json_get_str(source, required[i].member);
        if (strcmp(required[i].source, first) != 0)
            continue;
        if (!text.size)
            kt_validate_add(c->causes, KT_CAUSE_REQUIRED, KI_STR(""), true, "", "spec.%s.%s", first,
                            required[i].member);
        if (strcmp(first, "nfs") == 0 && strcmp(required[i].member, "path") == 0 &&
            !ki_str_starts_with(text, KI_STR("/")))
            kt_validate_add(c->causes, KT_CAUSE_INVALID, text.size ? text : KI_STR(""), true,
                            "must be an absolute path", "spec.nfs.path");
    }
    if (strcmp(first, "local") == 0 && !kt_json_has(c->spec, "nodeAffinity"))
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.nodeAffinity", KI_STR(""),
                      "Local volume requires node affinity");
}

/* Adds the capacity as Go writes it: sorted by name. */
static void add_capacity(kt_checked *c, yyjson_val *capacity) {
    ki_buffer text;
    kt_index amounts;
    ki_buffer_init(&text, c->causes->text.allocator, 0);
    kt_index_members(&c->arena, capacity, &amounts);
    for (size_t i = 0; i < amounts.count; i++) {
        ki_buffer_append_char(&text, i ? ',' : '{');
        ki_buffer_append_json_string(&text, amounts.sorted[i]->name);
        ki_buffer_append_char(&text, ':');
        kt_json_append(&text, amounts.sorted[i]->val);
    }
    if (ki_buffer_append_string(&text, amounts.count ? "}" : "null"))
        c->causes->text.failed = KI_ERR_NO_MEMORY;
    kt_causes_add_value(c->causes, KT_CAUSE_NOT_SUPPORTED, "spec.capacity", (ki_str){ text.data, text.size }, false,
                        "supported values: \"storage\"");
    ki_buffer_free(&text);
}

static void check_capacity(kt_checked *c, yyjson_val *capacity) {
    static const ki_quantity zero = { 0 };
    size_t index, count;
    yyjson_val *key, *val;
    if (!yyjson_obj_get(capacity, "storage") || yyjson_obj_size(capacity) > 1)
        add_capacity(c, capacity);
    yyjson_obj_foreach(capacity, index, count, key, val) {
        ki_quantity amount;
        char field[FIELD_SIZE], shown[32];
        snprintf(field, sizeof field, "spec.capacity[%s]", yyjson_get_str(key));
        kt_check_positive(c, field, val, "must be greater than zero");
        if (!ki_quantity_parse(kt_json_str(val), &amount) || ki_quantity_compare(&amount, &zero) >= 0)
            continue;
        snprintf(shown, sizeof shown, "%" PRId64, ki_quantity_units(&amount));
        kt_causes_add_value(c->causes, KT_CAUSE_INVALID, field, ki_str_of(shown), false,
                            "must be a valid resource quantity");
    }
}

void kt_check_volume(kt_checked *c) {
    yyjson_val *capacity = yyjson_obj_get(c->spec, "capacity");
    const char *first = NULL;
    check_access_modes(c, yyjson_obj_get(c->spec, "accessModes"));
    check_capacity(c, capacity);
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (first && kt_json_has(c->spec, sources[i]))
            kt_validate_add(c->causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "may not specify more than 1 volume type",
                            "spec.%s", sources[i]);
        if (!first && kt_json_has(c->spec, sources[i]))
            first = sources[i];
    }
    if (!first)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec", KI_STR(""), "must specify a volume type");
    else
        check_source_members(c, first);
    if (c->old)
        check_volume_change(c);
}

void kt_check_volume_attachment(kt_checked *c) {
    static const char one_of[] = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    yyjson_val *source = yyjson_obj_get(c->spec, "source");
    ki_str name = kt_json_get_str(source, "persistentVolumeName");
    const char *why = ki_label_check_subdomain(name);
    bool is_inline = kt_json_has(source, "inlineVolumeSpec"), is_named = kt_json_has(source, "persistentVolumeName");
    if (is_inline == is_named)
        kt_causes_add(c->causes, is_inline ? KT_CAUSE_FORBIDDEN : KT_CAUSE_REQUIRED, "spec.source", KI_STR(""), one_of);
    else if (is_named && !name.size)
        kt_causes_add(c->causes, KT_CAUSE_REQUIRED, "spec.source.persistentVolumeName", KI_STR(""),
                      "must specify non empty persistentVolumeName");
    if (is_named && why)
        kt_causes_add(c->causes, KT_CAUSE_INVALID, "spec.source.persistentVolumeName", name, why);
}
