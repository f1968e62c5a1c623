/* protobuf.c: reads messages by the schema's field numbers. Builds no tree: scans a message once for each field of
 * its type and writes JSON directly. Ignores fields that the schema does not have. */
#include "testing/schema/protobuf.h"

#include "src/base/rfc3339.h"
#include "testing/values/base64.h"
#include "testing/values/json.h"

#include <inttypes.h>
#include <math.h>

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
    VARINT_MAX_SIZE = 10
};

typedef struct reader {
    ki_buffer *out;
    const char *why; /* the first error, static; NULL: none */
    int depth;
} reader;

typedef struct record {
    uint64_t number; /* the field's number */
    unsigned wire;
    uint64_t value; /* of a varint or fixed-size field */
    ki_str bytes;
} record;

/* Stands for a field that the message does not have. */
static const record NO_RECORD = { .bytes = { "", 0 } };

static bool fail_message(reader *in, const char *why) {
    if (!in->why)
        in->why = why;
    return false;
}

static bool read_varint(ki_str *rest, uint64_t *ret_value) {
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_MAX_SIZE && i < rest->size; i++) {
        uint8_t byte = (uint8_t)rest->data[i];
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        rest->data += i + 1;
        rest->size -= i + 1;
        *ret_value = value;
        return true;
    }
    return false;
}

static ki_str take_bytes(ki_str *rest, size_t size) {
    ki_str taken = { rest->data, size };
    rest->data += size;
    rest->size -= size;
    return taken;
}

static uint64_t little_endian(ki_str bytes) {
    uint64_t value = 0;
    for (size_t i = bytes.size; i-- > 0;)
        value = value << 8 | (uint8_t)bytes.data[i];
    return value;
}

/* Reads the next record of a message. Returns false at the end, and on an error (`in->why` is set). */
static bool next_record(reader *in, ki_str *rest, record *ret) {
    uint64_t tag, size = 0;
    if (!rest->size)
        return false;
    if (!read_varint(rest, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
        return fail_message(in, "proto: illegal tag");
    *ret = (record){ .number = tag >> 3, .wire = (unsigned)(tag & 7) };
    switch (ret->wire) {
    case WIRE_VARINT:
        return read_varint(rest, &ret->value) || fail_message(in, "proto: integer overflow");
    case WIRE_BYTES:
        if (!read_varint(rest, &size) || size > rest->size)
            return fail_message(in, "unexpected EOF");
        ret->bytes = take_bytes(rest, (size_t)size);
        return true;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        size = ret->wire == WIRE_FIXED64 ? 8 : 4;
        if (rest->size < size)
            return fail_message(in, "unexpected EOF");
        ret->value = little_endian(take_bytes(rest, (size_t)size));
        return true;
    default:
        return fail_message(in, "proto: illegal wireType");
    }
}

/* Finds the last record with this number, which is the one that counts in protobuf. Returns false if there is none. */
static bool find(reader *in, ki_str message, uint64_t number, unsigned wire, record *ret) {
    record one;
    bool found = false;
    while (next_record(in, &message, &one)) {
        if (one.number != number)
            continue;
        if (one.wire != wire)
            return fail_message(in, "proto: wrong wireType");
        *ret = one;
        found = true;
    }
    return found && !in->why;
}

static ki_str find_bytes(reader *in, ki_str message, uint64_t number) {
    record one = NO_RECORD;
    find(in, message, number, WIRE_BYTES, &one);
    return one.bytes;
}

static uint64_t find_varint(reader *in, ki_str message, uint64_t number) {
    record one = NO_RECORD;
    find(in, message, number, WIRE_VARINT, &one);
    return one.value;
}

static void append_message(reader *in, const kt_schema *schema, const kt_type *type, ki_str message, bool *any);

static void append_object(reader *in, const kt_schema *schema, const kt_type *type, ki_str message) {
    bool any = false;
    ki_buffer_append_char(in->out, '{');
    append_message(in, schema, type, message, &any);
    ki_buffer_append_char(in->out, '}');
}

/* Appends JSON that is inside a message. Parses it first, because it may be invalid. */
static void append_json(reader *in, ki_str text) {
    yyjson_doc *doc = NULL;
    const char *why = NULL;
    ki_status status = text.size ? kt_json_read(in->out->allocator, text, &doc, &why) : KI_OK;
    if (status == KI_ERR_PARSE)
        fail_message(in, why);
    else if (status)
        in->out->failed = status;
    else if (doc)
        kt_json_append(in->out, yyjson_doc_get_root(doc));
    else
        ki_buffer_append_string(in->out, "null");
    yyjson_doc_free(doc);
}

static void append_strings(reader *in, ki_str message, uint64_t number) {
    record one;
    const char *comma = "";
    ki_buffer_append_char(in->out, '[');
    while (next_record(in, &message, &one)) {
        if (one.number != number)
            continue;
        ki_buffer_append_string(in->out, comma);
        ki_buffer_append_json_string(in->out, one.wire == WIRE_BYTES ? one.bytes : KI_STR(""));
        comma = ",";
    }
    ki_buffer_append_char(in->out, ']');
}

/* Appends a JSON schema or its alternative (an array, a boolean or strings). */
static void append_schema_or(reader *in, const kt_schema *schema, const kt_field *field, ki_str message) {
    const kt_type *type = schema->types + field->type;
    uint64_t number = field->kind == KT_VALUE_SCHEMA_OR_BOOL ? 2 : 1;
    record one = NO_RECORD;
    if (find(in, message, number, WIRE_BYTES, &one)) {
        append_object(in, schema, type, one.bytes);
    } else if (field->kind == KT_VALUE_SCHEMA_OR_BOOL) {
        ki_buffer_append_string(in->out, find_varint(in, message, 1) ? "true" : "false");
    } else if (field->kind == KT_VALUE_SCHEMA_OR_STRINGS) {
        append_strings(in, message, 2);
    } else {
        const char *comma = "";
        ki_buffer_append_char(in->out, '[');
        while (next_record(in, &message, &one)) {
            if (one.number != 2)
                continue;
            ki_buffer_append_string(in->out, comma);
            append_object(in, schema, type, one.bytes);
            comma = ",";
        }
        ki_buffer_append_char(in->out, ']');
    }
}

static void append_time(reader *in, ki_str message, bool micro) {
    char text[KI_RFC3339_SIZE];
    if (!message.size) {
        ki_buffer_append_string(in->out, "null");
        return;
    }
    int64_t seconds = (int64_t)find_varint(in, message, 1), nanos = (int64_t)find_varint(in, message, 2);
    if (seconds < -62135596800 || seconds > 253402300799 || nanos < 0 || nanos > 999999999) {
        fail_message(in, "proto: a time out of range");
        return;
    }
    ki_rfc3339_seconds(seconds, text);
    if (micro)
        ki_buffer_printf(in->out, "\"%.19s.%06" PRId64 "Z\"", text, nanos / 1000);
    else
        ki_buffer_printf(in->out, "\"%s\"", text);
}

static void append_int_or_string(reader *in, ki_str message) {
    if (find_varint(in, message, 1) == 1)
        ki_buffer_append_json_string(in->out, find_bytes(in, message, 3));
    else
        ki_buffer_printf(in->out, "%" PRId32, (int32_t)find_varint(in, message, 2));
}

static void append_double(reader *in, uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value))
        ki_buffer_printf(in->out, "%.17g", value);
    else
        fail_message(in, "proto: a number that JSON cannot write");
}

