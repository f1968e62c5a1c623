/* validate_pod_volume.h: checks the volumes of a pod's spec. validate_pod.c calls it. */
#ifndef KT_PODS_VALIDATE_POD_VOLUME_H
#define KT_PODS_VALIDATE_POD_VOLUME_H

#include "testing/values/causes.h"

#include <yyjson.h>

#define KT_HOST_PATHS ",BlockDevice,CharDevice,Directory,DirectoryOrCreate,File,FileOrCreate,Socket"

enum {
    KT_VOLUMES_MAX = 1000 /* volumes whose names are compared */
};

typedef struct kt_volumes {
    yyjson_val *list;            /* of the spec; NULL: none */
    yyjson_val *claims;          /* the claims of a StatefulSet, which are volumes too; NULL */
    bool is_bad[KT_VOLUMES_MAX]; /* a volume with a problem cannot be mounted */
} kt_volumes;

/* Adds the problems of the volumes of a spec, whose place is `path`, and notes which are bad. */
void kt_check_volumes(kt_causes *causes, const char *path, kt_volumes *volumes);
/* Returns true if a container can mount a volume with this name. */
bool kt_has_volume(const kt_volumes *volumes, ki_str name);
/* Returns true if this volume is a claim, which can be a device of a container. */
bool kt_is_claim(const kt_volumes *volumes, ki_str name);

/* Rejects paths that have the element "..". */
void kt_check_no_way_back(kt_causes *causes, const char *field, ki_str path);
/* Rejects paths that begin with a slash or have the element "..". */
void kt_check_descending_path(kt_causes *causes, const char *field, ki_str path);

#endif
