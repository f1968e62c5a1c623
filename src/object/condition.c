/* condition.c: conditions of an object's status, as k8s.io/apimachinery's meta package sets and finds them. */
#include <kinformer/condition.h>

#include "src/base/error.h"
#include "src/base/rfc3339.h"
#include "src/object/unstructured.h"

#include <stdlib.h>

static const char conditions_path[] = "status.conditions";

/* --- setting ------------------------------------------------------------------------------------------------------ */

static bool is_text(yyjson_mut_val *value, const char *text) {
    return yyjson_mut_is_str(value) &&
           ki_str_equals((ki_str){ yyjson_mut_get_str(value), yyjson_mut_get_len(value) }, text);
}

static bool is_status(const char *status) {
    return status && (strcmp(status, "True") == 0 || strcmp(status, "False") == 0 || strcmp(status, "Unknown") == 0);
}

static bool check(ki_unstructured *object, const char *type, const char *status, const char *reason,
                  const char *message) {
    const char *const texts[] = { type, reason, message };
    if (!type || !*type)
        return ki_unstructured_fail(object, KI_ERR_INVALID, conditions_path, "a condition without a type");
    if (!is_status(status))
        return ki_unstructured_fail(object, KI_ERR_INVALID, conditions_path,
                                    "a status that is not \"True\", \"False\" or \"Unknown\"");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i] && !ki_str_is_utf8(ki_str_of(texts[i])))
            return ki_unstructured_fail(object, KI_ERR_INVALID, conditions_path, "a text that is not UTF-8");
    }
    return true;
}

/* Returns the first condition of a type; NULL: there is none. */
static yyjson_mut_val *find(yyjson_mut_val *conditions, const char *type) {
    size_t index, count;
    yyjson_mut_val *condition;
    yyjson_mut_arr_foreach(conditions, index, count, condition) {
        if (is_text(yyjson_mut_obj_get(condition, "type"), type))
            return condition;
    }
    return NULL;
}

/* Returns the number of an integer, which is a raw text if it was read; 0 for other values. */
static int64_t number_of(yyjson_mut_val *value) {
    if (yyjson_mut_is_raw(value))
        return strtoll(yyjson_mut_get_raw(value), NULL, 10);
    return yyjson_mut_get_sint(value);
}

/* A condition that is being changed. */
typedef struct change {
    ki_unstructured *object;
    yyjson_mut_val *condition;
    bool is_changed;
    bool has_failed;
} change;

static void put(change *self, const char *name, yyjson_mut_val *value) {
    yyjson_mut_val *key = yyjson_mut_str(self->object->doc, name);
    self->is_changed = true;
    self->has_failed = !key || !value || !yyjson_mut_obj_put(self->condition, key, value) || self->has_failed;
}

/* Sets a text. `name` is static. Returns true if the text was another. */
static bool put_text(change *self, const char *name, const char *text) {
    if (is_text(yyjson_mut_obj_get(self->condition, name), text))
        return false;
    put(self, name, yyjson_mut_strcpy(self->object->doc, text));
    return true;
}

static void put_generation(change *self) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(self->object->doc);
    int64_t generation = number_of(yyjson_mut_obj_get(yyjson_mut_obj_get(root, "metadata"), "generation"));
    if (number_of(yyjson_mut_obj_get(self->condition, "observedGeneration")) == generation)
        return;
    if (generation) {
        put(self, "observedGeneration", yyjson_mut_sint(self->object->doc, generation));
    } else {
        self->is_changed = true;
        yyjson_mut_obj_remove_key(self->condition, "observedGeneration");
    }
}

/* Begins a change of the conditions; returns false after a failure. A patch replaces the whole array, so that a change
 * needs the conditions so far. */
static bool change_conditions(ki_unstructured *object) {
    if (!ki_unstructured_change(object))
        return false;
    return !object->is_partial ||
           ki_unstructured_fail(object, KI_ERR_STATE, conditions_path,
                                "the object was made from metadata alone, without its conditions");
}

