/* field_selector.c: see field_selector.h. The grammar is that of apimachinery's fields.ParseSelector. */
#include "src/object/field_selector.h"

#include "src/base/error.h"

#include <stdbool.h>
#include <string.h>

/* Checks one term, up to its comma or the end of the text. Returns the term's end. */
static ki_status check_term(const char *text, const char *term, const char **ret_end, ki_error *err) {
    const char *op = NULL;
    const char *at = term;
    for (; *at && *at != ','; at++) {
        if (*at == '\\' && !strchr(",=\\", at[1]))
            return ki_error_set(err, KI_ERR_PARSE,
                                "field selector '%.100s': '\\' stands before ',', '=' or '\\' only, at byte %d", text,
                                (int)(at - text));
        if (*at == '\\' && at[1] == '\0')
            return ki_error_set(err, KI_ERR_PARSE, "field selector '%.100s': it ends with '\\'", text);
        if (*at == '\\') {
            at++;
            continue;
        }
        if (*at != '=')
            continue;
        if (op)
            return ki_error_set(err, KI_ERR_PARSE,
                                "field selector '%.100s': a '=' in a value needs a '\\' before it, at byte %d", text,
                                (int)(at - text));
        op = at;
        if (at[1] == '=')
            at++;
    }
    *ret_end = at;
    if (at == term)
        return KI_OK; /* empty terms are ignored */
    if (!op)
        return ki_error_set(err, KI_ERR_PARSE,
                            "field selector '%.100s': expected FIELD=VALUE or FIELD!=VALUE at byte %d", text,
                            (int)(term - text));
    if (op == term || (op == term + 1 && *term == '!'))
        return ki_error_set(err, KI_ERR_PARSE, "field selector '%.100s': the field's name is missing at byte %d", text,
                            (int)(term - text));
    return KI_OK;
}

ki_status ki_field_selector_check(const char *text, ki_error *err) {
    const char *at = text ? text : "";
    while (*at) {
        ki_status status = check_term(text, at, &at, err);
        if (status)
            return status;
        if (*at == ',')
            at++;
    }
    return KI_OK;
}
