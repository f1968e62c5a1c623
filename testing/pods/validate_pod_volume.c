/* validate_pod_volume.c: see validate_pod_volume.h. As validateVolumeSource (pkg/apis/core/validation). */
#include "testing/pods/validate_pod_volume.h"

#include "testing/validation/checked.h"
#include "testing/validation/field_rules.h"
#include "testing/values/json.h"

#include <stdio.h>
#include <string.h>

#define MODE_RANGE "must be a number between 0 and 0777 (octal), both inclusive"
#define MODE(path) KT_NUMBER(path, KT_IF_GIVEN, 0, 0777, MODE_RANGE)
#define ITEMS(path) \
    KT_REQUIRED(path "[].key", ""), KT_REQUIRED(path "[].path", ""), \
        KT_TEXT(path "[].path", KT_IF_FILLED, check_local_path), MODE(path "[].mode")

/* The types in the server's order. `shown`: the name in messages, if it is another. */
static const struct {
    const char *name;
    const char *shown;
} types[] = {
    { "emptyDir", NULL },
    { "hostPath", NULL },
    { "gitRepo", NULL },
    { "gcePersistentDisk", NULL },
    { "awsElasticBlockStore", NULL },
    { "secret", NULL },
    { "nfs", NULL },
    { "iscsi", NULL },
    { "glusterfs", NULL },
    { "flocker", NULL },
    { "persistentVolumeClaim", NULL },
    { "rbd", NULL },
    { "cinder", NULL },
    { "cephfs", "cephFS" },
    { "quobyte", NULL },
    { "downwardAPI", "downwarAPI" },
    { "fc", NULL },
    { "flexVolume", NULL },
    { "configMap", NULL },
    { "azureFile", NULL },
    { "vsphereVolume", NULL },
    { "photonPersistentDisk", NULL },
    { "portworxVolume", NULL },
    { "azureDisk", NULL },
    { "storageos", NULL },
    { "projected", NULL },
    { "scaleIO", NULL },
    { "csi", NULL },
    { "ephemeral", NULL },
    { "image", NULL },
};

/* Returns true if the path has the element "..". */
static bool goes_back(ki_str path) {
    while (path.size) {
        if (ki_str_equals(ki_str_split(path, '/', &path), ".."))
            return true;
    }
    return false;
}

void kt_check_no_way_back(kt_causes *causes, const char *field, ki_str path) {
    if (goes_back(path))
        kt_causes_add(causes, KT_CAUSE_INVALID, field, path, "must not contain '..'");
}

void kt_check_descending_path(kt_causes *causes, const char *field, ki_str path) {
    if (path.size && path.data[0] == '/')
        kt_causes_add(causes, KT_CAUSE_INVALID, field, path, "must be a relative path");
    kt_check_no_way_back(causes, field, path);
}

static void check_local_path(kt_causes *causes, const char *field, ki_str path) {
    kt_check_descending_path(causes, field, path);
    if (ki_str_starts_with(path, KI_STR("..")) && !ki_str_equals(path, "..") &&
        !ki_str_starts_with(path, KI_STR("../")))
        kt_causes_add(causes, KT_CAUSE_INVALID, field, path, "must not start with '..'");
}

static void check_absolute_path(kt_causes *causes, const char *field, ki_str path) {
    if (!path.size || path.data[0] != '/')
        kt_causes_add(causes, KT_CAUSE_INVALID, field, path, "must be an absolute path");
}

/* Checks the source of a volume: of the type `name` at `path`. */
static void check_source(kt_causes *causes, const char *path, const char *name, yyjson_val *volume) {
    static const kt_rule rules[] = {
        KT_NUMBER("emptyDir.mode", KT_IF_GIVEN, 0, 01777,
                  "must be a number between 0 and 01777 (octal), both inclusive"),
        KT_REQUIRED("hostPath.path", ""),
        KT_TEXT("hostPath.path", KT_IF_FILLED, kt_check_no_way_back),
        KT_CHOICE("hostPath.type", KT_IF_FILLED, KT_HOST_PATHS),
        KT_REQUIRED("secret.secretName", ""),
        MODE("secret.defaultMode"),
        ITEMS("secret.items"),
        KT_REQUIRED("nfs.server", ""),
        KT_REQUIRED("nfs.path", ""),
        KT_TEXT("nfs.path", KT_ALWAYS, check_absolute_path),
        KT_REQUIRED("persistentVolumeClaim.claimName", ""),
        MODE("downwardAPI.defaultMode"),
        KT_REQUIRED("configMap.name", ""),
        MODE("configMap.defaultMode"),
        ITEMS("configMap.items"),
        MODE("projected.defaultMode"),
        KT_REQUIRED("csi.driver", ""),
        KT_REQUIRED("ephemeral.volumeClaimTemplate", ""),
        KT_REQUIRED("image.reference", ""),
        KT_CHOICE("image.pullPolicy", KT_IF_FILLED, "Always,IfNotPresent,Never"),
    };
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strncmp(rules[i].path, name, size) == 0 && rules[i].path[size] == '.')
            kt_check_rules(causes, path, volume, &rules[i], 1);
    }
}

