/* known_names.c: see known_names.h. */
#include "testing/request/known_names.h"

#include "src/base/error.h"
#include "src/object/nearest.h"
#include "src/object/resource_table.h"

#include <stdio.h>

enum {
    NAME_SIZE = 256, /* of "PLURAL.GROUP/SUBRESOURCE"; no longer name matches a request */
    SHOWN_MAX = 64   /* bytes of a wrong word in a message */
};

#define SHOWN(text) (int)((text).size < SHOWN_MAX ? (text).size : SHOWN_MAX), (text).data

/* ---- verbs ---- */

enum {
    OF_RESOURCES = 1 << 0,
    OF_PATHS = 1 << 1, /* the method of a path that is no resource */
    OF_RULES = 1 << 2  /* only authorization asks for the verb */
};

typedef struct known_verb {
    const char *name;
    unsigned where;
    const char *meant; /* for a resource, the verb of this method */
} known_verb;

static const known_verb verbs[] = {
    { "get", OF_RESOURCES | OF_PATHS, NULL },
    { "list", OF_RESOURCES, NULL },
    { "watch", OF_RESOURCES, NULL },
    { "create", OF_RESOURCES, NULL },
    { "update", OF_RESOURCES, NULL },
    { "patch", OF_RESOURCES | OF_PATHS, NULL },
    { "delete", OF_RESOURCES | OF_PATHS, NULL },
    { "deletecollection", OF_RESOURCES, NULL },
    { "options", OF_RESOURCES | OF_PATHS, NULL },
    { "head", OF_PATHS, "get" },
    { "post", OF_PATHS, "create" },
    { "put", OF_PATHS, "update" },
    { "impersonate", OF_RULES, NULL },
    { "bind", OF_RULES, NULL },
    { "escalate", OF_RULES, NULL },
    { "use", OF_RULES, NULL },
    { "approve", OF_RULES, NULL },
    { "sign", OF_RULES, NULL },
    { "attest", OF_RULES, NULL },
};

enum {
    VERB_COUNT = sizeof verbs / sizeof verbs[0]
};

static ki_status fail_verb(ki_str verb, unsigned where, ki_error *err) {
    char text[SHOWN_MAX + 1];
    ki_nearest nearest;
    snprintf(text, sizeof text, "%.*s", SHOWN(verb));
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (ki_str_equals(verb, verbs[i].name) && verbs[i].meant)
            return ki_error_set(err, KI_ERR_INVALID, "verb=%s is for paths that are no resources; did you mean %s?",
                                text, verbs[i].meant);
        if (ki_str_equals(verb, verbs[i].name) && where == OF_PATHS)
            return ki_error_set(err, KI_ERR_INVALID, "verb=%s is for resources; the verb of a path is get or post",
                                text);
    }
    if (ki_nearest_begin(&nearest, text)) {
        for (size_t i = 0; i < VERB_COUNT; i++) {
            if (verbs[i].where & where)
                ki_nearest_try(&nearest, verbs[i].name, verbs[i].name);
        }
        if (nearest.best)
            return ki_error_set(err, KI_ERR_INVALID, "there is no verb \"%s\"; did you mean %s?", text, nearest.best);
    }
    return ki_error_set(err, KI_ERR_INVALID,
                        "there is no verb \"%s\"; there are get, list, watch, create, update, patch, delete and "
                        "deletecollection",
                        text);
}

static ki_status check_verbs(ki_str list, unsigned where, ki_error *err) {
    while (list.size) {
        ki_str verb = ki_str_split(list, '+', &list);
        bool known = false;
        for (size_t i = 0; i < VERB_COUNT && !known; i++)
            known = (verbs[i].where & where) && kt_spec_list_has(verb, ki_str_of(verbs[i].name));
        if (!known)
            return fail_verb(verb, where, err);
    }
    return KI_OK;
}

/* ---- resources ---- */

/* Resources that only authorization has. */
static const char *const virtual_resources[] = { "users", "groups", "uids.authentication.k8s.io",
                                                 "userextras.authentication.k8s.io", "signers.certificates.k8s.io" };

/* Writes "deployments.apps". */
static void qualify(const ki_resource *resource, char ret_name[NAME_SIZE]) {
    snprintf(ret_name, NAME_SIZE, "%s%s%s", resource->plural, resource->group[0] ? "." : "", resource->group);
}

/* Returns the built-in resource with exactly this qualified name; NULL if there is none. With a star at the end,
 * returns the first one that matches. */
