/* string_format.h: the formats of strings in a definition's schema: "date-time", "ipv4", "uuid". Called by schema.c. */
#ifndef KT_CRD_STRING_FORMAT_H
#define KT_CRD_STRING_FORMAT_H

#include "src/base/string_view.h"

/* Is `text` of this format? True for formats that nobody checks, as the real server has it. */
bool kt_string_has_format(const char *format, ki_str text);

#endif
