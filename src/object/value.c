/* value.c: JSON values for programs: made from parsed JSON, walked as text. Any thread.
 *
 * The text of an array or object has no white space between its parts. A walk keeps the place of the next member in
 * `integer`, which these types do not use, and ends each member with a zero in place of the separator behind it. */
#include "src/object/value.h"

#include "src/base/buffer.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/base/quantity.h"
#include "src/base/rfc3339.h"
#include "src/object/json_text.h"
#include "src/object/object.h"
#include "src/object/path.h"

void ki_value_set_scalar(yyjson_val *from, ki_value *value) {
    switch (yyjson_get_type(from)) {
    case YYJSON_TYPE_BOOL:
        value->type = KI_VALUE_BOOL;
        value->boolean = yyjson_get_bool(from);
        break;
    case YYJSON_TYPE_NUM:
        value->number = yyjson_get_num(from);
        if (yyjson_is_sint(from) || (yyjson_is_uint(from) && yyjson_get_uint(from) <= INT64_MAX)) {
            value->type = KI_VALUE_INT;
            value->integer = yyjson_get_sint(from);
        } else {
            value->type = KI_VALUE_DOUBLE;
        }
        break;
    case YYJSON_TYPE_STR:
        value->type = KI_VALUE_STRING;
        break;
    case YYJSON_TYPE_ARR:
        value->type = KI_VALUE_ARRAY;
        break;
    case YYJSON_TYPE_OBJ:
        value->type = KI_VALUE_OBJECT;
        break;
    default:
        value->type = KI_VALUE_NULL;
        break;
    }
}

void ki_value_own(ki_object_format *format, ki_value *value, char *text, size_t size) {
    value->text = text;
    value->text_size = size;
    value->owner = ki_object_format_ref(format);
}

/* Sets null, a boolean or a number. Other text can follow it. */
static void set_plain(ki_value *value, const char *text) {
    yyjson_val number;
    if (*text == 't' || *text == 'f') {
        value->type = KI_VALUE_BOOL;
        value->boolean = *text == 't';
    } else if (*text != 'n' && yyjson_read_number(text, &number, YYJSON_READ_NOFLAG, NULL, NULL)) {
        ki_value_set_scalar(&number, value);
    }
}

static bool is_text(ki_str json) {
    return json.data[0] == '"' || json.data[0] == '[' || json.data[0] == '{';
}

/* Makes a copy of a value, valid JSON as json_text.h has it. Another character or a zero follows. Errors:
 * KI_ERR_NO_MEMORY. */
static ki_status make(ki_object_format *format, ki_str json, ki_value *ret_value, ki_error *err) {
    ki_value value = KI_VALUE_INIT;
    if (!is_text(json)) {
        set_plain(&value, json.data);
        *ret_value = value;
        return KI_OK;
    }
    char *text = ki_strndup(&format->allocator, json.data, json.size);
    if (!text)
        return ki_error_no_memory(err, "reading a field");
    value.type = *text == '"' ? KI_VALUE_STRING : *text == '[' ? KI_VALUE_ARRAY : KI_VALUE_OBJECT;
    ki_value_own(format, &value, text, *text == '"' ? ki_json_text_decode(text, json.size) : json.size);
    *ret_value = value;
    return KI_OK;
}

/* --- fields of JSON text ------------------------------------------------------------------------------------------ */

static bool gather(ki_str value, void *user) {
    ki_buffer *text = user;
    if (text->size > 1)
        ki_buffer_append_char(text, ',');
    ki_buffer_append(text, value.data, value.size);
    return !text->failed;
}

/* Makes an array of all values at a path with "[*]". */
static ki_status make_array(ki_object_format *format, const ki_path *path, ki_str json, ki_value *ret_value,
                            ki_error *err) {
    ki_buffer text;
    ki_buffer_init(&text, &format->allocator, 0);
    ki_buffer_append_char(&text, '[');
    ki_path_walk_text(path, json, gather, &text);
    ki_buffer_append_char(&text, ']');
    ki_status status = text.failed ? ki_error_no_memory(err, "reading a field")
                                   : make(format, (ki_str){ text.data, text.size }, ret_value, err);
    ki_buffer_free(&text);
    return status;
}

static bool take_first(ki_str value, void *user) {
    *(ki_str *)user = value;
    return false;
}