bool ki_unstructured_set_condition(ki_unstructured *object, const char *type, const char *status, const char *reason,
                                   const char *message, int64_t wall_now) {
    if (!change_conditions(object) || !check(object, type, status, reason, message))
        return false;
    yyjson_mut_val *conditions = ki_unstructured_array(object, "status", "conditions", conditions_path);
    if (!conditions)
        return false;
    change self = { .object = object, .condition = find(conditions, type) };
    if (!self.condition) {
        self.condition = yyjson_mut_arr_add_obj(object->doc, conditions);
        self.has_failed = !self.condition;
        if (!self.has_failed)
            (void)put_text(&self, "type", type);
    }
    if (!self.has_failed && put_text(&self, "status", status)) {
        char time[KI_RFC3339_SIZE];
        ki_rfc3339_seconds(wall_now / 1000000000, time);
        put_generation(&self); /* here, so that a new condition has the order of its definition */
        (void)put_text(&self, "lastTransitionTime", time);
    }
    if (!self.has_failed) {
        put_generation(&self);
        (void)put_text(&self, "reason", reason ? reason : "");
        (void)put_text(&self, "message", message ? message : "");
    }
    if (self.has_failed)
        return ki_unstructured_fail_no_memory(object, conditions_path);
    return self.is_changed;
}

bool ki_unstructured_remove_condition(ki_unstructured *object, const char *type) {
    if (!change_conditions(object))
        return false;
    if (!type || !*type)
        return ki_unstructured_fail(object, KI_ERR_INVALID, conditions_path, "a condition without a type");
    yyjson_mut_val *status = yyjson_mut_obj_get(yyjson_mut_doc_get_root(object->doc), "status");
    yyjson_mut_val *conditions = yyjson_mut_obj_get(status, "conditions");
    bool is_removed = false;
    for (size_t i = yyjson_mut_arr_size(conditions); i-- > 0;) {
        if (!is_text(yyjson_mut_obj_get(yyjson_mut_arr_get(conditions, i), "type"), type))
            continue;
        yyjson_mut_arr_remove(conditions, i);
        is_removed = true;
    }
    return is_removed;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reads a member of status.conditions. Its strings are borrowed from the value that is walked. */
static ki_condition read_one(ki_value *element) {
    ki_condition condition = { "", "", "", "", "", 0, KI_VALUE_INIT };
    const struct {
        const char *name;
        const char **text;
    } members[] = {
        { "type", &condition.type },
        { "status", &condition.status },
        { "reason", &condition.reason },
        { "message", &condition.message },
        { "lastTransitionTime", &condition.last_transition_time },
    };
    const char *name;
    ki_value member;
    while (ki_value_next(element, &name, &member)) {
        for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
            if (member.type == KI_VALUE_STRING && strcmp(name, members[i].name) == 0)
                *members[i].text = member.text;
        }
        if (member.type == KI_VALUE_INT && strcmp(name, "observedGeneration") == 0)
            condition.observed_generation = member.integer;
    }
    return condition;
}

ki_status ki_object_condition(const ki_object *obj, const char *type, ki_condition *ret_condition, ki_error *err) {
    if (!obj || !type || !ret_condition)
        return ki_error_missing(err, "ki_object_condition");
    ki_value conditions = KI_VALUE_INIT, element;
    ki_status status = ki_object_field(obj, conditions_path, &conditions, err);
    if (status)
        return status;
    while (ki_value_next(&conditions, NULL, &element)) {
        ki_condition condition = read_one(&element);
        if (strcmp(condition.type, type) != 0)
            continue;
        condition.owner = conditions;
        *ret_condition = condition;
        return KI_OK;
    }
    ki_value_clear(&conditions);
    return ki_error_set(err, KI_ERR_NOT_FOUND, "%s has no condition \"%s\"", ki_object_key(obj), type);
}

void ki_condition_clear(ki_condition *condition) {
    if (!condition)
        return;
    ki_value_clear(&condition->owner);
    *condition = (ki_condition){ "", "", "", "", "", 0, KI_VALUE_INIT };
}

bool ki_object_condition_is(const ki_object *obj, const char *type, const char *status) {
    ki_condition condition = { "", "", "", "", "", 0, KI_VALUE_INIT };
    if (!obj || !type || !status || ki_object_condition(obj, type, &condition, NULL))
        return false;
    bool is_equal = strcmp(condition.status, status) == 0;
    ki_condition_clear(&condition);
    return is_equal;
}
