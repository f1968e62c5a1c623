/* selectors.c: three lines, then an object's JSON: two label selectors, and a field selector. */
#include "fuzz/fuzz.h"

#include "src/base/buffer.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/requirements.h"
#include "src/object/selector.h"

enum {
    LINES = 3
};

/* Returns the selector, or NULL for a malformed one. */
static ki_requirements *parse_labels(ki_str text) {
    ki_requirements *selector = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_requirements_parse_labels(&ki_allocator_default, text, &selector, &err))
        fuzz_check(!selector && (err.code == KI_ERR_PARSE || err.code == KI_ERR_LIMIT) && err.message[0]);
    return selector;
}

static ki_str label_of(ki_str key, const void *context) {
    char *name = ki_strndup(&ki_allocator_default, key.data, key.size);
    ki_str value = ki_str_of(ki_object_label(context, name));
    free(name);
    return value;
}

/* Returns true if the object has the labels. All ways to ask say the same. */
static bool has_labels(const ki_object *obj, const ki_requirements *selector, const char *text) {
    bool matches = ki_requirements_match(selector, obj);
    ki_selector *public = NULL;
    fuzz_check(ki_requirements_match_values(selector, label_of, obj) == matches);
    fuzz_check(!ki_selector_new(text, NULL, &public, NULL));
    fuzz_check(ki_object_matches(obj, public) == matches);
    ki_selector_free(public);
    return matches;
}

/* Two selectors with a comma between them are one, which both must hold for. */
static void check_both(const ki_object *obj, const char *first, bool first_holds, const char *second,
                       bool second_holds) {
    ki_buffer both;
    ki_buffer_init(&both, &ki_allocator_default, 0);
    fuzz_check(!ki_buffer_printf(&both, "%s , %s", first, second));
    ki_requirements *selector = parse_labels((ki_str){ both.data, both.size });
    fuzz_check(selector || both.size > KI_SELECTOR_MAX_LENGTH);
    fuzz_check(!selector || ki_requirements_match(selector, obj) == (first_holds && second_holds));
    ki_requirements_free(&ki_allocator_default, selector);
    ki_buffer_free(&both);
}

static void check_labels(const ki_object *obj, const char *first, const char *second) {
    ki_requirements *a = parse_labels(ki_str_of(first)), *b = parse_labels(ki_str_of(second));
    bool is_first = a && has_labels(obj, a, first), is_second = b && has_labels(obj, b, second);
    if (a && b && ki_requirements_key(a, 0).data && ki_requirements_key(b, 0).data)
        check_both(obj, first, is_first, second, is_second);
    ki_requirements_free(&ki_allocator_default, a);
    ki_requirements_free(&ki_allocator_default, b);
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* A requirement, written again. */
static bool holds_alone(const ki_object *obj, ki_str key, ki_str value, bool is_negated) {
    ki_buffer text;
    ki_selector *selector = NULL;
    ki_buffer_init(&text, &ki_allocator_default, 0);
    ki_buffer_append_view(&text, key);
    ki_buffer_append_string(&text, is_negated ? "!=" : "==");
    for (size_t i = 0; i < value.size; i++) {
        if (memchr("\\,=", value.data[i], 3))
            ki_buffer_append_char(&text, '\\');
        ki_buffer_append_char(&text, value.data[i]);
    }
    fuzz_check(!text.failed && !ki_selector_new(NULL, text.data, &selector, NULL));
    bool matches = ki_object_matches(obj, selector);
    ki_selector_free(selector);
    ki_buffer_free(&text);
    return matches;
}

/* A selector of fields holds if each of its requirements does, alone; a requirement or its contrary holds. */
static void check_fields(const ki_object *obj, const char *text) {
    ki_selector *selector = NULL;
    ki_requirements *fields = NULL;
    ki_error err = KI_ERROR_INIT;
    if (ki_selector_new(NULL, text, &selector, &err)) {
        fuzz_check((err.code == KI_ERR_PARSE || err.code == KI_ERR_LIMIT) && err.message[0]);
        return;
    }
    fuzz_check(!ki_requirements_parse_fields(&ki_allocator_default, ki_str_of(text), &fields, NULL));
    ki_str key, value, found;
    bool is_negated, all_hold = true;
    for (size_t i = 0; i < 8 && ki_requirements_field(fields, i, &key, &value, &is_negated); i++) {
        bool holds = holds_alone(obj, key, value, is_negated);
        fuzz_check(holds_alone(obj, key, value, !is_negated) == !holds);
        all_hold = all_hold && holds;
    }
    bool matches = ki_object_matches(obj, selector);
    fuzz_check(matches <= all_hold && (ki_requirements_key(fields, 8).data || matches == all_hold));
    fuzz_check((ki_selector_difference(selector, obj, &found).data == NULL) == matches);
    ki_requirements_free(&ki_allocator_default, fields);
    ki_selector_free(selector);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_str rest = { (const char *)data, size };
    char *lines[LINES];
    for (size_t i = 0; i < LINES; i++) {
        ki_str line = ki_str_split(rest, '\n', &rest);
        lines[i] = ki_strndup(&ki_allocator_default, line.data ? line.data : "", line.size);
        fuzz_check(lines[i] != NULL);
    }
    ki_object_format *format = NULL;
    ki_object *obj = NULL;
    fuzz_check(!ki_object_format_new(NULL, NULL, &format, NULL));
    if (!rest.size || ki_object_from_json(format, rest, "v1", "Thing", &obj, NULL))
        rest = KI_STR("{\"metadata\":{\"name\":\"a\",\"labels\":{\"app\":\"web\",\"n\":\"7\"}}}");
    if (!obj)
        fuzz_check(!ki_object_from_json(format, rest, "v1", "Thing", &obj, NULL));
    check_labels(obj, lines[0], lines[1]);
    check_fields(obj, lines[2]);
    for (size_t i = 0; i < LINES; i++)
        free(lines[i]);
    ki_object_unref(obj);
    ki_object_format_unref(format);
    return 0;
}
