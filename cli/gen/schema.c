/* schema.c: see schema.h. The schemas of a document can refer to each other in circles: each walk has a limit. */
#include "schema.h"

#include "src/object/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REFERENCES_MAX = 32,         /* references from one schema to the next without a type between them */
    PATHS_MAX = 20 * 1000 * 1000 /* paths that are compared in one search for plurals */
};

ki_status gen_fail(ki_error *err, ki_status code, const char *format, ...) {
    va_list args;
    if (!err)
        return code;
    *err = (ki_error)KI_ERROR_INIT;
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

/* ---- types ---- */

static const char *text_of(yyjson_val *object, const char *member) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, member));
    return text ? text : "";
}

static bool is_text(yyjson_val *object, const char *member, const char *text) {
    return yyjson_equals_str(yyjson_obj_get(object, member), text);
}

/* Returns the schema that "#/components/schemas/NAME" refers to, or "#/definitions/NAME"; NULL: none. */
static yyjson_val *referred(const gen_schema *schema, const char *reference) {
    const char *name = strrchr(reference, '/');
    return name ? yyjson_obj_get(schema->schemas, name + 1) : NULL;
}

/* Returns the reference of a schema: its own, or that of its only "allOf"; NULL: none. */
static const char *reference_of(yyjson_val *value) {
    const char *reference = yyjson_get_str(yyjson_obj_get(value, "$ref"));
    return reference ? reference
                     : yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(yyjson_obj_get(value, "allOf")), "$ref"));
}

/* Returns the type of a schema; of OpenAPI 3.1's ["string", "null"] the first. */
static const char *type_name(yyjson_val *value) {
    yyjson_val *type = yyjson_obj_get(value, "type"), *one;
    size_t index, count;
    yyjson_arr_foreach(type, index, count, one) {
        if (yyjson_is_str(one) && !yyjson_equals_str(one, "null"))
            return yyjson_get_str(one);
    }
    return yyjson_is_str(type) ? yyjson_get_str(type) : "";
}

/* Returns true for a schema of a quantity that has no name: the pattern that controller-gen writes. */
static bool has_quantity_pattern(yyjson_val *value) {
    return strncmp(text_of(value, "pattern"), "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))((", 42) == 0;
}

/* Returns true for "oneOf" or "anyOf" of an integer and a string. */
static bool is_integer_or_string(yyjson_val *value) {
    static const char *const members[] = { "oneOf", "anyOf" };
    if (yyjson_is_true(yyjson_obj_get(value, "x-kubernetes-int-or-string")) ||
        is_text(value, "format", "int-or-string"))
        return true;
    for (size_t i = 0; i < 2; i++) {
        yyjson_val *list = yyjson_obj_get(value, members[i]), *one;
        size_t index, count;
        bool has_string = false, has_integer = false;
        yyjson_arr_foreach(list, index, count, one) {
            has_string |= is_text(one, "type", "string");
            has_integer |= is_text(one, "type", "integer");
        }
        if (count == 2 && has_string && has_integer)
            return true;
    }
    return false;
}

static gen_kind kind_of(yyjson_val *value, const char *reference) {
    const char *type = type_name(value);
    size_t reference_size = reference ? strlen(reference) : 0;
    if (reference_size > 18 && strcmp(reference + reference_size - 18, ".resource.Quantity") == 0)
        return GEN_QUANTITY;
    if (is_integer_or_string(value))
        return has_quantity_pattern(value) ? GEN_QUANTITY : GEN_INT_OR_STRING;
    if (strcmp(type, "string") == 0)
        return is_text(value, "format", "date-time") ? GEN_TIME
               : has_quantity_pattern(value)         ? GEN_QUANTITY
                                                     : GEN_STRING;
    if (strcmp(type, "boolean") == 0)
        return GEN_BOOL;
    if (strcmp(type, "integer") == 0)
        return is_text(value, "format", "int32") ? GEN_INT32 : GEN_INT64;
    if (strcmp(type, "number") == 0)
        return GEN_DOUBLE;
    if (strcmp(type, "array") == 0)
        return GEN_LIST;
    if (yyjson_obj_size(yyjson_obj_get(value, "properties")))
        return GEN_OBJECT;
    if (yyjson_is_obj(yyjson_obj_get(value, "additionalProperties")))
        return GEN_MAP;
    return GEN_ANY;
}

