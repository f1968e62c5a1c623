/* custom.c: reads one version of a definition; validates definitions. */
#include "testing/crd/custom.h"

#include "src/base/memory.h"
#include "testing/values/causes.h"
#include "testing/values/json.h"
#include "testing/values/version.h"

#include <stdio.h>

static yyjson_val *version_at(yyjson_val *root, size_t index) {
    return yyjson_arr_get(yyjson_obj_get(yyjson_obj_get(root, "spec"), "versions"), index);
}

/* Returns a string of the document; "" if there is none. It ends with a zero byte and lives as long as the document. */
static const char *text(yyjson_val *obj, const char *key) {
    const char *value = yyjson_get_str(yyjson_obj_get(obj, key));
    return value ? value : "";
}

static void take_fields(kt_custom *custom, yyjson_val *version) {
    yyjson_val *fields = yyjson_obj_get(version, "selectableFields"), *field;
    size_t index, count, used = 0;
    yyjson_arr_foreach(fields, index, count, field) {
        const char *path = text(field, "jsonPath");
        if (path[0] == '.' && path[1] && used < KT_CRD_FIELDS_MAX)
            custom->paths[used++] = path + 1;
    }
}

static void take_subresources(kt_custom *custom, yyjson_val *version) {
    yyjson_val *given = yyjson_obj_get(version, "subresources");
    const unsigned verbs = KI_VERB_GET | KI_VERB_PATCH | KI_VERB_UPDATE;
    ki_subresource_info *next = custom->subresources;
    custom->info.subresources = custom->subresources;
    if (yyjson_is_obj(yyjson_obj_get(given, "status")))
        *next++ = (ki_subresource_info){ .name = "status", .verbs = verbs };
    custom->scale = yyjson_obj_get(given, "scale");
    if (yyjson_is_obj(custom->scale))
        *next++ = (ki_subresource_info){
            .name = "scale", .kind = "Scale", .group = "autoscaling", .version = "v1", .verbs = verbs
        };
}

/* Returns the newest version that is served and not deprecated; NULL if none is newer than `name`. */
static const char *replacement(yyjson_val *versions, const char *name) {
    size_t index, count;
    yyjson_val *version;
    const char *newest = name;
    yyjson_arr_foreach(versions, index, count, version) {
        if (yyjson_get_bool(yyjson_obj_get(version, "served")) &&
            !yyjson_get_bool(yyjson_obj_get(version, "deprecated")) &&
            kt_version_compare(text(version, "name"), newest) < 0)
            newest = text(version, "name");
    }
    return newest == name ? NULL : newest;
}

static ki_status take_deprecation(kt_custom *custom, yyjson_val *versions, yyjson_val *version) {
    const ki_resource *resource = &custom->resource;
    const char *newer = replacement(versions, resource->version), *own = text(version, "deprecationWarning");
    ki_buffer warning;
    if (!yyjson_get_bool(yyjson_obj_get(version, "deprecated")))
        return KI_OK;
    ki_buffer_init(&warning, custom->allocator, 0);
    if (own[0])
        ki_buffer_append_string(&warning, own);
    else
        ki_buffer_printf(&warning, "%s/%s %s is deprecated", resource->group, resource->version, resource->kind);
    if (!own[0] && newer)
        ki_buffer_printf(&warning, "; use %s/%s %s", resource->group, newer, resource->kind);
    custom->deprecation = warning.failed ? NULL : ki_strdup(custom->allocator, warning.data);
    ki_buffer_free(&warning);
    return custom->deprecation ? KI_OK : KI_ERR_NO_MEMORY;
}