/* Checks that a volume has one type. A volume without a type is an emptyDir. */
static void check_volume(kt_causes *causes, const char *path, yyjson_val *volume) {
    bool has_type = false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (kt_is_absent(yyjson_obj_get(volume, types[i].name)))
            continue;
        if (has_type)
            kt_validate_add(causes, KT_CAUSE_FORBIDDEN, KI_STR(""), true, "may not specify more than 1 volume type",
                            "%s.%s", path, types[i].shown ? types[i].shown : types[i].name);
        else
            check_source(causes, path, types[i].name, volume);
        has_type = true;
    }
}

static bool is_claim(yyjson_val *claims, ki_str name) {
    size_t index, count;
    yyjson_val *claim;
    yyjson_arr_foreach(claims, index, count, claim) {
        if (index == KT_VOLUMES_MAX)
            break;
        if (ki_str_equal(kt_json_get_str(yyjson_obj_get(claim, "metadata"), "name"), name))
            return true;
    }
    return false;
}

/* Returns the volume that can be mounted, before the volume `end`; NULL if there is none. */
static yyjson_val *find(const kt_volumes *volumes, ki_str name, size_t end) {
    size_t index, count;
    yyjson_val *volume;
    yyjson_arr_foreach(volumes->list, index, count, volume) {
        if (index == end || index == KT_VOLUMES_MAX)
            break;
        if (!volumes->is_bad[index] && ki_str_equal(kt_json_get_str(volume, "name"), name))
            return volume;
    }
    return NULL;
}

static void check_name(kt_causes *causes, const char *place, ki_str name) {
    kt_place field = kt_place_of("%s.name", place);
    if (name.size)
        kt_check_dns_label(causes, field.text, name);
    else
        kt_causes_add(causes, KT_CAUSE_REQUIRED, field.text, name, "");
}

void kt_check_volumes(kt_causes *causes, const char *path, kt_volumes *volumes) {
    yyjson_val *claims = volumes->claims, *volume, *claim;
    size_t first = yyjson_arr_size(claims), index, count; /* the server puts the claims before the volumes */
    yyjson_arr_foreach(claims, index, count, claim) {
        check_name(causes, kt_place_of("%s.volumes[%zu]", path, index).text,
                   kt_json_get_str(yyjson_obj_get(claim, "metadata"), "name"));
    }
    yyjson_arr_foreach(volumes->list, index, count, volume) {
        ki_str name = kt_json_get_str(volume, "name");
        kt_place place, field;
        size_t before = causes->count;
        if (is_claim(claims, name))
            continue; /* the claim stands in for it */
        place = kt_place_of("%s.volumes[%zu]", path, first + index);
        field = kt_place_of("%s.name", place.text);
        check_volume(causes, place.text, volume);
        check_name(causes, place.text, name);
        if (name.size && index < KT_VOLUMES_MAX && find(volumes, name, index))
            kt_causes_add(causes, KT_CAUSE_DUPLICATE, field.text, name, "");
        if (index < KT_VOLUMES_MAX)
            volumes->is_bad[index] = causes->count > before;
    }
}

bool kt_has_volume(const kt_volumes *volumes, ki_str name) {
    return is_claim(volumes->claims, name) || find(volumes, name, SIZE_MAX) ||
           yyjson_arr_size(volumes->list) > KT_VOLUMES_MAX;
}

bool kt_is_claim(const kt_volumes *volumes, ki_str name) {
    yyjson_val *volume = find(volumes, name, SIZE_MAX);
    return is_claim(volumes->claims, name) || !kt_is_absent(yyjson_obj_get(volume, "persistentVolumeClaim")) ||
           !kt_is_absent(yyjson_obj_get(volume, "ephemeral"));
}
