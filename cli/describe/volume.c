/* volume.c: the volumes of a pod or a template. */
#include "amounts.h"
#include "template.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 12,
    ATTRIBUTE_MAX = 140
};

typedef enum line_form {
    FORM_TEXT,
    FORM_NUMBER,
    FORM_BOOL,
    FORM_LIST,      /* [a b] */
    FORM_COMMAS,    /* a, b */
    FORM_MAP,       /* map[a:b] */
    FORM_REFERENCE, /* a secret's name as Go prints its reference */
    FORM_OR_NONE    /* a text or a number; <none> without one */
} line_form;

/* A kind of volume: its member of the volume, its type as kubectl calls it, and a line for each member of its own. */
typedef struct volume_kind {
    const char *member;
    const char *type;
    struct {
        const char *title; /* with its colon and tab; NULL ends the lines */
        const char *path;
        line_form form;
    } lines[LINES_MAX];
} volume_kind;

static const volume_kind kinds[] = {
    { "hostPath",
      "HostPath (bare host directory volume)",
      { { "Path:\t", "path", FORM_TEXT }, { "HostPathType:\t", "type", FORM_OR_NONE } } },
    { "emptyDir", "EmptyDir (a temporary directory that shares a pod's lifetime)", { { NULL, NULL, FORM_TEXT } } },
    { "gcePersistentDisk",
      "GCEPersistentDisk (a Persistent Disk resource in Google Compute Engine)",
      { { "PDName:\t", "pdName", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "Partition:\t", "partition", FORM_NUMBER },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "awsElasticBlockStore",
      "AWSElasticBlockStore (a Persistent Disk resource in AWS)",
      { { "VolumeID:\t", "volumeID", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "Partition:\t", "partition", FORM_NUMBER },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "gitRepo",
      "GitRepo (a volume that is pulled from git when the pod is created)",
      { { "Repository:\t", "repository", FORM_TEXT }, { "Revision:\t", "revision", FORM_TEXT } } },
    { "secret",
      "Secret (a volume populated by a Secret)",
      { { "SecretName:\t", "secretName", FORM_TEXT }, { "Optional:\t", "optional", FORM_BOOL } } },
    { "configMap",
      "ConfigMap (a volume populated by a ConfigMap)",
      { { "Name:\t", "name", FORM_TEXT }, { "Optional:\t", "optional", FORM_BOOL } } },
    { "nfs",
      "NFS (an NFS mount that lasts the lifetime of a pod)",
      { { "Server:\t", "server", FORM_TEXT },
        { "Path:\t", "path", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "iscsi",
      "ISCSI (an ISCSI Disk resource that is attached to a kubelet's host machine and then exposed to the pod)",
      { { "TargetPortal:\t", "targetPortal", FORM_TEXT },
        { "IQN:\t", "iqn", FORM_TEXT },
        { "Lun:\t", "lun", FORM_NUMBER },
        { "ISCSIInterface\t", "iscsiInterface", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL },
        { "Portals:\t", "portals", FORM_LIST },
        { "DiscoveryCHAPAuth:\t", "chapAuthDiscovery", FORM_BOOL },
        { "SessionCHAPAuth:\t", "chapAuthSession", FORM_BOOL },
        { "SecretRef:\t", "secretRef", FORM_REFERENCE },
        { "InitiatorName:\t", "initiatorName", FORM_OR_NONE } } },
    { "glusterfs",
      "Glusterfs (a Glusterfs mount on the host that shares a pod's lifetime)",
      { { "EndpointsName:\t", "endpoints", FORM_TEXT },
        { "Path:\t", "path", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "persistentVolumeClaim",
      "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
      { { "ClaimName:\t", "claimName", FORM_TEXT }, { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "ephemeral",
      "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
      { { NULL, NULL, FORM_TEXT } } },
    { "rbd",
      "RBD (a Rados Block Device mount on the host that shares a pod's lifetime)",
      { { "CephMonitors:\t", "monitors", FORM_LIST },
        { "RBDImage:\t", "image", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "RBDPool:\t", "pool", FORM_TEXT },
        { "RadosUser:\t", "user", FORM_TEXT },
        { "Keyring:\t", "keyring", FORM_TEXT },
        { "SecretRef:\t", "secretRef", FORM_REFERENCE },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "quobyte",
      "Quobyte (a Quobyte mount on the host that shares a pod's lifetime)",
      { { "Registry:\t", "registry", FORM_TEXT },
        { "Volume:\t", "volume", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "downwardAPI", "DownwardAPI (a volume populated by information about the pod)", { { NULL, NULL, FORM_TEXT } } },
    { "azureDisk",
      "AzureDisk (an Azure Data Disk mount on the host and bind mount to the pod)",
      { { "DiskName:\t", "diskName", FORM_TEXT },
        { "DiskURI:\t", "diskURI", FORM_TEXT },
        { "Kind: \t", "kind", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "CachingMode:\t", "cachingMode", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "vsphereVolume",
      "vSphereVolume (a Persistent Disk resource in vSphere)",
      { { "VolumePath:\t", "volumePath", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "StoragePolicyName:\t", "storagePolicyName", FORM_TEXT } } },
    { "cinder",
      "Cinder (a Persistent Disk resource in OpenStack)",
      { { "VolumeID:\t", "volumeID", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL },
        { "SecretRef:\t", "secretRef", FORM_REFERENCE } } },
    { "photonPersistentDisk",
      "PhotonPersistentDisk (a Persistent Disk resource in photon platform)",
      { { "PdID:\t", "pdID", FORM_TEXT }, { "FSType:\t", "fsType", FORM_TEXT } } },
    { "portworxVolume", "PortworxVolume (a Portworx Volume resource)", { { "VolumeID:\t", "volumeID", FORM_TEXT } } },
    { "scaleIO",
      "ScaleIO (a persistent volume backed by a block device in ScaleIO)",
      { { "Gateway:\t", "gateway", FORM_TEXT },
        { "System:\t", "system", FORM_TEXT },
        { "Protection Domain:\t", "protectionDomain", FORM_TEXT },
        { "Storage Pool:\t", "storagePool", FORM_TEXT },
        { "Storage Mode:\t", "storageMode", FORM_TEXT },
        { "VolumeName:\t", "volumeName", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "cephfs",
      "CephFS (a CephFS mount on the host that shares a pod's lifetime)",
      { { "Monitors:\t", "monitors", FORM_LIST },
        { "Path:\t", "path", FORM_TEXT },
        { "User:\t", "user", FORM_TEXT },
        { "SecretFile:\t", "secretFile", FORM_TEXT },
        { "SecretRef:\t", "secretRef", FORM_REFERENCE },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "storageos",
      "StorageOS (a StorageOS Persistent Disk resource)",
      { { "VolumeName:\t", "volumeName", FORM_TEXT },
        { "VolumeNamespace:\t", "volumeNamespace", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "fc",
      "FC (a Fibre Channel disk)",
      { { "TargetWWNs:\t", "targetWWNs", FORM_COMMAS },
        { "LUN:\t", "lun", FORM_OR_NONE },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "azureFile",
      "AzureFile (an Azure File Service mount on the host and bind mount to the pod)",
      { { "SecretName:\t", "secretName", FORM_TEXT },
        { "ShareName:\t", "shareName", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "flexVolume",
      "FlexVolume (a generic volume resource that is provisioned/attached using an exec based plugin)",
      { { "Driver:\t", "driver", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "SecretRef:\t", "secretRef", FORM_REFERENCE },
        { "ReadOnly:\t", "readOnly", FORM_BOOL },
        { "Options:\t", "options", FORM_MAP } } },
    { "flocker",
      "Flocker (a Flocker volume mounted by the Flocker agent)",
      { { "DatasetName:\t", "datasetName", FORM_TEXT }, { "DatasetUUID:\t", "datasetUUID", FORM_TEXT } } },
    { "projected",
      "Projected (a volume that contains injected data from multiple sources)",
      { { NULL, NULL, FORM_TEXT } } },
    { "csi",
      "CSI (a Container Storage Interface (CSI) volume source)",
      { { "Driver:\t", "driver", FORM_TEXT },
        { "FSType:\t", "fsType", FORM_TEXT },
        { "ReadOnly:\t", "readOnly", FORM_BOOL } } },
    { "image",
      "Image (a container image or OCI artifact)",
      { { "Reference:\t", "reference", FORM_TEXT }, { "PullPolicy:\t", "pullPolicy", FORM_TEXT } } },
};

static void write_map(sheet *s, yyjson_val *map) {
    size_t count;
    named_value *members = members_sorted(s, map, &count);
    sheet_write(s, 0, "map[");
    for (size_t i = 0; i < count; i++)
        sheet_write(s, 0, "%s%s:%s", i ? " " : "", members[i].name, text_of(members[i].value));
    sheet_write(s, 0, "]");
    free(members);
}

static void write_form(sheet *s, line_form form, yyjson_val *value) {
    switch (form) {
    case FORM_TEXT:
        sheet_write(s, 0, "%s", text_of(value));
        break;
    case FORM_NUMBER:
        sheet_write(s, 0, "%" PRId64, yyjson_get_sint(value));
        break;
    case FORM_BOOL:
        sheet_write(s, 0, "%s", yyjson_is_true(value) ? "true" : "false");
        break;
    case FORM_LIST:
        sheet_write(s, 0, "[");
        write_joined(s, value, " ");
        sheet_write(s, 0, "]");
        break;
    case FORM_COMMAS:
        write_joined(s, value, ", ");
        break;
    case FORM_MAP:
        write_map(s, value);
        break;
    case FORM_REFERENCE:
        if (value)
            sheet_write(s, 0, "&LocalObjectReference{Name:%s,}", text_at(value, "name"));
        else
            sheet_write(s, 0, "nil");
        break;
    case FORM_OR_NONE:
        if (value)
            write_int_or_string(s, value);
        else
            sheet_write(s, 0, "<none>");
        break;
    }
}

/* ---- kinds with more than lines ---- */

static void write_empty_dir(sheet *s, yyjson_val *volume) {
    char text[KI_QUANTITY_SIZE];
    ki_quantity limit = amount_of(value_at(volume, "sizeLimit")), zero = { 0 };
    bool is_set = ki_quantity_compare(&limit, &zero) > 0;
    sheet_write(s, 2, "Medium:\t%s\n", text_at(volume, "medium"));
    sheet_write(s, 2, "SizeLimit:\t%s\n", is_set ? amount_text(value_at(volume, "sizeLimit"), text) : "<unset>");
}

static void write_downward_api(sheet *s, yyjson_val *volume) {
    yyjson_val *item;
    size_t index, count;
    sheet_write(s, 2, "Items:\n");
    yyjson_arr_foreach(value_at(volume, "items"), index, count, item) {
        const char *path = text_at(item, "path");
        if (value_at(item, "fieldRef"))
            sheet_write(s, 3, "%s -> %s\n", text_at(item, "fieldRef.fieldPath"), path);
        if (value_at(item, "resourceFieldRef"))
            sheet_write(s, 3, "%s -> %s\n", text_at(item, "resourceFieldRef.resource"), path);
    }
}

static void write_source(sheet *s, const char *title, yyjson_val *source) {
    sheet_write(s, 2, "%s:\t%s\n", title, text_at(source, "name"));
    sheet_write(s, 2, "Optional:\t%s\n", is_true_at(source, "optional") ? "true" : "false");
}

static void write_projected(sheet *s, yyjson_val *volume) {
    yyjson_val *source;
    size_t index, count;
    yyjson_arr_foreach(value_at(volume, "sources"), index, count, source) {
        yyjson_val *secret = value_at(source, "secret"), *map = value_at(source, "configMap");
        if (secret)
            write_source(s, "SecretName", secret);
        else if (value_at(source, "downwardAPI"))
            sheet_write(s, 2, "DownwardAPI:\ttrue\n");
        else if (map)
            write_source(s, "ConfigMapName", map);
        else if (value_at(source, "serviceAccountToken"))
            sheet_write(s, 2, "TokenExpirationSeconds:\t%" PRId64 "\n",
                        integer_at(source, "serviceAccountToken.expirationSeconds"));
    }
}

static void write_attributes(sheet *s, yyjson_val *volume) {
    size_t count;
    named_value *members = members_sorted(s, value_at(volume, "volumeAttributes"), &count);
    sheet_write(s, 2, "VolumeAttributes:\t%s", count ? "" : "<none>\n");
    for (size_t i = 0; i < count; i++) {
        const char *value = text_of(members[i].value);
        size_t name_size = strlen(members[i].name), left = name_size < ATTRIBUTE_MAX ? ATTRIBUTE_MAX - name_size : 0;
        bool is_long = name_size + 1 + strlen(value) > ATTRIBUTE_MAX;
        sheet_write(s, i ? 2 : 0, "%s", "");
        if (i)
            sheet_write(s, 2, "\t");
        sheet_write(s, 2, "%.*s", ATTRIBUTE_MAX, members[i].name);
        sheet_write(s, 0, "%.*s%.*s%s\n", left > 0, "=", left > 1 ? (int)left - 1 : 0, value, is_long ? "..." : "");
    }
    free(members);
}

/* Writes the claim that an ephemeral volume makes. */
static void write_claim(sheet *s, yyjson_val *template) {
    yyjson_val *spec = value_at(template, "spec"), *metadata = value_at(template, "metadata");
    yyjson_val *class_annotation =
        yyjson_obj_get(value_at(metadata, "annotations"), "volume.beta.kubernetes.io/storage-class");
    yyjson_val *source = value_at(spec, "dataSource");
    if (!template)
        return;
    s->indent += 2;
    sheet_write(s, 0, "StorageClass:\t%s\n",
                class_annotation ? text_of(class_annotation) : text_at(spec, "storageClassName"));
    sheet_write(s, 0, "Volume:\t%s\n", text_at(spec, "volumeName"));
    write_labels(s, "Labels", value_at(metadata, "labels"));
    write_annotations(s, "Annotations", value_at(metadata, "annotations"));
    sheet_write(s, 0, "Capacity:\t%s\n", *text_at(spec, "volumeName") ? "0" : "");
    sheet_write(s, 0, "Access Modes:\t\n");
    if (value_at(spec, "volumeMode"))
        sheet_write(s, 0, "VolumeMode:\t%s\n", text_at(spec, "volumeMode"));
    if (source) {
        sheet_write(s, 0, "DataSource:\n");
        if (value_at(source, "apiGroup"))
            sheet_write(s, 1, "APIGroup:\t%s\n", text_at(source, "apiGroup"));
        sheet_write(s, 1, "Kind:\t%s\n", text_at(source, "kind"));
        sheet_write(s, 1, "Name:\t%s\n", text_at(source, "name"));
    }
    s->indent -= 2;
}

static void write_volume(sheet *s, const volume_kind *kind, yyjson_val *volume) {
    sheet_write(s, 2, "Type:\t%s\n", kind->type);
    for (size_t i = 0; i < LINES_MAX && kind->lines[i].title; i++) {
        sheet_write(s, 2, "%s", kind->lines[i].title);
        write_form(s, kind->lines[i].form, value_at(volume, kind->lines[i].path));
        sheet_write(s, 0, "\n");
    }
    if (strcmp(kind->member, "emptyDir") == 0)
        write_empty_dir(s, volume);
    else if (strcmp(kind->member, "downwardAPI") == 0)
        write_downward_api(s, volume);
    else if (strcmp(kind->member, "projected") == 0)
        write_projected(s, volume);
    else if (strcmp(kind->member, "csi") == 0)
        write_attributes(s, volume);
    else if (strcmp(kind->member, "ephemeral") == 0)
        write_claim(s, value_at(volume, "volumeClaimTemplate"));
}

void write_volumes(sheet *s, yyjson_val *volumes, const char *space) {
    yyjson_val *one;
    size_t index, count;
    sheet_write(s, 0, "%sVolumes:%s\n", space, yyjson_arr_size(volumes) ? "" : "\t<none>");
    yyjson_arr_foreach(volumes, index, count, one) {
        const volume_kind *kind = kinds, *end = kinds + sizeof kinds / sizeof kinds[0];
        while (kind < end && !value_at(one, kind->member))
            kind++;
        sheet_write(s, 1, "%s%s:\n", *space ? " " : "", text_at(one, "name"));
        if (kind < end)
            write_volume(s, kind, value_at(one, kind->member));
        else
            sheet_write(s, 1, "<unknown>\n");
    }
}