gen_type gen_schema_type(const gen_schema *schema, yyjson_val *value) {
    gen_type type = { GEN_ANY, value, NULL, NULL };
    const char *reference = NULL, *next;
    for (size_t i = 0; i < REFERENCES_MAX && type.schema; i++) {
        if (!type.description)
            type.description = yyjson_get_str(yyjson_obj_get(type.schema, "description"));
        next = reference_of(type.schema);
        if (!next)
            break;
        reference = next;
        type.schema = referred(schema, reference);
    }
    type.kind = reference_of(type.schema) ? GEN_ANY : kind_of(type.schema, reference);
    if (type.kind == GEN_LIST)
        type.element = yyjson_obj_get(type.schema, "items");
    else if (type.kind == GEN_MAP)
        type.element = yyjson_obj_get(type.schema, "additionalProperties");
    return type;
}

yyjson_val *gen_schema_member(const gen_type *type, const char *name, size_t size) {
    return yyjson_obj_getn(yyjson_obj_get(type->schema, "properties"), name, size);
}

bool gen_schema_is_required(const gen_type *type, const char *name) {
    yyjson_val *required = yyjson_obj_get(type->schema, "required"), *one;
    size_t index, count;
    yyjson_arr_foreach(required, index, count, one) {
        if (yyjson_equals_str(one, name))
            return true;
    }
    return false;
}

const char *gen_kind_name(gen_kind kind) {
    static const char *const names[] = { "a value of any type",
                                         "a string",
                                         "a time",
                                         "a quantity",
                                         "an integer or a string",
                                         "a bool",
                                         "an integer of 32 bits",
                                         "an integer",
                                         "a number",
                                         "an object",
                                         "a map",
                                         "a list" };
    return names[kind];
}

/* ---- the resource ---- */

/* A search for a resource in documents. */
typedef struct search {
    const char *name;
    const ki_resource *resource; /* exactly this one; NULL: any that `name` means */
    gen_schema *found;
    ki_nearest nearest;
    bool has_nearest;
    char meant[GEN_TEXT_MAX]; /* the nearest name; "" */
    size_t kinds;             /* seen so far */
    size_t paths;             /* compared so far */
    ki_status status;
} search;

typedef struct candidate {
    const char *group, *version, *plural, *kind, *singular;
    yyjson_val *short_names;
} candidate;

static bool equals(const char *text, size_t size, const char *other) {
    return ki_equal_ignoring_case((ki_str){ text, size }, other);
}

/* Returns true if `name` means the candidate: one of its names, alone, with its group, or with version and group. */
static bool is_meant(const char *name, const candidate *c) {
    size_t size = strcspn(name, "."), index, count, version_size = strlen(c->version);
    bool is_it = equals(name, size, c->plural) || equals(name, size, c->kind) || equals(name, size, c->singular);
    const char *rest = name[size] ? name + size + 1 : NULL;
    yyjson_val *one;
    yyjson_arr_foreach(c->short_names, index, count, one) {
        is_it |= yyjson_is_str(one) && equals(name, size, yyjson_get_str(one));
    }
    if (!is_it || !rest)
        return is_it;
    if (strcmp(rest, c->group) == 0)
        return true;
    if (strncmp(rest, c->version, version_size) != 0)
        return false;
    rest += version_size;
    return *rest ? *rest == '.' && strcmp(rest + 1, c->group) == 0 : !c->group[0];
}

static bool is_same(const ki_resource *resource, const candidate *c) {
    return strcmp(resource->group, c->group) == 0 && strcmp(resource->version, c->version) == 0 &&
           strcmp(resource->kind, c->kind) == 0;
}

/* Compares a candidate with the name. Returns true if the candidate is the resource. */
static bool try_candidate(search *s, const candidate *c) {
    const char *names[] = { c->plural, c->kind };
    s->kinds++;
    if (s->resource ? is_same(s->resource, c) : is_meant(s->name, c)) {
        gen_schema *found = s->found;
        snprintf(found->group, GEN_TEXT_MAX, "%s", c->group);
        snprintf(found->version, GEN_TEXT_MAX, "%s", c->version);
        snprintf(found->plural, GEN_TEXT_MAX, "%s", c->plural);
        snprintf(found->kind, GEN_TEXT_MAX, "%s", c->kind);
        return true;
    }
    for (size_t i = 0; i < 2 && s->has_nearest; i++) {
        s->nearest.best = NULL;
        ki_nearest_try(&s->nearest, names[i], names[i]);
        if (s->nearest.best)
            snprintf(s->meant, sizeof s->meant, "%s", names[i]);
    }
    return false;
}

/* ---- OpenAPI ---- */

