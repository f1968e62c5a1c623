/* field_selector.h: the syntax of field selectors: "metadata.name=a,spec.nodeName!=b"; ',', '=' and '\\' in a value are written with a '\\' before.
 * What fields there are is the server's to say. */
#ifndef KI_OBJECT_FIELD_SELECTOR_H
#define KI_OBJECT_FIELD_SELECTOR_H

#include <kinformer/error.h>

/* NULL and "" select everything. Errors: KI_ERR_PARSE; the message tells where and why. */
ki_status ki_field_selector_check(const char *text, ki_error *err);

#endif