static unsigned wire_of(const kt_field *field) {
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_BOOL:
    case KT_VALUE_INT32:
    case KT_VALUE_INT64:
        return WIRE_VARINT;
    case KT_VALUE_DOUBLE:
        return WIRE_FIXED64;
    default:
        return WIRE_BYTES;
    }
}

static void append_value(reader *in, const kt_schema *schema, const kt_field *field, const record *one) {
    switch ((kt_value_kind)field->kind) {
    case KT_VALUE_STRING:
        ki_buffer_append_json_string(in->out, one->bytes);
        break;
    case KT_VALUE_BOOL:
        ki_buffer_append_string(in->out, one->value ? "true" : "false");
        break;
    case KT_VALUE_INT32:
        ki_buffer_printf(in->out, "%" PRId32, (int32_t)one->value);
        break;
    case KT_VALUE_INT64:
        ki_buffer_printf(in->out, "%" PRId64, (int64_t)one->value);
        break;
    case KT_VALUE_DOUBLE:
        append_double(in, one->value);
        break;
    case KT_VALUE_BYTES:
        kt_base64_append(in->out, one->bytes);
        break;
    case KT_VALUE_TIME:
    case KT_VALUE_MICRO_TIME:
        append_time(in, one->bytes, field->kind == KT_VALUE_MICRO_TIME);
        break;
    case KT_VALUE_QUANTITY:
        ki_buffer_append_json_string(in->out, find_bytes(in, one->bytes, 1));
        break;
    case KT_VALUE_INT_OR_STRING:
        append_int_or_string(in, one->bytes);
        break;
    case KT_VALUE_RAW:
    case KT_VALUE_JSON:
    case KT_VALUE_FIELDS_V1:
        append_json(in, find_bytes(in, one->bytes, 1));
        break;
    case KT_VALUE_STRINGS:
        append_strings(in, one->bytes, 1);
        break;
    case KT_VALUE_SCHEMA_OR_ARRAY:
    case KT_VALUE_SCHEMA_OR_BOOL:
    case KT_VALUE_SCHEMA_OR_STRINGS:
        append_schema_or(in, schema, field, one->bytes);
        break;
    case KT_VALUE_OBJECT:
        append_object(in, schema, schema->types + field->type, one->bytes);
        break;
    }
}

