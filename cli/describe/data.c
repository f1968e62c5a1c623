/* data.c: secrets, without their values, and config maps. */
#include "describe.h"
#include "values.h"

#include "src/base/base64.h"

#include <stdlib.h>
#include <string.h>

static void write_head(yyjson_val *object, sheet *s) {
    sheet_write(s, 0, "Name:\t%s\n", text_at(object, "metadata.name"));
    sheet_write(s, 0, "Namespace:\t%s\n", text_at(object, "metadata.namespace"));
    write_labels(s, "Labels", value_at(object, "metadata.labels"));
    write_annotations(s, "Annotations", value_at(object, "metadata.annotations"));
}

static ki_str base64_of(yyjson_val *value) {
    return (ki_str){ text_of(value), yyjson_get_len(value) };
}

/* Returns the number of bytes that base64 has. */
static size_t decoded_size(yyjson_val *value) {
    size_t size = 0;
    return ki_base64_decode(base64_of(value), NULL, &size) ? size : 0;
}

/* Writes the token of a service account, which kubectl shows, too. */
static void write_token(sheet *s, const named_value *token) {
    ki_str text = base64_of(token->value);
    char *decoded = malloc(KI_BASE64_DECODED_MAX(text.size));
    size_t size = 0;
    s->has_failed |= !decoded;
    if (decoded && ki_base64_decode(text, decoded, &size))
        sheet_write(s, 0, "%s:\t%.*s\n", token->name, (int)size, decoded);
    free(decoded);
}

void describe_secret(const description *d, sheet *s) {
    const char *type = text_at(d->object, "type");
    bool is_token = strcmp(type, "kubernetes.io/service-account-token") == 0;
    size_t count;
    named_value *data = members_sorted(s, value_at(d->object, "data"), &count);
    write_head(d->object, s);
    sheet_write(s, 0, "\nType:\t%s\n\nData\n====\n", type);
    for (size_t i = 0; i < count; i++) {
        if (is_token && strcmp(data[i].name, "token") == 0)
            write_token(s, &data[i]);
        else
            sheet_write(s, 0, "%s:\t%zu bytes\n", data[i].name, decoded_size(data[i].value));
    }
    free(data);
}

void describe_config_map(const description *d, sheet *s) {
    size_t count, binary_count;
    named_value *data = members_sorted(s, value_at(d->object, "data"), &count);
    named_value *binary = members_sorted(s, value_at(d->object, "binaryData"), &binary_count);
    write_head(d->object, s);
    sheet_write(s, 0, "\nData\n====\n");
    for (size_t i = 0; i < count; i++)
        sheet_write(s, 0, "%s:\n----\n%s\n\n", data[i].name, text_of(data[i].value));
    sheet_write(s, 0, "\nBinaryData\n====\n");
    for (size_t i = 0; i < binary_count; i++)
        sheet_write(s, 0, "%s: %zu bytes\n", binary[i].name, decoded_size(binary[i].value));
    sheet_write(s, 0, "\n");
    free(data);
    free(binary);
}
