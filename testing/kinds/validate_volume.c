/* validate_volume.c: checks volumes and the claims for them. */
#include "testing/kinds/kinds.h"

#include "src/base/quantity.h"
#include "src/object/label.h"
#include "testing/pods/validate_pod_volume.h"
#include "testing/validation/field_rules.h"
#include "testing/values/index.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    FIELD_SIZE = 512
};

/* Checks that a claim asks for more than the volume has, if it asks for less than before. */
static void check_shrink(kt_checked *c, yyjson_val *old, yyjson_val *now) {
    yyjson_val *capacity = yyjson_obj_get(yyjson_obj_get(c->old, "status"), "capacity");
    ki_quantity before, wanted, given;
    if (ki_quantity_parse(kt_json_str(old), &before) && ki_quantity_parse(kt_json_str(now), &wanted) &&
        ki_quantity_parse(kt_json_get_str(capacity, "storage"), &given) && ki_quantity_compare(&wanted, &before) < 0 &&
        ki_quantity_compare(&wanted, &given) <= 0)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec.resources.requests.storage", KI_STR(""),
                      "field can not be less than status.capacity");
}

/* Checks that a volume with attributes of a class keeps a class. */
static void check_attributes_class(kt_checked *c) {
    static const char field[] = "spec.volumeAttributesClassName";
    yyjson_val *current = yyjson_obj_get(yyjson_obj_get(c->old, "status"), "currentVolumeAttributesClassName");
    yyjson_val *now = yyjson_obj_get(c->spec, "volumeAttributesClassName");
    if (kt_is_absent(current) || kt_json_str(now).size)
        return;
    kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, field, KI_STR(""),
                  kt_is_absent(now)
                      ? "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"
                      : "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil");
}

/* Rejects a change of a claim's spec. A claim can get its volume and its class later; a bound one can ask for more. */
static void check_claim_change(kt_checked *c) {
    static const char *const fixed[] = { "accessModes", "selector", "volumeMode", "dataSource", "dataSourceRef" };
    static const char *const set_once[] = { "volumeName", "storageClassName" }, *const grows[] = { "storage", NULL };
    yyjson_val *resources = yyjson_obj_get(c->spec, "resources"), *before = yyjson_obj_get(c->old_spec, "resources");
    bool is_bound = ki_str_equals(kt_json_get_str(yyjson_obj_get(c->old, "status"), "phase"), "Bound");
    bool is_changed = !kt_is_same(c, yyjson_obj_get(before, "limits"), yyjson_obj_get(resources, "limits"));
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        is_changed |= !kt_is_same(c, yyjson_obj_get(c->old_spec, fixed[i]), yyjson_obj_get(c->spec, fixed[i]));
    for (size_t i = 0; i < sizeof set_once / sizeof set_once[0]; i++) {
        yyjson_val *was = yyjson_obj_get(c->old_spec, set_once[i]);
        is_changed |= !kt_json_is_nothing(was) && !kt_is_same(c, was, yyjson_obj_get(c->spec, set_once[i]));
    }
    is_changed |= !kt_is_same_but(c, yyjson_obj_get(before, "requests"), yyjson_obj_get(resources, "requests"),
                                  is_bound ? grows : grows + 1);
    if (!is_bound)
        is_changed |= !kt_is_same(c, yyjson_obj_get(c->old_spec, "volumeAttributesClassName"),
                                  yyjson_obj_get(c->spec, "volumeAttributesClassName"));
    if (is_changed)
        kt_causes_add(c->causes, KT_CAUSE_FORBIDDEN, "spec", KI_STR(""),
                      "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                      "bound claims");
    check_shrink(c, yyjson_obj_get(yyjson_obj_get(before, "requests"), "storage"),
                 yyjson_obj_get(yyjson_obj_get(resources, "requests"), "storage"));
    if (!kt_is_same(c, yyjson_obj_get(c->old_spec, "volumeMode"), yyjson_obj_get(c->spec, "volumeMode")))
        kt_add_json(c, "volumeMode", yyjson_obj_get(c->spec, "volumeMode"), KT_IMMUTABLE);
    check_attributes_class(c);
}

static void check_access_modes(kt_causes *causes, const char *path, yyjson_val *given) {
    static const char *const modes[] = { "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod" };
    bool for_one_pod = false, for_others = false;
    size_t index, count;
    yyjson_val *mode;
    yyjson_arr_foreach(given, index, count, mode) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
            is_known = is_known || yyjson_equals_str(mode, modes[i]);
        if (!is_known)
            kt_validate_add(causes, KT_CAUSE_NOT_SUPPORTED, kt_json_str(mode), true,
                            "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", "
                            "\"ReadWriteOncePod\"",
                            "%s.accessModes", path);
        else if (yyjson_equals_str(mode, "ReadWriteOncePod"))
            for_one_pod = true;
        else
            for_others = true;
    }
    if (for_one_pod && for_others)
        kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true,
                        "may not use ReadWriteOncePod with other access modes", "%s.accessModes", path);
}