/* Returns true for the zero that protobuf sends in place of an absent number, string or time. */
static bool is_zero(const kt_field *field, const record *one) {
    if (field->kind == KT_VALUE_OBJECT || field->kind == KT_VALUE_RAW || field->kind == KT_VALUE_INT_OR_STRING)
        return false;
    return one->value == 0 && one->bytes.size == 0;
}

static void append_name(reader *in, const kt_field *field, bool *any) {
    ki_buffer_printf(in->out, "%s\"%s\":", *any ? "," : "", field->name);
    *any = true;
}

/* Appends one map entry: a message of key (1) and value (2). A missing one means zero. */
static void append_entry(reader *in, const kt_schema *schema, const kt_field *field, ki_str entry) {
    record value = { .number = 2, .bytes = { "", 0 } };
    ki_buffer_append_json_string(in->out, find_bytes(in, entry, 1));
    ki_buffer_append_char(in->out, ':');
    find(in, entry, 2, wire_of(field), &value);
    append_value(in, schema, field, &value);
}

static void append_many(reader *in, const kt_schema *schema, const kt_field *field, ki_str message, bool *any) {
    bool is_map = field->wrap == KT_WRAP_MAP, first = true;
    unsigned wire = is_map ? WIRE_BYTES : wire_of(field);
    record one;
    while (!in->out->failed && next_record(in, &message, &one)) {
        if (one.number != field->number)
            continue;
        if (one.wire != wire) {
            fail_message(in, "proto: wrong wireType");
            return;
        }
        if (first)
            append_name(in, field, any);
        ki_buffer_append_string(in->out, !first ? "," : is_map ? "{" : "[");
        if (is_map)
            append_entry(in, schema, field, one.bytes);
        else
            append_value(in, schema, field, &one);
        first = false;
    }
    if (!first)
        ki_buffer_append_char(in->out, is_map ? '}' : ']');
}

/* Appends an object's members. An inlined type adds its members to the same object. */
static void append_message(reader *in, const kt_schema *schema, const kt_type *type, ki_str message, bool *any) {
    if (in->depth >= KT_PROTOBUF_MAX_DEPTH) {
        fail_message(in, "exceeded max depth");
        return;
    }
    in->depth++;
    for (size_t i = 0; i < type->count && !in->why && !in->out->failed; i++) {
        const kt_field *field = schema->fields + type->first + i;
        record one = NO_RECORD;
        if (field->wrap != KT_WRAP_ONE) {
            append_many(in, schema, field, message, any);
        } else if (find(in, message, field->number, wire_of(field), &one)) {
            if (field->flags & KT_FIELD_INLINE) {
                append_message(in, schema, schema->types + field->type, one.bytes, any);
            } else if (field->flags & KT_FIELD_POINTER || !(field->flags & KT_FIELD_OMIT_EMPTY) ||
                       !is_zero(field, &one)) {
                append_name(in, field, any);
                append_value(in, schema, field, &one);
            }
        }
    }
    in->depth--;
}

static ki_status append_typed(reader *in, ki_str unknown) {
    ki_str meta = find_bytes(in, unknown, 1), raw = find_bytes(in, unknown, 2), rest;
    ki_str api_version = find_bytes(in, meta, 1), kind = find_bytes(in, meta, 2);
    if (in->why)
        return KI_ERR_PARSE;
    if (find_bytes(in, unknown, 3).size) {
        fail_message(in, "a content encoding is not supported");
        return KI_ERR_PARSE;
    }
    ki_str version = api_version, group = ki_str_split(api_version, '/', &rest);
    if (rest.data)
        version = rest;
    else
        group = KI_STR("");
    const kt_type *type = kt_schema_kind(group, version, kind);
    if (!type && ki_str_equals(kind, "DeleteOptions")) /* every group has DeleteOptions */
        type = kt_schema_kind(KI_STR(""), KI_STR("v1"), kind);
    if (!type) {
        fail_message(in, "no kind of this name is registered for its version");
        return KI_ERR_PARSE;
    }
    bool any = true;
    ki_buffer_append_string(in->out, "{\"kind\":");
    ki_buffer_append_json_string(in->out, kind);
    ki_buffer_append_string(in->out, ",\"apiVersion\":");
    ki_buffer_append_json_string(in->out, api_version);
    append_message(in, kt_schema_builtin(), type, raw, &any);
    ki_buffer_append_char(in->out, '}');
    return in->out->failed ? in->out->failed : in->why ? KI_ERR_PARSE : KI_OK;
}

ki_status kt_protobuf_to_json(ki_str data, ki_buffer *out, const char **ret_why) {
    reader in = { .out = out };
    ki_status status = KI_ERR_PARSE;
    if (data.size >= 4 && memcmp(data.data, "k8s", 4) == 0)
        status = append_typed(&in, (ki_str){ data.data + 4, data.size - 4 });
    else
        fail_message(&in, "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
    *ret_why = in.why;
    return status;
}
