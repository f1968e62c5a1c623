/* selector.h: makes the public ki_selector with a given allocator. Any thread. */
#ifndef KI_OBJECT_SELECTOR_H
#define KI_OBJECT_SELECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/object.h>
#include <kinformer/selector.h>

#include "src/base/internal_api.h"
#include "src/base/string_view.h"

/* As ki_selector_new; `allocator` is copied. */
KI_INTERNAL_API ki_status ki_selector_new_of(const ki_allocator *allocator, const char *label_selector,
                                             const char *field_selector, ki_selector **ret_selector, ki_error *err);
/* As ki_object_matches, for an object that has all that the server sent, also if its cache keeps only the metadata. */
KI_INTERNAL_API bool ki_selector_matches_whole(const ki_selector *selector, const ki_object *obj);
/* Returns the key of the first field that does not match, and its first value: JSON text of the object, or NULL if the
 * object has none. Data is NULL if all fields match. Borrowed from both. For an object that is not packed. */
ki_str ki_selector_difference(const ki_selector *selector, const ki_object *obj, ki_str *ret_value);
/* Returns KI_ERR_INVALID if the selector reads what the objects do not have. NULL reads nothing. */
ki_status ki_selector_check_keep(const ki_selector *selector, ki_keep keep, ki_error *err);

#endif