/* Returns the plural of a kind by the paths of the document, such as "/api/v1/namespaces/{namespace}/pods/{name}"; ""
 * if no path is of this kind. `text` keeps the name. */
static const char *plural_of(search *s, yyjson_val *paths, const candidate *c, char text[GEN_TEXT_MAX]) {
    size_t index, count;
    yyjson_val *key, *path;
    yyjson_obj_foreach(paths, index, count, key, path) {
        if (++s->paths > PATHS_MAX)
            break;
        const char *begin = yyjson_get_str(key), *end = strstr(begin, "/{name}");
        yyjson_val *get = yyjson_obj_get(yyjson_obj_get(path, "get"), "x-kubernetes-group-version-kind");
        if (!end || end[7] || !is_text(get, "kind", c->kind) || !is_text(get, "group", c->group) ||
            !is_text(get, "version", c->version))
            continue;
        const char *plural = end;
        while (plural > begin && plural[-1] != '/')
            plural--;
        snprintf(text, GEN_TEXT_MAX, "%.*s", (int)(end - plural), plural);
        return text;
    }
    return "";
}

/* Tries the kinds of a schema. */
static bool try_schema(search *s, yyjson_val *paths, yyjson_val *value) {
    yyjson_val *kinds = yyjson_obj_get(value, "x-kubernetes-group-version-kind"), *one;
    size_t index, count;
    char plural[GEN_TEXT_MAX];
    if (yyjson_arr_size(kinds) != 1) /* types that all groups share, such as DeleteOptions, have many */
        return false;
    yyjson_arr_foreach(kinds, index, count, one) {
        candidate c = { text_of(one, "group"), text_of(one, "version"), "", text_of(one, "kind"), "", NULL };
        c.plural = plural_of(s, paths, &c, plural);
        if (c.kind[0] && try_candidate(s, &c))
            return true;
    }
    return false;
}

static bool search_openapi(search *s, yyjson_doc *doc) {
    yyjson_val *top = yyjson_doc_get_root(doc), *key, *value;
    yyjson_val *schemas = yyjson_ptr_get(top, "/components/schemas"), *paths = yyjson_obj_get(top, "paths");
    size_t index, count;
    if (!schemas)
        schemas = yyjson_obj_get(top, "definitions"); /* OpenAPI v2 */
    yyjson_obj_foreach(schemas, index, count, key, value) {
        if (!try_schema(s, paths, value))
            continue;
        s->found->schemas = schemas;
        s->found->root = value;
        return true;
    }
    return false;
}

/* ---- CustomResourceDefinitions ---- */

/* The fields of metadata, which a definition does not have. */
static const char metadata_schema[] =
    "{\"type\":\"object\",\"description\":\"Standard object's metadata.\",\"properties\":{"
    "\"annotations\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"creationTimestamp\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"deletionGracePeriodSeconds\":{\"type\":\"integer\",\"format\":\"int64\"},"
    "\"deletionTimestamp\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"finalizers\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"generateName\":{\"type\":\"string\"},"
    "\"generation\":{\"type\":\"integer\",\"format\":\"int64\"},"
    "\"labels\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"name\":{\"type\":\"string\"},\"namespace\":{\"type\":\"string\"},"
    "\"ownerReferences\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"apiVersion\":{\"type\":\"string\"},\"blockOwnerDeletion\":{\"type\":\"boolean\"},"
    "\"controller\":{\"type\":\"boolean\"},\"kind\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
    "\"uid\":{\"type\":\"string\"}}}},"
    "\"resourceVersion\":{\"type\":\"string\"},\"uid\":{\"type\":\"string\"}}}";

/* Makes the root of a custom resource: the definition's schema with the fields of metadata. */
static ki_status take_custom(gen_schema *found, yyjson_val *schema) {
    yyjson_doc *metadata = yyjson_read(metadata_schema, sizeof metadata_schema - 1, 0);
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(made, schema);
    yyjson_mut_val *properties = yyjson_mut_obj_get(root, "properties");
    if (!properties && root)
        properties = yyjson_mut_obj_add_obj(made, root, "properties");
    bool ok = properties && metadata &&
              yyjson_mut_obj_put(properties, yyjson_mut_str(made, "metadata"),
                                 yyjson_val_mut_copy(made, yyjson_doc_get_root(metadata)));
    yyjson_mut_doc_set_root(made, root);
    found->own_doc = ok ? yyjson_mut_doc_imut_copy(made, NULL) : NULL;
    found->root = yyjson_doc_get_root(found->own_doc);
    yyjson_mut_doc_free(made);
    yyjson_doc_free(metadata);
    return found->root ? KI_OK : KI_ERR_NO_MEMORY;
}

