/* read_values.c: what the library makes of selectors, quantities and times. Each question is a record of standard input
 * that ends with \x1e, with fields between \x1f; each answer on standard output ends with \x1e:
 *     labels SELECTOR OBJECT, fields SELECTOR OBJECT    yes, no, or error MESSAGE
 *     quantity TEXT                                     UNITS THOUSANDTHS (or "limit"), or error
 *     time TEXT                                         milliseconds, or error */
#include "tests/support/make_object.h"

#include <kinformer/selector.h>
#include <kinformer/value.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer_selector(bool of_labels, const char *text, const char *json) {
    ki_error err = KI_ERROR_INIT;
    ki_selector *selector = NULL;
    if (ki_selector_new(of_labels ? text : NULL, of_labels ? NULL : text, &selector, &err)) {
        printf("error %s\x1e", ki_error_message(&err));
        return;
    }
    ki_object *obj = make_object_from_json(json);
    fputs(ki_object_matches(obj, selector) ? "yes\x1e" : "no\x1e", stdout);
    ki_object_unref(obj);
    ki_selector_free(selector);
}

static void answer_quantity(const char *text) {
    int64_t units, milli;
    if (ki_quantity_read(text, &units, NULL, NULL))
        fputs("error\x1e", stdout);
    else if (ki_quantity_read(text, NULL, &milli, NULL))
        printf("%" PRId64 " limit\x1e", units);
    else
        printf("%" PRId64 " %" PRId64 "\x1e", units, milli);
}

static void answer_time(const char *text) {
    int64_t unix_ms;
    if (ki_time_read(text, &unix_ms, NULL))
        fputs("error\x1e", stdout);
    else
        printf("%" PRId64 "\x1e", unix_ms);
}

int main(void) {
    char *record = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getdelim(&record, &size, '\x1e', stdin)) > 0) {
        char *parts[3] = { record, NULL, NULL };
        record[length - 1] = '\0';
        for (size_t i = 1; i < 3 && parts[i - 1]; i++) {
            parts[i] = strchr(parts[i - 1], '\x1f');
            if (parts[i])
                *parts[i]++ = '\0';
        }
        const char *kind = parts[0];
        if (parts[2] && (!strcmp(kind, "labels") || !strcmp(kind, "fields"))) {
            answer_selector(*kind == 'l', parts[1], parts[2]);
        } else if (parts[1] && !strcmp(kind, "quantity")) {
            answer_quantity(parts[1]);
        } else if (parts[1] && !strcmp(kind, "time")) {
            answer_time(parts[1]);
        } else {
            fprintf(stderr, "read_values: unknown question '%s'\n", kind);
            return 2;
        }
    }
    free(record);
    return fflush(stdout) ? 1 : 0;
}
