/* causes.c: see causes.h. */
#include "testing/values/causes.h"

void kt_causes_init(kt_causes *causes, const ki_allocator *allocator) {
    ki_buffer_init(&causes->json, allocator, 0);
    ki_buffer_init(&causes->text, allocator, 0);
    causes->count = 0;
}

void kt_causes_free(kt_causes *causes) {
    ki_buffer_free(&causes->json);
    ki_buffer_free(&causes->text);
}

bool kt_causes_is_full(const kt_causes *causes) {
    return causes->count >= KT_CAUSES_MAX || causes->text.size >= KT_CAUSES_SIZE_MAX;
}

void kt_causes_add(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, const char *detail) {
    kt_causes_add_value(causes, type, field, value, true, detail);
}

void kt_causes_add_value(kt_causes *causes, kt_cause_type type, const char *field, ki_str value, bool quoted,
                         const char *detail) {
    static const struct {
        const char *reason;
        const char *text;
    } types[] = {
        [KT_CAUSE_REQUIRED] = { "FieldValueRequired", "Required value" },
        [KT_CAUSE_INVALID] = { "FieldValueInvalid", "Invalid value" },
        [KT_CAUSE_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
        [KT_CAUSE_NOT_SUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
        [KT_CAUSE_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
        [KT_CAUSE_NOT_FOUND] = { "FieldValueNotFound", "Not found" },
        [KT_CAUSE_TYPE] = { "FieldValueTypeInvalid", "Invalid value" },
        [KT_CAUSE_TOO_LONG] = { "FieldValueTooLong", "Too long" },
        [KT_CAUSE_TOO_MANY] = { "FieldValueTooMany", "Too many" },
    };
    ki_buffer *text = &causes->text;
    if (kt_causes_is_full(causes))
        return;
    if (causes->count++) {
        ki_buffer_append_string(text, ", ");
        ki_buffer_append_char(&causes->json, ',');
    }
    ki_buffer_printf(text, "%s: ", field);
    size_t start = text->size;
    ki_buffer_append_string(text, types[type].text);
    if (type != KT_CAUSE_REQUIRED && type != KT_CAUSE_FORBIDDEN && type != KT_CAUSE_TOO_LONG) {
        ki_buffer_append_string(text, ": ");
        if (quoted)
            ki_buffer_append_json_string(text, value);
        else
            ki_buffer_append_view(text, value);
    }
    if (detail[0])
        ki_buffer_printf(text, ": %s", detail);
    if (text->failed)
        return;
    ki_buffer_printf(&causes->json, "{\"reason\":\"%s\",\"message\":", types[type].reason);
    ki_buffer_append_json_string(&causes->json, (ki_str){ text->data + start, text->size - start });
    ki_buffer_append_string(&causes->json, ",\"field\":");
    ki_buffer_append_json_string(&causes->json, ki_str_of(field));
    ki_buffer_append_char(&causes->json, '}');
}