ki_status ki_json_field(ki_object_format *format, ki_str json, const char *whose, const char *path, ki_value *ret_value,
                        ki_error *err) {
    ki_path *parsed;
    ki_status status = ki_path_parse(&format->allocator, path, &parsed, err);
    if (status)
        return status;
    ki_str found = { NULL, 0 };
    bool has_all = ki_path_has_all(parsed);
    if (!has_all)
        ki_path_walk_text(parsed, json, take_first, &found);
    if (has_all)
        status = make_array(format, parsed, json, ret_value, err);
    else if (found.size)
        status = make(format, found, ret_value, err);
    else if (ki_path_is_past_end(parsed, json))
        status = ki_error_set(err, KI_ERR_END, "%s has no field %s: past the end of an array", whose, path);
    else
        status = ki_error_set(err, KI_ERR_NOT_FOUND, "%s has no field %s", whose, path);
    ki_path_free(&format->allocator, parsed);
    return status;
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

/* Sets `value` to the JSON value in `text`, which a zero follows or will replace what follows. */
static void set_member(ki_value *value, char *text, size_t size) {
    *value = (ki_value)KI_VALUE_INIT;
    bool is_string = *text == '"';
    if (is_string)
        size = ki_json_text_decode(text, size);
    else
        text[size] = '\0';
    if (is_string || *text == '[' || *text == '{') {
        value->type = is_string ? KI_VALUE_STRING : *text == '[' ? KI_VALUE_ARRAY : KI_VALUE_OBJECT;
        value->text = text;
        value->text_size = size;
    } else {
        set_plain(value, text);
    }
}

bool ki_value_next(ki_value *value, const char **ret_name, ki_value *ret_member) {
    if (!value || !ret_member || !value->text || (value->type != KI_VALUE_ARRAY && value->type != KI_VALUE_OBJECT))
        return false;
    size_t at = value->integer ? (size_t)value->integer : 1;
    if (at + 1 >= value->text_size && value->integer == 0) /* "[]" */
        return false;
    if (at >= value->text_size)
        return false;
    ki_str rest = { value->text + at, value->text_size - at };
    const char *name = NULL;
    if (value->type == KI_VALUE_OBJECT) {
        ki_str key = ki_json_text_take(&rest);
        name = value->text + at;
        ki_json_text_decode(value->text + at, key.size);
    }
    ki_str member = ki_json_text_take(&rest);
    set_member(ret_member, value->text + (member.data - value->text), member.size);
    value->integer = (int64_t)(rest.data - value->text);
    if (ret_name)
        *ret_name = name;
    return true;
}

void ki_value_clear(ki_value *value) {
    if (!value)
        return;
    if (value->owner) {
        ki_object_format *format = (ki_object_format *)(uintptr_t)value->owner;
        ki_free(&format->allocator, value->text);
        ki_object_format_unref(format);
    }
    *value = (ki_value)KI_VALUE_INIT;
}

/* --- texts of amounts and times ----------------------------------------------------------------------------------- */

ki_status ki_quantity_read(const char *text, int64_t *ret_units, int64_t *ret_milli, ki_error *err) {
    ki_quantity quantity;
    int64_t milli = 0;
    if (!text)
        return ki_error_missing(err, "ki_quantity_read");
    if (!ki_quantity_parse(ki_str_of(text), &quantity))
        return ki_error_set(err, KI_ERR_PARSE, "\"%.60s\" is not a quantity", text);
    if (ret_milli && !ki_quantity_milli(&quantity, &milli))
        return ki_error_set(err, KI_ERR_LIMIT, "the thousandths of \"%.60s\" exceed 64 bits", text);
    if (ret_units)
        *ret_units = ki_quantity_units(&quantity);
    if (ret_milli)
        *ret_milli = milli;
    return KI_OK;
}

ki_status ki_time_read(const char *text, int64_t *ret_unix_ms, ki_error *err) {
    int64_t seconds, nanoseconds;
    if (!text || !ret_unix_ms)
        return ki_error_missing(err, "ki_time_read");
    if (!ki_rfc3339_parse(ki_str_of(text), &seconds, &nanoseconds))
        return ki_error_set(err, KI_ERR_PARSE, "\"%.60s\" is not a time (RFC 3339)", text);
    *ret_unix_ms = seconds * 1000 + nanoseconds / 1000000;
    return KI_OK;
}