ki_status kt_custom_new(const ki_allocator *allocator, ki_str json, size_t index, kt_custom **ret_custom) {
    kt_custom *custom = ki_alloc_zero(allocator, sizeof *custom);
    if (!custom)
        return KI_ERR_NO_MEMORY;
    custom->allocator = allocator;
    if (kt_json_read_trusted(allocator, json, &custom->doc, NULL)) {
        kt_custom_free(custom);
        return KI_ERR_NO_MEMORY;
    }
    yyjson_val *root = yyjson_doc_get_root(custom->doc), *spec = yyjson_obj_get(root, "spec");
    yyjson_val *version = version_at(root, index);
    custom->names = yyjson_obj_get(spec, "names");
    custom->resource = (ki_resource){ .group = text(spec, "group"),
                                      .version = text(version, "name"),
                                      .plural = text(custom->names, "plural"),
                                      .kind = text(custom->names, "kind"),
                                      .namespaced = strcmp(text(spec, "scope"), "Namespaced") == 0 };
    if (!yyjson_get_bool(yyjson_obj_get(version, "served")) || !custom->resource.plural[0] ||
        !custom->resource.kind[0] || !custom->resource.version[0] || !custom->resource.group[0]) {
        kt_custom_free(custom);
        return KI_ERR_NOT_FOUND;
    }
    custom->info.resource = &custom->resource;
    custom->info.singular = text(custom->names, "singular");
    custom->info.verbs = KI_VERBS_ALL | KT_CUSTOM_BIT;
    custom->schema = yyjson_obj_get(yyjson_obj_get(version, "schema"), "openAPIV3Schema");
    custom->preserves = yyjson_get_bool(yyjson_obj_get(spec, "preserveUnknownFields"));
    take_subresources(custom, version);
    take_fields(custom, version);
    if (kt_structural_init(&custom->structural, allocator, custom->schema) ||
        kt_schema_patterns_init(&custom->patterns, allocator, custom->schema) ||
        take_deprecation(custom, yyjson_obj_get(spec, "versions"), version) ||
        ki_columns_of_definition(yyjson_obj_get(version, "additionalPrinterColumns"), allocator, &custom->columns,
                                 NULL)) {
        kt_custom_free(custom);
        return KI_ERR_NO_MEMORY;
    }
    *ret_custom = custom;
    return KI_OK;
}

void kt_custom_free(kt_custom *custom) {
    if (!custom)
        return;
    ki_columns_free(custom->columns);
    kt_structural_free(&custom->structural);
    if (custom->patterns.allocator)
        kt_schema_patterns_free(&custom->patterns);
    ki_free(custom->allocator, custom->deprecation);
    yyjson_doc_free(custom->doc);
    ki_free(custom->allocator, custom);
}

/* ---- validation of a definition ---- */

static bool is_dns_label(const char *name) {
    size_t size = strlen(name);
    if (!size || size > 63 || name[0] == '-' || name[size - 1] == '-')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == size;
}

static void need(kt_causes *causes, yyjson_val *obj, const char *key, const char *field) {
    if (!text(obj, key)[0])
        kt_causes_add(causes, KT_CAUSE_REQUIRED, field, (ki_str){ NULL, 0 }, "");
}

/* Returns true for a path such as .spec.replicas: names with dots, below `parent`. */
static bool is_path_below(ki_str path, const char *parent) {
    ki_str first = ki_str_split(path, '.', &path);
    bool is_below = first.data && !first.size && ki_str_equals(ki_str_split(path, '.', &path), parent) && path.size;
    while (is_below && path.size) {
        ki_str name = ki_str_split(path, '.', &path);
        is_below = name.size && !memchr(name.data, '[', name.size) && !(path.data && !path.size);
    }
    return is_below;
}

static void validate_scale(kt_causes *causes, size_t index, yyjson_val *scale) {
    static const struct {
        const char *name;
        const char *parent;
    } paths[] = { { "specReplicasPath", "spec" }, { "statusReplicasPath", "status" } };
    for (size_t i = 0; yyjson_is_obj(scale) && i < sizeof paths / sizeof paths[0]; i++) {
        char field[96], why[64];
        ki_str path = kt_json_get_str(scale, paths[i].name);
        snprintf(field, sizeof field, "spec.versions[%zu].subresources.scale.%s", index, paths[i].name);
        snprintf(why, sizeof why, "should be a json path under .%s", paths[i].parent);
        if (!path.size)
            kt_causes_add(causes, KT_CAUSE_REQUIRED, field, path, "");
        else if (!is_path_below(path, paths[i].parent))
            kt_causes_add(causes, KT_CAUSE_INVALID, field, path, why);
    }
}

/* Validates a version's schema. Identical schemas of all versions are validated once, under spec.validation as in
 * the real server. */
static void validate_schema(kt_causes *causes, const ki_allocator *allocator, yyjson_val *versions, size_t index) {
    yyjson_val *first = yyjson_obj_get(yyjson_arr_get_first(versions), "schema");
    yyjson_val *schema = yyjson_obj_get(yyjson_arr_get(versions, index), "schema"), *version;
    size_t i, count;
    bool all_same = true;
    char path[64] = "spec.validation.openAPIV3Schema";
    yyjson_arr_foreach(versions, i, count, version) {
        all_same = all_same && yyjson_equals(first, yyjson_obj_get(version, "schema"));
    }
    if (!all_same)
        snprintf(path, sizeof path, "spec.versions[%zu].schema.openAPIV3Schema", index);
    if (!all_same || index == 0)
        kt_crd_validate_schema(causes, allocator, path, yyjson_obj_get(schema, "openAPIV3Schema"));
}