static const ki_resource_info *find_qualified(ki_str name) {
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)); i++) {
        char own[NAME_SIZE];
        qualify(info->resource, own);
        if (kt_spec_list_has(name, ki_str_of(own)))
            return info;
    }
    return NULL;
}

static bool is_builtin_group(ki_str group) {
    const ki_resource_info *info;
    for (unsigned i = 0; (info = ki_resource_info_at(i)); i++) {
        if (ki_str_equals(group, info->resource->group))
            return true;
    }
    return false;
}

/* Copies a group with '-' for each dot, since a name to guess ends at its first dot. */
static void copy_group(ki_str group, char to[NAME_SIZE]) {
    snprintf(to, NAME_SIZE, "%.*s", (int)(group.size < NAME_SIZE ? group.size : 0), group.data ? group.data : "");
    for (char *dot; (dot = strchr(to, '.'));)
        *dot = '-';
}

/* Returns the built-in resource with this plural whose group is at most two typing errors away; NULL if there is none.
 * A group of a custom resource differs more. */
static const ki_resource *find_misspelt_group(ki_str plural, ki_str group) {
    enum {
        FAR = 3
    };
    char text[NAME_SIZE], own[NAME_SIZE];
    const ki_resource *best = NULL;
    const ki_resource_info *info;
    ki_nearest nearest;
    copy_group(group, text);
    if (!ki_nearest_begin(&nearest, text))
        return NULL;
    nearest.best_distance = nearest.best_distance < FAR ? nearest.best_distance : FAR;
    for (unsigned i = 0; (info = ki_resource_info_at(i)); i++) {
        const size_t before = nearest.best_distance;
        if (!ki_str_equals(plural, info->resource->plural))
            continue;
        copy_group(ki_str_of(info->resource->group), own);
        ki_nearest_try(&nearest, own, info->resource->group);
        best = nearest.best_distance < before ? info->resource : best;
    }
    return best;
}

static ki_status fail_resource(ki_str name, ki_error *err) {
    char text[NAME_SIZE], meant[NAME_SIZE];
    snprintf(text, sizeof text, "%.*s", (int)(name.size < NAME_SIZE ? name.size : NAME_SIZE - 1),
             name.data ? name.data : "");
    char *star = strchr(text, '*');
    if (star)
        *star = '\0';
    ki_str group, plural = ki_str_split(ki_str_of(text), '.', &group);
    const ki_resource *resource = ki_resource_find(text);
    if (!resource)
        resource = find_misspelt_group(plural, group);
    if (!resource)
        resource = ki_resource_find(ki_resource_nearest(text));
    if (resource) {
        qualify(resource, meant);
        return ki_error_set(err, KI_ERR_INVALID, "there is no resource \"%.*s\"%s; did you mean %s?", SHOWN(name),
                            strchr(text, '.') ? "" : " in the core group", meant);
    }
    return ki_error_set(
        err, KI_ERR_INVALID,
        "there is no resource \"%.*s\"%s; a custom resource is written with its group: foos.example.com", SHOWN(name),
        strchr(text, '.') ? "" : " in the core group");
}

static ki_status check_subresource(const ki_resource_info *info, ki_str name, ki_str sub, ki_error *err) {
    static const ki_subresource_info of_custom[] = { { .name = "status" }, { .name = "scale" }, { 0 } };
    const ki_subresource_info *known = info ? info->subresources : of_custom;
    char text[SHOWN_MAX + 1];
    ki_nearest nearest;
    snprintf(text, sizeof text, "%.*s", SHOWN(sub));
    bool can_guess = ki_nearest_begin(&nearest, text);
    for (; known->name; known++) {
        if (kt_spec_list_has(sub, ki_str_of(known->name)))
            return KI_OK;
        if (can_guess)
            ki_nearest_try(&nearest, known->name, known->name);
    }
    if (nearest.best)
        return ki_error_set(err, KI_ERR_INVALID, "%.*s has no subresource \"%s\"; did you mean %s?", SHOWN(name), text,
                            nearest.best);
    return ki_error_set(err, KI_ERR_INVALID, "%.*s has no subresource \"%s\"", SHOWN(name), text);
}

/* What the resources of a line have in common. */
typedef struct summary {
    const ki_resource *cluster_scoped; /* the last resource without a namespace; NULL: none */
    bool any_namespaced;               /* or unknown */
    bool any_object;                   /* no subresource */
} summary;

