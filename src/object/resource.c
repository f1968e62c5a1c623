/* resource.c: finds the built-in resource that a name means, and suggests one for a misspelt name. */
#include <kinformer/resource.h>

#include "src/base/string_view.h"
#include "src/object/nearest.h"
#include "src/object/resource_table.h"

static bool is_called(const ki_resource_info *info, ki_str name) {
    if (ki_equal_ignoring_case(name, info->resource->plural) || ki_equal_ignoring_case(name, info->singular) ||
        ki_equal_ignoring_case(name, info->resource->kind))
        return true;
    for (size_t i = 0; info->short_names[i]; i++) {
        if (ki_equal_ignoring_case(name, info->short_names[i]))
            return true;
    }
    return false;
}

/* Returns true if `qualifier`, the text after the first dot of "deployments.v1.apps", is this resource's group, or its
 * version and group. "pods.", "pods.v1" and "pods.v1." all mean the core group. */
static bool is_in(const ki_resource *resource, ki_str qualifier) {
    if (ki_equal_ignoring_case(qualifier, resource->group))
        return true;
    ki_str group;
    ki_str version = ki_str_split(qualifier, '.', &group);
    return ki_equal_ignoring_case(version, resource->version) && ki_equal_ignoring_case(group, resource->group);
}

const ki_resource *ki_resource_find(const char *name) {
    if (!name)
        return NULL;
    ki_str qualifier;
    ki_str word = ki_str_split(ki_str_of(name), '.', &qualifier);
    if (word.size == 0)
        return NULL;
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        if (is_called(info, word) && (!qualifier.data || is_in(info->resource, qualifier)))
            return info->resource;
    }
    return NULL;
}

const ki_resource *ki_resource_at(unsigned index) {
    const ki_resource_info *info = ki_resource_info_at(index);
    return info ? info->resource : NULL;
}

bool ki_resource_has_verb(const ki_resource *resource, const char *verb) {
    const ki_resource_info *info = ki_resource_info_find(resource->group, resource->version, resource->plural);
    if (!info)
        return true;
    for (unsigned i = 0; i < KI_VERB_COUNT; i++) {
        if (strcmp(ki_verb_name(i), verb) == 0)
            return info->verbs & 1U << i;
    }
    return false;
}

bool ki_resource_is_complete(const ki_resource *resource) {
    const char *const needed[] = { resource->version, resource->plural, resource->kind };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i] || !needed[i][0])
            return false;
    }
    return resource->group != NULL;
}

const char *ki_resource_nearest(const char *name) {
    ki_nearest nearest;
    if (!name || !ki_nearest_begin(&nearest, name))
        return NULL;
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)) != NULL; i++) {
        ki_nearest_try(&nearest, info->resource->plural, info->resource->plural);
        ki_nearest_try(&nearest, info->singular, info->resource->plural);
    }
    return nearest.best;
}