static void validate_versions(kt_causes *causes, const ki_allocator *allocator, yyjson_val *versions, bool preserves) {
    size_t index, count, stored = 0;
    yyjson_val *version;
    char field[96];
    if (yyjson_arr_size(versions) == 0)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.versions", (ki_str){ NULL, 0 }, "");
    if (yyjson_arr_size(versions) > KT_CRD_VERSIONS_MAX) {
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.versions", KI_STR(""), "must have at most 64 items");
        return;
    }
    yyjson_arr_foreach(versions, index, count, version) {
        ki_str name = kt_json_get_str(version, "name");
        stored += yyjson_get_bool(yyjson_obj_get(version, "storage"));
        if (!is_dns_label(text(version, "name"))) {
            snprintf(field, sizeof field, "spec.versions[%zu].name", index);
            kt_causes_add(causes, KT_CAUSE_INVALID, field, name, "must be a DNS label");
        }
        if (!yyjson_is_obj(yyjson_obj_get(yyjson_obj_get(version, "schema"), "openAPIV3Schema"))) {
            snprintf(field, sizeof field, "spec.versions[%zu].schema.openAPIV3Schema", index);
            kt_causes_add(causes, KT_CAUSE_REQUIRED, field, (ki_str){ NULL, 0 }, "schemas are required");
        } else if (!preserves) {
            validate_schema(causes, allocator, versions, index);
        }
        for (size_t i = 0; i < index; i++) {
            if (!name.size || !ki_str_equal(kt_json_get_str(yyjson_arr_get(versions, i), "name"), name))
                continue;
            kt_causes_add(causes, KT_CAUSE_INVALID, "spec.versions", KI_STR(""), "must contain unique version names");
            break;
        }
        validate_scale(causes, index, yyjson_obj_get(yyjson_obj_get(version, "subresources"), "scale"));
        if (yyjson_arr_size(yyjson_obj_get(version, "selectableFields")) > KT_CRD_FIELDS_MAX) {
            snprintf(field, sizeof field, "spec.versions[%zu].selectableFields", index);
            kt_causes_add(causes, KT_CAUSE_INVALID, field, KI_STR(""), "must have at most 8 items");
        }
    }
    if (yyjson_arr_size(versions) && stored != 1)
        kt_causes_add(causes, KT_CAUSE_INVALID, "spec.versions", KI_STR(""),
                      "must have exactly one version marked as storage version");
}

void kt_crd_validate(kt_causes *causes, const ki_allocator *allocator, yyjson_val *root) {
    yyjson_val *spec = yyjson_obj_get(root, "spec"), *names = yyjson_obj_get(spec, "names");
    ki_str name = kt_json_get_str(yyjson_obj_get(root, "metadata"), "name"), scope = kt_json_get_str(spec, "scope");
    ki_buffer wanted;
    need(causes, spec, "group", "spec.group");
    need(causes, names, "plural", "spec.names.plural");
    need(causes, names, "kind", "spec.names.kind");
    if (!scope.size)
        kt_causes_add(causes, KT_CAUSE_REQUIRED, "spec.scope", (ki_str){ NULL, 0 }, "");
    else if (!ki_str_equals(scope, "Namespaced") && !ki_str_equals(scope, "Cluster"))
        kt_causes_add(causes, KT_CAUSE_NOT_SUPPORTED, "spec.scope", scope,
                      "supported values: \"Cluster\", \"Namespaced\"");
    ki_buffer_init(&wanted, allocator, 0);
    ki_buffer_printf(&wanted, "%s.%s", text(names, "plural"), text(spec, "group"));
    if (wanted.failed)
        causes->text.failed = wanted.failed;
    else if (!ki_str_equals(name, wanted.data))
        kt_causes_add(causes, KT_CAUSE_INVALID, "metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
    ki_buffer_free(&wanted);
    validate_versions(causes, allocator, yyjson_obj_get(spec, "versions"),
                      yyjson_get_bool(yyjson_obj_get(spec, "preserveUnknownFields")));
}

kt_spot kt_spot_of(const ki_resource_info *info) {
    const kt_custom *custom = kt_custom_of(info);
    if (custom && custom->schema && !custom->preserves)
        return kt_spot_structural(custom->schema, &custom->structural);
    return kt_spot_root(kt_schema_builtin(), kt_schema_kind_of(info->resource));
}
