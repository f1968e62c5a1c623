/* json_schema.c: see json_schema.h. The table of types has no descriptions, so the schemas have none. */
#include "testing/schema/json_schema.h"

#include "src/base/memory.h"

#define REFERENCE "{\"$ref\":\"#/components/schemas/"

static void mark(const kt_schema *schema, const kt_type *type, bool *used) {
    if (used[type - schema->types])
        return;
    used[type - schema->types] = true;
    for (size_t i = 0; i < type->count; i++) {
        const kt_field *field = &schema->fields[type->first + i];
        bool nested = field->kind == KT_VALUE_SCHEMA_OR_ARRAY || field->kind == KT_VALUE_SCHEMA_OR_BOOL;
        if (field->kind == KT_VALUE_OBJECT || nested)
            mark(schema, schema->types + field->type, used);
    }
}

/* Appends the schema of one value without its closing brace, so that the caller can append members. */
static void open_value(ki_buffer *out, const kt_schema *schema, const kt_field *field) {
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_OBJECT: {
        const kt_type *type = schema->types + field->type;
        ki_buffer_printf(out, "{\"allOf\":[" REFERENCE "%s.%s\"}]", type->package, type->name);
        break;
    }
    case KT_VALUE_STRING:
        ki_buffer_append_string(out, "{\"type\":\"string\"");
        break;
    case KT_VALUE_BYTES:
        ki_buffer_append_string(out, "{\"type\":\"string\",\"format\":\"byte\"");
        break;
    case KT_VALUE_TIME:
    case KT_VALUE_MICRO_TIME:
        ki_buffer_append_string(out, "{\"type\":\"string\",\"format\":\"date-time\"");
        break;
    case KT_VALUE_BOOL:
        ki_buffer_append_string(out, "{\"type\":\"boolean\"");
        break;
    case KT_VALUE_INT32:
    case KT_VALUE_INT64:
        ki_buffer_printf(out, "{\"type\":\"integer\",\"format\":\"int%d\"", field->kind == KT_VALUE_INT32 ? 32 : 64);
        break;
    case KT_VALUE_DOUBLE:
        ki_buffer_append_string(out, "{\"type\":\"number\",\"format\":\"double\"");
        break;
    case KT_VALUE_QUANTITY:
        ki_buffer_append_string(out, "{\"allOf\":[" REFERENCE "io.k8s.apimachinery.pkg.api.resource.Quantity\"}]");
        break;
    case KT_VALUE_INT_OR_STRING:
        ki_buffer_append_string(out, "{\"allOf\":[" REFERENCE "io.k8s.apimachinery.pkg.util.intstr.IntOrString\"}]");
        break;
    case KT_VALUE_STRINGS:
        ki_buffer_append_string(out, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}");
        break;
    case KT_VALUE_RAW:
        ki_buffer_append_string(out, "{\"allOf\":[" REFERENCE "io.k8s.apimachinery.pkg.runtime.RawExtension\"}]");
        break;
    case KT_VALUE_FIELDS_V1:
        ki_buffer_append_string(out, "{\"allOf\":[" REFERENCE "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1\"}]");
        break;
    case KT_VALUE_JSON:
    case KT_VALUE_SCHEMA_OR_ARRAY:
    case KT_VALUE_SCHEMA_OR_BOOL:
    case KT_VALUE_SCHEMA_OR_STRINGS:
        ki_buffer_append_string(out, "{\"x-kubernetes-preserve-unknown-fields\":true");
        break;
    }
}

static void append_keys(ki_buffer *out, const char *keys) {
    ki_str rest = ki_str_of(keys);
    const char *comma = "";
    ki_buffer_append_string(out, ",\"x-kubernetes-list-map-keys\":[");
    while (rest.size) {
        ki_str key = ki_str_split(rest, ',', &rest);
        ki_buffer_printf(out, "%s\"%.*s\"", comma, (int)key.size, key.data);
        comma = ",";
    }
    ki_buffer_append_char(out, ']');
}

