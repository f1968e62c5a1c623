/* document.c: see document.h. */
#include "document.h"

#include "cli/output.h"

#include <kinformer-print/yaml.h>

#include <stdlib.h>
#include <string.h>

static bool write_piece(const char *text, size_t size, void *user) {
    FILE *out = user;
    return fwrite(text, 1, size, out) == size;
}

static ki_status write_yaml(const ki_object *obj, char **ret_text, ki_error *err) {
    size_t size = 0;
    ki_value json = KI_VALUE_INIT;
    FILE *out = open_memstream(ret_text, &size);
    ki_status status = out ? ki_object_json(obj, &json, err) : KI_ERR_NO_MEMORY;
    if (!status)
        status = ki_yaml_write(NULL, json.text, json.text_size, write_piece, out, err);
    ki_value_clear(&json);
    if (out && fclose(out) != 0)
        status = KI_ERR_NO_MEMORY;
    return status == KI_ERR_CLOSED ? KI_ERR_NO_MEMORY : status;
}

/* Ends each line with a zero, and notes where they begin. */
static bool split(document *d) {
    size_t capacity = 1;
    for (const char *at = d->text; (at = strchr(at, '\n')); at++)
        capacity++;
    d->begins = calloc(capacity, sizeof *d->begins);
    if (!d->begins)
        return false;
    for (char *rest = d->text, *line; rest && *rest;) {
        line = strsep(&rest, "\n");
        make_safe(line);
        d->begins[d->count++] = (size_t)(line - d->text);
    }
    return true;
}

ki_status document_read(document *d, const ki_object *obj, ki_error *err) {
    document read = { .obj = NULL };
    ki_status status = write_yaml(obj, &read.text, err);
    if (!status && !split(&read))
        status = KI_ERR_NO_MEMORY;
    if (status) {
        document_clear(&read);
        return status;
    }
    read.obj = ki_object_ref(obj);
    document_clear(d);
    *d = read;
    return KI_OK;
}

void document_clear(document *d) {
    ki_object_unref(d->obj);
    free(d->text);
    free(d->begins);
    *d = (document){ .obj = NULL };
}

const char *document_line(const document *d, size_t index) {
    return index < d->count ? d->text + d->begins[index] : "";
}