static ki_status check_resource(ki_str full, kt_names_of what, summary *all, ki_error *err) {
    ki_str sub, group, name = ki_str_split(full, '/', &sub);
    all->any_object = all->any_object || !sub.data;
    const char *star = full.size ? memchr(full.data, '*', full.size) : NULL;
    if (star && star != full.data + full.size - 1)
        return ki_error_set(err, KI_ERR_INVALID, "resource=%.*s: a star stands for the rest, so only at the end",
                            SHOWN(full));
    bool is_prefix = star && !sub.data;
    for (size_t i = 0; i < sizeof virtual_resources / sizeof *virtual_resources && what == KT_NAMES_OF_RULE; i++) {
        if (kt_spec_list_has(full, ki_str_of(virtual_resources[i])))
            return KI_OK;
    }
    const ki_resource_info *info = full.size < NAME_SIZE ? find_qualified(name) : NULL;
    if (!info) {
        char text[NAME_SIZE];
        snprintf(text, sizeof text, "%.*s", (int)(name.size < NAME_SIZE ? name.size : 0), name.data ? name.data : "");
        ki_str plural = ki_str_split(name, '.', &group);
        bool can_be_custom = group.data && plural.size && full.size < NAME_SIZE;
        if (!is_prefix && can_be_custom)
            can_be_custom = memchr(group.data, '.', group.size) && !is_builtin_group(group) &&
                            !ki_resource_find(text) && !find_misspelt_group(plural, group);
        if (!can_be_custom)
            return fail_resource(name, err);
    }
    bool in_namespace = !info || is_prefix || info->resource->namespaced ||
                        (what == KT_NAMES_OF_RULE && ki_str_equals(name, "namespaces"));
    all->any_namespaced = all->any_namespaced || in_namespace;
    if (!in_namespace)
        all->cluster_scoped = info->resource;
    return sub.data ? check_subresource(info, name, sub, err) : KI_OK;
}

/* Returns true if only requests for a collection have one of the verbs. */
static bool are_for_collections(ki_str list) {
    static const char *const of_objects[] = { "get", "create", "update", "patch", "delete" };
    for (size_t i = 0; i < sizeof of_objects / sizeof *of_objects; i++) {
        if (kt_spec_list_has(list, ki_str_of(of_objects[i])))
            return false;
    }
    return true;
}

static ki_status check_resources(const kt_spec *spec, kt_names_of what, ki_error *err) {
    ki_str list = kt_spec_get(spec, "resource");
    summary all = { 0 };
    while (list.size) {
        ki_status status = check_resource(ki_str_split(list, '+', &list), what, &all, err);
        if (status)
            return status;
    }
    if (!all.any_namespaced && all.cluster_scoped && kt_spec_get(spec, "namespace").data)
        return ki_error_set(err, KI_ERR_INVALID, "%s are not in a namespace", all.cluster_scoped->plural);
    ki_str of = kt_spec_get(spec, "verb");
    if (kt_spec_get(spec, "resource").data && !all.any_object && of.data && what == KT_NAMES_OF_FAULT &&
        are_for_collections(of))
        return ki_error_set(err, KI_ERR_INVALID, "verb=%.*s is for lists and watches; a subresource has neither",
                            SHOWN(of));
    return KI_OK;
}

/* ---- all fields ---- */

static ki_status check_paths(ki_str list, ki_error *err) {
    while (list.size) {
        ki_str path = ki_str_split(list, '+', &list);
        if (!path.size || (path.data[0] != '/' && !ki_str_equals(path, "*")))
            return ki_error_set(err, KI_ERR_INVALID, "path=%.*s: a path begins with /", SHOWN(path));
    }
    return KI_OK;
}

ki_status kt_known_names_check(const kt_spec *spec, kt_names_of what, ki_error *err) {
    static const char *const fields[] = {
        "user", "group", "verb", "resource", "namespace", "name", "path", "user-agent"
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        ki_str value = kt_spec_get(spec, fields[i]);
        if (value.data && !value.size)
            return ki_error_set(err, KI_ERR_INVALID, "%s= has no value, and matches nothing", fields[i]);
    }
    bool has_path = kt_spec_get(spec, "path").data, has_resource = kt_spec_get(spec, "resource").data;
    unsigned where = OF_RESOURCES;
    if (what == KT_NAMES_OF_RULE)
        where = has_path ? OF_PATHS : OF_RESOURCES | OF_RULES;
    else if (has_path)
        where = OF_RESOURCES | OF_PATHS;
    if (what == KT_NAMES_OF_RULE && has_path && has_resource)
        return ki_error_set(err, KI_ERR_INVALID, "a rule has resource= or path=; for both write two rules");
    ki_status status = check_verbs(kt_spec_get(spec, "verb"), where, err);
    if (!status)
        status = check_resources(spec, what, err);
    return status ? status : check_paths(kt_spec_get(spec, "path"), err);
}
