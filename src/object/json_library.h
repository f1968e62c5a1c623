/* json_library.h: whether the yyjson in this process is the one that this library was built for. Any thread. */
#ifndef KI_OBJECT_JSON_LIBRARY_H
#define KI_OBJECT_JSON_LIBRARY_H

#include <kinformer/error.h>

/* Returns KI_ERR_UNSUPPORTED if the yyjson that the program has loaded has another major or minor version than the
 * headers that this library was compiled with: its structs may differ. A program that exports functions named yyjson_…
 * has its own in place of libyyjson's. The first call asks yyjson; later calls cost one load. */
ki_status ki_json_check_library(ki_error *err);

#endif
