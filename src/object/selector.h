/* selector.h: makes the public ki_selector with a given allocator. Any thread. */
#ifndef KI_OBJECT_SELECTOR_H
#define KI_OBJECT_SELECTOR_H

#include <kinformer/allocator.h>
#include <kinformer/selector.h>

/* As ki_selector_new; `allocator` is copied. */
ki_status ki_selector_new_of(const ki_allocator *allocator, const char *label_selector, const char *field_selector,
                             ki_selector **ret_selector, ki_error *err);

#endif
