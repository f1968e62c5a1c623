/* field_selector.h: checks the syntax of field selectors: "metadata.name=a,spec.nodeName!=b". ',', '=' and '\\' in a
 * value need a '\\' before them. Only the server knows which fields exist. */
#ifndef KI_OBJECT_FIELD_SELECTOR_H
#define KI_OBJECT_FIELD_SELECTOR_H

#include <kinformer/error.h>

/* Checks a field selector; NULL and "" select everything. Errors: KI_ERR_PARSE, with the place and the cause. */
ki_status ki_field_selector_check(const char *text, ki_error *err);

#endif
