/* round_trip.c: makes an object of each of COUNT random documents, in each form of keeping its content, and checks that
 * ki_object_json gives back what went in: number for number, string for string, in the same order.
 *
 *     round_trip COUNT [SEED]
 *
 * Document N has the seed SEED + N: `round_trip 1 SEED+N` runs it alone. */
#include "src/base/memory.h"
#include "src/object/object.h"
#include "src/object/pack.h"
#include "tests/support/random/random_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A way to keep an object with its content. */
typedef struct kept_form {
    const char *name;
    bool keep_managed_fields;
    bool has_view;
    bool is_packed;
    ki_object_format *format;
} kept_form;

struct view {
    const char *name;
    ki_string_map labels;
};
static const ki_field view_fields[] = {
    KI_FIELD(struct view, name, "metadata.name"),
    KI_FIELD(struct view, labels, "metadata.labels"),
    KI_FIELD_END,
};

static kept_form forms[] = {
    { "all", true, false, false, NULL },         { "without managedFields", false, false, false, NULL },
    { "with a view", false, true, false, NULL }, { "packed", false, true, true, NULL },
    { "all, packed", true, false, true, NULL },
};

enum {
    TRAIN_EVERY = 1000 /* documents with one codec */
};

static uint64_t seed;
static uint64_t packed_objects;

static void fail(const kept_form *form, const char *what, const random_json *json, const char *got,
                 const char *wanted) {
    printf("round_trip: document of seed %" PRIu64 ", %s: %s\nin:     %s\ngot:    %s\nwanted: %s\n", seed, form->name,
           what, json->text.data, got, wanted);
    exit(1);
}

static void check_json(const kept_form *form, const random_json *json, const ki_object *obj, const char *what) {
    const ki_buffer *wanted = form->keep_managed_fields ? &json->whole : &json->without;
    ki_value value = KI_VALUE_INIT;
    ki_error err = KI_ERROR_INIT;
    if (ki_object_json(obj, &value, &err))
        fail(form, what, json, ki_error_message(&err), wanted->data);
    if (value.text_size != wanted->size || memcmp(value.text, wanted->data, wanted->size) != 0)
        fail(form, what, json, value.text, wanted->data);
    ki_value_clear(&value);
}

static ki_object *read_object(const kept_form *form, const random_json *json, const ki_buffer *text) {
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = NULL;
    if (ki_object_from_json(form->format, (ki_str){ text->data, text->size }, RANDOM_JSON_API_VERSION, RANDOM_JSON_KIND,
                            &obj, &err))
        fail(form, "not read", json, ki_error_message(&err), text->data);
    return obj;
}

/* Makes the codec for the next documents from the present one and those that follow. */
static void train(const kept_form *form, random_json *json) {
    ki_object *samples[KI_BODY_SAMPLES_MAX];
    uint64_t first = seed;
    for (size_t i = 0; i < KI_BODY_SAMPLES_MAX; i++, seed++) {
        random_json_make(json, seed);
        samples[i] = read_object(form, json, &json->text);
    }
    seed = first;
    ki_object_format_train(form->format, samples, KI_BODY_SAMPLES_MAX, SIZE_MAX);
    for (size_t i = 0; i < KI_BODY_SAMPLES_MAX; i++)
        ki_object_unref(samples[i]);
}

/* A packed object gives the same JSON, and is the same state. */
static void check_packed(const kept_form *form, const random_json *json, ki_object *obj) {
    ki_object *packed = ki_object_pack(ki_object_ref(obj));
    packed_objects += ki_object_is_packed(packed);
    check_json(form, json, packed, "packed");
    if (!ki_object_is_same_state(obj, packed) || !ki_object_is_same_state(packed, obj))
        fail(form, "packed, it is another state", json, "", "");
    ki_object_unref(packed);
}

static void check_form(const kept_form *form, const random_json *json) {
    ki_error err = KI_ERROR_INIT;
    ki_object *obj = read_object(form, json, &json->text), *with_json = NULL;
    check_json(form, json, obj, "from the text");
    ki_object *again = read_object(form, json, form->keep_managed_fields ? &json->whole : &json->without);
    check_json(form, json, again, "from what came out");
    if (!ki_object_is_same_state(obj, again) || !ki_object_is_same_state(again, obj))
        fail(form, "another state", json, "", "");
    if (form->is_packed)
        check_packed(form, json, obj);
    if (ki_object_with_json(again, json->text.data, json->text.size, &with_json, &err))
        fail(form, "with other JSON", json, ki_error_message(&err), "");
    if (strcmp(ki_object_key(obj), ki_object_key(with_json)) != 0)
        fail(form, "with other JSON", json, ki_object_key(with_json), ki_object_key(obj));
    ki_object_unref(obj);
    ki_object_unref(again);
    ki_object_unref(with_json);
}

int main(int argc, char **argv) {
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size_t form_count = sizeof forms / sizeof *forms;
    double bytes = 0;
    random_json json;
    if (!count) {
        fprintf(stderr, "usage: round_trip COUNT [SEED]\n");
        return 2;
    }
    ki_body_contexts *contexts = ki_body_contexts_new(&ki_allocator_default);
    random_json_init(&json);
    for (size_t i = 0; i < form_count; i++) {
        const ki_object_format_options options =
            KI_OBJECT_FORMAT_OPTIONS(.keep_managed_fields = forms[i].keep_managed_fields,
                                     .view = forms[i].has_view ? view_fields : NULL);
        if (ki_object_format_new(NULL, &options, &forms[i].format, NULL))
            fail(&forms[i], "no format", &json, "", "");
        if (forms[i].is_packed)
            ki_object_format_set_pack(forms[i].format, contexts, 1);
    }
    for (seed = first; seed < first + count; seed++) {
        for (size_t i = 0; (seed - first) % TRAIN_EVERY == 0 && i < form_count; i++)
            if (forms[i].is_packed)
                train(&forms[i], &json);
        random_json_make(&json, seed);
        bytes += (double)json.text.size;
        for (size_t i = 0; i < form_count; i++)
            check_form(&forms[i], &json);
    }
    printf("round_trip: %" PRIu64 " documents of seeds from %" PRIu64 ", %.0f MB, in %zu forms, %" PRIu64
           " objects packed: all came out as they went in\n",
           count, first, bytes / 1e6, form_count, packed_objects);
    for (size_t i = 0; i < form_count; i++)
        ki_object_format_unref(forms[i].format);
    ki_body_contexts_unref(contexts);
    random_json_free(&json);
    return 0;
}
