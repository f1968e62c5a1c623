/* predicate.c: decides which updates matter. An update whose objects cannot be read, for lack of memory or because the
 * cache does not keep them, matters: an extra reconcile does no harm. */
#include <kinformer-controllers/controller.h>

#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/json.h"

#include <string.h>

static bool is_update(const ki_event *event) {
    return event->type == KI_EVENT_UPDATE && event->old;
}

bool ki_predicate_resource_version_changed(const ki_event *event, void *user) {
    (void)user;
    return !is_update(event) ||
           strcmp(ki_object_resource_version(event->old), ki_object_resource_version(event->obj)) != 0;
}

/* --- generation --------------------------------------------------------------------------------------------------- */

/* Reads metadata.generation; 0 if there is none. Errors: KI_ERR_NO_MEMORY, KI_ERR_STATE. */
static ki_status read_generation(const ki_object *obj, int64_t *ret_generation) {
    ki_value value = KI_VALUE_INIT;
    ki_status status = ki_object_field(obj, "metadata.generation", &value, NULL);
    *ret_generation = !status && value.type == KI_VALUE_INT ? value.integer : 0;
    ki_value_clear(&value);
    return status == KI_ERR_NO_MEMORY || status == KI_ERR_STATE ? status : KI_OK;
}

bool ki_predicate_generation_changed(const ki_event *event, void *user) {
    (void)user;
    int64_t before, now;
    if (!is_update(event))
        return true;
    if (event->is_resync)
        return false;
    return read_generation(event->old, &before) || read_generation(event->obj, &now) || before != now;
}

/* --- labels ------------------------------------------------------------------------------------------------------- */

bool ki_predicate_labels_changed(const ki_event *event, void *user) {
    (void)user;
    const char *name, *value;
    if (!is_update(event) || ki_object_check_content(event->old, NULL))
        return true;
    if (ki_object_label_count(event->old) != ki_object_label_count(event->obj))
        return true;
    for (size_t i = 0; ki_object_label_at(event->obj, i, &name, &value); i++) {
        const char *before = ki_object_label(event->old, name);
        if (!before || strcmp(before, value) != 0)
            return true;
    }
    return false;
}

/* --- annotations -------------------------------------------------------------------------------------------------- */

static bool is_same_json(const ki_value *a, const ki_value *b) {
    yyjson_doc *left = NULL, *right = NULL;
    bool is_same = ki_json_parse(&ki_allocator_default, (ki_str){ a->text, a->text_size }, &left, NULL) == KI_OK &&
                   ki_json_parse(&ki_allocator_default, (ki_str){ b->text, b->text_size }, &right, NULL) == KI_OK &&
                   yyjson_equals(yyjson_doc_get_root(left), yyjson_doc_get_root(right));
    yyjson_doc_free(left);
    yyjson_doc_free(right);
    return is_same;
}

/* Reads metadata.annotations as text; "{}" if there are none. Errors: KI_ERR_NO_MEMORY, KI_ERR_STATE. */
static ki_status read_annotations(const ki_object *obj, ki_value *ret_value) {
    static char none[] = "{}";
    ki_status status = ki_object_field(obj, "metadata.annotations", ret_value, NULL);
    if (status == KI_ERR_NO_MEMORY || status == KI_ERR_STATE)
        return status;
    if (status || ret_value->type != KI_VALUE_OBJECT) {
        ki_value_clear(ret_value);
        *ret_value = (ki_value){ .type = KI_VALUE_NULL, .text = none, .text_size = sizeof none - 1 };
    }
    return KI_OK;
}

bool ki_predicate_annotations_changed(const ki_event *event, void *user) {
    (void)user;
    ki_value before = KI_VALUE_INIT, now = KI_VALUE_INIT;
    if (!is_update(event))
        return true;
    if (event->is_resync)
        return false;
    bool changed = read_annotations(event->old, &before) || read_annotations(event->obj, &now);
    if (!changed && (before.text_size != now.text_size || memcmp(before.text, now.text, now.text_size) != 0))
        changed = !is_same_json(&before, &now); /* the order of members does not matter */
    ki_value_clear(&before);
    ki_value_clear(&now);
    return changed;
}