/* Checks a source of the data of a new volume. */
static void check_data_source(kt_causes *causes, const char *path, yyjson_val *source) {
    static const kt_rule rules[] = {
        KT_REQUIRED("name", ""),
        KT_REQUIRED("kind", ""),
        KT_TEXT("apiGroup", KT_IF_FILLED, kt_check_subdomain),
        KT_TEXT("namespace", KT_IF_FILLED, kt_check_dns_label),
    };
    ki_str kind = kt_json_get_str(source, "kind");
    if (kt_is_absent(source))
        return;
    KT_CHECK_RULES(causes, path, source, rules);
    if (!kt_json_get_str(source, "apiGroup").size && !ki_str_equals(kind, "PersistentVolumeClaim"))
        kt_causes_add(causes, KT_CAUSE_INVALID, path, kind.size ? kind : KI_STR(""),
                      "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

static bool is_same_text(yyjson_val *a, yyjson_val *b, const char *name) {
    return ki_str_equal(kt_json_get_str(a, name), kt_json_get_str(b, name)) &&
           kt_is_absent(yyjson_obj_get(a, name)) == kt_is_absent(yyjson_obj_get(b, name));
}

/* Checks that the two sources are one. A source in another namespace excludes the older field. */
static void check_data_sources(kt_causes *causes, const char *path, yyjson_val *source, yyjson_val *ref) {
    kt_place place = kt_place_of("%s.dataSource", path);
    const char *why = NULL;
    check_data_source(causes, place.text, source);
    place = kt_place_of("%s.dataSourceRef", path);
    check_data_source(causes, place.text, ref);
    if (kt_is_absent(source) || kt_is_absent(ref))
        return;
    if (kt_json_get_str(ref, "namespace").size)
        why = "may not be specified when dataSourceRef.namespace is specified";
    else if (!is_same_text(source, ref, "apiGroup") || !is_same_text(source, ref, "kind") ||
             !is_same_text(source, ref, "name"))
        why = "must match dataSourceRef";
    if (why)
        kt_causes_add_value(causes, KT_CAUSE_INVALID, path, KI_STR("{}"), false, why);
}

static void check_claim(kt_causes *causes, const char *path, yyjson_val *spec) {
    static const kt_rule rules[] = {
        KT_REQUIRED("accessModes", "at least 1 access mode is required"),
    };
    static const kt_rule names[] = {
        KT_TEXT("storageClassName", KT_IF_FILLED, kt_check_subdomain),
        KT_CHOICE("volumeMode", KT_IF_GIVEN, "Block,Filesystem"),
        KT_TEXT("volumeAttributesClassName", KT_IF_FILLED, kt_check_subdomain),
    };
    yyjson_val *requests = yyjson_obj_get(yyjson_obj_get(spec, "resources"), "requests");
    yyjson_val *storage = yyjson_obj_get(requests, "storage");
    kt_checked c = { .causes = causes };
    kt_place place = kt_place_of("%s.selector", path);
    KT_CHECK_RULES(causes, path, spec, rules);
    kt_check_selector(causes, place.text, yyjson_obj_get(spec, "selector"));
    check_access_modes(causes, path, yyjson_obj_get(spec, "accessModes"));
    place = kt_place_of("%s.resources[storage]", path);
    if (!storage)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, place.text, KI_STR(""), "");
    else
        kt_check_positive(&c, place.text, storage, "must be greater than zero");
    KT_CHECK_RULES(causes, path, spec, names);
}

void kt_check_claim_spec(kt_causes *causes, const char *path, yyjson_val *spec) {
    check_claim(causes, path, spec);
    check_data_sources(causes, path, yyjson_obj_get(spec, "dataSource"), yyjson_obj_get(spec, "dataSourceRef"));
}

/* Checks the sources of a new claim as the server stores them: each is a copy of the other one. The server drops a
 * source in another namespace, and an older field with another type of source. */
static void check_stored_sources(kt_checked *c) {
    yyjson_val *source = yyjson_obj_get(c->spec, "dataSource"), *ref = yyjson_obj_get(c->spec, "dataSourceRef");
    ki_str group = kt_json_get_str(source, "apiGroup"), kind = kt_json_get_str(source, "kind");
    bool is_claim = !group.size && ki_str_equals(kind, "PersistentVolumeClaim");
    bool is_snapshot = ki_str_equals(group, "snapshot.storage.k8s.io") && ki_str_equals(kind, "VolumeSnapshot");
    if (kt_json_get_str(ref, "namespace").size)
        ref = NULL;
    if (kt_is_absent(ref) && !is_claim && !is_snapshot)
        return;
    check_data_sources(c->causes, "spec", kt_is_absent(source) ? ref : source, kt_is_absent(ref) ? source : ref);
}

void kt_check_volume_claim(kt_checked *c) {
    check_claim(c->causes, "spec", c->spec);
    if (!c->old)
        check_stored_sources(c);
    else
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
    static const char *const secret[] = { "controllerExpandSecretRef", NULL };
    return kt_is_same_but(c, old, now, kt_json_has(old, secret[0]) ? secret + 1 : secret);
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
    static const kt_rule host_path[] = {
        KT_TEXT("hostPath.path", KT_IF_FILLED, kt_check_no_way_back),
        KT_CHOICE("hostPath.type", KT_IF_FILLED, KT_HOST_PATHS),
    };
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
    if (strcmp(first, "hostPath") == 0)
        KT_CHECK_RULES(c->causes, "spec", c->spec, host_path);
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
    check_access_modes(c->causes, "spec", yyjson_obj_get(c->spec, "accessModes"));
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