/* Returns the version whose schema is used if the name has none: the storage version, else the first served one. */
static bool is_preferred(yyjson_val *version, bool has_found) {
    return yyjson_is_true(yyjson_obj_get(version, "storage")) ||
           (!has_found && yyjson_is_true(yyjson_obj_get(version, "served")));
}

/* Returns true for a map, whose properties are one, too. */
static bool is_schema(yyjson_val *schema) {
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    return yyjson_is_obj(schema) && (!properties || yyjson_is_obj(properties));
}

static bool search_definition(search *s, yyjson_val *definition) {
    yyjson_val *spec = yyjson_obj_get(definition, "spec"), *names = yyjson_obj_get(spec, "names"), *version,
               *best = NULL;
    candidate c = { text_of(spec, "group"),     "",
                    text_of(names, "plural"),   text_of(names, "kind"),
                    text_of(names, "singular"), yyjson_obj_get(names, "shortNames") };
    size_t index, count;
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, version) {
        c.version = text_of(version, "name");
        if (is_preferred(version, best != NULL) && try_candidate(s, &c))
            best = version;
    }
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), index, count, version) {
        c.version = text_of(version, "name");
        if (!best && try_candidate(s, &c)) /* the name has a version that is not preferred */
            best = version;
    }
    if (!best)
        return false;
    c.version = text_of(best, "name");
    (void)try_candidate(s, &c);
    yyjson_val *schema = yyjson_ptr_get(best, "/schema/openAPIV3Schema");
    s->status = is_schema(schema) ? take_custom(s->found, schema) : KI_ERR_NOT_FOUND;
    return true;
}

/* ---- documents ---- */

static bool search_document(search *s, yyjson_doc *doc) {
    yyjson_val *top = yyjson_doc_get_root(doc), *item;
    size_t index, count;
    if (is_text(top, "kind", "CustomResourceDefinition"))
        return search_definition(s, top);
    yyjson_arr_foreach(yyjson_obj_get(top, "items"), index, count, item) {
        if (is_text(item, "kind", "CustomResourceDefinition") && search_definition(s, item))
            return true;
    }
    return search_openapi(s, doc);
}

static ki_status fail_search(const search *s, const char *source, ki_error *err) {
    if (!s->kinds)
        return gen_fail(err, KI_ERR_NOT_FOUND,
                        "%s has no schemas: an OpenAPI v3 document or a CustomResourceDefinition is expected", source);
    return gen_fail(err, KI_ERR_NOT_FOUND, "%s has no schema of the resource \"%.100s\"%s%s%s", source, s->name,
                    s->meant[0] ? "; did you mean " : "", s->meant, s->meant[0] ? "?" : "");
}

ki_status gen_schema_find(const char *text, size_t size, const char *source, const char *name,
                          const ki_resource *resource, gen_schema *ret_schema, ki_error *err) {
    gen_schema found = { 0 };
    search s = { .name = name, .resource = resource, .found = &found };
    s.has_nearest = ki_nearest_begin(&s.nearest, name);
    for (size_t at = 0; at < size;) {
        yyjson_read_err cause;
        if (strchr(" \t\r\n", text[at])) {
            at++;
            continue;
        }
        yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)text + at, size - at, YYJSON_READ_STOP_WHEN_DONE, NULL, &cause);
        if (!doc)
            return gen_fail(err, cause.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? KI_ERR_NO_MEMORY : KI_ERR_PARSE,
                            "%s: invalid JSON at byte %zu: %s", source, at + cause.pos, cause.msg);
        at += yyjson_doc_get_read_size(doc);
        found.doc = doc;
        if (search_document(&s, doc)) {
            if (!s.status) {
                *ret_schema = found;
                return KI_OK;
            }
            gen_schema_free(&found);
            return s.status == KI_ERR_NO_MEMORY ? gen_fail(err, s.status, "out of memory")
                                                : gen_fail(err, s.status, "%s: %s.%s has no schema of version %s",
                                                           source, found.plural, found.group, found.version);
        }
        yyjson_doc_free(doc);
    }
    return fail_search(&s, source, err);
}

void gen_schema_free(gen_schema *schema) {
    yyjson_doc_free(schema->doc);
    yyjson_doc_free(schema->own_doc);
    schema->doc = schema->own_doc = NULL;
}
