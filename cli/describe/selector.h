/* selector.h: label selectors as text. */
#ifndef CLI_DESCRIBE_SELECTOR_H
#define CLI_DESCRIBE_SELECTOR_H

#include <yyjson.h>

/* Returns the LabelSelector under a path as text, "a=b,c in (d,e)"; "" if it is empty. The caller frees the text.
 * Returns NULL if out of memory. */
char *selector_text(yyjson_val *root, const char *path);

#endif