static void append_property(ki_buffer *out, const kt_schema *schema, const kt_field *field) {
    ki_buffer_printf(out, "\"%s\":", field->name);
    if (field->wrap != KT_WRAP_ONE) {
        bool is_list = field->wrap == KT_WRAP_LIST;
        ki_buffer_append_string(out, is_list ? "{\"type\":\"array\",\"items\":"
                                             : "{\"type\":\"object\",\"additionalProperties\":");
        open_value(out, schema, field);
        ki_buffer_append_char(out, '}');
        if (is_list)
            ki_buffer_printf(out, ",\"x-kubernetes-list-type\":\"%s\"",
                             field->flags & KT_FIELD_SET     ? "set"
                             : field->flags & KT_FIELD_KEYED ? "map"
                                                             : "atomic");
        if (is_list && field->list_keys)
            append_keys(out, field->list_keys);
    } else {
        open_value(out, schema, field);
    }
    if (field->flags & KT_FIELD_ATOMIC && field->wrap != KT_WRAP_LIST)
        ki_buffer_append_string(out, ",\"x-kubernetes-map-type\":\"atomic\"");
    if (field->flags & (KT_FIELD_MERGE | KT_FIELD_RETAIN))
        ki_buffer_printf(out, ",\"x-kubernetes-patch-strategy\":\"%s%s%s\"",
                         field->flags & KT_FIELD_MERGE ? "merge" : "",
                         (field->flags & KT_FIELD_MERGE) && (field->flags & KT_FIELD_RETAIN) ? "," : "",
                         field->flags & KT_FIELD_RETAIN ? "retainKeys" : "");
    if (field->merge_key)
        ki_buffer_printf(out, ",\"x-kubernetes-patch-merge-key\":\"%s\"", field->merge_key);
    ki_buffer_append_char(out, '}');
}

static void append_type(ki_buffer *out, const kt_schema *schema, const kt_type *type, const char *group,
                        const char *version) {
    const kt_field *field;
    const char *comma = "";
    ki_buffer_printf(out, "\"%s.%s\":{\"type\":\"object\",\"properties\":{", type->package, type->name);
    if (version) {
        ki_buffer_append_string(out, "\"apiVersion\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"}");
        comma = ",";
    }
    for (size_t i = 0; (field = kt_type_next(schema, type, &i)) != NULL; comma = ",") {
        ki_buffer_append_string(out, comma);
        append_property(out, schema, field);
    }
    ki_buffer_append_char(out, '}');
    comma = ",\"required\":[";
    for (size_t i = 0; (field = kt_type_next(schema, type, &i)) != NULL;) {
        if (!(field->flags & KT_FIELD_REQUIRED))
            continue;
        ki_buffer_printf(out, "%s\"%s\"", comma, field->name);
        comma = ",";
    }
    ki_buffer_append_string(out, comma[1] ? "" : "]");
    if (type->flags & KT_FIELD_ATOMIC)
        ki_buffer_append_string(out, ",\"x-kubernetes-map-type\":\"atomic\"");
    if (version)
        ki_buffer_printf(out,
                         ",\"x-kubernetes-group-version-kind\":[{\"group\":\"%s\",\"kind\":\"%s\",\"version\":\"%s\"}]",
                         group, type->name, version);
    ki_buffer_append_char(out, '}');
}

/* Marks the type of metadata, which custom resources use too. */
static void mark_metadata(const kt_schema *schema, bool *used) {
    for (size_t i = 0; i < schema->type_count; i++) {
        if (strcmp(schema->types[i].name, "ObjectMeta") == 0)
            mark(schema, &schema->types[i], used);
    }
}

ki_status kt_json_schema_append(ki_buffer *out, ki_str group, ki_str version) {
    const kt_schema *schema = kt_schema_builtin();
    const char *of_group, *of_version;
    const kt_type *type;
    bool *used = ki_alloc_zero(out->allocator, schema->type_count * sizeof *used);
    if (!used)
        return KI_ERR_NO_MEMORY;
    for (size_t i = 0; (type = kt_schema_kind_at(i, &of_group, &of_version)) != NULL; i++) {
        if (ki_str_equals(group, of_group) && ki_str_equals(version, of_version))
            mark(schema, type, used);
    }
    mark_metadata(schema, used);
    for (size_t i = 0; (type = kt_schema_kind_at(i, &of_group, &of_version)) != NULL; i++) {
        if (!used[type - schema->types])
            continue;
        used[type - schema->types] = false;
        append_type(out, schema, type, of_group, of_version);
        ki_buffer_append_char(out, ',');
    }
    for (size_t i = 0; i < schema->type_count; i++) {
        if (!used[i])
            continue;
        append_type(out, schema, &schema->types[i], NULL, NULL);
        ki_buffer_append_char(out, ',');
    }
    ki_free(out->allocator, used);
    return ki_buffer_append_string(
        out,
        "\"io.k8s.apimachinery.pkg.api.resource.Quantity\":{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
        "\"io.k8s.apimachinery.pkg.util.intstr.IntOrString\":{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":"
        "\"integer\"},{\"type\":\"string\"}]},"
        "\"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1\":{\"type\":\"object\"},"
        "\"io.k8s.apimachinery.pkg.runtime.RawExtension\":{\"type\":\"object\"}");
}
