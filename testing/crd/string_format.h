/* string_format.h: the string formats of a definition's schema, such as "date-time", "ipv4", "uuid". schema.c calls
 * it. */
#ifndef KT_CRD_STRING_FORMAT_H
#define KT_CRD_STRING_FORMAT_H

#include "src/base/string_view.h"

/* Returns true if `text` has this format. Unknown formats accept any text, as in the real server. */
bool kt_string_has_format(const char *format, ki_str text);

#endif
