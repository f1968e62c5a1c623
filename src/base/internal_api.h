/* internal_api.h: the mark of what libkinformer exports to its sister libraries (libkinformer-controllers, -print,
 * -status), and to nobody else: cmake/libkinformer.private lists it. Its version node is that of this very version, so
 * it may change at any time. */
#ifndef KI_BASE_INTERNAL_API_H
#define KI_BASE_INTERNAL_API_H

#include <kinformer/export.h>

#define KI_INTERNAL_API KI_API

#endif
