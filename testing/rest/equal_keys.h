/* equal_keys.h: equal keys of the maps in an apply's body, whose last one counts. One thread. */
#ifndef KT_REST_EQUAL_KEYS_H
#define KT_REST_EQUAL_KEYS_H

#include "testing/request/call.h"
#include "testing/values/arena.h"

#include <yyjson.h>

/* Responds 400 if the request's body, read as `applied`, has a key twice and `is_strict`; otherwise adds a Warning
 * header for each such key. The texts are those of the real server's YAML reader, with the line of the key's value. */
ki_status kt_equal_keys_check(kt_call *call, kt_arena *arena, yyjson_val *applied, bool is_strict);

#endif
